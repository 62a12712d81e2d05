"""A catastrophe and what an audit sees: the loss of Gaussian noise, walks, and counting."""

from __future__ import annotations

from functools import cache
from math import log, sqrt

import mpmath as mp
import numpy as np
import pytest

from deniably import lab
from deniably.audit.blackbox import lower_bound
from deniably.core.coins import Coins
from deniably.lab.curator import Added
from deniably.lab.draws import Draws
from deniably.lab.example_questions import question
from deniably.lab.experiment import Experiment
from deniably.lab.picture import DrawnRow, value
from deniably.mechanisms import SubsetSelection
from deniably.mechanisms.gaussian_delta import analytic_sigma


@cache
def usual() -> Experiment:
    return lab.catastrophe()


def rows(found: Experiment, what: str) -> list[DrawnRow]:
    return [row for row in found.rows if row["what"] == what]


@pytest.mark.parametrize(("loss", "chance"), [(1, "1.6e-04"), (1.5, "2.4e-08"), (2, "1.2e-13")])
def test_gaussian_noise_hardly_ever_gives_away_much_more(loss: float, chance: str) -> None:
    (row,) = (row for row in rows(usual(), "loss") if row["loss"] == loss)
    sigma = analytic_sigma(1.0, 1.0, 1e-5)
    exact = mp.ncdf(-(sigma * loss - 1 / (2 * sigma)))

    assert f"{value(row, 'exact'):.1e}" == chance
    assert value(row, "exact") == pytest.approx(float(exact), rel=1e-9)


def test_a_catastrophe_is_as_likely_at_every_loss() -> None:
    assert {row["catastrophe"] for row in rows(usual(), "loss")} == {1e-5}
    assert [row["loss"] for row in rows(usual(), "loss")][-1] == 3


def test_a_walk_of_the_code_finds_every_catastrophe() -> None:
    for size in ("0.001", "0.01", "1/2"):
        (walk,) = rows(lab.catastrophe(size=size, trials=100), "walk")
        assert (walk["outcome"], walk["paths"]) == ("failed", 6)
        assert walk["chance"] == walk["size"], "the report of the truth in plain, exactly"


def test_counting_finds_it_only_in_many_reports() -> None:
    few, many = rows(usual(), "counted")

    assert (few["trials"], few["outcome"]) == (2_000, "counted"), "and not: passed"
    assert (many["trials"], many["outcome"]) == (20_000, "failed")
    assert value(few, "epsilon") < log(3) < value(many, "epsilon")


def test_80_reports_of_a_catastrophe_prove_more_than_odds_of_3() -> None:
    """Within a thousandth, as the audit rounds: 8,000, 80,000 and 800,000 reports."""
    for row, exact in zip(rows(usual(), "needed"), (8_000, 80_000, 800_000), strict=True):
        assert exact <= value(row, "trials") <= 1.001 * exact
        assert _proved(80, exact) > log(3) > _proved(79, exact - 1)
        assert lower_bound(80, 0, exact, 0.0, 1e-6) == pytest.approx(float(_proved(80, exact)))


def _proved(seen: int, trials: int) -> mp.mpf:
    """ln of Clopper and Pearson's low end over their high end of none, each missed with 5e-7."""
    low, high = mp.mpf(0), mp.mpf(seen) / trials
    for _ in range(40):
        middle = (low + high) / 2
        tail, chance = mp.mpf(1), (1 - middle) ** trials
        for j in range(seen):
            tail, chance = tail - chance, chance * (trials - j) / (j + 1) * middle / (1 - middle)
        low, high = (low, middle) if tail > 5e-7 else (middle, high)
    return mp.log(low / (1 - mp.mpf(5e-7) ** (mp.mpf(1) / trials)))


def test_more_reports_prove_more() -> None:
    for size in (0.01, 0.001, 0.0001):
        proved = [
            value(row, "epsilon") for row in rows(usual(), "certified") if row["size"] == size
        ]
        assert proved == sorted(proved)
        assert proved[0] == 0
    (row,) = (
        row for row in rows(usual(), "certified") if (row["size"], row["trials"]) == (0.01, 10_000)
    )
    assert value(row, "epsilon") == pytest.approx(float(_proved(100, 10_000)))


def test_a_survey_lends_its_own_mechanism() -> None:
    sharp = question(type="yes_no", odds=9)
    found = lab.catastrophe(mechanism=sharp.report_mechanism, claim="ln 9", trials=100)

    assert found.mechanism == sharp.report_mechanism.described
    assert rows(found, "walk")[0]["outcome"] == "failed"
    assert value(rows(found, "needed")[0], "trials") > 8_000, "odds of 9 take more"


def test_faults_in_the_shipped_code_move_the_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coin that is never rare plants no catastrophe, and smaller noise loses more."""
    honest = Coins.choose

    def never_rare(self: Coins, weights: list[int]) -> int:
        return 1 if weights == [1, 99] else honest(self, weights)

    def half(self: Added, draws: Draws, size: int) -> object:
        return np.full(size, self.scale * sqrt(size))

    monkeypatch.setattr(Coins, "choose", never_rare)
    monkeypatch.setattr(Added, "draw", half)
    found = lab.catastrophe(trials=2_000)

    for row in [*rows(found, "counted")[1:], *rows(found, "loss")[2:6]]:
        off = abs(value(row, "drawn") - value(row, "exact"))
        assert off > 4 * value(row, "standard_error"), "the generic test would fail"
    assert isinstance(question(type="yes_no", odds=3).report_mechanism, SubsetSelection)
