"""Fixtures of the server's tests: a store, an application, a real process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.lab.catalogue import Case, Entry
from deniably.lab.experiment import Experiment
from deniably.survey.survey import Survey
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from support.databases import new_database
from support.material import Server, new_token, signed, survey_named
from support.nursery import Nursery, the_nursery
from support.worked_out import worked_out_once


@pytest.fixture(scope="package", autouse=True)
def estimated_once() -> Iterator[None]:
    """What the reports to a question say is worked out once for all tests of the server."""
    with worked_out_once():
        yield


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "deniably.db"


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[str]:
    """The address of a new, empty database on a real PostgreSQL."""
    with new_database(postgres_server) as address:
        yield address


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database whose tables are there: to make them takes as long as most tests."""
    path = tmp_path_factory.mktemp("empty") / "deniably.db"
    Store(str(path)).close()
    return path


@pytest.fixture(scope="session")
def empty_postgres(postgres_server: str) -> Iterator[str]:
    """The same on PostgreSQL; nobody has it open."""
    with new_database(postgres_server) as address:
        Store(address).close()
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database whose tables are there, of each kind."""
    if request.param == "sqlite":
        empty = request.getfixturevalue("empty_database")
        yield str(shutil.copy(empty, tmp_path / "deniably.db"))
        return
    server, empty = map(request.getfixturevalue, ("postgres_server", "empty_postgres"))
    with new_database(server, empty) as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def mixer_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a mixer's new database, of each kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "mixer.db")
    else:
        with new_database(request.getfixturevalue("postgres_server")) as address:
            yield address


@pytest.fixture
def prepared(database: Path, empty_database: Path) -> Path:
    """The database of a test, with its tables unless the test's own fixture put more there."""
    if not database.exists():
        shutil.copy(empty_database, database)
    return database


@pytest.fixture
def store(prepared: Path) -> Iterator[Store]:
    store = Store(str(prepared))
    yield store
    store.close()


@pytest.fixture
def app(prepared: Path) -> Iterator[Flask]:
    app = create_app({"DATABASE": str(prepared), "TESTING": True})
    yield app
    app.extensions["deniably"].close()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def survey(app: Flask) -> Survey:
    """A published survey of ``app``."""
    survey = survey_named()
    app.extensions["deniably"].publish(survey, signed(survey))
    return survey


@pytest.fixture
def author(app: Flask) -> dict[str, str]:
    """The header that the author sends."""
    return {"Authorization": f"Bearer {new_token(app.extensions['deniably'], 'author')}"}


@pytest.fixture
def serve(database: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers on ``database``; whatever still runs at the end is killed."""
    servers: list[Server] = []

    def start(*options: str) -> Server:
        servers.append(Server(database, *options))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.fixture
def serve_at(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers on a database whose address is given; kills them at the end."""
    servers: list[Server] = []

    def start(address: str, *options: str) -> Server:
        servers.append(Server(address, *options, log=tmp_path / "server.log"))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.fixture(scope="module")
def drawn_once() -> Iterator[None]:
    """Every experiment of the lab runs once with the same inputs: its seed gives the same again,
    and so do the computations' process and its cache, which keep it."""
    run, kept = Entry.run, dict[tuple[object, str], Experiment]()

    def once(entry: Entry, case: Case | None = None, /, **given: object) -> Experiment:
        key = entry.function, repr((case, sorted(given.items())))
        assert " at 0x" not in key[1], "what is asked for has to be seen"
        if key not in kept:
            kept[key] = run(entry, case, **given)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Entry, "run", once)
        yield


@pytest.fixture
def nursery() -> Nursery:
    """Begins servers in a moment."""
    return the_nursery()


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    return serve()
