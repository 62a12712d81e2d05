"""Whatever is sent, the server answers in its own shape and never with a fault of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.survey.report import LARGEST_BODY
from deniably_server.app import create_app
from support.cases import for_each
from support.hostile import draw, pour
from support.material import (
    Server,
    a_report,
    assert_problem,
    contents,
    new_token,
    signed,
    survey_named,
)

EXAMPLES = [80, pytest.param(5000, marks=pytest.mark.soak)]
SURVEY = survey_named()
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
nearly = st.fixed_dictionaries(
    {},
    optional={
        "id": st.just("0" * 32)
        | st.text("0123456789abcdefA\n", min_size=31, max_size=33)
        | anything,
        "survey": st.just(SURVEY.digest) | anything,
        "values": st.fixed_dictionaries(
            {},
            optional={
                "stolen": st.lists(st.integers(-1, 2), max_size=2) | anything,
                "often": st.lists(st.integers(-1, 5), max_size=3) | anything,
                "more": anything,
            },
        )
        | anything,
        "more": anything,
    },
)
almost = st.fixed_dictionaries(
    {
        "id": st.text("0123456789abcdef", min_size=32, max_size=32),
        "survey": st.just(SURVEY.digest),
        "values": st.fixed_dictionaries(
            {
                "stolen": st.lists(st.integers(-1, 2), max_size=2),
                "often": st.lists(st.integers(-1, 5), max_size=3),
            }
        ),
    }
)
bodies = (
    st.binary()
    | anything.map(lambda value: json.dumps(value).encode())
    | (nearly | almost).map(lambda value: json.dumps(value).encode())
)
paths = st.sampled_from(
    [
        "/api/surveys/workplace/reports",
        "/api/surveys/workplace",
        "/api/surveys/workplace/tickets",
        "/api/surveys/workplace/results",
        "/api/surveys/workplace/results.csv",
        "/api/surveys",
        "/register",
        "/schema/survey.json",
        "/problems/closed",
    ]
) | st.builds("{}{}".format, st.sampled_from(["/", "/api/surveys/", "/problems/"]), st.text())


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    app = create_app({"DATABASE": str(tmp_path_factory.mktemp("fuzz") / "deniably.db")})
    with closing(app.extensions["deniably"]) as store:
        store.publish(SURVEY, signed(SURVEY))
        store.add(SURVEY, a_report(SURVEY))
        yield app


@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_fuzzed_report_is_stored_only_if_a_device_could_have_made_it(
    app: Flask, examples: int
) -> None:
    path = Path(app.config["DATABASE"])
    before = contents(path)

    @settings(max_examples=examples, deadline=None)
    @given(body=bodies)
    def send(body: bytes) -> None:
        nonlocal before
        answer = app.test_client().post(
            "/api/surveys/workplace/reports", data=body, content_type="application/json"
        )
        after = contents(path)

        if answer.status_code in (200, 201):
            document = json.loads(body)
            assert set(document) == {"id", "survey", "values"}
            assert document["survey"] == SURVEY.digest
            assert len(document["values"]["stolen"]) == 1
            assert len(set(document["values"]["often"])) == 2
        else:
            assert 400 <= answer.status_code < 500
            _assert_some_problem(answer)
            assert after == before
        before = after

    send()


@pytest.mark.parametrize("examples", EXAMPLES)
def test_no_request_brings_the_server_to_a_fault(app: Flask, examples: int) -> None:
    token = new_token(app.extensions["deniably"], "author")

    @settings(max_examples=examples, deadline=None)
    @given(
        method=st.sampled_from(METHODS),
        path=paths,
        body=bodies,
        kind=st.sampled_from(["application/json", "application/yaml", "text/plain", ""])
        | st.text(),
        query=st.text(),
        signed=st.booleans(),
    )
    def send(method: str, path: str, body: bytes, kind: str, query: str, signed: bool) -> None:
        answer = app.test_client().open(
            method=method,
            data=body,
            headers=[("Authorization", f"Bearer {token if signed else 'no'}")],
            environ_overrides={
                "CONTENT_TYPE": _latin(kind),
                "PATH_INFO": _latin(path),
                "QUERY_STRING": _latin(query),
            },
        )

        assert answer.status_code < 500
        if answer.status_code >= 400 and method != "HEAD":
            _assert_some_problem(answer)

    send()


@pytest.mark.slow
@pytest.mark.thorough
def test_what_is_drawn_from_the_description_is_answered_as_described(app: Flask) -> None:
    """A short ``make fuzz``. More right requests are others' tests; here each address has one."""
    before = contents(Path(app.config["DATABASE"]))

    found = draw(app, 1, 1, {})

    assert found.total() > 100
    assert contents(Path(app.config["DATABASE"])) == before


def test_what_breaks_http_itself_is_never_a_fault(server: Server) -> None:
    """Cut, pipelined, chunked, deep and huge: the other short half of ``make fuzz``."""
    server.publish(SURVEY)
    before = contents(server.database)

    found = pour(server.port, 600, seed=1)

    assert found.total() >= 600
    assert found[0] < found.total() / 5, "most are answered"
    assert contents(server.database) == before
    assert server.stop() == 0
    assert "ERROR" not in server.log
    assert "Traceback" not in server.log


CHANGING = [
    ("POST", "/api/surveys"),
    ("POST", "/api/surveys/workplace/reports"),
    ("POST", "/api/surveys/workplace/tickets"),
    ("PATCH", "/api/surveys/workplace"),
    ("POST", "/api/tokens"),
    ("POST", "/api/admin"),
]
TOO_MUCH = {
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep YAML": b"- " * 100_000,
    "aliases": b"a: &a [x,x]\n" + b"".join(
        b"%c: &%c [*%c,*%c,*%c]\n" % (one, one, one - 1, one - 1, one - 1) for one in range(98, 123)
    ),
    "a long number": b'{"days": ' + b"9" * 100_000 + b"}",
    "not a number": b'{"days": NaN, "role": Infinity}',
    "over 1 MiB": b" " * (LARGEST_BODY + 1),
}  # fmt: skip


@for_each("body", TOO_MUCH.values(), ids=TOO_MUCH)
@for_each(("method", "path"), CHANGING)
@for_each("kind", ["application/json", "application/yaml"])
def test_what_is_too_deep_or_too_large_is_refused_on_every_route(
    app: Flask, method: str, path: str, body: bytes, kind: str
) -> None:
    role = "operator" if path == "/api/tokens" else "author"
    token = new_token(app.extensions["deniably"], role)

    answer = app.test_client().open(
        path, method=method, data=body, content_type=kind,
        headers={"Authorization": f"Bearer {token}"},
    )  # fmt: skip

    assert 400 <= answer.status_code < 500
    _assert_some_problem(answer)


def _latin(text: str) -> str:
    """As WSGI hands over what is UTF-8 on the wire."""
    return text.encode().decode("latin-1")


def _assert_some_problem(answer: Any) -> None:
    name = json.loads(answer.get_data())["type"].removeprefix("/problems/")
    assert_problem(answer, answer.status_code, name)
