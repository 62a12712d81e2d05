"""How many people can be recognised from one wave to another: the formula, and real reports."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest

from deniably.audit.memoised_waves import common_law, joint_probability
from deniably.core.coins import Coins
from deniably.design.reidentification import Recognition, recognised
from deniably.mechanisms import Channel, Memoised, SetResponse, SubsetSelection, Window
from deniably.mechanisms.memoised import memoised, widest
from deniably.mechanisms.subset_selection import subset_selection
from deniably.survey.privacy import Privacy
from support.exact_laws import distribution


def kept(k: int, epsilon: str, times: int) -> Memoised[SubsetSelection]:
    """The best question of k choices within so many times the epsilon."""
    one = Privacy(epsilon=Fraction(epsilon))
    odds, history = (
        Fraction(*found.weights(bits=20)) for found in (one, one.times(Fraction(times)))
    )
    best = subset_selection(k, *one.weights(bits=20))
    omega = min(best.omega, widest(odds, history))
    return memoised(SubsetSelection(k, omega, best.own, best.other), history)


# --- against enumeration --------------------------------------------------------------------------

SMALL: list[Any] = [
    memoised(SubsetSelection(2, 1, 3, 1), Fraction(9)),
    memoised(SubsetSelection(4, 2, 2, 1), Fraction(9)),
    memoised(SubsetSelection(5, 3, 2, 1), Fraction(9)),
    memoised(Window(3, 4, 2, 3, 2), Fraction(9)),
    memoised(Channel(2, ((5, 1), (2, 4))), Fraction(9)),
    memoised(SetResponse(3, 2, 1, 3, 1), Fraction(9)),
    SubsetSelection(5, 2, 3, 1),
    Window(3, 4, 2, 3, 2),
    Channel(2, ((5, 1), (2, 4))),
]


def laws_given(asked: Any) -> list[dict[Any, Fraction]]:
    """What is sent, walked: for each memo, or each answer where none is kept."""
    if isinstance(asked, Memoised):
        return [
            dict(distribution(lambda coins, z=z: asked.report_from_memo((z,), coins)))  # type: ignore[misc]
            for z in range(asked.memo.law.cell_count)
        ]
    return [
        dict(distribution(lambda coins, x=x: asked.randomise(x, coins)))  # type: ignore[misc]
        for x in range(asked.k)
    ]


def shares(count: int, spread: float) -> list[float]:
    weights = [float(rank) ** -spread for rank in range(1, count + 1)]
    return [weight / sum(weights) for weight in weights]


def places(asked: Any) -> int:
    """Answers, or for numbers the places that they are rounded to."""
    single = asked.single_report_mechanism if isinstance(asked, Memoised) else asked
    return single.m - single.w + 1 if isinstance(single, Window) else asked.k


def states(asked: Any, spread: float) -> list[float]:
    """P(memo), or P(answer) where none is kept."""
    answers = shares(places(asked), spread)
    if not isinstance(asked, Memoised):
        return answers
    memo, found = asked.memo, [0.0] * asked.memo.law.cell_count
    for answer, share in enumerate(answers):
        one = (answer,) if isinstance(asked.single_report_mechanism, SetResponse) else answer
        if isinstance(memo, Window):
            one = Fraction(answer * (memo.k - 1), places(asked) - 1)  # type: ignore[assignment]
            assert one.denominator == 1
            one = int(one)
        for cell in range(len(found)):
            found[cell] += share * float(memo.law.cell_probability(one, cell))
    return found


def exactly(asked: Any, people: int, waves: int, spread: float, *, known: bool = False) -> float:
    """By enumeration of the running code: all earlier reports, and all last ones."""
    laws, prior = laws_given(asked), states(asked, spread)
    reports = list(laws[0])
    anybody = {
        y: sum(z * float(law[y]) for z, law in zip(prior, laws, strict=True)) for y in reports
    }
    starts: list[list[float]] = [prior]
    if known:
        assert not isinstance(asked, Memoised)
        starts = [[share * (i == x) for i in range(len(prior))] for x, share in enumerate(prior)]
    right = 0.0
    for start, history in product(starts, product(reports, repeat=waves - 1)):
        joint = [
            z * prod(float(law[report]) for report in history)
            for z, law in zip(start, laws, strict=True)
        ]
        if not sum(joint):
            continue
        own = {
            y: sum(z * float(law[y]) for z, law in zip(joint, laws, strict=True)) for y in reports
        }
        ratio = {y: round(own[y] / sum(joint) / anybody[y], 9) for y in reports}
        for y in reports:
            above = sum(anybody[x] for x in reports if ratio[x] > ratio[y])
            tie = sum(anybody[x] for x in reports if ratio[x] == ratio[y])
            wins = ((1 - above) ** people - max(1 - above - tie, 0) ** people) / (people * tie)
            right += own[y] * wins
    return right


@pytest.mark.parametrize("spread", [0.0, 1.0, 2.0])
@pytest.mark.parametrize(("people", "waves"), [(2, 2), (50, 4)])
@pytest.mark.parametrize("asked", SMALL, ids=str)
def test_so_many_are_recognised_as_by_enumeration(
    asked: Any, people: int, waves: int, spread: float
) -> None:
    if len(laws_given(asked)[0]) ** (waves - 1) > 200:
        waves = 2
    if isinstance(asked, SetResponse | Memoised) and asked is SMALL[5] and spread:
        spread = 0.0  # several ticks have another spread than choices
    wanted = exactly(asked, people, waves, spread)

    assert recognised([asked], people, waves, spreads=[spread]) == pytest.approx(wanted, rel=0.06)


@pytest.mark.parametrize("asked", SMALL[6:7] + SMALL[8:], ids=str)
def test_known_answers_recognise_people_in_one_wave(asked: Any) -> None:
    wanted = exactly(asked, 20, 1, 1.0, known=True)

    share = recognised([asked], 20, 1, known=True, spreads=[1.0])

    assert share == pytest.approx(wanted, rel=0.06)
    assert share > 1.1 / 20


def test_more_of_anything_shows_more_and_more_people_hide_more() -> None:
    question = kept(10, "1", 2)

    by_questions = [recognised([question] * count, 100) for count in (1, 5, 20)]
    by_waves = [recognised([question] * 5, 100, waves) for waves in (2, 3, 8)]
    by_people = [recognised([question] * 5, people) for people in (2, 100, 1_000_000)]

    assert by_questions == sorted(by_questions)
    assert by_waves == sorted(by_waves)
    assert by_people == sorted(by_people, reverse=True)
    assert by_questions[0] > 1 / 100, "better than guessing"


def test_several_ticks_are_recognised_too_also_where_nothing_is_kept() -> None:
    ticks = SetResponse(10, 2, 2, 5, 1)

    kept_ticks = [memoised(SetResponse(10, 2, 1, 5, 1), Fraction(125))] * 10
    shares_of = [recognised([ticks] * 10, 100, waves) for waves in (2, 5)]

    assert shares_of == sorted(shares_of)
    assert recognised(kept_ticks, 100) > shares_of[0] > 1 / 100


@pytest.mark.thorough
def test_lists_of_a_thousand_choices_and_of_many_sets_of_ticks_are_no_trouble() -> None:
    long = subset_selection(1000, 272, 100)
    many = SetResponse(30, 5, 3, 5, 1)

    assert 1 / 100 < recognised([long], 100, spreads=[1.0]) < 0.2
    assert 1 / 100 < recognised([many], 100, spreads=[1.0]) < 0.2


@pytest.mark.parametrize(("people", "waves", "known"), [(1, 2, False), (2, 1, False), (2, 0, True)])
def test_there_is_nobody_to_recognise_among_fewer_than_two(
    people: int, waves: int, *, known: bool
) -> None:
    with pytest.raises(ValueError, match="at least 2 of each"):
        recognised([SMALL[0]], people, waves, known=known)


@pytest.mark.parametrize(
    ("share", "people", "stated", "grave"),
    [(0.0099, 1000, False, False), (0.0101, 1000, True, False), (0.019, 100, False, False),
     (0.021, 100, True, False), (0.099, 100, True, False), (0.101, 100, True, True),
     (0.29, 10, True, False), (0.19, 10, False, False), (0.31, 10, True, True)],
)  # fmt: skip
def test_what_is_hardly_better_than_guessing_is_not_said(
    share: float, people: int, *, stated: bool, grave: bool
) -> None:
    risk = Recognition(share, people, 2)

    assert (risk.stated, risk.grave) == (stated, grave)


def test_a_stated_figure_is_right_within_a_quarter() -> None:
    risk = Recognition(0.1, 1000, 5)

    assert [risk.agrees(stated) for stated in (None, 74, 76, 100, 124, 126)] == [
        False, False, True, True, True, False,
    ]  # fmt: skip
    assert Recognition(0.013, 1000, 5).agrees(None)
    assert not Recognition(0.014, 1000, 5).agrees(None)


# --- real reports ---------------------------------------------------------------------------------

PEOPLE = 300


def zipf(asked: Any, spread: float, random: Random) -> list[int]:
    return random.choices(range(asked.k), shares(asked.k, spread), k=PEOPLE)


def likelihoods(asked: Any, reports: Sequence[Sequence[int]]) -> Any:
    """P(report | memo, or answer where none is kept) up to a factor of the report."""
    sent = asked.fresh if isinstance(asked, Memoised) else asked
    if sent is None:
        return np.array(
            [[asked.row(z)[y] for z in range(places(asked))] for (y,) in reports], float
        )
    table = np.full((len(reports), sent.k), float(sent.other))
    for row, report in zip(table, reports, strict=True):
        row[list(report)] = float(sent.own)
    return table


def matched(asked: Sequence[Any], spread: float, waves: int, random: Random) -> int:
    """How many people are attributed rightly, from what their devices send in so many waves."""
    likeliest = np.zeros((PEOPLE, PEOPLE))
    coins = Coins(random.randbytes)
    for question in asked:
        answers = zipf(question, spread, random)
        if isinstance(question, Memoised):
            sent = [question.reports_over_waves(answer, waves, coins) for answer in answers]
        else:
            sent = [[question.randomise(answer, coins) for _ in range(waves)] for answer in answers]
        prior = np.array(states(question, spread))
        knowledge = np.tile(prior, (PEOPLE, 1))
        for wave in range(waves - 1):
            knowledge *= likelihoods(question, [person[wave] for person in sent])
        knowledge /= knowledge.sum(axis=1, keepdims=True)
        last = likelihoods(question, [person[-1] for person in sent])
        likeliest += np.log(knowledge @ last.T) - np.log(last @ prior)
    likeliest += np.random.default_rng(1).uniform(0, 1e-6, likeliest.shape)
    return int((likeliest.argmax(axis=1) == np.arange(PEOPLE)).sum())


@pytest.mark.parametrize(
    ("asked", "waves", "spread"),
    [
        ([kept(10, "1", 2)] * 10, 2, 0.0),
        ([kept(20, "1", 3)] * 10, 4, 2.0),
        ([kept(2, "1", 2)] * 10, 5, 1.0),
        ([kept(10, "2", 3).single_report_mechanism] * 5, 3, 1.0),
    ],
    ids=["two waves", "four waves, uneven", "five waves of yes or no", "fresh chance in each"],
)
def test_as_many_are_recognised_as_the_simulation_says(
    asked: list[Any], waves: int, spread: float
) -> None:
    """Of what devices really send: a direct attack on 300 people. (The same draws in every run;
    they were not picked.)"""
    expected = PEOPLE * recognised(asked, PEOPLE, waves, spreads=[spread])

    people = matched(asked, spread, waves, Random("recognised"))

    assert people > 6
    assert abs(people - expected) < 5 * expected**0.5


# --- two waves in the audit -----------------------------------------------------------------------


@pytest.mark.parametrize("asked", SMALL[:6], ids=str)
def test_the_audit_expects_what_two_waves_have_in_common(asked: Memoised[Any]) -> None:
    reports = list(laws_given(asked)[0])
    ticks = isinstance(asked.single_report_mechanism, SetResponse)

    for answer in ((0,), ()) if ticks else range(asked.k):
        wanted = [Fraction(0)] * len(common_law(asked, answer))
        for one, two in product(reports, repeat=2):
            wanted[len({*one} & {*two})] += joint_probability(asked, answer, (one, two))
        assert common_law(asked, answer) == wanted
        assert sum(wanted) == 1
