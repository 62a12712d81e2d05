"""Experiment L15: how precise results are for a subgroup, and how much a household with one answer
gives away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, sqrt
from typing import Annotated

from deniably.core.counting import counted
from deniably.core.table import Cell
from deniably.design.best_mechanisms import warner
from deniably.design.planning import Goal, estimable_groups, margin_for, mechanism_goal
from deniably.estimation.estimate import unbiased
from deniably.estimation.scores import of_choice
from deniably.lab.catalogue import Case, experiment
from deniably.lab.draws import AS_DEVICES, Draws
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.experiments.one_report import after, ratios
from deniably.lab.inputs import EpsilonInput, SeedInput, Whole, as_privacy
from deniably.lab.picture import Picture, bar, column, dots, line, value
from deniably.mechanisms.law import Law, Randomiser, Supporting
from deniably.results.drawing.axes import of_parts, of_ratios
from deniably.results.drawing.graph import Bars, Graph
from deniably.results.drawing.rounding import NARROW, hundred, number, with_unit
from deniably.survey.survey import Survey

PARTS = tuple(Fraction(1, part) for part in (1, 2, 5, 10, 20, 50))
"""The subgroups as fractions of everybody: such as men, a region, an age in a region."""
_TENTH = Fraction(1, 10)
_SURVEYS = 40
"""The largest number of simulated surveys of a subgroup; fewer where it is large."""
_FEWEST, _MOST_REPORTS = 20, 8000
"""The number of households that are expected to send the most revealing reports, for either answer,
and the largest number of reports simulated for that."""

PeopleInput = Annotated[int, Whole(minimum=100, maximum=1_000_000, help="How many people answer.")]
HouseholdInput = Annotated[
    int, Whole(minimum=1, maximum=6, help="People of a household who have the same answer.")
]


def _cases(survey: Survey) -> Iterator[Case]:
    """All questions whose promise never fails and which have a figure to estimate."""
    reports = survey.asked / len(survey.questions)
    for question in survey.questions:
        mechanism = question.report_mechanism
        if not mechanism.loss.delta and (shown := estimable_groups(question)):
            worst = max(shown, key=lambda group: group.variance(mechanism))
            variance = worst.variance(mechanism)
            goal = Goal(lambda _, own=variance: own, worst.spread(), reports)  # type: ignore[misc]
            yield Case(question.label, {"mechanism": mechanism, "goal": goal})


@experiment(
    "Slices and households",
    "How precise is a part of the people, and how much does a household give away?",
    [
        Reference("Warner", 1965, "Randomized response, J. American Statistical Association 60:63"),
        Reference("Dwork and Roth", 2014, "The Algorithmic Foundations of Differential Privacy,"
               " theorem 2.2: groups of people"),
    ],
    _cases,
    instead={"mechanism": ("epsilon",)},
)  # fmt: skip
def slices_and_households(
    *,
    n: PeopleInput = 1000,
    epsilon: EpsilonInput = "ln 3",
    household: HouseholdInput = 3,
    seed: SeedInput = 1,
    mechanism: Randomiser[Law] | None = None,
    goal: Goal | None = None,
) -> ExperimentFindings:
    """Shows the margins for subgroups of ``n`` people, and the odds of an answer that is the same
    for all people of a ``household``.

    Margins are the planner's, for the worst spread of answers. ``epsilon`` is that of randomised
    response; the ``mechanism`` of a question and its ``goal`` can be given instead.
    """
    draws = Draws(seed, "slices")
    coins = warner(2, as_privacy(epsilon)) if mechanism is None else None
    randomiser: Randomiser[Law] = coins or mechanism  # type: ignore[assignment]
    aim = goal or mechanism_goal(coins or warner(2, as_privacy(epsilon)), None, 1.0)
    slices = [_slice(n, part, aim, randomiser) for part in PARTS]
    homes = [_home(people, randomiser) for people in range(1, household + 1)]
    if coins is not None:
        for row in slices:
            row |= _drawn_slice(draws, coins, row)
        for row in homes:
            row |= _drawn_homes(draws, coins, row)

    tenth = slices[PARTS.index(_TENTH)]
    answer = (
        f"With {n:,} people the result is known to ±{_points(slices[0])} points, but for a tenth of"
        f" them, {int(value(tenth, 'people')):,} people, only to ±{_points(tenth)} points. One"
        f" report changes the odds of an answer by a factor of up to {_odds(homes[0])}, the reports"
        f" of {_persons(household)} with the same answer by up to {_odds(homes[-1])}."
    )
    margins = [*column(slices, "exact"), *column(slices, "drawn"), *column(slices, "direct")]
    pictures = [
        Picture(
            f"Half the width of the interval for a slice of {n:,} people",
            Graph(of_ratios(column(slices, "people")), "people in the slice",
                  of_parts([0.0, *margins]), "known to ±", [
                line(slices, "people", "exact", "this question", "mark"),
                line(slices, "people", "direct", "asked directly", "mute", dashed=True),
                *([dots(slices, "people", "drawn", "by surveys that were drawn")]
                  if coins is not None else []),
            ]),
        ),
        Picture(
            "How likely an answer is, at most, after the reports of all who have it; it was thought"
            f" 50{NARROW}% likely before",
            Bars(of_parts([0, 1]), "likely at most", [
                bar(row, _persons(int(value(row, "household"))), "exact",
                    f"{_hundred(row)}, odds {_odds(row)}", dot="drawn" if "drawn" in row else None)
                for row in homes
            ]),
        ),
    ]  # fmt: skip
    return ExperimentFindings(answer, [*slices, *homes], pictures, _NOTES, randomiser.described)


_NOTES = (
    "The promise is for one person. If several people are known to have the same answer, such as a"
    " household that is asked about its home, their losses add up.",
    "Points of a mean are per cents of its range. Every slice has its own margin: if you compare"
    " many slices, some are off by chance.",
)


def _slice(n: int, part: Fraction, goal: Goal, mechanism: Randomiser[Law]) -> dict[str, Cell]:
    """The planner's margin for a part of the people, and that without protection."""
    people = max(1, round(n * part))
    epsilon = mechanism.loss.epsilon
    plain = Goal(lambda _: goal.spread, goal.spread, goal.reports)
    return {
        "what": "slice",
        "part": str(part),
        "people": people,
        "exact": margin_for(goal, epsilon, people).margin,
        "direct": margin_for(plain, epsilon, people).margin,
    }


def _drawn_slice(
    draws: Draws, mechanism: Randomiser[Supporting], row: dict[str, Cell]
) -> dict[str, Cell]:
    """The margin by the scatter of surveys whose people and reports are drawn."""
    people, law = int(value(row, "people")), mechanism.law
    score = of_choice(law)
    share = score.peak
    budget = _MOST_REPORTS if people <= AS_DEVICES else 10 * _MOST_REPORTS
    times = max(1, min(_SURVEYS, budget // people))
    square = 0.0
    for _ in range(times):
        having = int((draws.uniform(people) < share).sum())
        tally = draws.tally(mechanism, {0: having, 1: people - having})
        square += (float(unbiased(tally, law)[0]) - share) ** 2
    error = sqrt(score.at(share) / people)
    margin = value(row, "exact")
    return {
        "drawn": margin * sqrt(square / times) / error,
        # A standard deviation from so many normal values has the relative error 1 / sqrt(2 times).
        "standard_error": margin / sqrt(2 * times),
    }


def _home(people: int, mechanism: Randomiser[Law]) -> dict[str, Cell]:
    """What the reports of so many people with one answer say of it at most."""
    _, greatest = ratios(mechanism.law, mechanism.loss.odds_bound)
    # Reports are independent given the answer, so their likelihood ratios multiply.
    odds = greatest**people
    return {
        "what": "household",
        "household": people,
        "odds": float(odds),
        "exact": float(after(Fraction(1, 2), odds)),
    }


def _drawn_homes(
    draws: Draws, mechanism: Randomiser[Supporting], row: dict[str, Cell]
) -> dict[str, Cell]:
    """The part that has the answer, of households whose reports all name it."""
    size, law = int(value(row, "household")), mechanism.law
    likely = [float(law.probability(answer, (0,))) ** size for answer in (0, 1)]
    homes = ceil(_FEWEST / min(likely))
    if 2 * homes * size > _MOST_REPORTS:
        return {}
    counts = [_naming(draws.reports(mechanism, [answer] * size * homes), size)
              for answer in (0, 1)]  # fmt: skip
    held = value(row, "exact")
    # By the delta method: relative variances of two independent counts add up.
    few = sum((1 - chance) / (chance * homes) for chance in likely)
    return {
        "drawn": counts[0] / sum(counts),
        "standard_error": held * (1 - held) * sqrt(few),
    }


def _persons(household: int) -> str:
    return counted(household, "person", "people")


def _naming(reports: Sequence[tuple[int, ...]], size: int) -> int:
    """How many households of this size have no other report than the first answer."""
    homes = [reports[start : start + size] for start in range(0, len(reports), size)]
    return sum(all(report == (0,) for report in home) for home in homes)


def _points(row: dict[str, Cell]) -> str:
    margin = 100 * value(row, "exact")
    return number(margin, 0 if margin >= 100 else 1 if margin >= 1 else 2)


def _hundred(row: dict[str, Cell]) -> str:
    return with_unit(hundred(value(row, "exact")), "%")


def _odds(row: dict[str, Cell]) -> str:
    odds = value(row, "odds")
    if odds >= 1e9:
        return "more than 1,000,000,000"
    return number(odds, 0 if abs(odds - round(odds)) < 1e-6 or odds >= 1000 else 2)
