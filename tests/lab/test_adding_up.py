"""Adding up: exact composition against high precision, and a formula that promises too much."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import pytest
from mpmath import binomial, exp, mp, mpf

from deniably import lab
from deniably.design.composition import kairouz_epsilon, kairouz_list
from deniably.design.exact_totals import exact_totals
from deniably.lab.catalogue import entries
from deniably.lab.experiment import Experiment
from deniably.lab.experiments.adding_up import textbook
from deniably.simulation.bulk import single_choice
from support.every_type import survey_of_everything
from support.experiments import as_it_comes


@pytest.fixture(scope="module")
def default() -> Experiment:
    return as_it_comes("adding-up")


FALSE, TRUE = "the formula, where it is false", "the formula, where it holds"


def wholes(found: Experiment, what: str) -> dict[int, float]:
    return {int(row["answers"] or 0): float(row["exact"] or 0)
            for row in found.rows if row["what"] == what}  # fmt: skip


def fact(found: Experiment, what: str) -> int | None:
    (row,) = (row for row in found.rows if row["what"] == what)
    answers = row["answers"]
    return None if answers is None else int(answers)


def test_500_answers_of_1(default: Experiment) -> None:
    assert wholes(default, "the sum")[500] == 500
    assert f"{wholes(default, 'exact')[500]:.1f}" == "311.8"
    assert f"{wholes(default, 'zCDP')[500]:.1f}" == "331.6"
    assert f"{wholes(default, 'closed form')[500]:.1f}" == "338.4"
    assert f"{wholes(default, FALSE)[500]:.1f}" == "214.6"
    assert f"{wholes(default, 'the mean loss')[500]:.1f}" == "231.1", "above the formula already"
    (failing,) = wholes(default, "delta of the formula's epsilon").values()
    assert f"{failing:.3f}" == "0.783"


@pytest.mark.parametrize(
    ("k", "epsilon", "whole", "exact"),
    [(100, "1", "100.0", "83.5"), (100, "0.1", "10.00", "4.77"), (10_000, "0.1", "1000", "96.6")],
)
def test_a_million_to_one(k: int, epsilon: str, whole: str, exact: str) -> None:
    found = lab.adding_up(k=k, epsilon=epsilon, delta="1e-6")

    digits = len(exact.partition(".")[2])
    assert f"{wholes(found, 'exact')[k]:.{digits}f}" == exact
    assert wholes(found, "the sum")[k] == pytest.approx(float(whole))


@pytest.mark.parametrize(("epsilon", "answers"), [("1", 68), ("0.1", 19)])
def test_the_exact_figure_saves_a_tenth_from_some_answers_on(epsilon: str, answers: int) -> None:
    found = lab.adding_up(k=100, epsilon=epsilon, delta="1e-6")

    assert fact(found, "exact saves a tenth from") == answers
    each = float(epsilon)
    for k in range(1, 101):
        saves = kairouz_epsilon(k, each, 1e-6) <= 0.9 * k * each
        assert saves == (k >= answers)


@pytest.mark.parametrize(("delta", "from_on", "crossing"), [("1e-4", 74, 73.7), ("1e-5", 93, 92.1)])
def test_where_the_formula_crosses_the_sum(delta: str, from_on: int, crossing: float) -> None:
    assert fact(lab.adding_up(delta=delta), "the formula is below the sum from") == from_on
    assert 8 * log(1 / float(delta)) == pytest.approx(crossing, abs=0.05)


def test_the_exact_epsilon_is_the_theorems_in_sixty_digits() -> None:
    """Kairouz, Oh and Viswanath 2015, theorem 3.3: at each pair, and between two of them."""
    k, (low, high) = 40, (2, 3)
    with mp.workdps(60):

        def delta(i: int) -> Any:
            each = (binomial(k, one) * (exp(mpf(k - one)) - exp(mpf(k - 2 * i + one)))
                    for one in range(i))  # fmt: skip
            return sum(each, mpf(0)) / (1 + exp(mpf(1))) ** k

        for i, (whole, found) in enumerate(kairouz_list(k, 1.0)):
            assert whole == k - 2 * i
            assert found == pytest.approx(float(delta(i)), rel=1e-8)
        ends = float(delta(low)), float(delta(high))
    for one, whole in zip(ends, (k - 2 * low, k - 2 * high), strict=True):
        exact = wholes(lab.adding_up(k=k, delta=f"{one * (1 + 1e-7):.12g}"), "exact")[k]
        assert exact == pytest.approx(whole, abs=1e-5)


@pytest.mark.parametrize(("epsilon", "k"), [("1", 500), ("0.1", 500), ("0.5", 800)])
def test_it_is_red_exactly_where_the_formula_promises_too_much(epsilon: str, k: int) -> None:
    found = lab.adding_up(epsilon=epsilon, k=k)
    exact = wholes(found, "exact")
    red, others = wholes(found, FALSE), wholes(found, TRUE)

    assert red.keys() | others.keys() == exact.keys()
    for n, claimed in {**red, **others}.items():
        assert claimed == textbook(n, float(epsilon), 1e-5)
        assert (claimed < exact[n]) == (n in red)
    first = fact(found, "the formula is false from")
    if first is not None:
        assert first == min(red)
        assert first - 1 in others, "it turns red at the very answer"
    else:
        assert not red


def test_a_survey_is_added_up_as_check_does_it() -> None:
    survey = survey_of_everything()
    (case,) = entries()["adding-up"].cases(survey)
    found = lab.adding_up(**case.given)

    (told,) = exact_totals(survey).rows
    for name, what in (("sum", "the sum"), ("exact", "exact"), ("zcdp", "zCDP")):
        assert wholes(found, what)[14] == told[name]
    assert wholes(found, "exact")[140] < wholes(found, "the sum")[140], "ten times made"


def test_a_fault_in_the_shipped_coins_moves_the_people(
    default: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mechanism that keeps every answer: the loss of everybody is all that there is."""
    (kind,) = (one for one in single_choice.SAMPLERS if one.__name__ == "SubsetSelection")
    shipped: Callable[..., Any] = single_choice.SAMPLERS[kind]

    def honest(mechanism: Any, given: Any) -> Any:
        return shipped(mechanism, given) * 0 + 1

    monkeypatch.setitem(single_choice.SAMPLERS, kind, honest)

    after = lab.adding_up().rows

    (mean,) = (row for row in after if row["what"] == "the mean loss")
    assert mean["exact"] == wholes(default, "the mean loss")[500]
    assert mean["drawn"] == pytest.approx(500)
