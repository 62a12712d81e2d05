"""One author harms no other: whose a survey is, how much a token may publish, for how long."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text
from deniably.trust.register import closing_digest
from deniably.trust.signing import Key
from deniably_server.app import create_app
from deniably_server.commands import authoring
from deniably_server.commands.maintenance import doctor
from deniably_server.storage.maintenance.migrate_engine import move
from deniably_server.storage.store import Store
from deniably_server.storage.tables import owners
from support.keys import key_of
from support.material import AUTHOR, Server, assert_problem, new_token, signed_headers
from support.stored import register_size

OTHER = key_of(bytes(range(1, 33)))


def definition(name: str, choices: int = 2) -> bytes:
    question = {"name": "q", "type": "select_one", "label": "Which?", "odds": 3}
    question["choices"] = [f"Choice {index}" for index in range(choices)]
    given = {"name": name, "title": name, "contact": "a@example.org", "questions": [question]}
    return json.dumps(given).encode()


def bearer(app: Flask, role: Any = "author") -> dict[str, str]:
    return {"Authorization": f"Bearer {new_token(app.extensions['deniably'], role)}"}


def publish(client: FlaskClient, token: dict[str, str], name: str, key: Key = AUTHOR) -> Any:
    text = definition(name)
    headers = token | signed_headers(publish_text(text), key)
    return client.post("/api/surveys", data=text, content_type="application/json", headers=headers)


def close(client: FlaskClient, name: str, **headers: str) -> Any:
    return client.patch(f"/api/surveys/{name}", json={"state": "closed"}, headers=headers)


def signed_to_close(name: str, key: Key, digest: str | None = None) -> dict[str, str]:
    version = publish_text(definition(name)).digest
    signature = key.sign(digest or closing_digest(version))
    return {"Deniably-Author": signature.author, "Deniably-Signature": signature.value}


# --- whose a survey is --------------------------------------------------------------------------


def test_the_token_that_published_a_survey_closes_it(client: FlaskClient, app: Flask) -> None:
    own = bearer(app)
    publish(client, own, "mine")

    assert close(client, "mine", **own).status_code == 200


def test_another_authors_token_does_not(client: FlaskClient, app: Flask) -> None:
    publish(client, bearer(app), "mine")
    other = bearer(app)

    refused = close(client, "mine", **other)

    detail = assert_problem(refused, 403, "forbidden")["detail"]
    assert "deniably close --key" in detail
    assert "an operator" in detail
    # Nor does publishing the same again make it another's.
    assert publish(client, other, "mine").status_code == 200
    assert close(client, "mine", **other).status_code == 403
    assert client.get("/api/surveys/mine").headers["Deniably-State"] == "open"


def test_a_colleague_with_the_authors_key_closes_it(client: FlaskClient, app: Flask) -> None:
    publish(client, bearer(app), "mine")

    assert (
        close(client, "mine", **bearer(app), **signed_to_close("mine", AUTHOR)).status_code == 200
    )


def test_a_signature_is_of_the_author_and_of_this_closing(client: FlaskClient, app: Flask) -> None:
    """The one of the publication is public: it stands in the register."""
    publish(client, bearer(app), "mine")
    publish(client, bearer(app), "another")
    version = publish_text(definition("mine")).digest
    for wrong in (
        signed_to_close("mine", OTHER),
        signed_to_close("another", AUTHOR),
        signed_to_close("mine", AUTHOR, digest=version),
        {"Deniably-Author": AUTHOR.author, "Deniably-Signature": "x"},
    ):
        assert close(client, "mine", **bearer(app), **wrong).status_code == 403
    assert client.get("/api/surveys/mine").headers["Deniably-State"] == "open"


def test_an_operator_closes_any_and_analysts_close_none(client: FlaskClient, app: Flask) -> None:
    publish(client, bearer(app), "mine")

    for role in ("analyst", "monitor"):
        assert close(client, "mine", **bearer(app, role)).status_code == 403
    assert close(client, "mine", **bearer(app, "operator")).status_code == 200


def test_the_key_alone_without_a_token_is_nothing(client: FlaskClient, app: Flask) -> None:
    publish(client, bearer(app), "mine")

    assert close(client, "mine", **signed_to_close("mine", AUTHOR)).status_code == 401


def test_whose_it_is_moves_with_the_database(address: str, tmp_path: Path) -> None:
    with closing(Store(str(tmp_path / "from.db"))) as store:
        text = definition("mine")
        survey = publish_text(text)
        store.publish(survey, AUTHOR.sign(survey.digest), "0123456789ab")
        move(store.engine, Store(address).engine)
    with closing(Store(address)) as moved:
        assert moved.owner("mine") == "0123456789ab"


@pytest.mark.slow
def test_close_on_the_command_line_signs_with_the_authors_key(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLY_HOME", str(tmp_path / "home"))
    file = tmp_path / "mine.json"
    file.write_bytes(definition("mine"))
    tokens = []
    with closing(Store(str(server.database))) as store:
        tokens = [new_token(store, "author") for _ in range(2)]

    def run(command: Any, *arguments: object, token: str, keys: str = "") -> Any:
        given = [*map(str, arguments), "--server", server.url, "--token", token]
        return CliRunner().invoke(command, given, input=keys)

    assert run(authoring.publish, file, token=tokens[0]).exit_code == 0
    key = tmp_path / "home" / "author.key"
    away = key.rename(tmp_path / "shared.key")

    refused = run(authoring.close, "mine", "--yes", token=tokens[1])
    asked = run(authoring.close, "mine", "--key", away, token=tokens[1], keys="n\n")
    closed = run(authoring.close, "mine", "--yes", "--key", away, token=tokens[1])

    assert "has fewer than" in asked.output
    assert refused.exit_code != 0
    assert "was published with another token" in refused.output
    assert closed.exit_code == 0, closed.output


# --- how much a token may publish ---------------------------------------------------------------


@pytest.fixture
def strict(address: str) -> Any:
    app = create_app({"DATABASE": address, "SURVEYS": 3, "ROOM": 1, "TESTING": True})
    yield app
    app.extensions["deniably"].close()


def test_a_token_publishes_so_many_surveys_a_day(
    strict: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, own, other = strict.test_client(), bearer(strict), bearer(strict)
    for number in range(3):
        assert publish(client, own, f"mine-{number}").status_code == 201

    refused = publish(client, own, "mine-3")

    detail = assert_problem(refused, 429, "quota")["detail"]
    assert "published 3 surveys today, and may publish 3 a day" in detail
    assert client.get("/api/surveys/mine-3").status_code == 404
    assert publish(client, own, "mine-0").status_code == 200  # what is there costs nothing
    assert publish(client, other, "others").status_code == 201
    monkeypatch.setattr(owners, "today", lambda: "2999-12-31")
    assert publish(client, own, "mine-3").status_code == 201


def test_the_surveys_of_a_token_take_so_much_of_the_register(
    strict: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, own, other = strict.test_client(), bearer(strict), bearer(strict)
    store: Store = strict.extensions["deniably"]
    assert publish(client, own, "mine").status_code == 201
    with closing(store.engine.connect()) as connection:
        assert connection.execute("SELECT bytes FROM owners").fetchone()[0] == register_size(store)
        connection.execute("UPDATE owners SET bytes = 999990")

    refused = publish(client, own, "more")

    assert "take 1.0 MB of the register" in assert_problem(refused, 429, "quota")["detail"]
    assert publish(client, other, "others").status_code == 201


def test_the_register_grows_no_larger_than_devices_read(
    client: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = bearer(app)
    publish(client, own, "first")
    full = register_size(app.extensions["deniably"]) + owners._FOR_CLOSINGS
    monkeypatch.setattr(owners, "LARGEST_REGISTER", full + 100)

    refused = publish(client, own, "second")

    assert "the register is full" in assert_problem(refused, 429, "quota")["detail"].lower()
    assert close(client, "first", **own).status_code == 200


def test_the_doctor_says_when_half_of_the_room_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "deniably.db"
    with closing(Store(str(database))) as store:
        survey = publish_text(definition("mine", choices=900))
        store.publish(survey, AUTHOR.sign(survey.digest))

        size = register_size(store)

    def told() -> str:
        return CliRunner().invoke(doctor, ["--database", str(database)]).output

    assert "room" not in told()
    monkeypatch.setattr("deniably_server.storage.tables.owners.LARGEST_REGISTER", 4 * size)
    assert "room" not in told()
    monkeypatch.setattr("deniably_server.storage.tables.owners.LARGEST_REGISTER", size * 4 // 3)
    assert "room left in the register: 2" in told()


# --- how long a definition may take -------------------------------------------------------------


def means(count: int) -> bytes:
    """Designs of means, no two alike: some tenths of a second each."""
    questions = [
        {"name": f"q{index}", "type": "number", "label": "How much?", "minimum": 0,
         "maximum": 1000 + index, "epsilon": 1 + index / 1000}
        for index in range(count)
    ]  # fmt: skip
    given = {"name": "means", "title": "Means", "contact": "a@example.org"}
    return json.dumps(given | {"questions": questions}).encode()


@pytest.mark.slow
@pytest.mark.thorough
def test_a_definition_that_takes_long_is_refused_and_others_are_served(
    serve: Callable[..., Server],
) -> None:
    server = serve("--longest", "1")
    survey = publish_text(definition("quick"))
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    headers |= signed_headers(survey)
    address = f"{server.url}/api/surveys"

    began = time.monotonic()
    refused = requests.post(address, means(100), headers=headers, timeout=120)
    took = time.monotonic() - began

    assert refused.status_code == 422
    assert refused.json()["type"] == "/problems/too-much"
    assert "designs of means" in refused.json()["detail"]
    assert took < 60  # all of them take minutes
    answer = requests.post(address, definition("quick"), headers=headers, timeout=120)
    assert answer.status_code == 201
    assert answer.json()["digest"] == survey.digest
    wrong = requests.post(address, b'{"name": "x"}', headers=headers, timeout=120)
    assert wrong.status_code == 422
    assert {"path", "why"} == set(wrong.json()["errors"][0])
    assert requests.post(address, b"{", headers=headers, timeout=120).status_code == 400


def test_check_says_that_a_definition_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.json"
    file.write_bytes(definition("mine"))
    assert "--longest" not in CliRunner().invoke(authoring.check, [str(file)]).output
    monkeypatch.setattr(authoring, "_LONG", -1)

    told = CliRunner().invoke(authoring.check, [str(file)]).output

    assert "a server gives it 30 unless its operator sets more (--longest)" in told
