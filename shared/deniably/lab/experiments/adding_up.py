"""Experiment L6: how much many answers of one person give away together (composition), and a
formula that is false."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import exp, floor, log, log10, sqrt
from typing import Annotated

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.table import Cell
from deniably.design.best_mechanisms import warner
from deniably.design.composition import (
    basic_composition,
    binomial_window,
    kairouz_closed_form,
    kairouz_delta,
    kairouz_epsilon,
    rho_of_pure,
    zcdp_epsilon,
)
from deniably.design.exact_totals import Total, total_of
from deniably.lab.catalogue import Case, experiment
from deniably.lab.draws import Draws
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import EpsilonInput, Exact, Real, SeedInput, Whole, as_privacy
from deniably.lab.picture import Picture, column, dots, line, value
from deniably.mechanisms import Memoised
from deniably.results.drawing.axes import of_parts, of_values
from deniably.results.drawing.graph import Graph, GraphLayer
from deniably.results.drawing.rounding import number
from deniably.simulation.bulk import randomise_many
from deniably.survey.privacy import Privacy, to_decimal_text
from deniably.survey.survey import Survey

MOST = 10_000
"""The largest number of answers of one person."""
_POINTS = 16  # numbers of answers, besides 1, at which the lines of the picture have a point
_PEOPLE, _REPORTS = 400, 400_000  # who are drawn
_OF_A_SURVEY = 150  # answers of one person, if it is made again and again
_DEVIATIONS = 4
"""How many standard deviations on either side of the mean privacy loss the second picture shows."""

DeltaInput = Annotated[
    Exact,
    Real(
        minimum=Fraction(1, 10**12),
        maximum=Fraction(1, 100),
        help="Delta: the chance with which the exact epsilon need not hold.",
    ),
]
AnswersInput = Annotated[int, Whole(minimum=1, maximum=MOST, help="Answers of one person.")]


def textbook(k: int, epsilon: float, delta: float) -> float:
    """Returns 2 epsilon sqrt(2 k ln(1 / delta)), which lecture notes give as the epsilon of k
    answers together. This is not a theorem: theorem 3.20 of Dwork and Roth 2014 also has the term
    k epsilon (e**epsilon - 1), which can be left out only if epsilon is small for that number of
    answers."""
    return 2 * epsilon * sqrt(2 * k * log(1 / delta))


def _cases(survey: Survey) -> Iterator[Case]:
    """A survey of several questions, each with its own mechanism."""
    if survey.asked > 1:
        yield Case(survey.title, {"survey": survey})


@experiment(
    "Adding up",
    "How much do many answers of one person give away together?",
    [
        Reference("Dwork and Roth", 2014, "The Algorithmic Foundations of Differential Privacy,"
               " theorems 3.16 and 3.20"),
        Reference("Kairouz, Oh and Viswanath", 2015, "The composition theorem for differential"
               " privacy, ICML, theorems 3.3 and 3.4"),
        Reference("Bun and Steinke", 2016, "Concentrated differential privacy, TCC"),
    ],
    _cases,
)  # fmt: skip
def adding_up(
    *,
    epsilon: EpsilonInput = "1",
    delta: DeltaInput = "1e-5",
    k: AnswersInput = 500,
    seed: SeedInput = 1,
    survey: Survey | None = None,
) -> ExperimentFindings:
    """Shows the epsilon of ``k`` answers together, each with ``epsilon``, computed in five ways:
    as the sum, exactly for ``delta``, by zCDP, by a closed form, and by a formula from lecture
    notes. The formula is drawn red where it gives less than the exact value.

    If a ``survey`` is given, the experiment shows the epsilon of its questions, answered again and
    again.
    """
    if survey is not None:
        return _of_survey(survey)
    privacy, left = as_privacy(epsilon), float(Fraction(delta))
    each = privacy.ln
    # Halving finds it because the formula, once it is below the exact value, stays below.
    first = _first(lambda n: textbook(n, each, left) < _exact(n, each, left), k)
    shown = {1 + (k - 1) * place // _POINTS for place in range(_POINTS + 1)}
    # Both sides of the point from which the formula is false.
    shown |= {uses for uses in (first, first and first - 1) if uses}
    rows: list[dict[str, Cell]] = []
    for n in sorted(shown):
        rows += _row(n, each, left, is_false=first is not None and n >= first)
    # The last five rows are those of k answers, one for each figure.
    mine = {str(row["what"]): row for row in rows[-5:]}
    claimed = textbook(k, each, left)
    facts = _facts(k, each, left, first)
    loss, drawn = _drawn(k, privacy, claimed, seed)
    marks: list[dict[str, Cell]] = [
        {"what": f"at {name}", "loss": at, "part": part}
        for name, at in (("exact", value(mine["exact"], "exact")), ("the formula", claimed))
        if at <= k * each
        for part in (0.0, 1.0)
    ]
    rows = [*rows, *facts, *drawn, *loss, *marks]

    exact = number(value(mine["exact"], "exact"), 1)
    each_gives = "each give" if k > 1 else "gives"
    holds = "is enough" if first is None else _holds(value(drawn[1], "exact"))
    answer = (
        f"{number(k)} answer{'s' * (k > 1)} of epsilon {_short(each)} {each_gives} away"
        f" {_short(value(mine['the sum'], 'exact'))} by the plain sum. The exact figure is"
        f" {exact}, except with a chance of {to_decimal_text(Fraction(delta))}. A formula from"
        f" lecture notes says {number(claimed, 1)}, which {holds}."
    )
    return ExperimentFindings(
        answer, rows, [_totals(rows, k), _losses(loss, marks)], _NOTES, warner(2, privacy).described
    )


_NOTES = (
    "Devices count the sum, which always holds. The others hold except with the chance delta.",
    "The loss says how much likelier the reports of one person are with one truth than with"
    " another. It is computed for yes-or-no questions with randomised response, the worst case at"
    " their epsilon.",
)

_FEW = "For few answers, zCDP gives a larger figure than their sum."


def _row(n: int, epsilon: float, delta: float, *, is_false: bool) -> list[dict[str, Cell]]:
    claimed = "the formula, where it is false" if is_false else "the formula, where it holds"
    return [
        {"what": what, "answers": n, "exact": whole}
        for what, whole in (
            ("the sum", basic_composition([epsilon] * n)),
            ("exact", _exact(n, epsilon, delta)),
            ("zCDP", zcdp_epsilon(n * rho_of_pure(epsilon), delta)),
            ("closed form", kairouz_closed_form(n, epsilon, delta)),
            (claimed, textbook(n, epsilon, delta)),
        )
    ]


def _facts(k: int, epsilon: float, delta: float, false: int | None) -> list[dict[str, Cell]]:
    """From how many answers on something is so, up to k; None where it is not."""
    tenth = _first(lambda n: _exact(n, epsilon, delta) <= 0.9 * n * epsilon, k)
    below = _first(lambda n: textbook(n, epsilon, delta) < n * epsilon, k)
    return [
        {"what": "exact saves a tenth from", "answers": tenth},
        {"what": "the formula is below the sum from", "answers": below},
        {"what": "the formula is false from", "answers": false},
    ]


@lru_cache(maxsize=256)
def _exact(n: int, epsilon: float, delta: float) -> float:
    return kairouz_epsilon(n, epsilon, delta)


def _first(holds: Callable[[int], bool], maximum: int) -> int | None:
    """The first number up to ``maximum`` from which something holds; None if there is none."""
    if not holds(maximum):
        return None
    low, high = 0, maximum
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


# --- the loss, and people who have it ---------------------------------------------------------


def _drawn(
    k: int, privacy: Privacy, claimed: float, seed: int
) -> tuple[list[dict[str, Cell]], list[dict[str, Cell]]]:
    """How likely the loss of k answers is above each of some values; and its mean, and the delta of
    the formula's epsilon. All beside people whose reports are drawn."""
    epsilon = privacy.ln
    seen = _people(k, privacy, seed)
    first, weights = binomial_window(k, 1 / (1 + exp(epsilon)))
    positive = k - 2.0 * (first + np.arange(len(weights), dtype=np.float64))
    # Each report adds +epsilon to the loss if it is the true answer, -epsilon otherwise.
    losses: Floats = epsilon * positive
    mean, reach = k * rho_of_pure(epsilon), _DEVIATIONS * _deviation(k, epsilon)
    near = np.abs(losses - mean) <= reach + epsilon
    rows: list[dict[str, Cell]] = []
    between = losses[near] - epsilon  # losses are two epsilons apart
    for t in between[:: -(-len(between) // _POINTS)].tolist()[::-1]:
        chance = min(1.0, float(weights[losses > t].sum()))
        rows.append(
            {
                "what": "a loss above",
                "loss": t,
                "exact": chance,
                "drawn": float((seen > t).mean()),
                "standard_error": sqrt(chance * (1 - chance) / len(seen)),
            }
        )
    failing = kairouz_delta(k, epsilon, claimed)
    # For the standard error of the mean below: E[X**2] - E[X]**2.
    square = float(weights @ _failing(losses, claimed) ** 2)
    drawn_rows: list[dict[str, Cell]] = [
        {
            "what": "the mean loss",
            "answers": k,
            "exact": mean,
            "drawn": float(seen.mean()),
            "standard_error": _deviation(k, epsilon) / sqrt(len(seen)),
        },
        {
            "what": "delta of the formula's epsilon",
            "answers": k,
            "exact": failing,
            "drawn": float(_failing(seen, claimed).mean()),
            "standard_error": sqrt(max(square - failing**2, 0.0) / len(seen)),
        },
    ]
    return rows, drawn_rows


def _people(k: int, privacy: Privacy, seed: int) -> Floats:
    """The loss of k reports to each of some people, all to the same answer."""
    mechanism = warner(2, privacy)
    # Fewer people where each makes many reports, so that the work stays the same.
    people = max(20, min(_PEOPLE, _REPORTS // k))
    draws = Draws(seed, "adding up", k)
    with draws.bulk():
        reports = randomise_many(mechanism, np.zeros(people * k, dtype=np.int64))
    # Reports to two choices are bits; bit 0 is the first choice, which is the true answer.
    kept = (reports[:, 0] & 1).reshape(people, k).sum(axis=1, dtype=np.int64)
    true, other = (mechanism.law.probability(answer, (0,)) for answer in (0, 1))
    return np.asarray((2.0 * kept - k) * log(true / other))


def _failing(losses: Floats, whole: float) -> Floats:
    """What each loss adds to the delta of an epsilon: (1 - e**(whole - loss))_+."""
    return np.asarray(-np.expm1(np.minimum(whole - losses, 0.0)))


def _deviation(k: int, epsilon: float) -> float:
    """The standard deviation of the loss: that of a coin that shows its sides with the odds."""
    mean = rho_of_pure(epsilon) / epsilon
    return epsilon * sqrt(k * max(1 - mean * mean, 0.0))


# --- a survey ---------------------------------------------------------------------------------


def _of_survey(survey: Survey) -> ExperimentFindings:
    mechanisms = [
        # Devices keep the memo, so waves together reveal no more than it does.
        mechanism.memo if isinstance(mechanism, Memoised) else mechanism
        for mechanism in (question.mechanism for question in survey.questions)
    ]
    largest = max(2, _OF_A_SURVEY // survey.asked)
    sizes = sorted({1, 1 + largest // 4, 1 + largest // 2, largest})
    totals = {times: total_of(mechanisms, survey.asked, times) for times in sizes}
    rows = [row for times, total in totals.items() for row in _of_total(times, total)]
    once, often = totals[1], totals[largest]
    waves = " in all waves" if survey.waves else ""
    answer = (
        f"The {once.answers} answers of one person{waves} give away {_up(once.loss.epsilon)} by the"
        f" plain sum and {_up(once.exact)} exactly, except with a chance of one in a million. In"
        f" {largest} such surveys it is {_up(often.loss.epsilon)} and {_up(often.exact)}."
    )
    layers: list[GraphLayer] = [
        _line(rows, "the sum"), _line(rows, "exact"), _line(rows, "zCDP")
    ]  # fmt: skip
    at = column(rows, "answers")
    graph = Graph(of_values([0, *at]), "answers", of_values([0, *column(rows, "exact")]),
                  "epsilon", layers)  # fmt: skip
    title = "What the answers to this survey keep, if it is made again and again"
    return ExperimentFindings(answer, rows, [Picture(title, graph)], [f"{_NOTES[0]} {_FEW}"])


def _of_total(times: int, total: Total) -> list[dict[str, Cell]]:
    return [
        {"what": what, "surveys": times, "answers": total.answers, "exact": whole}
        for what, whole in (
            ("the sum", total.loss.epsilon), ("exact", total.exact), ("zCDP", total.zcdp)
        )
    ]  # fmt: skip


def _up(epsilon: float) -> str:
    return number(epsilon, 1)


# --- pictures ---------------------------------------------------------------------------------


def _line(rows: Sequence[dict[str, Cell]], what: str) -> GraphLayer:
    some = [row for row in rows if row["what"] == what]
    match what:
        case "the sum":
            return line(some, "answers", "exact", "the sum, which devices count", "mute")
        case "exact":
            return line(some, "answers", "exact", "exact, but for delta")
        case "zCDP":
            return line(some, "answers", "exact", "zCDP", "second")
        case "closed form":
            return line(some, "answers", "exact", "closed form, proved", dashed=True)
        case "the formula, where it holds":
            return line(some, "answers", "exact", what, "mute", dashed=True)
        case _:
            return line(some, "answers", "exact", what, "warn", dashed=True)


def _totals(rows: Sequence[dict[str, Cell]], k: int) -> Picture:
    names = ("the sum", "closed form", "zCDP", "exact", "the formula, where it holds",
             "the formula, where it is false")  # fmt: skip
    drawn = [row for row in rows if row["what"] in names]
    layers = [_line(drawn, name) for name in names if any(row["what"] == name for row in drawn)]
    up = of_values([0, *column(drawn, "exact")])
    across = of_values([0, *column(drawn, "answers")])
    return Picture(
        f"What up to {number(k)} answers keep together",
        Graph(across, "answers", up, "epsilon of all together", layers),
    )


def _losses(rows: Sequence[dict[str, Cell]], marks: Sequence[dict[str, Cell]]) -> Picture:
    layers: list[GraphLayer] = [
        line(rows, "loss", "exact", "a loss above, exact law"),
        dots(rows, "loss", "drawn", "people whose reports were drawn"),
        line(marks[:2], "loss", "part", "the exact epsilon", "mute"),
    ]
    if len(marks) > 2:
        layers.append(line(marks[2:], "loss", "part", "the formula's", "warn", dashed=True))
    across = of_values([*column(rows, "loss"), *column(marks, "loss")])
    return Picture(
        "How likely the loss of one person is above each value",
        Graph(across, "loss", of_parts([0, 1]), "of all people", layers),
    )


def _holds(delta: float) -> str:
    """How well the formula holds: delta with three digits, whatever its size."""
    if delta > 0.9995:
        return "nearly never holds"
    digits = 3 if delta >= 0.001 else 2 - floor(log10(delta))
    return f"holds only with a delta of {number(delta, digits)}"


def _short(epsilon: float) -> str:
    return number(epsilon, 0 if abs(epsilon - round(epsilon)) < 1e-9 else 2)
