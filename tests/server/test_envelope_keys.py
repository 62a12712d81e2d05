"""The server's keys of envelopes: an author asks for one, and publishes one survey with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text
from deniably.core.errors import BadSurvey
from deniably.survey.survey import Survey
from deniably.trust.envelope import new_opening_key
from deniably.trust.mixer_offer import make_offer
from deniably.trust.signing import new_key
from deniably_server.errors import Quota
from deniably_server.storage.store import Store
from deniably_server.storage.tables import tokens
from deniably_server.storage.tables.envelope_keys import MOST_UNUSED, find_envelope_key
from deniably_server.storage.tables.owners import Quotas
from spec.cases.mixers import EIGHT, mixed
from support.commands import call
from support.keys import key_of
from support.material import (
    Server,
    assert_problem,
    contents,
    new_token,
    signed,
    signed_headers,
    survey_named,
)

OFFER = msgspec.to_builtins(
    make_offer(new_key(), "https://mixer.example.net", "Works council", new_opening_key().public)
)
KEYS = "/api/envelope-keys"


def written(open_: str | None = None, name: str = "council", **mixer: Any) -> dict[str, Any]:
    """What an author writes, perhaps with the server's key."""
    filled = {} if open_ is None else {"open": open_}
    return {
        "name": name,
        "title": "Honesty at work",
        "mixer": {"offer": OFFER, "odds": 3} | mixer | filled,
        "questions": [{"name": "stolen", "type": "yes_no", "label": "Ever stolen"}],
    }


def publish(client: FlaskClient, author: dict[str, str], document: Any, **more: Any) -> Any:
    text = json.dumps(document).encode()
    headers = author | signed_headers(publish_text(text)) | more
    return client.post("/api/surveys", data=text, headers=headers, content_type="application/json")


def ask(client: FlaskClient, author: dict[str, str]) -> str:
    answer = client.post(KEYS, headers=author)
    assert answer.status_code == 201
    return str(answer.json["open"])


def with_key(open_: str, name: str = "through") -> Survey:
    return msgspec.convert(mixed(EIGHT, name=name, mixer={"open": open_}), Survey)


# Issuing -------------------------------------------------------------------------------------


def test_an_author_gets_a_new_key_each_time(client: FlaskClient, author: dict[str, str]) -> None:
    keys = {ask(client, author) for _ in range(3)}

    assert len(keys) == 3
    for key in keys:
        assert len(key) == 130
        assert key.startswith("04")


def test_the_private_half_stays_on_the_server(
    app: Flask, client: FlaskClient, author: dict[str, str], database: Path
) -> None:
    answer = client.post(KEYS, headers=author, json={})

    assert set(answer.json) == {"open"}
    assert answer.headers["Cache-Control"] == "no-store"
    ((open_, secret, token, day, survey),) = contents(database)["envelope_keys"]
    assert (open_, survey) == (answer.json["open"], None)
    assert secret.startswith("-----BEGIN PRIVATE KEY-----")
    assert token in author["Authorization"]
    assert date.fromisoformat(day), "a day, and no time"


@pytest.mark.parametrize("role", ["analyst", "monitor", "operator"])
def test_nobody_else_gets_one(app: Flask, client: FlaskClient, role: tokens.Role) -> None:
    token = new_token(app.extensions["deniably"], role)

    assert_problem(client.post(KEYS), 401, "unauthorised")
    answer = client.post(KEYS, headers={"Authorization": f"Bearer {token}"})
    assert_problem(answer, 403, "forbidden")


@pytest.mark.parametrize("body", ["[]", '{"survey":"a"}', "{", '"x"'])
def test_a_body_is_empty(client: FlaskClient, author: dict[str, str], body: str) -> None:
    answer = client.post(KEYS, data=body, headers=author, content_type="application/json")

    assert_problem(answer, 400, "malformed")


def test_a_token_keeps_a_hundred_unused_keys(
    app: Flask, client: FlaskClient, author: dict[str, str]
) -> None:
    keys = [ask(client, author) for _ in range(MOST_UNUSED)]

    assert_problem(client.post(KEYS, headers=author), 429, "quota")
    other = new_token(app.extensions["deniably"], "author")
    assert ask(client, {"Authorization": f"Bearer {other}"}), "another author's are not counted"
    assert publish(client, author, written(keys[0])).status_code == 201
    assert ask(client, author), "one was used"


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with closing(Store(address)) as store:
        yield store


def test_unused_keys_are_deleted_after_thirty_days(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    used, unused = store.mixed.issue_key("a"), store.mixed.issue_key("a")
    survey = with_key(used)
    store.publish(survey, signed(survey), "a")

    def later(days: int) -> None:
        day = date.today() + timedelta(days)
        at = "deniably_server.storage.tables.envelope_keys.day_in"
        monkeypatch.setattr(at, lambda more: (day + timedelta(more)).isoformat())

    later(29)
    store.mixed.issue_key("b")
    assert unused in held(store)
    later(32)
    newest = store.mixed.issue_key("b")
    assert newest in held(store)
    assert unused not in held(store)
    assert used in held(store), "a survey needs it"


def held(store: Store) -> set[str]:
    return {open_ for open_, *_ in contents(store.engine.address)["envelope_keys"]}


# Publishing ----------------------------------------------------------------------------------


def test_a_survey_takes_the_key_that_it_names(
    client: FlaskClient, author: dict[str, str], database: Path
) -> None:
    open_ = ask(client, author)

    assert publish(client, author, written(open_)).status_code == 201

    ((held, _, _, _, survey),) = contents(database)["envelope_keys"]
    assert (held, survey) == (open_, "council")
    assert client.get("/api/surveys/council").json["mixer"]["open"] == open_
    assert publish(client, author, written(open_)).status_code == 200, "published before"


def test_a_key_is_for_one_survey(client: FlaskClient, author: dict[str, str]) -> None:
    open_ = ask(client, author)
    publish(client, author, written(open_))

    assert_no_key(publish(client, author, written(open_, name="another")))
    assert client.get("/api/surveys/another").status_code == 404


def test_a_key_that_the_server_did_not_issue_is_refused(
    client: FlaskClient, author: dict[str, str]
) -> None:
    assert_no_key(publish(client, author, written(new_opening_key().public)))
    assert client.get("/api/surveys/council").status_code == 404
    assert client.get("/register").json["entries"] == []


def test_a_key_of_another_token_is_refused(
    app: Flask, client: FlaskClient, author: dict[str, str]
) -> None:
    other = new_token(app.extensions["deniably"], "author")

    assert_no_key(
        publish(client, author, written(ask(client, {"Authorization": f"Bearer {other}"})))
    )


def assert_no_key(answer: Any) -> None:
    document = assert_problem(answer, 422, "bad-survey")
    (problem,) = document["errors"]
    assert problem["path"] == "$.mixer.open"
    assert "no unused key of envelopes that this server gave you" in problem["why"]


def test_both_engines_bind_a_key_in_the_transaction_that_publishes(store: Store) -> None:
    open_ = store.mixed.issue_key("a")
    first, second = with_key(open_, "first"), with_key(open_, "second")
    with pytest.raises(Quota):  # the last step of a publication fails
        store.publish(first, signed(first), "a", Quotas(register=1))

    assert store.publish(second, signed(second), "a"), "the key was not spent"
    with pytest.raises(BadSurvey):
        store.publish(first, signed(first), "a")
    with store._reading() as database:
        assert find_envelope_key(database, "second")
        assert find_envelope_key(database, "first") is None


@pytest.mark.parametrize(
    ("address", "host", "refused"),
    [
        ("https://survey.example.org", "survey.example.org", True),
        ("https://survey.example.org:8443", "survey.example.org", True),
        ("https://survey.example.org.", "survey.example.org:443", True),
        ("https://192.0.2.7:9000", "192.0.2.7:8000", True),
        ("https://[2001:db8::1]:9", "[2001:db8::1]", True),
        ("http://127.0.0.1:8000", "localhost:8000", True),
        ("http://127.0.0.1:8001", "localhost:8000", False),
        ("https://mixer.example.org", "survey.example.org", False),
    ],
)
def test_a_mixer_is_not_at_the_own_host(
    client: FlaskClient, author: dict[str, str], address: str, host: str, refused: bool
) -> None:
    offer = make_offer(new_key(), address, "Works council", new_opening_key().public)
    document = written(ask(client, author), offer=msgspec.to_builtins(offer))

    answer = publish(client, author, document, Host=host)

    if not refused:
        assert answer.status_code == 201, answer.text
        return
    (problem,) = assert_problem(answer, 422, "bad-survey")["errors"]
    assert problem["path"] == "$.mixer.address"
    assert "this server's own host" in problem["why"]


@pytest.mark.parametrize("address", ["https://[::::]", "https://mixer.example.org:99999"])
def test_nor_where_nobody_could_reach_it(
    client: FlaskClient, author: dict[str, str], address: str
) -> None:
    offer = make_offer(new_key(), address, "Works council", new_opening_key().public)
    document = written(ask(client, author), offer=msgspec.to_builtins(offer))

    answer = publish(client, author, document, Host="survey.example.org")

    (problem,) = assert_problem(answer, 422, "bad-survey")["errors"]
    assert problem["path"] == "$.mixer.address"
    assert "is no address" in problem["why"]


def test_nor_at_another_name_of_the_server(
    app: Flask, client: FlaskClient, author: dict[str, str]
) -> None:
    app.config["HOSTS"] = "survey.example.org, mixer.example.net"

    answer = publish(client, author, written(ask(client, author)), Host="survey.example.org")

    assert_problem(answer, 422, "bad-survey")


# In a terminal -------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "deniably.db")
    yield server
    server.kill()


def test_publish_asks_for_the_key_and_finds_the_survey_again(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "offer.json").write_text(json.dumps(OFFER))
    file, key = tmp_path / "council.yaml", tmp_path / "author.key"
    file.write_text(
        "name: council\ntitle: Honesty at work\nmixer: {offer: offer.json, odds: 3}\n"
        "questions:\n  - {name: stolen, type: yes_no, label: Ever stolen, odds: 7}\n"
    )
    key.write_bytes(key_of(bytes(32)).text)
    key.chmod(0o600)

    def publish() -> Any:
        return call("publish", file, "--server", server.url, "--token", server.token, "--key", key)

    first, again = publish(), publish()

    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    lines = [line.split(maxsplit=1) for line in first.stdout.splitlines()]
    assert ["mixer", "Works council, https://mixer.example.net"] in lines
    assert [
        "odds",
        "3.00 for all answers of a person against the server alone, 7 if server and mixer work"
        " together",
    ] in lines
    ((*_, survey),) = contents(server.database)["envelope_keys"]
    assert survey == "council"
    (digest,) = [line for line in first.stdout.splitlines() if "is published, digest" in line]
    assert digest in again.stdout
    file.write_text(file.read_text().replace("at work", "at school"))
    other = publish()
    assert other.returncode == 1
    assert "is published with another definition" in " ".join(other.stderr.split())
    assert len(contents(server.database)["envelope_keys"]) == 1


def test_publish_says_why_a_server_gives_no_key(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "council.json"
    file.write_text(json.dumps(written()))

    done = call("publish", file, "--server", server.url, "--token", "wrong")

    assert done.returncode == 1
    assert "This needs an author's token" in done.stderr


def test_a_survey_without_a_mixer_needs_none(store: Store) -> None:
    survey = survey_named()

    assert store.publish(survey, signed(survey), "a")
    assert held(store) == set()
