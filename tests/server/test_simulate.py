"""``deniably simulate``: what the analyst would see, on people whose answers are known."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniably.audit.audit import distribution
from deniably.authoring.authoring import compile_survey, load
from deniably.core.errors import BadAnswer
from deniably.mechanisms import Mechanism
from deniably.simulation import people
from deniably.simulation.bulk import uniform
from deniably.simulation.bulk.picks import picked
from deniably.simulation.expected import SO_MANY, expected_tally
from deniably.simulation.people import People, read_people
from deniably.simulation.runs import compare, estimates, simulate
from deniably.simulation.truth import truths
from deniably.survey.questions import Question
from deniably.survey.report import draw_questions, randomise_answers
from deniably.survey.survey import Survey
from deniably_server.commands.simulate import simulate as command
from support.bulk_law import drawing
from support.every_type import somebody, survey_of_everything

HABITS = """
name: s
title: Habits
budget: {epsilon: 4, spend: split}
questions:
  - {name: stolen, type: yes_no, label: Stolen}
  - {name: drinks, type: number, label: Drinks, minimum: 0, maximum: 50}
"""
SAMPLED = """
name: s
title: Habits
budget: {epsilon: 2, spend: sample, ask: 2}
questions:
  - {name: a, type: yes_no, label: A}
  - {name: b, type: yes_no, label: B}
  - {name: c, type: yes_no, label: C}
  - {name: d, type: yes_no, label: D}
"""
SURE = 1e-8
"""The false alarm of each bound below; all together have one below 1e-6."""

Person = dict[str, Any]


def author(text: str) -> Survey:
    return compile_survey(load(text.encode()))


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


def table(everybody: Sequence[Person]) -> list[list[str]]:
    """People as the rows of a CSV file."""
    lines = [dict(cells(person)) for person in everybody]
    names = list(dict.fromkeys(name for line in lines for name in line))
    return [names, *([line.get(name, "") for name in names] for line in lines)]


def cells(person: Person) -> Iterator[tuple[str, str]]:
    for name, answer in person.items():
        if isinstance(answer, dict):
            yield from ((f"{name}.{part}", str(given)) for part, given in answer.items())
        else:
            yield name, "; ".join(answer) if isinstance(answer, list) else str(answer)


def several(n: int) -> list[Person]:
    random = Random(3)
    return [somebody(random) for _ in range(n)]


every_type = pytest.mark.parametrize(
    ("survey", "everybody"),
    [
        (survey_of_everything(), several(500)),
        (author(CLASSICS), [classic(index) for index in range(500)]),
    ],
    ids=["everything", "classics"],
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "survey.yaml"
    path.write_text(HABITS)
    return path


def write(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", newline="") as out:
        csv.writer(out).writerows(rows)
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(one) for one in arguments])


# --- in bulk as on the device -------------------------------------------------------------------


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
        for cell in {*counts, *expected}:
            # Rarer cells, as noise without end has, are held to one in a million.
            law = stats.binom(n, max(expected.get(cell, 0) / SO_MANY, 1e-6))
            count = counts.get(cell, 0)
            assert 2 * min(law.cdf(count), law.sf(count - 1)) > 1e-11, answers.question.name


# --- truth and design ---------------------------------------------------------------------------


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
                assert one.population[0] <= truth.value <= one.population[1]
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


# --- numbers outside the bounds -----------------------------------------------------------------

BOUNDED = """
name: s
title: Bounds
questions:
  - {name: income, type: number, label: I, minimum: 0, maximum: 20000, step: 100, odds: 9,
     aim: mean}
  - {name: spread, type: number, label: S, minimum: 0, maximum: 20000, step: 100, odds: 9,
     aim: distribution}
  - {name: hours, type: vector, label: H, odds: 9, parts: [
      {name: work, label: W, minimum: 0, maximum: 40},
      {name: home, label: H, minimum: 0, maximum: 40}]}
  - {name: place, type: point, label: P, odds: 9, grid: 2, parts: [
      {name: east, label: E, minimum: 0, maximum: 9},
      {name: north, label: N, minimum: 0, maximum: 9}]}
"""
COLUMNS = ["income", "spread", "hours.work", "hours.home", "place.east", "place.north"]


def bounded(people: Sequence[tuple[float, float, float]]) -> People:
    """People with (income, hours of work, how far in the east they live)."""
    rows = [
        [str(each) for each in (income, income, work, 1, east, 1)] for income, work, east in people
    ]
    return read_people(bounds(), [COLUMNS, *rows])


@cache
def bounds() -> Survey:
    return author(BOUNDED)


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


def test_who_clips_most_people_is_told_so_apart_from_the_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mean of 35,000 with a maximum of 20,000 is missed, and not because of the noise. (A fixed
    noise: one interval in twenty does not hold what it is for.)"""
    monkeypatch.setattr(uniform, "urandom", np.random.default_rng(1).bytes)
    survey, people = tmp_path / "s.yaml", tmp_path / "people.csv"
    survey.write_text(BOUNDED)
    random = Random(4)
    incomes = [random.randint(15_000, 55_000) for _ in range(3000)]
    rows = [",".join(COLUMNS)] + [f"{income},{income},5,5,5,5" for income in incomes]
    people.write_text("\n".join(rows))
    mean, share = sum(incomes) / 3000, sum(income > 20_000 for income in incomes) / 3000

    shown = run(survey, "--truth", people).stdout
    facts = json.loads(run(survey, "--truth", people, "--json").stdout)
    many = json.loads(run(survey, "--truth", people, "--json", "--runs", 8).stdout)

    (line,) = [each.split() for each in shown.splitlines() if each.startswith("income  ")][:1]
    assert line[:3] == ["income", "mean", f"{mean:,.0f}"]
    assert line[-1] == "missed"
    _, _, told = shown.partition("Numbers outside the bounds of a question count as the nearer")
    (line,) = [each.split() for each in told.splitlines() if each.startswith("income")]
    assert line[2:4] == [f"{100 * share:.1f}", "%"]
    assert line[-1] == "yes", "the interval holds what the bounds leave"
    assert "place" not in told, "what is within its bounds is not spoken of"
    first = facts[0]
    assert (first["figure"], first["truth"]) == ("mean", pytest.approx(mean))
    assert first["clipped"] == pytest.approx(share)
    assert first["bias"] == pytest.approx(many[0]["bias"])
    assert first["estimate"] == pytest.approx(first["truth"] + first["bias"] + first["noise"])
    # The bias is far above the noise, whose standard error is below 400 (SURE: 6 of them).
    assert abs(first["bias"]) > 10_000
    assert abs(first["noise"]) < 2_400
    assert many[0]["noise"] < 2_400 < many[0]["rmse"]


# --- choices as people write them ---------------------------------------------------------------


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


# --- a file -------------------------------------------------------------------------------------


def test_a_simulation_shows_truth_and_estimate(file: Path, tmp_path: Path) -> None:
    random = Random(1)
    rows = [(random.choice(["yes", "no", "no"]), str(random.randint(0, 20))) for _ in range(3000)]
    truth = write(tmp_path / "truth.csv", [("stolen", "drinks"), *rows])

    done = run(file, "--truth", truth, "--json")

    figures = {(row["question"], row["figure"]): row for row in json.loads(done.stdout)}
    assert set(figures) == {("stolen", "yes"), ("stolen", "no"), ("drinks", "mean")}
    stolen = figures["stolen", "yes"]
    assert stolen["truth"] == Counter(row[0] for row in rows)["yes"] / 3000
    # The standard error is at most 1.2 points: seven of them.
    assert stolen["estimate"] == pytest.approx(stolen["truth"], abs=0.085)
    assert stolen["interval"] == "these respondents"
    shown = run(file, "--truth", truth).output
    assert "of 3 intervals hold the truth" in shown
    assert "those for these respondents" in shown


def test_each_distinct_answer_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = author(HABITS)
    read = Counter[str]()
    for kind in {type(question) for question in survey.questions}:

        def counting(self: Any, answer: object, encode: Any = kind.encode) -> Any:
            read[f"{self.name}: {answer}"] += 1
            return encode(self, answer)

        monkeypatch.setattr(kind, "encode", counting)

    read_people(survey, [["stolen", "drinks"], *[["yes", "3"], ["no", "40"]] * 100])

    assert read == {"stolen: yes": 1, "stolen: no": 1, "drinks: 3": 1, "drinks: 40": 1}


def test_a_large_file_is_simulated_as_a_whole(file: Path, tmp_path: Path) -> None:
    """300,000 rows, more than are laid out at once; the bounds are six standard errors."""
    assert people.BLOCK < 300_000
    rows = [("yes", "10"), ("no", "0"), ("no", "50"), ("no", "20")] * 75_000
    truth = write(tmp_path / "truth.csv", [("stolen", "drinks"), *rows])

    done = run(file, "--truth", truth, "--json")

    figures = {(row["question"], row["figure"]): row for row in json.loads(done.stdout)}
    assert figures["stolen", "yes"]["truth"] == 0.25
    assert figures["drinks", "mean"]["truth"] == 20
    assert figures["stolen", "yes"]["estimate"] == pytest.approx(0.25, abs=0.005)
    assert figures["drinks", "mean"]["estimate"] == pytest.approx(20, abs=0.5)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("stolen\nyes\n", "the column drinks is missing; there are stolen"),
        (
            "stolen,drinks\nyes,3\nperhaps,4\n",
            "row 3: stolen: the answer is none of Yes (yes), No (no)",
        ),
        ("stolen,drinks\nyes,many\n", "row 2: drinks: needs a number"),
        ("stolen,drinks\nyes,\n", "row 2: drinks: needs an answer"),
        ("stolen,drinks\nyes,1\nno\n", "row 3: drinks: needs an answer"),
        ("stolen,drinks\n", "has no rows"),
        ("", "the column stolen is missing"),
        ("stolen,drinks\nyes,\xff\n", "this is not UTF-8 text"),
    ],
)
def test_a_wrong_file_is_explained(file: Path, tmp_path: Path, text: str, why: str) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text(text, encoding="latin-1")

    done = run(file, "--truth", truth)

    assert done.exit_code == 1
    assert why in done.output


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


def test_too_few_people_for_a_sampled_survey_are_told() -> None:
    found = read_people(author(SAMPLED), [list("abcd"), ["yes"] * 4])
    with pytest.raises(ValueError, match=r"nobody was asked .*; simulate more people"):
        simulate(found)


# --- again and again ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", [HABITS, SAMPLED], ids=["split", "sample"])
def test_runs_err_as_the_design_predicts_and_their_intervals_cover(
    text: str, tmp_path: Path
) -> None:
    runs, n = 200, 1000
    survey = author(text)
    everybody = [
        {question.name: "yes" if index % 3 else "no" for question in survey.questions}
        | ({"drinks": index % 30} if text == HABITS else {})
        for index in range(n)
    ]
    file = tmp_path / "survey.yaml"
    file.write_text(text)
    truth = write(tmp_path / "truth.csv", table(everybody))

    done = run(file, "--truth", truth, "--runs", runs, "--json")

    rows = json.loads(done.stdout)
    assert len(rows) == (3 if text == HABITS else 8)
    for row in rows:
        assert row["runs"] == runs
        assert row["interval"] == ("these respondents" if text == HABITS else "the population")
        error = row["estimate"] - row["truth"]
        assert abs(error) < -stats.norm.ppf(SURE / 2) * row["predicted"] / runs**0.5 * 1.01
        low, high = (stats.chi2.ppf(end, runs) / runs for end in (SURE / 2, 1 - SURE / 2))
        # Of n reports the law is normal but for a little, 2 % of the variance.
        assert low * 0.98 < (row["rmse"] / row["predicted"]) ** 2 < high * 1.02
        # Intervals cover at least 0.93 of the time.
        assert row["coverage"] * runs >= stats.binom.ppf(SURE, runs, 0.93)


def test_runs_are_shown_in_a_table(tmp_path: Path) -> None:
    file, truth = tmp_path / "survey.json", tmp_path / "truth.csv"
    file.write_bytes(survey_of_everything().canonical)
    write(truth, table(several(300)))

    done = run(file, "--truth", truth, "--runs", 3)

    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "Every kind of answer: 300 people, 3 runs"
    assert lines[2].split() == [
        "question", "figure", "truth", "mean", "estimate", "RMSE", "predicted", "covered",
    ]  # fmt: skip
    assert any(line.startswith("drugs     cannabis") for line in lines)
    assert any(line.startswith("vote      Red, Yes") for line in lines)
    assert any("quantile 0.5" in line and line.endswith("*") for line in lines)
    assert len(lines) > 100
    assert "where marked * for the population" in lines[-1]


def test_every_figure_of_every_type_is_for_programs_too(tmp_path: Path) -> None:
    file, truth = tmp_path / "survey.json", tmp_path / "truth.csv"
    file.write_bytes(survey_of_everything().canonical)
    write(truth, table(several(300)))

    rows = json.loads(run(file, "--truth", truth, "--runs", 2, "--json").stdout)

    names = {(row["question"], row["figure"]) for row in rows}
    assert names >= {
        ("drugs", "cannabis"), ("what", "not_applicable"), ("happy", "mean score"),
        ("income", "mean"), ("income", "at most 2500"), ("income", "quantile 0.5"),
        ("hours", "care mean"), ("vote", "party.red"), ("vote", "Red, Yes"),
        ("home", "-20 to -15, -20 to -15"),
    }  # fmt: skip
    assert all(0 <= row["coverage"] <= 1 and row["rmse"] >= 0 for row in rows)
    assert all(row["predicted"] is None for row in rows if row["figure"].startswith("quantile"))


def test_a_figure_that_a_run_cannot_tell_is_left_out_of_it() -> None:
    everybody = several(1)
    found = read_people(survey_of_everything(), table(everybody))
    figures = compare(found, [simulate(found) for _ in range(40)])
    # One person reports hours of work or of care. All 40 runs agree once in 2**39.
    told = {one.truth.name: len(one.estimates) for one in figures if one.question == "hours"}
    assert sum(told.values()) == 40
    assert 0 < told["work mean"] < 40


def test_a_mean_score_that_cannot_be_told_leaves_all_open_and_so_holds_the_truth(
    tmp_path: Path,
) -> None:
    """Nine of ten of 200 do not know. Runs that do not tell the mean count as holding it, or those
    that do, which are the odd ones, would be all."""
    text = """
name: s
title: Likert
questions:
  - {name: q, type: scale, label: Q, choices: [a, b, c, d, e], also: [dont_know], epsilon: 1}
"""
    file, runs = tmp_path / "survey.yaml", 20
    file.write_text(text)
    truth = write(tmp_path / "truth.csv", [("q",), *[("b",)] * 20, *[("dont_know",)] * 180])

    done = run(file, "--truth", truth, "--runs", runs, "--json")
    shown = run(file, "--truth", truth, "--runs", runs).stdout

    row = next(row for row in json.loads(done.stdout) if row["figure"] == "mean score")
    assert row["runs"] == runs
    assert 0 < row["untold"] <= runs
    assert row["coverage"] * runs >= stats.binom.ppf(SURE, runs, 0.93)
    assert row["estimate"] is None or 1 <= row["estimate"] <= 5
    assert "(told in" in shown or "cannot be told" in shown


@pytest.mark.parametrize("runs", [0, 1, -5, 10_001, "many"])
def test_a_wrong_number_of_runs_is_refused(file: Path, tmp_path: Path, runs: object) -> None:
    truth = write(tmp_path / "truth.csv", [("stolen", "drinks"), ("yes", "3")])

    done = run(file, "--truth", truth, "--runs", runs)

    assert done.exit_code == 2
    assert "--runs" in done.output


def test_there_is_no_seed(file: Path) -> None:
    assert "--seed" not in run("--help").output
    assert run(file, "--truth", file, "--seed", 1).exit_code == 2
