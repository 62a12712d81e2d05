"""The protection in natural frequencies: computed from the mechanism, and never too rosy."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring import publish_text
from deniably.explain import forward, natural_frequencies, reverse, times, total
from deniably.mechanisms.subset_selection import k_ary, warner

SURVEY = publish_text(
    """
name: s
title: T
questions:
  - {name: a, type: yes_no, label: A, coins: {truth: 0.5}}
  - {name: b, type: select_one, label: B, choices: [x, y, z], odds: 2}
  - {name: c, type: select_one, label: C, choices: [x, y, z, u, v], epsilon: 0.5}
"""
)


def test_the_sentences_give_the_odds_of_the_mechanism() -> None:
    a, b, c = SURVEY.questions

    assert forward(a) == (
        "If you choose “Yes”, then “Yes” is sent 75 of 100 times, and “No” 25 of 100 times."
    )
    assert forward(b) == (
        "If you choose “x”, then “x” is sent 50 of 100 times, and one of the other answers,"
        " picked at random, 50 of 100 times."
    )
    assert "names 2 of the 5 answers" in forward(c)
    assert "among them 52 of 100 times" in forward(c)
    assert "at most 3 times as likely" in reverse(a)
    assert "at most 9.9 times" in total(SURVEY)


@given(st.fractions("1.02", 22026, max_denominator=10**6))
def test_a_printed_number_of_times_is_never_too_small(odds: Fraction) -> None:
    printed = Fraction(times(odds).removesuffix(" times").replace(",", ""))

    assert odds <= printed <= odds + 1


@pytest.mark.parametrize("mechanism", [warner(22026, 1), warner(10101, 10000), k_ary(1024, 11, 10)])
def test_neither_never_nor_always_is_claimed(mechanism) -> None:  # type: ignore[no-untyped-def]
    seen = natural_frequencies(mechanism)

    assert 0 < seen.own < seen.out_of
