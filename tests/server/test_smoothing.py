"""An analyst who knows the truth to be smooth may see it so; every page says which fit it shows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import compile_survey
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from support.documents import results
from support.material import assert_problem, signed
from support.people import answer

ASKED: dict[str, Any] = {
    "name": "income",
    "type": "number",
    "label": "Income?",
    "minimum": 0,
    "maximum": 31,
    "aim": "distribution",
    "epsilon": 1,
}
RULES = {"minimum": 1, "while_open": True}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """One for all tests of this module: each only reads, or has a survey of its own."""
    database = tmp_path_factory.mktemp("smoothing") / "deniably.db"
    app = create_app({"DATABASE": str(database), "TESTING": True})
    yield app
    app.extensions["deniably"].close()


@pytest.fixture(scope="module")
def store(app: Flask) -> Store:
    """Reports of 200 people on two numbers, by a square wave and by subset selection."""
    questions = [ASKED, ASKED | {"name": "spent", "mechanism": "subset_selection"}]
    survey = compile_survey({"name": "s", "title": "T", "results": RULES, "questions": questions})
    store: Store = app.extensions["deniably"]
    store.publish(survey, signed(survey))
    random = np.random.default_rng(1)
    people = [
        {"income": int(x), "spent": int(x)} for x in random.binomial(31, 0.4, 200)
    ]  # fmt: skip
    answer(store, survey, people)
    return store


def shown(client: FlaskClient, query: str, name: str = "s") -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/surveys/{name}/results{query}").get_json()
    return {question["name"]: question for question in found["questions"]}


def test_smoothing_changes_the_bars_and_says_so(store: Store, client: FlaskClient) -> None:
    plain, smooth = shown(client, "")["income"], shown(client, "?smooth=1")["income"]

    assert (plain["fit"], smooth["fit"]) == ("em", "ems")
    assert plain["can_smooth"]
    bars = [[bucket["consistent"] for bucket in one["distribution"]] for one in (plain, smooth)]
    assert bars[0] != bars[1]
    for before, after in zip(plain["distribution"], smooth["distribution"], strict=True):
        assert before | {"consistent": 0} == after | {"consistent": 0}
    assert plain["mean"] == smooth["mean"]
    assert shown(client, "?smooth=0")["income"] == plain


def test_what_is_no_square_wave_is_not_smoothed(store: Store, client: FlaskClient) -> None:
    plain, smooth = shown(client, "")["spent"], shown(client, "?smooth=1")["spent"]

    assert plain == smooth
    assert plain["fit"] == "projection"
    assert not plain["can_smooth"]


def test_the_spreadsheet_says_which_fit_it_has(store: Store, client: FlaskClient) -> None:
    text = client.get("/api/surveys/s/results.csv?smooth=1").text
    fits = {
        (row["question"], row["fit"])
        for row in csv.DictReader(io.StringIO(text))
        if row["figure"] == "share"
    }

    assert fits == {("income", "ems"), ("spent", "projection")}


def test_the_page_offers_it_and_says_what_it_shows(store: Store, client: FlaskClient) -> None:
    plain, smooth = (client.get(f"/surveys/s{query}").text for query in ("", "?smooth=1"))

    assert 'href="/surveys/s?smooth=1"' in plain
    assert "expectation maximisation, stopped early" in plain
    assert "expectation maximisation with smoothing" in smooth
    assert 'href="/surveys/s?smooth=1"' not in smooth
    assert 'href="/api/surveys/s/results.csv?smooth=1"' in smooth
    for page in (plain, smooth):
        assert "The dots are the distribution nearest to the estimates." in page


def test_from_two_thousand_reports_on_nothing_is_smoothed(store: Store) -> None:
    survey, tallies = store.survey("s"), store.tally("s")
    for _ in range(4):  # 3,200 reports
        tallies = {name: tally + tally for name, tally in tallies.items()}

    found, *_ = results(survey, "open", tallies, smooth=True)["questions"]

    assert found["fit"] == "em"
    assert not found["can_smooth"]


@pytest.mark.parametrize("path", ["/api/surveys/s/results", "/api/surveys/s/results.csv"])
def test_anything_else_is_refused(store: Store, client: FlaskClient, path: str) -> None:
    problem = assert_problem(client.get(f"{path}?smooth=yes"), 400, "bad-parameter")

    assert "smooth=1" in problem["detail"]


def test_where_noise_hides_the_shape_the_page_says_so(app: Flask, client: FlaskClient) -> None:
    noisy = ASKED | {"mechanism": "gaussian", "delta": 0.00001, "maximum": 15, "epsilon": 4}
    survey = compile_survey({"name": "n", "title": "T", "results": RULES, "questions": [noisy]})
    store: Store = app.extensions["deniably"]
    store.publish(survey, signed(survey))
    answer(store, survey, [{"income": n % 16} for n in range(200)])

    found = shown(client, "", "n")["income"]

    assert found["quantiles"] == []
    assert "These reports do not show the shape" in found["sentence"]
    page = client.get("/surveys/n").text
    assert "These reports do not show the shape" in page
    assert 'class="plot"' not in page, "no dots where nobody knows their place"
