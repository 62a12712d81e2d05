"""Take the pictures of every page and state: make screenshots, or

    python tests/browser/screenshots.py [pages] [form] [languages] [rare] [invited] [mixed] [studio]
        [readme]

Each in light and dark, 390 and 1,280 px wide, without motion; what few people see in two of these
looks. They are in ``client/screenshots``, with an index, and take less than 2 MB. ``readme`` are
those of the README: the studio, and the demonstration with all of its respondents. Chinese needs a
font that shows it, which make installs with Chromium.
"""

from __future__ import annotations

import argparse
import base64
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from conftest import ARGUMENTS  # noqa: E402
from deniably.authoring.compiling import publish_text  # noqa: E402
from deniably.core.coins import Coins  # noqa: E402
from deniably.survey.report import randomise_answers  # noqa: E402
from deniably_client.demo import HERE, respondents  # noqa: E402
from deniably_client.rehearsal import answer_all  # noqa: E402
from deniably_server.guard.session import COOKIE  # noqa: E402
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
from support.mixed_form import TwoParties, mixed_states  # noqa: E402
from support.studio import Author, Distant  # noqa: E402

README = ROOT / "server/screenshots"
FOLDER = ROOT / "client/screenshots"
WIDTHS = {390: 0.7, 1280: 0.45}
"""Widths of the window, and how much of its size a picture has."""
HEIGHT = 780
ALL = [(width, scheme) for width in WIDTHS for scheme in ("light", "dark")]
FEW = [(390, "light"), (1280, "dark")]
"""Of what few people see."""
MOST = 2_200_000
"""Bytes of all pictures."""
_QUALITY, _READABLE = 0.15, 0.7
_HIGHEST = 1250
"""Pixels of a page that a picture shows."""
_NAME = re.compile(r"(.+)-(390|1280)-(light|dark)\.webp")

WORK = """
name: {name}
title: Life at the workplace{more}
intro: Theft and harassment, and whether people can speak about it.
contact: A. Researcher, University of Somewhere
results: {{minimum: 100, while_open: {shown}{to}}}
questions:
  - name: took
    type: yes_no
    short: Took something from the employer
    label: In the last 12 months, have you taken goods or materials without permission?
    odds: 3
  - name: remarks
    type: select_one
    short: Sexual remarks at work
    label: In the last 12 months, how often has somebody at work made sexual remarks?
    odds: 3
    choices: [Never, Once, A few times, Monthly or more often]
"""
WAVE = """
name: home-{number}
title: Home and stress, wave {number}
results: {{minimum: 1, while_open: true}}
waves: {{panel: home}}
questions:
  - name: hit
    type: yes_no
    short: Violence by a partner
    label: Has a partner hit you in the last month?
    odds: 3
"""
LAB = "/surveys/everything/lab"
PAGES = {
    "home": "/",
    "how this works": "/how",
    "register": "/register",
    "lab": "/lab",
    "experiment": "/lab/coins",
    "experiment on a survey": f"{LAB}?experiment=noise-averages-out&case=1&n=750,3000,12000",
    "handbook": "/handbook",
    "handbook page": "/handbook/budgets",
    "results": "/surveys/workplace",
    "results of every type": "/surveys/everything",
    "results hidden": "/surveys/hidden",
    "results for analysts": "/surveys/analysts",
    "class": "/surveys/workplace/class",
    "two questions": "/surveys/last-year/crosstab?rows=took&columns=remarks",
    "differences": "/surveys/last-year/differences?question=remarks",
    "figure for a paper": "/surveys/everything/figures/happy",
    "groups": "/surveys/everything/groups?question=home&count=2",
    "checks": "/surveys/everything/checks",
    "waves": "/surveys/home-1/waves",
    "status": "/surveys/hidden/status",
    "first start": "/admin",
    "no such page": "/s/none",
    "way out": "/measures",
}
"""Pages that are no form, by what they are called in the index."""

States = Callable[[Page], Iterator[str]]


class Album:
    """Takes pictures of states, each in every width and scheme, and keeps them as WebP."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self.browser, self.server = browser, server
        self._darkroom = browser.new_page()

    def fill(self, group: str, walk: States, looks: Sequence[tuple[int, str]] = ALL) -> None:
        """All states of a walk, which is walked through again for each look."""
        for width, scheme in looks:
            context = self.browser.new_context(
                viewport={"width": width, "height": HEIGHT},
                color_scheme=scheme,  # type: ignore[arg-type]
                reduced_motion="reduce",
            )
            page = context.new_page()
            for state in walk(page):
                self._keep(page, f"{group} {state}".strip(), width, scheme)
            context.close()

    def _keep(self, page: Page, state: str, width: int, scheme: str) -> None:
        # In a window as high as the page, as what sticks to its foot would cover something else.
        height: int = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": height})
        picture = page.screenshot(full_page=True)
        page.set_viewport_size({"width": width, "height": HEIGHT})
        name = f"{re.sub(r'[^a-z0-9]+', '-', state.lower())}-{width}-{scheme}.webp"
        self._develop(picture, FOLDER / name, WIDTHS[width], _HIGHEST, _QUALITY)

    def keep_for_readme(self, page: Page, name: str) -> None:
        """What a window shows, in its size, and sharp enough to be read."""
        self._develop(page.screenshot(), README / f"{name}.webp", 1, 10_000, _READABLE)

    def _develop(
        self, picture: bytes, to: Path, scale: float, highest: int, quality: float
    ) -> None:
        png = base64.b64encode(picture).decode()
        data: str = self._darkroom.evaluate(_SHRINK, [png, scale, highest, quality])
        to.write_bytes(base64.b64decode(data.partition(",")[2]))


_SHRINK = """async ([png, scale, highest, quality]) => {
  const picture = new Image();
  picture.src = `data:image/png;base64,${png}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = picture.width * scale;
  canvas.height = Math.min(picture.height, highest) * scale;
  const paper = canvas.getContext("2d");
  paper.imageSmoothingQuality = "high";
  paper.drawImage(picture, 0, 0, canvas.width, picture.height * scale);
  return canvas.toDataURL("image/webp", quality);
}"""


def pages(album: Album) -> None:
    """Every page but the form, of surveys with reports."""
    random = Random(1)
    coins = Coins(random.randbytes)
    everything = survey_of_everything(results={"minimum": 1, "while_open": True})
    album.server.publish(everything)
    with closing(Store(str(album.server.database))) as store:
        for _ in range(3000):
            store.add(everything, randomise_answers(everything, somebody(random), coins))
        for name, more, shown, to in (
            ("workplace", "", "true", ""),
            ("last-year", " last year", "false", ""),
            ("hidden", ", until June", "false", ""),
            ("analysts", ", for analysts", "true", ", to: analysts"),
        ):
            survey = publish_text(WORK.format(name=name, more=more, shown=shown, to=to))
            album.server.publish(survey)
            choices = [choice.name for choice in survey.questions[1].choices]
            for _ in range(1400):
                took = "yes" if random.random() < 0.29 else "no"
                remarks = random.choices(choices, [59, 27, 12, 2])[0]
                answers = {"took": took, "remarks": remarks}
                store.add(survey, randomise_answers(survey, answers, coins))
        for number, share in enumerate((0.12, 0.13, 0.17), start=1):
            wave = publish_text(WAVE.format(number=number))
            album.server.publish(wave)
            for _ in range(900):
                hit = "yes" if random.random() < share else "no"
                store.add(wave, randomise_answers(wave, {"hit": hit}, coins))
        for name in ("everything", "last-year", "home-1", "home-2"):
            store.close_survey(name)

    def walk(page: Page) -> Iterator[str]:
        for state, path in PAGES.items():
            page.goto(album.server.url + path)
            page.wait_for_load_state("networkidle")
            yield state

    album.fill("", walk, FEW)


def form(album: Album) -> None:
    """What everybody sees of the form."""
    _publish_in(album.server, ["en"])
    addresses = [f"{album.server.url}/s/{each}-en" for each in ("work", "closed")]
    album.fill("form", lambda page: states(page, *addresses))


def languages(album: Album) -> None:
    """The start in other languages, on a phone: with the longest words, and in every script."""
    others = [
        language for language in LABELS if language in ("ar", "de", "fr", "pl", "tr", "uk", "zh")
    ]
    _publish_in(album.server, others)

    def walk(page: Page) -> Iterator[str]:
        for language in others:
            page.goto(f"{album.server.url}/s/work-{language}")
            page.wait_for_selector("#survey:not([hidden])")
            yield f"start {language}"

    album.fill("form", walk, [(390, "light")])


def _publish_in(server: Server, some: Iterable[str]) -> None:
    with closing(Store(str(server.database))) as store:
        for language in some:
            server.publish(publish_text(survey_in(language, f"work-{language}")))
            server.publish(publish_text(survey_in(language, f"closed-{language}")))
            store.close_survey(f"closed-{language}")


def rare(album: Album) -> None:
    """What few people see of the form."""
    publish_rare(album.server)
    album.fill("rare", lambda page: rare_states(page, album.server.url), FEW)


def invited(album: Album) -> None:
    """A survey by invitation."""
    codes = publish_invited(album.server)
    album.fill("invited", lambda page: invited_states(page, album.server.url, next(codes)), FEW)


def mixed(album: Album) -> None:
    """What a form shows with a mixer alone."""
    names = (f"walked-{number}" for number in count())
    with tempfile.TemporaryDirectory() as folder:
        two = TwoParties(Path(folder))
        album.fill("mixed", lambda page: mixed_states(page, two, next(names)), FEW[:1])
        two.kill()


def _a_group(server: Server) -> tuple[Author, Any]:
    """A group that writes there, and the cookie of its session."""
    (secret,) = re.findall(r"/studio/start#(\S+)", server.log)
    browser = Distant(server.url)
    author = Author(browser)
    author.found(secret, **author.signed_word(server.url))
    value = str(browser.session.cookies[COOKIE])
    return author, {"name": COOKIE, "value": value, "url": f"{server.url}/studio/"}


STUDIO = {
    "studio first start": "/studio/start",
    "studio sign in": "/studio/in",
    "studio trial ended": "/studio/try/none",
}
"""Pages of the studio that nobody has to sign in for."""


def studio(album: Album) -> None:
    """The author's studio: the start, the group's page, the editor, the last page before."""
    url = album.server.url
    author, cookie = _a_group(album.server)
    questions = [
        {"type": "yes_no", "label": "In the last 12 months, did you hide an accident?", "odds": 3},
        {"type": "select_one", "label": "Whom would you tell?", "odds": 3,
         "choices": ["A colleague", "The union", "Nobody"]},
    ]  # fmt: skip
    draft = author.begin({"name": "autumn-26", "title": "Our sites", "questions": questions})

    def walk(page: Page) -> Iterator[str]:
        page.context.add_cookies([cookie])
        for state, path in STUDIO.items():
            page.goto(url + path)
            yield state
        for state, path in (
            ("studio home", "/studio/"),
            ("studio editor", f"/studio/d/{draft}?question=q2"),
            ("studio privacy", f"/studio/d/{draft}/privacy"),
            ("studio publish", f"/studio/d/{draft}/publish"),
            ("studio try", f"/studio/d/{draft}/try"),
            ("studio trial", f"/studio/d/{draft}/page?question=q2"),
        ):
            page.goto(url + path)
            page.wait_for_load_state("networkidle")
            yield state
        page.goto(f"{url}/studio/d/{draft}/page")
        page.click("[data-first] [data-go='1']")
        for _ in questions:
            page.click("label:visible >> nth=0")
            page.click("[data-step=question]:visible .button")
        page.click("#send")
        page.wait_for_selector("#tried:visible")
        yield "studio trial sent"

    album.fill("", walk, FEW)


SITES = [
    {"type": "yes_no", "label": "In the last 12 months, did you hide an accident at work?",
     "short": "Hid an accident", "odds": 3},
    {"type": "select_one", "label": "Whom would you tell of one?", "odds": 3,
     "choices": ["A colleague", "The union", "Nobody"]},
    {"type": "number", "label": "How many unpaid hours did you work last week?", "odds": 3,
     "short": "Unpaid hours", "minimum": 0, "maximum": 40, "unit": "hours"},
]  # fmt: skip
"""What the studio of the README asks."""


def readme(album: Album) -> None:
    """The pictures of the README: the studio, and the demonstration, with all its respondents."""
    url = album.server.url
    author, cookie = _a_group(album.server)
    draft = author.begin({"name": "autumn-26", "title": "Safety at our sites", "questions": SITES})
    context = album.browser.new_context(viewport={"width": 1240, "height": 1160})
    context.add_cookies([cookie])
    page = context.new_page()
    page.goto(f"{url}/studio/d/{draft}?question=q1")
    page.wait_for_selector("#balance .acc")
    page.wait_for_selector("[data-again]", state="detached")
    page.wait_for_load_state("networkidle")
    album.keep_for_readme(page, "studio")
    album.server.publish(publish_text((HERE / "fair1978.yaml").read_text(encoding="utf-8")))
    for _ in answer_all([f"{url}/s/marriage"], respondents()):
        pass
    page = album.browser.new_page(viewport={"width": 390, "height": 760}, device_scale_factor=1.5)
    page.goto(f"{url}/s/marriage")
    page.click("[data-first] [data-go='1']")
    page.click("label:has-text('Yes')")
    page.click("summary:visible")
    album.keep_for_readme(page, "form")
    page = album.browser.new_page(viewport={"width": 760, "height": 1000})
    page.goto(f"{url}/surveys/marriage")
    album.keep_for_readme(page, "dashboard")


GROUPS: dict[str, Callable[[Album], None]] = {
    each.__name__: each for each in (pages, form, languages, rare, invited, mixed, studio, readme)
}


def index(names: Iterable[str]) -> str:
    """The README of the folder: a line for each state, with its pictures."""
    found: dict[str, set[str]] = {}
    for name in names:
        if match := _NAME.fullmatch(name):
            found.setdefault(match[1], set()).add(name)
    lines = "\n".join(
        f"| {state.replace('-', ' ')} | "
        + " | ".join(
            f"[{width} {scheme}]({file})"
            if (file := f"{state}-{width}-{scheme}.webp") in found[state]
            else ""
            for width, scheme in ALL
        )
        + " |"
        for state in sorted(found)
    )
    return _INDEX.format(lines=lines)


_INDEX = """# Pictures of every page and state

Made by `make screenshots`, in about four minutes. A picture is smaller than its window.
The tests need none of the pictures. `form` is what everybody sees of a form, `invited` a survey by
invitation, `mixed` one with a mixer, `rare` what few people see: weak protection, each kind of
question with an answer missing and its protection explained, a report that did not get through, a
later wave, another author than before, a survey above the device's limit, and a memory that cannot
be read. `studio` is what authors see.

| state | | | | |
| --- | --- | --- | --- | --- |
{lines}
"""


def main() -> None:
    """Take the groups that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", choices=[*GROUPS, []])
    wanted = parser.parse_args().what or list(GROUPS)
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=[*ARGUMENTS])
        for group in wanted:
            with tempfile.TemporaryDirectory() as folder:
                server = Server(Path(folder) / "deniably.db")
                GROUPS[group](Album(browser, server))
                server.stop()
        browser.close()
    pictures = sorted(FOLDER.glob("*.webp"))
    (FOLDER / "README.md").write_text(index(each.name for each in pictures), encoding="utf-8")
    size = sum(each.stat().st_size for each in [*pictures, *README.glob("*.webp")])
    print(f"{len(pictures)} pictures, {size:,} bytes")
    if size > MOST:
        sys.exit(f"that is more than {MOST:,} bytes")


if __name__ == "__main__":
    main()
