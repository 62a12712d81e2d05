"""A mixer is killed at random instants while people keep sending: every acknowledged envelope is
there once, and the batch that leaves is one batch, whatever came between.

``make crash`` kills more often, at other instants each time; what it prints repeats them (as far as
the machine does): DENIABLY_TEST_SEED and DENIABLY_TEST_KILLS.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import requests

from deniably_server.mixing.batches import finish
from deniably_server.storage.mixer_store import MixerStore
from support.crowd import PATIENCE, restarting, until
from support.mixing import MixerServer, Parties, kept_batch, parties, whole
from support.nursery import Nursery

KILLS = int(os.environ.get("DENIABLY_TEST_KILLS", "24")) // 3
SEED = os.environ.get("DENIABLY_TEST_SEED", "1965")
ON_POSTGRES = KILLS // 4
"""Of all kills, those of a mixer on PostgreSQL."""


@pytest.fixture
def chance() -> random.Random:
    print(f"DENIABLY_TEST_SEED={SEED} DENIABLY_TEST_KILLS={3 * KILLS}")
    return random.Random(SEED)


class People:
    """People who keep sending to the mixer at ``port``, which may change. Who gets no answer sends
    the same bytes again, and now and then so does who got one."""

    def __init__(self, mix: Parties, port: int, count: int = 4) -> None:
        self.port = port
        self.acknowledged: list[bytes] = []
        self.inner: dict[bytes, list[bytes]] = {}
        self.statuses: set[int] = set()
        self._mix = mix
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._live, args=(number,), daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def wait_for_more(self, count: int = 1) -> None:
        """Until so many more are acknowledged."""
        wanted = len(self.acknowledged) + count
        until(lambda: len(self.acknowledged) >= wanted)

    def finish(self) -> None:
        """Nothing new from now on, and until all that was sent is acknowledged."""
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        assert not any(map(threading.Thread.is_alive, self._threads))
        assert self.inner.keys() == set(self.acknowledged)

    def check(self, address: str) -> None:
        """That what was acknowledged is there once, and nothing that nobody sent."""
        told = set(self.acknowledged)
        with closing(MixerStore(address)) as store:
            kept = store.sealed(self._mix.survey.digest)
        assert len(kept) == len(set(kept))
        assert told <= set(kept) <= self.inner.keys()

    def _live(self, number: int) -> None:
        chance = random.Random(f"{SEED} {number}")
        address = f"/mix/{self._mix.survey.digest}"
        while not self._over.is_set():
            inner = self._mix.inner(chance.randrange(2))
            sealed = self._mix.outer_of(inner)
            self.inner[sealed] = inner
            told = 1 + (chance.random() < 0.1)
            while told:
                try:
                    answer = requests.post(
                        f"http://127.0.0.1:{self.port}{address}",
                        sealed,
                        headers={"Content-Type": "application/octet-stream"},
                        timeout=PATIENCE,
                    )
                except requests.RequestException:
                    time.sleep(chance.uniform(0.005, 0.05))
                    continue
                self.statuses.add(answer.status_code)
                if answer.status_code in (200, 201):
                    self.acknowledged.append(sealed)
                    told -= 1


@pytest.fixture
def begin(nursery: Nursery, tmp_path: Path) -> Iterator[Callable[[str], MixerServer]]:
    """Starts mixers on a database; kills them at the end."""
    with restarting(MixerServer, nursery, tmp_path / "log") as start:
        yield start


@pytest.mark.parametrize(
    ("kind", "kills"), [("sqlite", KILLS - ON_POSTGRES), ("postgres", ON_POSTGRES)]
)
def test_a_mixer_that_is_killed_again_and_again_loses_nothing(
    kind: str,
    kills: int,
    begin: Callable[[str], MixerServer],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    chance: random.Random,
) -> None:
    address = str(tmp_path / "mixer.db") if kind == "sqlite" else ""
    address = address or request.getfixturevalue("postgres")
    with closing(MixerStore(address)) as store:
        mix = parties(blanks=3).accept(store)
    server = begin(address)
    people = People(mix, server.port)
    for _ in range(kills):
        people.wait_for_more()
        time.sleep(chance.uniform(0, 0.05))
        server.kill()
        people.check(address)
        server = begin(address)
        people.port = server.port
    people.finish()
    assert people.statuses <= {200, 201, 503}
    people.check(address)
    assert server.stop() == 0

    with closing(MixerStore(address)) as store:
        store.close_survey(mix.survey.digest)
        finish(store, mix.survey.digest)
        batch = kept_batch(store, mix.survey.digest)
    sent = {each for inner in people.inner.values() for each in inner}
    envelopes = mix.envelopes(batch.envelopes)
    assert batch.manifest.senders == len(people.inner)
    assert sent <= set(envelopes)
    assert len(envelopes) == len(set(envelopes)) == len(sent) + 2 * 3


def test_a_mixer_that_is_killed_while_it_makes_a_batch_makes_one(
    begin: Callable[[str], MixerServer], tmp_path: Path, chance: random.Random
) -> None:
    """As soon as one byte of it could have left, it is this batch for ever."""
    address = str(tmp_path / "mixer.db")
    with closing(MixerStore(address)) as store:
        mix = parties(blanks=300).accept(store)
        people = [mix.inner() for _ in range(100)]
        mix.send(store, *map(mix.outer_of, people))
        store.close_survey(mix.survey.digest)
    digest = mix.survey.digest
    seen: set[tuple[str, str]] = set()
    killed_before = 0
    for number in range(4 * KILLS):
        server = begin(address)
        # Sooner than it takes, about as long, and longer.
        time.sleep(chance.uniform(0, 0.1 + 0.1 * (number % 8)))
        server.kill()
        with closing(MixerStore(address)) as store:
            if store.state(digest) == "closed":
                killed_before += 1
                assert whole(store, digest) == b"", "nothing of a batch that is not whole"
                continue
            body = whole(store, digest)
            seen.add((hashlib.sha256(body).hexdigest(), store.batch(digest).signature))
            kept_batch(store, digest)
        if len(seen) and number > killed_before + 2:
            break

    print(f"killed {killed_before} times before the batch was on disk")
    assert len(seen) == 1
    envelopes = mix.envelopes(body)
    assert {each for inner in people for each in inner} <= set(envelopes)
    assert len(envelopes) == 2 * (100 + 300)


DIES = """
import os, signal, sys
from deniably_server.mixing.batches import finish
from deniably_server.storage.engines.sqlite import SqliteConnection
from deniably_server.storage.mixer_store import MixerStore

address, digest, when = sys.argv[1:]
real = SqliteConnection.commit

def dying(database):
    if when == "after":
        real(database)
    os.kill(os.getpid(), signal.SIGKILL)

SqliteConnection.commit = dying
finish(MixerStore(address), digest)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_batch_is_on_disk_whole_or_not_at_all(
    when: str, nursery: Nursery, tmp_path: Path
) -> None:
    """The process dies right before its commit, or right after it."""
    address = str(tmp_path / "mixer.db")
    with closing(MixerStore(address)) as store:
        mix = parties().accept(store)
        mix.send(store, *[mix.outer() for _ in range(20)])
        store.close_survey(mix.survey.digest)
    digest = mix.survey.digest

    dead = nursery.begin_program(DIES, [address, digest, when], tmp_path / "log")
    assert dead.wait(PATIENCE) == -signal.SIGKILL, (tmp_path / "log").read_text()

    with closing(MixerStore(address)) as store:
        before = whole(store, digest)
        finish(store, digest)
        batch = kept_batch(store, digest)
    assert (before == batch.envelopes) == (when == "after")
    assert (before == b"") == (when == "before")
    assert batch.manifest.senders == 20


def test_keys_are_gone_also_after_a_kill_between_the_two_steps(
    begin: Callable[[str], MixerServer], tmp_path: Path
) -> None:
    """The rows are deleted in one step, and what is left on the disk of them in the next."""
    address = str(tmp_path / "mixer.db")
    with closing(MixerStore(address)) as store:
        mix = parties().accept(store)
        sealed = [mix.outer() for _ in range(20)]
        mix.send(store, *sealed)
        store.close_survey(mix.survey.digest)
        finish(store, mix.survey.digest)
        store.passed_on(mix.survey.digest)
        assert store.revealing_order() == [mix.survey.digest], "the second step is still to come"

    server = begin(address)

    def is_done() -> bool:
        with closing(MixerStore(address)) as store:
            return store.revealing_order() == []

    until(is_done)
    server.kill()
    left = b"".join(each.read_bytes() for each in tmp_path.glob("mixer.db*"))
    assert b"PRIVATE KEY" not in left
    assert not any(each[:65] in left or each[-65:] in left for each in sealed)
