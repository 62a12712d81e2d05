"""What published counts give away to people who see nothing else, with its limits."""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import Any

import pytest

import deniably as dn
from deniably.design.composition import AnswerPair
from deniably.design.release_of_counts import DELTA, counts_alone, two_digits_up
from deniably.design.shuffle import Clones, binary_delta, binary_epsilon, shuffled_epsilon
from deniably.survey.survey import Survey

YES_NO = {"type": "yes_no", "odds": 3}
FIVE = {"type": "select_one", "choices": list("abcde"), "epsilon": 1}
NOISY = {
    "type": "number", "minimum": 0, "maximum": 9, "mechanism": "gaussian", "epsilon": 1,
    "delta": 0.00001,
}  # fmt: skip


def survey(question: dict[str, Any], **keys: Any) -> Survey:
    asked = {"name": "q", "label": "Q?", **question}
    return dn.load_survey({"name": "s", "title": "T", "questions": [asked], **keys})


def epsilon(question: dict[str, Any], n: int) -> float:
    of = survey(question)
    found = counts_alone(of, of.questions[0], n)
    assert found is not None
    return found.epsilon


def test_two_coins_and_2584_people_keep_what_a_curator_promises() -> None:
    """The example of a textbook, whose curator adds Gaussian noise for (0.1, 1e-4)."""
    found = epsilon(YES_NO, 2584)

    assert two_digits_up(found) == "0.084"
    assert found == pytest.approx(binary_epsilon(2584, log(3), float(DELTA)), rel=1e-6)
    assert binary_delta(2584, log(3), found) <= float(DELTA) * (1 + 1e-5)


def test_more_people_hide_better_and_no_crowd_is_worse_than_a_report() -> None:
    found = [epsilon(YES_NO, n) for n in (100, 300, 1000, 3000, 100_000)]

    assert found == sorted(found, reverse=True)
    assert found[0] < log(3)


@pytest.mark.parametrize(
    ("question", "clones"),
    [
        (FIVE, Clones.of(AnswerPair(1.0))),
        ({"type": "yes_no", "mechanism": "rappor"}, Clones.any(1.0)),
        ({"type": "number", "minimum": 0, "maximum": 9}, Clones.any(1.0)),
    ],
)
def test_other_mechanisms_have_the_figure_of_their_clones(
    question: dict[str, Any], clones: Clones
) -> None:
    found = epsilon({"epsilon": 1, **question}, 5000)

    assert found == pytest.approx(shuffled_epsilon(clones, 5000, float(DELTA)), rel=1e-4)


def test_it_is_said_where_the_worst_case_is_not_proved() -> None:
    of = survey(YES_NO)
    few, many = (counts_alone(of, of.questions[0], n) for n in (1000, 1001))

    assert few is not None
    assert many is not None
    assert "was searched, not proved" not in few.sentence
    assert "was searched, not proved" in many.sentence


@pytest.mark.parametrize(("n", "chance"), [(10_000, "a million"), (10_001, "10,000,000")])
def test_the_chance_that_is_left_is_far_below_one_person(n: int, chance: str) -> None:
    """With a delta near 1/n the answers of a few people might be published: see ``delta_rule``."""
    of = survey(YES_NO)
    found = counts_alone(of, of.questions[0], n)
    assert found is not None

    assert f"but for a chance of one in {chance}." in found.sentence
    assert 100 * n * found.delta <= 1
    assert binary_delta(n, log(3), found.epsilon) <= found.delta * (1 + Fraction(1, 10**5))


def test_the_sentence_says_who_is_meant_and_who_not() -> None:
    of = survey(YES_NO)
    found = counts_alone(of, of.questions[0], 800)
    assert found is not None

    for part in (
        "sees only the counts of this question, and no report",
        "among 800 honest reports in hidden order",
        "against it epsilon 1.10 holds",
        "Fake reports hide nobody",
        "several questions and waves add up",
        "tables of questions together are not covered",
    ):
        assert part in found.sentence


def test_nothing_is_said_where_results_are_watched_as_they_grow() -> None:
    """Two views of them differ by one batch, in which few people hide."""
    of = survey(YES_NO, results={"minimum": 50, "while_open": True})

    assert counts_alone(of, of.questions[0], 5000) is None


@pytest.mark.parametrize(("question", "n"), [(NOISY, 5000), (YES_NO, 10), (YES_NO, 0)])
def test_nothing_is_said_of_few_people_and_of_noise_with_a_delta(
    question: dict[str, Any], n: int
) -> None:
    of = survey(question)

    assert counts_alone(of, of.questions[0], n) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0838, "0.084"), (1.0, "1.0"), (0.1, "0.10"), (0.00101, "0.0011"), (12.3, "13")],
)
def test_a_figure_is_rounded_up(value: float, text: str) -> None:
    assert two_digits_up(value) == text
