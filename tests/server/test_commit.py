"""A transaction stores single reports or one batch: all of it or nothing, counted as a recount
counts, and on disk in an order that tells nothing."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest

from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.engines.sqlite import SqliteConnection
from deniably_server.storage.engines.sqlite_pages import report_pages
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import (
    BatchWrite,
    Outcome,
    PendingWrite,
    ProbeWrite,
    commit_batch,
    commit_probe,
    commit_reports,
    report_write,
)
from support.material import a_report, contents, signed, survey_named

SURVEY = survey_named()
SOME = survey_named("some", ask=1)
RENEWED = survey_named("renewed", results={"minimum": 5, "while_open": True})

Commit = Callable[..., list[Outcome]]


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with closing(Store(address)) as store:
        for survey in (SURVEY, SOME, RENEWED):
            store.publish(survey, signed(survey))
        yield store


@pytest.fixture
def database(store: Store) -> Iterator[Connection]:
    with closing(store.engine.connect()) as database:
        yield database


def singles(database: Connection, survey: Survey, *reports: Report) -> list[Outcome]:
    """Stored as single reports that waited together."""
    return commit_reports(database, [report_write(survey, report) for report in reports])


def batch(database: Connection, survey: Survey, *reports: Report) -> list[Outcome]:
    """Stored as one batch."""
    return commit_batch(database, batch_of(survey, *reports))


def batch_of(survey: Survey, *reports: Report) -> BatchWrite:
    found = BatchWrite(survey)
    for report in reports:
        found.add(report)
    return found


def part(*names: str) -> Report:
    """A report of somebody who was asked these questions."""
    whole = a_report(SOME)
    return Report(whole.id, whole.survey, {name: whole.values[name] for name in names})


# --- what is counted ----------------------------------------------------------------------------


def test_of_questions_that_not_all_are_asked_those_count_who_were(
    store: Store, database: Connection
) -> None:
    for commit in (singles, batch):
        parts = [part("stolen"), part("stolen"), part("often"), part("stolen", "often")]
        assert commit(database, SOME, *parts) == [Outcome.STORED] * 4

    assert counted(store, SOME) == {"stolen": 6, "often": 4}
    assert store.tally("some") == store.recount("some")


def test_a_question_that_all_of_them_were_asked_counts_them_all(
    store: Store, database: Connection
) -> None:
    for commit in (singles, batch):
        commit(database, SOME, part("stolen"), part("stolen"))

    assert counted(store, SOME) == {"stolen": 4, "often": 0}
    assert store.tally("some") == store.recount("some")


def counted(store: Store, survey: Survey) -> dict[str, int]:
    return {name: tally.n for name, tally in store.tally(survey.name).items()}


@pytest.mark.parametrize("commit", [singles, batch])
def test_a_full_batch_renews_what_results_show_in_the_same_transaction(
    store: Store, database: Connection, commit: Commit
) -> None:
    for _ in range(2):
        commit(database, RENEWED, *(a_report(RENEWED) for _ in range(5)))

    assert store.shown_tally("renewed")["stolen"].n == 5
    assert store.tally("renewed")["stolen"].n == 10


def test_of_a_survey_that_shows_nothing_while_it_is_open_nothing_is_kept_to_be_shown(
    store: Store, database: Connection
) -> None:
    for commit in (singles, batch):
        commit(database, SURVEY, *(a_report(SURVEY) for _ in range(100)))

    assert contents(store.engine.address)["snapshots"] == []


def test_where_everybody_is_asked_everything_nobody_is_counted_by_question(
    store: Store, database: Connection
) -> None:
    """Which would be two more rows to write with every transaction."""
    for commit in (singles, batch):
        commit(database, SURVEY, a_report(SURVEY))

    assert contents(store.engine.address)["answered"] == []


def test_columns_that_do_not_fit_each_other_are_stored_in_no_part(
    store: Store, database: Connection
) -> None:
    """Else a value would count for another report's stratum, or for another question."""
    before = contents(store.engine.address)
    strata, values, extra = (batch_of(SURVEY, a_report(SURVEY)) for _ in range(3))
    strata.strata.append(0)
    values.values.append(["[0]"])
    extra.values.append([])

    for wrong in (strata, values):
        with pytest.raises(ValueError, match="zip"):
            commit_batch(database, wrong)
        database.rollback()
    with pytest.raises(ValueError, match="zip"):
        extra.add(a_report(SURVEY))

    assert contents(store.engine.address) == before


# --- reports that come again --------------------------------------------------------------------


@pytest.mark.parametrize("commit", [singles, batch])
def test_each_of_many_reports_has_the_outcome_of_its_own_id_and_counts_once(
    store: Store, database: Connection, commit: Commit
) -> None:
    old, new, again = (a_report(SURVEY, often=[cell, 4]) for cell in (0, 2, 3))
    other = Report(old.id, old.survey, old.values | {"stolen": [1]})
    commit(database, SURVEY, old)

    found = commit(database, SURVEY, again, other, new, old, again)

    assert [each.value for each in found] == [
        "stored",
        "conflict",
        "stored",
        "replayed",
        "replayed",
    ]
    assert store.tally("workplace")["often"].counts.tolist() == [1, 0, 1, 1, 3]
    assert store.tally("workplace") == store.recount("workplace")


def test_more_reports_may_come_again_than_one_statement_can_ask_for(tmp_path: Path) -> None:
    with closing(Store(str(tmp_path / "deniably.db"))) as store:
        store.publish(SURVEY, signed(SURVEY))
        many = batch_of(SURVEY, a_report(SURVEY))
        many.keys = [secrets.token_bytes(16) for _ in range(10_001)]
        many.strata *= len(many.keys)
        many.values = [column * len(many.keys) for column in many.values]
        with closing(store.engine.connect()) as database:
            assert isinstance(database, SqliteConnection)
            database.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 10_000)

            first, again = commit_batch(database, many), commit_batch(database, many)

        assert set(first) == {Outcome.STORED}
        assert set(again) == {Outcome.REPLAYED}
        assert store.tally("workplace")["stolen"].n == 10_001


def test_a_transaction_that_ran_into_another_begins_again_and_counts_once(
    tmp_path: Path,
) -> None:
    """PostgreSQL may end one of two; here a trigger does it to the first."""
    with closing(Store(str(tmp_path / "deniably.db"))) as store:
        store.publish(SURVEY, signed(SURVEY))
        with closing(store.engine.connect()) as database:
            assert isinstance(database, SqliteConnection)
            database.collisions = (sqlite3.OperationalError,)
            fails = iter([True, False])
            database.create_function("attempt", 0, lambda: 1 / 0 if next(fails) else 0)
            database.execute(
                "CREATE TEMP TRIGGER once AFTER UPDATE ON totals BEGIN SELECT attempt(); END"
            )

            assert singles(database, SURVEY, a_report(SURVEY)) == [Outcome.STORED]

        assert next(fails, None) is None, "it was tried twice"
        assert store.tally("workplace")["stolen"].n == 1
        assert store.tally("workplace") == store.recount("workplace")


# --- on disk ------------------------------------------------------------------------------------


@pytest.mark.parametrize("commit", [singles, batch])
def test_reports_lie_on_disk_in_the_order_of_their_random_ids(
    address: str, database: Connection, commit: Commit
) -> None:
    sent = [a_report(SURVEY) for _ in range(12)]

    commit(database, SURVEY, *sent)

    ids = sorted(bytes.fromhex(report.id) for report in sent)
    assert on_disk(address, ids) == ids


def on_disk(address: str, known: list[bytes]) -> list[bytes]:
    """The ids as whoever has the disk finds them, the oldest first."""
    with closing(engine_at(address).connect()) as database:
        if address.startswith("postgresql:"):
            rows = database.execute("SELECT id FROM reports ORDER BY ctid")
            return [bytes(key) for (key,) in rows]
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = report_pages(Path(address), set(known))
    return list(chain.from_iterable(reversed(page.ids) for page in pages))


# --- who waits, and what waits for nobody -------------------------------------------------------


def test_who_waits_is_told_that_a_write_is_settled() -> None:
    calls: list[str] = []
    write = report_write(SURVEY, a_report(SURVEY), lambda: calls.append("called"))
    assert not write.is_settled()

    write.succeed([Outcome.STORED])

    assert write.is_settled()
    assert write.outcome() is Outcome.STORED
    assert write.notify is not None
    write.notify()
    assert calls == ["called"]
    assert PendingWrite().notify is None


def test_a_probe_writes_and_leaves_nothing(store: Store, database: Connection) -> None:
    before = contents(store.engine.address)

    assert commit_probe(database) == []

    assert contents(store.engine.address) == before
    assert len(ProbeWrite()) == 0


def test_a_probe_fails_where_nothing_can_be_written(store: Store, database: Connection) -> None:
    database.only_read()

    with pytest.raises(store.engine.errors):
        commit_probe(database)
