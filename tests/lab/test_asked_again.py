"""Asked again and again: exact laws of all reports together, and people whose reports are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import sqrt
from typing import Any

import pytest

from deniably import lab
from deniably.audit.memoised_waves import joint_probability
from deniably.core.coins import Coins
from deniably.lab.experiment import Experiment
from deniably.mechanisms import Cells, Channel, Memoised, SubsetSelection
from deniably.mechanisms.memoised import memoised

WARNER = SubsetSelection(k=2, omega=1, own=3, other=1)
BIASED = Channel(2, ((5, 1), (2, 4)))
MEMO, FRESH = "a memo", "fresh chance"


@cache
def ln_3() -> Experiment:
    return lab.asked_again(epsilon="ln 3")


def right(found: Experiment, what: str) -> dict[int, float]:
    return {int(row["waves"] or 0): float(row["exact"] or 0)
            for row in found.rows if row["what"] == what}  # fmt: skip


def percent(found: Experiment, what: str, *waves: int) -> list[str]:
    return [f"{100 * right(found, what)[one]:.4g}" for one in waves]


def test_fresh_chance_hides_once_and_not_a_month_of_days() -> None:
    at_1 = right(lab.asked_again(), FRESH)

    assert [f"{100 * at_1[waves]:.1f}" for waves in (1, 3, 31)] == ["73.1", "82.2", "99.7"]
    assert percent(ln_3(), FRESH, 1, 3, 10, 31) == ["75", "84.38", "95.11", "99.87"]


def test_a_memo_of_twice_the_epsilon_never_gives_away_more_than_its_odds() -> None:
    told = right(ln_3(), MEMO)

    assert [f"{100 * told[waves]:.1f}" for waves in (1, 3, 10, 31)] == [
        "75.0", "82.6", "88.8", "90.0"
    ]  # fmt: skip
    long = lab.asked_again(epsilon="ln 3", waves=120)
    assert all(one < 0.9 for one in right(long, MEMO).values()), "odds 9 is 9 of 10"
    assert set(right(long, "all that the memo can tell").values()) == {0.9}
    assert set(right(long, "the report that was made").values()) == {0.75}


def test_the_mean_of_500_noisy_counts_is_22_times_as_near() -> None:
    rows = [row for row in lab.asked_again().rows if row.get("counts")]

    assert f"{float(rows[0]['deviation'] or 0):.3f}" == "1.414"
    assert f"{float(rows[-1]['deviation'] or 0):.4f}" == "0.0632"
    assert rows[-1]["counts"] == 500


@pytest.mark.parametrize("mechanism", [WARNER, BIASED, memoised(WARNER, Fraction(5))], ids=str)
def test_up_to_five_waves_it_is_what_all_reports_together_tell(mechanism: Any) -> None:
    """From the definition: over every order of reports, the larger of the two probabilities."""
    found = lab.asked_again(waves=5, mechanism=mechanism)
    memo = (
        mechanism
        if isinstance(mechanism, Memoised)
        else memoised(mechanism, mechanism.loss.odds**2)
    )
    once = memo.single_report_mechanism.law

    def fresh(answer: int, reports: Sequence[Cells]) -> Fraction:
        chance = Fraction(1)
        for report in reports:
            chance *= once.probability(answer, report)
        return chance

    for waves in (1, 2, 3, 5):
        orders = list(product([(0,), (1,)], repeat=waves))
        both = {
            FRESH: [[fresh(one, order) for one in (0, 1)] for order in orders],
            MEMO: [[joint_probability(memo, one, order) for one in (0, 1)] for order in orders],
        }
        for what, chances in both.items():
            assert sum(map(sum, chances)) == 2
            assert right(found, what)[waves] == float(sum(map(max, chances)) / 2)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "ln 9"])
def test_more_waves_tell_no_less_and_a_memo_tells_less_than_fresh_chance(epsilon: str) -> None:
    found = lab.asked_again(epsilon=epsilon, history="1.5", waves=50)
    fresh, kept = right(found, FRESH), right(found, MEMO)

    assert list(fresh.values()) == sorted(fresh.values())
    assert list(kept.values()) == sorted(kept.values())
    assert all(kept[waves] <= fresh[waves] for waves in fresh)
    assert fresh[1] == kept[1], "a single report tells the same"


def test_a_device_that_draws_a_new_memo_in_each_wave_moves_the_dots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forgetful(self: Memoised[Any], answer: Any, waves: int, coins: Coins) -> tuple[Cells, ...]:
        return tuple(self.randomise(answer, coins) for _ in range(waves))

    monkeypatch.setattr(Memoised, "reports_over_waves", forgetful)
    after = lab.asked_again(epsilon="ln 3")

    assert right(after, MEMO) == right(ln_3(), MEMO)
    (last,) = (row for row in after.rows if row["what"] == MEMO and row["waves"] == 31)
    off = float(last["drawn"] or 0) - float(last["exact"] or 0)
    assert off > 4 * float(last["standard_error"] or 0)
    assert sqrt(0.9 * 0.1 / 300) == pytest.approx(float(last["standard_error"] or 0), rel=1e-3)
