"""Many addresses ask a real server for more than it can compute: authors and visitors go on."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import cycle
from pathlib import Path

import pytest
import requests

from deniably.authoring.compiling import publish_text
from deniably_server.api.fine_parameters import LEVELS
from deniably_server.storage.store import Store
from support.crowd import until
from support.material import Server, a_report, new_token, signed, signed_headers, survey_named

CLIENTS = 64
RESULTS = "/api/surveys/workplace/results"
DIFFERENCE = "/api/surveys/workplace/difference?question=stolen&choice=yes"
QUERIES = [f"share={step / 200}&confidence={level}" for level in LEVELS for step in range(201)]
"""As many as anybody may ask for of one choice."""
DEFINITION = """
name: mine-%d
title: Mine
contact: a@example.org
questions: [{name: a, type: yes_no, label: A, odds: 3}]
"""
Serve = Callable[..., Server]


@pytest.fixture
def server(serve: Serve, database: Path) -> Server:
    """A server with a closed survey, behind a proxy that says who asks."""
    survey = survey_named(results={"minimum": 5, "while_open": False})
    with closing(Store(str(database))) as store:
        store.publish(survey, signed(survey))
        for _ in range(9):
            store.add(survey, a_report(survey))
        store.close_survey(survey.name)
    return serve("--proxies", "1", "--threads", "128")


@contextmanager
def attacked(server: Server) -> Generator[Counter[int]]:
    """While the block runs, each of 64 addresses asks for ever new comparisons, on one connection
    without a pause. Begins once more is asked for than is computed."""
    over, told = threading.Event(), Counter[int]()

    def hammer(number: int) -> None:
        headers = {"X-Forwarded-For": f"198.51.100.{number}"}
        queries = cycle(QUERIES[31 * number :] + QUERIES[: 31 * number])
        with requests.Session() as session:
            while not over.is_set():
                path = f"{server.url}{DIFFERENCE}&{next(queries)}"
                told[session.get(path, headers=headers, timeout=120).status_code] += 1
                over.wait(0.2)

    with ThreadPoolExecutor(CLIENTS) as threads:
        try:
            for number in range(CLIENTS):
                threads.submit(hammer, number)
            until(lambda: told[429] > 0)
            yield told
        finally:
            over.set()
            server.kill()


def ask(server: Server, address: str, query: str, token: str = "") -> requests.Response:
    headers = {"X-Forwarded-For": address} | ({"Authorization": token} if token else {})
    return requests.get(f"{server.url}{RESULTS}{query}", headers=headers, timeout=120)


def publish(server: Server, number: int, token: str) -> int:
    text = DEFINITION % number
    headers = {"Authorization": token, "Content-Type": "application/yaml"}
    headers |= signed_headers(publish_text(text)) | {"X-Forwarded-For": "198.51.100.1"}
    address = f"{server.url}/api/surveys"
    return requests.post(address, text, headers=headers, timeout=60).status_code


@pytest.mark.slow
@pytest.mark.thorough
def test_authors_publish_and_read_results_while_64_addresses_ask_for_more_than_there_is(
    server: Server, database: Path
) -> None:
    with closing(Store(str(database))) as store:
        token = f"Bearer {new_token(store, 'author')}"

    with attacked(server) as told:
        published = [publish(server, number, token) for number in range(4)]
        shown = [
            ask(server, "198.51.100.1", f"?confidence=.9{number}", token).status_code
            for number in range(4)
        ]

    assert (published, shown) == ([201] * 4, [200] * 4), told
    assert "198.51.100" not in server.log


@pytest.mark.soak
def test_a_visitor_among_64_addresses_that_never_stop_gets_an_answer_when_it_is_promised(
    server: Server,
) -> None:
    with attacked(server):
        for level in LEVELS[:4]:
            told = list[int]()
            while not told or told[-1] == 429:
                answer = ask(server, "203.0.113.9", f"?confidence={level}")
                told.append(answer.status_code)
                time.sleep(int(answer.headers.get("Retry-After", 0)))
            assert told in ([200], [429, 200])
