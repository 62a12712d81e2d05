"""A server's numbers: right sums, for monitors and operators, and no clock of who answered."""

from __future__ import annotations

import fcntl
import re
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest
import requests
from flask import Flask
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from deniably.survey.survey import Survey
from deniably_server import serving
from deniably_server.storage.store import Store
from deniably_server.storage.tables import owners
from deniably_server.storage.writing.commit import Outcome
from deniably_server.watching.coarse_counts import EVERY
from deniably_server.watching.metrics import Metrics
from deniably_server.watching.request_facts import AnsweredRequest
from support.crowd import until
from support.material import Server, a_report, assert_problem, new_token, survey_named
from support.nursery import Nursery
from support.stored import register_size

REPORTS = "/api/surveys/<name>/reports"


def numbers(page: bytes) -> dict[str, float]:
    """Every sample of a page, by its name and labels, read by Prometheus' own parser."""
    return {
        sample.name
        + "".join(f" {value}" for _, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    }


def answer(status: int = 201, route: str = REPORTS, took: int = 5) -> AnsweredRequest:
    return AnsweredRequest("POST", route, status, took, "0" * 16)


def full() -> float:
    """The room in a register that is full."""
    return 0


def token(app: Flask, role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {new_token(app.extensions['deniably'], role)}"}  # type: ignore[arg-type]


def test_only_a_monitor_and_an_operator_see_the_numbers(app: Flask, client: FlaskClient) -> None:
    assert_problem(client.get("/metrics"), 401, "unauthorised")
    for role in ("author", "analyst"):
        assert_problem(client.get("/metrics", headers=token(app, role)), 403, "forbidden")

    for role in ("monitor", "operator"):
        page = client.get("/metrics", headers=token(app, role))

        assert page.status_code == 200
        assert page.mimetype == "text/plain"
        assert page.headers["Cache-Control"] == "no-store"
        assert "deniably_queue_length" in numbers(page.data)


def test_requests_commits_and_outcomes_are_counted(
    app: Flask, client: FlaskClient, survey: Survey
) -> None:
    reports = [a_report(survey).canonical for _ in range(20)]
    for body in [*reports, *reports[:10]]:
        client.post("/api/surveys/workplace/reports", data=body, content_type="application/json")
    client.post(
        "/api/surveys/workplace/batches",
        data=b"\n".join([*(a_report(survey).canonical for _ in range(10)), *[b"{}"] * 10]),
        content_type="application/x-ndjson",
        headers=token(app, "author"),
    )

    found = numbers(client.get("/metrics", headers=token(app, "operator")).data)

    assert found[f"deniably_requests_total {REPORTS} 2xx"] == 30
    assert found["deniably_reports_total stored"] == 30
    assert found["deniably_reports_total replayed"] == 10
    assert found["deniably_batch_lines_total stored"] == 10
    assert found["deniably_batch_lines_total refused"] == 10
    assert found["deniably_ingest_seconds_bucket +Inf"] == 30
    assert found["deniably_commit_seconds_bucket +Inf"] >= 10


def test_the_room_that_is_left_in_the_register_is_reported(
    app: Flask, client: FlaskClient, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = register_size(app.extensions["deniably"])
    monkeypatch.setattr(owners, "LARGEST_REGISTER", 4 * size)

    found = numbers(client.get("/metrics", headers=token(app, "monitor")).data)

    assert found["deniably_register_room_ratio"] == 0.75


def test_what_people_do_is_counted_in_tens() -> None:
    for count, told in ((9, 0), (10, 10), (19, 10)):
        metrics = Metrics()
        for _ in range(count):
            metrics.add(answer())
            metrics.committed([Outcome.STORED], 0.001, 9)
        found = numbers(metrics.page(full))

        assert found[f"deniably_requests_total {REPORTS} 2xx"] == told
        assert found["deniably_reports_total stored"] == told
        assert found["deniably_ingest_seconds_bucket +Inf"] == told
        assert found["deniably_commit_seconds_bucket +Inf"] == told
        assert found["deniably_queue_length"] == 0


def test_faults_are_counted_one_by_one() -> None:
    metrics = Metrics()
    metrics.add(answer(500))
    metrics.failed()

    found = numbers(metrics.page(full))

    assert found[f"deniably_requests_total {REPORTS} 5xx"] == 1
    assert found["deniably_commit_failures_total"] == 1


def test_looking_more_often_shows_nothing_more() -> None:
    metrics = Metrics()
    start = 1000 * EVERY
    pages = [metrics.page(full, start)]
    for _ in range(10):
        metrics.add(answer())
        pages.append(metrics.page(full, start + EVERY - 1))

    assert len(set(pages)) == 1
    assert (
        numbers(metrics.page(full, start + EVERY))[f"deniably_requests_total {REPORTS} 2xx"] == 10
    )


def test_two_looks_a_moment_apart_are_the_same_look(tmp_path: Path) -> None:
    """Else a reader who asks at the end of five minutes and at the start of the next five sees
    whether somebody answered in between."""
    for folder in (None, tmp_path):
        metrics = Metrics(folder)
        before = metrics.page(full, EVERY - 1)
        for _ in range(10):
            metrics.add(answer())

        assert metrics.page(full, EVERY) == before
        assert metrics.page(full, 2 * EVERY - 2) == before
        assert metrics.page(full, 2 * EVERY - 1) != before


def test_a_clock_that_is_put_back_stops_nothing() -> None:
    metrics = Metrics()
    metrics.page(full, 1e9)
    for _ in range(10):
        metrics.add(answer())

    assert numbers(metrics.page(full, 1e8))[f"deniably_requests_total {REPORTS} 2xx"] == 10


def test_no_sample_is_a_time_a_sum_of_durations_or_of_one_survey() -> None:
    metrics = Metrics()
    for _ in range(10):
        metrics.add(answer())
        metrics.committed([Outcome.STORED], 0.001, 0)

    page = metrics.page(full)

    assert not re.search(rb"_(sum|created)\b", page)
    for line in page.splitlines():
        if not line.startswith(b"#"):
            assert float(line.split()[-1]) % 10 == 0, "a whole ten"
            assert len(line.split()) == 2, "without a time"


def test_several_processes_tell_their_sum(tmp_path: Path) -> None:
    first, second, third = (Metrics(tmp_path) for _ in range(3))
    for metrics in (first, second):
        for _ in range(15):
            metrics.add(answer())
    second.count()  # as it does each minute

    told = first.page(full, 0)
    for _ in range(20):
        third.add(answer())

    assert numbers(told)[f"deniably_requests_total {REPORTS} 2xx"] == 30
    assert second.page(full, 1) == third.page(full, 2) == told, (
        "the same page for these five minutes"
    )
    assert numbers(third.page(full, EVERY))[f"deniably_requests_total {REPORTS} 2xx"] == 50


def test_the_shared_files_hold_nothing_but_names_and_counts(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path)
    metrics.add(answer())
    metrics.committed([Outcome.STORED], 0.001, 0)
    metrics.count()

    (file,) = tmp_path.iterdir()

    assert re.fullmatch(
        r'\[\[\["commit","1"\],1\],\[\["waiting"\],0\],\[\["reports","stored"\],1\],'
        r'\[\["requests","/api/surveys/<name>/reports","2xx"\],1\],\[\["ingest","5"\],1\]\]',
        file.read_text(),
    )


def test_where_the_shared_folder_is_gone_a_process_reports_its_own_metrics(tmp_path: Path) -> None:
    """A cleaner of /tmp, or a full disk."""
    metrics = Metrics(tmp_path / "gone")
    for _ in range(10):
        metrics.add(answer())

    assert numbers(metrics.page(full))[f"deniably_requests_total {REPORTS} 2xx"] == 10


def is_held(folder: Path) -> bool:
    """Whether a process lives that counts into the folder."""
    with (folder / "lock").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_what_a_killed_server_leaves_is_removed_by_the_next(
    nursery: Nursery, database: Path
) -> None:
    def folders() -> set[Path]:
        return set(nursery.litter.glob("deniably-counts-*"))

    serve = partial(Server, database, "--workers", "2", begin=nursery.begin)
    left = folders()
    killed, lives = serve(), serve()
    its_own = folders() - left
    assert len(its_own) == 2
    killed.kill()
    until(lambda: sum(map(is_held, its_own)) == 1)  # its processes do not all end at once

    third = serve()

    assert len(folders() & its_own) == 1, "that of the one that lives"
    assert [each.stop() for each in (lives, third)] == [0, 0]
    assert not folders() & its_own


def test_without_a_folder_for_temporary_files_a_server_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc/nowhere")

    with ExitStack() as stack:
        assert serving._shared(stack, "counts", "/metrics has the counts of one process") is None

    assert capsys.readouterr().err.startswith("/metrics has the counts of one process: ")


@pytest.mark.slow
def test_the_processes_of_a_real_server_tell_one_sum(serve: Callable[..., Server]) -> None:
    server = serve("--workers", "2")
    survey = survey_named()
    server.publish(survey)
    with closing(Store(str(server.database))) as store:
        headers = {"Authorization": f"Bearer {new_token(store, 'operator')}"}
    with ThreadPoolExecutor(8) as people:
        list(people.map(lambda _: server.post(survey, a_report(survey)), range(40)))

    def page(_: int) -> bytes:
        answered = requests.get(f"{server.url}/metrics", headers=headers, timeout=30)
        assert answered.status_code == 200
        return answered.content

    with ThreadPoolExecutor(8) as people:
        pages = set(people.map(page, range(32)))

    # Two where a turn of five minutes ended just then.
    assert len(pages) <= 2
    assert "Traceback" not in server.log
