"""The log: one line for each answer, and nothing in it that a request brought along."""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import islice
from threading import Thread

import pytest
import requests
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.routing import Rule

from deniably.survey.report import LARGEST_BODY
from deniably.survey.survey import Survey
from deniably_server.watching.journal import Journal
from deniably_server.watching.request_facts import (
    STEPS,
    AnsweredRequest,
    milliseconds,
    name_request,
)
from support.crowd import until
from support.material import Server, a_report, survey_named

METHODS = "GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|other"
LINE = re.compile(rf"({METHODS}) (/\S*|no route) (\d{{3}}) (\d+) ms ([0-9a-f]{{16}})")
CANARY = "canary-203-0-113-77"
BRING = (
    "User-Agent", "Referer", "Cookie", "X-Forwarded-For", "Forwarded", "X-Request-Id", "Accept",
    "Deniably-Request", "Authorization", "Deniably-Author", "If-None-Match",
)  # fmt: skip


def lines(server: Server) -> list[str]:
    """What a server that was stopped has logged of answers."""
    logged = server.log.splitlines()
    assert logged[0].startswith("Deniably listens on ")
    said = ("Deniably listens", "Open this once", "Or, for tokens")
    return [line for line in logged if not line.startswith(said)]


def addresses(app: Flask) -> list[str]:
    """One of every route, with a canary in each part that is free."""
    rules: list[Rule] = list(app.url_map.iter_rules())
    return sorted({re.sub(r"<[^>]+>", CANARY, rule.rule) for rule in rules})


def test_nothing_that_a_request_brings_is_logged_on_any_route(server: Server, app: Flask) -> None:
    survey = survey_named(CANARY)
    server.publish(survey)
    sent = 0
    headers = dict.fromkeys(BRING, CANARY)
    for path in [*addresses(app), f"/{CANARY}", f"/s/{CANARY}/{CANARY}"]:
        for method in ("GET", "POST", "PATCH", "DELETE", "PROPFIND", "CANARY"):
            # A connection each: the server ends one whose body it has no use for.
            with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as line:
                line.request(method, f"{path}?q={CANARY}", CANARY.encode(), headers)
                line.getresponse().read()
            sent += method != "CANARY"  # which HTTP has not, so that it gets no further
    server.stop()

    logged = lines(server)

    # Waiting for the server to answer made some lines, too.
    assert len(logged) >= sent
    assert all(LINE.fullmatch(each) for each in logged), logged
    assert "canary" not in server.log.lower()
    templates = {rule.rule for rule in app.url_map.iter_rules()}
    assert {LINE.fullmatch(each)[2] for each in logged} == {*templates, "no route"}  # type: ignore[index]
    assert {each.split()[0] for each in logged} >= {"other", "GET", "PATCH"}


@pytest.mark.parametrize(
    "body", [b"", b"x" * (LARGEST_BODY + 1)], ids=["an empty report", "a report that is too long"]
)
def test_the_line_has_the_id_that_the_sender_was_told(server: Server, body: bytes) -> None:
    survey = survey_named()
    server.publish(survey)

    good = server.post(survey, a_report(survey))
    kind = {"Content-Type": "application/json"}
    bad = requests.post(
        f"{server.url}/api/surveys/workplace/reports", body, headers=kind, timeout=30
    )
    server.stop()

    found = {LINE.fullmatch(each)[5]: each for each in lines(server)}  # type: ignore[index]
    assert found[good.headers["Deniably-Request"]].startswith(
        "POST /api/surveys/<name>/reports 201 "
    )
    told = bad.json()["instance"].removeprefix("/requests/")
    assert told == bad.headers["Deniably-Request"]
    assert found[told].startswith(f"POST /api/surveys/<name>/reports {bad.status_code} ")


def test_each_request_has_a_new_id(server: Server) -> None:
    told = [
        requests.get(f"{server.url}/healthz", timeout=30, headers={"Deniably-Request": "0" * 16})
        for _ in range(3)
    ]

    assert len({each.headers["Deniably-Request"] for each in told} - {"0" * 16}) == 3


def test_processes_draw_ids_of_their_own() -> None:
    """Though each draws many at a time."""
    before = {name_request({}) for _ in range(400)}
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.write(writing, "".join(name_request({}) for _ in range(400)).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="ascii") as told:
        theirs = re.findall("[0-9a-f]{16}", told.read())
    os.waitpid(child, 0)
    ours = {name_request({}) for _ in range(400)}

    assert len(before | set(theirs) | ours) == 1200


def test_what_a_browser_keeps_has_no_id(client: FlaskClient, survey: Survey) -> None:
    for path in ("/web/form/form.js", "/api/surveys/workplace", "/nothing"):
        answer = client.get(path)
        kept = answer.headers["Cache-Control"] != "no-store"
        assert ("Deniably-Request" in answer.headers) != kept


@pytest.mark.parametrize("form", ["json", "off"])
def test_the_log_may_be_json_or_off(serve: Callable[..., Server], form: str) -> None:
    server = serve("--log", form)
    requests.get(f"{server.url}/s/{CANARY}", timeout=30)
    server.stop()

    logged = [json.loads(each) for each in lines(server)]

    if form == "off":
        assert logged == []
        return
    assert set(logged[-1]) == {"method", "route", "status", "milliseconds", "request"}
    assert ("GET", "/s/<name>", 404) in [(e["method"], e["route"], e["status"]) for e in logged]


def test_lines_wait_and_lose_their_order() -> None:
    out = io.StringIO()
    journal = Journal(out=out)
    came = [AnsweredRequest("GET", "/b", 200, 1, "2"), AnsweredRequest("GET", "/a", 200, 1, "9")]
    came.append(AnsweredRequest("GET", "/b", 200, 1, "1"))

    for each in came:
        journal.add(each)
    assert out.getvalue() == ""
    journal.write()

    assert out.getvalue().splitlines() == [
        "GET /a 200 1 ms 9",
        "GET /b 200 1 ms 1",
        "GET /b 200 1 ms 2",
    ]


def flood(journal: Journal, lines: int) -> None:
    for index in range(lines):
        journal.add(AnsweredRequest("GET", "/", 200, 1, f"{index:016x}"))


def test_a_flood_of_lines_does_not_wait_for_the_minute() -> None:
    out = io.StringIO()

    flood(Journal(out=out), 10_000)

    until(lambda: len(out.getvalue().splitlines()) == 10_000)


def test_a_log_that_nobody_takes_keeps_nobody_waiting_and_fills_no_memory() -> None:
    """A terminal that was stopped, a collector that hangs."""
    read, write = os.pipe()
    with open(read, "rb") as end, open(write, "w", encoding="ascii") as out:
        journal = Journal(out=out)

        flood(journal, 50_000)

        assert len(journal._answers) == 20_000
        assert sum(1 for _ in islice(end, 10_000)) == 10_000, "and then it goes on"
        writing = Thread(target=journal.write)
        writing.start()
        assert sum(1 for _ in islice(end, 20_000)) == 20_000
        writing.join()


def test_a_log_that_takes_nothing_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk; or the standard error was closed."""
    full = open("/dev/full", "w", encoding="ascii")  # noqa: SIM115  # closing it fails
    journal = Journal(out=full)
    flood(journal, 1)
    journal.write()
    with suppress(OSError):
        full.close()
    monkeypatch.setattr(sys, "stderr", None)
    journal = Journal()
    flood(journal, 1)
    journal.write()


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, 1), (0.0004, 1), (0.0011, 2), (0.003, 5), (0.05, 50), (1e9, 50_000)]
)
def test_durations_are_logged_in_coarse_steps(seconds: float, told: int) -> None:
    assert milliseconds(seconds) == told
    assert told in STEPS
