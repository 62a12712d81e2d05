"""Holds a set of reports and reads them by question, by column and by stratum.

Models read these rows. ``ReportSet`` adds the methods that fit models.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from deniably.core.errors import BadModel
from deniably.estimation.tally import Tally
from deniably.survey.strata import Stratum, members
from deniably.survey.survey import Survey, require_whole_reports
from deniably.workbench.packing import Answered, Layout, Rows
from deniably.workbench.report_columns import FileColumns, Filled, columns_of, note


@dataclass(frozen=True, eq=False, repr=False)
class ReportRows:
    """The reports to one survey, sorted by content; ``ReportSet`` adds the methods that fit
    models.

    ``rows`` has the reports, packed as ``layout`` describes. Two sets are equal if they have the
    same survey and the same reports, regardless of the order in which people sent them. Everything
    but ``strata`` is randomised: estimates read ``tally()``, and models ``column()``. Raises
    TravelledApart for a survey with a mixer, which has no whole reports.
    """

    layout: Layout
    rows: Rows

    def __post_init__(self) -> None:
        require_whole_reports(self.survey)

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportRows):
            return NotImplemented
        same = self.survey.digest == other.survey.digest
        same = same and self.layout.stratified is other.layout.stratified
        return same and np.array_equal(self.rows, other.rows)

    # Equal sets would need equal hashes, and so a pass over all rows.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self):,} randomised reports to {self.survey.name}>"

    @property
    def survey(self) -> Survey:
        """Returns the definition of the survey."""
        return self.layout.survey

    @cached_property
    def columns(self) -> FileColumns:
        """Returns the columns of an export of these reports: their names and what they mean."""
        return columns_of(self.layout)

    @cached_property
    def strata(self) -> dict[str, list[str]]:
        """Returns the strata, which respondents' links stated, as {key: list with the value of
        each row}. Returns {} where strata were left out."""
        numbers = [
            self.columns.column_of(key.name, self.rows).values for key in self.columns.strata
        ]
        return {
            key.key: np.array(key.categories, object)[values].tolist()
            for key, values in zip(self.columns.strata, numbers, strict=True)
        }

    def tally(self) -> dict[str, Tally]:
        """Returns the tally of every question, by name. The counts are those of the server's
        tally."""
        return {name: field.tally(self.rows) for name, field in self.layout.fields.items()}

    def answered(self, question: str) -> Answered:
        """Returns the reports to a question: a mask of the people who were asked, and what each
        report names. Raises KeyError for an unknown question."""
        return self.layout.fields[question].unpack(self.rows)

    def column(self, name: str) -> Filled:
        """Returns the cells of an exported column, in the order of the rows. Raises KeyError for
        an unknown column."""
        return self.columns.column_of(name, self.rows)

    def among(self, stratum: Stratum) -> Self:
        """Returns the reports of a subgroup, such as ``{"site": "north"}``, as a set of the same
        type.

        Raises BadModel where strata were left out, and for a key or value that the survey does not
        have.
        """
        self.need_strata()
        try:
            wanted = members(self.survey.strata or {}, stratum)
        except ValueError as error:
            raise BadModel(str(error)) from None
        return replace(self, rows=self.rows[np.isin(self.layout.strata(self.rows), wanted)])

    def by(self, key: str) -> dict[str, Self]:
        """Returns {value: set of the reports with that value} of a stratum key, in the order of
        the definition.

        Raises BadModel where strata were left out, and for an unknown key.
        """
        self.need_strata(key)
        return {value: self.among({key: value}) for value in (self.survey.strata or {})[key]}

    def need_strata(self, *keys: str) -> None:
        """Raises BadModel where strata were left out, or the survey lacks one of these stratum
        keys."""
        known = sorted(self.survey.strata or {})
        for key in keys:
            if any(question.name == key for question in self.survey.questions):
                raise BadModel(
                    f"{key} is a question, and randomised: nobody knows who gave which answer;"
                    " only strata are known"
                )
            if key not in known:
                there = f"there are {', '.join(known)}" if known else "the survey has none"
                raise BadModel(f"there is no stratum {key}; {there}")
        if not self.layout.stratified:
            raise BadModel(note(self.layout) or "the survey has no strata")
