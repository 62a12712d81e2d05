"""The smallest number that is accepted, with few looks and with more: to the last bit the same."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from deniably.core.bisection import smallest, smallest_within

FALLING: list[Callable[[float], float]] = [
    lambda x: 1 / x,
    lambda x: math.exp(-(x**2)),
    lambda x: max(3 - x, 0.0),
    lambda x: 1.0 if x < 2.7 else 0.0,
    lambda x: math.exp(-x) if x < 1.5 else 0.0,
    lambda x: 1 / math.ceil(x),
]


@pytest.mark.parametrize("falling", FALLING)
@pytest.mark.parametrize("most", [0.9, 0.3, 1e-3])
@pytest.mark.parametrize("high", [1e-4, 1.0, 50.0])
def test_lines_find_what_halves_find(
    falling: Callable[[float], float], most: float, high: float
) -> None:
    found = smallest_within(falling, most, high, 1e-7)

    assert found == smallest(lambda x: falling(x) <= most, high, 1e-7)
    assert falling(found) <= most


@pytest.mark.parametrize("falling", FALLING[1:4])
def test_a_bound_may_be_next_to_nothing(falling: Callable[[float], float]) -> None:
    found = smallest_within(falling, 1e-300, 1.0)

    assert found == smallest(lambda x: falling(x) <= 1e-300, 1.0)


def test_where_logarithms_fall_smoothly_half_of_the_looks_are_saved() -> None:
    looks = {"halves": 0, "lines": 0}

    def counted(way: str, x: float) -> float:
        looks[way] += 1
        return math.exp(-x * (1 + x))

    smallest(lambda x: counted("halves", x) <= 1e-6, 1.0, 1e-7)
    smallest_within(lambda x: counted("lines", x), 1e-6, 1.0, 1e-7)

    assert looks["lines"] <= looks["halves"] / 2
