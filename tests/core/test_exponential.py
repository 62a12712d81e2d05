"""The step from epsilon to integer odds never rounds in the survey's favour."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.core.exponential import at_most_exp, exp_bounds, floor_exp

EPSILONS = st.decimals("0.01", "10", places=6).map(Fraction)


def exact(x: Fraction, bits: int) -> mpmath.mpf:
    with mpmath.workprec(400):
        return mpmath.ldexp(mpmath.exp(mpmath.mpf(x.numerator) / x.denominator), bits)


@given(EPSILONS)
def test_the_floor_is_that_of_four_hundred_bits(x: Fraction) -> None:
    assert floor_exp(x, 32) == int(mpmath.floor(exact(x, 32)))


@given(EPSILONS, st.integers(16, 128))
def test_the_bounds_enclose_the_value_tightly(x: Fraction, bits: int) -> None:
    low, high = exp_bounds(x, bits)

    with mpmath.workprec(400):
        assert low <= exact(x, bits) <= high
    assert high - low <= max(1000, high >> 16)


@given(EPSILONS)
def test_one_more_than_the_floor_is_too_much(x: Fraction) -> None:
    own = floor_exp(x, 32)

    assert at_most_exp(Fraction(own, 1 << 32), x)
    assert not at_most_exp(Fraction(own + 1, 1 << 32), x)


def test_a_ratio_next_to_the_bound_is_decided_however_close() -> None:
    x = Fraction(1)
    near = floor_exp(x, 500)

    assert at_most_exp(Fraction(near, 1 << 500), x)
    assert not at_most_exp(Fraction(near + 1, 1 << 500), x)


def test_epsilon_zero_allows_even_odds_only() -> None:
    assert floor_exp(Fraction(0), 32) == 1 << 32
    assert at_most_exp(Fraction(1), Fraction(0))
    assert not at_most_exp(Fraction(2), Fraction(0))


@pytest.mark.parametrize("x", [Fraction(-1), Fraction(65)])
def test_arguments_out_of_range_are_refused(x: Fraction) -> None:
    with pytest.raises(ValueError, match="0 <= x <= 64"):
        exp_bounds(x, 8)
