"""The commands for operators: check a database, move it, back it up and restore it."""

from __future__ import annotations

import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Timer
from time import sleep

import click
import pytest
from click.testing import CliRunner, Result

from deniably_server.commands import maintenance
from deniably_server.errors import Conflict
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.store import Store
from support.databases import new_database
from support.material import Contents, Server, a_report, begin, contents, signed, survey_named

SURVEY = survey_named()
OTHER = survey_named("other", ask=1)
LEAVING = "deniably_server.storage.engines.postgres._LEAVING_SECONDS"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def original(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a database with two surveys and some reports, to be copied."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            address = str(tmp_path_factory.mktemp("original") / "deniably.db")
        else:
            address = stack.enter_context(new_database(request.getfixturevalue("postgres_server")))
        with closing(Store(address)) as store:
            for survey in (SURVEY, OTHER):
                store.publish(survey, signed(survey))
            for _ in range(40):
                store.add(SURVEY, a_report(SURVEY))
            report = a_report(OTHER)
            del report.values["often"]
            store.add(OTHER, report)
            store.close_survey("other")
            store.erase_order()
            store.set_setting("key", "value", replace=True)
        yield address


@pytest.fixture
def filled(request: pytest.FixtureRequest, original: str, tmp_path: Path) -> Iterator[str]:
    """The address of such a database."""
    if ":" not in original:
        yield str(shutil.copy(original, tmp_path))
        return
    with new_database(request.getfixturevalue("postgres_server"), original) as address:
        yield address


def run(command: click.Command, *arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])


def change(address: str, sql: str) -> None:
    with closing(engine_at(address).connect()) as database:
        database.execute(sql)


def damage(address: str, guard: str, table: str, change_to: str) -> None:
    """Change what the guard would not let anybody change."""
    change(address, f"DROP TRIGGER {guard}" + (f" ON {table}" if ":" in address else ""))
    change(address, f"UPDATE {table} SET {change_to}")


def of_surveys(address: str | Path) -> Contents:
    """Every row, but of no table that only says how the tables came to be; and not how often
    tallies were repaired, by which results that were kept are known to be of old ones."""
    return {
        name: [row for row in rows if row[0] != "repairs"]
        for name, rows in contents(address).items()
        if name != "steps"
    }


def test_a_missing_driver_of_postgresql_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "deniably_server.storage.engines.postgres", raising=False)
    done = run(maintenance.doctor, "--database", "postgresql://localhost/none")
    assert f"{sys.executable} -m pip install 'deniably[postgres]'" in done.output
    assert done.exit_code == 1


# --- doctor -------------------------------------------------------------------------------------


def test_what_is_whole_is_said_to_be(filled: str) -> None:
    before = contents(filled)

    done = run(maintenance.doctor, "--database", filled)

    assert (done.exit_code, done.output) == (0, "whole: 2 surveys, 41 reports\n")
    assert contents(filled) == before


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (
            "UPDATE tallies SET count = count + 1 WHERE survey = 'workplace'",
            "other counts, and not",
        ),
        ("DELETE FROM tallies WHERE question = 'often'", "workplace, often: the tally has"),
        ("UPDATE totals SET reports = 39", "the tally has 39 reports, and not 40"),
        ("UPDATE answered SET reports = 7", "other, stolen: the tally has 7 reports, and not 1"),
        ("DELETE FROM reports WHERE survey = 'other'", "other, stolen: the tally has 1 report,"),
    ],
)
def test_a_tally_that_is_wrong_is_found_and_recounted(filled: str, sql: str, found: str) -> None:
    change(filled, sql)

    sick = run(maintenance.doctor, "--database", filled)
    repaired = run(maintenance.doctor, "--database", filled, "--repair")
    healthy = run(maintenance.doctor, "--database", filled)

    assert sick.exit_code == 1
    assert found in sick.output
    assert "--repair" in sick.output
    assert repaired.exit_code == healthy.exit_code == 0
    assert "counted again" in repaired.output
    with closing(Store(filled)) as store:
        for name in store.names():
            assert store.tally(name) == store.recount(name)


def test_repairing_makes_just_what_was_there_before(filled: str) -> None:
    before = of_surveys(filled)
    for table in ("tallies", "answered"):
        change(filled, f"DELETE FROM {table}")

    run(maintenance.doctor, "--database", filled, "--repair")

    assert of_surveys(filled) == before


def test_a_file_that_is_torn_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "deniably.db"
    with closing(Store(str(path))) as store:
        store.publish(SURVEY, signed(SURVEY))
        for _ in range(500):
            store.add(SURVEY, a_report(SURVEY))
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :: 97] = b"x" * len(content[len(content) // 2 :: 97])
    path.write_bytes(content)

    done = run(maintenance.doctor, "--database", path)

    assert done.exit_code == 1
    assert "the file: " in done.output or "Error: " in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (
            "INSERT INTO tallies VALUES ('workplace', 0, 'nobody', 0, 0, 1)",
            "what its questions do not",
        ),
        ("UPDATE tallies SET choice = 77 WHERE choice = 0", "what its questions do not"),
    ],
)
def test_tallies_of_nothing_are_found_and_recounted(filled: str, sql: str, found: str) -> None:
    before = of_surveys(filled)
    change(filled, sql)

    sick = run(maintenance.doctor, "--database", filled)
    repaired = run(maintenance.doctor, "--database", filled, "--repair")

    assert (sick.exit_code, repaired.exit_code) == (1, 0), sick.output + repaired.output
    assert found in sick.output
    assert of_surveys(filled) == before


@pytest.mark.parametrize("text", ["nonsense", "[[77],[0,1]]", "[[0],[1],[2],[3]]", '"'])
def test_a_report_that_nobody_can_read_is_reported_and_kept(filled: str, text: str) -> None:
    damage(filled, "a_report_never_changes", "reports", f"report = '{text}' WHERE survey = 'other'")
    before = of_surveys(filled)

    done = run(maintenance.doctor, "--database", filled)
    repair = run(maintenance.doctor, "--database", filled, "--repair")

    assert (done.exit_code, repair.exit_code) == (1, 1)
    assert "other" in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert of_surveys(filled) == before


def test_a_definition_that_nobody_can_read_is_reported(filled: str) -> None:
    guard = "a_definition_never_changes"
    damage(filled, guard, "surveys", "definition = '{}' WHERE name = 'other'")

    done = run(maintenance.doctor, "--database", filled)

    assert done.exit_code == 1
    assert "other: its definition or a report cannot be read" in done.output


def test_a_survey_that_the_register_does_not_have_is_reported(filled: str) -> None:
    guard = "the_register_is_never_" + ("changed" if ":" in filled else "shortened")
    change(filled, f"DROP TRIGGER {guard}" + (" ON register" if ":" in filled else ""))
    change(filled, "DELETE FROM register WHERE survey = 'other'")

    done = run(maintenance.doctor, "--database", filled)

    assert done.exit_code == 1
    assert "other: the register has no definition of it" in done.output


def test_hashes_that_devices_get_and_the_entries_do_not_have_are_reported(filled: str) -> None:
    damage(
        filled,
        "the_register_is_never_changed",
        "register",
        f"hash = '{'ab' * 32}' WHERE number = 1",
    )

    done = run(maintenance.doctor, "--database", filled)

    assert done.exit_code == 1
    assert "the head for devices differs from its entries in the log of entries" in done.output


# --- moving -------------------------------------------------------------------------------------


def test_a_backup_is_taken_while_reports_pour_in_and_is_whole(filled: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with closing(Store(filled)) as store, ThreadPoolExecutor(8) as threads:
        pouring = threads.map(lambda _: store.add(SURVEY, a_report(SURVEY)), range(400))
        done = run(maintenance.backup, "--database", filled, copy)
        list(pouring)

    assert done.exit_code == 0, done.output
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert list(tmp_path.glob("copy.db*")) == [copy], "one file"
    assert run(maintenance.doctor, "--database", copy).exit_code == 0


def test_what_is_restored_is_what_was_kept(filled: str, tmp_path: Path) -> None:
    before = of_surveys(filled)
    run(maintenance.backup, "--database", filled, tmp_path / "copy.db")

    done = run(maintenance.restore, "--database", tmp_path / "new.db", tmp_path / "copy.db")

    assert (done.exit_code, done.output) == (0, "41 reports copied back\n")
    assert of_surveys(tmp_path / "new.db") == before


def test_a_server_moves_to_postgresql_and_back(tmp_path: Path, postgres: str) -> None:
    source = tmp_path / "deniably.db"
    with closing(Store(str(source))) as store:
        store.publish(SURVEY, signed(SURVEY))
        for _ in range(40):
            store.add(SURVEY, a_report(SURVEY))
    before = of_surveys(source)

    there = run(maintenance.migrate, f"sqlite:///{source}", postgres)
    back = run(maintenance.migrate, postgres, tmp_path / "back.db")

    assert there.exit_code == back.exit_code == 0, there.output + back.output
    assert "40 reports copied" in there.output
    assert of_surveys(postgres) == of_surveys(tmp_path / "back.db") == of_surveys(source) == before
    with closing(Store(postgres)) as store:
        store.add(SURVEY, a_report(SURVEY))
        assert store.tally("workplace")["stolen"].n == 41


def test_what_a_server_runs_on_is_not_moved_away_from_under_it(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports that it takes after the copy would be left behind."""
    monkeypatch.setattr(LEAVING, 0.2)
    server = Server(address, log=tmp_path / "log")
    try:
        server.publish(SURVEY)

        refused = run(maintenance.migrate, address, tmp_path / "copy.db")
        anyway = run(maintenance.migrate, address, tmp_path / "anyway.db", "--anyway")
        kept = run(maintenance.backup, "--database", address, tmp_path / "backup.db")
    finally:
        server.kill()

    assert refused.exit_code == 1
    assert "a server is running on the database, and what it takes meanwhile" in refused.output
    assert not (tmp_path / "copy.db").exists()
    assert (anyway.exit_code, kept.exit_code) == (0, 0), anyway.output + kept.output
    for _ in range(100):  # its other processes notice within moments that it was killed
        moved = run(maintenance.migrate, address, tmp_path / "copy.db")
        if moved.exit_code == 0:
            break
        sleep(0.1)
    assert moved.exit_code == 0, moved.output
    assert of_surveys(tmp_path / "copy.db")["surveys"] == of_surveys(address)["surveys"]


def test_no_server_begins_while_its_database_is_moved(filled: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with engine_at(filled).alone():
        status = begin(["serve", "--port", "0", "--database", filled], log).wait(60)

    assert status == 1
    assert "the database is just being moved elsewhere" in log.read_text()


def test_several_servers_may_share_a_database(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LEAVING, 0.2)
    shared = engine_at(filled).serving
    with shared(), shared(), pytest.raises(Conflict), engine_at(filled).alone():
        pass
    with engine_at(filled).alone(), pytest.raises(Conflict), engine_at(filled).serving():
        pass


def test_a_server_that_is_just_leaving_is_waited_for(postgres: str) -> None:
    """PostgreSQL lists a connection for some moments after its client has closed it."""
    leaving = engine_at(postgres).connect()
    gone = Timer(0.5, leaving.close)
    gone.start()
    with engine_at(postgres).alone():
        gone.join()


@pytest.mark.parametrize("command", [maintenance.restore, maintenance.migrate])
def test_nothing_is_put_over_what_is_there(
    filled: str, tmp_path: Path, command: click.Command
) -> None:
    with closing(Store(str(tmp_path / "own.db"))) as store:
        store.publish(SURVEY, signed(SURVEY))
    copy = shutil.copy(tmp_path / "own.db", tmp_path / "copy.db")
    before = of_surveys(filled)
    arguments = ["--database", filled, copy] if command is maintenance.restore else [copy, filled]

    done = run(command, *arguments)

    assert done.exit_code == 1
    assert "move into an empty database" in done.output
    assert of_surveys(filled) == before


def test_a_backup_replaces_no_file(filled: str, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("mine")

    done = run(maintenance.backup, "--database", filled, there)

    assert done.exit_code == 1
    assert "is there already" in done.output
    assert there.read_text() == "mine"


def test_a_copy_that_fails_leaves_nothing(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "deniably_server.storage.maintenance.migrate_engine.TABLES",
        {"surveys": ("name", "nothing")},
    )

    done = run(maintenance.backup, "--database", filled, tmp_path / "copy.db")

    assert done.exit_code == 1
    assert not list(tmp_path.glob("copy.db*"))


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (maintenance.doctor, ("--database", "{}")),
        (maintenance.backup, ("--database", "{}", "copy.db")),
        (maintenance.migrate, ("{}", "copy.db")),
        (maintenance.migrate, ("sqlite:///{}", "copy.db")),
    ],
)
def test_of_a_misspelt_database_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: click.Command, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    done = run(command, *(each.format("deniabyl.db") for each in arguments))

    assert done.exit_code == 1
    assert "there is no database deniabyl.db" in done.output
    assert not list(tmp_path.iterdir())


def calls() -> list[Callable[[str], Result]]:
    return [
        lambda path: run(maintenance.restore, "--database", f"{path}/none/x.db", _made(path)),
        lambda path: run(maintenance.migrate, _made(path), f"{path}/none/x.db"),
    ]


def _made(path: str) -> str:
    Store(f"{path}/made.db").close()
    return f"{path}/made.db"


@pytest.mark.parametrize("call", calls())
def test_a_database_that_cannot_be_is_a_sentence(
    tmp_path: Path, call: Callable[[str], Result]
) -> None:
    done = call(str(tmp_path))

    assert done.exit_code == 1
    assert (
        "as the database: unable to open database file" in done.output or "No such" in done.output
    )
