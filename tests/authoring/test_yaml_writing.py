"""What is written as YAML is read back as the very same, whatever the texts are."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring.documents import LONGEST_NUMBER, load
from deniably.authoring.yaml_writing import to_yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
LOOK_ALIKES = st.sampled_from(
    ["", "~", "null", "Yes", "no", "true", "False", "0", "-1", "007", "1_000", "0o17", "1e3",
     "2.50", ".5", "=", "<<", "2026-11-23", "12:30", "- a", "a: b", "a #b", "#", "? x", "& a",
     "* a", "! a", "|", ">", "%", "@", "`", "'", '"', "{", "[", ",", " a", "a ", "a\nb",
     "a\r\nb\n", "\t", "\ufeff", "\x85", "\u2028", "\x00", "\x7f", "---", "...", "None",
     "\U0001f600", "a\nb\nc", "One.\n\nTwo: # three.", "a\n b", "a \nb", "a\nb\n", "- a\nb",
     "\u00e4\n\u4e2d"]
)  # fmt: skip
NUMBERS = st.integers(-(10**15), 10**15) | st.decimals(-(10**9), 10**9, places=4)
VALUES = st.recursive(
    TEXTS | LOOK_ALIKES | NUMBERS | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TEXTS | LOOK_ALIKES, inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(TEXTS | LOOK_ALIKES, VALUES, min_size=1, max_size=5))
def test_it_is_read_back_as_the_very_same(document: dict[str, object]) -> None:
    text = to_yaml(document)

    read = load(text)

    assert read == document
    assert list(read) == list(document), "in the author's own order"


@given(st.decimals(-(10**9), 10**9, places=4))
def test_a_decimal_stays_an_exact_decimal(number: Decimal) -> None:
    read = load(to_yaml({"odds": number}))

    assert read == {"odds": number}
    assert isinstance(read["odds"], Decimal)


def test_a_survey_looks_as_an_author_would_write_it() -> None:
    document = {
        "title": "Pay: is it fair?",
        "budget": 3,
        "questions": [{"name": "fair", "choices": [{"yes": "Yes"}, "no"], "odds": Decimal("2.5")}],
    }

    assert to_yaml(document) == (
        "title: 'Pay: is it fair?'\n"
        "budget: 3\n"
        "questions:\n"
        "  - name: fair\n"
        "    choices:\n"
        "      - yes: Yes\n"
        "      - no\n"
        "    odds: 2.5\n"
    )


def test_the_same_list_twice_is_written_twice() -> None:
    shared = ["A", "B"]

    assert load(to_yaml({"a": shared, "b": shared})) == {"a": shared, "b": shared}


def test_paragraphs_are_a_block() -> None:
    assert to_yaml({"intro": "One.\n\nTwo: three.", "n": 1}) == (
        "intro: |-\n  One.\n\n  Two: three.\nn: 1\n"
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (Decimal("NaN"), "no number"),
        (Decimal("Infinity"), "no number"),
        (0.1, "no float"),
        (object(), "no object"),
        ({1: "a"}, "a key is a text, not 1"),
    ],
)
def test_what_an_author_cannot_write_is_refused(value: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        to_yaml({"a": value})


@pytest.mark.parametrize(
    "number",
    [10**LONGEST_NUMBER, -(10 ** (LONGEST_NUMBER - 1)), 10**6000, Decimal("1E999999999"),
     Decimal("1E-999999999"), Decimal("1E25"), Decimal("0." + "1" * LONGEST_NUMBER)],
    ids=lambda number: f"{type(number).__name__}",
)  # fmt: skip
def test_no_number_is_written_that_is_too_long_to_read(number: object) -> None:
    """Nor is it written out to see how long it is: some have a billion digits."""
    with pytest.raises(ValueError, match=f"{LONGEST_NUMBER} characters"):
        to_yaml({"a": number})


def test_a_text_that_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="lone surrogate"):
        to_yaml({"a": "\ud800"})
