"""Lets the whole Python client answer a server on this machine, and compares its requests.

The replay of a device compares what it makes. The client also sends it: a header, a query or a
second request could carry an answer beside a right report. So every byte of each request is
compared, and no connection may go elsewhere.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from itertools import zip_longest
from typing import Any

from deniably.audit.replay.expected import Difference, Observed, Reference
from deniably.audit.replay.invitation_key import TEXT, P, Q
from deniably.audit.replay.own_mixer import OwnMixer
from deniably.audit.replay.python_device import of_python
from deniably.audit.replay.recording_server import Asked, Loopback, Reply
from deniably.audit.replay.scenarios import DAY, Scenario, Study
from deniably.audit.replay.tap import tapped
from deniably.core.canonical import canonical, digest
from deniably.core.errors import DeniablyError
from deniably.device.ledger import Limits
from deniably.device.memory import Memory
from deniably.reference.canonical import parse
from deniably.reference.invitations import sign, written
from deniably.reference.requests import (
    Request,
    asking_mixer,
    looking,
    meeting,
    sending,
    sending_to_mixer,
    trading,
)
from deniably.survey.strata import query_of
from deniably.survey.survey import as_survey
from deniably.trust.heads import head_of_trees, sign_head
from deniably.trust.listing import make_listing
from deniably.trust.register import NOTHING, RegisterEntry, published_entry
from deniably.trust.signing import new_key
from deniably.trust.trees import Trees


class NoClient(Exception):
    """Raised where the Python client is not installed."""


@dataclass
class _Memory:
    """A memory of a device that keeps every document of it."""

    memory: Memory = field(default_factory=Memory)
    trade: Mapping[str, str] | None = None
    documents: list[str] = field(default_factory=list[str])

    def read(self) -> Memory:
        return self.memory

    def update(self, change: Any) -> Memory:
        self.memory = change(self.memory)
        text = self.memory.canonical.decode()
        self.documents.append(text)
        for trade in parse(text).get("trades", {}).values():
            self.trade = trade
        return self.memory


@dataclass(frozen=True)
class Visit:
    """What the Python client did in one visit.

    ``scenario`` has all answers that the client got, and ``seen`` is what it did in each step; with
    a mixer, what it sealed is opened there. ``requests`` has for each survey the requests that it
    sent, and those that the specification asks for. ``elsewhere`` is an address other than its
    server's that it looked up or connected to; None without one.
    """

    scenario: Scenario
    seen: Sequence[Observed]
    requests: Sequence[tuple[Sequence[Asked], Sequence[Request]]]
    elsewhere: str | None


class PythonClient:
    """Runs the client of deniably_client on the surveys of one study, as a context manager.

    A survey with a mixer gets one of the audit's own, at the address of the server; within the
    context ``study`` has that survey.

    Raises NoClient where the client is not installed.
    """

    def __init__(self, study: Study) -> None:
        if find_spec("deniably_client") is None:  # by name: it is a package of its own
            raise NoClient("the Python client is not installed here")
        self._client: Any = import_module("deniably_client.device")
        self.study = study
        self._author = new_key()
        self._refuses = False
        self._mixer = OwnMixer() if "mixer" in study.survey else None

    def __enter__(self) -> PythonClient:
        self._stack = ExitStack()
        self._stack.enter_context(_direct())
        self._server = self._stack.enter_context(Loopback(self._reply))
        if self._mixer:
            own = self._mixer.definition(dict(self.study.survey), self._server.url)
            self.study = replace(self.study, waves=[own], digests=[digest(own)])
        self._surveys = [as_survey(dict(one)) for one in self.study.waves]
        self._listings = self._listed()
        self._elsewhere = self._stack.enter_context(_connections(self._server.address))
        self._tap = self._stack.enter_context(tapped())
        self._session: Any = self._client.session(0)
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()
        self._stack.close()

    def visit(self, scenario: Scenario, fed: Sequence[Sequence[bytes]] = ()) -> Visit:
        """Lets a device answer every wave through the client; returns what the client did.

        ``fed`` has the random bytes for each step; by default they come from the operating system.
        """
        memory = _Memory()
        steps: list[dict[str, Any]] = []
        seen: list[Observed] = []
        requests: list[tuple[Sequence[Asked], Sequence[Request]]] = []
        document: Any = None
        feeding = iter(fed)
        for given in [step for step in scenario["steps"] if step["do"] == "answer"]:
            number = int(given["survey"])
            survey = self._surveys[number]
            self._server.asked.clear()
            device = self._device(memory, given)
            author = device.author
            document = document or parse(memory.memory.canonical.decode())
            common = given | {"author": author, "day": _today()}
            traded = bool(survey.invited)
            if traded:
                self._tap.begin(next(feeding, ()))
                broken = _broken(device.trade)
                steps.append(common | {"do": "trade"})
                seen.append(self._seen(memory, None, broken))
            self._tap.begin(next(feeding, ()))
            device.questions  # noqa: B018  # drawn with coins of their own, before the answers
            memory.documents.clear()
            # The server first answers 503, so that the client sends the same again, twice.
            self._refuses = bool(given["again"])
            broken = _broken(lambda: device.answer(_typed(given)))  # noqa: B023
            if self._refuses:
                self._refuses = False
                broken = broken or _broken(device.resend) or _broken(device.resend)
            steps.append(common | {"do": "answer"})
            kept = memory.documents[0] if memory.documents else memory.memory.canonical.decode()
            seen.append(self._seen(memory, kept, broken))
            steps.append(common | {"do": "sent"})
            self._tap.begin(next(feeding, ()))
            seen.append(self._seen(memory, None, None))
            requests.append(
                ([*self._server.asked], self._right(memory, number, given, traded=traded))
            )
        made = scenario | {"document": document, "steps": steps}
        return Visit(made, seen, requests, next(iter(self._elsewhere), None))

    def _device(self, memory: _Memory, given: Mapping[str, Any]) -> Any:
        survey, limits = self._surveys[int(given["survey"])], self.study.limits
        return self._client.Device(
            f"{self._server.url}/s/{survey.name}{query_of(given['stratum'] or {})}",
            memory=memory,
            limits=Limits(*(Fraction(limits[one]) for one in ("survey", "author", "overall"))),
            invitation=given["code"],
            session=self._session,
        )

    def _seen(self, memory: _Memory, kept: str | None, broken: str | None) -> Observed:
        text = memory.memory.canonical.decode() if kept is None else kept
        if self._mixer:
            text = self._mixer.left_open(text, dict(self.study.survey), self.study.digests[0])
        return Observed(text, [*self._tap.blocks], None, False, broken, memory.trade)

    def _right(
        self, memory: _Memory, number: int, given: Mapping[str, Any], *, traded: bool
    ) -> list[Request]:
        """What the specification says that it asks, of the report that it has kept."""
        survey, host = self._surveys[number], self._server.url.partition("//")[2]
        document = parse(memory.memory.canonical.decode())
        times = 3 if given["again"] else 1
        if self._mixer:
            version = survey.digest
            sealed = bytes.fromhex(document["reports"].get(version, {}).get("sealed", ""))
            return [
                *meeting(host, survey.name),
                asking_mixer(host, version),
                *([sending_to_mixer(host, version, sealed)] * times),
            ]
        report, ticket = (
            document.get(part, {}).get(survey.digest) for part in ("reports", "tickets")
        )
        text = report["text"] if report else ""
        sent = sending(host, survey.name, text, ticket["ticket"] if ticket else None)
        return [
            *meeting(host, survey.name),
            *([trading(host, survey.name, memory.trade or {})] if traded else []),
            looking(host, survey.name, survey.digest),
            *([sent] * times),
        ]

    # --- the server ---

    def _listed(self) -> dict[str, bytes]:
        """What the register answers for each survey, by path."""
        entries: list[RegisterEntry] = []
        trees, head = Trees(), NOTHING
        for number, survey in enumerate(self._surveys, start=1):
            signed = self._author.sign(survey.digest)
            entries.append(published_entry(survey, signed, DAY, number, head, TEXT))
            head = digest(entries[-1])
            trees.add(head, survey.name)
        signed_head = sign_head(head_of_trees(trees, DAY), new_key())
        return {
            f"/register/{entry['survey']}": make_listing(trees, signed_head, entry).text
            for entry in entries
        }

    def _reply(self, asked: Asked) -> Reply:
        path = asked.target.partition("?")[0]
        name = path.removeprefix("/api/surveys/").partition("/")[0]
        if path in self._listings:
            return Reply(200, self._listings[path])
        if path.endswith("/tickets"):
            signed = sign(P, Q, int(parse(asked.body.decode())["blinded"], 16))
            return Reply(200, canonical({"signature": written(signed, P * Q)}))
        if self._mixer and path.startswith("/mix/") and asked.method == "GET":
            version, by = self.study.digests[0], self.study.survey["mixer"]["by"]
            return Reply(200, self._mixer.statement(version, by))
        if path.endswith("/reports") or path.startswith("/mix/"):
            return Reply(503) if self._refuses else Reply(201)
        survey = next((one for one in self._surveys if one.name == name), self._surveys[0])
        tag = {"ETag": f'"{survey.digest}"', "Deniably-State": "open"}
        known = any(name == "If-None-Match" for name, _ in asked.headers)
        return Reply(304, headers=tag) if known else Reply(200, survey.canonical, tag)


def fault_of_visit(reference: Reference, visit: Visit) -> Difference | None:
    """Returns the first departure of a visit from the specification; None if there is none.

    Reports are compared first, then requests.
    """
    found, _ = reference.compare(visit.scenario, visit.seen)
    if found:
        return found
    if visit.elsewhere:
        return Difference(0, f"it connects to {visit.elsewhere}, which is not its server")
    for asked, right in visit.requests:
        for sent, must in zip_longest(asked, right):
            if why := _other_request(sent, must):
                last = len(visit.scenario["steps"]) - 1
                return Difference(min(1, last), why)
    return None


def _other_request(sent: Asked | None, must: Request | None) -> str | None:
    """What is wrong with one request, in words; None where nothing is."""
    if sent is None or must is None:
        one, what = (must, "leaves out") if sent is None else (sent, "also sends")
        assert one is not None
        return f"it {what} the request {one.method} {one.target}"
    said = f"of its request {must.method} {must.target}"
    if (sent.method, sent.target, sent.version) != (must.method, must.target, "HTTP/1.1"):
        return f"it sends the request {sent.method} {sent.target}, not {must.method} {must.target}"
    for had, right in zip_longest(sent.headers, must.headers):
        if had != right:
            shown, not_ = (f"{one[0]}: {one[1]}" if one else "none" for one in (had, right))
            return f"{said} a header is {shown[:200]!r}, where the specification has {not_[:200]!r}"
    if sent.body != must.body:
        return f"{said} the body is {sent.body[:200]!r}, not {must.body[:200]!r}"
    return None


def _typed(given: Mapping[str, Any]) -> dict[str, object]:
    return {name: of_python(one) for name, one in given["typed"].items()}


def _broken(run: Any) -> str | None:
    """The kind of error that a step ends with; that a server could not answer is none."""
    try:
        run()
    except DeniablyError as error:
        return None if type(error).__name__ == "Unreachable" else type(error).__name__
    except Exception as error:
        return type(error).__name__
    return None


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@contextmanager
def _direct() -> Generator[None]:
    """Requests to this machine go to it, whatever proxy the environment names."""
    before = {name: os.environ.get(name) for name in ("NO_PROXY", "no_proxy")}
    os.environ.update(dict.fromkeys(before, "127.0.0.1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _connections(allowed: tuple[str, int]) -> Generator[list[str]]:
    """The addresses that anything in this process asks for or connects to, but the allowed one."""
    found: list[str] = []
    socket_, look_up = socket.socket, socket.getaddrinfo
    places = [(socket_, name, getattr(socket_, name)) for name in ("connect", "sendto")]

    def watch(real: Any) -> Any:
        def connect(self: Any, *given: Any) -> Any:
            address: object = given[-1]
            if address != allowed:
                found.append(str(address))
            return real(self, *given)

        return connect

    def looked_up(host: Any, *given: Any, **more: Any) -> Any:
        if host not in (allowed[0], None):
            found.append(str(host))
        return look_up(host, *given, **more)

    for owner, name, real in places:
        setattr(owner, name, watch(real))
    # Asking a name server carries data out, too.
    socket.getaddrinfo = looked_up
    try:
        yield found
    finally:
        # `connect` and `sendto` belong to the C base class; deleting ours shows them again.
        for owner, name, _ in places:
            delattr(owner, name)
        socket.getaddrinfo = look_up
