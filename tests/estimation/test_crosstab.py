"""Two questions crossed: joint shares unbiased, margins that cover, a fair test of independence."""

from itertools import product
from math import exp, log

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multinomial

from deniably.estimation.crosstab import (
    PairTally,
    count_pairs,
    crosstab,
    joint_likelihood,
    joint_score,
    likeliest,
)
from deniably.estimation.estimate import project
from deniably.estimation.inversion import linear
from deniably.estimation.likelihood import Fit
from support.soak import soak

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.int64]
JOINT = np.array([[0.25, 0.05, 0.1], [0.05, 0.35, 0.2]])


def cell_variance(
    joint: npt.ArrayLike, first: tuple[float, float], second: tuple[float, float], n: int = 1
) -> Floats:
    """The exact variance of each raw cell where ``joint`` (k1, k2) are the true shares.

    With g = q(1-q)/(p-q)^2 and h = p(1-p)/(p-q)^2 + 1, the mean squares of one question's score
    for another and for the own answer: f_ab h1 h2 + (f_a - f_ab) h1 g2 + (f_b - f_ab) g1 h2
    + (1 - f_a - f_b + f_ab) g1 g2 - f_ab^2, over n.
    """
    f = np.asarray(joint, dtype=np.float64)
    (h1, g1), (h2, g2) = (
        (p * (1 - p) / (p - q) ** 2 + 1, q * (1 - q) / (p - q) ** 2) for p, q in (first, second)
    )
    a, b = f.sum(axis=1, keepdims=True), f.sum(axis=0, keepdims=True)
    square = f * h1 * h2 + (a - f) * h1 * g2 + (b - f) * g1 * h2 + (1 - a - b + f) * g1 * g2
    result: Floats = (square - f**2) / n
    return result


def k_ary(k: int, epsilon: float) -> Floats:
    return (np.ones((k, k)) + (exp(epsilon) - 1) * np.eye(k)) / (exp(epsilon) + k - 1)


def supports_of(channel: Floats) -> tuple[float, float]:
    return float(channel[0, 0]), float(channel[0, 1])


def pairs(joint: Floats, first: Floats, second: Floats) -> Floats:
    """P(report a, report b), shape (k1, k2)."""
    result: Floats = first.T @ joint @ second
    return result


def one_hot(table: npt.NDArray[np.int64]) -> tuple[Bits, Bits]:
    """The supports of every respondent in a table of report pairs."""
    a, b = np.divmod(np.repeat(np.arange(table.size), table.ravel()), table.shape[1])
    return np.eye(table.shape[0], dtype=np.int64)[a], np.eye(table.shape[1], dtype=np.int64)[b]


def tally_of(table: npt.NDArray[np.int64]) -> PairTally:
    return PairTally(int(table.sum()), table.sum(axis=1), table.sum(axis=0), table)


def test_the_expected_tally_gives_the_joint_shares() -> None:
    first, second = k_ary(2, log(3)), k_ary(3, log(2))
    table = np.round(10**9 * pairs(JOINT, first, second)).astype(np.int64)

    found = crosstab(tally_of(table).kinds, supports_of(first), supports_of(second))

    np.testing.assert_allclose(found.raw, JOINT, atol=1e-7)
    assert (found.low <= JOINT).all()
    assert (found.high >= JOINT).all()


def test_what_the_reports_show_is_shrunk() -> None:
    """Two yes/no answers, p1 = .75 and p2 = .8: the covariance of the reports is that of the
    answers times (2 p1 - 1)(2 p2 - 1) = .3; a cross-table of reports would hide 70 % of it."""
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    seen = pairs(joint, k_ary(2, log(3)), k_ary(2, log(4)))

    def covariance(table: Floats) -> float:
        return float(table[0, 0] - table[0].sum() * table[:, 0].sum())

    assert covariance(joint) == pytest.approx(0.15)
    assert covariance(seen) == pytest.approx(0.15 * (2 * 0.75 - 1) * (2 * 0.8 - 1))
    table = np.round(10**9 * seen).astype(np.int64)
    assert covariance(
        crosstab(tally_of(table).kinds, (0.75, 0.25), (0.8, 0.2)).raw
    ) == pytest.approx(0.15)


def test_the_stated_variance_of_a_cell_is_exact() -> None:
    """By enumeration of one respondent's answers and reports."""
    first, second = k_ary(2, 1.0), k_ary(3, 2.0)
    (p1, q1), (p2, q2) = supports_of(first), supports_of(second)
    for a, b in product(range(2), range(3)):
        mean = square = 0.0
        for (i, j), law in np.ndenumerate(pairs(JOINT, first, second)):
            score = ((i == a) - q1) * ((j == b) - q2) / ((p1 - q1) * (p2 - q2))
            mean, square = mean + law * score, square + law * score**2
        assert mean == pytest.approx(JOINT[a, b])
        variance = cell_variance(JOINT, (p1, q1), (p2, q2))
        assert variance[a, b] == pytest.approx(square - mean**2)


@given(st.lists(st.integers(1, 40), min_size=6, max_size=6))
def test_the_standard_error_is_the_exact_variance_at_the_estimate(weights: list[int]) -> None:
    """Up to half a report on either side, which of a million reports is nothing."""
    joint = np.reshape(weights, (2, 3)) / sum(weights)
    channels = np.array([[0.75, 0.25], [0.25, 0.75]]), 0.2 + 0.4 * np.eye(3)
    first, second = (0.75, 0.25), (0.6, 0.2)

    found = crosstab(
        tally_of(np.rint(10**6 * pairs(joint, *channels)).astype(int)).kinds, first, second
    )

    expected = cell_variance(found.raw, first, second, 10**6)
    np.testing.assert_allclose(found.standard_error**2, expected, rtol=2e-3)


@pytest.mark.parametrize("epsilon", [6.0, 8.0])
def test_the_error_of_an_empty_cell_is_not_nothing(epsilon: float) -> None:
    """Nearly all give one pair of answers, and no report says otherwise."""
    channel = k_ary(2, epsilon)
    p, q = supports_of(channel)
    table = np.array([[100, 0], [0, 0]])

    found = crosstab(tally_of(table).kinds, (p, q), (p, q))

    really = np.sqrt(cell_variance([[1.0, 0], [0, 0]], (p, q), (p, q), 100))
    assert (found.standard_error >= 0.9 * really).all()
    assert found.standard_error[0, 1] <= 5 * really[0, 1]


@pytest.mark.parametrize("epsilon", [soak(1.0), 3.0])
@pytest.mark.parametrize("joint", [((0.4, 0.1), (0.1, 0.4)), ((1.0, 0.0), (0.0, 0.0))])
def test_a_cell_is_covered(joint: tuple[tuple[float, float], ...], epsilon: float) -> None:
    """150 surveys of 100 at nominal 95 %. The mean over cells is bounded by 5 standard errors as if
    the four cells of a table were one (a false alarm below 1e-6), as they depend on each other."""
    channel, truth = k_ary(2, epsilon), np.array(joint)
    law = pairs(truth, channel, channel).ravel()
    tables = np.random.default_rng(1965).multinomial(100, law, size=150)

    covered = 0
    for table, times in zip(*np.unique(tables, axis=0, return_counts=True), strict=True):
        found = crosstab(tally_of(table.reshape(2, 2)).kinds, *[supports_of(channel)] * 2)
        held = (found.low <= truth + 1e-9) & (truth - 1e-9 <= found.high)
        covered += int(times * held.sum())

    assert covered / 600 > 0.95 - 5 * (0.05 * 0.95 / 150) ** 0.5


def covered(rates: list[tuple[float, float]], n: int, shares: tuple[float, float, float]) -> float:
    """At least how often the interval of a cell holds its share, for the ``shares`` of its row, its
    column and itself: over all tables of n reports that are likelier than 1e-5."""
    row, column, cell = shares
    truth = np.array([[cell, row - cell], [column - cell, 1 - row - column + cell]])
    law = pairs(truth, *(np.array([[p, 1 - p], [q, 1 - q]]) for p, q in rates)).ravel()
    three = np.indices((n + 1,) * 3).reshape(3, -1).T
    tables = np.column_stack([three, n - three.sum(axis=1)])
    tables = tables[tables[:, 3] >= 0]
    chances = multinomial(n, law).pmf(tables)
    likely, chances = tables[chances > 1e-5], chances[chances > 1e-5]
    found = crosstab(likely[None].astype(float), *rates)
    held = (found.low[0] <= cell + 1e-9) & (cell - 1e-9 <= found.high[0])
    return float(chances[held].sum())


@pytest.mark.parametrize(
    ("epsilon", "sizes", "n", "shares"),
    [
        (6.0, (3, 3), 60, (0.05, 0.05, 0.0025)),
        (8.0, (20, 3), 60, (0.3, 0.3, 0.001)),
        soak(4.0, (3, 3), 30, (0.05, 0.05, 0.0025)),
        soak(6.0, (2, 5), 60, (0.3, 0.3, 0.001)),
        soak(8.0, (3, 3), 60, (1.0, 0.01, 0.01)),
        soak(6.0, (3, 3), 60, (0.1, 0.1, 0.01)),
    ],
)
def test_a_rare_cell_is_covered(
    epsilon: float, sizes: tuple[int, int], n: int, shares: tuple[float, float, float]
) -> None:
    """Enumerated. The score interval alone covers .85 to .9: its low end leaves the truth behind
    with the first lucky report."""
    rates = [supports_of(k_ary(k, epsilon)) for k in sizes]

    assert covered(rates, n, shares) >= 0.93


def test_noisy_cells_keep_the_score_interval() -> None:
    """At epsilon 2 the exact interval would be a fifth wider, and the score interval covers."""
    rates = [supports_of(k_ary(3, 2.0))] * 2
    kinds = np.array([[[2.0, 8, 9, 81]]])
    alone = linear(kinds[0, 0], joint_score(*rates), np.kron(*[_two(rate) for rate in rates]))

    found = crosstab(kinds, *rates)

    assert (found.low.item(), found.high.item()) == (
        alone.population_margin.low, alone.population_margin.high,
    )  # fmt: skip


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("n", [30, 60, 200, 300])
def test_a_cell_below_nobody_says_no_more_than_one_of_nobody(n: int, epsilon: float) -> None:
    """Noise that moves a share further below 0 tells no more: its interval was the shorter."""
    p, q = rates = supports_of(k_ary(2, epsilon))

    def high(both: float) -> float:
        alone = np.array([0.4, 0.45]) * n - both
        found = crosstab([[[both, *alone, n - both - alone.sum()]]], rates, rates)
        assert found.raw.item() == pytest.approx(share(both))
        return found.high.item()

    def share(both: float) -> float:
        return (both / n - q * 0.85 + q * q) / (p - q) ** 2

    nobody = n * (q * 0.85 - q * q)
    for lucky in (0.25, 0.5, 0.75):  # of the reports that chance alone gives
        assert share(nobody * lucky) < 0
        assert high(nobody * lucky) > 0.8 * high(nobody)


def _two(rates: tuple[float, float]) -> Floats:
    p, q = rates
    return np.array([[p, 1 - p], [q, 1 - q]])


def test_whole_reports_make_the_same_tally_as_their_counts() -> None:
    table = np.array([[3, 1, 4], [1, 5, 9]])

    found = count_pairs(*one_hot(table))

    assert found.n == 23
    np.testing.assert_array_equal(found.both, table)
    np.testing.assert_array_equal(found.first, [8, 15])
    np.testing.assert_array_equal(found.second, [4, 6, 13])


def test_subsets_cross_like_single_choices() -> None:
    """Reports of two of four choices: the estimate from 4000 of them is within 5 errors."""
    rng = np.random.default_rng(2018)
    joint = np.array([[0.3, 0.0, 0.1, 0.1], [0.0, 0.3, 0.1, 0.1]])
    n, p1, own, other = 4000, 0.75, 3, 1
    first, second = np.divmod(rng.choice(8, size=n, p=joint.ravel()), 4)
    bit = np.where(rng.random(n) < p1, first, 1 - first)
    subsets = np.array([[x in s for x in range(4)]
                        for s in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))])  # fmt: skip
    law = np.where(subsets, own, other).T / 12
    drawn = subsets[[rng.choice(6, p=law[x]) for x in second]].astype(np.int64)

    p2, q2 = 6 / 8, 2 * (1 * 3 + 2 * 1) / (3 * 8)
    found = crosstab(
        count_pairs(np.eye(2, dtype=np.int64)[bit], drawn).kinds, (p1, 1 - p1), (p2, q2)
    )

    assert (np.abs(found.raw - joint) < 5 * found.standard_error).all()
    expected = cell_variance(joint, (p1, 1 - p1), (p2, q2), n)
    np.testing.assert_allclose(found.standard_error**2, expected, rtol=0.2)


def test_reports_of_different_people_are_not_crossed() -> None:
    one, other = np.eye(2, dtype=np.int64), np.eye(3, dtype=np.int64)

    with pytest.raises(ValueError, match="every respondent"):
        count_pairs(one, other)


# --- likelihood ---------------------------------------------------------------------------


def fit_of(table: Floats, first: Floats, second: Floats) -> tuple[Floats, Fit]:
    """The likeliest shares for a table of report pairs: each pair of outputs is one report."""
    a, b = np.divmod(np.arange(table.size), table.shape[1])
    return joint_likelihood(table.ravel(), first[:, a], second[:, b])


def test_the_likeliest_table_of_expected_counts_is_the_truth() -> None:
    first, second = k_ary(2, 1.0), k_ary(3, 1.0)

    shares, fit = fit_of(10**6 * pairs(JOINT, first, second), first, second)

    np.testing.assert_allclose(shares, JOINT, atol=1e-3)
    assert fit.shortfall < 1e-4


def test_the_likeliest_table_is_consistent_where_the_unbiased_one_is_not() -> None:
    channel = k_ary(2, 1.0)
    table = np.array([[90, 20], [15, 5]])

    shares, _ = fit_of(table, channel, channel)

    assert crosstab(tally_of(table).kinds, *[supports_of(channel)] * 2).raw.min() < 0
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)


@given(st.lists(st.integers(0, 90), min_size=6, max_size=6).filter(any))
def test_whole_reports_have_the_likeliest_table_of_their_counts(counts: list[int]) -> None:
    """Their likelihoods are flat where counts are few, so compared is what they are worth."""
    table = np.array(counts).reshape(2, 3)
    first, second = k_ary(2, log(3)), k_ary(3, log(2))

    shares = likeliest(*one_hot(table), (3, 2))

    assert shares is not None
    _, best = fit_of(table, first, second)
    found = float((table * np.log(pairs(shares, first, second))).sum())
    assert best.log_likelihood - 0.1 <= found <= best.log_likelihood + best.shortfall + 1e-9


SUBSETS = np.array([[x in s for x in range(4)]
                    for s in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))])  # fmt: skip


def test_the_likeliest_table_of_subsets_is_the_truth_where_there_is_no_chance() -> None:
    """Reports of two of four choices, in the numbers that the law has exactly: 144 times each."""
    joint = np.zeros((4, 4))
    joint[0, 0], joint[1, 1], joint[2, 3] = 0.5, 0.25, 0.25
    law = np.where(SUBSETS, 3, 1).T / 12
    table = np.rint(144 * 4 * law.T @ joint @ law).astype(np.int64)
    a, b = np.divmod(np.repeat(np.arange(36), table.ravel()), 6)

    shares = likeliest(SUBSETS[a], SUBSETS[b], (3, 3))

    assert shares is not None
    np.testing.assert_allclose(shares, joint, atol=0.02)


def test_where_noise_is_large_the_likeliest_is_nearer_to_the_truth_than_the_projection() -> None:
    """60 surveys of 500 at epsilon 1, from a fixed seed: two thirds of the squared error."""
    truth, channel = np.eye(9)[0].reshape(3, 3) * 0.9 + 0.1 / 9, k_ary(3, 1.0)
    tables = np.random.default_rng(5).multinomial(
        500, pairs(truth, channel, channel).ravel(), size=60
    )
    errors = np.zeros(2)
    for table in tables.reshape(-1, 3, 3):
        shares = likeliest(*one_hot(table), (exp(1), exp(1)))
        assert shares is not None
        raw = crosstab(tally_of(table).kinds, *[supports_of(channel)] * 2).raw
        nearest = project(raw.ravel()).reshape(3, 3)
        errors += [((shares - truth) ** 2).sum(), ((nearest - truth) ** 2).sum()]

    assert errors[0] < 2 / 3 * errors[1]


def test_a_table_that_would_take_long_is_left_to_the_projection() -> None:
    rng = np.random.default_rng(1)
    first, second = (rng.random((4000, 40)) < 0.5 for _ in range(2))

    assert likeliest(first, second, (3, 3)) is None
