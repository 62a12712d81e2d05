"""Every route, walked: who is let in, and that nothing but what should changes anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask import Flask
from msgspec.structs import replace

from deniably.survey.survey import ResultsRule, Survey
from deniably.trust.register import closing_digest
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from deniably_server.storage.tables.tokens import ROLES, Token, id_in, make
from support.cases import for_each
from support.material import (
    AUTHOR,
    a_report,
    assert_problem,
    contents,
    new_token,
    signed,
    signed_headers,
    survey_named,
)

SAFE = {"GET", "HEAD", "OPTIONS"}
VALUES = {
    "<name>": "workplace",
    "<build>": "0" * 16,
}
"""What the templates of routes are filled with; in the routes of tokens a name is an id."""

GUARDED = {
    ("POST", "/api/surveys"): "author",
    ("POST", "/api/check"): "author",
    ("POST", "/api/envelope-keys"): "author",
    ("PATCH", "/api/surveys/<name>"): "author",
    ("POST", "/api/surveys/<name>/batches"): "author",
    ("GET", "/api/surveys/<name>/status"): "author",
    ("GET", "/api/tokens"): "operator",
    ("POST", "/api/tokens"): "operator",
    ("DELETE", "/api/tokens/<name>"): "operator",
    ("GET", "/metrics"): "monitor",
}
OPERATORS_TOO = {
    ("PATCH", "/api/surveys/<name>"),
    ("GET", "/api/surveys/<name>/status"),
    ("GET", "/metrics"),
}
"""What an operator's token may do as well as the one of the role."""
OPEN = {
    ("POST", "/api/surveys/<name>/reports"),
    ("POST", "/api/surveys/<name>/tickets"),
    ("PUT", "/api/surveys/<name>/mixed"),
    ("PATCH", "/api/surveys/<name>/mixed"),
    ("POST", "/api/admin"),
}
"""What changes something and needs no token: respondents have none, who uses the first link has
none yet, and a mixer shows its signature."""
SCOPED = [
    ("PATCH", "/api/surveys/<name>"),
    ("POST", "/api/surveys"),
    ("POST", "/api/surveys/<name>/batches"),
]

Route = tuple[str, str]


def routes(app: Flask) -> Iterator[Route]:
    """Method and template of every route; ``test_studio`` has those of the studio."""
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/studio/"):
            continue
        for method in sorted(rule.methods or ()):
            yield method, rule.rule


def address_of(template: str) -> str:
    for mark, value in VALUES.items():
        template = template.replace(mark, value)
    return template


@pytest.fixture(scope="module")
def every_route(tmp_path_factory: pytest.TempPathFactory) -> set[Route]:
    app = create_app({"DATABASE": str(tmp_path_factory.mktemp("routes") / "deniably.db")})
    return set(routes(app))


def test_what_changes_something_is_guarded_or_known_to_be_open(every_route: set[Route]) -> None:
    changing = {route for route in every_route if route[0] not in SAFE}

    assert changing == OPEN | {route for route in GUARDED if route[0] not in SAFE}
    assert set(GUARDED) <= every_route


def _none(store: Store, role: str) -> str:
    return ""


def _of_another_role(store: Store, route: Route) -> Iterator[str]:
    allowed = {GUARDED[route], *(("operator",) if route in OPERATORS_TOO else ())}
    yield from (new_token(store, each) for each in ROLES if each not in allowed)


def _expired(store: Store, role: str) -> str:
    made, text = make(role)  # type: ignore[arg-type]
    yesterday = (datetime.now(UTC).date() - timedelta(1)).isoformat()
    store.add_token(Token(made.id, made.hash, made.role, None, yesterday, ""))
    return text


def _revoked(store: Store, role: str) -> str:
    text = new_token(store, role)  # type: ignore[arg-type]
    store.revoke_token(id_in(text))
    return text


def _with_another_secret(store: Store, role: str) -> str:
    text = new_token(store, role)  # type: ignore[arg-type]
    return text[:-43] + make("author")[1][-43:]


@for_each("route", GUARDED, ids=" ".join)
@for_each("bad", [_none, _expired, _revoked, _with_another_secret])
def test_no_guarded_route_takes_a_token_that_is_worth_nothing(
    app: Flask, survey: Survey, database: Path, route: Route, bad: Callable[[Store, str], str]
) -> None:
    text = bad(app.extensions["deniably"], GUARDED[route])
    before = contents(database)

    answer = app.test_client().open(
        address_of(route[1]), method=route[0], headers={"Authorization": f"Bearer {text}"}
    )

    assert_problem(answer, 401, "unauthorised")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert contents(database) == before


@pytest.mark.parametrize("route", GUARDED, ids=" ".join)
def test_no_guarded_route_takes_the_token_of_another_role(
    app: Flask, survey: Survey, database: Path, route: Route
) -> None:
    for text in _of_another_role(app.extensions["deniably"], route):
        before = contents(database)

        answer = app.test_client().open(
            address_of(route[1]), method=route[0], headers={"Authorization": f"Bearer {text}"}
        )

        needed = assert_problem(answer, 403, "forbidden")["detail"]
        assert re.search(f"This needs an? {GUARDED[route]}'s token", needed)
        assert contents(database) == before


@pytest.mark.parametrize("route", SCOPED, ids=" ".join)
def test_no_scoped_route_takes_a_token_for_another_survey(
    app: Flask, survey: Survey, database: Path, route: Route
) -> None:
    text = new_token(app.extensions["deniably"], "author", "another")
    before = contents(database)

    answer = app.test_client().open(
        address_of(route[1]),
        method=route[0],
        headers={"Authorization": f"Bearer {text}", **signed_headers(survey)},
        json={
            "name": "workplace",
            "title": "Work",
            "questions": [{"name": "a", "type": "yes_no", "label": "A?", "odds": 3}],
        },
    )

    assert "another alone" in assert_problem(answer, 403, "forbidden")["detail"]
    assert contents(database) == before


def test_no_request_that_only_reads_changes_anything_or_sets_a_cookie(
    app: Flask, survey: Survey, database: Path, every_route: set[Route]
) -> None:
    """Every route with GET, HEAD and OPTIONS, with every token and with none."""
    store = app.extensions["deniably"]
    tokens = ["", *(new_token(store, role) for role in ROLES)]
    before = contents(database)

    for method, template in sorted(every_route):
        for text in tokens if method in SAFE else ():
            answer = app.test_client().open(
                address_of(template), method=method, headers={"Authorization": f"Bearer {text}"}
            )
            assert answer.status_code < 500, template
            assert "Set-Cookie" not in answer.headers
    assert contents(database) == before


def test_no_request_sets_a_cookie(app: Flask, survey: Survey, every_route: set[Route]) -> None:
    for method, template in sorted(every_route):
        answer = app.test_client().open(
            address_of(template), method=method, headers={"Cookie": "session=x"}, json={}
        )
        assert "Set-Cookie" not in answer.headers, template
        assert "Cookie" not in answer.vary, template


# --- another author -----------------------------------------------------------------------------

OWN = {
    ("PATCH", "/api/surveys/<name>"): "owner, operator",
    ("POST", "/api/surveys/<name>/batches"): "owner, scoped",
    ("GET", "/api/surveys/<name>/status"): "owner, scoped, operator",
    ("HEAD", "/api/surveys/<name>/status"): "owner, scoped, operator",
    ("GET", "/surveys/<name>/status"): "owner, scoped, operator, none",
    ("HEAD", "/surveys/<name>/status"): "owner, scoped, operator, none",
}
"""Whom the routes of one survey serve; all others serve everybody, or analysts of this survey."""
BODIES = {
    "PATCH": {"data": '{"state": "open"}', "content_type": "application/json"},
    "POST": {"data": "", "content_type": "application/x-ndjson"},
}
"""What changes nothing: a survey that stays open, and a batch without lines."""


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    """A survey whose results are for analysts, published with the first token of ``holders``."""
    app = create_app({"DATABASE": str(tmp_path_factory.mktemp("owned") / "deniably.db")})
    store: Store = app.extensions["deniably"]
    tokens = {
        "owner": new_token(store, "author"),
        "other": new_token(store, "author"),
        "scoped": new_token(store, "author", "workplace"),
        "scoped elsewhere": new_token(store, "author", "another"),
        "analyst": new_token(store, "analyst"),
        "analyst elsewhere": new_token(store, "analyst", "another"),
        "monitor": new_token(store, "monitor"),
        "operator": new_token(store, "operator"),
    }
    survey = replace(survey_named(), results=ResultsRule(minimum=1, while_open=True, to="analysts"))
    store.publish(survey, signed(survey), id_in(tokens["owner"]) or "")
    store.add(survey, a_report(survey))
    store.close_survey(survey.name)  # closed, it hides nothing from those who are let in
    app.config["HOLDERS"] = {"none": {}} | {
        name: {"Authorization": f"Bearer {text}"} for name, text in tokens.items()
    }
    return app


def test_every_route_of_a_survey_serves_its_own_holders_alone(
    owned: Flask, every_route: set[Route]
) -> None:
    """All methods of all routes of a survey, by every kind of token and by none."""
    client, wrong = owned.test_client(), []
    for method, template in sorted(every_route):
        if "/surveys/<name>" not in template or (method, template) in OPEN:
            continue
        address = address_of(template).replace("<question>", "stolen").replace("<file>", "x")
        let_in = set()
        for holder, headers in owned.config["HOLDERS"].items():
            more = BODIES.get(method, {})
            answer = client.open(address, method=method, headers=headers, **more)
            if answer.status_code not in (401, 403):
                let_in.add(holder)
        # Who published a survey reads it once it is closed. Without a token a page shows the field
        # for one.
        readers = "analyst, owner"
        analysts = readers if template.startswith("/api/") else f"{readers}, none"
        own = set(OWN.get((method, template), analysts).split(", "))
        if let_in != own and ((method, template) in OWN or let_in != {*owned.config["HOLDERS"]}):
            wrong.append((method, template, sorted(let_in)))

    assert wrong == []


def test_another_author_can_neither_fill_nor_look_into_a_survey(owned: Flask) -> None:
    client, survey = owned.test_client(), owned.extensions["deniably"].survey("workplace")
    headers = owned.config["HOLDERS"]["other"]
    before = owned.extensions["deniably"].reports("workplace")

    filled = client.post(
        "/api/surveys/workplace/batches",
        data=a_report(survey).canonical,
        content_type="application/x-ndjson",
        headers=headers,
    )
    status = client.get("/api/surveys/workplace/status", headers=headers)

    for answer in (filled, status):
        detail = assert_problem(answer, 403, "forbidden")["detail"]
        assert "deniably token new --role author --survey workplace" in detail
    assert owned.extensions["deniably"].reports("workplace") == before


def test_the_authors_key_stands_for_the_token_that_published(owned: Flask) -> None:
    """An author whose token has expired goes on with another one, as in closing."""
    survey = owned.extensions["deniably"].survey("workplace")
    signature = AUTHOR.sign(closing_digest(survey.digest))
    headers = owned.config["HOLDERS"]["other"] | {
        "Deniably-Author": signature.author,
        "Deniably-Signature": signature.value,
    }

    status = owned.test_client().get("/api/surveys/workplace/status", headers=headers)

    assert status.status_code == 200
