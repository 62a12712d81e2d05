"""The set of a survey's randomised reports, without ids, receipts and order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from deniably.core.errors import BadModel, BadReport
from deniably.core.table import Table
from deniably.estimation.tally import Tally
from deniably.simulation.bulk.any_law import named
from deniably.simulation.reports import Reports, Some
from deniably.survey.strata import Stratum, members
from deniably.survey.survey import Survey
from deniably.workbench.columns import FileColumns, Filled, columns_of, note
from deniably.workbench.ordering import in_order
from deniably.workbench.packing import Answered, Layout, PackedField, Rows, WireBlock, layout

if TYPE_CHECKING:
    from deniably.core.binomial import Floats
    from deniably.workbench.models.fit import StandardErrors
    from deniably.workbench.models.regress import Link
    from deniably.workbench.models.regression import Regression


@dataclass(frozen=True, eq=False, repr=False)
class ReportSet:
    """The reports to a ``survey``, sorted by content: all that leaves a server besides counts.

    ``rows`` are packed as the ``layout`` says. Two sets are equal exactly if they have the same
    survey and the same reports, whoever sent them and whenever. Everything in it but ``strata`` is
    randomised: estimates read its ``tally()``, and models its ``column()``.
    """

    layout: Layout
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportSet):
            return NotImplemented
        same = self.survey.digest == other.survey.digest
        same = same and self.layout.stratified is other.layout.stratified
        return same and np.array_equal(self.rows, other.rows)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self):,} randomised reports to {self.survey.name}>"

    @property
    def survey(self) -> Survey:
        """The definition."""
        return self.layout.survey

    @cached_property
    def columns(self) -> FileColumns:
        """The columns of an export, with their names and what they mean."""
        return columns_of(self.layout)

    @cached_property
    def strata(self) -> dict[str, list[str]]:
        """What the links said, by key: a value for each row. Empty where strata were left out."""
        numbers = [self.columns.one(one.name, self.rows).values for one in self.columns.strata]
        return {
            one.key: np.array(one.categories, object)[values].tolist()
            for one, values in zip(self.columns.strata, numbers, strict=True)
        }

    def tally(self) -> dict[str, Tally]:
        """The tally of every question, by name: the same counts as the server's."""
        return {name: field.tally(self.rows) for name, field in self.layout.fields.items()}

    def answered(self, question: str) -> Answered:
        """The reports to a question: who was asked, and the cells of each. Raises KeyError."""
        return self.layout.fields[question].unpack(self.rows)

    def column(self, name: str) -> Filled:
        """The integers of an exported column, in the order of the rows. Raises KeyError."""
        return self.columns.one(name, self.rows)

    def among(self, stratum: Stratum) -> ReportSet:
        """The reports of a subgroup, such as ``{"site": "north"}``, as a set with all methods.

        Raises BadModel where strata were left out, and for a key or value that the survey does not
        have.
        """
        self._needs_strata()
        try:
            wanted = members(self.survey.strata or {}, stratum)
        except ValueError as error:
            raise BadModel(str(error)) from None
        return ReportSet(self.layout, self.rows[np.isin(self.layout.strata(self.rows), wanted)])

    def by(self, key: str) -> dict[str, ReportSet]:
        """The reports of each value of a key of the strata, in the definition's order.

        Raises BadModel as ``among`` does.
        """
        self._needs_strata(key)
        return {value: self.among({key: value}) for value in (self.survey.strata or {})[key]}

    def shares(
        self,
        question: str,
        *,
        weights: Sequence[float] | Floats | None = None,
        strata: str | Sequence[str] | None = None,
        by: str | None = None,
        confidence: float = 0.95,
    ) -> Table:
        """The shares of all true answers to a question, and their mean, with weights.

        ``weights`` are in the order of the rows, as ``rake`` returns them. ``strata`` are keys:
        errors are then those within strata, which a design of a sample from each makes smaller.
        ``by`` is a key, and each of its values has rows of its own. Otherwise as
        ``weighted_shares``. Raises BadModel.
        """
        from deniably.workbench.models.effective import shares_of_reports

        return shares_of_reports(
            self, question, weights=weights, strata=strata, by=by, confidence=confidence
        )

    def rake(self, margins: Mapping[str, Mapping[str, float]]) -> Floats:
        """Weights in the order of the rows, with mean 1, that meet known shares of strata.

        ``margins`` are such as ``{"site": {"north": 0.4, "south": 0.6}}``. Only strata have
        margins: of a question nobody knows who gave which answer. Raises BadModel for another
        column, and as ``deniably.workbench.rake`` does.
        """
        from deniably.workbench.models.weights import rake

        self._needs_strata(*margins)
        return rake(self.strata, margins)

    def regress(
        self,
        formula: str,
        *,
        weights: Sequence[float] | Floats | None = None,
        strata: str | Sequence[str] | None = None,
        link: Link = "logit",
        se: StandardErrors | None = None,
        confidence: float = 0.95,
    ) -> Regression:
        """Regression on the reports, such as ``"stolen ~ often + score(happy) + C(site)"``.

        Strata stand under their keys, here ``site``. ``weights`` are in the order of the rows, and
        ``strata`` are keys whose strata the errors of a weighted model are taken within. See
        ``models.of_reports.regress_reports``. Raises BadModel.
        """
        from deniably.workbench.models.of_reports import regress_reports

        return regress_reports(
            self, formula, weights=weights, strata=strata, link=link, se=se, confidence=confidence
        )

    def _needs_strata(self, *keys: str) -> None:
        """Raise BadModel where strata were left out, or there is none of such a key."""
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


def report_set(places: Layout, blocks: Iterable[WireBlock]) -> ReportSet:
    """The set of checked reports that come in blocks, in any order."""
    return of_rows(places, map(places.pack, blocks))


def of_rows(places: Layout, blocks: Iterable[Rows]) -> ReportSet:
    """The set of reports that are packed already, in any order."""
    empty = np.zeros((0, places.width), np.uint8)
    return ReportSet(places, in_order(np.vstack([empty, *blocks])))


def checked(survey: Survey, values: object) -> list[list[int] | None]:
    """One report's values by question, as an object of JSON, in the survey's order.

    Raises BadReport unless a device could have made them.
    """
    try:
        given = msgspec.convert(values, dict[str, list[int]], strict=True)
    except msgspec.ValidationError as error:
        raise BadReport(f"a report has a list of integers by question: {error}", "$") from None
    if unknown := set(given) - {question.name for question in survey.questions}:
        raise BadReport(f"the survey has no question {min(unknown)[:64]}", "$")
    found: list[list[int] | None] = []
    for question in survey.questions:
        value = given.get(question.name)
        if value is not None:
            question.mechanism.check(value, f"$.{question.name}")
        found.append(value)
    if sum(value is not None for value in found) != survey.asked:
        raise BadReport(f"a report has values of {survey.asked} questions", "$")
    return found


def of_simulation(reports: Reports) -> ReportSet:
    """The set of simulated reports, as ``deniably.randomise`` returns them."""
    places = layout(reports.survey, stratified=bool(reports.survey.strata))
    return of_rows(places, packed_simulation(places, reports))


def packed_simulation(places: Layout, reports: Reports) -> Iterator[Rows]:
    """Simulated reports, packed, in their order."""
    start = 0
    for block in reports.blocks:
        packed = [_packed(field, block[name]) for name, field in places.fields.items()]
        stop = start + len(packed[0])
        yield places.beside(reports.strata[start:stop].astype(np.int64), packed)
        start = stop


def _packed(field: PackedField, some: Some) -> Rows:
    cells = some.reports
    if named(field.question.mechanism.law):
        count = field.question.mechanism.law.cell_count
        cells = np.unpackbits(cells, axis=1, count=count, bitorder="little")
        if field.kind == "numbers":
            cells = cells.argmax(axis=1)
    return field.pack_some(some.asked, cells.reshape(len(cells), -1))
