"""What pictures show: shares that can be shares, near to the truth, each inside its interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.core.binomial import sum_law
from deniably.estimation import shrinkage
from deniably.estimation.estimate import estimate, project
from deniably.estimation.shrinkage import shrunken, within
from support.designs import Design, surveys, true_shares
from support.share_sweep import SHAPES, summary, sweep

SMALL = [
    Design(*each)
    for each in (
        (5, 1.0, 200), (5, 4.0, 200), (10, 0.5, 1000), (10, 2.0, 200), (20, 1.0, 1000),
        (20, 4.0, 200), (50, 0.5, 200), (50, 2.0, 1000),
    )
]  # fmt: skip


# --- nearer to the truth ------------------------------------------------------------------------


def test_shares_are_nearer_to_the_truth_than_the_nearest_point_of_the_simplex() -> None:
    """A small part of the sweep of ``make bench``, of a fixed seed; four surveys a cell are noisy,
    so single cells are bounded more loosely there than here all together."""
    cells = list(sweep(SMALL, SHAPES, 4, seed=5))

    found = summary(cells)

    assert found.geometric <= 0.5
    assert found.below >= 0.9
    assert found.worst_design <= 1.0
    assert max(cell.ratio for cell in cells) < 3


@pytest.mark.parametrize(
    ("epsilon", "most"), [(0.5, 1.9e-4), (1.0, 0.75e-4), (2.0, 0.24e-4), (4.0, 0.045e-4)]
)
def test_128_answers_of_10_000_people_are_shown_nearer_than_by_em_on_whole_reports(
    epsilon: float, most: float
) -> None:
    """Mean squared error of a share, Zipf 1.1; EM on the same reports has 2.3, .7, .3 and .05
    (times 1e-4). Three surveys of a fixed seed."""
    (cell,) = sweep([Design(128, epsilon, 10_000)], ["zipf1.1"], 3, seed=128)

    assert cell.shrunken / 128 <= most
    assert cell.shrunken < cell.projected


def test_of_many_answers_that_few_have_the_rest_take_nothing_away() -> None:
    """3 of 200 answers are somebody’s: less than a third of the error."""
    (cell,) = sweep([Design(200, 2.0, 1000)], ["three"], 5, seed=4)

    assert cell.ratio < 1 / 3


# --- what they are ------------------------------------------------------------------------------


@given(st.integers(2, 30), st.integers(1, 3000), st.floats(0.01, 0.4), st.data())
@settings(max_examples=60, deadline=None)
def test_shares_of_any_counts_sum_to_1_in_the_order_of_the_counts(
    k: int, n: int, q: float, data: st.DataObject
) -> None:
    p = data.draw(st.floats(q + 0.02, 0.999))
    counts = np.array(data.draw(st.lists(st.integers(0, n), min_size=k, max_size=k)))

    shares = shrunken(counts, n, p, q)

    assert np.isfinite(shares).all()
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)
    order = np.argsort(counts, kind="stable")
    assert (np.diff(shares[order]) >= -1e-6).all()


def test_two_to_four_answers_and_answers_with_next_to_no_noise_stay_as_they_are() -> None:
    few = np.array([500, 320, 260, 180])
    np.testing.assert_allclose(shrunken(few, 1000, 0.6, 0.2), project((few / 1000 - 0.2) / 0.4))
    many = np.array([400_000_000, 200_000_000, 150_000_000, 140_000_000, 110_000_000])
    np.testing.assert_allclose(shrunken(many, 10**9, 0.6, 0.1), project((many / 1e9 - 0.1) / 0.5))


@pytest.mark.parametrize(
    ("n", "p", "q"), [(50, 0.9, 0.01), (200, 0.55, 0.2), (1000, 0.98, 0.001), (300, 0.5, 0.45)]
)
def test_the_saddlepoint_is_as_good_as_the_law_itself(n: int, p: float, q: float) -> None:
    """Against the exact law of the sum of two binomials, every count and some 200 shares where
    they are likely: .4 nats at the most, where hardly any noise reports are expected."""
    having = np.arange(0, n + 1, max(n // 200, 1))
    exact = np.array([sum_law((own, p), (n - own, q)) for own in having.tolist()]).T
    found = shrinkage._likelihood(np.arange(n + 1.0), n, p, q, having / n)  # count, share

    for count in range(n + 1):
        if exact[count].max() < 1e-9:
            continue  # nobody will ever see it, and the exact law has rounding errors only
        law = exact[count] / exact[count].max()
        likely = law > 1e-4
        assert np.abs(np.log(found[count][likely]) - np.log(law[likely])).max() < 0.45


# --- inside their intervals ---------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(-1, 2), st.floats(0, 1), st.floats(0, 1)), min_size=2))
def test_shares_are_moved_into_their_intervals(triples: list[tuple[float, float, float]]) -> None:
    point, one, other = np.array(triples).T
    low, high = np.minimum(one, other), np.maximum(one, other)

    shown = within(point, low, high)

    assert ((low <= shown) & (shown <= high)).all()
    if low.sum() < 1 < high.sum():
        assert shown.sum() == pytest.approx(1)
        # Karush, Kuhn and Tucker: one shift for all that are moved by no interval.
        shift = (point - shown)[(shown > low + 1e-9) & (shown < high - 1e-9)]
        assert np.ptp(shift) < 1e-9 if len(shift) else True


@pytest.mark.parametrize(
    "design", [Design(50, 6.0, 200), Design(20, 4.0, 50), Design(5, 1.0, 100)], ids=str
)
def test_no_share_is_shown_outside_its_interval(design: Design) -> None:
    """At 50 choices, epsilon 6 and 200 reports the nearest point of the simplex broke that in 98 of
    100 surveys."""
    p, q = float(design.mechanism.p), float(design.mechanism.q)
    for shape in ("one", "zipf1.1", "flat"):
        for _, tally in surveys(design, true_shares(shape, design.k), 20, seed=6):
            found = estimate(tally, design.mechanism)
            shown = within(shrunken(tally.counts, tally.n, p, q), found.low, found.high)
            assert ((found.low <= shown) & (shown <= found.high)).all()
