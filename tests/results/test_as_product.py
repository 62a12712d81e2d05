"""What two questions of a cross-table would have told as one product question: it is compared with
a product question that the same people answer."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest

from deniably.authoring.compiling import compile_survey
from deniably.estimation.tally import tally
from deniably.results.as_product import AsProduct, as_product
from deniably.results.crosstabs import CrosstabResult, crosstab_result
from deniably.results.document import ProductResult
from deniably.results.result import result
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from support.seeded import seeded_coins

CHOICES = {"stolen": ["Never", "Once", "Often"], "caught": ["No", "Yes", "Nearly", "Twice"]}
PEOPLE = [
    {"stolen": "never", "caught": "no"} if place % 4 else {"stolen": "once", "caught": "nearly"}
    for place in range(1000)
]


def apart(epsilon: float, **rest: Any) -> Survey:
    questions = [
        {"name": name, "type": "select_one", "label": f"{name}?", "epsilon": epsilon,
         "choices": choices}
        for name, choices in CHOICES.items()
    ]  # fmt: skip
    return compile_survey({"name": "apart", "title": "Apart", "questions": questions} | rest)


def crossed(survey: Survey, people: list[dict[str, str]]) -> CrosstabResult:
    coins = seeded_coins(5)
    reports = [randomise_answers(survey, person, coins) for person in people]
    rows = [[report.values.get(name) for name in CHOICES] for report in reports]
    return crosstab_result(survey, [0, 1], [rows], 0.95)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.5])
def test_a_product_question_is_as_precise_as_is_said(epsilon: float) -> None:
    parts = [{"name": name, "label": name, "choices": some} for name, some in CHOICES.items()]
    both = {"name": "both", "type": "product", "label": "Both", "epsilon": 2 * epsilon,
            "parts": parts}  # fmt: skip
    product = compile_survey({"name": "joint", "title": "Joint", "questions": [both]})
    survey = apart(epsilon)

    said = as_product(survey, [0, 1], crossed(survey, PEOPLE))

    coins = seeded_coins(6)
    values = [randomise_answers(product, {"both": one}, coins).values["both"] for one in PEOPLE]
    (question,) = product.questions
    reports = {"both": tally(values, question.mechanism.law.cell_count)}
    (found,) = result(product, "closed", reports).questions
    assert isinstance(found, ProductResult)
    assert said is not None
    pair = 1.96 * median(one.standard_error for one in found.cells)
    alone = 1.96 * median(one.standard_error for part in found.parts for one in part.choices)
    assert said.pair[1] == pytest.approx(pair, rel=0.12)
    assert said.alone[1] == pytest.approx(alone, rel=0.12)
    assert said.pair[1] <= 0.75 * said.pair[0]
    assert said.epsilon == f"{2 * epsilon:.2f}"


def test_the_sentence_has_the_numbers_and_says_what_is_lost() -> None:
    gains = AsProduct("2.00", (0.123, 0.051), (0.09, 0.06))
    loses = AsProduct("2.00", (0.123, 0.051), (0.05, 0.08))
    same = AsProduct("2.00", (0.123, 0.051), (0.0499, 0.0501))

    assert gains.sentence == (
        "Asked as one product question with the same epsilon in all (2.00), as many people would"
        " tell the share of a pair to about ±5 points instead of ±12, and each answer alone to ±6"
        " instead of ±9."
    )
    assert loses.sentence.endswith("but each answer alone to ±8 instead of ±5.")
    assert same.sentence.endswith("and each answer alone to ±5, as now.")


def test_nothing_is_said_where_it_would_not_be_worth_it() -> None:
    """With much epsilon both ways tell all that there is."""
    survey = apart(5.5)

    assert as_product(survey, [0, 1], crossed(survey, PEOPLE)) is None


@pytest.mark.parametrize(
    "rest",
    [
        {"waves": {"panel": "home"}},
        {"ask": 2},
        {"questions": "asked only of some"},
        {"questions": "scale"},
    ],
    ids=["waves", "a draw of questions", "a condition", "a scale"],
)
def test_nothing_is_said_of_questions_that_could_not_be_one(rest: dict[str, Any]) -> None:
    usual = [
        {"name": name, "type": "select_one", "label": f"{name}?", "epsilon": 1, "choices": some}
        for name, some in CHOICES.items()
    ]
    third = {"name": "third", "type": "yes_no", "label": "Third?", "epsilon": 1}
    if "ask" in rest:
        rest = {"budget": {"epsilon": 2, "spend": "sample", "ask": 2}, "questions": [
            {key: value for key, value in one.items() if key != "epsilon"}
            for one in [*usual, third]
        ]}  # fmt: skip
    if rest.get("questions") == "asked only of some":
        rest = {"questions": [usual[0], usual[1] | {
            "show_if": {"question": "stolen", "is": ["once"]}}]}  # fmt: skip
    if rest.get("questions") == "scale":
        rest = {"questions": [usual[0], usual[1] | {"type": "scale", "aim": "distribution"}]}
    survey = apart(1.0, **rest)
    people = PEOPLE
    if len(survey.questions) == 3:
        people = [person | {"third": "no"} for person in PEOPLE]

    assert as_product(survey, [0, 1], crossed(survey, people)) is None
