"""Take the pictures of the documentation: python tests/browser/screenshots.py [WHAT].

``results``: the demonstration's survey on a real server, with all of its respondents: the form on a
phone, the dashboard and a map on a desk. ``form``: every state of the form, in every language, on
phones and desks, light and dark, as one sheet each; with ``--full FOLDER`` also picture by picture.
``invited``: of those, the states of a survey by invitation alone. Chinese needs a font that shows
it, such as that of Debian's ``fonts-wqy-microhei``.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from random import Random

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from conftest import ARGUMENTS  # noqa: E402
from deniably.authoring.compiling import publish_text  # noqa: E402
from deniably.survey.report import randomise_answers  # noqa: E402
from deniably_client.demo import HERE, respondents  # noqa: E402
from deniably_client.rehearsal import answer_all  # noqa: E402
from deniably_server.storage.store import Store  # noqa: E402
from support.every_type import somebody, survey_of_everything  # noqa: E402
from support.form_states import (  # noqa: E402
    LABELS,
    invited_states,
    publish_invited,
    publish_rare,
    rare_states,
    states,
    survey_in,
)
from support.material import Server  # noqa: E402

RESULTS = ROOT / "server/screenshots"
FORM = ROOT / "client/screenshots"
SIZES = {"phone": (390, 780, 5), "desktop": (900, 700, 4)}
"""Width and height of the window, and how many pictures stand in a row of a sheet."""
SHEETS = (
    ("en", "phone", "light"), ("en", "phone", "dark"), ("en", "desktop", "light"),
    ("de", "phone", "dark"), ("fr", "desktop", "dark"), ("it", "phone", "light"),
    ("zh", "phone", "light"), ("ar", "phone", "light"),
)  # fmt: skip

"""Language, window and scheme of each sheet of what everybody sees."""
RARE = (("phone", "light"), ("desktop", "dark"))
"""And of what few people see, in English."""


def form(browser: Browser, server: Server, full: Path | None) -> None:
    """A sheet for each of SHEETS and RARE."""
    for language in LABELS:
        server.publish(publish_text(survey_in(language, f"work-{language}")))
        server.publish(publish_text(survey_in(language, f"closed-{language}")))
    with closing(Store(str(server.database))) as store:
        for language in LABELS:
            store.close_survey(f"closed-{language}")
    publish_rare(server)
    for language, size, scheme in SHEETS:
        page = _page(browser, size, scheme)
        addresses = (f"{server.url}/s/{each}-{language}" for each in ("work", "closed"))
        walk(page, states(page, *addresses), f"{language}-{size}-{scheme}", size, full)
    for size, scheme in RARE:
        page = _page(browser, size, scheme)
        walk(page, rare_states(page, server.url), f"rare-{size}-{scheme}", size, full)


def invited(browser: Browser, server: Server, full: Path | None) -> None:
    """A sheet for each of RARE, of a survey by invitation."""
    for (size, scheme), code in zip(RARE, publish_invited(server), strict=False):
        page = _page(browser, size, scheme)
        name = f"invited-{size}-{scheme}"
        walk(page, invited_states(page, server.url, code), name, size, full)


def _page(browser: Browser, size: str, scheme: str) -> Page:
    width, height, _ = SIZES[size]
    return browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme=scheme,  # type: ignore[arg-type]
    )


def walk(page: Page, steps: Iterable[str], name: str, size: str, full: Path | None) -> None:
    """A picture of the window at each step, on one sheet; of the whole page in ``full``."""
    pictures: list[tuple[str, bytes]] = []
    for state in steps:
        pictures.append((state, page.screenshot()))
        if full:
            file = f"{name}-{len(pictures):02}-{state.replace(' ', '-')}.png"
            page.screenshot(path=full / file, full_page=True)
    browser = page.context.browser
    assert browser
    page.close()
    sheet(browser, pictures, SIZES[size][2], FORM / f"{name}.jpg")


def sheet(browser: Browser, pictures: list[tuple[str, bytes]], columns: int, path: Path) -> None:
    """Several pictures in one, each with its name."""
    page = browser.new_page(viewport={"width": 1280, "height": 400}, device_scale_factor=1)
    figures = "".join(
        f"<figure><img src='data:image/png;base64,{base64.b64encode(picture).decode()}'>"
        f"<figcaption>{state}</figcaption></figure>"
        for state, picture in pictures
    )
    page.set_content(
        f"<style>body {{ display: grid; grid-template-columns: repeat({columns}, 1fr); gap: 12px;"
        " margin: 12px; background: #8a938f; font: 15px sans-serif; }"
        " figure { margin: 0; } img { width: 100%; display: block; } </style>" + figures
    )
    page.screenshot(path=path, type="jpeg", quality=50, full_page=True)
    page.close()


def results(browser: Browser, server: Server) -> None:
    """The pictures of the README."""
    server.publish(publish_text((HERE / "fair1978.yaml").read_text(encoding="utf-8")))
    for _ in answer_all(f"{server.url}/s/marriage", respondents()):
        pass
    page = browser.new_page(viewport={"width": 390, "height": 760}, device_scale_factor=1.5)
    page.goto(f"{server.url}/s/marriage")
    page.click("text=Start")
    page.click("label:has-text('Yes')")
    page.click("summary:visible")
    page.screenshot(path=RESULTS / "form.png")
    page = browser.new_page(viewport={"width": 760, "height": 1000}, device_scale_factor=1)
    page.goto(f"{server.url}/surveys/marriage")
    page.screenshot(path=RESULTS / "dashboard.png")
    everything, random = survey_of_everything(), Random(1)
    server.publish(everything)
    with closing(Store(str(server.database))) as store:
        for _ in range(5000):
            store.add(everything, randomise_answers(everything, somebody(random)))
    page = browser.new_page(viewport={"width": 600, "height": 900}, device_scale_factor=1)
    page.goto(f"{server.url}/surveys/everything/groups?question=home&count=2")
    page.locator("section.card").screenshot(path=RESULTS / "map.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["form", "invited", "results"])
    parser.add_argument("--full", type=Path, help="a folder for every picture of the form")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        server = Server(Path(temporary) / "deniably.db")
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=[*ARGUMENTS])
        if chosen.what in (None, "form"):
            form(browser, server, chosen.full)
        if chosen.what in (None, "form", "invited"):
            invited(browser, server, chosen.full)
        if chosen.what in (None, "results"):
            results(browser, server)
        browser.close()
        server.stop()


if __name__ == "__main__":
    main()
