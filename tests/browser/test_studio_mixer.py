"""A survey with a mixer in the studio, in a real browser with both parties: from a pasted offer to
the batch that its mixer passes on, and what a server that swaps the mixer gets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

from deniably.core.canonical import digest
from deniably.trust.mixer_statement import MixerStatement
from deniably.trust.signing import new_key
from deniably_client.rehearsal import answer_all
from deniably_server.storage.mixer_store import MixerStore
from support.commands import call
from support.hands import Mouse
from support.material import Server
from support.mixing import MixerServer
from support.studio_pages import SAVED, found_group, look_at

pytestmark = pytest.mark.browser

BY = "Works council of Example Ltd"
DOCUMENT: dict[str, Any] = {
    "title": "Our sites", "contact": "Union", "expect": 600, "results": {"minimum": 3},
    "questions": [
        {"name": "hid", "type": "yes_no", "label": "Did you hide an accident?", "odds": 3},
        {"name": "unpaid", "type": "yes_no", "label": "Did you work without pay?", "odds": 3},
    ],
}  # fmt: skip
BEGIN = """async (document) => {
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ document });
  const answer = await fetch("/studio/drafts", { method: "POST", headers, body });
  return (await answer.json()).id;
}"""
MIXER = ".way[aria-current] #way-mixer"


@pytest.fixture(scope="module")
def mixer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixerServer]:
    mixer = MixerServer(tmp_path_factory.mktemp("mixer") / "mixer.db")
    yield mixer
    mixer.kill()


@pytest.fixture(scope="module")
def signed_in(chromium: Browser, first_start: Server) -> Iterator[Page]:
    """The browser in which a group was founded, with its signature."""
    context = chromium.new_context(accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(30_000)
    found_group(Mouse(page), first_start)
    page.wait_for_selector("#founded a.button")
    yield page
    context.close()


@pytest.fixture
def page(signed_in: Page) -> Iterator[Page]:
    page, errors = signed_in.context.new_page(), list[str]()
    page.set_default_timeout(30_000)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []
    page.close()


@pytest.fixture
def hand(page: Page) -> Mouse:
    return Mouse(page)


def offer_of(mixer: MixerServer) -> str:
    """A new offer, as its owner makes it."""
    own = ("--database", mixer.database)
    done = call("mix", "offer", "--address", mixer.url, "--by", BY, *own)
    assert done.returncode == 0, done.stderr
    return done.stdout


def begin(page: Page, server: Server, name: str, **more: Any) -> str:
    """Begins a draft; returns its address."""
    page.goto(f"{server.url}/studio/")
    id_ = page.evaluate(BEGIN, DOCUMENT | {"name": name} | more)
    return f"{server.url}/studio/d/{id_}"


def bring(page: Page, text: str) -> None:
    """Pastes an offer, and looks at it."""
    if not page.is_visible("#offer"):
        page.click("#offering summary")
    page.fill("#offer", text)
    page.click("#bring button")


def with_mixer(page: Page, server: Server, mixer: MixerServer, name: str) -> str:
    """A draft that goes through the mixer; returns its address."""
    plain = [{key: one[key] for key in one if key != "odds"} for one in DOCUMENT["questions"]]
    through = {"offer": json.loads(offer_of(mixer)), "odds": 3}
    return begin(page, server, name, questions=plain, mixer=through)


@pytest.mark.thorough
def test_the_whole_walk_with_a_mixer(
    first_start: Server, mixer: MixerServer, page: Page, hand: Mouse,
    axe: Callable[[Page], list[str]],
) -> None:  # fmt: skip
    server, offer = first_start, offer_of(mixer)
    address = begin(page, server, "autumn-26")
    page.goto(f"{address}/privacy")
    page.wait_for_selector("#ways .way")
    bring(page, "Here is our offer")
    page.wait_for_selector("#why:has-text('This is no offer of a mixer')")
    bring(page, json.dumps(json.loads(offer) | {"by": "Somebody else"}))
    page.wait_for_selector("#offered .error:has-text('Somebody changed this offer')")
    look_at(page, axe)

    bring(page, offer)
    page.wait_for_selector("#way-mixer")
    look_at(page, axe)
    page.click(".way:has(#way-mixer) button")
    page.wait_for_selector(MIXER)
    assert page.evaluate("document.activeElement.id") == "chosen"
    look_at(page, axe)
    page.click("#undo")
    page.wait_for_selector(".way[aria-current] #way-own")
    page.click(".way:has(#way-mixer) button")
    page.wait_for_selector(MIXER)

    page.goto(f"{address}/publish")
    page.wait_for_selector("#through:not([hidden])")
    shown = page.inner_text("#through")
    assert BY in shown
    assert mixer.url in shown
    assert "guessed right 75.0 of 100 times" in shown
    assert "guessed right 88.9 of 100 times" in shown
    look_at(page, axe)
    hand.choose("#read")
    hand.press("#publish")
    page.wait_for_selector("#done:not([hidden])")
    look_at(page, axe)
    command = page.inner_text("#accept-command").split()
    assert command[:3] == ["deniably", "mix", "accept"]

    hand.press("#follow")
    page.wait_for_selector("#at-mixer:has-text('has not accepted this survey yet')")
    look_at(page, axe)
    accepted = call(*command[1:], "--database", mixer.database, "--yes")
    assert accepted.returncode == 0, accepted.stderr
    people = [{"hid": "yes", "unpaid": "no"}] * 12
    assert sum(answer_all([command[3]], people)) == 12
    page.reload()
    page.wait_for_selector(f"#at-mixer:has-text('{BY} says, signed, that fewer than 10 people')")
    look_at(page, axe)

    hand.write("#typed", "autumn-26")
    hand.press("#close")
    page.wait_for_selector("text=has not passed on the answers yet")
    look_at(page, axe)
    mixer.kill()  # one that starts asks at once
    again = MixerServer(mixer.database)
    try:
        for _ in range(40):
            page.reload()
            if page.is_visible("text=See the results"):
                break
            page.wait_for_timeout(500)
        assert "passed on the answers of 12 people" in page.inner_text("main")
        look_at(page, axe)
    finally:
        again.kill()


def test_an_offer_is_brought_as_a_file_and_a_slider_sets_what_the_server_may_learn(
    first_start: Server, mixer: MixerServer, page: Page, tmp_path: Path
) -> None:
    file = tmp_path / "offer.json"
    file.write_text(offer_of(mixer))
    page.goto(f"{begin(page, first_start, 'by-file')}/privacy")
    page.wait_for_selector("#ways .way")
    page.click("#offering summary")
    page.set_input_files("#offer-file", file)
    page.wait_for_selector("#way-mixer")
    page.click(".way:has(#way-mixer) button")
    page.wait_for_selector(f"{MIXER}")
    page.wait_for_selector("#promise")
    assert page.get_attribute("#promise", "aria-valuetext") == "right 75 of 100 times"

    page.focus("#promise")
    page.keyboard.press("ArrowLeft")

    page.wait_for_selector("#promised:text-is('72 of 100 times')")
    page.wait_for_selector(SAVED)
    page.wait_for_selector(".way[aria-current] dd:text-is('72')")
    page.click("#undo")
    page.wait_for_selector(".way[aria-current] dd:text-is('75')")


SWAPPED = {
    "The mixer here is": {"by": "Harbour Employers"},
    "The mixer’s address here is": {"address": "https://mixer.evil.example"},
    "The key of the mixer here is": {"signing": "ab" * 32},
    "The mixer’s key of envelopes here is": {"key": "04" + "ab" * 64},
    "This server’s key of envelopes here is": {"open": "04" + "cd" * 64},
    "What this server alone can learn here is": {"claim": {"epsilon": "3", "delta": "0.000001"}},
    "The number of people of whom one may be protected less here is": {
        "claim": {"epsilon": "1.0986", "delta": "0.0001"}
    },
}


def test_a_server_that_swaps_the_mixer_gets_no_signature(
    first_start: Server, mixer: MixerServer, page: Page, hand: Mouse
) -> None:
    address = with_mixer(page, first_start, mixer, "swapped")
    change: dict[str, Any] = {}
    posts: list[str] = []

    def other(route: Route) -> None:
        answer = route.fetch()
        definition = answer.json()["definition"]
        if change:
            definition["mixer"] |= change
        else:
            del definition["mixer"]
        route.fulfill(response=answer, json={"definition": definition})

    page.route("**/definition", other)
    page.on("request", lambda one: posts.append(one.url) if one.url.endswith("/published") else 0)
    page.goto(f"{address}/publish")
    page.wait_for_selector("#asked-questions li")
    hand.choose("#read")
    for sentence, swapped in [*SWAPPED.items(), ("The mixer here is", {})]:
        change.clear()
        change.update(swapped)
        hand.press("#publish")
        page.wait_for_selector(f"#why:has-text('{sentence}')")
        assert "Nothing was signed." in page.inner_text("#why")
    assert posts == []


def test_a_survey_without_a_mixer_gets_none_from_the_server(
    first_start: Server, page: Page, hand: Mouse
) -> None:
    address = begin(page, first_start, "without")
    mixed = {"by": "Nobody", "address": "https://m.example", "claim": {"epsilon": "1"}}

    def other(route: Route) -> None:
        answer = route.fetch()
        definition = answer.json()["definition"] | {"mixer": mixed}
        route.fulfill(response=answer, json={"definition": definition})

    page.route("**/definition", other)
    page.goto(f"{address}/publish")
    page.wait_for_selector("#asked-questions li")
    hand.choose("#read")
    hand.press("#publish")
    page.wait_for_selector("#why:has-text('The mixer here is “none”, and there “Nobody”')")


def test_it_is_signed_on_another_computer(
    first_start: Server, mixer: MixerServer, page: Page, hand: Mouse, tmp_path: Path
) -> None:
    address = with_mixer(page, first_start, mixer, "elsewhere")
    page.goto(f"{address}/publish")
    page.wait_for_selector("#asked-questions li")
    page.click("#elsewhere summary")
    with page.expect_download() as saved:
        page.click("#to-sign")
    file = tmp_path / "elsewhere.json"
    saved.value.save_as(file)

    assert json.loads(file.read_text())["mixer"]["by"] == BY
    key = tmp_path / "other.key"
    key.touch(0o600)
    key.write_bytes(new_key().text)
    signed = call("sign", file, "--key", key, "--yes")
    assert signed.returncode == 0, signed.stderr
    assert "server alone" in signed.stdout
    page.set_input_files("#signed", tmp_path / "elsewhere.signature")
    page.wait_for_selector("#why:has-text('This is the signature of another group')")


def test_only_what_the_mixer_signed_is_believed(
    first_start: Server, mixer: MixerServer, page: Page, hand: Mouse
) -> None:
    page.goto(f"{with_mixer(page, first_start, mixer, 'believed')}/publish")
    page.wait_for_selector("#asked-questions li")
    hand.choose("#read")
    hand.press("#publish")
    page.wait_for_selector("#done:not([hidden])")
    command = page.inner_text("#accept-command").split()
    assert call(*command[1:], "--database", mixer.database, "--yes").returncode == 0
    survey = digest(page.request.get(f"{first_start.url}/api/surveys/believed").json())
    with closing(MixerStore(str(mixer.database))) as store:
        key = store.keys(survey).signing
    unsigned = MixerStatement(BY, 50, 990, survey, "2999-12-31")
    stated = [unsigned.signed(new_key()), unsigned.signed(key)]
    allowed = {"Access-Control-Allow-Origin": "*"}
    page.route(
        "**/mix/*", lambda route: route.fulfill(body=stated.pop(0).canonical, headers=allowed)
    )

    hand.press("#follow")
    page.wait_for_selector("#at-mixer:has-text('is not the mixer that you signed for')")
    assert "990" not in page.inner_text("main")

    page.reload()
    page.wait_for_selector(f"#at-mixer:has-text('{BY} says, signed, that at least 990 people')")
    assert "until 2999-12-31. Only people with a code can: it has issued 50." in page.inner_text(
        "#at-mixer"
    )


def test_the_form_of_such_a_draft_is_tried_out_and_shows_what_would_be_sealed(
    first_start: Server, mixer: MixerServer, page: Page
) -> None:
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    page.goto(f"{with_mixer(page, first_start, mixer, 'tried')}/page")
    page.wait_for_selector("#survey[data-settled]")
    page.click("button[form=invitation]:not(.quiet)")
    for _ in DOCUMENT["questions"]:
        page.click("[data-step=question]:not([hidden]) label:has(input[type=radio])")
        page.click("[data-step=question]:not([hidden]) .buttons .button:not(.quiet)")
    page.click("#send")
    page.wait_for_selector("#would div >> nth=1")

    reports = (page.text_content("#report") or "").splitlines()
    assert [list(json.loads(one)["values"]) for one in reports] == [["hid"], ["unpaid"]]
    assert BY in page.inner_text("#tried")
    assert [url for url in asked if mixer.url in url] == []
