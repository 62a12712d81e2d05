"""The page names ahead exactly the modules that it loads, for every kind of survey."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Route

from browser.conftest import Watched
from deniably.survey import Survey
from every_type import survey_of_everything
from server.material import Server

pytestmark = pytest.mark.browser

EVERYTHING = survey_of_everything()
_ALL: list[dict[str, Any]] = json.loads(EVERYTHING.canonical)["questions"]
_STOLEN = _ALL[0]


def _one(question: dict[str, Any]) -> list[dict[str, Any]]:
    return [_STOLEN, question] if "show_if" in question else [question]


SURVEYS: dict[str, Survey] = {
    "everything": EVERYTHING,
    "drawn": survey_of_everything(name="drawn", ask=1, questions=_ALL[4:6]),
} | {
    question["name"]: survey_of_everything(name=question["name"], questions=_one(question))
    for question in _ALL
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for survey in SURVEYS.values():
        server.publish(survey)
    yield server
    server.kill()


@pytest.mark.parametrize("name", SURVEYS)
def test_the_page_names_exactly_the_modules_that_it_loads(
    chromium: Browser, server: Server, name: str
) -> None:
    context = chromium.new_context()
    phone = Watched(context.new_page(), server)
    # Whatever is fetched to be kept for later comes after the page, and is not looked at here.
    phone.page.add_init_script("delete Navigator.prototype.serviceWorker")
    named: list[str] = []

    def unnamed(route: Route) -> None:
        """The page as if it named nothing, so that only what is imported is loaded."""
        answer = route.fetch()
        page = answer.text()
        named.extend(re.findall(r'<link rel="modulepreload" href="[^"]+/(\w+\.js)">', page))
        named.extend(re.findall(r'<script type="module" src="[^"]+/(\w+\.js)">', page))
        route.fulfill(response=answer, body=re.sub('<link rel="modulepreload"[^>]*>', "", page))

    phone.page.route("**/s/*", unnamed)
    phone.open(f"/s/{name}")
    loaded = [each.url for each in phone.requests if each.url.endswith(".js")]
    context.close()

    assert phone.console == []
    assert len(loaded) == len(set(loaded)) > 10
    assert sorted(url.rpartition("/")[2] for url in loaded) == sorted(named)


@pytest.mark.parametrize("name", ["everything", "stolen"])
def test_the_start_is_two_ways_to_the_server_away(phone: Watched, name: str) -> None:
    """The page, and at once whatever it names: on a slow phone each further way is half a second.

    `make bench` measures the time that this takes.
    """
    phone.page.add_init_script("delete Navigator.prototype.serviceWorker")
    answer = phone.page.goto(f"{phone.url}/s/{name}")
    assert answer
    named = {phone.url + path for path in re.findall(r'(?:href|src)="(/web/[^"]+)"', answer.text())}
    phone.page.wait_for_selector("#survey[data-kept]")

    fetched = [request.url for request in phone.requests][1:]
    assert len(fetched) > 10
    assert set(fetched) <= named
