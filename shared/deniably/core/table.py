"""A table that prints in a terminal, shows in a notebook and converts to frames.

The functions of ``import deniably`` return tables. pandas is imported only by ``to_frame``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from deniably.core.extras import install_command
from deniably.core.languages.html import Html
from deniably.core.languages.latex import Latex
from deniably.core.languages.markdown import Markdown
from deniably.core.steering import one_line

if TYPE_CHECKING:
    import pandas as pd

Cell = str | float | bool | None


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table: ``rows`` are dicts by column name, for programs; ``lines`` are texts for people.

    All rows have the same columns in the same order. The first of ``lines`` has the headings, and
    every line has as many texts. The first ``texts`` columns of the lines are words, aligned left;
    the others are numbers, aligned right. ``caption`` is printed above the table; ``notes`` are
    sentences below it.

    >>> people = [{"answer": "yes", "n": 60}, {"answer": "no", "n": 40}]
    >>> Table("Answers", people, [["answer", "n"], ["yes", "60"], ["no", "40"]], 1, [])
    Answers
    <BLANKLINE>
    answer   n
    yes     60
    no      40
    """

    caption: str
    rows: Sequence[Mapping[str, Cell]]
    lines: Sequence[Sequence[str]]
    texts: int
    notes: Sequence[str]

    @overload
    def to_frame(self, engine: Literal["pandas"] = "pandas") -> pd.DataFrame: ...

    @overload
    def to_frame(self, engine: str) -> Any: ...

    def to_frame(self, engine: str = "pandas") -> Any:
        """Returns the rows as a data frame of pandas, or of another library, such as "polars",
        which ``engine`` names.

        Raises ImportError where that library, or narwhals for a library other than pandas, is not
        installed; ValueError for an unknown library.
        """
        names = list(self.rows[0]) if self.rows else []
        columns = {name: [row[name] for row in self.rows] for name in names}
        return frame(columns) if engine == "pandas" else _other_frame(columns, engine)

    def to_dict(self) -> dict[str, Any]:
        """Returns {"caption": ..., "rows": ..., "notes": ...}, with plain values for JSON."""
        return {
            "caption": self.caption,
            "rows": [dict(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def to_markdown(self) -> str:
        """Returns the table as Markdown, with its caption above and its notes below."""
        caption = Markdown.filled("**{caption}**", caption=Markdown.text(self.caption))
        table = Markdown.table(self.lines, self.texts)
        notes = map(Markdown.text, self.notes)
        return Markdown.joined("\n\n", [caption, table, *notes]).source + "\n"

    def to_latex(self) -> str:
        """Returns the table as LaTeX that needs no package: caption, ``tabular`` and notes."""
        notes = [
            Latex.filled("\n\n\\smallskip\\footnotesize {note}", note=Latex.text(note))
            for note in self.notes
        ]
        return Latex.filled(
            "\\begin{{table}}\n\\centering\n\\caption{{{caption}}}\n{table}{notes}\n\\end{{table}}\n",
            caption=Latex.text(self.caption), table=Latex.table(self.lines, self.texts),
            notes=Latex.joined("", notes),
        ).source  # fmt: skip

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        below = ["", *map(one_line, self.notes)] if self.notes else []
        return "\n".join([one_line(self.caption), "", *aligned(self.lines, self.texts), *below])

    def _repr_html_(self) -> str:
        return self._html().source

    def _html(self) -> Html:
        head, *rest = self.lines
        rows = (
            Html.filled("<tr>{cells}</tr>", cells=self._cells(line, Html("td"))) for line in rest
        )
        notes = (Html.filled("<p>{note}</p>", note=Html.text(note)) for note in self.notes)
        return Html.filled(
            "<table><caption>{caption}</caption>"
            "<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}",
            caption=Html.text(self.caption), head=self._cells(head, Html("th")),
            body=Html.joined("", rows), notes=Html.joined("", notes),
        )  # fmt: skip

    def _cells(self, line: Sequence[str], tag: Html) -> Html:
        cells = [
            Html.filled(
                '<{tag} style="text-align: {side}">{cell}</{tag}>',
                tag=tag, cell=Html.text(cell),
                side=Html("left") if place < self.texts else Html("right"),
            )
            for place, cell in enumerate(line)
        ]  # fmt: skip
        return Html.joined("", cells)


def frame(columns: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    """Returns ``columns``, {name: values}, as a pandas DataFrame. Raises ImportError where pandas
    is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            f"to_frame() needs pandas; get it with: {install_command('notebook')}; without it use"
            " .rows, a list of dicts"
        ) from None
    return pd.DataFrame(columns)


def _other_frame(columns: Mapping[str, Sequence[object]], engine: str) -> Any:
    try:
        import narwhals as nw

        return nw.from_dict(columns, backend=engine).to_native()  # type: ignore[arg-type]
    except ValueError:
        raise ValueError(f"there is no engine {engine!r}: take pandas, polars or pyarrow") from None
    except ModuleNotFoundError:
        raise ImportError(
            f"to_frame() needs narwhals and {engine}; get narwhals and pandas with:"
            f" {install_command('bench')}; without them use .rows, a list of dicts"
        ) from None


def aligned(lines: Iterable[Sequence[str]], texts: int) -> list[str]:
    """Returns lines of text with the cells in columns of equal width: the first ``texts`` columns
    aligned left, the others right.

    Characters that control a terminal are left out: a cell may come from a server or a file.
    """
    table = [[one_line(cell) for cell in cells] for cells in lines]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]

    def line(cells: Sequence[str]) -> str:
        placed = [
            cell.ljust(width) if place < texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(placed).rstrip()

    return [line(cells) for cells in table]
