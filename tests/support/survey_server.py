"""A survey's server for the tests of a mixer: real definitions and a real register, with a small
stand-in for what takes batches (SPEC 14.5)."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import msgspec

from deniably.authoring.survey_files import load_survey
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey
from deniably.trust.batch import Manifest
from deniably.trust.envelope import OpeningKey, new_opening_key
from deniably.trust.signing import Signature, verify_text
from deniably_server.app import create_app
from deniably_server.mixing.accepting import examine
from deniably_server.mixing.offering import new_offer
from deniably_server.mixing.survey_server import source_at
from deniably_server.storage.mixer_store import MixerStore
from deniably_server.storage.store import Store
from support.material import AUTHOR, signed

QUESTIONS = [
    {"name": f"q{number}", "type": "yes_no", "label": f"Have you ever? {number}"}
    for number in range(2)
]


@dataclass
class Taking:
    """What the server has of a batch, and what came: a list of (method, first byte)."""

    manifest: dict[str, Any] | None = None
    signature: str = ""
    body: bytearray = field(default_factory=bytearray)
    asked: list[tuple[str, int]] = field(default_factory=list)

    @property
    def whole(self) -> int:
        """The bytes of the whole batch; each envelope has 273."""
        return 0 if self.manifest is None else int(self.manifest["envelopes"]) * 273


class SurveyServer:
    """A server on this machine, on a free port. ``fault`` may answer (status, problem) to a request
    with a batch instead, given the method and the first byte; it may also raise."""

    def __init__(self, folder: Path) -> None:
        self._app = create_app({"DATABASE": str(folder / "deniably.db"), "TESTING": True})
        self.store: Store = self._app.extensions["deniably"]
        self.opening: OpeningKey = new_opening_key()
        self.taking = Taking()
        self.fault: Callable[[str, int], tuple[int, dict[str, Any]] | None] = lambda *_: None
        self.changed: Callable[[str, bytes], bytes] = lambda path, body: body
        self._http = _listening(self)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def publish(self, offer: dict[str, str], name: str = "workplace", **more: Any) -> Survey:
        """A published survey of two questions that uses the mixer's offer."""
        survey = self.written(offer, name, **more)
        self.store.publish(survey, signed(survey, AUTHOR))
        return survey

    def written(self, offer: dict[str, str], name: str = "workplace", **more: Any) -> Survey:
        mixer = {"offer": offer, "odds": 3, "open": self.opening.public}
        results = {"results": {"minimum": 1}}
        head = {"name": name, "title": "Honesty at work", "mixer": mixer, "questions": QUESTIONS}
        return load_survey(head | results | more)

    def address(self, survey: Survey) -> str:
        return f"{self.url}/s/{survey.name}"

    def close_survey(self, name: str = "workplace") -> None:
        self.store.close_survey(name)

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self.store.close()

    # --- what the stand-in answers ----------------------------------------------------------

    def passed_through(self, path: str, headers: dict[str, str]) -> tuple[int, Any, bytes]:
        plain = {name: value for name, value in headers.items() if name != "Accept-Encoding"}
        answer = self._app.test_client().get(path, headers=plain)
        return answer.status_code, answer.headers, self.changed(path, answer.get_data())

    def put(self, name: str, body: bytes) -> tuple[int, dict[str, Any]]:
        self.taking.asked.append(("PUT", 0))
        if (fault := self.fault("PUT", 0)) is not None:
            return fault
        document = json.loads(body)
        manifest = msgspec.convert(document["manifest"], Manifest)
        survey = self.store.survey(name)
        verify_text(
            manifest.message, Signature(cast(Mixer, survey.mixer).signing, document["signature"])
        )
        if self.store.state(name) == "open":
            return _problem(409, "not-closed", "The survey is open.")
        if self.taking.manifest not in (None, document["manifest"]):
            return _problem(409, "conflict", "Another batch of this survey is known.")
        self.taking.manifest = document["manifest"]
        self.taking.signature = document["signature"]
        return self._progress()

    def patch(self, start: int, piece: bytes, signature: str) -> tuple[int, dict[str, Any]]:
        self.taking.asked.append(("PATCH", start))
        if (fault := self.fault("PATCH", start)) is not None:
            return fault
        if signature != self.taking.signature:
            return _problem(422, "unsigned", "That is not the signature of the manifest.")
        if start != len(self.taking.body):
            status, problem = _problem(409, "conflict", "That is not where the bytes end.")
            return status, problem | {"bytes": len(self.taking.body)}
        assert len(piece) <= 1 << 20
        self.taking.body += piece
        return self._progress()

    def _progress(self) -> tuple[int, dict[str, Any]]:
        taking = self.taking
        assert taking.manifest is not None
        done = len(taking.body) == taking.whole
        if done:
            assert hashlib.sha256(taking.body).hexdigest() == taking.manifest["sha256"]
        state = "taken" if done else "open"
        if not taking.whole:  # too few sent
            state = "refused"
        return 200, {"bytes": len(taking.body), "of": taking.whole, "state": state}


def _problem(status: int, kind: str, detail: str) -> tuple[int, dict[str, Any]]:
    return status, {"type": f"/problems/{kind}", "detail": detail, "status": status}


def _listening(server: SurveyServer) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers, body = server.passed_through(self.path, dict(self.headers))
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "connection"):
                    self.send_header(name, value)
            self._rest(body)

        def do_PUT(self) -> None:
            self._answer(*server.put(urlsplit(self.path).path.split("/")[3], self._body()))

        def do_PATCH(self) -> None:
            (start,) = parse_qs(urlsplit(self.path).query)["from"]
            shown = self.headers["Deniably-Signature"]
            self._answer(*server.patch(int(start), self._body(), shown))

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers["Content-Length"]))

        def _answer(self, status: int, document: dict[str, Any]) -> None:
            self.send_response(status)
            self._rest(json.dumps(document).encode())

        def _rest(self, body: bytes) -> None:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@contextmanager
def survey_server(folder: Path) -> Iterator[SurveyServer]:
    """A server for a test."""
    server = SurveyServer(folder)
    try:
        yield server
    finally:
        server.stop()


DAY = "2999-05-31"


def accepted(
    store: MixerStore, server: SurveyServer, name: str = "workplace", **more: Any
) -> Survey:
    """A published survey that a mixer has accepted, up to ``DAY``."""
    offered = new_offer("https://mixer.example.net", "Works council")
    store.keep_offer(offered)
    survey = server.publish(msgspec.to_builtins(offered.offer), name, **more)
    found = examine(store, source_at(server.address(survey)), invited=False)
    store.accept(found.mixed, found.keys, DAY, found.source)
    return survey
