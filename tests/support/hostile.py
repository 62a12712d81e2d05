"""Hostile requests, many: drawn from the served description, and broken below it, on the wire."""

from __future__ import annotations

import gzip
import json
import random
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from flask import Flask
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.reporting import with_reporter

from deniably_server.web.problems import KINDS

if TYPE_CHECKING:
    from schemathesis.schemas import APIOperation

URIS = {kind.uri: kind.status for kind in KINDS.values()}
Tally = Counter[int]
"""How many requests were answered with which status; 0 where the connection was ended."""


# --- drawn from the description -----------------------------------------------------------------


def draw(app: Flask, right: int, wrong: int, headers: Mapping[str, str]) -> Tally:
    """So many right requests of every operation and so many wrong ones, by who has these headers.

    To draw costs more than to answer, and HEAD asks for what GET does: it gets the same ones.

    Raises AssertionError where an answer is a fault, or is not what the description says.
    """
    import schemathesis  # takes a second, and every collection imports this module
    from schemathesis import GenerationMode

    found: Tally = Counter()
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", app)
    every = [result.ok() for result in schema.get_all_operations()]
    asked = {operation.path for operation in every if operation.method == "get"}
    for operation in every:
        if operation.method == "head" and operation.path in asked:
            continue
        counts = {GenerationMode.POSITIVE: right}
        if _can_be_wrong(operation):
            counts[GenerationMode.NEGATIVE] = wrong
        for mode, count in counts.items():
            # Where there is nothing to draw, there is nothing to be said of it.
            with (
                with_reporter(lambda _: None),
                suppress(schemathesis.errors.SchemathesisError, Unsatisfiable),
            ):
                _run(operation.as_strategy(generation_mode=mode), count, headers, found)
    return found


def _can_be_wrong(operation: APIOperation[Any, Any, Any, Any]) -> bool:
    """Whether anything but a name in the address is asked for: every text is a name."""
    asked = [each.definition for each in operation.iter_parameters()]
    return bool(operation.body) or any(
        each["in"] != "path" or each["schema"] != {"type": "string"} for each in asked
    )


def _run(strategy: Any, count: int, headers: Mapping[str, str], found: Tally) -> None:
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        print_blob=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def send(case: Any) -> None:
        _answered(case, case.operation.definition.raw, headers, found)
        if case.method == "GET":
            case.method = "HEAD"
            head = case.operation.schema[case.path]["HEAD"]
            _answered(case, head.definition.raw, headers, found)

    send()


def _answered(case: Any, operation: Any, headers: Mapping[str, str], found: Tally) -> None:
    answer = case.call(headers=dict(headers))
    found[answer.status_code] += 1
    check(answer.status_code, answer.headers, answer.content, case.method)
    described = operation["responses"]
    assert str(answer.status_code) in described or answer.status_code in (404, 405), (
        f"{case.method} {case.path} {answer.status_code} is not described"
    )
    content = described.get(str(answer.status_code), {}).get("content", {})
    kind, *_ = answer.headers["content-type"][0].split(";") if content else [""]
    assert not content or kind in content, f"{case.path} {kind} is not described"


def check(status: int, headers: Mapping[str, Any], body: bytes, method: str) -> None:
    """An answer is no fault, and a refusal is a problem of the table."""
    assert status < 500, (status, body)
    if status < 400 or method == "HEAD":
        return
    kind = headers["content-type"]
    kind = kind[0] if isinstance(kind, list) else kind
    body = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
    if kind.startswith("text/html"):  # a page says the same to people
        assert b"<h1>" in body, (status, body)
        return
    assert kind == "application/problem+json", (status, kind)
    document = json.loads(body)
    assert (
        document["type"] == "about:blank" or URIS[document["type"]] == status == document["status"]
    )


# --- broken below it ----------------------------------------------------------------------------

_PATHS = (
    b"/api/surveys/workplace/reports", b"/api/surveys", b"/api/surveys/workplace", b"/s/workplace",
    b"/api/tokens", b"/api/admin", b"/register?after=", b"/api/surveys/workplace/tickets",
    b"/api/surveys/workplace/batches",
    b"/api/surveys/workplace/difference?question=stolen&share=", b"/web/", b"/metrics", b"/",
)  # fmt: skip
_TAKING = (
    *[b"/api/surveys/workplace/reports"] * 4, b"/api/surveys/workplace/tickets", b"/api/admin",
    b"/api/surveys",
)  # fmt: skip
_METHODS = (
    b"GET",
    b"POST",
    b"POST",
    b"POST",
    b"PATCH",
    b"DELETE",
    b"HEAD",
    b"PUT",
    b"TRACE",
    b"gEt",
)
_KINDS = (
    *[b"application/json"] * 6, *[b"application/x-ndjson"] * 2, b"application/yaml",
    b"text/plain", b"", b"application/json; charset=utf-16", b"multipart/form-data", b"\xff\xfe",
)  # fmt: skip
_VERSIONS = (b"HTTP/9", b"HTTP/1.0", b"", b"FTP/1.1")
_DEEP = 20_000
_BODIES: tuple[Callable[[random.Random], bytes], ...] = (
    lambda r: r.randbytes(r.randrange(200)),
    lambda r: b"[" * r.randrange(_DEEP),
    lambda r: b'{"values":' * r.randrange(_DEEP),
    lambda r: b"- " * r.randrange(_DEEP) + b"x",
    lambda r: b"a: &a [*a, *a]\nb: *a",
    lambda r: b"".join(
        b"%c: &%c [%s]\n" % (97 + i, 97 + i, b",".join([b"*%c" % (96 + i)] * 9))
        for i in range(1, 20)
    ),
    lambda r: b'{"id": ' + b"9" * r.randrange(1, 6000) + b"}",
    lambda r: b'{"id": NaN, "survey": Infinity, "values": -1e999}',
    lambda r: b'{"id":"\\ud800","survey":"\\u0000","values":{"stolen":[1e400]}}',
    lambda r: "\u202e\U0001f600\u0000é".encode("utf-16"),
    lambda r: b"\x1f\x8b\x08" + r.randbytes(50),
    lambda r: b"\n" * r.randrange(3000),
    lambda r: b'{"name": !!python/object/apply:os.system ["true"]}',
    lambda r: (
        b'{"invitation":"'
        + b"A" * r.randrange(99)
        + b'","blinded":"'
        + b"ff" * r.randrange(600)
        + b'"}'
    ),
    lambda r: b'{"secret":"' + r.randbytes(20).hex().encode() + b'"}',
    lambda r: b'{"role":"operator","days":1e9}',
    lambda r: b'{"state":"closed","state":"open"}',
)
_HEADERS: tuple[Callable[[random.Random], bytes], ...] = (
    lambda r: b"Authorization: Bearer " + r.randbytes(20).hex().encode(),
    lambda r: b"Authorization: Bearer deniably_" + b"0" * 12 + b"_" + b"A" * 43,
    lambda r: b"Authorization: \xff\x80 \x01",
    lambda r: b"Content-Encoding: gzip",
    lambda r: b"If-None-Match: " + b'W/"' * r.randrange(40),
    lambda r: b"Range: bytes=" + b"0-0," * r.randrange(40),
    lambda r: b"Accept: " + b"*/*;q=1e999," * r.randrange(20),
    lambda r: b"Accept-Encoding: gzip;q=NaN, \xff",
    lambda r: b"Accept-Language: " + b"de-" * r.randrange(40),
    lambda r: b"X-Forwarded-For: " + b"999.9.9.9," * r.randrange(40),
    lambda r: b"Deniably-Ticket: " + r.randbytes(60).hex().encode(),
    lambda r: (
        b"Deniably-Author: " + r.randbytes(32).hex().encode() + b"\r\nDeniably-Signature: \xe9"
    ),
    lambda r: b"Cookie: " + b"a=b;" * r.randrange(99),
    lambda r: b"Expect: 100-continue",
    lambda r: b"X: " + b"y" * r.randrange(9000),
)
_BROKEN: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    lambda r, whole: whole[: r.randrange(len(whole))],
    lambda r, whole: whole.replace(b"\r\n", b"\n"),
    lambda r, whole: whole.replace(b"HTTP/1.1", r.choice(_VERSIONS)),
    lambda r, whole: whole.replace(b"Host: x", b"Host: x\r\nHost: y"),
    lambda r, whole: whole.replace(b"Content-Length: ", b"Content-Length: -"),
    lambda r, whole: whole.replace(b"Content-Length: ", b"Content-Length: 99999999999999999999"),
    lambda r, whole: whole.replace(b"Host: x", b"Transfer-Encoding: chunked"),
    lambda r, whole: whole.replace(b" /", b" //%2e%2e/%00%ff/", 1),
    lambda r, whole: whole.replace(b" /", b" http://[::1/", 1),
    lambda r, whole: r.randbytes(r.randrange(1, 300)),
    lambda r, whole: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + whole,
)  # fmt: skip


def a_request(r: random.Random, last: bool) -> tuple[bytes, bool]:
    """A request, and whether HTTP itself is whole in it."""
    body = r.choice(_BODIES)(r) if r.random() < 0.8 else b""
    line = b"POST " + r.choice(_TAKING) if r.random() < 0.6 else _somewhere(r)
    lines = [
        line + b" HTTP/1.1", b"Host: x", b"Content-Type: " + r.choice(_KINDS),
        *(r.choice(_HEADERS)(r) for _ in range(r.randrange(3))),
    ]  # fmt: skip
    if last:
        lines.append(b"Connection: close")
    if r.random() < 0.3:
        lines.append(b"Transfer-Encoding: chunked")
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
    else:
        lines.append(b"Content-Length: %d" % len(body))
    whole = b"\r\n".join(lines) + b"\r\n\r\n" + body
    return (whole, True) if r.random() < 0.8 else (r.choice(_BROKEN)(r, whole), False)


def _somewhere(r: random.Random) -> bytes:
    return r.choice(_METHODS) + b" " + r.choice(_PATHS) + _tail(r)


def _tail(r: random.Random) -> bytes:
    return r.choice(
        [b"", b"", b"", b"%", b"?a=%ff", b"?" + b"q" * r.randrange(2000), b"9" * 30, b"/%2e%2e"]
    )


def pour(port: int, count: int, seed: int, people: int = 8) -> Tally:
    """At least ``count`` requests that were read, by some people at once, up to four on each
    connection."""
    with ThreadPoolExecutor(people) as threads:
        share = -(-count // people)
        return sum(
            threads.map(lambda one: _pour(port, share, random.Random(seed + one)), range(people)),
            Counter(),
        )


def _pour(port: int, count: int, r: random.Random) -> Tally:
    found: Tally = Counter()
    while found.total() < count:
        length = r.choice((1, 1, 1, 2, 4))
        requests = [a_request(r, last=index == length - 1) for index in range(length)]
        whole = all(is_whole for _, is_whole in requests)
        received = _received(port, b"".join(text for text, _ in requests), whole)
        # Behind one that ends its connection the others are not even read.
        found.update(list(_statuses(received)) or [0])
    return found


def _received(port: int, data: bytes, whole: bool) -> bytes:
    received = b""
    # Of what is not whole the server may wait for the rest; nobody waits for its patience here.
    patience = 60 if whole else 0.2
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        with suppress(ConnectionError):
            line.sendall(data)
        line.settimeout(patience)
        with suppress(ConnectionError, *([] if whole else [TimeoutError])):
            while more := line.recv(65536):
                received += more
    return received


def _statuses(received: bytes) -> Iterator[int]:
    """Of each answer its status, checked."""
    while received.startswith(b"HTTP/1."):
        head, _, rest = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in lines)}
        status = int(first.split()[1])
        length = int(headers.get("content-length", 0))
        # An answer to HEAD has a length and no body.
        body = b"" if rest.startswith(b"HTTP/1.") else rest[:length]
        received = rest[len(body) :]
        if status == 100:
            continue
        assert status < 500, (status, body)
        if body and status >= 400 and "deniably-request" in headers:
            check(status, {"content-type": headers["content-type"]}, body, "GET")
        yield status
