"""Servers are killed at random instants, again and again, while a crowd keeps sending: every
acknowledged report is there exactly once, and every tally is a recount.

``make crash`` kills 1,000 times, at other instants each time. What it prints repeats them (as far
as the machine does): DENIABLY_TEST_SEED and DENIABLY_TEST_KILLS.
"""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from support.crowd import PATIENCE, Crowd
from support.material import Server, survey_named
from support.nursery import Nursery

SURVEY = survey_named()
KILLS = int(os.environ.get("DENIABLY_TEST_KILLS", "24"))
SEED = os.environ.get("DENIABLY_TEST_SEED", "1965")
ON_POSTGRES = KILLS // 4
"""Of all kills, those of servers that share a PostgreSQL; every fourth is one of its own."""


@pytest.fixture
def chance() -> random.Random:
    print(f"DENIABLY_TEST_SEED={SEED} DENIABLY_TEST_KILLS={KILLS}")
    return random.Random(SEED)


def test_a_server_that_is_killed_again_and_again_loses_nothing(
    nursery: Nursery, database: Path, chance: random.Random
) -> None:
    """The whole server, one of its processes, or a server that just starts."""
    log = database.with_suffix(".log")

    def start() -> Server:
        return Server(database, "--workers", chance.choice("112"), begin=nursery.begin)

    def gave_up() -> bool:
        return server.ended

    server = start()
    server.publish(SURVEY)
    with Crowd(
        SURVEY, server.port, people=4, batches=1, token=server.token, stays=True, seed=SEED
    ) as crowd:
        for _ in range(KILLS - ON_POSTGRES):
            crowd.wait_for(len(crowd.acknowledged) + 1, or_else=gave_up)
            time.sleep(chance.uniform(0, 0.05))
            match chance.choice(("server", "server", "process", "process", "start")):
                case "process" if len(workers := server.workers) == 2:
                    # Where it had just taken another's place, that is a fault that repeats: then
                    # the server gives up, sooner or later.
                    with suppress(ProcessLookupError):
                        os.kill(workers[0], signal.SIGKILL)
                case "start":
                    server.kill()
                    starting = nursery.begin(
                        ["serve", "--database", str(database), "--port", "0"], log
                    )
                    time.sleep(chance.uniform(0, 0.15))
                    with suppress(ProcessLookupError):  # before it has a session of its own
                        os.killpg(starting.pid, signal.SIGKILL)
                    os.kill(starting.pid, signal.SIGKILL)
                    starting.wait(30)
                case _:
                    server.kill()
            if server.ended:
                server = start()
                crowd.ports = [server.port]
            crowd.check(database)
        server.kill()  # it may be giving up
        server = start()
        crowd.ports = [server.port]
        crowd.finish()
        assert crowd.statuses == {200, 201}
    crowd.check_all(database)
    assert server.stop() == 0
    crowd.check_all(database)
    tell(crowd, KILLS - ON_POSTGRES, "servers on SQLite")


def test_servers_on_one_postgres_that_are_killed_with_their_backends_lose_nothing(
    nursery: Nursery, postgres: str, tmp_path: Path, chance: random.Random
) -> None:
    """One of two servers, or a process of the database itself."""

    def start() -> Server:
        until = time.monotonic() + PATIENCE
        while True:  # as a service manager does; where the database still recovers, it refuses
            with suppress(pytest.fail.Exception):
                return Server(postgres, log=tmp_path / "log", begin=nursery.begin)
            assert time.monotonic() < until

    servers = [start(), start()]
    servers[0].publish(SURVEY)
    ports = [server.port for server in servers]
    with Crowd(
        SURVEY, *ports, people=4, batches=1, token=servers[0].token, stays=True, seed=SEED
    ) as crowd:
        for number in range(ON_POSTGRES):
            crowd.wait_for(len(crowd.acknowledged) + 1)
            time.sleep(chance.uniform(0, 0.05))
            if number % 4 == 3:
                _kill_a_backend(postgres, chance, crash=number % 32 == 31)
            else:
                place = chance.randrange(2)
                servers[place].kill()
                servers[place] = start()
                crowd.ports[place] = servers[place].port
                crowd.check(postgres)
        crowd.finish()
        assert crowd.statuses <= {200, 201, 503}
    crowd.check_all(postgres)
    assert [server.stop() for server in servers] == [0, 0]
    tell(crowd, ON_POSTGRES, "servers on one PostgreSQL, and of processes of it")


def tell(crowd: Crowd, kills: int, what: str) -> None:
    """What was shown, for who runs ``make crash``."""
    told = len({report.id for report in crowd.acknowledged})
    print(
        f"\n{kills:,} kills of {what}: {told:,} reports were acknowledged, each is stored exactly"
        " once, and every tally is what these reports give",
        flush=True,
    )


def _kill_a_backend(address: str, chance: random.Random, crash: bool) -> None:
    """Of those that serve Deniably. With SIGKILL, PostgreSQL ends all and recovers from its log."""
    with psycopg.connect(address, autocommit=True) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'deniably' ORDER BY pid"
        ).fetchall()
        (victim,) = chance.choice(found)
        if crash and "DENIABLY_TEST_POSTGRES" not in os.environ:  # that one may be elsewhere
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        else:
            connection.execute("SELECT pg_terminate_backend(%s)", [victim])
