"""An HTTP proxy between a device and its server. It can change what the server says."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, cast

import requests

from deniably.core.canonical import canonical, digest
from deniably.trust.heads import head_of_trees, sign_head
from deniably.trust.listing import VOLUME, Listing, make_listing
from deniably.trust.register import NOTHING
from deniably.trust.signing import Key, new_key
from deniably.trust.trees import Trees

Entries = list[dict[str, Any]]
Change = Callable[[bytes], bytes]

_KEPT = ("Content-Type", "ETag", "Deniably-State", "Cache-Control", "Content-Security-Policy")


class InterceptingProxy:
    """A real HTTP server that forwards everything. ``changes`` maps a path to the function that
    edits its response's body. ``asked`` lists the requests."""

    def __init__(self, behind: str) -> None:
        self.changes: dict[str, Change] = {}
        self.asked: list[str] = []
        self._behind, self._lie = behind, cast("Callable[[str, bytes], bytes] | None", None)
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy.asked.append(f"{self.command} {self.path}")
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                change = proxy.changes.get(self.path) or proxy.lie(self.path)
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
                self.send_response(200 if change else answer.status_code)
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

    def register(
        self, change: Callable[[Entries], object], *, chained: bool = True, key: Key | None = None
    ) -> None:
        """Show another register from now on: ``change`` edits its entries in place. The hash chain,
        the trees and the head are then computed again, as a lying server would do it, and the head
        is signed with ``key``; with one of the proxy's own unless told."""
        signing = key or _OWN

        def lie(path: str, body: bytes) -> bytes:
            whole = requests.get(f"{self._behind}/register", timeout=30).json()
            entries = copy.deepcopy(whole["entries"])
            change(entries)
            if path == "/register":
                shown = {"entries": entries, "head": whole["head"]}
                return canonical(rechained(entries) if chained else shown)
            rechained(entries)
            name = path.rpartition("/")[2]
            if path.startswith("/register/hashes/"):
                hashes = [digest(entry) for entry in entries][VOLUME * int(name) :][:VOLUME]
                return canonical({"hashes": hashes})
            return listing_text(entries, name, signing, json.loads(body).get("entry"))

        self._lie = lie

    def lie(self, path: str) -> Change | None:
        """How the answer of a path is changed, where that is the register's and it is another."""
        if self._lie is None or not path.startswith("/register"):
            return None
        lie = self._lie
        return lambda body: lie(path, body)

    def honest(self) -> None:
        """Show everything as it is from now on."""
        self.changes.clear()
        self._lie = None


def listing_text(entries: Entries, name: str, key: Key, otherwise: Any = None) -> bytes:
    """The listing of a survey in a register of these entries; where they lack the name, that of
    the entry ``otherwise``, which is none of them. Of two of a name, the map has the first."""
    trees, mapped = Trees(), set[object]()
    for entry in entries:
        published = entry.get("survey") if entry["event"] == "published" else None
        trees.add(digest(entry), None if published in mapped else published)
        mapped.add(published)
    signed = sign_head(head_of_trees(trees, entries[-1]["day"] if entries else None), key)
    found = [e for e in entries if e.get("survey") == name and e["event"] == "published"]
    if found:
        return make_listing(trees, signed, found[0]).text
    shown = otherwise | {"number": min(otherwise["number"], max(1, len(entries)))}
    return Listing(shown, signed, trees.blocks, trees.recent, [], trees.map_path(name)).text


_OWN = new_key()


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
