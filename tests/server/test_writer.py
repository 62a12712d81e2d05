"""The writer: one commit for all that wait, and nobody is told before it."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deniably_server.errors import NotStored, Unavailable
from deniably_server.storage.engines.sqlite import Sqlite, SqliteConnection
from deniably_server.storage.store import Store
from deniably_server.storage.writing import commit, writer
from deniably_server.storage.writing.commit import Outcome, ReportWrite, report_write
from support.crowd import PATIENCE
from support.material import a_report, contents, signed, survey_named

SURVEY = survey_named()


@pytest.fixture
def published(store: Store) -> Iterator[Store]:
    store.publish(SURVEY, signed(SURVEY))
    return store


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of every batch that is committed from now on."""
    sizes: list[int] = []
    real = writer.commit_reports

    def counting(database: SqliteConnection, writes: list[ReportWrite]) -> list[Outcome]:
        sizes.append(len(writes))
        return real(database, writes)

    monkeypatch.setattr(writer, "commit_reports", counting)
    return sizes


def test_reports_that_wait_share_a_commit(published: Store, commits: list[int]) -> None:
    with ThreadPoolExecutor(64) as threads:
        list(threads.map(lambda _: published.add(SURVEY, a_report(SURVEY)), range(640)))

    assert sum(commits) == 640
    assert len(commits) < 320


def test_an_outcome_is_reported_after_the_commit(published: Store, database: Path) -> None:
    for _ in range(20):
        report = a_report(SURVEY)
        published.add(SURVEY, report)
        with closing(sqlite3.connect(database)) as other:  # sees what is committed only
            found = other.execute(
                "SELECT count(*) FROM reports WHERE id = ?", [bytes.fromhex(report.id)]
            )
            assert found.fetchone() == (1,)


def test_a_failed_transaction_stores_nothing_and_fails_every_write(
    published: Store, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published.add(SURVEY, a_report(SURVEY))
    before = contents(database)
    _fail_after_the_insert(monkeypatch)

    def add(_: int) -> type[BaseException] | None:
        try:
            published.add(SURVEY, a_report(SURVEY))
        except NotStored as error:
            return type(error.__cause__)
        return None

    with ThreadPoolExecutor(16) as threads:
        assert set(threads.map(add, range(64))) == {sqlite3.OperationalError}
    assert contents(database) == before

    monkeypatch.undo()
    assert published.add(SURVEY, a_report(SURVEY)) is Outcome.STORED
    assert published.tally("workplace") == published.recount("workplace")


def _fail_after_the_insert(monkeypatch: pytest.MonkeyPatch) -> None:
    real = commit.add_counts

    def add(*arguments: Any) -> None:
        real(*arguments)
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(commit, "add_counts", add)


def test_a_file_that_stays_locked_is_a_failure_and_no_hanging(
    published: Store, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniably_server.storage.engines.sqlite._BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable):
            published.add(SURVEY, a_report(SURVEY))
        other.execute("ROLLBACK")

    assert published.add(SURVEY, a_report(SURVEY)) is Outcome.STORED


def test_closing_stores_what_was_accepted(published: Store, database: Path) -> None:
    reached, gate = threading.Event(), threading.Event()

    class Late(Sqlite):
        def connect(self) -> SqliteConnection:
            reached.set()
            assert gate.wait(PATIENCE)
            return super().connect()

    late = writer.Writer(Late(str(database)))
    with ThreadPoolExecutor(32) as threads:
        outcomes = [threads.submit(_stored, late)]
        assert reached.wait(PATIENCE)  # the writer is at work on the first
        outcomes += [threads.submit(_stored, late) for _ in range(29)]
        while late._queue.qsize() < 29:
            time.sleep(0.001)
        closing_down = threads.submit(late.close)
        gate.set()
        closing_down.result(timeout=PATIENCE)
        assert {each.result(timeout=PATIENCE) for each in outcomes} == {Outcome.STORED}

    assert published.tally("workplace")["stolen"].n == 30
    with pytest.raises(Unavailable):
        _stored(late)


def _stored(late: writer.Writer) -> Outcome:
    entry = report_write(SURVEY, a_report(SURVEY))
    late.begin(entry)
    return entry.wait()[0]
