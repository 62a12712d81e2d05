"""Answers of servers, read within limits of size and time.

A timeout of requests is that of one piece of an answer: a server that sends a byte now and then
keeps it waiting for ever. Here every request has a time of its own, which grows with what came. It
counts the header, too. What ends a request is a thread that closes its socket, since no setting
of urllib3 does.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from socket import SHUT_RDWR, socket
from typing import Any, cast
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from deniably.core.bounded_files import DOCUMENT, LINE, megabytes
from deniably.core.errors import BadInput
from deniably.core.steering import printable

PATIENCE = 60.0
"""Seconds of a request in which nothing need come, where it names no timeout of its own."""
RATE = 1 << 15
"""Bytes of an answer that gain a second more. A slow telephone line has 56 kbit/s, a fifth of it,
and reads a definition within the patience."""
RATIO = 200
"""How many times as large an answer may become when it is decompressed, from ``DOCUMENT`` bytes on.
Text of reports with a byte of chance each becomes some 40 times as large; gzip can do 1,032."""
_PIECE = 1 << 16
_SLOW = "the server sends too slowly"
_LOOKS = 0.2
"""Seconds between two looks at the requests that are under way."""


# --- time -----------------------------------------------------------------------------------------


class _Request:
    """The time that a request has left. ``line`` is a second handle of its connection's socket."""

    def __init__(self, line: socket) -> None:
        self._line = line
        self._until = time.monotonic() + PATIENCE
        self.late = False
        self.owned = False
        """Whether its answer alone holds the connection, which ends with it."""

    def begin(self, patience: float) -> None:
        """Starts the time of a request that is sent on the connection: ``patience`` seconds."""
        self.late, self._until = False, time.monotonic() + patience
        _WATCH.add(self)

    def came(self, size: int) -> None:
        """Adds the time that ``size`` bytes of the answer earn."""
        self._until += size / RATE

    def read(self) -> None:
        """Ends the watch: the whole answer was read, and the connection may carry another
        request."""
        _WATCH.remove(self)
        if self.owned:
            self._line.close()

    def close(self) -> None:
        """Ends the watch and closes the second handle, as the connection is closed."""
        _WATCH.remove(self)
        self._line.close()

    def ended_late(self) -> bool:
        """Shuts the connection down if its time is over, and returns whether it is.

        A thread that reads from it goes on at once.
        """
        if time.monotonic() > self._until:
            self.late = True
            # Shutdown wakes a reader in another thread, which close does not. The other end may
            # have closed it already.
            with suppress(OSError):
                self._line.shutdown(SHUT_RDWR)
        return self.late


class _Watch:
    """The requests that are under way, and the thread that ends those whose time is over."""

    def __init__(self) -> None:
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Starts again without requests: after a fork, the child has none of its parent's
        threads."""
        # The garbage collector may close an old connection, and so call ``remove``, in a thread
        # that is within ``add``. With a lock that its own thread cannot take again, that thread
        # would wait for ever.
        self._lock = threading.RLock()
        self._open: dict[_Request, None] = {}
        self._looking = False

    def add(self, request: _Request) -> None:
        """Watches a request until ``remove``, and starts the thread if none runs."""
        with self._lock:
            self._open[request] = None
            if not self._looking:
                self._looking = True
                threading.Thread(target=self._look, name="deniably-patience", daemon=True).start()

    def remove(self, request: _Request) -> None:
        """Stops watching a request: its answer was read, or its connection is closed."""
        with self._lock:
            self._open.pop(request, None)

    def _look(self) -> None:
        while True:
            time.sleep(_LOOKS)
            with self._lock:
                # Under the lock: ``add`` must see either that this thread looks on, or that it has
                # ended.
                for each in list(self._open):  # a copy: the collector may remove one meanwhile
                    if each.ended_late():
                        self._open.pop(each, None)
                self._looking = bool(self._open)
                if not self._looking:
                    return


_WATCH = _Watch()


class _Timed:
    """What a connection of urllib3 needs to be watched."""

    _request: _Request | None = None
    _answering = False

    def _new_conn(self) -> socket:
        line: socket = cast(Any, super())._new_conn()
        self._request = _Request(line.dup())  # TLS takes the line itself over, and cannot be copied
        self._request.begin(PATIENCE)
        return line

    def connect(self) -> None:
        cast(Any, super()).connect()
        self._begin()

    def request(self, *arguments: Any, **options: Any) -> None:
        self._begin()  # on a connection that was kept
        cast(Any, super()).request(*arguments, **options)

    def _begin(self) -> None:
        timeout = getattr(self, "timeout", None)
        if self._request is not None:
            self._request.begin(timeout if isinstance(timeout, int | float) else PATIENCE)

    def getresponse(self) -> Any:
        request, self._answering = self._request, True
        answer: Any = None
        try:
            answer = cast(Any, super()).getresponse()
            if request is not None and request.late:
                raise TimeoutError(_SLOW)  # what came of the header may look like all of it
        except BaseException:
            if answer is not None:
                answer.close()
            if request is not None:
                request.close()
                if request.late:
                    raise TimeoutError(_SLOW) from None
            raise
        finally:
            self._answering = False
        if request is not None and self._request is None:
            request.owned = True  # http.client has left the connection to the answer
            weakref.finalize(answer, request.close)
            answer.close = _both(answer.close, request.close)
        answer.watched = request
        return answer

    def close(self) -> None:
        cast(Any, super()).close()
        if self._request is not None and not self._answering:
            self._request.close()
        self._request = None


def _both(first: Callable[[], object], second: Callable[[], object]) -> Callable[[], None]:
    def close() -> None:
        first()
        second()

    return close


class _Plain(_Timed, HTTPConnection):
    pass


class _Secure(_Timed, HTTPSConnection):
    pass


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = cast(Any, _Plain)


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = cast(Any, _Secure)


class BoundedAdapter(HTTPAdapter):
    """An HTTP adapter for ``requests`` that ends a connection when the time for its request is
    over.

    That time is the request's timeout, and a second more for each ``RATE`` bytes received.
    """

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """Makes the pool of connections, with a time limit for each request."""
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        """Makes the pool of connections through a proxy, with a time limit for each request."""
        manager = super().proxy_manager_for(*arguments, **options)
        manager.pool_classes_by_scheme = _POOLS
        return manager


_POOLS = {"http": _PlainPool, "https": _SecurePool}


class BoundedSession(requests.Session):
    """A session of ``requests`` that follows no redirect and does not read the body of a redirect.

    A plain session of ``requests`` reads the whole body of a redirect even if it must not follow
    it, however long the body is.
    """

    def __init__(self) -> None:
        super().__init__()
        for scheme in ("http://", "https://"):
            self.mount(scheme, BoundedAdapter())

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Returns None for every response, so that a token or a device's report goes to no other
        address."""


def bounded_session(*, trust_env: bool = True) -> requests.Session:
    """Returns a session in which every request ends in time. Read the responses with
    ``read_answer`` or ``answer_lines``.

    With ``trust_env`` the session takes proxies and certificates from the environment.
    """
    session = BoundedSession()
    # Nothing but gzip, which ``answer_pieces`` decompresses itself within limits.
    session.headers["Accept-Encoding"] = "gzip"
    session.trust_env = trust_env
    return session


# --- size -----------------------------------------------------------------------------------------


def read_answer(response: requests.Response, limit: int) -> bytes:
    """Returns the body of a streamed response, of at most ``limit`` bytes after decompression.

    Raises BadInput for a longer body and in the cases of ``answer_pieces``, and errors of
    ``requests``: ReadTimeout where the response takes too long, others where the connection
    breaks.
    """
    body = bytearray()  # a list of pieces takes many times as much where each has a byte or two
    for piece in answer_pieces(response):
        body += piece
        if len(body) > limit:
            response.close()
            raise BadInput(
                f"the server sends more than {megabytes(limit)}, and this is read no further: look"
                " whether the address is right",
                host_of(response),
            )
    return bytes(body)


def answer_lines(response: requests.Response, longest: int = LINE) -> Iterator[bytes]:
    """Yields the lines of a streamed response, without their line breaks.

    Raises BadInput for a line of more than ``longest`` bytes, and the errors of ``answer_pieces``.
    """
    rest = bytearray()
    for piece in answer_pieces(response):
        first, *lines = piece.split(b"\n")
        rest += first
        if len(rest) > longest:
            response.close()
            raise BadInput(
                f"the server sends a line of more than {megabytes(longest)}", host_of(response)
            )
        if lines:
            yield bytes(rest)
            yield from lines[:-1]
            rest = bytearray(lines[-1])
    if rest:
        yield bytes(rest)


def answer_pieces(response: requests.Response) -> Iterator[bytes]:
    """Yields the decompressed body of a streamed response in pieces of at most 64 KiB.

    Raises BadInput where decompression makes more than 64 MiB and more than ``RATIO`` times the
    bytes received, or where the response has an encoding other than gzip. Raises ReadTimeout where
    the response takes too long, and other errors of ``requests`` where the connection breaks.
    """
    request: _Request | None = getattr(response.raw, "watched", None)
    decoder = _decoder(response)
    came = made = 0
    for piece in _raw_pieces(response, request):
        came += len(piece)
        for part in _decoded(decoder, piece, response):
            made += len(part)
            if made > max(DOCUMENT, RATIO * came):
                response.close()
                raise BadInput(
                    f"the answer becomes more than {RATIO} times as large when it is decompressed,"
                    " as no reports do: look whether the address is right",
                    host_of(response),
                )
            yield part
    if decoder is not None and came and not decoder.eof:
        raise requests.exceptions.ContentDecodingError("the compressed answer is cut short")


def _raw_pieces(response: requests.Response, request: _Request | None) -> Iterator[bytes]:
    try:
        # Not decoded by urllib3, which would decompress a piece without a limit.
        for piece in response.raw.stream(_PIECE, decode_content=False):
            if request is not None:
                request.came(len(piece))
            yield piece
    except HTTPError as error:
        _check_time(request)
        raise requests.exceptions.ChunkedEncodingError(error) from None
    _check_time(request)  # a body without a length ends where its connection does
    if request is not None:
        request.read()


def _check_time(request: _Request | None) -> None:
    if request is not None and request.late:
        raise requests.exceptions.ReadTimeout(_SLOW)


def _decoder(response: requests.Response) -> Any:
    """What decompresses gzip; None where nothing is compressed."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip"):
        return zlib.decompressobj(16 + zlib.MAX_WBITS)
    response.close()
    raise BadInput(
        f"the answer is compressed as {printable(encoding)[:64]}, and gzip was asked for",
        host_of(response),
    )


def _decoded(decoder: Any, piece: bytes, response: requests.Response) -> Iterator[bytes]:
    if decoder is None:
        yield piece
        return
    try:
        while piece and not decoder.eof:
            yield decoder.decompress(piece, _PIECE)
            piece = decoder.unconsumed_tail
    except zlib.error:
        response.close()
        raise requests.exceptions.ContentDecodingError("the answer is not the gzip that it says") \
            from None  # fmt: skip


def check_no_redirect(response: requests.Response) -> None:
    """Raises BadInput if the response is a redirect, since a token must only go to the address
    that the user named."""
    if response.is_redirect or 300 <= response.status_code < 400:
        to = printable(response.headers.get("Location", ""))[:200]
        response.close()
        raise BadInput(
            f"the server sends you on{f' to {to}' if to else ''}; if you trust that, use it",
            host_of(response),
        )


def host_of(response: requests.Response) -> str:
    """Returns the host of the server that answered, with its port if the URL names one."""
    return urlsplit(response.url).netloc.rpartition("@")[2]
