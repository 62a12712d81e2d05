"""Makes pictures of experiments from the rows of their tables.

A mark takes its numbers from columns of rows, so what is drawn is what the table says.
``deniably.results.drawing.graph`` draws the pictures on pages and in files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from deniably.core.languages.html import Html
from deniably.core.table import Cell
from deniably.results.drawing import graph
from deniably.results.drawing.colours import Tone
from deniably.results.drawing.graph import Band, Bar, CrowdGroup, Dots, Drawing, Line, MosaicTile
from deniably.results.drawing.paper_figure import Svg
from deniably.results.drawing.rounding import number

DrawnRow = Mapping[str, Cell]

_TOLD = 6
"""The number of points of a mark that the text in place of a picture states; the table has all."""


@dataclass(frozen=True)
class Picture:
    """A drawing with its title."""

    title: str
    drawing: Drawing

    @property
    def points(self) -> list[dict[str, Any]]:
        """Every point that is drawn, as a dict: the label of its mark under "mark", and its
        numbers by column."""
        return [{"mark": label, **numbers} for label, numbers in graph.numbers(self.drawing)]

    @property
    def described(self) -> str:
        """The picture in words and numbers, for readers who cannot see it; at most six points of
        each mark."""
        marks: dict[str, list[str]] = {}
        for point in self.points:
            values = [number(value, 4).rstrip("0").rstrip(".") if value % 1 else number(value)
                      for key, value in point.items() if key != "mark"]  # fmt: skip
            marks.setdefault(str(point["mark"]), []).append(", ".join(values))
        return " ".join(f"{label}: {'; '.join(_some(each))}." for label, each in marks.items())

    def html(self) -> str:
        """Returns the picture as SVG source text. The page that it is put into needs the
        stylesheet for the CSS classes of ``graph``."""
        return self.inline().source

    def inline(self) -> Html:
        """Returns the picture as SVG markup, to be put into a larger piece of HTML."""
        return graph.inline(self.drawing, self.title, self.described)

    def svg(self) -> Svg:
        """Returns the picture as an SVG file that loads no other file."""
        return graph.file(self.drawing, self.title, self.described)

    def _repr_svg_(self) -> str:
        return self.svg()


def _some(texts: Sequence[str]) -> list[str]:
    """All texts, or some from the first to the last."""
    if len(texts) <= _TOLD:
        return list(texts)
    # Evenly spread, with the first and the last.
    last = len(texts) - 1
    return [texts[place * last // (_TOLD - 1)] for place in range(_TOLD)]


# --- marks, from rows -------------------------------------------------------------------------


def line(
    rows: Iterable[DrawnRow],
    x: str,
    y: str,
    label: str,
    tone: Tone = "mark",
    *,
    dashed: bool = False,
) -> Line:
    """Returns a line of the column ``y`` against the column ``x``; rows that lack either are left
    out.

    By convention, what is false is drawn dashed and in the tone ``warn``.
    """
    return Line(
        label,
        tuple((first, two) for first, two in _complete_rows(rows, x, y)),
        (x, y),
        tone,
        dashed,
    )


def band(
    rows: Iterable[DrawnRow], x: str, low: str, high: str, label: str, tone: Tone = "mark",
    level: int = 95,
) -> Band:  # fmt: skip
    """Returns the area between the columns ``low`` and ``high``, against the column ``x``; rows
    that lack any of the three are left out."""
    points = tuple((first, two, three) for first, two, three in _complete_rows(rows, x, low, high))
    return Band(label, points, (x, low, high), tone, level)


def dots(
    rows: Iterable[DrawnRow],
    x: str,
    y: str,
    label: str,
    tone: Tone = "second",
    *,
    hollow: bool = False,
) -> Dots:
    """Returns a dot at column ``y`` against column ``x`` for every row that has both."""
    return Dots(
        label,
        tuple((first, two) for first, two in _complete_rows(rows, x, y)),
        (x, y),
        tone,
        hollow,
    )


def bar(
    row: DrawnRow, label: str, value: str, text: str, tone: Tone = "mark", *,
    ends: tuple[str, str] | None = None, dot: str | None = None,
) -> Bar:  # fmt: skip
    """Returns a bar as long as the number in the column ``value``. ``ends`` names two columns; a
    line over the bar joins their numbers. ``dot`` names a column, at whose number a dot is
    drawn."""
    columns = (value, *(ends or ()), *(() if dot is None else (dot,)))
    ((length, *more),) = _complete_rows([row], *columns)
    drawn = None if ends is None else (more[0], more[1])
    return Bar(label, length, text, columns, tone, drawn, None if dot is None else more[-1])


def group(
    row: DrawnRow, label: str, count: str, tone: Tone = "mark", *, filled: bool = True
) -> CrowdGroup:
    """Returns a group of people for a crowd; column ``count`` has their number."""
    ((people,),) = _complete_rows([row], count)
    return CrowdGroup(label, int(people), (count,), tone, filled)


def area(
    row: DrawnRow, label: str, across: float, up: float, column: str, text: str,
    tone: Tone = "mark", level: int = 95,
) -> MosaicTile:  # fmt: skip
    """Returns a tile of a mosaic with the width ``across`` and the height ``up``, both fractions.
    Its area is the probability that the row has in ``column``."""
    return MosaicTile(label, across, up, text, (column,), tone, level)


def short(label: str, maximum: int) -> str:
    """Returns a label, cut with an ellipsis to at most ``maximum`` characters."""
    return label if len(label) <= maximum else f"{label[: maximum - 1].rstrip()}…"


def column(rows: Iterable[DrawnRow], name: str) -> list[float]:
    """Returns the numbers in a column, such as for the range of an axis. Rows without a number
    there are left out."""
    return [value for (value,) in _complete_rows(rows, name)]


def value(row: DrawnRow, name: str) -> float:
    """Returns the number that ``row`` has in the column ``name``. Raises ValueError if there is
    none."""
    ((number,),) = _complete_rows([row], name)
    return number


def _complete_rows(rows: Iterable[DrawnRow], *columns: str) -> list[tuple[float, ...]]:
    """The numbers of some columns, of the rows that have them all."""
    rows_of_columns = (tuple(row.get(name) for name in columns) for row in rows)
    return [cast(tuple[float, ...], numbers) for numbers in rows_of_columns if None not in numbers]
