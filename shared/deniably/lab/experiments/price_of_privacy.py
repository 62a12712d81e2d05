"""Experiment L4: how many more people are needed than with direct questions, or with a trusted
curator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, sqrt
from typing import Annotated, Any, Literal, cast

from deniably.core.counting import counted
from deniably.core.table import Cell
from deniably.design.alternatives import USUAL_DELTA
from deniably.design.curve import survey_goals
from deniably.design.named_mechanisms import Task, choice_task, number_task
from deniably.design.planning import (
    Goal,
    Plan,
    estimable_groups,
    mean_goal,
    respondents_for,
    share_goal,
)
from deniably.estimation.estimate import unbiased
from deniably.estimation.scores import of_choice, of_target
from deniably.lab.catalogue import Case, experiment
from deniably.lab.draws import AS_DEVICES, Draws
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import EpsilonInput, Exact, OneOf, Real, SeedInput, Whole, as_privacy
from deniably.lab.picture import Picture, bar, column, dots, line, value
from deniably.mechanisms.law import Supporting
from deniably.results.drawing.axes import of_ratios, of_values
from deniably.results.drawing.colours import Tone
from deniably.results.drawing.graph import Bars, Graph, GraphLayer
from deniably.results.drawing.rounding import number
from deniably.survey.privacy import Privacy, to_decimal_text
from deniably.survey.questions import VectorOfNumbers
from deniably.survey.survey import Survey

EPSILONS = (0.2, 0.5, 1.0, 2.0, 3.0, 5.0)
SURVEYS = 100
"""The number of simulated surveys at an epsilon. The scatter of their estimates gives the number of
people needed."""
_OF_EACH = AS_DEVICES + 1  # people of a survey: the fewest that the fast samplers draw
_DRAWN = (0.2,)
"""Epsilons at which surveys are simulated, besides the one that is asked for."""

MarginInput = Annotated[
    Exact,
    Real(
        minimum=Fraction(1, 1000),
        maximum=Fraction(1, 2),
        percent=True,
        help="The wanted margin: half the interval, as a part of 1 or of the range.",
    ),
]
KindInput = Annotated[str, OneOf(names=("share", "mean"), help="A share of people, or a mean.")]
PositionsInput = Annotated[
    int, Whole(minimum=2, maximum=20, help="Choices, or places on the scale of a mean.")
]


@dataclass(frozen=True)
class _Way:
    """A way to ask, as a line of the picture: ``people`` at each of its ``plans``."""

    label: str
    goal: Goal
    tone: Tone
    dashed: bool = False
    people: Literal["n", "curator", "direct"] = "n"


def _cases(survey: Survey) -> Iterator[Case]:
    """All questions but those for several numbers, whose price is a comparison of its own."""
    for question, (_, goal) in zip(survey.questions, survey_goals(survey), strict=True):
        if not isinstance(question, VectorOfNumbers) and estimable_groups(question):
            report, groups = question.report_mechanism, estimable_groups(question)
            largest = max(group.variance(report) for group in groups)
            own = Goal(lambda _, variance=largest: variance, goal.spread, goal.reports)  # type: ignore[misc]
            epsilon = Privacy(epsilon=_six(report.loss.epsilon))
            arguments = {
                "goal": goal,
                "own": own,
                "epsilon": epsilon,
                "described": report.described,
            }
            yield Case(question.label, arguments)


@experiment(
    "The price of privacy",
    "How many more people do you need than with direct questions, or with a trusted curator?",
    [
        Reference("Warner", 1965, "Randomized response, J. American Statistical Association 60:63"),
        Reference("Kasiviswanathan et al.", 2011, "What can we learn privately?, SIAM J. Computing"
               " 40:3: local against central"),
        Reference("Duchi, Jordan and Wainwright", 2018, "Minimax optimal procedures for locally"
               " private estimation, J. American Statistical Association 113:521"),
    ],
    _cases,
)  # fmt: skip
def price_of_privacy(
    *,
    margin: MarginInput = "0.05",
    epsilon: EpsilonInput = "1",
    kind: KindInput = "share",
    k: PositionsInput = 2,
    seed: SeedInput = 1,
    goal: Goal | None = None,
    own: Goal | None = None,
    described: str = "",
) -> ExperimentFindings:
    """Shows how many people are needed for a ``margin`` (half-width of the interval) at each
    epsilon, as the planner computes them.

    The figure of the kind ``share`` is the share of one of ``k`` choices; that of the kind
    ``mean`` is the mean on a scale of ``k`` positions. Both are for the worst spread of answers.
    For a survey's question, ``goal`` is the planner's goal with the mechanism that the question
    would have at each epsilon, ``own`` the goal with its present mechanism, and ``described`` the
    present mechanism in words.
    """
    wanted, at = float(Fraction(margin)), as_privacy(epsilon).ln
    ways = _ways(kind, k) if goal is None else [_Way("this question", goal, "mark")]
    ways += [
        _Way("a trusted curator", ways[0].goal, "mute", people="curator"),
        _Way("asked directly", ways[0].goal, "mute", dashed=True, people="direct"),
    ]
    epsilons = sorted({*EPSILONS, at})
    rows = [row for way in ways for row in _rows(way, epsilons, wanted)]
    if goal is None and kind == "share":
        for row in rows[: len(epsilons)]:
            if row["epsilon"] in (at, *_DRAWN):
                row |= _drawn(k, value(row, "epsilon"), value(row, "exact"), seed)
    here = [row for row in rows if row["epsilon"] == at]
    if own is not None:
        plan = respondents_for(own, at, wanted)
        here = [_row("as it is asked", at, plan, plan.n), *here[1:]]
        rows.append(here[0])

    respondents = {str(row["way"]): round(value(row, "exact")) for row in here}
    local, direct = next(iter(respondents.values())), respondents["asked directly"]
    points = number(100 * wanted, 0 if (100 * wanted) % 1 < 1e-9 else 1)
    answer = (
        f"For ±{points} points you need {counted(local, 'person', 'people')} at epsilon"
        f" {_short(at)}. If you ask directly, {direct:,} {'is' if direct == 1 else 'are'} enough;"
        f" with a trusted curator of the same epsilon, {respondents['a trusted curator']:,}."
    )
    layers: list[GraphLayer] = [
        line([row for row in rows if row["way"] == way.label], "epsilon", "exact", way.label,
             way.tone, dashed=way.dashed)
        for way in ways
    ]  # fmt: skip
    if own is not None:
        layers.append(dots(here[:1], "epsilon", "exact", "as it is asked"))
    elif any("drawn" in row for row in rows):
        layers.append(dots(rows, "epsilon", "drawn", f"from {SURVEYS} surveys that were drawn"))
    people = of_ratios([*column(rows, "exact"), *column(rows, "drawn")])
    bars = [bar(row, str(row["way"]), "times_direct", _respondents_text(row)) for row in here]
    return ExperimentFindings(
        answer,
        rows,
        [
            Picture(
                f"People for ±{points} points, by epsilon",
                Graph(of_ratios(epsilons), "epsilon", people, "people", layers),
            ),
            Picture(
                f"People for ±{points} points at epsilon {_short(at)}, and how many times as many"
                " as if they were asked directly",
                Bars(of_values([0, *column(here, "times_direct")]), "times as many", bars),
            ),
        ],
        _NOTES,
        described,
    )


_NOTES = (
    "All numbers are for the worst spread of answers, with half of the people at either end: for a"
    " share of two choices or a mean.",
    "People have to trust a curator with their true answers for as long as these are kept.",
)


def _ways(kind: str, k: int) -> list[_Way]:
    """The best way to ask for a share of k choices or a mean of k places, and others."""
    if kind == "mean":
        best = _Way("the best channel", mean_goal(k), "mark")
        return [best, *_with_noise(k)]
    if k == 2:
        best = _Way("randomised response", share_goal(k), "mark")
        return [best, *_with_noise(k)]
    looks: tuple[tuple[str, Tone, bool], ...] = (
        ("k_ary", "mark", True), ("oue", "second", False), ("rappor", "second", True),
    )  # fmt: skip
    task = choice_task(k)
    return [
        _Way("subset selection, the default", share_goal(k), "mark"),
        *(
            _Way(task.names[name].titled(name, task.choose(Privacy(epsilon=Fraction(1)), name)),
                 _goal(task, name, lambda privacy: _of_share(privacy)), tone, dashed)
            for name, tone, dashed in looks
        ),
    ]  # fmt: skip


def _with_noise(k: int) -> list[_Way]:
    task = number_task(k, "mean")
    delta = to_decimal_text(USUAL_DELTA)
    return [
        _Way("Laplace noise", _goal(task, "laplace", _of_mean), "second"),
        _Way(f"Gaussian noise, delta {delta}", _goal(task, "gaussian", _of_mean), "second", True),
    ]


def _goal(task: Task, name: str, variance: Callable[[Any], float]) -> Goal:
    """The goal of the mechanism with this name, at the worst spread of answers."""

    def of(epsilon: float) -> float:
        delta = USUAL_DELTA if name == "gaussian" else None
        return variance(task.choose(Privacy(epsilon=_six(epsilon), delta=delta), name))

    return Goal(of, 0.25)


def _of_share(mechanism: Any) -> float:
    score = of_choice(mechanism)
    return score.at(score.peak)


def _of_mean(mechanism: Any) -> float:
    return of_target(mechanism).worst()


def _six(epsilon: float) -> Fraction:
    """The epsilon with six decimals, as the planner takes it."""
    return Fraction(str(round(epsilon, 6)))


def _rows(way: _Way, epsilons: list[float], margin: float) -> list[dict[str, Cell]]:
    plans = [
        respondents_for(way.goal, level, margin)
        for level in epsilons
        if way.goal.variance(level) < inf
    ]
    return [
        _row(way.label, plan.epsilon, plan, cast(int, getattr(plan, way.people))) for plan in plans
    ]


def _row(way: str, epsilon: float, plan: Plan, people: int) -> dict[str, Cell]:
    return {
        "way": way,
        "epsilon": epsilon,
        "exact": people,
        "times_direct": people / plan.direct,
    }


def _drawn(k: int, epsilon: float, people: float, seed: int) -> Mapping[str, Cell]:
    """The people that it takes by the scatter of surveys whose people and reports are drawn."""
    draws = Draws(seed, "price", k, epsilon)
    mechanism = choice_task(k).choose(Privacy(epsilon=_six(epsilon)), None)
    law = mechanism.law
    assert isinstance(law, Supporting)
    score = of_choice(law)
    share = score.peak
    square = 0.0
    for _ in range(SURVEYS):
        having = int((draws.uniform(_OF_EACH) < share).sum())
        reports = draws.tally(mechanism, {0: having, k - 1: _OF_EACH - having})
        square += (float(unbiased(reports, law)[0]) - share) ** 2
    mean_square = square / SURVEYS * _OF_EACH
    return {
        # The number needed is proportional to the variance of a report, which is measured here.
        "drawn": people * mean_square / score.at(share),
        # A variance from so many normal values has the relative error sqrt(2 / SURVEYS).
        "standard_error": people * sqrt(2 / SURVEYS),
    }


def _respondents_text(row: Mapping[str, Cell]) -> str:
    times = value(row, "times_direct")
    return f"{number(value(row, 'exact'))}, {number(times, 0 if times >= 10 else 1)} times"


def _short(epsilon: float) -> str:
    return number(epsilon, 0 if epsilon == round(epsilon) else 2)
