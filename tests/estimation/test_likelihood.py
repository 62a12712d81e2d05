"""The likeliest distribution: no other explains the whole reports better, and it says so itself."""

from collections import Counter
from math import exp

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from deniably.estimation.estimate import project
from deniably.estimation.inversion import scores
from deniably.estimation.likelihood import (
    expectation_maximisation,
    maximum_likelihood,
)

Floats = npt.NDArray[np.float64]


def k_ary(k: int, epsilon: float) -> Floats:
    return (np.ones((k, k)) + (exp(epsilon) - 1) * np.eye(k)) / (exp(epsilon) + k - 1)


def square_wave(buckets: int, reach: int, epsilon: float) -> Floats:
    channel = np.ones((buckets, buckets + 2 * reach))
    for x, row in enumerate(channel):
        row[x : x + 2 * reach + 1] = exp(epsilon)
    return channel / channel.sum(axis=1, keepdims=True)


def bell(buckets: int) -> Floats:
    place = (np.arange(buckets) + 0.5) / buckets
    density: Floats = place * (1 - place) ** 4
    return density / density.sum()


def log_likelihood(counts: npt.NDArray[np.int64], channel: Floats, shares: Floats) -> float:
    seen = counts > 0
    return float(counts[seen] @ np.log(shares @ channel[:, seen]))


@settings(max_examples=30)
@given(st.integers(2, 6), st.sampled_from([0.5, 1.0, 3.0]), st.integers(0, 2**32))
def test_no_distribution_is_likelier_than_the_fit_says(k: int, epsilon: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel = square_wave(k, 1, epsilon)
    counts = rng.multinomial(300, rng.dirichlet(np.ones(k)) @ channel)

    fit = maximum_likelihood(counts, channel)

    assert fit.shares.sum() == pytest.approx(1)
    assert (fit.shares >= 0).all()
    assert 0 <= fit.shortfall + 1e-9 <= 1e-4 + 1e-9
    assert fit.log_likelihood == pytest.approx(log_likelihood(counts, channel, fit.shares))
    for other in rng.dirichlet(np.ones(k), size=50):
        assert log_likelihood(counts, channel, other) <= fit.log_likelihood + fit.shortfall + 1e-9


def test_the_fit_agrees_with_a_general_optimiser() -> None:
    channel = square_wave(5, 2, 1.0)
    counts = np.array([40, 60, 90, 70, 50, 30, 40, 20, 30])

    solved = optimize.minimize(
        lambda f: -log_likelihood(counts, channel, f), np.full(5, 0.2), bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda f: f.sum() - 1}, method="SLSQP", tol=1e-12,
    )  # fmt: skip

    fit = maximum_likelihood(counts, channel, shortfall=1e-9)
    assert fit.log_likelihood >= -solved.fun - 1e-6
    np.testing.assert_allclose(fit.shares, solved.x, atol=1e-3)


def test_inside_the_simplex_it_is_the_unbiased_estimate() -> None:
    """k-ary: as many outputs as answers, so both fit the counts perfectly."""
    channel, counts = k_ary(4, 1.0), np.array([300, 250, 240, 210])
    inverse = np.array([scores(channel, row) for row in np.eye(4)]) @ counts / 1000
    assert (inverse > 0).all()

    fit = maximum_likelihood(counts, channel, shortfall=1e-9)

    np.testing.assert_allclose(fit.shares, inverse, atol=1e-6)


def test_at_a_face_it_is_likelier_than_the_nearest_point() -> None:
    channel, counts = k_ary(4, 1.0), np.array([450, 390, 120, 40])
    nearest = project(np.array([scores(channel, row) for row in np.eye(4)]) @ counts / 1000)

    fit = maximum_likelihood(counts, channel)

    assert fit.log_likelihood > log_likelihood(counts, channel, nearest)
    assert fit.shares[3] < 1e-3


def test_acceleration_saves_steps() -> None:
    """Where it leaps to hangs on the last bit of a product, and so on the machine: 300 to 1,800
    steps were seen, each of which costs three plain ones."""
    channel = square_wave(32, 8, 1.0)
    counts = np.random.default_rng(7).multinomial(20_000, bell(32) @ channel)

    plain = expectation_maximisation(counts, channel, change=0, most_steps=15_000)
    fast = maximum_likelihood(counts, channel)

    assert 3 * fast.steps < plain.steps
    assert fast.shortfall < 1e-4 < plain.shortfall / 100


def test_a_fit_that_ran_out_of_steps_says_so() -> None:
    counts = np.array([700, 250, 45, 5])

    assert maximum_likelihood(counts, k_ary(4, 1.0), most_steps=1).shortfall > 1e-4


def test_each_step_of_plain_em_is_likelier() -> None:
    channel = square_wave(16, 4, 1.0)
    counts = np.random.default_rng(11).multinomial(500, bell(16) @ channel)

    fits = [expectation_maximisation(counts, channel, change=0, most_steps=s) for s in range(30)]

    assert (np.diff([fit.log_likelihood for fit in fits]) > 0).all()
    assert [fit.steps for fit in fits] == list(range(30))


def test_smoothing_recovers_a_smooth_distribution_better() -> None:
    """Beta(2, 5), n = 500, epsilon 1: a mean W1 distance of about .03 with, .045 without."""
    channel, truth = square_wave(32, 8, 1.0), bell(32)
    rng = np.random.default_rng(2020)
    errors: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(20):
        counts = rng.multinomial(500, truth @ channel)
        for smooth, found in errors.items():
            change = 1e-3 if smooth else 1e-3 * exp(1)
            fit = expectation_maximisation(counts, channel, smooth=smooth, change=change)
            found.append(np.abs(np.cumsum(fit.shares - truth)).mean())

    assert np.mean(errors[True]) < 0.85 * np.mean(errors[False])


def test_smoothing_ruins_a_distribution_with_peaks() -> None:
    """Three peaks, n = 20 000, epsilon 2: a W1 distance of .06 with, .004 without."""
    channel, truth = square_wave(32, 4, 2.0), np.bincount([4, 15, 28], minlength=32) / 3
    counts = np.random.default_rng(2020).multinomial(20_000, truth @ channel)

    fits = [expectation_maximisation(counts, channel, smooth=smooth) for smooth in (True, False)]

    with_it, without = (np.abs(np.cumsum(fit.shares - truth)).mean() for fit in fits)
    assert with_it > 5 * without


def test_smoothing_keeps_a_flat_distribution_flat() -> None:
    channel = square_wave(16, 4, 1.0)

    fit = expectation_maximisation(1e4 * channel.mean(axis=0), channel, smooth=True)

    np.testing.assert_allclose(fit.shares, 1 / 16)


# --- whole subsets ------------------------------------------------------------------------


def test_distinct_subsets_stand_for_the_whole_channel() -> None:
    """All subsets of two of four: the listed channel and its distinct columns fit alike."""
    subsets = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    channel = np.array([[3.0 if x in s else 1.0 for s in subsets] for x in range(4)]) / 12
    counts = np.array([200, 160, 90, 0, 40, 10])
    reports = [s for s, count in zip(subsets, counts, strict=True) for _ in range(count)]

    tallied = Counter(reports)
    columns = np.array([np.where(np.isin(range(4), s), 3, 1) for s in tallied]).T

    assert columns.shape == (4, 5)
    np.testing.assert_allclose(
        maximum_likelihood(list(tallied.values()), columns).shares,
        maximum_likelihood(counts, channel).shares,
        atol=1e-4,
    )  # fmt: skip


# --- standard errors ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "why"), [([0, 0], "at least one"), ([1, 2, 3], "one count"), ([1, 2], "no answer")]
)
def test_what_cannot_be_fitted_is_refused(counts: list[int], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        maximum_likelihood(counts, [[1.0, 0.0], [1.0, 0.0]])
