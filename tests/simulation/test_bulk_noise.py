"""The endless samplers in bulk: their laws enclosed branch by branch, and measured on a fixed tape.

An enclosure bounds every probability of the running code from below, and from above by that and
the mass of all branches that were too improbable to follow.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import cycle
from math import isqrt

import numpy as np
import numpy.typing as npt
import pytest
from mpmath import mp, mpf
from scipy import stats

from deniably.audit.enumeration import distribution_above
from deniably.core.coins import Coins
from deniably.estimation.channels import masses
from deniably.mechanisms import BoundedLaplace, Gaussian, Laplace
from deniably.simulation.bulk import noise, randomise_many
from support.bulk_law import all_bytes_from, drawing, one_report
from support.soak import soak

Law = Callable[[int], mpf]


@pytest.fixture(autouse=True)
def many_digits() -> None:
    mp.dps = 80


def encloses(run: Callable[[Coins], int], law: Law, cut: Fraction, most: Fraction) -> None:
    found, rest = distribution_above(run, cut)
    assert sum(found.values()) + rest == 1
    assert rest < most
    tolerance = Fraction(1, 1 << 200)  # a walked chance is taken to 2**-256
    for value in range(min(found) - 2, max(found) + 3):
        exact = Fraction(str(law(value)))
        assert found.get(value, 0) - tolerance <= exact <= found.get(value, 0) + rest + tolerance


def walked(run: Callable[[], npt.NDArray[np.generic]]) -> Callable[[Coins], int]:
    """The first result of a run on draws that are walked."""

    def one(coins: Coins) -> int:
        with drawing(coins):
            return int(run()[0])

    return one


# Chances ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(0, 1), (1, 1), (1, 2), (2, 3), (999, 1000), (1, 1 << 40)])
def test_a_chance_has_its_exponential_probability(
    n: int, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(coins: Coins) -> bool:
        matters = cycle((n, 1))  # of draws in turn: whether one is below n, whether one is 0

        def signed_below(bound: int, size: int) -> npt.NDArray[np.int64]:
            end = min(next(matters), bound)
            shares = (end, bound - end)
            return np.array([end * coins.choose(shares) for _ in range(size)], dtype=np.int64)

        monkeypatch.setattr(noise, "signed_below", signed_below)
        return bool(noise.chance(np.array([n]), d)[0])

    found, rest = distribution_above(run, Fraction(1, 10**20))
    assert rest < Fraction(1, 10**12)
    exact = Fraction(str(mp.exp(-mpf(n) / d)))
    tolerance = Fraction(1, 10**70)
    assert found.get(True, 0) - tolerance <= exact <= found.get(True, 0) + rest + tolerance


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 2)])
def test_a_fall_multiplies_chances(gamma: Fraction) -> None:
    n, d = gamma.numerator, gamma.denominator
    falls = mp.exp(-mpf(n) / d)
    encloses(
        walked(lambda: noise.fall(np.array([n]), d)),
        lambda value: {0: 1 - falls, 1: falls}.get(value, mpf(0)),
        Fraction(1, 10**6),
        Fraction(1, 10**4),
    )


# Noise -----------------------------------------------------------------------------------------


def laplace_law(scale: Fraction) -> Law:
    decay = mp.exp(-mpf(scale.denominator) / scale.numerator)
    return lambda y: (1 - decay) / (1 + decay) * decay ** abs(y)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3), Fraction(3, 2), Fraction(2, 5)])
def test_laplace_noise_has_its_law(scale: Fraction) -> None:
    encloses(
        walked(lambda: noise.discrete_laplace(scale.numerator, scale.denominator, 1)),
        laplace_law(scale),
        Fraction(1, 10**4),
        Fraction(1, 6),
    )


@pytest.mark.parametrize(
    "variance", [Fraction(1, 2), soak(Fraction(1)), soak(Fraction(3)), Fraction(7, 3)]
)
def test_gaussian_noise_has_its_law(variance: Fraction) -> None:
    halved = mpf(variance.denominator) / (2 * variance.numerator)
    total = mp.nsum(lambda y: mp.exp(-halved * y * y), [-mp.inf, mp.inf])
    encloses(
        walked(lambda: noise.discrete_gaussian(variance.numerator, variance.denominator, 1)),
        lambda y: mp.exp(-halved * y * y) / total,
        Fraction(1, 10**4),
        Fraction(1, 3),
    )


@pytest.mark.parametrize("answer", [0, soak(1), soak(2), 3])
def test_clamped_noise_puts_each_tail_on_its_end(answer: int) -> None:
    law, decay = laplace_law(Fraction(3, 2)), mp.exp(-mpf(2) / 3)

    def clamped(y: int) -> mpf:
        if y not in range(4):
            return mpf(0)
        return law(y - answer) / (1 - decay if y in (0, 3) else 1)

    encloses(
        lambda coins: one_report(BoundedLaplace(4, "3/2", "clamp"), answer, coins)[0],
        clamped,
        Fraction(1, 10**4),
        Fraction(1, 6),
    )


@pytest.mark.parametrize(
    ("answer", "low"),
    [
        *[(3, 0), (0, noise._LOW), (3, noise._LOW), soak(0, 0)],
        *(soak(answer, low) for answer in (1, 2) for low in (0, noise._LOW)),
    ],
)
def test_resampled_noise_is_that_within_the_ends(
    answer: int, low: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where noise is proposed (``low`` is 0), and where positions are."""
    monkeypatch.setattr(noise, "_LOW", low)
    law = laplace_law(Fraction(3, 2))
    total = sum(law(y - answer) for y in range(4))
    encloses(
        lambda coins: one_report(BoundedLaplace(4, "3/2", "resample"), answer, coins)[0],
        lambda y: law(y - answer) / total if y in range(4) else mpf(0),
        Fraction(1, 10**4),
        Fraction(1, 3),
    )


@pytest.mark.parametrize("root", [0, 1, isqrt((1 << 63) - 1), isqrt((1 << 63) - 1) + 1, 1 << 36])
@pytest.mark.parametrize("d", [1 << 12, (1 << 53) - 111])
def test_squares_are_divided_exactly_beyond_64_bits(root: int, d: int) -> None:
    whole, rest = noise._square_divmod(np.array([root, -root, 3]), d)
    assert list(zip(whole.tolist(), rest.tolist(), strict=True)) == [
        divmod(root**2, d), divmod(root**2, d), divmod(9, d)
    ]  # fmt: skip


# Measured on a fixed tape --------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(3, "1"),
        Laplace(3, "41/2"),
        Laplace(3, "1/3"),
        Gaussian(2, 1, "73/4", "1", "0.0001"),
        Gaussian(101, 1, "360000", "1", "0.0001"),
    ],
    ids=repr,
)
def test_numbers_are_the_position_with_exact_noise(
    mechanism: Laplace | Gaussian, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_bytes_from(monkeypatch, np.random.default_rng(30).bytes)
    n = 200_000
    answers = np.arange(n) % mechanism.k
    added = randomise_many(mechanism, answers) - answers
    for found in (added[::2], added[1::2]):
        assert same_law(found, mechanism)


def same_law(noise: npt.NDArray[np.int64], mechanism: Laplace | Gaussian) -> bool:
    """Pearson's test over values that are put together until each group expects 20 or more."""
    reach = np.arange(noise.min() - 1, noise.max() + 2)
    means = masses(mechanism, reach) * len(noise)
    counts = np.bincount(noise - reach[0], minlength=len(reach))
    group = (np.cumsum(means) // max(20, len(noise) / 200)).astype(np.int64)
    expected = np.bincount(group, weights=means)
    kept = expected > 5
    distance = ((np.bincount(group, weights=counts) - expected)[kept] ** 2 / expected[kept]).sum()
    return bool(stats.chi2.sf(distance, np.count_nonzero(kept) - 1) > 1e-6)
