"""A part of the questions: drawn by chance, below every limit, and without regard to answers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from random import Random
from typing import Any

import pytest

from deniably.authoring.compiling import publish_text
from deniably.core.coins import Coins
from deniably.core.errors import BadSurvey, BudgetSpent
from deniably.core.loss import Loss
from deniably.device.ledger import Limits, ledger_entry, spent
from deniably.device.memory import Memory, answer, read_memory, replace
from deniably.device.question_subset import ordered_questions, part_of, with_order
from deniably.estimation.estimate import unbiased, variance
from deniably.estimation.tally import tally
from deniably.survey.survey import Survey

DAY = "2026-11-22"
TEXT = """
name: w
title: At work
part: true
questions:
  - {name: a, type: yes_no, label: A, odds: 2}
  - {name: b, type: yes_no, label: B, odds: 3}
  - {name: c, type: select_one, label: C, odds: 9, choices: [x, y, z]}
  - {name: d, type: number, label: D, epsilon: 0.5, minimum: 0, maximum: 10, aim: mean}
"""
SURVEY = publish_text(TEXT)
THREE = publish_text(TEXT[: TEXT.index("  - {name: d")])
SOME = publish_text(
    TEXT[: TEXT.index("  - {name: d")]
    .replace("title: At work", "title: At work\nbudget: {epsilon: 2, spend: sample, ask: 2}")
    .replace(", odds: 2", "").replace(", odds: 3", "").replace(", odds: 9", "")
)  # fmt: skip
ANSWERS: dict[str, Any] = {"a": "yes", "b": "no", "c": "y", "d": 4}


class Scripted(Coins):
    """Coins that fall as they are told."""

    def __init__(self, draws: Iterator[int]) -> None:
        super().__init__()
        self.draws = draws

    def below(self, n: int) -> int:
        found = next(self.draws)
        assert 0 <= found < n
        return found


def every_order(survey: Survey) -> Counter[tuple[str, ...]]:
    """How many of the equally likely draws give each order."""
    found = Counter[tuple[str, ...]]()
    size = len(survey.questions)
    for draws in itertools.product(*(range(size - i) for i in range(size))):
        memory = with_order(Memory(), survey, Scripted(iter(draws)))
        assert memory.orders
        found[tuple(memory.orders[survey.digest])] += 1
    return found


def with_spent(survey: Survey, epsilon: Fraction, memory: Memory | None = None) -> Memory:
    """A memory with an order, that has spent so much on others."""
    loss = Loss(Fraction(1), epsilon, Fraction(0))
    entry = ledger_entry(DAY, "", "other", "e" * 64, "q", loss)
    return replace(with_order(memory or Memory(), survey), ledger=(entry,))


# --- the order -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("survey", "size"), [(THREE, 3), (SURVEY, 4), (SOME, 2)])
def test_all_orders_are_equally_likely(survey: Survey, size: int) -> None:
    names = [question.name for question in survey.questions]

    found = every_order(survey)

    assert set(found) == set(itertools.permutations(names, size))
    assert len(set(found.values())) == 1


def test_an_order_is_drawn_once_and_kept() -> None:
    memory = with_order(Memory(), SURVEY)
    again = read_memory(memory.canonical)

    assert again == memory
    assert with_order(again, SURVEY, Scripted(iter(()))) == memory


def test_the_report_takes_the_order_with_it() -> None:
    memory = with_order(with_order(Memory(), SURVEY), THREE)

    after = answer(memory, SURVEY, ANSWERS, day=DAY, limits=Limits())

    assert set(after.orders or ()) == {THREE.digest}
    assert with_order(after, SURVEY) == after


# --- the part ------------------------------------------------------------------------------------


_LIMITS = ((3, 70), (20, 90), (20, 90))


def test_a_part_is_never_above_a_limit_and_nothing_more_would_fit() -> None:
    random = Random(7)
    sizes = Counter[int]()
    for _ in range(60):
        limits = Limits.of(*(str(random.randint(*ends) / 10) for ends in _LIMITS))
        memory = with_spent(SURVEY, Fraction(random.randint(0, 50), 10))
        part = part_of(memory, SURVEY, "", DAY, limits)
        sizes[len(part)] += 1
        names = [question.name for question in part]
        if not part:
            continue
        after = answer(memory, SURVEY, ANSWERS, day=DAY, limits=limits, drawn=part)
        for scope, loss in spent(after.ledger, SURVEY.digest, "").items():
            assert loss.at_most_epsilon(limits.of_scope(scope))
        report = after.report(SURVEY.digest)
        assert report
        assert sorted(report.values) == sorted(names)
        report.check(SURVEY)
        for question in SURVEY.questions:
            if question not in part:
                with pytest.raises(BudgetSpent):
                    answer(memory, SURVEY, ANSWERS, day=DAY, limits=limits,
                           drawn=[*part, question])  # fmt: skip
    assert all(sizes[count] for count in range(5)), sizes


def test_a_part_follows_the_order_and_skips_what_no_longer_fits() -> None:
    limits = Limits.of("5", "10", "20")
    for draws in itertools.product(range(3), range(2), range(1)):
        memory = with_order(Memory(), THREE, Scripted(iter(draws)))
        memory = replace(memory, ledger=with_spent(THREE, Fraction(76, 10)).ledger)
        order = [one.name for one in ordered_questions(memory, THREE) or ()]
        taken = {one.name for one in part_of(memory, THREE, "", DAY, limits)}
        # 2.4 is left: c costs 2.197, a and b 0.693 and 1.099 (1.79 together).
        assert taken == ({"c"} if order[0] == "c" else {"a", "b"})


def test_estimates_from_parts_are_unbiased() -> None:
    """Half of the devices have little left; all questions are within 5 standard errors."""
    random, reports = Random(11), list[Any]()
    truth = {"a": 0.3, "b": 0.6, "c": 0.2}
    people = 1200
    for number in range(people):
        coins = Coins(random.randbytes)
        answers = {
            "a": "yes" if random.random() < truth["a"] else "no",
            "b": "yes" if random.random() < truth["b"] else "no",
            "c": "x" if random.random() < truth["c"] else random.choice("yz"),
        }
        memory = with_order(Memory(), THREE, coins)
        if number % 2:
            memory = replace(memory, ledger=_LITTLE)
        part = part_of(memory, THREE, "", DAY, Limits())
        after = answer(memory, THREE, answers, day=DAY, limits=Limits(), drawn=part, coins=coins)
        reports.append(after.report(THREE.digest))

    counts = {name: sum(name in one.values for one in reports) for name in truth}
    assert counts["c"] == min(counts.values()) < people
    for question in THREE.questions:
        own = [one.values[question.name] for one in reports if question.name in one.values]
        mechanism: Any = question.mechanism
        share, n = truth[question.name], len(own)
        found = unbiased(tally(own, mechanism.law.cell_count), mechanism)[0]
        noise = variance(mechanism, [share, 1 - share], n)[0] + share * (1 - share) / n
        assert abs(found - share) < 5 * sqrt(noise)


_LITTLE = with_spent(THREE, Fraction(76, 10)).ledger


# --- what an author may not combine --------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("part: true", "part: true\nresults: {reports: public}", "shorter line"),
        ("part: true", "part: true\nwaves: {panel: p, history: 4}", "waves"),
        ("label: C,", "label: C, show_if: {question: a, is: 'yes'},", "show_if"),
    ],
)
def test_what_parts_do_not_go_with(old: str, new: str, said: str) -> None:
    with pytest.raises(BadSurvey, match=said):
        publish_text(TEXT.replace(old, new))
