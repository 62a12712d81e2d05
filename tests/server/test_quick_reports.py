"""Usual reports take a shorter way than other requests. Their answers do not tell it: each is the
same, field by field, as that of a report that passes all layers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest

from deniably.survey.report import Report
from deniably_server.api.quick_reports import QuickReports
from deniably_server.deferred import EncodedAnswer, Refused
from deniably_server.errors import TooMany
from deniably_server.guard.rate_limits import limits_of
from deniably_server.storage.store import Store
from deniably_server.watching.request_facts import AnsweredRequest
from support.material import PublicServer, Server, a_report, signed, survey_named

SURVEY = survey_named()
ROUTE = "/api/surveys/<name>/reports"
PATH = f"/api/surveys/{SURVEY.name}/reports"
RATE = 20
LAYERED = (b"X-Twice: 1", b"X-Twice: 2")
"""Fields of a request that passes all layers: none that comes twice is usual."""


def sent(body: bytes, *fields: bytes, host: bytes = b"localhost") -> bytes:
    lines = [f"POST {PATH} HTTP/1.1".encode(), b"Host: " + host, b"Content-Type: application/json",
             b"Content-Length: %d" % len(body), *fields]  # fmt: skip
    return b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def answer(server: Server, request: bytes) -> tuple[int, dict[str, str], bytes]:
    with server.connect() as line:
        line.sendall(request)
        found = HTTPResponse(line)
        found.begin()
        return found.status, {key.lower(): value for key, value in found.getheaders()}, found.read()


def without_chance(found: tuple[int, dict[str, str], bytes]) -> tuple[int, dict[str, str], bytes]:
    """An answer without its moment, the request's id and the receipt."""
    status, fields, body = found
    request = fields.pop("deniably-request")
    assert re.fullmatch("[0-9a-f]{16}", request)
    assert fields.pop("date")
    body = re.sub(rb'"receipt":"[0-9a-f]{64}"', b"", body.replace(request.encode(), b""))
    return status, fields, body


@pytest.fixture(scope="module", params=[Server, PublicServer], ids=["plain", "tls"])
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    database = tmp_path_factory.mktemp("running") / "deniably.db"
    server: Server = request.param(database, "--proxies", "1", "--rate", str(RATE))
    server.publish(SURVEY)
    assert server.post(SURVEY, a_report(SURVEY)).status_code == 201  # it knows the survey now
    yield server
    assert "Traceback" not in server.log
    server.kill()


def other_values(report: Report) -> bytes:
    (name, value), *_ = report.values.items()
    return msgspec.structs.replace(report, values=report.values | {name: [1 - value[0]]}).canonical


@pytest.mark.parametrize(
    ("case", "status"),
    [("new", 201), ("stored before", 200), ("other values", 409), ("no JSON", 400),
     ("another survey", 422), ("too many values", 422), ("host", 400)],
)  # fmt: skip
def test_an_answer_is_that_of_all_layers(running: Server, case: str, status: int) -> None:
    known = a_report(SURVEY)
    assert answer(running, sent(known.canonical))[0] == 201
    body = {
        "stored before": known.canonical,
        "other values": other_values(known),
        "no JSON": b"{",
        "another survey": msgspec.structs.replace(known, survey="0" * 64).canonical,
        "too many values": msgspec.structs.replace(known, values={"no": [0]}).canonical,
    }
    host = b"a b" if case == "host" else b"localhost"

    found = [
        without_chance(
            answer(running, sent(body.get(case) or a_report(SURVEY).canonical, *more, host=host))
        )
        for more in ((), LAYERED)
    ]

    assert found[0] == found[1]
    assert found[0][0] == status


def test_reports_above_the_limit_are_refused_whichever_way_they_take(running: Server) -> None:
    network = b"X-Forwarded-For: 203.0.113.9"
    for number in range(RATE):
        more = LAYERED if number % 2 else ()
        assert answer(running, sent(a_report(SURVEY).canonical, network, *more))[0] == 201

    found = [
        without_chance(answer(running, sent(a_report(SURVEY).canonical, network, *more)))
        for more in ((), LAYERED)
    ]

    assert found[0] == found[1]
    assert found[0][0] == 429
    assert int(found[0][1]["retry-after"]) > 0


def test_a_connection_goes_on_and_takes_the_next_report(running: Server) -> None:
    with running.connect() as line:
        for more in ((), LAYERED, (), (b"Connection: close",)):
            line.sendall(sent(a_report(SURVEY).canonical, b"X-Forwarded-For: 203.0.113.10", *more))
            found = HTTPResponse(line)
            found.begin()
            assert (found.status, len(found.read()) > 0) == (201, True)
        assert found.getheader("Connection") == "close"
        assert line.recv(1) == b""


def test_reports_sent_at_once_are_answered_in_their_order(running: Server) -> None:
    reports = [a_report(SURVEY) for _ in range(4)]
    network = b"X-Forwarded-For: 203.0.113.11"
    closing = (b"Connection: close",)

    with running.connect() as line:
        line.sendall(
            b"".join(
                sent(each.canonical, network, *(closing if each is reports[-1] else ()))
                for each in reports
            )
        )
        received = b""
        while more := line.recv(65536):
            received += more

    receipts = re.findall(rb'"receipt":"([0-9a-f]{64})"', received)
    assert receipts == [each.receipt.encode() for each in reports]


# --- which requests, and what is told -------------------------------------------------------------


def scope(*fields: tuple[bytes, bytes], **more: Any) -> Any:
    usual = {b"host": b"a.example", b"content-type": b"application/json", b"content-length": b"9"}
    found = {"method": "POST", "raw_path": PATH.encode(), "client": ("203.0.113.7", 1)}
    return found | {"headers": [*usual.items(), *fields]} | more


@pytest.fixture
def told() -> list[AnsweredRequest]:
    return []


@pytest.fixture
def quick(survey_at_hand: Store, told: list[AnsweredRequest]) -> QuickReports:
    """With room for two reports a minute."""
    names = frozenset({"a.example"})
    return QuickReports(survey_at_hand, limits_of(2, 0, 0), names, [told.append])


@pytest.fixture
def survey_at_hand(database: Path) -> Iterator[Store]:
    store = Store(str(database))
    store.publish(SURVEY, signed(SURVEY))
    store.survey(SURVEY.name)
    yield store
    store.close()


def nothing() -> None:
    """No answer waits."""


def test_a_report_is_answered_once_it_is_stored_and_then_told(
    quick: QuickReports, survey_at_hand: Store, told: list[AnsweredRequest]
) -> None:
    report, settled = a_report(SURVEY), Event()

    taken = quick(scope(), report.canonical, settled.set)

    assert taken is not None
    assert settled.wait(30)
    assert taken.is_ready()
    assert told == []
    whole = taken.answer()
    assert isinstance(whole, EncodedAnswer)
    assert (whole.status, report.receipt in whole.body.decode()) == (201, True)
    assert survey_at_hand.reports(SURVEY.name) == 1
    ((method, route, status, _, request),) = told
    assert (method, route, status) == ("POST", ROUTE, 201)
    assert f"deniably-request: {request}\r\n".encode() in whole.fields


@pytest.mark.parametrize(
    "other",
    [
        scope(method="PUT"),
        scope(raw_path=b"/api/surveys/nowhere/reports"),
        scope(raw_path=b"/api/surveys//reports"),
        scope(raw_path=b"/api/surveys/reports"),
        scope(raw_path=PATH.replace("w", "%77").encode()),
        scope((b"x-forwarded-for", b"1.1.1.1"), (b"x-forwarded-for", b"2.2.2.2")),
        scope((b"host", b"a.example")),
        scope((b"transfer-encoding", b"chunked")),
        scope(headers=[]),
        scope(headers=[(b"host", b"a.example"), (b"content-type", b"application/json")]),
        scope(headers=[(b"host", b"a.example"), (b"content-length", b"9")]),
        scope(headers=[(b"host", b"evil.example"), (b"content-type", b"application/json"),
                       (b"content-length", b"9")]),
        scope(headers=[(b"host", b"a.example"), (b"content-type", b"application/json;charset=x"),
                       (b"content-length", b"9")]),
    ],
)  # fmt: skip
def test_any_other_request_passes_the_layers_and_is_not_counted_before(
    quick: QuickReports, other: Any
) -> None:
    for _ in range(3):
        assert quick(other, a_report(SURVEY).canonical, nothing) is None

    taken = quick(scope(), a_report(SURVEY).canonical, nothing)

    assert taken is not None
    assert isinstance(taken.answer(), EncodedAnswer)


def test_a_long_report_passes_the_layers(quick: QuickReports) -> None:
    assert quick(scope(), b" " * (1 << 14) + a_report(SURVEY).canonical, nothing) is None


def test_a_report_above_the_limit_is_refused_before_it_is_read(quick: QuickReports) -> None:
    for _ in range(2):
        quick(scope(), b"no report", nothing)

    taken = quick(scope(), b"no report", nothing)

    assert taken is not None
    refused = taken.answer()
    assert isinstance(refused, Refused)
    assert any(isinstance(mark, TooMany) for mark in refused.marks.values())
