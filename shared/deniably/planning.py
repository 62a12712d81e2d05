"""How many respondents, how precise, how private: any of the three from the other two.

Margins are half the width of a normal interval at the exact variance of one report. Beside them
stands the price: how many people would do if they were asked directly and told the truth, and how
many if a trusted curator collected true answers and published them at the same epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from statistics import NormalDist

from deniably.choosing import for_choice, for_mean, for_ticks
from deniably.estimate import Pure
from deniably.mechanisms import Channel
from deniably.privacy import Privacy
from deniably.variances import mean_variance, share_variance

_SMALLEST, _LARGEST = 1, 1000  # hundredths of epsilon


@dataclass(frozen=True)
class Plan:
    """``n`` respondents at ``epsilon`` give ``margin`` either way (a share, or a part of the
    range of a mean). ``direct`` people would do without protection, ``curator`` with a trusted
    curator at the same epsilon; ``design_effect`` is n / direct."""

    epsilon: float
    n: int
    margin: float
    direct: int
    curator: int

    @property
    def design_effect(self) -> float:
        """As many times more respondents as a direct question would need."""
        return self.n / self.direct


@dataclass(frozen=True)
class Goal:
    """What is estimated: its variance at an epsilon, and the spread of the true answers.

    ``spread`` is the variance of one true answer: f (1 - f) for a share, at most 1/4.
    ``reports`` is the part of the respondents who answer (1 unless questions are sampled).
    """

    variance: Callable[[float], float]
    spread: float
    reports: float = 1.0


def share_goal(
    k: int, share: float | None = None, most: int | None = None, reports: float = 1.0
) -> Goal:
    """A share of one of k choices (of k options of which up to ``most`` apply).

    ``share`` None stands for the worst: where the support of the choice is even. Raises
    ValueError unless the share is within [0, 1].
    """
    if share is not None and not 0 <= share <= 1:
        raise ValueError("a share is between 0 and 1")

    def variance(epsilon: float) -> float:
        privacy = Privacy(epsilon=Fraction(str(round(epsilon, 6))))
        mechanism = for_choice(k, privacy) if most is None else for_ticks(k, most, privacy)
        assert not isinstance(mechanism, Channel)
        return share_variance(mechanism, worst_share(mechanism) if share is None else share)

    spread = 0.25 if share is None else share * (1 - share)
    return Goal(variance, spread, reports)


def mean_goal(positions: int, reports: float = 1.0) -> Goal:
    """A mean on a grid, as a part of its range, where it is worst."""

    def variance(epsilon: float) -> float:
        privacy = Privacy(epsilon=Fraction(str(round(epsilon, 6))))
        return mean_variance(for_mean(positions, privacy)) / 4

    return Goal(variance, 0.25, reports)


def worst_share(mechanism: Pure) -> float:
    """The true share at which the estimate varies most: where a report supports it as often as
    not, or as near to that as shares get."""
    p, q = float(mechanism.p), float(mechanism.q)
    return min(max((0.5 - q) / (p - q), 0.0), 1.0)


def respondents(goal: Goal, epsilon: float, margin: float, confidence: float = 0.95) -> Plan:
    """How many respondents bring the margin. Raises ValueError unless margin is within (0, 1)."""
    _check(margin=margin)
    z = _z(confidence)
    n = ceil(z * z * goal.variance(epsilon) / (margin * margin) / goal.reports - 1e-9)
    return _plan(goal, epsilon, n, margin, z)


def margin(goal: Goal, epsilon: float, n: int, confidence: float = 0.95) -> Plan:
    """How precise n respondents are. Raises ValueError unless n is at least 1."""
    if n < 1:
        raise ValueError("the number of respondents is at least 1")
    z = _z(confidence)
    found = z * sqrt(goal.variance(epsilon) / (n * goal.reports))
    return _plan(goal, epsilon, n, found, z)


def epsilon(goal: Goal, n: int, wanted: float, confidence: float = 0.95) -> Plan:
    """The smallest epsilon, in hundredths, at which n respondents bring the margin.

    Raises ValueError where no epsilon up to 10 does: the mend is more respondents or a wider
    margin.
    """
    _check(margin=wanted)
    low, high = _SMALLEST - 1, _LARGEST
    if margin(goal, high / 100, n, confidence).margin > wanted:
        raise ValueError(
            f"no epsilon up to 10 brings {n:,} respondents within {wanted:g}; ask more people or"
            " accept a wider margin"
        )
    while high - low > 1:
        middle = (low + high) // 2
        fits = margin(goal, middle / 100, n, confidence).margin <= wanted
        low, high = (low, middle) if fits else (middle, high)
    return margin(goal, high / 100, n, confidence)


def direct_respondents(spread: float, margin: float, z: float) -> int:
    """How many people asked directly give this margin."""
    return max(1, ceil(z * z * spread / (margin * margin) - 1e-9))


def curator_respondents(spread: float, epsilon: float, margin: float, z: float) -> int:
    """How many true answers a trusted curator needs who adds Laplace noise to their sum.

    One person moves the sum by at most 1 (in units of the range), so the noise on the mean of n
    has the variance 2 / (n epsilon)^2 (Dwork, McSherry, Nissim and Smith 2006, TCC).
    """
    # z^2 (spread / n + 2 / (n epsilon)^2) = margin^2, a quadratic in n.
    ratio = (z / margin) ** 2
    exact = (ratio * spread + sqrt((ratio * spread) ** 2 + 8 * ratio / epsilon**2)) / 2
    return max(1, ceil(exact - 1e-9))


def mechanism_goal(mechanism: Pure, share: float | None, reports: float) -> Goal:
    """The goal of a question that has its mechanism already; its epsilon is fixed."""
    at = worst_share(mechanism) if share is None else share
    spread = 0.25 if share is None else share * (1 - share)
    return Goal(lambda _: share_variance(mechanism, at), spread, reports)


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
        raise ValueError("confidence is between 0 and 1, such as 0.95")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _check(*, margin: float) -> None:
    if not 0 < margin < 1:
        raise ValueError("the margin is between 0 and 1, such as 0.05 for five points")


__all__ = [
    "Fraction",
    "Goal",
    "Plan",
    "curator_respondents",
    "direct_respondents",
    "epsilon",
    "margin",
    "mean_goal",
    "mechanism_goal",
    "respondents",
    "share_goal",
    "worst_share",
]
