"""Experiment L2: what a single report reveals about its sender, whatever else is known about
them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod, sqrt
from typing import Annotated, Any

from deniably.core.table import Cell
from deniably.design.best_mechanisms import warner
from deniably.lab.catalogue import each_question, experiment
from deniably.lab.draws import Draws
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import EpsilonInput, Exact, Real, SeedInput, as_privacy
from deniably.lab.picture import Picture, band, dots, line
from deniably.mechanisms.law import (
    CoinEach,
    CoinForSome,
    Finite,
    Law,
    Randomiser,
    Several,
    Supporting,
)
from deniably.results.drawing.axes import of_parts
from deniably.results.drawing.graph import Graph, GraphLayer
from deniably.results.drawing.rounding import NARROW, hundred
from deniably.survey.questions import Question

PEOPLE = 2000
"""The number of simulated people for each prior; those who sent the most revealing report are
counted."""
_PRIORS = (0, 1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50, 60, 70, 75, 80, 85, 90, 95, 98, 99, 100)
_DRAWN = (10, 30, 50, 70, 90)

_HALF = Fraction(1, 2)

PriorInput = Annotated[
    Exact,
    Real(
        minimum=0,
        maximum=1,
        percent=True,
        help="How likely the answer is thought to be before the report.",
    ),
]


def _of_question(question: Question) -> dict[str, Any] | None:
    """Every question but those whose promise can fail, for which there is no band."""
    mechanism = question.report_mechanism
    return None if mechanism.loss.delta else {"mechanism": mechanism}


@experiment(
    "One report",
    "What does one report give away about me, whatever else is known?",
    [
        Reference("Dwork", 2006, "Differential privacy, ICALP: a promise against every prior"),
        Reference("Kasiviswanathan and Smith", 2014, "On the semantics of differential privacy, J."
               " Privacy and Confidentiality 6:1"),
        Reference("Desfontaines", 2018, "Differential privacy in more detail, desfontain.es:"
               " posterior against prior as a band"),
    ],
    each_question(_of_question),
    instead={"mechanism": ("epsilon",)},
)  # fmt: skip
def one_report(
    *,
    epsilon: EpsilonInput = "ln 3",
    prior: PriorInput = "1/10",
    seed: SeedInput = 1,
    mechanism: Randomiser[Law] | None = None,
) -> ExperimentFindings:
    """Shows how one report changes the belief of somebody who thought, with probability ``prior``,
    that the answer is yes.

    The two answers are those that reports distinguish best. ``epsilon`` is that of randomised
    response; another ``mechanism`` can be given instead.
    """
    mechanism = mechanism or warner(2, as_privacy(epsilon))
    odds = mechanism.loss.odds_bound
    least, greatest = ratios(mechanism.law, odds)
    priors = sorted({Fraction(prior), *(Fraction(percent, 100) for percent in _PRIORS)})
    draws = Draws(seed, "one report")
    rows: list[dict[str, Cell]] = []
    for report, ratio in (("most for it", greatest), ("most against it", least)):
        for held in priors:
            row = _row(report, held, ratio, odds)
            if report == "most for it" and 100 * held in _DRAWN:
                row |= _drawn(draws, mechanism, held, ratio)
            rows.append(row)
    risen = rows[: len(priors)]

    before = Fraction(prior)
    answer = (
        f"If a reader thought an answer {hundred(before)}{NARROW}% likely, the report that speaks"
        f" most for it makes it at most {hundred(after(before, greatest))}{NARROW}% likely. From"
        f" 50{NARROW}% it rises to {hundred(after(_HALF, greatest))}{NARROW}% at most."
    )
    layers: list[GraphLayer] = [
        band(risen, "prior", "low", "high", "any mechanism of this epsilon"),
        line(risen, "prior", "exact", "after the report most for it", "second"),
        line(rows[len(priors):], "prior", "exact", "after the report most against it", "mark"),
        line(risen, "prior", "prior", "nothing learned", "mute", dashed=True),
        dots(risen, "prior", "drawn", f"of {PEOPLE:,} people who drew reports", "second"),
    ]  # fmt: skip
    whole = of_parts([0, 1])
    drawn = Graph(whole, "thought likely before", whole, "thought likely after the report", layers)
    notes = [
        "The band holds whatever else is known: other reports, registers, friends. It is about"
        " what this report adds."
    ]
    title = "How likely the answer is thought to be, before and after one report"
    return ExperimentFindings(answer, rows, [Picture(title, drawn)], notes, mechanism.described)


def ratios(law: Law, odds: Fraction) -> tuple[Fraction, Fraction]:
    """Returns the smallest and the largest likelihood ratio P(report | x) / P(report | y) over all
    reports. x and y are the two answers for which the largest ratio is as large as possible; the
    caller knows this maximum and passes it as ``odds``."""
    if isinstance(law, Several):
        parts = [ratios(part, _odds_of(part)) for part in law.parts]
        # The worst report samples the parts with the lowest ratios.
        lowest = sorted(low for low, _ in parts)[: law.s]
        return prod(lowest, start=Fraction(1)), odds
    first, second = law.extremes
    if isinstance(law, Finite) and law.exact:
        quotients = [
            law.probability(first, (output,)) / law.probability(second, (output,))
            for output in range(law.outputs)
        ]
        return min(quotients), max(quotients)
    if isinstance(law, Supporting):
        return _least_of_cells(law, law.own(first), law.own(second), odds), odds
    return 1 / odds, odds  # noise is symmetric


def _least_of_cells(
    law: Supporting, ours: frozenset[int], theirs: frozenset[int], odds: Fraction
) -> Fraction:
    """The ratio of the report that speaks most against the answer whose cells are ``ours``."""
    mine, other = len(ours - theirs), len(theirs - ours)
    match law.joint:
        case CoinEach(p=p, q=q):
            missing, named = (1 - p) / (1 - q), q / p
            return Fraction(missing**mine * named**other)
        case CoinForSome(p=p, q=q):
            sampled = min(mine, int(law.sampled_fraction * law.k))
            return Fraction((q / p) ** sampled)
        case _:
            return 1 / odds  # a set meets one answer's cells as often as the other's


def _odds_of(law: Finite | Any) -> Fraction:
    first, second = law.extremes
    if isinstance(law, Finite) and law.exact:
        return max(
            law.probability(first, (output,)) / law.probability(second, (output,))
            for output in range(law.outputs)
        )
    # The report at the low end speaks most for the lower answer.
    end = (-law.reach,) if not isinstance(law, Finite) else (0,)
    return Fraction(law.probability(first, end) / law.probability(second, end))


def _row(report: str, prior: Fraction, ratio: Fraction, odds: Fraction) -> dict[str, Cell]:
    return {
        "report": report,
        "prior": float(prior),
        "exact": float(after(prior, ratio)),
        "low": float(after(prior, 1 / odds)),
        "high": float(after(prior, odds)),
    }


def after(prior: Fraction, ratio: Fraction) -> Fraction:
    """Returns the posterior probability of an answer by Bayes' rule, after a report that is
    ``ratio`` times as likely with this answer as with the other."""
    return prior * ratio / (prior * ratio + 1 - prior)


def _drawn(
    draws: Draws, mechanism: Randomiser[Law], prior: Fraction, ratio: Fraction
) -> dict[str, Cell]:
    """The part that has the answer, of people whose report speaks most for it."""
    law: Any = mechanism.law  # whose answers are of the type that it takes
    having = round(PEOPLE * prior)
    answers: Sequence[Any] = law.extremes
    counts: list[int] = []
    for answer, people in zip(answers, (having, PEOPLE - having), strict=True):
        seen: dict[tuple[int, ...], bool] = {}
        reports = draws.reports(mechanism, [answer] * people)
        for report in reports:
            if report not in seen:
                of_ours, of_theirs = (law.probability(answer, report) for answer in answers)
                # Laws of noise are floats: an equal ratio may miss by a rounding.
                seen[report] = of_ours >= ratio * of_theirs * (1 - Fraction(1, 10**9))
        counts.append(sum(seen[report] for report in reports))
    if not all(counts):
        return {}  # the report is too rare to be drawn
    held = after(prior, ratio)
    # By the delta method: relative variances of two independent counts add up.
    few = [float(max(1 - Fraction(count, people), Fraction(0))) / count
           for count, people in zip(counts, (having, PEOPLE - having), strict=True)]  # fmt: skip
    return {
        "drawn": counts[0] / sum(counts),
        "standard_error": float(held * (1 - held)) * sqrt(sum(few)),
    }
