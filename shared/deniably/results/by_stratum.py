"""Compares the strata of a survey, and tests each pair of them for a difference.

A device reports for one stratum, so strata are different people, and the tests are those of two
independent groups. The p-values of a document are adjusted for all its tests (Holm 1979): the
probability of any false difference in it is at most 5 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Protocol, TypedDict

from deniably.core.errors import Incomparable
from deniably.estimation.difference import holm
from deniably.estimation.shares_among_asked import FollowUpCounts
from deniably.estimation.tally import Tally
from deniably.results.among_asked import followed
from deniably.results.differences import AdjustedResult, Side, StatedDifference, Weighted
from deniably.results.result import CONFIDENCE, result
from deniably.results.rows import ResultRow
from deniably.results.side_by_side import (
    FigureHead,
    FigureOfSides,
    FigureResult,
    choices,
    figure_name,
    has_figures,
    means,
    shown_figure,
)
from deniably.survey.questions import Question
from deniably.survey.readable import short_label
from deniably.survey.strata import Stratum, stratum_text
from deniably.survey.survey import Survey

FEWEST = 2
"""The smallest number of subgroups that can be compared."""
MOST_TESTS = 300
"""The largest number of tests in one document; that many take some seconds."""


class ComparedSubgroup(TypedDict):
    """One of the compared subgroups: ``value`` is its value of the key by which subgroups are
    compared, ``strata`` has all keys that the subgroup fixes with their values, and ``n`` is the
    number of its reports to the question."""

    value: str
    strata: dict[str, str]
    n: int


class SubgroupFigure(FigureResult):
    """A figure (a share or a mean) of one subgroup, with the same numbers as in the subgroup's own
    results. ``value`` is the subgroup's value of the key by which subgroups are compared."""

    value: str


class ApartResult(TypedDict):
    """The difference of one figure between two subgroups: the figure of the subgroup with the
    value ``first`` minus that of the subgroup with the value ``second``.

    All intervals and ``p_value`` are for this comparison alone. ``interval``, at the document's
    confidence, leaves out 0 exactly if ``p_value`` is below 1 - confidence. ``adjusted_p_value``
    is adjusted for all tests of the document.
    """

    first: str
    second: str
    estimate: float
    standard_error: float
    interval: list[float]
    interval_80: list[float] | None
    interval_50: list[float] | None
    p_value: float
    adjusted_p_value: float
    sentence: str


class ComparedFigure(FigureHead):
    """One figure in every subgroup. ``differences`` has a test for each pair of subgroups, and is
    empty where the reports allow no test."""

    places: list[SubgroupFigure]
    differences: list[ApartResult]


class ByStratumResult(TypedDict):
    """The figures of a question in the subgroups that differ in the key ``by``, with a test for
    each pair of subgroups.

    ``strata`` has the values of other keys that all subgroups share; it is empty if there are none.
    ``hidden`` are the values of ``by`` whose results are not shown. ``tests`` is the number of all
    tests.
    """

    survey: str
    title: str
    question: str
    question_name: str
    short: str
    type: str
    by: str
    strata: dict[str, str]
    subgroups: list[ComparedSubgroup]
    hidden: list[str]
    confidence: float
    adjustment: str
    tests: int
    figures: list[ComparedFigure]


class WeightedShown(Weighted, Protocol):
    """The weighted reports to a question, with a tally for the figures that are displayed."""

    def every(self) -> Tally:
        """Returns the tally of a fictitious unweighted sample that gives every figure of the
        question at least the variance of the weighted reports."""
        ...


def by_stratum(
    survey: Survey,
    question: Question,
    by: str,
    tallies: Mapping[str, Mapping[str, Tally]],
    *,
    strata: Stratum | None = None,
    confidence: float = CONFIDENCE,
    weighted: Mapping[str, WeightedShown] | None = None,
    together: Mapping[str, Mapping[str, FollowUpCounts]] | None = None,
) -> ByStratumResult:
    """Returns the document that compares the figures of ``question`` between the subgroups that
    differ in the key ``by`` of the survey's strata.

    ``tallies`` has the tally of every question by name, for each value of ``by`` whose results may
    be shown. ``strata`` has the values of other keys that all these reports share, if there are
    any. ``weighted`` has the weighted reports to the question for the same values of ``by``, None
    without weights. ``together`` has the joint counts of questions with ``show_if`` for the same
    values, as in ``results.result.result``.

    Raises Incomparable if fewer than two subgroups may be shown, if the question has no figure
    that can be compared, or if more than ``MOST_TESTS`` tests would be needed.
    """
    keys = survey.strata or {}
    # In the author's order, not that of the tallies.
    shown = [value for value in keys[by] if value in tallies]
    if len(shown) < FEWEST:
        raise Incomparable(f"fewer than two values of {by} have results that could be compared")
    fixed = dict(sorted((strata or {}).items()))
    pairs = together or {}
    sides = [
        Side(
            survey,
            question,
            tallies[value][question.name],
            stratum={**fixed, by: value},
            weighted=None if weighted is None else weighted[value],
            followed=followed(survey, question.name, pairs.get(value)),
        )
        for value in shown
    ]
    shown_tallies = [
        {**tallies[value], **({} if weighted is None else {question.name: weighted[value].every()})}
        for value in shown
    ]
    figures = _figures(
        survey, shown_tallies, sides, confidence, [pairs.get(value, {}) for value in shown]
    )
    tests = [_tests(figure) for figure in figures]
    count = sum(map(len, tests))
    # One adjustment over all figures and pairs; the results are then taken in the same order.
    adjusted = iter(
        holm([comparison.difference.p_value for some in tests for comparison in some.values()])
    )

    def document(comparison: StatedDifference) -> AdjustedResult:
        return comparison.adjusted(next(adjusted), count, confidence)

    return {
        "survey": survey.name,
        "title": survey.title,
        "question": question.label,
        "question_name": question.name,
        "short": short_label(question),
        "type": question.type,
        "by": by,
        "strata": fixed,
        "subgroups": [
            {"value": value, "strata": dict(side.stratum or {}), "n": side.tally.n}
            for value, side in zip(shown, sides, strict=True)
        ],
        "hidden": [value for value in keys[by] if value not in tallies],
        "confidence": confidence,
        "adjustment": "Holm 1979",
        "tests": count,
        "figures": [
            _shown(figure, shown, {pair: document(comparison) for pair, comparison in some.items()})
            for figure, some in zip(figures, tests, strict=True)
        ],
    }


COLUMNS = (
    "survey", "question", "question_label", "strata", "by", "figure", "choice", "choice_label",
    "unit", "first", "second", "n", "estimate", "low", "high", "confidence", "standard_error",
    "p_value", "adjusted_p_value", "adjustment",
)  # fmt: skip
"""The columns of the CSV of ``by_stratum_rows``."""


def by_stratum_rows(document: ByStratumResult) -> Iterator[ResultRow]:
    """Yields the rows of the CSV: for each figure, one row for each subgroup, then one for each
    difference."""
    people = {subgroup["value"]: subgroup["n"] for subgroup in document["subgroups"]}
    head: ResultRow = {
        "survey": document["survey"],
        "question": document["question_name"],
        "question_label": document["question"],
        "strata": stratum_text(document["strata"]),
        "by": document["by"],
        "confidence": document["confidence"],
    }
    for figure in document["figures"]:
        what: ResultRow = head | {
            "figure": figure_name(figure),
            "choice": figure["name"],
            "choice_label": figure["label"],
            "unit": figure["unit"],
        }
        for place in figure["places"]:
            yield what | {"first": place["value"], "n": people[place["value"]]} | _ends(place)
        for apart in figure["differences"]:
            yield (
                what
                | _ends(apart)
                | {
                    "figure": "difference",
                    "first": apart["first"],
                    "second": apart["second"],
                    "n": people[apart["first"]] + people[apart["second"]],
                    "p_value": apart["p_value"],
                    "adjusted_p_value": apart["adjusted_p_value"],
                    "adjustment": document["adjustment"],
                }
            )


# --- below ------------------------------------------------------------------------------------

_Pair = tuple[int, int]
"""The places of two subgroups."""


def _figures(
    survey: Survey,
    tallies: Sequence[Mapping[str, Tally]],
    sides: Sequence[Side],
    confidence: float,
    together: Sequence[Mapping[str, FollowUpCounts]],
) -> list[FigureOfSides]:
    question = sides[0].question
    documents = [
        result(
            survey,
            "closed",
            subgroup_tallies,
            confidence=confidence,
            only=question.name,
            together=pairs,
        ).questions[0]
        for subgroup_tallies, pairs in zip(tallies, together, strict=True)
    ]
    figures = (
        [*means(sides, documents), *choices(sides, documents)] if has_figures(question) else []
    )
    if not figures:
        raise Incomparable(
            "subgroups are compared by means and by the shares of choices, and this question has"
            " neither"
        )
    # Counted before any test is made, since tests take time.
    if (tests := len(figures) * comb(len(sides), 2)) > MOST_TESTS:
        raise Incomparable(
            f"at most {MOST_TESTS} comparisons are made at once, and this question would need"
            f" {tests:,}"
        )
    return figures


def _tests(figure: FigureOfSides) -> dict[_Pair, StatedDifference]:
    pairs = combinations(range(len(figure.sides)), 2)
    comparisons = {pair: figure.apart(*pair) for pair in pairs}
    return {pair: comparison for pair, comparison in comparisons.items() if comparison is not None}


def _shown(
    figure: FigureOfSides, values: Sequence[str], tests: Mapping[_Pair, AdjustedResult]
) -> ComparedFigure:
    return {
        **figure.head,
        "places": [
            {"value": value, **shown_figure(place)}
            for value, place in zip(values, figure.places, strict=True)
        ],
        "differences": [
            _apart(values[here], values[there], test) for (here, there), test in tests.items()
        ],
    }


def _apart(first: str, second: str, test: AdjustedResult) -> ApartResult:
    return {
        "first": first,
        "second": second,
        "estimate": test["estimate"],
        "standard_error": test["standard_error"],
        "interval": test["interval"],
        "interval_80": test["interval_80"],
        "interval_50": test["interval_50"],
        "p_value": test["p_value"],
        "adjusted_p_value": test["adjusted_p_value"],
        "sentence": test["sentence"],
    }


def _ends(figure: SubgroupFigure | ApartResult) -> ResultRow:
    low, high = figure["interval"]
    return {
        "estimate": figure["estimate"],
        "low": low,
        "high": high,
        "standard_error": figure["standard_error"],
    }
