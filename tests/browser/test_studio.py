"""The author's studio in a real browser: from the link that the server prints to the results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, Page

from deniably.survey.report import make_report
from deniably.survey.survey import read_survey
from deniably.trust.recovery import write_copy
from deniably.trust.signing import new_key
from support.material import Server
from support.studio_pages import SAVED
from support.studio_tab import Studio, look_at

pytestmark = pytest.mark.browser


KEPT = """async () => {
  const { readOwn } = await import("/web/studio/signature.js");
  const own = await readOwn();
  if (!own) return null;
  const { key, number } = own;
  const exported = ["pkcs8", "jwk"].map((how) =>
    crypto.subtle.exportKey(how, key).then(() => "exported", ({ name }) => name));
  return { number, extractable: key.extractable, exported: await Promise.all(exported) };
}"""
"""What the page keeps of the signature, and whether a script can read it."""


@pytest.fixture(scope="module")
def server(first_start: Server) -> Server:
    return first_start


@pytest.fixture(scope="module")
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(accept_downloads=True)
    yield context
    context.close()


@pytest.fixture(scope="module")
def look(axe_light_and_dark: Callable[[Page], list[str]]) -> Callable[[Studio], None]:
    """Looks at a state of a page: for everybody, on any screen, in plain words."""
    return partial(look_at, axe_light_and_dark)


@pytest.fixture(scope="module")
def walked(
    server: Server,
    context: BrowserContext,
    look: Callable[[Studio], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Studio, Path, str]:
    """The walk from the printed link to a live form; with the copy and its words."""
    (link,) = re.findall(r"http://\S+/studio/start#\S+", server.log)
    studio = Studio(context, server)
    page = studio.page
    page.goto(link)
    studio.write("#name", "Harbour Workers’ Union")
    studio.write("#contact", "survey@union.example")
    page.wait_for_selector("#words li")
    words = " ".join(page.locator("#words li").all_inner_texts())
    look(studio)
    with page.expect_download() as download:
        studio.press("#save")
    copy = tmp_path_factory.mktemp("copy") / download.value.suggested_filename
    download.value.save_as(copy)
    studio.press("#kept")
    studio.press("#start")
    page.wait_for_selector("#founded:not([hidden])")
    studio.press("text=Write the first survey")
    page.wait_for_selector("#empty")
    look(studio)
    studio.press("#empty")
    page.wait_for_selector("#f-title")
    page.wait_for_selector("#balance .no")
    look(studio)
    studio.write("#f-title", "Work at our sites")
    studio.press("#list li:nth-child(2) a")
    page.wait_for_selector("#f-label")
    studio.write("#f-label", "In the last 12 months, did you hide an accident at work?")
    studio.saved()
    page.wait_for_selector("#balance .big")
    look(studio)
    studio.press("text=Continue")
    page.wait_for_selector("#publish")
    look(studio)
    studio.press("#read")
    studio.press("#publish")
    page.wait_for_selector("#done:not([hidden])")
    look(studio)
    return studio, copy, words


def test_from_the_link_to_a_live_form_it_takes_few_presses(
    walked: tuple[Studio, Path, str], server: Server
) -> None:
    studio, _, _ = walked

    assert studio.clicks <= 14
    link = studio.page.inner_text("#link")
    assert re.fullmatch(rf"{server.url}/s/\w+-\d\d", link)
    assert requests.get(link, timeout=30).status_code == 200


def test_the_register_has_the_survey_with_the_number_of_the_signature(
    walked: tuple[Studio, Path, str], server: Server
) -> None:
    _, copy, _ = walked
    (number,) = re.findall(r"^Number: (.*)$", copy.read_text(encoding="utf-8"), re.MULTILINE)

    page = requests.get(f"{server.url}/register", headers={"Accept": "text/html"}, timeout=30).text

    assert number in page.replace("\xa0", " ")


def test_a_link_that_was_used_says_so(
    walked: tuple[Studio, Path, str], chromium: Browser, server: Server
) -> None:
    (link,) = re.findall(r"http://\S+/studio/start#\S+", server.log)
    context = chromium.new_context(accept_downloads=True)
    studio = Studio(context, server)
    studio.page.goto(link)
    studio.write("#name", "Somebody else")
    studio.write("#contact", "s")
    studio.page.wait_for_selector("#words li")
    studio.page.click("#save")
    studio.page.check("#kept")

    studio.page.click("#start")

    assert studio.why().startswith("This link was used already")
    assert studio.page.evaluate(KEPT) is None
    context.close()


def tells(words: str, text: str) -> bool:
    """Whether three of the words stand in a text in their order, however they are set apart.

    Words of the list are names of fields, too. That three of the six stand in one of 2,000 places
    by chance is less likely than 1e-6.
    """
    six = words.split()
    threes = zip(six, six[1:], six[2:], strict=False)
    return any(re.search(r"\W{1,5}".join(three), text) for three in threes)


def test_neither_the_signature_nor_its_words_leave_the_browser(
    walked: tuple[Studio, Path, str], server: Server
) -> None:
    studio, copy, words = walked
    body = "".join(copy.read_text(encoding="utf-8").split("-----")[2].split())

    sent = " ".join(studio.sent)

    assert not tells(words, sent)
    assert body[:40] not in sent
    assert "PRIVATE" not in sent
    assert not tells(words, server.log)
    assert not tells(words, studio.page.content()), "they are shown once"
    stored = studio.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert stored.startswith('[{},{"deniably-undo-'), "edits that can be taken back, and no more"
    assert body[:40] not in stored
    assert not tells(words, stored)


@pytest.mark.thorough
def test_another_browser_signs_in_with_the_copy_and_its_words(
    walked: tuple[Studio, Path, str],
    chromium: Browser,
    server: Server,
    look: Callable[[Studio], None],
) -> None:
    _, copy, words = walked
    other = chromium.new_context()
    studio = Studio(other, server)
    page = studio.page
    page.goto(f"{server.url}/studio/")
    page.wait_for_url("**/studio/in#/studio/")
    look(studio)
    text = copy.read_text(encoding="utf-8")
    their_words = ("amber", "lantern", "orbit", "velvet", "pocket", "river")
    other_group = write_copy(new_key(), "Another group", "2026-11-21", their_words).text
    for content, typed, sentence in (
        (text, " ".join(reversed(words.split())), "These are not the words of this copy."),
        (
            text[:-60],
            words,
            "This copy is cut or damaged: take the whole file, with all its lines.",
        ),
        (other_group, " ".join(their_words), "No group of this server has this signature."),
    ):
        file = {"name": "copy.pem", "mimeType": "text/plain", "buffer": content.encode()}
        page.set_input_files("#copy", file)  # type: ignore[arg-type]
        page.fill("#opening", typed)
        page.click("#open")
        page.wait_for_selector(f"#why:text-is('{sentence}')")
        assert page.evaluate(KEPT) is None, "nothing is stored"

    page.set_input_files("#copy", copy)
    page.fill("#opening", words)
    page.click("#open")
    page.wait_for_url(f"{server.url}/studio/")
    assert "Work at our sites" in studio.words()
    (number,) = re.findall(r"^Number: (.*)$", text, re.MULTILINE)
    kept = {"number": number, "extractable": False, "exported": ["InvalidAccessError"] * 2}
    assert page.evaluate(KEPT) == kept
    page.click("#out")
    page.wait_for_url("**/studio/in")
    page.wait_for_selector(f"#number:text-is('{number}')")
    page.click("#sign-in")
    page.wait_for_url(f"{server.url}/studio/")
    other.close()


def test_a_definition_that_was_swapped_is_not_signed(
    walked: tuple[Studio, Path, str], server: Server
) -> None:
    studio, _, _ = walked
    page = studio.page
    page.goto(f"{server.url}/studio/")
    page.click("#empty")
    page.wait_for_selector("#f-title")
    page.fill("#f-title", "Night shifts")
    page.keyboard.press("Tab")
    page.click("#list li:nth-child(2) a")
    page.wait_for_selector("#f-label")
    page.fill("#f-label", "Do you sleep at work?")
    page.keyboard.press("Tab")
    page.wait_for_selector(SAVED)
    page.click("text=Continue")
    page.fill("#name", "nights-26")
    page.check("#read")

    def swap(route: object) -> None:
        answer = route.fetch()  # type: ignore[attr-defined]
        body = answer.text().replace("Night shifts", "Names of thieves")
        route.fulfill(response=answer, body=body)  # type: ignore[attr-defined]

    page.route("**/definition", swap)
    page.click("#publish")
    page.wait_for_selector("#why:not([hidden])")

    assert "sent another survey" in page.inner_text("#why")
    assert "Names of thieves" in page.inner_text("#why")
    page.unroute("**/definition")
    assert requests.get(f"{server.url}/s/nights-26", timeout=30).status_code == 404


def test_what_is_typed_without_a_network_is_saved_once_and_in_order_when_it_is_back(
    walked: tuple[Studio, Path, str], server: Server
) -> None:
    studio, _, _ = walked
    page = studio.page
    page.goto(f"{server.url}/studio/")
    page.click("#empty")
    page.wait_for_selector("#f-title")
    draft = page.url.rpartition("/")[2]
    page.wait_for_load_state("networkidle")

    page.context.set_offline(True)
    page.fill("#f-title", "First")
    page.keyboard.press("Tab")
    page.wait_for_selector("#state:has-text('It is kept in this tab')")
    page.fill("#f-intro", "Why we ask")
    page.keyboard.press("Tab")
    page.fill("#f-title", "Second")
    page.keyboard.press("Tab")
    page.context.set_offline(False)
    page.wait_for_selector(SAVED)

    file = page.request.get(f"{server.url}/studio/drafts/{draft}.yaml").text()
    assert "title: Second\n" in file
    assert "intro: Why we ask\n" in file


@pytest.mark.thorough
def test_two_people_at_one_field_see_both_texts_and_lose_none(
    walked: tuple[Studio, Path, str], server: Server
) -> None:
    studio, _, _ = walked
    page = studio.page
    page.goto(f"{server.url}/studio/")
    page.click("#empty")
    page.wait_for_selector("#f-title")
    page.wait_for_load_state("networkidle")
    other = page.context.new_page()
    other.goto(page.url)
    other.fill("#f-intro", "Theirs elsewhere")
    other.keyboard.press("Tab")
    other.fill("#f-title", "Theirs")
    other.keyboard.press("Tab")
    other.wait_for_selector(SAVED)
    other.close()

    page.fill("#f-title", "Mine")
    page.keyboard.press("Tab")
    page.wait_for_selector("#clash:not([hidden])")

    assert (page.inner_text("#theirs"), page.inner_text("#mine")) == ("Theirs", "Mine")
    with page.expect_navigation():
        page.click("#take-mine")
    page.wait_for_selector("#f-title")
    assert page.input_value("#f-title") == "Mine"
    assert page.input_value("#f-intro") == "Theirs elsewhere"


def test_a_survey_of_the_studio_is_answered_closed_and_read(
    walked: tuple[Studio, Path, str], server: Server, look: Callable[[Studio], None]
) -> None:
    studio, _, _ = walked
    page = studio.page
    page.goto(f"{server.url}/studio/")
    page.click("a:has-text('Work at our sites')")
    page.wait_for_selector("#typed")
    look(studio)
    name = page.url.rpartition("/")[2]
    survey = read_survey(requests.get(f"{server.url}/api/surveys/{name}", timeout=30).content)
    question = survey.questions[0].name
    for number in range(120):
        server.post(survey, make_report(survey, {question: "yes" if number % 3 else "no"}).report)

    page.fill("#typed", name)
    page.click("#close")
    page.wait_for_selector("text=See the results")
    look(studio)
    page.click("text=See the results")

    page.wait_for_selector(".finding")
    assert "120" in studio.words()
    assert studio.errors == []
