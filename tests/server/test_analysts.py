"""Results for analysts: to who has their token, no earlier than anybody's, and to nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from deniably_server.storage.tables.tokens import id_in
from spec.cases.mixers import CLOSED
from support.material import a_report, assert_problem, new_token, signed, survey_named
from support.passing_on import passed_on, send

RULES = {"minimum": 3, "while_open": True, "to": "analysts"}
PATHS = [
    "/api/surveys/private/results",
    "/api/surveys/private/results.csv",
    "/api/surveys/private/checks",
    "/api/surveys/private/crosstab?rows=stolen&columns=often",
    "/api/surveys/private/difference?question=stolen&choice=yes&share=0.1",
    "/api/surveys/private/differences.csv?question=often",
    "/api/surveys/private/crosstab.csv?rows=stolen&columns=often",
    "/api/surveys/private/differences?question=often&survey=workplace",
    "/api/surveys/private/crosstab.svg?rows=stolen&columns=often",
    "/api/surveys/private/differences.svg?question=often",
    "/api/surveys/private/figures/stolen.svg",
    "/api/surveys/private/paper/METHODS.md",
    "/api/surveys/private/reports.csv",
    "/api/surveys/private/reports.ndjson",
    "/api/surveys/private/reports.parquet",
    "/api/surveys/workplace/difference?question=stolen&choice=yes&survey=private",
]
"""Every way for programs to what came of the reports."""
PAGES = [
    "/surveys/private",
    "/surveys/private/crosstab?rows=stolen&columns=often",
    "/surveys/private/crosstab/figure?rows=stolen&columns=often",
    "/surveys/private/checks",
    "/surveys/private/differences",
    "/surveys/private/differences/figure?question=often",
    "/surveys/private/differences?question=often",
    "/surveys/private/figures/stolen",
]
"""And for people: who shows no token is asked for one."""

OF_STRATA = [f"/api/surveys/<name>/strata{end}" for end in ("", ".csv", ".svg")]
OF_STRATA += ["/surveys/<name>/strata", "/surveys/<name>/strata/figure"]
"""Routes of surveys with strata, which the one above has not."""
OF_MIXERS = [f"/api/surveys/<name>/mixed{end}" for end in ("", "/envelopes")]
"""Routes of surveys with a mixer."""
SITES = ("north", "south")
Ask = Callable[..., Any]


def fill(app: Flask, survey: Survey, reports: int = 9) -> Survey:
    store = app.extensions["deniably"]
    store.publish(survey, signed(survey))
    for _ in range(reports):
        store.add(survey, a_report(survey))
    return survey


@pytest.fixture
def private(app: Flask) -> Survey:
    fill(app, survey_named(results={"minimum": 3, "while_open": True}))
    survey = fill(app, survey_named("private", results=RULES))
    app.extensions["deniably"].close_survey("private")
    return survey


@pytest.fixture
def ask(app: Flask, client: FlaskClient) -> Ask:
    """GET a path with a new token of a role and a scope."""

    def get(path: str, *role: Any) -> Any:
        token = new_token(app.extensions["deniably"], *role) if role else ""
        answer = client.get(path, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer.get_data()  # a file that is sent piece by piece is made while it is read
        return answer

    return get


@pytest.mark.parametrize("path", PATHS)
def test_only_who_has_an_analysts_token_for_it_sees_the_results(
    private: Survey, ask: Ask, path: str
) -> None:
    assert_problem(ask(path), 401, "unauthorised")
    for refused in (("author",), ("monitor",), ("operator",), ("analyst", "workplace")):
        assert_problem(ask(path, *refused), 403, "forbidden")
    assert ask(path, "analyst").status_code == 200
    if "workplace" not in path:
        assert ask(path, "analyst", "private").status_code == 200


def test_every_route_to_results_is_among_those_that_are_tried(app: Flask) -> None:
    tried = {path.partition("?")[0] for path in PATHS}
    tried |= {path.partition("?")[0] for path in PAGES}
    known = {"/api/surveys/<name>"}  # the definition
    known |= {f"/api/surveys/<name>/lab{end}" for end in ("", ".csv", ".svg")}  # from it alone
    known.add("/surveys/<name>/lab")
    known.add("/api/surveys/<name>/tally")  # with a mixer alone: see ``test_mixed_pages``
    known.add("/surveys/<name>/class")  # for all, without a figure: see ``test_class_page``
    # Of points, which this survey has not.
    known |= {f"/api/surveys/<name>/groups{end}" for end in ("", ".csv", ".svg")}
    known |= {*OF_STRATA}
    known |= {"/surveys/<name>/groups", "/surveys/<name>/groups/figure"}
    # Of panels, see ``test_waves_that_the_caller_may_not_see_are_counted_and_not_shown``.
    known |= {"/surveys/<name>/waves", "/api/surveys/<name>/waves", "/api/surveys/<name>/waves.csv"}
    known |= {"/surveys/<name>/waves/figure", "/api/surveys/<name>/waves.svg"}
    # Of strata, see ``test_strata_of_a_survey_for_analysts_are_for_analysts``.
    known |= {f"/api/surveys/<name>/strata{end}" for end in ("", ".csv", ".svg")}
    known |= {"/surveys/<name>/strata", "/surveys/<name>/strata/figure"}
    known |= {"/surveys/<name>/status", "/api/surveys/<name>/status"}  # for authors, always
    known |= {*OF_MIXERS}  # for all: see ``test_a_mixers_batch_is_for_all_and_has_no_figure``

    for rule in app.url_map.iter_rules():
        if "surveys/<name>" in rule.rule and "GET" in (rule.methods or ()):
            path = rule.rule.replace("<name>", "private").replace("<question>", "stolen")
            path = path.replace("<file>", "METHODS.md")
            assert rule.rule in known or path in tried


@pytest.mark.parametrize("path", OF_STRATA)
def test_what_compares_strata_is_for_analysts_too(
    app: Flask, client: FlaskClient, path: str
) -> None:
    survey = survey_named(results=RULES, strata={"site": list(SITES)})
    store = app.extensions["deniably"]
    store.publish(survey, signed(survey))
    answers = {"stolen": "yes", "often": survey.questions[1].choices[0].name}
    for place in range(12):
        store.add(survey, randomise_answers(survey, answers, strata={"site": SITES[place % 2]}))
    store.close_survey(survey.name)
    address = f"{path.replace('<name>', survey.name)}?by=site&question=stolen"
    refused = client.get(address)

    assert refused.status_code == 401 or "The results are for analysts" in refused.text
    shown = {"Authorization": f"Bearer {new_token(store, 'analyst', survey.name)}"}
    found = client.get(address, headers=shown)
    assert found.status_code == 200
    assert "The results are for analysts" not in found.text


def test_a_mixers_batch_is_for_all_and_has_no_figure(app: Flask, client: FlaskClient) -> None:
    """Every device looks for its own envelopes, whoever may read the results."""
    rules = CLOSED | {"minimum": 3, "to": "analysts"}
    some = passed_on(results=rules).publish(app.extensions["deniably"])
    manifest, listed = (path.replace("<name>", some.survey.name) for path in OF_MIXERS)
    for path in (manifest, listed):
        assert_problem(client.get(path), 404, "not-found")

    send(client, some, some.batch())

    assert_problem(client.get(f"/api/surveys/{some.survey.name}/results"), 401, "unauthorised")
    assert set(client.get(manifest).json) == {"manifest", "signature", "refused"}
    assert len(client.get(listed).data) == 32 * client.get(manifest).json["manifest"]["envelopes"]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_asks_for_a_token_and_shows_no_figure_without_one(
    private: Survey, ask: Ask, client: FlaskClient, path: str
) -> None:
    page = ask(path)
    assert page.status_code == 200
    assert "The results are for analysts" in page.text
    assert 'class="fig"' not in page.text

    wrong = client.get(path, headers={"Authorization": "Bearer nothing"})
    assert_problem(wrong, 401, "unauthorised")
    for refused in (("author",), ("monitor",), ("operator",), ("analyst", "workplace")):
        assert_problem(ask(path, *refused), 403, "forbidden")
    for role in (("analyst",), ("analyst", "private")):
        page = ask(path, *role)
        assert page.status_code == 200
        assert "The results are for analysts" not in page.text


def test_the_page_with_a_token_has_the_figures(private: Survey, ask: Ask) -> None:
    assert 'class="fig"' in ask("/surveys/private", "analyst").text


def test_an_analyst_sees_nothing_earlier_than_the_definition_promises(app: Flask, ask: Ask) -> None:
    fill(app, survey_named("private", results=RULES), 2)
    fill(app, survey_named("later", results=RULES | {"while_open": False}))

    assert_problem(ask("/api/surveys/private/results", "analyst"), 403, "hidden")
    assert_problem(ask("/api/surveys/later/results", "analyst"), 403, "hidden")
    assert_problem(ask("/api/surveys/private/results"), 401, "unauthorised")


def test_results_of_other_surveys_are_for_everybody(private: Survey, ask: Ask) -> None:
    assert ask("/api/surveys/workplace/results").status_code == 200


def test_an_author_writes_it_in_one_word() -> None:
    survey = publish_text(
        "{name: a, title: A, results: {to: analysts}, questions:"
        " [{name: q, type: yes_no, label: Q, odds: 3}]}"
    )

    assert b'"results":{"minimum":100,"to":"analysts","while_open":false}' in survey.canonical


@pytest.mark.parametrize("path", [one for one in PATHS if "workplace" not in one])
def test_an_author_reads_the_own_closed_surveys_and_no_others(
    app: Flask, client: FlaskClient, path: str
) -> None:
    store = app.extensions["deniably"]
    own, other = (new_token(store, "author") for _ in range(2))
    survey = survey_named("private", results=RULES)
    store.publish(survey, signed(survey), token=id_in(own))
    for _ in range(9):
        store.add(survey, a_report(survey))

    def get(token: str) -> Any:
        answer = client.get(path, headers={"Authorization": f"Bearer {token}"})
        answer.get_data()
        return answer

    assert "that are closed" in assert_problem(get(own), 403, "forbidden")["detail"]
    store.close_survey("private")
    assert get(own).status_code == 200
    assert "published with it" in assert_problem(get(other), 403, "forbidden")["detail"]
