"""Taking reports over HTTP: what is stored, and that everything else is a 4xx that changes
nothing."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from deniably.survey.report import LARGEST_BODY, Report
from deniably.survey.survey import Survey
from deniably_server.app import create_app
from support.cases import for_each
from support.material import a_report, assert_problem, contents, signed, survey_named

PATH = "/api/surveys/{}/reports".format
WAYS = {"intake": "application/json", "flask": "application/json; charset=utf-8"}

Post = Callable[..., TestResponse]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports") / "deniably.db"


@pytest.fixture(scope="module")
def app(database: Path) -> Iterator[Flask]:
    """One for all tests of this module: each says what it changes, or that it changes nothing."""
    app = create_app({"DATABASE": str(database), "TESTING": True})
    yield app
    app.extensions["deniably"].close()


@pytest.fixture(params=WAYS)
def post(request: pytest.FixtureRequest, client: FlaskClient) -> Post:
    """Posts a body. Every promise is kept on the short way in and on the one through Flask."""

    def post(body: bytes, name: str = "workplace") -> TestResponse:
        return client.post(PATH(name), data=body, content_type=WAYS[request.param])

    return post


def test_a_plain_report_is_taken_before_flask_and_any_other_by_it(
    app: Flask, client: FlaskClient, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "dispatch_request", lambda: "Flask was here")

    answers = {
        way: client.post(PATH("workplace"), data=a_report(survey).canonical, content_type=kind)
        for way, kind in WAYS.items()
    }

    assert (answers["intake"].status_code, answers["intake"].mimetype) == (201, "application/json")
    assert answers["flask"].text == "Flask was here"


def test_a_report_is_stored_and_its_receipt_is_the_digest_of_what_was_sent(
    post: Post, survey: Survey
) -> None:
    report = a_report(survey)

    first = post(report.canonical)
    again = post(report.canonical)

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json == {"status": "stored", "receipt": report.receipt}
    assert again.json == {"status": "stored before", "receipt": report.receipt}


def test_a_report_in_other_spacing_and_order_is_the_same_report(post: Post, survey: Survey) -> None:
    report = a_report(survey)
    assert post(report.canonical).status_code == 201

    spaced = json.dumps(
        {"values": report.values, "survey": report.survey, "id": report.id}, indent=2
    )

    assert post(spaced.encode()).status_code == 200


def test_a_body_without_a_length_is_taken(client: FlaskClient, survey: Survey) -> None:
    """As with Transfer-Encoding: chunked."""
    report = a_report(survey)
    length_unknown = {"wsgi.input_terminated": True, "CONTENT_LENGTH": ""}

    answer = client.post(
        PATH("workplace"),
        data=report.canonical,
        content_type="application/json",
        environ_overrides=length_unknown,
    )

    assert answer.status_code == 201


def test_an_id_with_other_values_is_a_conflict(post: Post, survey: Survey, database: Path) -> None:
    report = a_report(survey, stolen=[0])
    post(report.canonical)
    before = contents(database)
    twin = Report(id=report.id, survey=report.survey, values=report.values | {"stolen": [1]})

    assert_problem(post(twin.canonical), 409, "conflict")
    assert contents(database) == before


def test_a_closed_survey_refuses_new_reports_and_answers_old_ones_as_before(
    app: Flask, client: FlaskClient, post: Post, author: dict[str, str], database: Path
) -> None:
    survey = survey_named(f"over-{secrets.token_hex(4)}")
    app.extensions["deniably"].publish(survey, signed(survey))
    report = a_report(survey)
    post(report.canonical, survey.name)
    client.patch(f"/api/surveys/{survey.name}", json={"state": "closed"}, headers=author)
    before = contents(database)

    assert post(report.canonical, survey.name).status_code == 200
    assert_problem(post(a_report(survey).canonical, survey.name), 409, "closed")
    assert contents(database) == before


def test_a_report_of_another_survey_or_version_is_refused(
    post: Post, survey: Survey, database: Path
) -> None:
    before = contents(database)

    for other in (survey_named("other"), survey_named(title="Older title")):
        problem = assert_problem(post(a_report(other).canonical), 422, "wrong-digest")
        assert "load" in problem["detail"]
    assert contents(database) == before


def test_a_report_to_a_survey_that_is_not_there_is_not_found(post: Post) -> None:
    report = a_report(survey_named("nobody"))

    assert_problem(post(report.canonical, "nobody"), 404, "not-found")


OTHER_BODIES: list[tuple[str, str, bytes]] = [
    # what, its problem, the body
    ("nothing", "malformed", b""),
    ("no JSON", "malformed", b"stolen=yes"),
    ("deep nesting", "bad-report", b"[" * 100_000),
    ("null", "bad-report", b"null"),
    ("a text", "bad-report", b'"yes"'),
    ("an empty object", "bad-report", b"{}"),
    ("an empty list", "bad-report", b"[]"),
]

SPOILT_BODIES: list[tuple[str, str, str, str]] = [
    # what, its problem, what of a good body is replaced, and by what
    ("truncated", "malformed", "}}", "}"),
    ("two documents", "malformed", "}}", "}}{}"),
    ("a lone surrogate", "malformed", "stolen", "\\ud800"),
    ("NaN", "malformed", "[0]", "[NaN]"),
    ("Infinity", "malformed", "[0]", "[-Infinity]"),
    ("a repeated key", "malformed", "}}", '},"id":"00000000000000000000000000000000"}'),
    ("a repeated question", "malformed", '"stolen":[0]', '"stolen":[0],"stolen":[1]'),
    ("deep nesting inside", "bad-report", "[0]", "[" * 9000 + "]" * 9000),
    ("no id", "bad-report", '"id"', '"di"'),
    ("an unknown key", "bad-report", '"survey"', '"time":1,"survey"'),
    ("an id in capitals", "bad-report", '"id":"', '"id":"A'),
    ("a long id", "bad-report", '"id":"', '"id":"0'),
    ("an id with a line break", "bad-report", '","survey"', '\\n","survey"'),
    ("an id that is a number", "bad-report", '"id":"', '"id":7,"x":"'),
    ("a digest with a line break", "bad-report", '","values"', '\\n","values"'),
    ("values as a text", "bad-report", '"values":{', '"values":"","x":{'),
    ("a question too many", "bad-report", '"values":{', '"values":{"x":[0],'),
    ("a question too few", "bad-report", ',"stolen":[0]', ""),
    ("a misspelt question", "bad-report", "stolen", "stole"),
    ("a choice that is a text", "bad-report", "[0]", '["yes"]'),
    ("a choice that is a boolean", "bad-report", "[0]", "[true]"),
    ("a choice that is null", "bad-report", "[0]", "[null]"),
    ("a choice with a fraction", "bad-report", "[0]", "[0.0]"),
    ("a choice with an exponent", "bad-report", "[0]", "[0e0]"),
    ("an infinite choice", "bad-report", "[0]", "[1e999]"),
    ("a choice below 0", "bad-report", "[0]", "[-1]"),
    ("a choice of k", "bad-report", "[0]", "[2]"),
    ("a choice past 64 bits", "bad-report", "[0]", "[18446744073709551616]"),
    ("a number of 5000 digits", "bad-report", "[0]", f"[{'9' * 5000}]"),
    ("a value that is no list", "bad-report", "[0]", "0"),
    ("no choice", "bad-report", "[0]", "[]"),
    ("a choice too many", "bad-report", "[0]", "[0,1]"),
    ("choices that descend", "bad-report", "[0,1]", "[1,0]"),
    ("a choice twice", "bad-report", "[0,1]", "[1,1]"),
]


@for_each(("what", "name", "body"), OTHER_BODIES)
def test_what_is_no_report_is_a_problem_and_changes_nothing(
    post: Post, survey: Survey, database: Path, what: str, name: str, body: bytes
) -> None:
    _assert_refused(post, survey, database, name, body)


@for_each(("what", "name", "old", "new"), SPOILT_BODIES)
def test_a_spoilt_report_is_a_problem_and_changes_nothing(
    post: Post, survey: Survey, database: Path, what: str, name: str, old: str, new: str
) -> None:
    good = a_report(survey).canonical.decode()
    assert good.count(old) == 1

    _assert_refused(post, survey, database, name, good.replace(old, new).encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "latin-1"])
def test_a_report_is_utf_8(post: Post, survey: Survey, database: Path, encoding: str) -> None:
    body = a_report(survey).canonical.decode().replace("stolen", "gestohlen, \xfc")

    _assert_refused(post, survey, database, "malformed", body.encode(encoding))


def _assert_refused(post: Post, survey: Survey, database: Path, name: str, body: bytes) -> None:
    post(a_report(survey).canonical)
    before = contents(database)
    status = {"malformed": 400, "bad-report": 422}[name]

    assert_problem(post(body), status, name)
    assert contents(database) == before


MEDIA_TYPES = [
    "",
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "a/b; application/json",
    "multipart/form-data; boundary=x",
    "application/yaml",
    "\xff",
]


def test_a_problem_names_the_place_that_is_at_fault(post: Post, survey: Survey) -> None:
    bad = a_report(survey, often=[4, 3])

    problem = assert_problem(post(bad.canonical), 422, "bad-report")
    assert problem["path"] == "$.values.often"


@pytest.mark.parametrize("kind", MEDIA_TYPES)
def test_another_media_type_is_refused(
    client: FlaskClient, survey: Survey, database: Path, kind: str
) -> None:
    before = contents(database)

    answer = client.post(PATH("workplace"), data=a_report(survey).canonical, content_type=kind)

    assert "application/json" in assert_problem(answer, 415, "unsupported-media-type")["detail"]
    assert contents(database) == before


def test_a_body_of_a_mebibyte_is_read_and_a_byte_more_is_not(
    client: FlaskClient, post: Post, survey: Survey, database: Path
) -> None:
    body = a_report(survey).canonical.ljust(LARGEST_BODY)
    assert post(body).status_code == 201
    before = contents(database)

    assert_problem(post(body + b" "), 413, "too-large")
    unannounced = client.post(
        PATH("workplace"),
        data=body + b" ",
        content_type="application/json",
        environ_overrides={"wsgi.input_terminated": True, "CONTENT_LENGTH": ""},
    )
    assert_problem(unannounced, 413, "too-large")
    assert contents(database) == before


@pytest.mark.parametrize("kind", WAYS.values(), ids=WAYS)
def test_a_body_shorter_than_announced_is_refused(
    client: FlaskClient, survey: Survey, database: Path, kind: str
) -> None:
    before = contents(database)
    body = a_report(survey).canonical

    answer = client.post(
        PATH("workplace"),
        data=body,
        content_type=kind,
        environ_overrides={"wsgi.input_terminated": True, "CONTENT_LENGTH": str(len(body) + 1)},
    )

    assert "shorter" in assert_problem(answer, 400, "malformed")["detail"]
    assert contents(database) == before


@for_each("kind", WAYS.values(), ids=WAYS)
@for_each("length", ["9" * 5000, "-1", "x", "\xb2", "1e3", "0x10", " 5"])
def test_a_length_that_makes_no_sense_is_no_fault_of_the_server(
    client: FlaskClient, survey: Survey, database: Path, kind: str, length: str
) -> None:
    before = contents(database)

    answer = client.post(
        PATH("workplace"),
        data=b"{}",
        content_type=kind,
        environ_overrides={"wsgi.input_terminated": True, "CONTENT_LENGTH": length},
    )

    assert 400 <= answer.status_code < 500
    assert contents(database) == before


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_reports_cannot_be_read_changed_or_deleted(
    client: FlaskClient, survey: Survey, method: str
) -> None:
    answer = client.open(PATH("workplace"), method=method)

    assert_problem(answer, 405, "method-not-allowed")
    assert "POST" in answer.headers["Allow"]


def test_a_fault_of_the_store_is_a_500_and_the_same_bytes_may_come_again(
    post: Post, survey: Survey, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(database)
    report = a_report(survey)
    monkeypatch.setattr(
        "deniably_server.storage.writing.writer.commit_reports", lambda *_, **__: 1 / 0
    )

    assert_problem(post(report.canonical), 500, "internal")
    assert contents(database) == before

    monkeypatch.undo()
    assert post(report.canonical).status_code == 201
