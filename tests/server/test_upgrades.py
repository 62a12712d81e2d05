"""The next version may change the tables: a database of an older one is brought to them where it
lies, whole or not at all, and keeps all that it has.

The steps since the first release fill nothing. So an older schema is made up, too: it has no table
``issued``, and counted invitations each time instead.
"""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest

from deniably_server.errors import Newer, Unreleased
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.engines.engine import Connection, Engine
from deniably_server.storage.engines.schema_migration import Steps, digest_of
from deniably_server.storage.maintenance.doctor import examine
from deniably_server.storage.store import Store
from support.material import Contents, a_report, a_ticketed_report, contents, signed, survey_named
from support.nursery import Nursery

INVITED = survey_named("invited", invited=True)
OPEN, OVER = survey_named("open"), survey_named("over", ask=1)


LATER = (
    "mixed_hashes",
    "mixed_pieces",
    "mixed",
    "envelope_keys",
    "trials",
    "published_drafts",
    "deeds",
    "designs",
    "draft_versions",
    "drafts",
    "sessions",
    "members",
    "teams",
)
"""The tables that later steps made, first those that refer to others."""
CHANGED = ("steps", "issued", *LATER)


def _undo_later(database: Connection) -> None:
    """The tables as the first release made them."""
    for table in LATER:
        database.execute(f"DROP TABLE {table}")
    database.execute("DELETE FROM steps WHERE number > 1")


def history(engine: Engine) -> Steps:
    """The steps that made the older tables, and the one from these to ours."""
    today, *later = engine.steps
    (table,) = [statement for statement in today if "CREATE TABLE issued" in statement]
    older = [statement for statement in today if statement != table]
    fill = "INSERT INTO issued SELECT survey, stratum, count(*) FROM invitations GROUP BY 1, 2"
    return (older, (table, fill, *chain(*later)))


@pytest.fixture
def old(address: str) -> str:
    """A database of the older version: surveys, one of them closed, reports and invitations."""
    with closing(Store(address)) as store:
        for survey in (OPEN, OVER, INVITED):
            store.publish(survey, signed(survey))
        for number in range(6):
            store.add(OPEN, a_report(OPEN, stolen=[number % 2]))
            report = a_report(OVER, stolen=[number % 2])
            del report.values["often"]
            store.add(OVER, report)
        codes = store.invite("invited", 3)
        store.add(INVITED, a_ticketed_report(store, INVITED, codes[0])[0])
        store.close_survey("over")
        store.erase_order()
    with closing(engine_at(address).connect()) as database:
        database.execute("DROP TABLE issued")
        _undo_later(database)
        older, _ = history(engine_at(address))
        database.execute("UPDATE steps SET digest = ?", [digest_of(older)])
    return address


@pytest.fixture
def upgraded(monkeypatch: pytest.MonkeyPatch, old: str) -> str:
    """The older database, and a program that knows the way from its tables to today's."""
    engine = type(engine_at(old))
    monkeypatch.setattr(engine, "steps", history(engine_at(old)))
    return old


def kept(address: str) -> Contents:
    """What the upgrade has no business with."""
    return {table: rows for table, rows in contents(address).items() if table not in CHANGED}


def test_an_older_database_keeps_what_it_has_and_goes_on(upgraded: str) -> None:
    before = kept(upgraded)
    assert len(before["reports"]) == 13

    with closing(Store(upgraded)) as store:
        assert kept(upgraded) == before
        assert store.issued("invited") == 3, "counted from what the older version had"
        assert examine(store) == []

        survey = survey_named("new")
        store.publish(survey, signed(survey))
        store.add(OPEN, a_report(OPEN))
        store.invite("invited", 2)
        store.close_survey("open")
        store.erase_order()
        assert store.tally("open")["stolen"].n == 7
        assert store.issued("invited") == 5
        assert store.state("over") == "closed"
        assert examine(store) == []
    assert [number for number, _ in contents(upgraded)["steps"]] == [1, 2]


def test_a_database_of_the_first_release_gets_the_tables_of_later_ones(address: str) -> None:
    Store(address).close()
    with closing(engine_at(address).connect()) as database:
        _undo_later(database)
    before = kept(address)

    with closing(Store(address)) as store:
        store.add_design(61, 3, 1, "{}")
        assert store.design(61, 3, 1) == "{}"
        assert examine(store) == []
    assert kept(address) == before


def test_of_several_that_open_it_at_once_one_upgrades_it(upgraded: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        for store in threads.map(lambda _: Store(upgraded), range(6)):
            assert store.issued("invited") == 3
            store.close()


KILLED = """
import json, os, signal, sys
from deniably_server.storage.engines.database_urls import engine_at

address, at, history = sys.argv[1:]
older, step = json.loads(history)

class Deadly(tuple):
    def __iter__(self):
        yield from self[:int(at)]
        os.kill(os.getpid(), signal.SIGKILL)

engine = engine_at(address)
type(engine).steps = (older, Deadly(step))
engine.migrate()
"""


def test_an_upgrade_that_is_killed_halfway_changes_nothing(
    upgraded: str, nursery: Nursery, tmp_path: Path
) -> None:
    """Before its first statement, between two, and after the last."""
    before = contents(upgraded)
    steps = json.dumps(engine_at(upgraded).steps)

    for at in range(4):
        arguments = [upgraded, str(at), steps]
        process = nursery.begin_program(KILLED, arguments, tmp_path / "log")
        assert process.wait(60) == -signal.SIGKILL, (tmp_path / "log").read_text()
        assert contents(upgraded) == before
    with closing(Store(upgraded)) as store:
        assert store.issued("invited") == 3


def test_an_upgrade_that_fails_halfway_changes_nothing(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_at(old)
    older, step = history(engine)
    monkeypatch.setattr(type(engine), "steps", (older, (*step, "CREATE TABLE issued (a TEXT)")))
    before = contents(old)

    with pytest.raises(engine.errors):
        Store(old)

    assert contents(old) == before


@pytest.fixture
def newer(address: str) -> str:
    """A database to which a later version added a step."""
    Store(address).close()
    engine = engine_at(address)
    with closing(engine.connect()) as database:
        next_step = len(engine.steps) + 1
        database.execute("INSERT INTO steps VALUES (?, 'later')", [next_step])
    return address


def test_a_database_from_a_newer_version_is_refused(newer: str) -> None:
    before = contents(newer)

    with pytest.raises(Newer, match=r"a newer version of Deniably made this database; "):
        Store(newer)

    assert contents(newer) == before


@pytest.mark.parametrize(
    "change", ["ALTER TABLE steps DROP COLUMN digest", "UPDATE steps SET digest = ''"]
)
def test_a_database_with_tables_that_were_never_released_is_refused(
    address: str, change: str
) -> None:
    """And not served until a statement fails: reports would be refused one by one."""
    Store(address).close()
    with closing(engine_at(address).connect()) as database:
        database.execute(change)
    before = contents(address)

    with pytest.raises(Unreleased, match="begin with a new database"):
        Store(address)

    assert contents(address) == before
