"""Reports to a part of the questions, to the figures: each question has its own n."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.core.errors import BadReport
from deniably.survey.report import Report, randomise_answers
from deniably.survey.survey import Survey
from deniably.workbench.engines.duck import duckdb
from deniably.workbench.engines.tallying import tally_set
from deniably.workbench.files.parquet_parts import open_parts, write_parts
from deniably.workbench.files.report_lines import read_ndjson
from deniably.workbench.opening import open as open_study
from deniably_server.api.report_lines import NDJSON
from deniably_server.storage.maintenance.doctor import examine, repair
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite, Outcome
from support.material import assert_problem, new_token, signed, survey_named

QUESTIONS = [
    *json.loads(survey_named().canonical)["questions"],
    {
        "name": "drunk", "type": "yes_no", "label": "Drunk at work?", "claim": {"odds": "9"},
        "choices": [{"name": "yes", "label": "Yes"}, {"name": "no", "label": "No"}],
        "mechanism": {"name": "subset_selection", "k": 2, "omega": 1, "own": 9, "other": 1},
    },
]  # fmt: skip
RULES = {"minimum": 5, "while_open": False}
LIVE = {"minimum": 5, "while_open": True}
DIVIDED = survey_named(questions=QUESTIONS, results=RULES, part=True)
WHOLE = survey_named(questions=QUESTIONS, results=RULES)
SOME = survey_named(questions=QUESTIONS, results=RULES, ask=2, part=True)
ANSWERS = {"stolen": "yes", "often": "once", "drunk": "no"}
EVERY = tuple(ANSWERS)


def report(survey: Survey, *names: str, **stratum: str) -> Report:
    """A report to these questions."""
    asked = [question for question in survey.questions if question.name in names]
    return randomise_answers(survey, ANSWERS, questions=asked, strata=stratum or None)


def crowd(survey: Survey, *groups: tuple[int, Sequence[str]], **stratum: str) -> list[Report]:
    return [report(survey, *names, **stratum) for count, names in groups for _ in range(count)]


@pytest.fixture
def store(app: Flask) -> Store:
    found: Store = app.extensions["deniably"]
    return found


def published(store: Store, survey: Survey, reports: Sequence[Report]) -> None:
    store.publish(survey, signed(survey))
    batch = BatchWrite(survey)
    for one in reports:
        batch.add(one)
    store.begin(batch)
    assert set(batch.wait()) <= {Outcome.STORED}


# --- what a server takes -------------------------------------------------------------------------


@pytest.mark.parametrize("names", [EVERY, ("stolen",), ("drunk", "often")])
def test_a_part_is_a_report_on_both_ways(client: FlaskClient, store: Store, names: Any) -> None:
    """The fast path, and the slow one of a request in another form."""
    store.publish(DIVIDED, signed(DIVIDED))
    for kind in ("application/json", "application/json; charset=utf-8"):
        body = report(DIVIDED, *names).canonical
        for status in (201, 200):
            sent = client.post("/api/surveys/workplace/reports", data=body, content_type=kind)
            assert sent.status_code == status

    counts = {name: tally.n for name, tally in store.tally("workplace").items()}
    assert counts == {name: 2 * (name in names) for name in EVERY}
    assert store.reports("workplace") == 2


@pytest.mark.parametrize(
    ("survey", "values"),
    [
        (DIVIDED, {}),
        (WHOLE, {"stolen": [0]}),
        (SOME, {}),
        (SOME, {"stolen": [0], "often": [0, 1], "drunk": [0]}),
        (DIVIDED, {"stolen": [2]}),
        (DIVIDED, {"other": [0]}),
        (DIVIDED, {"stolen": []}),
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8"])
def test_what_is_no_part_is_refused(
    client: FlaskClient, store: Store, survey: Survey, values: Any, kind: str
) -> None:
    store.publish(survey, signed(survey))
    body = json.dumps({"survey": survey.digest, "id": "0f" * 16, "values": values})

    sent = client.post("/api/surveys/workplace/reports", data=body, content_type=kind)

    assert_problem(sent, 422, "bad-report")
    assert store.reports("workplace") == 0


def test_a_question_twice_is_refused(client: FlaskClient, store: Store) -> None:
    store.publish(DIVIDED, signed(DIVIDED))
    body = report(DIVIDED, "stolen").canonical.replace(b'"stolen":', b'"stolen":[0],"stolen":', 1)

    sent = client.post("/api/surveys/workplace/reports", data=body, content_type="application/json")

    assert_problem(sent, 400, "malformed")


def test_lines_may_be_parts(client: FlaskClient, store: Store) -> None:
    store.publish(DIVIDED, signed(DIVIDED))
    reports = crowd(DIVIDED, (3, EVERY), (2, ["often"]))
    lines = b"".join(one.canonical + b"\n" for one in reports) + b'{"values":{}}\n'
    headers = {"Authorization": f"Bearer {new_token(store, 'author', 'workplace')}"}

    done = client.post(
        "/api/surveys/workplace/batches", data=lines, content_type=NDJSON, headers=headers
    ).get_json()

    assert (done["stored"], done["refused"]) == (5, 1)
    assert store.tally("workplace")["often"].n == 5


# --- what it counts ------------------------------------------------------------------------------


@pytest.mark.parametrize("survey", [DIVIDED, SOME], ids=["all asked", "some asked"])
def test_tallies_are_those_of_the_stored_reports(address: str, survey: Survey) -> None:
    reports = crowd(survey, (4, ["stolen", "drunk"]), (3, ["often"]), (2, ["drunk"]))
    with closing(Store(address)) as store:
        published(store, survey, reports[:5])
        for one in reports[5:]:
            assert store.add(survey, one) is Outcome.STORED

        assert {name: one.n for name, one in store.tally("workplace").items()} == {
            "stolen": 4, "often": 3, "drunk": 6,
        }  # fmt: skip
        assert store.tally("workplace") == store.recount("workplace")
        assert store.reports("workplace") == 9
        assert examine(store) == []
        with closing(store.engine.connect()) as database:
            database.execute("UPDATE answered SET reports = 9 WHERE question = 'often'")
        repair(store, examine(store))
        assert store.tally("workplace")["often"].n == 3


def test_results_have_an_n_for_each_question(client: FlaskClient, store: Store) -> None:
    published(store, DIVIDED, crowd(DIVIDED, (20, EVERY), (7, ["stolen", "often"]), (3, ["often"])))
    store.close_survey("workplace")

    found = client.get("/api/surveys/workplace/results").get_json()
    rows = list(csv.DictReader(io.StringIO(
        client.get("/api/surveys/workplace/results.csv").text.lstrip("\ufeff"))))  # fmt: skip
    page = client.get("/surveys/workplace").text

    assert found["n"] == 30
    assert {one["name"]: one["n"] for one in found["questions"]} == {
        "stolen": 27, "often": 30, "drunk": 20,
    }  # fmt: skip
    assert {(row["question"], row["n"]) for row in rows} >= {("stolen", "27"), ("drunk", "20")}
    assert all(f">{n}<" in page or f"{n} " in page for n in (20, 27, 30))


def test_a_question_with_few_reports_hides_the_results(client: FlaskClient, store: Store) -> None:
    published(store, DIVIDED, crowd(DIVIDED, (4, EVERY), (50, ["often"])))
    store.close_survey("workplace")

    assert_problem(client.get("/api/surveys/workplace/results"), 403, "hidden")


def test_two_looks_at_an_open_survey_differ_by_a_batch_to_every_question(
    client: FlaskClient, store: Store
) -> None:
    """Else who is alone in answering a question between two looks could be told by it."""
    survey = survey_named(questions=QUESTIONS, results=LIVE, part=True)
    store.publish(survey, signed(survey))
    seen = list[dict[str, int]]()
    for number in range(90):
        names = EVERY if number % 6 == 0 else EVERY[:2] if number % 2 else EVERY[1:2]
        store.add(survey, report(survey, *names))
        found = client.get("/api/surveys/workplace/results")
        if found.status_code == 200:
            counts = {one["name"]: one["n"] for one in found.get_json()["questions"]}
            counts["in all"] = found.get_json()["n"]
            if not seen or counts != seen[-1]:
                seen.append(counts)
    store.close_survey("workplace")
    last = client.get("/api/surveys/workplace/results").get_json()
    seen.append({one["name"]: one["n"] for one in last["questions"]} | {"in all": last["n"]})

    assert len(seen) >= 3
    for before, after in pairwise(seen):
        assert min(after[name] - before[name] for name in after) >= 5


def test_cross_tables_are_of_those_who_answered_both(client: FlaskClient, store: Store) -> None:
    published(store, DIVIDED, crowd(DIVIDED, (400, EVERY), (90, ["stolen"]), (60, ["often"])))
    store.close_survey("workplace")

    found = client.get("/api/surveys/workplace/crosstab?rows=stolen&columns=often").get_json()

    assert found["n"] == 400


# --- what leaves ---------------------------------------------------------------------------------


def test_report_sets_have_missing_values_and_the_same_counts(tmp_path: Path) -> None:
    reports = crowd(DIVIDED, (30, EVERY), (12, ["often"]), (8, ["drunk", "stolen"]))
    found = read_ndjson(
        DIVIDED, [json.dumps({"randomised": one.values}).encode() for one in reports]
    )
    wanted = found.tally()

    assert {name: one.n for name, one in wanted.items()} == {
        "stolen": 38, "often": 42, "drunk": 38,
    }  # fmt: skip
    write_parts(tmp_path / "parts", found.layout, [found.rows], rows=20)
    with duckdb() as engine:
        counted = tally_set(open_parts(tmp_path / "parts"), engine)
    assert counted.tallies == wanted
    assert (counted.n, counted.left_out) == (50, 0)
    study = open_study(tmp_path / "parts")
    assert study.n == 50


def test_a_row_without_any_value_does_not_fit() -> None:
    with pytest.raises(BadReport, match="1 to 3 questions"):
        read_ndjson(DIVIDED, [b'{"randomised": {}}'])
