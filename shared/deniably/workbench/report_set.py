"""Holds the set of a survey's randomised reports, without ids, receipts and order, and fits models
to it."""

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
    """The reports to one survey, sorted by content. A server gives out nothing else about
    respondents but counts.

    The class adds methods that fit models to those of ``ReportRows``. It imports the modules of
    models only when such a method is called, as an export does not need them.
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
        """Estimates the share of each true answer to a question, and the mean, with weights.

        ``weights`` are by stratum, such as ``{"north": 1.2, "south": 0.8}``, or a list with one
        for each row, equal within each stratum, as ``rake`` returns it; None for equal weights.
        ``strata`` are keys: standard errors are then those within strata, which are smaller if a
        sample was drawn from each stratum. ``by`` is a key: each of its values then has rows of
        its own in the table. The columns of the table are those of
        ``deniably.workbench.weighted_shares``. Raises BadModel for an unknown question or key, for
        weights that do not fit, and where strata were left out.
        """
        from deniably.workbench.models.effective_sample import shares_of_reports

        return shares_of_reports(
            self, question, weights=weights, strata=strata, by=by, confidence=confidence
        )

    def rake(self, margins: Mapping[str, Mapping[str, float]]) -> Floats:
        """Returns a weight for each row, with mean 1, so that weighted shares of strata are equal
        to known shares, the ``margins``.

        ``margins`` has the known share of each value of a stratum key, such as ``{"site":
        {"north": 0.4, "south": 0.6}}``. Only stratum keys can have margins: nobody knows who gave
        which answer to a question. Raises BadModel for a column that is no stratum key and for
        shares that are not positive or do not sum to 1, and NoEstimate where no weights meet the
        margins.
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

        Questions and stratum keys (here ``site``) are named in the formula. ``weights`` are as in
        ``shares``; ``strata`` are keys, and the errors of a weighted model are then those within
        strata. ``link``, ``law``, ``se`` and ``confidence`` are as in ``deniably.regress``. Raises
        BadModel for a formula, question or weights that do not fit, and NoEstimate where the
        reports do not determine the coefficients.
        """
        from deniably.workbench.models.of_reports import regress_reports

        return regress_reports(
            self, formula, weights=weights, strata=strata, link=link, law=law, se=se,
            confidence=confidence,
        )  # fmt: skip


def report_set(places: Layout, blocks: Iterable[WireBlock]) -> ReportSet:
    """Returns the set of checked reports. The reports may come in any order."""
    return of_rows(places, map(places.pack, blocks))


def of_rows(places: Layout, blocks: Iterable[Rows]) -> ReportSet:
    """Returns the set of packed reports. The reports may come in any order."""
    empty = np.zeros((0, places.width), np.uint8)
    return ReportSet(places, in_order(np.vstack([empty, *blocks])))


def checked(survey: Survey, values: object) -> list[list[int] | None]:
    """Returns the integers of one report, in a list with an item for each question of the survey;
    None for a question that was not asked. ``values`` is the JSON object that a device sent.

    Raises BadReport unless a device could have made these values.
    """
    try:
        integers = msgspec.convert(values, dict[str, list[int]], strict=True)
    except msgspec.ValidationError as error:
        raise BadReport(f"a report has a list of integers by question: {error}", "$") from None
    # Names come from anybody's report: an error repeats no long ones.
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
    """Returns the set of the simulated reports that ``deniably.randomise`` returned."""
    places = layout(reports.survey, stratified=bool(reports.survey.strata))
    return of_rows(places, packed_simulation(places, reports))


def packed_simulation(places: Layout, reports: Reports) -> Iterator[Rows]:
    """Yields simulated reports as packed rows, in the order of the simulation."""
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
        # The simulation packs bits of such laws with the first choice lowest; rows have it
        # highest.
        cells = np.unpackbits(cells, axis=1, count=count, bitorder="little")
        if field.kind == "numbers":
            cells = cells.argmax(axis=1)
    return field.pack_some(some.asked, cells.reshape(len(cells), -1))
