"""People whose answers are known: read, simulated in bulk, and the truth of every figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import deniably as dn
from deniably.core.errors import BadAnswer
from deniably.mechanisms import Mechanism
from deniably.simulation import people
from deniably.simulation.bulk.picks import picked
from deniably.simulation.expected_tally import SO_MANY, expected_tally
from deniably.simulation.people import People, read_people
from deniably.simulation.reports import simulate, simulate_whole
from deniably.simulation.runs import compare, estimates
from deniably.simulation.truth import truths
from deniably.survey.questions import Question
from deniably.survey.report import draw_questions, randomise_answers
from deniably.survey.survey import Survey
from support.bulk_law import drawing
from support.every_type import survey_of_everything
from support.exact_laws import distribution
from support.known import (
    COLUMNS,
    HABITS,
    SAMPLED,
    Person,
    author,
    bounds,
    several,
    table,
)

CLASSICS = """
name: s
title: Classics
questions:
  - {name: a, type: select_one, label: A, choices: [X, Y, Z], epsilon: 2, mechanism: oue}
  - {name: b, type: select_multiple, label: B, choices: [X, Y, Z], epsilon: 2, mechanism: rappor}
  - {name: c, type: number, label: C, minimum: 0, maximum: 20, epsilon: 2,
     mechanism: bounded_laplace}
  - {name: d, type: vector, label: D, epsilon: 2, delta: 0.00001, mechanism: gaussian,
     parts: [{name: x, label: X, minimum: 0, maximum: 5},
             {name: y, label: Y, minimum: 0, maximum: 5}]}
  - {name: e, type: vector, label: E, epsilon: 2, mechanism: laplace,
     parts: [{name: x, label: X, minimum: 0, maximum: 5},
             {name: y, label: Y, minimum: 0, maximum: 9}]}
"""


def classic(index: int) -> Person:
    return {
        "a": "xyz"[index % 3],
        "b": ["x", "z"][: index % 3],
        "c": index % 21,
        "d": {"x": index % 3, "y": 5},
        "e": {"x": index % 6, "y": index % 10},
    }


every_type = pytest.mark.parametrize(
    ("survey", "everybody"),
    [
        (survey_of_everything(), several(500)),
        (author(CLASSICS), [classic(index) for index in range(500)]),
    ],
    ids=["everything", "classics"],
)


@every_type
def test_bulk_is_given_just_what_everybodys_device_would_randomise(
    survey: Survey, everybody: list[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every type, hidden questions included; that bulk then has the law of the device is
    proved in ``test_bulk_law``."""
    everybody = everybody[:60]
    monkeypatch.setattr(people, "BLOCK", 7)
    found = read_people(survey, table(everybody))

    for answers in found.answers:
        question = answers.question
        given = np.concatenate(list(answers.blocks()))
        assert given.shape[0] == len(everybody)
        for row, person in zip(given.tolist(), everybody, strict=True):
            assert plain(row) == seen_by_a_device(survey, question, person)


def plain(row: Any) -> Any:
    """An answer in bulk as devices encode it."""
    if isinstance(row, list):
        return tuple(np.flatnonzero(row)) if isinstance(row[0], bool) else tuple(row)
    return row


def seen_by_a_device(survey: Survey, question: Question, person: Person) -> Any:
    """What a device hands to the mechanism of a question."""
    seen: list[Any] = []

    def spy(self: Mechanism, answer: Any, coins: object) -> tuple[int, ...]:
        seen.append(answer)
        return ()

    with pytest.MonkeyPatch.context() as patch:
        for one in survey.questions:
            patch.setattr(type(one.mechanism), "randomise", spy)
        randomise_answers(survey, person)
    return seen[survey.questions.index(question)]


def test_devices_pick_their_questions_in_bulk_as_one_by_one() -> None:
    survey = author(SAMPLED)

    def one_by_one(coins: Any) -> tuple[str, ...]:
        return tuple(question.name for question in draw_questions(survey, coins))

    def in_bulk(coins: Any) -> tuple[str, ...]:
        with drawing(coins):
            (asked,) = picked(np.array([survey.asked]), len(survey.questions))
        return tuple(one.name for one, own in zip(survey.questions, asked, strict=True) if own)

    law = distribution(in_bulk)
    assert law == distribution(one_by_one)
    assert law == dict.fromkeys(combinations("abcd", 2), Fraction(1, 6))


@pytest.mark.parametrize("block", [64, 1 << 18])
def test_everybody_reports_as_often_as_devices_do(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "BLOCK", block)
    everybody = several(200)
    everything = simulate(read_people(survey_of_everything(), table(everybody)))
    assert {tally.n for tally in everything.values()} == {200}

    yes_or_no = [dict.fromkeys("abcd", "yes")] * 200
    some = simulate(read_people(author(SAMPLED), table(yes_or_no)))
    assert sum(tally.n for tally in some.values()) == 2 * 200


@every_type
def test_reports_come_as_often_as_the_channels_say(survey: Survey, everybody: list[Person]) -> None:
    """Every cell of every question, within a binomial bound that is passed once in 10**11."""
    n = 40_000
    head, *rows = table(everybody)
    found = read_people(survey, [head, *rows * (n // len(rows))])
    assert found.n == n
    for answers, tally in zip(found.answers, simulate(found).values(), strict=True):
        counts, expected = tally.cells(), expected_tally(answers).cells()
        cells = [*{*counts, *expected}]
        seen = np.array([counts.get(cell, 0) for cell in cells])
        # Rarer cells, as noise without end has, are held to one in a million.
        shares = np.maximum([expected.get(cell, 0) / SO_MANY for cell in cells], 1e-6)
        tails = stats.binom.cdf(seen, n, shares), stats.binom.sf(seen - 1, n, shares)
        assert (2 * np.minimum(*tails) > 1e-11).all(), answers.question.name


@every_type
def test_an_expected_tally_estimates_the_truth_itself(
    survey: Survey, everybody: list[Person]
) -> None:
    """Of every figure of every type: what is estimated has no bias but that of buckets."""
    for answers in read_people(survey, table(everybody)).answers:
        seen = estimates(answers.question, expected_tally(answers))
        for truth, one in zip(truths(answers), seen, strict=True):
            assert truth is not None
            assert one is not None
            if truth.spread is None:  # a quantile, by buckets
                assert one.population_margin[0] <= truth.value <= one.population_margin[1]
            else:
                slack = 60 if (answers.question.name, truth.name) == ("income", "mean") else 1e-5
                assert one.estimate == pytest.approx(truth.value, abs=slack), truth.name


def test_truths_are_those_of_the_answers_in_the_file() -> None:
    everybody = several(500)
    found = read_people(survey_of_everything(), table(everybody))
    truth = {
        (answers.question.name, one.name): one.value
        for answers in found.answers
        for one in truths(answers)
        if one is not None
    }

    def share(hit: Any) -> Any:
        return pytest.approx(sum(map(hit, everybody)) / 500)

    def mean(value: Any) -> Any:
        return pytest.approx(sum(map(value, everybody)) / 500)

    assert truth["stolen", "yes"] == share(lambda one: one["stolen"] == "yes")
    assert truth["what", "not_applicable"] == share(lambda one: one["stolen"] == "no")
    assert truth["what", "goods"] == share(
        lambda one: one["stolen"] == "yes" and one["what"] == "goods"
    )
    assert truth["drugs", "cocaine"] == share(lambda one: "cocaine" in one["drugs"])
    assert truth["drinks", "mean"] == mean(lambda one: one["drinks"])
    assert truth["income", "mean"] == mean(lambda one: one["income"])
    assert truth["income", "at most 2500"] == share(lambda one: one["income"] < 2550)
    assert truth["hours", "work mean"] == mean(lambda one: one["hours"]["work"])
    assert truth["vote", "party.red"] == share(lambda one: one["vote"]["party"] == "red")
    assert truth["vote", "Red, No"] == share(
        lambda one: one["vote"] == {"party": "red", "union": "no"}
    )
    scores = [
        {"unhappy": 1, "neither": 2, "happy": 3}[one["happy"]]
        for one in everybody
        if one["happy"] != "dont_know"
    ]
    assert truth["happy", "mean score"] == pytest.approx(sum(scores) / len(scores))


def bounded(people: Sequence[tuple[float, float, float]]) -> People:
    """People with (income, hours of work, how far in the east they live)."""
    rows = [
        [str(each) for each in (income, income, work, 1, east, 1)] for income, work, east in people
    ]
    return read_people(bounds(), [COLUMNS, *rows])


@given(
    people=st.lists(
        st.tuples(
            st.integers(-30_000, 50_000), st.integers(-10, 90), st.integers(-3, 12)
        ),
        min_size=1, max_size=30,
    )
)  # fmt: skip
def test_the_truth_is_what_people_answer_and_not_what_the_bounds_leave(
    people: list[tuple[int, int, int]],
) -> None:
    incomes, hours, places = (list(column) for column in zip(*people, strict=True))
    found = {
        (answers.question.name, one.name): one
        for answers in bounded(people).answers
        for one in truths(answers)
        if one is not None
    }

    def clipped(numbers: list[int], low: int, high: int) -> float:
        return sum(min(max(each, low), high) for each in numbers) / len(numbers)

    def outside(numbers: list[int], low: int, high: int) -> float:
        return sum(not low <= each <= high for each in numbers) / len(numbers)

    for name in ("income", "spread"):
        mean = found[name, "mean"]
        assert mean.value == pytest.approx(sum(incomes) / len(incomes))
        stepped = [100 * ((each + 50) // 100) for each in incomes]
        assert mean.asked == pytest.approx(clipped(stepped, 0, 20_000))
        assert mean.outside == pytest.approx(outside(incomes, 0, 20_000))
    work = found["hours", "work mean"]
    assert work.value == pytest.approx(sum(hours) / len(hours))
    assert work.asked == pytest.approx(clipped(hours, 0, 40))
    assert work.outside == pytest.approx(outside(hours, 0, 40))
    west, east = found["place", "0 to 4, 0 to 4"], found["place", "5 to 9, 0 to 4"]
    assert west.value == pytest.approx(sum(0 <= each <= 4 for each in places) / len(places))
    assert east.value == pytest.approx(sum(5 <= each <= 9 for each in places) / len(places))
    assert west.asked + east.asked == pytest.approx(1)
    assert west.value + east.value == pytest.approx(1 - west.outside)
    ninth = found["spread", "quantile 0.9"].value
    true = sorted(incomes)[-(-9 * len(incomes) // 10) - 1]
    if true > 20_000 or true < 0:
        assert ninth == true
    else:
        assert abs(ninth - true) <= 700, "the middle of its bucket"


def test_numbers_within_the_bounds_are_not_moved() -> None:
    found = bounded([(100 * index, index, index % 10) for index in range(40)])

    for answers in found.answers:
        for one in truths(answers):
            assert one is not None
            assert (one.value, one.outside) == (one.asked, 0)


def test_choices_may_be_written_by_label_or_by_name(tmp_path: Path) -> None:
    survey = author(
        "name: s\ntitle: S\nquestions:\n"
        "  - {name: a, type: yes_no, label: A, odds: 3}\n"
        "  - {name: b, type: select_one, label: B, odds: 3, show_if: {question: a, is: 'yes'},\n"
        "     choices: ['Never, ever', Once, {name: x, label: Once more}]}\n"
        "  - {name: c, type: select_multiple, label: C, odds: 3, choices: [Red wine, Beer]}\n"
        "  - {name: d, type: product, label: D, odds: 3, parts: [\n"
        "     {name: p, label: P, choices: [Left, Right]},\n"
        "     {name: q, label: Q, choices: [In, Out]}]}"
    )
    head = ["a", "b", "c", "d.p", "d.q"]
    names = ["yes", "never_ever", "red_wine;beer", "left", "out"]
    labels = ["Yes", "Never, ever", "Red wine; Beer", "Left", "Out"]
    hidden = [["no", "", "", "left", "in"], ["No", "", "", "Left", "In"]]

    by_names, by_labels = (
        read_people(survey, [head, row, more])
        for row, more in zip((names, labels), hidden, strict=True)
    )

    for one, other in zip(by_names.answers, by_labels.answers, strict=True):
        everybody = slice(0, 2)
        assert np.array_equal(one.inputs(everybody), other.inputs(everybody))
    with pytest.raises(BadAnswer, match=r"row 2: b: .* Never, ever \(never_ever\), Once \(once\)"):
        read_people(survey, [head, ["Yes", "never", "", "Left", "In"]])


def test_each_distinct_answer_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = author(HABITS)
    read = Counter[str]()
    for kind in {type(question) for question in survey.questions}:

        def counting(self: Any, answer: object, encode: Any = kind.encode) -> Any:
            read[f"{self.name}: {answer}"] += 1
            return encode(self, answer)

        monkeypatch.setattr(kind, "encode", counting)

    read_people(survey, [["stolen", "drinks"], *[["yes", 3], ["no", "40"]] * 100])

    assert read == {"stolen: yes": 1, "stolen: no": 1, "drinks: 3": 1, "drinks: 40": 1}


def test_no_error_holds_an_answer() -> None:
    with pytest.raises(BadAnswer) as refused:
        read_people(author(HABITS), [["stolen", "drinks"], ["a secret", "3"]])
    assert "secret" not in str(refused.value)


def test_what_is_written_for_a_hidden_question_is_not_looked_at() -> None:
    everybody = [person | {"what": "nonsense", "stolen": "no"} for person in several(5)]
    found = read_people(survey_of_everything(), table(everybody))
    what = found.answers[1]
    assert what.question.name == "what"
    assert np.concatenate(list(what.blocks())).tolist() == [3] * 5


def test_too_few_people_for_a_sampled_survey_are_reported() -> None:
    found = read_people(author(SAMPLED), [list("abcd"), ["yes"] * 4])
    with pytest.raises(ValueError, match=r"nobody was asked .*; simulate more people"):
        simulate(found)


def test_a_figure_that_a_run_cannot_tell_is_left_out_of_it() -> None:
    everybody = several(1)
    found = read_people(survey_of_everything(), table(everybody))
    figures = compare(found, [simulate(found) for _ in range(24)])
    # One person reports hours of work or of care. All 24 runs agree once in 2**23.
    told = {one.truth.name: len(one.estimates) for one in figures if one.question == "hours"}
    assert sum(told.values()) == 24
    assert 0 < told["work mean"] < 24


def test_shares_of_those_asked_stand_beside_the_truth() -> None:
    survey = dn.load_survey({
        "name": "late", "title": "Late",
        "questions": [
            {"name": "stolen", "type": "yes_no", "label": "Stolen?", "epsilon": 6},
            {"name": "again", "type": "yes_no", "label": "Again?", "epsilon": 6,
             "show_if": {"question": "stolen", "is": "yes"}},
        ],
    })  # fmt: skip
    rows = [*[["yes", "yes"]] * 40, *[["yes", "no"]] * 120, *[["no", ""]] * 240]
    found = read_people(survey, [["stolen", "again"], *rows])

    whole = {one.truth.name: one for one in compare(found, [simulate_whole(found)] * 2)}
    alone = {one.truth.name: one for one in compare(found, [simulate(found)])}

    asked = whole["yes of those asked"]
    assert asked.truth.value == pytest.approx(0.25)
    assert whole["no of those asked"].truth.value == pytest.approx(0.75)
    assert asked.mean == pytest.approx(0.25, abs=0.2)
    assert asked.meant == "the population"
    assert len(asked.estimates) == 2
    assert alone.keys() == whole.keys()
