"""What a mixer stores from one network, and how much memory a batch takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from deniably_server.guard.rate_limits import DailyRoom, limits_of
from deniably_server.mixing.app import create_mixer
from deniably_server.mixing.batches import finish
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
