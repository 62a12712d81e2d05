"""An export as an SQLite database: other programs read it, and it can be handed on alone."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

import deniably as dn
from deniably.workbench.files.folder import NoExport, write_folder
from deniably.workbench.report_set import ReportSet, of_simulation
from support.material import source_of

SURVEY = dn.load_survey({
    "name": "late", "title": "Late; DROP TABLE reports", "strata": {"site": ["north", "south"]},
    "questions": [
        {"name": "stolen", "type": "yes_no", "label": "Ever 'stolen'?", "odds": 3},
        {"name": "Stolen", "type": "select_one", "label": "What?", "choices": ["A", "a b", "C"],
         "epsilon": 1},
    ],
})  # fmt: skip


@pytest.fixture(scope="module")
def reports() -> ReportSet:
    return of_simulation(dn.randomise(dn.simulate_people(SURVEY, 300)))


@pytest.fixture(scope="module")
def folder(reports: ReportSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("export") / "out"
    write_folder(to, reports, source_of(SURVEY), ["sqlite"])
    return to


def test_sqlite_utils_reads_reports_and_what_they_mean(folder: Path, reports: ReportSet) -> None:
    with closing(sqlite3.connect(folder / "reports.db")) as connection:
        database = Database(connection)

        assert database.table_names() == ["reports", "columns", "results", "files"]
        assert database.table("reports").count == 300
        meanings = {str(row["column"]): row for row in database.table("columns").rows}
        (column,) = (name for name, row in meanings.items() if row["choice"] == "yes")
        p, q = meanings[column]["p"], meanings[column]["q"]
        query = f'SELECT (avg("{column}") - ?) / (? - ?) AS share FROM reports'
        (found,) = database.query(query, [q, p, q])
        (row,) = (
            row for row in database.table("results").rows
            if row["question"] == "stolen" and row["choice"] == "yes"
        )  # fmt: skip

    assert found["share"] == pytest.approx(row["estimate"], abs=1e-6)
    assert float(row["estimate"]) == pytest.approx(
        dn.open((SURVEY, reports)).estimate("stolen").rows[0]["estimate"]
    )


def test_names_that_differ_in_capitals_alone_are_told_apart(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "reports.db")) as connection:
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(reports)")]

    assert len({name.casefold() for name in columns}) == len(columns)


def test_a_database_opens_alone_with_its_signature(
    folder: Path, reports: ReportSet, tmp_path: Path
) -> None:
    alone = Path(shutil.copy(folder / "reports.db", tmp_path / "handed-on.sqlite"))

    study = dn.open(alone)

    assert study.reports == reports
    assert study.source is not None, "the author's signature was verified"
    assert dn.open(folder).reports == reports


def test_a_database_that_was_changed_is_refused(folder: Path, tmp_path: Path) -> None:
    for number, change in enumerate((
        "DELETE FROM reports WHERE row = 1",
        "UPDATE files SET text = replace(text, 'Late', 'Early') WHERE name = 'survey.json'",
        "UPDATE files SET text = '{}' WHERE name = 'design.json'",
        "UPDATE columns SET name = 'another' WHERE name LIKE 'Stolen%'",
        "ALTER TABLE reports RENAME TO others",
        "ALTER TABLE files RENAME TO others",
    )):  # fmt: skip
        spoilt = Path(shutil.copy(folder / "reports.db", tmp_path / f"{number}.db"))
        with closing(sqlite3.connect(spoilt)) as connection:
            connection.execute(change)
            connection.commit()
        with pytest.raises(NoExport):
            dn.open(spoilt)


def test_a_view_in_place_of_the_reports_is_not_read(folder: Path, tmp_path: Path) -> None:
    """It may never end."""
    spoilt = Path(shutil.copy(folder / "reports.db", tmp_path / "view.db"))
    with closing(sqlite3.connect(spoilt)) as connection:
        connection.execute("ALTER TABLE reports RENAME TO others")
        connection.execute("CREATE VIEW reports AS SELECT * FROM others, others AS more")
        connection.commit()

    with pytest.raises(NoExport):
        dn.open(spoilt)


def test_another_database_is_refused_with_the_command_for_a_servers(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "server.db")) as connection:
        connection.execute("CREATE TABLE surveys (name)")
        connection.commit()

    with pytest.raises(NoExport, match="deniably export NAME --database"):
        dn.open(tmp_path / "server.db")
