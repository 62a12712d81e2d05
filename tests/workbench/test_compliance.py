"""Two groups with different coins tell how many always say no, and what that costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deniably as dn
from deniably.workbench.models.compliance import non_compliance

FORCED = ((1.0, 0.2), (1.0, 0.6))
"""Forced to say yes with .2 and .6; else asked to answer (Clark and Desharnais 1998)."""


def expected(yes: float, no: float, n: int, designs: Any = FORCED) -> list[tuple[int, int]]:
    return [(round(n * (p * yes + q * no)), n) for p, q in designs]


@pytest.mark.parametrize("designs", [FORCED, ((0.75, 0.25), (0.9, 0.6))])
@pytest.mark.parametrize(("yes", "no"), [(0.24, 0.72), (0.1, 0.9), (0.0, 0.8), (0.5, 0.2)])
def test_exact_reports_give_the_exact_shares(yes: float, no: float, designs: Any) -> None:
    found = non_compliance(*expected(yes, no, 1_000_000, designs), designs=designs)

    assert [row["estimate"] for row in found.rows] == pytest.approx(
        [yes, no, 1 - yes - no], abs=1e-5
    )
    assert found.yes_at_least == pytest.approx(yes, abs=1e-5)
    assert found.yes_at_most == pytest.approx(1 - no, abs=2e-5)


def test_intervals_hold_the_truth_and_honest_people_are_no_cheats() -> None:
    """1,500 studies of two groups of 500, fixed seed: 95 % of intervals hold the truth, and the
    test of nobody keeps its level of .05. Further than .035 off has a chance below 1e-9.
    """
    generator, truth = np.random.default_rng(98), np.array([0.2, 0.65, 0.15])
    held, alarms = np.zeros(3), 0
    for _ in range(1_500):
        cheats = [(int(generator.binomial(500, p * 0.2 + q * 0.65)), 500) for p, q in FORCED]
        found = non_compliance(*cheats, designs=FORCED)
        held += [
            row["low"] <= one <= row["high"] for row, one in zip(found.rows, truth, strict=True)
        ]
        honest = [(int(generator.binomial(500, p * 0.2 + q * 0.8)), 500) for p, q in FORCED]
        alarms += non_compliance(*honest, designs=FORCED).p_value < 0.05
    assert (abs(held / 1_500 - 0.95) < 0.035).all()
    assert alarms / 1_500 < 0.085


def test_reports_that_are_all_alike_leave_an_error() -> None:
    found = non_compliance((0, 1000), (1000, 1000), designs=FORCED)

    assert all(float(row["standard_error"] or 0) > 1e-4 for row in found.rows)
    assert found.price > 0
    cheated = non_compliance((500, 1000), (500, 1000), designs=FORCED)
    assert "nobody always says no: p < 0.001" in str(cheated)


def test_its_price_is_said() -> None:
    """Of 1,000: the variance of yes here, against one group of 1,000 with forced yes of .2."""
    found = non_compliance((384, 1000), (672, 1000), designs=FORCED)

    error = float(found.rows[0]["standard_error"] or 0)
    alone = 0.24 * 1 + 0.76 * 0.2
    believed = alone * (1 - alone) / 0.8**2 / 2000
    assert found.price == pytest.approx(error**2 / believed)
    assert f"{found.price:.1f} times the respondents" in str(found)


@pytest.mark.parametrize(
    ("groups", "designs", "why"),
    [
        (((3, 2), (1, 2)), FORCED, "3 ones of 2"),
        (((0, 0), (1, 2)), FORCED, "2 reports or more"),
        (((1, 9), (1, 9)), (FORCED[0], FORCED[0]), "coins of different strength"),
        (((1, 9), (1, 9)), (dn.Design.k_ary(3, "1/2"), FORCED[0]), "pairs"),
        (((1, 9), (1, 9)), ((0.5, 0.5), FORCED[0]), "p and q are equal"),
    ],
)
def test_what_tells_nothing_is_refused(groups: Any, designs: Any, why: str) -> None:
    with pytest.raises(dn.BadModel, match=why):
        non_compliance(*groups, designs=designs)
