"""SQLite's half of the store: how the file is opened, and what lies in it."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from deniably_server.storage.engines.sqlite import connect
from deniably_server.storage.maintenance.doctor import examine
from deniably_server.storage.store import Store
from support.material import a_report, contents, signed, survey_named

SURVEY = survey_named()


@pytest.fixture
def published(store: Store) -> Iterator[Store]:
    store.publish(SURVEY, signed(SURVEY))
    return store


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
                "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name <> 'steps'"
            )
        )
        columns = {
            table: [row[1:3] for row in connection.execute(f"PRAGMA table_info({table})")]
            for table in tables
        }

    assert columns == {
        "surveys": [("name", "TEXT"), ("digest", "TEXT"), ("definition", "TEXT"),
                    ("state", "TEXT")],
        # The stratum is one of at most eight public groups, which the link of the survey names.
        "reports": [("id", "BLOB"), ("survey", "TEXT"), ("report", "TEXT"), ("stratum", "INTEGER")],
        # The shard is that of a server, where several share a database, until the closing.
        "totals": [("survey", "TEXT"), ("stratum", "INTEGER"), ("shard", "INTEGER"),
                   ("reports", "INTEGER")],
        "tallies": [("survey", "TEXT"), ("stratum", "INTEGER"), ("question", "TEXT"),
                    ("choice", "INTEGER"), ("shard", "INTEGER"), ("count", "INTEGER")],
        # What results of open surveys show: counts of reports and nothing else.
        "snapshots": [("survey", "TEXT"), ("reports", "INTEGER"), ("tallies", "TEXT")],
        "answered": [("survey", "TEXT"), ("stratum", "INTEGER"), ("question", "TEXT"),
                     ("shard", "INTEGER"), ("reports", "INTEGER")],
        # How many invitations were made, and of nobody's.
        "issued": [("survey", "TEXT"), ("stratum", "INTEGER"), ("invitations", "INTEGER")],
        "settings": [("key", "TEXT"), ("value", "TEXT")],
        # The day is that of the author, who asks for a key.
        "envelope_keys": [("open", "TEXT"), ("secret", "TEXT"), ("token", "TEXT"), ("day", "TEXT"),
                          ("survey", "TEXT")],
        # A batch is in the order of random keys, and its pieces are deleted.
        "mixed": [("survey", "TEXT"), ("manifest", "TEXT"), ("signature", "TEXT"),
                  ("state", "TEXT"), ("refused", "INTEGER"), ("why", "TEXT")],
        "mixed_pieces": [("survey", "TEXT"), ("start", "INTEGER"), ("bytes", "BLOB")],
        "mixed_hashes": [("survey", "TEXT"), ("number", "INTEGER"), ("hashes", "BLOB")],
        # Of who runs and writes surveys: a last day, and of nobody's report.
        "tokens": [("id", "TEXT"), ("hash", "TEXT"), ("role", "TEXT"), ("survey", "TEXT"),
                   ("until", "TEXT"), ("note", "TEXT"), ("revoked", "INTEGER")],
        # Of who publishes: a token's id, a day, the size of a definition, and of nobody's report.
        "owners": [("survey", "TEXT"), ("token", "TEXT"), ("day", "TEXT"), ("bytes", "INTEGER")],
        # The keys that sign blindly, and invitations: what was signed says nothing of a report.
        "keys": [("survey", "TEXT"), ("secret", "TEXT")],
        "invitations": [("hash", "BLOB"), ("survey", "TEXT"), ("blinded", "BLOB"),
                        ("stratum", "INTEGER")],
        # Of who writes surveys: what they write, and days.
        "teams": [("id", "TEXT"), ("name", "TEXT"), ("contact", "TEXT"), ("key", "TEXT")],
        "members": [("token", "TEXT"), ("team", "TEXT")],
        "sessions": [("hash", "TEXT"), ("word", "TEXT"), ("token", "TEXT"), ("used", "TEXT"),
                     ("until", "TEXT")],
        "drafts": [("id", "TEXT"), ("team", "TEXT"), ("revision", "INTEGER"), ("day", "TEXT"),
                   ("gone", "TEXT")],
        "draft_versions": [("draft", "TEXT"), ("revision", "INTEGER"), ("edit", "TEXT"),
                           ("document", "TEXT")],
        # Of a draft's link: a secret's hash and a last day, and of nobody who opens it.
        "trials": [("draft", "TEXT"), ("hash", "TEXT"), ("until", "TEXT")],
        # Of what authors drafted: numbers that many drafts share, and of nobody's report.
        "designs": [("positions", "INTEGER"), ("own", "INTEGER"), ("other", "INTEGER"),
                    ("mechanism", "TEXT")],
        # Of what groups did, in days: of whom they ask, nothing.
        "deeds": [("number", "INTEGER"), ("day", "TEXT"), ("team", "TEXT"), ("token", "TEXT"),
                  ("what", "TEXT"), ("object", "TEXT")],
        "published_drafts": [("survey", "TEXT"), ("draft", "TEXT"), ("team", "TEXT"),
                             ("document", "TEXT")],
        # Public, in the order of publishing, and of nobody's report.
        "register": [("number", "INTEGER"), ("event", "TEXT"), ("survey", "TEXT"),
                     ("entry", "TEXT"), ("hash", "TEXT")],
    }  # fmt: skip
    for table, sql in tables.items():
        assert sql.rstrip().endswith("STRICT, WITHOUT ROWID") or table in ("register", "deeds")


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


@pytest.mark.parametrize(
    "sql",
    [
        "REPLACE INTO surveys VALUES ('workplace', 'x', '{}', 'open')",
        "INSERT OR REPLACE INTO surveys SELECT 'x', digest, '{}', state FROM surveys",
    ],
)
def test_what_was_published_is_not_replaced_either(
    published: Store, database: Path, sql: str
) -> None:
    before = contents(database)

    with (
        closing(sqlite3.connect(database)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="never changes"),
    ):
        connection.execute(sql)
    assert contents(database) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DROP TRIGGER a_report_never_changes", "the trigger a_report_never_changes is gone"),
        ("DROP TABLE snapshots", "the table snapshots is gone"),
        ("ALTER TABLE tokens ADD COLUMN seen TEXT", "the table tokens is not as this version"),
    ],
)
def test_the_doctor_finds_tables_and_triggers_that_somebody_changed(
    published: Store, database: Path, change: str, said: str
) -> None:
    assert examine(published) == []
    with closing(sqlite3.connect(database)) as own:
        own.execute(change)
        own.commit()

    assert any(one.what.startswith(said) for one in examine(published))
