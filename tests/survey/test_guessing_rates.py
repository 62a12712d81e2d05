"""How often a guess is right: exact by enumeration where that is possible, else never too small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations, permutations, product
from math import erf, exp, prod, sqrt, tanh
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.audit.memoised_waves import joint_probability
from deniably.authoring.compiling import publish_text
from deniably.core.coins import Coins
from deniably.mechanisms import (
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
from deniably.mechanisms.guessing import LikelihoodPair, distance, luck, pairs_of, together
from deniably.mechanisms.memoised import memoised
from deniably.mechanisms.noise import BoundedLaplace
from deniably.survey.guessing_rates import guessing, rate_text
from support.cases import for_each
from support.every_type import survey_of_everything, survey_within_limits
from support.exact_laws import distribution

Chances = Mapping[Any, Fraction]

SMALL: list[Any] = [
    SubsetSelection(k=3, omega=1, own=11, other=5),
    SubsetSelection(k=5, omega=2, own=3, other=1),
    SetResponse(k=3, most=2, size=2, own=4, other=1),
    SetResponse(k=4, most=1, size=1, own=9, other=2),
    SampledTicks(k=3, s=2, own=3, other=1),
    Unary(k=3, most=1, own=2, other=1, total=4),
    Unary(k=3, most=3, own=4, other=1, total=8),
    Unary(k=4, most=2, own=3, other=1, total=4),
    Window(k=4, m=4, w=2, own=3, other=1),
    Window(k=7, m=3, w=1, own=5, other=2),
    Window(k=5, m=4, w=3, own=5, other=2),
    Channel(k=2, weights=((5, 1), (2, 4))),
    Channel(k=6, weights=((6, 1, 1), (2, 5, 1), (1, 2, 5))),
    Vector(s=2, parts=(Window(3, 3, 1, 3, 1), Window(4, 3, 1, 3, 1))),
    Vector(s=1, parts=(Window(3, 3, 1, 3, 1), Window(4, 3, 1, 3, 1))),
]


def answers(mechanism: Any) -> Iterable[Any]:
    return mechanism.law.domain.some(10_000)


def sent(mechanism: Any, answer: Any) -> Chances:
    """The law of what the mechanism itself sends, by running it through all of its draws."""

    def run(coins: Coins) -> Any:
        return mechanism.randomise(answer, coins)

    return distribution(run)


def apart(first: Chances, second: Chances) -> Fraction:
    """The total variation distance."""
    seen = {*first, *second}
    return sum((abs(first.get(one, 0) - second.get(one, 0)) for one in seen), Fraction(0)) / 2


def both(laws: Iterable[Chances]) -> Chances:
    """The law of several independent reports together."""
    return {
        tuple(one for one, _ in each): prod((chance for _, chance in each), start=Fraction(1))
        for each in product(*(law.items() for law in laws))
    }


def stories(mechanism: Any) -> list[tuple[Chances, Chances]]:
    """What is sent for every two answers, in both orders."""
    laws = [sent(mechanism, answer) for answer in answers(mechanism)]
    return list(permutations(laws, 2))


@for_each("mechanism", SMALL, ids=str)
def test_of_one_answer_the_best_guess_is_right_so_often(mechanism: Any) -> None:
    found = distance(mechanism)

    assert found.value == max(apart(*two) for two in stories(mechanism)), (
        "of all pairs of answers, by enumeration"
    )
    assert found.exact


@pytest.mark.parametrize("chosen", [(0, 0, 0), (0, 1), (1, 8), (2, 11), (4, 0), (9, 11)])
def test_of_all_answers_together_it_is_right_so_often(chosen: tuple[int, ...]) -> None:
    mechanisms = [SMALL[i] for i in chosen]
    pairs = sum((pairs_of(one) for one in mechanisms), Counter[LikelihoodPair]())
    told = product(*(stories(one) for one in mechanisms))

    found = together(pairs)

    assert found.exact
    assert found.value == max(
        apart(*(both(two[side] for two in each) for side in (0, 1))) for each in told
    )


@pytest.mark.parametrize("weights", [((5, 1), (2, 4)), ((99, 1), (60, 40))])
def test_no_story_is_guessed_more_often_than_the_bound_whichever_way_its_answers_lie(
    weights: tuple[tuple[int, int], ...],
) -> None:
    """Where the one answer is told apart from the other better than the reverse."""
    channel = Channel(k=2, weights=weights)
    each = product(*[stories(channel)] * 3)
    most = max(apart(*(both(two[side] for two in told) for side in (0, 1))) for told in each)

    found = together(Counter(dict.fromkeys(pairs_of(channel), 3)))

    assert not found.exact
    assert most <= found.value <= most + Fraction(5, 100)


BESIDE_OTHERS: list[Any] = [
    Unary(k=3, most=3, own=4, other=1, total=8),
    Unary(k=4, most=4, own=5, other=1, total=10),
    Channel(k=3, weights=((4, 10, 6), (12, 3, 5), (4, 1, 15))),
]
"""Of these, some answers are told apart less well alone, but better beside other answers."""


def kinds(mechanism: Any) -> list[LikelihoodPair]:
    """What is sent for every two answers, reports of one likelihood ratio taken together."""
    found = [
        LikelihoodPair.of(
            (first.get(one, Fraction(0)), second.get(one, Fraction(0))) for one in first
        )
        for first, second in stories(mechanism)
    ]
    return list({frozenset(pair.kinds): pair for pair in found}.values())


@pytest.mark.parametrize("mechanism", BESIDE_OTHERS, ids=str)
def test_no_story_is_guessed_more_often_than_the_bound_whatever_stands_beside_it(
    mechanism: Any,
) -> None:
    told = kinds(mechanism)

    assert distance(mechanism).exact
    assert distance(mechanism).value == max(one.distance for one in told)
    for beside in (SMALL[0], SMALL[1], SMALL[8], SMALL[9]):
        each = [
            LikelihoodPair.of((a * c, b * d) for a, b in one.kinds for c, d in other.kinds)
            for one, other in product(told, kinds(beside))
        ]
        found = together(pairs_of(mechanism) + pairs_of(beside))
        most = max(pair.distance for pair in each)
        assert most <= found.value <= most + Fraction(1, 10)


EXAMPLE = """
name: workplace
title: Life at the workplace
questions:
  - {name: stolen, type: yes_no, label: A, odds: 11/5, also: [prefer_not_to_say]}
  - {name: harassed, type: scale, label: B, odds: 11/5, choices: [a, b, c, d, e]}
  - {name: who, type: select_multiple, label: C, odds: 11/5, choices: [a, b, c, d]}
  - {name: reported, type: select_one, label: D, odds: 11/5, choices: [a, b, c]}
  - {name: climate, type: select_one, label: E, odds: 11/5, choices: [a, b, c, d, e]}
  - {name: sick, type: number, aim: mean, label: F, odds: 11/5, minimum: 0, maximum: 30}
"""


def test_a_published_example_has_the_rates_that_its_form_names() -> None:
    rates = guessing(publish_text(EXAMPLE))

    assert [round(100 * rate) for rate in rates.one] == [64, 62, 69, 64, 62, 69]
    assert round(100 * rates.together) == 80
    assert round(100 * rates.worst) == 99
    assert rates.exact
    assert not rates.often
    assert rates.waves is None


# --- bounds ---------------------------------------------------------------------------------------

SMALL_ODDS = st.fractions(Fraction(11, 10), 20, max_denominator=20)
MIXED = st.lists(
    st.builds(
        lambda k, odds: SubsetSelection(k, 1, odds.numerator, odds.denominator),
        st.integers(2, 6),
        SMALL_ODDS,
    ),
    min_size=2,
    max_size=5,
)


@settings(max_examples=30)
@given(MIXED)
def test_where_fractions_take_too_long_the_rate_is_a_close_upper_bound(
    mechanisms: list[SubsetSelection],
) -> None:
    pairs = sum((pairs_of(one) for one in mechanisms), Counter[LikelihoodPair]())
    exact = together(pairs)
    assert exact.exact

    bound = together(
        {LikelihoodPair(pair.kinds, exact=False): times for pair, times in pairs.items()}
    )

    assert not bound.exact
    assert exact.value <= bound.value <= exact.value + Fraction(1, 10_000)


def test_a_hundred_questions_over_a_hundred_waves_are_as_good_as_certain_and_quick() -> None:
    pairs = pairs_of(SubsetSelection(3, 1, 11, 5))

    many = together({pair: 10_000 * times for pair, times in pairs.items()})

    assert Fraction(999, 1000) < many.value <= 1


@given(st.integers(2, 200), st.integers(1, 40))
def test_laplace_noise_is_told_apart_as_its_geometric_series_says(k: int, scale: int) -> None:
    """P(-s/2 <= noise < s/2) for s steps between the ends."""
    found = distance(Laplace(k=k, scale=str(scale)))

    decay, shift = exp(-1 / scale), k - 1
    above = decay ** (shift // 2 + 1) / (1 + decay), decay ** ((shift + 1) // 2) / (1 + decay)
    assert float(found.value) == pytest.approx(1 - sum(above), abs=1e-8)
    assert not found.exact
    assert float(found.value) <= tanh(shift / scale / 2) * (1 + 1e-8), "within its epsilon"


def test_wide_gaussian_noise_is_told_apart_as_the_normal_distribution_is() -> None:
    one = Gaussian(k=11, d=1, sigma2="600", epsilon="2", delta="0.00001")
    sigma = sqrt(600)

    assert float(distance(one).value) == pytest.approx(erf(10 / (2 * sigma) / sqrt(2)), abs=1e-3)


@pytest.mark.parametrize("beyond", ["clamp", "resample"])
def test_noise_that_stays_on_its_scale_is_told_apart_at_its_ends(beyond: Any) -> None:
    mechanism = BoundedLaplace(k=6, scale="3", beyond=beyond)
    law = mechanism.law
    rows = [[float(law.output(row, y)) for y in range(6)] for row in range(6)]
    most = max(
        sum(abs(a - b) for a, b in zip(*two, strict=True)) / 2 for two in combinations(rows, 2)
    )

    assert float(distance(mechanism).value) == pytest.approx(most, abs=1e-8)


@settings(max_examples=30)
@given(MIXED.filter(lambda found: len(found) > 2))
def test_of_a_sample_of_the_questions_no_sample_is_guessed_more_often(
    mechanisms: list[SubsetSelection],
) -> None:
    questions = ", ".join(
        f"{{name: q{i}, type: select_one, label: Q, odds: {one.own}/{one.other},"
        f" choices: [{', '.join('abcdefgh'[: one.k])}]}}"
        for i, one in enumerate(mechanisms)
    )
    whole = publish_text(f"{{name: s, title: T, questions: [{questions}]}}")
    some = type(whole)(
        **{**{key: getattr(whole, key) for key in whole.__struct_fields__}, "ask": 2}
    )

    rate = guessing(some).together

    for two in combinations([question.mechanism for question in whole.questions], 2):
        assert together(sum((pairs_of(one) for one in two), Counter[LikelihoodPair]())).rate <= rate
    assert rate <= guessing(whole).together + Fraction(3, 10)


def test_parts_that_differ_have_a_bound_above_what_enumeration_finds() -> None:
    mechanism = Vector(s=1, parts=(Window(3, 3, 1, 3, 1), Window(4, 2, 1, 2, 1)))

    bound = distance(mechanism)

    assert not bound.exact
    assert max(apart(*two) for two in stories(mechanism)) <= bound.value


# --- waves ----------------------------------------------------------------------------------------


def test_waves_with_fresh_chance_add_up_and_memos_never_give_away_more_than_themselves() -> None:
    text = (
        "{name: p-1, title: T, waves: %s, questions: [{name: a, type: yes_no, label: A, odds: 3}]}"
    )
    once = Fraction(3, 4)
    fresh = guessing(publish_text(text % "{panel: p, count: 3}"))
    kept = guessing(publish_text(text % "{panel: p}"))

    assert fresh.together == kept.together == once
    assert fresh.waves == once**3 + 3 * once**2 * (1 - once), "the majority of three"
    (question,) = publish_text(text % "{panel: p}").questions
    memo = question.mechanism.memo  # type: ignore[union-attr]
    assert kept.waves == distance(memo).rate
    assert kept.worst == kept.waves > once, "a memo of two answers says one of them"


@pytest.mark.parametrize("waves", [1, 2, 4])
def test_so_many_waves_from_one_memo_are_guessed_less_often_than_the_memo(waves: int) -> None:
    mechanism = memoised(SubsetSelection(2, 1, 3, 1), Fraction(9))
    every = list(product([(0,), (1,)], repeat=waves))
    first, second = (
        {reports: joint_probability(mechanism, answer, reports) for reports in every}
        for answer in (0, 1)
    )

    found = apart(first, second)

    assert sum(first.values()) == 1
    assert distance(mechanism).value <= found <= distance(mechanism.memo).value


# --- surveys, and what is printed -----------------------------------------------------------------


def test_the_promise_is_graded_by_all_that_is_ever_sent() -> None:
    loud, quiet = guessing(survey_of_everything()), guessing(survey_within_limits())

    assert loud.often
    assert not quiet.often
    assert Fraction(1, 2) < quiet.lowest < quiet.highest < quiet.together < quiet.worst < 1
    choices = "{name: a, type: yes_no, label: A, odds: 8}"
    panel = f"{{name: p-1, title: T, waves: {{panel: p, count: 9}}, questions: [{choices}]}}"
    assert guessing(publish_text(panel)).together < Fraction(9, 10)
    assert guessing(publish_text(panel)).often


@given(st.fractions(Fraction(1, 2), 1, max_denominator=10**6))
def test_a_printed_rate_is_never_too_small_and_hardly_too_large(rate: Fraction) -> None:
    printed = Fraction(rate_text(rate))

    assert 100 * rate <= printed <= 100 * rate + 1
    assert printed < 100 or rate > Fraction(9999, 10_000), "100 would be an ordinary survey"


@for_each("mechanism", SMALL, ids=str)
def test_a_guesser_is_as_lucky_as_seldom_as_is_said(mechanism: Any) -> None:
    """How often the report speaks most for the true answer, by enumeration of all reports."""
    told = [
        (chance / other[report], chance)
        for one, other in stories(mechanism)
        for report, chance in one.items()
    ]
    most = max(ratio for ratio, _ in told)

    found = max(
        sum(chance for report, chance in one.items() if chance == most * other[report])
        for one, other in stories(mechanism)
    )

    assert luck(pairs_of(mechanism)) >= found
