"""Lists of surveys: however many there are, a page of them costs little and leads to the others."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier, Event

import pytest
import requests
from flask import Flask
from flask.testing import FlaskClient

from deniably_server.api.cached_views import use_queue
from deniably_server.api.computation_queue import ComputationQueue
from deniably_server.errors import Unavailable
from deniably_server.guard.read_limit import ReadLimit, let_others_read
from deniably_server.storage import store as module
from deniably_server.storage.engines.readers import MOST
from deniably_server.storage.store import Store
from deniably_server.web.paging import SIZE
from deniably_server.web.worker_process import WorkerFailed
from support.cases import for_each
from support.material import Server, signed, survey_named

MANY = 2 * SIZE + 3


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More surveys than two pages have: to publish them takes longer than all that lists them."""
    path = tmp_path_factory.mktemp("filled") / "deniably.db"
    with closing(Store(str(path))) as store:
        for number in range(MANY):
            survey = survey_named(f"survey-{number:03}", title=f"Title <{number}>")
            store.publish(survey, signed(survey))
        store.close_survey("survey-001")
    return path


@pytest.fixture
def database(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "deniably.db"
    if "many" in request.fixturenames:
        shutil.copyfile(request.getfixturevalue("filled"), path)
    return path


@pytest.fixture
def many(app: Flask) -> list[str]:
    """Their names; with this a test's application has them all."""
    store: Store = app.extensions["deniably"]
    return store.names()


def followed(client: FlaskClient, path: str) -> list[str]:
    """The pages from this one on."""
    html = {"Accept": "text/html"}
    pages = [client.get(path, headers=html).text]
    while found := re.search(r'rel="next" href="(\?page=\d+)"', pages[-1]):
        pages.append(client.get(path + found[1], headers=html).text)
    return pages


@pytest.mark.parametrize("path", ["/", "/register"])
def test_every_survey_is_on_one_of_the_pages(
    client: FlaskClient, many: list[str], path: str
) -> None:
    pages = followed(client, path)

    listed = [re.findall(r'href="/surveys/(survey-\d+)"', page) for page in pages]
    assert [len(page) for page in listed] == [SIZE, SIZE, 3]
    assert sorted(name for page in listed for name in page) == many
    assert 'rel="prev" href="?page=2"' in pages[2]
    assert 'rel="prev"' not in pages[0]


def test_the_first_page_says_what_a_survey_is(client: FlaskClient, many: list[str]) -> None:
    page = client.get("/").text

    assert "<h3>Title &lt;0&gt;</h3>" in page
    assert 'Title &lt;1&gt;</a> <span class="chip">closed</span>' in page
    assert "/s/survey-000" in page
    assert "/s/survey-001" not in page
    survey = survey_named()
    assert f"{len(survey.questions)} questions; in total epsilon" in page
    assert survey.total.epsilon_text() in page


def test_the_first_page_waits_for_no_computation_and_reads_no_definition(
    app: Flask, client: FlaskClient, many: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the process that computes has ended, takes long, or is busy: the list is there."""

    def never(_: object) -> None:
        raise AssertionError("a definition was read")

    def fails(_: bytes) -> bytes:
        raise WorkerFailed

    use_queue(app, ComputationQueue(fails, 30, 50))
    monkeypatch.setattr(module, "stored_survey", never)

    pages = followed(client, "/")

    assert sum(page.count('href="/surveys/survey-') for page in pages) == MANY
    assert "Guessed right" not in pages[0]


@for_each("page", ["0", "-1", "x", "", "1.0", "9999999", "%C2%B2"])
@for_each("path", ["/", "/register"])
def test_a_page_that_is_none_is_refused(client: FlaskClient, path: str, page: str) -> None:
    answer = client.get(f"{path}?page={page}", headers={"Accept": "text/html"})

    assert answer.status_code == 400


def test_a_page_behind_the_last_leads_back(client: FlaskClient, many: list[str]) -> None:
    page = client.get("/?page=77").text

    assert "There are no more surveys" in page
    assert 'rel="prev" href="?page=3"' in page


def test_a_long_read_keeps_nobody_waiting(address: str) -> None:
    """As many read at once as there are connections; and the next waits for one of them."""
    with closing(Store(address)) as store, ThreadPoolExecutor(MOST) as threads:
        survey = survey_named()
        store.publish(survey, signed(survey))
        together, over = Barrier(MOST, timeout=30), Event()

        def read() -> None:
            with store._reading() as database:
                database.execute("SELECT count(*) FROM surveys").fetchone()
                together.wait()
                over.wait(30)

        reading = [threads.submit(read) for _ in range(MOST - 1)]
        with store._reading() as database:
            together.wait()
            assert database.execute("SELECT count(*) FROM surveys").fetchone()[0] == 1
        assert store.names() == ["workplace"]  # while the others still read
        over.set()
        for each in reading:
            each.result()


def test_a_reader_cannot_write(address: str) -> None:
    with closing(Store(address)) as store:
        for _ in range(2):
            with pytest.raises(Unavailable), store._reading() as database:
                database.execute("INSERT INTO settings VALUES ('a', 'b')")
        assert store.setting("a") is None


# --- the limit of reads -------------------------------------------------------------------------


class Inside:
    """An application that waits until it is let go."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.go = Event()
        self.waits_outside = False

    def __call__(self, environ: dict[str, object], start_response: object) -> list[bytes]:
        self.entered.append(str(environ["PATH_INFO"]))
        if self.waits_outside:
            with let_others_read(environ):
                assert self.go.wait(30)
        else:
            assert self.go.wait(30)
        return [b"here"]


def ask(reads: ReadLimit, path: str, method: str = "GET", accept: str = "*/*") -> list[bytes]:
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "HTTP_ACCEPT": accept}
    return list(reads(environ, lambda *_: None))  # type: ignore[arg-type, return-value]


def until(true: Callable[[], object]) -> None:
    for _ in range(3000):
        if true():
            return
        Event().wait(0.01)
    raise AssertionError


def test_those_who_look_wait_for_each_other_and_those_who_answer_for_none_of_them() -> None:
    inside = Inside()
    reads = ReadLimit(inside, maximum=10)  # type: ignore[arg-type]
    with ThreadPoolExecutor(20) as threads:
        looks = [threads.submit(ask, reads, "/surveys/a/crosstab") for _ in range(5)]
        until(lambda: len(inside.entered) == 2)
        answers = [
            threads.submit(ask, reads, *rest)
            for rest in [
                ("/s/a",),
                ("/api/surveys/a",),
                ("/register",),
                ("/healthz",),
                ("/web/form/form.js",),
                ("/api/surveys/a/reports", "POST"),
            ]
        ]
        until(lambda: len(inside.entered) == 8)
        inside.go.set()

        assert {each.result()[0] for each in [*looks, *answers]} == {b"here"}
    assert inside.entered.count("/surveys/a/crosstab") == 5


def test_who_waits_for_a_computation_lets_others_through_the_door() -> None:
    inside = Inside()
    inside.waits_outside = True
    reads = ReadLimit(inside, maximum=10)  # type: ignore[arg-type]
    with ThreadPoolExecutor(5) as threads:
        looks = [threads.submit(ask, reads, "/") for _ in range(5)]
        until(lambda: len(inside.entered) == 5)
        inside.go.set()

        assert {each.result()[0] for each in looks} == {b"here"}


def test_no_more_wait_at_the_door_than_may() -> None:
    inside = Inside()
    reads = ReadLimit(inside, maximum=3)  # type: ignore[arg-type]
    with ThreadPoolExecutor(3) as threads:
        looks = [threads.submit(ask, reads, "/register", "GET", "text/html") for _ in range(3)]
        until(lambda: reads._anybody._here.total() == 3)

        assert b"/problems/busy" in ask(reads, "/")[0]
        inside.go.set()

        assert {each.result()[0] for each in looks} == {b"here"}
    assert ask(reads, "/") == [b"here"]


@pytest.mark.slow
def test_a_server_whose_door_is_full_takes_reports_and_says_when_to_come_again(
    serve: Callable[..., Server], database: Path
) -> None:
    """With two threads, one may compute a list: a second request is refused, forms are served."""
    survey = survey_named()
    with closing(Store(str(database))) as store:
        store.publish(survey, signed(survey))
    server = serve("--threads", "2")

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: requests.get(f"{server.url}/", timeout=60), range(200)))

    statuses = {each.status_code for each in found}
    assert statuses <= {200, 429}
    for each in found:
        if each.status_code == 429:
            assert int(each.headers["Retry-After"]) > 0
            assert each.json()["type"] == "/problems/busy"
    assert requests.get(f"{server.url}/s/workplace", timeout=60).ok
