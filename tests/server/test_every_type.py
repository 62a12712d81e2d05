"""A survey of every type of question, from true answers to published figures, through the store."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from deniably_server.storage.store import Store
from support.cases import for_each
from support.every_type import somebody, survey_of_everything
from support.material import assert_problem, signed
from support.people import answer

PEOPLE = 1200


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many people have answered, by chance never the same ones. Each test has a copy."""
    path = tmp_path_factory.mktemp("filled") / "deniably.db"
    survey, random = survey_of_everything(), Random(1)
    with closing(Store(str(path))) as store:
        store.publish(survey, signed(survey))
        people = [somebody(random) for _ in range(PEOPLE)]
        for one in people:
            one["happy"] = "unhappy" if one["stolen"] == "yes" else "happy"
        answer(store, survey, people)
    return path


@pytest.fixture
def answered(filled: Path, database: Path, request: pytest.FixtureRequest) -> tuple[Survey, Store]:
    """The survey, and the store of ``app``."""
    assert not database.exists(), "it is there before the application is"
    shutil.copyfile(filled, database)
    store: Store = request.getfixturevalue("app").extensions["deniably"]
    return survey_of_everything(), store


def test_tallies_of_every_type_equal_a_recount(answered: tuple[Survey, Store]) -> None:
    survey, store = answered

    tallies = store.tally("everything")

    assert tallies == store.recount("everything")
    assert {tally.n for tally in tallies.values()} == {PEOPLE}
    assert sum(map(len, store.values("everything"))) == PEOPLE
    for question in survey.questions:
        assert tallies[question.name].endless == (question.mechanism.law.cell_count is None)


def test_no_share_is_shown_outside_its_interval(
    answered: tuple[Survey, Store], client: FlaskClient
) -> None:
    shown = 0
    for confidence in ("0.95", "0.5"):
        found = client.get(f"/api/surveys/everything/results?confidence={confidence}").get_json()
        for question in found["questions"]:
            parts = question.get("parts", [])
            of_parts = [choice for part in parts for choice in part.get("choices", [])]
            for one in [*question.get("choices", []), *question.get("cells", []), *of_parts]:
                low, high = one["interval"]
                assert low <= one["consistent"] <= high
                shown += 1
    assert shown > 100


def test_every_type_has_its_figures_with_margins(
    answered: tuple[Survey, Store], client: FlaskClient
) -> None:
    found = client.get("/api/surveys/everything/results").get_json()
    shown = {question["name"]: question for question in found["questions"]}

    assert found["n"] == PEOPLE
    assert found["total"]["delta"] == "0.00001"
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for name in ("stolen", "what", "caught", "drugs", "worries", "happy"):
        assert shown[name]["choices"], name
        for choice in shown[name]["choices"]:
            low, high = choice["interval"]
            near, far = choice["respondents_interval"]
            assert 0 <= low <= high <= 1
            assert far - near <= high - low + 1e-6
    for name, top in (("trust", 5), ("drinks", 50), ("income", 8000), ("sick", 20), ("fines", 10)):
        low, high = shown[name]["mean"]["interval"]
        assert 0 <= low <= high <= top, name
    assert shown["drinks"]["mean"]["unit"] == "drinks"
    assert "\u202fdrinks (" in shown["drinks"]["sentence"]
    assert shown["happy"]["mean"] is not None, "a scale also has a mean score"
    assert len(shown["income"]["distribution"]) == 16
    assert [quantile["share"] for quantile in shown["income"]["quantiles"]] == [
        0.1, 0.25, 0.5, 0.75, 0.9,
    ]  # fmt: skip
    median = shown["income"]["quantiles"][2]
    low, high = median["interval"]
    low, high, half = (f"{int(end):,}" for end in (low, high, median["high"]))
    assert shown["income"]["sentence"].endswith(
        f"Half of the numbers are at most about {half}\u202fEUR ({low} to {high})."
    ), "sentence and table agree"
    assert [part["mean"]["n"] for part in shown["hours"]["parts"]] == pytest.approx(
        [PEOPLE / 2] * 2, abs=150
    )
    assert len(shown["home"]["cells"]) == 64
    assert [len(part["choices"]) for part in shown["vote"]["parts"]] == [3, 2]
    assert shown["fines"]["delta"] == "0.00001"


SHARED = {
    "claim", "epsilon", "flags", "label", "mechanism", "method", "n", "name", "notes", "odds",
    "sentence", "short", "type",
}  # fmt: skip
SUPPORTED, TOGETHER = {"p", "q"}, {"design_effect", "effective_n"}
OF_CHOICES = {"choices", "poisoning"} | TOGETHER
SPREAD = {"distribution", "fit", "can_smooth", "quantiles"}
KEYS = {
    "stolen": OF_CHOICES | SUPPORTED,
    "what": OF_CHOICES | SUPPORTED | {"among_asked"},
    "caught": OF_CHOICES,
    "drugs": OF_CHOICES | SUPPORTED | {"most"},
    "worries": OF_CHOICES | SUPPORTED | {"most"},
    "happy": OF_CHOICES | SUPPORTED | {"mean"},
    "trust": {"mean", "poisoning"},
    "drinks": {"mean", "poisoning"},
    "income": {"mean", "poisoning"} | SPREAD,
    "sick": {"mean", "poisoning"},
    "fines": {"mean", "poisoning", "delta"},
    "hours": {"parts"},
    "home": {"cells", "outline", "poisoning", "sides"} | SUPPORTED | TOGETHER,
    "vote": {"parts", "cells", "poisoning"} | SUPPORTED | TOGETHER,
}


def test_each_question_has_the_keys_of_its_type_and_no_other(
    answered: tuple[Survey, Store], client: FlaskClient
) -> None:
    found = client.get("/api/surveys/everything/results").get_json()["questions"]

    assert {one["name"]: {*one} - SHARED for one in found} == KEYS
    assert all({*one} >= SHARED for one in found)
    parts = {one["name"]: [{*part} for part in one["parts"]] for one in found if "parts" in one}
    assert parts == {
        "hours": [{"name", "label", "mean", "poisoning"}] * 2,
        "vote": [{"name", "label", "choices"}] * 2,
    }


def test_the_description_has_a_shape_for_each_type_of_question(client: FlaskClient) -> None:
    schemas = client.get("/api/openapi.json").get_json()["components"]["schemas"]
    shapes = schemas["SurveyResult"]["properties"]["questions"]["items"]

    types = {question.type for question in survey_of_everything().questions}
    assert {*shapes["discriminator"]["mapping"]} == types
    assert shapes["discriminator"]["propertyName"] == "type"
    for address in shapes["discriminator"]["mapping"].values():
        assert schemas[address.rsplit("/", 1)[1]]["additionalProperties"] is False


def test_the_spreadsheet_has_every_figure(
    answered: tuple[Survey, Store], client: FlaskClient
) -> None:
    rows = list(csv.DictReader(io.StringIO(client.get("/api/surveys/everything/results.csv").text)))
    figures = {(row["question"], row["part"], row["figure"]) for row in rows}

    assert ("drinks", "", "mean") in figures
    assert ("hours", "care", "mean") in figures
    assert ("vote", "party", "share") in figures
    assert ("vote", "", "joint share") in figures
    assert ("income", "", "share at most") in figures
    assert len([row for row in rows if row["question"] == "home"]) == 64


def test_the_dashboard_shows_every_type(
    answered: tuple[Survey, Store], client: FlaskClient
) -> None:
    page = client.get("/surveys/everything").text

    for question in client.get("/api/surveys/everything/results").get_json()["questions"]:
        assert question["label"] in page
    assert page.count('<table class="fig"') == 6 + 1 + 5 + 1 + 2, (
        "shares, of a follow-up of those asked, means, hours, glance"
    )
    assert page.count('<table class="heat"') == 1
    assert page.count('class="map"') == 1
    assert page.count('class="plot"') == 1
    found = client.get("/api/surveys/everything/results").get_json()["questions"]
    mechanisms = json.dumps([one["mechanism"] for one in found])
    assert "weights" not in mechanisms, "matrices are in the definition"


def test_a_survey_that_asks_some_of_its_questions_counts_who_was_asked_what(app: Flask) -> None:
    """Two of fourteen questions each: every question has about a seventh of the reports."""
    store: Store = app.extensions["deniably"]
    whole = survey_of_everything()
    questions = [q for q in json.loads(whole.canonical)["questions"] if "show_if" not in q]
    survey = survey_of_everything(questions=questions, ask=2)
    store.publish(survey, signed(survey))
    random = Random(2)
    people = [somebody(random) for _ in range(1300)]
    for person in people:
        del person["what"]
    answer(store, survey, people)

    tallies = store.tally("everything")

    assert tallies == store.recount("everything")
    assert sum(tally.n for tally in tallies.values()) == 2 * 1300
    # Each is Binomial(1300, 2/13): outside 120 to 290 with a chance below 1e-9.
    assert all(120 <= tally.n <= 290 for tally in tallies.values())
    found = app.test_client().get("/api/surveys/everything/results").get_json()
    assert found["n"] == 1300
    assert [q["n"] for q in found["questions"]] == [tallies[q.name].n for q in survey.questions]


def test_results_wait_until_every_question_has_its_minimum(app: Flask) -> None:
    store: Store = app.extensions["deniably"]
    question = json.loads(survey_of_everything().canonical)["questions"][0]
    survey = survey_of_everything(
        questions=[question, question | {"name": "again"}],
        ask=1,
        results={"minimum": 5, "while_open": True},
    )
    store.publish(survey, signed(survey))
    for _ in range(8):
        report = randomise_answers(survey, {"stolen": "yes"}, questions=[survey.questions[0]])
        store.add(survey, report)

    assert app.test_client().get("/api/surveys/everything/results").status_code == 403


# --- how answers go together ---------------------------------------------------------------------


def test_two_answers_are_crossed_without_anybody_having_seen_them(
    answered: tuple[Survey, Store], client: FlaskClient
) -> None:
    """Who has not stolen was not asked what, and is happy: a row with one cell."""
    answered[1].close_survey("everything")
    found = client.get("/api/surveys/everything/crosstab?rows=what&columns=happy").get_json()

    assert found["rows"][-1] == "Not applicable"
    assert found["columns"][0] == "Unhappy"
    assert found["columns"][2] == "Happy"
    assert found["n"] == PEOPLE
    shares = [[cell["estimate"] for cell in row] for row in found["cells"]]
    assert sum(map(sum, shares)) == pytest.approx(1, abs=1e-4)
    for row in found["cells"]:
        for cell in row:
            assert 0 <= cell["interval"][0] <= cell["interval"][1] <= 1
    # Standard errors of .027 and .035: the bounds are more than 5.6 of them.
    assert sum(row[0] for row in shares[:3]) == pytest.approx(0.3, abs=0.16)
    assert shares[3][2] == pytest.approx(0.7, abs=0.2)
    assert found["independence"] == 0.001  # the least that 999 shuffles can show
    page = client.get("/surveys/everything/crosstab?rows=what&columns=happy").text
    assert found["sentence"] in page


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("", "“rows” names a question"),
        ("rows=stolen", "“columns” names a question"),
        ("rows=stolen&columns=stolen", "the same question"),
        ("rows=stolen&columns=drinks", "can be crossed: stolen, what"),
    ],
)
def test_what_cannot_be_crossed_is_said(
    answered: tuple[Survey, Store], client: FlaskClient, query: str, why: str
) -> None:
    answered[1].close_survey("everything")
    answer = client.get(f"/api/surveys/everything/crosstab?{query}")

    assert why.lower() in assert_problem(answer, 400, "bad-parameter")["detail"].lower()


def test_groups_on_the_map_are_found_with_their_uncertainty(
    answered: tuple[Survey, Store], client: FlaskClient
) -> None:
    """(That they are the right ones is shown where the tally has no chance in it.)"""
    found = client.get("/api/surveys/everything/groups?question=home&count=2").get_json()

    assert found["n"] == PEOPLE
    assert len(found["groups"]) == 2
    for group in found["groups"]:
        assert all(-21 <= place <= 21 for place in group["centre"])
        assert 0 < group["centre_error"] < 60
    assert sum(group["share"] for group in found["groups"]) == pytest.approx(1, abs=1e-5)
    page = client.get("/surveys/everything/groups?question=home&count=2").text
    assert "<svg" in page
    assert "groups/figure?question=home&amp;count=2" in page
    file = client.get("/api/surveys/everything/groups.svg?question=home&count=2&width=180").text
    said = " ".join("".join(ElementTree.fromstring(file).itertext()).split())
    assert file.count("#a8480c") == 2, "two rings"
    assert "is an assumption, not a finding" in said
    for group in found["groups"]:
        assert f"share {100 * group['share']:.1f}" in said.replace("\u202f", " ")
    figure = client.get("/surveys/everything/groups/figure?question=home&count=2").text
    assert "groups.csv?question=home&amp;count=2" in figure
    assert "The groups</a>" in figure
    sheet = client.get("/api/surveys/everything/groups.csv?question=home&count=2").text
    lines = [line.split(",") for line in sheet.splitlines()]
    assert lines[0][4:7] == ["group", "first", "second"]
    for line, letter, group in zip(lines[1:], "AB", found["groups"], strict=True):
        assert line[4] == letter
        assert list(map(float, line[5:7])) == group["centre"]
        assert float(line[8]) == group["share"]


def test_groups_without_their_library_name_the_extra_that_has_it(
    answered: tuple[Survey, Store], client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    answer = client.get("/api/surveys/everything/groups?question=home&count=2")
    assert "Deniably's extra clusters" in assert_problem(answer, 404, "not-found")["detail"]


@pytest.mark.parametrize(
    "query", ["", "question=drinks", "question=home&count=0", "question=home&count=x"]
)
def test_what_cannot_be_grouped_is_said(
    answered: tuple[Survey, Store], client: FlaskClient, query: str
) -> None:
    assert_problem(client.get(f"/api/surveys/everything/groups?{query}"), 400, "bad-parameter")


def test_hidden_results_hide_what_goes_together_too(app: Flask) -> None:
    store: Store = app.extensions["deniably"]
    survey = survey_of_everything(results={"minimum": 5, "while_open": False})
    store.publish(survey, signed(survey))
    client = app.test_client()

    for path in ("crosstab?rows=what&columns=happy", "groups?question=home"):
        assert_problem(client.get(f"/api/surveys/everything/{path}"), 403, "hidden")


# --- differences --------------------------------------------------------------------------------


def test_differences_come_with_their_p_value(
    answered: tuple[Survey, Store], client: FlaskClient
) -> None:
    """Three in ten have stolen; a second survey of the same people's kind says the same."""
    _, store = answered
    again = survey_of_everything(name="again")
    store.publish(again, signed(again))
    random = Random(3)
    answer(store, again, [somebody(random) for _ in range(300)])

    def ask(query: str) -> Any:
        return client.get(f"/api/surveys/everything/difference?{query}").get_json()

    assert ask("question=stolen&choice=yes&share=0.9")["p_value"] < 1e-6
    assert ask("question=stolen&choice=yes&other=no")["estimate"] < 0
    assert ask("question=stolen&choice=yes&other=no")["p_value"] < 1e-3
    same = ask("question=stolen&choice=yes&survey=again")
    assert 0 <= same["p_value"] <= 1
    assert "here and in again" in same["sentence"]
    assert abs(ask("question=drinks&survey=again")["estimate"]) < 25
    assert abs(ask("question=trust&survey=again")["estimate"]) < 2
    for name in ("income", "sick", "fines", "happy", "hours&part=care"):
        found = ask(f"question={name}&survey=again")
        assert 0 <= found["p_value"] <= 1, name
        assert "the mean here and in again" in found["compared"]


@for_each(
    ("query", "why"),
    [
        ("question=stolen&choice=yes", "exactly one of share, other, value, survey, by is given"),
        ("question=stolen&choice=yes&share=2", "from 0 to 1"),
        ("question=stolen&choice=yes&share=x", "from 0 to 1"),
        ("question=stolen&choice=perhaps&share=0.5", "one of yes, no"),
        ("question=nothing&choice=yes&share=0.5", "one of the questions of everything"),
        ("question=stolen&share=0.5", "compare a choice"),
        ("question=drinks&choice=yes&share=0.5", "no choices"),
        ("question=drugs&choice=lsd&other=heroin", "one answer out of several"),
        ("question=sick&survey=everything", "names another survey"),
        ("question=stolen&choice=yes&survey=everything", "names another survey"),
        ("question=stolen&choice=yes&value=1", "compare a choice"),
        ("question=stolen&value=1", "has no mean"),
        ("question=home&value=1", "has no mean"),
        ("question=drinks&value=51", "from 0 to 50"),
        ("question=trust&value=0.9", "from 1 to 5"),
        ("question=drinks&value=x", "from 0 to 50"),
        ("question=drinks&value=nan", "from 0 to 50"),
        ("question=hours&value=40", "“part” names one of the numbers of hours: work, care"),
    ],
)
def test_what_cannot_be_compared_is_said(
    answered: tuple[Survey, Store], client: FlaskClient, query: str, why: str
) -> None:
    answer = client.get(f"/api/surveys/everything/difference?{query}")

    assert why.lower() in assert_problem(answer, 400, "bad-parameter")["detail"].lower()
