"""A mixer passes its batch on: in pieces, once, and only what it signed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.survey.report import Report
from deniably.trust.batch import Batch, no_batch
from deniably_server.api.batch_taking import take, whole_batches
from deniably_server.app import create_app
from deniably_server.errors import Conflict
from deniably_server.storage.maintenance.doctor import examine, repair
from deniably_server.storage.maintenance.migrate_engine import move
from deniably_server.storage.maintenance.traces import traces
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import Outcome
from deniably_server.web.body import JSON
from support.databases import new_database
from support.material import contents, new_token, signed, survey_named
from support.passing_on import (
    MINIMUM,
    OCTETS,
    PassedOn,
    added,
    announced,
    passed_on,
    send,
    yes_no,
)


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with closing(Store(address)) as store:
        yield store


@pytest.fixture
def app(store: Store) -> Flask:
    return create_app({"TESTING": True, "LOG": "off"}, store=store)


@pytest.fixture
def some(store: Store) -> PassedOn:
    """A closed survey."""
    return passed_on().publish(store)


def assert_refused(answer: Any, status: int, name: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    document: dict[str, Any] = answer.json
    assert document["type"] == f"/problems/{name}"
    return document


def held(store: Store) -> dict[str, int]:
    """How many rows there are of what is deleted in the end."""
    return {
        name: len(contents(store.engine.address)[name])
        for name in ("envelope_keys", "mixed_pieces")
    }


# From the manifest to the results ------------------------------------------------------------


def test_a_batch_is_taken_and_gives_results(
    client: FlaskClient, store: Store, some: PassedOn
) -> None:
    batch = some.batch(people=5)
    size = len(batch.envelopes)

    first = announced(client, some, batch)
    assert (first.status_code, first.json) == (200, {"bytes": 0, "of": size, "state": "open"})
    half = added(client, some, batch, batch.envelopes[: size // 2], 0)
    assert half.json == {"bytes": size // 2, "of": size, "state": "open"}
    last = added(client, some, batch, batch.envelopes[size // 2 :], size // 2)
    assert last.json == {"bytes": size, "of": size, "state": "taken"}

    assert {tally.n for tally in store.tally("council").values()} == {5}
    assert {tally.blanks for tally in store.tally("council").values()} == {10}
    assert store.tally("council") == store.recount("council")
    assert store.reports("council") == 5, "people, and no blanks"
    results = client.get("/api/surveys/council/results").json
    assert results["n"] == 5
    assert {question["n"] for question in results["questions"]} == {5}


def test_estimates_leave_the_blanks_out(client: FlaskClient, store: Store) -> None:
    some = passed_on(yes_no("a", odds=20), blanks=300).publish(store)
    people = [e for n in range(400) for e in some.person(a="yes" if n % 4 == 0 else "no")]

    send(client, some, some.batch([*people, *some.blanks()], people=400), step=1 << 20)

    (question,) = client.get("/api/surveys/council/results").json["questions"]
    yes, _ = question["choices"]
    assert yes["interval"][0] <= 0.25 <= yes["interval"][1]
    assert abs(yes["estimate"] - 0.25) < 0.15, "with blanks it would be .36"


def test_everybody_may_see_the_manifest_and_the_list(client: FlaskClient, some: PassedOn) -> None:
    envelopes = some.envelopes()
    batch = some.batch(envelopes)
    send(client, some, batch)

    shown = client.get(some.address)
    assert shown.json == {
        "manifest": msgspec.to_builtins(batch.manifest),
        "signature": batch.signature,
        "refused": 0,
    }
    listed = client.get(f"{some.address}/envelopes")
    assert listed.mimetype == OCTETS
    assert "immutable" in listed.headers["Cache-Control"]
    assert int(listed.headers["Content-Length"]) == 32 * len(envelopes)
    assert listed.data == b"".join(sorted(hashlib.sha256(each).digest() for each in envelopes))


@pytest.mark.thorough
def test_the_list_of_many_envelopes_is_whole(client: FlaskClient, store: Store) -> None:
    some = passed_on(blanks=2_200).publish(store)
    batch = some.batch()
    send(client, some, batch, step=1 << 20)

    listed = client.get(f"{some.address}/envelopes").data

    assert len(listed) == 32 * batch.manifest.envelopes > 32 * 4_096
    hashes = [listed[start : start + 32] for start in range(0, len(listed), 32)]
    assert hashes == sorted(set(hashes))


def test_what_is_no_report_is_counted_in_public(client: FlaskClient, store: Store) -> None:
    some = passed_on(blanks=100).publish(store)
    envelopes = some.envelopes()
    changed = envelopes[0][:-1] + bytes([envelopes[0][-1] ^ 1])

    send(client, some, some.batch([changed, *envelopes[1:]]))

    assert client.get(some.address).json["refused"] == 1
    assert [store.tally("council")[name].n for name in "ab"] == [4, 5]
    assert store.reports("council") == 5
    assert examine(store) != []  # the rewrite is to come
    store.erase_order()
    assert examine(store) == []


@pytest.mark.thorough
def test_a_thousand_people_are_counted_among_fifteen_who_send_garbage(
    client: FlaskClient, store: Store
) -> None:
    """They send 30 of 2,050 envelopes: more than 1 in 100."""
    some = passed_on(blanks=10).publish(store)
    garbage = [some.seal(b"") for _ in range(30)]
    batch = some.batch([*some.envelopes(1_000), *garbage], people=1_015)

    assert send(client, some, batch, step=1 << 20)["state"] == "taken"

    assert client.get(some.address).json["refused"] == 30
    results = client.get("/api/surveys/council/results").json
    assert [question["n"] for question in results["questions"]] == [1_000, 1_000]
    assert results["mixed"]["refused"] == 30
    said, warned = results["mixed"]["sentences"]
    assert said == "30 of 2,050 sealed answers could not be read and are not counted."
    assert "somebody sent made-up ones, or the mixer left out blanks" in warned
    page = client.get("/surveys/council").text
    assert said in page
    assert warned in page
    assert said in client.get("/api/surveys/council/paper/METHODS.md").text.replace("\n", " ")
    status = client.get(
        "/api/surveys/council/status",
        headers={"Authorization": f"Bearer {new_token(store, 'operator')}"},
    )
    assert {said, warned} <= set(status.json["sentences"])


def test_ids_of_another_survey_that_leave_too_few_void_the_batch(
    client: FlaskClient, store: Store
) -> None:
    """Only the database knows them."""
    some, other = passed_on().publish(store), survey_named()
    store.publish(other, signed(other))
    ids = [f"{number:032x}" for number in range(3)]
    for id_ in ids:
        report = Report(id_, other.digest, {"stolen": [0], "often": [0, 1]})
        assert store.add(other, report) is Outcome.STORED
    people = [e for id_ in ids for e in (some.report("a", id=id_), some.report("b"))]
    honest = [e for _ in range(2) for e in some.person()]

    assert send(client, some, some.batch([*people, *honest, *some.blanks()]))["state"] == "refused"

    results = client.get("/api/surveys/council/results").json
    assert "only 12 of its reports to a could be read" in results["detail"]
    assert contents(store.engine.address)["envelope_keys"] == []
    assert store.tally("workplace")["stolen"].n == 3


def test_an_id_of_another_surveys_report_is_left_out(client: FlaskClient, store: Store) -> None:
    some, other = passed_on(blanks=100).publish(store), survey_named()
    store.publish(other, signed(other))
    id_ = "5e" * 16
    report = Report(id_, other.digest, {"stolen": [0], "often": [0, 1]})
    assert store.add(other, report) is Outcome.STORED
    envelopes = some.envelopes()

    send(client, some, some.batch([some.report("a", id=id_), *envelopes[1:]]))

    assert client.get(some.address).json["refused"] == 1
    assert [store.tally("council")[name].n for name in "ab"] == [4, 5]
    assert store.tally("workplace")["stolen"].n == 1
    assert store.tally("council") == store.recount("council")


# Sending again -------------------------------------------------------------------------------


def test_the_same_manifest_is_always_welcome(client: FlaskClient, some: PassedOn) -> None:
    batch = some.batch()
    size = len(batch.envelopes)

    announced(client, some, batch)
    added(client, some, batch, batch.envelopes[:1_000], 0)
    assert announced(client, some, batch).json == {"bytes": 1_000, "of": size, "state": "open"}
    send(client, some, batch)
    for answer in (announced(client, some, batch), added(client, some, batch, b"more", size)):
        assert answer.json == {"bytes": size, "of": size, "state": "taken"}


def test_another_batch_is_refused_for_ever(client: FlaskClient, some: PassedOn) -> None:
    people = [inner for _ in range(5) for inner in some.person()]
    first, anew = (some.batch([*people, *some.blanks()]) for _ in range(2))
    announced(client, some, first)

    before = announced(client, some, anew)
    send(client, some, first)
    after = announced(client, some, anew)

    for answer in (before, after):
        document = assert_refused(answer, 409, "conflict")
        assert "there is one for ever" in document["detail"]
    assert client.get(some.address).json["manifest"] == msgspec.to_builtins(first.manifest)


def test_bytes_from_another_place_are_refused_with_the_place(
    client: FlaskClient, some: PassedOn
) -> None:
    batch = some.batch()
    announced(client, some, batch)
    added(client, some, batch, batch.envelopes[:1_000], 0)

    for start in (0, 999, 1_001, len(batch.envelopes), 10**11):
        answer = added(client, some, batch, b"x", start)
        assert assert_refused(answer, 409, "wrong-place")["bytes"] == 1_000
    assert added(client, some, batch, b"", 1_000).json["bytes"] == 1_000, (
        "an empty piece changes nothing"
    )
    assert added(client, some, batch, batch.envelopes[1_000:], 1_000).json["state"] == "taken"


def test_more_bytes_than_the_manifest_says_are_refused(
    client: FlaskClient, store: Store, some: PassedOn
) -> None:
    batch = some.batch()
    announced(client, some, batch)

    answer = added(client, some, batch, batch.envelopes + b"x", 0)

    assert_refused(answer, 400, "bad-batch")
    assert store.mixed.held("council") == 0
    assert send(client, some, batch)["state"] == "taken"


def test_bytes_that_nobody_signed_are_thrown_away(
    client: FlaskClient, store: Store, some: PassedOn
) -> None:
    batch = some.batch()
    size = len(batch.envelopes)
    announced(client, some, batch)

    answer = added(client, some, batch, bytes(size), 0)

    assert answer.json == {"bytes": 0, "of": size, "state": "open"}
    assert held(store) == {"envelope_keys": 1, "mixed_pieces": 0}
    assert send(client, some, batch)["state"] == "taken"


@pytest.mark.parametrize("step", [1_000, 1 << 20])
def test_two_that_send_at_once_do_not_disturb_each_other(
    app: Flask, store: Store, some: PassedOn, step: int
) -> None:
    batch = some.batch(people=40)

    def mixer(_: int) -> list[int]:
        client, statuses, start = app.test_client(), list[int](), 0
        announced(client, some, batch)
        while True:
            answer = added(client, some, batch, batch.envelopes[start : start + step], start)
            statuses.append(answer.status_code)
            if answer.json.get("state", "open") != "open":
                return statuses
            start = answer.json["bytes"]

    with ThreadPoolExecutor(4) as threads:
        statuses = [status for each in threads.map(mixer, range(4)) for status in each]

    assert set(statuses) <= {200, 409}
    assert {tally.n for tally in store.tally("council").values()} == {40}
    assert store.tally("council") == store.recount("council")


# What a server refuses -----------------------------------------------------------------------


def test_nothing_is_passed_on_while_the_survey_is_open(client: FlaskClient, store: Store) -> None:
    some = passed_on().publish(store, close=False)
    batch = some.batch()

    assert_refused(announced(client, some, batch), 409, "not-closed")
    assert_refused(added(client, some, batch, batch.envelopes, 0), 404, "not-found")
    store.close_survey("council")
    assert send(client, some, batch)["state"] == "taken"


def test_only_the_surveys_mixer_signs(client: FlaskClient, some: PassedOn) -> None:
    batch, stranger = some.batch(), passed_on()
    forged = stranger.signing.sign_text(batch.manifest.message).value

    answer = announced(client, some, Batch(batch.manifest, forged, []))
    assert_refused(answer, 422, "unsigned")
    for changes in ({"sha256": "0" * 64}, {"senders": 6, "envelopes": 32}):
        assert_refused(announced(client, some, batch, **changes), 422, "unsigned")
    assert_refused(added(client, some, batch, batch.envelopes, 0), 404, "not-found")


@pytest.mark.parametrize("signature", [None, "", "0" * 128, "ä", "first half"])
def test_nobody_else_adds_a_piece(
    client: FlaskClient, store: Store, some: PassedOn, signature: str | None
) -> None:
    """Somebody who knows the manifest, and not its signature, would delay the batch."""
    batch = some.batch()
    announced(client, some, batch)
    if signature == "first half":
        signature = batch.signature[:64]
    headers = {"Content-Type": OCTETS} | (
        {} if signature is None else {"Deniably-Signature": signature}
    )

    answer = client.patch(f"{some.address}?from=0", data=batch.envelopes, headers=headers)

    assert_refused(answer, 422, "unsigned")
    assert store.mixed.held("council") == 0
    assert send(client, some, batch)["state"] == "taken"


@pytest.mark.parametrize(
    "changes",
    [
        {"blanks": 9}, {"senders": MINIMUM - 1}, {"envelopes": 29}, {"survey": "0" * 64},
        {"senders": 10**9, "envelopes": 2 * (10**9 + 10)},
    ],
)  # fmt: skip
def test_a_manifest_that_cannot_be_is_refused(
    client: FlaskClient, some: PassedOn, changes: dict[str, Any]
) -> None:
    manifest = msgspec.structs.replace(some.batch().manifest, **changes)
    signature = some.signing.sign_text(manifest.message).value

    answer = announced(client, some, Batch(manifest, signature, []))

    assert_refused(answer, 400, "bad-batch")


def test_a_manifest_of_another_survey_is_refused(client: FlaskClient, store: Store) -> None:
    some = passed_on().publish(store)
    other = passed_on(name="other").publish(store)

    answer = announced(client, some, other.batch())

    assert "of another survey" in assert_refused(answer, 400, "bad-batch")["detail"]


@pytest.mark.parametrize(
    "body",
    [
        "", "[]", "{}", '{"manifest":{},"signature":""}', "{",
        '{"manifest":{"blanks":10,"envelopes":30,"senders":5,"sha256":"x","survey":"x"},"signature":""}',
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_refused(client: FlaskClient, some: PassedOn, body: str) -> None:
    answer = client.put(some.address, data=body, content_type="application/json")

    assert_refused(answer, 400, "malformed")


def test_a_signature_and_all_numbers_are_spelt_in_one_way(
    client: FlaskClient, some: PassedOn
) -> None:
    batch = some.batch()
    manifest = msgspec.to_builtins(batch.manifest)

    for wrong in (
        {"manifest": manifest, "signature": batch.signature.upper()},
        {"manifest": manifest | {"senders": 5.0}, "signature": batch.signature},
        {"manifest": manifest | {"time": 1}, "signature": batch.signature},
        {"manifest": manifest, "signature": batch.signature, "again": True},
    ):
        assert_refused(client.put(some.address, json=wrong), 400, "malformed")


def test_requests_that_make_no_sense_are_refused(client: FlaskClient, some: PassedOn) -> None:
    batch = some.batch()
    shown = {"Deniably-Signature": batch.signature}
    octets = shown | {"Content-Type": OCTETS}
    announced(client, some, batch)

    for query in ("", "?from=", "?from=-1", "?from=1.0", "?from=x", "?from=1&from=1", "?form=1"):
        answer = client.patch(some.address + query, data=b"x", headers=octets)
        assert_refused(answer, 400, "bad-parameter")
    answer = client.patch(
        f"{some.address}?from=0", data=b"x", headers=shown | {"Content-Type": JSON}
    )
    assert_refused(answer, 415, "unsupported-media-type")
    answer = client.patch(f"{some.address}?from=0", data=bytes((1 << 20) + 1), headers=octets)
    assert_refused(answer, 413, "too-large")


def test_other_surveys_have_no_batch(client: FlaskClient, store: Store, some: PassedOn) -> None:
    store.publish(survey_named(), signed(survey_named()))
    manifest = msgspec.to_builtins(some.batch().manifest)
    body = {"manifest": manifest, "signature": "0" * 128}

    for name in ("workplace", "nothing", "a%00b"):
        address = f"/api/surveys/{name}/mixed"
        for answer in (
            client.put(address, json=body),
            client.patch(f"{address}?from=0", data=b"x", headers={"Content-Type": OCTETS}),
            client.get(address),
            client.get(f"{address}/envelopes"),
        ):
            assert_refused(answer, 404, "not-found")


# A batch that breaks the rules ---------------------------------------------------------------


@pytest.mark.parametrize("fault", ["order kept", "one twice", "too many are none", "other lengths"])
def test_a_batch_that_breaks_the_rules_is_refused_for_good(
    client: FlaskClient, store: Store, some: PassedOn, fault: str
) -> None:
    came = some.envelopes()
    first, second, *rest = sorted(came)
    batch = {
        "order kept": lambda: some.signed_as(came),
        "one twice": lambda: some.signed_as([first, first, *rest]),
        "too many are none": lambda: some.batch([*(some.seal(b"") for _ in came[:6]), *came[6:]]),
        "other lengths": lambda: some.signed_as([first + bytes(64), second[:-64], *rest]),
    }[fault]()

    assert send(client, some, batch)["state"] == "refused"

    why = client.get("/api/surveys/council/results").json["detail"]
    assert why.startswith(
        "There are no results, because the batch of the survey's mixer was refused"
    )
    assert_refused(client.get(some.address), 404, "not-found")
    assert held(store) == {"envelope_keys": 0, "mixed_pieces": 0}
    assert announced(client, some, batch).json["state"] == "refused"
    assert_refused(announced(client, some, some.batch()), 409, "conflict")
    assert store.reports("council") == 0
    assert contents(store.engine.address)["reports"] == []
    store.erase_order()
    assert examine(store) == []


# Too few people ------------------------------------------------------------------------------


def of_nobody(some: PassedOn, **changes: Any) -> Batch:
    """What a mixer signs where too few people sent."""
    mixer: Any = some.survey.mixer
    batch = no_batch(some.survey.digest, blanks=mixer.blanks, key=some.signing)
    manifest = msgspec.structs.replace(batch.manifest, **changes)
    return Batch(manifest, some.signing.sign_text(manifest.message).value, [])


def test_where_too_few_sent_the_mixer_says_so_and_nobody_waits(
    client: FlaskClient, store: Store, some: PassedOn
) -> None:
    batch = of_nobody(some)
    why = "fewer people answered than the results need; the mixer deleted all"

    answer = announced(client, some, batch)

    assert (answer.status_code, answer.json) == (200, {"bytes": 0, "of": 0, "state": "refused"})
    assert held(store) == {"envelope_keys": 0, "mixed_pieces": 0}
    results = client.get("/api/surveys/council/results")
    assert assert_refused(results, 403, "hidden")["detail"] == f"There are no results: {why}."
    assert why in client.get("/surveys/council").text
    headers = {"Authorization": f"Bearer {new_token(store, 'operator')}"}
    status = client.get("/api/surveys/council/status", headers=headers).json
    assert status["mixed"] == "refused"
    assert status["sentences"] == [
        "The survey is closed, and there are no results.",
        f"The reason: {why}.",
    ]
    assert why in assert_refused(client.get(some.address), 404, "not-found")["detail"]
    assert announced(client, some, batch).json["state"] == "refused"
    assert_refused(announced(client, some, some.batch()), 409, "conflict")
    store.erase_order()
    assert examine(store) == []
    assert traces(store) == []


def test_too_few_is_said_by_the_mixer_alone_after_the_closing(
    client: FlaskClient, store: Store
) -> None:
    some = passed_on().publish(store, close=False)
    stranger = of_nobody(passed_on(), survey=some.survey.digest)

    assert_refused(announced(client, some, of_nobody(some)), 409, "not-closed")
    store.close_survey("council")
    assert_refused(announced(client, some, stranger), 422, "unsigned")
    for changes in ({"senders": 5}, {"senders": -10}, {"blanks": 0}, {"sha256": "0" * 64}):
        assert_refused(announced(client, some, of_nobody(some, **changes)), 400, "bad-batch")
    assert send(client, some, some.batch())["state"] == "taken"
    assert_refused(announced(client, some, of_nobody(some)), 409, "conflict")


# What stays ----------------------------------------------------------------------------------


@pytest.mark.parametrize("fate", ["taken", "refused"])
def test_key_and_bytes_leave_the_disk(
    client: FlaskClient, store: Store, some: PassedOn, address: str, fate: str
) -> None:
    came = some.envelopes()
    batch = some.batch(came) if fate == "taken" else some.signed_as(came)
    secret = some.opening.text.decode().splitlines()[1].encode()

    assert send(client, some, batch)["state"] == fate

    assert held(store) == {"envelope_keys": 0, "mixed_pieces": 0}, "in the same transaction"
    store.erase_order()
    if not address.startswith("postgresql:"):  # a database server has its files for itself
        for file in Path(address).parent.glob("*.db*"):
            assert secret not in file.read_bytes()
            assert not any(each in file.read_bytes() for each in came)
    assert store.mixed.key("council") is None
    assert store.revealing_order() == []
    assert traces(store) == []


def test_a_crash_before_the_rewrite_leaves_a_mark(
    client: FlaskClient, store: Store, some: PassedOn, address: str
) -> None:
    store.erase_order()
    assert examine(store) == []
    send(client, some, some.batch())

    with closing(Store(address)) as later:  # the process ended here
        findings = examine(later)
        assert [each.needs_rewrite for each in findings] == ["council"]
        repair(later, findings)
        assert examine(later) == []


def test_a_batch_whose_last_byte_came_before_a_crash_is_taken_at_the_next_request(
    client: FlaskClient, store: Store, some: PassedOn
) -> None:
    batch = some.batch()
    announced(client, some, batch)
    store.mixed.add_piece(
        "council", 0, batch.envelopes, len(batch.envelopes)
    )  # and the process ended here
    assert whole_batches(store) == ["council"]

    assert announced(client, some, batch).json["state"] == "taken"
    assert whole_batches(store) == []


def test_only_one_of_two_processes_stores_a_batch(
    client: FlaskClient, store: Store, some: PassedOn, address: str
) -> None:
    batch = some.batch()
    announced(client, some, batch)
    store.mixed.add_piece("council", 0, batch.envelopes, len(batch.envelopes))

    with closing(Store(address)) as other, ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda each: take(each, "council"), [store, other] * 2))

    assert {tally.n for tally in store.tally("council").values()} == {5}
    assert store.tally("council") == store.recount("council")


def test_a_batch_that_is_taken_while_the_closing_is_rewritten_is_not_lost(
    client: FlaskClient, store: Store, some: PassedOn
) -> None:
    batch = some.batch(people=200)
    with ThreadPoolExecutor(2) as threads:
        rewriting = threads.submit(lambda: [store.erase_order("council") for _ in range(10)])
        assert send(client, some, batch, step=1 << 20)["state"] == "taken"
        rewriting.result()

    assert {tally.n for tally in store.recount("council").values()} == {200}


def test_moving_a_database_takes_all_of_it_along(
    client: FlaskClient, store: Store, tmp_path: Path, postgres_server: str
) -> None:
    done = passed_on(name="done").publish(store)
    half = passed_on(name="half").publish(store)
    waiting = passed_on(name="waiting").publish(store)
    send(client, done, done.batch())
    batch = half.batch()
    announced(client, half, batch)
    added(client, half, batch, batch.envelopes[:5_000], 0)

    with new_database(postgres_server) as address, closing(Store(address)) as target:
        move(store.engine, target.engine)
        there = create_app({"TESTING": True, "LOG": "off"}, store=target).test_client()
        assert there.get(done.address).json == client.get(done.address).json
        listed = f"{done.address}/envelopes"
        assert there.get(listed).data == client.get(listed).data
        assert announced(there, half, batch).json["bytes"] == 5_000
        assert send(there, half, batch)["state"] == "taken"
        assert send(there, waiting, waiting.batch())["state"] == "taken"
        target.erase_order()
        assert examine(target) == []


def test_the_doctor_counts_a_batch_again(client: FlaskClient, store: Store, some: PassedOn) -> None:
    send(client, some, some.batch())
    store.erase_order()
    right = store.tally("council")
    with store._transaction() as database:
        database.execute("UPDATE tallies SET count = count + 1 WHERE survey = 'council'")

    findings = examine(store)
    assert {each.survey for each in findings} == {"council"}
    repair(store, findings)

    assert store.tally("council") == right
    assert examine(store) == []


def test_the_doctor_misses_a_key_and_a_part_of_the_list(
    client: FlaskClient, store: Store, some: PassedOn, address: str
) -> None:
    other = passed_on(name="other").publish(store)
    send(client, other, other.batch())
    store.erase_order()
    assert examine(store) == []
    with store._transaction() as database:
        database.execute("DELETE FROM envelope_keys WHERE survey = 'council'")
        for trigger in ("received_envelopes_stay", "received_envelopes_never_change"):
            if not address.startswith("postgresql:"):
                database.execute(f"DROP TRIGGER {trigger}")
        if address.startswith("postgresql:"):
            database.execute("DROP TRIGGER received_envelopes_never_change ON mixed_hashes")
        database.execute("DELETE FROM mixed_hashes WHERE survey = 'other'")

    found = {each.what for each in examine(store)}

    assert {
        "council: the key that opens its answers is gone; restore a backup",
        "other: the list of received envelopes is not whole; restore a backup",
    } <= found


def test_another_batch_cannot_come_in_past_the_application(store: Store, some: PassedOn) -> None:
    first, second = some.batch(), some.batch()
    store.mixed.begin_batch("council", first.manifest, first.signature)

    with pytest.raises(Conflict):
        store.mixed.begin_batch("council", second.manifest, second.signature)
    for sql in (
        "UPDATE mixed SET manifest = '{}'",
        "DELETE FROM mixed",
        "UPDATE envelope_keys SET survey = NULL",
    ):
        with pytest.raises(store.engine.errors), store._transaction() as database:  # noqa: PT012
            database.execute(sql)
            database.commit()
