"""Fake reports: what results say of them, and an attack on a real survey that bears it out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from secrets import token_hex

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text
from deniably.results.plausibility import deviation, pair_score
from deniably.survey.report import Report, randomise_answers
from deniably.survey.survey import Survey
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite, Outcome
from support.material import assert_problem, signed
from support.same_bytes import drawn_once

TEXT = """
name: work
title: At work
results: {minimum: 1, while_open: true}
questions:
  - name: colour
    type: select_one
    label: Which colour
    choices: [red, green, blue, black, white, grey, pink, brown]
    epsilon: 1
  - {name: stolen, type: yes_no, label: Ever, odds: 3}
  - {name: drinks, type: number, label: Drinks, minimum: 0, maximum: 50, unit: drinks, epsilon: 1}
  - name: fines
    type: number
    label: Fines
    minimum: 0
    maximum: 10
    mechanism: laplace
    epsilon: 1
"""
PEOPLE = 3000


@pytest.fixture
def survey(app: Flask) -> Survey:
    survey = publish_text(TEXT)
    app.extensions["deniably"].publish(survey, signed(survey))
    return survey


def honest(n: int = PEOPLE) -> Iterable[dict[str, object]]:
    for i in range(n):
        yield {
            "colour": ("red", "red", "green", "blue")[i % 4],
            "stolen": ("yes", "no", "no", "no")[i % 4],
            "drinks": str(i % 20),
            "fines": str(i % 3),
        }


@pytest.fixture(autouse=True)
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A false alarm once in 10,000 surveys is too often for tests."""
    for module in ("deniably.results.result", "deniably.results.pair_plausibility"):
        monkeypatch.setattr(f"{module}.RISK", 1e-8)


def forge(store: Store, survey: Survey, count: int, **values: list[int]) -> None:
    """Reports that a device could have sent, but whose values somebody chose."""
    own = randomise_answers(survey, next(iter(honest(1)))).values
    batch = BatchWrite(survey)
    for _ in range(count):
        forged = Report(id=token_hex(16), survey=survey.digest, values={**own, **values})
        forged.check(survey)
        batch.add(forged)
    store.begin(batch)
    assert set(batch.wait()) == {Outcome.STORED}


@pytest.fixture
def answered(app: Flask, survey: Survey) -> Store:
    store: Store = app.extensions["deniably"]
    fill(store, survey)
    return store


@drawn_once
def honest_reports(text: str) -> list[Report]:
    survey = publish_text(text)
    return [randomise_answers(survey, person) for person in honest()]


def fill(store: Store, survey: Survey, text: str = TEXT) -> None:
    batch = BatchWrite(survey)
    for report in honest_reports(text):
        batch.add(report)
    store.begin(batch)
    assert {*batch.wait()} == {Outcome.STORED}


def results(client: FlaskClient) -> dict[str, dict[str, object]]:
    found = client.get("/api/surveys/work/results").get_json()
    return {question["name"]: question for question in found["questions"]}


def test_results_state_what_fake_reports_could_do(client: FlaskClient, answered: Store) -> None:
    shown = results(client)

    assert shown["stolen"]["poisoning"]["exchange"] == 1.5
    assert shown["stolen"]["poisoning"]["shift"] == [0.015, 0.075]
    assert shown["colour"]["poisoning"]["exchange"] > 2
    assert 0 < shown["colour"]["poisoning"]["flip"] < 0.5
    assert shown["drinks"]["poisoning"]["flip"] is None
    assert 0.5 < shown["drinks"]["poisoning"]["shift"][0] < 2, "in drinks"
    assert shown["fines"]["poisoning"]["exchange"] == 41


def test_the_worst_forgery_does_what_is_stated_and_no_more(
    client: FlaskClient, answered: Store, survey: Survey
) -> None:
    before = results(client)
    omega = survey.questions[0].mechanism.omega
    count = PEOPLE // 19  # 5 % of all

    forge(answered, survey, count, colour=list(range(8 - omega, 8)), stolen=[0])

    after = results(client)
    for name, target in (("colour", -1), ("stolen", 0)):
        was, now = (shown[name]["choices"][target]["estimate"] for shown in (before, after))
        stated = before[name]["poisoning"]
        share = count / (count + PEOPLE)
        gained = share * (stated["exchange"] - was)
        assert now - was == pytest.approx(gained, abs=1e-4)
        # What is stated starts from a share of 0; an estimate may lie below.
        assert now - was <= stated["shift"][1] + share * max(0.0, -was)


def test_forgery_that_is_bold_enough_is_flagged(
    client: FlaskClient, answered: Store, survey: Survey
) -> None:
    assert not any("poisoning" in flag for one in results(client).values() for flag in one["flags"])

    forge(answered, survey, 4 * PEOPLE, stolen=[0], drinks=[0], fines=[-400])

    flags = {name: " ".join(one["flags"]) for name, one in results(client).items()}
    assert "No true answers explain how often “Yes” and “No” was reported" in flags["stolen"]
    assert "mean lies outside what true answers can give" in flags["drinks"]
    assert "12,000 reports lie farther off the scale than noise puts any" in flags["fines"]


def test_one_report_far_off_the_scale_is_refused(app: Flask, survey: Survey) -> None:
    """Else it alone could move the mean anywhere, and the server's memory with it."""
    client = app.test_client()
    report = randomise_answers(survey, next(iter(honest(1))))
    values = {**report.values, "fines": [2**53 - 1]}
    forged = Report(id=report.id, survey=report.survey, values=values)

    refusal = client.post(
        "/api/surveys/work/reports", data=forged.canonical, content_type="application/json"
    )

    assert "from -400 to 410" in assert_problem(refusal, 422, "bad-report")["detail"]


def test_whole_reports_are_checked(client: FlaskClient, answered: Store, survey: Survey) -> None:
    assert survey.questions[0].mechanism.omega == 2
    text = TEXT.replace("name: work", "name: calm")
    calm = publish_text(text)
    answered.publish(calm, signed(calm))
    fill(answered, calm, text)
    forge(answered, survey, PEOPLE // 10, colour=[6, 7])
    for name in ("calm", "work"):
        answered.close_survey(name)

    even = client.get("/api/surveys/calm/checks").get_json()
    odd = client.get("/api/surveys/work/checks").get_json()

    assert even["questions"] == [
        {"name": "colour", "label": "Which colour", "n": PEOPLE, "pairs": 28, "odd": []}
    ]
    first = odd["questions"][0]["odd"][0]
    assert first["names"] == ["pink", "brown"]
    # 214 more than by chance on average, and fewer than 145 with a chance below 1e-7 (Bernstein's
    # inequality, of the 3,000 honest reports alone: the fake ones are what they are).
    each, offset, spread = pair_score(survey.questions[0].mechanism)
    mean = PEOPLE // 10 * (1 - 2 * each - offset)
    assert mean - PEOPLE * deviation(PEOPLE, spread, 1e-7) > 145
    assert first["together"] > first["expected"] + 145
    page = client.get("/surveys/work/checks").text
    assert "pink with brown" in page
    assert "at most 1 of 100,000,000 surveys" in page


def test_checks_are_hidden_as_results_are(app: Flask) -> None:
    survey = publish_text(TEXT.replace("while_open: true", "while_open: false"))
    app.extensions["deniably"].publish(survey, signed(survey))

    refusal = app.test_client().get("/api/surveys/work/checks")

    assert_problem(refusal, 403, "hidden")


def test_the_dashboard_and_the_spreadsheet_have_the_figures(
    client: FlaskClient, answered: Store
) -> None:
    assert "/surveys/work/checks" not in client.get("/surveys/work").text, "not while it is open"
    answered.close_survey("work")
    page = client.get("/surveys/work").text
    rows = list(csv.DictReader(io.StringIO(client.get("/api/surveys/work/results.csv").text)))

    assert "one weighs as much as 1.5 honest people" in page
    assert "up to 1.5 points, with 5\u202f% by up to 7.5." in page
    assert "/surveys/work/checks" in page
    stolen = next(row for row in rows if row["question"] == "stolen")
    assert (stolen["poisoning_exchange"], stolen["poisoning_shift_1"]) == ("1.5", "0.015")
