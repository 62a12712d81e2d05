"""What stands behind the ? of an address: nobody reads an answer to what they did not ask."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from random import Random
from typing import Any, cast
from urllib.parse import quote

import numpy as np
import pytest
from flask import Flask, request
from flask.testing import FlaskClient

from deniably.core.coins import Coins
from deniably.estimation.tally import Tally
from deniably.results.result import result
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from deniably.wording.words import LANGUAGES, Words
from deniably_server.app import create_app
from deniably_server.storage.writing.commit import BatchWrite
from deniably_server.web.operation import operation_of
from support.cases import for_each
from support.every_type import somebody, survey_of_everything
from support.material import a_report, assert_problem, signed, survey_named

Ends = tuple[float, float]
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


SURVEY = survey_named()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """One for all tests of this module, which only read; it shows the results of a survey."""
    database = tmp_path_factory.mktemp("parameters") / "deniably.db"
    app = create_app({"DATABASE": str(database), "TESTING": True})
    store = app.extensions["deniably"]
    store.publish(SURVEY, signed(SURVEY))
    batch = BatchWrite(SURVEY)
    for n in range(120):
        batch.add(a_report(SURVEY, stolen=[n % 2]))
    store.begin(batch)
    batch.wait()
    store.close_survey(SURVEY.name)
    yield app
    store.close()


def test_every_address_that_is_read_refuses_a_parameter_that_it_has_not(app: Flask) -> None:
    """Also addresses of which there is nothing, and without a token."""
    client, refused = app.test_client(), 0
    for rule in app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()):
            continue
        path = re.sub(r"<\w+>", "x", rule.rule)
        for method in ("GET", "HEAD"):
            answer = client.open(f"{path}?no_such_thing=1", method=method)
            assert answer.status_code == 400, (method, rule.rule)
        text = client.get(f"{path}?no_such_thing=1", headers={"Accept": "*/*;q=0.1"}).text
        respondents = rule.endpoint == "pages.form"
        assert ("no_such_thing" in text) != respondents, rule.rule
        refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/api/surveys/workplace/results?smoth=1", "smooth"),
        ("/api/surveys/workplace/results.csv?Smooth=1", "smooth"),
        ("/api/surveys/workplace/crosstab?row=stolen&columns=often", "rows"),
        ("/api/surveys/workplace/groups?qestion=home", "question"),
        ("/api/surveys/workplace/difference?question=stolen&shares=0.5", "share"),
        ("/register?afterwards=3", "after"),
    ],
)
def test_a_misspelt_parameter_gets_the_nearest_one(
    client: FlaskClient, path: str, meant: str
) -> None:
    problem = assert_problem(client.get(path), 400, "bad-parameter")

    assert f"did you mean “{meant}”?" in problem["detail"]


def test_what_is_near_nothing_gets_a_list_of_what_there_is(client: FlaskClient) -> None:
    detail = assert_problem(client.get("/api/surveys/x/groups?zzz=1"), 400, "bad-parameter")[
        "detail"
    ]

    assert detail == "“zzz” is no parameter of this address. It has count and question."


def test_an_address_without_parameters_says_so(client: FlaskClient) -> None:
    problem = assert_problem(client.get("/api/surveys/x/checks?a=1"), 400, "bad-parameter")

    assert problem["detail"] == "“a” is no parameter here: this address has none."


def test_a_parameter_that_is_given_twice_is_refused(client: FlaskClient) -> None:
    answer = client.get("/api/surveys/workplace/results?smooth=1&smooth=0")

    assert "“smooth” is given 2 times" in assert_problem(answer, 400, "bad-parameter")["detail"]


@pytest.mark.parametrize("name", ["<script>", "a b", "x" * 33, "é", "call 555 now", ""])
def test_what_does_not_look_like_a_name_is_not_repeated(client: FlaskClient, name: str) -> None:
    for path in ("/api/surveys/x/checks", "/surveys/x/checks"):
        answer = client.get(path, query_string={name: "1"}, headers=BROWSER)

        assert answer.status_code == 400
        assert not name or name not in answer.text.replace("stylesheet", "")


def test_the_value_of_an_unknown_parameter_is_never_repeated(client: FlaskClient) -> None:
    for path in ("/api/surveys/x/checks?answer=stolen-yes", "/s/x?answer=stolen-yes"):
        assert "stolen-yes" not in client.get(path).text


def test_nobody_is_turned_away_for_what_a_network_appends_to_a_link(client: FlaskClient) -> None:
    for path in ("/s/workplace", "/surveys/workplace", "/"):
        assert client.get(f"{path}?fbclid=IwAR0&utm_source=x&UTM_medium=y").status_code == 200
    assert client.get("/api/surveys/workplace/results?fbclid=1").status_code == 400


def test_what_a_network_appends_makes_no_other_page_of_it(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every made-up one would cost a computation of its own."""
    seen: list[dict[str, str]] = []
    known = app.before_request_funcs
    look = [*known.get(None, []), lambda: seen.append(dict(request.args))]
    monkeypatch.setitem(known, None, look)

    for query in ("confidence=0.9", "confidence=0.9&utm_source=1", "fbclid=2&confidence=0.9"):
        assert client.get(f"/surveys/workplace?{query}").status_code == 200

    assert seen == [{"confidence": "0.9"}] * 3


# --- the level of intervals ---------------------------------------------------------------------


def test_every_interval_follows_the_confidence_that_is_asked_for(app: Flask) -> None:
    """Of every type of question: no level is left at the usual one anywhere in the answer."""
    store, survey = (
        app.extensions["deniably"],
        survey_of_everything(results={"minimum": 5, "while_open": False}),
    )
    store.publish(survey, signed(survey))
    batch, chance = BatchWrite(survey), Random(1)
    for _ in range(200):
        batch.add(randomise_answers(survey, somebody(chance), Coins(chance.randbytes)))
    store.begin(batch)
    batch.wait()
    store.close_survey(survey.name)
    client = app.test_client()

    usual, narrow, again = (
        client.get(f"/api/surveys/{survey.name}/results{query}").get_json()
        for query in ("", "?confidence=.5", "?confidence=0.95")
    )

    assert (usual["confidence"], narrow["confidence"]) == (0.95, 0.5)
    assert usual == again
    widths: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for path, wide, slim in intervals(usual, narrow):
        widths[re.sub(r"(?<!questions)/\d+", "", path)].append(
            (wide[1] - wide[0], slim[1] - slim[0])
        )
    assert {path.split("/")[-1] for path in widths} == {
        "interval", "joint_interval", "respondents_interval", "at_most_interval",
    }  # fmt: skip
    for path, found in widths.items():  # of one choice chance may have it the other way round
        wide, slim = map(sum, zip(*found, strict=True))
        assert slim < wide or ("quantiles" in path and slim == wide), path
    for text in (json.dumps(narrow, ensure_ascii=False), page_of(client, survey, "?confidence=.5")):
        assert "95\u202f%" not in text
        assert "50\u202f% interval" in text
    page = page_of(client, survey, "?confidence=.5")
    assert f"/api/surveys/{survey.name}/results.csv?confidence=.5" in page
    assert f"/surveys/{survey.name}?smooth=1&amp;confidence=.5" in page
    assert "/crosstab?rows=stolen&amp;columns=happy&amp;confidence=.5" in page
    table = csv.DictReader(
        io.StringIO(client.get(f"/api/surveys/{survey.name}/results.csv?confidence=0.5").text)
    )
    assert {row["confidence"] for row in table} == {"0.5"}


def page_of(client: FlaskClient, survey: Survey, query: str) -> str:
    return client.get(f"/surveys/{survey.name}{query}").text


BANDS = {"interval_80", "interval_50"}


def intervals(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Ends, Ends]]:
    """Every interval of two answers, side by side."""
    if isinstance(one, list):
        for index, (value, its) in enumerate(zip(cast(list[Any], one), other, strict=True)):
            yield from intervals(value, its, f"{path}/{index}")
    elif isinstance(one, dict):
        for key, value in cast(dict[str, Any], one).items():
            if key.endswith("interval") and value is not None:
                (low, high), (least, most) = value, other[key]
                yield f"{path}/{key}", (float(low), float(high)), (float(least), float(most))
            elif key not in {"flags", "notes", *BANDS}:  # bands keep their confidence
                yield from intervals(value, other[key], f"{path}/{key}")


def test_cross_tables_follow_it_too(client: FlaskClient) -> None:
    path = "surveys/workplace/crosstab?rows=stolen&columns=often"

    usual = client.get(f"/api/{path}").get_json()
    narrow = client.get(f"/api/{path}&confidence=0.8").get_json()
    page = client.get(f"/{path}&confidence=0.8").text

    assert (usual["confidence"], narrow["confidence"]) == (0.95, 0.8)
    for row, its in zip(usual["cells"], narrow["cells"], strict=True):
        for cell, slim in zip(row, its, strict=True):
            (low, high), (least, most) = slim["interval"], cell["interval"]
            assert least <= low <= high <= most
            assert high - low < most - least
            assert slim["estimate"] == cell["estimate"]
    assert "with the 80\u202f% interval" in page
    assert "95\u202f%" not in page
    assert 'href="/surveys/workplace?confidence=0.8"' in page
    assert "columns=often&amp;confidence=0.8" in page


@for_each("path", ["results", "results.csv", "crosstab?rows=stolen&columns=often"])
@for_each(
    "wrong",
    ["95", "95%", "0", "1", "0.4999", "0.499", "0.9999", "nan", "-0.9", "0,9", "9e-1", "", "０.９"],
)
def test_the_error_of_a_wrong_confidence_says_what_it_may_be(
    client: FlaskClient, path: str, wrong: str
) -> None:
    sign = "&" if "?" in path else "?"

    answer = client.get(f"/api/surveys/workplace/{path}{sign}confidence={quote(wrong)}")

    detail = assert_problem(answer, 400, "bad-parameter")["detail"]
    assert "a number from 0.5 to 0.999" in detail


def test_the_fewer_answers_that_are_enough_for_a_lower_confidence_are_reported(app: Flask) -> None:
    survey = survey_named()
    tallies = {
        question.name: Tally(100, np.array(counts))
        for question, counts in zip(survey.questions, ([40, 60], [40] * 5), strict=True)
    }

    (note,) = result(survey, "closed", tallies, confidence=0.9).questions[0].notes

    assert "About 280 answers" in note  # 1.645^2 / 4 / (0.5 * 0.1)^2 = 270.6, and 390 for 95 %


# --- for people ---------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_respondent_reads_in_their_language_that_the_address_is_not_right(
    client: FlaskClient, language: str
) -> None:
    headers = BROWSER | {"Accept-Language": language}

    answer = client.get("/s/workplace?confidence=0.9", headers=headers)

    assert answer.status_code == 400
    assert answer.mimetype == "text/html"
    assert Words(language)("address.heading") in answer.text
    assert 'href="/s/workplace"' in answer.text
    assert "confidence" not in answer.text


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/surveys/workplace?confidnce=0.9", "“confidnce” is no parameter of this address"),
        ("/surveys/workplace/groups", "asks for no place on a map"),
    ],
)
def test_a_wrong_parameter_of_a_page_is_explained_on_a_page(
    client: FlaskClient, path: str, says: str
) -> None:
    answer = client.get(path, headers=BROWSER)

    assert answer.status_code == 400
    assert answer.mimetype == "text/html"
    assert "<h1>The address is not right</h1>" in answer.text
    assert says in answer.text
    assert '<a class="button quiet" href="/surveys/workplace">All results</a>' in answer.text
    assert "body" not in re.sub(r"</?body>", "", answer.text)


def test_an_address_that_is_none_is_a_page_for_people_and_a_problem_for_programs(
    client: FlaskClient,
) -> None:
    page = client.get("/nothing/here", headers=BROWSER | {"Accept-Language": "fr"})

    assert page.status_code == 404
    assert Words("fr")("missing.heading") in page.text
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
        assert_problem(client.get("/nothing/here", headers=accept), 404, "not-found")


def test_programs_that_ask_for_json_get_a_problem_from_pages_too(client: FlaskClient) -> None:
    for path in ("/s/x?y=1", "/surveys/x/crosstab"):
        answer = client.get(path, headers={"Accept": "application/problem+json"})
        assert answer.mimetype == "application/problem+json"


@pytest.mark.parametrize("path", ["/s/workplace", "/surveys/workplace", "/"])
def test_a_fault_on_a_page_is_explained_on_a_page(
    app: Flask, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "dispatch_request", lambda: 1 / 0)

    answer = app.test_client().get(path, headers=BROWSER)

    assert (answer.status_code, answer.mimetype) == (500, "text/html")
    said = Words("en")("trouble.heading") if path == "/s/workplace" else "A fault of the server"
    assert said in answer.text


def test_the_pages_are_those_of_the_description(app: Flask) -> None:
    pages = {name for name, view in app.view_functions.items() if operation_of(view).is_page}

    assert {"pages.form", "pages.dashboard", "crosstabs.crosstab_page"} <= pages
    assert not {"register.register", "results.as_json", "web.current"} & pages
