"""A table for people and for programs: rows with named cells, and the same as text.

Everything that the library's documented names answer is one, so that a notebook shows it, and
``to_frame`` hands it on. Knows neither numpy nor pandas until it is asked for a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

Cell = str | float | bool | None


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """``rows`` with their cells by the name of the column, all with the same names in one order.

    ``lines`` are what people read: one line of headings, then lines of as many texts. ``texts`` of
    its columns, from the left, are words; the others are figures, and stand to the right.
    ``caption`` stands above, ``notes`` are sentences below.
    """

    caption: str
    rows: Sequence[Mapping[str, Cell]]
    lines: Sequence[Sequence[str]]
    texts: int
    notes: Sequence[str]

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame. Raises ImportError where pandas is not installed."""
        names = list(self.rows[0]) if self.rows else []
        return frame({name: [row[name] for row in self.rows] for name in names})

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return "\n".join([self.caption, "", *aligned(self.lines, self.texts), *self._below()])

    def _below(self) -> list[str]:
        return ["", *self.notes] if self.notes else []

    def _repr_html_(self) -> str:
        head, *rest = self.lines
        body = "".join(f"<tr>{self._cells(line, 'td')}</tr>" for line in rest)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<table><caption>{escape(self.caption)}</caption>"
            f"<thead><tr>{self._cells(head, 'th')}</tr></thead><tbody>{body}</tbody></table>{notes}"
        )

    def _cells(self, line: Sequence[str], tag: str) -> str:
        sides = ["left" if place < self.texts else "right" for place in range(len(line))]
        return "".join(
            f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>'
            for side, cell in zip(sides, line, strict=True)
        )


def frame(columns: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    """Columns as a pandas DataFrame. Raises ImportError where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "to_frame() needs pandas: pip install pandas; without it use .rows, a list of dicts"
        ) from None
    return pd.DataFrame(columns)


def aligned(
    lines: Iterable[Sequence[str]], texts: int, clean: Callable[[str], str] = str
) -> list[str]:
    """Lines of cells below one another: the first ``texts`` columns to the left, the others to the
    right. ``clean`` is applied to each finished line."""
    table = list(lines)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]

    def line(cells: Sequence[str]) -> str:
        placed = [
            cell.ljust(width) if place < texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return clean("  ".join(placed)).rstrip()

    return [line(cells) for cells in table]
