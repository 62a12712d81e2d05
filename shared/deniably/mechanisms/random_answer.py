"""Draws a uniformly random answer, from which a mixer makes a blank (SPEC 13)."""

from __future__ import annotations

from itertools import accumulate
from math import comb

from deniably.core.coins import LARGEST, Coins
from deniably.mechanisms.law import Domain, Each, One, Ticks

_WORD = 32
"""Bits of a draw; large numbers are made of several draws."""


def random_answer(domain: Domain, coins: Coins) -> int | tuple[int, ...]:
    """Returns an answer that a mechanism with this ``domain`` takes, each equally likely.

    >>> random_answer(Ticks(4, limit=2), Coins(lambda count: bytes(count)))  # a source of zeros
    ()
    """
    match domain:
        case One(k):
            return coins.below(k)
        case Each(sizes):
            return tuple(map(coins.below, sizes))
        case Ticks(k, _):
            # As many sets have t ticks as there are ways to choose t of k.
            ends = list(accumulate(comb(k, ticks) for ticks in range(domain.most + 1)))
            drawn = below(ends[-1], coins)
            ticks = next(ticks for ticks, end in enumerate(ends) if drawn < end)
            return tuple(sorted(coins.pick(k, ticks)))


def below(n: int, coins: Coins) -> int:
    """Returns an integer in ``0 .. n-1``, each with probability exactly 1/n; n may be of any size.

    Up to 2**53 it is ``coins.below``. Beyond, it is made of 32 bits at a time, and drawn again if
    it is too large.
    """
    if n <= LARGEST:
        return coins.below(n)
    blocks = -(-n >> _WORD)  # rounded up
    while True:
        drawn = below(blocks, coins) << _WORD | coins.below(1 << _WORD)
        if drawn < n:
            return drawn
