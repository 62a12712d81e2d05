"""What the tests of the server are made of: surveys, reports, and a real server process."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import pytest
import requests

from deniably.core.canonical import canonical, digest
from deniably.device.memory import Memory
from deniably.device.tickets import begin_trade, finish_trade
from deniably.survey.report import Report
from deniably.survey.survey import Survey, as_survey
from deniably.trust import blind_rsa
from deniably.trust.register import NOTHING, Register, RegisterEntry, published_entry
from deniably.trust.signing import Key, Signature
from deniably.workbench.data_source import Provenance, provenance
from deniably_server.guard.machine_addresses import usual_address
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.store import Store
from deniably_server.storage.tables.tokens import Role, make
from support.keys import key_of
from support.nursery import the_nursery

DENIABLY = (sys.executable, "-m", "deniably_client")
Contents = dict[str, list[Any]]

AUTHOR = key_of(bytes(range(32)))
"""The author of every survey that tests publish."""


def signed(survey: Survey, author: Key = AUTHOR) -> Signature:
    """The author's signature of a definition."""
    return author.sign(survey.digest)


def new_token(store: Store, role: Role, survey: str | None = None, days: int = 365) -> str:
    """The text of a new token."""
    token, text = make(role, survey, days)
    store.add_token(token)
    return text


INVITATIONS = blind_rsa.new_key()
"""The key of the invitations in registers that tests make."""


def register_of(*surveys: Survey, author: Key = AUTHOR, day: str = "2026-11-21") -> Register:
    """The register of a server that published these surveys, in this order."""
    entries: list[RegisterEntry] = []
    head = NOTHING
    for number, survey in enumerate(surveys, start=1):
        rest = (day, number, head, INVITATIONS.public.text)
        entries.append(published_entry(survey, signed(survey, author), *rest))
        head = digest(entries[-1])
    return Register(entries, head)


def source_of(survey: Survey, author: Key = AUTHOR) -> Provenance:
    """Where the reports of a survey are from: that server's register, without its closing."""
    return provenance(register_of(survey, author=author), survey)


def register_text(register: Register) -> bytes:
    """The register as a server sends it: canonical JSON."""
    return canonical({"entries": list(register.entries), "head": register.head})


def signed_headers(survey: Survey, author: Key = AUTHOR) -> dict[str, str]:
    """The HTTP headers with which a program sends an author's signature of a survey."""
    signature = signed(survey, author)
    return {"Deniably-Author": signature.author, "Deniably-Signature": signature.value}


def lines_headers(token: str) -> dict[str, str]:
    """What a program sends with many reports."""
    return {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {token}"}


def survey_named(name: str = "workplace", **changes: Any) -> Survey:
    """A survey with a question of every kind; ``changes`` replace keys of the definition."""
    return as_survey(
        {
            "spec": 1,
            "name": name,
            "title": "Honesty at work",
            "language": "en",
            "results": {"minimum": 100, "while_open": False},
            "questions": [
                {
                    "name": "stolen",
                    "type": "yes_no",
                    "label": "Have you ever stolen from work?",
                    "choices": [{"name": "yes", "label": "Yes"}, {"name": "no", "label": "No"}],
                    "claim": {"odds": "3"},
                    "mechanism": _mechanism(2, 1),
                },
                {
                    "name": "often",
                    "type": "select_one",
                    "label": "How often?",
                    "choices": [
                        {"name": word, "label": word.capitalize()}
                        for word in ("never", "once", "twice", "weekly", "daily")
                    ],
                    "claim": {"odds": "3"},
                    "mechanism": _mechanism(5, 2),
                },
            ],
        }
        | changes
    )


def _mechanism(k: int, omega: int) -> dict[str, object]:
    return {"name": "subset_selection", "k": k, "omega": omega, "own": 3, "other": 1}


def a_report(survey: Survey, **values: list[int]) -> Report:
    """A report that a device could have made, with a new id."""
    own = {question.name: list(range(question.mechanism.omega)) for question in survey.questions}
    return Report(id=secrets.token_hex(16), survey=survey.digest, values=own | values)


def a_trade(survey: Survey, key: str, code: str) -> tuple[Memory, dict[str, str]]:
    """A device's memory with a trade in it, and what that device sends."""
    memory = begin_trade(Memory(), survey.digest, key, code)
    trade = memory.trade(survey.digest)
    assert trade
    return memory, {"invitation": trade.code, "blinded": trade.blinded}


def a_ticketed_report(store: Store, survey: Survey, code: str) -> tuple[Report, str]:
    """A report to a survey by invitation, and its ticket."""
    key = store.invitation_key(survey.name).text
    memory, offer = a_trade(survey, key, code)
    signed = store.trade(survey.name, code, bytes.fromhex(offer["blinded"]))
    trade = memory.trade(survey.digest)
    assert trade
    ticket = finish_trade(memory, survey.digest, key, trade, signed.hex()).ticket(survey.digest)
    assert ticket
    report = a_report(survey)
    return Report(id=ticket.id, survey=report.survey, values=report.values), ticket.ticket


def contents(address: str | Path) -> Contents:
    """Every row of every table."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    if str(address).startswith("postgresql:"):
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    with closing(engine_at(str(address)).connect()) as connection:
        return {
            name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr)
            for (name,) in connection.execute(tables).fetchall()
        }


def assert_kept(address: str | Path, acknowledged: Iterable[Report], name: str) -> None:
    """Every acknowledged report is there once, and the tallies are those of the reports."""
    with closing(engine_at(str(address)).connect()) as connection:
        rows = connection.execute("SELECT id FROM reports WHERE survey = ?", [name])
        kept = [key.hex() for (key,) in rows]
    assert {report.id for report in acknowledged} <= set(kept)
    assert len(set(kept)) == len(kept)
    with closing(Store(str(address))) as store:
        tally = store.tally(name)
        assert tally == store.recount(name)
        assert {each.n for each in tally.values()} == {len(kept)}


def assert_problem(response: Any, status: int, name: str) -> dict[str, Any]:
    """The one shape of a refusal; gives the document."""
    assert response.status_code == status, response.get_data()
    assert response.headers["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = json.loads(response.get_data())
    assert set(document) <= {"type", "title", "status", "detail", "path", "errors", "instance"}
    assert document["type"] == f"/problems/{name}"
    assert document["status"] == status
    assert document["title"]
    assert document["instance"] == f"/requests/{response.headers['Deniably-Request']}"
    assert re.fullmatch(r"[^a-z].*[.?!]", document["detail"], re.DOTALL), document["detail"]
    return document


class Process(Protocol):
    """What a server needs to be of a process."""

    pid: int

    def poll(self) -> int | None: ...

    def wait(self, timeout: float) -> int: ...

    def terminate(self) -> None: ...


def begin(arguments: list[str], out: Path) -> Process:
    """The command ``deniably``, in a session of its own; all that it writes is in ``out``."""
    return the_nursery().begin(arguments, out)


class Server:
    """A real server process on a free port. ``log`` is all that it ever wrote, and where to."""

    command: tuple[str, ...] = ("serve",)

    def __init__(
        self,
        database: Path | str,
        *options: str,
        log: Path | None = None,
        begin: Callable[[list[str], Path], Process] = begin,
    ) -> None:
        self.database = database
        self._out = log or Path(database).with_suffix(".log")
        self._out.touch()
        before = self._out.stat().st_size
        serve = [*self.command, "--database", str(database), "--port", "0", *options]
        self._process = begin(serve, self._out)
        self.url = self._wait(before)

    @cached_property
    def token(self) -> str:
        """A token of an author, made as by who has the machine."""
        with closing(Store(str(self.database))) as store:
            return new_token(store, "author")

    @property
    def log(self) -> str:
        return self._out.read_text()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def workers(self) -> list[int]:
        """The processes that answer requests; none where the server has ended."""
        main = self._process.pid
        try:
            return list(map(int, Path(f"/proc/{main}/task/{main}/children").read_text().split()))
        except FileNotFoundError:
            return []

    def _wait(self, before: int) -> str:
        until = time.monotonic() + 60
        while time.monotonic() < until and self._process.poll() is None:
            if found := re.search(r"http://\S+", self.log[before:]):
                try:
                    requests.get(f"{found[0]}/problems/closed", timeout=5)
                    return found[0]
                except (requests.ConnectionError, requests.Timeout):
                    pass
            time.sleep(0.01)
        self.kill()
        pytest.fail(f"the server does not answer:\n{self.log}")

    def connect(self, receives: int = 0) -> socket.socket:
        """A connection to it, as to be spoken on; it ``receives`` so many bytes unread."""
        line = self._reach(("127.0.0.1", self.port), receives)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return line

    def _reach(self, address: tuple[str, int], receives: int) -> socket.socket:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        line = socket.socket(family, socket.SOCK_STREAM)
        if receives:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        line.settimeout(60)
        line.connect(address)
        return line

    def publish(self, survey: Survey, author: Key = AUTHOR) -> None:
        """Publish a definition as it is, past the author's compiler."""
        with closing(Store(str(self.database))) as store:
            store.publish(survey, signed(survey, author))

    def post(self, survey: Survey, report: Report, **more: Any) -> requests.Response:
        headers = {"Content-Type": "application/json"} | more.pop("headers", {})
        address = f"{self.url}/api/surveys/{survey.name}/reports"
        return requests.post(address, report.canonical, headers=headers, timeout=30, **more)

    def send_lines(self, survey: Survey, lines: bytes | Iterable[bytes]) -> requests.Response:
        """Many reports."""
        address = f"{self.url}/api/surveys/{survey.name}/batches"
        return requests.post(address, lines, headers=lines_headers(self.token), timeout=60)

    def close(self, survey: Survey) -> requests.Response:
        """As an author does."""
        headers = {"Authorization": f"Bearer {self.token}"}
        address = f"{self.url}/api/surveys/{survey.name}"
        return requests.patch(address, json={"state": "closed"}, headers=headers, timeout=30)

    def stop(self) -> int:
        """SIGTERM, as a service manager sends it. The exit status."""
        if self._process.poll() is None:
            self._process.terminate()
        return self._process.wait(timeout=60)

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        """SIGKILL to every process of the server, as a power cut would."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=30)


class PublicServer(Server):
    """A server that phones reach by TLS, at an address of this machine; by ``url`` without."""

    def __init__(
        self,
        database: Path | str,
        *options: str,
        begin: Callable[[list[str], Path], Process] = begin,
    ) -> None:
        found = usual_address()
        if found is None:
            pytest.skip("this machine is in no network")
        self.address = found
        also = ("--hosts", "x, a.example")  # what tests of bare requests call it
        super().__init__(database, *options, f"--public={found}", *also, begin=begin)

    @property
    def public(self) -> str:
        """The beginning of the addresses for phones."""
        (found,) = re.findall(r"^Phones reach it at (\S+)", self.log, re.MULTILINE)
        return str(found)

    @property
    def certificate(self) -> Path:
        """The file of its certificate and its key."""
        (found,) = re.findall(r"certificate itself: (.*?), used again", self.log)
        return Path(found)

    def bare(self, receives: int = 0) -> socket.socket:
        """A connection on which nothing was said."""
        return self._reach((self.address, self.port), receives)

    def connect(self, receives: int = 0) -> socket.socket:
        """A connection after the handshake, which verifies the certificate."""
        line = self.bare(receives)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = ssl.create_default_context(cafile=self.certificate)
        return context.wrap_socket(line, server_hostname=self.address)
