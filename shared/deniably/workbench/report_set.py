"""The set of a survey's randomised reports, without ids, receipts and order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from deniably.core.errors import BadModel, BadReport
from deniably.core.table import Table
from deniably.simulation.bulk.any_law import named
from deniably.simulation.reports import Reports, Some
from deniably.survey.survey import Survey
from deniably.workbench.ordering import in_order
from deniably.workbench.packing import Layout, PackedField, Rows, WireBlock, layout
from deniably.workbench.report_rows import ReportRows

if TYPE_CHECKING:
    from deniably.core.binomial import Floats
    from deniably.workbench.models.estimators import Law, Link
    from deniably.workbench.models.fit import StandardErrors
    from deniably.workbench.models.fitted_regression import Regression
    from deniably.workbench.models.report_weights import AnyWeights


class ReportSet(ReportRows):
    """The reports to a ``survey``, sorted by content: all that leaves a server besides counts.

    It has what ``ReportRows`` have, and fits models, whose modules are loaded when they are asked
    for: an export needs none of them.
    """

    def shares(
        self,
        question: str,
        *,
        weights: AnyWeights | None = None,
        strata: str | Sequence[str] | None = None,
        by: str | None = None,
        confidence: float = 0.95,
    ) -> Table:
        """Returns the shares of all true answers to a question, and their mean, with weights.

        ``weights`` are by stratum, as ``{"north": 1.2, "south": 0.8}``, or in the order of the rows
        and alike within each stratum, as ``rake`` returns them. ``strata`` are keys:
        errors are then those within strata, which a design of a sample from each makes smaller.
        ``by`` is a key, and each of its values has rows of its own. Otherwise as
        ``weighted_shares``. Raises BadModel.
        """
        from deniably.workbench.models.effective_sample import shares_of_reports

        return shares_of_reports(
            self, question, weights=weights, strata=strata, by=by, confidence=confidence
        )

    def rake(self, margins: Mapping[str, Mapping[str, float]]) -> Floats:
        """Returns weights in the order of the rows, with mean 1, that meet known shares of strata.

        ``margins`` are such as ``{"site": {"north": 0.4, "south": 0.6}}``. Only strata have
        margins: of a question nobody knows who gave which answer. Raises BadModel for another
        column, and as ``deniably.workbench.rake`` does.
        """
        from deniably.workbench.models.raking import rake

        keys = sorted(self.survey.strata or {})
        questions = {question.name for question in self.survey.questions}
        if keys and (
            unknown := [key for key in margins if key not in keys and key not in questions]
        ):
            raise BadModel(f"margins has no column {unknown[0]!r}; there are {', '.join(keys)}")
        self.need_strata(*margins)
        return rake(self.strata, margins)

    def regress(
        self,
        formula: str,
        *,
        weights: AnyWeights | None = None,
        strata: str | Sequence[str] | None = None,
        link: Link = "logit",
        law: Law | None = None,
        se: StandardErrors | None = None,
        confidence: float = 0.95,
    ) -> Regression:
        """Fits a regression to the reports, such as ``"stolen ~ often + score(happy) + C(site)"``.

        Strata stand under their keys, here ``site``. ``weights`` are as in ``shares``, and
        ``strata`` are keys whose strata the errors of a weighted model are taken within. See
        ``models.of_reports.regress_reports``. Raises BadModel.
        """
        from deniably.workbench.models.of_reports import regress_reports

        return regress_reports(
            self, formula, weights=weights, strata=strata, link=link, law=law, se=se,
            confidence=confidence,
        )  # fmt: skip


def report_set(places: Layout, blocks: Iterable[WireBlock]) -> ReportSet:
    """Returns the set of checked reports that come in blocks, in any order."""
    return of_rows(places, map(places.pack, blocks))


def of_rows(places: Layout, blocks: Iterable[Rows]) -> ReportSet:
    """Returns the set of reports that are packed already, in any order."""
    empty = np.zeros((0, places.width), np.uint8)
    return ReportSet(places, in_order(np.vstack([empty, *blocks])))


def checked(survey: Survey, values: object) -> list[list[int] | None]:
    """Returns one report's values by question, as an object of JSON, in the survey's order.

    Raises BadReport unless a device could have made them.
    """
    try:
        integers = msgspec.convert(values, dict[str, list[int]], strict=True)
    except msgspec.ValidationError as error:
        raise BadReport(f"a report has a list of integers by question: {error}", "$") from None
    if unknown := set(integers) - {question.name for question in survey.questions}:
        raise BadReport(f"the survey has no question {min(unknown)[:64]}", "$")
    decoded: list[list[int] | None] = []
    for question in survey.questions:
        value = integers.get(question.name)
        if value is not None:
            question.mechanism.check(value, f"$.{question.name}")
        decoded.append(value)
    if not survey.least_asked <= sum(value is not None for value in decoded) <= survey.asked:
        number = f"1 to {survey.asked}" if survey.part else f"{survey.asked}"
        raise BadReport(f"a report has values of {number} questions", "$")
    return decoded


def of_simulation(reports: Reports) -> ReportSet:
    """Returns the set of simulated reports, as ``deniably.randomise`` returns them."""
    places = layout(reports.survey, stratified=bool(reports.survey.strata))
    return of_rows(places, packed_simulation(places, reports))


def packed_simulation(places: Layout, reports: Reports) -> Iterator[Rows]:
    """Returns simulated reports, packed, in their order."""
    start = 0
    for block in reports.blocks:
        packed = [_packed(field, block[name]) for name, field in places.fields.items()]
        stop = start + len(packed[0])
        yield places.with_strata(reports.strata[start:stop].astype(np.int64), packed)
        start = stop


def _packed(field: PackedField, some: Some) -> Rows:
    cells = some.reports
    if named(field.question.mechanism.law):
        count = field.question.mechanism.law.cell_count
        cells = np.unpackbits(cells, axis=1, count=count, bitorder="little")
        if field.kind == "numbers":
            cells = cells.argmax(axis=1)
    return field.pack_some(some.asked, cells.reshape(len(cells), -1))
