"""True or false: every verdict again, by another way of computing it."""

from __future__ import annotations

import re
from itertools import product
from math import exp, inf, log, sqrt
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import integrate

from deniably import lab
from deniably.lab.catalogue import entries
from deniably.lab.curator import ClassicalGaussNoise, LaplaceNoise
from deniably.lab.experiments.true_or_false import STATEMENTS
from deniably.lab.picture import DrawnRow, value
from deniably.mechanisms import SubsetSelection

FOUND = lab.true_or_false()
ROWS = [row for row in FOUND.rows if row["what"] == "statement"]
QUESTIONS = [row for row in FOUND.rows if row["what"] == "question"]


def statement(number: int) -> DrawnRow:
    return ROWS[number - 1]


def test_of_13_statements_4_are_true_and_each_is_shown_by_an_experiment() -> None:
    assert [row["number"] for row in ROWS if row["verdict"] == "true"] == [4, 6, 8, 11]
    assert len(ROWS) == len(STATEMENTS) == 13
    assert len(QUESTIONS) == 5
    assert {row["see"] for row in (*ROWS, *QUESTIONS)} <= set(entries())
    for row, note in zip((*ROWS, *QUESTIONS), FOUND.notes, strict=True):
        assert str(row["statement"]) in note


def test_1_odds_of_three_are_the_logarithm_of_3() -> None:
    assert (statement(1)["said"], f"{value(statement(1), 'exact'):.4f}") == (3, "1.0986")
    assert "20.1" in str(statement(1)["because"])


def test_2_a_density_has_the_area_1_and_the_one_that_is_said_has_not() -> None:
    found, _ = integrate.quad(lambda x: exp(-abs(x)) / 2, -inf, inf)

    assert found == pytest.approx(1)
    assert value(statement(2), "exact") == pytest.approx(exp(-2) / 2)
    assert value(statement(2), "said") == pytest.approx(exp(2) / 2)


def test_3_a_quarter_reports_no_by_every_way_two_coins_fall() -> None:
    falls = [truth or second for truth, second in product((True, False), repeat=2)]

    assert value(statement(3), "exact") == falls.count(False) / len(falls) == 0.25


def test_4_a_thousand_reports_have_twenty_times_the_noise() -> None:
    p = exp(1) / (1 + exp(1))
    deviation = sqrt(1000 * p * (1 - p)) / (2 * p - 1)

    assert value(statement(4), "exact") == pytest.approx(deviation, rel=1e-6)
    assert deviation > 20 * sqrt(2)


def test_5_10e_minus_5_is_a_ten_thousandth_and_was_the_seed_of_34_66() -> None:
    assert value(statement(5), "exact") == pytest.approx(10 * 10**-5)
    off = [sqrt(2 / np.pi) * 10 * sqrt(2 * log(1.25 / delta)) for delta in (1e-4, 1e-5)]
    assert [f"{one:.2f}" for one in off] == ["34.66", "38.66"]
    assert all(f"{one:.2f}" in str(statement(5)["because"]) for one in off)
    assert ClassicalGaussNoise(0.1, 1e-4).noise(1).mean_distance == pytest.approx(off[0])


def test_6_the_variance_goes_with_the_square_of_the_sensitivity() -> None:
    assert value(statement(6), "exact") == pytest.approx(9)


def test_7_500_answers_give_away_311_8_and_not_214_6() -> None:
    """At 214.6 the loss is above it more often than not: its mean is 231.1."""
    assert (f"{value(statement(7), 'exact'):.1f}", statement(7)["said"]) == ("311.8", 214.6)
    assert "0.783" in str(statement(7)["because"])
    assert "214.6" in str(statement(7)["statement"])
    with mpmath.workdps(60):
        p, bound = mpmath.e / (1 + mpmath.e), mpmath.mpf("214.6")
        delta = mpmath.fsum(
            mpmath.binomial(500, k) * p**k * (1 - p) ** (500 - k)
            * max(0, 1 - mpmath.exp(bound - (2 * k - 500)))
            for k in range(501)
        )  # fmt: skip
    assert f"{float(delta):.3f}" == "0.783"


def test_8_the_proved_theorem_is_better_from_24_answers_of_a_tenth_and_never_at_1() -> None:
    def proved(k: int, epsilon: float) -> float:
        return epsilon * sqrt(2 * k * log(1e4)) + k * epsilon * (exp(epsilon) - 1)

    assert next(k for k in range(1, 100) if proved(k, 0.1) < 0.1 * k) == 24
    assert value(statement(8), "exact") == 24
    assert all(proved(k, 1.0) > k for k in range(1, 10_000))
    assert "1.72 times" in str(statement(8)["because"])


def test_9_every_report_is_bounded_and_all_of_them_together_are_not() -> None:
    assert value(statement(9), "exact") == pytest.approx(1), "for the set of all its reports"
    assert value(statement(9), "said") == 1 / 100, "for each of a hundred"


def test_10_gaussian_noise_is_beyond_its_epsilon_16_times_as_often_as_delta() -> None:
    assert f"{value(statement(10), 'exact'):.1e}" == "1.6e-04"


def test_11_a_draw_is_above_as_often_as_below() -> None:
    below, _ = integrate.quad(lambda x: float(LaplaceNoise(0.1).noise(1).density(x)), -200, 0)

    assert value(statement(11), "exact") == pytest.approx(below, abs=1e-6) == 0.5


def test_12_test_and_release_add_up() -> None:
    assert (statement(12)["said"], statement(12)["exact"]) == (1, 2)


def test_13_noise_that_is_drawn_again_loses_1_49() -> None:
    """A true count of 0 is drawn again half of the time, and one of 1 less often."""
    kept = 0.5, 1 - exp(-1) / 2

    assert value(statement(13), "exact") == pytest.approx(1 + log(kept[1] / kept[0]))
    assert f"{value(statement(13), 'exact'):.2f}" == "1.49"


def test_five_questions_are_answered_by_what_is_computed() -> None:
    sensitive, depends, stronger, called, many = QUESTIONS

    assert sensitive["exact"] == 1
    assert depends["exact"] == 2
    assert "On the sensitivity and epsilon; not on how many" in str(depends["because"])
    assert value(stronger, "exact") == pytest.approx((exp(1) - exp(0.5)) / (1 + exp(1)))
    assert value(called, "exact") <= 1e-15
    assert "normal distribution" in str(called["because"])
    assert many["exact"] == 7
    assert re.search(r"3\.73, not 1\.41", str(many["because"]))
    assert re.search(r"118, not 1,414", str(many["because"]))


def test_a_fault_in_the_shipped_mechanism_turns_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts: list[Any] = []
    for odds in (3.0, exp(3)):
        loss = type("Loss", (), {"epsilon": log(odds)})()
        with monkeypatch.context() as patched:
            patched.setattr(SubsetSelection, "loss", loss)
            verdicts.append(STATEMENTS[0].judged(1)["verdict"])

    assert verdicts == ["false", "true"]


def test_names_fit_beside_their_numbers_on_a_phone() -> None:
    assert max(len(one.name) for one in STATEMENTS) <= 20
