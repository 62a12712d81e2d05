"""Shares within the rows of a cross-table: covered, and silent about rows of hardly anybody."""

from __future__ import annotations

from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniably.estimation.shares_within_rows import SupportRates, Within
from support.soak import soak

YES_NO: SupportRates = (exp(1) / (1 + exp(1)), 1 / (1 + exp(1)))


def k_ary(k: int, epsilon: float) -> SupportRates:
    return exp(epsilon) / (exp(epsilon) + k - 1), 1 / (exp(epsilon) + k - 1)


def law(
    row: float, share: float, rest: float, rates: tuple[SupportRates, SupportRates]
) -> list[float]:
    """P(a report supports both, a alone, b alone, neither), where ``row`` of all gave a, ``share``
    of those gave b, and ``rest`` of the others did."""
    found = np.zeros((2, 2))
    for a, b in product((0, 1), repeat=2):
        with_b = share if a else rest
        weight = (row if a else 1 - row) * (with_b if b else 1 - with_b)
        one, other = (rate[0 if answer else 1] for rate, answer in zip(rates, (a, b), strict=True))
        found += weight * np.outer([one, 1 - one], [other, 1 - other])
    return found.ravel().tolist()


@pytest.mark.parametrize("n", [20, soak(45)])
@pytest.mark.parametrize(
    "rates",
    [
        (YES_NO, YES_NO),
        (k_ary(2, 8.0), k_ary(2, 8.0)),
        (k_ary(2, 1.0), k_ary(2, 4.0)),
        (k_ary(20, 6.0), k_ary(5, 2.0)),
    ],
)
def test_the_share_within_a_row_is_covered(
    n: int, rates: tuple[SupportRates, SupportRates]
) -> None:
    """Exactly, over all tables. Nominally 0.95; least where the row is nearly empty."""
    cells = np.array(
        [(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n + 1 - a)
         for c in range(n + 1 - a - b)]
    )  # fmt: skip
    both, given = cells[:, 0], cells[:, 0] + cells[:, 1]
    found = Within(n, both, given, both + cells[:, 2], rates).estimate()

    for row, share, rest in product((0.02, 0.3, 1.0), (0.0, 0.05, 0.5, 1.0), (0.0, 0.5)):
        chance = stats.multinomial.pmf(cells, n, law(row, share, rest, rates))
        held = (found.low <= share + 1e-9) & (share - 1e-9 <= found.high)
        assert chance[held].sum() >= 0.939


@pytest.mark.parametrize("column", [k_ary(20, 8.0), k_ary(2, 3.0)])
def test_it_is_covered_where_the_row_is_hidden_and_the_column_is_not(column: SupportRates) -> None:
    """The reports may then have everybody in the row, and the column of the others as well."""
    n, rates = 25, (k_ary(2, 0.5), column)
    cells = np.array(
        [(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n + 1 - a)
         for c in range(n + 1 - a - b)]
    )  # fmt: skip
    both, given = cells[:, 0], cells[:, 0] + cells[:, 1]
    found = Within(n, both, given, both + cells[:, 2], rates).estimate()

    for share, rest in ((0.0, 1.0), (1.0, 0.0), (0.02, 0.5)):
        chance = stats.multinomial.pmf(cells, n, law(0.7, share, rest, rates))
        held = (found.low <= share + 1e-9) & (share - 1e-9 <= found.high)
        assert chance[held].sum() >= 0.95


@given(
    st.integers(1, 300),
    st.lists(st.integers(0, 100), min_size=4, max_size=4).filter(any),
    st.sampled_from([0.5, 0.8, 0.95, 0.99]),
    st.sampled_from([(YES_NO, YES_NO), (k_ary(5, 3.0), k_ary(2, 0.3))]),
)
def test_a_share_is_given_exactly_where_its_interval_is_not_wider_than_80_points(
    size: int, counts: list[int], confidence: float, rates: tuple[SupportRates, SupportRates]
) -> None:
    both, alone, other, neither = (count * size for count in counts)
    n = both + alone + other + neither
    found = Within(n, both, both + alone, both + other, rates).estimate(confidence)

    low, high = float(found.low), float(found.high)
    assert 0 <= low <= high <= 1
    # A row that is estimated as nobody has no share, however narrow.
    row = ((both + alone) / n - rates[0][1]) / (rates[0][0] - rates[0][1])
    assert np.isnan(found.raw) == (high - low > 0.8 or row <= 0)
    assert np.isnan(found.standard_error) == np.isnan(found.raw)


def test_everybody_in_one_row_leaves_the_share_of_the_column() -> None:
    """Without noise in the row, this is the share of b."""
    sure: SupportRates = (1.0, 0.0)
    found = Within(4000, 1300, 4000, 1300, (sure, YES_NO)).estimate()

    p, q = YES_NO
    assert found.raw == pytest.approx((1300 / 4000 - q) / (p - q))
    assert found.standard_error == pytest.approx(np.sqrt(0.325 * 0.675 / 4000) / (p - q), rel=1e-3)
    assert found.high - found.low == pytest.approx(2 * 1.96 * found.standard_error, rel=0.01)
    assert found.covariance == pytest.approx(0, abs=1e-12)


def test_the_covariance_is_that_of_the_scores() -> None:
    """By enumeration of one respondent's answers and reports."""
    rates, (row, share, rest) = (k_ary(3, 1.0), k_ary(2, 2.0)), (0.3, 0.6, 0.2)
    (p1, q1), (p2, q2) = rates
    chances = law(row, share, rest, rates)
    mean = np.zeros(2)
    product_ = 0.0
    for chance, (a, b) in zip(chances, [(1, 1), (1, 0), (0, 1), (0, 0)], strict=True):
        one, other = (a - q1) / (p1 - q1), (b - q2) / (p2 - q2)
        mean += chance * np.array([one * other, one])
        product_ += chance * one * other * one
    expected = product_ - mean[0] * mean[1]

    n = 10**9
    counts = np.rint(n * np.array(chances))
    found = Within(n, counts[0], counts[0] + counts[1], counts[0] + counts[2], rates).estimate()

    assert float(found.covariance) * n == pytest.approx(expected, rel=1e-4)


def test_a_table_is_estimated_cell_by_cell() -> None:
    counts = np.array([[40, 10], [25, 25]])
    rates = YES_NO, YES_NO
    n, given, wanted = 100, counts.sum(axis=1), counts.sum(axis=0)

    table = Within(n, counts, given[:, None], wanted, rates).estimate()

    for a, b in product(range(2), repeat=2):
        alone = Within(n, counts[a, b], given[a], wanted[b], rates).estimate()
        assert table.low[a, b] == pytest.approx(float(alone.low))
        assert table.high[a, b] == pytest.approx(float(alone.high))


def test_nothing_is_estimated_from_nobody() -> None:
    with pytest.raises(ValueError, match="at least one report"):
        Within(0, 0, 0, 0, (YES_NO, YES_NO)).estimate()


def test_a_pair_whose_estimate_is_minus_nought_has_an_interval() -> None:
    """Of thirteen reports, whose estimate is -0.0: it would have had no interval at all."""
    both = np.array([[3, 2, 1], [6, 0, 1]])
    rows, columns = both.sum(axis=1)[:, None], both.sum(axis=0)
    odds_2, odds_3 = (2 / 3, 1 / 3), (3 / 5, 1 / 5)

    for found in (
        Within(13, both, rows, columns, (odds_2, odds_3)).estimate(),
        Within(13, both, columns, rows, (odds_3, odds_2)).estimate(),
    ):
        assert np.isfinite(found.low).all()
        assert np.isfinite(found.high).all()


@pytest.mark.parametrize("impossible", [-0.1, -0.05, 0.05, 0.1, 0.2])
def test_an_estimate_that_cannot_be_makes_no_short_interval(impossible: float) -> None:
    """A share of less than 0 % or more than 100 % says no more than one of 0 or of 100 %."""
    n, (p1, q1), (p2, q2) = 300, (0.5284, 0.1179), (0.7311, 0.2689)
    row, column = 0.45, 0.7 if impossible > 0 else 0.3
    in_row, in_column = row * (p1 - q1) + q1, column * (p2 - q2) + q2

    def width(cell: float) -> float:
        both = cell * (p1 - q1) * (p2 - q2) + q2 * in_row + q1 * in_column - q1 * q2
        found = Within(
            n, round(n * both), round(n * in_row), round(n * in_column), ((p1, q1), (p2, q2))
        ).estimate()
        return float(found.high - found.low)

    edge = row if impossible > 0 else 0.0
    assert width(edge + impossible) > 0.9 * width(edge)
