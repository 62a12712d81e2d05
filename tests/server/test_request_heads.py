"""The head of a request, on real sockets: one host, and 64 KB at the most."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import suppress

import pytest

from deniably_server.wire.patience import LARGEST_HEAD
from support.material import PublicServer, Server, a_report, survey_named

SURVEY = survey_named()


@pytest.fixture(scope="module", params=[Server, PublicServer], ids=["plain", "tls"])
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    server: Server = request.param(tmp_path_factory.mktemp("running") / "deniably.db")
    server.publish(SURVEY)
    yield server
    assert "Traceback" not in server.log
    server.kill()


def answer_to(server: Server, *parts: bytes) -> bytes:
    """All that a server answers to the parts of a request, each of which is sent by itself."""
    with server.connect() as line:
        received = b""
        with suppress(ConnectionError, ssl.SSLEOFError):  # it may refuse before all is sent
            for part in parts:
                line.sendall(part)
        with suppress(ConnectionError, ssl.SSLEOFError):
            while more := line.recv(65536):
                received += more
        return received


def get(*fields: bytes, version: bytes = b"1.1") -> bytes:
    lines = [b"GET /healthz HTTP/" + version, *fields, b"Connection: close"]
    return b"".join(line + b"\r\n" for line in lines) + b"\r\n"


@pytest.mark.parametrize(
    "fields",
    [(), (b"Host: a.example", b"Host: b.example"), (b"Host: a", b"Host: a"), (b"Host: a b",),
     (b"Host: a/b",), (b"Host: a@b",), (b"Host: \xff",)],
)  # fmt: skip
def test_a_request_names_one_host(running: Server, fields: tuple[bytes, ...]) -> None:
    """RFC 9112, section 3.2: none, several or an invalid one is answered 400."""
    answer = answer_to(running, get(*fields))

    assert answer.startswith(b"HTTP/1.1 400 "), answer[:200]
    assert b'"title":"The request cannot be read"' in answer


def test_an_answer_has_one_date(running: Server) -> None:
    """Also where it is a conditional one: of the register, a definition or a page's script."""
    for path in ("/register", "/handbook", "/api/openapi.json", f"/api/surveys/{SURVEY.name}"):
        request = f"GET {path} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
        head, _, _ = answer_to(running, request.encode()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head[:200]
        assert head.lower().count(b"\r\ndate: ") == 1, path


@pytest.mark.parametrize("host", [b"a.example:8443", b"[2001:db8::7]:443", b"LOCALHOST", b"x_y"])
def test_a_usual_host_is_answered(running: Server, host: bytes) -> None:
    assert answer_to(running, get(b"Host: " + host)).startswith(b"HTTP/1.1 200 ")


def test_http_1_0_knew_no_hosts(running: Server) -> None:
    assert answer_to(running, get(version=b"1.0")).startswith(b"HTTP/1.1 200 ")
    two = get(b"Host: a", b"Host: b", version=b"1.0")
    assert answer_to(running, two).startswith(b"HTTP/1.1 400 ")


FILL = {
    "one field": [b"X: " + b"x" * 70_000 + b"\r\n"],
    "many fields": [b"X-%d: %s\r\n" % (number, b"x" * 900) for number in range(80)],
    "one name": [b"x" * 70_000 + b": y\r\n"],
    "many that are empty": [b"X:\r\n"] * 20_000,
}


@pytest.mark.parametrize("fill", FILL)
@pytest.mark.parametrize("piece", [1 << 20, 8_000])
def test_a_head_of_70_kb_is_refused(running: Server, fill: str, piece: int) -> None:
    """However it arrives: a head that comes in one piece was counted only once it was complete."""
    head = get(b"Host: x", b"".join(FILL[fill]).removesuffix(b"\r\n"))
    parts = [head[at : at + piece] for at in range(0, len(head), piece)]

    answer = answer_to(running, *parts)

    assert b"HTTP/1.1 200" not in answer
    # A socket that is closed before all was read may lose the answer on its way.
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 "), answer[:200]
    assert piece < len(head) or answer, "the answer to a request that was sent whole"


def test_a_long_address_is_part_of_the_head(running: Server) -> None:
    answer = answer_to(running, get(b"Host: x").replace(b"/healthz", b"/" + b"x" * 70_000))

    assert answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 414 ")), answer[:200]


def test_a_head_below_the_limit_is_read_and_heads_are_not_added_up(running: Server) -> None:
    """Nor is a body: ``LARGEST_HEAD`` is of one head."""
    report = a_report(SURVEY).canonical
    fill = b"X: " + b"x" * (LARGEST_HEAD - 1_000)
    usual = get(b"Host: x", fill).replace(b"Connection: close\r\n", b"")
    post = b"\r\n".join(
        [b"POST /api/surveys/workplace/reports HTTP/1.1", b"Host: x", fill, b"Connection: close",
         b"Content-Type: application/json", b"Content-Length: %d" % len(report), b"", report]
    )  # fmt: skip

    answer = answer_to(running, usual + usual + post)

    assert answer.count(b"HTTP/1.1 200 ") == 2
    assert answer.count(b"HTTP/1.1 201 ") == 1
