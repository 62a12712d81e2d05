"""Estimates figures with weights: shares, means and ranges from a study's reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import structs

from deniably.core.binomial import Floats
from deniably.core.errors import NoFigure
from deniably.estimation.shares_among_asked import among_asked, follow_ups
from deniably.estimation.tally import Tally
from deniably.estimation.weighted_tally import Weighing
from deniably.exhibits.tabular import Findings
from deniably.results.among_asked import FollowUpReports
from deniably.results.document import SurveyResult
from deniably.results.result import result
from deniably.survey.questions import Number, OfChoices, SelectMultiple, VectorOfNumbers
from deniably.survey.strata import Stratum
from deniably.survey.survey import require_whole_reports
from deniably.workbench import findings
from deniably.workbench.collected import Collected, check_confidence, inside, were_asked
from deniably.workbench.engines import rebuilt
from deniably.workbench.models.effective_sample import WeightedReports
from deniably.workbench.models.follow_up_weights import counts_of
from deniably.workbench.models.raking import rake
from deniably.workbench.models.report_weights import (
    AnyWeights,
    StratumWeights,
    need_strata_weights,
    of_group,
    weighing,
)
from deniably.workbench.report_set import ReportSet

if TYPE_CHECKING:
    from deniably.workbench.engines.tallying import TalliedSet


def weighing_of(
    collected: Collected,
    weights: StratumWeights | None,
    strata: str | Sequence[str] | None,
) -> Weighing | None:
    """Returns a weight for each report, with the ``strata`` that errors are taken within. Returns
    None if ``weights`` is None.

    Raises BadModel for weights that do not fit or are not by stratum, and NoFigure for ``strata``
    without weights.
    """
    if weights is not None:
        need_strata_weights(collected.survey, weights)
        return weighing(collected.reports, weights, strata)
    needs_weights(strata)
    return None


def weights_among(
    collected: Collected, weighed: Weighing | None, *questions: str, among: Stratum | None = None
) -> Weighing | None:
    """Returns the weights of those people in the subgroup ``among`` who were asked all of the
    ``questions``. Returns None if ``weighed`` is None."""
    if weighed is None:
        return None
    there = were_asked(collected.reports, *questions)
    for key, value in (among or {}).items():
        there &= inside(collected.reports, key, value)
    return weighed.among(there)


def weighted(
    collected: Collected,
    question: str,
    weights: StratumWeights,
    by: str | None,
    strata: str | Sequence[str] | None,
    confidence: float,
) -> Findings:
    """Returns the weighted shares and means of a question, for everybody or for each value of the
    stratum key ``by``.

    ``strata`` are keys: errors are then those within strata. Raises NoFigure for a question that
    has neither choices nor numbers, BadModel for weights that do not fit, and NoResults where
    there are neither reports nor counts by stratum.
    """
    need_strata_weights(collected.survey, weights)
    document, of_question = collected.document(question, confidence), collected.question(question)
    if by is not None:
        collected.key_values(by)
    if not isinstance(of_question, OfChoices | Number | VectorOfNumbers):
        raise NoFigure(
            f"{question} is a {of_question.type}: weights are for questions with choices and for"
            " numbers; by= estimates each group by itself"
        )
    # Questions with several answers or numbers have a table for each; all others one, under no
    # name.
    names = [""]
    if isinstance(of_question, SelectMultiple):
        names = of_question.names
    elif isinstance(of_question, VectorOfNumbers):
        names = [part.name for part in of_question.parts]
    reports: ReportSet = (
        collected.reports
        if collected.tallied is None
        else (rebuilt.reports_of(collected.tallied, of_question))
    )
    each: AnyWeights = weights
    if collected.tallied is not None:
        each = rebuilt.weights_of(collected.tallied, of_question, weights)
    tables = {
        name: reports.shares(
            f"{question}__{name}" if name else question,
            weights=each, strata=strata, by=by, confidence=confidence,
        )
        for name in names
    }  # fmt: skip
    among = _among(collected, question, reports, weighing(reports, each, strata), by, confidence)
    shown = findings.of_weighted(document, of_question, tables, by, among)
    return shown if among else findings.of_whom(shown, of_question, asked=False)


def ranges(
    collected: Collected,
    question: Number,
    weighed: Weighing,
    by: str | None,
    confidence: float,
    *,
    smooth: bool = False,
) -> dict[str, tuple[SurveyResult, Tally]]:
    """Returns the weighted results of a number's ranges, with the tally that they are estimated
    from, for each value of the stratum key ``by``: {value: (results, tally)}. Without ``by`` the
    only key is "", for everybody.

    ``smooth`` fits a smooth distribution. Raises NoFigure for an unknown key and BadModel for
    weights that do not fit.
    """
    check_confidence(confidence)
    parts = {"": (collected.reports, collected.tallies, weighed)}
    if by is not None:
        collected.key_values(by)
        tallies, own = collected.tallies_by(by), collected.reports.by(by)
        parts = {
            value: (own[value], tallies[value], weighed.among(inside(collected.reports, by, value)))
            for value in tallies
        }
    documents = dict[str, tuple[SurveyResult, Tally]]()
    for value, (reports, plain, some) in parts.items():
        weighted = WeightedReports(reports, question, some)
        with of_group(by, value):
            tally = weighted.up_to()
        document = result(
            collected.survey, collected.state, {**plain, question.name: tally}, smooth=smooth,
            confidence=confidence, only=question.name,
            strata=None if by is None else {by: value},
        )  # fmt: skip
        (shown,) = document.questions
        # The tally is of effective people; readers are told how many were asked.
        people = structs.replace(shown, n=weighted.n)
        documents[value] = structs.replace(document, questions=[people]), tally
    return documents


def rake_to(collected: Collected, margins: Mapping[str, Mapping[str, float]]) -> StratumWeights:
    """Returns a weight for each stratum that has reports, so that the weighted shares of strata
    are equal to ``margins``.

    The result maps each value of the stratum key to its weight; with several keys, each tuple of
    their values. Raises BadModel for margins that do not fit, NoEstimate where no weights meet
    them, NoResults where there are neither reports nor counts by stratum, and TravelledApart for a
    survey with a mixer.
    """
    require_whole_reports(collected.survey)
    if collected.tallied is None:
        strata, weights = collected.reports.strata, collected.reports.rake(margins)
    else:
        strata = rebuilt.strata_of(collected.tallied)
        weights = _raked(collected, collected.tallied, margins)
    keys = sorted(collected.survey.strata or {})
    # Raked weights are alike within a stratum, so that one of each tells all.
    rows = zip(zip(*(strata[key] for key in keys), strict=True), weights.tolist(), strict=True)
    table_rows = dict(rows)
    if len(keys) == 1:
        return MappingProxyType({value: weight for (value,), weight in table_rows.items()})
    return MappingProxyType(table_rows)


def _raked(
    collected: Collected, tallied: TalliedSet, margins: Mapping[str, Mapping[str, float]]
) -> Floats:
    """Returns the weights of a tally file's reports, in the order of their strata."""
    for key in margins:
        collected.key_values(key)
        if not tallied.stratified:
            tallied.among({key: collected.key_values(key)[0]})  # raises, and says why
    return rake(rebuilt.strata_of(tallied), margins)


def _among(
    collected: Collected,
    question: str,
    reports: ReportSet,
    weighed: Weighing,
    by: str | None,
    confidence: float,
) -> dict[str, findings.WeightedAmong]:
    """Returns the weighted shares of those who were asked, by the values of a key; without one
    under no name. Empty for questions that everybody is asked, and where the reports do not
    determine the shares."""
    follow_up = follow_ups(collected.survey).get(question)
    if follow_up is None:
        return {}
    parts = {"": (reports, weighed)}
    if by is not None:
        parts = {
            value: (part, weighed.among(inside(reports, by, value)))
            for value, part in reports.by(by).items()
            if part.answered(question).asked.any()
        }
    shares = dict[str, findings.WeightedAmong]()
    for value, (part, own) in parts.items():
        with of_group(by, value):
            counts = counts_of(follow_up, part, own, alone=collected.tallied is not None)
        estimates = among_asked(follow_up, counts, confidence)
        if estimates is not None:
            shown = FollowUpReports(follow_up, counts).shown(estimates, confidence)
            shares[value] = findings.WeightedAmong(counts.people, shown)
    return shares


def needs_weights(strata: str | Sequence[str] | None) -> None:
    """Raises NoFigure if ``strata`` are given, as only the errors of weighted figures take
    strata."""
    if strata is not None:
        raise NoFigure("strata= is for the errors of weighted figures: give weights=, too")
