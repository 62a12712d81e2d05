"""Results of an open survey are renewed in batches, and the newest full one is held back: two looks
differ by a whole batch, or by none, also before and after the closing."""

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
from support.soak import all_but

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
    for _ in range(17):
        come(store, 1)
        seen.append(client.get(PATH).get_json())

    assert [found["status"] for found in seen[:9]] == [403] * 9
    assert "from 10 reports on: the newest 5 are held back" in seen[8]["detail"]
    assert [found["n"] for found in seen[9:]] == [5, 5, 5, 5, 5, 10, 10, 10]
    assert all(found == seen[9] for found in seen[10:14])
    assert seen[14] != seen[13]


@pytest.mark.parametrize("reports", all_but((10, 14, 15), [*range(10, 21)]))
def test_the_closing_adds_a_batch_or_more(client: FlaskClient, store: Store, reports: int) -> None:
    """A look just before the closing and one just after it do not show the last few people."""
    come(store, reports)

    before = client.get(PATH).get_json()["n"]
    store.close_survey("workplace")
    after = client.get(PATH).get_json()["n"]

    assert before == 5 * (reports // 5 - 1)
    assert after == reports
    assert 5 <= after - before <= 9


def test_batches_of_one_report_are_not_held_back(client: FlaskClient, store: Store) -> None:
    single = survey_named("single", results={"minimum": 1, "while_open": True})
    store.publish(single, signed(single))

    come(store, 3, single)

    assert client.get("/api/surveys/single/results").get_json()["n"] == 3


def test_the_closing_shows_all(client: FlaskClient, store: Store) -> None:
    come(store, 12)

    store.close_survey("workplace")

    assert client.get(PATH).get_json()["n"] == 12
    with closing(store.engine.connect()) as database:
        assert database.execute("SELECT * FROM snapshots").fetchall() == []


def test_a_batch_of_lines_is_held_back_at_once_and_shown_with_the_next(
    client: FlaskClient, store: Store
) -> None:
    come(store, 5)
    batch = BatchWrite(SURVEY)
    for _ in range(23):
        batch.add(a_report(SURVEY))
    store.begin(batch)
    batch.wait()

    assert client.get(PATH).get_json()["n"] == 5
    come(store, 5)
    assert client.get(PATH).get_json()["n"] == 28


def test_every_server_shows_the_same(client: FlaskClient, store: Store) -> None:
    come(store, 12)

    with closing(Store(store.engine.address)) as other:
        come(other, 2)

        assert other.shown_tally("workplace") == store.shown_tally("workplace")
        assert store.shown_tally("workplace")["stolen"].n == 5
        assert store.tally("workplace")["stolen"].n == 14


def test_where_only_some_questions_are_asked_it_is_the_same(client: FlaskClient) -> None:
    store: Store = client.application.extensions["deniably"]
    some = survey_named("some", ask=1, results=RULES)
    store.publish(some, signed(some))
    for number in range(19):
        report = a_report(some)
        del report.values[("stolen", "often")[number % 2]]
        store.add(some, report)

    shown = store.shown_tally("some")

    assert shown["stolen"].n + shown["often"].n == 10


@pytest.mark.parametrize("path", ["crosstab?rows=stolen&columns=often", "checks"])
def test_whole_reports_wait_for_the_closing(client: FlaskClient, store: Store, path: str) -> None:
    come(store, 14)

    refusal = assert_problem(client.get(f"/api/surveys/workplace/{path}"), 403, "hidden")
    assert "once the survey is closed" in refusal["detail"]
    page = client.get(f"/surveys/workplace/{path}")
    assert "once the survey is closed" in page.text
    assert "<table" not in page.text
    store.close_survey("workplace")
    assert client.get(f"/api/surveys/workplace/{path}").status_code == 200


def test_differences_are_those_of_what_is_shown(client: FlaskClient, store: Store) -> None:
    path = "/api/surveys/workplace/difference?question=stolen&choice=yes&share=0.5"
    come(store, 10)
    before = client.get(path).get_json()

    come(store, 4)

    assert client.get(path).get_json() == before


def test_a_repair_shows_what_is_right(client: FlaskClient, store: Store) -> None:
    come(store, 16)

    store.rebuild_tallies("workplace")
    repaired = store.recount("workplace")

    assert store.shown_tally("workplace")["stolen"].n == 0, "the newest batch is all that is known"
    come(store, 5)
    assert store.shown_tally("workplace") == repaired
