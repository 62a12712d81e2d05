"""What stands behind the ? of an address: nobody reads an answer to what they did not ask."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.survey import Survey
from deniably.words import LANGUAGES, Words
from deniably_server.api.openapi import OPERATIONS, is_page
from server.material import a_report, assert_problem, signed, survey_named

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.fixture
def closed(app: Flask) -> Survey:
    """A survey whose results are shown."""
    store, survey = app.extensions["deniably"], survey_named()
    store.publish(survey, signed(survey))
    for n in range(120):
        store.add(survey, a_report(survey, stolen=[n % 2]))
    store.close_survey(survey.name)
    return survey


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
def test_a_misspelt_parameter_is_told_the_nearest_one(
    client: FlaskClient, closed: Survey, path: str, meant: str
) -> None:
    problem = assert_problem(client.get(path), 400, "bad-parameter")

    assert f"did you mean “{meant}”?" in problem["detail"]


def test_what_is_near_nothing_is_told_what_there_is(client: FlaskClient) -> None:
    detail = assert_problem(client.get("/api/surveys/x/groups?zzz=1"), 400, "bad-parameter")[
        "detail"
    ]

    assert detail == "“zzz” is no parameter of this address. It has count and question."


def test_an_address_without_parameters_says_so(client: FlaskClient) -> None:
    problem = assert_problem(client.get("/api/surveys/x/checks?a=1"), 400, "bad-parameter")

    assert problem["detail"] == "“a” is no parameter here: this address has none."


def test_a_parameter_that_is_given_twice_is_refused(client: FlaskClient, closed: Survey) -> None:
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


def test_nobody_is_turned_away_for_what_a_network_appends_to_a_link(
    client: FlaskClient, closed: Survey
) -> None:
    for path in ("/s/workplace", "/surveys/workplace", "/"):
        assert client.get(f"{path}?fbclid=IwAR0&utm_source=x&UTM_medium=y").status_code == 200
    assert client.get("/api/surveys/workplace/results?fbclid=1").status_code == 400


# --- for people ---------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_respondent_reads_in_their_language_that_the_address_is_not_right(
    client: FlaskClient, closed: Survey, language: str
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
        ("/surveys/workplace/crosstab", "“rows” names a question whose answers can be crossed"),
        ("/surveys/workplace/crosstab?rows=stolen", "“columns” names a question"),
        ("/surveys/workplace/crosstab?rows=stolen&columns=stolen", "name the same question"),
        ("/surveys/workplace/groups", "asks for no place on a map"),
    ],
)
def test_who_reads_a_page_is_told_on_a_page_what_is_wrong(
    client: FlaskClient, closed: Survey, path: str, says: str
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
def test_a_fault_on_a_page_is_told_on_a_page(
    app: Flask, closed: Survey, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "dispatch_request", lambda: 1 / 0)

    answer = app.test_client().get(path, headers=BROWSER)

    assert (answer.status_code, answer.mimetype) == (500, "text/html")
    said = Words("en")("trouble.heading") if path == "/s/workplace" else "A fault of the server"
    assert said in answer.text


def test_the_pages_are_those_of_the_description() -> None:
    pages = {name for name in OPERATIONS if is_page(name)}

    assert {"pages.form", "pages.dashboard", "together.crosstab_page"} <= pages
    assert not {"register.register", "results.as_json", "web.current"} & pages
