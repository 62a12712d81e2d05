"""A class on a real server: every phone answers, and the page on the wall follows in steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, Page, expect

from deniably.authoring.compiling import publish_text
from deniably.wording.words import LANGUAGES
from deniably_server.storage.store import Store
from support.commands import call
from support.material import PublicServer, Server, a_report
from support.phone import PHONE, Watched, new_tab
from support.soak import all_but, soak

pytestmark = pytest.mark.browser

STEP = 2
TEXT = """
name: {name}
title: A question to the class
results: {{minimum: {step}, while_open: {shown}}}
questions:
  - {{name: answer, type: yes_no, label: Have you ever copied homework?, coins: {{truth: 0.5}}}}
"""


@pytest.fixture(scope="module")
def server(first_start: Server) -> Server:
    return first_start


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublicServer]:
    """A server that phones reach, with a result to reveal."""
    server = PublicServer(tmp_path_factory.mktemp("public") / "deniably.db")
    survey = publish_text(TEXT.format(name="small", step=STEP, shown="true"))
    server.publish(survey)
    with closing(Store(str(server.database))) as store:
        for n in range(6):
            store.add(survey, a_report(survey, answer=[n % 2]))
    yield server
    server.kill()


def results(server: Server, name: str) -> Any:
    return requests.get(f"{server.url}/api/surveys/{name}/results", timeout=30).json()


def ready(context: BrowserContext, server: Server, name: str) -> Watched:
    """A phone at the last step of the form, before its answer is sent."""
    phone = Watched(context.new_page(), server)
    phone.open(f"/s/{name}")
    phone.answer("Yes")
    return phone


# The page asks for news every five seconds; a test waits for a twentieth of that.
IMPATIENT = """globalThis.periods = [];
const { setInterval: again } = globalThis;
globalThis.setInterval = (then, milliseconds) => {
  periods.push(milliseconds);
  return again(then, milliseconds / 20);
};"""


@pytest.mark.parametrize("count", [6, soak(30)])
@pytest.mark.thorough
def test_a_class_answers_at_once_and_the_wall_shows_it_in_steps(
    chromium: Browser, desktop: BrowserContext, server: Server, count: int
) -> None:
    name, step = f"class-of-{count}", 2 if count < 10 else 10
    done = call(
        "lab", "class", "--question", "Have you ever copied homework?", "--coins", "0.5",
        "--name", name, "--people", str(count), "--minimum", str(step), "--server", server.url,
        "--token", server.token,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    wall = new_tab(desktop)
    wall.add_init_script(IMPATIENT)
    (address,) = (line.split()[1] for line in done.stdout.splitlines() if line.startswith("class "))
    wall.goto(address)
    form = wall.locator(".address a").get_attribute("href") or ""
    assert form == f"{server.url}/s/{name}"
    expect(wall.locator("#count .many")).to_have_count(0)
    assert wall.evaluate("periods") == [5000]
    wall.fill("#guess", "100")
    contexts = [chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
                for _ in range(count)]  # fmt: skip
    phones = [ready(context, server, name) for context in contexts]

    first, rest = phones[: 2 * step], phones[2 * step :]
    for phone in first:
        phone.send()
        phone.wait("receipt")
    for phone in rest:  # all begin to send before any is waited for
        phone.send()
    for phone in rest:
        phone.wait("receipt")

    document = results(server, name)  # a step may have more, where several come at once
    assert step <= document["n"] <= count - step
    expect(wall.locator("#count .many")).to_have_text(f"{document['n']} reports", timeout=20_000)
    wall.locator("#reveal summary").click()
    low, high = document["questions"][0]["choices"][0]["interval"]
    hit = wall.locator("#hit")
    expect(hit).to_have_text(
        "Your guess, 100, is within the interval." if low <= 1 <= high
        else "Your guess, 100, is outside the interval."
    )  # fmt: skip

    closed = call("close", name, "--server", server.url, "--token", server.token)
    assert closed.returncode == 0, closed.stderr
    assert f"with {count} reports" in closed.stdout
    expect(wall.locator("#count .many")).to_have_text(f"{count} reports", timeout=20_000)
    assert wall.locator("#reveal details").evaluate("(one) => one.open"), (
        "what is revealed stays so"
    )
    assert wall.input_value("#guess") == "100"
    expect(wall.locator("#join")).to_contain_text("This survey is closed", timeout=20_000)
    assert results(server, name)["n"] == count
    for context in contexts:
        context.close()
    wall.close()


def test_a_guess_is_drawn_and_goes_nowhere(desktop: BrowserContext, server: Server) -> None:
    server.publish(publish_text(TEXT.format(name="guessing", step=STEP, shown="true")))
    page, asked = new_tab(desktop), list[str]()
    page.set_viewport_size(PHONE)
    page.add_init_script(IMPATIENT)
    page.goto(f"{server.url}/surveys/guessing/class")
    page.wait_for_selector("#guess + input[type=range]")
    page.on("request", lambda request: asked.append(request.url + str(request.post_data)))
    figure, mark = page.locator("figure"), page.locator("[data-guess]")
    expect(mark).to_have_count(0)

    page.locator("#guess + input[type=range]").focus()
    page.keyboard.press("End")

    expect(page.locator("#guess")).to_have_value("100")
    assert float(mark.first.get_attribute("y1") or "") == float(
        figure.get_attribute("data-high") or "nan"
    )
    page.fill("#guess", "0")
    assert float(mark.first.get_attribute("y1") or "") == float(
        figure.get_attribute("data-low") or "nan"
    )
    tick = page.locator("figure text", has_text="0\u202f%").first
    expect(tick).to_be_visible()
    for nothing in ("", "101", "-1"):
        page.fill("#guess", nothing)
        expect(mark).to_have_count(0)
    page.fill("#guess", "37")
    with page.expect_request("**/class", timeout=20_000):
        pass
    assert not [one for one in asked if "37" in one.replace(server.url, "")]
    kept = page.evaluate("""async () => JSON.stringify([localStorage, sessionStorage,
      document.cookie, await indexedDB.databases(), await caches.keys(), history.state])""")
    assert json.loads(kept) == [{}, {}, "", [], [], None]
    page.reload()
    expect(page.locator("#guess")).to_have_value("")
    page.close()


def test_without_a_script_everything_but_the_comparison_is_there(
    chromium: Browser, server: Server
) -> None:
    survey = publish_text(TEXT.format(name="plain", step=STEP, shown="true"))
    server.publish(survey)
    with closing(Store(str(server.database))) as store:
        for n in range(60):
            store.add(survey, a_report(survey, answer=[n % 2]))
    page = chromium.new_page(java_script_enabled=False, viewport={"width": 1280, "height": 720})
    page.goto(f"{server.url}/surveys/plain/class")
    finding = page.locator("#reveal .finding")

    assert page.locator("svg.qr").is_visible()
    assert page.locator("#count").inner_text().startswith("58 reports")
    page.fill("#guess", "35")
    assert finding.is_hidden()
    page.click("#reveal summary")
    assert finding.inner_text().startswith("“Yes”: about 50")
    assert page.locator("#reveal svg.graph").is_visible()
    page.click("text=Show the newest")
    assert page.url == f"{server.url}/surveys/plain/class"
    page.close()


def test_the_wall_is_read_from_the_last_row_and_at_four_times_its_size(
    desktop: BrowserContext, server: Server, axe_light_and_dark: Callable[[Page], list[str]]
) -> None:
    page = new_tab(desktop)
    page.set_viewport_size({"width": 1920, "height": 1080})
    server.publish(publish_text(TEXT.format(name="wall", step=STEP, shown="false")))
    page.goto(f"{server.url}/surveys/wall/class")
    size = "(one) => parseFloat(getComputedStyle(one).fontSize) * (one.currentCSSZoom ?? 1)"

    assert page.locator("h1").evaluate(size) >= 60
    assert page.locator(".address").evaluate(size) >= 40
    box = page.locator("svg.qr").bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 500
    assert box["y"] + box["height"] < 1080, "it is seen without scrolling"
    assert axe_light_and_dark(page) == []
    page.set_viewport_size({"width": 320, "height": 256})  # 1280 by 1024 at 400 %
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) == 320
    page.close()


def test_in_arabic_the_picture_stays_within_its_card(
    desktop: BrowserContext, server: Server
) -> None:
    """SVG text starts at its right end where the page does, so it would leave the picture."""
    server.publish(publish_text(TEXT.format(name="arabic", step=STEP, shown="true")))
    page = new_tab(desktop)
    page.goto(f"{server.url}/surveys/arabic/class?language=ar")

    outside = page.evaluate("""() => {
      const card = document.querySelector("#precise").parentElement.getBoundingClientRect();
      return [...document.querySelectorAll("#before svg text")].filter((one) => {
        const { left, right } = one.getBoundingClientRect();
        return left < card.left || right > card.right;
      }).map((one) => one.textContent);
    }""")
    page.close()

    assert outside == []


@pytest.mark.thorough
@pytest.mark.parametrize("language", all_but(("de", "uk", "ar"), list(LANGUAGES)))
def test_a_small_wall_shows_the_code_both_steps_and_reveal_without_scrolling(
    desktop: BrowserContext, public: PublicServer, language: str
) -> None:
    """German and Ukrainian leave the least room, Arabic leaves the most."""
    page = new_tab(desktop)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{public.url}/surveys/small/class?language={language}")
    height = 800

    for which in ("svg.qr", ".address", ".steps li:last-child", "#reveal summary"):
        box = page.locator(which).bounding_box()
        assert box, which
        assert box["y"] + box["height"] <= height, which
    page.set_viewport_size({"width": 1920, "height": 1080})
    steps, code = (page.locator(one).bounding_box() for one in (".steps", "svg.qr"))
    page.close()
    assert steps
    assert code
    assert steps["y"] + steps["height"] <= 1080
    assert code["height"] >= 400
