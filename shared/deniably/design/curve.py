"""How many respondents a margin takes at each epsilon, as a curve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf

from deniably.core.counting import EVERYBODY
from deniably.core.table import Cell, Table
from deniably.design.planning import (
    Goal,
    Plan,
    estimable_groups,
    respondents_for,
    variance_at,
)
from deniably.survey.guessing_rates import rate_text
from deniably.survey.odds import odds_at, odds_text, surest
from deniably.survey.questions import Question
from deniably.survey.survey import Survey

EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
"""From the strongest protection in use to the most that a device allows one survey."""


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Table):
    """The table of respondents at each epsilon, for several questions.

    Each row has ``question``, ``epsilon``, ``odds``, ``worst_guess`` (a probability), ``n``,
    ``margin``, ``direct``, ``curator`` and ``design_effect`` as in ``planning.Plan``. ``curves``
    has the same plans as (question, plans) pairs.
    """

    curves: Sequence[tuple[str, Sequence[Plan]]]


def curve_of(goal: Goal, margin: float, confidence: float = 0.95) -> list[Plan]:
    """Returns a plan for the ``margin`` at each of ``EPSILONS`` where this margin can be reached.

    Raises ValueError unless the margin is within (0, 1).
    """
    plans = [
        respondents_for(goal, epsilon, margin, confidence)
        for epsilon in EPSILONS
        if goal.variance(epsilon) < inf
    ]
    # A plan for more people than there are is none.
    return [plan for plan in plans if plan.n <= EVERYBODY]


def survey_goals(survey: Survey, share: float | None = None) -> Iterator[tuple[str, Goal]]:
    """Yields (name, goal) of each question, with the goal of the figure that needs most
    respondents.

    For each epsilon, the goal uses the mechanism that the question would have at that epsilon.
    ``share`` is the expected share; None stands for the one with the largest variance.
    """
    reports = survey.asked / len(survey.questions)
    for question in survey.questions:
        yield question.name, _goal(question, share, reports)


def _goal(question: Question, share: float | None, reports: float) -> Goal:
    shown = estimable_groups(question)

    def variance(epsilon: float) -> float:
        return max((variance_at(question, group, share, epsilon) for group in shown), default=inf)

    return Goal(variance, max((group.spread(share) for group in shown), default=0.25), reports)


def curve_table(curves: Sequence[tuple[str, Sequence[Plan]]], margin: float) -> Curve:
    """Returns the table of some curves, given as (name, plans), with a line for each epsilon."""
    names = [name for name, _ in curves]
    by_epsilon = {
        epsilon: [next((plan for plan in plans if plan.epsilon == epsilon), None)
                  for _, plans in curves]
        for epsilon in EPSILONS
    }  # fmt: skip
    heading = ["epsilon", "odds", "worst guess", *names, "asked directly", "trusted curator"]
    return Curve(
        caption=f"Respondents for a margin of {100 * margin:g} %",
        rows=[_cells(name, plan) for name, plans in curves for plan in plans],
        lines=[heading, *(_line(epsilon, plans) for epsilon, plans in by_epsilon.items())],
        texts=0,
        notes=[
            "Respondents for that margin, if the question had this epsilon; none where no number of"
            " people is enough. Trusted curator: somebody who collects true answers and publishes"
            " at the same epsilon."
        ],
        curves=curves,
    )


def _cells(name: str, plan: Plan) -> dict[str, Cell]:
    odds = odds_at(plan.epsilon)
    return {
        "question": name,
        "odds": float(odds),
        "worst_guess": float(surest(odds)),
        **asdict(plan),
        "design_effect": round(plan.design_effect, 4),
    }


def _line(epsilon: float, plans: Sequence[Plan | None]) -> list[str]:
    known = [plan for plan in plans if plan is not None]
    return [
        f"{epsilon:g}",
        odds_text(odds_at(epsilon)),
        str(rate_text(surest(odds_at(epsilon)))),
        *("none" if plan is None else f"{plan.n:,}" for plan in plans),
        f"{max(plan.direct for plan in known):,}" if known else "",
        f"{max(plan.curator for plan in known):,}" if known else "",
    ]
