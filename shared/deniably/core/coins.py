"""The one source of randomness: exact uniform integers (SPEC 1)."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from io import BytesIO
from itertools import accumulate
from operator import mod
from struct import Struct

LARGEST = 1 << 53
"""The largest bound of a draw: what a JavaScript number holds exactly."""

_MOST = LARGEST - 1  # as a mask, the lowest 53 bits
_DRAW = 7  # bytes of a draw: the fewest that hold 53 bits (SPEC 1)
_POOL = 8
"""Draws whose bytes are fetched at once: as many as a report to a question or two takes. A fetch is
a system call, and every byte costs, too."""
_FEW = 8
"""So many draws at once are quicker than one by one."""

_integer = int.from_bytes


class Coins:
    """A source of uniform integers, drawn by rejection from the operating system's random bytes.

    ``source(count)`` returns the next ``count`` random bytes; only tests pass one. Make a new
    object for each report. An object fetches the bytes of several draws at a time, and the unused
    ones are discarded with it.

    >>> coins = Coins(lambda count: bytes(count))  # a source of zeros
    >>> coins.below(6), coins.below_each(range(6, 8)), coins.choose([3, 1]), coins.pick(5, 2)
    (0, [0, 0], 0, [0, 1])
    """

    __slots__ = ("_from_system", "_source")

    def __init__(self, source: Callable[[int], bytes] | None = None) -> None:
        self._from_system = source is None
        self._source = source or _nothing

    def below(self, n: int) -> int:
        """Returns an integer in ``0 .. n-1``, each with probability exactly 1/n.

        Raises ValueError unless 1 <= n <= 2**53.
        """
        if not 1 <= n <= LARGEST:
            raise ValueError(f"the bound of a draw is {n}; it must be from 1 to 2**53")
        while True:
            u = _integer(self._source(_DRAW) or self._fetched(_POOL)) & _MOST
            drawn = u % n
            # Among whole runs of n numbers every remainder is equally likely; the rest is thrown
            # away.
            if u - drawn <= LARGEST - n:
                return drawn

    def below_each(self, bounds: range) -> list[int]:
        """Returns ``below(n)`` for each n in ``bounds``, in this order: the same draws as one by
        one, but faster.

        Raises ValueError, before any draw, unless each bound is from 1 to 2**53.
        """
        # An audit watches every draw, by a ``below`` of its own.
        if len(bounds) < _FEW or type(self).below is not Coins.below:
            return list(map(self.below, bounds))
        least, most = sorted((bounds[0], bounds[-1]))
        if not 1 <= least <= most <= LARGEST:
            raise ValueError(f"bounds of draws are {least} to {most}; they must be 1 to 2**53")
        taken = self._bytes_of(len(bounds))
        words = _words(len(bounds)).read(taken)
        if max(words) <= LARGEST - most:  # as nearly always: then no number is thrown away
            return list(map(mod, words, bounds))
        return self._drawn_again(taken, bounds)

    def choose(self, weights: Sequence[int]) -> int:
        """Returns an index of ``weights``, drawn with probability weight / sum of the weights.

        Raises ValueError where a weight is negative, where there are none, and unless their sum is
        from 1 to 2**53.
        """
        if not weights or min(weights) < 0:
            raise ValueError("choose needs weights, none of them negative")
        if len(weights) == 2:  # as in most mechanisms
            return int(self.below(weights[0] + weights[1]) >= weights[0])
        ends = list(accumulate(weights))
        return bisect_right(ends, self.below(ends[-1]))

    def chance(self, n: int, d: int) -> bool:
        """Returns True with probability exactly ``e**-(n/d)``, for 0 <= n <= d <= 2**53.

        Source: Canonne, Kamath and Steinke 2020, algorithm 1 (SPEC 2.10), which plays the series
        1 - x + x**2/2! - ... as a game that ends at some step.
        """
        step = 1
        # Both draws are always made: together they succeed with probability (n / d) / step.
        while [self.choose((n, d - n)), self.below(step)] == [0, 0]:
            step += 1
        return step % 2 == 1

    def pick(self, n: int, size: int) -> list[int]:
        """Returns ``size`` distinct integers below ``n``; every choice and order of them is
        equally likely.

        Source: a Fisher-Yates shuffle, stopped after ``size`` steps. Raises ValueError unless
        ``0 <= size <= n``.
        """
        if not 0 <= size <= n:
            raise ValueError(f"pick cannot take {size} of {n} integers")
        items = list(range(n))
        for i, drawn in enumerate(self.below_each(range(n, n - size, -1))):
            j = i + drawn
            items[i], items[j] = items[j], items[i]
        return items[:size]

    def draw_id(self) -> str:
        """Returns the id of a report: 128 random bits as 32 hexadecimal digits (SPEC 5).

        An audit replaces this method: it cannot enumerate 2**128 branches, so it notes each id
        that is drawn and looks for it in the report.
        """
        return "".join(f"{self.below(1 << 32):08x}" for _ in range(4))

    def _drawn_again(self, taken: bytes, bounds: range) -> list[int]:
        """``below`` of every bound from these bytes, and then from as many more as it takes."""
        left = BytesIO(taken).read
        again = Coins(lambda count: left(count) or self._source(count) or self._fetched(_POOL))
        return [again.below(n) for n in bounds]

    def _bytes_of(self, count: int) -> bytes:
        """The bytes of so many draws."""
        if not self._from_system:
            # A source of a test is asked as ``below`` would ask it: 7 bytes at a time.
            return b"".join([self._source(_DRAW) or self._fetched(_POOL) for _ in range(count)])
        taken = self._source(count * _DRAW)
        if missing := count - len(taken) // _DRAW:
            taken += self._fetched(max(missing, _POOL)) + self._source((missing - 1) * _DRAW)
        return taken

    def _fetched(self, count: int) -> bytes:
        """The bytes of a draw; the source then has those of ``count - 1`` more."""
        if not self._from_system:
            raise ValueError("the source gave no random bytes")
        self._source = BytesIO(os.urandom(count * _DRAW)).read
        return self._source(_DRAW)


_nothing = BytesIO().read
"""The source of coins that have fetched nothing yet."""


class _Words:
    """Reads many draws at once, in four calls whatever their number.

    A loop in Python over the draws would take most of the time of a report.
    """

    __slots__ = ("_apart", "_mask", "_size", "_together")

    def __init__(self, count: int) -> None:
        self._apart = Struct(f"{_DRAW}s" * count)
        self._together = Struct(f">{count}Q")
        self._size = 8 * count
        self._mask = _integer(_MOST.to_bytes(8) * count)

    def read(self, taken: bytes) -> tuple[int, ...]:
        """Splits ``taken`` into draws of 7 bytes; returns the lowest 53 bits of each as an integer.

        The bytes of a draw are in big-endian order.
        """
        # A zero byte before each draw makes words of 8 bytes, which one mask cuts to 53 bits and
        # one call unpacks.
        padded = _integer(b"\0".join(self._apart.unpack(taken)))
        return self._together.unpack((padded & self._mask).to_bytes(self._size))


_words = lru_cache(maxsize=64)(_Words)
