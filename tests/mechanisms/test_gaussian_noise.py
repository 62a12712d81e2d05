"""Gaussian noise is calibrated for every epsilon, and certified where it is whole numbers."""

import math
import subprocess
import sys
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.mechanisms.gaussian_delta import (
    analytic_delta,
    analytic_sigma,
    discrete_gaussian_delta_upper,
    discrete_gaussian_vector_delta_upper,
    discrete_sigma2,
)
from support.cases import for_each

# --- real-valued noise ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [
        (0.5, 1e-5, "7.03183"),
        (1, 1e-5, "3.73063"),
        (2, 1e-5, "1.99381"),
        (4, 1e-5, "1.08116"),
        (8, 1e-5, "0.60023"),
        (1, 1e-6, "4.22468"),
    ],
)
def test_sigma_is_that_of_balle_and_wang(epsilon: float, delta: float, sigma: str) -> None:
    """The figures of the authors' published code, for sensitivity 1."""
    assert f"{analytic_sigma(1, epsilon, delta):.5f}" == sigma


@pytest.mark.parametrize(
    ("epsilon", "worst"),
    [(0.5, 260), (1, 71.4), (2, 19.9), (4, 5.70)],
)
def test_gaussian_noise_is_dear_for_one_number_per_person(epsilon: float, worst: float) -> None:
    """The variance of one report of a number in [-1, 1], with delta 1e-6."""
    assert analytic_sigma(2, epsilon, 1e-6) ** 2 == pytest.approx(worst, rel=3e-3)


def exact_normal_delta(sensitivity: float, sigma: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workprec(600):
        m, e = mpmath.mpf(sensitivity) / mpmath.mpf(sigma), mpmath.mpf(epsilon)
        first, second = mpmath.ncdf(m / 2 - e / m), mpmath.ncdf(-m / 2 - e / m)
        return first - mpmath.exp(e) * second


@given(st.floats(0.001, 300), st.floats(-9, 2.5))
def test_delta_is_never_too_small_and_hardly_too_large(epsilon: float, place: float) -> None:
    """``place`` is how many standard deviations delta's event is below the mean."""
    sigma = 1 / (math.sqrt(place * place + 2 * epsilon) + place)
    exact = exact_normal_delta(1, sigma, epsilon)

    assert exact <= analytic_delta(1, sigma, epsilon) <= exact * (1 + mpmath.mpf(10) ** -6)


@settings(max_examples=30)
@given(st.floats(0.001, 300), st.floats(1e-12, 0.5), st.floats(0.01, 1e4))
def test_sigma_keeps_its_promise_and_nothing_smaller_does(
    epsilon: float, delta: float, sensitivity: float
) -> None:
    sigma = analytic_sigma(sensitivity, epsilon, delta)

    assert exact_normal_delta(sensitivity, sigma, epsilon) <= delta
    assert exact_normal_delta(sensitivity, sigma * (1 - 1e-6), epsilon) > delta


def test_extreme_requests_neither_overflow_nor_lose_all_digits() -> None:
    for epsilon, delta in [(1e4, 1e-12), (1e-4, 1e-9), (1.0, 1e-300), (0.5, 0.999)]:
        sigma = analytic_sigma(1, epsilon, delta)

        assert exact_normal_delta(1, sigma, epsilon) <= delta
        assert exact_normal_delta(1, sigma * 0.999, epsilon) > delta


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 0.1), (-1, 0.1), (math.inf, 0.1), (1, 0), (1, 1), (1, math.nan)]
)
def test_requests_without_meaning_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ValueError, match=r"above 0|between 0 and 1"):
        analytic_sigma(1, epsilon, delta)


def test_sigma_is_a_number_above_zero() -> None:
    with pytest.raises(ValueError, match="sigma is 0; it must be a number above 0"):
        analytic_delta(1, 0, 1)


# --- whole-number noise -----------------------------------------------------------------------


def weights(sigma2: Fraction) -> tuple[int, list[mpmath.mpf]]:
    """Weights of -reach .. reach, where the rest is below 1e-100."""
    exact = mpmath.mpf(sigma2.numerator) / sigma2.denominator
    reach = int(22 * mpmath.sqrt(exact)) + 3
    half = [mpmath.exp(-(mpmath.mpf(y) ** 2) / (2 * exact)) for y in range(reach + 1)]
    return reach, half[:0:-1] + half


def exact_discrete_delta(sigma2: Fraction, shift: int, epsilon: Fraction) -> mpmath.mpf:
    """From the definition: the sum of what P[y] exceeds e^epsilon P[y - shift] by."""
    _, weight = weights(sigma2)
    odds = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    moved = [mpmath.mpf(0)] * shift + weight
    surplus = (w - odds * m for w, m in zip(weight + [mpmath.mpf(0)] * shift, moved, strict=True))
    return mpmath.fsum(s for s in surplus if s > 0) / mpmath.fsum(weight)


def to_mp(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 400).map(lambda quarters: Fraction(quarters, 4)),
    st.integers(1, 12),
    st.fractions(Fraction(1, 20), 20, max_denominator=100),
)
def test_the_certified_delta_is_the_exact_one_to_twenty_digits(
    sigma2: Fraction, shift: int, epsilon: Fraction
) -> None:
    bound = discrete_gaussian_delta_upper(sigma2, shift, epsilon)
    with mpmath.workprec(500):
        exact = exact_discrete_delta(sigma2, shift, epsilon)

        assert exact <= to_mp(bound)
        if 2 * epsilon * sigma2 > shift * shift and exact > mpmath.mpf(2) ** -80:
            assert to_mp(bound) <= exact * (1 + mpmath.mpf(2) ** -60)


@pytest.mark.parametrize(
    ("sigma", "shift", "epsilon"),
    [(5000, 1500, 1), (9001, 300, Fraction(1, 10)), (6000, 60, Fraction(1, 50))],
)
def test_summing_blocks_costs_next_to_nothing(sigma: int, shift: int, epsilon: Fraction) -> None:
    """Large noise, where the bound sums blocks of neighbours; the exact sum with 53 bits."""
    sigma2, epsilon = Fraction(sigma * sigma), Fraction(epsilon)
    bound = discrete_gaussian_delta_upper(sigma2, shift, epsilon)

    first = math.floor(epsilon * sigma2 / shift - Fraction(shift, 2)) + 1
    e = float(epsilon)
    exact = math.fsum(
        math.exp(-y * y / (2 * sigma * sigma))
        * -math.expm1(e - (2 * y + shift) * shift / (2 * sigma * sigma))
        for y in range(first, first + 12 * sigma)
    ) / (sigma * math.sqrt(2 * math.pi))
    assert exact * (1 + 1e-9) < float(bound) < exact * 1.005


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 200).map(lambda quarters: Fraction(quarters, 4)),
    st.integers(1, 15),
    st.fractions(Fraction(1, 20), 20, max_denominator=100),
)
def test_the_largest_change_gives_most_away(
    sigma2: Fraction, shift: int, epsilon: Fraction
) -> None:
    smaller = discrete_gaussian_delta_upper(sigma2, shift, epsilon)

    # Both are rounded up, by less than a relative 2**-60 or by 2**-150.
    larger = discrete_gaussian_delta_upper(sigma2, shift + 1, epsilon)
    assert smaller <= larger * (1 + Fraction(1, 1 << 60)) + Fraction(1, 1 << 150)


def test_the_bound_is_one_integer_that_every_port_must_give() -> None:
    bound = discrete_gaussian_delta_upper(Fraction(73, 4), 1, Fraction(1))
    blocks = discrete_gaussian_delta_upper(Fraction(36_000_000), 120, Fraction(1, 10))
    many = discrete_gaussian_delta_upper(Fraction(4_000_000), 2000, Fraction(1))

    assert bound * 2**160 == 1192934819602486118291638849312447009459733
    assert blocks * 2**160 == 1643046358823582588059402965658197626963
    assert many * 2**160 == 185518238983735433334765175491804720206489785516


def test_too_little_noise_hides_nothing() -> None:
    assert discrete_gaussian_delta_upper(Fraction(1), 10, Fraction(1)) == 1


@pytest.mark.parametrize(
    ("sigma2", "shift", "epsilon"),
    [(0, 1, 1), (-1, 1, 1), (2**64 + 1, 1, 1), (1, 0, 1), (1, -1, 1), (1, 1, 0)],
)
def test_noise_without_meaning_is_refused(sigma2: int, shift: int, epsilon: int) -> None:
    with pytest.raises(ValueError, match=r"above 0|at most|from 1"):
        discrete_gaussian_delta_upper(Fraction(sigma2), shift, Fraction(epsilon))


# --- several numbers --------------------------------------------------------------------------


def test_two_numbers_give_away_what_the_bound_says() -> None:
    """From the definition, over all pairs of noises."""
    sigma2, shift, epsilon = Fraction(9), 1, Fraction(1)
    bound = discrete_gaussian_vector_delta_upper(sigma2, shift, 2, epsilon)
    with mpmath.workprec(300):
        reach, weight = weights(sigma2)
        norm = mpmath.fsum(weight) ** 2
        odds, law = mpmath.exp(1), dict(zip(range(-reach, reach + 1), weight, strict=True))
        exact = mpmath.mpf(0)
        for y in range(-20, reach + 1):
            for z in range(-20, reach + 1):
                moved = law.get(y + shift, 0) * law.get(z + shift, 0)
                exact += max(mpmath.mpf(0), law[y] * law[z] - odds * moved)
        exact /= norm

        assert exact > 1e-4
        assert to_mp(bound) > exact
        assert to_mp(bound) == pytest.approx(exact, rel=1e-9)


def test_the_law_of_a_sum_is_as_near_as_published() -> None:
    """Kairouz, Liu and Steinke 2021, at a sigma so small that the difference can be seen."""
    sigma2 = Fraction(1, 2)
    with mpmath.workprec(200):
        reach, weight = weights(sigma2)
        norm = mpmath.fsum(weight)
        double_reach, double = weights(2 * sigma2)
        double_norm = mpmath.fsum(double)
        tau = 10 * mpmath.exp(-2 * mpmath.pi**2 * to_mp(sigma2) / 2)
        worst = mpmath.mpf(0)
        for total in range(-6, 7):
            pairs = mpmath.fsum(
                weight[y + reach] * weight[total - y + reach]
                for y in range(max(-reach, total - reach), min(reach, total + reach) + 1)
            )
            one = double[total + double_reach] / double_norm
            worst = max(worst, abs(mpmath.log(pairs / norm**2 / one)))

        assert tau / 20 < worst <= tau


def test_several_numbers_need_a_variance_of_nine() -> None:
    with pytest.raises(ValueError, match="at least 9"):
        discrete_gaussian_vector_delta_upper(Fraction(35, 4), 1, 2, Fraction(1))
    with pytest.raises(ValueError, match="number of coordinates"):
        discrete_gaussian_vector_delta_upper(Fraction(9), 1, 0, Fraction(1))


def test_one_coordinate_is_one_number() -> None:
    number = discrete_gaussian_delta_upper(Fraction(4), 1, Fraction(1))

    assert discrete_gaussian_vector_delta_upper(Fraction(4), 1, 1, Fraction(1)) == number


# --- choosing the noise -----------------------------------------------------------------------


@for_each("shift", [1, 3, 10, 100, 1000, 10_000])
@for_each("d", [1, 4])
@for_each("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)])
def test_the_chosen_noise_is_certified_and_next_to_the_real_valued_one(
    shift: int, d: int, epsilon: Fraction
) -> None:
    delta = Fraction(1, 10**6)
    sigma2 = discrete_sigma2(shift, d, epsilon, delta)

    assert discrete_gaussian_vector_delta_upper(sigma2, shift, d, epsilon) <= delta
    real = analytic_sigma(shift * math.sqrt(d), float(epsilon), float(delta)) ** 2
    assert float(sigma2) <= max(9 if d > 1 else 0, real * 1.005 + 0.75)
    assert sigma2.denominator in (1, 2, 4)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_the_next_smaller_noise_is_not_enough(epsilon: Fraction) -> None:
    delta = Fraction(1, 10**5)
    sigma2 = discrete_sigma2(2, 1, epsilon, delta)

    assert sigma2 < 256
    assert discrete_gaussian_delta_upper(sigma2 - Fraction(1, 4), 2, epsilon) > delta


def test_a_device_calibrates_without_numpy() -> None:
    code = "import sys, deniably.mechanisms.gaussian_delta; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert not {"numpy", "scipy"} & set(loaded)
