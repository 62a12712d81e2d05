"""Without a network: the plug is pulled for real, at the browser and at the server."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Request, Route
from playwright.sync_api import Error as BrowserError

from deniably.authoring.compiling import publish_text
from deniably_server.storage.store import Store
from support.every_type import survey_within_limits
from support.material import Server, signed
from support.phone import (
    ANSWERS,
    HURRY,
    IMPATIENT,
    KEPT,
    MODULE,
    PHONE,
    READ,
    SURVEY,
    Watched,
    as_new,
    new_tab,
)

pytestmark = pytest.mark.browser

DEFINITION = publish_text(SURVEY)
EVERYTHING = survey_within_limits()


class Plugged:
    """A phone in a network that can be pulled out, and the server that is at its other end."""

    def __init__(self, context: BrowserContext, database: Path) -> None:
        self.context = context
        self.server = Server(database)
        self.port = self.server.port

    def pull(self) -> None:
        self.context.set_offline(True)
        self.server.kill()

    def plug_in(self) -> None:
        """The network is back, and so is the server, restarted on the same data."""
        self.server = Server(self.server.database, "--port", str(self.port))
        self.context.set_offline(False)

    def new_tab(self) -> Watched:
        return Watched(new_tab(self.context), self.server)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with two surveys, to be copied."""
    path = tmp_path_factory.mktemp("published") / "deniably.db"
    with closing(Store(str(path))) as store:
        for survey in (DEFINITION, EVERYTHING):
            store.publish(survey, signed(survey))
    return path


@pytest.fixture(scope="module")
def browsers(chromium: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Phones' browsers that go from one test to the next, by the scripts that pages begin with."""
    opened: dict[tuple[str, ...], BrowserContext] = {}

    def browser(*scripts: str) -> BrowserContext:
        if scripts not in opened:
            opened[scripts] = chromium.new_context(
                viewport=PHONE,
                has_touch=True,
                is_mobile=True,
            )
            for script in scripts:
                opened[scripts].add_init_script(script)
            opened[scripts].new_page()
        return opened[scripts]

    yield browser
    for each in opened.values():
        each.close()


@contextmanager
def with_network(context: BrowserContext, published: Path, folder: Path) -> Iterator[Plugged]:
    """A server of its own, on a copy of the database that was published."""
    plugged = Plugged(context, Path(shutil.copy(published, folder)))
    yield plugged
    as_new(context, plugged.server.url)
    plugged.server.kill()


@pytest.fixture
def plugged(
    browsers: Callable[..., BrowserContext], published: Path, tmp_path: Path
) -> Iterator[Plugged]:
    """Impatient between tries to send."""
    with with_network(browsers(IMPATIENT), published, tmp_path) as plugged:
        yield plugged


@pytest.mark.thorough
def test_pages_that_were_loaded_once_work_without_a_network_and_again_with_one(
    plugged: Plugged,
) -> None:
    """With every type of question."""
    phone = plugged.new_tab()
    phone.open("/s/everything")
    phone.open()
    assert "works without a network" in phone.text("#kept:not([hidden])")
    plugged.pull()

    phone.click("Start")
    phone.choose(ANSWERS[0])
    phone.page.reload()
    phone.see("#survey[data-kept]")
    assert phone.heading() == "Honesty at work"
    assert phone.checked() == 0, "a reload forgets what was answered"
    phone.page.close()

    again = plugged.new_tab()
    again.open("/s/everything")
    assert again.heading() == "Every kind of answer"
    styles = "[...document.querySelectorAll('link[rel=stylesheet]')]"
    assert again.page.evaluate(f"{styles}.map(({{ sheet }}) => sheet.cssRules.length > 9)") == [
        True
    ]
    again.to_check_page()
    assert again.see("[data-answer]") == list(ANSWERS)
    assert again.console == []

    plugged.plug_in()
    again.send()
    again.wait("receipt")
    assert len(again.posts()) == 1

    # An update of the server replaces what is kept.
    left = again.page.evaluate(
        """async (path) => {
          const pages = await import(path);
          const before = await pages.kept("/s/workplace") !== undefined;
          await pages.keepCode("/web/new/", []);
          return [before, await caches.keys(), await pages.kept("/s/workplace") ?? null];
        }""",
        again.page.evaluate(MODULE % "../device/kept_pages.js"),
    )
    assert left == [True, ["deniably-code-/web/new/"], None]


POLICIES = (
    "cache-control",
    "content-security-policy",
    "content-type",
    "permissions-policy",
    "referrer-policy",
    "x-content-type-options",
)


def test_the_last_language_and_the_policy_of_a_page_are_kept_and_no_page_that_was_never_loaded(
    plugged: Plugged,
) -> None:
    phone = plugged.new_tab()
    answer = phone.page.goto(f"{phone.url}/s/workplace")
    assert answer
    before = {name: value for name, value in answer.headers.items() if name in POLICIES}
    phone.see("#survey[data-kept]")
    phone.press(("details.languages summary", ""))
    phone.press(("nav.languages a[lang=de]", ""))
    phone.see("html[lang=de] #survey[data-kept]")
    plugged.pull()
    again = phone.page.goto(f"{phone.url}/s/workplace")
    phone.see("#survey[data-kept]")

    assert phone.page.evaluate("document.documentElement.lang") == "de"
    assert again
    assert again.from_service_worker
    assert len(before) == len(POLICIES)
    assert {name: again.headers.get(name) for name in before} == before
    with pytest.raises(BrowserError, match="net::ERR"):
        phone.page.goto(f"{phone.url}/s/everything")


def bad_gateway(route: Route) -> None:
    route.fulfill(status=502, body="<h1>Bad Gateway</h1>")


def silence(route: Route) -> None:
    """Takes three seconds to be noticed."""


@pytest.mark.thorough
def test_a_server_in_trouble_counts_as_no_network_and_else_the_network_comes_first(
    plugged: Plugged,
) -> None:
    """A survey that was closed meanwhile is not asked from what is kept."""
    phone = plugged.new_tab()
    phone.open()
    for trouble in (bad_gateway, silence):
        plugged.context.route("**/s/*", trouble)
        phone.page.reload()
        phone.see("#survey[data-kept]")
        assert phone.heading() == "Honesty at work", trouble
        plugged.context.unroute("**/s/*")

    with closing(Store(str(plugged.server.database))) as store:
        store.close_survey("workplace")
    phone.page.reload()

    assert phone.heading() == "This survey is closed"


def test_a_browser_that_keeps_nothing_still_answers(chromium: Browser, plugged: Plugged) -> None:
    context = chromium.new_context(service_workers="block")
    phone = Watched(context.new_page(), plugged.server)
    phone.page.add_init_script("delete Navigator.prototype.serviceWorker")
    phone.to_check_page()
    assert phone.text("#kept[hidden]"), "not even where details are unfolded"
    phone.send()
    phone.wait("receipt")
    assert phone.console == []
    context.close()


# --- the report waits ---------------------------------------------------------------------------


def reports(plugged: Plugged, name: str = "workplace") -> int:
    """How many reports the server has."""
    with closing(Store(str(plugged.server.database))) as store:
        return store.tally(name)["stolen"].n


def answer_unplugged(plugged: Plugged) -> Watched:
    """A phone whose report could not be sent."""
    phone = plugged.new_tab()
    phone.open()
    plugged.pull()
    phone.answer(*ANSWERS)
    phone.send()
    phone.see("#again")
    return phone


def test_a_report_waits_for_the_network_and_goes_out_by_itself(plugged: Plugged) -> None:
    """Four tries, which takes some seconds; then it waits, without a try, until it is told."""
    phone = answer_unplugged(plugged)
    pauses = phone.page.evaluate("patience")
    assert [500 * 2**n <= pause < 1000 * 2**n for n, pause in enumerate(pauses)] == [True] * 3
    assert len(phone.posts()) == 4
    waiting = phone.words("#progress")
    assert "kept here, encrypted" in waiting
    assert phone.heading() == "Not sent yet"
    assert phone.shown("#progress[role=status]")
    assert phone.checked() == 0, "the answers are wiped"
    assert DEFINITION.digest not in "".join(phone.page.evaluate(KEPT))
    assert reports(plugged) == 0

    plugged.plug_in()
    phone.wait("receipt")

    assert reports(plugged) == 1
    bodies = {request.post_data for request in phone.posts()}
    assert len(bodies) == 1, "the coins are thrown once"
    digest = hashlib.sha256((bodies.pop() or "").encode()).hexdigest()
    assert phone.text("#digest") == digest


@pytest.mark.thorough
def test_a_page_that_is_seen_again_sends_what_waits(plugged: Plugged) -> None:
    """The browser never noticed; it was the server that was away."""
    phone = plugged.new_tab()
    phone.to_check_page()
    plugged.server.kill()
    phone.send()
    phone.see("#again")

    plugged.plug_in()
    phone.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    phone.wait("receipt")

    assert reports(plugged) == 1


@pytest.mark.thorough
def test_a_tab_that_was_closed_sends_what_waits_when_it_is_opened_again(plugged: Plugged) -> None:
    answer_unplugged(plugged).page.close()

    unplugged = plugged.new_tab()
    unplugged.page.goto(f"{unplugged.url}/s/workplace")
    unplugged.see("#again")
    unplugged.page.close()
    assert reports(plugged) == 0

    plugged.plug_in()
    phone = plugged.new_tab()
    phone.page.goto(f"{phone.url}/s/workplace")
    phone.wait("receipt")

    assert reports(plugged) == 1
    assert len(phone.posts()) == 1


@pytest.fixture
def hurried(
    browsers: Callable[..., BrowserContext], published: Path, tmp_path: Path
) -> Iterator[Plugged]:
    """Impatient, and long pauses are counted and not waited for."""
    with with_network(browsers(IMPATIENT, HURRY), published, tmp_path) as plugged:
        yield plugged


def wait_for_others(phone: Watched) -> None:
    """What waits from other surveys is sent, or was not taken."""
    phone.see("#survey[data-settled]")


def kept_report(phone: Watched) -> dict[str, object]:
    """What the memory says of the report of DEFINITION: its text, and whether it was sent."""
    kept: dict[str, object] = phone.page.evaluate(READ)["reports"][DEFINITION.digest]
    return kept


@pytest.mark.thorough
def test_the_page_of_any_other_survey_of_the_server_sends_what_waits(hurried: Plugged) -> None:
    """The very bytes that were kept, once the page is there; the page itself goes on as ever."""
    first = hurried.new_tab()
    first.open("/s/everything")
    first.page.close()
    unplugged = answer_unplugged(hurried)
    made = unplugged.posts()[0].post_data
    unplugged.page.close()

    phone = hurried.new_tab()
    phone.open("/s/everything")
    phone.page.goto("about:blank")  # else that page sends, too, and may go before the answer comes
    hurried.plug_in()
    with phone.page.expect_response("**/api/surveys/workplace/reports") as answer:
        phone.open("/s/everything")
        assert phone.heading() == "Every kind of answer"
    assert answer.value.request.post_data == made
    assert answer.value.status == 201
    assert reports(hurried) == 1

    wait_for_others(phone)
    assert kept_report(phone) == {"text": made, "sent": True}
    before = len(phone.posts())
    phone.open()
    assert "has answered this survey before" in phone.words("[data-before]")
    assert len(phone.posts()) == before


@pytest.mark.thorough
def test_what_a_closed_survey_does_not_take_is_left_to_its_own_page(hurried: Plugged) -> None:
    answer_unplugged(hurried).page.close()
    hurried.plug_in()
    with closing(Store(str(hurried.server.database))) as store:
        store.close_survey("workplace")
    phone = hurried.new_tab()
    phone.open("/s/everything")
    wait_for_others(phone)

    assert len(phone.posts()) == 1, "the server says that it is closed"
    assert phone.heading() == "Every kind of answer"
    assert phone.console == [line for line in phone.console if "409" in line]
    assert kept_report(phone)["sent"] is False
    phone.requests.clear()
    phone.open("/s/everything")
    wait_for_others(phone)
    assert phone.posts() == []


@pytest.mark.parametrize(("first", "status"), [("everything", 422), ("workplace", 403)])
@pytest.mark.thorough
def test_what_a_server_refused_goes_out_again_from_its_own_page_alone(
    hurried: Plugged, first: str, status: int
) -> None:
    """From whichever page it was refused: never again of itself, but where its owner comes back."""
    answer_unplugged(hurried).page.close()
    hurried.plug_in()
    hurried.context.route("**/workplace/reports", lambda route: route.fulfill(status=status))
    sent: list[Request] = []
    for opened, posts in [(first, 1), ("everything", 1), ("workplace", 2)]:
        phone = hurried.new_tab()
        phone.page.goto(f"{phone.url}/s/{opened}")
        wait_for_others(phone)
        sent += phone.posts()
        assert len(sent) == posts
        assert phone.console == [line for line in phone.console if str(status) in line]
        assert kept_report(phone)["sent"] is False
        if opened == "everything":
            assert phone.heading() == "Every kind of answer"
        phone.page.close()


@pytest.mark.thorough
def test_others_are_sent_a_few_at_a_time_and_not_back_to_back(hurried: Plugged) -> None:
    surveys = [publish_text(SURVEY.replace("workplace", f"work-{number}")) for number in range(4)]
    for survey in surveys:
        hurried.server.publish(survey)
    phone = hurried.new_tab()
    hurried.context.route("**/reports", lambda route: route.abort())
    for survey in surveys:
        phone.open(f"/s/{survey.name}")
        phone.answer(*ANSWERS)
        address = f"/{survey.name}/reports"
        with phone.page.expect_event("requestfailed", lambda one, end=address: end in one.url):
            phone.send()
    phone.page.goto("about:blank")
    hurried.context.unroute("**/reports")

    for more in (3, 1):
        before = len(phone.posts())
        phone.open("/s/everything")
        wait_for_others(phone)
        assert len(phone.posts()) - before == more
        pauses = phone.page.evaluate("pauses")
        assert len(set(pauses)) == len(pauses) == more
        assert all(5000 <= pause <= 20_000 for pause in pauses)
    assert [reports(hurried, survey.name) for survey in surveys] == [1, 1, 1, 1]


def test_a_report_whose_answer_was_lost_counts_once(plugged: Plugged) -> None:
    def lose(route: Route) -> None:
        route.fetch()  # the server has it
        route.abort()

    phone = plugged.new_tab()
    phone.page.route("**/reports", lose)
    phone.to_check_page()
    phone.send()
    phone.see("#again")
    phone.page.close()
    assert reports(plugged) == 1

    again = plugged.new_tab()
    again.page.goto(f"{again.url}/s/workplace")
    again.wait("receipt")

    assert reports(plugged) == 1


@pytest.mark.thorough
def test_leaving_keeps_what_waits_and_says_nothing(plugged: Plugged) -> None:
    """Who has sent has decided; leaving takes the traces away that can be read, not the report."""
    phone = plugged.new_tab()
    phone.to_check_page()
    phone.page.route("**/reports", lambda route: route.abort())
    phone.send()
    phone.see("#again")
    phone.leave()
    phone.page.unroute("**/reports")

    phone.page.goto(f"{phone.url}/s/workplace")
    phone.wait("receipt")
    assert reports(plugged) == 1
