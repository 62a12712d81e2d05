"""A survey's server is killed while a mixer passes its batch on: at random instants, and at every
step of the transaction that takes it. Every report counts once, and key and bytes are gone.

``make soak`` kills more often, at other instants each time: DENIABLY_TEST_SEED and
DENIABLY_TEST_KILLS repeat them.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest
import requests

from deniably_server.storage.maintenance.doctor import examine
from deniably_server.storage.maintenance.traces import traces
from deniably_server.storage.store import Store
from support.crowd import PATIENCE, restarting, until
from support.material import Server, contents
from support.nursery import Nursery
from support.passing_on import OCTETS, PassedOn, passed_on

KILLS = int(os.environ.get("DENIABLY_TEST_KILLS", "24")) // 3
SEED = os.environ.get("DENIABLY_TEST_SEED", "1965")


@pytest.fixture
def chance() -> random.Random:
    print(f"DENIABLY_TEST_SEED={SEED} DENIABLY_TEST_KILLS={3 * KILLS}")
    return random.Random(SEED)


@pytest.fixture
def begin(nursery: Nursery, tmp_path: Path) -> Iterator[Callable[[str], Server]]:
    """Starts servers on a database; kills them at the end."""
    with restarting(Server, nursery, tmp_path / "log") as start:
        yield start


class Mixer:
    """A mixer that goes on where the server is, whatever happens to it."""

    def __init__(self, some: PassedOn, people: int, step: int) -> None:
        self.batch, self.step = some.batch(people=people), step
        self.path = some.address
        self.of = len(self.batch.envelopes)
        self.state, self.steps = "open", 0

    def go_on(self, server: Server, seconds: float) -> None:
        """Sends for a while; stops where the server does not answer."""
        last = time.monotonic() + seconds
        body = {
            "manifest": msgspec.to_builtins(self.batch.manifest),
            "signature": self.batch.signature,
        }
        with suppress(requests.RequestException):
            answer = requests.put(server.url + self.path, json=body, timeout=PATIENCE)
            while time.monotonic() < last:
                assert answer.status_code == 200, answer.text
                now = answer.json()
                assert now["of"] == self.of
                self.state = now["state"]
                if self.state != "open":
                    return
                piece = self.batch.envelopes[now["bytes"] :][: self.step]
                self.steps += 1
                answer = requests.patch(
                    f"{server.url}{self.path}?from={now['bytes']}",
                    piece,
                    headers={
                        "Content-Type": OCTETS,
                        "Deniably-Signature": self.batch.signature,
                    },
                    timeout=PATIENCE,
                )


def assert_taken(address: str, some: PassedOn, people: int) -> None:
    """Every report counts once; key and bytes are gone, and so is what tells of an order."""
    with closing(Store(address)) as store:
        until(lambda: store.revealing_order() == [])
        assert {tally.n for tally in store.tally("council").values()} == {people}
        assert store.tally("council") == store.recount("council")
        assert examine(store) == []
        assert traces(store) == []
        assert store.mixed.key("council") is None
    kept = contents(address)
    assert len(kept["reports"]) == len(kept["totals"]) * 2 * (people + 10)
    assert kept["mixed_pieces"] == kept["envelope_keys"] == []
    if not address.startswith("postgresql:"):
        secret = some.opening.text.splitlines()[1]
        assert not any(
            secret in file.read_bytes() for file in Path(address).parent.glob("deniably.db*")
        )


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_server_that_is_killed_again_and_again_takes_the_batch_once(
    kind: str,
    begin: Callable[[str], Server],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    chance: random.Random,
) -> None:
    address = str(tmp_path / "deniably.db") if kind == "sqlite" else ""
    address = address or request.getfixturevalue("postgres")
    with closing(Store(address)) as store:
        some = passed_on().publish(store)
    mixer = Mixer(some, people=300, step=10_000)

    for _ in range(KILLS if kind == "sqlite" else KILLS // 2):
        server = begin(address)
        mixer.go_on(server, chance.uniform(0, 0.4))
        server.kill()
    server = begin(address)
    until(lambda: mixer.go_on(server, 1) or mixer.state != "open")

    assert mixer.state == "taken"
    mixer.go_on(server, 1)
    assert mixer.state == "taken", "the same manifest, once more"
    assert_taken(address, some, 300)


DIES = """
import os, signal, sys
from deniably_server.api.batch_taking import take
from deniably_server.storage.engines.sqlite import SqliteConnection
from deniably_server.storage.store import Store

address, step = sys.argv[1], int(sys.argv[2])
store = Store(address)
steps = 0

def counting(real):
    def call(database, *arguments):
        global steps
        done = real(database, *arguments)
        steps += 1
        if steps == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    return call

for name in ("execute", "executemany", "commit"):
    setattr(SqliteConnection, name, counting(getattr(SqliteConnection, name, None)))
take(store, "council")
store.erase_order()
print(steps)
"""


@pytest.mark.thorough
def test_a_process_may_die_at_every_step(nursery: Nursery, tmp_path: Path) -> None:
    """Of the taking and of the rewrite. Whatever was done, the next process does the rest."""
    log, ended, found = tmp_path / "log", False, list[str]()
    step = 0
    while not ended:
        step += 1
        (folder := tmp_path / str(step)).mkdir()
        address = str(folder / "deniably.db")
        with closing(Store(address)) as store:
            some = passed_on().publish(store)
            store.erase_order()
            batch = some.batch()
            store.mixed.begin_batch("council", batch.manifest, batch.signature)
            store.mixed.add_piece("council", 0, batch.envelopes, len(batch.envelopes))

        process = nursery.begin_program(DIES, [address, str(step)], log)
        ended = process.wait(PATIENCE) == 0

        with closing(Store(address)) as store:
            stored = store.mixed.manifest("council")
            assert stored is not None
            found.append(stored.state)
            assert (store.mixed.key("council") is None) == (stored.state == "taken")
            assert len(contents(address)["reports"]) == (30 if stored.state == "taken" else 0)
        server = Server(address, log=folder / "log", begin=nursery.begin)
        try:
            until(lambda: _state(address) == "taken")  # noqa: B023
            assert_taken(address, some, 5)
        finally:
            server.kill()
    assert found == sorted(found), "open, and then taken"
    assert set(found) == {"open", "taken"}
    print(f"killed after each of {step - 1} steps")


def _state(address: str) -> str:
    with closing(Store(address)) as store:
        stored = store.mixed.manifest("council")
    return stored.state if stored else ""


def test_what_takes_a_batch_is_killed_alone(begin: Callable[[str], Server], tmp_path: Path) -> None:
    """Its process has the memory of one batch. Where it is killed, the server goes on."""
    address = str(tmp_path / "deniably.db")
    with closing(Store(address)) as store:
        some = passed_on().publish(store)
    server = begin(address)
    mixer = Mixer(some, people=2_000, step=1 << 20)
    names = _children(server)

    with ThreadPoolExecutor(1) as thread:
        sending = thread.submit(mixer.go_on, server, 5)
        until(lambda: bool(_children(server) - names))
        for child in _children(server) - names:
            os.kill(child, signal.SIGKILL)
        assert _state(address) == "open", "it was killed at work"
        sending.result()
    assert "a mixer's batch is not taken; tried again in a minute" in server.log
    until(lambda: mixer.go_on(server, 1) or mixer.state != "open")

    assert mixer.state == "taken"
    assert_taken(address, some, 2_000)


def _children(server: Server) -> set[int]:
    """All processes below a server's."""
    found, rest = set[int](), list(server.workers)
    while rest:
        pid = rest.pop()
        found.add(pid)
        with suppress(FileNotFoundError, ProcessLookupError):
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
            rest += map(int, text.split())
    return found
