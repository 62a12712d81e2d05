"""A random answer is uniformly random, whatever a mechanism takes."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.core.coins import LARGEST, Coins
from deniably.mechanisms import random_answer as module
from deniably.mechanisms.law import Domain, Each, One, Ticks
from deniably.mechanisms.random_answer import below, random_answer
from support.cases import for_each
from support.every_type import survey_within_limits
from support.exact_laws import distribution

DOMAINS: list[Domain] = [
    One(2),
    One(7),
    Ticks(1),
    Ticks(4),
    Ticks(5, limit=2),
    Ticks(5, limit=1),
    Each((2, 3)),
    Each((4,)),
]


@for_each("domain", DOMAINS, ids=repr)
def test_every_answer_is_equally_likely(domain: Domain) -> None:
    law = distribution(lambda coins: random_answer(domain, coins))

    assert set(law) == set(domain.some(1000))
    assert len(law) == domain.count
    assert set(law.values()) == {Fraction(1, domain.count)}


@for_each("question", survey_within_limits().questions, ids=lambda question: question.name)
def test_every_mechanism_takes_it(question: object) -> None:
    mechanism = question.mechanism  # type: ignore[attr-defined]
    for _ in range(50):
        answer = random_answer(mechanism.law.domain, Coins())
        mechanism.check(mechanism.randomise(answer, Coins()))


def test_large_numbers_are_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    """With numbers of two bits instead of 53, of which those beyond are made one bit at a time: all
    of 11 are equally likely, of those paths that end soon."""
    monkeypatch.setattr(module, "LARGEST", 4)
    monkeypatch.setattr(module, "_WORD", 1)
    paths: dict[int, Fraction] = {}

    def walk(taken: tuple[int, ...], chance: Fraction) -> None:
        if chance < Fraction(1, 2000):
            return
        script = iter(taken)

        class Walked(Coins):
            def below(self, n: int) -> int:
                bounds.append(n)
                return next(script)

        bounds: list[int] = []
        try:
            drawn = below(11, Walked())
        except StopIteration:
            for value in range(bounds[-1]):
                walk((*taken, value), chance / bounds[-1])
        else:
            paths[drawn] = paths.get(drawn, Fraction(0)) + chance

    walk((), Fraction(1))

    assert sorted(paths) == list(range(11))
    assert len(set(paths.values())) == 1
    assert sum(paths.values()) > Fraction(9, 10)


@given(st.integers(1, 2**300))
def test_a_large_number_is_below_its_bound(n: int) -> None:
    assert 0 <= below(n, Coins()) < n


def test_a_small_number_is_one_draw() -> None:
    """So a blank takes the bytes that a person's coins take."""
    taken: list[int] = []

    def source(count: int) -> bytes:
        taken.append(count)
        return bytes(count)

    assert below(LARGEST, Coins(source)) == 0
    assert sum(taken) == 7


def test_many_ticks_are_drawn_in_no_time() -> None:
    """Of 1,024 options, sets are more than a number of 53 bits can count."""
    domain = Ticks(1024, limit=512)
    assert domain.count > 2**1000

    sizes = [len(random_answer(domain, Coins())) for _ in range(50)]  # type: ignore[arg-type]

    assert 450 < sum(sizes) / 50 <= 512
    assert comb(1024, 512) > comb(1024, 1)
