"""Checks of drafts over HTTP: the same object as ``deniably check --json`` and as published."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from time import monotonic, process_time
from typing import Any

import msgspec
import pytest
import requests
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.quick_check import quick_check
from deniably_server.api.designs import StoredDesign, find_designs, stored_designs
from deniably_server.api.quick_checks import (
    LARGEST_DRAFT,
    Checked,
    CheckJob,
    CheckTurns,
    checker,
    use_checks,
)
from deniably_server.commands import authoring
from deniably_server.errors import TooMany, TooSlow, Unavailable, Uncomputed
from deniably_server.guard.rate_limits import CHECKS, Limit, limits_of
from deniably_server.storage.store import Store
from deniably_server.storage.tables import designs as designs_table
from deniably_server.web.worker_process import Starved, TookTooLong, WorkerFailed
from support.crowd import until
from support.drafts import draft
from support.material import Server, assert_problem, new_token, signed_headers

Author = dict[str, str]
YES_NO = {"name": "theft", "type": "yes_no", "label": "Theft?", "odds": 3}
SMALL = {"name": "s", "title": "S", "questions": [YES_NO]}
HOURS = {
    "name": "hours", "type": "number", "label": "Hours?", "minimum": 0, "maximum": 60, "odds": 3,
}  # fmt: skip
MEAN = {"name": "s", "title": "S", "questions": [HOURS]}


def written(document: object) -> bytes:
    """A draft as JSON, decimals as numbers."""
    return msgspec.json.Encoder(decimal_format="number").encode(document)


def check(client: FlaskClient, author: Author, document: object, n: int = 600) -> Any:
    answer = client.post(
        f"/api/check?n={n}", data=written(document), content_type="application/json", headers=author
    )
    assert answer.status_code == 200, answer.data
    return json.loads(answer.data)


def printed(file: Path, n: int = 600) -> Any:
    return json.loads(
        CliRunner().invoke(authoring.check, [str(file), "--json", "--n", str(n)]).output
    )


# --- one object ---------------------------------------------------------------------------------


def assert_one_object(seed: int, client: FlaskClient, author: Author, folder: Path) -> None:
    """Of the API, of the command, and of what is published."""
    document = draft(seed)
    file = folder / "draft.json"
    file.write_bytes(written(document))

    found = check(client, author, document)
    assert found == printed(file)
    from deniably.authoring.compiling import compile_survey

    survey = compile_survey(document)
    headers = author | signed_headers(survey) | {"Content-Type": "application/json"}
    published = client.post("/api/surveys", data=written(document), headers=headers)
    assert published.status_code == 201, published.data
    definition = json.loads(client.get(f"/api/surveys/{survey.name}").data)
    assert found["digest"] == json.loads(published.data)["digest"]
    assert list(found["used"]["each"]) == [each["name"] for each in definition["questions"]]
    assert found["asked"] == definition.get("ask", len(definition["questions"]))
    refused = CliRunner().invoke(
        authoring.publish,
        [
            str(file),
            "--server",
            "http://127.0.0.1:1",
            "--token",
            "none",
            "--key",
            str(folder / "key"),
        ],
    )
    assert ("Nothing was published" in refused.output) == bool(found["refused"])


@pytest.mark.parametrize("seed", range(4))
def test_api_command_and_published_survey_agree(
    seed: int, client: FlaskClient, author: Author, tmp_path: Path
) -> None:
    assert_one_object(seed, client, author, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4, 200))
def test_api_command_and_published_survey_agree_on_many(
    seed: int, client: FlaskClient, author: Author, tmp_path: Path
) -> None:
    assert_one_object(seed, client, author, tmp_path)


def test_yaml_is_read_as_json_is(client: FlaskClient, author: Author) -> None:
    text = (
        "name: s\ntitle: S\nquestions:\n  - {name: theft, type: yes_no, label: Theft?, odds: 3}\n"
    )
    answer = client.post("/api/check", data=text, content_type="application/yaml", headers=author)

    assert json.loads(answer.data) == check(client, author, SMALL, 1000)


# --- what is refused ----------------------------------------------------------------------------


def test_a_draft_with_mistakes_is_an_answer(client: FlaskClient, author: Author) -> None:
    found = check(client, author, {"name": "S", "title": "S", "questions": [YES_NO] * 101})

    assert [each["why"] for each in found["problems"]][1] == (
        "a list of 101; allowed is a list of 1 to 100 questions"
    )
    nested = b'{"title": ' + b"[" * 40 + b"]" * 40 + b"}"
    for text in (nested, b"[" * 40 + b"]" * 40, b"name: [", b"\xff"):
        answer = client.post(
            "/api/check", data=text, content_type="application/json", headers=author
        )
        assert answer.status_code == 200
        assert json.loads(answer.data)["problems"]


def test_a_draft_has_at_most_256_kb(client: FlaskClient, author: Author) -> None:
    for size, status in ((LARGEST_DRAFT, 200), (LARGEST_DRAFT + 1, 413)):
        text = b'{"name": "' + b"a" * (size - 12) + b'"}'
        answer = client.post(
            "/api/check", data=text, content_type="application/json", headers=author
        )
        assert answer.status_code == status
    assert "at most 256 kB, and this one has 257 kB" in json.loads(answer.data)["detail"]


def test_it_takes_an_authors_token_and_a_number_of_respondents(
    app: Flask, client: FlaskClient, author: Author
) -> None:
    analyst = {"Authorization": f"Bearer {new_token(app.extensions['deniably'], 'analyst')}"}
    assert_problem(client.post("/api/check", json=SMALL), 401, "unauthorised")
    assert_problem(client.post("/api/check", json=SMALL, headers=analyst), 403, "forbidden")
    for wrong in ("n=0", "n=x", "n=-5", "n=99999999999", "m=600", "n=1&n=2"):
        answer = client.post(f"/api/check?{wrong}", json=SMALL, headers=author)
        assert_problem(answer, 400, "bad-parameter")


def test_a_token_has_240_checks_a_minute(client: FlaskClient, app: Flask, author: Author) -> None:
    limits = limits_of(0, 0, 0)
    assert limits.checks.take("a token", 2 * CHECKS) == CHECKS == 240
    slow = replace(limits, checks=Limit(2, clock=lambda: 0.0))
    app.extensions["deniably_limits"] = slow
    for _ in range(2):
        assert client.post("/api/check?n=0", json=SMALL, headers=author).status_code == 400
    answer = client.post("/api/check", json=SMALL, headers=author)

    assert_problem(answer, 429, "too-many")
    assert int(answer.headers["Retry-After"]) >= 1
    other = {"Authorization": f"Bearer {new_token(app.extensions['deniably'], 'author')}"}
    assert client.post("/api/check", json=SMALL, headers=other).status_code == 200


# --- turns --------------------------------------------------------------------------------------


def found(_: bytes = b"") -> bytes:
    return msgspec.msgpack.encode(Checked(b"{}", []))


JOB = CheckJob(b"", 600)


def none(_: object) -> list[StoredDesign]:
    return []


def test_a_token_has_one_check_at_a_time() -> None:
    begun, over = Event(), Event()

    def ask(_: bytes) -> bytes:
        begun.set()
        over.wait(60)
        return found()

    turns = CheckTurns(ask, 4)
    thread = Thread(target=turns.check, args=("one", JOB, none))
    thread.start()
    begun.wait(60)
    with pytest.raises(TooMany, match="one at a time"):
        turns.check("one", JOB, none)
    over.set()
    thread.join()
    assert turns.check("one", JOB, none).view == b"{}"


@pytest.mark.parametrize("failure", [TookTooLong, Starved])
def test_a_check_that_takes_too_long_says_that_the_draft_can_be_published(
    failure: type[Exception], app: Flask, client: FlaskClient, author: Author
) -> None:
    def ask(_: bytes) -> bytes:
        raise failure

    with pytest.raises(TooSlow):
        CheckTurns(ask, 4).check("one", JOB, none)
    use_checks(app, CheckTurns(ask, 4))
    answer = client.post("/api/check", json=SMALL, headers=author)
    assert_problem(answer, 503, "too-slow")
    assert json.loads(answer.data)["detail"] == (
        "This takes too long to work out here. It can still be published."
    )


def test_a_process_that_is_gone_is_asked_once_again() -> None:
    answers: Iterator[Callable[[], bytes]] = iter([_gone, found, _gone, _gone, found])
    turns = CheckTurns(lambda _: next(answers)(), 4)

    assert turns.check("one", JOB, none).view == b"{}"
    with pytest.raises(Uncomputed):
        turns.check("one", JOB, none)
    assert turns.check("one", JOB, none).view == b"{}"


def _gone() -> bytes:
    raise WorkerFailed


# --- designs ------------------------------------------------------------------------------------


def checked(answer: Callable[[bytes], bytes], document: object, store: Store) -> Checked:
    job = CheckJob(written(document), 600)
    return CheckTurns(answer, 4).check("one", job, partial(stored_designs, store))


def test_a_mean_is_about_right_and_exact_once_its_design_is_stored(address: str) -> None:
    answer = checker()
    with closing(Store(address)) as store, closing(Store(address)) as other:
        first = checked(answer, MEAN, store)
        find_designs(other, first.missing)
        again = checked(answer, MEAN, store)
        new = checked(checker(), MEAN, other)

    assert json.loads(first.view)["about"]
    assert first.missing == [(61, 3, 1)]
    assert again == new
    assert again.missing == []
    assert again.view == quick_check(lambda: MEAN, 600).json


@pytest.mark.thorough
def test_a_budget_that_needs_further_designs_once_some_are_known_is_exact_in_the_end(
    store: Store,
) -> None:
    questions = [YES_NO, HOURS, HOURS | {"name": "rest", "maximum": 24}]
    free = [{key: one[key] for key in one if key != "odds"} for one in questions]
    document = MEAN | {"questions": free, "budget": {"epsilon": 3}}
    answer = checker()
    while missing := checked(answer, document, store).missing:
        find_designs(store, missing)

    assert checked(answer, document, store).view == quick_check(lambda: document, 600).json


def test_a_database_that_does_not_answer_leaves_the_figures_about_right(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise Unavailable

    monkeypatch.setattr(store, "design", away)
    assert json.loads(checked(checker(), MEAN, store).view)["about"]


def test_whoever_drafts_for_ever_does_not_fill_the_disk(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(designs_table, "MOST_DESIGNS", 3)
    with closing(Store(address)) as store:
        for positions in range(2, 6):
            store.add_design(positions, 3, 1, "{}")

        assert [store.design(each, 3, 1) for each in range(2, 6)] == [None, None, None, "{}"]


def test_twenty_different_means_are_about_right_within_the_limit(store: Store) -> None:
    questions = [HOURS | {"name": f"n{i}", "maximum": 10 + i, "odds": 2 + i} for i in range(20)]
    answer = checker()
    began = process_time()
    view = json.loads(checked(answer, MEAN | {"questions": questions}, store).view)

    assert process_time() - began < 2
    assert view["about"]
    assert len(view["questions"]) == 20


# --- on a real server ---------------------------------------------------------------------------


def posted(server: Server, document: object) -> requests.Response:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    return requests.post(
        f"{server.url}/api/check?n=600", written(document), headers=headers, timeout=120
    )


def settled(server: Server, document: object) -> Any:
    """The first answer that is no 503: on a busy machine a check may starve."""
    until(lambda: posted(server, document).status_code == 200)
    return posted(server, document).json()


@pytest.mark.slow
def test_a_server_answers_at_once_and_is_exact_a_little_later(server: Server) -> None:
    exact = json.loads(quick_check(lambda: MEAN, 600).json)

    first = settled(server, MEAN)
    assert first["about"] in (True, False)
    until(lambda: not posted(server, MEAN).json().get("about", True))
    assert posted(server, MEAN).json() == exact
    assert settled(server, SMALL) == json.loads(quick_check(lambda: SMALL, 600).json)


@pytest.mark.slow
def test_a_check_process_that_is_killed_is_replaced(server: Server) -> None:
    settled(server, SMALL)
    (worker,) = [each for each in _below(server.workers) if _has_worker(each)]
    (child,) = _children(worker)
    began = monotonic()
    os.kill(child, signal.SIGKILL)
    assert settled(server, SMALL)["digest"]
    os.kill(worker, signal.SIGKILL)
    assert settled(server, SMALL)["digest"]
    assert monotonic() - began < 120


def _children(process: int) -> list[int]:
    return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def _below(processes: list[int]) -> list[int]:
    return [child for each in processes for child in _children(each)]


def _has_worker(process: int) -> bool:
    return bool(_children(process))
