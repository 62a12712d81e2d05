"""Seeded draws: the same everywhere, uniform, and through the doors that ship."""

from __future__ import annotations

import numpy as np
import pytest

from deniably.core.coins import Coins
from deniably.lab.draws import Draws
from deniably.mechanisms import SubsetSelection
from deniably.simulation.bulk import randomise_many, uniform

WARNER = SubsetSelection(k=2, omega=1, own=3, other=1)


def test_a_seed_draws_the_same_on_every_machine() -> None:
    """Written down: no library's next version may change what a handout shows."""
    assert Draws(1).take(8).hex() == "690b10073fbc96ef"
    assert [Draws(1).coins.below(1000) for _ in range(2)] == [Draws(1).coins.below(1000)] * 2
    assert Draws(1).take(99) != Draws(2).take(99) != Draws(2, "else").take(99)


def test_simulations_draw_from_it_within_and_from_the_system_without() -> None:
    answers = np.zeros(4000, dtype=np.int64)

    def bulk() -> bytes:
        with Draws(3).bulk():
            return randomise_many(WARNER, answers).tobytes()

    assert bulk() == bulk()
    assert randomise_many(WARNER, answers).tobytes() != bulk()
    with Draws(3).bulk():
        within = uniform.coins().below(1 << 50)
    assert within == Draws(3).coins.below(1 << 50)
    assert isinstance(uniform.coins(), Coins)


@pytest.mark.parametrize("people", [999, 30_000], ids=["as devices", "as simulations"])
def test_a_tally_has_everybody(people: int) -> None:
    tally = Draws(1).tally(WARNER, {0: people // 3, 1: people - people // 3})

    assert tally.n == tally.counts.sum() == people
    expected = 3 * (people // 3) + (people - people // 3)
    assert abs(4 * tally.counts[0] - expected) < 4 * 5 * np.sqrt(people * 3 / 16)


def test_numbers_between_0_and_1_are_even() -> None:
    found = Draws(5).uniform(40_000)

    assert 0 < found.min() < 1e-3 < 1 - 1e-3 < found.max() < 1
    counts = np.bincount((found * 16).astype(int), minlength=16)
    assert (np.abs(counts - 2500) < 6 * 50).all()
