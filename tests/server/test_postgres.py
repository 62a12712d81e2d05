"""Several real servers on one real PostgreSQL: they share their surveys, and lose nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, unquote

import psycopg
import pytest
import requests
from click.testing import CliRunner

from deniably_server.commands import serve
from deniably_server.storage.engines.database_urls import engine_at, without_credentials
from deniably_server.storage.store import Store
from support.crowd import PATIENCE, until
from support.material import Server, a_report, assert_kept, signed, survey_named
from support.nursery import Nursery

SURVEY = survey_named()
Start = Callable[[], Server]


@pytest.fixture
def start(postgres: str, tmp_path: Path) -> Iterator[Start]:
    """Starts servers on one database, as on several machines."""
    servers: list[Server] = []

    def start() -> Server:
        log = tmp_path / f"{len(servers)}.log"
        servers.append(Server(postgres, log=log))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


def test_what_one_server_publishes_all_ask(start: Start) -> None:
    first, second = start(), start()
    first.publish(SURVEY)

    assert requests.get(f"{second.url}/s/workplace", timeout=30).ok
    report = a_report(SURVEY)
    answers = [server.post(SURVEY, report).status_code for server in (second, first)]

    assert answers == [201, 200], "the retry went to the other server"
    for path in ("/register", "/register/workplace"):
        shows = [requests.get(server.url + path, timeout=30).text for server in (first, second)]
        assert shows[0] == shows[1], "also the key that signs"


def test_a_database_that_went_away_and_came_back_is_found_again(
    start: Start, postgres: str
) -> None:
    server = start()
    server.publish(SURVEY)
    address = f"{server.url}/api/surveys/workplace/results"
    assert server.post(SURVEY, a_report(SURVEY)).status_code == 201
    assert requests.get(address, timeout=30).status_code == 403
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    report = a_report(SURVEY)
    answers = [server.post(SURVEY, report).status_code for _ in range(2)]
    looks = [requests.get(address, timeout=30).status_code for _ in range(2)]

    assert answers[-1] in (200, 201)
    assert set(answers) <= {200, 201, 503}
    assert looks[-1] == 403
    assert set(looks) <= {403, 503}
    assert_kept(postgres, [report], SURVEY.name)


def test_a_commit_is_on_disk_whatever_the_database_is_set_to(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("ALTER ROLE CURRENT_USER SET synchronous_commit = off")
        try:
            with closing(engine_at(postgres).connect()) as ours:
                assert ours.execute("SHOW synchronous_commit").fetchone() == ("on",)
        finally:
            connection.execute("ALTER ROLE CURRENT_USER RESET synchronous_commit")


def test_once_a_survey_is_closed_nothing_tells_in_which_order_its_reports_came(
    postgres: str,
) -> None:
    rows = "SELECT id, xmin::text FROM reports WHERE survey = 'workplace' ORDER BY ctid"
    other = survey_named("other")
    with closing(Store(postgres)) as store, closing(engine_at(postgres).connect()) as database:
        for survey in (SURVEY, other):
            store.publish(survey, signed(survey))
        reports = [a_report(SURVEY) for _ in range(40)]
        for report in reports:
            store.add(SURVEY, report)
            store.add(other, a_report(other))
        came = [bytes.fromhex(report.id) for report in reports]
        found = database.execute(rows).fetchall()
        assert [key for key, _ in found] == came, "until then it does, as the README says"
        assert len({transaction for _, transaction in found}) == 40

        store.close_survey("workplace")
        store.erase_order()

        found = database.execute(rows).fetchall()
        assert [key for key, _ in found] == sorted(came)
        assert len({transaction for _, transaction in found}) == 1
        assert store.tally("workplace") == store.recount("workplace")
        assert store.tally("other")["stolen"].n == 40


def test_an_address_is_shown_without_its_password() -> None:
    secret = "postgresql://me:secret@db.example.org:5433/deniably?password=secret"

    assert without_credentials(secret) == "postgresql://db.example.org/deniably"
    assert without_credentials("some/file.db") == "some/file.db"


def test_a_database_that_never_comes_up_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniably_server.storage.engines.database_urls._PATIENCE_SECONDS", 0.1)
    address = f"postgresql://me:secret@/none?host={tmp_path}"

    done = CliRunner().invoke(serve.serve, ["--database", address, "--port", "0"])

    assert done.exit_code == 1
    waiting, error = done.output.split("\n", 1)
    assert waiting == "Waiting for postgresql:///none, which does not answer yet."
    assert error.startswith("Error: cannot use postgresql:///none as the database: ")
    assert "secret" not in done.output


def test_a_database_that_refuses_us_is_not_waited_for(postgres: str) -> None:
    name = postgres.partition("?")[0].rpartition("/")[2]

    done = CliRunner().invoke(
        serve.serve, ["--database", postgres.replace(name, "nobodys"), "--port", "0"]
    )

    assert done.exit_code == 1
    assert done.output.startswith("Error: cannot use postgresql:///nobodys as the database: ")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_every_script_is_refused(postgres: str, encoding: str) -> None:
    name = postgres.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name}_old TEMPLATE template0 LOCALE 'C' ENCODING '{encoding}'"  # type: ignore[arg-type]
        )
        try:
            address = postgres.replace(name, f"{name}_old")
            done = CliRunner().invoke(serve.serve, ["--database", address, "--port", "0"])
        finally:
            connection.execute(f"DROP DATABASE {name}_old WITH (FORCE)")  # type: ignore[arg-type]

    assert done.exit_code == 1
    assert f"its encoding is {encoding}" in done.output
    assert "ENCODING 'UTF8'" in done.output


def test_a_server_that_is_up_before_its_database_waits_for_it(
    nursery: Nursery, postgres: str, tmp_path: Path
) -> None:
    """Where a machine starts both at once. A database is up once there is a way to its socket."""
    address, _, folder = postgres.partition("?host=")
    folder, _, port = folder.partition("&")
    way, out = tmp_path / "way", tmp_path / "log"
    if len(str(way)) > 80 or not Path(unquote(folder)).is_dir():
        pytest.skip("the way to this database is no socket in a folder")
    out.touch()
    serving = nursery.begin(
        ["serve", "--database", f"{address}?host={quote(str(way), safe='')}&{port}", "--port", "0"],
        out,
    )

    until(lambda: "Waiting for postgresql:///" in out.read_text())
    way.symlink_to(unquote(folder))
    until(lambda: "Deniably listens on" in out.read_text())

    serving.terminate()
    assert serving.wait(PATIENCE) in (0, -signal.SIGTERM)
