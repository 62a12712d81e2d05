"""The trusted curator's mechanisms: calibrated as theory says, and what they promise is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import e, exp, inf, log, sqrt
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.lab import curator
from deniably.lab.curator import Added, ClassicalGaussNoise, GaussNoise, LaplaceNoise, Proposal
from deniably.lab.draws import Draws

EPSILONS = st.floats(0.01, 10)
DELTAS = st.sampled_from([1e-9, 1e-6, 1e-5, 1e-4, 1e-2])


def true_delta(sigma: float, epsilon: float) -> float:
    """Balle and Wang 2018, theorem 8, with 50 digits."""
    with mpmath.workdps(50):
        a, b = epsilon * mpmath.mpf(sigma) - 1 / mpmath.mpf(2 * sigma), 0
        b = a + 1 / mpmath.mpf(sigma)
        return float(mpmath.ncdf(-a) - mpmath.exp(epsilon) * mpmath.ncdf(-b))


# --- noise --------------------------------------------------------------------------------------


@given(EPSILONS, st.integers(1, 30))
def test_laplace_noise_keeps_exactly_its_epsilon(epsilon: float, numbers: int) -> None:
    """Moved by one each, so many numbers change their joint density by e**epsilon and no more."""
    noise = LaplaceNoise(epsilon).noise(1.0, numbers)
    ratio = noise.density([0.0, 1.0])

    assert numbers * log(ratio[0] / ratio[1]) == pytest.approx(epsilon)
    assert noise.deviation == pytest.approx(sqrt(2) * numbers / epsilon)


@given(EPSILONS, DELTAS)
def test_gaussian_noise_is_the_least_that_keeps_its_delta(epsilon: float, delta: float) -> None:
    sigma = GaussNoise(epsilon, delta).noise(1.0).scale

    assert true_delta(sigma, epsilon) <= delta
    assert true_delta(sigma * (1 - 1e-4), epsilon) > delta
    assert GaussNoise(epsilon, delta).noise(3.0, 4).scale == pytest.approx(6 * sigma)


@pytest.mark.parametrize(
    ("delta", "analytic", "classical"), [(1e-5, "3.731", "4.845"), (1e-4, "3.186", "4.344")]
)
def test_deviations_at_epsilon_1(delta: float, analytic: str, classical: str) -> None:
    assert f"{LaplaceNoise(1).noise(1).deviation:.3f}" == "1.414"
    assert f"{GaussNoise(1, delta).noise(1).deviation:.3f}" == analytic
    assert f"{ClassicalGaussNoise(1, delta).noise(1).deviation:.3f}" == classical


@pytest.mark.parametrize(("delta", "border"), [(1e-5, "8.42"), (1e-6, "8.78")])
def test_the_textbooks_gauss_breaks_its_promise_at_large_epsilons(
    delta: float, border: str
) -> None:
    limit = curator.classical_limit(delta)

    assert f"{limit:.2f}" == border
    for epsilon, breaks in ((1.0, False), (limit - 0.01, False), (limit + 0.01, True)):
        noise = ClassicalGaussNoise(epsilon, delta)
        assert (true_delta(noise.noise(1).scale, epsilon) > delta) is breaks
        assert noise.true_delta == pytest.approx(true_delta(noise.noise(1).scale, epsilon))
    assert f"{ClassicalGaussNoise(10, 1e-5).true_delta:.1e}" == "2.3e-05", "twice what it says"


def test_mean_distances_of_a_count() -> None:
    """882 of 2,584 people, at epsilon 0.1 and delta 1e-4."""
    having = [True] * 882 + [False] * (2584 - 882)
    found = [
        curator.count(having, by)
        for by in (LaplaceNoise(0.1), GaussNoise(0.1, 1e-4), ClassicalGaussNoise(0.1, 1e-4))
    ]

    assert [one.exact for one in found] == [882] * 3
    assert [f"{one.noise.mean_distance:.4g}" for one in found] == ["10", "19.55", "34.66"]


@pytest.mark.parametrize("noise", [Added("laplace", 2.5), Added("gauss", 2.5)])
def test_density_tail_deviation_and_draws_are_of_one_law(noise: Added) -> None:
    def integral(function: Callable[[float], float], low: float) -> float:
        return float(mpmath.quad(function, [low, 0, 10, 40, 100] if low < 0 else [low, 40, 100]))

    def density(x: float) -> float:
        return float(noise.density(float(x)))

    assert integral(density, -100) == pytest.approx(1)
    assert integral(lambda x: x * x * density(x), -100) == pytest.approx(noise.deviation**2)
    assert integral(lambda x: abs(x) * density(x), -100) == pytest.approx(noise.mean_distance)
    for distance in (0.0, 1.0, 7.0):
        assert noise.beyond(distance) == pytest.approx(integral(density, distance))
        assert noise.beyond(-distance) == pytest.approx(1 - noise.beyond(distance))
    assert 2 * noise.beyond(noise.margin(0.95)) == pytest.approx(0.05)
    drawn = np.sort(noise.draw(Draws(1, noise.shape), 40_000))
    ranks = (np.arange(40_000) + 0.5) / 40_000
    off = np.abs([1 - noise.beyond(one) for one in drawn] - ranks).max()
    assert off < 0.0136  # Massart 1990: beyond with a chance below 2 e**(-2 * 40,000 * off**2)


# --- numbers ------------------------------------------------------------------------------------

VALUES = st.lists(st.floats(-50, 150), min_size=1, max_size=20)


@given(VALUES, st.data())
def test_one_answer_moves_a_sum_and_a_mean_by_no_more_than_the_noise_is_for(
    values: list[float], data: st.DataObject
) -> None:
    """Laplace at epsilon 1: the scale is the sensitivity."""
    place, other = data.draw(st.integers(0, len(values) - 1)), data.draw(st.floats(-1e6, 1e6))
    changed = [*values[:place], other, *values[place + 1 :]]
    for publish in (curator.total, curator.mean):
        one, two = (publish(some, 0, 100, LaplaceNoise(1)) for some in (values, changed))
        assert one.noise == two.noise
        assert abs(one.exact - two.exact) <= one.noise.scale * (1 + 1e-9)


def test_a_sum_and_a_mean_clip_to_their_range() -> None:
    values = [-10.0, 50.0, 1000.0]

    assert curator.total(values, 0, 100, LaplaceNoise(1)).exact == 150
    assert curator.mean(values, 0, 100, LaplaceNoise(1)).exact == 50
    assert curator.mean(values, 0, 100, LaplaceNoise(0.5)).noise.scale == pytest.approx(200 / 3)
    published = curator.mean(values, 0, 100, LaplaceNoise(2)).draw(Draws(2), 50_000)
    # Five standard errors of a mean, whose deviation is sqrt(2) 100 / 6.
    assert abs(published.mean() - 50) < 5 * sqrt(2) * 100 / 6 / sqrt(50_000)


# --- one of several -----------------------------------------------------------------------------


def test_a_selection_is_e_to_the_half_of_its_utilities() -> None:
    utilities = [150.0, 125.0, 100.0, 700.0, 698.0]
    with mpmath.workdps(50):
        weights = [mpmath.exp(mpmath.mpf(one) / 20) for one in utilities]
        exact = [float(one / mpmath.fsum(weights)) for one in weights]

    law = curator.selection_law(utilities, epsilon=0.1)

    assert law.tolist() == pytest.approx(exact)
    chosen = np.bincount(curator.select(law, Draws(4), 40_000), minlength=5)
    assert (np.abs(chosen - 40_000 * law) <= 5 * np.sqrt(40_000 * law * (1 - law)) + 1e-6).all()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_whoever_changes_their_vote_changes_no_chance_by_more_than_e_to_the_epsilon(
    epsilon: float,
) -> None:
    """Every table of five people and three candidates, and every change of one of them."""
    worst = 0.0
    for votes in product(range(3), repeat=5):
        counts = np.bincount(votes, minlength=3).astype(float)
        law = curator.selection_law(counts, epsilon)
        for other in range(3):
            changed = counts.copy()
            changed[votes[0]] -= 1
            changed[other] += 1
            worst = max(worst, float((curator.selection_law(changed, epsilon) / law).max()))
    assert exp(0.5 * epsilon) < worst <= exp(epsilon) * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_where_all_utilities_move_one_way_half_the_noise_is_enough(epsilon: float) -> None:
    """A price: whoever comes raises the revenue of every price that they would pay."""
    worst = 0.0
    for counts in product(range(4), repeat=3):
        for raised in product((0, 1), repeat=3):
            before, after = (
                curator.selection_law(one, epsilon, monotone=True)
                for one in (np.array(counts, float), np.add(counts, raised).astype(float))
            )
            worst = max(worst, float((after / before).max()), float((before / after).max()))
    assert worst <= exp(epsilon) * (1 + 1e-12)
    assert curator.selection_law([2, 0], 1, monotone=True)[0] == pytest.approx(e**2 / (1 + e**2))


# --- propose, test, release ---------------------------------------------------------------------


def test_the_threshold_and_half_of_the_releases_at_it() -> None:
    proposal = Proposal(1, 1e-5)

    assert f"{proposal.threshold:.2f}" == "10.82"
    assert proposal.release_probability(proposal.threshold) == pytest.approx(0.5)
    assert proposal.release_probability(0) == pytest.approx(1e-5)
    assert proposal.total == (2, 1e-5)


@given(EPSILONS, DELTAS, st.integers(0, 60))
def test_the_test_keeps_its_epsilon_between_neighbours(
    epsilon: float, delta: float, distance: int
) -> None:
    """The distances of neighbours differ by one at most."""
    proposal = Proposal(epsilon, delta)
    here, there = (proposal.release_probability(one) for one in (distance, distance + 1))

    assert there <= exp(epsilon) * here * (1 + 1e-9)
    assert 1 - here <= exp(epsilon) * (1 - there) * (1 + 1e-9) + 1e-13 * exp(epsilon)


def test_it_releases_as_often_as_it_says() -> None:
    proposal, draws = Proposal(1, 1e-5), Draws(6)
    published = curator.Published(3.0, Added("laplace", 1.0))
    found = [proposal.release(12, published, draws) for _ in range(4000)]
    told = [one for one in found if one is not None]

    chance = proposal.release_probability(12)
    assert abs(len(told) - 4000 * chance) < 5 * sqrt(4000 * chance * (1 - chance))
    assert abs(np.mean(told) - 3) < 5 * sqrt(2 / len(told))


GRID = range(4)


def tables(size: int) -> Iterator[tuple[int, ...]]:
    return product(GRID, repeat=size)


def moved(table: tuple[int, ...]) -> float:
    """By how much one person can move the median of a table: every change is tried."""
    here = curator.median(table, 0, 3)
    return max(
        abs(curator.median([*table[:place], other, *table[place + 1 :]], 0, 3) - here)
        for place in range(len(table))
        for other in GRID
    )


@pytest.mark.parametrize("size", [4, 5])
def test_the_distance_of_a_median_is_that_of_enumeration(size: int) -> None:
    every = {table: moved(table) for table in tables(size) if tuple(sorted(table)) == table}

    def apart(one: tuple[int, ...], other: tuple[int, ...]) -> int:
        left = list(other)
        return size - sum(1 for value in one if value in left and not left.remove(value))

    for proposed in (0, 1, 2):
        unstable = [table for table, by in every.items() if by > proposed]
        for table in every:
            nearest = min((apart(table, other) for other in unstable), default=inf)
            assert curator.median_distance(table, 0, 3, proposed) == nearest
    assert curator.median_distance([0, 1, 2], 0, 3, 3) == inf


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: LaplaceNoise(0), "epsilon is 0; it must be a number above 0"),
        (lambda: GaussNoise(1, 1), "delta is 1; it must be between 0 and 1"),
        (lambda: ClassicalGaussNoise(-1, 0.1), "epsilon is -1"),
        (lambda: LaplaceNoise(1).noise(0), "sensitivity is 0"),
        (lambda: LaplaceNoise(1).noise(1, 0), "numbers is 0"),
        (lambda: Proposal(1, 0.5), "delta is 0.5; it must be below 0.5"),
        (lambda: curator.mean([], 0, 1, LaplaceNoise(1)), "at least one value"),
        (lambda: curator.total([1], 2, 1, LaplaceNoise(1)), "its low end must be below"),
        (lambda: curator.total([float("nan")], 0, 1, LaplaceNoise(1)), "not a number"),
        (lambda: curator.count([[1]], LaplaceNoise(1)), "2 dimensions; give one row"),
        (lambda: curator.selection_law([], 1), "at least one candidate"),
        (lambda: curator.selection_law([1], inf), "epsilon is inf"),
    ],
)
def test_what_is_wrong_is_said(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        call()
