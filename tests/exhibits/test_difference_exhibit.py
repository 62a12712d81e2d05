"""What is drawn and said of differences, and what is not."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.exhibits.difference_exhibit import (
    difference_rows,
    family,
    finding,
    forest,
    numbers,
    statement,
)
from deniably.results.differences import AdjustedResult, DifferencesResult
from deniably.results.drawing import rounding


def one(first: str, second: str, estimate: float, adjusted: float) -> AdjustedResult:
    half = 0.05
    return {
        "compared": f"“{first}” and “{second}”",
        "names": [first.lower(), second.lower()],
        "labels": [first, second],
        "estimate": estimate,
        "standard_error": half / 1.96,
        "confidence": 0.95,
        "interval": [estimate - half, estimate + half],
        "interval_80": [estimate - 0.6 * half, estimate + 0.6 * half],
        "interval_50": [estimate - 0.3 * half, estimate + 0.3 * half],
        "p_value": adjusted / 3,
        "adjusted_p_value": adjusted,
        "sentence": "",
        "note": None,
    }


def of(*differences: AdjustedResult) -> DifferencesResult:
    return {
        "survey": "s",
        "question": "How often?",
        "question_name": "often",
        "strata": {},
        "other": None,
        "n": 900,
        "confidence": 0.95,
        "adjustment": "Holm 1979",
        "differences": list(differences),
    }


CLEAR = of(one("A", "B", -0.20, 0.001), one("A", "C", 0.01, 0.9), one("B", "C", 0.21, 0.002))


def drawn(found: DifferencesResult) -> list[str]:
    return re.findall(r"<tr role=\"row\".*?</tr>", forest(found).html().source.split("<tbody")[1])


def test_differences_are_sorted_by_size_the_larger_share_over_the_smaller() -> None:
    rows = drawn(CLEAR)

    labels = [re.findall(r'scope="row">(.*?)</th>', row)[0] for row in rows]
    assert labels == ["B over C", "B over A", "A over C"]
    values = [unescape(re.findall(r'class="v">(.*?)</td>', row)[0]) for row in rows]
    assert values == ["+21", "+20", "+1"]
    assert "15 to +25" in rows[1]


def test_what_is_not_shown_to_differ_is_grey_and_open() -> None:
    kinds = ['class="n"' in row for row in drawn(CLEAR)]
    dots = ['class="d o"' in row for row in drawn(CLEAR)]

    assert kinds == dots == [False, False, True]


def test_the_sentences_name_who_leads_and_who_cannot_be_told_apart() -> None:
    assert finding(CLEAR) == "“B” is more frequent than every other answer."
    assert statement(CLEAR) == (
        "2 of 3 pairs of answers differ by more than chance explains; “A” and “C” cannot be told"
        " apart."
    )
    two = of(one("A", "B", 0.2, 0.001), one("A", "C", 0.01, 0.9), one("B", "C", -0.21, 0.002))
    assert finding(two) == "“A” and “C” lead over all others; which of them is in front is open."
    none = of(*({**each, "adjusted_p_value": 0.3} for each in CLEAR["differences"]))
    assert finding(none) == "No answer is clearly in front."
    assert statement(none) == "None of these pairs of answers can be told apart."


def test_who_is_ahead_of_some_only_does_not_lead() -> None:
    some = of(one("A", "B", 0.2, 0.001), one("A", "C", 0.1, 0.4), one("B", "C", -0.1, 0.4))
    three = of(
        one("A", "B", 0.2, 0.001), one("A", "C", 0.1, 0.9), one("B", "C", -0.1, 0.9),
        one("A", "D", 0.1, 0.9), one("B", "D", -0.1, 0.9), one("C", "D", 0.3, 0.01),
    )  # fmt: skip

    assert finding(three) == "No answer is clearly in front."
    # C is not shown to be below A, nor above B.
    assert finding(some) == "No answer is clearly in front."


@given(st.lists(st.tuples(st.floats(-0.9, 0.9), st.floats(0, 1)), min_size=3, max_size=3))
def test_nothing_that_cannot_be_told_apart_is_called_equal_and_all_figures_agree(
    drawn_ones: list[tuple[float, float]],
) -> None:
    pairs = [("A", "B"), ("A", "C"), ("B", "C")]
    found = of(*(one(*pair, *drawn) for pair, drawn in zip(pairs, drawn_ones, strict=True)))

    texts = " ".join([statement(found), finding(found), unescape(forest(found).html().source)])

    assert "equal" not in texts
    for row, figures in zip(drawn(found), numbers(found), strict=True):
        value = unescape(re.findall(r'class="v">(.*?)</td>', row)[0])
        printed = float(figures[1].replace(rounding.MINUS, "-"))
        assert abs(float(value.replace(rounding.MINUS, "-")) - printed) <= 0.551
    for row, each in zip(difference_rows(found), found["differences"], strict=True):
        assert row["estimate"] == each["estimate"], "the CSV keeps order, sign and digits"


@pytest.mark.parametrize("adjusted", [0.001, 0.4])
def test_one_difference_is_said_without_talk_of_many(adjusted: float) -> None:
    said = statement(of(one("Yes", "No", 0.3, adjusted)))

    assert said == f"“Yes” and “No” {'differ' if adjusted < 0.05 else 'cannot be told apart'}."


def test_a_difference_that_would_be_shown_alone_is_said_to_be_lost_among_many_tests() -> None:
    """Else its interval, which leaves out 0, seems to say the contrary of its open dot."""
    alone = of(one("A", "B", -0.20, 0.001), one("A", "C", 0.06, 0.09), one("B", "C", 0.21, 0.002))

    assert "Tested alone, “A” and “C” would differ, too" in family(alone)
    assert "among 3 tests this can be chance" in family(alone)
    assert "Tested alone" not in family(CLEAR)
    assert family(of(one("A", "B", 0.06, 0.09))) == ""
