"""The endless samplers, walked branch by branch as far as that goes.

What is shown is an enclosure: every probability of the running code lies between a lower bound
and that bound plus the mass of all branches that were not followed. Because rejected rounds are
many, that mass stays at some percent; what it could hide is left to a test of fit on a fixed tape
and to the shared vectors, which hold every byte.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import fractions
from mpmath import mp, mpf
from scipy.stats import chi2

from deniably.audit.enumeration import distribution_above
from deniably.core.coins import Coins
from deniably.core.exponential import exp_bounds
from deniably.estimation.channels import masses, matrix
from deniably.mechanisms import BoundedLaplace, Gaussian, Laplace
from deniably.mechanisms.noise import discrete_gaussian, discrete_laplace, fall
from support.cases import for_each
from support.exact_laws import distribution
from support.seeded import seeded_coins
from support.soak import soak

CUT = Fraction(1, 10**4)

Law = Mapping[int, Fraction]


def encloses(run: Callable[[Coins], int], law: Callable[[int], mpf], most: Fraction) -> None:
    """The law of ``run`` is ``law``, to within the mass left over, which is below ``most``."""
    found, rest = distribution_above(run, CUT)
    assert sum(found.values()) + rest == 1
    assert rest < most
    tolerance = Fraction(1, 1 << 200)  # a walked `chance` is within 2**-250
    for value in range(min(found) - 2, max(found) + 3):
        exact = Fraction(str(law(value)))
        assert found.get(value, 0) - tolerance <= exact <= found.get(value, 0) + rest + tolerance


@pytest.fixture(autouse=True)
def many_digits() -> None:
    mp.dps = 80


class _Plain(Coins):
    """Coins whose ``chance`` is the shipped one, on draws that branch by their weights."""

    def __init__(self, inner: Coins) -> None:
        self.inner = inner

    def choose(self, weights: tuple[int, ...]) -> int:  # type: ignore[override]
        return self.inner.choose(weights)

    def below(self, n: int) -> int:
        """What matters to ``chance`` is only whether a draw is 0."""
        return self.inner.choose((1, n - 1))


@pytest.mark.parametrize(("n", "d"), [(0, 1), (1, 1), (1, 2), (2, 3), (999, 1000), (1, 1 << 40)])
def test_a_chance_has_its_exponential_probability(n: int, d: int) -> None:
    found, rest = distribution_above(lambda coins: _Plain(coins).chance(n, d), Fraction(1, 10**40))
    exact = Fraction(str(mp.exp(-mpf(n) / d)))

    assert rest < Fraction(1, 10**20)
    assert found[True] - Fraction(1, 10**70) <= exact <= found[True] + rest + Fraction(1, 10**70)


@given(gamma=fractions(0, 64))
def test_a_walked_chance_is_too_small_by_less_than_its_stated_error(gamma: Fraction) -> None:
    """Every walk of noise rests on it: e**-gamma is taken from below, to within 2**-250."""
    found = distribution(lambda coins: coins.chance(gamma.numerator, gamma.denominator))

    low, high = (Fraction(bound, 1 << 400) for bound in exp_bounds(gamma, 400))
    assert found[True] <= 1 / low
    assert 1 / high < found[True] + Fraction(1, 1 << 250)


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 2)])
def test_a_fall_multiplies_chances(gamma: Fraction) -> None:
    encloses(
        lambda coins: int(fall(gamma, coins)),
        lambda value: {0: 1 - mp.exp(-mpf(gamma.numerator) / gamma.denominator),
                       1: mp.exp(-mpf(gamma.numerator) / gamma.denominator)}.get(value, mpf(0)),
        Fraction(1, 10**3),
    )  # fmt: skip


def laplace_law(scale: Fraction) -> Callable[[int], mpf]:
    decay = mp.exp(-mpf(scale.denominator) / scale.numerator)
    return lambda y: (1 - decay) / (1 + decay) * decay ** abs(y)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3), Fraction(3, 2), Fraction(2, 5)])
def test_discrete_laplace_noise_has_its_law(scale: Fraction) -> None:
    encloses(lambda coins: discrete_laplace(scale, coins), laplace_law(scale), Fraction(1, 6))


@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(1), Fraction(3), Fraction(7, 3)])
def test_discrete_gaussian_noise_has_its_law(variance: Fraction) -> None:
    halved = mpf(variance.denominator) / (2 * variance.numerator)
    total = mp.nsum(lambda y: mp.exp(-halved * y * y), [-mp.inf, mp.inf])
    encloses(
        lambda coins: discrete_gaussian(variance, coins),
        lambda y: mp.exp(-halved * y * y) / total,
        Fraction(1, 3),
    )


@pytest.mark.parametrize("answer", range(4))
def test_laplace_adds_its_noise_to_the_position(answer: int) -> None:
    law = laplace_law(Fraction(3, 2))
    encloses(
        lambda coins: Laplace(4, "3/2").randomise(answer, coins)[0],
        lambda y: law(y - answer),
        Fraction(1, 10),
    )


@pytest.mark.parametrize("answer", range(4))
def test_clamped_noise_puts_each_tail_on_its_end(answer: int) -> None:
    law = laplace_law(Fraction(3, 2))
    decay = mp.exp(-mpf(2) / 3)

    def clamped(y: int) -> mpf:
        if y not in range(4):
            return mpf(0)
        return law(y - answer) / (1 - decay if y in (0, 3) else 1)

    mechanism = BoundedLaplace(4, "3/2", "clamp")
    encloses(lambda coins: mechanism.randomise(answer, coins)[0], clamped, Fraction(1, 10))


@pytest.mark.parametrize("answer", range(4))
def test_resampled_noise_is_the_noise_given_that_it_stays(answer: int) -> None:
    law = laplace_law(Fraction(3, 2))
    inside = sum(law(y - answer) for y in range(4))

    def resampled(y: int) -> mpf:
        return law(y - answer) / inside if y in range(4) else mpf(0)

    mechanism = BoundedLaplace(4, "3/2", "resample")
    encloses(lambda coins: mechanism.randomise(answer, coins)[0], resampled, Fraction(1, 3))


@for_each("beyond", ["clamp", "resample"])
@for_each("k", range(2, 12))
def test_bounded_laplace_has_exactly_the_epsilon_of_its_range(k: int, beyond: str) -> None:
    """(k - 1) / scale, for every pair of positions and every output; also the exponential
    mechanism's, with the sharp factor epsilon / (k - 1)."""
    scale = mpf(k - 1) / 2
    decay = mp.exp(-1 / scale)
    channel = []
    for x in range(k):
        row = [decay ** abs(y - x) for y in range(k)]
        if beyond == "clamp":
            row[0], row[-1] = row[0] / (1 - decay), row[-1] / (1 - decay)
        channel.append([weight / sum(row) for weight in row])
    worst = max(max(column) / min(column) for column in zip(*channel, strict=True))

    mechanism = BoundedLaplace(k, str(Fraction(k - 1, 2)), beyond)  # type: ignore[arg-type]
    assert abs(mp.log(worst) - 2) < mpf(10) ** -70
    assert mechanism.loss.exponent == 2


def test_a_gaussian_that_does_not_keep_its_promise_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        Gaussian(11, 1, "100", "1", "0.00001")
    Gaussian(11, 1, "1400", "1", "0.00001")


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(5, "2"),
        Laplace(5, "7/3"),
        BoundedLaplace(5, "2", "clamp"),
        BoundedLaplace(5, "2", "resample"),
        Gaussian(2, 1, "14", "1", "0.0001"),
    ],
)
@pytest.mark.parametrize("n", [5_000, soak(20_000)])
def test_many_reports_fit_the_law(mechanism: Laplace | BoundedLaplace | Gaussian, n: int) -> None:
    """A fixed tape, so this cannot fail by chance; a fit worse than 1 in 10,000 is a fault."""
    answer, coins = 1, seeded_coins()
    seen = Counter(mechanism.randomise(answer, coins)[0] for _ in range(n))
    if isinstance(mechanism, BoundedLaplace):
        law = dict(enumerate(matrix(mechanism)[answer]))
    else:
        values = range(-60, 60)
        law = dict(zip(values, masses(mechanism, np.array(values) - answer), strict=True))
    usual = {value: share * n for value, share in law.items() if share * n >= 10}
    rest = n - sum(usual.values())
    observed = [seen[value] for value in usual] + [n - sum(seen[value] for value in usual)]
    expected = [*usual.values(), rest]
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True) if e > 1)

    assert chi2.sf(statistic, len(usual)) > 1e-4
