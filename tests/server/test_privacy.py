"""What a careless client gives away, the server does not keep: a real process, a real file."""

from __future__ import annotations

import http.client
import re
from contextlib import closing
from pathlib import Path

from support.material import Server, a_report, survey_named

TRUTH = "the-true-answer-is-yes"
ADDRESS = "203.0.113.77"
AGENT = "Mozilla/5.0 (Peculiar; Device 4711)"
PLANTED = (TRUTH, ADDRESS, AGENT, "4711", "127.0.0.1")


def test_nothing_that_a_client_gives_away_is_stored_or_logged(
    server: Server, database: Path
) -> None:
    survey = survey_named()
    server.publish(survey)
    path = f"/api/surveys/workplace/reports?answer={TRUTH}"
    headers = {
        "Content-Type": "application/json",
        "User-Agent": AGENT,
        "Referer": f"http://example.org/{TRUTH}",
        "Cookie": f"answer={TRUTH}",
        "X-Answer": TRUTH,
        "X-Forwarded-For": ADDRESS,
        "Forwarded": f"for={ADDRESS}",
        "X-Real-IP": ADDRESS,
        "Authorization": f"Bearer {TRUTH}",
    }
    good = a_report(survey).canonical
    bodies = {
        201: good,
        400: TRUTH.encode(),
        422: good.replace(b'"values":{', b'"values":{"%s":[0],' % TRUTH.encode()),
    }

    for status, body in bodies.items():
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as line:
            line.request("POST", path, body, headers)
            assert line.getresponse().status == status
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as line:
        line.request("GET", f"/{TRUTH}?{TRUTH}", headers=headers)
        assert line.getresponse().status == 404

    running = _files(database)
    names = {path.name.removeprefix("deniably.db") for path in running}
    assert names == {"", "-wal", "-shm", "-serving"}
    _assert_nothing_kept(running)
    server.stop()
    _assert_nothing_kept(_files(database))
    log = server.log.replace(server.url, "")  # where it listens is what it says first
    assert not any(planted in log for planted in PLANTED)


def test_a_fault_of_the_server_logs_nothing_of_the_request(server: Server, database: Path) -> None:
    survey = survey_named()
    server.publish(survey)
    assert server.post(survey, a_report(survey)).status_code == 201
    for path in _files(database):  # the disk goes bad
        path.write_bytes(b"x" * path.stat().st_size)

    report = a_report(survey)
    answer = server.post(
        survey,
        report,
        headers={"User-Agent": AGENT, "X-Answer": TRUTH, "X-Forwarded-For": ADDRESS},
        params={"answer": TRUTH},
    )

    assert answer.status_code == 500
    assert answer.json()["type"] == "/problems/internal"
    server.stop()
    log = server.log.replace(server.url, "")
    assert "POST /api/surveys/<name>/reports 500 NotStored" in log
    assert "DatabaseError" in log
    assert not any(planted in log for planted in (*PLANTED, report.id, "stolen"))


def test_the_log_of_a_quiet_day_is_the_address_the_link_and_a_line_each(server: Server) -> None:
    survey = survey_named()
    server.publish(survey)
    for _ in range(3):
        server.post(survey, a_report(survey))
    server.stop()

    assert re.fullmatch(
        r"Deniably listens on http://127\.0\.0\.1:\d+\n"
        r"Open this once, today or tomorrow: http://127\.0\.0\.1:\d+/studio/start#\S{43}\n"
        r"Or, for tokens to use in a terminal: http://127\.0\.0\.1:\d+/admin#\S{43}\n"
        r"(GET /problems/<name> 200 \d+ ms [0-9a-f]{16}\n)+"
        r"(POST /api/surveys/<name>/reports 201 \d+ ms [0-9a-f]{16}\n){3}",
        server.log,
    )


def _files(database: Path) -> list[Path]:
    return sorted(database.parent.glob("deniably.db*"))


def _assert_nothing_kept(files: list[Path]) -> None:
    for path in files:
        kept = path.read_bytes()
        assert not any(planted.encode() in kept for planted in PLANTED), path.name
