"""The one door through which randomness enters: exact uniform integers (SPEC section 1)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from io import BytesIO

LARGEST = 1 << 53
"""The largest bound of a draw: what a JavaScript number holds exactly."""

_MOST = LARGEST - 1
_DRAW = 7
_POOL = 32 * _DRAW


class Coins:
    """Uniform integers, drawn by rejection from the operating system's random bytes.

    ``source(count)`` returns the next ``count`` random bytes; only tests pass one. Make a new
    object for each report. It fetches a few hundred bytes at a time, and unused ones are
    discarded with it.

    >>> coins = Coins(lambda count: bytes(count))  # a source of zeros
    >>> coins.below(6), coins.choose([3, 1]), coins.pick(5, 2)
    (0, 0, [0, 1])
    """

    __slots__ = ("_source",)

    def __init__(self, source: Callable[[int], bytes] | None = None) -> None:
        self._source = source or _pool()

    def below(self, n: int) -> int:
        """An integer in ``0 .. n-1``, each with probability exactly 1/n.

        Raises ValueError unless 1 <= n <= 2**53.
        """
        if not 1 <= n <= LARGEST:
            raise ValueError(f"the bound of a draw is {n}; it must be from 1 to 2**53")
        while True:
            u = int.from_bytes(self._source(_DRAW)) & _MOST
            drawn = u % n
            # Among whole runs of n numbers every remainder is equally likely; the rest is thrown
            # away.
            if u - drawn <= LARGEST - n:
                return drawn

    def choose(self, weights: Sequence[int]) -> int:
        """An index of ``weights``, drawn with probability weight / sum of the weights.

        Raises ValueError where a weight is negative, or where there are none.
        """
        if not weights or min(weights) < 0:
            raise ValueError("choose needs weights, none of them negative")
        u = self.below(sum(weights))
        for index, weight in enumerate(weights):
            if u < weight:
                return index
            u -= weight
        raise AssertionError("unreachable: u is below the sum of the weights")

    def chance(self, n: int, d: int) -> bool:
        """True with probability exactly ``e**-(n/d)``, for 0 <= n <= d <= 2**53.

        Source: Canonne, Kamath and Steinke 2020, algorithm 1 (SPEC 2.10), which plays the series
        1 - x + x**2/2! - ... as a game that ends at some step.
        """
        step = 1
        # Both draws are always made: together they succeed with probability (n / d) / step.
        while [self.choose((n, d - n)), self.below(step)] == [0, 0]:
            step += 1
        return step % 2 == 1

    def pick(self, n: int, size: int) -> list[int]:
        """``size`` distinct integers below ``n``; every ordered choice is equally likely.

        Source: a Fisher-Yates shuffle, stopped after ``size`` steps. Raises ValueError unless
        0 <= size <= n.
        """
        if not 0 <= size <= n:
            raise ValueError(f"pick cannot take {size} of {n} integers")
        items = list(range(n))
        for i in range(size):
            j = i + self.below(n - i)
            items[i], items[j] = items[j], items[i]
        return items[:size]

    def draw_id(self) -> str:
        """The id of a report: 128 random bits as 32 hexadecimal digits (SPEC 5).

        A method of its own lets an audit, which cannot walk 2**128 branches, watch each id that is
        drawn and look for it in the report.
        """
        return "".join(f"{self.below(1 << 32):08x}" for _ in range(4))


def _pool() -> Callable[[int], bytes]:
    """Random bytes of the operating system, in blocks: each fetch is a system call."""
    take = BytesIO().read

    def taken(count: int) -> bytes:
        nonlocal take
        if len(found := take(count)) < count:
            take = BytesIO(secrets.token_bytes(_POOL)).read
            found = take(count)
        return found

    return taken
