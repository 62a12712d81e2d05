"""The names that a server answers to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient

from deniably_server.app import create_app
from deniably_server.commands import serve
from deniably_server.guard.headers import SECURITY_HEADERS
from deniably_server.guard.host_names import host_names
from support.material import a_report, assert_problem, contents, signed, survey_named

SURVEY = survey_named()
NAMES = "Survey.example.org, [2001:db8::7], localhost"


@pytest.fixture
def named(database: Path) -> FlaskClient:
    app = create_app({"DATABASE": str(database), "HOSTS": NAMES})
    app.extensions["deniably"].publish(SURVEY, signed(SURVEY))
    return app.test_client()


def ask(client: FlaskClient, host: str | None, path: str = "/", **more: Any) -> Any:
    return client.open(
        path, environ_overrides={"HTTP_HOST": host} if host is not None else {}, **more
    )


@pytest.mark.parametrize(
    "host",
    ["survey.example.org", "SURVEY.example.org:8443", "survey.example.org.", "localhost:8000",
     "[2001:db8::7]", "[2001:DB8::7]:443"],
)  # fmt: skip
def test_its_own_names_are_answered_whatever_the_port(named: FlaskClient, host: str) -> None:
    assert ask(named, host).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "survey.example.org.evil.example", "xsurvey.example.org", "127.0.0.1",
     "[2001:db8::8]"],
)  # fmt: skip
def test_other_names_are_refused_and_nothing_is_done(
    named: FlaskClient, database: Path, host: str
) -> None:
    before = contents(database)

    page = ask(named, host)
    report = ask(
        named,
        host,
        "/api/surveys/workplace/reports",
        method="POST",
        data=a_report(SURVEY).canonical,
        content_type="application/json",
    )

    for answer in (page, report):
        problem = assert_problem(answer, 421, "misdirected")
        assert not host or host not in problem["detail"]
        for name, value in SECURITY_HEADERS:
            assert answer.headers[name] == value
    assert contents(database) == before


@pytest.mark.parametrize("names", [NAMES, ""])
@pytest.mark.parametrize(
    "host",
    ["", "evil.example:survey.example.org", "evil.example@survey.example.org",
     "survey.example.org/x", "localhost,survey.example.org", "localhost,localhost", "\xff"],
)  # fmt: skip
def test_what_is_no_host_is_refused_by_every_server(database: Path, names: str, host: str) -> None:
    """Several Host headers arrive with commas between them."""
    client = create_app({"DATABASE": str(database), "HOSTS": names}).test_client()

    for path in ("/", "/healthz"):
        problem = assert_problem(ask(client, host, path), 400, "malformed")
        assert not host or host not in problem["detail"]


def test_what_a_proxy_is_said_to_have_been_asked_for_is_not_believed(named: FlaskClient) -> None:
    headers = {"X-Forwarded-Host": "survey.example.org", "Forwarded": "host=survey.example.org"}

    assert_problem(ask(named, "evil.example", headers=headers), 421, "misdirected")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_supervisor_asks_by_number(named: FlaskClient, path: str) -> None:
    assert ask(named, "10.0.0.7:8000", path).status_code == 200


def test_the_metrics_by_number_still_need_a_token(named: FlaskClient) -> None:
    assert_problem(ask(named, "10.0.0.7:8000", "/metrics"), 401, "unauthorised")


def test_any_name_will_do_where_none_is_set(client: FlaskClient) -> None:
    assert ask(client, "evil.example").status_code == 200


def test_names_are_read_without_regard_to_case_and_spaces() -> None:
    assert host_names(" A.example ,b.example.,,[::1]") == {"a.example", "b.example", "[::1]"}
    assert host_names("") == host_names(" , ") == frozenset()


def test_what_is_no_name_is_told_with_what_would_be_one() -> None:
    why = "'-a' is no host name; hosts are names without scheme and port, with commas between them"
    with pytest.raises(ValueError, match=rf"^{why}$"):
        host_names("a.example, -a")


@pytest.mark.parametrize("wrong", ["https://a.example", "a.example:80", "a b", "*", "::1", "-a"])
def test_what_is_no_name_is_a_usage_error_before_anything_starts(
    tmp_path: Path, wrong: str
) -> None:
    database = tmp_path / "deniably.db"
    result = CliRunner().invoke(serve.serve, ["--database", str(database), "--hosts", wrong])

    assert result.exit_code == 2
    assert "is no host name" in result.output
    assert not database.exists()
