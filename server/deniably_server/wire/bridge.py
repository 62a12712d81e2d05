"""Adapts the WSGI application, with a thread for each request, to uvicorn's ASGI.

The bridge reads a body before it takes a thread, and sends an answer after the thread is free
again. So a slow client holds a connection and nothing else. Batches may be of any length: a few
threads of their own read them as they arrive. The library a2wsgi takes a thread as soon as the
headers are there, so slow clients could use up the threads.

Reports in the form in which devices send them take no thread, and no environment: they are checked
in the event loop's thread, which costs less than to hand them over, and their answers wait for the
disk together.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache, partial
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from deniably_server.deferred import GONE, ClientGone, DeferredAnswer, EncodedAnswer
from deniably_server.web.body import READ_AT_MOST
from deniably_server.web.file_part import FilePart
from deniably_server.web.problems import error_location
from deniably_server.wire.patience import WHOLE

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment
    from uvicorn._types import (
        ASGIReceiveCallable,
        ASGIReceiveEvent,
        ASGISendCallable,
        HTTPScope,
        Scope,
    )

_SMALL = 1 << 16
"""Any request may hold this many bytes of its body in memory while the rest arrives. uvicorn reads
as much ahead. A report has a few hundred."""
_LARGE = 32
"""The number of larger bodies that are read at the same time; others wait."""
_STREAMS = 8
"""Threads for bodies that are read as they arrive."""
_DISK = 2
"""Threads that read pieces of files."""
_PIECE = 1 << 14
"""An answer is sent in pieces of this many bytes."""

_Answer = tuple[int, list[tuple[bytes, bytes]], "bytes | Iterable[bytes]"]

log = logging.getLogger("deniably")


class Bridge:
    """An ASGI application that runs the WSGI application ``app`` in ``threads`` threads.

    ``streamed(method, path)`` returns whether the body is passed to ``app`` while it arrives.
    ``quick(scope, body, notify)`` begins to answer a request that needs no thread, and returns
    None for any other request. It must call ``notify`` whenever deferred answers may be ready.
    """

    def __init__(
        self,
        app: WSGIApplication,
        threads: int,
        streamed: Callable[[str, str], bool],
        quick: Callable[[HTTPScope, bytes, Callable[[], None]], DeferredAnswer | None],
    ) -> None:
        self._app, self._streamed, self._quick = app, streamed, quick
        self._waiting = Waiting()
        self._threads = ThreadPoolExecutor(threads, "deniably-request")
        self._streams = ThreadPoolExecutor(_STREAMS, "deniably-stream")
        self._disk = ThreadPoolExecutor(_DISK, "deniably-disk")
        self._large = asyncio.Semaphore(_LARGE)

    async def __call__(
        self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        """Serves one request."""
        if scope["type"] != "http":
            return
        try:
            await self._serve(scope, receive, send)
        except BrokenOff:
            pass
        except Exception as error:  # a fault here; the application handles its own
            log.error("around the application: %s", error_location(error))
            raise

    async def _serve(
        self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        if self._streamed(scope["method"], scope["path"]):
            loop = asyncio.get_running_loop()
            environ = _environ(scope)
            environ["wsgi.input"] = _Stream(receive, loop)
            answer = await loop.run_in_executor(self._streams, self._run, environ)
        else:
            request_body = await self._read(receive)
            refusal_marks: dict[str, object] | None = None
            if (awaited := self._quick(scope, request_body, self._waiting.notify)) is not None:
                await self._waiting.until(awaited.is_ready)
                # Only here, in the loop's thread and once: this logs and counts the answer.
                quick = awaited.answer()
                if isinstance(quick, EncodedAnswer):
                    await scope.get("state", {})[WHOLE](quick)
                    return
                refusal_marks = quick.marks
            environ = _environ(scope)
            environ["wsgi.input"] = BytesIO(request_body)
            if refusal_marks is None:
                answer = await self._run_watched(environ, receive)
            else:
                # In the loop's thread: the fast path refuses what is marked at once, without I/O.
                answer = self._run(environ | refusal_marks)
        status, headers, body = answer
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if isinstance(body, FilePart):
            await self._send_pieces(body.read, body, self._disk, receive, send)
            return
        if not isinstance(body, bytes):
            pieces = partial(next, iter(body), b"")
            await self._send_pieces(pieces, body, self._streams, receive, send)
            return
        for at in range(0, len(body) or 1, _PIECE):  # an empty body needs a message, too
            piece, more = body[at : at + _PIECE], at + _PIECE < len(body)
            await send({"type": "http.response.body", "body": piece, "more_body": more})

    async def _send_pieces(
        self,
        read: Callable[[], bytes],
        body: Iterable[bytes],
        threads: ThreadPoolExecutor,
        receive: ASGIReceiveCallable,
        send: ASGISendCallable,
    ) -> None:
        """Sends a body as it is made, or read from a file, until the client disconnects.

        A thread is taken for each piece, and not while the client reads it. A fault on the way ends
        the connection, so the client sees that the answer is cut off.
        """
        loop = asyncio.get_running_loop()
        gone = asyncio.ensure_future(receive())  # the request was read: only its end can come
        try:
            while piece := await loop.run_in_executor(threads, read):
                if gone.done():  # else a long file would be read to its end for nobody
                    return
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            await loop.run_in_executor(threads, _close, body)

    async def _read(self, receive: ASGIReceiveCallable) -> bytes:
        """Returns the body, cut where it is clearly too long. Raises BrokenOff."""
        message = await receive()  # most bodies are there in one piece
        if message["type"] == "http.request" and not message["more_body"]:
            return message["body"]
        received = bytearray()
        more = _take(message, received)
        del message  # its piece would be held twice while the rest is awaited
        while more and len(received) <= _SMALL:
            more = await _read_on(receive, received)
        if more:
            async with self._large:
                while more and len(received) < READ_AT_MOST:
                    more = await _read_on(receive, received)
        return bytes(received)

    async def _run_watched(self, environ: WSGIEnvironment, receive: ASGIReceiveCallable) -> _Answer:
        """Runs the application in a thread; sets ``ClientGone`` once the client disconnects."""
        environ[GONE] = client = ClientGone()
        watch = asyncio.create_task(_watch(receive, client))
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._run, environ)
        finally:
            watch.cancel()

    def _run(self, environ: WSGIEnvironment) -> _Answer:
        """Runs the application in this thread; returns its whole answer."""
        start = _Start()
        return start.whole(self._app(environ, start))


class _Start:
    """The ``start_response`` of WSGI, which collects what the application writes."""

    def __init__(self) -> None:
        self._begun: list[tuple[int, list[tuple[bytes, bytes]]]] = []
        self._pieces: list[bytes] = []

    def __call__(
        self, status: str, headers: list[tuple[str, str]], *exc_info: object
    ) -> Callable[[bytes], object]:
        """Starts the response, or starts it again after a fault; returns ``write``."""
        self._begun.append((int(status[:3]), [_encoded(*header) for header in headers]))
        return self._pieces.append

    def whole(self, body: Iterable[bytes]) -> _Answer:
        """Returns the answer with this body."""
        begun, pieces = self._begun, self._pieces
        # Without a length an answer is made as it is sent, and may be longer than memory holds.
        streamed = not isinstance(body, list | tuple) and begun and _has_no_length(begun[-1][1])
        if streamed or isinstance(body, FilePart):
            return *begun[-1], body
        try:
            pieces += body
        finally:
            _close(body)
        return *begun[-1], b"".join(pieces)


class Waiting:
    """The requests of a process whose answers wait for the disk; only the event loop's thread looks
    at them."""

    def __init__(self) -> None:
        self._answers: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    async def until(self, is_ready: Callable[[], bool]) -> None:
        """Waits until ``is_ready`` returns True; it is called at once, and again after each
        ``notify``."""
        self._loop = asyncio.get_running_loop()  # before the question, so that no call is lost
        if not is_ready():
            future = self._loop.create_future()
            self._answers.append((is_ready, future))
            await future

    def notify(self) -> None:
        """Lets the event loop check every waiting answer again. Any thread may call this, once for
        many answers."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        answers, self._answers = self._answers, []
        for is_ready, future in answers:
            if not is_ready():
                self._answers.append((is_ready, future))
            elif not future.done():  # it was not cancelled
                future.set_result(None)


def _has_no_length(headers: list[tuple[bytes, bytes]]) -> bool:
    return all(name.lower() != b"content-length" for name, _ in headers)


def _close(body: Iterable[bytes]) -> None:
    """Tells the application that its answer is no longer needed."""
    if close := getattr(body, "close", None):
        close()


async def _watch(receive: ASGIReceiveCallable, client: ClientGone) -> None:
    """Waits until a client disconnects whose request was read."""
    while (await receive())["type"] == "http.request":
        pass
    client.set()


class BrokenOff(Exception):
    """The client disconnected before it had sent the whole body."""


async def _read_on(receive: ASGIReceiveCallable, received: bytearray) -> bool:
    """Appends the next part of a body to ``received``; returns whether more follows.

    Raises BrokenOff.
    """
    return _take(await receive(), received)


def _take(message: ASGIReceiveEvent, received: bytearray) -> bool:
    """Appends a message's part of the body to ``received``; returns whether more follows. Raises
    BrokenOff."""
    if message["type"] != "http.request":
        raise BrokenOff
    received += message["body"]
    return message["more_body"]


class _Stream:
    """A body that a thread reads as it arrives. It ends where the client disconnects."""

    def __init__(self, receive: ASGIReceiveCallable, loop: asyncio.AbstractEventLoop) -> None:
        self._receive, self._loop = receive, loop
        self._received, self._more = bytearray(), True

    def read(self, size: int, /) -> bytes:
        """Returns the next ``size`` bytes, or what is left; waits for them."""
        while self._more and len(self._received) < size:
            coming = _read_on(self._receive, self._received)
            try:
                self._more = asyncio.run_coroutine_threadsafe(coming, self._loop).result()
            except BrokenOff:
                self._more = False
        piece = bytes(self._received[:size])
        del self._received[:size]
        return piece


def _environ(scope: HTTPScope) -> WSGIEnvironment:
    """Returns the WSGI environment (PEP 3333) of a request, without its body."""
    server, client = scope["server"] or ("", None), scope["client"] or ("", 0)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        # Bytes as latin-1, as PEP 3333 wants them.
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1] or ""),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.input_terminated": True,  # Werkzeug may read to the end without a Content-Length
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        if key := _key(name):
            text = value.decode("latin-1")
            # Repeated fields become one list (RFC 9110, section 5.3); a second Host is thereby
            # refused.
            environ[key] = f"{environ[key]},{text}" if key in environ else text
    return environ


@lru_cache(256)
def _encoded(name: str, value: str) -> tuple[bytes, bytes]:
    """Returns a header of an answer as bytes; cached, because most answers have the same
    headers."""
    return name.encode("latin-1"), value.encode("latin-1")


@lru_cache(256)
def _key(name: bytes) -> str:
    """Returns the WSGI key of a header; empty for a name with an underscore.

    In WSGI, X-Forwarded_For would look like X-Forwarded-For, which only a proxy may set.
    """
    if b"_" in name:
        return ""
    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
