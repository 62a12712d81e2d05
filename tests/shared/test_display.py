"""What people see: shares that can be shares, and choices that stand out from the noise."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.display import base_cut, clamp, shares_of_few, shares_of_one, shares_of_set
from deniably.estimate import project
from deniably.mechanisms.subset_selection import subset_selection, weights_for_epsilon

RAW = st.lists(st.floats(-1, 2), min_size=2, max_size=8)


@given(RAW)
def test_shares_of_a_single_choice_add_up(raw: list[float]) -> None:
    np.testing.assert_array_equal(shares_of_one(raw), project(raw))


@given(RAW, st.floats(0, 0.2))
def test_no_share_is_shown_outside_its_margin(raw: list[float], half: float) -> None:
    low, high = np.clip(np.array(raw) - half, 0, 1), np.clip(np.array(raw) + half, 0, 1)

    shown = shares_of_one(raw, low, high)

    assert ((low <= shown) & (shown <= high)).all()


def test_a_share_within_its_margin_stays() -> None:
    shown = shares_of_one([0.5, 0.3, 0.25, -0.05], [0.4, 0.2, 0.1, 0.0], [0.6, 0.4, 0.4, 0.1])

    np.testing.assert_allclose(shown, project([0.5, 0.3, 0.25, -0.05]))


def test_ticks_are_shares_of_their_own() -> None:
    np.testing.assert_allclose(shares_of_set([0.9, 0.8, -0.1, 1.2]), [0.9, 0.8, 0, 1])


@given(RAW)
def test_what_lies_inside_is_not_moved(raw: list[float]) -> None:
    shown = clamp(raw, -1, 2)

    np.testing.assert_array_equal(shown, raw)


def test_a_domain_of_pure_noise_shows_nothing() -> None:
    """1000 choices that nobody has, 500 surveys: any is shown in about 5 % of them (alarm at 11 %,
    a chance below 1e-6)."""
    noise = np.random.default_rng(2020).normal(size=(500, 1000))

    shown = [base_cut(row, 1.0).any() for row in noise]

    assert np.mean(shown) < 0.11


def test_the_cut_is_at_the_stated_quantile() -> None:
    """k = 1000, alpha = 0.05: Phi^-1(1 - 5e-5) = 3.8906."""
    raw = np.zeros(1000)
    raw[:3] = 0.38905, 0.38907, 0.6

    np.testing.assert_array_equal(base_cut(raw, 0.1)[:3], [0, 0.38907, 0.6])


def test_what_is_found_is_left_as_it_is_unless_asked() -> None:
    raw = [0.5, 0.2, 0.02, -0.03, 0.01]

    np.testing.assert_allclose(base_cut(raw, 0.02), [0.5, 0.2, 0, 0, 0])
    np.testing.assert_allclose(base_cut(raw, 0.02, normalise=True), [0.65, 0.35, 0, 0, 0])


def test_nothing_found_stays_nothing_when_normalised() -> None:
    np.testing.assert_array_equal(base_cut([0.01, -0.01], 0.1, normalise=True), [0, 0])


def test_of_a_large_sparse_domain_those_that_stand_out_are_shown_alone() -> None:
    raw = np.full(40, -0.001)
    raw[[3, 7, 30]] = 0.5, 0.35, 0.2
    raw[11] = 0.04
    out = np.isin(np.arange(40), [3, 7, 30])

    shown = shares_of_few(raw, out)

    assert shown is not None
    np.testing.assert_allclose(shown[[3, 7, 30]], np.array([0.5, 0.35, 0.2]) - 0.05 / 3)
    assert shown.sum() == pytest.approx(1)
    assert np.flatnonzero(shown).tolist() == [3, 7, 30]
    assert shares_of_few(raw, np.isin(np.arange(40), [3, 7])) is None  # 85 % is not nearly all
    assert shares_of_few(raw[:20], out[:20]) is None  # nor are 20 choices many


def test_those_alone_are_nearer_to_the_truth() -> None:
    """40 surveys of 3 answers in 40 at epsilon 1, of a fixed seed: half the squared error."""
    mechanism = subset_selection(40, *weights_for_epsilon(Fraction(1)))
    truth = np.zeros(40)
    truth[:3] = 0.5, 0.3, 0.2
    p, q = float(mechanism.p), float(mechanism.q)
    noise = np.random.default_rng(4).normal(size=(40, 40)) * np.sqrt(q * (1 - q) / 5000) / (p - q)
    errors = []
    for row in truth + noise:
        few = shares_of_few(row, base_cut(row, np.sqrt(q * (1 - q) / 5000) / (p - q)) > 0)
        assert few is not None
        errors.append([((shown - truth) ** 2).sum() for shown in (project(row), few)])
    projected, alone = np.mean(errors, axis=0)
    assert alone < projected / 2


@pytest.mark.parametrize("alpha", [0, 1, float("nan")])
def test_an_impossible_risk_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        base_cut([0.5, 0.5], 0.1, alpha)
