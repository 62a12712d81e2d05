"""Plans tests: the respondents for a power, and the power for a number of respondents.

Tests of shares are planned by the laws of the counts that they read (``exact_power``), logistic
slopes by simulating their fit (``slope_power``). Both searches start from a formula, by which means
are planned: a two-sided test of a normal estimate, its variance taken under its hypothesis (score
test) and, for its power, at the alternative. n = ((z_level sd_0 + z_power sd_1) / difference)^2
(Fleiss, Levin and Paik 2003, Statistical Methods for Rates and Proportions, 4.2). The variance of
one report at a true share f is L (1 - L) / (p - q)^2 with L = q + (p - q) f.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, log, sqrt
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np

from deniably.core.binomial import AddedCoins
from deniably.core.table import Table
from deniably.design.exact_power import BEYOND, MOST, GroupsTest, ValueTest, least_n
from deniably.design.planning import estimable_groups
from deniably.design.slope_power import ERROR, SURVEYS, SlopeTest
from deniably.estimation import blank_laws
from deniably.estimation.channels import matrix
from deniably.estimation.figures import Shares, SingleMean
from deniably.mechanisms.law import Supporting
from deniably.survey.mixer import Mixer
from deniably.survey.questions import OfChoices, Question, SelectMultiple, YesNo
from deniably.survey.survey import Survey, require_whole_reports

TestOf = Literal["value", "groups", "waves", "slope"]
TESTS: tuple[TestOf, ...] = get_args(TestOf)
_SAID: dict[TestOf, str] = {
    "value": "differs from a value",
    "groups": "differs between {groups} of the respondents",
    "waves": "changes between two waves of as many respondents",
    "slope": "depends on a covariate (logistic slope for one standard deviation)",
}


@dataclass(frozen=True)
class NormalTest:
    """A two-sided test of an estimate that is about normal, with a standard error of sd / sqrt(n).

    The true value is ``difference`` away from the hypothesis. sd is ``null`` if the hypothesis is
    true, and ``alternative`` at the true value. A mixer's blanks add ``made_up(n)`` to the square
    of sd, which falls with n.
    """

    difference: float
    null: float
    alternative: float
    made_up: Callable[[int], float] | None = None

    def power(self, n: int, level: float = 0.05) -> float:
        """Returns the probability that the test rejects with n respondents."""
        z = NormalDist().inv_cdf(1 - level / 2)
        shift = abs(self.difference) * sqrt(n)
        null, alternative = self.null, self.alternative
        if self.made_up is not None:
            more = self.made_up(n)
            null, alternative = sqrt(null**2 + more), sqrt(alternative**2 + more)
        sides = ((shift - z * null), (-shift - z * null))
        return sum(NormalDist().cdf(side / alternative) for side in sides)

    def respondents(self, power: float, level: float = 0.05) -> int:
        """Returns the fewest respondents for this power. Raises ValueError if they are more than
        10^12."""
        z, more = NormalDist().inv_cdf(1 - level / 2), NormalDist().inv_cdf(power)
        root = max(z * self.null + more * self.alternative, 0.0) / abs(self.difference)
        if not root**2 < MOST:
            raise ValueError(BEYOND)
        # The formula leaves out the far side of the two-sided test, so one or a few fewer may be
        # enough.
        n = max(1, ceil(root**2 - 1e-9))
        if self.made_up is not None:
            return self._among_blanks(n, power, level)
        while n > 1 and self.power(n - 1, level) >= power:
            n -= 1
        return n

    def _among_blanks(self, least: int, power: float, level: float) -> int:
        """The fewest respondents among blanks, of whom ``least`` would about do without these."""
        low, high = 0, least
        while self.power(high, level) < power:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.power(middle, level) >= power else (middle, high)
        return high


def share_test(
    variance: Callable[[float], float],
    share: float,
    difference: float,
    of: TestOf,
    first: float = 0.5,
) -> NormalTest:
    """Returns the normal test of a difference between ``share`` and ``share + difference``.

    ``variance`` is that of one report at a true share. ``of`` says what is compared: a share with a
    fixed value, two groups (the first has the fraction ``first`` of the respondents), or two waves.
    Raises ValueError unless both shares are within 0 and 1.
    """
    other = share + difference
    if not (0 <= share <= 1 and 0 <= other <= 1):
        raise ValueError(f"the shares {share:g} and {other:g} have to be between 0 and 1")
    if of == "value":
        return NormalTest(difference, sqrt(variance(share)), sqrt(variance(other)))
    parts = (first, 1 - first) if of == "groups" else (1.0, 1.0)
    middle = variance((parts[0] * share + parts[1] * other) / sum(parts))
    apart = variance(share) / parts[0] + variance(other) / parts[1]
    return NormalTest(difference, sqrt(middle * sum(1 / part for part in parts)), sqrt(apart))


def mean_test(variance: float, difference: float, of: TestOf, first: float = 0.5) -> NormalTest:
    """Returns the normal test of a mean, where all reports have the same ``variance``.

    ``of`` and ``first`` are as in ``share_test``.
    """
    groups = 1 / first + 1 / (1 - first)
    sd = sqrt(variance * {"value": 1.0, "groups": groups, "waves": 2.0}[of])
    return NormalTest(difference, sd, sd)


def slope_test(p: float, q: float, share: float, slope: float) -> NormalTest:
    """Returns the normal test of whether a logistic slope is 0, where the true one is ``slope``.

    ``share`` is the share of yes at the covariate's mean. The variances come from the expected
    information, at a slope of 0 and at ``slope``. Raises ValueError unless the share is within 0
    and 1.
    """
    if not 0 < share < 1:
        raise ValueError(f"share is {share:g}; a logistic slope needs one between 0 and 1")
    # Gauss-Hermite quadrature over the normal covariate.
    points, weights = np.polynomial.hermite_e.hermegauss(61)
    weights = weights / weights.sum()

    def sd(b: float) -> float:
        yes = 1 / (1 + np.exp(-(log(share / (1 - share)) + b * points)))
        mean = q + (p - q) * yes
        information = weights * ((p - q) * yes * (1 - yes)) ** 2 / (mean * (1 - mean))
        moments = [float((information * points**power).sum()) for power in (0, 1, 2)]
        return sqrt(moments[0] / (moments[0] * moments[2] - moments[1] ** 2))

    return NormalTest(slope, sd(0.0), sd(slope))


@dataclass(frozen=True, eq=False, repr=False)
class Powered(Table):
    """The table of a power analysis, with a row for each figure that the test is about.

    Each row has ``question``, ``figure``, ``test``, ``share`` (None for a mean), ``difference``,
    ``n`` respondents, ``power``, ``level``, ``direct`` (how many people direct questions without
    noise would need), ``design_effect`` and ``method``, by which the power was computed: "exact",
    "numeric", "simulated" or "normal".
    """


def plan_power(
    survey: Survey,
    *,
    difference: float,
    power: float | None = None,
    n: int | None = None,
    question: str | None = None,
    test: TestOf = "groups",
    share: float | None = None,
    first: float = 0.5,
    level: float = 0.05,
) -> Powered:
    """Plans a test: the respondents for a ``power``, or the power of ``n`` respondents.

    ``test`` is "value" for a comparison with a fixed value, "groups" for two groups (``first`` is
    the fraction of respondents in the first one), "waves" for two waves of n each, or "slope".
    ``difference`` is 0.1 for ten points of a share, or for a tenth of the range of a mean. For
    "slope" it is the logistic slope for one standard deviation of a covariate. ``share`` is the
    share in the first group, by default the one with the largest variance. All questions are
    planned, or one ``question``. In a survey with a mixer its blanks are counted. Raises ValueError
    unless exactly one of power and n is given, for an unknown question, and where nothing can be
    tested; TravelledApart for any other test than "value" in a survey with a mixer, which does not
    tell the groups apart.
    """
    _check(difference, power, n, test, level, first)
    if test != "value":
        require_whole_reports(survey)
    blanks = survey.mixer.blanks if isinstance(survey.mixer, Mixer) else 0
    questions = [each for each in survey.questions if question in (None, each.name)]
    if not questions:
        names = ", ".join(each.name for each in survey.questions)
        raise ValueError(f"there is no question {question}; there are {names}")
    part = float(survey.asked / len(survey.questions))
    rows: list[dict[str, str | float | None]] = []
    for planned_question in questions:
        for figure, at, planned in _tests(planned_question, difference, test, share, first, blanks):
            reports = part * planned.reports
            people = n
            if people is None:
                people = ceil(planned.respondents(power or 0, level) / reports)
            chance = planned.noisy.power(max(planned.smallest, int(people * reports)), level)
            direct = planned.direct(chance, level)
            rows.append(
                {
                    "question": planned_question.name,
                    "figure": figure,
                    "test": test,
                    "share": at,
                    "difference": difference,
                    "n": people,
                    "power": chance,
                    "level": level,
                    "direct": direct,
                    "design_effect": round(people / direct, 4),
                    "method": planned.method,
                }
            )
    if not rows:
        raise ValueError(
            "no figure of this survey fits the test: a slope needs a question with choices, and"
            " other tests one with shares or a mean"
        )
    return Powered(
        f"{survey.name}: {survey.title}",
        rows,
        list(_lines(rows)),
        2,
        _notes(test, level, first, rows),
    )


@dataclass(frozen=True)
class Needed:
    """About how many people a test of one of a question's figures needs.

    ``people`` is for the survey's mechanism, ``openly`` for a direct question without noise.
    """

    question: str
    people: int
    openly: int


def about_needed(
    survey: Survey, difference: float, *, power: float = 0.8, level: float = 0.05
) -> list[Needed]:
    """Returns about how many people are needed to show a ``difference`` between two halves of them.

    There is an entry for each figure that ``plan_power`` would test. ``plan_power`` sums over all
    counts, which may take a second. The formula here is within four per cent of that; it has
    Fleiss' continuity correction (Fleiss, Levin and Paik 2003, 4.2.3). Raises ValueError for a
    difference, a power or a level that is out of range.
    """
    _check(difference, power, None, "groups", level, 0.5)
    part = float(survey.asked / len(survey.questions))
    return [
        Needed(
            question.name,
            ceil(_continuous(planned.noisy, planned.near, power, level) / part / planned.reports),
            ceil(_continuous(planned.plain, planned.plain_near, power, level)),
        )
        for question in survey.questions
        for _, _, planned in _tests(question, difference, "groups", None, 0.5)
    ]


def _continuous(
    test: _Exact | SlopeTest | NormalTest, near: NormalTest, power: float, level: float
) -> float:
    """The respondents by the formula; of counts with the correction for continuity."""
    people = near.respondents(power, level)
    if not isinstance(test, GroupsTest):
        return people
    seen = (test.p - test.q) * abs(near.difference)
    # Fleiss, Levin and Paik 2003, 4.2.3, for the difference that is seen through the noise.
    return people / 4 * (1 + sqrt(1 + 8 / (people * seen))) ** 2


Method = Literal["exact", "numeric", "simulated", "normal"]
_Exact = ValueTest | GroupsTest
_MOST_POWER = 0.999  # of direct questions; sums of many small chances end just below 1


@dataclass(frozen=True)
class _Planned:
    """The test of a figure, through the noise and of direct answers, each with the normal formula
    near which its n is looked for. ``reports`` is the part of the people who are asked."""

    noisy: _Exact | SlopeTest | NormalTest
    near: NormalTest
    plain: _Exact | NormalTest
    plain_near: NormalTest
    reports: float = 1.0

    @property
    def method(self) -> Method:
        """The way in which the power of the test is found."""
        if isinstance(self.noisy, NormalTest):
            return "normal"
        if isinstance(self.noisy, SlopeTest):
            return "simulated"
        return "exact" if isinstance(self.noisy, ValueTest) else "numeric"

    @property
    def smallest(self) -> int:
        """The smallest number of people for whom there is such a test."""
        return 2 if isinstance(self.noisy, GroupsTest) else 1

    def respondents(self, power: float, level: float) -> int:
        """Returns how many people have to answer the question for this power."""
        return _least(self.noisy, self.near, power, level)

    def direct(self, power: float, level: float) -> int:
        """Returns how many people would have this power if answers were not randomised."""
        return _least(self.plain, self.plain_near, min(power, _MOST_POWER), level)


def _least(
    test: _Exact | SlopeTest | NormalTest, near: NormalTest, power: float, level: float
) -> int:
    start = near.respondents(power, level)
    if isinstance(test, NormalTest):
        return start
    if isinstance(test, SlopeTest):
        return test.respondents(power, level, start)
    return least_n(lambda n: test.power(n, level), power, start)


_Row = tuple[str, float | None, _Planned]
"""A figure: its name, the share of the first group, and the test."""


def _tests(
    question: Question,
    difference: float,
    test: TestOf,
    share: float | None,
    first: float,
    blanks: int = 0,
) -> Iterator[_Row]:
    if test == "slope":
        yield from _of_slope(question, difference, 0.5 if share is None else share)
        return
    for group in estimable_groups(question):
        if isinstance(group, SingleMean):
            variance, spread = group.variance(question.report_mechanism), group.spread()
            noisy, plain = (mean_test(v, difference, test, first) for v in (variance, spread))
            noisy = replace(noisy, made_up=_made_up(question, group, blanks))
            yield group.name, None, _Planned(noisy, noisy, plain, plain)
        elif isinstance(group, Shares):
            yield _of_share(question, group, difference, test, share, first, blanks)


def _made_up(
    question: Question, group: SingleMean | Shares, blanks: int
) -> Callable[[int], float] | None:
    """What so many blanks add to n times the variance of a figure, by n; None without blanks."""
    if not blanks:
        return None
    mechanism = question.report_mechanism
    alone = group.variance(mechanism)
    return lambda n: group.variance(mechanism, blanks=blanks / n) - alone


def _of_slope(question: Question, slope: float, share: float) -> Iterator[_Row]:
    """The slope of a yes, or of one option; of more choices that of one against all others."""
    law = question.report_mechanism.law
    if not isinstance(question, OfChoices):
        return
    pair = _pair(question)
    if pair is None and not isinstance(law, Supporting):
        return
    p, q = pair or (float(law.p), float(law.q))  # type: ignore[union-attr]
    near, plain = slope_test(p, q, share, slope), slope_test(1, 0, share, slope)
    noisy = near if pair is None else SlopeTest(p, q, share, slope)
    fraction = float(law.sampled_fraction) if isinstance(law, Supporting) else 1.0
    yield "slope", share, _Planned(noisy, near, plain, plain, fraction)


def _pair(question: OfChoices) -> tuple[float, float] | None:
    """P(1 | yes) and P(1 | no) where models take a column of 0 and 1; else None."""
    law = question.report_mechanism.law
    if isinstance(question, SelectMultiple):
        return (float(law.p), float(law.q)) if isinstance(law, Supporting) else None
    if isinstance(law, Supporting) and (law.size != 1 or law.padding):
        return None
    channel = matrix(question.report_mechanism)
    if channel.shape != (2, 2):
        return None
    yes = 0 if isinstance(question, YesNo) else 1
    p, q = float(channel[yes, yes]), float(channel[1 - yes, yes])
    return (p, q) if p > q else None


def _of_share(
    question: Question,
    group: Shares,
    difference: float,
    test: TestOf,
    share: float | None,
    first: float,
    blanks: int,
) -> _Row:
    def variance(at: float) -> float:
        return group.variance(question.report_mechanism, at)

    def spread(at: float) -> float:
        # At a share of 0 or 1 the formula would divide by 0.
        return max(at * (1 - at), 1e-12)

    at = share
    if at is None:  # the two shares around the worst, one half
        at = min(max(0.5 - difference / 2, 0.0), 1.0)
    near, plain = (share_test(v, at, difference, test, first) for v in (variance, spread))
    near = replace(near, made_up=_made_up(question, group, blanks))
    law, single = question.report_mechanism.law, all(len(f.answers) == 1 for f in group.figures)
    if not (isinstance(law, Supporting) and single) or (blanks and law.sampled_fraction < 1):
        return group.name, at, _Planned(near, near, plain, plain)
    fraction = float(law.sampled_fraction)
    # The formula counts all respondents, and the tests those who were asked about the choice.
    null, alternative = (sd * fraction**0.5 for sd in (near.null, near.alternative))
    near = replace(near, null=null, alternative=alternative)
    noisy, direct = (
        _exact(p, q, at, difference, test, first)
        for p, q in ((float(law.p), float(law.q)), (1.0, 0.0))
    )
    if blanks and isinstance(noisy, ValueTest):
        noisy = replace(noisy, coins=AddedCoins(blanks, float(blank_laws.support(law))))
    return group.name, at, _Planned(noisy, near, direct, plain, fraction)


def _exact(
    p: float, q: float, share: float, difference: float, test: TestOf, first: float
) -> _Exact:
    if test == "value":
        return ValueTest(p, q, share, share + difference)
    return GroupsTest(p, q, share, share + difference, first if test == "groups" else None)


def _check(
    difference: float, power: float | None, n: int | None, test: str, level: float, first: float
) -> None:
    if (power is None) == (n is None):
        raise ValueError(
            f"a test is planned for a power or for a number of respondents: give one; power is"
            f" {power} and n {n}"
        )
    if not 0 < level < 0.5:
        raise ValueError(f"level is {level:g}; give it between 0 and 0.5, such as 0.05")
    if power is not None and not level < power < 1:
        raise ValueError(f"power is {power:g}; give it between the level {level:g} and 1")
    if n is not None and n < 2:
        raise ValueError(f"n is {n:,} respondents; give at least 2")
    if test not in TESTS:
        raise ValueError(f"test is one of {', '.join(TESTS)}, and not {test!r}")
    if not 0 < first < 1:
        raise ValueError(f"first is {first:g}; give the part of the first group, such as 0.3")
    if first != 0.5 and test != "groups":
        raise ValueError(f"first is {first:g}, and only a test of groups has a first group")
    largest = inf if test == "slope" else 1
    if not 0 < abs(difference) < largest:
        raise ValueError(
            f"difference is {difference:g}; give a slope other than 0, or a difference between 0"
            " and 1: 0.1 is ten points"
        )


def _lines(rows: Sequence[dict[str, str | float | None]]) -> Iterator[list[str]]:
    yield ["question", "figure", "share", "difference", "respondents", "power", "asked directly"]
    for row in rows:
        share = row["share"]
        yield [
            str(row["question"]),
            str(row["figure"]),
            "" if share is None else f"{100 * float(share):g} %",
            f"{row['difference']:g}",
            f"{row['n']:,}",
            f"{float(row['power'] or 0):.2f}",
            f"{row['direct']:,}",
        ]


def _notes(
    test: TestOf, level: float, first: float, rows: Sequence[dict[str, str | float | None]]
) -> list[str]:
    uneven = f"two groups of {100 * first:.3g} and {100 * (1 - first):.3g} %"
    groups = "two halves" if first == 0.5 else uneven
    what = _SAID[test].format(groups=groups)
    notes = [
        f"The test is whether a figure {what}: two-sided, level {level:g}. Asked directly: so many"
        " people would have the same power without protection."
    ]
    methods = {row["method"] for row in rows}
    slopes = test == "slope"
    notes += [
        text
        for method, text in _METHODS.items()
        if method in methods and not (slopes and method == "normal")
    ]
    if slopes and "normal" in methods:
        notes.append(
            "Of a question with several choices, the slope is that of one answer against all"
            " others, by a formula; a regression on all of them at once was not simulated."
        )
    if test == "waves":
        notes.append(
            "Respondents are those of each wave. Of the same people in both, fewer are enough where"
            " answers last."
        )
    return notes


_METHODS: dict[Method, str] = {
    "exact": "The power against a value is exact: how likely the counts are at which the test sees"
    " the difference. It goes up and down by a little as people are added; a planned number has at"
    " least the power that you want, and so have those just above it.",
    "numeric": "The power of shares is a sum over all counts of both groups that the test of the"
    " results page would call different, without an approximation. It goes up and down by a little"
    " as people are added; a planned number has at least the power that you want, and so have"
    " those just above it.",
    "simulated": f"The power of a slope is simulated: {SURVEYS:,} surveys, fitted as regress fits"
    f" them. Its standard error is at most {ERROR:.2g}. A survey that determines no slope does not"
    " see it.",
    "normal": "The power of means, and of what the results have no test of shares for, is a normal"
    " approximation at the spread of answers that varies most. In simulated tests of means it was"
    " right within .02; answers that are less spread have more power.",
}
