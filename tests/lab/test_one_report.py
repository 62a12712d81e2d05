"""One report: Bayes by enumeration for every type of question, within the band and touching it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably import lab
from deniably.core.coins import Coins
from deniably.lab.experiment import Experiment
from deniably.lab.experiments.one_report import after, ratios
from deniably.mechanisms import SubsetSelection
from deniably.mechanisms.law import Law, Noise, Several, Supporting
from deniably.results.drawing.rounding import hundred
from support.every_type import survey_of_everything


def posterior(found: Experiment, prior: float) -> float:
    (row,) = (row for row in found.rows if row["report"] == "most for it" and row["prior"] == prior)
    return float(row["exact"] or 0)


@pytest.mark.parametrize(
    ("epsilon", "percents"),
    [
        ("ln 3", ("2.9", "25.0", "75.0")),
        (1, ("2.7", "23.2", "73.1")),
        (8, ("96.8", "99.7", "99.97")),
    ],
)
def test_priors_of_1_10_and_50_percent(epsilon: Any, percents: tuple[str, ...]) -> None:
    found = lab.one_report(epsilon=epsilon)

    for prior, percent in zip((0.01, 0.1, 0.5), percents, strict=True):
        decimals = len(percent.partition(".")[2])
        assert f"{100 * posterior(found, prior):.{decimals}f}" == percent


def test_odds_of_2981_at_epsilon_8() -> None:
    high = posterior(lab.one_report(epsilon=8), 0.5)

    assert high / (1 - high) == pytest.approx(2981, abs=0.5)


def reports(law: Law) -> list[tuple[int, ...]]:
    """Every report of a small law; of noise those from end to end."""
    if isinstance(law, Noise):
        return [(one,) for one in range(-law.reach, law.k + law.reach)]
    if isinstance(law, Several):
        of_each = [reports(part) for part in law.parts]
        d = len(law.parts)
        return [(c * d + i,) for i, cells in enumerate(of_each) for (c,) in cells]
    if not isinstance(law, Supporting):
        return [(one,) for one in range(law.outputs)]
    cells = range(law.cell_count)
    if len(cells) > 10:
        return []
    every = [
        tuple(cell for cell, named in zip(cells, mask, strict=True) if named)
        for mask in product((0, 1), repeat=len(cells))
    ]
    return [one for one in every if law.size is None or len(one) == law.size]


SMALL = [
    one
    for one in survey_of_everything().questions
    if not one.mechanism.loss.delta and reports(one.report_mechanism.law)
]


@pytest.mark.parametrize("question", SMALL, ids=lambda one: one.name)
def test_no_report_tells_more_than_the_band_and_one_touches_it(question: Any) -> None:
    mechanism = question.report_mechanism
    law, odds = mechanism.law, mechanism.loss.odds_bound
    if isinstance(law, Several) and law.s != 1:
        pytest.skip("its reports are too many")
    first, second = law.extremes
    sampled = isinstance(law, Supporting) and law.both
    found = [
        law.probability(first, report) / law.probability(second, report)
        for report in reports(law)
        if not sampled or len(report) == round(law.sampled_fraction * law.k)
    ]
    least, most = ratios(law, odds)
    near = 1 + Fraction(1, 10**8)  # noise has floating-point probabilities

    assert max(found) <= most * near <= odds * near**2
    assert most <= max(found) * near
    assert least <= min(found) * near
    assert min(found) <= least * near
    for held in (Fraction(1, 100), Fraction(1, 2), Fraction(9, 10)):
        assert after(held, 1 / odds) / near <= after(held, least) <= after(held, most)
        assert after(held, most) <= after(held, odds) * near


def test_a_fault_in_the_shipped_mechanism_moves_the_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that tells the truth: whoever sent the report has the answer."""

    def truthful(self: SubsetSelection, answer: int, coins: Coins) -> tuple[int, ...]:
        return (answer,) if coins.below(50) else (1 - answer,)

    monkeypatch.setattr(SubsetSelection, "randomise", truthful)
    drawn = [row for row in lab.one_report().rows if row.get("drawn") is not None]

    assert drawn
    for row in drawn:
        off = abs(float(row["drawn"] or 0) - float(row["exact"] or 0))
        assert off > 2 * float(row["standard_error"] or 0)


@given(st.fractions(0, 1), st.sampled_from([0, 1]))
def test_a_chance_never_rounds_to_certainty(part: Fraction, places: int) -> None:
    for one in (part, float(part)):
        said = hundred(one, places)
        if said in ("0", "100"):
            assert isinstance(one, Fraction)
            assert 100 * one == int(said)
        elif not said.startswith("nearly"):
            assert 0 < float(said) < 100
            assert float(said) == pytest.approx(float(100 * part), abs=0.5)


def test_what_is_nearly_certain_reads_so_in_the_sentence() -> None:
    """0.9 at odds of e**10: 99.99949 of 100."""
    said = lab.one_report(epsilon=10, prior="9/10").answer.replace("\u202f", " ")
    assert "makes it at most 99.999 % likely" in said
    assert "100.0 of 100" not in lab.coins(truth="99/100", yes="99/100").answer
