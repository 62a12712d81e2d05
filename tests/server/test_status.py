"""How many have answered: for the author, in steps that tell nobody's time."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from deniably.survey.survey import Survey
from deniably_server.commands import authoring
from deniably_server.storage.store import Store
from deniably_server.watching import coarse_counts
from deniably_server.watching.coarse_counts import EVERY
from deniably_server.watching.metrics import Metrics
from support.clock import Clock
from support.material import Server, a_report, assert_problem, new_token, signed, survey_named

API, PAGE = "/api/surveys/workplace/status", "/surveys/workplace/status"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(1e9)
    monkeypatch.setattr(coarse_counts, "time", clock)
    return clock


def token(app: Flask, *role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {new_token(app.extensions['deniably'], *role)}"}  # type: ignore[arg-type]


def answered(app: Flask, survey: Survey, count: int) -> None:
    for _ in range(count):
        app.extensions["deniably"].add(survey, a_report(survey))


def test_the_author_and_an_operator_see_it_and_nobody_else(
    app: Flask, client: FlaskClient, survey: Survey
) -> None:
    assert_problem(client.get(API), 401, "unauthorised")
    for role in ("analyst", "monitor"):
        assert_problem(client.get(API, headers=token(app, role)), 403, "forbidden")
    other = token(app, "author", "another")
    assert_problem(client.get(API, headers=other), 403, "forbidden")

    for role in (("author",), ("author", "workplace"), ("operator",)):
        assert client.get(API, headers=token(app, *role)).get_json()["state"] == "open"


def test_a_survey_that_is_not_there_is_not_found(
    client: FlaskClient, author: dict[str, str]
) -> None:
    assert_problem(client.get("/api/surveys/nobody/status", headers=author), 404, "not-found")
    assert client.get("/surveys/nobody/status").status_code == 404


@pytest.mark.parametrize(
    ("reports", "told", "says"),
    [
        (0, 0, "fewer than 10 reports"),
        (9, 0, "fewer than 10 reports"),
        (10, 10, "at least 10 reports"),
        (29, 20, "at least 20 reports"),
    ],
)
def test_whole_tens_are_reported(
    app: Flask, client: FlaskClient, survey: Survey, author: dict[str, str],
    reports: int, told: int, says: str,
) -> None:  # fmt: skip
    answered(app, survey, reports)

    found = client.get(API, headers=author).get_json()

    assert (found["reports"], found["step"], found["seconds"]) == (told, 10, 300)
    assert (found["minimum"], found["while_open"]) == (100, False)
    assert says in found["sentences"][0]
    assert "A finer count would show when somebody answered" in found["sentences"][1]
    assert "once it is closed, from 100 reports on" in found["sentences"][2]


def test_who_looks_all_the_time_sees_a_new_count_every_five_minutes(
    app: Flask, client: FlaskClient, survey: Survey, author: dict[str, str], clock: Clock
) -> None:
    """By the API and the page, by tokens of several people: they all see the same count."""
    seen: dict[float, set[str]] = {}
    others = token(app, "operator"), token(app, "author", "workplace")
    for second in range(0, 2 * EVERY, 30):
        answered(app, survey, 7)
        clock.now = 1e9 + second
        for headers in (author, *others):
            found = client.get(API, headers=headers).data.decode()
            assert json.loads(found)["sentences"][0] in client.get(PAGE, headers=headers).text
            seen.setdefault(second // EVERY, set()).add(found)

    assert {turn: len(answers) for turn, answers in seen.items()} == {0: 1, 1: 1}
    assert [json.loads(min(answers))["reports"] for answers in seen.values()] == [0, 70]


def test_all_processes_of_a_server_tell_the_same(tmp_path: Path) -> None:
    first, second = Metrics(tmp_path), Metrics(tmp_path)

    assert first.reports_of("workplace", lambda: 41, now=1000) == 40
    assert second.reports_of("workplace", lambda: 55, now=1000 + EVERY - 1) == 40
    assert second.reports_of("canteen", lambda: 55, now=1000 + EVERY - 1) == 50
    assert second.reports_of("workplace", lambda: 55, now=1000 + EVERY) == 50
    assert first.reports_of("workplace", lambda: 99, now=1001 + EVERY) == 50


def test_a_closed_survey_has_the_count_that_its_results_have(
    app: Flask, client: FlaskClient, author: dict[str, str]
) -> None:
    store: Store = app.extensions["deniably"]
    for name, reports in (("enough", 23), ("few", 19)):
        survey = survey_named(name, results={"minimum": 20, "while_open": False})
        store.publish(survey, signed(survey))
        answered(app, survey, reports)
        store.close_survey(name)

    enough, few = (
        client.get(f"/api/surveys/{name}/status", headers=author).get_json()
        for name in ("enough", "few")
    )

    assert (enough["reports"], enough["step"]) == (23, None)
    assert enough["sentences"] == ["The survey is closed, with 23 reports. Its results are shown."]
    assert few["reports"] is None
    assert (
        "fewer than the 20 reports that its results need: they stay hidden" in few["sentences"][0]
    )


def test_where_results_are_shown_while_it_is_open_the_status_says_how_they_are_renewed(
    app: Flask, client: FlaskClient, author: dict[str, str]
) -> None:
    survey = survey_named(results={"minimum": 20, "while_open": True})
    app.extensions["deniably"].publish(survey, signed(survey))

    *_, rule = client.get(API, headers=author).get_json()["sentences"]

    assert rule == (
        "The results are shown from 40 reports on, and renewed with every 20 more. The newest 20 or"
        " more are held back until it is closed."
    )


# --- pages --------------------------------------------------------------------------------------


def test_the_page_of_a_survey_asks_its_author_for_a_token(
    app: Flask, client: FlaskClient, survey: Survey
) -> None:
    """Without one the page is the same for everybody, however many answered."""
    before = client.get("/surveys/workplace").data
    answered(app, survey, 20)

    assert client.get("/surveys/workplace").data == before
    assert client.get("/surveys/workplace", headers=token(app, "author")).data == before
    assert b"For the author: how many have answered?" in before
    assert b'data-page="/surveys/workplace/status"' in before


def test_the_page_shows_the_count_to_the_bearer_of_a_token(
    app: Flask, client: FlaskClient, survey: Survey, author: dict[str, str]
) -> None:
    answered(app, survey, 20)

    asks, shows = client.get(PAGE), client.get(PAGE, headers=author)
    refused = client.get(PAGE, headers=token(app, "analyst"))

    assert "20 reports" not in asks.text
    assert 'id="token"' in asks.text
    assert "at least 20 reports" in shows.text
    for page in (asks, shows):
        assert 'href="/surveys/workplace/lab"' in page.text
    assert_problem(refused, 403, "forbidden")


def test_what_a_proxy_asks_for_is_no_token(client: FlaskClient, survey: Survey) -> None:
    """A server may stand behind a proxy with passwords of its own."""
    basic = {"Authorization": "Basic eDp5"}

    assert 'id="token"' in client.get(PAGE, headers=basic).text
    assert client.get("/surveys/none", headers=basic).mimetype == "text/html"


# --- the command --------------------------------------------------------------------------------


def test_the_command_says_the_same(serve: Callable[..., Server]) -> None:
    server, survey = serve(), survey_named()
    server.publish(survey)
    with closing(Store(str(server.database))) as store:
        for _ in range(31):
            store.add(survey, a_report(survey))
        operator = new_token(store, "operator")
        monitor = new_token(store, "monitor")

    def status(name: str, text: str) -> tuple[int, list[str]]:
        env = {"DENIABLY_TOKEN": text, "DENIABLY_SERVER": server.url}
        found = CliRunner().invoke(authoring.status, [name], env=env)
        return found.exit_code, found.output.splitlines()

    for text in (server.token, operator):
        assert status("workplace", text) == (
            0,
            [
                "workplace: Honesty at work",
                "The survey is open and has at least 30 reports so far.",
                "The count is in whole tens and is renewed every 5 minutes. A finer count would"
                " show when somebody answered.",
                "The results are shown once it is closed, from 100 reports on.",
                f"results     {server.url}/surveys/workplace",
            ],
        )
    assert status("nobody", server.token) == (1, ["Error: There is no survey of this name."])
    code, (line,) = status("workplace", monitor)
    assert (code, "author’s token" in line or "author's token" in line) == (1, True)
    code, (line,) = status("workplace", f"deniably_{secrets.token_hex(6)}_{'x' * 43}")
    assert code == 1
