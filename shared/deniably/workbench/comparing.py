"""Crosses questions, and tests differences, in the reports of a study; returns tables of
findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deniably.core.errors import Incomparable, NoFigure
from deniably.estimation.shares_among_asked import FollowUpCounts, follow_ups
from deniably.estimation.weighted_tally import Weighing
from deniably.exhibits import (
    crosstab_exhibit,
    difference_exhibit,
    stratum_exhibit,
    tabular,
    wave_exhibit,
)
from deniably.exhibits.comparison import Comparison
from deniably.exhibits.tabular import Findings
from deniably.mechanisms.law import Supporting
from deniably.results.among_asked import followed
from deniably.results.by_stratum import ByStratumResult, by_stratum
from deniably.results.crosstabs import Blocks, cell_count, crosstab_result, is_crossable, own_filter
from deniably.results.differences import Side, has_pairs, mean_apart, pairs
from deniably.results.waves import Wave, waves_result
from deniably.survey.questions import OfChoices, Question
from deniably.survey.strata import Stratum
from deniably.survey.survey import require_whole_reports
from deniably.workbench import findings
from deniably.workbench.collected import Collected, check_confidence, inside
from deniably.workbench.models.effective_sample import WeightedReports
from deniably.workbench.models.follow_up_weights import counts_of
from deniably.workbench.models.report_weights import StratumWeights, of_group, weighing
from deniably.workbench.report_rows import ReportRows
from deniably.workbench.weighted_figures import weighing_of, weights_among

_MOST_CELLS = 10_000


def by_strata(
    collected: Collected, question: str, by: str, confidence: float, weighed: Weighing | None = None
) -> ByStratumResult:
    """Estimates a question in each value of the stratum key ``by``, and tests the difference
    between every two values.

    ``weighed`` has the weights of the reports, None for no weights. Raises NoFigure for an unknown
    question or key, a ``confidence`` out of range, and a question that cannot be compared.
    """
    check_confidence(confidence)
    of_question = collected.question(question)
    collected.key_values(by)
    tallies, weighted = collected.tallies_by(by), None
    if weighed is not None:
        parts = collected.reports.by(by)
        weighted = {
            value: WeightedReports(
                parts[value], of_question, weighed.among(inside(collected.reports, by, value))
            )
            for value in tallies
        }
    together = {
        value: follow_up_counts(collected, question, {by: value}, weighed) for value in tallies
    }
    try:
        return by_stratum(
            collected.survey, of_question, by, tallies, confidence=confidence, weighted=weighted,
            together=together,
        )  # fmt: skip
    except Incomparable as error:
        raise NoFigure(f"{question}: {error}") from None


def crosstab(
    collected: Collected,
    rows: str,
    columns: str,
    confidence: float,
    by: str | None,
    weighed: Weighing | None,
) -> Findings:
    """Returns the cross-table of two questions, for everybody or for each value of the stratum key
    ``by``.

    ``weighed`` has the weights of the reports, None for no weights. Raises NoFigure for questions
    that cannot be crossed, NoResults where neither reports nor joint counts are known, and
    TravelledApart for a survey with a mixer.
    """
    require_whole_reports(collected.survey)
    chosen = _crossable(collected, rows, columns)
    if by is None:
        own = weights_among(collected, weighed, rows, columns)
        # Pairs come in the survey's order; ``chosen`` says later which question makes the rows.
        pairs_ = collected.pairs(*sorted(chosen))
        return crossed(collected, pairs_, chosen, confidence, weighed=own)
    tables = dict[str, Findings]()
    for value, blocks in collected.pairs_by(by, *sorted(chosen)):
        own = weights_among(collected, weighed, rows, columns, among={by: value})
        with of_group(by, value):
            tables[value] = crossed(collected, blocks, chosen, confidence, {by: value}, own)
    if not tables:
        raise NoFigure(f"nobody whose {by} is known was asked both {rows} and {columns}")
    labels = (collected.survey.questions[index].label for index in chosen)
    return findings.side_by_side(" by ".join(labels), tables)


def _crossable(collected: Collected, rows: str, columns: str) -> list[int]:
    """Returns the indices of two questions. Raises NoFigure where they cannot be crossed."""
    chosen = [collected.index(name) for name in (rows, columns)]
    both = [collected.survey.questions[index] for index in chosen]
    if rows == columns:
        raise NoFigure(f"{rows} cannot be crossed with itself: name two questions")
    for question in both:
        if not is_crossable(question):
            raise NoFigure(
                f"{question.name} cannot be crossed: cross-tables are of questions with choices"
                " that each report is about"
            )
    if why := own_filter(*both):
        raise NoFigure(f"{rows} and {columns} are not crossed: {why}")
    if (cells := cell_count(*both)) > _MOST_CELLS:
        raise NoFigure(f"a cross-table has at most {_MOST_CELLS:,} cells, and not {cells:,}")
    return chosen


def crossed(
    collected: Collected,
    blocks: Blocks,
    chosen: Sequence[int],
    confidence: float,
    strata: Stratum | None = None,
    weighed: Weighing | None = None,
) -> Findings:
    """Returns the cross-table of two questions, estimated from pairs of reports.

    ``chosen`` has two indices in the survey: of the question in the rows, and of that in the
    columns. ``blocks`` has the pairs in the survey's order of the questions. ``strata`` names the
    subgroup that the pairs are of. Raises NoFigure where the reports do not allow a table.
    """
    try:
        crosstab = crosstab_result(collected.survey, chosen, blocks, confidence, strata, weighed)
    except Incomparable as error:
        raise NoFigure(str(error)) from None
    shown = crosstab_exhibit.exhibit(crosstab, collected.survey)
    if weighed is None:
        return tabular.findings(shown)
    cost = findings.cost_of_weights(weighed)
    return replace(tabular.findings(shown, cost), estimator=findings.WEIGHTED_CROSSTAB)


def difference(
    collected: Collected,
    question: str,
    by: str | None,
    other: Collected | None,
    part: str | None,
    confidence: float,
    weighed: Weighing | None,
    other_weights: StratumWeights | None,
) -> Findings:
    """Tests differences: between the choices of a question, between the values of the stratum key
    ``by``, or between this study and the study ``other``.

    Without ``by`` and ``other``, every two choices are compared. For a question about several
    numbers, ``part`` names the number to compare. Raises NoFigure where the figures cannot be
    compared or both ``by`` and ``other`` are given, BadModel for weights that do not fit, and
    NoResults where the reports or counts that a test needs are missing.
    """
    check_confidence(confidence)
    if other is None and other_weights is not None:
        raise NoFigure("other_weights= are those of another study: give other=, too")
    if by is not None:
        if other is not None:
            raise NoFigure("give by= or other=, and not both")
        apart = by_strata(collected, question, by, confidence, weighed)
        shown = tabular.findings(stratum_exhibit.exhibit(apart, collected.survey))
        return findings.weighted(shown, weighed, findings.WEIGHTED_DIFFERENCE)
    # A weighted side is compared with a weighted one: equal weights of 1 change no estimate.
    if weighed is None and other_weights is not None:
        weighed = weighing(collected.reports, np.ones(collected.n), None)
    here, there = side(collected, question, part, weighed), None
    if other is None and not has_pairs(here.question):
        raise NoFigure(
            f"{question} has no choices to compare in pairs: give by=, a key of the strata, or"
            " other=, another study"
        )
    if other is not None:
        own = weighing_of(other, other_weights, None)
        if weighed is not None and own is None:  # a sample in which all weigh the same
            own = weighing(other.reports, np.ones(other.n), None)
        there = side(other, question, part, own)
    shown = between(here, there, confidence)
    return findings.weighted(shown, weighed, findings.WEIGHTED_DIFFERENCE)


def between(here: Side, there: Side | None, confidence: float) -> Findings:
    """Compares two studies if ``there`` is given: each choice of the question, or its mean.
    Without ``there``, compares every two choices within the one study.

    Raises NoFigure where the figures cannot be compared.
    """
    try:
        if there is not None and not _is_counted(here.question):
            return findings.of_mean_difference(here, there, mean_apart(here, there), confidence)
        return tabular.findings(
            difference_exhibit.exhibit(pairs(here, there, confidence), here.survey)
        )
    except Incomparable as error:
        raise NoFigure(f"{here.question.name}: {error}") from None


def compared(
    collected: Collected,
    comparison: Comparison[Any],
    question: str,
    parameters: Mapping[str, str],
    confidence: float,
) -> Findings:
    """Carries out the ``comparison`` on a question and returns its findings; ``parameters`` has a
    value for each parameter that the comparison asks for.

    Raises NoFigure where a parameter is missing or the figures cannot be compared, and NoResults
    where there are neither reports nor counts.
    """
    check_confidence(confidence)
    if missing := comparison.missing(parameters):
        raise NoFigure(missing)
    here = side(collected, question, parameters.get("part"))
    try:
        document = comparison.compute(here, parameters, confidence)
    except Incomparable as error:
        raise NoFigure(f"{question}: {error}") from None
    return tabular.findings(comparison.exhibit(document, collected.survey, collected.state, ""))


def over_waves(waves: Sequence[Collected], question: str, confidence: float) -> Findings:
    """Tests what changed in a question over ``waves``, given from the first to the last.

    Raises NoFigure for fewer than two waves and for a question that not all waves asked alike, and
    NoResults where a wave has neither reports nor counts. Raises TravelledApart for a survey with
    a mixer, which is no wave.
    """
    check_confidence(confidence)
    for wave in waves:
        require_whole_reports(wave.survey)
    waves[-1].question(question)
    numbered = [
        Wave(number, wave.survey, wave.state, wave.tallies, wave.together(question))
        for number, wave in enumerate(waves, 1)
    ]
    try:
        document = waves_result(waves[-1].survey.name, numbered, 0, confidence, question)
    except Incomparable as error:
        raise NoFigure(f"{question}: {error}") from None
    if not document["questions"]:
        raise NoFigure(
            f"{question} has no figures to put side by side, or was not asked alike in all"
            f" {len(waves)} waves"
        )
    return tabular.findings(
        wave_exhibit.exhibit(document, document["questions"][0], waves[-1].survey)
    )


def side(
    collected: Collected, question: str, part: str | None, weighed: Weighing | None = None
) -> Side:
    """Returns one side of a comparison: a question with the tally of its reports.

    For a question about several numbers, ``part`` names the number to compare. ``weighed`` has the
    weights of the reports, None for no weights. Raises NoFigure for an unknown question, and
    NoResults where there are neither reports nor counts, or counts alone for ``weighed``.
    """
    of_question, weighted = collected.question(question), None
    if weighed is not None:
        weighted = WeightedReports(collected.reports, of_question, weighed, part)
    among_asked = followed(
        collected.survey, question, follow_up_counts(collected, question, {}, weighed)
    )
    return Side(
        collected.survey,
        of_question,
        collected.tallies[question],
        part,
        weighted=weighted,
        followed=among_asked,
    )


def follow_up_counts(
    collected: Collected, question: str, strata: Stratum, weighed: Weighing | None
) -> dict[str, FollowUpCounts]:
    """Returns {``question``: joint counts} of a follow-up question (``show_if``) with the earlier
    question that decides who is asked. Returns {} for any other question.

    ``strata`` restricts the counts to a subgroup; if empty, they are of everybody. With
    ``weighed`` the counts are weighted.
    """
    if weighed is None:
        return collected.together(question, strata)
    follow_up = follow_ups(collected.survey).get(question)
    if follow_up is None:
        return {}
    reports: ReportRows = collected.reports
    for key, value in strata.items():
        weighed = weighed.among(inside(collected.reports, key, value))
        reports = collected.reports.by(key)[value]
    return {question: counts_of(follow_up, reports, weighed)}


def _is_counted(question: Question) -> bool:
    """Returns whether reports to a question count for choices; otherwise its mean is compared."""
    return isinstance(question, OfChoices) and isinstance(question.mechanism.law, Supporting)
