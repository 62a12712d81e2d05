"""Turns an exhibit into a table: CSV for a spreadsheet, findings for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from deniably.core.errors import NoFigure
from deniably.core.languages.csv_text import csv_table
from deniably.core.languages.html import Html
from deniably.core.table import Table
from deniably.exhibits import notebook
from deniably.exhibits.exhibit import Exhibit, Records, stated
from deniably.results.rows import ResultRow

NOTHING = Html()


@dataclass(frozen=True, eq=False, repr=False)
class Findings(Table):
    """A table of figures that were estimated from reports, for a notebook or a terminal.

    ``rows`` are dicts; ``to_frame()`` makes a data frame of them. ``estimator`` is a sentence on
    how the figures were estimated, with its source. ``document`` has the same content as the
    server's JSON.
    """

    estimator: str
    document: Any
    drawn: Html = NOTHING

    @property
    def estimate(self) -> float:
        """Returns the estimate. Raises NoFigure unless there is exactly one row and the reports
        determine the estimate."""
        return self._one("estimate")

    @property
    def standard_error(self) -> float:
        """Returns the estimate's standard error. Raises NoFigure unless there is exactly one row
        and the reports determine the error."""
        return self._one("standard_error")

    @property
    def interval(self) -> tuple[float, float]:
        """Returns the lower and the upper end of the confidence interval. Raises NoFigure unless
        there is exactly one row and the reports determine the interval."""
        return self._one("low"), self._one("high")

    def to_dict(self) -> dict[str, Any]:
        """Returns the document and the estimator as plain values, for JSON."""
        return {"estimator": self.estimator, **msgspec.to_builtins(self.document)}

    def _one(self, column: str) -> float:
        if len(self.rows) != 1:
            raise NoFigure(f"these are {len(self.rows)} figures: take .rows or .to_frame()")
        number = self.rows[0].get(column)
        # None: reports that say too little have no estimate.
        if not isinstance(number, int | float):
            raise NoFigure(f"these reports do not determine the {column.replace('_', ' ')}")
        return number

    def _repr_html_(self) -> str:
        if not self.drawn:
            return super()._repr_html_()
        if "<table" not in self.drawn.source:  # pictures alone, whose figures are in the table
            return Html.joined("", [notebook.styled(self.drawn), self._html()]).source
        notes = (
            Html.filled('<p class="note">{note}</p>', note=Html.text(note)) for note in self.notes
        )
        shown = [below(self.caption, self.drawn), *notes]
        return notebook.styled(Html.joined("", shown)).source


def csv(records: Records) -> str:
    """Returns the exact numbers as CSV text, with a first line of column names."""
    return csv_table(records.columns, records.rows())


def findings(exhibit: Exhibit, *notes: str) -> Findings:
    """Returns an exhibit as a table for a notebook. Below the table, ``notes`` come after the
    exhibit's findings and before its remarks."""
    printed, records = exhibit.lines(), exhibit.records
    pictures = [
        below(picture.heading, picture.html()) if picture.heading else picture.html()
        for picture in exhibit.pictures()
    ]
    return Findings(
        exhibit.caption,
        whole(records.columns, list(records.rows())),
        [printed.heads, *printed.lines],
        printed.texts,
        stated(exhibit.whom, exhibit.finding, exhibit.family, *notes, *exhibit.remarks),
        exhibit.estimator,
        exhibit.document,
        Html.joined("", pictures),
    )


def below(heading: str, drawn: Html) -> Html:
    """Returns ``drawn`` with a heading above it."""
    return Html.filled("<h4>{heading}</h4>{drawn}", heading=Html.text(heading), drawn=drawn)


def whole(columns: Sequence[str], rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Returns the rows with exactly these ``columns``, in this order; a column that a row lacks is
    None."""
    return [{key: row.get(key) for key in columns} for row in rows]
