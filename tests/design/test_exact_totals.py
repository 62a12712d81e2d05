"""What many answers of one person give away, added up by the sum, exactly, and by zCDP."""

from __future__ import annotations

from fractions import Fraction
from math import log
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import deniably as dn
from deniably.core.loss import Loss
from deniably.design.composition import kairouz_epsilon, zcdp_epsilon
from deniably.design.exact_totals import DELTA, exact_epsilon, exact_totals, rho, total_of
from deniably.mechanisms import SubsetSelection
from deniably.survey.survey import Survey
from deniably_server.commands.authoring import check
from support.every_type import survey_of_everything

NOISY = {
    "name": "v", "type": "vector", "label": "V?", "epsilon": 1, "delta": 0.00001,
    "mechanism": "gaussian",
    "parts": [{"name": one, "label": one, "minimum": 0, "maximum": 10} for one in "abcdefg"],
}  # fmt: skip


def coins(count: int, epsilon: object, **keys: Any) -> Survey:
    """A survey of yes-or-no questions."""
    questions = [
        {"name": f"q{at}", "type": "yes_no", "label": f"Q{at}?", "epsilon": epsilon}
        for at in range(count)
    ]
    return dn.load_survey({"name": "s", "title": "T", "questions": questions, **keys})


@pytest.mark.parametrize(
    ("count", "epsilon", "plain", "exact"),
    [(100, 1, "100.00", "83.54"), (100, 0.1, "10.00", "4.78"), (2, 0.1, "0.20", "0.20")],
)
def test_many_answers_give_away_less_than_the_sum(
    count: int, epsilon: float, plain: str, exact: str
) -> None:
    _, (name, answers, *found) = exact_totals(coins(count, epsilon)).lines

    assert (name, answers) == ("all together", str(count))
    assert found[:2] == [plain, exact]


def test_the_waves_of_a_panel_are_as_many_answers() -> None:
    one, waves = exact_totals(coins(2, 0.1, waves={"panel": "p", "count": 50})).rows

    assert (one["answers"], waves["answers"]) == (2, 100)
    assert one["exact"] == pytest.approx(0.2, rel=1e-4)
    assert waves["exact"] == pytest.approx(kairouz_epsilon(100, 0.1, 1e-6), rel=1e-5)
    assert waves["sum"] == pytest.approx(10)


def test_waves_from_memos_give_away_the_memos_and_no_more() -> None:
    survey = coins(3, 1, waves={"panel": "p"})

    _, waves = exact_totals(survey).rows

    assert waves["answers"] == 3
    assert waves["exact"] == pytest.approx(survey.history.epsilon)
    assert waves["sum"] == pytest.approx(survey.history.epsilon)


def test_of_sampled_questions_those_count_that_give_away_most() -> None:
    weak, strong = (SubsetSelection(2, 1, own, 1) for own in (2, 3))

    found = total_of([weak, strong, weak], count=1)

    assert found.answers == 1
    assert found.exact == pytest.approx(log(3), rel=1e-5)
    assert found.loss.odds == 3


def test_gaussian_noise_adds_its_delta_to_the_exact_total_and_its_rho_to_zcdp() -> None:
    survey = dn.load_survey({"name": "s", "title": "T", "questions": [NOISY]})
    (row,) = exact_totals(survey).rows
    noise: Any = survey.questions[0].mechanism

    assert row["exact"] == pytest.approx(1, rel=1e-5)
    assert row["exact_delta"] == pytest.approx(1.1e-5)
    assert rho(noise) == pytest.approx(100 * 7 / (2 * float(Fraction(noise.sigma2))))
    assert row["zcdp"] == pytest.approx(zcdp_epsilon(rho(noise), 1e-6))
    assert row["zcdp_delta"] == 1e-6


@settings(deadline=None, max_examples=30)
@given(st.lists(st.fractions(Fraction(1, 20), Fraction(3), max_denominator=40), max_size=12))
def test_exact_is_never_above_the_sum_and_never_below_the_largest_loss(
    epsilons: list[Fraction],
) -> None:
    found = exact_epsilon([Loss(exponent=one) for one in epsilons])

    assert found <= float(sum(epsilons)) * (1 + 1e-9)
    # Of one answer the exact epsilon for a delta of 1e-6 is smaller by less than 2e-5 here.
    assert found >= float(max(epsilons, default=Fraction(0))) * (1 - 1e-3)


def test_nothing_was_given_away_by_no_answers() -> None:
    assert exact_epsilon([]) == 0
    assert exact_epsilon([Loss()]) == 0


def test_every_type_of_question_adds_up() -> None:
    survey = survey_of_everything()
    row = exact_totals(survey).rows[0]

    assert row["sum"] == pytest.approx(survey.total.epsilon)
    assert float(str(row["exact"])) <= survey.total.epsilon * (1 + 1e-9)
    assert row["exact_delta"] == pytest.approx(float(survey.total.delta + DELTA))


def test_check_shows_all_three_where_it_is_asked_to(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        "{name: s, title: T, waves: {panel: p, count: 100},"
        " questions: [{name: a, type: yes_no, label: A, epsilon: 0.1}]}"
    )

    plain = CliRunner().invoke(check, [str(file)]).output
    shown = CliRunner().invoke(check, [str(file), "--exact"]).output

    assert "all waves         100  10.00   4.78  5.22" in shown
    assert "Kairouz, Oh and Viswanath (2015)" in shown
    assert "devices count the sum" in shown
    assert "zCDP" not in plain
    assert dn.check_survey(file).exact.rows[1]["exact"] == pytest.approx(4.775, abs=5e-4)
