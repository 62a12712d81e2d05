"""The disk shows nothing of people, and doctor --privacy checks that."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from deniably.survey.report import Report
from deniably_server.commands import maintenance
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.engines.sqlite_pages import in_key_order, report_pages
from deniably_server.storage.maintenance.traces import in_file
from deniably_server.storage.store import Store
from deniably_server.storage.tables.deeds import Doer, enter_deed
from deniably_server.storage.tables.teams import new_team
from deniably_server.storage.tables.tokens import make
from support.commands import call
from support.material import a_report, signed, survey_named
from support.people import answer

SURVEY = survey_named()


def doctor(address: str | Path, *more: str | Path) -> Result:
    arguments = ["--privacy", "--database", str(address), *map(str, more)]
    return CliRunner().invoke(maintenance.doctor, arguments)


@pytest.fixture
def answered(address: str) -> Iterator[Store]:
    with closing(Store(address)) as store:
        store.publish(SURVEY, signed(SURVEY))
        with ThreadPoolExecutor(8) as people:  # some at once, in some dozens of transactions
            list(people.map(lambda _: store.add(SURVEY, a_report(SURVEY)), range(300)))
        yield store


# --- order --------------------------------------------------------------------------------------


def came(store: Store, reports: int) -> list[Report]:
    """That many reports, in the order in which they came."""
    found = [a_report(SURVEY) for _ in range(reports)]
    for report in found:
        store.add(SURVEY, report)
    return found


def test_which_page_a_report_lies_on_says_nothing_of_when_it_came(tmp_path: Path) -> None:
    """The rank correlation of arrival and page is within chance: false alarm below 1e-6."""
    path = tmp_path / "deniably.db"
    with closing(Store(str(path))) as store:
        store.publish(SURVEY, signed(SURVEY))
        ranks = {bytes.fromhex(one.id): rank for rank, one in enumerate(came(store, 3000))}
    pages = list(report_pages(path, set(ranks)))

    pairs = [(ranks[key], page.number) for page in pages for key in page.ids]

    assert len(pairs) == 3000
    assert len(pages) > 20
    arrival, number = np.array(pairs).T
    correlation = np.corrcoef(arrival, np.argsort(np.argsort(number, kind="stable")))[0, 1]
    assert abs(correlation) * np.sqrt(len(pairs)) < 5


def test_once_a_survey_is_closed_its_reports_lie_by_their_random_ids(tmp_path: Path) -> None:
    """Until then the bytes within a page lie as they came; SQL does not show it, the disk does."""
    path = tmp_path / "deniably.db"
    other = survey_named("other")
    with closing(Store(str(path))) as store:
        for survey in (SURVEY, other):
            store.publish(survey, signed(survey))
        known = {bytes.fromhex(report.id) for report in came(store, 400)}
        store.add(other, a_report(other))
        with closing(store.engine.connect()) as database:
            database.execute("PRAGMA wal_checkpoint")
            assert not all(map(in_key_order, report_pages(path, known))), "or the test says nothing"
            assert database.reveals_order("workplace")

            store.close_survey("workplace")
            store.erase_order()

            log = path.with_name("deniably.db-wal").read_bytes()
            assert not [key for key in known if key in log], "no report is in the log"
            assert not database.reveals_order("workplace")
        file = path.read_bytes()
        assert {file.count(key) for key in known} == {1}, "nothing of where they lay before"
        pages = list(report_pages(path, known))
        assert sum(len(page.ids) for page in pages) == 400
        assert all(map(in_key_order, pages))
        store.add(other, a_report(other))
        assert store.tally("workplace") == store.recount("workplace")


@pytest.mark.parametrize("size", [512, 4096, 65536])
def test_every_report_is_found_on_its_page(tmp_path: Path, size: int) -> None:
    """Whatever the page size, in leaves and between them."""
    path = tmp_path / "x.db"
    ids = [
        number.to_bytes(16, "big") for number in np.random.default_rng(1).permutation(500).tolist()
    ]
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA page_size = {size}")
        database.execute("CREATE TABLE r (id BLOB PRIMARY KEY, t TEXT) WITHOUT ROWID")
        database.executemany("INSERT INTO r VALUES (?, ?)", [(key, "x" * 40) for key in ids])
        database.commit()

    found = [key for page in report_pages(path, set(ids)) for key in page.ids]

    assert sorted(found) == sorted(ids)


# --- the doctor ---------------------------------------------------------------------------------


def test_a_server_that_was_used_has_no_traces_of_people(answered: Store, tmp_path: Path) -> None:
    answered.close_survey("workplace")
    answered.erase_order()

    done = doctor(answered.engine.address)

    assert done.exit_code == 0
    first, *rest = done.output.splitlines()
    assert first == "no traces of people"
    unread = ["the log of PostgreSQL is not looked at, unless you name it"]
    assert rest == (unread if ":" in answered.engine.address else [])


def test_of_an_open_survey_it_is_said_what_the_disk_may_tell(answered: Store) -> None:
    done = doctor(answered.engine.address)

    assert done.exit_code == 0
    assert "workplace: still open" in done.output


def test_the_order_of_a_closed_survey_is_found(answered: Store) -> None:
    with closing(answered.engine.connect()) as database:
        database.execute("UPDATE surveys SET state = 'closed'")
        if ":" not in answered.engine.address:
            database.execute("PRAGMA wal_checkpoint")

    done = doctor(answered.engine.address)

    assert done.exit_code == 1
    assert "the order in which the reports of workplace came" in done.output


TABLES = (
    ("CREATE TABLE visits (at TIMESTAMP)", "a column for times of day, at"),
    (
        "CREATE TABLE visits (seen BIGINT); INSERT INTO visits VALUES (1795292100)",
        "1 times of day in seen",
    ),
    (
        "CREATE TABLE visits (who TEXT); INSERT INTO visits VALUES ('203.0.113.77')",
        "1 network addresses",
    ),
    (
        "CREATE TABLE visits (who TEXT); INSERT INTO visits VALUES ('2026-11-21 20:15:00')",
        "1 times of day",
    ),
)


def test_what_a_table_tells_of_people_is_found(answered: Store) -> None:
    for sql, found in TABLES:
        with closing(engine_at(answered.engine.address).connect()) as database:
            for statement in ("DROP TABLE IF EXISTS visits", *sql.split(";")):
                database.execute(statement)

        done = doctor(answered.engine.address)

        assert done.exit_code == 1, sql
        assert found in done.output
        assert "203.0.113.77" not in done.output, "what is found is not told on"


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("signed in at 2026-11-21 20:15", "1 times of day"),
        ("signed in, from 203.0.113.77, again", "1 network addresses"),
    ],
)
def test_what_a_deed_tells_of_people_is_found(answered: Store, what: str, found: str) -> None:
    """Groups' deeds are days: a version that wrote more would be found out."""
    studio, (author, _) = answered.studio, make("author")
    answered.set_setting("link", "x", replace=True)
    team = new_team("Union", "u", "ab" * 32)
    assert studio.found_team(team, author, [], ("link", "x"))
    clean = doctor(answered.engine.address)
    with closing(engine_at(answered.engine.address).connect()) as database:
        database.begin_writing()
        enter_deed(database, Doer(team.id, author.id), what)  # type: ignore[arg-type]
        database.commit()

    done = doctor(answered.engine.address)

    assert clean.exit_code == 0
    assert done.exit_code == 1
    assert found in done.output
    assert what not in done.output


LINES = {
    "network addresses": (
        '203.0.113.77 - - "GET /s/workplace" 200',
        "peer=[2001:db8:85a3:8d3:1319:8a2e:370:7348]:443",
        "from fe80::1ff:fe23:4567:890a",
        "from 10.0.0.1",
        "from 227.0.0.1",
        "x-forwarded-for: 2001:db8::ff00:42:8329",
    ),
    "names of browsers or programs": (
        "Mozilla/5.0 (X11; Linux x86_64)",
        "agent=curl/8.5.0",
        "python-requests/2.32",
    ),
    "times of day": (
        "2026-11-21T20:15:01Z INFO",
        "[21/Nov/2026:20:15:01 +0000]",
        "Date: Sat, 21 Nov 2026 20:15:01 GMT",
        "Nov 21 20:15:01 host deniably",
        "ts=1795292100.25",
        '{"at":1795292100123}',
    ),
}


def test_logs_and_backups_are_looked_through(answered: Store, tmp_path: Path) -> None:
    logs: dict[Path, tuple[str, str]] = {}
    for kind, lines in LINES.items():
        for line in lines:
            log = tmp_path / f"{len(logs)}.log"
            log.write_text(f"GET /s/<name> 200 10 ms\n{line}\nGET /healthz 200 0 ms\n")
            logs[log] = kind, line

    done = doctor(answered.engine.address, *logs)

    assert done.exit_code == 1
    for log, (kind, line) in logs.items():
        assert [each for each in done.output.splitlines() if str(log) in each] == [
            f"{log}: 1 {kind}"
        ]
        assert line not in done.output
    (log, (kind, _)), *_ = logs.items()
    alone = doctor(answered.engine.address, log)
    assert (alone.exit_code, f"{log}: 1 {kind}" in alone.output) == (1, True)


@pytest.mark.parametrize(
    "line",
    [
        "INFO GET /api/surveys/<name>/results 200 12 ms 4f0c9a7be1d2c3a4",
        "version 0.1.0, SQLite 3.45.1",
        "2026-11-21",
        '{"count":1700,"epsilon":"1.0986122886681098"}',
        "ratio 16:9, 12:30",
        f"digest {'ab' * 20}1795292100{'cd' * 7}",
        f"digest 1795292100{'ab' * 27}",
        "Deniably listens on http://127.0.0.1:8000",
        "Deniably listens on http://0.0.0.0:8000",
    ],
)
def test_what_says_nothing_of_people_is_no_trace(tmp_path: Path, line: str) -> None:
    log = tmp_path / "server.log"
    log.write_text(line)

    assert in_file(log) == []


def test_a_trace_is_found_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniably_server.storage.maintenance.traces._CHUNK", 10)
    log = tmp_path / "server.log"
    for before in range(25):
        log.write_text("x" * before + " 203.0.113.77 " + "y" * 300)
        assert [trace.what for trace in in_file(log)] != [], before


def test_what_the_options_do_not_allow_is_a_sentence(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("")

    for arguments in ([str(log)], ["--repair", "--privacy"]):
        done = CliRunner().invoke(maintenance.doctor, arguments)
        assert done.exit_code == 2
        assert "for --privacy" in done.output


# --- an export ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exported_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a server's database, and in it the folder of a closed survey's reports."""
    place = tmp_path_factory.mktemp("exported")
    database, to = place / "deniably.db", place / "out"
    with closing(Store(str(database))) as store:
        store.publish(SURVEY, signed(SURVEY))
        answer(store, SURVEY, [{"stolen": "yes", "often": "never"}] * 120)
        store.close_survey("workplace")
        store.erase_order()
    formats = "csv,ndjson,parquet,xlsx,sqlite,sav,dta"
    done = call("export", "workplace", "--to", to, "--format", formats, "--database", database)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def exported(tmp_path: Path, exported_once: Path) -> tuple[Path, Path]:
    """The database and the export, to be changed."""
    shutil.copytree(exported_once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "deniably.db", tmp_path / "out"


def test_an_export_has_no_traces_of_people(exported: tuple[Path, Path]) -> None:
    done = doctor(*exported)

    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == ["no traces of people"]


def test_whoever_has_the_folder_alone_can_look_through_it(
    exported: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an analyst's machine there is no database, unless one is named."""
    monkeypatch.chdir(tmp_path / "out")
    done = CliRunner().invoke(maintenance.doctor, ["--privacy", str(exported[1])])

    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        "no traces of people",
        "there is no database deniably.db here: only what you named was looked at",
    ]
    (exported[1] / "reports.csv").with_name("notes.txt").write_text("203.0.113.77")
    done = CliRunner().invoke(maintenance.doctor, ["--privacy", str(exported[1])])
    assert (done.exit_code, "1 network addresses" in done.output) == (1, True)
    done = doctor("gone.db", exported[1])
    assert (done.exit_code, "there is no database gone.db" in done.output) == (1, True)


def some_id(row: int) -> str:
    return sha256(f"{row}".encode()).hexdigest()[:32]


def with_column(file: Path, name: str, cell: Callable[[int], str]) -> None:
    head, *rows = file.read_text().splitlines()
    lines = [f"{head},{name}", *(f"{row},{cell(number)}" for number, row in enumerate(rows))]
    file.write_bytes("".join(f"{line}\r\n" for line in lines).encode())


def reordered(file: Path) -> None:
    """As they came: the rows of other numbers, whose content is the same."""
    head, *rows = file.read_bytes().split(b"\r\n")[:-1]
    said = [row.partition(b",")[2] for row in rows][::-1]
    lines = [head, *(b"%d,%s" % (number, one) for number, one in enumerate(said, 1))]
    file.write_bytes(b"".join(line + b"\r\n" for line in lines))


def reordered_lines(file: Path) -> None:
    said = [json.loads(line) for line in file.read_text().splitlines()][::-1]
    rows = [one | {"row": number} for number, one in enumerate(said, 1)]
    file.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))


def appended(file: Path, text: str) -> None:
    with file.open("a") as target:
        target.write(text)


PLANTED: dict[str, tuple[Callable[[Path], None], str]] = {
    "ids": (
        lambda to: with_column(to / "reports.csv", "id", some_id),
        "reports.csv: 120 words as long as ids or receipts",
    ),
    "ids without letters": (
        lambda to: with_column(to / "reports.csv", "id", lambda row: f"{row + 10**31}"),
        "reports.csv: 120 words as long as ids or receipts",
    ),
    "receipts": (
        lambda to: appended(to / "METHODS.md", sha256(b"a report").hexdigest()),
        "METHODS.md: 1 words as long as ids or receipts",
    ),
    "times": (
        lambda to: with_column(to / "reports.csv", "at", lambda row: f"{1790000000 + 7 * row}"),
        "reports.csv: 120 times of day",
    ),
    "a time": (
        lambda to: appended(to / "CITATION.cff", "# 2026-11-22T09:41\n"),
        "CITATION.cff: 1 times of day",
    ),
    "an address": (
        lambda to: (to / "log.txt").write_text("203.0.113.9") and None,
        "log.txt: 1 network addresses",
    ),
    "the order": (lambda to: reordered(to / "reports.csv"), "reports.csv: its rows are in another"),
    "the order of lines": (
        lambda to: reordered_lines(to / "reports.ndjson"),
        "reports.ndjson: its rows are in another",
    ),
    "a word in a binary file": (
        lambda to: appended(to / "reports.parquet", "x"),
        "reports.parquet: it has bytes that do not follow from its reports",
    ),
    "a file": (
        lambda to: (to / "notes.txt").write_text("row 7 is Ann") and None,
        "notes.txt: no export has such a file",
    ),
}


@pytest.mark.parametrize("what", PLANTED)
def test_what_is_planted_in_an_export_is_found(exported: tuple[Path, Path], what: str) -> None:
    plant, said = PLANTED[what]
    plant(exported[1])

    done = doctor(*exported)

    assert done.exit_code == 1
    assert said in done.output


def test_a_folder_that_is_no_export_is_refused(exported: tuple[Path, Path], tmp_path: Path) -> None:
    done = doctor(exported[0], tmp_path)

    assert done.exit_code == 2
    assert "no folder that deniably export wrote" in done.output
