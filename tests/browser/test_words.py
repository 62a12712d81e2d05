"""The words of the form: the script's twin of the catalogues, numbers, practice, languages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from deniably.authoring.compiling import publish_text
from deniably.survey.guessing_rates import guessing, rate_text
from deniably.survey.questions import Number, Point, VectorOfNumbers
from deniably.wording.words import LANGUAGES, Words
from deniably_client.number_input import AmbiguousNumber, parse_number
from support.every_type import survey_of_everything
from support.material import Server
from support.modules import Modules
from support.phone import PHONE, Watched
from support.soak import all_but

pytestmark = pytest.mark.browser

TRUTH = """
name: truth
title: One question
questions: [{name: a, type: yes_no, label: A, odds: 9}]
"""
WEAK = TRUTH.replace("truth", "weak").replace("odds: 9", "epsilon: 4")
LONG = """
name: long-{language}
title: "{title}"
language: {language}
intro: We want to know how common theft and harassment at work are.
contact: "Institute for Work Research, University of Example, ana.ruiz@example.org, +49 30 123456"
questions:
  - {{name: stolen, type: yes_no, label: A, odds: 11/5, also: [prefer_not_to_say]}}
  - {{name: harassed, type: scale, label: B, odds: 11/5, choices: [a, b, c, d, e]}}
  - {{name: who, type: select_multiple, label: C, odds: 11/5, choices: [a, b, c, d]}}
  - {{name: reported, type: select_one, label: D, odds: 11/5, choices: [a, b, c]}}
  - {{name: climate, type: select_one, label: E, odds: 11/5, choices: [a, b, c, d, e]}}
  - {{name: sick, type: number, aim: mean, label: F, odds: 11/5, minimum: 0, maximum: 30}}
"""
TITLES = {
    "en": "Life at the workplace: what people at work experience and keep quiet",
    "de": "Leben am Arbeitsplatz: was Menschen bei der Arbeit erleben und verschweigen",
    "fr": "La vie au travail : ce que les gens vivent chaque jour sans le dire",
    "it": "La vita sul lavoro: ciò che le persone vivono ogni giorno e tacciono",
    "es": "La vida en el trabajo: lo que la gente vive cada día y nunca cuenta a nadie",
    "pt": "A vida no trabalho: o que as pessoas vivem todos os dias e nunca contam a ninguém",
    "pl": "Życie w pracy: czego ludzie doświadczają na co dzień i o czym nikomu nie mówią",
    "tr": "İş yerinde yaşam: insanların her gün yaşadığı ve kimseye anlatmadığı şeyler",
    "uk": "Життя на роботі: що люди переживають щодня і про що нікому не розповідають",
    "ar": "الحياة في العمل: ما يعيشه الناس كل يوم في مكان العمل ولا يقولونه لأحد من زملائهم أبدًا",
    "zh": "职场生活：人们在工作中经历了什么，哪些事情从来不会大声说出来，"
    "不会告诉同事，更不会告诉上司，以及这些事情到底有多常见",
}
"""Three lines each on a phone, or four."""
EVERYTHING = survey_of_everything()
INCOME = survey_of_everything(
    name="income",
    questions=[q for q in json.loads(EVERYTHING.canonical)["questions"] if q["name"] == "income"],
)
ARABIC = survey_of_everything(
    name="arabic",
    language="ar",
    title="استبيان عن العمل",
    questions=[
        q for q in json.loads(EVERYTHING.canonical)["questions"] if q["name"] in ("stolen", "happy")
    ],
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for survey in (publish_text(TRUTH), publish_text(WEAK), EVERYTHING, INCOME, ARABIC):
        server.publish(survey)
    yield server
    server.kill()


# --- the twin -----------------------------------------------------------------------------------


# As in a page, which has its language and brings its texts.
IN_A_PAGE = """
  const [language, texts, expression] = given;
  const documentElement = { lang: language, dir: language === "ar" ? "rtl" : "" };
  const block = { textContent: texts };
  const getElementById = (id) => (id === "words" ? block : null);
  globalThis.document = { documentElement, getElementById };
  const { words, decimal } = await import("/wording/words.js");
  const { parseNumber, nearest } = await import("/wording/number_input.js");
  const run = new Function("words", "decimal", "parseNumber", "nearest", `return ${expression}`);
  return run(words, decimal, parseNumber, nearest);
"""


@pytest.fixture
def script(modules: Modules) -> Callable[[str, str], Any]:
    """(language, expression over the names of ``IN_A_PAGE``) -> its value."""

    def evaluate(language: str, expression: str) -> Any:
        texts = json.dumps(Words(language).some(""))
        return modules.run(IN_A_PAGE, [language, texts, expression])

    return evaluate


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_script_says_the_same_as_the_server(
    script: Callable[[str, str], Any], language: str
) -> None:
    """Every text of the catalogue, with small and large counts."""
    words = Words(language)
    counts = (0, 1, 2, 5, 1234567)
    every = words.some("")
    places = {
        key: set(re.findall(r"\{([a-z_]+)\}", json.dumps(text, ensure_ascii=False)))
        for key, text in every.items()
    }

    said = script(
        language,
        f"Object.entries({json.dumps({key: sorted(found) for key, found in places.items()})})"
        f".map(([key, places]) => {list(counts)}.map((count) => words(key,"
        " Object.fromEntries(places.map((place) => [place, count])))))",
    )

    assert said == [
        [words(key, **dict.fromkeys(places[key], count)) for count in counts] for key in every
    ]


def test_the_script_refuses_unknown_keys_and_missing_values(
    script: Callable[[str, str], Any],
) -> None:
    for call, why in (
        ("words('script.nothing')", "no words for script.nothing"),
        ("words('constructor')", "no words for constructor"),
        ("words('script.pair', {name: 'a'})", "needs text"),
    ):
        assert why in script("en", call)["message"]
    assert script("en", "words('script.pair', {name: '{text}', text: 'b'})") == "{text}: b"


WRITTEN = [
    "12", " 12 ", "-3", "\u22123", "2.5", "2,5", ".5", "5.", "1000", "1 000", "1\u202f000",
    "1'000'000", "1’000", "1,000", "1,000,000", "1.000", "1.000.000", "1.234,50", "1,234.50",
    "1.5.5", "1,5,5", "a few", "", "-", "1e3", "١٢", "--1", "1 00", "12345,678",
]  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_clients_read_numbers_alike(script: Callable[[str, str], Any], language: str) -> None:
    words = Words(language)
    found = script(language, f"{json.dumps(WRITTEN)}.map(parseNumber)")

    for text, one in zip(WRITTEN, found, strict=True):
        try:
            given = parse_number(text, words)
        except AmbiguousNumber:
            assert one == {"ambiguous": True}, text
            continue
        if re.fullmatch(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)", given):
            assert one == {"number": given}, text
        else:
            assert one == {}, f"{text} is no number"


@pytest.mark.parametrize(
    ("language", "text", "given"),
    [
        ("en", "2.345", "2.345"),
        ("en", "1,000", None),
        ("de", "1.000", None),
        ("de", "1,000", None),
        ("fr", "1 000", "1000"),
        ("de", "2,5", "2.5"),
    ],
)
def test_what_could_be_two_numbers_is_never_guessed(
    language: str, text: str, given: str | None
) -> None:
    if given is not None:
        assert parse_number(text, Words(language)) == given
        return
    with pytest.raises(AmbiguousNumber):
        parse_number(text, Words(language))


def test_the_number_that_counts_is_the_one_that_is_randomised(
    script: Callable[[str, str], Any],
) -> None:
    """The script's announcement against the position that Python finds, on every kind of grid."""
    alone = [one.range for one in EVERYTHING.questions if isinstance(one, Number)]
    parts = [
        part.range
        for one in EVERYTHING.questions
        if isinstance(one, VectorOfNumbers | Point)
        for part in one.parts
    ]
    ranges = alone + parts
    numbers = ["-7.5", "-3", "-0.4", "0", ".5", "3", "12.4", "12.5", "2345.50", "2350", "99999"]
    ends = json.dumps([[grid.minimum, grid.maximum, grid.step] for grid in ranges])
    of_all = f"{json.dumps(numbers)}.map((given) => nearest(given, ...ends))"
    found = script("en", f"{ends}.map((ends) => {of_all})")
    assert found == [[grid.nearest(given) for given in numbers] for grid in ranges]
    assert ranges[1].nearest("2345.50") == "2300"


# --- practice -----------------------------------------------------------------------------------

SENDS = re.compile(r"Of 20 simulated sends, (\d+) would say “Tea” and (\d+) “Coffee”\.")


def test_practice_shows_what_would_be_sent_with_the_odds_of_the_survey_and_sends_nothing(
    visitor: Watched,
) -> None:
    phone = visitor
    phone.open("/s/truth")
    phone.see("#survey[data-settled]")
    before = len(phone.requests)
    phone.click("Practise first")
    phone.wait("practice")
    assert phone.heading() == "Do you prefer tea or coffee?"
    assert phone.page.evaluate("document.activeElement.tagName") == "H1"
    assert "90 of 100 times what you choose" in phone.words("#practice-text")
    phone.press(("label", "Tea"))

    said = SENDS.fullmatch(phone.words("#sends"))
    assert said
    tea, coffee = int(said[1]), int(said[2])
    assert tea + coffee == 20
    rows = phone.words("#icons").split("\n")[:2]
    assert [len(row) for row in rows] == [10, 10], "narrow enough for every phone"
    icons = "".join(rows)
    assert (icons.count("●"), icons.count("○")) == (tea, coffee)
    assert phone.shown("#icons[aria-hidden=true]")
    assert phone.shown("#sends[role=status]")

    # 2,000 draws at odds 9: a share of 0.9, within 5.2 standard errors (p < 2e-7).
    shown = phone.page.evaluate(
        """() => {
            const shown = [];
            for (let i = 0; i < 100; i++) {
                document.getElementById("more").click();
                shown.push(document.getElementById("sends").textContent);
            }
            return shown;
        }"""
    )
    teas = sum(int(SENDS.fullmatch(text)[1]) for text in shown)  # type: ignore[index]

    assert abs(teas / 2000 - 0.9) < 5.2 * (0.9 * 0.1 / 2000) ** 0.5
    assert len(set(shown)) > 1

    phone.click("Show 20 others")
    phone.press(("label", "Coffee"))
    assert len(phone.requests) == before, "nothing is fetched and nothing is sent"
    assert phone.console == []

    # It can be left both ways, and skipped.
    phone.page.go_back()
    assert phone.heading() == "One question"
    phone.click("Practise first")
    phone.wait("practice")
    phone.click("Back")
    assert phone.heading() == "One question"
    phone.click("Practise first")
    phone.wait("practice")
    phone.click("Start the survey")
    assert phone.heading() == "A"
    phone.page.go_back()
    phone.click("Start")
    assert phone.heading() == "A"


# --- languages ----------------------------------------------------------------------------------


def test_the_language_is_changed_on_the_start_page(visitor: Watched) -> None:
    phone = visitor
    phone.open("/s/truth")
    phone.press(("details.languages summary", ""))
    phone.press((".languages a", "Deutsch"))
    phone.see(".promise b", "Ihr Gerät würfelt für jede Antwort.")
    phone.press(("button", "Beginnen"), ("button", "Weiter"))

    assert "Wählen Sie eine Antwort" in phone.words(".error")
    assert phone.page.evaluate("document.documentElement.lang") == "de"
    assert phone.shown("h1:not([lang])") == phone.shown("h1") == 1
    assert phone.shown("fieldset[lang=en]") == phone.shown("fieldset") == 1


ORDER = (
    ".languages > summary", "h1", ".by", ".promise", ".cues", ".guess h2", ".guess dl", ".ends",
    "[data-go='1']", "#practise", ".later",
)  # fmt: skip
BOXES = """(all) => all.map((one) =>
  document.querySelector(one).getBoundingClientRect().toJSON())"""
LINES = """() => {
  const one = document.querySelector("[data-step=start] h1");
  return Math.round(one.getBoundingClientRect().height
    / parseFloat(getComputedStyle(one).lineHeight));
}"""


LONGEST_AND_MIRRORED = ("de", "uk", "ar")
"""Languages that leave the least room on the start page, and one that leaves the most."""


@pytest.mark.parametrize("language", all_but(LONGEST_AND_MIRRORED, list(LANGUAGES)))
def test_a_phone_shows_the_start_without_scrolling_with_a_title_of_three_lines(
    visitor: Watched, server: Server, language: str
) -> None:
    """Who asks, the promise, who sees what and how often a guess is right come before Start."""
    phone = visitor
    server.publish(publish_text(LONG.format(language=language, title=TITLES[language])))
    phone.open(f"/s/long-{language}")
    *tops, leave = phone.page.evaluate(
        BOXES, [*(f"[data-step=start] {one}" for one in ORDER), "#exit"]
    )

    assert phone.page.evaluate(LINES) >= 3
    assert [box["y"] for box in tops] == sorted(box["y"] for box in tops)
    assert all(box["height"] for box in tops)
    go, ends = (tops[ORDER.index(one)] for one in ("[data-go='1']", ".ends"))
    assert ends["y"] + ends["height"] <= go["y"], "the figures are above Start, not under it"
    assert go["y"] + go["height"] <= PHONE["height"]
    first = tops[ORDER.index(".languages > summary")]
    assert first["height"] == leave["height"] == 44
    assert abs(first["y"] - leave["y"]) <= 1, "language and Exit stand in one row"
    assert phone.words("#exit") == Words(language)("exit.link")


@pytest.mark.parametrize("language", all_but(LONGEST_AND_MIRRORED, list(LANGUAGES)))
def test_start_is_whole_on_the_smallest_phone_and_hides_nothing_that_has_the_focus(
    visitor: Watched, server: Server, language: str
) -> None:
    phone = visitor
    name = f"small-{language}"
    text = LONG.format(language=language, title=TITLES[language]).replace("long-", "small-")
    server.publish(publish_text(text))
    phone.page.set_viewport_size({"width": 360, "height": 640})
    phone.open(f"/s/{name}")

    row, go, practise, ends = phone.page.evaluate(
        BOXES, ["[data-first] > .buttons", "[data-go='1']", "#practise", ".guess .ends"]
    )
    assert ends["y"] + ends["height"] <= row["y"], "the whole scale is above that row"
    assert go["height"] >= 44
    assert go["y"] + go["height"] <= 640
    assert abs(go["y"] - practise["y"]) <= 1, "one row, which leaves the rest to the page"
    assert row["height"] <= 80
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 360

    phone.page.locator(".guess summary").focus()
    summary, row = phone.page.evaluate(BOXES, [".guess summary", "[data-first] > .buttons"])
    assert summary["y"] + summary["height"] <= row["y"]


def test_the_guessing_scale_shows_the_rates_of_the_survey_in_order(
    visitor: Watched, server: Server
) -> None:
    phone = visitor
    survey = publish_text(LONG.format(language="en", title="Short").replace("long-", "scale-"))
    server.publish(survey)
    rates = guessing(survey)
    phone.open("/s/scale-en")

    labels = phone.see(".guess dl > div")
    assert [set(text.split("\n")) for text in labels] == [
        {f"{rate_text(rates.lowest)}–{rate_text(rates.highest)}", "from one answer that is sent"},
        {str(rate_text(rates.together)), "from all 6 that are sent"},
    ]
    places = phone.page.evaluate(
        "[...document.querySelectorAll('.scale :is(.mark, circle)')].map((one) =>"
        " one.getBoundingClientRect()).map(({ left, right }) => (left + right) / 2)"
    )
    rail = phone.page.locator(".scale .rail").bounding_box()
    assert rail
    for place, rate in zip(
        places, [(rates.lowest + rates.highest) / 2, rates.together], strict=True
    ):
        assert place == pytest.approx(rail["x"] + rail["width"] * (2 * rate - 1), abs=4)


RED = """() => {
  const warm = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
    return a > 0 && r > 90 && r - Math.max(g, b) > 25;
  };
  return [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility())
    .filter((one) => {
      const style = getComputedStyle(one);
      const edge = parseFloat(style.borderInlineStartWidth) ? [style.borderInlineStartColor] : [];
      const colours = [style.color, style.backgroundColor, ...edge, style.fill, style.stroke];
      return colours.some((colour) => colour.startsWith("rgb") && warm(colour));
    }).map((one) => one.outerHTML.slice(0, 80));
}"""


def red(phone: Watched) -> list[list[str]]:
    """What is red in light and what is in the dark, without a colour that still changes."""
    found: list[list[str]] = []
    for scheme in ("light", "dark"):
        phone.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        found.append(phone.page.evaluate(RED))
    return found


def test_nothing_is_red_before_an_error(visitor: Watched) -> None:
    phone = visitor
    phone.open("/s/weak")
    assert "would often be right" in phone.words(".promise")
    phone.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert red(phone) == [[], []]
    phone.click("Practise first")
    phone.wait("practice")
    phone.press(("label", "Tea"))
    assert "may still guess well" in phone.words("#meaning"), "no more is promised"
    assert red(phone) == [[], []]
    phone.click("Start the survey")
    assert red(phone) == [[], []]
    phone.click("Continue")
    assert all(red(phone)), "or nothing would be found"


WRONG = {
    "en": {
        "1,000": ("This number can be read in two ways", "such as 1000."),
        "lots": ("This is not a number", "Write a number, such as 12."),
        "": ("An answer is missing", "Write a number, such as 12."),
    },
    "de": {"1.000": ("Diese Zahl kann man auf zwei Arten lesen", "zum Beispiel 1000.")},
}
"""What is no number or two, what the heading says of it, and how to mend it."""


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", "2345.50 EUR (counts as 2300)"),
        ("de", "2345,50 EUR (zählt als 2300)"),
        ("fr", "2345,50 EUR (compte comme 2300)"),
        ("zh", "2345.50 EUR（按 2300 计）"),
    ],
)
def test_what_is_wrong_with_a_number_and_what_it_counts_as_is_announced_in_the_language(
    visitor: Watched, language: str, shown: str
) -> None:
    phone = visitor
    phone.open(f"/s/income?language={language}")
    phone.press(("button[data-go='1']", ""))
    field = "input:not([type=radio])"
    for written, (heading, mend) in WRONG.get(language, {}).items():
        for other in ("!", written):  # whatever was wrong before
            phone.write(field, other)
            phone.page.keyboard.press("Enter")
        assert phone.words(".error strong") == heading
        assert phone.words(".error a").endswith(mend)
        assert phone.page.evaluate("document.activeElement.className") == "error"

    phone.write(field, "2345,50")
    phone.page.keyboard.press("Enter")
    phone.wait("check")
    assert phone.words("[data-answer]") == shown


def test_an_interface_written_from_right_to_left_is_mirrored(
    visitor: Watched, axe: Callable[[Page], list[str]]
) -> None:
    """Exit on the left, the language, radio buttons and the start of the scale on the right."""
    phone = visitor
    phone.open("/s/arabic")
    middle = phone.page.evaluate("innerWidth / 2")

    def side(which: str) -> str:
        box = phone.page.locator(which).first.bounding_box()
        assert box, which
        return "left" if box["x"] + box["width"] / 2 < middle else "right"

    assert phone.page.evaluate("document.documentElement.dir") == "rtl"
    assert phone.page.evaluate("document.documentElement.lang") == "ar"
    assert side("#exit") == "left"
    assert side("details.languages > summary") == "right"
    assert side(".cues svg") == "right"
    assert [side(f".ends span:nth-child({n})") for n in (1, 2)] == ["right", "left"]
    rates, rail = guessing(ARABIC), phone.page.locator(".scale .rail").bounding_box()
    mark = phone.page.locator(".scale .mark").bounding_box()
    assert rail
    assert mark
    rate = float(rates.lowest + rates.highest) / 2
    there = rail["x"] + rail["width"] * (2 - 2 * rate)
    assert mark["x"] + mark["width"] / 2 == pytest.approx(there, abs=4), "50 is on the right"
    assert axe(phone.page) == []
    phone.press((".later summary", ""))
    phone.press(("[data-go='1']", ""))
    phone.wait("question")
    assert side("form:visible label.choice input") == "right"
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert phone.page.evaluate(wide) <= 0


@pytest.mark.thorough
def test_a_survey_written_from_right_to_left_keeps_its_layout(
    visitor: Watched, axe: Callable[[Page], list[str]]
) -> None:
    phone = visitor

    def is_right() -> None:
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        for width in (1000, 320):
            phone.page.set_viewport_size({"width": width, "height": 640})
            assert phone.page.evaluate(wide) <= 0, width
            assert axe(phone.page) == [], width

    phone.open("/s/arabic?language=en")
    is_right()
    phone.click("Start")
    for _ in range(2):
        phone.page.locator("summary:visible").click()
        is_right()
        label = phone.page.locator("label.choice:visible").first
        for width in (1000, 320):
            phone.page.set_viewport_size({"width": width, "height": 640})
            radio, text = [label.locator(one).bounding_box() for one in ("input", "span")]
            assert radio
            assert text
            assert radio["x"] > text["x"], "the button is on the right"
        ways = phone.page.evaluate(
            "[...document.querySelectorAll('.step:not([hidden]) :is(fieldset, .buttons, details)')]"
            ".map((one) => getComputedStyle(one).direction)"
        )
        assert ways == ["rtl", "ltr", "ltr"], "the survey's texts, and ours"
        label.click()
        phone.click("Continue")
