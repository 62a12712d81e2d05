"""How long a slow phone waits for the first question: Chromium, throttled to an old phone on 3G.

A smoke run does not throttle.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import service
from sheet import Sheet, duration, scaled

from browser import ARGUMENTS, chromium
from deniably.trust.signing import new_key
from deniably_server.storage.store import Store

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.every_type import survey_within_limits

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, Page

GOAL = 3.0
GOAL_TIMES = 1.2
FEW, MANY = 10, 1000  # surveys on one server
LATENCY = 400  # milliseconds a request
RATE = 400_000 / 8  # bytes a second
SLOWDOWN = 4  # of the processor
PHONE = {"width": 390, "height": 780}


def measure(sheet: Sheet) -> None:
    from playwright.sync_api import sync_playwright

    sheet.section("The form on a slow phone: 400 kbit/s, 400 ms latency, processor 4 times slower")
    path = chromium(sheet.quick)
    if path is None:
        sheet.note("not measured: Chromium is not installed")
        return
    surveys = {"3 questions": service.survey_named("three"), "every type": survey_within_limits()}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        database = Path(folder) / "phone.db"
        store = Store(str(database))
        for survey in surveys.values():
            store.publish(survey, new_key().sign(survey.digest))
        store.close()
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        with serving(database) as port:
            for title in ["3 questions"] if sheet.quick else surveys:
                url = f"http://127.0.0.1:{port}/s/{surveys[title].name}"
                visits = [visit(browser, url, slowed=not sheet.quick) for _ in range(_times(sheet))]
                told(sheet, title, visits)
        beside_others(sheet, browser, Path(folder))
        browser.close()


def serving(database: Path) -> AbstractContextManager[int]:
    return service.serving([sys.executable, "-m", "deniably_client", "serve"], database)


def beside_others(sheet: Sheet, browser: Browser, folder: Path) -> None:
    """The first visit where a server has few surveys, and where it has many, in turn."""
    counts = (2, FEW) if sheet.quick else (FEW, MANY)
    visits: dict[int, list[_Visit]] = {count: [] for count in counts}
    with ExitStack() as running:
        urls: dict[int, str] = {}
        for count in counts:
            database = folder / f"{count}.db"
            with closing(Store(str(database))) as store:
                for number in range(count):
                    survey = service.survey_named(f"survey-{number}")
                    store.publish(survey, new_key().sign(survey.digest))
            port = running.enter_context(serving(database))
            urls[count] = f"http://127.0.0.1:{port}/s/survey-{count // 2}"
        for _ in range(_times(sheet)):
            for count in counts:
                visits[count].append(visit(browser, urls[count], slowed=not sheet.quick))
    for count in counts:
        told(sheet, f"3 questions, of {count:,} surveys", visits[count])
    few, many = (visits[count] for count in counts)
    for what, part in (("seconds", "first"), ("bytes", "size")):
        times = typical(many, part) / typical(few, part)
        title = f"{what} of {counts[1]:,} surveys, to those of {counts[0]}"
        sheet.figure(title, f"{times:.2f} times", f"<= {GOAL_TIMES:g}", times <= GOAL_TIMES)


class _Visit(NamedTuple):
    """Seconds to the first question at the first visit and the next, and the bytes of the first,
    where each address counts once."""

    first: float
    again: float
    size: float


def typical(visits: Sequence[_Visit], part: str) -> float:
    return median(getattr(each, part) for each in visits)


def _times(sheet: Sheet) -> int:
    return 1 if sheet.quick else 5


def told(sheet: Sheet, title: str, visits: Sequence[_Visit]) -> None:
    found = typical(visits, "first")
    sheet.figure(
        f"{title}, first question is shown", duration(found), f"<= {GOAL:g} s", found <= GOAL
    )
    sheet.figure(f"{title}, on the next visit", duration(typical(visits, "again")))
    size = scaled(typical(visits, "size")).strip()
    sheet.figure(f"{title}, bytes over the wire", f"{size}B")


def visit(browser: Browser, url: str, *, slowed: bool) -> _Visit:
    """The first visit, in a browser that has nothing, and the next one."""
    context = browser.new_context(viewport=PHONE, is_mobile=True, has_touch=True)  # type: ignore[arg-type]
    page = context.new_page()
    received = sizes_of(line := page.context.new_cdp_session(page))
    if slowed:
        slow_down(line)
    first = first_question(page, url)
    page.wait_for_selector("#survey[data-settled]", state="attached")
    page.wait_for_timeout(1000 if slowed else 50)  # for what it has still to say of its requests
    size = sum(received.values())
    again = first_question(page, url)
    context.close()
    return _Visit(first, again, size)


def sizes_of(line: CDPSession) -> dict[str, float]:
    """What the page receives, by address, as that comes. The page's own copy, which a service
    worker fetches at some visits, counts once."""
    received: dict[str, float] = {}
    urls: dict[str, str] = {}
    line.send("Network.enable")
    line.on(
        "Network.requestWillBeSent",
        lambda one: urls.update({one["requestId"]: one["request"]["url"]}),
    )
    line.on(
        "Network.loadingFinished",
        lambda one: received.setdefault(
            urls.get(one["requestId"], one["requestId"]), one["encodedDataLength"]
        ),
    )
    return received


def slow_down(line: CDPSession) -> None:
    speed = {"latency": LATENCY, "downloadThroughput": RATE, "uploadThroughput": RATE}
    line.send("Network.emulateNetworkConditions", {"offline": False, **speed})
    line.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})


def first_question(page: Page, url: str) -> float:
    """Seconds from opening the address to the first question, by way of the Start button."""
    start = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.click("[data-go='1']")
    page.wait_for_selector("form.step:visible")
    return time.perf_counter() - start
