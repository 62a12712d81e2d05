"""Results: the numbers of ``estimate``, shown when the definition says so, safe to open."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring.compiling import publish_text
from deniably.core.languages.csv_text import spreadsheet_cell
from deniably.design.plan_table import plan_survey
from deniably.estimation.estimate import estimate
from deniably.estimation.question_shares import display_shares, standing_out
from deniably.estimation.tally import Tally
from deniably.results.narrative import enough
from deniably.survey.survey import Survey, as_survey
from deniably_server.storage.store import Store
from support.documents import results
from support.material import a_report, assert_problem, signed, survey_named
from support.people import answer

OPEN = {"results": {"minimum": 1, "while_open": True}}


def tallies(survey: Survey, n: int, **counts: list[int]) -> dict[str, Tally]:
    return {
        question.name: Tally(n, np.array(counts[question.name], dtype=np.int64))
        for question in survey.questions
    }


def result_of(n: int, stolen: list[int], often: list[int]) -> Any:
    survey = survey_named()
    return results(survey, "closed", tallies(survey, n, stolen=stolen, often=often))


# --- when they are shown ------------------------------------------------------------------------


def test_results_are_hidden_until_the_survey_is_closed(
    client: FlaskClient, survey: Survey, author: dict[str, str], app: Flask
) -> None:
    for _ in range(100):
        app.extensions["deniably"].add(survey, a_report(survey))

    for path in ("results", "results.csv"):
        answer = client.get(f"/api/surveys/workplace/{path}")
        detail = assert_problem(answer, 403, "hidden")["detail"]
        assert "closed" in detail
        assert "from 100 reports on" in detail

    client.patch("/api/surveys/workplace", json={"state": "closed"}, headers=author)
    assert client.get("/api/surveys/workplace/results").status_code == 200
    assert client.get("/api/surveys/workplace/results.csv").status_code == 200


def test_hidden_results_say_nothing_of_how_many_reports_there_are(
    client: FlaskClient, app: Flask
) -> None:
    store: Store = app.extensions["deniably"]
    survey = survey_named(results={"minimum": 5, "while_open": True})
    store.publish(survey, signed(survey))
    answers = []
    for _ in range(10):
        refusal = client.get("/api/surveys/workplace/results").get_json()
        answers.append(json.dumps({**refusal, "instance": "random"}))
        store.add(survey, a_report(survey))

    assert len(set(answers)) == 1
    assert client.get("/api/surveys/workplace/results").status_code == 200


def test_a_survey_closed_below_its_minimum_never_shows_results(
    client: FlaskClient, survey: Survey, app: Flask
) -> None:
    for _ in range(99):
        app.extensions["deniably"].add(survey, a_report(survey))
    app.extensions["deniably"].close_survey("workplace")

    answer = client.get("/api/surveys/workplace/results")

    assert "closed with fewer" in assert_problem(answer, 403, "hidden")["detail"]


AGE = (
    "{name: h, title: H, results: {minimum: 1, while_open: true}, questions: [{name: age, type:"
    " number, label: Age?, minimum: 0, maximum: 100, aim: distribution, epsilon: 4"
)


def test_a_mean_that_noise_hides_is_said_to_be_unknown(app: Flask, client: FlaskClient) -> None:
    """A definition whose device sends one of two outputs for 32 buckets of unequal width; the page
    says so and does not fail."""
    store: Store = app.extensions["deniably"]
    definition = json.loads(publish_text(AGE + "}]}").canonical)
    (question,) = definition["questions"]
    question["mechanism"] = {"name": "window", "k": 32, "m": 2, "w": 1, "own": 3, "other": 1}
    hidden = as_survey(definition)
    store.publish(hidden, signed(hidden))
    answer(store, hidden, [{"age": age} for age in (20, 40, 60)])

    for path in ("/surveys/h", "/api/surveys/h/results", "/api/surveys/h/results.csv"):
        assert client.get(path).status_code == 200, path
    assert "The mean cannot be told from these reports" in client.get("/surveys/h").text
    with pytest.raises(ValueError, match="the noise hides every figure of this survey"):
        plan_survey(hidden, n=1000)


def test_the_mean_of_gaussian_noise_on_buckets_is_shown_and_compared(
    app: Flask, client: FlaskClient
) -> None:
    """The shape is hidden, the mean is not: everywhere with one interval. By chance the mean is
    more than 6 standard errors away, and this fails, once in 10^9 runs."""
    store: Store = app.extensions["deniably"]
    noisy = publish_text(AGE + ", mechanism: gaussian, delta: 0.00001}]}")
    store.publish(noisy, signed(noisy))
    answer(store, noisy, [{"age": 55}] * 400)

    (shown,) = client.get("/api/surveys/h/results").get_json()["questions"]
    low, high = shown["mean"]["interval"]
    rows = csv.DictReader(io.StringIO(client.get("/api/surveys/h/results.csv").text))
    (row,) = [one for one in rows if one["figure"] == "mean"]
    test = client.get(f"/api/surveys/h/difference?question=age&value={low}").get_json()

    assert shown["mean"]["estimate"] == pytest.approx(55, abs=6 * 5.4)  # standard errors
    assert 1.5 < low < high < 99
    assert [float(row["low"]), float(row["high"])] == [low, high]
    assert test["p_value"] == pytest.approx(0.05, abs=0.001)
    assert shown["sentence"].startswith("The mean is")
    assert shown["sentence"] in client.get("/surveys/h").text.replace("\xa0", " ")


def test_results_of_a_survey_that_is_not_there_are_not_found(client: FlaskClient) -> None:
    for path in ("results", "results.csv"):
        assert_problem(client.get(f"/api/surveys/nobody/{path}"), 404, "not-found")


# --- the numbers --------------------------------------------------------------------------------


def test_every_number_is_that_of_the_estimator() -> None:
    survey = survey_named()
    counted = tallies(survey, 1000, stolen=[420, 580], often=[500, 450, 400, 350, 300])

    result = results(survey, "open", counted)

    assert result["survey"] == "workplace"
    assert result["title"] == "Honesty at work"
    assert result["digest"] == survey.digest
    assert result["state"] == "open"
    assert result["n"] == 1000
    assert result["confidence"] == 0.95
    assert result["total"] == {"odds": "9", "epsilon": "2.20"}
    for question, shown in zip(survey.questions, result["questions"], strict=True):
        found = estimate(counted[question.name], question.mechanism)
        displayed = display_shares(question, counted[question.name], found)
        assert shown["n"] == 1000
        assert shown["mechanism"] == {
            "name": "subset_selection",
            "k": question.mechanism.k,
            "omega": question.mechanism.omega,
            "own": 3,
            "other": 1,
        }
        assert shown["claim"] == {"odds": "3"}
        assert (shown["odds"], shown["epsilon"]) == ("3", "1.10")
        assert shown["design_effect"] == round(found.design_effect or 0, 6)
        assert shown["effective_n"] == round(found.effective_n or 0, 6)
        for v, choice in enumerate(shown["choices"]):
            assert choice["name"] == question.choices[v].name
            assert choice["label"] == question.choices[v].label
            assert choice["count"] == counted[question.name].counts[v]
            assert choice["estimate"] == round(found.raw[v], 6)
            assert choice["standard_error"] == round(found.standard_error[v], 6)
            assert choice["interval"] == [round(found.low[v], 6), round(found.high[v], 6)]
            assert choice["joint_interval"] == [
                round(found.joint_low[v], 6),
                round(found.joint_high[v], 6),
            ]
            assert choice["consistent"] == round(displayed[v], 6)
            out = standing_out(question.mechanism, counted[question.name], single=True)
            assert choice["stands_out"] == out[v]


@pytest.mark.parametrize("stolen", [[0, 1], [1, 0]])
def test_one_report_gives_finite_numbers(stolen: list[int]) -> None:
    result = result_of(1, stolen, [1, 1, 0, 0, 0])

    _assert_finite(json.loads(json.dumps(result, allow_nan=False)))


def _assert_finite(value: Any) -> None:
    match value:
        case float():
            assert math.isfinite(value)
        case dict():
            for each in value.values():
                _assert_finite(each)
        case list():
            for each in value:
                _assert_finite(each)


def test_the_odds_of_an_epsilon_are_rounded_up() -> None:
    definition = {
        "name": "q",
        "type": "yes_no",
        "label": "Well?",
        "choices": [{"name": "yes", "label": "Yes"}, {"name": "no", "label": "No"}],
        "claim": {"epsilon": "1"},
        "mechanism": {"name": "subset_selection", "k": 2, "omega": 1,
                      "own": 11674931554, "other": 4294967296},
    }  # fmt: skip
    survey = survey_named(questions=[definition])

    result = results(survey, "closed", tallies(survey, 10, q=[5, 5]))

    assert result["questions"][0]["odds"] == "2.72"
    assert result["questions"][0]["epsilon"] == "1.00"
    assert result["total"] == {"odds": "2.72", "epsilon": "1.00"}


# --- the sentences ------------------------------------------------------------------------------


def test_a_yes_no_question_reads_as_one_sentence() -> None:
    # Of 10000 reports 41 % said Yes: (0.41 - 0.25) / 0.5 = 32 %.
    question = result_of(10_000, [4100, 5900], [4000] * 5)["questions"][0]

    assert question["sentence"] == ("About 32 in 100 answered “Yes” (30 to 34).")
    assert question["flags"] == []


def test_a_clear_leader_is_the_most_frequent_answer() -> None:
    sentence = result_of(10_000, [5000, 5000], [4800, 4200, 3800, 3600, 3600])["questions"][1][
        "sentence"
    ]

    assert sentence == "“Never” is the most frequent answer: about 44 in 100 (41 to 47)."


@pytest.mark.parametrize(
    "often",
    [
        [4250, 4225, 3842, 3842, 3841],
        [4100, 4090, 4090, 3860, 3860],
        [4000, 4000, 4000, 4000, 4000],
    ],
)
def test_a_lead_that_may_be_chance_is_none(often: list[int]) -> None:
    question = result_of(20_000, [1, 19_999], [2 * each for each in often])["questions"][1]

    assert question["sentence"].startswith(
        "No answer is clearly in front. The highest estimate is “Never”, about"
    )


def test_the_only_answer_that_stands_out_is_named() -> None:
    question = result_of(300, [75, 225], [152, 112, 112, 112, 112])["questions"][1]

    assert [one["label"] for one in question["choices"] if one["stands_out"]] == ["Never"]
    low, high = question["choices"][0]["interval"]
    assert question["sentence"] == (
        "No answer is clearly in front. Only “Never” stands out, with"
        f" {100 * low:.0f} to {100 * high:.0f} in 100."
    )


@pytest.mark.parametrize(
    ("n", "yes", "sentence"),
    [
        (120, 30, "“Yes” was not clearly seen: the reports are compatible with any share below"),
        (120, 90, "At least 83 in 100 answered “Yes”."),
        (4, 2, "These reports are too few to say anything about “Yes”."),
    ],
)
def test_what_reports_do_not_prove_is_not_said(n: int, yes: int, sentence: str) -> None:
    question = result_of(n, [yes, n - yes], [n * 2 // 5] * 5)["questions"][0]

    assert question["sentence"].startswith(sentence)
    if "not clearly seen" in sentence:
        low, high = question["choices"][0]["interval"]
        assert low == 0
        assert question["sentence"].endswith(
            f"below {math.ceil(100 * high)}\u202f%, nobody included."
        )


def test_a_note_says_how_many_answers_single_figures_would_take() -> None:
    question = result_of(100, [40, 60], [40] * 5)["questions"][0]

    assert question["flags"] == [], "few answers are no sign of a fraud"
    assert question["notes"] == [
        "About 390 answers to this question would bring every share within ±10 points."
    ]  # 1.96^2 / 4 / (0.5 * 0.1)^2 = 384.1
    assert result_of(200, [80, 120], [80] * 5)["questions"][0]["notes"] == []


def test_sentences_keep_a_number_and_its_sign_on_one_line() -> None:
    for n in (5, 120, 10_000):
        for question in result_of(n, [n // 4, n - n // 4], [n * 2 // 5] * 5)["questions"]:
            assert " %" not in question["sentence"]


def test_the_n_that_is_enough_is_enough() -> None:
    for question in survey_named().questions:
        n = enough(question.mechanism, 0.1)
        k, omega = question.mechanism.k, question.mechanism.omega
        for supported in np.linspace(0, n, 50).astype(int):
            rest = (n * omega - supported) // (k - 1)
            counts = np.array([supported, *[min(rest, n)] * (k - 1)])
            found = estimate(Tally(n, counts), question.mechanism)
            assert (found.high[0] - found.low[0]) / 2 <= 0.1


def test_implausible_counts_are_flagged() -> None:
    question = result_of(10_000, [9000, 1000], [4000] * 5)["questions"][0]

    (flag,) = question["flags"]
    assert "“Yes” and “No”" in flag
    assert "suspect" in flag


def test_a_rare_answer_is_not_an_accusation() -> None:
    """A true share of 0 misses its 95 % interval one time in 40; that is no fault."""
    # 25 % of honest reports say Yes when nobody does; here two standard errors fewer.
    n, spread = 10_000, math.sqrt(0.25 * 0.75 * 10_000)
    yes = round(2500 - 2.2 * spread)
    counted = tallies(survey_named(), n, stolen=[yes, n - yes], often=[4000] * 5)
    assert estimate(counted["stolen"], survey_named().questions[0].mechanism).suspicious[0]

    assert result_of(n, [yes, n - yes], [4000] * 5)["questions"][0]["flags"] == []


# --- for spreadsheets ---------------------------------------------------------------------------


def rows(client: FlaskClient) -> list[dict[str, str]]:
    answer = client.get("/api/surveys/workplace/results.csv")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="workplace.csv"'
    return list(csv.DictReader(io.StringIO(answer.data.decode("utf-8"))))


def test_the_spreadsheet_has_the_same_numbers_one_row_a_choice(
    client: FlaskClient, app: Flask
) -> None:
    store: Store = app.extensions["deniably"]
    survey = survey_named(**OPEN)
    store.publish(survey, signed(survey))
    for n in range(40):
        store.add(survey, a_report(survey, stolen=[n % 2], often=[n % 3, 3 + n % 2]))
    result = json.loads(client.get("/api/surveys/workplace/results").data)

    found = rows(client)

    expected = [(q, c) for q in result["questions"] for c in q["choices"]]
    for row, (question, choice) in zip(found, expected, strict=True):
        assert (row["question"], row["choice"]) == (question["name"], choice["name"])
        assert int(row["count"]) == choice["count"]
        assert row["count_of"] == "reports that support the choice, not people"
        p, q = float(row["p"]), float(row["q"])
        assert (p, q) == (question["p"], question["q"])
        again = (int(row["count"]) / int(row["n"]) - q) / (p - q)
        assert again == pytest.approx(choice["estimate"], abs=1e-6)
        assert [float(row["low"]), float(row["high"])] == choice["interval"]
        assert [float(row["joint_low"]), float(row["joint_high"])] == choice["joint_interval"]
        for key in ("estimate", "standard_error", "consistent"):
            assert float(row[key]) == choice[key]
        assert row["stands_out"] == str(choice["stands_out"])
        assert int(row["n"]) == question["n"] == 40


@given(
    label=st.text(st.sampled_from("=+-@＝;\t\n\r\"' ,a1"), min_size=1, max_size=12),
    separator=st.sampled_from(",;\t"),
)
def test_no_cell_is_a_formula_whatever_separates_the_cells(label: str, separator: str) -> None:
    """Where ; separates, a quotation mark within the line opens nothing: the line is cut there."""
    out = io.StringIO()
    csv.writer(out).writerow(["workplace", spreadsheet_cell(label), "x"])
    line = out.getvalue()

    if separator == ",":
        ((_, cell, _),) = csv.reader(io.StringIO(line, newline=""))
        found = [cell]
    else:
        found = re.split(rf"[{separator}\r\n]", line)
    for cell in found:
        assert cell.strip(' \t\r\n"')[:1] not in set("=+-@＝＋－＠"), (label, line)


@pytest.mark.parametrize("number", ["-5", "+3.25", "0", "-0.5", 3, -2.5, None])
def test_numbers_stay_numbers(number: str | float | None) -> None:
    assert spreadsheet_cell(number) == number


@pytest.mark.parametrize("label", ["Yes; no", "A-B", "a=b", "Left, -right", "1; 2"])
def test_an_ordinary_label_stays_as_it_is(label: str) -> None:
    assert spreadsheet_cell(label) == label


@pytest.mark.parametrize("label", ["=1+1", "+1+1", "-1-A1", "@SUM(1)", "=cmd|' /C calc'!A0"])
def test_a_label_never_runs_as_a_formula(client: FlaskClient, app: Flask, label: str) -> None:
    store: Store = app.extensions["deniably"]
    questions = json.loads(survey_named().canonical)["questions"][1:]
    questions[0]["label"] = label
    questions[0]["choices"][0]["label"] = label
    survey = survey_named(questions=questions, **OPEN)
    store.publish(survey, signed(survey))
    for _ in range(40):
        store.add(survey, a_report(survey, often=[3, 4]))

    first, *_ = rows(client)

    assert first["choice_label"] == "'" + label
    assert first["question_label"] == "'" + label
    assert float(first["estimate"]) < 0  # a number keeps its sign and gets no apostrophe


def test_where_devices_draw_the_questions_the_margins_are_those_for_a_population() -> None:
    """Of the respondents a random part reported a question: its margin is no smaller for that."""
    drawn = survey_named(ask=1)
    counted = tallies(drawn, 1000, stolen=[420, 580], often=[500, 450, 400, 350, 300])

    result = results(drawn, "closed", counted)

    for question in result["questions"]:
        for choice in question["choices"]:
            assert choice["respondents_interval"] == choice["interval"]
    everybody = results(survey_named(), "closed", counted)
    for some, every in zip(result["questions"], everybody["questions"], strict=True):
        assert some["design_effect"] == pytest.approx(2 * (every["design_effect"] or 0), abs=1e-5)
        assert some["effective_n"] == every["effective_n"]
    for choice in results(survey_named(), "closed", counted)["questions"][0]["choices"]:
        assert choice["respondents_interval"] != choice["interval"]


# --- many answers that few have ----------------------------------------------------------------


def test_of_many_answers_the_page_leads_with_those_that_stand_out(
    client: FlaskClient, app: Flask
) -> None:
    store: Store = app.extensions["deniably"]
    names = [f"word-{v}" for v in range(21)]
    asked = {
        "name": "word",
        "type": "select_one",
        "label": "Which word?",
        "choices": [{"name": name, "label": name.capitalize()} for name in names],
        "claim": {"odds": "3"},
        "mechanism": {"name": "subset_selection", "k": 21, "omega": 1, "own": 3, "other": 1},
    }
    survey = survey_named(questions=[asked], **OPEN)
    store.publish(survey, signed(survey))
    for n in range(200):
        store.add(survey, a_report(survey, word=[n % 21 if n % 3 else 5]))
    result = json.loads(client.get("/api/surveys/workplace/results").data)["questions"][0]

    page = client.get("/surveys/workplace").get_data(as_text=True)

    assert [choice["name"] for choice in result["choices"] if choice["stands_out"]] == ["word-5"]
    assert "1 answer stands out from the noise." in page
    assert "nobody’s answer is at most 5\u202f%" in page
    assert page.index("Word-5</th>") < page.index("20 answers that maybe nobody gave")
    assert page.index("20 answers that") < page.index("Word-0</th>")


# --- the cost -----------------------------------------------------------------------------------


def test_what_results_cost_does_not_depend_on_the_number_of_reports(
    client: FlaskClient, app: Flask, database: Path
) -> None:
    """Counted in SQLite's own instructions, so that no clock takes part."""
    store: Store = app.extensions["deniably"]
    survey = survey_named(**OPEN)
    store.publish(survey, signed(survey))

    few = _cost(client, store, survey, 5)
    many = _cost(client, store, survey, 500)

    assert 0 < many <= few + 50


def _cost(client: FlaskClient, store: Store, survey: Survey, reports: int) -> int:
    for _ in range(reports):
        store.add(survey, a_report(survey))
    assert client.get("/api/surveys/workplace/results").status_code == 200
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    (reader,) = store._readers._free  # the one that reads for one request after the other
    assert isinstance(reader, sqlite3.Connection)
    reader.set_progress_handler(step, 1)
    assert client.get("/api/surveys/workplace/results").status_code == 200
    reader.set_progress_handler(None, 1)
    return steps
