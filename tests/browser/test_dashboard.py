"""The dashboard fits a screen and a sheet of paper, and hides what is hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import requests
from flask.testing import FlaskClient
from playwright.sync_api import BrowserContext, Page, Route, expect

from deniably.authoring.compiling import compile_survey, publish_text
from deniably_client import Device
from deniably_client.device import session
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from support.material import Server, signed
from support.people import answer
from support.phone import SURVEY, new_tab
from support.seeded import seeded_coins
from support.studies import WORKPLACE, workers

pytestmark = pytest.mark.browser

DEFINITION = publish_text(SURVEY)


@pytest.fixture(scope="module", autouse=True)
def respondents(server: Server) -> None:
    with session() as connections:
        for answers in [
            {"stolen": "yes", "often": "zilch"},
            {"stolen": "no", "often": "zilch"},
        ] * 4:
            Device(f"{server.url}/s/workplace", session=connections).answer(answers)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A server with six questions to 1,400 people, whose coins are seeded."""
    database = tmp_path_factory.mktemp("study") / "deniably.db"
    app = create_app({"DATABASE": str(database), "TESTING": True})
    store: Store = app.extensions["deniably"]
    survey = compile_survey(WORKPLACE)
    store.publish(survey, signed(survey))
    answer(store, survey, workers(1400), seeded_coins(survey.name))
    store.close_survey(survey.name)
    yield app.test_client()
    store.close()


@pytest.fixture
def results_page(desktop: BrowserContext, study: FlaskClient) -> Iterator[Page]:
    """Its results."""

    def fulfil(route: Route) -> None:
        found = study.get(route.request.url.removeprefix("http://localhost"))
        route.fulfill(status=found.status_code, headers=dict(found.headers), body=found.data)

    page = new_tab(desktop)
    page.route("**/*", fulfil)
    page.goto(f"http://localhost/surveys/{WORKPLACE['name']}")
    yield page
    page.close()


HEIGHT = "() => document.documentElement.scrollHeight"
CUT = """() => [...document.querySelectorAll(".card")].filter((one) =>
  getComputedStyle(one).breakInside !== "avoid").length"""
CLOSED = """() => [...document.querySelectorAll("details .t")].filter((one) =>
  !one.checkVisibility({ contentVisibilityAuto: true })).length"""


def test_a_page_of_six_questions_is_short_and_whole_on_paper(results_page: Page) -> None:
    results_page.set_viewport_size({"width": 1280, "height": 800})
    heights = [results_page.evaluate(HEIGHT)]
    assert results_page.evaluate(CLOSED) == 6 + 2, (
        "a scale has shares and a mean, a follow-up those of everybody, too"
    )
    results_page.set_viewport_size({"width": 390, "height": 780})
    heights.append(results_page.evaluate(HEIGHT))
    assert heights[0] <= 3548, heights
    assert heights[1] <= 5055, heights
    results_page.emulate_media(media="print")
    assert results_page.evaluate(CUT) == 0, "no card breaks"
    assert results_page.evaluate(CLOSED) == 0, "paper shows the numbers of disclosures"


def page_at(server: Server, path: str, status: int = 200) -> str:
    """What a browser gets; no script of these pages writes to them of itself."""
    answer = requests.get(server.url + path, headers={"Accept": "text/html"}, timeout=30)
    assert answer.status_code == status
    return answer.text


def test_hidden_results_stay_hidden_and_say_why(server: Server) -> None:
    page = page_at(server, "/surveys/hidden")

    assert re.findall("<h1[^>]*>(.*?)</h1>", page, re.DOTALL) == ["The results are not shown yet"]
    assert "closed" in page.partition("<main")[2]
    assert "<svg" not in page
    assert "<table" not in page


def test_the_page_of_a_survey_that_is_none_says_so(server: Server) -> None:
    page = page_at(server, "/surveys/none", 404)

    assert re.findall("<h1[^>]*>(.*?)</h1>", page, re.DOTALL) == ["There is no such page"]


def test_home_lists_every_survey(server: Server) -> None:
    page = page_at(server, "/")

    for name in ("workplace", "hostile", "hidden"):
        assert page.count(f'<a class="button" href="/s/{name}"') == 1
    assert 'href="/s/closed"' not in page, "a closed survey is not offered"


@pytest.mark.parametrize(
    "name",
    [
        "../deniably_client/device.py",
        "..%2fdevice.py",
        "form/..%2f..%2fdevice.py",
        "x.js",
        "form/x.js",
        "README.md",
        "form.js",
        "form/types.d.ts",
        "core/form.js",
    ],
)
def test_only_the_files_of_the_web_client_are_served(server: Server, name: str) -> None:
    assert requests.get(f"{server.url}/web/{name}", timeout=10).status_code == 404


def test_a_file_of_the_web_client_is_fetched_once(server: Server) -> None:
    url = f"{server.url}/web/form/form.js"
    first = requests.get(url, timeout=10)
    again = requests.get(url, headers={"If-None-Match": first.headers["ETag"]}, timeout=10)

    assert first.headers["Content-Type"].startswith("text/javascript")
    assert (again.status_code, again.content) == (304, b"")


DENIED = """() => {
  Object.defineProperty(navigator, "clipboard", { value: undefined });
  document.execCommand = () => false;
}"""


def test_the_sentence_of_a_finding_is_copied_or_shown_to_be_copied(results_page: Page) -> None:
    """By the keyboard; by the older command where there is no clipboard; else it is selected."""
    page = results_page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.get_by_role("button", name=re.compile("^Copy the sentence ?: Took"))
    sentence = page.locator("#say-stolen").text_content()
    assert sentence
    assert sentence.startswith("An estimated ")
    told = button.locator("xpath=following-sibling::output[1]")

    button.focus()
    page.keyboard.press("Enter")
    expect(told).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == sentence
    page.evaluate("navigator.clipboard.writeText('')")
    page.evaluate(
        """() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }"""
    )
    page.get_by_role("button", name=re.compile("^Copy the sentence ?: Harassed at")).click()
    wanted = page.locator("#say-harassed").text_content()
    page.wait_for_function(
        "async (wanted) => await navigator.clipboard.readText() === wanted", arg=wanted
    )

    page.evaluate(DENIED)
    button.click()
    expect(told).to_contain_text("copy it with Ctrl+C")
    assert page.evaluate("getSelection().toString().trim()") == sentence
    assert page.locator("#say-stolen").is_visible(), "its disclosures are open"


def test_the_methods_are_copied_as_paragraphs(results_page: Page) -> None:
    page = results_page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_text("For a paper", exact=True).click()
    page.get_by_text("Methods section and references, in APA style").click()
    page.get_by_role("button", name="Copy the methods").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()").split("\n\n")

    assert copied[0].startswith("1,400 respondents answered the web survey")
    assert "References" in copied
    assert any(one.startswith("Warner, S. L. (1965).") for one in copied)
