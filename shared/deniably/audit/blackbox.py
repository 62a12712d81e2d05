"""Certifies a lower bound of a randomiser's epsilon from its reports alone.

Two answers are randomised many times. A first batch of reports chooses an event that one answer
makes much likelier; a second batch counts it, so that the choice introduces no bias. If the event
has probability a under one answer and b under the other, epsilon is at least ln((a - delta)/b).
Exact binomial intervals for a and b give the bound a known error probability. Source: Arcolezi and
Gambs 2024 (PoPETs, LDP-Auditor). Here the event with the largest expected bound replaces a guess of
the answer, which certifies nearly all of epsilon for every mechanism.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import clopper_pearson
from deniably.core.coins import Coins

Run = Callable[[Coins], Hashable]
"""Makes one report of a fixed answer."""
Event = Callable[[Hashable], bool]
"""Says whether a report is in a set of reports."""

ALPHA = 1e-6
"""The probability that a certified epsilon is above the true one."""


@dataclass(frozen=True)
class Certified:
    """A certified lower bound of epsilon, from counted reports.

    The true epsilon is at least ``epsilon`` with probability 1 - ``alpha``; 0 stands for no bound.
    The counted event, a set of reports, occurred in ``seen`` of ``trials`` reports of the first
    answer, and in ``against`` of as many reports of the second.
    """

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
    """Returns a certified lower bound of the epsilon between two answers.

    ``first`` and ``second`` each make a report of one answer; ``trials`` reports of each are
    counted. Before that, a fifth as many reports decide which event (set of reports) is counted:
    the given ``event``, or the reports that favour the first answer, whichever promises the larger
    bound. Raises ValueError unless there are at least 10 trials.
    """
    if trials < 10:
        raise ValueError(f"trials is {trials}; an audit needs at least 10 trials")
    few = max(trials // 5, 2)
    ours, theirs = _sample(first, few, coins), _sample(second, few, coins)
    counted = chosen(ours, theirs, trials, event, delta, alpha)
    seen = sum(map(counted, _sample(first, trials, coins)))
    against = sum(map(counted, _sample(second, trials, coins)))
    return Certified(lower_bound(seen, against, trials, delta, alpha), seen, against, trials, alpha)


def lower_bound(seen: int, against: int, trials: int, delta: float, alpha: float) -> float:
    """Returns a lower bound of epsilon, at least 0, from how often an event occurred.

    The event occurred in ``seen`` of ``trials`` reports of the first answer, with probability a,
    and in ``against`` of as many reports of the second, with probability b. The bound is ln((a -
    delta) / b) at the lower end of the interval of a and the upper end of that of b. Each interval
    misses its probability with probability ``alpha`` / 2.
    """
    return max(0.0, float(_bounds([seen], [against], trials, delta, alpha)[0]))


def smallest_visible(
    trials: int, epsilon: float, alpha: float = ALPHA, delta: float = 0.0
) -> float:
    """Returns the smallest probability of a catastrophe that would show in ``trials`` reports.

    A catastrophe is a report that only one of the two answers can make. With probability c it is
    expected in c * ``trials`` reports of this answer. It shows where that number, against none of
    the other answer, certifies more than ``epsilon``: about 80 reports for odds of 3 at the usual
    ``alpha``. A catastrophe with a probability of up to ``delta`` is allowed. The result is 1 where
    no catastrophe would show.
    """
    low, high = 0, trials
    if lower_bound(trials, 0, trials, delta, alpha) <= epsilon:
        return 1.0
    # The bound grows with the count, so bisection finds the least count that shows.
    while high - low > 1:
        middle = (low + high) // 2
        shown = lower_bound(middle, 0, trials, delta, alpha) > epsilon
        low, high = (low, middle) if shown else (middle, high)
    return high / trials


def trials_to_see(catastrophe: float, epsilon: float, alpha: float = ALPHA) -> int:
    """Returns how many reports of each answer are needed to show a catastrophe, to a thousandth.

    ``catastrophe`` is its probability; ``smallest_visible`` defines what it is. Raises ValueError
    unless the probability is above 0 and at most 1.
    """
    if not 0 < catastrophe <= 1:
        raise ValueError(f"the probability is {catastrophe:g}; give it above 0, at most 1")
    low, high = 0, 16
    # Doubling finds a number that is enough, bisection then the least.
    while smallest_visible(high, epsilon, alpha) > catastrophe:
        low, high = high, 2 * high
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        shown = smallest_visible(middle, epsilon, alpha) <= catastrophe
        low, high = (low, middle) if shown else (middle, high)
    return high


def chosen(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    trials: int,
    event: Event | None = None,
    delta: float = 0.0,
    alpha: float = ALPHA,
) -> Event:
    """Returns the event (a set of reports) that promises the best bound in ``trials`` more reports.

    It is the given ``event``, or the set of the reports that most favour the first answer.
    ``first`` and ``second`` are equally many reports of each answer. Half of them are used to rank
    the distinct reports by the ratio of their counts. The other half are used to choose how many of
    the top ranks to take, by what ``lower_bound`` would make of their counts. (The ratio alone is
    no measure: 200 against 0 of 20,000 prove an epsilon of 2.26, and 15,000 against 5,000 one of
    1.02.) The count for the second answer is taken as one more than was seen, so that a few rare
    reports do not promise too much.
    """
    half = len(first) // 2
    ours, theirs = Counter(first[:half]), Counter(second[:half])
    # Half a report is added on both sides, so that a report that was never seen against has a
    # finite ratio.
    ranked = sorted(ours, key=lambda report: -(ours[report] + 0.5) / (theirs[report] + 0.5))
    sizes = _sizes(len(ranked))
    seen, against = (_within(ranked, reports[half:], sizes) for reports in (first, second))
    promises = _promises(seen, against, len(first) - half, trials, delta, alpha)
    best = int(promises.argmax()) if sizes else 0
    if event is not None:
        in_it, against_it = ([sum(map(event, reports))] for reports in (first, second))
        promised = _promises(in_it, against_it, len(first), trials, delta, alpha)[0]
        if not sizes or promised >= promises[best]:
            return event
    among = frozenset(ranked[: sizes[best]] if sizes else ())
    return lambda report: report in among


def _sizes(largest: int) -> list[int]:
    """1, 2, 3 ... up to ``largest``, in steps of at most a tenth."""
    sizes: list[int] = []
    size = 1
    while size <= largest:
        sizes.append(size)
        size += max(size // 10, 1)
    return sizes


def _within(ranked: Sequence[Hashable], reports: Sequence[Hashable], sizes: list[int]) -> list[int]:
    """How many reports are among the first so many of those that were ranked, for each size."""
    counts = Counter(reports)
    sums = np.cumsum([0, *(counts[report] for report in ranked)])
    return [int(sums[size]) for size in sizes]


def _promises(
    seen: Sequence[int],
    against: Sequence[int],
    of: int,
    trials: int,
    delta: float,
    alpha: float,
) -> npt.NDArray[np.float64]:
    expected = [trials * count // of for count in seen]
    missed = [min(trials * (count + 1) // of, trials) for count in against]
    return _bounds(expected, missed, trials, delta, alpha)


def _bounds(
    seen: Sequence[int], against: Sequence[int], trials: int, delta: float, alpha: float
) -> npt.NDArray[np.float64]:
    low = clopper_pearson(seen, trials, alpha)[0] - delta
    high = clopper_pearson(against, trials, alpha)[1]
    # A lower end of 0 gives -inf, which promises nothing and is cut to 0 by the caller.
    with np.errstate(divide="ignore"):
        bounds: npt.NDArray[np.float64] = np.log(np.maximum(low, 0.0) / high)
    return bounds


def _sample(run: Run, count: int, coins: Callable[[], Coins]) -> list[Hashable]:
    # New coins for each report, as devices have them.
    return [run(coins()) for _ in range(count)]
