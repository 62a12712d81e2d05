"""A supervisor learns whether the process is alive and whether it can do its work."""

from __future__ import annotations

from pathlib import Path

import psycopg
import requests
from flask.testing import FlaskClient

from support.material import Server, survey_named


def test_a_server_that_can_work_says_so(client: FlaskClient) -> None:
    for path in ("/healthz", "/readyz"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "no-store"


def test_a_server_without_its_database_is_alive_and_not_ready(
    postgres: str, postgres_server: str, tmp_path: Path
) -> None:
    server = Server(postgres, log=tmp_path / "log")
    try:
        server.publish(survey_named())
        assert requests.get(f"{server.url}/readyz", timeout=30).status_code == 200
        name = postgres.partition("?")[0].rpartition("/")[2]
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")  # type: ignore[arg-type]
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )
            sick = requests.get(f"{server.url}/readyz", timeout=30)
            assert requests.get(f"{server.url}/healthz", timeout=30).status_code == 200
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")  # type: ignore[arg-type]
            well = requests.get(f"{server.url}/readyz", timeout=30)
    finally:
        server.kill()

    assert sick.status_code == 503
    assert sick.json()["type"] == "/problems/unavailable"
    assert sick.headers["Content-Type"] == "application/problem+json"
    assert well.status_code == 200
