"""The published definition: what a device may trust, decided exactly."""

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import combinations
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring.compiling import publish_text
from deniably.core.errors import BadSurvey
from deniably.core.loss import Loss, largest
from deniably.survey.survey import read_survey
from support.cases import for_each

DEFINITION = publish_text(
    """
name: s
title: T
questions:
  - {name: a, type: yes_no, label: A, epsilon: 1}
  - {name: b, type: select_one, label: B, choices: [x, y, z], odds: 13/7}
"""
)


def changed(change: Callable[[Any], object]) -> bytes:
    value = json.loads(DEFINITION.canonical)
    change(value)
    return json.dumps(value).encode()


@for_each(
    ("change", "why"),
    [
        (lambda d: d.update(spec=2), "spec"),
        (lambda d: d.update(x=1), "x"),
        (lambda d: d.pop("title"), "title"),
        (lambda d: d.update(name="A"), "name"),
        (lambda d: d["questions"].clear(), "questions"),
        (lambda d: d["questions"].append(d["questions"][0]), "given twice"),
        (lambda d: d["questions"][0].update(type="text"), "type"),
        (lambda d: d["questions"][0]["choices"].reverse(), "yes and no"),
        (lambda d: d["questions"][0]["choices"].pop(), "length >= 2"),
        (lambda d: d["questions"][1]["choices"].pop(), "k is 3 but the question has 2"),
        (lambda d: d["questions"][1]["choices"].append({"name": "x", "label": "X"}), "given twice"),
        (lambda d: d["questions"][0].pop("claim"), "claim"),
        (lambda d: d["questions"][0].update(claim={}), "either"),
        (lambda d: d["questions"][0].update(claim={"epsilon": "1", "odds": "3"}), "either"),
        (lambda d: d["questions"][0].update(claim={"epsilon": "1.0"}), "'1.0' as a plain decimal"),
        (lambda d: d["questions"][0].update(claim={"epsilon": "1e0"}), "'1e0' as a plain decimal"),
        (
            lambda d: d["questions"][0].update(claim={"epsilon": "0.999"}),
            "epsilon 1.00 and delta 0: larger odds",
        ),
        (lambda d: d["questions"][0].update(claim={"epsilon": "11"}), "is 11; use 0.01 to 10"),
        (
            lambda d: d["questions"][1].update(claim={"odds": "26/14"}),
            "26/14 in lowest terms: 13/7",
        ),
        (lambda d: d["questions"][1].update(claim={"odds": "12/7"}), "larger odds"),
        (lambda d: d["questions"][1].update(claim={"odds": "22027"}), "are 22027; they .* e^10"),
        (lambda d: d["questions"][1].update(claim={"odds": "x"}), "odds 'x' as an integer"),
        (lambda d: d.update(ask=2), "ask is 2; of 2 questions it must be from 1 to 1"),
        (lambda d: d["questions"][0]["mechanism"].update(name="shuffle"), "no such mechanism"),
        (lambda d: d["questions"][0]["mechanism"].update(own=11674931555), "larger odds"),
        (lambda d: d["questions"][0]["mechanism"].update(own=1.5), "own"),
        (lambda d: d["questions"][0]["mechanism"].update(own=True), "own"),
        (lambda d: d["questions"][0]["mechanism"].update(omega=2), "omega"),
        (lambda d: d["results"].update(minimum=0), "minimum"),
        (lambda d: d["results"].update(while_open=1), "while_open"),
    ],
)
def test_a_definition_that_breaks_the_specification_is_refused(
    change: Callable[[Any], object], why: str
) -> None:
    with pytest.raises(BadSurvey, match=why.replace("^", r"\^")):
        read_survey(changed(change))


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"null", b"{", b"\xff", b'{"a":1,"a":2}', b"1e5", b"[" * 9999]
)
def test_what_is_no_definition_is_refused(text: bytes) -> None:
    with pytest.raises(BadSurvey):
        read_survey(text)


def test_the_digest_is_over_the_content_and_not_its_spelling() -> None:
    assert read_survey(changed(lambda d: d)).digest == DEFINITION.digest
    assert read_survey(changed(lambda d: d.update(title="U"))).digest != DEFINITION.digest


def test_the_total_is_the_product_of_the_odds() -> None:
    assert DEFINITION.total.odds == Fraction(11674931554, 1 << 32) * Fraction(13, 7)


@given(st.fractions("1.01", 10**6, max_denominator=10**6))
def test_a_printed_epsilon_is_never_too_small(odds: Fraction) -> None:
    exact = Decimal(odds.numerator).ln() - Decimal(odds.denominator).ln()

    assert exact <= Decimal(Loss(odds).epsilon_text()) <= exact + Decimal("0.0101")


def test_a_rational_epsilon_is_printed_as_it_is() -> None:
    assert Loss(exponent=Fraction(1)).epsilon_text() == "1.00"
    assert Loss(exponent=Fraction(1001, 1000)).epsilon_text() == "1.01"


# What any drawing of some questions gives away -----------------------------------------------

LOSSES = st.builds(
    Loss,
    st.fractions(min_value=1, max_value=9, max_denominator=9),
    st.fractions(min_value=0, max_value=2, max_denominator=9),
    st.sampled_from([Fraction(0), Fraction(1, 10**6), Fraction(1, 10**5)]),
)


@given(st.lists(LOSSES, min_size=1, max_size=5), st.data())
def test_whichever_questions_are_drawn_the_total_covers_them(
    losses: list[Loss], data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, len(losses)))

    total = largest(losses, count)

    for drawn in combinations(losses, count):
        given_away = reduce(add, drawn)
        assert not total < given_away
        assert total.delta >= given_away.delta


def test_a_delta_is_not_hidden_behind_larger_odds() -> None:
    pure, gaussian = Loss(Fraction(9)), Loss(exponent=Fraction(1), delta=Fraction(1, 10**5))

    assert largest([pure, gaussian], 1) == Loss(Fraction(9), delta=Fraction(1, 10**5))
