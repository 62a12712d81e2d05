"""What devices say to a mixer, and what it answers; from a page of any origin."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.core.errors import BadSignature
from deniably.trust.invitation_codes import new_code
from deniably.trust.mixer_statement import read_statement
from deniably_server.mixing import envelopes as taking
from deniably_server.mixing.app import create_mixer
from deniably_server.mixing.batches import finish
from deniably_server.settings import MIXER_SETTINGS
from deniably_server.storage.mixer_store import MixerStore
from deniably_server.watching import coarse_counts
from deniably_server.watching.request_facts import AnsweredRequest
from support.material import assert_problem
from support.mixing import OCTETS, UNTIL, Parties, parties

CONFIG = {setting.key: setting.default for setting in MIXER_SETTINGS}
ANYWHERE = {"Access-Control-Allow-Origin": "*"}
OTHERS = {"REMOTE_ADDR": "203.0.113.7"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MixerStore]:
    with closing(MixerStore(str(tmp_path / "mixer.db"))) as store:
        yield store


@pytest.fixture
def told() -> list[AnsweredRequest]:
    return []


@pytest.fixture
def app(store: MixerStore, told: list[AnsweredRequest]) -> Flask:
    return create_mixer(CONFIG, store, told.append)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def mix(store: MixerStore) -> Parties:
    return parties().accept(store)


def post(client: FlaskClient, mix: Parties, sealed: bytes, **more: Any) -> Any:
    return client.post(f"/mix/{mix.survey.digest}", data=sealed, headers=OCTETS, **more)


# --- sending ----------------------------------------------------------------------------------


def test_a_new_envelope_is_201_and_the_same_bytes_again_200(
    client: FlaskClient, mix: Parties
) -> None:
    sealed = mix.outer()

    first, again = post(client, mix, sealed), post(client, mix, sealed)

    assert (first.status_code, first.get_json()) == (201, {"status": "stored"})
    assert (again.status_code, again.get_json()) == (200, {"status": "stored before"})


def test_a_201_is_on_disk(client: FlaskClient, store: MixerStore, mix: Parties) -> None:
    sealed = mix.outer()
    post(client, mix, sealed)

    with closing(MixerStore(store.engine.address)) as other:
        assert other.sealed(mix.survey.digest) == [sealed]


def test_faults_are_400_and_all_alike(client: FlaskClient, mix: Parties) -> None:
    good = mix.outer()
    documents = []
    for sealed in (
        b"",
        good[:-1],
        good[:-1] + b"\0",
        os.urandom(len(good)),
        mix.outer(code=new_code()),
    ):
        document = assert_problem(post(client, mix, sealed), 400, "bad-envelope")
        del document["instance"]
        documents.append(document)

    assert documents == [documents[0]] * 5


@pytest.mark.parametrize("digest", ["0" * 64, "workplace", "%00", "ABC"])
def test_a_survey_that_the_mixer_did_not_accept_is_404(
    digest: str, client: FlaskClient, mix: Parties
) -> None:
    answer = client.post(f"/mix/{digest}", data=mix.outer(), headers=OCTETS)

    assert_problem(answer, 404, "not-found")
    assert_problem(client.get(f"/mix/{digest}"), 404, "not-found")


def test_a_body_of_another_kind_or_size_is_refused(client: FlaskClient, mix: Parties) -> None:
    where = f"/mix/{mix.survey.digest}"

    other = client.post(where, data=mix.outer(), headers={"Content-Type": "text/plain"})
    large = client.post(where, data=bytes((1 << 20) + 1), headers=OCTETS)

    assert_problem(other, 415, "unsupported-media-type")
    assert_problem(large, 413, "too-large")


def test_after_the_closing_it_is_410_also_once_all_is_passed_on(
    client: FlaskClient, store: MixerStore, mix: Parties
) -> None:
    held = mix.outer()
    post(client, mix, held)
    store.close_survey(mix.survey.digest)

    assert post(client, mix, held).status_code == 200, "a device that got no answer"
    document = assert_problem(post(client, mix, mix.outer()), 410, "gone")
    assert document["detail"] == "The survey is closed."

    finish(store, mix.survey.digest)
    store.passed_on(mix.survey.digest)

    document = assert_problem(post(client, mix, held), 410, "gone")
    assert "passed all envelopes on and deleted them" in document["detail"]


# --- codes ------------------------------------------------------------------------------------


def test_a_code_that_brought_another_envelope_is_409(
    client: FlaskClient, store: MixerStore
) -> None:
    mix = parties(invited=True).accept(store)
    (code,) = store.invite(mix.survey.digest, 1)
    sealed = mix.outer(code=code)

    assert post(client, mix, sealed).status_code == 201
    assert post(client, mix, sealed).status_code == 200
    assert_problem(post(client, mix, mix.outer(code=code)), 409, "used")
    assert_problem(post(client, mix, mix.outer(code=new_code())), 403, "uninvited")
    assert_problem(post(client, mix, mix.outer()), 403, "uninvited")


def test_wrong_codes_wait_and_keep_nobody_out_who_has_a_good_one(store: MixerStore) -> None:
    """Of a network where many wrong ones come from, others may send, and send again."""
    app = create_mixer(CONFIG | {"FAILURES": 3}, store)
    mix = parties(invited=True).accept(store)
    before, after = store.invite(mix.survey.digest, 2)
    with app.test_client() as client:

        def sends(sealed: bytes) -> Any:
            return post(client, mix, sealed, environ_overrides=OTHERS)

        stored = mix.outer(code=before)
        assert sends(stored).status_code == 201
        wrong = [sends(mix.outer(code=new_code())) for _ in range(4)]
        again, right = sends(stored), sends(mix.outer(code=after))
        without, elsewhere = sends(mix.outer()), post(client, mix, mix.outer(code=new_code()))

    assert [answer.status_code for answer in wrong] == [403, 403, 403, 429]
    assert_problem(wrong[3], 429, "too-many")
    assert int(wrong[3].headers["Retry-After"]) > 0
    assert (again.status_code, right.status_code) == (200, 201)
    assert (without.status_code, elsewhere.status_code) == (429, 403)


# --- limits -----------------------------------------------------------------------------------


def test_a_network_may_send_so_many_envelopes_a_minute(store: MixerStore) -> None:
    app = create_mixer(CONFIG | {"RATE": 2}, store)
    mix = parties().accept(store)
    with app.test_client() as client:
        answers = [post(client, mix, mix.outer(), environ_overrides=OTHERS) for _ in range(3)]
        here = post(client, mix, mix.outer())

    assert [answer.status_code for answer in answers[:2]] == [201, 201]
    assert_problem(answers[2], 429, "too-many")
    assert int(answers[2].headers["Retry-After"]) > 0
    assert here.status_code == 201, "this machine itself has no limit"
    assert store.senders(mix.survey.digest) == 3


# --- the statement ----------------------------------------------------------------------------


def test_the_statement_says_who_mixes_until_when_and_how_many_sent(
    client: FlaskClient, store: MixerStore
) -> None:
    mix = parties(invited=True).accept(store, until="2999-05-31")
    codes = store.invite(mix.survey.digest, 25)
    mix.send(store, *[mix.outer(code=code) for code in codes[:19]])

    answer = client.get(f"/mix/{mix.survey.digest}")

    assert answer.status_code == 200
    statement = read_statement(answer.get_data(), mix.survey.signing)
    assert (statement.by, statement.until) == ("Works council of Example Ltd", "2999-05-31")
    assert (statement.invitations, statement.senders) == (25, 10)
    assert statement.survey == mix.survey.digest
    assert list(answer.get_json()) == sorted(answer.get_json())


def test_there_is_none_before_the_first_invitation(client: FlaskClient, store: MixerStore) -> None:
    """The number 0 would say that nobody needs one. The refusal is not kept for five minutes."""
    mix = parties(invited=True).accept(store)

    document = assert_problem(client.get(f"/mix/{mix.survey.digest}"), 409, "nobody-invited")
    assert document["detail"] == "The mixer has given out no invitations yet."

    store.invite(mix.survey.digest, 1)
    assert client.get(f"/mix/{mix.survey.digest}").get_json()["invitations"] == 1


def test_nobody_else_can_have_made_it(client: FlaskClient, mix: Parties) -> None:
    text = client.get(f"/mix/{mix.survey.digest}").get_data()

    for changed in (
        text.replace(b"Works council", b"Works Council"),
        text.replace(b'"senders":0', b'"senders":10'),
        text.replace(b"2999", b"2998"),
        text.replace(b'"signature":"', b'"signature":"0'),
        text[:-1] + b',"more":1}',
        b"[]",
        b"\xff",
    ):
        assert changed != text
        with pytest.raises(BadSignature):
            read_statement(changed, mix.survey.signing)
    with pytest.raises(BadSignature):
        read_statement(text, parties().survey.signing)


def test_it_does_not_show_when_somebody_sent(
    client: FlaskClient, store: MixerStore, mix: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whole tens, and renewed every five minutes."""
    now = 1_000_000.0
    monkeypatch.setattr(coarse_counts.time, "time", lambda: now)

    def senders() -> int:
        return int(client.get(f"/mix/{mix.survey.digest}").get_json()["senders"])

    mix.send(store, *[mix.outer() for _ in range(9)])
    assert senders() == 0
    mix.send(store, *[mix.outer() for _ in range(12)])
    assert senders() == 0
    now += coarse_counts.EVERY
    assert senders() == 20


def test_there_is_none_where_no_more_envelopes_are_taken(
    client: FlaskClient, store: MixerStore, mix: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So no device answers a survey that its answers would not reach."""
    assert client.get(f"/mix/{mix.survey.digest}").status_code == 200

    with monkeypatch.context() as patch:
        patch.setattr(taking, "_today", lambda: UNTIL)
        assert client.get(f"/mix/{mix.survey.digest}").status_code == 200
        patch.setattr(taking, "_today", lambda: "3000-01-01")
        document = assert_problem(client.get(f"/mix/{mix.survey.digest}"), 410, "gone")
        assert "takes no more envelopes" in document["detail"]
    store.close_survey(mix.survey.digest)
    assert_problem(client.get(f"/mix/{mix.survey.digest}"), 410, "gone")


# --- pages of other origins -------------------------------------------------------------------


def test_a_browser_may_send_from_a_page_of_any_origin_without_credentials(
    client: FlaskClient, mix: Parties
) -> None:
    asked = {
        "Origin": "https://survey.example.org",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    answer = client.options(f"/mix/{mix.survey.digest}", headers=asked)

    assert (answer.status_code, answer.get_data()) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert answer.headers["Access-Control-Allow-Headers"] == "Content-Type"
    assert int(answer.headers["Access-Control-Max-Age"]) > 0
    assert "Access-Control-Allow-Credentials" not in answer.headers


def test_a_page_can_read_every_answer_also_a_refusal(
    app: Flask, store: MixerStore, mix: Parties
) -> None:
    named = create_mixer(CONFIG | {"HOSTS": "mixer.example.org"}, store).test_client()
    client = app.test_client()
    where = f"/mix/{mix.survey.digest}"

    answers = [
        client.get(where),
        post(client, mix, mix.outer()),
        post(client, mix, b""),
        client.get("/mix/unknown"),
        client.get("/elsewhere"),
        client.put(where),
        named.get(where),
    ]

    assert [answer.status_code for answer in answers] == [200, 201, 400, 404, 404, 405, 421]
    for answer in answers:
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "Retry-After" in answer.headers["Access-Control-Expose-Headers"]
        assert "Set-Cookie" not in answer.headers
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


# --- what is seen of it -----------------------------------------------------------------------


def test_the_log_has_neither_the_survey_nor_who_sent(
    client: FlaskClient, mix: Parties, told: list[AnsweredRequest]
) -> None:
    post(client, mix, mix.outer(), environ_overrides=OTHERS)
    client.get(f"/mix/{mix.survey.digest}")

    assert [each[:3] for each in told] == [
        ("POST", "/mix/<digest>", 201),
        ("GET", "/mix/<digest>", 200),
    ]
    assert mix.survey.digest not in json.dumps(told)
    assert "203.0.113.7" not in json.dumps(told)


def test_supervisors_learn_whether_it_lives_and_stores(client: FlaskClient) -> None:
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 200


def test_a_misspelt_request_is_never_answered_as_another_one(
    client: FlaskClient, mix: Parties
) -> None:
    assert_problem(client.get(f"/mix/{mix.survey.digest}?sendres=1"), 400, "bad-parameter")


def test_a_fault_says_nothing_of_the_request(
    client: FlaskClient, mix: Parties, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    def broken(*_: object) -> None:
        raise ValueError("a secret")

    monkeypatch.setattr(MixerStore, "begin", broken)

    answer = post(client, mix, mix.outer())

    document = assert_problem(answer, 500, "internal")
    assert "secret" not in json.dumps(document) + caplog.text
    assert "POST /mix/<digest> 500 ValueError" in caplog.text
