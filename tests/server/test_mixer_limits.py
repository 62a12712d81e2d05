"""What a mixer stores from one network, and how much memory a batch takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from deniably.trust.batch import LARGEST_BATCH
from deniably.trust.envelope import inner_size
from deniably_server.errors import Conflict
from deniably_server.guard.rate_limits import DailyRoom, limits_of
from deniably_server.mixing.app import create_mixer
from deniably_server.mixing.batches import finish
from deniably_server.mixing.capacity import few_left, is_soon_full
from deniably_server.settings import MIXER_SETTINGS
from deniably_server.storage.mixer_store import MixerStore
from support.material import assert_problem
from support.mixing import OCTETS, Parties, kept_batch, parties, questions

CONFIG = {setting.key: setting.default for setting in MIXER_SETTINGS}
OTHERS, MORE = {"REMOTE_ADDR": "203.0.113.7"}, {"REMOTE_ADDR": "198.51.100.7"}
DAY = 86400


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MixerStore]:
    with closing(MixerStore(str(tmp_path / "mixer.db"))) as store:
        yield store


def client_with(store: MixerStore, megabytes: int) -> FlaskClient:
    return create_mixer(CONFIG | {"MIXER_ROOM": megabytes, "RATE": 0}, store).test_client()


def status(client: FlaskClient, mix: Parties, sealed: bytes, network: dict[str, str]) -> int:
    where = f"/mix/{mix.survey.digest}"
    answer = client.post(where, data=sealed, headers=OCTETS, environ_overrides=network)
    return answer.status_code


def test_one_network_fills_its_room_and_no_other(store: MixerStore) -> None:
    mix = parties(length=60_000 // 2, questions=questions(2)).accept(store)
    size = mix.survey.outer_size
    sealed = [mix.outer() for _ in range(1_000_000 // size + 1)]
    client = client_with(store, megabytes=1)

    told = [status(client, mix, each, OTHERS) for each in sealed]

    assert told == [201] * (len(sealed) - 1) + [429]
    assert status(client, mix, sealed[0], OTHERS) == 200, "a device that got no answer"
    assert status(client, mix, sealed[-1], MORE) == 201
    assert status(client, mix, mix.outer(), {}) == 201, "this machine itself has no limit"
    answer = client.post(
        f"/mix/{mix.survey.digest}", data=mix.outer(), headers=OCTETS, environ_overrides=OTHERS
    )
    assert (
        "as much as is stored from one network" in assert_problem(answer, 429, "too-many")["detail"]
    )
    assert 0 < int(answer.headers["Retry-After"]) <= DAY


def test_what_is_no_envelope_takes_no_room_of_others_on_the_network(store: MixerStore) -> None:
    mix = parties(length=60_000 // 2, questions=questions(2)).accept(store)
    client = client_with(store, megabytes=1)

    bad = [status(client, mix, bytes(mix.survey.outer_size), OTHERS) for _ in range(40)]

    assert set(bad) == {400}
    assert status(client, mix, mix.outer(), OTHERS) == 201


def test_codes_bound_what_is_stored_where_people_are_invited(store: MixerStore) -> None:
    mix = parties(length=60_000 // 2, questions=questions(2), invited=True).accept(store)
    codes = store.invite(mix.survey.digest, 20)
    client = client_with(store, megabytes=1)

    told = [status(client, mix, mix.outer(code=code), OTHERS) for code in codes]

    assert told == [201] * 20
    assert 20 * mix.survey.outer_size > 1_000_000


def test_the_room_is_of_a_day_of_utc() -> None:
    now = [10 * DAY + 3600.0]
    room = DailyRoom(100, wall=lambda: now[0])

    assert [room.take("a", 60), room.take("a", 60), room.take("a", 40)] == [True, False, True]
    assert room.take("b", 100)
    assert room.wait() == DAY - 3600
    now[0] += DAY - 3600
    assert room.take("a", 100)


def test_no_room_is_no_limit() -> None:
    assert limits_of(0, 0, 0).room is None
    assert limits_of(0, 0, 0, 5).room is not None


@pytest.mark.thorough
@pytest.mark.parametrize("people", [2_000])
def test_a_batch_is_in_memory_once(store: MixerStore, people: int) -> None:
    """Three times as much was needed before; the envelopes of people lie on the disk as well."""
    mix = parties(questions=questions(6), blanks=100).accept(store)
    for _ in range(people // 100):
        mix.send(store, *(mix.outer() for _ in range(100)))
    store.close_survey(mix.survey.digest)
    size = 6 * (people + 100) * mix.survey.inner_size
    store.keys(mix.survey.digest)

    tracemalloc.start()
    finish(store, mix.survey.digest)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(kept_batch(store, mix.survey.digest).envelopes) == size
    assert peak < 1.7 * size, f"{peak / size:.2f} times the batch"


# --- as large as a batch may be ---------------------------------------------------------------


def room_for(people: int, **more: Any) -> Parties:
    """A survey whose batch has room for so many people among its blanks."""
    both = 2 * inner_size(192)
    return parties(blanks=LARGEST_BATCH // both - people, **more)


def test_the_batch_of_as_many_as_may_send_is_taken_and_of_one_more_is_not() -> None:
    survey, envelope = room_for(3).survey, inner_size(192)

    def size(people: int) -> int:
        return 2 * (people + survey.blanks) * envelope

    assert survey.most_senders == 3
    assert size(3) <= LARGEST_BATCH < size(4)


def test_nobody_sends_what_would_make_the_batch_too_large(store: MixerStore) -> None:
    mix = room_for(3).accept(store)
    client, where = client_with(store, megabytes=0), f"/mix/{mix.survey.digest}"
    sealed = [mix.outer() for _ in range(4)]
    client.get(where)

    told = [status(client, mix, each, {}) for each in [*sealed[:2], sealed[0], *sealed[2:]]]

    assert told == [201, 201, 200, 201, 410]
    assert status(client, mix, sealed[2], {}) == 200, "a device that got no answer"
    refused = client.post(where, data=mix.outer(), headers=OCTETS)
    assert "As many people have sent" in assert_problem(refused, 410, "gone")["detail"]
    assert_problem(client.get(where), 410, "gone")
    again = client_with(store, megabytes=0)  # the process ended here
    assert status(again, mix, sealed[3], {}) == 410
    assert_problem(again.get(where), 410, "gone")
    assert store.senders(mix.survey.digest) == 3


def test_who_is_refused_takes_nobodys_place(store: MixerStore) -> None:
    """One network may not use up the places of all others."""
    terms = {"length": 30_000, "questions": questions(2)}
    both = 2 * inner_size(30_000)
    mix = parties(**terms, blanks=LARGEST_BATCH // both - 20).accept(store)
    client = client_with(store, megabytes=1)

    told = [status(client, mix, mix.outer(), OTHERS) for _ in range(60)]

    assert told.count(201) == 1_000_000 // mix.survey.outer_size
    assert set(told) == {201, 429}
    assert status(client, mix, mix.outer(), MORE) == 201


def test_no_more_are_invited_than_a_batch_has_room_for(store: MixerStore) -> None:
    mix = room_for(3, invited=True).accept(store)
    store.invite(mix.survey.digest, 2)

    with pytest.raises(Conflict, match=r"2 were invited, .* the answers of at most 3 people"):
        store.invite(mix.survey.digest, 2)
    assert store.issued(mix.survey.digest) == 2
    store.invite(mix.survey.digest, 1)


def test_a_few_networks_may_not_have_all_places_of_a_day_unless_people_are_invited() -> None:
    share = 1_000_000 // parties().survey.outer_size
    few, enough = room_for(3 * share - 1), room_for(3 * share)

    assert is_soon_full(few.survey, room=1)
    assert not is_soon_full(enough.survey, room=1)
    assert is_soon_full(enough.survey, room=0), "a network without a limit"
    assert not is_soon_full(room_for(1, invited=True).survey, room=1)


def test_few_places_are_left_once_they_are_less_than_a_tenth() -> None:
    survey = room_for(50).survey

    assert [few_left(survey, senders) for senders in (0, 45, 46, 50)] == [False, False, True, True]
