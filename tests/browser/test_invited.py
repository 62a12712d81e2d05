"""A survey by invitation on a phone: the link or the letter, the trade, and what is left of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
import requests
from playwright.sync_api import Browser, Page, Request

from deniably.authoring.compiling import publish_text
from deniably.trust.invitation_codes import code_in_groups
from deniably_server.storage.store import Store
from support.material import Server
from support.phone import HURRY, IMPATIENT, PHONE, READ, SURVEY, Watched

pytestmark = pytest.mark.browser

INVITED = SURVEY.replace("workplace", "invited") + "invited: true\n"
PATH = "/s/invited"
FIELD = "#code"
READ_INVITED = READ.replace("page.js", "page-invited.js")
"""What the page of a survey by invitation remembers."""
ERROR = "#invitation .error"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    # Nobody but who says so comes by a proxy; from this machine itself nothing is limited.
    limits = ("--failures", "1", "--proxies", "1")
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db", *limits)
    for text in (INVITED, SURVEY):
        server.publish(publish_text(text))
    yield server
    server.kill()


@pytest.fixture(scope="module")
def invite(server: Server) -> Iterator[Callable[[], str]]:
    with closing(Store(str(server.database))) as store:
        yield lambda: code_in_groups(store.invite("invited", 1)[0])


def count(server: Server) -> int:
    with closing(Store(str(server.database))) as store:
        return store.tally("invited")["stolen"].n


def answer(phone: Watched) -> None:
    phone.answer("Yes", "Weeklyish")
    phone.send()


def bodies(phone: Watched) -> list[Request]:
    return [request for request in phone.posts() if "/api/" in request.url]


def test_a_link_leads_to_a_receipt_that_stays_and_the_code_is_in_no_address(
    phone: Watched, server: Server, invite: Callable[[], str]
) -> None:
    before, code = count(server), invite()
    phone.open(f"{PATH}#{code}")

    assert phone.page.url == phone.url + PATH
    assert phone.written(FIELD) == code
    assert phone.posts() == [], "nothing is sent before somebody starts"
    phone.press(("details.languages summary", ""))
    phone.press(("nav.languages a[lang=en]", ""))
    phone.see("html[lang=en] #survey[data-kept]")
    assert phone.written(FIELD) == code, "the other language has it, too"
    answer(phone)
    phone.wait("receipt")

    assert count(server) == before + 1
    trade, report = bodies(phone)
    assert trade.url.endswith("/api/surveys/invited/tickets")
    assert set(json.loads(trade.post_data or "")) == {"invitation", "blinded"}
    ticket = report.headers["deniably-ticket"]
    sent = json.loads(report.post_data or "")
    for secret in (ticket[:64], ticket[64:128], sent["id"]):
        assert secret not in (trade.post_data or "")
    assert not any(code in request.url for request in phone.requests)
    assert code not in phone.page.content()
    assert code.replace("-", "") not in phone.page.evaluate("JSON.stringify(history.state)")

    phone.page.goto("about:blank")
    phone.open(f"{PATH}#{invite()}")
    assert phone.page.url == phone.url + PATH
    assert "One invitation gives one report" in phone.words("[data-before]")
    assert not phone.shown("#changed")
    assert not phone.shown("[data-known]")
    phone.press(("#same", ""))
    phone.wait("receipt")
    assert count(server) == before + 1


@pytest.mark.thorough
def test_a_typing_error_is_told_from_an_unknown_and_a_used_invitation(
    phone: Watched, chromium: Browser, server: Server, invite: Callable[[], str]
) -> None:
    """And a letter is typed as it comes."""
    before, code = count(server), invite()
    phone.open(PATH)
    swapped = code[:2] + code[3] + code[2] + code[4:]
    if swapped == code:
        swapped = ("1" if code[0] != "1" else "2") + code[1:]

    def told(text: str) -> str:
        phone.write(FIELD, text)
        assert not phone.shown(ERROR), "whoever types is not told off any more"
        phone.click("Start")
        phone.see(ERROR)
        assert phone.page.evaluate("document.activeElement.classList.contains('error')")
        return phone.words(f"{ERROR} a")

    for typo in (swapped, "", "ABC"):
        assert "one is missing or misspelt" in told(typo)
    assert phone.posts() == [], "no typing error reaches the server"
    assert "has no such invitation" in told("000000-000000-000000")
    other = Watched(chromium.new_context(viewport=PHONE).new_page(), server)
    other.open(f"{PATH}#{code}")
    other.click("Start")
    other.see("[data-step=question]")
    other.page.context.close()
    assert "used already" in told(code)

    phone.write(FIELD, f" {invite().lower().replace('0', 'O').replace('-', ' ')} ")
    answer(phone)
    phone.wait("receipt")
    assert count(server) == before + 1


def test_a_link_that_was_cut_short_says_so_and_a_newer_one_takes_the_place_of_an_older(
    phone: Watched, invite: Callable[[], str]
) -> None:
    """And leaves the address, too."""
    phone.open(f"{PATH}#{invite()[:-3]}")

    assert "missing" in phone.words(f"{ERROR} a")
    assert phone.page.url == phone.url + PATH

    code = invite()
    phone.page.evaluate("code => { location.hash = code; }", code)
    phone.page.wait_for_function("code => document.querySelector('#code').value === code", arg=code)
    assert phone.page.url == phone.url + PATH

    newer = invite()
    phone.page.goto("about:blank")
    phone.open(f"{PATH}#{newer}")
    answer(phone)
    phone.wait("receipt")

    (trade, _) = bodies(phone)
    assert json.loads(trade.post_data or "")["invitation"] == newer.replace("-", "")


def test_nobody_gets_past_the_start_without_an_invitation_and_only_they_fetch_what_it_needs(
    phone: Watched, invite: Callable[[], str]
) -> None:
    phone.open(PATH)
    sizes = phone.page.evaluate(
        "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
        ".map(({name, encodedBodySize}) => [name, encodedBodySize])"
    )

    assert any("page-invited.js" in name for name, _ in sizes)
    assert not any(name.endswith("/page.js") for name, _ in sizes)
    # What is kept for use without a network is fetched again, from the browser's cache or not.
    once = dict(sorted(map(tuple, sizes)))
    assert 20_000 < sum(once.values()) < 50_000

    phone.press(("#practise", ""))
    phone.wait("practice")
    phone.press(("[data-step=practice] [data-go='1']", ""))

    phone.wait("start")
    phone.see(ERROR)
    assert phone.shown("[data-step=question]") == 0
    phone.write(FIELD, invite())
    phone.press(("#practise", ""))
    phone.press(("[data-step=practice] [data-go='1']", ""))
    phone.see("[data-step=question]")


@pytest.mark.thorough
def test_what_was_traded_survives_a_reload_and_is_answered_without_a_network(
    phone: Watched, server: Server, invite: Callable[[], str]
) -> None:
    before = count(server)
    phone.page.add_init_script(IMPATIENT)
    phone.open(f"{PATH}#{invite()}")
    phone.page.reload()
    phone.see("#survey[data-kept]")
    assert phone.written(FIELD) != "", "the code is kept until it is traded"
    phone.click("Start")
    phone.see("[data-step=question]")
    phone.see("#survey[data-settled]")

    phone.page.context.set_offline(True)
    phone.page.reload()
    phone.see("#survey[data-kept]")
    assert phone.shown("#traded")
    assert not phone.shown(FIELD)
    answer(phone)
    phone.see("#again")
    assert count(server) == before
    phone.page.context.set_offline(False)
    phone.wait("receipt")

    assert count(server) == before + 1


@pytest.mark.thorough
def test_without_a_network_the_invitation_waits_and_a_lost_answer_costs_none(
    phone: Watched, invite: Callable[[], str]
) -> None:
    """The server signed, and the line broke: the same is asked again, and signed again."""
    code = invite()
    phone.page.add_init_script(IMPATIENT)
    phone.open(f"{PATH}#{code}")
    phone.page.context.set_offline(True)
    phone.click("Start")
    phone.see(ERROR)
    assert "cannot be reached" in phone.words(f"{ERROR} a")

    phone.page.context.set_offline(False)
    lost: list[bytes] = []

    def lose(route: object, request: Request) -> None:
        lost.append(route.fetch().body())  # type: ignore[attr-defined]
        route.abort()  # type: ignore[attr-defined]

    phone.page.context.route("**/tickets", lose)
    phone.write(FIELD, code)
    assert not phone.shown(ERROR), "so that it is the next one that is waited for"
    phone.click("Start")
    phone.see(ERROR)
    phone.page.context.unroute("**/tickets")
    phone.page.reload()
    phone.see("#survey[data-kept]")
    phone.click("Start")
    phone.see("[data-step=question]")

    assert lost
    assert len(set(lost)) == 1
    assert len({request.post_data for request in bodies(phone)}) == 1


@pytest.mark.thorough
def test_where_codes_are_guessed_it_is_said_when_to_try_again_and_nothing_is_lost(
    phone: Watched, server: Server, invite: Callable[[], str]
) -> None:
    from_there = {"X-Forwarded-For": "203.0.113.7"}
    wrong = {"invitation": "0" * 18, "blinded": "00" * 256}
    address = f"{server.url}/api/surveys/invited/tickets"
    assert requests.post(address, json=wrong, headers=from_there, timeout=30).status_code == 403
    before, code = count(server), invite()
    phone.page.set_extra_http_headers(from_there)
    phone.page.add_init_script(IMPATIENT)
    phone.open(f"{PATH}#{code}")
    phone.click("Start")
    phone.see(ERROR)

    assert "not lost. Please try again in a minute." in phone.words(f"{ERROR} a")
    assert phone.words(f"{ERROR} strong") == "Not sent yet"
    memory = phone.page.evaluate(READ_INVITED)
    assert (memory["ledger"], memory["reports"]) == ([], {})
    phone.page.set_extra_http_headers({})
    answer(phone)
    phone.wait("receipt")

    assert count(server) == before + 1
    assert len({request.post_data for request in bodies(phone)[:-1]}) == 1, "the very same trade"


def test_leaving_forgets_an_invitation_that_was_not_traded(
    phone: Watched, invite: Callable[[], str]
) -> None:
    phone.open(f"{PATH}#{invite()}")
    phone.see("#survey[data-settled]")
    phone.leave()

    phone.open(PATH)
    assert phone.written(FIELD) == ""
    assert "trades" not in phone.page.evaluate(READ_INVITED)


def test_the_code_leaves_the_address_of_a_refused_survey_and_no_other_key_is_taken(
    phone: Watched, invite: Callable[[], str]
) -> None:
    phone.page.context.route("**/register/*", lambda route: route.fulfill(status=200, body="{}"))
    phone.page.goto(f"{phone.url}{PATH}#{invite()}")
    phone.wait("refused")
    assert phone.page.url == phone.url + PATH

    phone.page.context.unroute("**/register/*")
    phone.open(PATH)
    assert phone.written(FIELD) != "", "and is kept for another try"

    def change(route: object, request: Request) -> None:
        answer = route.fetch()  # type: ignore[attr-defined]
        signature = answer.json()["signature"]
        other = signature[:-1] + f"{int(signature[-1], 16) ^ 1:x}"
        route.fulfill(response=answer, json={"signature": other})  # type: ignore[attr-defined]

    phone.page.context.route("**/tickets", change)
    phone.click("Start")
    phone.wait("refused")

    assert "not this key's" in phone.words("#detail")


def test_two_tabs_trade_one_invitation_once_and_send_one_report(
    phone: Watched, server: Server, invite: Callable[[], str]
) -> None:
    before, code = count(server), invite()
    other = Watched(phone.page.context.new_page(), server)
    for tab in (phone, other):
        tab.open(f"{PATH}#{code}")
    for tab in (phone, other):
        tab.click("Start")
        tab.see("[data-step=question]")
    for tab, label in ((phone, "Yes"), (other, "No")):
        tab.choose(label)
        tab.choose("Weeklyish")
        tab.send()
        tab.wait("receipt")

    assert count(server) == before + 1
    trades = [each for each in bodies(phone) if each.url.endswith("/tickets")]
    reports = [each for each in bodies(phone) if each.url.endswith("/reports")]
    assert len(trades) == 1
    assert len({each.post_data for each in reports}) == 1


@pytest.mark.thorough
def test_a_ticket_that_a_device_forgot_is_asked_for_in_all_its_tabs(
    phone: Watched, server: Server, invite: Callable[[], str]
) -> None:
    """Who lets it be forgotten is told what is lost, and that the code is used."""
    code = invite()
    phone.open(f"{PATH}#{code}")
    phone.click("Start")
    phone.see("[data-step=question]")
    tabs = [Watched(phone.page.context.new_page(), server) for _ in range(2)]
    for tab in tabs:
        tab.open(PATH)
        assert tab.shown("#traded")
    tabs[0].press(("[data-step=start] [data-forget] summary", ""))
    assert "not yet used to answer is lost" in tabs[0].words("[data-step=start] [data-forget]")
    tabs[0].press(("[data-step=start] [data-forget] button", ""))
    tabs[0].see(FIELD)
    tabs[1].click("Start")

    tabs[1].see(ERROR)
    assert tabs[1].shown("[data-step=question]") == 0
    tabs[0].write(FIELD, code)
    tabs[0].click("Start")
    tabs[0].see(ERROR)
    assert "before it forgot" in tabs[0].words(f"{ERROR} a")
    tabs[0].write(FIELD, invite())
    tabs[0].click("Start")
    tabs[0].see("[data-step=question]")


# Pauses between tries; the limits of time on what a server sends stay.
NO_PAUSES = """const { setTimeout: limited } = globalThis;
globalThis.setTimeout = (then, milliseconds) =>
  [4000, 60_000].includes(milliseconds) ? limited(then, milliseconds) : queueMicrotask(then);"""


def test_how_long_to_wait_is_read_from_whatever_a_server_says(
    phone: Watched, invite: Callable[[], str]
) -> None:
    says: dict[str, str] = {}
    phone.page.add_init_script(NO_PAUSES)
    phone.page.context.route("**/tickets", lambda to: to.fulfill(status=429, headers=says))
    phone.open(f"{PATH}#{invite()}")
    waits = {
        "7": "a minute", "61": "2 minutes", "-5": "a minute", "121": "3 minutes",
        "1e999": "a minute", "Sat, 21 Nov 2026 07:28:00 GMT": "a minute",
    }  # fmt: skip
    for text, told in waits.items():
        says["Retry-After"] = text
        phone.click("Start")
        phone.see(f"{ERROR} a", f"try again in {told}.")


@pytest.mark.thorough
def test_the_page_of_another_survey_sends_what_waits_with_its_ticket(
    phone: Watched, invite: Callable[[], str]
) -> None:
    phone.page.add_init_script(IMPATIENT)
    phone.page.add_init_script(HURRY)
    phone.open(f"{PATH}#{invite()}")
    phone.page.context.route("**/invited/reports", lambda route: route.abort())
    answer(phone)
    phone.see("#again")
    phone.page.context.unroute("**/invited/reports")

    with phone.page.expect_response("**/invited/reports", timeout=30_000) as sent:
        phone.open("/s/workplace")

    assert sent.value.status == 201
    assert sent.value.request.headers["deniably-ticket"]


def test_the_start_fits_a_narrow_screen_and_everybody(
    visitor: Watched, axe: Callable[[Page], list[str]]
) -> None:
    phone = visitor
    phone.page.set_viewport_size({"width": 320, "height": 700})
    phone.open(PATH)
    phone.click("Start")
    phone.see(ERROR)

    assert axe(phone.page) == []
    for width in (320, 390):
        phone.page.set_viewport_size({"width": width, "height": 700})
        assert phone.page.evaluate("document.documentElement.scrollWidth") <= width
