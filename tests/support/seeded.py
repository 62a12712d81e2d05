"""Coins that fall the same on every run."""

from __future__ import annotations

from random import Random

from deniably.core.coins import Coins


def seeded_coins(seed: int | str = 0) -> Coins:
    """Coins whose bytes look random; each seed has its own."""
    return Coins(Random(seed).randbytes)
