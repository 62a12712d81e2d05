"""Results of an open survey are renewed in batches: two looks differ by a whole one, or by none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from flask.testing import FlaskClient

from deniably.survey.survey import Survey
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite
from support.material import a_report, assert_problem, signed, survey_named

RULES = {"minimum": 5, "while_open": True}
SURVEY = survey_named(results=RULES)
PATH = "/api/surveys/workplace/results"


@pytest.fixture
def client(address: str) -> Iterator[FlaskClient]:
    app = create_app({"DATABASE": address})
    store: Store = app.extensions["deniably"]
    store.publish(SURVEY, signed(SURVEY))
    yield app.test_client()
    store.close()


@pytest.fixture
def store(client: FlaskClient) -> Store:
    found: Store = client.application.extensions["deniably"]
    return found


def come(store: Store, reports: int, survey: Survey = SURVEY) -> None:
    for _ in range(reports):
        store.add(survey, a_report(survey))


def test_results_stay_as_they_are_until_another_batch_is_full(
    client: FlaskClient, store: Store
) -> None:
    seen = []
    for _ in range(12):
        come(store, 1)
        seen.append(client.get(PATH).get_json())

    assert [found["status"] for found in seen[:4]] == [403] * 4
    assert [found["n"] for found in seen[4:]] == [5, 5, 5, 5, 5, 10, 10, 10]
    assert all(found == seen[4] for found in seen[5:9])
    assert seen[9] != seen[8]


def test_the_closing_shows_all(client: FlaskClient, store: Store) -> None:
    come(store, 12)

    store.close_survey("workplace")

    assert client.get(PATH).get_json()["n"] == 12
    with closing(store.engine.connect()) as database:
        assert database.execute("SELECT * FROM snapshots").fetchall() == []


def test_a_batch_of_lines_is_shown_at_once(client: FlaskClient, store: Store) -> None:
    come(store, 5)
    batch = BatchWrite(SURVEY)
    for _ in range(23):
        batch.add(a_report(SURVEY))
    store.begin(batch)
    batch.wait()

    assert client.get(PATH).get_json()["n"] == 28


def test_every_server_shows_the_same(client: FlaskClient, store: Store) -> None:
    come(store, 7)

    with closing(Store(store.engine.address)) as other:
        come(other, 2)

        assert other.shown_tally("workplace") == store.shown_tally("workplace")
        assert store.shown_tally("workplace")["stolen"].n == 5
        assert store.tally("workplace")["stolen"].n == 9


def test_where_only_some_questions_are_asked_it_is_the_same(client: FlaskClient) -> None:
    store: Store = client.application.extensions["deniably"]
    some = survey_named("some", ask=1, results=RULES)
    store.publish(some, signed(some))
    for number in range(14):
        report = a_report(some)
        del report.values[("stolen", "often")[number % 2]]
        store.add(some, report)

    shown = store.shown_tally("some")

    assert shown["stolen"].n + shown["often"].n == 10


@pytest.mark.parametrize("path", ["crosstab?rows=stolen&columns=often", "checks"])
def test_whole_reports_wait_for_the_closing(client: FlaskClient, store: Store, path: str) -> None:
    come(store, 9)

    refusal = assert_problem(client.get(f"/api/surveys/workplace/{path}"), 403, "hidden")
    assert "once the survey is closed" in refusal["detail"]
    page = client.get(f"/surveys/workplace/{path}")
    assert "once the survey is closed" in page.text
    assert "<table" not in page.text
    store.close_survey("workplace")
    assert client.get(f"/api/surveys/workplace/{path}").status_code == 200


def test_differences_are_those_of_what_is_shown(client: FlaskClient, store: Store) -> None:
    path = "/api/surveys/workplace/difference?question=stolen&choice=yes&share=0.5"
    come(store, 5)
    before = client.get(path).get_json()

    come(store, 4)

    assert client.get(path).get_json() == before


def test_a_repair_shows_what_is_right(client: FlaskClient, store: Store) -> None:
    come(store, 6)

    store.rebuild_tallies("workplace")

    assert store.shown_tally("workplace") == store.recount("workplace")
