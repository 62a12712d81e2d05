"""Differences of means of every mechanism, and many comparisons at once."""

from __future__ import annotations

import csv
import io
import json
import secrets
from itertools import combinations
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import compile_survey
from deniably.estimation.difference import between_means, holm
from deniably.estimation.question_means import moments_of_mean
from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably_server.storage.store import Store
from support.material import assert_problem, signed, survey_named
from support.people import answer
from support.seeded import seeded_coins

RULES = {"minimum": 1, "while_open": True}
NUMBER: dict[str, Any] = {
    "name": "q",
    "label": "Q?",
    "type": "number",
    "minimum": 0,
    "maximum": 10,
    "unit": "days",
    "epsilon": 4,
}
SCALE: dict[str, Any] = {
    "name": "q",
    "label": "Q?",
    "type": "scale",
    "choices": [*"abcde"],
    "epsilon": 4,
}
PARTS = [
    {"name": name, "label": name, "minimum": 0, "maximum": 10, "unit": "days"} for name in "xy"
]
KINDS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "channel": (NUMBER, 2, 9),
    "laplace": (NUMBER | {"mechanism": "laplace"}, 2, 9),
    "gaussian": (NUMBER | {"mechanism": "gaussian", "delta": 0.0001}, 1, 10),
    "square wave": (NUMBER | {"aim": "distribution"}, 2, 9),
    "subset selection": (NUMBER | {"aim": "distribution", "mechanism": "subset_selection"}, 2, 9),
    "scale": (SCALE, "b", "e"),
    "scale, one may not know": (SCALE | {"also": ["dont_know"]}, "b", "e"),
    "scale for a mean": (SCALE | {"aim": "mean"}, "b", "e"),
    "vector": (
        {"name": "q", "label": "Q?", "type": "vector", "parts": PARTS, "epsilon": 4},
        {"x": 2, "y": 5},
        {"x": 9, "y": 5},
    ),
}


def survey_of(name: str, *questions: dict[str, Any]) -> Survey:
    document = {"name": name, "title": "T", "results": RULES, "questions": list(questions)}
    return compile_survey(document)


def asked(client: FlaskClient, query: str) -> dict[str, Any]:
    found = client.get(f"/api/surveys/here/difference?{query}")
    assert found.status_code == 200, found.text
    shown: dict[str, Any] = found.get_json()
    return shown


@pytest.mark.parametrize("kind", KINDS)
def test_a_mean_is_compared_with_a_value_and_with_another_survey(
    app: Flask, client: FlaskClient, kind: str
) -> None:
    """All say one thing here and another there; the differences are 15 standard errors or more."""
    question, low, high = KINDS[kind]
    store: Store = app.extensions["deniably"]
    for name, said in (("here", low), ("there", high)):
        survey = survey_of(name, question)
        store.publish(survey, signed(survey))
        answer(store, survey, [{"q": said}] * 500, seeded_coins(kind + name))
    part = "&part=x" if kind == "vector" else ""

    shown = client.get("/api/surveys/here/results").get_json()["questions"][0]
    mean = shown["parts"][0]["mean"] if part else shown["mean"]
    against = asked(client, f"question=q&value=3{part}")
    apart = asked(client, f"question=q&survey=there{part}")

    assert against["compared"] == "the mean and 3"
    assert against["estimate"] == pytest.approx(mean["estimate"] - 3, abs=1e-5)
    assert (against["p_value"] < 0.05) == (not mean["interval"][0] <= 3 <= mean["interval"][1])
    assert apart["estimate"] < 0
    assert apart["p_value"] < 1e-6
    assert apart["compared"] == "the mean here and in there"
    if kind != "scale, one may not know":
        groups = [moments_of_mean(store.survey(name).questions[0], store.shown_tally(name)["q"])
                  for name in ("here", "there")]  # fmt: skip
        test = between_means(*groups)  # type: ignore[arg-type]
        assert apart["p_value"] == round(test.p_value, 9)
    # The end of the 95 % interval, as it is printed, is where p passes 0.05; but for odd reports
    # (one in dozens of surveys), which no mean explains.
    at_end = asked(client, f"question=q&value={mean['interval'][1]}{part}")
    explained = asked(client, f"question=q&value={mean['estimate']}{part}")["p_value"] > 0.05
    if explained and mean["interval"][1] < 5:
        assert at_end["p_value"] == pytest.approx(0.05, abs=0.01)


def test_means_in_different_units_are_not_compared(app: Flask, client: FlaskClient) -> None:
    store: Store = app.extensions["deniably"]
    for name, unit in (("here", "days"), ("there", "weeks")):
        survey = survey_of(name, NUMBER | {"unit": unit})
        store.publish(survey, signed(survey))
        answer(store, survey, [{"q": 3}] * 12)

    found = client.get("/api/surveys/here/difference?question=q&survey=there")

    assert "one unit" in assert_problem(found, 400, "bad-parameter")["detail"]


def test_ranges_that_differ_are_compared_where_they_meet(app: Flask, client: FlaskClient) -> None:
    store: Store = app.extensions["deniably"]
    for name, least, most in (("here", 0, 10), ("there", 0, 20), ("far", 30, 40)):
        survey = survey_of(name, NUMBER | {"minimum": least, "maximum": most})
        store.publish(survey, signed(survey))
        answer(store, survey, [{"q": least + 3}] * 300)

    found = asked(client, "question=q&survey=there")
    apart = client.get("/api/surveys/here/difference?question=q&survey=far")

    assert found["p_value"] > 1e-4  # both are 3
    assert "do not meet" in assert_problem(apart, 400, "bad-parameter")["detail"]


def test_a_mean_score_of_hardly_anybody_is_said_to_be_unknown_everywhere(
    app: Flask, client: FlaskClient
) -> None:
    """All reports say “I do not know”; no figure is made of that, and nothing is compared."""
    store: Store = app.extensions["deniably"]
    for name in ("here", "there"):
        survey = survey_of(name, SCALE | {"also": ["dont_know"]})
        store.publish(survey, signed(survey))
        for _ in range(40):
            store.add(survey, Report(secrets.token_hex(16), survey.digest, {"q": [5]}))

    shown = client.get("/api/surveys/here/results").get_json()["questions"][0]
    page = client.get("/surveys/here").text
    rows = list(csv.DictReader(io.StringIO(client.get("/api/surveys/here/results.csv").text)))
    refused = client.get("/api/surveys/here/difference?question=q&survey=there")

    assert shown["mean"]["estimate"] is None
    assert shown["mean"]["interval"] == [1, 5]
    assert "too few to say anything about the mean score" in shown["sentence"]
    assert "too few to say</td>" in page
    (mean,) = [row for row in rows if row["figure"] == "mean"]
    assert (mean["estimate"], mean["standard_error"], mean["low"], mean["high"]) == (
        "",
        "",
        "1.0",
        "5.0",
    )
    assert "no mean" in assert_problem(refused, 400, "bad-parameter")["detail"]


LABELS = ["Never", "Once", "Twice", "Weekly", "Daily"]

# --- many at once -------------------------------------------------------------------------------


@pytest.fixture
def waves(app: Flask) -> None:
    """Two waves; in the second, all say yes and weekly."""
    store: Store = app.extensions["deniably"]
    for name, often in (("here", ["never", "once", "twice"]), ("there", ["weekly"])):
        survey = survey_named(name, results=RULES)
        store.publish(survey, signed(survey))
        people = [{"stolen": "yes", "often": often[n % len(often)]} for n in range(600)]
        answer(store, survey, people)


@pytest.mark.usefixtures("waves")
def test_every_choice_of_two_waves_is_compared_with_one_risk(client: FlaskClient) -> None:
    found = client.get("/api/surveys/here/differences?question=often&survey=there").get_json()
    names = ["never", "once", "twice", "weekly", "daily"]

    single = [asked(client, f"question=often&choice={name}&survey=there") for name in names]

    assert found["question"] == "How often?"
    assert found["adjustment"] == "Holm 1979"
    shown = found["differences"]
    assert [one["names"] for one in shown] == [[name] for name in names]
    assert [one["compared"] for one in shown] == [
        f"“{label}” here and in there" for label in LABELS
    ]
    assert [one["p_value"] for one in shown] == [one["p_value"] for one in single]
    adjusted = holm([one["p_value"] for one in single])
    assert [one["adjusted_p_value"] for one in shown] == pytest.approx(adjusted, abs=1e-8)
    for one in shown:
        differ = one["adjusted_p_value"] < 0.05
        assert ("are not shown to differ" in one["sentence"]) == (not differ)
    assert shown[3]["adjusted_p_value"] < 1e-3


@pytest.mark.usefixtures("waves")
def test_every_two_choices_are_compared_with_one_risk(client: FlaskClient) -> None:
    found = client.get("/api/surveys/there/differences?question=often").get_json()["differences"]
    names = ["never", "once", "twice", "weekly", "daily"]

    pairs = [f"“{one}” and “{other}”" for one, other in combinations(LABELS, 2)]
    assert [one["compared"] for one in found] == pairs
    assert [one["names"] for one in found] == [list(pair) for pair in combinations(names, 2)]
    adjusted = holm([one["p_value"] for one in found])
    assert [one["adjusted_p_value"] for one in found] == pytest.approx(adjusted, abs=1e-7)
    by_name = {one["compared"]: one for one in found}
    assert by_name["“Once” and “Weekly”"]["adjusted_p_value"] < 1e-3
    assert all(one["adjusted_p_value"] >= one["p_value"] for one in found)


@pytest.mark.usefixtures("waves")
def test_what_is_not_one_answer_out_of_a_few_is_not_compared_at_once(
    app: Flask, client: FlaskClient
) -> None:
    store: Store = app.extensions["deniably"]
    questions = json.loads(survey_named().canonical)["questions"][:1]
    choices = [{"name": f"c{n}", "label": f"C{n}"} for n in range(21)]
    questions[0] |= {
        "type": "select_one",
        "choices": choices,
        "mechanism": questions[0]["mechanism"] | {"k": 21},
    }
    many = survey_named("many", questions=questions, results=RULES)
    number = survey_of("number", NUMBER)
    for survey, said in ((many, {"stolen": "c1"}), (number, {"q": 1})):
        store.publish(survey, signed(survey))
        answer(store, survey, [said] * 12)

    for path, why in (
        ("many/differences?question=stolen", "up to 20 choices"),
        ("number/differences?question=q", "up to 20 choices"),
        ("here/differences?question=often&survey=here", "another survey"),
    ):
        found = client.get(f"/api/surveys/{path}")
        assert why in assert_problem(found, 400, "bad-parameter")["detail"]


# --- the page -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("waves")
def test_a_page_shows_the_differences_and_says_which_p_value_is_which(client: FlaskClient) -> None:
    found = client.get("/api/surveys/there/differences?question=often").get_json()
    page = client.get("/surveys/there/differences?question=often").text

    assert "“Weekly” is more frequent than every other answer." in page
    assert "p alone" in page
    assert "p adjusted (Holm)" in page
    assert page.count('<tr role="row"') == 1 + len(found["differences"])
    assert "style=" not in page
    assert 'href="/api/surveys/there/differences.csv?question=often"' in page
    assert 'href="/surveys/there/differences"' in client.get("/surveys/there").text


@pytest.mark.usefixtures("waves")
def test_without_a_question_the_page_lets_you_choose_one(client: FlaskClient) -> None:
    for query in ("", "?question=nothing"):
        page = client.get(f"/surveys/there/differences{query}")
        assert page.status_code == (400 if query else 200)
        assert '<label for="question">' in page.text
        assert page.text.count("<option") == 2
    assert "names one of the questions" in page.text


@pytest.mark.usefixtures("waves")
def test_two_waves_are_compared_on_the_page_answer_by_answer(client: FlaskClient) -> None:
    page = client.get("/surveys/here/differences?question=often&survey=there").text

    assert "What differs from there?" in page
    assert " over " not in page.split("<tbody")[1].split("</tbody>")[0]


def test_while_results_are_hidden_the_page_says_so(app: Flask, client: FlaskClient) -> None:
    survey = survey_named("quiet", results={"minimum": 10, "while_open": False})
    app.extensions["deniably"].publish(survey, signed(survey))

    for path in ("differences", "differences?question=often"):
        page = client.get(f"/surveys/quiet/{path}").text
        assert "The results are not shown yet" in page
        assert "<table" not in page
        assert "<select" not in page


@pytest.mark.usefixtures("waves")
def test_where_the_other_survey_is_hidden_the_page_says_which(
    app: Flask, client: FlaskClient
) -> None:
    survey = survey_named("quiet", results={"minimum": 10, "while_open": False})
    app.extensions["deniably"].publish(survey, signed(survey))

    page = client.get("/surveys/there/differences?question=often&survey=quiet")

    assert page.status_code == 403
    assert "Of the other survey, quiet, the results are shown once the survey is" in page.text
    assert 'href="/surveys/there"' in page.text
    assert "/s/there" not in page.text


@pytest.mark.usefixtures("waves")
def test_the_csv_of_differences_has_every_figure_of_the_json(client: FlaskClient) -> None:
    found = client.get("/api/surveys/there/differences?question=often").get_json()["differences"]
    text = client.get("/api/surveys/there/differences.csv?question=often").text

    for row, one in zip(csv.DictReader(io.StringIO(text)), found, strict=True):
        assert [row["first"], row["second"]] == one["names"]
        assert [float(row["low"]), float(row["high"])] == one["interval"]
        for key in ("estimate", "standard_error", "p_value", "adjusted_p_value"):
            assert float(row[key]) == one[key]
