"""Definitions over HTTP: devices fetch them, authors publish and close them, nobody changes one."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text, schema
from deniably.survey.survey import Survey, read_survey
from support.keys import key_of
from support.material import (
    a_report,
    assert_problem,
    contents,
    new_token,
    signed,
    signed_headers,
    survey_named,
)

YAML = """
name: health
title: Health
questions:
  - name: smokes
    type: yes_no
    label: Do you smoke?
    odds: 3
"""
JSON = {
    "name": "health",
    "title": "Health",
    "questions": [{"name": "smokes", "type": "yes_no", "label": "Do you smoke?", "odds": 3}],
}
Author = dict[str, str]
SIGNED = signed_headers(publish_text(YAML))


# --- for devices --------------------------------------------------------------------------------


def test_a_device_gets_the_canonical_definition(client: FlaskClient, survey: Survey) -> None:
    answer = client.get("/api/surveys/workplace")

    assert answer.status_code == 200
    assert answer.mimetype == "application/json"
    assert answer.data == survey.canonical
    assert hashlib.sha256(answer.data).hexdigest() == survey.digest
    assert answer.headers["ETag"] == f'"{survey.digest}"'
    assert answer.headers["Deniably-State"] == "open"
    assert answer.headers["Cache-Control"] == "no-cache"


def test_a_device_that_has_this_version_gets_304_and_the_state(
    client: FlaskClient, survey: Survey, author: Author
) -> None:
    client.patch("/api/surveys/workplace", json={"state": "closed"}, headers=author)

    known = {"If-None-Match": f'"{survey.digest}"'}
    answer = client.get("/api/surveys/workplace", headers=known)

    assert (answer.status_code, answer.data) == (304, b"")
    assert answer.headers["Deniably-State"] == "closed"
    assert answer.headers["ETag"] == f'"{survey.digest}"'

    other = client.get("/api/surveys/workplace", headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


def test_a_survey_that_is_not_there_is_not_found(client: FlaskClient) -> None:
    assert_problem(client.get("/api/surveys/nobody"), 404, "not-found")


# --- for authors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (json.dumps(JSON), "application/json"),
        (YAML, "application/yaml"),
        (YAML, "text/yaml; charset=utf-8"),
    ],
)
def test_an_author_publishes_json_or_yaml(
    client: FlaskClient, author: Author, body: str, kind: str
) -> None:
    headers = author | signed_headers(publish_text(body))
    answer = client.post("/api/surveys", data=body, content_type=kind, headers=headers)

    digest = publish_text(body).digest
    assert answer.status_code == 201
    assert answer.headers["Location"] == "/api/surveys/health"
    assert answer.json == {
        "name": "health",
        "digest": digest,
        "links": {
            "form": "/s/health",
            "dashboard": "/surveys/health",
            "definition": "/api/surveys/health",
            "results": "/api/surveys/health/results",
        },
        "state": "open",
    }
    assert read_survey(client.get("/api/surveys/health").data).digest == digest


def test_publishing_the_same_again_is_200_and_changes_nothing(
    client: FlaskClient, author: Author, database: Path
) -> None:
    headers = author | SIGNED
    first = client.post("/api/surveys", json=JSON, headers=headers)
    before = contents(database)

    again = client.post("/api/surveys", data=YAML, content_type="application/yaml", headers=headers)

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json == again.json
    assert contents(database) == before


def test_another_definition_under_the_name_is_a_conflict(
    client: FlaskClient, author: Author, database: Path
) -> None:
    client.post("/api/surveys", json=JSON, headers=author | SIGNED)
    before = contents(database)

    other = JSON | {"title": "Wealth"}
    headers = author | signed_headers(publish_text(json.dumps(other)))
    answer = client.post("/api/surveys", json=other, headers=headers)

    assert_problem(answer, 409, "conflict")
    assert contents(database) == before


def test_every_problem_of_a_definition_is_reported_at_once(
    client: FlaskClient, author: Author, database: Path
) -> None:
    before = contents(database)
    bad = {"name": "Health!", "questions": [{"name": "a", "type": "essay", "label": "Why?"}]}

    answer = client.post("/api/surveys", json=bad, headers=author | SIGNED)

    errors = assert_problem(answer, 422, "bad-survey")["errors"]
    paths = [error["path"] for error in errors]
    assert all(set(error) == {"path", "why"} for error in errors)
    assert {"$", "$.name", "$.questions[0].type"} <= set(paths)
    assert contents(database) == before


@pytest.mark.parametrize(
    "body", [b"", b"{", b"a: [", b"a: b: c", b"\xff\xfe", b"&a *a", b"@", b"[" * 100_000]
)
def test_what_is_neither_yaml_nor_json_is_refused(
    client: FlaskClient, author: Author, body: bytes
) -> None:
    answer = client.post(
        "/api/surveys", data=body, content_type="application/yaml", headers=author | SIGNED
    )

    name = json.loads(answer.data)["type"].removeprefix("/problems/")
    assert name in ("malformed", "bad-survey")
    assert_problem(answer, 400 if name == "malformed" else 422, name)


def test_a_definition_of_another_media_type_is_refused(client: FlaskClient, author: Author) -> None:
    answer = client.post("/api/surveys", data=YAML, content_type="text/plain", headers=author)

    assert_problem(answer, 415, "unsupported-media-type")


def test_a_definition_over_a_mebibyte_is_refused(client: FlaskClient, author: Author) -> None:
    body = YAML + "#" * (1 << 20)

    answer = client.post("/api/surveys", data=body, content_type="application/yaml", headers=author)

    assert_problem(answer, 413, "too-large")


def test_an_author_closes_a_survey_for_good(
    client: FlaskClient, survey: Survey, author: Author
) -> None:
    for _ in range(2):
        answer = client.patch("/api/surveys/workplace", json={"state": "closed"}, headers=author)
        assert answer.status_code == 200
        assert answer.json is not None
        assert answer.json["state"] == "closed"

    reopened = client.patch("/api/surveys/workplace", json={"state": "open"}, headers=author)
    assert "not opened again" in assert_problem(reopened, 409, "closed")["detail"]
    assert client.get("/api/surveys/workplace").headers["Deniably-State"] == "closed"


def test_an_open_survey_may_be_told_to_stay_open(
    client: FlaskClient, survey: Survey, author: Author
) -> None:
    answer = client.patch("/api/surveys/workplace", json={"state": "open"}, headers=author)

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"{", b"{}", b"\xff", b'{"state":"gone"}', b'{"state":"closed","title":"x"}'],
)
def test_nothing_but_the_state_can_be_changed(
    client: FlaskClient, survey: Survey, author: Author, database: Path, body: bytes
) -> None:
    before = contents(database)

    answer = client.patch(
        "/api/surveys/workplace", data=body, content_type="application/json", headers=author
    )

    assert_problem(answer, 400, "malformed")
    assert contents(database) == before


def test_a_survey_is_closed_only_with_results_where_that_is_wanted(
    client: FlaskClient, app: Flask, author: Author
) -> None:
    """And then nothing but that says how many reports there are: not even how many are missing."""
    survey = survey_named("few", results={"minimum": 2, "while_open": False})
    store = app.extensions["deniably"]
    store.publish(survey, signed(survey))
    change = partial(client.patch, "/api/surveys/few", headers=author)
    wanted = {"state": "closed", "only_with_results": True}

    said = set()
    for _ in range(2):
        answer = change(json=wanted)
        said.add(assert_problem(answer, 409, "too-few")["detail"])
        assert store.state("few") == "open"
        store.add(survey, a_report(survey))
    assert len(said) == 1

    closed = change(json=wanted)
    assert (closed.status_code, closed.json["reports"]) == (200, 2)
    assert change(json=wanted).json["reports"] == 2


def test_a_closed_survey_with_too_few_reports_does_not_say_how_many(
    client: FlaskClient, survey: Survey, author: Author
) -> None:
    answer = client.patch("/api/surveys/workplace", json={"state": "closed"}, headers=author)

    assert answer.json["reports"] is None
    wanted = {"state": "closed", "only_with_results": True}
    again = client.patch("/api/surveys/workplace", json=wanted, headers=author)
    assert again.status_code == 200, "it is closed: there is nothing to warn of any more"


def test_closing_a_survey_that_is_not_there_is_not_found(
    client: FlaskClient, author: Author
) -> None:
    answer = client.patch("/api/surveys/nobody", json={"state": "closed"}, headers=author)

    assert_problem(answer, 404, "not-found")


def test_the_schema_is_published(client: FlaskClient) -> None:
    answer = client.get("/schema/survey.json")

    assert answer.mimetype == "application/schema+json"
    assert json.loads(answer.data) == schema()


# --- the signature ------------------------------------------------------------------------------


def changed(headers: Author, name: str, value: str | None) -> Author:
    """The headers with another value of one of them, or without it."""
    rest = {key: text for key, text in headers.items() if key != name}
    return rest if value is None else rest | {name: value}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        changed(SIGNED, "Deniably-Author", None),
        changed(SIGNED, "Deniably-Signature", None),
        changed(SIGNED, "Deniably-Author", key_of(bytes(32)).author),
        changed(SIGNED, "Deniably-Author", SIGNED["Deniably-Author"].upper()),
        changed(SIGNED, "Deniably-Author", "00" * 31),
        changed(SIGNED, "Deniably-Signature", "0" * 128),
        changed(SIGNED, "Deniably-Signature", SIGNED["Deniably-Signature"] + "00"),
        changed(SIGNED, "Deniably-Signature", "\xff"),
        signed_headers(survey_named()),  # of another definition
    ],
)
def test_a_definition_that_its_author_did_not_sign_is_not_published(
    client: FlaskClient, author: Author, database: Path, headers: Author
) -> None:
    before = contents(database)

    answer = client.post("/api/surveys", json=JSON, headers=author | headers)

    problem = assert_problem(answer, 422, "unsigned")
    signed = headers.keys() == SIGNED.keys() and all(
        len(headers[name]) == len(SIGNED[name]) and headers[name] == headers[name].lower()
        for name in headers
    )
    assert (publish_text(YAML).digest in problem["detail"]) is signed
    assert contents(database) == before


def test_what_has_not_the_form_of_a_signature_is_refused_before_anything_is_compiled(
    client: FlaskClient, author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled(_: bytes) -> Survey:
        raise AssertionError("compiled for nobody")

    monkeypatch.setattr("deniably_server.api.surveys.compiled", compiled)
    for headers in (author, author | changed(SIGNED, "Deniably-Signature", "0" * 127)):
        assert_problem(client.post("/api/surveys", json=JSON, headers=headers), 422, "unsigned")


def test_another_author_cannot_publish_the_same_survey_again(
    client: FlaskClient, author: Author, database: Path
) -> None:
    client.post("/api/surveys", json=JSON, headers=author | SIGNED)
    before = contents(database)
    other = signed_headers(publish_text(YAML), key_of(bytes(32)))

    answer = client.post("/api/surveys", json=JSON, headers=author | other)

    assert "another author" in assert_problem(answer, 409, "conflict")["detail"]
    assert contents(database) == before


# --- the token ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic {token}", "{token}",
               "Bearer {token}x", "Bearer  {token}", "Bearer \xff"],
)  # fmt: skip
def test_an_authors_call_without_the_token_is_refused_and_changes_nothing(
    client: FlaskClient, app: Flask, survey: Survey, database: Path, header: str | None
) -> None:
    token = new_token(app.extensions["deniably"], "author")
    before = contents(database)
    headers = {} if header is None else {"Authorization": header.format(token=token)}

    for answer in (
        client.post("/api/surveys", json=JSON, headers=headers),
        client.patch("/api/surveys/workplace", json={"state": "closed"}, headers=headers),
        client.patch("/api/surveys/nobody", json={"state": "closed"}, headers=headers),
    ):
        assert_problem(answer, 401, "unauthorised")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert contents(database) == before


def test_without_a_token_ever_made_nobody_is_the_author(client: FlaskClient) -> None:
    for token in ("", "None", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"):
        answer = client.post(
            "/api/surveys", json=JSON, headers={"Authorization": f"Bearer {token}"}
        )
        assert_problem(answer, 401, "unauthorised")
