"""A server that stands for all tests of a file: to begin one costs more than most of them do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.material import Server


@pytest.fixture(scope="module")
def standing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Path]]:
    """A server with the ``SURVEY`` of the file, and a copy of its database as it was then."""
    folder = tmp_path_factory.mktemp("standing")
    server = Server(folder / "deniably.db")
    server.publish(request.module.SURVEY)
    _copy(folder / "deniably.db", folder / "before.db")
    yield server, folder / "before.db"
    server.kill()


@pytest.fixture
def server(standing: tuple[Server, Path]) -> Server:
    """It, with nobody's answers. What it knows of a survey by its name it still knows: a test that
    closes or kills, or publishes a name of another test, has ``own_server``."""
    server, before = standing
    _copy(before, Path(server.database))
    return server


@pytest.fixture
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """Another one, for one test alone."""
    server = Server(tmp_path / "deniably.db")
    server.publish(request.module.SURVEY)
    yield server
    server.kill()


def _copy(source: Path, target: Path) -> None:
    """All at once, also where the target is in use."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
