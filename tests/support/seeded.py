"""Coins that fall the same on every run."""

from __future__ import annotations

from random import Random

from deniably.core.coins import Coins


def tape(name: object = 0) -> Coins:
    """Coins whose bytes look random; each name has its own."""
    return Coins(Random(f"the tape {name}").randbytes)
