"""The writer: one commit for all that wait, and nobody is told before it."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from deniably.survey.survey import Survey
from deniably_server.errors import NotStored, Unavailable
from deniably_server.storage.engines.sqlite import Sqlite, SqliteConnection
from deniably_server.storage.store import Store
from deniably_server.storage.writing import commit, writer
from deniably_server.storage.writing.commit import (
    BatchWrite,
    Outcome,
    PendingWrite,
    ReportWrite,
    report_write,
)
from support.clock import Clock
from support.crowd import PATIENCE, until
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
    late.close()  # again, which has no effect
    with pytest.raises(Unavailable, match=r"^the server is shutting down$"):
        _stored(late)


def _stored(late: writer.Writer) -> Outcome:
    entry = report_write(SURVEY, a_report(SURVEY))
    late.begin(entry)
    return entry.wait()[0]


# --- in groups ----------------------------------------------------------------------------------


class Gated(Sqlite):
    """A file that lets nobody add anything while the gate is shut."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.reached, self.gate, self.connections = threading.Event(), threading.Event(), 0
        self.gate.set()

    def connect(self) -> SqliteConnection:
        database, self.connections = super().connect(), self.connections + 1
        begin = database.begin_adding

        def when_open() -> None:
            self.reached.set()
            assert self.gate.wait(PATIENCE)
            begin()

        database.begin_adding = when_open  # type: ignore[method-assign]
        return database

    @contextmanager
    def shut(self, found: writer.Writer) -> Iterator[PendingWrite]:
        """The writer stands before the gate with one report; whatever it gets meanwhile waits."""
        self.gate.clear()
        self.reached.clear()
        try:
            first = report_write(SURVEY, a_report(SURVEY))
            found.begin(first)
            assert self.reached.wait(PATIENCE)
            yield first
        finally:
            self.gate.set()


class Account:
    """What an observer is told."""

    def __init__(self) -> None:
        self.commits: list[tuple[int, float, int]] = []
        self.failures = 0

    def committed(self, outcomes: Sequence[Outcome], seconds: float, waiting: int) -> None:
        self.commits.append((len(outcomes), seconds, waiting))

    def failed(self) -> None:
        self.failures += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(writer, "monotonic", clock := Clock())
    return clock


@pytest.fixture
def gated(published: Store, database: Path) -> Gated:
    return Gated(str(database))


@pytest.fixture
def account() -> Account:
    return Account()


@pytest.fixture
def one(gated: Gated, account: Account, clock: Clock) -> Iterator[writer.Writer]:
    """A writer before a gate."""
    with closing(writer.Writer(gated, account)) as found:
        yield found


def begun(found: writer.Writer, survey: Survey = SURVEY, count: int = 1) -> list[ReportWrite]:
    writes = [report_write(survey, a_report(survey)) for _ in range(count)]
    for write in writes:
        found.begin(write)
    return writes


def begun_batch(found: writer.Writer, count: int, survey: Survey = SURVEY) -> BatchWrite:
    batch = BatchWrite(survey)
    for _ in range(count):
        batch.add(a_report(survey))
    found.begin(batch)
    return batch


def test_a_transaction_has_256_reports_at_the_most(
    one: writer.Writer, gated: Gated, account: Account
) -> None:
    with gated.shut(one):
        writes = begun(one, count=300)
    one.close()

    assert [write.outcome() for write in writes] == [Outcome.STORED] * 300
    assert [count for count, _, _ in account.commits] == [1, 256, 44]


def test_a_batch_is_a_transaction_of_its_own_in_its_turn(
    one: writer.Writer, gated: Gated, account: Account, clock: Clock
) -> None:
    with gated.shut(one) as first:
        works = [first, *begun(one, count=2), begun_batch(one, 5), *begun(one, count=3)]
        clock.now += 2.5

    assert [len(work.wait()) for work in works] == [1, 1, 1, 5, 1, 1, 1]
    until(lambda: len(account.commits) == 4)
    # The batch was taken together with the two before it, so three wait behind each.
    assert account.commits == [(1, 2.5, 6), (2, 0, 3), (5, 0, 3), (3, 0, 0)]
    assert gated.connections == 1


def test_each_that_waited_in_a_group_has_its_own_outcome(
    one: writer.Writer, gated: Gated, published: Store
) -> None:
    known = a_report(SURVEY)
    published.add(SURVEY, known)
    nowhere = survey_named("nowhere")
    with gated.shut(one):
        writes = [report_write(SURVEY, known), report_write(nowhere, a_report(nowhere))]
        for write in writes:
            one.begin(write)
        writes += begun(one)

    found = [write.outcome() for write in writes]

    assert found == [Outcome.REPLAYED, Outcome.UNKNOWN, Outcome.STORED]


def test_a_fault_reaches_those_of_its_transaction_and_nobody_else(
    one: writer.Writer, gated: Gated, account: Account, published: Store
) -> None:
    with gated.shut(one) as before:
        wrong = begun_batch(one, 3)
        wrong.strata.append(0)  # the columns do not fit
        (after,) = begun(one)

    assert before.wait() == after.wait() == [Outcome.STORED]
    with pytest.raises(NotStored, match=r"^what was sent could not be stored$") as fault:
        wrong.wait()
    assert isinstance(fault.value.__cause__, ValueError)
    assert published.tally("workplace")["stolen"].n == 2
    assert published.tally("workplace") == published.recount("workplace")
    one.close()
    assert ([count for count, _, _ in account.commits], account.failures) == ([1, 1], 1)
    assert gated.connections == 2, "what failed is rolled back with its connection"


@pytest.mark.parametrize("works", [True, False])
def test_who_waits_together_is_called_once_when_all_are_settled(
    one: writer.Writer, gated: Gated, works: bool
) -> None:
    calls: list[list[bool]] = []

    def call() -> None:
        calls.append([write.is_settled() for write in writes])

    with gated.shut(one):
        writes = [report_write(SURVEY, a_report(SURVEY), call) for _ in range(3)]
        for write in writes:
            one.begin(write)
        begun(one)  # who waits without being called
        if not works:
            writes[1].cells = [("stolen", [])]  # type: ignore[list-item]  # which cannot be counted
    one.close()

    assert calls == [[True] * 3]
    for write in writes:
        if works:
            assert write.outcome() is Outcome.STORED
        else:
            with pytest.raises(NotStored):
                write.wait()


def test_the_thread_has_a_name_and_holds_up_no_exit(gated: Gated) -> None:
    before = set(threading.enumerate())

    with closing(writer.Writer(gated)):
        (thread,) = (
            each for each in set(threading.enumerate()) - before if each.name == "deniably-writer"
        )

        assert thread.daemon
    assert not thread.is_alive()


# --- whether it can store -----------------------------------------------------------------------


def test_a_commit_shows_for_a_minute_that_the_database_can_store(
    one: writer.Writer, gated: Gated, clock: Clock, account: Account
) -> None:
    begun(one)[0].wait()
    assert until_told(account, 1) == (1, 0, 0)
    clock.now += 59.9
    gated.gate.clear()
    one.check()
    gated.gate.set()
    assert len(account.commits) == 1, "nothing was tried"

    clock.now += 0.1
    one.check()

    assert until_told(account, 2) == (0, 0, 0)
    gated.gate.clear()
    clock.now += 59.9
    one.check()
    gated.gate.set()


def until_told(account: Account, count: int) -> tuple[int, float, int]:
    until(lambda: len(account.commits) == count)
    return account.commits[-1]


def test_one_who_asks_tries_whether_a_new_writer_can_store(
    one: writer.Writer, database: Path, account: Account
) -> None:
    before = contents(database)

    one.check()

    assert until_told(account, 1) == (0, 0, 0)
    assert contents(database) == before


def test_while_one_tries_nobody_else_does_or_waits(
    one: writer.Writer, gated: Gated, account: Account
) -> None:
    gated.gate.clear()
    with ThreadPoolExecutor(1) as thread:
        trying = thread.submit(one.check)
        assert gated.reached.wait(PATIENCE)
        with pytest.raises(Unavailable, match=r"^the last transaction failed$"):
            one.check()
        gated.gate.set()
        trying.result(PATIENCE)

    one.check()
    one.close()
    assert len(account.commits) == 1


def test_after_a_failure_a_second_passes_before_it_is_tried_again(
    one: writer.Writer, gated: Gated, clock: Clock, account: Account
) -> None:
    begun(one)[0].wait()
    fail(one)
    for later in (0, 0.9):  # at the same instant as a commit, too
        clock.now += later
        gated.gate.clear()
        with pytest.raises(Unavailable, match=r"^the last transaction failed$"):
            one.check()
        gated.gate.set()
    clock.now += 0.1
    one.check()

    assert until_told(account, 2) == (0, 0, 0)
    fail(one)
    clock.now += 0.5
    begun(one)[0].wait()
    one.check()
    assert until_told(account, 3) == (1, 0, 0), "a report that was stored shows it, too"


def fail(found: writer.Writer) -> None:
    wrong = BatchWrite(SURVEY)
    wrong.add(a_report(SURVEY))
    wrong.values.pop()
    found.begin(wrong)
    with pytest.raises(NotStored):
        wrong.wait()


def test_a_try_that_fails_says_so_and_the_next_one_may_succeed(
    one: writer.Writer, database: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniably_server.storage.engines.sqlite._BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match=r"^what was sent could not be stored$"):
            one.check()
        other.execute("ROLLBACK")

    clock.now += 1
    one.check()


def test_a_transaction_that_takes_longer_than_five_seconds_is_told(
    one: writer.Writer, gated: Gated, clock: Clock
) -> None:
    begun(one)[0].wait()
    clock.now += 6  # nothing is at work
    one.check()

    with gated.shut(one) as held:
        one.check()
        clock.now += 5
        one.check()
        clock.now += 0.1
        with pytest.raises(Unavailable, match=r"^the database keeps the writer waiting$"):
            one.check()
    held.wait()
    one.check()


# --- results that writers left to each other ----------------------------------------------------

RENEWED, ALSO = (
    survey_named(name, results={"minimum": 5, "while_open": True}) for name in ("renewed", "also")
)


class Shared(Gated):
    """A file of which the writer knows that others write, too."""

    one_writer = False


@pytest.fixture
def shared(published: Store, database: Path, monkeypatch: pytest.MonkeyPatch) -> Shared:
    """With every report somebody else has the turn to renew the results, and later nobody."""
    for survey in (RENEWED, ALSO):
        published.publish(survey, signed(survey))
    monkeypatch.setattr(SqliteConnection, "takes_turn", lambda *_, wait: wait)
    return Shared(str(database))


@pytest.fixture
def sharing(shared: Shared, clock: Clock) -> Iterator[writer.Writer]:
    with closing(writer.Writer(shared)) as found:
        yield found


def held(database: Path) -> dict[str, int]:
    """By survey the reports that its results have seen."""
    return {name: reports for name, reports, *_ in contents(database)["snapshots"]}


def store_some(found: writer.Writer, count: int = 5, survey: Survey = RENEWED) -> None:
    begun_batch(found, count, survey).wait()


def settle(found: writer.Writer) -> None:
    """Until the writer is done with all that it had before."""
    begun(found)[0].wait()


@pytest.fixture
def never_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_IDLE_SECONDS", 2 * PATIENCE)


@pytest.mark.usefixtures("never_idle")
def test_under_load_the_writer_looks_once_a_second_what_was_left(
    sharing: writer.Writer, database: Path, clock: Clock
) -> None:
    store_some(sharing)
    settle(sharing)
    assert held(database) == {"renewed": 5}, "the first look is at once"
    seen = []
    for later in (0.5, 0.5, 0.1):
        clock.now += later
        store_some(sharing)
        settle(sharing)
        seen.append(held(database)["renewed"])

    assert seen[:2] == [5, 5]
    assert seen[2] >= 15, "the newest came before the look, or just after it"


def test_a_writer_without_work_looks_what_was_left(sharing: writer.Writer, database: Path) -> None:
    store_some(sharing)
    until(lambda: held(database) == {"renewed": 5})
    for survey in (RENEWED, ALSO):
        store_some(sharing, 5, survey)

    until(lambda: held(database) == {"renewed": 10, "also": 5})
    settle(sharing)


@pytest.mark.usefixtures("never_idle")
def test_a_writer_that_ends_looks_what_was_left(sharing: writer.Writer, database: Path) -> None:
    settle(sharing)
    store_some(sharing)
    settle(sharing)
    for survey in (RENEWED, ALSO):
        store_some(sharing, 5, survey)
    begun(sharing, RENEWED)[0].wait()

    sharing.close()

    assert held(database) == {"renewed": 11, "also": 5}


def test_a_writer_that_is_alone_leaves_nothing_and_looks_for_nothing(
    published: Store, database: Path, shared: Shared, clock: Clock
) -> None:
    with closing(writer.Writer(Sqlite(str(database)))) as alone:
        store_some(alone)

    assert held(database) == {}


@pytest.mark.usefixtures("never_idle")
def test_a_look_that_fails_fails_nobody(
    sharing: writer.Writer, shared: Shared, database: Path, clock: Clock
) -> None:
    with closing(sqlite3.connect(database)) as other:
        other.execute(
            "CREATE TRIGGER full BEFORE INSERT ON snapshots BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        store_some(sharing)
        settle(sharing)
        assert held(database) == {}
        other.execute("DROP TRIGGER full")

    clock.now += 2
    store_some(sharing)
    settle(sharing)

    assert held(database) == {"renewed": 10}
    assert shared.connections == 2
