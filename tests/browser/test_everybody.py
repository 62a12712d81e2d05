"""However people set their browsers, and whatever they read with: the form is for them, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route

from deniably.authoring.compiling import publish_text
from support.every_type import survey_within_limits
from support.material import Server
from support.phone import ANSWERS, PHONE, SURVEY, Watched, new_tab

pytestmark = pytest.mark.browser

EVERYTHING = survey_within_limits()
LONG = publish_text(
    SURVEY.replace("name: workplace", "name: long").replace("Zilch", "Donaudampfschifffahrt" * 4)
)
# Shows one step after the other, and says what LOOK finds there.
EACH_STEP = """() => {
  const steps = [...document.querySelectorAll(".step")];
  const found = [];
  for (const step of steps) {
    for (const other of steps) other.hidden = other !== step;
    for (const details of step.querySelectorAll("details")) details.open = true;
    for (const error of step.querySelectorAll(".error, #again")) error.hidden = false;
    const name = step.dataset.question ?? step.dataset.step;
    for (const one of LOOK()) found.push(`${name}: ${one}`);
  }
  return found;
}"""
SHOWN = """[...document.querySelectorAll("body *")].filter((one) => one.checkVisibility()
  && !one.matches(".unseen, .unseen *"))"""
CONTROLS = f"""{SHOWN}.filter((one) => one.matches("a[href], button, summary, input"))"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for survey in (publish_text(SURVEY), EVERYTHING, LONG):
        server.publish(survey)
    yield server
    server.kill()


AS_OPENED = """() => {
  for (const one of document.querySelectorAll("[style]")) one.removeAttribute("style");
  document.activeElement.blur(); // else the next to have the focus may have it already
  scrollTo(0, 0);
}"""


@pytest.fixture(scope="module")
def pages(been_here: BrowserContext, server: Server) -> Callable[[str], Watched]:
    """A form that tests only look at is opened once. After a name and a space, why."""
    opened: dict[str, Watched] = {}

    def page(name: str) -> Watched:
        if name not in opened:
            opened[name] = Watched(new_tab(been_here), server)
            opened[name].open(f"/s/{name.split()[0]}")
        return opened[name]

    return page


@pytest.fixture
def shown(pages: Callable[[str], Watched]) -> Callable[[str], Watched]:
    """Such a form as it was when it was opened: its size, its colours, no style from a test."""

    def form(name: str) -> Watched:
        phone = pages(name)
        phone.page.set_viewport_size(PHONE)
        phone.page.emulate_media(
            media="null", color_scheme="null", reduced_motion="null", forced_colors="null"
        )
        phone.page.evaluate(AS_OPENED)
        return phone

    return form


def look(phone: Watched, what: str) -> list[str]:
    """What a script finds wrong in some step of the form."""
    found: list[str] = phone.page.evaluate(EACH_STEP.replace("LOOK", f"({what})"))
    return found


# --- larger, narrower ---------------------------------------------------------------------------

OVERFLOW = f"""() => {{
  const page = document.documentElement;
  const wide = page.scrollWidth > page.clientWidth ? ["is scrolled sideways"] : [];
  const cut = {SHOWN}.filter((one) => getComputedStyle(one).overflowX !== "visible"
    && one.scrollWidth > one.clientWidth).map((one) => `cuts ${{one.outerHTML}}`);
  return [...wide, ...cut];
}}"""


@pytest.mark.thorough
@pytest.mark.parametrize("survey", ["everything", "long"])
@pytest.mark.parametrize(
    ("width", "height", "text"), [(320, 256, 100), (640, 512, 200), (390, 780, 200)]
)
def test_nothing_is_cut_off_at_400_percent_or_with_text_twice_as_large(
    shown: Callable[[str], Watched], survey: str, width: int, height: int, text: int
) -> None:
    """320 by 256 is a desk's screen of 1280 by 1024 at 400 % (WCAG 1.4.10)."""
    phone = shown(survey)
    phone.page.set_viewport_size({"width": width, "height": height})
    phone.page.evaluate("size => { document.documentElement.style.fontSize = size }", f"{text}%")

    assert look(phone, OVERFLOW) == []


def test_what_is_cut_off_would_be_found(shown: Callable[[str], Watched]) -> None:
    phone = shown("long")
    phone.page.evaluate("document.querySelector('main').style.overflowWrap = 'normal'")

    assert look(phone, OVERFLOW)


TINY = f"""() => {SHOWN}.filter((one) => [...one.childNodes].some((node) => node.data?.trim())
  && parseFloat(getComputedStyle(one).fontSize) < 13).map((one) => `${{one.outerHTML}} is tiny`)"""


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_words_are_smaller_than_13_pixels_and_no_step_is_wider_than_its_window(
    shown: Callable[[str], Watched], width: int
) -> None:
    phone = shown("everything")
    phone.page.set_viewport_size({"width": width, "height": 780})

    assert look(phone, TINY) == []
    assert look(phone, OVERFLOW) == []


SLIM = f"""() => {SHOWN}.filter((one) => {{
  const own = [...one.childNodes].filter(({{ nodeType }}) => nodeType === 3);
  const {{ width }} = one.getBoundingClientRect();
  const long = own.some(({{ data }}) => data.trim().length > 9);
  return long && width < 3.5 * parseFloat(getComputedStyle(one).fontSize);
}}).map((one) => `${{one.outerHTML}} is written downwards`)"""


def test_large_text_on_a_phone_is_not_written_downwards(shown: Callable[[str], Watched]) -> None:
    """As it is where a table squeezes a column down to a letter or two a line."""
    phone = shown("everything")
    phone.page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert look(phone, SLIM) == []

    phone.page.evaluate("document.querySelector('.cues span').style.maxWidth = '2rem'")
    assert look(phone, SLIM), "or nothing would be found"


def test_spaced_out_text_fits(shown: Callable[[str], Watched]) -> None:
    """The spacing of WCAG 1.4.12."""
    phone = shown("everything")
    phone.page.set_viewport_size({"width": 320, "height": 640})
    phone.page.evaluate("""() => {
      for (const { style } of document.querySelectorAll("*")) {
        style.lineHeight = "1.5"; style.letterSpacing = ".12em"; style.wordSpacing = ".16em";
      }
    }""")

    assert look(phone, OVERFLOW) == []


# --- motion, colours, print ---------------------------------------------------------------------

MOVES = """() => [...document.querySelectorAll("*")].filter((one) => {
  const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(one);
  return transitionDuration !== "0s" || animationName !== "none" || scrollBehavior !== "auto";
}).map((one) => `${one.tagName} moves`)"""


def test_nothing_moves_for_those_who_asked_for_that(shown: Callable[[str], Watched]) -> None:
    phone = shown("everything")
    phone.page.emulate_media(reduced_motion="no-preference")
    assert look(phone, MOVES), "or nothing is tested here"

    phone.page.emulate_media(reduced_motion="reduce")
    assert look(phone, MOVES) == []


UNMARKED = f"""() => {CONTROLS}.filter((one) => {{
  one.focus({{ focusVisible: true }});
  const {{ outlineStyle, outlineWidth, outlineColor }} = getComputedStyle(one);
  const ring = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  return document.activeElement !== one || !ring || outlineColor === "rgba(0, 0, 0, 0)";
}}).map((one) => `${{one.outerHTML}} shows no focus`)"""


@pytest.mark.parametrize("forced", ["none", "active"])
def test_whatever_has_the_focus_shows_it(shown: Callable[[str], Watched], forced: Any) -> None:
    phone = shown("everything")
    phone.page.emulate_media(forced_colors=forced)

    assert look(phone, UNMARKED) == []


FLAT = f"""() => {CONTROLS}.filter((one) => {{
  const style = getComputedStyle(one);
  const native = one.matches("[type=radio], [type=checkbox], summary, [aria-current]");
  const line = style.borderStyle.includes("solid") || style.textDecorationLine === "underline";
  return !native && !line;
}}).map((one) => `${{one.outerHTML}} has no shape`)"""


FADED = f"""() => {{
  const [{{ backgroundColor: paper }}] = [getComputedStyle(document.body)];
  return {SHOWN}.filter((one) => [...one.childNodes].some((node) => node.data?.trim()))
    .filter((one) => {{
      const {{ color, forcedColorAdjust }} = getComputedStyle(one);
      return color === paper && forcedColorAdjust !== "none";
    }}).map((one) => `${{one.outerHTML}} is as pale as its page`);
}}"""


def test_without_its_own_colours_all_words_are_legible(shown: Callable[[str], Watched]) -> None:
    """Behind words a browser puts the page's colour, unless they keep what is set for them."""
    phone = shown("everything")
    phone.page.emulate_media(forced_colors="active")

    assert look(phone, FADED) == []


def test_without_its_own_colours_everything_keeps_a_shape(shown: Callable[[str], Watched]) -> None:
    """Where people force their own colours, what has only a background is not seen."""
    phone = shown("everything")
    phone.page.emulate_media(forced_colors="active")

    assert look(phone, FLAT) == []


CONTRAST = f"""() => {{
  const light = (colour) => {{
    const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => {{
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    }});
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }};
  return {SHOWN}.filter((one) => [...one.childNodes].some(({{ nodeType }}) => nodeType === 3)
    && 1.05 / (light(getComputedStyle(one).color) + 0.05) < 4.5)
    .map((one) => `${{one.outerHTML}} is pale on paper`);
}}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_shows_dark_on_white_and_no_way_out(
    shown: Callable[[str], Watched], scheme: Any
) -> None:
    """Paper is white, and a printer prints no backgrounds."""
    phone = shown("workplace")
    phone.page.emulate_media(media="print", color_scheme=scheme)

    assert look(phone, CONTRAST) == []
    assert not phone.page.locator("#exit").is_visible()
    assert phone.page.pdf()[:5] == b"%PDF-"


# --- thumbs and keyboards -----------------------------------------------------------------------

SMALL = f"""() => {CONTROLS}.filter((one) => {{
  const box = (one.closest("label") ?? one).getBoundingClientRect();
  return box.width < 24 || box.height < 24;
}}).map((one) => `${{one.outerHTML}} is small`)"""


def test_everything_can_be_hit(shown: Callable[[str], Watched]) -> None:
    """24 by 24 pixels at least (WCAG 2.5.8); links within a sentence are exempt."""
    phone = shown("everything")
    phone.page.set_viewport_size({"width": 320, "height": 640})

    assert look(phone, SMALL) == []


COVERED = f"""() => {CONTROLS}.filter((one) => {{
  one.focus();
  const box = one.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + Math.min(box.height / 2, 12)];
  const top = document.elementFromPoint(x, y);
  return !(top && (one.contains(top) || top.contains(one) || one.closest("label")?.contains(top)));
}}).map((one) => `${{one.outerHTML}} is covered`)"""


@pytest.mark.parametrize("height", [256, 480])
@pytest.mark.parametrize("order", ["", ".reverse()"])
def test_whatever_has_the_focus_is_in_sight(
    shown: Callable[[str], Watched], height: int, order: str
) -> None:
    phone = shown("everything")
    phone.page.set_viewport_size({"width": 320, "height": height})

    assert look(phone, COVERED.replace(CONTROLS, CONTROLS + order)) == []


@pytest.mark.thorough
def test_every_type_of_question_works_with_the_keyboard_alone(phone: Watched) -> None:
    phone.open("/s/everything")
    keys = phone.page.keyboard

    def focused() -> str:
        kind = "({ tagName, type, id }) => `${tagName} ${type ?? ''} ${id}`"
        found: str = phone.page.evaluate(f"({kind})(document.activeElement)")
        return found

    def tab_to(start: str, times: int = 12) -> str:
        for _ in range(times):
            keys.press("Tab")
            if focused().startswith(start):
                return focused()
        pytest.fail(f"the keyboard does not reach {start}")

    tab_to("BUTTON")
    keys.press("Enter")
    for question in EVERYTHING.questions:
        heading = phone.page.evaluate("document.activeElement.textContent")
        assert heading == question.label
        fields = phone.page.locator("form.step:visible input")
        kind = fields.first.get_attribute("type")
        if kind == "text":
            for _ in range(fields.count()):
                tab_to("INPUT text")
                keys.type("5")
        else:
            for _ in range(phone.page.locator("form.step:visible fieldset.part").count() or 1):
                tab_to(f"INPUT {kind}")
                keys.press("Space")
        keys.press("Enter")
    assert phone.heading() == "Check your answers"
    while tab_to("BUTTON", 3 * len(EVERYTHING.questions)) != "BUTTON button send":
        pass
    keys.press("Space")
    phone.wait("receipt")


# --- screen readers -----------------------------------------------------------------------------

PASSED_OVER = ("generic", "paragraph", "LabelText", "Legend", "InlineTextBox", "LineBreak")


def tree(page: Page) -> list[str]:
    """What a screen reader reads, in its order: role, name, description and state."""
    line = page.context.new_cdp_session(page)
    nodes = {one["nodeId"]: one for one in line.send("Accessibility.getFullAXTree")["nodes"]}
    line.detach()
    found: list[str] = []

    def read(node: dict[str, Any], named: bool) -> None:
        role = node.get("role", {}).get("value", "")
        name = node.get("name", {}).get("value", "")
        if not node["ignored"] and role not in PASSED_OVER and not (named and role == "StaticText"):
            states = {
                each["name"]: each["value"].get("value") for each in node.get("properties", [])
            }
            told = [key for key in ("focused", "expanded") if states.get(key)]
            told += [f"{key} {states[key]}" for key in ("checked", "live") if key in states]
            told += ["invalid"] if states.get("invalid") == "true" else []
            description = node.get("description", {}).get("value", "")
            found.append(" ".join(filter(None, [role, f"“{name}”" * bool(name),
                         f"({description})" * bool(description), *told])))  # fmt: skip
        named = named or role in ("heading", "radio", "checkbox", "button", "link", "textbox")
        for child in node.get("childIds", []):
            if child in nodes:
                read(nodes[child], named)

    read(next(one for one in nodes.values() if "parentId" not in one), False)
    return found[found.index("main") + 1 : found.index("contentinfo")]


def to_question(phone: Watched, name: str) -> None:
    number = [question.name for question in EVERYTHING.questions].index(name) + 1
    phone.page.evaluate(
        "n => { for (const step of [n, n]) history.pushState({step}, ''); history.back(); }", number
    )
    phone.see(f'[data-question="{name}"]')


def test_a_screen_reader_hears_an_error_and_where_it_is(
    shown: Callable[[str], Watched],
) -> None:
    phone = shown("everything to read")
    to_question(phone, "drinks")
    phone.click("Continue")

    read = tree(phone.page)
    assert "alert focused live assertive" in read
    assert "link “Write a number, such as 12.”" in read
    bounds = "Numbers below 0 count as 0, numbers above 50 as 50."
    label = "How many alcoholic drinks did you have last week?"
    assert f"textbox “{label}” ({bounds}) invalid" in read
    assert read.index("alert focused live assertive") < read.index(f"heading “{label}”")

    phone.page.locator("form:visible input").fill("7")
    assert not any("alert" in line or "invalid" in line for line in tree(phone.page))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "drugs",
            [
                "group “Which of these have you taken in the last year?” (Choose up to 3 answers.)",
                "checkbox “Cannabis” checked false",
                "checkbox “None of these” checked false",
            ],
        ),
        ("vote", ["group “Your vote and your union”", "group “Party”", "radio “Red” checked false",
                  "group “Union member”", "radio “Yes” checked false"]),
        ("hours", ["group “Hours a week”", "textbox “Paid work”", "textbox “Unpaid care”"]),
    ],
)  # fmt: skip
def test_a_screen_reader_finds_the_parts_of_a_question(
    shown: Callable[[str], Watched], name: str, lines: list[str]
) -> None:
    phone = shown("everything to read")
    to_question(phone, name)
    read = iter(tree(phone.page))

    for line in lines:
        assert any(found.startswith(line) for found in read), f"{line} in its place"


def in_order(phone: Watched, *lines: str) -> None:
    """Asserts that a screen reader reads these beginnings, in this order."""
    read = iter(tree(phone.page))
    for line in lines:
        assert any(found.startswith(line) for found in read), f"{line} in its place"


def test_a_screen_reader_follows_from_the_start_to_the_end(phone: Watched) -> None:
    phone.open()
    in_order(
        phone, "DisclosureTriangle “Language of this page: English”", "heading",
        "StaticText “Your device rolls a die for every answer.", "list", "listitem",
        "region “Somebody who sees what is sent", "term",
        "StaticText “from one answer that is sent”",
        "definition", "StaticText “58–75”",
        "StaticText “from all 2 that are sent”",
        "StaticText “50: tossing a coin”",
        "DisclosureTriangle “What do these figures mean?”", "button “Start”",
    )  # fmt: skip

    phone.click("Start")
    phone.choose(ANSWERS[0])
    phone.page.locator("label", has_text=ANSWERS[1]).click()
    assert [line for line in tree(phone.page) if "StaticText" not in line] == [
        "link “Exit this page”",
        "status live polite",
        "form",
        "group “How often” (Think of the last year.)",
        "heading “How often”",
        "radio “Zilch” checked false",
        "radio “Onceonly” checked false",
        "radio “Weeklyish” focused checked true",
        "radio “Dailyish” checked false",
        "radio “Hourlyish” checked false",
        "button “Continue”",
        "button “Back”",
        "group",
        "DisclosureTriangle “How is this answer protected?”",
    ]
    texts = [line for line in tree(phone.page) if "StaticText" in line]
    assert "StaticText “Question 2 of 2”" in texts

    phone.click("Continue")
    in_order(
        phone, "heading “Check your answers” focused",
        "term", "StaticText “Have you ever stolen from work”", "StaticText “Yes”",
        "button “Change : Have you ever stolen from work”", "button “Send”",
    )  # fmt: skip

    held: list[Route] = []
    phone.page.route("**/reports", lambda route: held.append(route))
    with phone.page.expect_request("**/reports"):
        phone.send()
    phone.see("#progress:not(:empty)")  # the report is made, and on its way
    in_order(
        phone, "heading “Sending” focused", "status live polite",
        "StaticText “Your device has randomised your answers and is sending.”",
    )  # fmt: skip

    held[0].continue_()
    phone.wait("receipt")
    in_order(
        phone, "heading “Thank you. Your randomised answers have arrived.” focused",
        "region “Your receipt”", "heading “Your receipt”",
        "term", "StaticText “Sent”", "StaticText “2 randomised answers”",
        "DisclosureTriangle “Codes to compare with others”",
        "link “Download the receipt”", "link “How does this work?”",
    )  # fmt: skip
