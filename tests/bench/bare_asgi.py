"""The least that could store a report: a bare ASGI application with the same group commit.

It parses the JSON, puts id, survey and values into a queue, and answers once a thread has committed
them to SQLite, as many at once as wait, with each commit on the disk. It checks nothing, tallies
nothing, limits nobody, adds no header and loses count of repeated reports. What Deniably takes
above that is the price of all it does besides.

python bare_asgi.py DATABASE
"""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import sys
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import msgspec
from uvicorn import Config, Server

_LARGEST_BATCH = 256
_TABLE = (
    "CREATE TABLE IF NOT EXISTS reports (id BLOB PRIMARY KEY, survey TEXT, report TEXT)"
    " WITHOUT ROWID"
)
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"19")]
_BODY = b'{"status":"stored"}'

_Row = tuple[bytes, str, str]
_Waiting = tuple[_Row, "asyncio.Future[None]"]


class GroupCommit:
    """A thread that commits all rows that wait, then wakes those who wait for them."""

    def __init__(self, path: str, loop: asyncio.AbstractEventLoop) -> None:
        self._path, self._loop = path, loop
        self._queue: SimpleQueue[_Waiting] = SimpleQueue()
        Thread(target=self._run, daemon=True).start()

    def add(self, row: _Row) -> asyncio.Future[None]:
        """Done once the row is on the disk."""
        future = self._loop.create_future()
        self._queue.put((row, future))
        return future

    def _run(self) -> None:
        database = sqlite3.connect(self._path, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute(_TABLE)
        while True:
            waiting = [self._queue.get()]
            try:
                while len(waiting) < _LARGEST_BATCH:
                    waiting.append(self._queue.get_nowait())
            except Empty:
                pass
            database.execute("BEGIN IMMEDIATE")
            rows = sorted(row for row, _ in waiting)
            database.executemany("INSERT OR IGNORE INTO reports VALUES (?, ?, ?)", rows)
            database.execute("COMMIT")
            self._loop.call_soon_threadsafe(_wake, [future for _, future in waiting])


def _wake(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


class Application:
    """The ASGI application."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._commit: GroupCommit | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Store the report of a POST; answer 404 to all else."""
        if scope["method"] != "POST":
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        if self._commit is None:
            self._commit = GroupCommit(self._path, asyncio.get_running_loop())
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        report = msgspec.json.decode(body)
        values = msgspec.json.encode(report["values"]).decode()
        await self._commit.add((bytes.fromhex(report["id"]), report["survey"], values))
        await send({"type": "http.response.start", "status": 201, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": _BODY})


def main() -> None:
    held = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(f"Bare ASGI listens on http://127.0.0.1:{held.getsockname()[1]}", flush=True)
    config = Config(
        Application(sys.argv[1]),
        http="httptools",
        loop="asyncio",
        lifespan="off",
        log_level="critical",
        access_log=False,
        server_header=False,
    )
    Server(config).run([held])


if __name__ == "__main__":
    main()
