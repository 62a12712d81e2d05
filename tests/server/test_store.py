"""The store's contract: definitions for good, reports once, tallies as a recount gives them."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from deniably.report import Report
from deniably.tally import tally
from deniably_server.connection import connect
from deniably_server.errors import Conflict, NotFound
from deniably_server.store import Store
from deniably_server.writer import Outcome
from server.material import a_report, contents, signed, survey_named

SURVEY = survey_named()


@pytest.fixture
def published(store: Store) -> Iterator[Store]:
    store.publish(SURVEY, signed(SURVEY))
    return store


# --- surveys ------------------------------------------------------------------------------------


def test_a_survey_comes_back_as_it_was_published(store: Store) -> None:
    assert store.publish(SURVEY, signed(SURVEY)) is True
    assert store.survey("workplace") == SURVEY
    assert store.survey("workplace").digest == SURVEY.digest
    assert store.state("workplace") == "open"


def test_publishing_the_same_definition_again_changes_nothing(
    published: Store, database: Path
) -> None:
    published.add(SURVEY, a_report(SURVEY))
    before = contents(database)

    assert published.publish(SURVEY, signed(SURVEY)) is False
    assert contents(database) == before


def test_another_definition_under_the_same_name_is_a_conflict(
    published: Store, database: Path
) -> None:
    before = contents(database)
    other = survey_named(title="Another title")

    with pytest.raises(Conflict, match="never changes"):
        published.publish(other, signed(other))
    assert contents(database) == before


@pytest.mark.parametrize("call", ["survey", "state", "close_survey", "tally", "recount"])
def test_a_name_that_was_never_published_is_not_found(store: Store, call: str) -> None:
    with pytest.raises(NotFound):
        getattr(store, call)("nobody")


def test_many_threads_may_be_the_first_to_read_a_survey(published: Store, database: Path) -> None:
    """msgspec 0.22 crashes the process where two threads are the first to use a type."""
    program = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from deniably_server.store import Store

sys.setswitchinterval(1e-6)
together = Barrier(16)
stores = [Store(sys.argv[1]) for _ in range(16)]

def read(store):
    together.wait()
    store.survey("workplace")
    store.close()

with ThreadPoolExecutor(16) as threads:
    list(threads.map(read, stores))
"""
    for _ in range(4):
        subprocess.run([sys.executable, "-c", program, str(database)], check=True, timeout=60)


def test_names_are_in_alphabetical_order(store: Store) -> None:
    for name in ("b", "c", "a"):
        store.publish(survey_named(name), signed(survey_named(name)))

    assert store.names() == ["a", "b", "c"]


def test_a_closed_survey_stays_closed(published: Store) -> None:
    published.close_survey("workplace")
    published.close_survey("workplace")
    published.publish(SURVEY, signed(SURVEY))

    assert published.state("workplace") == "closed"


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE surveys SET definition = '{}'",
        "UPDATE surveys SET digest = 'x'",
        "UPDATE surveys SET name = 'x'",
        "DELETE FROM surveys",
        "REPLACE INTO surveys VALUES ('workplace', 'x', '{}', 'open')",
        "INSERT OR REPLACE INTO surveys SELECT 'x', digest, '{}', state FROM surveys",
        "UPDATE surveys SET state = 'open'",
        "UPDATE reports SET report = '[[0],[0,1]]'",
    ],
)
def test_what_was_published_cannot_change_even_through_sql(
    published: Store, database: Path, sql: str
) -> None:
    published.add(SURVEY, a_report(SURVEY))
    published.close_survey("workplace")
    before = contents(database)

    with (
        closing(sqlite3.connect(database)) as connection,
        pytest.raises(sqlite3.IntegrityError, match=r"never changes|not opened again"),
    ):
        connection.execute(sql)
    assert contents(database) == before


# --- reports ------------------------------------------------------------------------------------


def test_a_retried_report_counts_once(published: Store) -> None:
    report = a_report(SURVEY)

    outcomes = [published.add(SURVEY, report) for _ in range(3)]

    assert outcomes == [Outcome.STORED, Outcome.REPLAYED, Outcome.REPLAYED]
    assert published.tally("workplace")["stolen"].n == 1


def test_an_id_with_other_values_is_a_conflict_and_changes_nothing(
    published: Store, database: Path
) -> None:
    report = a_report(SURVEY, stolen=[0])
    published.add(SURVEY, report)
    before = contents(database)

    twin = Report(id=report.id, survey=report.survey, values=report.values | {"stolen": [1]})

    assert published.add(SURVEY, twin) is Outcome.CONFLICT
    assert contents(database) == before


def test_an_id_that_another_survey_has_is_a_conflict(published: Store) -> None:
    other = survey_named("other")
    published.publish(other, signed(other))
    report = a_report(SURVEY)
    published.add(SURVEY, report)

    twin = Report(id=report.id, survey=other.digest, values=report.values)

    assert published.add(other, twin) is Outcome.CONFLICT


def test_a_closed_survey_takes_no_new_report_but_knows_its_old_ones(published: Store) -> None:
    report = a_report(SURVEY)
    published.add(SURVEY, report)
    published.close_survey("workplace")

    assert published.add(SURVEY, report) is Outcome.REPLAYED
    assert published.add(SURVEY, a_report(SURVEY)) is Outcome.CLOSED
    assert published.tally("workplace")["stolen"].n == 1


def test_a_report_to_a_survey_that_is_not_there_is_told_so(store: Store) -> None:
    assert store.add(SURVEY, a_report(SURVEY)) is Outcome.UNKNOWN


def test_tallies_of_many_threads_are_those_of_the_reports(published: Store) -> None:
    other = survey_named("other")
    published.publish(other, signed(other))
    reports = [
        a_report(survey, stolen=[n % 2], often=[n % 3, 3 + n % 2])
        for n in range(200)
        for survey in (SURVEY, other)
    ]

    def add(report: Report) -> Outcome:
        return published.add(SURVEY if report.survey == SURVEY.digest else other, report)

    with ThreadPoolExecutor(32) as threads:
        outcomes = list(threads.map(add, reports + reports))

    assert outcomes.count(Outcome.STORED) == outcomes.count(Outcome.REPLAYED) == 400
    for survey in (SURVEY, other):
        of_survey = [report for report in reports if report.survey == survey.digest]
        expected = {
            question.name: tally(
                [report.values[question.name] for report in of_survey], question.mechanism.k
            )
            for question in survey.questions
        }
        assert published.tally(survey.name) == expected
        assert published.recount(survey.name) == expected


def test_twins_at_the_same_moment_count_once(published: Store) -> None:
    for _ in range(20):
        report = a_report(SURVEY)
        with ThreadPoolExecutor(16) as threads:
            outcomes = list(threads.map(lambda _, r=report: published.add(SURVEY, r), range(16)))
        assert sorted(outcome.value for outcome in outcomes) == ["replayed"] * 15 + ["stored"]

    assert published.tally("workplace")["stolen"].n == 20
    assert published.tally("workplace") == published.recount("workplace")


def test_two_stores_on_one_file_agree(published: Store, database: Path) -> None:
    """As two server processes do: each has its own writer."""
    with closing(Store(str(database))) as second:
        reports = [a_report(SURVEY) for _ in range(300)]
        with ThreadPoolExecutor(16) as threads:
            outcomes = list(
                threads.map(lambda each: each[0].add(SURVEY, each[1]),
                            [(store, r) for r in reports for store in (published, second)])
            )  # fmt: skip
        assert outcomes.count(Outcome.STORED) == 300
        assert outcomes.count(Outcome.REPLAYED) == 300

        second.close_survey("workplace")

    assert published.add(SURVEY, a_report(SURVEY)) is Outcome.CLOSED
    assert published.tally("workplace") == published.recount("workplace")


def test_publishing_gets_its_turn_while_reports_pour_in(published: Store) -> None:
    with ThreadPoolExecutor(16) as threads:
        adding = threads.map(lambda _: published.add(SURVEY, a_report(SURVEY)), range(1500))
        for number in range(5):
            more = survey_named(f"more-{number}")
            published.publish(more, signed(more))
        assert set(adding) == {Outcome.STORED}

    assert len(published.names()) == 6


def test_an_empty_survey_has_tallies_of_nothing(published: Store) -> None:
    found = published.tally("workplace")

    assert {name: each.n for name, each in found.items()} == {"stolen": 0, "often": 0}
    assert np.array_equal(found["often"].counts, np.zeros(5))
    assert found == published.recount("workplace")


def test_everything_is_there_after_opening_again(published: Store, database: Path) -> None:
    for _ in range(5):
        published.add(SURVEY, a_report(SURVEY))
    before = published.tally("workplace")
    published.close()

    with closing(Store(str(database))) as again:
        assert again.survey("workplace") == SURVEY
        assert again.tally("workplace") == before == again.recount("workplace")


# --- the file -----------------------------------------------------------------------------------


def test_every_connection_puts_commits_on_disk_and_overwrites_what_it_deletes(
    database: Path,
) -> None:
    with closing(connect(str(database))) as opened:
        pragmas = ("journal_mode", "synchronous", "secure_delete", "foreign_keys", "temp_store")
        found = {name: opened.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas}

    full, memory = 2, 2
    assert found == {
        "journal_mode": "wal",
        "synchronous": full,
        "secure_delete": 1,
        "foreign_keys": 1,
        "temp_store": memory,
    }


def test_opening_and_closing_beside_a_running_server_loses_nothing(
    published: Store, database: Path
) -> None:
    """POSIX drops the locks of a process on a file with any handle on it that is closed; then
    the next visitor takes the log for its own, and what was acknowledged is gone."""
    published.add(SURVEY, a_report(SURVEY))
    other = survey_named("other")
    published.publish(other, signed(other))
    visit = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM surveys')"
    subprocess.run([sys.executable, "-c", visit, str(database)], check=True)
    published.add(SURVEY, a_report(SURVEY))

    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM reports").fetchone() == (2,)


def test_the_file_is_readable_by_its_owner_alone(published: Store, database: Path) -> None:
    published.add(SURVEY, a_report(SURVEY))

    for path in database.parent.glob("deniably.db*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_no_table_of_answers_has_room_for_a_time_an_address_or_an_order(
    store: Store, database: Path
) -> None:
    with closing(sqlite3.connect(database)) as connection:
        tables = dict(
            connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
                # The one of sqlite-utils: it says when the file was made, and of nobody's report.
                " AND name NOT LIKE '\\_sqlite%' ESCAPE '\\'"
            )
        )
        columns = {
            table: [row[1:3] for row in connection.execute(f"PRAGMA table_info({table})")]
            for table in tables
        }

    assert columns == {
        "surveys": [("name", "TEXT"), ("digest", "TEXT"), ("definition", "TEXT"),
                    ("state", "TEXT")],
        "reports": [("id", "BLOB"), ("survey", "TEXT"), ("report", "TEXT")],
        "totals": [("survey", "TEXT"), ("reports", "INTEGER")],
        "tallies": [("survey", "TEXT"), ("question", "TEXT"), ("choice", "INTEGER"),
                    ("count", "INTEGER")],
        "answered": [("survey", "TEXT"), ("question", "TEXT"), ("reports", "INTEGER")],
        "settings": [("key", "TEXT"), ("value", "TEXT")],
        # Public, in the order of publishing, and of nobody's report.
        "register": [("number", "INTEGER"), ("event", "TEXT"), ("survey", "TEXT"),
                     ("entry", "TEXT"), ("hash", "TEXT")],
    }  # fmt: skip
    for table, sql in tables.items():
        assert sql.endswith("STRICT, WITHOUT ROWID") or table == "register"


def test_reports_lie_in_the_order_of_their_random_ids(published: Store, database: Path) -> None:
    for _ in range(50):
        published.add(SURVEY, a_report(SURVEY))

    with closing(sqlite3.connect(database)) as connection:
        ids = [key for (key,) in connection.execute("SELECT id FROM reports")]
    assert ids == sorted(ids)


def test_a_file_from_two_processes_at_once_is_made_once(tmp_path: Path) -> None:
    path = str(tmp_path / "new.db")
    with ThreadPoolExecutor(8) as threads:
        stores = list(threads.map(lambda _: Store(path), range(8)))
    for store in stores:
        assert store.names() == []
        store.close()
