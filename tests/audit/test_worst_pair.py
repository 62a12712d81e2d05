"""The pair of answers that an audit takes for the worst is the worst: no two answers, and no
report, have a larger ratio. By enumeration of the running code, in exact fractions."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import chain, combinations, permutations, product
from math import exp
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.audit.enumeration import explore, worst_odds
from deniably.audit.question_audit import maximal_event
from deniably.audit.walking import answers, walk
from deniably.estimation.channels import matrix
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from support.cases import for_each

Law = Mapping[Any, Fraction]


def ratio(first: Law, second: Law) -> Fraction:
    """The largest of one report: how much more the first answer makes it than the second."""
    return max(first.get(report, Fraction(0)) / second[report] for report in second)


def is_the_worst(mechanism: Any) -> None:
    every = list(answers(mechanism.law))
    assert len(every) == mechanism.law.domain.count
    laws = [explore(lambda coins, a=a: mechanism.randomise(a, coins), 1 << 16).law for a in every]
    assert {sum(law.values()) for law in laws} == {1}

    worst = max(ratio(one, two) for one, two in permutations(laws, 2))

    assert tuple(every[:2]) == mechanism.law.extremes
    assert ratio(laws[0], laws[1]) == worst == worst_odds(laws)
    exactly = not isinstance(mechanism, Channel | Vector)  # rounded rows never reach their weights
    assert worst == mechanism.loss.odds if exactly else worst <= mechanism.loss.odds
    event = maximal_event(mechanism, every[0], every[1])
    if event is not None:
        seen, against = (
            sum(chance for report, chance in law.items() if event(report)) for law in laws[:2]
        )
        assert seen / against == worst


SHAPES = [(3, 1, 6), (3, 1, 4), (4, 2, 8), (7, 4, 8), (5, 3, 7), (2, 1, 3)]
"""own, other and total: optimised, symmetric, and with ticks that tell more when they are left
out than when they are there."""
TICKS = [(k, most) for k in range(2, 5) for most in range(1, k + 1)]


@for_each(("k", "most"), TICKS)
@for_each("weights", SHAPES, ids=str)
def test_of_unary_encoding(k: int, most: int, weights: tuple[int, int, int]) -> None:
    is_the_worst(Unary(k, most, *weights))


def test_of_four_ticks_of_four_realises_the_odds_of_81_that_are_claimed() -> None:
    mechanism = Unary(4, 4, 3, 1, 6)

    assert mechanism.loss.odds == 81
    assert mechanism.law.extremes == ((0, 1, 2, 3), ())
    assert exp(walk(mechanism, mechanism.randomise).realised or 0) == pytest.approx(81)


@for_each(("k", "most"), TICKS)
@for_each("size", [1, 2])
def test_of_sets(k: int, most: int, size: int) -> None:
    mechanism = SetResponse(k, most, size, 3, 1)
    is_the_worst(mechanism)

    padded = [{*a, *range(k, mechanism.domain - len(a))} for a in mechanism.law.extremes]
    assert not set.intersection(*padded), "they have nothing in common"


@pytest.mark.parametrize(("k", "s"), [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
def test_of_sampled_ticks(k: int, s: int) -> None:
    is_the_worst(SampledTicks(k, s, 3, 1))


@for_each(
    "mechanism",
    [
        *(SubsetSelection(k, w, 3, 1) for k in range(2, 6) for w in range(1, k)),
        *(Window(k, m, w, 3, 1) for k in (2, 3, 5) for m in (2, 3, 5) for w in range(1, m)),
    ],
    ids=str,
)
def test_of_one_choice_and_of_windows(mechanism: Any) -> None:
    is_the_worst(mechanism)


@given(st.randoms(use_true_random=False), st.integers(2, 4), st.integers(2, 4), st.integers(0, 4))
def test_of_any_channel(random: Random, rows: int, outputs: int, more: int) -> None:
    """Not always the first and the last row, nor a position that is a row."""
    weights = tuple(tuple(drawn(random, outputs)) for _ in range(rows))
    if len(set(weights)) > 1:
        is_the_worst(Channel(rows + more, weights))


def drawn(random: Random, outputs: int) -> list[int]:
    """Weights with the sum 24."""
    cuts = sorted(random.sample(range(1, 24), outputs - 1))
    return [high - low for low, high in zip([0, *cuts], [*cuts, 24], strict=True)]


def test_of_a_channel_whose_outer_rows_are_alike() -> None:
    mechanism = Channel(3, ((4, 3, 3), (8, 1, 1), (4, 4, 2)))

    assert mechanism.law.extremes == (2, 1)
    is_the_worst(mechanism)


@pytest.mark.parametrize("s", [1, 2])
def test_of_vectors(s: int) -> None:
    channel = Channel(3, ((4, 3, 3), (8, 1, 1), (4, 4, 2)))
    is_the_worst(Vector(s, (Window(3, 2, 1, 3, 1), channel)))


@pytest.mark.parametrize("beyond", ["clamp", "resample"])
@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_of_noise_within_bounds(k: int, beyond: Any) -> None:
    mechanism = BoundedLaplace(k, "3", beyond)
    law = matrix(mechanism)
    first, second = mechanism.law.extremes

    worst = max((law[a] / law[b]).max() for a, b in product(range(k), repeat=2))

    assert (law[first] / law[second]).max() == pytest.approx(worst, rel=1e-12)
    assert worst == pytest.approx(exp((k - 1) / 3), rel=1e-9)


@pytest.mark.parametrize("d", [1, 2])
def test_of_gaussian_noise_in_what_goes_beyond_epsilon(d: int) -> None:
    """Delta, the probability by which reports go beyond e^epsilon, of every pair of positions."""
    k, mechanism = 3, Gaussian(3, d, "120", "1", "0.0001")
    first, second = mechanism.law.extremes
    reach, allowed = range(-80, 83), exp(0.2)

    def chance(y: int) -> float:
        return exp(-(y**2) / 240)

    total = sum(map(chance, reach))

    def beyond(one: tuple[int, ...], two: tuple[int, ...]) -> float:
        ours, theirs = (
            [[chance(y - x) / total for y in reach] for x in positions] for positions in (one, two)
        )
        if d == 1:
            pairs = zip(ours[0], theirs[0], strict=True)
        else:
            pairs = (
                (a * b, e * f)
                for a, e in zip(ours[0], theirs[0], strict=True)
                for b, f in zip(ours[1], theirs[1], strict=True)
            )
        return sum(max(a - allowed * b, 0) for a, b in pairs)

    places = list(product(range(k), repeat=d))
    audited = beyond(tuple_of(first), tuple_of(second))
    others = [pair for pair in combinations(places, 2) if d == 1 or pair[0] == (0, 0)]
    assert audited > 0
    assert audited >= max(chain.from_iterable((beyond(a, b), beyond(b, a)) for a, b in others))


def tuple_of(answer: Any) -> tuple[int, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def test_of_laplace_noise() -> None:
    """Every step towards the other answer multiplies the chance of a report by at most e^(1/s)."""
    assert Laplace(7, "2").law.extremes == (0, 6)
