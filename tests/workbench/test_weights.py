"""Weighted shares with their design effects, and weights that meet known margins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniably as dn
from deniably.estimation.intervals import population_interval
from deniably.workbench.models.raking import rake
from deniably.workbench.models.weights import weighted_shares
from support import fair

FIVE = dn.Design.k_ary(5, "3/5")


def test_weighted_shares_are_those_of_svymean() -> None:
    """R 4.2.2 survey: svymean of the unbiased score, strata site; and RRreg without weights."""
    affair = {"design": ("3/4", "1/4")}
    found = weighted_shares("affair", fair.reports(), weights="weight", strata="site", **affair)
    plain = weighted_shares("affair", fair.reports(), **affair)

    yes = found.rows[1]
    assert yes["estimate"] == pytest.approx(0.3173077, abs=5e-8)
    assert yes["standard_error"] == pytest.approx(0.0133317, abs=5e-8)
    assert plain.rows[1]["estimate"] == pytest.approx(0.3136977694, abs=5e-11)
    assert plain.rows[1]["standard_error"] == pytest.approx(0.0123149, abs=5e-8)


def test_five_answers_and_their_mean() -> None:
    found = weighted_shares("marriage", fair.reports(), design=FIVE).rows

    shares = [0.01834747, 0.05290606, 0.15406849, 0.36456173, 0.41011624]
    errors = [0.0078178, 0.0083318, 0.0095686, 0.0112836, 0.0115424]
    assert [row["estimate"] for row in found[:5]] == pytest.approx(shares, abs=5e-9)
    assert [row["standard_error"] for row in found[:5]] == pytest.approx(errors, abs=5e-8)
    assert found[5]["figure"] == "mean"
    assert found[5]["estimate"] == pytest.approx(np.arange(5) @ shares, abs=5e-8)


def test_design_effects_are_those_of_weights_and_of_privacy() -> None:
    """Without weights Kish's is 1, and privacy's L (1 - L) / (p - q)^2 / f (1 - f)."""
    row = weighted_shares("affair", fair.reports(), design=(0.75, 0.25)).rows[1]
    f, said = row["estimate"], 2590 / 6366
    assert row["weights_effect"] == 1
    assert row["privacy_effect"] == pytest.approx(said * (1 - said) * 4 / (f * (1 - f)))
    assert row["design_effect"] == pytest.approx(row["privacy_effect"], rel=1e-3)

    w = fair.reports()["weight"]
    weighted = weighted_shares("affair", fair.reports(), design=(0.75, 0.25), weights="weight")
    kish = len(w) * (w**2).sum() / w.sum() ** 2
    assert weighted.rows[1]["weights_effect"] == pytest.approx(kish)
    both = kish * weighted.rows[1]["privacy_effect"]
    assert weighted.rows[1]["design_effect"] == pytest.approx(both, rel=0.01)


@pytest.mark.filterwarnings("ignore:the largest weight")
@settings(deadline=None, max_examples=40)
@given(
    cells=st.lists(st.integers(1, 30), min_size=6, max_size=6),
    one=st.lists(st.floats(0.05, 1), min_size=2, max_size=2),
    other=st.lists(st.floats(0.05, 1), min_size=3, max_size=3),
)
def test_raked_weights_meet_every_margin(
    cells: list[int], one: list[float], other: list[float]
) -> None:
    sex = np.repeat(["f", "f", "f", "m", "m", "m"], cells)
    age = np.repeat(["young", "mid", "old"] * 2, cells)
    margins = {
        "sex": dict(zip("fm", np.array(one) / sum(one), strict=True)),
        "age": dict(zip(("young", "mid", "old"), np.array(other) / sum(other), strict=True)),
    }
    weights = rake({"sex": sex, "age": age}, margins)

    assert weights.mean() == pytest.approx(1)
    assert (weights > 0).all()
    for column, name in ((sex, "sex"), (age, "age")):
        for value, share in margins[name].items():
            assert weights[column == value].mean() * (column == value).mean() == pytest.approx(
                share
            )
    # the same cell, the same weight; the odds ratios of cells stay as they were
    table = {(a, b): weights[(sex == a) & (age == b)] for a in "fm" for b in set(age)}
    assert all(np.ptp(one) < 1e-9 for one in table.values())


def test_half_a_million_rows_are_raked_though_their_sums_round() -> None:
    rng = np.random.default_rng(1)
    site, shift = rng.integers(0, 3, 500_000), rng.integers(0, 2, 500_000)

    weights = rake({"site": site, "shift": shift}, {"site": {0: 0.2, 1: 0.3, 2: 0.5},
                                                    "shift": {0: 0.5, 1: 0.5}})  # fmt: skip

    assert weights.mean() == pytest.approx(1)
    assert weights[site == 2].sum() / 500_000 == pytest.approx(0.5)
    assert weights[shift == 1].sum() / 500_000 == pytest.approx(0.5)


def test_one_margin_is_post_stratification() -> None:
    weights = rake({"sex": ["f", "f", "f", "m"]}, {"sex": {"f": 0.5, "m": 0.5}})
    assert weights == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2])


@pytest.mark.parametrize(
    ("margins", "why"),
    [
        ({}, "at least one column"),
        ({"sex": {"f": 0.5, "m": 0.4}}, "sum to 1"),
        ({"sex": {"f": 1.0, "m": 0.0}}, "above 0"),
        ({"sex": {"f": 1.0}}, "no known share of m"),
        ({"sex": {"f": 0.4, "m": 0.4, "x": 0.2}}, "no row has x"),
        ({"sec": {"f": 1.0}}, "did you mean sex"),
        ({"sex": {"f": 0.5, "m": 0.5}, "age": {"o": 0.9, "y": 0.1}}, "no weights meet all"),
    ],
)
def test_margins_that_cannot_be_met_are_refused(margins: Any, why: str) -> None:
    with pytest.raises(dn.BadModel, match=why):
        rake({"sex": list("ffmm"), "age": list("yyoo")}, margins)


def test_reports_alike_have_the_error_of_their_channel_and_an_interval() -> None:
    """As in a cross-table: nobody's report varies, and still the noise may hide somebody."""
    rows = weighted_shares("a", {"a": [0] * 60}, design=(0.75, 0.25)).rows
    no, yes = rows

    assert (no["estimate"], yes["estimate"]) == pytest.approx((1.5, -0.5))
    for row in rows:
        assert row["standard_error"] > 0.1
        assert 0 <= row["low"] < row["high"] <= 1
    assert yes["high"] == pytest.approx(1 - no["low"])


@pytest.mark.parametrize("yes", [0, 9, 14, 50])
def test_the_interval_of_a_yes_is_that_of_the_results_also_below_0(yes: int) -> None:
    said = [1] * yes + [0] * (60 - yes)
    rows = weighted_shares("a", {"a": said}, design=(0.75, 0.25)).rows
    expected = population_interval(yes, 60, 0.75, 0.25, 0.05)
    ends = float(expected.low), float(expected.high)

    assert (rows[1]["low"], rows[1]["high"]) == pytest.approx(ends, abs=1e-12)
    assert (1 - rows[0]["high"], 1 - rows[0]["low"]) == pytest.approx(ends, abs=1e-12)


def test_intervals_are_within_what_is_possible_and_hold_where_a_choice_is_rare() -> None:
    """At a nominal 0.95; a normal interval of these held in 0.56."""
    generator, hits = np.random.default_rng(9), 0
    for _ in range(60):
        weights = generator.choice([1 / 3, 2 / 3, 6], 300, p=[0.6, 0.3, 0.1])
        said = (generator.random(300) < 0.01).astype(int)
        row = weighted_shares("a", {"a": said}, design=(0.9997, 0.0003), weights=weights).rows[1]
        assert 0 <= row["low"] <= row["high"] <= 1
        hits += row["low"] <= 0.01 <= row["high"]
    assert hits > 45


def test_a_mean_among_people_with_a_value_costs_what_a_direct_question_does() -> None:
    """Two of three have a value, and hardly any report is noise: of a direct question as many."""
    design = dn.Design.k_ary(3, "999999/1000000", values=[0, 1, None])
    rows = weighted_shares("a", {"a": [0, 1, 2] * 200}, design=design).rows
    (mean,) = (row for row in rows if row["figure"] == "mean")

    assert mean["estimate"] == pytest.approx(0.5, abs=1e-3)
    assert mean["privacy_effect"] == pytest.approx(1, abs=1e-3)
    assert mean["design_effect"] == pytest.approx(600 / 599, abs=1e-3)
    z_error = 1.96 * mean["standard_error"]
    assert mean["low"] == pytest.approx(0.5 - z_error, abs=2e-3)
    assert mean["high"] == pytest.approx(0.5 + z_error, abs=2e-3)


@pytest.mark.parametrize("unit", [1e-320, 1e-200, 1e200, 1e308])
def test_no_unit_of_weights_is_too_small_or_large(unit: float) -> None:
    said = [0, 1] * 4
    plain, found = (
        weighted_shares("a", {"a": said}, design=(0.75, 0.25), weights=np.full(8, one)).rows
        for one in (1.0, unit)
    )
    for one, other in zip(plain, found, strict=True):
        assert other["standard_error"] == pytest.approx(one["standard_error"])
        assert other["weights_effect"] == pytest.approx(1)


def test_bad_weights_are_refused() -> None:
    for weights, why in (([-1, 1], "negative"), ([0, 0], "all weights are 0"), ([1], "1 weights")):
        with pytest.raises(dn.BadModel, match=why):
            weighted_shares("a", {"a": [0, 1]}, design=(0.75, 0.25), weights=weights)
