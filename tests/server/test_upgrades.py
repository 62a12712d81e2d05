"""A database of every schema that there ever was opens with today's code, keeps all that it has,
and goes on. ``schemas`` has them as their versions made them; ``schemas/write.py`` adds today's."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from deniably_server.errors import Newer
from deniably_server.storage.addresses import engine_at
from deniably_server.storage.doctor import examine
from deniably_server.storage.postgres_schema import STEPS
from deniably_server.storage.schema import migrations
from deniably_server.storage.store import Store
from deniably_server.storage.tokens import ROLES, make
from server.material import a_report, contents, signed, survey_named

SCHEMAS = Path(__file__).parent / "schemas"
DUMPS = sorted(path.stem for path in SCHEMAS.glob("*.sql"))


@pytest.fixture
def old(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database as an older version made it."""
    name: str = request.param
    dump = (SCHEMAS / f"{name}.sql").read_text(encoding="utf-8")
    if name.startswith("sqlite"):
        path = tmp_path / "old.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(dump)
        return str(path)
    address: str = request.getfixturevalue("postgres")
    with psycopg.connect(address) as connection:
        connection.execute(dump.encode())
    return address


def test_every_schema_is_here() -> None:
    """A step that is not: python tests/server/schemas/write.py"""
    sqlite = [f"sqlite-{number}" for number in range(1, _sqlite_steps() + 1)]
    assert [f"postgres-{number}" for number in range(1, len(STEPS) + 1)] + sqlite == DUMPS


@pytest.mark.parametrize("old", DUMPS, indirect=True)
def test_a_database_of_every_schema_goes_on(old: str) -> None:
    before = contents(old)
    survey, other = survey_named(), survey_named("new")

    with closing(Store(old)) as store:
        assert examine(store) == []
        after = contents(old)
        for table in ("surveys", "reports", "totals", "tallies", "answered", "register"):
            assert after[table] == before.get(table, []), table
        assert len(before["reports"]) >= 12
        secrets = len(before.get("tokens", before["settings"]))
        assert len(after["tokens"]) == secrets == 1, "the author's token goes on"

        for role in ROLES:
            store.add_token(make(role)[0])
        assert store.survey("workplace") == survey
        assert store.state("over") == "closed"
        store.publish(survey, signed(survey))  # of before there was a register
        store.publish(other, signed(other))
        store.add(survey, a_report(survey))
        store.close_survey("workplace")
        store.tidy()
        assert store.tally("workplace")["stolen"].n == 7
        assert store.names() == sorted([*(row[0] for row in before["surveys"]), "new"])
        assert examine(store) == []


def test_a_database_from_a_newer_version_is_refused(address: str) -> None:
    Store(address).close()
    with closing(engine_at(address).connect()) as database:
        if address.startswith("postgresql:"):
            database.execute("INSERT INTO steps VALUES (?)", [len(STEPS) + 1])
        else:
            database.execute(
                "INSERT INTO _sqlite_migrations (migration_set, name) VALUES ('deniably', 'later')"
            )
    before = contents(address)

    with pytest.raises(Newer, match=r"a newer version of Deniably made this database; "):
        Store(address)

    assert contents(address) == before


def _sqlite_steps() -> int:
    return len(migrations._migrations)
