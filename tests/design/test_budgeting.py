"""A budget is spent in the way with the least variance, and never overspent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.authoring.compiling import compile_survey, compile_with_notes, measure
from deniably.authoring.written import WrittenSelectMultiple, WrittenSelectOne, WrittenYesNo
from deniably.core.errors import BadSurvey
from deniably.design.budgeting import in_one_report, part, sample, split
from deniably.design.named_mechanisms import for_choice
from deniably.estimation.variances import share_variance
from deniably.mechanisms import SubsetSelection
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Product
from deniably.survey.survey import read_survey

YES_NO: dict[str, Any] = {"type": "yes_no"}
PART = {"name": "a", "label": "A", "minimum": 0, "maximum": 10}
PARTS = [PART, PART | {"name": "b", "label": "B"}]


def budgeted(spend: dict[str, Any], *questions: dict[str, Any]) -> Any:
    asked = [{"name": f"q{i}", "label": "Q?"} | q for i, q in enumerate(questions)]
    return {"name": "s", "title": "T", "budget": spend, "questions": asked}


def of_choice(k: int) -> Callable[[Privacy], float]:
    def variance(privacy: Privacy) -> float:
        mechanism = for_choice(k, privacy)
        assert isinstance(mechanism, SubsetSelection)
        return share_variance(mechanism, 0.3)

    return variance


def problems(document: Any) -> list[tuple[str, str]]:
    with pytest.raises(BadSurvey) as refused:
        compile_survey(document)
    return [(problem.path, problem.why) for problem in refused.value.problems]


def test_each_part_is_rounded_down() -> None:
    assert part(Fraction(1), 3) == Fraction(333333, 10**6)
    assert part(Fraction(2), 4) == Fraction(1, 2)
    with pytest.raises(ValueError, match=r"epsilon 0\.009 to each"):
        part(Fraction(9, 100), 10)


@pytest.mark.parametrize(
    ("d", "k", "epsilon", "whole", "one", "some"),
    [(5, 5, 1, 64.8, 13.4, 13.4), (5, 5, 8, 0.95, 1.05, 0.62), (10, 2, 1, 100, 11.3, 11.3)],
)
def test_many_questions_have_their_known_variances(
    d: int, k: int, epsilon: int, whole: float, one: float, some: float
) -> None:
    total = Fraction(epsilon)

    assert split(total, d, of_choice(k)).variance == pytest.approx(whole, rel=0.02)
    assert sample(total, d, of_choice(k), 1).variance == pytest.approx(one, rel=0.02)
    assert sample(total, d, of_choice(k)).variance == pytest.approx(some, rel=0.02)


def test_who_is_asked_less_often_is_counted_so() -> None:
    """With s of d questions each is answered by n s/d people: d/s times the variance."""
    alone = of_choice(3)(Privacy(epsilon=Fraction(1)))

    assert sample(Fraction(2), 6, of_choice(3), 2).variance == pytest.approx(3 * alone)


def test_the_number_of_questions_is_the_best_of_all() -> None:
    """The search ends early; in mixtures of very different questions it misses nothing."""
    pick = Random(7)

    def choices(k: int) -> tuple[str, ...]:
        return tuple(f"c{i}" for i in range(k))

    kinds = [
        WrittenYesNo(name="q", label="Q?"),
        *(WrittenSelectOne(name="q", label="Q?", choices=choices(k)) for k in (3, 30, 300)),
        WrittenSelectMultiple(name="q", label="Q?", choices=choices(8), most=2),
    ]

    @cache
    def alone(kind: int, privacy: Privacy) -> float:
        return measure(kinds[kind], privacy)

    for _ in range(25):
        questions = pick.choices(range(len(kinds)), k=pick.choice([2, 5, 9, 14]))
        epsilon = Fraction(pick.choice(["0.5", "2", "5", "10"]))

        def variance(privacy: Privacy, questions: Sequence[int] = questions) -> float:
            return sum(alone(one, privacy) for one in questions) / len(questions)

        every = [
            sample(epsilon, len(questions), variance, s).variance for s in range(1, len(questions))
        ]
        found = sample(epsilon, len(questions), variance).variance
        assert found == pytest.approx(min(every), rel=1e-12)


@pytest.mark.parametrize(
    ("sizes", "epsilon", "best"), [((5, 100) * 3, 10, 4), ((1000,) * 16, 9, 3)]
)
def test_one_worse_number_of_questions_does_not_end_the_search(
    sizes: tuple[int, ...], epsilon: int, best: int
) -> None:
    """A subset's size is a whole number, so the variance can rise once before it falls again."""

    def variance(privacy: Privacy) -> float:
        return sum(of_choice(k)(privacy) for k in sizes) / len(sizes)

    def asking(s: int) -> float:
        return sample(Fraction(epsilon), len(sizes), variance, s).variance

    assert any(asking(s) > asking(s - 1) for s in range(2, best))
    assert sample(Fraction(epsilon), len(sizes), variance).ask == best


def test_questions_with_too_many_combinations_are_not_put_together() -> None:
    assert in_one_report(Fraction(4), [2] * 8) is not None
    assert in_one_report(Fraction(4), [2] * 9) is None, "a product has up to 8 parts"
    assert in_one_report(Fraction(4), [32, 33]) is None, "and up to 1024 combinations"
    assert in_one_report(Fraction(4), [2]) is None


@pytest.mark.parametrize("key", ["hint", "short"])
def test_what_the_parts_of_a_product_lack_is_not_lost_in_one(key: str) -> None:
    """They have no hints and no short labels, so questions that have one stay on their own."""
    joint = compile_survey(budgeted({"epsilon": 4}, YES_NO, YES_NO))
    apart = compile_survey(budgeted({"epsilon": 4}, YES_NO | {key: "Ever."}, YES_NO))

    assert isinstance(joint.questions[0], Product)
    assert getattr(apart.questions[0], key) == "Ever."


def test_a_single_question_gets_all_of_it() -> None:
    survey, (note,) = compile_with_notes(budgeted({"epsilon": 2}, YES_NO))

    assert survey.questions[0].claim.epsilon == "2"
    assert note.startswith("Everybody answers the one question with epsilon 2.")


def test_a_question_that_cannot_be_asked_is_named() -> None:
    bad = {"type": "number", "minimum": 0, "maximum": 9, "mechanism": "oue"}
    for spend in ("auto", "split", "sample"):
        ((path, why),) = problems(budgeted({"epsilon": 1, "spend": spend}, YES_NO, bad))
        assert path == "$.questions[1]"
        assert "oue is no mechanism for a mean" in why


def test_a_way_that_is_too_thin_for_one_question_leaves_the_others() -> None:
    """Split, each of 50 questions would have less than epsilon 0.01; sampled they have more."""
    survey, _ = compile_with_notes(budgeted({"epsilon": 0.3}, *[YES_NO] * 50))

    assert survey.ask == 1


@pytest.mark.parametrize("spend", ["split", "auto"])
def test_a_number_of_questions_goes_with_sampling(spend: str) -> None:
    ((path, why),) = problems(budgeted({"epsilon": 1, "spend": spend, "ask": 1}, YES_NO, YES_NO))

    assert path == "$.budget.ask"
    assert "spend: sample" in why
    assert compile_survey(budgeted({"epsilon": 1, "ask": 1}, YES_NO, YES_NO)).ask == 1


QUESTIONS = st.lists(
    st.sampled_from(
        [
            YES_NO,
            YES_NO | {"also": ["dont_know"]},
            {"type": "select_one", "choices": list("abcdefg"), "mechanism": "oue"},
            {"type": "select_multiple", "choices": list("abcd"), "most": 2},
            {"type": "select_multiple", "choices": list("abcd"), "mechanism": "rappor"},
            {"type": "scale", "choices": list("abcde")},
            {"type": "number", "minimum": 0, "maximum": 10, "mechanism": "laplace"},
            {"type": "number", "minimum": 0, "maximum": 9, "aim": "distribution"},
            {"type": "vector", "parts": PARTS, "mechanism": "laplace"},
            {"type": "point", "parts": PARTS},
        ]
    ),
    min_size=2,
    max_size=5,
)


@settings(deadline=None, max_examples=40)
@given(
    QUESTIONS,
    st.fractions(min_value="1/5", max_value=10, max_denominator=1000),
    st.sampled_from(["auto", "split", "sample"]),
)
def test_whatever_is_made_is_verified_and_within_the_budget(
    questions: list[dict[str, Any]], epsilon: Fraction, spend: str
) -> None:
    budget = round(float(epsilon), 4)
    survey = compile_survey(budgeted({"epsilon": budget, "spend": spend}, *questions))

    assert survey.total.at_most_epsilon(Fraction(str(budget)))
    assert not survey.total.delta
    assert read_survey(survey.canonical) == survey, "a device verifies it from its bytes"
    for question in survey.questions:
        assert question.claim.covers(question.mechanism.loss)
