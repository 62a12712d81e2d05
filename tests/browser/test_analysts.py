"""Results for analysts in a browser: their token opens them, and is left nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page

from deniably.authoring.compiling import publish_text
from deniably.survey.survey import Survey
from deniably_server.storage.store import Store
from deniably_server.storage.tables.tokens import make
from support.material import Server, a_report, new_token, signed
from support.phone import SURVEY, Watched

pytestmark = pytest.mark.browser

PATH = "/surveys/private"
TABLE = f"{PATH}/crosstab?rows=stolen&columns=often"
FIELD = "#token"
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
KEPT = """async () => JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage},
  await indexedDB.databases(), await caches.keys(), history.state])"""


def private() -> Survey:
    text = SURVEY.replace("workplace", "private").replace("minimum: 1", "minimum: 1, to: analysts")
    return publish_text(text)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server, survey = Server(tmp_path_factory.mktemp("server") / "deniably.db"), private()
    server.publish(survey)
    with closing(Store(str(server.database))) as store:
        for number in range(9):
            store.add(survey, a_report(survey, stolen=[number % 2]))
        store.close_survey("private")
    yield server
    server.kill()


@pytest.fixture(scope="module")
def token_of(server: Server) -> Iterator[Callable[..., str]]:
    with closing(Store(str(server.database))) as store:
        yield lambda *role: new_token(store, *role)


@pytest.fixture
def token(token_of: Callable[..., str]) -> str:
    return token_of("analyst", "private")


def enter(phone: Watched, token: str, path: str = PATH) -> None:
    phone.open(path)
    phone.write(FIELD, token)
    phone.click("Show the results")
    phone.see(".fig, h2.q, #why")


def test_a_token_opens_the_results_and_is_left_nowhere(phone: Watched, token: str) -> None:
    phone.open(PATH)
    assert "9 people" not in phone.page.content()
    enter(phone, token)

    assert "9 people" in phone.words("main").replace("\n", " ")
    assert phone.page.locator("h2.q").count() == 2
    assert phone.page.evaluate("document.activeElement.tagName") == "H1"
    secret = token.split("_", 2)[2]
    assert not any(secret in request.url for request in phone.requests)
    shown = [one for one in phone.requests if "authorization" in one.headers]
    assert [(one.method, one.url) for one in shown] == [("GET", phone.url + PATH)]
    assert secret not in phone.page.content()
    assert secret not in phone.page.evaluate(KEPT)
    assert phone.console == []

    phone.page.reload()
    assert phone.written(FIELD) == ""
    assert phone.page.locator(".fig").count() == 0


def test_links_of_the_results_lead_on_and_back_and_others_get_no_token(
    phone: Watched, token: str
) -> None:
    enter(phone, token)
    phone.page.click("summary:text('Pairs of questions')")
    phone.page.click(f'a[href="{TABLE}"]')
    phone.see("h1", "×")
    assert phone.page.url == phone.url + TABLE
    phone.page.go_back()
    phone.see("summary", "Pairs of questions")
    assert phone.page.url == phone.url + PATH

    with phone.page.expect_download() as saved:
        phone.page.click("a:text('CSV')")
    assert saved.value.suggested_filename == "private-results.csv"
    assert b"stolen" in saved.value.path().read_bytes()
    with phone.page.expect_download() as saved:
        phone.page.click("a:text('JSON')")
    assert saved.value.suggested_filename == "private-results.json"

    phone.page.click("footer a:text('register')")
    phone.page.wait_for_url("**/register")
    asked = [one for one in phone.requests if one.url.endswith("/register")]
    assert asked
    assert not any("authorization" in one.headers for one in asked)


def test_who_chooses_two_questions_needs_no_token_again(phone: Watched, token: str) -> None:
    chooser = f"{PATH}/crosstab"
    phone.open(chooser)
    phone.write(FIELD, token)
    phone.click("Show the results")
    phone.page.select_option("#columns", "stolen")
    phone.page.click("text=Show the table")

    phone.see(".flag", "the same question")
    phone.page.select_option("#columns", "often")
    phone.page.click("text=Show the table")

    phone.see("h1", "×")
    assert phone.page.url == phone.url + TABLE
    phone.page.go_back()
    phone.see(".flag", "the same question")
    assert phone.shown("#why") == 0


def test_what_is_no_token_for_it_is_refused_and_another_may_be_tried(
    phone: Watched, token_of: Callable[..., str], token: str
) -> None:
    """On any page of the results."""
    refused = {
        "nothing\u200b": "This is no token",
        make("analyst")[1]: "needs an analyst's token",
        token_of("author"): "an author's token reads only surveys that were published with it",
        token_of("analyst", "another"): "for the survey another alone",
    }
    phone.open(TABLE)
    for wrong, why in refused.items():
        phone.write(FIELD, wrong)
        phone.click("Show the results")
        phone.see("#why", why)
        assert phone.page.evaluate("document.activeElement.id") == "token"
        assert phone.page.locator("h1:text('×')").count() == 0
    phone.write(FIELD, token)
    phone.click("Show the results")
    phone.see("h1", "×")


def test_without_a_network_nothing_is_lost_and_what_fails_later_is_shown_above_the_results(
    phone: Watched, server: Server, token: str
) -> None:
    phone.open(PATH)
    phone.page.context.set_offline(True)
    phone.write(FIELD, token)
    phone.click("Show the results")
    phone.see("#why")
    assert "try again" in phone.words("#why")
    phone.page.context.set_offline(False)
    phone.click("Show the results")
    phone.see(".fig")

    with closing(Store(str(server.database))) as store:
        store.revoke_token(token.split("_")[1])
    phone.page.click("a:text('CSV')")
    phone.see("#why", "revoked")

    assert phone.page.locator("h2.q").count() == 2


@pytest.mark.thorough
def test_no_state_has_a_violation_that_axe_finds(
    chromium: Browser,
    server: Server,
    axe_light_and_dark: Callable[[Page], list[str]],
    token: str,
) -> None:
    context = chromium.new_context(viewport={"width": 320, "height": 640}, color_scheme="light")
    phone = Watched(context.new_page(), server)
    for text in ("", "nothing", token):
        if text:
            enter(phone, text)
        else:
            phone.open(PATH)
        assert axe_light_and_dark(phone.page) == []
        assert phone.page.evaluate(WIDE) <= 0
    context.close()


def test_without_scripts_the_page_says_what_to_do(chromium: Browser, server: Server) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(server.url + PATH)

    assert "needs JavaScript" in page.inner_text("main")
    assert page.is_disabled("button"), "a token cannot get into an address"
    assert f"/api{PATH}/results" in page.inner_html("main")
    context.close()


# --- for the author -----------------------------------------------------------------------------


def test_the_author_opens_the_count_on_the_page_of_the_survey(
    phone: Watched, server: Server, token_of: Callable[..., str], token: str
) -> None:
    """And whoever enters another token there is told why it will not do."""
    for name, rules in (("hidden", "while_open: false"), ("shown", "while_open: true")):
        text = SURVEY.replace("workplace", name).replace("while_open: true", rules)
        with closing(Store(str(server.database))) as store:
            survey = publish_text(text)
            store.publish(survey, signed(survey))
            for _ in range(23):
                store.add(survey, a_report(survey))
        own = token_of("author", name)
        phone.open(f"/surveys/{name}")
        phone.page.get_by_text("For the author: how many have answered?").click()
        if name == "shown":
            phone.write(FIELD, token)
            phone.click("Show the count")
            phone.see("#why", "author")
        else:
            assert not phone.shown("#why")
        phone.write(FIELD, own)
        phone.click("Show the count")
        phone.page.get_by_text("The survey is open and has at least").wait_for()

        shown = phone.words("main")
        assert "The survey is open and has at least 20 reports so far." in shown
        assert "23" not in shown
        assert phone.page.evaluate(WIDE) == 0
        secret = own.split("_", 2)[2]
        assert secret not in phone.page.content()
        assert secret not in phone.page.evaluate(KEPT)
    assert [line for line in phone.console if "status of 40" not in line] == []
