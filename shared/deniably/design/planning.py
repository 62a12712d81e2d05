"""Plans respondents, margin or epsilon: any of the three from the other two.

A margin is half the width of a normal interval at the exact variance of one report. A plan also
states how many people would be enough if they were asked directly and answered truthfully, and how
many if a trusted curator published true answers at the same epsilon.

    rows = plan_figures(survey, margin=0.05)     # respondents for every figure of every question
    combined_plan(survey, rows)                 # for all of them together
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, inf, sqrt
from statistics import NormalDist

from deniably.design.at_privacy import mechanism_at
from deniably.design.best_mechanisms import width_price
from deniably.design.gridding import grid_support
from deniably.design.named_mechanisms import for_choice, for_mean, for_ticks
from deniably.estimation.estimate import Pure
from deniably.estimation.figures import Buckets, Group, Shares, groups
from deniably.estimation.scores import of_choice, of_target
from deniably.estimation.shares_among_asked import FollowUp, expected_margin, follow_ups
from deniably.estimation.shares_within_rows import WIDEST
from deniably.survey.mixer import Mixer
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Point, Question
from deniably.survey.survey import Survey

ASKED = 0.5
"""The part of people who are asked a question with ``show_if``, where nobody says it."""

_SMALLEST, _LARGEST = 1, 1000  # hundredths of epsilon
_WORTH_SAYING = 1.005  # times the width of intervals


@dataclass(frozen=True)
class Plan:
    """A plan for one figure: ``n`` respondents at ``epsilon`` give ``margin``.

    The margin is that of a share, or of a mean as a fraction of its range. ``direct`` people would
    be enough without protection, ``curator`` with a trusted curator at the same epsilon.
    """

    epsilon: float
    n: int
    margin: float
    direct: int
    curator: int

    @property
    def design_effect(self) -> float:
        """The ratio n / direct: how many times more people are needed than if they were asked
        directly."""
        return self.n / self.direct


@dataclass(frozen=True)
class Goal:
    """A quantity to estimate.

    ``variance(epsilon)`` is the variance of an estimate from one report with this epsilon.
    ``spread`` is the variance of one true answer: f (1 - f) for a share, at most 1/4. ``reports``
    is the fraction of respondents who answer (1 unless questions are sampled). In a survey with a
    mixer ``mixed(n)`` is n times the variance of an estimate from n respondents, with the blanks.
    """

    variance: Callable[[float], float]
    spread: float
    reports: float = 1.0
    mixed: Callable[[int], float] | None = None

    def half(self, epsilon: float, n: int, z: float) -> float:
        """Returns half the width of an interval of n respondents; ``z`` is the normal quantile of
        its confidence."""
        variance = self.variance(epsilon) / self.reports if self.mixed is None else self.mixed(n)
        return z * sqrt(variance / n)


def share_goal(
    k: int, share: float | None = None, maximum: int | None = None, reports: float = 1.0
) -> Goal:
    """Returns the goal of estimating the share of one of k choices, or of one of k options.

    With ``maximum``, the question is about options, of which a person may tick so many. ``share``
    is the expected share; None stands for the one with the largest variance. Raises ValueError
    unless the share is within [0, 1].
    """
    if share is not None:
        _check_share(share)

    def variance(epsilon: float) -> float:
        # By its decimal text: the float itself is a binary fraction, which nobody can write in a
        # claim.
        privacy = Privacy(epsilon=Fraction(str(round(epsilon, 6))))
        mechanism = for_choice(k, privacy) if maximum is None else for_ticks(k, maximum, privacy)
        score = of_choice(mechanism)
        return score.at(score.peak if share is None else share)

    spread = 0.25 if share is None else share * (1 - share)
    return Goal(variance, spread, reports)


def mean_goal(positions: int, reports: float = 1.0) -> Goal:
    """Returns the goal of estimating a mean on a grid of ``positions``, as a fraction of its range.

    The variances are those for the worst distribution of answers.
    """

    def variance(epsilon: float) -> float:
        privacy = Privacy(epsilon=Fraction(str(round(epsilon, 6))))
        return of_target(for_mean(positions, privacy)).worst()

    return Goal(variance, 0.25, reports)


def respondents_for(goal: Goal, epsilon: float, margin: float, confidence: float = 0.95) -> Plan:
    """Returns the plan with the fewest respondents for a ``margin``.

    Raises ValueError unless the margin is within (0, 1).

    >>> respondents_for(share_goal(2), epsilon=1, margin=0.05).n
    1799
    """
    _check(margin=margin)
    z = _z(confidence)
    variance = goal.variance(epsilon) / goal.reports
    n = max(1, floor(z * z * variance / (margin * margin) * (1 - 1e-12)))
    if goal.mixed is not None:
        n = _least_with_blanks(goal, epsilon, n, margin, z)
    # The formula may be one off by rounding, so it starts below and the margin itself decides.
    while goal.half(epsilon, n, z) > margin:  # at most twice; so the margin of n is never above
        n += 1
    return _plan(goal, epsilon, n, margin, z)


def _least_with_blanks(goal: Goal, epsilon: float, n: int, margin: float, z: float) -> int:
    """The fewest respondents for a margin, from ``n`` on, which would do without blanks."""
    few, many = n - 1, n
    while goal.half(epsilon, many, z) > margin:
        few, many = many, 2 * many
    return bisect_left(
        range(many), True, lo=few + 1, key=lambda n: goal.half(epsilon, n, z) <= margin
    )


def margin_for(goal: Goal, epsilon: float, n: int, confidence: float = 0.95) -> Plan:
    """Returns the plan with the margin that n respondents give. Raises ValueError unless n is at
    least 1."""
    if n < 1:
        raise ValueError(f"n is {n:,} respondents; give at least 1")
    z = _z(confidence)
    return _plan(goal, epsilon, n, goal.half(epsilon, n, z), z)


def epsilon_for(goal: Goal, n: int, wanted: float, confidence: float = 0.95) -> Plan:
    """Returns the plan with the smallest epsilon at which n people give the ``wanted`` margin.

    Raises ValueError where no epsilon up to 10 is enough: ask more people or accept a wider margin.
    """
    _check(margin=wanted)
    if n < 1:
        raise ValueError(f"n is {n:,} respondents; give at least 1")
    z = _z(confidence)

    def fits(hundredths: int) -> bool:
        return goal.half(hundredths / 100, n, z) <= wanted

    low, high = _SMALLEST - 1, _LARGEST
    if not fits(high):
        raise ValueError(
            f"no epsilon up to 10 brings {n:,} respondents within {wanted:g}; ask more people or"
            " accept a wider margin"
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return margin_for(goal, high / 100, n, confidence)


def direct_respondents(spread: float, margin: float, z: float) -> int:
    """Returns the number of people who give ``margin`` if they are asked directly.

    ``spread`` is the variance of one answer, ``z`` the normal quantile of the margin's confidence.
    """
    return max(1, ceil(z * z * spread / (margin * margin) - 1e-9))


def curator_respondents(spread: float, epsilon: float, margin: float, z: float) -> int:
    """Returns how many true answers a trusted curator needs, with Laplace noise on their sum.

    ``spread`` is the variance of one answer, ``z`` the normal quantile of the margin's confidence.
    One person moves the sum by at most 1 (in units of the range), so the noise on the mean of n has
    the variance 2 / (n epsilon)^2 (Dwork, McSherry, Nissim and Smith 2006, TCC).
    """
    # z^2 (spread / n + 2 / (n epsilon)^2) = margin^2, a quadratic in n.
    ratio = (z / margin) ** 2
    # The positive root.
    exact = (ratio * spread + sqrt((ratio * spread) ** 2 + 8 * ratio / epsilon**2)) / 2
    return max(1, ceil(exact - 1e-9))


def mechanism_goal(mechanism: Pure, share: float | None, reports: float) -> Goal:
    """Returns the goal of estimating a share with a given mechanism, whose epsilon is fixed.

    ``share`` is the expected share; None stands for the one with the largest variance.
    """
    score = of_choice(mechanism)
    at = score.peak if share is None else share
    spread = 0.25 if share is None else share * (1 - share)
    return Goal(lambda _: score.at(at), spread, reports)


# --- a whole survey ---------------------------------------------------------------------------


@dataclass(frozen=True)
class PlanRow:
    """The plan of a question's figure, or group of figures, as a row of a table.

    ``note`` explains the figure where its name does not. ``delta`` is the probability with which
    the epsilon need not hold.
    """

    question: str
    figure: str
    plan: Plan
    note: str = ""
    delta: Fraction = Fraction(0)


def plan_figures(
    survey: Survey,
    *,
    n: int | None = None,
    margin: float | None = None,
    share: float | None = None,
    confidence: float = 0.95,
    times: float = 1,
    asked: float = ASKED,
) -> list[PlanRow]:
    """Plans all figures of a survey, at the survey's own epsilons, or ``times`` as much.

    With ``n``, the plans have margins; with ``margin``, numbers of respondents; with both, the
    epsilon that each question would need. A group of figures is one row, for the figure with the
    largest variance. ``share`` is the expected share, by default the one with the largest variance.
    For a question with ``show_if``, margins are of shares of all people. A note has the margin
    among the people who are asked, if these are a fraction ``asked`` of all. In a survey with a
    mixer margins take its blanks into account. Raises ValueError where neither n nor margin is
    given, where no epsilon is enough, and where a survey with a mixer is planned at others.
    """
    if share is not None:
        _check_share(share)
    _check_asked(asked)
    conditional, as_planned = follow_ups(survey), times == 1 and None in (n, margin)
    reports = survey.asked / len(survey.questions)
    blanks = _blanks_of(survey, as_planned=as_planned)

    def solve(question: Question, group: Group) -> Plan:
        own, spread = times * question.mechanism.loss.epsilon, group.spread(share)
        refitted = Goal(lambda at: variance_at(question, group, share, at), spread, reports)
        as_asked = _as_asked(question, group, share, reports, blanks)
        # At the survey's own epsilon the published mechanism counts, at another the best one for
        # that.
        if times != 1:
            as_asked = refitted
            if not _SMALLEST <= 100 * own <= _LARGEST or refitted.variance(own) == inf:
                raise ValueError(f"{question.name}: no mechanism keeps epsilon {own:g}")
        if n is None and margin is None:
            raise ValueError(
                "a survey is planned for a number of respondents, a margin or both: give n or"
                " margin"
            )
        if margin is None:
            return margin_for(as_asked, own, n or 0, confidence)
        if n is None:
            return respondents_for(as_asked, own, margin, confidence)
        try:
            return epsilon_for(refitted, n, margin, confidence)
        except ValueError as error:
            raise ValueError(f"{question.name}: {error}") from None

    def note(question: Question, group: Group, plan: Plan) -> str:
        if isinstance(group, Buckets):
            return "; ".join(filter(None, [group.note, price_of_width(question)]))
        # What is known of grids and of pairs of reports is without blanks.
        straight = not survey.mixer
        if straight and isinstance(question, Point) and (n is None or margin is None):
            return "; ".join(filter(None, [group.note, grid_support(question, plan.n, reports)]))
        people = int(plan.n * reports) if straight and as_planned else 0
        of_these = _among(conditional.get(question.name), group, people, asked, share, confidence)
        return "; ".join(filter(None, [group.note, of_these]))

    return [
        PlanRow(question.name, group.name, plan, note(question, group, plan), loss.delta)
        for question in survey.questions
        for loss in [question.mechanism.loss]
        for group in estimable_groups(question)
        for plan in [solve(question, group)]
    ]


def _blanks_of(survey: Survey, *, as_planned: bool) -> int:
    """The blanks of each question; 0 without a mixer. Raises ValueError where a survey with a mixer
    is planned at other odds, for which other blanks would be needed."""
    if not isinstance(survey.mixer, Mixer):
        return 0
    if not as_planned:
        raise ValueError(
            "a survey with a mixer is planned at its own odds: give n or margin alone; for other"
            " odds, change those of the mixer or of its questions"
        )
    return survey.mixer.blanks


def _as_asked(
    question: Question, group: Group, share: float | None, reports: float, blanks: int
) -> Goal:
    """The goal of a group of figures with the published mechanism, whatever the epsilon."""
    mechanism = question.report_mechanism
    goal = Goal(lambda _: group.variance(mechanism, share), group.spread(share), reports)
    if not blanks:
        return goal

    def mixed(n: int) -> float:
        return group.variance(mechanism, share, blanks / n)

    return replace(goal, mixed=mixed)


def _among(
    follow_up: FollowUp | None,
    group: Group,
    people: int,
    asked: float,
    share: float | None,
    confidence: float,
) -> str:
    """What ``people`` tell of those who are asked a question with ``show_if``, in words; empty of
    other figures. People are 0 where another epsilon is planned."""
    if follow_up is None or not isinstance(group, Shares):
        return ""
    base = "margins are of shares of everybody, of whom those who are not asked are a part"
    if not people:
        return base
    worst = 0.5 if share is None else share
    try:
        margin = expected_margin(follow_up, people, asked, worst, confidence)
    except ValueError:
        return f"{base}; shares of those who are asked cannot be told"
    of_these = f"of those who are asked, if {100 * asked:g} % of all are (say how many with asked)"
    if 2 * margin >= WIDEST:
        return f"{base}; {of_these}, {people:,} people are too few to tell a share"
    return f"{base}; {of_these}, {people:,} people tell a share to within {100 * margin:.1f} points"


def _check_asked(asked: float) -> None:
    if not 0 < asked <= 1:
        raise ValueError(f"the part of people who are asked is {asked:g}; it is above 0, up to 1")


def price_of_width(question: Question) -> str:
    """Returns a sentence on how much wider intervals are because a number's window is wide.

    It is empty where they are not wider.
    """
    price = width_price(question.report_mechanism)
    if price < _WORTH_SAYING:
        return ""
    return (
        "the window is wide, so that the shown distribution is nearer to the truth; intervals of"
        f" shares up to a number and of quantiles are about {100 * (price - 1):.0f} % wider for it,"
        " and a mean has aim: mean"
    )


def estimable_groups(question: Question) -> list[Group]:
    """Returns the groups of figures that the results can show.

    A window with fewer outputs than buckets cannot estimate the distribution of a number.
    """
    return [group for group in groups(question) if group.variance(question.report_mechanism) < inf]


def combined_plan(survey: Survey, rows: Sequence[PlanRow]) -> Plan:
    """Returns one plan for all figures: the most respondents and the widest margin.

    ``direct`` and ``curator`` are for that margin. The epsilon is that of a person's whole report:
    the sum over the questions that are asked.
    """
    needed = {row.question: 0.0 for row in rows}
    for row in rows:
        needed[row.question] = max(needed[row.question], row.plan.epsilon)
    margin = max(row.plan.margin for row in rows)
    weakest = [row.plan for row in rows if row.plan.margin == margin]
    return Plan(
        sum(sorted(needed.values())[-survey.asked :]),
        max(row.plan.n for row in rows),
        margin,
        max(plan.direct for plan in weakest),
        max(plan.curator for plan in weakest),
    )


def variance_at(question: Question, group: Group, share: float | None, epsilon: float) -> float:
    """Returns n times the variance of a group's figure if the question had this ``epsilon``.

    ``share`` is the expected share; None stands for the one with the largest variance. The result
    is inf where no mechanism fits.
    """
    claim = question.claim
    delta = Fraction(claim.delta) if isinstance(claim.delta, str) else None
    try:
        privacy = Privacy(epsilon=Fraction(str(round(epsilon, 6))), delta=delta)
        return group.variance(mechanism_at(question, privacy), share)
    except ValueError:
        return inf


def _plan(goal: Goal, epsilon: float, n: int, margin: float, z: float) -> Plan:
    return Plan(
        epsilon,
        n,
        margin,
        direct_respondents(goal.spread, margin, z),
        curator_respondents(goal.spread, epsilon, margin, z),
    )


def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence:g}; give it between 0 and 1, such as 0.95")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _check_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share:g}; give it between 0 and 1")


def _check(*, margin: float) -> None:
    if not 0 < margin < 1:
        raise ValueError(f"margin is {margin:g}; give it between 0 and 1: 0.05 is five points")


__all__ = [
    "Fraction",
    "Goal",
    "Plan",
    "PlanRow",
    "combined_plan",
    "curator_respondents",
    "direct_respondents",
    "epsilon_for",
    "margin_for",
    "mean_goal",
    "mechanism_goal",
    "plan_figures",
    "respondents_for",
    "share_goal",
]
