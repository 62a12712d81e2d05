"""How many people can be recognised from one wave to another: the formula, and real reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from math import comb, prod
from random import Random
from typing import Any

import numpy as np
import pytest

from deniably.audit.histories import common_law, joint_probability
from deniably.core.coins import Coins
from deniably.design.recognition import pair_law, recognised
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


# --- the formula ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "epsilon", "times", "share"),
    [
        (5, "0.5", 2, 0.040), (10, "1", 2, 0.077), (20, "2", 2, 0.076), (20, "1", 2, 0.345),
        (20, "1", 3, 0.010), (50, "1", 3, 0.045), (20, "0.5", 3, 0.084),
    ],
)  # fmt: skip
def test_of_ten_questions_so_many_people_are_recognised(
    k: int, epsilon: str, times: int, share: float
) -> None:
    """The table of methods.md 9, whose Monte Carlo agrees with it."""
    assert recognised([kept(k, epsilon, times)] * 10) == pytest.approx(share, abs=0.001)


def test_two_waves_with_fresh_chance_hardly_show_who_answered_both() -> None:
    assert recognised([kept(20, "1", 3).single_report_mechanism] * 10) == pytest.approx(
        0.002, abs=0.0005
    )


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


def pairs(asked: Any) -> tuple[dict[Any, Fraction], dict[Any, Fraction]]:
    """P(two reports), of one person and of two; where answers are spread evenly."""
    laws = laws_given(asked)
    each = {
        report: sum((law[report] for law in laws), Fraction(0)) / len(laws) for report in laws[0]
    }
    both = list(product(each, repeat=2))
    return (
        {(a, b): sum(law[a] * law[b] for law in laws) / len(laws) for a, b in both},
        {(a, b): each[a] * each[b] for a, b in both},
    )


@pytest.mark.parametrize("asked", SMALL, ids=str)
def test_what_two_reports_show_together_is_exact(asked: Any) -> None:
    """By enumeration of the running code: pairs with the same likelihood ratio are put together."""
    same, other = pairs(asked)
    wanted: dict[Fraction, list[Fraction]] = {}
    for pair, share in same.items():
        found = wanted.setdefault(share / other[pair], [Fraction(0), Fraction(0)])
        found[0] += share
        found[1] += other[pair]

    given: dict[float, list[float]] = {}
    for one, two in zip(*pair_law(asked), strict=True):
        sums = given.setdefault(round(float(one / two), 9), [0.0, 0.0])
        sums[0] += float(one)
        sums[1] += float(two)

    assert len(given) == len({round(float(ratio), 9) for ratio in wanted})
    for ratio, sums in wanted.items():
        assert given[round(float(ratio), 9)] == pytest.approx([float(one) for one in sums])


def test_what_two_reports_of_ticks_show_together_is_exact() -> None:
    """Of all ways to tick two of six numbers; reports name three of them."""
    asked = SetResponse(4, 2, 3, 3, 1)
    domain = range(asked.domain)
    ticks = list(combinations(domain, asked.most))
    reports = list(combinations(domain, asked.size))

    def sent(report: Sequence[int], of: Sequence[int]) -> Fraction:
        return Fraction(asked.own if {*report} & {*of} else asked.other, asked.total)

    first = reports[0]
    each = sum(sent(first, of) for of in ticks) / len(ticks)
    wanted = {
        len({*first} & {*second}): sum(sent(first, of) * sent(second, of) for of in ticks)
        / len(ticks) / each**2
        for second in reports
    }  # fmt: skip
    same, other = pair_law(asked)

    assert same / other == pytest.approx([float(wanted[count]) for count in sorted(wanted)])
    assert other.sum() == pytest.approx(1)
    assert other[-1] == pytest.approx(1 / comb(6, 3))


@pytest.mark.parametrize("people", [2, 3])
@pytest.mark.parametrize(
    "asked", [[SMALL[0]], [SMALL[1]], [SMALL[3]], [SMALL[0], SMALL[0]], [SMALL[0], SMALL[3]]],
    ids=["yes or no", "two of four", "a window", "alike", "unlike"],
)  # fmt: skip
def test_the_likeliest_is_picked_and_ties_are_broken_at_random(
    asked: list[Any], people: int
) -> None:
    """By enumeration: one's own second report against those of one other, or of two."""
    laws = [pairs(one) for one in asked]
    same: dict[Fraction, Fraction] = {}
    other: dict[Fraction, Fraction] = {}
    for together in product(*(law[0] for law in laws)):
        shares = [
            [law[index][pair] for law, pair in zip(laws, together, strict=True)] for index in (0, 1)
        ]
        one, two = (prod(each, start=Fraction(1)) for each in shares)
        same[one / two] = same.get(one / two, Fraction(0)) + one
        other[one / two] = other.get(one / two, Fraction(0)) + two

    def right(ratio: Fraction, rivals: Iterable[Fraction]) -> Fraction:
        found = list(rivals)
        if any(rival > ratio for rival in found):
            return Fraction(0)
        return Fraction(1, 1 + sum(rival == ratio for rival in found))

    wanted = sum(
        share * prod([other[rival] for rival in rivals], start=Fraction(1))
        * right(ratio, rivals)
        for ratio, share in same.items()
        for rivals in product(other, repeat=people - 1)
    )  # fmt: skip

    assert recognised(asked, people) == pytest.approx(float(wanted), abs=2e-3)


def test_more_questions_show_more_and_fewer_people_hide_less() -> None:
    one = kept(10, "1", 2)

    by_questions = [recognised([one] * count) for count in (1, 2, 5, 10, 20, 40)]
    by_people = [recognised([one] * 10, people) for people in (2, 10, 100, 1000, 10_000)]

    assert by_questions == sorted(by_questions)
    assert by_people == sorted(by_people, reverse=True)
    assert by_questions[0] > 1 / 1000, "better than guessing"


def test_a_hundred_questions_of_many_kinds_are_no_trouble() -> None:
    """835 of 1,000 was also what reports of so many questions gave."""
    asked = [kept(k, epsilon, 3) for k in (2, 3, 5, 8, 20) for epsilon in ("0.1", "0.5", "1", "2")]
    windows = [memoised(Window(33, 40, 4, 3, 1), Fraction(27)) for _ in range(5)]

    assert recognised([*asked, *windows] * 4) == pytest.approx(0.835, abs=0.001)


# --- real reports ---------------------------------------------------------------------------------

PEOPLE = 1000


def matched(asked: Sequence[Any], random: Random) -> int:
    """How many of 1,000 people are matched rightly, from what their devices send in two waves."""
    likeliest = np.zeros((PEOPLE, PEOPLE))
    coins = Coins(random.randbytes)
    for one in asked:
        answers = [random.randrange(one.k) for _ in range(PEOPLE)]
        sent = [one.reports_over_waves(given(one, answer, random), 2, coins) for answer in answers]
        first, second = (said([person[wave] for person in sent], one) for wave in (0, 1))
        same, other = pair_law(one)
        if one.fresh is None:
            table = np.log(same / other).reshape(one.law.cell_count, -1)
            likeliest += first @ table @ second.T
        else:
            likeliest += np.log(same / other)[(first @ second.T).astype(int)]
    likeliest += np.random.default_rng(1).uniform(0, 1e-6, likeliest.shape)
    return int((likeliest.argmax(axis=1) == np.arange(PEOPLE)).sum())


def given(asked: Any, answer: int, random: Random) -> Any:
    if isinstance(asked.single_report_mechanism, SetResponse):
        return sorted(random.sample(range(asked.k), asked.single_report_mechanism.most))
    return answer


def said(reports: Sequence[Sequence[int]], asked: Any) -> Any:
    """A row of 0 and 1 for each report."""
    found = np.zeros((len(reports), asked.law.cell_count))
    places = list(chain.from_iterable(reports))
    found[np.repeat(np.arange(len(reports)), len(reports[0])), places] = 1
    return found


@pytest.mark.parametrize(
    "asked",
    [
        [kept(10, "1", 2)] * 10,
        [kept(20, "1", 3)] * 10,
        [kept(10, "1", 2)] * 4
        + [memoised(Window(32, 41, 10, 11, 4), Fraction(20))] * 3
        + [memoised(SetResponse(8, 1, 1, 5, 1), Fraction(25))] * 4,
    ],
    ids=["ten choices", "twenty choices", "choices, windows and ticks"],
)
def test_as_many_are_matched_as_the_formula_says(asked: list[Any]) -> None:
    """Of what devices really send. Ten choices at a history of twice the epsilon: a kept report
    would match 615. (The same draws in every run; they were not picked.)"""
    expected = PEOPLE * recognised(asked)

    found = matched(asked, Random("recognised"))

    assert abs(found - expected) < 5 * expected**0.5


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
