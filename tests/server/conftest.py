"""Fixtures of the server's tests: a store, an application, a real process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.survey import Survey
from deniably_server.app import create_app
from deniably_server.auth import new_token
from deniably_server.store import Store
from server.material import Server, signed, survey_named


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "deniably.db"


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    store = Store(str(database))
    yield store
    store.close()


@pytest.fixture
def app(database: Path) -> Iterator[Flask]:
    app = create_app({"DATABASE": str(database), "TESTING": True})
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
    return {"Authorization": f"Bearer {new_token(app.extensions['deniably'])}"}


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
def server(serve: Callable[..., Server]) -> Server:
    return serve()
