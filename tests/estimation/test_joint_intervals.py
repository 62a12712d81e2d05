"""Intervals for all answers at once: how often they hold every share, and how wide they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniably.estimation.channels import matrix
from deniably.estimation.estimate import estimate, estimate_through
from deniably.estimation.intervals import group_interval, population_interval, scores_interval
from deniably.estimation.tally import Tally
from deniably.mechanisms import SetResponse, Unary, Window
from support.designs import Design, surveys, true_shares

LINES = [  # the design, the true shares, and the mean width of the exact intervals
    (Design(20, 4, 100), "one", 0.111), (Design(20, 6, 100), "one", 0.070),
    (Design(50, 6, 200), "one", 0.046), (Design(50, 6, 200), "zipf1.1", 0.072),
    (Design(100, 5, 200), "flat", 0.097), (Design(50, 4, 100), "one", 0.163),
    (Design(200, 4, 1000), "one", 0.0404), (Design(5, 1, 200), "five", 0.483),
    (Design(5, 6, 50), "halving", 0.262), (Design(5, 8, 100), "halving", 0.182),
]  # fmt: skip


@pytest.mark.parametrize(("design", "name", "width"), LINES, ids=str)
def test_joint_intervals_hold_all_shares_in_95_of_100_surveys(
    design: Design, name: str, width: float
) -> None:
    """100 surveys of a fixed seed; by Bonferroni's inequality 95 % hold at least, and where the
    normal curve was trusted .58 to .94 did."""
    shares = true_shares(name, design.k)
    held, widths = [], []
    for _, tally in surveys(design, shares, 100, seed=3):
        found = estimate(tally, design.mechanism)
        held.append(
            ((found.joint_low <= shares + 1e-12) & (shares - 1e-12 <= found.joint_high)).all()
        )
        widths.append((found.joint_high - found.joint_low).mean())

    assert np.mean(held) >= 0.95
    assert np.mean(widths) <= 1.01 * width + 0.0005


@pytest.mark.parametrize("design", [line[0] for line in LINES], ids=str)
def test_the_interval_of_each_share_misses_a_kth_part_of_the_risk(design: Design) -> None:
    """Exactly, by enumeration of every count, at the shares where intervals fail most easily."""
    k, _, n = design
    p, q = float(design.mechanism.p), float(design.mechanism.q)
    counts = np.arange(-(-(n + 1) // k) * k).clip(max=n).reshape(-1, k)
    # Ticks are not tightened by their sum, so these are the intervals themselves.
    found = [estimate(Tally(n, row), design.mechanism, single=False) for row in counts]
    low = np.concatenate([one.joint_low for one in found])[: n + 1]
    high = np.concatenate([one.joint_high for one in found])[: n + 1]
    for share in (0.0, 0.001, 0.01, 1 / k, 0.2, 0.5, 0.999, 1.0):
        law = stats.binom.pmf(np.arange(n + 1), n, q + (p - q) * share)
        held = (low <= share + 1e-9) & (share - 1e-9 <= high)
        assert law[~held].sum() <= 0.05 / k


@pytest.mark.parametrize(
    "mechanism", [SetResponse(4, 2, 2, 900, 1), Unary(4, 2, 900, 1, 1000)], ids=["set", "unary"]
)
def test_ticks_have_exact_intervals_too(mechanism: SetResponse | Unary) -> None:
    n, p, q = 60, float(mechanism.p), float(mechanism.q)
    counts = np.zeros(mechanism.law.cell_count, dtype=np.int64)
    counts[:4] = 0, 1, 30, 60

    found = estimate(Tally(n, counts), mechanism)

    exact = population_interval(counts[:4], n, p, q, 0.05 / 4, exact=True)
    np.testing.assert_allclose(found.joint_low, exact.low, rtol=1e-12)
    np.testing.assert_allclose(found.joint_high, exact.high, rtol=1e-12)


@given(st.integers(1, 300), st.data())
def test_a_group_of_one_choice_has_the_exact_interval_of_its_count(
    n: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, n))
    q = data.draw(st.floats(0.01, 0.5))
    p = data.draw(st.floats(q + 0.05, 0.99))

    found = group_interval(count, n, np.array([1 - p, p]), np.array([1 - q, q]), 0.01)

    exact = population_interval(count, n, p, q, 0.01, exact=True)
    assert float(found.low) == pytest.approx(float(exact.low), abs=1e-7)
    assert float(found.high) == pytest.approx(float(exact.high), abs=1e-7)
    assert bool(found.missed) == bool(exact.missed)


def test_a_million_reports_have_an_interval_of_their_group() -> None:
    """The normal curve is right there: a share of 1/3, and 0.5567 the variance of a report."""
    own, other = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.4, 0.2])
    n, total = 1_000_000, 900_000

    found = group_interval(total, n, own, other, 0.05)

    half = stats.norm.isf(0.025) * (0.5567 / n) ** 0.5 / 0.3
    assert float(found.high + found.low) / 2 == pytest.approx(1 / 3, abs=1e-5)
    assert float(found.high - found.low) / 2 == pytest.approx(half, rel=1e-3)


def test_shares_through_any_channel_hold_by_chernoffs_bound() -> None:
    """Every tally of 11 people through a window of three starts, all true shares in tenths."""
    channel, n = matrix(Window(3, 3, 1, 403, 1)), 11
    tallies = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    found = [estimate_through(Tally(n, np.array(t)), channel) for t in tallies]
    low, high = np.array([e.joint_low for e in found]), np.array([e.joint_high for e in found])
    for a in range(11):
        for b in range(11 - a):
            shares = np.array([a, b, 10 - a - b]) / 10
            law = stats.multinomial.pmf(tallies, n, shares @ channel)
            held = ((low <= shares + 1e-9) & (shares - 1e-9 <= high)).all(axis=1)
            assert law[held].sum() >= 0.95


def test_odd_scores_give_no_certainty() -> None:
    """All scores lie where no mixture of answers puts them."""
    own, others = np.array([0.6, 0.4]), np.array([[0.4, 0.6]])

    found = scores_interval(3.0, 500, np.array([3.0, -2.0]), own, others, 0.05)

    assert (float(found.low), float(found.high), bool(found.missed)) == (0, 1, True)
