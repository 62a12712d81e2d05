"""Every page of a server, walked through once: it can be read on any screen, in light and dark, in
forced colours and on paper, and has no style of its own.

A page that is new has to be named here; the states of the form are in ``test_access``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from deniably.authoring.compiling import compile_survey, publish_text
from deniably.survey.report import randomise_answers
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from deniably_server.web.operation import operation_of
from support.every_type import somebody, survey_of_everything
from support.material import Server, a_report
from support.phone import ALIKE, PHONE, SURVEY, new_tab
from support.soak import soak
from support.thorough import thorough

pytestmark = pytest.mark.browser

WIDTHS = (1280, 970, 950, 390, 320)
CROSSTAB = "/surveys/everything/crosstab"
LAB = "/surveys/everything/lab"
STRATA = "/surveys/sites/strata"
PAGES = {
    "/": ["/"],
    "/how": ["/how?language=de"],
    "/lab": ["/lab"],
    "/lab/<name>": ["/lab/price-of-privacy"],
    "/register": ["/register"],
    "/handbook": ["/handbook"],
    "/handbook/<name>": ["/handbook/authors", "/handbook/commands", "/handbook/none"],
    "/handbook/<folder>/<name>": ["/handbook/decisions/02-one-law-for-every-mechanism"],
    "/measures": ["/measures"],
    "/admin": ["/admin"],
    "/studio/start": ["/studio/start"],
    "/studio/in": ["/studio/in"],
    "/studio/try/<secret>": ["/studio/try/none"],
    "/s/<name>": ["/s/closed", "/s/none"],
    "/surveys/<name>": [
        "/surveys/everything",
        "/surveys/hidden",
        "/surveys/for-analysts",
        "/surveys/sites?shift=night",
    ],
    "/surveys/<name>/checks": ["/surveys/everything/checks"],
    "/surveys/<name>/class": ["/surveys/home-1/class?language=de", "/surveys/hidden/class"],
    "/surveys/<name>/crosstab": [
        f"{CROSSTAB}?rows=stolen&columns=happy",
        f"{CROSSTAB}?rows=stolen",
    ],
    "/surveys/<name>/crosstab/figure": [f"{CROSSTAB}/figure?rows=stolen&columns=happy"],
    "/surveys/<name>/differences": ["/surveys/everything/differences?question=what"],
    "/surveys/<name>/differences/figure": ["/surveys/everything/differences/figure?question=what"],
    "/surveys/<name>/figures/<question>": ["/surveys/everything/figures/happy"],
    "/surveys/<name>/groups": ["/surveys/everything/groups?question=home&count=2"],
    "/surveys/<name>/groups/figure": ["/surveys/everything/groups/figure?question=home&count=2"],
    "/surveys/<name>/lab": [LAB, f"{LAB}?experiment=noise-averages-out&case=3&n=75,300"],
    "/surveys/<name>/status": ["/surveys/hidden/status"],
    "/surveys/<name>/strata": [f"{STRATA}?question=sleep&by=site"],
    "/surveys/<name>/strata/figure": [f"{STRATA}/figure?question=hit&by=shift&site=north"],
    "/surveys/<name>/waves": ["/surveys/home-1/waves"],
    "/surveys/<name>/waves/figure": ["/surveys/home-1/waves/figure?question=hit"],
}
"""Addresses to look at, by the rules of the server."""
ALIKE_PAGES = (
    "/handbook/authors",
    "/surveys/everything/differences/figure?question=what",
    "/surveys/everything/groups/figure?question=home&count=2",
)
"""Of a longer and a shorter page of one template, and of figures whose page looks alike."""
FIRST_PAGES = ("/", "/studio/start", "/s/closed", "/surveys/everything", "/surveys/home-1/waves")
"""Of a respondent, an author and an analyst."""
EVERY = [
    soak(address)
    if address in ALIKE_PAGES
    else address
    if address in FIRST_PAGES
    else thorough(address)
    for addresses in PAGES.values()
    for address in addresses
]
WAVE = {
    "title": "Home and stress",
    "results": {"minimum": 1, "while_open": True},
    "waves": {"panel": "home"},
    "questions": [
        {"name": "hit", "type": "yes_no", "label": "Has a partner hit you?", "odds": 3},
        {"name": "sleep", "type": "scale", "label": "How did you sleep?", "odds": 3,
         "choices": ["Badly", "Not well", "Well", "Very well"]},
    ],
}  # fmt: skip
SITES = {key: value for key, value in WAVE.items() if key != "waves"} | {
    "name": "sites", "strata": {"site": ["north", "south", "west"], "shift": ["day", "night"]},
}  # fmt: skip
AXE = Path(__file__).parents[2] / "client/node_modules/axe-core/axe.min.js"
READ_BY_PROGRAMS = "/register"
"""Shows people a page, though its operation has two kinds of answers."""
LATER = "[data-step]"
"""Steps of the form, which scripts show one by one."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    everything, random = (
        survey_of_everything(results={"minimum": 1, "while_open": True}),
        Random(1),
    )
    changed = {
        "closed": ("", ""),
        "hidden": ("while_open: true", "while_open: false"),
        "for-analysts": ("minimum: 1", "minimum: 1, to: analysts"),
    }
    surveys = {name: publish_text(SURVEY.replace("workplace", name).replace(*change))
               for name, change in changed.items()}  # fmt: skip
    for survey in (everything, *surveys.values()):
        server.publish(survey)
    waves = [compile_survey(WAVE | {"name": f"home-{number}"}) for number in (1, 2)]
    sites = compile_survey(SITES)
    for survey in (*waves, sites):
        server.publish(survey)
    with closing(Store(str(server.database))) as store:
        for survey in waves * 30:
            store.add(survey, randomise_answers(survey, {"hit": "no", "sleep": "well"}))
        for _ in range(300):
            store.add(everything, randomise_answers(everything, somebody(random)))
        for number in range(360):
            stratum = sites.every_stratum[number % 5]  # nobody is of west, by night
            answers = {"hit": "yes" if number % 3 else "no", "sleep": "well"}
            store.add(sites, randomise_answers(sites, answers, strata=stratum))
        for _ in range(9):
            store.add(surveys["closed"], a_report(surveys["closed"]))
        store.close_survey("everything")
        store.close_survey("sites")
        store.close_survey("closed")
    yield server
    server.kill()


def test_no_page_of_the_server_is_left_out(tmp_path: Path) -> None:
    app = create_app({"DATABASE": str(tmp_path / "deniably.db")})
    pages = {
        rule.rule
        for rule in app.url_map.iter_rules()
        if "GET" in (rule.methods or ())
        and rule.endpoint != "static"
        and not rule.rule.startswith("/studio/d/")  # behind a session: see test_studio
        and operation_of(app.view_functions[rule.endpoint]).is_page
    }

    assert pages | {READ_BY_PROGRAMS} == set(PAGES), "name its address above"


SHOWN = """[...document.querySelectorAll("body *")].filter((one) => one.checkVisibility()
  && !one.closest(".unseen, noscript, template"))"""
TINY = f"""() => {SHOWN}.filter((one) => [...one.childNodes].some((node) =>
    node.nodeType === 3 && node.data.trim())).filter((one) => {{
  const matrix = one.getScreenCTM?.();
  const drawn = matrix ? Math.hypot(matrix.a, matrix.b) : 1;
  return parseFloat(getComputedStyle(one).fontSize) * drawn < 12.99;
}}).map((one) => `${{one.outerHTML.slice(0, 90)}} is smaller than 13 px`)"""
WIDE = """() => document.documentElement.scrollWidth > document.documentElement.clientWidth
  ? ["has to be scrolled sideways"] : []"""
SMALL = f"""() => {SHOWN}.filter((one) => one.matches(
    "button, .button, summary, input:not([type=radio], [type=checkbox]), select, nav a, footer a")
  && one.getBoundingClientRect().height < 43.9)
  .map((one) => `${{one.outerHTML.slice(0, 90)}} is less than 44 px high`)"""
CLEAR = f"""() => {SHOWN}.filter((one) => {{
  const style = getComputedStyle(one);
  return ["Top", "Right", "Bottom", "Left"].some((side) => style[`border${{side}}Style`] !== "none"
    && parseFloat(style[`border${{side}}Width`])
    && /^rgba.*, 0\\)$/.test(style[`border${{side}}Color`]));
}}).map((one) => `${{one.outerHTML.slice(0, 90)}} has a border that forced colours make black`)"""
RUN_TOGETHER = """() => [...document.querySelectorAll("svg.x")].filter((one) => {
  const boxes = [...one.querySelectorAll("text")].map((word) => word.getBoundingClientRect());
  return boxes.some((box, at) => at && box.width && box.left < boxes[at - 1].right);
}).map((one) => `${one.textContent} run together`)"""
OPEN = "() => { for (const one of document.querySelectorAll('details')) one.open = true; }"
RUNNING = """() => document.getAnimations().map((one) => one.effect.getComputedTiming())
  .map(({ endTime, iterations }) => [endTime, iterations])"""


SHOWING = """(which) => [...new Set([...document.querySelectorAll(which)].map((one) =>
  getComputedStyle(one).opacity))]"""


def inline(page: Page) -> list[str]:
    """What a strict policy for styles and scripts would stop."""
    found: list[str] = page.evaluate("""() => [...document.querySelectorAll(
      "[style], style, script:not([src], [type='application/json']), [onclick], [onload]")]
      .map((one) => one.outerHTML.slice(0, 90))""")
    return found


@pytest.fixture(scope="module")
def tab(desktop: BrowserContext) -> Iterator[Page]:
    """One tab in which everything is read, with axe from the start."""
    page = new_tab(desktop)
    page.add_init_script(path=AXE)
    yield page
    page.close()


@pytest.fixture
def small(desktop: BrowserContext) -> Iterator[Page]:
    """A tab as large as a phone."""
    page = new_tab(desktop)
    page.set_viewport_size(PHONE)
    yield page
    page.close()


@pytest.mark.parametrize("path", EVERY)
def test_a_page_is_for_everybody(
    tab: Page,
    server: Server,
    axe_light_and_dark: Callable[[Page], list[str]],
    path: str,
) -> None:
    page = tab
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    said: list[str] = []

    def note(line: ConsoleMessage) -> None:
        said.append(line.text)

    page.on("console", note)
    answer = page.goto(server.url + path)
    assert answer
    assert (answer.status == 404) == path.endswith("/none")
    assert inline(page) == []
    page.evaluate(OPEN)
    found: list[str] = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 780})
        looks = ", ".join((TINY, WIDE, CLEAR, RUN_TOGETHER) + (SMALL,) * (width == 390))
        found += [
            f"{width}: {one}" for one in page.evaluate(f"[{looks}].flatMap((look) => look())")
        ]

    assert page.evaluate(RUNNING) == [], "nothing moves for who asked for that"
    page.evaluate(ALIKE)
    found += axe_light_and_dark(page)
    assert found == []
    page.remove_listener("console", note)
    assert [one for one in said if "status of 404" not in one] == []


def test_what_is_wrong_would_be_found(small: Page, server: Server) -> None:
    page = small
    page.goto(f"{server.url}/how")
    page.evaluate("""() => {
      const main = document.querySelector("main");
      main.insertAdjacentHTML("beforeend", `<p class="wrong">Small</p>
        <svg viewBox="0 0 800 10"><text>Small</text></svg><button>Low</button>`);
      Object.assign(document.querySelector(".wrong").style,
        { fontSize: "12px", width: "400px", border: "1px solid transparent" });
    }""")

    assert inline(page)
    assert len(page.evaluate(TINY)) == 2
    for look in (WIDE, SMALL, CLEAR):
        assert page.evaluate(look), look


DIM = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`.put { position: absolute; } .apart { color: #c00; text-decoration: none; }
    @media (prefers-color-scheme: dark) {
      .dim { color: #555; } .over { background: #555; } .apart { color: #eee; } }`);
  document.adoptedStyleSheets.push(sheet);
  document.querySelector("main").insertAdjacentHTML("beforeend", `
    <p>Said <b class="dim">first</b></p>
    <div class="scroll over"><table><tr><td class="dim">second</td></tr></table></div>
    <p class="dim" hidden>Nobody sees it</p>
    <p>Some words and <a class="apart" href="/">fourth</a> and others</p>
    <p class="dim put">third</p>`);
}"""


def test_what_cannot_be_read_in_the_dark_would_be_found(
    small: Page, server: Server, axe_light_and_dark: Callable[[Page], list[str]]
) -> None:
    page = small
    page.goto(f"{server.url}/handbook/none")
    page.evaluate(DIM)

    found = [one for one in axe_light_and_dark(page) if one.startswith("dark: ")]
    planted = ("<b class", "<td class", '".put"', 'link-in-text-block: [[".apart"]]')
    assert [each for each in planted if each not in "".join(found).replace("\\", "")] == []
    assert "Nobody" not in "".join(found)


def test_the_picture_falls_once_and_rests_on_the_still_one(small: Page, server: Server) -> None:
    page = small
    page.goto(f"{server.url}/how")
    moving = page.evaluate(RUNNING)
    assert len(moving) > 30
    assert all(end <= 5000 and times == 1 for end, times in moving)
    page.evaluate("() => { for (const one of document.getAnimations()) one.finish(); }")
    assert page.evaluate(SHOWING, ".rain .f") == ["0"]
    assert page.evaluate(SHOWING, ".rain .e, .rain .th") == ["1"]

    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(RUNNING) == []
    assert page.locator(".f").first.is_hidden()
    assert page.evaluate(SHOWING, ".rain .e, .rain .th") == ["1"]
    page.emulate_media(media="print", reduced_motion="no-preference")
    assert page.evaluate(RUNNING) == []
    assert page.locator(".f").first.is_hidden()


def test_without_scripts_a_page_is_the_same(chromium: Browser, server: Server) -> None:
    texts: list[dict[str, str]] = []
    for scripts in (True, False):
        page = chromium.new_page(java_script_enabled=scripts, reduced_motion="reduce")
        texts.append({})
        for path in ("/", "/how", "/register"):
            page.goto(server.url + path)
            texts[-1][path] = page.locator("body").inner_text()
        page.close()

    assert texts[0] == texts[1]


LINES = """(which) => [...document.querySelectorAll(which)].map((one) =>
  getComputedStyle(one)[one.matches(".fig *") ? "fill" : "stroke"])"""


def test_pictures_are_seen_in_forced_colours(small: Page, server: Server) -> None:
    page = small
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    for path in ("/", "/how"):
        page.goto(server.url + path)
        grounds: set[str] = set()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            grounds.add(ground)
            for which in (
                ".rain .y", ".rain .n", ".rain .th", ".rain .veil", ".fig .d:not(.o)", ".fig .w",
            ):  # fmt: skip
                drawn = page.evaluate(LINES, which)
                assert drawn or path == "/how"
                assert ground not in drawn, which
                assert "none" not in drawn, which
        assert len(grounds) == 2
