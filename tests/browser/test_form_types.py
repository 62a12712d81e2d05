"""Every type of question on the respondent's phone: answered, checked, sent, stored."""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache

import pytest
from playwright.sync_api import BrowserContext, Page

from deniably.authoring.compiling import publish_text
from deniably.survey.questions import Point
from deniably.survey.report import read_report
from deniably.survey.survey import Survey
from deniably_server.storage.store import Store
from support.every_type import survey_within_limits
from support.material import Server
from support.phone import Watched, new_tab

pytestmark = pytest.mark.browser

JUMP = """n => {
  history.pushState({step: n}, ""); history.pushState({step: n}, ""); history.back();
}"""
EVERYTHING = survey_within_limits()
SOME = survey_within_limits(
    name="some",
    ask=2,
    questions=[
        question
        for question in json.loads(EVERYTHING.canonical)["questions"]
        if question["name"] in ("stolen", "drinks", "happy", "vote")
    ],
)


@cache
def odd() -> Survey:
    """Names that every object has."""
    return publish_text("""
name: odd
title: Names that every object has
questions:
  - name: __proto__
    type: product
    label: Which
    epsilon: 1
    parts:
      - {name: __proto__, label: Party, choices: [Red, Blue]}
      - {name: constructor, label: Member, choices: [Yes, No]}
  - name: hours
    type: vector
    label: Hours
    epsilon: 1
    parts:
      - {name: __proto__, label: Work, minimum: 0, maximum: 80}
      - {name: toString, label: Care, minimum: 0, maximum: 80}
""")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for survey in (EVERYTHING, SOME, odd()):
        server.publish(survey)
    yield server
    server.kill()


RESET = "for (const form of document.forms) form.reset();"


@pytest.fixture(scope="module")
def opened(been_here: BrowserContext, server: Server) -> Watched:
    phone = Watched(new_tab(been_here), server)
    phone.open("/s/everything")
    return phone


@pytest.fixture
def everything(opened: Watched) -> Watched:
    """A form that is opened once and sends nothing, with empty fields."""
    opened.page.evaluate(RESET)
    return opened


def question(phone: Watched) -> str:
    """The name of the question that is shown."""
    shown = "document.querySelector('form.step:not([hidden])')?.dataset.question ?? ''"
    return str(phone.page.evaluate(shown))


def tick(phone: Watched, *labels: str) -> None:
    phone.press(*(("label.choice", label) for label in labels))


def write(phone: Watched, *numbers: str) -> None:
    phone.write("form.step input[type=text]", *numbers)


def answer(phone: Watched, *, stolen: str = "Yes") -> list[str]:
    """Answers whatever is shown until the check page; the names of the questions."""
    say: dict[str, Callable[[], None]] = {
        "stolen": lambda: tick(phone, stolen),
        "what": lambda: tick(phone, "Goods"),
        "caught": lambda: tick(phone, "No"),
        "drugs": lambda: tick(phone, "Cannabis", "Lsd"),
        "worries": lambda: tick(phone, "None of these"),
        "happy": lambda: tick(phone, "Neither"),
        "trust": lambda: tick(phone, "Much"),
        "drinks": lambda: write(phone, "7"),
        "income": lambda: write(phone, "2345,50"),
        "sick": lambda: write(phone, "99"),
        "fines": lambda: write(phone, "-3"),
        "hours": lambda: write(phone, "35", "12.4"),
        "home": lambda: write(phone, "-7", "3"),
        "vote": lambda: tick(phone, "Blue", "Yes"),
    }
    asked = []
    while name := question(phone):
        asked.append(name)
        say[name]()
        phone.click("Continue")
    return asked


def sent(phone: Watched, survey: Survey) -> dict[str, list[int]]:
    phone.send()
    phone.wait("receipt")
    (post,) = phone.posts()
    report = read_report(post.post_data_buffer or b"")
    report.check(survey)
    return report.values


def test_every_type_is_answered_checked_sent_and_wiped(phone: Watched, server: Server) -> None:
    phone.open("/s/everything")
    phone.click("Start")
    answer(phone)

    assert phone.heading() == "Check your answers"
    shown = dict(
        zip(
            [q.name for q in EVERYTHING.questions],
            phone.see("[data-answer]"),
            strict=True,
        )
    )
    assert shown["what"] == "Goods"
    assert shown["drugs"] == "Cannabis, Lsd"
    assert shown["worries"] == "None of these"
    assert shown["drinks"] == "7 drinks"
    assert shown["income"] == "2345.50 EUR (counts as 2300)", "as it is rounded"
    assert shown["sick"] == "99 days (counts as 20)", "what is clipped is said"
    assert shown["fines"] == "-3 (counts as 0)"
    assert shown["hours"] == "Paid work: 35 hours; Unpaid care: 12.4 hours (counts as 12)"
    assert shown["vote"] == "Party: Blue; Union member: Yes"
    values = sent(phone, EVERYTHING)
    assert set(values) == {q.name for q in EVERYTHING.questions}
    assert phone.console == []
    assert phone.checked() == 0, "every field is empty"
    for which, what in (("input[type=text]", "value"), ("[data-answer]", "textContent")):
        all_of = f"[...document.querySelectorAll('{which}')].map((one) => one.{what})"
        assert set(phone.page.evaluate(all_of)) == {""}, which
    with closing(Store(str(server.database))) as store:
        assert store.tally("everything") == store.recount("everything")


TAP_EVERYWHERE = """() => {
  const form = document.querySelector("form[data-question=home]");
  form.hidden = false;
  const map = form.querySelector("svg"), fields = [...form.querySelectorAll("input")];
  const { left, bottom, width, height } = map.getBoundingClientRect();
  return Array.from({ length: 41 * 41 }, (_, index) => {
    const at = [Math.floor(index / 41), index % 41];
    const [x, y] = at.map((one) => (one + 0.5) / 41);
    const where = { clientX: left + x * width, clientY: bottom - y * height, bubbles: true };
    map.dispatchEvent(new MouseEvent("click", where));
    const { e, f } = map.querySelector("circle").transform.baseVal[0].matrix;
    return [fields.map(({ value }) => value), [e, f]];
  });
}"""


@pytest.mark.thorough
def test_a_tap_on_a_map_writes_the_numbers_of_the_place_and_marks_it(everything: Watched) -> None:
    for index, (numbers, place) in enumerate(everything.page.evaluate(TAP_EVERYWHERE)):
        east, north = divmod(index, 41)
        assert numbers == [str(east - 20), str(north - 20)]
        assert place == pytest.approx([(east + 0.5) / 0.41, 100 - (north + 0.5) / 0.41])


def test_the_lines_of_a_map_part_the_areas_that_are_randomised(everything: Watched) -> None:
    """41 numbers a side in 8 areas: one has a number more than the others."""
    (home,) = (each for each in EVERYTHING.questions if isinstance(each, Point))
    path = everything.page.locator(".place path").first.get_attribute("d") or ""
    across = [float(x) for x in re.findall(r"M([\d.]+) 0v100", path)]
    up = [100 - float(y) for y in re.findall(r"M0 ([\d.]+)h100", path)]

    assert across == pytest.approx(up)
    for number in range(41):
        area = bisect(across, (number + 0.5) / 0.41)
        assert area == home.encode_part(0, number - 20) == home.encode_part(1, number - 20)


def test_written_numbers_are_shown_on_the_map_and_none_are_not(everything: Watched) -> None:
    everything.page.evaluate("document.querySelector('form[data-question=home]').hidden = false")
    form = everything.page.locator("form[data-question=home]")
    picture = form.locator(".place svg")
    nothing = picture.inner_html()
    east, north = form.locator("input").all()

    east.fill("-70")
    assert picture.inner_html() == nothing
    north.fill("20")
    place = form.locator("circle").get_attribute("transform") or ""
    assert place.startswith("translate(1.2195"), "the nearest bound"
    north.fill("north")
    assert picture.inner_html() == nothing


@pytest.mark.thorough
def test_an_answer_that_is_wiped_is_wiped_from_the_map(everything: Watched) -> None:
    picture = everything.page.locator("form[data-question=home] .place svg")
    nothing = picture.inner_html()
    everything.page.evaluate(TAP_EVERYWHERE)
    assert picture.inner_html() != nothing
    everything.page.evaluate(RESET)

    assert picture.inner_html() == nothing


def test_a_part_may_have_a_name_that_every_object_has(phone: Watched) -> None:
    phone.open("/s/odd")
    phone.click("Start")
    tick(phone, "Blue", "Yes")
    phone.click("Continue")
    write(phone, "35", "12")
    phone.click("Continue")

    assert phone.heading() == "Check your answers"
    assert phone.see("[data-answer]") == [
        "Party: Blue; Member: Yes", "Work: 35; Care: 12",
    ]  # fmt: skip
    assert sorted(sent(phone, odd())) == ["__proto__", "hours"]


def test_no_service_of_the_browser_gets_an_answer_to_translate_or_to_spell(
    everything: Watched,
) -> None:
    """Browsers that translate a page or look at its spelling may send its text away."""
    phone = everything

    for selector, kept in (("[data-answer]", "translate"), ("input[type=text]", "spellcheck")):
        places = phone.page.locator(selector)
        assert places.count()
        assert places.evaluate_all(f"all => all.every((one) => one.{kept} === false)")


def test_a_question_that_does_not_apply_is_skipped_both_ways_and_still_sent(
    phone: Watched,
) -> None:
    phone.open("/s/everything")
    phone.click("Start")
    tick(phone, "No")
    phone.click("Continue")
    assert question(phone) == "caught"

    phone.click("Back")
    assert question(phone) == "stolen"
    tick(phone, "Yes")
    phone.click("Continue")
    assert question(phone) == "what"
    tick(phone, "Goods")
    phone.click("Back")
    tick(phone, "No")
    phone.click("Continue")
    answer(phone, stolen="No")

    assert not phone.shown('[data-row="what"]')
    assert "answered with “Not applicable”, randomised like any other" in phone.words("main")
    assert "what" in sent(phone, EVERYTHING), "randomised like any other"


DRAW = """async () => {
  const { follow } = await import("/web/form/path.js");
  const definition = JSON.parse(document.getElementById("definition").textContent);
  const forms = [...document.querySelectorAll("form[data-question]")];
  const draw = () => follow(forms, definition, () => new Map()).drawn.map(({ name }) => name);
  return Array.from({ length: 40 }, draw);
}"""


def test_only_drawn_questions_are_asked(phone: Watched) -> None:
    """Two of four, and what is asked is what is sent.

    Six pairs are as likely as each other: two of them alone come 40 times with p < 1e-17.
    """
    phone.open("/s/some")
    assert "2 of 4 questions, picked by chance" in phone.words("main")
    phone.click("Start")
    assert "Question 1 of 2" in phone.words(".progress")
    asked = answer(phone)
    assert phone.shown("[data-answer]") == 2
    assert sorted(sent(phone, SOME)) == sorted(asked)
    assert len(asked) == 2

    pairs = {tuple(pair) for pair in phone.page.evaluate(DRAW)}
    names = [question.name for question in SOME.questions]
    assert all(len(pair) == 2 and set(pair) <= set(names) for pair in pairs)
    assert len(pairs) >= 3


@pytest.mark.parametrize(
    ("name", "do", "message"),
    [
        ("drugs", lambda phone: None, "Tick what applies"),
        ("drugs", lambda phone: tick(phone, "Cannabis", "Cocaine", "Lsd", "Heroin"), "up to 3"),
        ("drinks", lambda phone: write(phone, ""), "Write a number"),
        ("drinks", lambda phone: write(phone, "a few"), "Write a number"),
        ("income", lambda phone: write(phone, "2,345"), "read in two ways"),
        ("hours", lambda phone: write(phone, "3", ""), "“Unpaid care”"),
        ("vote", lambda phone: tick(phone, "Red"), "“Union member”"),
    ],
)
def test_what_is_missing_is_said(
    everything: Watched, name: str, do: Callable[[Watched], None], message: str
) -> None:
    phone = everything
    number = [q.name for q in EVERYTHING.questions].index(name) + 1
    phone.page.evaluate(JUMP, number)
    phone.see(f'[data-question="{name}"]')
    do(phone)
    phone.click("Continue")

    assert message in phone.words(".error")
    assert question(phone) == name


TICKED = "document.querySelectorAll('form:not([hidden]) input:checked').length"


def test_none_of_these_stands_alone(everything: Watched) -> None:
    phone = everything
    phone.page.evaluate(JUMP, 4)
    phone.see('[data-question="drugs"]')
    tick(phone, "Cannabis", "Lsd", "None of these")
    assert phone.page.evaluate(TICKED) == 1
    tick(phone, "Heroin")
    assert phone.page.evaluate(TICKED) == 1


# Every question as it is where its answer is missing, one below the other, and the check page.
ERRORS = """() => {
  const forms = [...document.querySelectorAll("form[data-question]")];
  const check = document.querySelector("[data-step=check]");
  for (const form of forms) {
    form.reset();
    form.hidden = false;
    form.requestSubmit();
  }
  for (const step of [...forms, check]) step.hidden = false;
  return forms.filter((form) => form.querySelector(".error").checkVisibility()).length;
}"""


# Goes on without an answer at every question, and then with any: whether an error is shown, and how
# much wider than its window the page is.
EACH = """() => {
  const found = [];
  for (let form; (form = document.querySelector("form.step:not([hidden])")); ) {
    const go = form.querySelector("button:not([type])");
    go.click();
    const { scrollWidth, clientWidth } = document.documentElement;
    const error = form.querySelector(".error").checkVisibility();
    found.push([form.dataset.question, error, Math.max(0, scrollWidth - clientWidth)]);
    for (const field of form.querySelectorAll("input[type=text]")) field.value = "5";
    for (const group of form.querySelectorAll("fieldset:not(:has(fieldset))")) {
      group.querySelector("label.choice")?.click();
    }
    go.click();
    if (!form.hidden) throw new Error(form.dataset.question);
  }
  return found;
}"""


@pytest.mark.thorough
def test_no_type_has_a_violation_that_axe_finds(
    visitor: Watched, axe_light_and_dark: Callable[[Page], list[str]]
) -> None:
    phone = visitor
    phone.page.set_viewport_size({"width": 320, "height": 640})
    phone.open("/s/everything")
    phone.click("Start")
    seen = phone.page.evaluate(EACH)
    assert seen == [[each.name, True, 0] for each in EVERYTHING.questions]
    assert phone.heading() == "Check your answers"
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert phone.page.evaluate(wide) <= 0, "the check page"
    assert phone.page.evaluate(ERRORS) == len(seen)
    assert axe_light_and_dark(phone.page) == [], "every question with its error, and the check page"


def test_what_happens_to_numbers_out_of_bounds_is_said_before_they_are_written(
    everything: Watched,
) -> None:
    phone = everything
    phone.page.evaluate(JUMP, 8)
    phone.page.wait_for_function("document.querySelector('[data-question=drinks]').hidden == false")

    field = phone.page.locator("form.step:visible input")
    described = phone.page.locator(f"#{field.get_attribute('aria-describedby')}")
    assert described.inner_text() == "Numbers below 0 count as 0, numbers above 50 as 50."
    above = "document.getElementById({!r}).getBoundingClientRect().bottom <= innerHeight"
    assert phone.page.evaluate(above.format(described.get_attribute("id")))


def test_a_promise_that_may_fail_says_how_rarely(everything: Watched) -> None:
    """Discrete Gaussian noise has a delta: the start names it beside the odds. The guessing rates,
    there and on the receipt, count it in."""
    phone = everything
    assert any(question.mechanism.loss.delta for question in EVERYTHING.questions)

    text = phone.page.text_content("[data-step=start]") or ""
    assert "except with a chance of at most 1 in 100,000" in text
