"""Refusals: one shape, the specification's types, and nothing of the request in a log."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest
from flask import Flask, abort
from flask.testing import FlaskClient

from deniably.core.errors import BadMechanism, DeniablyError
from deniably_server import errors
from deniably_server.web.problems import BY_EXCEPTION, KINDS, kind_of
from support.cases import for_each
from support.material import assert_problem

SPEC = (Path(__file__).parents[2] / "shared/SPEC.md").read_text(encoding="utf-8")
IN_SPEC = {
    name: int(status) for name, status in re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", SPEC, re.M)
}


def test_the_types_are_those_of_the_specification() -> None:
    assert len(IN_SPEC) > 10
    assert {kind.name: kind.status for kind in KINDS.values()} == IN_SPEC


def test_every_refusal_of_the_server_has_a_type_of_its_own() -> None:
    refusals = errors.Refusal.__subclasses__()

    assert len(refusals) >= 16
    for refusal in refusals:
        assert BY_EXCEPTION[refusal] in KINDS
        assert kind_of(refusal("why")).status < 500


@pytest.mark.parametrize(
    "error", [errors.NotStored("x"), BadMechanism("x"), DeniablyError("x"), KeyError()]
)
def test_what_is_nobodys_refusal_is_a_fault_of_the_server(error: Exception) -> None:
    assert kind_of(error) is KINDS["internal"]


@for_each("name", sorted(IN_SPEC))
def test_the_uri_of_every_type_resolves(client: FlaskClient, name: str) -> None:
    answer = client.get(f"/problems/{name}")

    assert answer.status_code == 200
    assert answer.mimetype == "text/plain"
    assert KINDS[name].title in answer.text
    assert str(IN_SPEC[name]) in answer.text


def test_an_unknown_type_is_not_found(client: FlaskClient) -> None:
    assert_problem(client.get("/problems/unheard-of"), 404, "not-found")


@pytest.mark.parametrize(
    "path", ["/nothing", "/api", "/api/surveys/", "//api/surveys", "/%00", "/..%2f"]
)
def test_an_unknown_address_is_not_found_and_not_repeated(client: FlaskClient, path: str) -> None:
    problem = assert_problem(client.get(path), 404, "not-found")

    assert problem["detail"] == "There is no such survey or page."


def test_another_method_is_refused_with_those_that_are_allowed(client: FlaskClient) -> None:
    answer = client.delete("/api/surveys/workplace")

    assert_problem(answer, 405, "method-not-allowed")
    assert {"GET", "PATCH"} <= set(answer.headers["Allow"].split(", "))


def test_a_refusal_that_the_specification_does_not_name_has_https_own_type(app: Flask) -> None:
    @app.get("/teapot")
    def teapot() -> str:
        abort(418)

    answer = app.test_client().get("/teapot")

    assert answer.status_code == 418
    assert answer.mimetype == "application/problem+json"
    assert json.loads(answer.data)["type"] == "about:blank"


def test_a_fault_is_logged_by_its_place_and_without_a_word_of_the_request(
    app: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    @app.route("/broken/<where>", methods=["GET", "POST"])
    def broken(where: str) -> str:
        answer = {"stolen": "yes"}
        try:
            raise ValueError(f"secret-message {where} {answer}")
        except ValueError as error:
            raise RuntimeError(f"secret-wrapper {where}") from error

    client = app.test_client()
    logging.getLogger("deniably").propagate = True
    with caplog.at_level(logging.DEBUG):
        answer = client.post(
            "/broken/secret-path?q=secret-query",
            data="secret-body",
            headers={"User-Agent": "secret-agent", "X-Forwarded-For": "203.0.113.7"},
        )

    problem = assert_problem(answer, 500, "internal")
    assert set(problem) == {"type", "title", "status", "detail", "instance"}
    assert "secret" not in answer.text
    assert len(caplog.records) == 1
    assert re.fullmatch(
        r"POST /broken/<where> 500 RuntimeError at \S+:\d+ from ValueError at \S+:\d+"
        rf" {answer.headers['Deniably-Request']}",
        caplog.records[0].getMessage(),
    )
    assert caplog.records[0].exc_info is None
    for secret in ("secret", "203.0.113", "127.0.0.1", "yes", "agent"):
        assert secret not in caplog.text


def test_a_method_that_nobody_knows_is_not_logged(
    app: Flask, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "dispatch_request", lambda: 1 / 0)
    logging.getLogger("deniably").propagate = True

    answer = app.test_client().open("/", method="STOLEN-YES")

    assert_problem(answer, 500, "internal")
    assert caplog.records[0].getMessage().startswith("other no route 500 ZeroDivisionError at ")


def test_a_refusal_is_not_logged(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        client.post("/api/surveys/nobody/reports", data="{}")

    assert caplog.records == []
