"""An HTTP proxy between a device and its server. It can change what the server says."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import requests

from deniably.core.canonical import canonical, digest
from deniably.trust.register import NOTHING

Entries = list[dict[str, Any]]
Change = Callable[[bytes], bytes]

_KEPT = ("Content-Type", "ETag", "Deniably-State", "Cache-Control", "Content-Security-Policy")


class InterceptingProxy:
    """A real HTTP server that forwards everything. ``changes`` maps a path to the function that
    edits its response's body. ``asked`` lists the requests."""

    def __init__(self, behind: str) -> None:
        self.changes: dict[str, Change] = {}
        self.asked: list[str] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy.asked.append(f"{self.command} {self.path}")
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                change = proxy.changes.get(self.path)
                known = () if change else ("If-None-Match",)
                passed = {
                    name: value
                    for name, value in self.headers.items()
                    if name in ("Accept", "Content-Type", *known)
                }
                answer = requests.request(
                    self.command, behind + self.path, data=body, headers=passed, timeout=30
                )
                content = change(answer.content) if change else answer.content
                self.send_response(answer.status_code)
                for name in _KEPT:
                    if name in answer.headers:
                        told = f'"{sha256(content).hexdigest()}"' if change else ""
                        own = name == "ETag" and told  # a liar would not forget it
                        self.send_header(name, own or answer.headers[name])
                if answer.status_code != 304:
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if answer.status_code != 304:
                    self.wfile.write(content)

            do_POST = do_GET  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @property
    def posted(self) -> bool:
        """Whether anything was sent."""
        return any(each.startswith("POST") for each in self.asked)

    def register(self, change: Callable[[Entries], object], *, chained: bool = True) -> None:
        """Show another register from now on: ``change`` edits its entries in place. The
        hash chain is then computed again, as a lying server would do it."""

        def changed(body: bytes) -> bytes:
            document = json.loads(body)
            entries = copy.deepcopy(document["entries"])
            change(entries)
            if not chained:
                return canonical({"entries": entries, "head": document["head"]})
            return canonical(rechained(entries))

        self.changes["/register"] = changed


def rechained(entries: Entries) -> dict[str, Any]:
    """A register of these entries with numbers, hashes and a head that are right."""
    head = NOTHING
    for number, entry in enumerate(entries, start=1):
        entry.update(number=number, previous=head)
        head = digest(entry)
    return {"entries": entries, "head": head}


@contextmanager
def intercepting_proxy(behind: str) -> Iterator[InterceptingProxy]:
    """Run a proxy in front of the server at this URL until the end of the block."""
    made = InterceptingProxy(behind)
    thread = Thread(target=made._server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made._server.shutdown()
        made._server.server_close()
        thread.join()
