"""Levels of intervals, and numbers to compare with: without a token there are few to compute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from deniably.authoring.compiling import compile_survey
from deniably_server.api.cached_views import answerer, use_queue
from deniably_server.api.computation_queue import ComputationQueue, Job
from deniably_server.api.fine_parameters import LEVELS, step_between
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from support.material import assert_problem, new_token, signed
from support.people import answer
from support.seeded import seeded_coins

SURVEY = compile_survey(
    {
        "name": "work",
        "title": "Work",
        "contact": "a@example.org",
        "results": {"minimum": 5},
        "questions": [
            {"name": "late", "type": "yes_no", "label": "Late?", "odds": 3},
            {"name": "angry", "type": "yes_no", "label": "Angry?", "odds": 3},
            {
                "name": "drinks",
                "type": "number",
                "label": "Drinks?",
                "minimum": 0,
                "maximum": 50,
                "unit": "drinks",
                "epsilon": 2,
            },
        ],
    }
)
ALL_LEVELS = [f".{number}" for number in range(500, 1000)]
RESULTS = "/api/surveys/work/results"
PAIR = "rows=late&columns=angry"
DIFFERENCE = "/api/surveys/work/difference?question=late&choice=yes"
MEAN = "/api/surveys/work/difference?question=drinks"


class Process:
    """Computes as the process apart does, and notes what."""

    def __init__(self, database: Path) -> None:
        self._app = create_app({"DATABASE": str(database)})
        self._answer = answerer(self._app)
        self.did: list[str] = []

    def __call__(self, question: bytes) -> bytes:
        self.did.append(msgspec.msgpack.decode(question, type=Job).target)
        return self._answer(question)

    def close(self) -> None:
        self._app.extensions["deniably"].close()


@pytest.fixture
def process(app: Flask, store: Store, prepared: Path) -> Iterator[Process]:
    """That of a server with a closed survey."""
    store.publish(SURVEY, signed(SURVEY))
    people = [
        {"late": "no" if n % 3 else "yes", "angry": "no" if n % 2 else "yes", "drinks": n % 9}
        for n in range(40)
    ]
    answer(store, SURVEY, people, seeded_coins(7))
    store.close_survey(SURVEY.name)
    with closing(Process(prepared)) as process:
        use_queue(app, ComputationQueue(process, 30, 10))
        yield process


@pytest.fixture
def holder(store: Store) -> dict[str, str]:
    return {"Authorization": f"Bearer {new_token(store, 'analyst')}"}


def statuses(answers: list[TestResponse]) -> dict[int, int]:
    told = [one.status_code for one in answers]
    return {status: told.count(status) for status in sorted(set(told))}


@pytest.mark.parametrize(
    "view",
    [
        f"{RESULTS}.csv?",
        "/surveys/work?",
        f"/api/surveys/work/crosstab?{PAIR}&",
        f"/surveys/work/crosstab?{PAIR}&",
        "/api/surveys/work/differences?question=late&",
        f"{DIFFERENCE}&other=no&",
        "/surveys/work/figures/late?",
        "/api/surveys/work/paper/METHODS.md?",
    ],
)
def test_fifty_levels_of_a_view_are_six_computations_without_a_token(
    process: Process, client: FlaskClient, view: str
) -> None:
    """Of .50 to .99 there are .5, .68, .8, .9, .95, .98 and .99, and .95 is the usual one."""
    client.get(view.rstrip("?&"))

    told = [client.get(f"{view}confidence=.{number}") for number in range(50, 100)]

    assert statuses(told) == {200: 7, 400: 43}
    assert len(process.did) == len(set(process.did)) == 1 + 6


def test_all_levels_are_ten_computations_however_they_are_spelled(
    process: Process, client: FlaskClient
) -> None:
    """And what is no level costs none."""
    spelled = [*ALL_LEVELS, *(f"{level:.3f}" for level in LEVELS), ".5", ".90", "0.95"]
    hostile = ["2", "nan", "", ".9999", "1e-1", "9" * 4000, ".９"]

    told = [client.get(f"{RESULTS}?confidence={level}") for level in spelled]
    refused = [client.get(f"{RESULTS}?confidence={level}") for level in hostile]

    assert statuses(told) == {200: 2 * len(LEVELS) + 3, 400: 500 - len(LEVELS)}
    assert statuses(refused) == {400: len(hostile)}
    assert len(process.did) == len(set(process.did)) == len(LEVELS)


def test_a_refused_level_says_which_there_are(process: Process, client: FlaskClient) -> None:
    refused = client.get(f"{RESULTS}?confidence=.93")

    assert_problem(refused, 400, "bad-parameter")
    why = refused.get_json()["detail"]
    assert all(str(level) in why for level in LEVELS)
    assert "without a token" in why
    page = client.get("/surveys/work?confidence=.93", headers={"Accept": "text/html"})
    assert (page.status_code, "0.975" in page.text) == (400, True)
    wrong = {"Authorization": "Bearer den_wrong"}
    assert client.get(f"{RESULTS}?confidence=.93", headers=wrong).status_code == 400
    assert process.did == []


def test_each_level_has_its_own_intervals(process: Process, client: FlaskClient) -> None:
    found = [client.get(f"{RESULTS}?confidence={level}").get_json() for level in LEVELS]

    assert [one["confidence"] for one in found] == list(LEVELS)
    widths = [
        high - low for one in found for low, high in [one["questions"][0]["choices"][0]["interval"]]
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_whoever_has_a_token_may_use_every_level_and_number(
    process: Process, client: FlaskClient, holder: dict[str, str]
) -> None:
    for level in ("0.93", ".917", ".917"):
        found = client.get(f"{RESULTS}?confidence={level}", headers=holder)
        assert found.get_json()["confidence"] == float(level)
    assert client.get(f"{DIFFERENCE}&share=0.1234", headers=holder).status_code == 200
    assert client.get(f"{MEAN}&value=7.123", headers=holder).status_code == 200
    assert len(process.did) == 4
    for wrong in ("confidence=1", "confidence=.9999"):
        assert client.get(f"{RESULTS}?{wrong}", headers=holder).status_code == 400
    assert client.get(f"{DIFFERENCE}&share=1.5", headers=holder).status_code == 400
    assert len(process.did) == 4


def test_shares_and_values_to_compare_with_are_few_without_a_token(
    process: Process, client: FlaskClient
) -> None:
    shares = [number / 1000 for number in range(51)]
    values = [number / 20 for number in range(51)]

    told = [client.get(f"{DIFFERENCE}&share={share}") for share in shares]
    assert statuses(told) == {200: 11, 400: 40}
    assert len(process.did) == 11

    told = [client.get(f"{MEAN}&value={value}") for value in values]
    assert statuses(told) == {200: 6, 400: 45}
    assert len(process.did) == 11 + 6


def test_a_number_is_one_computation_however_it_is_spelled(
    process: Process, client: FlaskClient
) -> None:
    tenths = ["0.1", ".1", "0.10", "1e-1", "00.1", "+.1", f".1{'0' * 500}"]
    same = {client.get(f"{DIFFERENCE}&share={text.replace('+', '%2B')}").text for text in tenths}
    sevens = {client.get(f"{MEAN}&value={text}").text for text in ("7", "7.0", "0.7e1")}
    assert (len(same), len(sevens), len(process.did)) == (1, 1, 2)
    for zero in ("0", "-0", "1e-999999999"):
        assert client.get(f"{MEAN}&value={zero}").status_code == 200
    assert len(process.did) == 3

    for text in ("x", "", "nan", "inf", "-1", "1e999", "51", "9" * 5000):
        assert_problem(client.get(f"{MEAN}&value={text}"), 400, "bad-parameter")
        assert_problem(client.get(f"{DIFFERENCE}&share={text}"), 400, "bad-parameter")
    for query in ("question=late&value=1", "question=none&value=1"):
        assert_problem(client.get(f"/api/surveys/work/difference?{query}"), 400, "bad-parameter")
    assert len(process.did) == 3

    why = client.get(f"{MEAN}&value=7.3").get_json()["detail"]
    assert "a multiple of 0.5 without a token" in why


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [
        (0, 1, "0.005"), (0, 50, "0.5"), (1, 5, "0.05"), (1950, 2020, "0.5"), (0, 24, "0.5"),
        (0, 20, "0.1"), (-10, 10, "0.1"), (0, 1_000_000, "5000"), (0, 0.001, "5e-6"), (3, 3, "1"),
        (0.1, 0.3, "0.001"),
    ],
)  # fmt: skip
def test_steps_are_as_people_count(low: float, high: float, step: str) -> None:
    assert step_between(low, high) == Fraction(step)
