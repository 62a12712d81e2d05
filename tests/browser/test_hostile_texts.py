"""Pages with hostile texts in a real browser: they show words, run nothing, and ask nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, Route, expect

from deniably.authoring.compiling import compile_survey
from deniably.core.coins import Coins
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from support.hostile_texts import PUBLISHED, written_survey
from support.material import signed

pytestmark = pytest.mark.browser

SURVEY = compile_survey(written_survey())
CLOSED = compile_survey(written_survey() | {"name": "closed"})
AT = "http://localhost"
PAGES = (
    "/", "/register", *(f"/surveys/closed{one}" for one in (
        "", "/class", "/crosstab?rows=one&columns=stolen", "/figures/one",
        "/lab?experiment=noise-averages-out&case=1&n=75,300",
    )),
)  # fmt: skip
FOREIGN = """[...document.querySelectorAll(
  "[onerror], [onload], img:not([src^='/']), iframe, script:not([src]):not([type$=json])"
)].map((one) => one.outerHTML.slice(0, 90))"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    app = create_app({"DATABASE": str(folder / "deniably.db"), "TESTING": True})
    store: Store = app.extensions["deniably"]
    for survey in (SURVEY, CLOSED):
        store.publish(survey, signed(survey))
    random = Random(3)
    for _ in range(60):
        answers = {"one": "c1", "drinks": 3, "vote": {"a": "c0", "b": "c1"}, "stolen": "yes"}
        store.add(CLOSED, randomise_answers(CLOSED, answers, Coins(random.randbytes)))
    store.close_survey("closed")
    yield app
    store.close()


class Looked:
    """A tab that has the application for a network, and what it would have asked of others."""

    def __init__(self, page: Page, app: Flask) -> None:
        self.page, self.said, self.elsewhere = page, list[str](), list[str]()
        client = app.test_client()

        def answer(route: Route) -> None:
            request = route.request
            if not request.url.startswith(f"{AT}/"):
                self.elsewhere.append(request.url)
                return route.abort()
            found = client.open(request.url.removeprefix(AT), method=request.method)
            route.fulfill(status=found.status_code, headers=dict(found.headers), body=found.data)

        page.route("**/*", answer)
        page.on("dialog", lambda one: self.said.append(one.message))
        page.on("pageerror", lambda one: self.said.append(str(one)))
        page.on("console", lambda one: self.said.append(one.text))


@pytest.fixture
def tab(chromium: Browser, app: Flask) -> Iterator[Looked]:
    context = chromium.new_context(service_workers="block")
    yield Looked(context.new_page(), app)
    context.close()


def words(survey: Survey) -> list[str]:
    """The texts of the first question's choices, with the spaces that a page has of them."""
    labels = [choice.label for choice in getattr(survey.questions[0], "choices", ())]
    return [" ".join(label.replace("\ufeff", " ").split()) for label in labels]


@pytest.mark.thorough
def test_no_page_runs_a_text_or_asks_for_what_it_names(tab: Looked) -> None:
    for address in PAGES:
        tab.page.goto(AT + address)
        assert tab.page.evaluate(FOREIGN) == [], address
    assert tab.said == []
    assert tab.elsewhere == []


def test_the_form_shows_every_text_literally_and_goes_on(tab: Looked) -> None:
    page = tab.page
    page.goto(f"{AT}/s/wild")
    expect(page.locator("h1:visible")).to_have_text(SURVEY.title)
    page.get_by_role("button", name="Start").click()
    first = SURVEY.questions[0].label

    expect(page.locator("h1:visible, legend:visible").first).to_contain_text(
        " ".join(first.split())
    )
    labels = page.locator("label:visible").evaluate_all(
        "(all) => all.map((one) => one.textContent.split(/\\s+/).join(' ').trim())"
    )
    assert len(words(SURVEY)) == len(PUBLISHED)
    assert [one for one in words(SURVEY) if one not in labels] == []
    assert page.evaluate(FOREIGN) == []
    assert tab.elsewhere == []
    assert [one for one in tab.said if "service" not in one.lower()] == []
