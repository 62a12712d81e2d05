"""What a request passes on its way to a view, and that the layers stand in the order that
``layers`` writes down: with two neighbours changed about, one of these fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably_server.app import create_app
from deniably_server.guard.headers import SECURITY_HEADERS
from deniably_server.guard.read_limit import ReadLimit
from deniably_server.layers import FLASK_HOOKS, WSGI_LAYERS
from deniably_server.watching.metrics import Metrics
from deniably_server.watching.request_facts import HEADER, AnsweredRequest
from support.material import a_report, assert_problem, signed, survey_named

SURVEY = survey_named()
OURS, THEIRS = "survey.example.org", "evil.example"
REPORTS = "/api/surveys/workplace/reports"


class Told(Metrics):
    """What log and metrics are told."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[AnsweredRequest] = []

    def add(self, answer: AnsweredRequest) -> None:
        self.answers.append(answer)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def app(database: Path, told: Told) -> Iterator[Flask]:
    """A server with every layer, and room for one report a minute."""
    app = create_app({"DATABASE": str(database), "HOSTS": OURS, "RATE": 1}, metrics=told)
    app.extensions["deniably"].publish(SURVEY, signed(SURVEY))
    yield app
    app.extensions["deniably"].close()


def ask(client: FlaskClient, path: str, host: str = OURS, method: str = "GET", **more: Any) -> Any:
    environ = {"HTTP_HOST": host, "REMOTE_ADDR": "203.0.113.7"}
    return client.open(path, method=method, environ_overrides=environ, **more)


def stacked(app: Flask) -> list[object]:
    """The layers around Flask, the outermost first."""
    found: list[object] = []
    layer: Any = app.wsgi_app
    while (inner := getattr(layer, "_app", None)) is not None:
        found.append(layer)
        layer = inner
    return found


def test_every_layer_is_there_in_the_order_that_is_written_down(app: Flask) -> None:
    names = [type(layer).__name__ for layer in stacked(app)]

    assert names == [layer.name for layer in WSGI_LAYERS]
    assert [hook.name for hook in FLASK_HOOKS] == [
        "compression",
        "problems",
        "routes",
        "parameters",
    ]


def test_a_server_without_names_of_its_own_answers_to_all(database: Path) -> None:
    app = create_app({"DATABASE": str(database)})

    assert ask(app.test_client(), "/", THEIRS).status_code == 200


@pytest.mark.parametrize(
    ("asked", "status", "route"),
    [
        ({"path": "/"}, 200, "/"),
        ({"path": "/", "host": THEIRS}, 421, "no route"),
        ({"path": "/nowhere"}, 404, "no route"),
        ({"path": "/surveys/workplace?x=1"}, 400, "/surveys/<name>"),
        ({"path": "/surveys/workplace"}, 200, "/surveys/<name>"),
        (
            {"path": REPORTS, "method": "POST", "data": b"{", "content_type": "application/json"},
            400,
            "/api/surveys/<name>/reports",
        ),
        ({"path": REPORTS, "method": "POST", "data": b"{"}, 415, "/api/surveys/<name>/reports"),
    ],
)
def test_every_layer_that_answers_is_logged_and_sends_all_headers(
    client: FlaskClient, told: Told, asked: dict[str, Any], status: int, route: str
) -> None:
    answer = ask(client, **asked)

    assert answer.status_code == status
    assert [name for name, _ in SECURITY_HEADERS if name not in answer.headers] == []
    assert answer.headers["Content-Security-Policy"].startswith(
        "default-src 'none'; script-src 'self';"
    )
    (heard,) = told.answers
    assert (heard.status, heard.route) == (status, route)
    assert answer.headers[HEADER] == heard.request


def test_what_browsers_keep_has_no_id_of_its_moment(client: FlaskClient) -> None:
    assert HEADER not in ask(client, "/api/openapi.json").headers


def test_who_asks_another_server_takes_no_place_at_the_door(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    (reads,) = [layer for layer in stacked(app) if isinstance(layer, ReadLimit)]
    monkeypatch.setattr(reads._anybody, "_most", 0)

    assert_problem(ask(client, "/"), 429, "busy")
    assert_problem(ask(client, "/", THEIRS), 421, "misdirected")


def test_who_asks_another_server_uses_up_nobodys_reports(client: FlaskClient) -> None:
    report = {"method": "POST", "data": a_report(SURVEY).canonical,
              "content_type": "application/json"}  # fmt: skip

    assert ask(client, REPORTS, THEIRS, **report).status_code == 421
    assert ask(client, REPORTS, **report).status_code == 201


def test_reports_that_flask_reads_are_counted_like_others(client: FlaskClient) -> None:
    odd = {"method": "POST", "data": b"x", "content_type": "text/plain"}

    assert_problem(ask(client, REPORTS, **odd), 415, "unsupported-media-type")
    assert_problem(ask(client, REPORTS, **odd), 429, "too-many")


def test_problems_are_compressed_too(client: FlaskClient) -> None:
    taken = {"Accept": "text/html", "Accept-Encoding": "gzip"}

    answer = ask(client, "/nowhere", headers=taken)

    assert (answer.status_code, answer.headers["Content-Encoding"]) == (404, "gzip")
