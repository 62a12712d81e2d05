"""The funnel: its width, the draws of an introduction in it, and dots that fill it."""

from __future__ import annotations

from math import sqrt

import pytest

from deniably import lab
from deniably.core.coins import Coins
from deniably.estimation.estimate import variance
from deniably.lab.experiment import Experiment
from deniably.lab.picture import DrawnRow
from deniably.mechanisms import SubsetSelection


def rows(found: Experiment, what: str) -> list[DrawnRow]:
    return [row for row in found.rows if row["what"] == what]


FUNNEL = lab.noise_averages_out(truth="1/2", n=[10, 100, 100_000], share=0.5, seed=1)


def test_the_width_of_two_coins_for_these_people() -> None:
    points = [f"{100 * float(row['exact'] or 0):.4g}" for row in rows(FUNNEL, "spread")]

    assert points == ["27.39", "8.66", "0.2739"], "27.4, 8.66 and 0.274 points"


def test_the_draws_of_an_introduction_lie_within_a_standard_error() -> None:
    told = rows(FUNNEL, "introduction")

    assert [row["points"] for row in told] == [20, 1, 0.22]
    assert [f"{float(row['deviations'] or 0):.2f}" for row in told] == ["0.73", "0.12", "0.80"]


@pytest.mark.parametrize("share", [0, 0.2, 0.5, 1])
def test_the_band_is_the_shipped_variance_without_that_between_people(share: float) -> None:
    found = lab.noise_averages_out(share=share, n=[100])
    (row,) = rows(found, "spread")
    design = float(variance(SubsetSelection(k=2, omega=1, own=3, other=1), share, 100))

    assert float(row["exact"] or 0) ** 2 == pytest.approx(design - share * (1 - share) / 100)


def test_the_dots_scatter_as_wide_as_the_band() -> None:
    """Each number of people has so many dots that their root mean square is known to a sixth."""
    for row in rows(lab.noise_averages_out(n=[10, 30, 100, 300, 1000, 3000]), "spread"):
        off = abs(float(row["drawn"] or 0) - float(row["exact"] or 0))
        assert off <= 4 * float(row["exact"] or 0) / sqrt(2 * 20)


@pytest.mark.parametrize("people", [100, 5_000], ids=["as devices", "as simulations"])
def test_a_fault_in_the_shipped_mechanism_moves_the_dots(
    people: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports that favour the first choice, in the device and in the sampler of simulations."""
    from deniably.simulation.bulk import single_choice

    def leaning(self: SubsetSelection, answer: int, coins: Coins) -> tuple[int, ...]:
        return (0,) if coins.below(3) else (1,)

    monkeypatch.setattr(SubsetSelection, "randomise", leaning)
    monkeypatch.setattr(
        single_choice, "rotated", lambda masks, answers, k: (answers * 0 + 1).astype("u1")[:, None]
    )
    for row in rows(lab.noise_averages_out(n=[people]), "survey"):
        off = abs(float(row["drawn"] or 0) - float(row["exact"] or 0))
        assert off > 4 * float(row["standard_error"] or 0) or people < 1000
    (spread,) = rows(lab.noise_averages_out(n=[people]), "spread")
    off = abs(float(spread["drawn"] or 0) - float(spread["exact"] or 0))
    assert off > 4 * float(spread["standard_error"] or 0)
