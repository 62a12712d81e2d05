"""What reports alone prove about a randomiser: a lower bound of its epsilon, certified by counting.

Two answers are randomised many times. An event that one of them makes much likelier is chosen on a
first batch of reports and counted on a second, so that the choice cannot flatter itself. If the
event has probability a under the one and b under the other, epsilon is at least ln((a - delta)/b);
exact binomial intervals for both make it a statement with a known chance of being wrong. Source:
Arcolezi and Gambs 2024 (PoPETs, LDP-Auditor), here with the event of the largest ratio instead of a
guess of the answer, which proves nearly all of epsilon for every mechanism.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from deniably.binomial import clopper_pearson
from deniably.coins import Coins

Run = Callable[[Coins], Hashable]
Event = Callable[[Hashable], bool]

ALPHA = 1e-6
"""The chance that a certified epsilon is above the true one."""


@dataclass(frozen=True)
class Certified:
    """With probability 1 - ``alpha`` the epsilon is at least ``epsilon`` (0 where nothing is
    shown). ``seen`` of ``trials`` reports of the one answer, and ``against`` of as many of the
    other, were in the event."""

    epsilon: float
    seen: int
    against: int
    trials: int
    alpha: float


def certify(
    first: Run,
    second: Run,
    trials: int,
    *,
    event: Event | None = None,
    delta: float = 0.0,
    alpha: float = ALPHA,
    coins: Callable[[], Coins] = Coins,
) -> Certified:
    """The certified epsilon of two answers, from ``trials`` fresh reports of each.

    Without an ``event`` it is learnt on a tenth as many reports before. Raises ValueError unless
    there are at least 10 trials.
    """
    if trials < 10:
        raise ValueError("an audit needs at least 10 trials")
    if event is None:
        event = learnt(_sample(first, trials // 10, coins), _sample(second, trials // 10, coins))
    seen = sum(map(event, _sample(first, trials, coins)))
    against = sum(map(event, _sample(second, trials, coins)))
    return Certified(lower_bound(seen, against, trials, delta, alpha), seen, against, trials, alpha)


def lower_bound(seen: int, against: int, trials: int, delta: float, alpha: float) -> float:
    """ln((a - delta) / b) at the lower end for a and the upper end for b, each missed with
    probability alpha / 2; at least 0."""
    low = float(clopper_pearson(seen, trials, alpha)[0]) - delta
    high = float(clopper_pearson(against, trials, alpha)[1])
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


def learnt(first: Iterable[Hashable], second: Iterable[Hashable]) -> Event:
    """The reports that speak most for the first answer: by the ratio of their counts, as many of
    them as give the best bound."""
    ours, theirs = Counter(first), Counter(second)
    trials = max(sum(ours.values()), 1)

    def ratio(report: Hashable) -> float:
        return (ours[report] + 0.5) / (theirs[report] + 0.5)

    ranked = sorted(ours, key=ratio, reverse=True)
    best, size, seen, against = -1.0, 0, 0, 0
    for index, report in enumerate(ranked, start=1):
        seen += ours[report]
        against += theirs[report]
        bound = math.log((seen + 1) / (against + 1)) - 3 * math.sqrt(
            1 / (seen + 1) + 1 / (against + 1)
        )
        if bound > best:
            best, size = bound, index
    chosen = frozenset(ranked[:size]) if trials else frozenset[Hashable]()
    return lambda report: report in chosen


def _sample(run: Run, count: int, coins: Callable[[], Coins]) -> Iterable[Hashable]:
    return (run(coins()) for _ in range(count))
