"""A delta near 1/n would let a mechanism publish a few people's answers and keep its promise."""

from __future__ import annotations

import re
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from deniably.design.delta_rule import delta_warning

DELTAS = st.fractions(Fraction(1, 10**9), Fraction(1, 1000))


@given(DELTAS, st.integers(1, 10**7))
def test_a_delta_is_warned_of_exactly_where_it_is_above_one_in_n_squared_or_in_100_n(
    delta: Fraction, n: int
) -> None:
    assert bool(delta_warning(delta, n)) == (delta > min(Fraction(1, n * n), Fraction(1, 100 * n)))


@given(DELTAS, st.integers(1, 10**7))
def test_the_delta_that_a_warning_asks_for_is_not_warned_of(delta: Fraction, n: int) -> None:
    said = delta_warning(delta, n)
    if said:
        (asked,) = re.findall(r"State ([0-9.]+) or less", said)
        assert delta_warning(Fraction(asked), n) == ""
        assert Fraction(asked) < delta


def test_a_delta_at_the_limit_is_not_warned_of() -> None:
    assert delta_warning(Fraction(1, 1_000_000), 1000) == ""
    assert "is above 1/n²: of 1,001 people" in delta_warning(Fraction(1, 1_000_000), 1001)
    assert delta_warning(Fraction(1, 1000), 10) == ""
    assert "is above 1/(100 n): of 11 people" in delta_warning(Fraction(1, 1000), 11)


def test_no_delta_is_never_warned_of() -> None:
    assert delta_warning(Fraction(0), 10**9) == ""


def test_a_chance_is_never_above_one() -> None:
    assert "a chance of up to 1e+02 %" not in delta_warning(Fraction(1, 1000), 10**6)
    assert "a chance of up to 100 %" in delta_warning(Fraction(1, 1000), 10**6)
    assert "a chance of up to 10 %" in delta_warning(Fraction(1, 10_000), 1000)
