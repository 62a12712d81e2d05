"""A closing is finished, whatever comes between: nothing tells in which order reports came."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from deniably_server.commands import maintenance
from deniably_server.errors import Unavailable
from deniably_server.storage.engines import postgres as on_postgres
from deniably_server.storage.engines import sqlite
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import Outcome
from deniably_server.storage.writing.order_erasure import erase_order, mark, marked
from support.crowd import until
from support.material import Server, a_report, signed, survey_named
from support.nursery import Nursery

SURVEY, OTHER = survey_named(), survey_named("other")


@pytest.fixture
def closed(address: str) -> Iterator[Store]:
    """A survey that was closed, and not more than that."""
    with closed_at(address) as store:
        yield store


@contextmanager
def closed_at(address: str) -> Iterator[Store]:
    with closing(Store(address)) as store:
        for survey in (SURVEY, OTHER):
            store.publish(survey, signed(survey))
        for _ in range(40):
            store.add(SURVEY, a_report(SURVEY))
        store.close_survey("workplace")
        yield store


def doctor(address: str | Path, *more: str) -> Result:
    return CliRunner().invoke(maintenance.doctor, ["--database", str(address), *more])


def order_is_erased(address: Path | str) -> bool:
    """Whether no closing waits to be finished."""
    with closing(Store(str(address))) as store:
        return store.revealing_order() == []


def test_a_closing_that_was_not_finished_is_found_and_finished_by_the_doctor(
    closed: Store,
) -> None:
    address = closed.engine.address

    sick, traces = doctor(address), doctor(address, "--privacy")
    repaired, healthy = doctor(address, "--repair"), doctor(address, "--privacy")

    told = "workplace: is closed, and the disk may still tell in which order its reports came"
    assert (sick.exit_code, sick.output.splitlines()[0]) == (1, told)
    assert traces.exit_code == 1
    assert "deniably doctor --repair wipes it" in traces.output
    assert (repaired.exit_code, healthy.exit_code) == (0, 0), repaired.output + healthy.output
    assert "nothing tells the order of its reports any more" in repaired.output
    assert closed.tally("workplace") == closed.recount("workplace")


def test_an_order_that_nobody_marked_is_wiped_too(closed: Store) -> None:
    """As of a survey that was closed by hand."""
    with closing(closed.engine.connect()) as database:
        database.execute("DELETE FROM settings WHERE key LIKE 'untidy %'")
        if ":" not in closed.engine.address:
            database.execute("PRAGMA wal_checkpoint")
        assert database.reveals_order("workplace")

    assert doctor(closed.engine.address, "--repair").exit_code == 0

    assert order_is_erased(closed.engine.address)


def test_closing_again_finishes_what_was_left(closed: Store) -> None:
    closed.needs_rewrite.clear()

    closed.close_survey("workplace")

    assert closed.needs_rewrite.is_set(), "a server's eraser waits for this"


def test_a_copy_has_no_order(closed: Store, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"

    made = CliRunner().invoke(maintenance.backup, ["--database", closed.engine.address, str(copy)])

    assert made.exit_code == 0, made.output
    with closing(Store(str(copy))) as store:
        assert store.tally("workplace")["stolen"].n == 40
    assert order_is_erased(copy)
    assert not order_is_erased(closed.engine.address)


def test_nothing_is_left_beside_the_file(database: Path) -> None:
    with closing(Store(str(database))) as store:
        store.publish(SURVEY, signed(SURVEY))
        store.close_survey("workplace")
        store.erase_order()

    assert list(database.parent.iterdir()) == [database]


# --- who reads meanwhile ------------------------------------------------------------------------


def test_while_somebody_sees_what_was_before_it_is_not_done(
    closed: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_SECONDS", 0.1)
    monkeypatch.setattr(on_postgres, "_BUSY_SECONDS", 0.1)
    with closing(closed.engine.connect()) as reader:
        reader.begin_reading()
        reader.execute("SELECT count(*) FROM reports").fetchone()

        with pytest.raises(Unavailable, match="another connection still reads"):
            closed.erase_order()
        assert not order_is_erased(closed.engine.address)

    closed.erase_order()
    assert order_is_erased(closed.engine.address)


def test_on_postgres_somebody_who_reads_just_then_is_waited_for(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not a minute until the next try."""
    with closed_at(postgres) as store, closing(store.engine.connect()) as reader:
        reader.begin_reading()
        reader.execute("SELECT count(*) FROM reports").fetchone()
        monkeypatch.setattr(on_postgres, "sleep", lambda _: reader.rollback())

        store.erase_order()

        assert store.revealing_order() == []


_KEEPER = """
import fcntl, sys
with open(sys.argv[1], "r+b") as index:
    fcntl.lockf(index, fcntl.LOCK_EX, 1, 121)  # of SQLite's locks, that of who folds the log
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_somebody_who_folds_the_log_just_then_is_waited_for(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite waits for who writes or reads, but says at once that it is busy where the log is
    folded by somebody else: a server that takes many reports does so all the time."""
    with closing(Store(str(database))) as store:
        store.publish(SURVEY, signed(SURVEY))
        store.add(SURVEY, a_report(SURVEY))
        store.close_survey("workplace")
        keeper = subprocess.Popen(
            [sys.executable, "-c", _KEEPER, f"{database}-shm"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with keeper:
            assert keeper.stdout
            keeper.stdout.readline()
            monkeypatch.setattr(sqlite, "sleep", lambda _: keeper.communicate("\n"))

            store.erase_order()

        assert store.revealing_order() == []


def test_writers_on_postgres_do_not_wait_while_reports_are_rewritten(postgres: str) -> None:
    with closing(Store(postgres)) as store, closing(engine_at(postgres).connect()) as database:
        for survey in (SURVEY, OTHER):
            store.publish(survey, signed(survey))
        stays = a_report(SURVEY)
        store.add(SURVEY, stays)
        store.close_survey("workplace")
        database.begin_rewriting()
        database.rewrite("workplace")

        told = [store.add(OTHER, a_report(OTHER)), store.add(SURVEY, stays)]
        assert store.tally("workplace")["stolen"].n == 1
        database.commit()

    assert told == [Outcome.STORED, Outcome.REPLAYED]


# --- each report is rewritten once -------------------------------------------------------------


class Watched:
    """A real connection; notes which surveys are rewritten, and does something before it cleans."""

    def __init__(self, database: Connection, before_cleaning: Callable[[], None]) -> None:
        self._database, self._before_cleaning = database, before_cleaning
        self.rewritten: list[str] = []
        self.cleaned: list[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def rewrite(self, survey: str) -> None:
        self.rewritten.append(survey)
        self._database.rewrite(survey)

    def clean(self, surveys: list[str]) -> None:
        self.cleaned.append(surveys)
        self._before_cleaning()
        self._database.clean(surveys)


def full_disk() -> None:
    raise OSError("No space left on device")


def nothing() -> None:
    pass


def test_what_was_rewritten_before_a_fault_is_not_rewritten_again(closed: Store) -> None:
    """A rewrite takes long and holds up writers; only the wiping of what it left is repeated."""
    closed.close_survey("other")
    with closing(closed.engine.connect()) as database:
        first, second = Watched(database, full_disk), Watched(database, nothing)

        with pytest.raises(OSError, match="No space left"):
            erase_order(first)
        left = marked(database)
        erase_order(second)

        assert (first.rewritten, second.rewritten) == (["other", "workplace"], [])
        assert first.cleaned == second.cleaned == [["other", "workplace"]]
        assert left == ["other", "workplace"]
        assert marked(database) == []
        assert not database.reveals_order("workplace")


def test_of_two_that_erase_at_once_one_rewrites(closed: Store) -> None:
    """The second comes while the first cleans: it has the mark still, and the rewrite behind it."""
    with closing(closed.engine.connect()) as one, closing(closed.engine.connect()) as two:
        other = Watched(two, nothing)
        watched = Watched(one, lambda: erase_order(other))

        erase_order(watched)

        assert (watched.rewritten, other.rewritten) == (["workplace"], [])
        assert (watched.cleaned, other.cleaned) == ([["workplace"]], [["workplace"]])
        assert marked(one) == []


def test_a_mark_made_while_the_last_rewrite_is_cleaned_up_stays(closed: Store) -> None:
    with closing(closed.engine.connect()) as one, closing(closed.engine.connect()) as two:

        def marked_anew() -> None:
            two.execute("DELETE FROM settings WHERE key = 'untidy workplace'")
            mark(two, "workplace")

        erase_order(Watched(one, marked_anew))

        assert marked(one) == ["workplace"]
        again = Watched(one, nothing)
        erase_order(again)
        assert again.rewritten == ["workplace"]
        assert marked(one) == []


def test_where_nothing_was_closed_nothing_is_cleaned(closed: Store) -> None:
    closed.erase_order()
    with closing(closed.engine.connect()) as database:
        watched = Watched(database, nothing)

        erase_order(watched)

        assert (watched.rewritten, watched.cleaned) == ([], [])


# --- a server -----------------------------------------------------------------------------------


def test_a_server_erases_the_order_after_a_closing(
    nursery: Nursery, address: str, tmp_path: Path
) -> None:
    server = Server(address, log=tmp_path / "log", begin=nursery.begin)
    try:
        server.publish(SURVEY)
        for _ in range(40):
            server.post(SURVEY, a_report(SURVEY))
        assert server.close(SURVEY).status_code == 200
        until(lambda: order_is_erased(address))
        assert server.stop() == 0
    finally:
        server.kill()


def test_a_server_that_is_killed_while_it_erases_does_so_at_the_next_start(
    nursery: Nursery, database: Path
) -> None:
    serve = partial(Server, database, begin=nursery.begin)
    server = serve()
    try:
        server.publish(SURVEY)
        for _ in range(40):
            server.post(SURVEY, a_report(SURVEY))
        with closing(sqlite3.connect(database, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM reports").fetchone()  # so that it cannot finish
            assert server.close(SURVEY).status_code == 200
            server.kill()
        assert not order_is_erased(database)

        server = serve()

        until(lambda: order_is_erased(database))
    finally:
        server.kill()
