"""A survey through a mixer from its author to its results: server and mixer are real processes,
both are killed with -9 at random moments, and every acknowledged envelope counts exactly once.

DENIABLY_TEST_SEED repeats the moments, as far as the machine does.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
import requests

from deniably.core.coins import Coins
from deniably.core.errors import BadSignature
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey, read_survey
from deniably.trust.envelope import seal_outer
from deniably.trust.mixed_survey import mixed_survey
from deniably.trust.mixer_statement import read_statement
from deniably.trust.sealed_report import seal_value
from deniably_server.storage.maintenance.traces import in_file
from deniably_server.storage.mixer_store import MixerStore
from deniably_server.storage.store import Store
from support.commands import call
from support.crowd import PATIENCE, until
from support.material import AUTHOR, Server, contents
from support.mixing import OCTETS, QUICK, MixerServer
from support.nursery import Nursery
from support.thorough import thorough

SEED = os.environ.get("DENIABLY_TEST_SEED", "1965")
SURVEY = """
name: workplace
title: Honesty at work
results: {minimum: 5}
mixer: {offer: offer.json, odds: 3}
questions:
  - {name: stolen, type: yes_no, label: Have you ever stolen from work?}
  - {name: lied, type: yes_no, label: Have you ever lied at work?}
"""


class Killed:
    """A server that is killed now and then, and begins again at the same port."""

    def __init__(self, start: Callable[..., Server]) -> None:
        self._start = start
        self._server = start("0")
        self.port = self._server.port
        self.kills = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @cached_property
    def token(self) -> str:
        """The author's token: the one that published closes, also after a kill."""
        return self._server.token

    def kill(self) -> None:
        self._server.kill()
        self.kills += 1
        last = time.monotonic() + PATIENCE
        while True:  # as a service manager does
            with suppress(pytest.fail.Exception):
                self._server = self._start(str(self.port))
                return
            assert time.monotonic() < last

    def end(self) -> None:
        self._server.kill()


class Devices:
    """So many devices, a few at a time. Each reads the mixer's statement, seals its reports once,
    and sends these bytes until they are acknowledged, or the mixer is closed."""

    def __init__(self, survey: Survey, mixer: Killed, count: int) -> None:
        self._survey, self._mixer = mixed_survey(survey), mixer
        self._left = iter(range(count))
        self._turn = threading.Lock()
        self.sealed: dict[bytes, list[bytes]] = {}
        self.acknowledged: list[bytes] = []
        self.faults: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(8)]
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Until every device is done."""
        for thread in self._threads:
            thread.join(5 * PATIENCE)
        assert not any(map(threading.Thread.is_alive, self._threads))
        assert self.faults == []

    def _run(self) -> None:
        try:
            while True:
                with self._turn:
                    number = next(self._left)
                self._answer(number)
        except StopIteration:
            pass
        except BaseException as error:
            self.faults.append(error)

    def _answer(self, number: int) -> None:
        survey = self._survey
        where = f"/mix/{survey.digest}"
        told = self._ask("GET", where)
        if told.status_code == 410:
            return
        statement = read_statement(told.content, survey.signing)
        assert (statement.survey, statement.by) == (survey.digest, survey.by)
        inner = [
            seal_value(survey, question.name, [number % 2], Coins())
            for question in survey.questions
        ]
        sealed = seal_outer(survey.key, survey.digest, inner)
        self.sealed[sealed] = inner
        answer = self._ask("POST", where, sealed)
        if answer.status_code != 410:
            assert answer.status_code in (200, 201), answer.text
            self.acknowledged.append(sealed)

    def _ask(self, method: str, path: str, body: bytes | None = None) -> requests.Response:
        """Ask until there is an answer."""
        last = time.monotonic() + PATIENCE
        while True:
            with suppress(requests.RequestException):
                url = f"{self._mixer.url}{path}"
                answer = requests.request(method, url, data=body, headers=OCTETS, timeout=PATIENCE)
                if answer.status_code < 500:
                    return answer
            assert time.monotonic() < last
            time.sleep(0.02)


class Killer:
    """Kills the server or the mixer at random moments, until it is told to stop."""

    def __init__(self, *servers: Killed) -> None:
        self._servers = servers
        self._chance = random.Random(SEED)
        self._over = threading.Event()
        self.faults: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def kills(self) -> int:
        return sum(each.kills for each in self._servers)

    def stop(self) -> None:
        self._over.set()
        self._thread.join(2 * PATIENCE)
        assert not self._thread.is_alive()
        assert self.faults == []

    def _run(self) -> None:
        try:
            while not self._over.wait(self._chance.uniform(0.02, 0.3)):
                self._chance.choice(self._servers).kill()
        except BaseException as error:
            self.faults.append(error)


@pytest.fixture
def server(tmp_path: Path, nursery: Nursery) -> Iterator[Killed]:
    def start(port: str) -> Server:
        log = tmp_path / "server.log"
        return Server(tmp_path / "deniably.db", "--port", port, log=log, begin=nursery.begin)

    server = Killed(start)
    yield server
    server.end()


@pytest.fixture
def mixer(tmp_path: Path, nursery: Nursery) -> Iterator[Killed]:
    def start(port: str) -> Server:
        begin = partial(nursery.begin, **QUICK)
        log = tmp_path / "mixer.log"
        return MixerServer(tmp_path / "mixer.db", "--port", port, log=log, begin=begin)

    mixer = Killed(start)
    yield mixer
    mixer.end()


def command(*arguments: object, keys: str = "") -> str:
    done = call(*map(str, arguments), keys=keys)
    assert done.returncode == 0, done.stderr
    return done.stdout


def published(folder: Path, server: Killed, mixer: Killed) -> Survey:
    """As people do it: the mixer offers, the author publishes, the mixer accepts."""
    database = ("--database", folder / "mixer.db")
    offer = ("--address", mixer.url, "--by", "Works council", "--to", folder / "offer.json")
    command("mix", "offer", *offer, *database)
    (folder / "workplace.yaml").write_text(SURVEY)
    key = folder / "author.pem"
    key.write_bytes(AUTHOR.text)
    key.chmod(0o600)
    where = ("--server", server.url, "--token", server.token, "--key", key)
    command("publish", folder / "workplace.yaml", *where)
    told = command("mix", "accept", f"{server.url}/s/workplace", *database, keys="y\n")
    assert "run by         Works council" in told
    return read_survey(requests.get(f"{server.url}/api/surveys/workplace", timeout=30).content)


def closed(folder: Path, server: Killed) -> None:
    """The author closes the survey; whoever gets no answer closes it again."""
    last = time.monotonic() + PATIENCE
    where = ("--server", server.url, "--token", server.token)
    while call("close", "workplace", *where, "--yes").returncode:
        assert time.monotonic() < last
        time.sleep(0.05)


@pytest.mark.parametrize(("devices", "kills"), [(60, 8), thorough(1_000, 60)])
@pytest.mark.timeout(600)
def test_every_acknowledged_envelope_counts_exactly_once(
    devices: int, kills: int, server: Killed, mixer: Killed, tmp_path: Path
) -> None:
    survey = published(tmp_path, server, mixer)
    secrets = secrets_of(tmp_path)
    killer = Killer(server, mixer)
    some = Devices(survey, mixer, devices)
    until(lambda: len(some.acknowledged) >= devices * 9 // 10)
    closed(tmp_path, server)
    some.finish()
    with closing(MixerStore(str(tmp_path / "mixer.db"))) as store:
        until(lambda: store.state(survey.digest) == "passed")
    until(lambda: killer.kills >= kills)
    killer.stop()

    mixed = cast(Mixer, survey.mixer)
    told = {
        hashlib.sha256(each).digest()
        for sealed in some.acknowledged
        for each in some.sealed[sealed]
    }
    sent = {hashlib.sha256(each).digest() for inner in some.sealed.values() for each in inner}
    api = f"{server.url}/api/surveys/workplace"
    taken: dict[str, Any] = requests.get(f"{api}/mixed", timeout=30).json()
    senders = taken["manifest"]["senders"]
    body = requests.get(f"{api}/mixed/envelopes", timeout=30).content
    hashes = [body[start : start + 32] for start in range(0, len(body), 32)]

    assert taken["refused"] == 0
    assert all(one < two for one, two in pairwise(hashes)), "none is there twice"
    assert told <= set(hashes), "whatever was acknowledged counts"
    assert len(hashes) == 2 * (senders + mixed.blanks)
    assert len(sent & set(hashes)) == 2 * senders, "besides the blanks, nothing that nobody sent"
    assert devices * 9 // 10 <= len(some.acknowledged) <= senders <= devices
    with closing(Store(str(tmp_path / "deniably.db"))) as results:
        tallies = results.tally("workplace").values()
        assert {(tally.n, tally.blanks) for tally in tallies} == {(senders, mixed.blanks)}
        assert {sum(tally.counts) for tally in tallies} == {senders + mixed.blanks}
        assert results.problems() == []
    shown = json.loads(requests.get(f"{api}/results", timeout=30).content)
    assert shown, "the results are there"
    nothing_is_left(tmp_path, secrets)


def secrets_of(folder: Path) -> dict[str, list[bytes]]:
    """The private keys of the survey, by the file that has them: the line in the middle of each."""
    rows = contents(folder / "mixer.db")["mixer_keys"], contents(folder / "deniably.db")
    pems = {
        "mixer.db": [pem for row in rows[0] for pem in row[1:]],
        "deniably.db": [row[1] for row in rows[1]["envelope_keys"]],
    }
    return {name: [pem.splitlines()[1].encode() for pem in each] for name, each in pems.items()}


def nothing_is_left(folder: Path, secrets: dict[str, list[bytes]]) -> None:
    """Neither party has a private key any more that opens an envelope, in no byte of its files."""
    for name, lines in secrets.items():
        assert lines, name
        for line in lines:
            until(partial(_is_gone, folder, name, line))
    with closing(MixerStore(str(folder / "mixer.db"))) as store:
        until(lambda: store.revealing_order() == [])
    for file in (*folder.glob("mixer.db*"), folder / "mixer.log"):
        assert in_file(file) == [], "no time, no address, no browser"


def _is_gone(folder: Path, name: str, line: bytes) -> bool:
    return line not in _bytes(folder, name)


def _bytes(folder: Path, name: str) -> bytes:
    return b"".join(each.read_bytes() for each in folder.glob(f"{name}*"))


def test_where_too_few_send_both_forget_all_and_the_server_says_why(
    server: Killed, mixer: Killed, tmp_path: Path
) -> None:
    survey = published(tmp_path, server, mixer)
    secrets = secrets_of(tmp_path)
    Devices(survey, mixer, 4).finish()
    closed(tmp_path, server)
    with closing(MixerStore(str(tmp_path / "mixer.db"))) as store:
        until(lambda: store.state(survey.digest) == "told")

    told = requests.get(f"{server.url}/api/surveys/workplace/results", timeout=30).json()["detail"]
    assert told.endswith("fewer people answered than the results need; the mixer deleted all.")
    nothing_is_left(tmp_path, secrets)


def test_a_statement_of_another_mixer_is_found(
    server: Killed, mixer: Killed, tmp_path: Path
) -> None:
    survey = published(tmp_path, server, mixer)
    answer = requests.get(f"{mixer.url}/mix/{survey.digest}", timeout=30)

    with pytest.raises(BadSignature):
        read_statement(answer.content, "5e" * 32)
