"""Tokens: who may do what, for how long, and that nothing that is kept can be used as one."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text
from deniably.survey.survey import Survey
from deniably_server.app import create_app
from deniably_server.commands import token as token_cli
from deniably_server.errors import Unauthorised
from deniably_server.guard import admin_link
from deniably_server.guard.admin_link import first_link, use_link
from deniably_server.storage.store import Store
from deniably_server.storage.tables import tokens
from support.cases import for_each
from support.material import Server, assert_problem, contents, new_token, signed_headers

HEALTH = """
name: health
title: Health
questions: [{name: smokes, type: yes_no, label: "Do you smoke?", odds: 3}]
"""


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def run(*arguments: object, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(token_cli.token, [str(each) for each in arguments])
    assert result.exit_code == exit_code, result.output
    return result


# --- what is kept -------------------------------------------------------------------------------


def test_a_token_is_kept_as_its_hash_with_its_role_scope_last_day_and_note(address: str) -> None:
    made, text = tokens.make("author", "health", 90, "the ward")
    with closing(Store(address)) as store:
        store.add_token(made)

        assert store.tokens() == [made]
        assert store.token(made.id) == made
        assert store.token("0" * 12) is None
    assert (made.role, made.survey, made.note) == ("author", "health", "the ward")
    assert made.until == (datetime.now(UTC).date() + timedelta(90)).isoformat()
    assert contents(address)["tokens"] == [
        (made.id, tokens.hash_of(text), "author", "health", made.until, "the ward", 0)
    ]
    assert text not in repr(contents(address))
    assert made.hash not in repr(made)


def test_a_token_is_256_random_bits_and_says_its_id() -> None:
    texts = {tokens.make("author")[1] for _ in range(50)}

    assert len(texts) == 50
    for text in texts:
        found = re.fullmatch(r"deniably_([0-9a-f]{12})_[A-Za-z0-9_-]{43}", text)
        assert found
        assert tokens.id_in(text) == found[1]


def test_no_file_of_the_database_holds_a_token(store: Store, database: Path) -> None:
    text = new_token(store, "author")
    secret = text.split("_", 2)[2]

    assert all(secret.encode() not in path.read_bytes() for path in database.parent.iterdir())


def test_a_revoked_token_stays_revoked_and_the_others_valid(address: str) -> None:
    with closing(Store(address)) as store:
        one, other = (tokens.make("author")[0] for _ in range(2))
        store.add_token(one)
        store.add_token(other)

        assert store.revoke_token(one.id)
        assert store.revoke_token(one.id), "again is the same"
        assert not store.revoke_token("nobody")

        assert {each.id: each.revoked for each in store.tokens()} == {one.id: True, other.id: False}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"role": "operator", "survey": "health"}, "an operator's token is for the whole server"),
        ({"role": "monitor", "survey": "health"}, "a monitor's token is for the whole server"),
        ({"survey": "No Name"}, "survey's name"),
        ({"survey": "x\n"}, "survey's name"),
        ({"days": 0}, "1 to 3660 days"),
        ({"days": 3661}, "1 to 3660 days"),
        ({"note": "x" * 201}, "200 characters"),
        ({"note": "a\x1b[2Jb"}, "one line"),
    ],
)
def test_what_no_token_can_be_is_refused_in_a_sentence(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        tokens.make(**({"role": "author"} | wrong))


# --- over HTTP ----------------------------------------------------------------------------------


@pytest.fixture
def operator(app: Flask) -> dict[str, str]:
    return bearer(new_token(app.extensions["deniably"], "operator"))


def test_an_operator_makes_lists_and_revokes(
    client: FlaskClient, operator: dict[str, str], survey: Survey
) -> None:
    wanted = {"role": "author", "survey": "workplace", "days": 30, "note": "A. Researcher"}
    made = client.post("/api/tokens", json=wanted, headers=operator)
    text = made.json["token"]
    close: dict[str, Any] = {"json": {"state": "open"}, "headers": bearer(text)}

    assert made.status_code == 201
    assert made.headers["Cache-Control"] == "no-store, no-transform"
    assert "Content-Encoding" not in made.headers
    assert client.patch("/api/surveys/workplace", **close).status_code == 200
    listed = client.get("/api/tokens", headers=operator)
    assert {key: value for key, value in made.json.items() if key != "token"} in listed.json[
        "tokens"
    ]
    assert text.split("_", 2)[2] not in listed.text, "a secret may have such a sign, too"

    revoked = client.delete(f"/api/tokens/{made.json['id']}", headers=operator)

    assert (revoked.status_code, revoked.json["state"]) == (200, "revoked")
    problem = assert_problem(client.patch("/api/surveys/workplace", **close), 401, "unauthorised")
    assert "revoked" in problem["detail"]


@for_each("name", ["nobody", "%00", "a%00", "%ff", "%F0%9F%98%80", "x" * 3000])
def test_a_token_that_is_not_there_is_not_found(address: str, name: str) -> None:
    app = create_app({"DATABASE": address})
    with closing(app.extensions["deniably"]) as store:
        operator = bearer(new_token(store, "operator"))

        answer = app.test_client().delete(f"/api/tokens/{name}", headers=operator)

    assert_problem(answer, 404, "not-found")


@pytest.mark.parametrize(
    "wrong",
    [
        {}, [], {"role": "king"}, {"role": "author", "more": 1}, {"role": "author", "days": 0},
        {"role": "author", "days": "9"}, {"role": "operator", "survey": "workplace"},
        {"role": "author", "days": 10**30}, {"role": "author", "survey": ""},
    ],
)  # fmt: skip
def test_a_wish_that_makes_no_token_is_refused_and_makes_none(
    client: FlaskClient, operator: dict[str, str], database: Path, wrong: object
) -> None:
    before = contents(database)

    assert_problem(client.post("/api/tokens", json=wrong, headers=operator), 400, "malformed")
    assert contents(database) == before


def test_a_token_for_one_survey_publishes_and_closes_that_one_alone(
    client: FlaskClient, app: Flask, survey: Survey, database: Path
) -> None:
    own, other = (
        bearer(new_token(app.extensions["deniably"], "author", name)) for name in ("health", "x")
    )
    body: dict[str, Any] = {"data": HEALTH, "content_type": "application/yaml"}
    signed = signed_headers(publish_text(HEALTH))
    before = contents(database)

    refused = client.post("/api/surveys", **body, headers=signed | other)
    closing_another = client.patch("/api/surveys/workplace", json={"state": "closed"}, headers=own)

    for answer in (refused, closing_another):
        assert "alone" in assert_problem(answer, 403, "forbidden")["detail"]
        assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
    assert contents(database) == before
    assert client.post("/api/surveys", **body, headers=signed | own).status_code == 201
    closed = client.patch("/api/surveys/health", json={"state": "closed"}, headers=own)
    assert closed.status_code == 200


def test_only_who_holds_the_secret_learns_that_a_token_has_expired(
    client: FlaskClient, app: Flask, survey: Survey
) -> None:
    made, text = tokens.make("author")
    yesterday = (datetime.now(UTC).date() - timedelta(1)).isoformat()
    past = tokens.Token(made.id, made.hash, made.role, None, yesterday, "")
    app.extensions["deniably"].add_token(past)

    def details(token: str) -> str:
        answer = client.patch("/api/surveys/workplace", json={}, headers=bearer(token))
        return str(assert_problem(answer, 401, "unauthorised")["detail"])

    guessed = text[:-1] + ("A" if text[-1] != "A" else "B")
    assert yesterday in details(text)
    assert details(guessed) == details("deniably_000000000000_" + 43 * "x") == details("x")


def test_a_token_is_valid_on_its_last_day(monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = tokens.make("author", days=1)
    for days, expired in ((1, False), (2, True)):
        later = (datetime.now(UTC).date() + timedelta(days)).isoformat()
        monkeypatch.setattr(tokens, "day_in", lambda _, later=later: later)
        assert made.expired is expired


def test_the_end_of_time_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(datetime):
        @classmethod
        def now(cls, tz: object = None) -> Late:
            return cls.max.replace(tzinfo=UTC)

    monkeypatch.setattr(tokens, "datetime", Late)

    assert tokens.day_in(1) == date.max.isoformat()


# --- on the command line ------------------------------------------------------------------------


def test_tokens_are_made_listed_and_revoked_from_the_command_line(tmp_path: Path) -> None:
    at = ("--database", tmp_path / "deniably.db")
    made = run("new", *at, "--role", "analyst", "--survey", "health", "--days", 9, "--note", "Ann")
    text = made.output.split()[-1]
    listed = run("list", *at).output
    name = tokens.id_in(text)

    assert made.output.startswith("An analyst's token for health, valid until 20")
    assert re.search(rf"^{name} +analyst +health +\S+ +valid +Ann$", listed, re.M)
    assert text not in listed
    assert run("revoke", *at, name).output == f"{name} is revoked\n"
    assert re.search(rf"^{name} .* revoked ", run("list", *at).output, re.M)
    assert f"there is no token {name}x" in run("revoke", *at, f"{name}x", exit_code=1).output


def test_what_cannot_be_is_refused_and_makes_no_database(tmp_path: Path) -> None:
    at = ("--database", tmp_path / "deniably.db")

    run("new", *at, "--days", "0", exit_code=2)
    run("new", *at, "--role", "operator", "--survey", "health", exit_code=2)
    run("new", *at, "--role", "king", exit_code=2)
    run("list", *at, exit_code=1)
    run("revoke", *at, "first", exit_code=1)

    assert not (tmp_path / "deniably.db").exists()


def test_a_running_server_heeds_the_command_line_at_once(server: Server) -> None:
    import requests

    text = run("new", "--database", server.database, "--role", "operator").output.split()[-1]

    def ask() -> int:
        return requests.get(
            f"{server.url}/api/tokens", headers=bearer(text), timeout=30
        ).status_code

    assert ask() == 200
    run("revoke", "--database", server.database, tokens.id_in(text))
    assert ask() == 401


# --- the link of the first start ----------------------------------------------------------------


def test_the_link_is_worth_two_tokens_once(address: str) -> None:
    with closing(Store(address)) as store:
        secret = first_link(store)
        assert secret is not None
        assert len(secret) >= 43  # 256 bits in base 64
        assert secret not in repr(contents(address))

        made = use_link(store, secret)

        assert [token.role for token, _ in made] == ["operator", "author"]
        assert {token.id for token in store.tokens()} == {token.id for token, _ in made}
        for token, text in made:
            assert token.is_of(text)
        with pytest.raises(Unauthorised):
            use_link(store, secret)
        assert len(store.tokens()) == 2


def test_there_is_one_link_and_none_where_there_is_a_token(store: Store) -> None:
    assert first_link(store)
    assert first_link(store) is None, "the first one may still be used"
    new_token(store, "author")

    assert first_link(store) is None


@pytest.mark.parametrize(("days", "works"), [(1, True), (2, False)])
def test_the_link_works_today_and_tomorrow(
    store: Store, monkeypatch: pytest.MonkeyPatch, days: int, works: bool
) -> None:
    secret = first_link(store)
    assert secret
    monkeypatch.setattr(admin_link, "day_in", lambda more: tokens.day_in(more + days))

    if works:
        assert use_link(store, secret)
        return
    with pytest.raises(Unauthorised, match="too old"):
        use_link(store, secret)
    assert store.tokens() == []
    again = first_link(store)
    assert again, "the next start prints another"
    assert use_link(store, again)


@pytest.mark.parametrize("wrong", ["", "x", "x" * 43, "\ud800"])
def test_another_secret_makes_no_token(store: Store, wrong: str) -> None:
    for _ in range(2):  # before there is a link, and with one
        with pytest.raises(Unauthorised):
            use_link(store, wrong)
        first_link(store)
    assert store.tokens() == []


def test_of_many_who_use_the_link_at_once_one_gets_the_tokens(address: str) -> None:
    with closing(Store(address)) as store:
        secret = first_link(store)
        assert secret

        def press(_: int) -> bool:
            try:
                return bool(use_link(store, secret))
            except Unauthorised:
                return False

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(press, range(8))) == 1
        assert len(store.tokens()) == 2


def test_the_tokens_of_the_link_work_over_http(client: FlaskClient, app: Flask) -> None:
    secret = first_link(app.extensions["deniably"])

    answer = client.post("/api/admin", json={"secret": secret})
    again = client.post("/api/admin", json={"secret": secret})

    assert answer.headers["Cache-Control"] == "no-store, no-transform"
    assert_problem(again, 401, "unauthorised")
    headers = bearer(answer.json["operator"]["token"])
    assert len(client.get("/api/tokens", headers=headers).json["tokens"]) == 2
    refused = client.post("/api/surveys", headers=bearer(answer.json["author"]["token"]))
    assert_problem(refused, 415, "unsupported-media-type")


@pytest.mark.parametrize("wrong", [b"", b"{}", b'{"secret": 1}', b'{"secret": "x", "more": 1}'])
def test_what_is_no_secret_at_all_is_malformed(client: FlaskClient, wrong: bytes) -> None:
    answer = client.post("/api/admin", data=wrong, content_type="application/json")

    assert_problem(answer, 400, "malformed")
