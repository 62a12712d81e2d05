"""The audit fills in the real form in a browser, and sees what a page does beside its report."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser

from deniably.audit.survey_audit import audit_survey
from deniably.audit.verdict_levels import EXIT, Judged
from deniably.authoring.compiling import publish_text
from deniably.survey.survey import as_survey
from deniably_server.commands import audit_browser
from deniably_server.commands.audit import audit
from deniably_server.commands.audit_browser import judge_browser
from spec.cases.mixers import mixed
from support.every_type import survey_of_everything
from support.mixed_form import CONDITIONAL, SIX
from support.whole_surveys import SURVEYS

FIVE = """
name: five
title: Five
questions:
  - {name: stolen, type: yes_no, label: "Stolen?", odds: 2}
  - {name: often, type: select_one, label: "Often?", choices: [Never, Once, Often], epsilon: 0.7}
  - {name: ticks, type: select_multiple, label: "Which?", choices: [a, b, c], most: 2, epsilon: 0.7}
  - {name: hours, type: number, label: "Hours?", minimum: 0, maximum: 9, step: 0.5, epsilon: 0.7}
  - {name: happy, type: scale, label: "Happy?", choices: [Low, Middle, High], epsilon: 0.7}
"""
ONE = """
name: one
title: One
questions:
  - {name: stolen, type: yes_no, label: "Stolen?", odds: 2}
"""

# --- planted faults -------------------------------------------------------------------------------

_MADE = "let text=await record(about(),answers,state.changed);"
_PLANT = "globalThis.told=[...answers].map(String).join();let text=" + _MADE.partition("=")[2]
_JSON = '{"Content-Type":"application/json",'


def header(code: str) -> tuple[str, str]:
    return _JSON, _JSON + code


def then(code: str) -> tuple[str, str]:
    """Where the form has made its report, and knows the answers yet."""
    return _MADE, _PLANT + code


NOTHING = then("")
QUICK = {
    "a header has the truth, where nobody drives the browser":
        [NOTHING, header('...(!navigator.webdriver && { "X-Kind": globalThis.told }),')],
    "local storage has the truth": [then('localStorage.setItem("told", told);')],
}  # fmt: skip
SLOW = {
    "a header has the truth, where somebody drives the browser":
        [NOTHING, header('...(navigator.webdriver && { "X-Kind": globalThis.told }),')],
    "a known header has another value": [NOTHING, header('"Accept": globalThis.told,')],
    "the address has the truth":
        [then('if (navigator.webdriver) await fetch("/register?" + told);')],
    "a file that there is not has the truth": [then('await fetch("/web/" + told);')],
    "a report of its own has the truth":
        [then('await fetch("/told", { method: "POST", body: told });')],
    "the body has a field more":
        [then('if (!navigator.webdriver) text = text.replace("{", `{"a":"${told}",`);')],
    "the session's storage has the truth": [then('sessionStorage.setItem("told", told);')],
    "a cookie has the truth": [then('document.cookie = "told=1";')],
    "a database has the truth":
        [then("await new Promise((go) => { indexedDB.open(told).onsuccess = ({ target }) => "
              "{ target.result.close(); go(); } });")],
    "the window's name has the truth": [then("name = told;")],
    "the history has the truth":
        [then("addEventListener('pagehide', () => {}); setTimeout(() => "
              "history.replaceState({ ...history.state, told }, ''), 50);")],
    "a cache has the truth":
        [then('await (await caches.open("x")).put("/" + told, new Response(""));')],
}  # fmt: skip


def planting(pairs: list[tuple[str, str]], where: str = "page") -> Callable[[str, bytes], bytes]:
    def change(path: str, body: bytes) -> bytes:
        if not path.endswith(f"/form/{where}.js"):
            return body
        text = body.decode()
        for shipped, planted in pairs:
            assert text.count(shipped) == 1, shipped
            text = text.replace(shipped, planted)
        return text.encode()

    return change


# --- the shipped form -----------------------------------------------------------------------------


@pytest.mark.browser
def test_the_shipped_form_sends_and_leaves_what_the_specification_says(chromium: Browser) -> None:
    found = judge_browser(publish_text(FIVE), 2, browser=chromium)

    assert found.rung == "replayed"
    assert "for 2 people" in found.text


@pytest.mark.browser
def test_a_form_that_refuses_to_spend_so_much_is_in_part_and_no_fault(chromium: Browser) -> None:
    found = judge_browser(publish_text(ONE.replace("odds: 2", "odds: 200")), 2, browser=chromium)

    assert found.rung == "in part"
    assert "the form refuses this survey before the first question" in found.text


@pytest.mark.soak
@pytest.mark.browser
@pytest.mark.parametrize("name", ["two of three", "a hidden question", "by site"])
def test_forms_of_other_surveys_do_so_too(name: str, chromium: Browser) -> None:
    assert judge_browser(as_survey(SURVEYS[name]), 12, browser=chromium).rung == "replayed"


@pytest.mark.parametrize("name", ["by invitation"])
def test_what_is_not_driven_is_in_part_and_named(name: str) -> None:
    found = judge_browser(as_survey(SURVEYS[name]))

    assert (found.rung, EXIT[found.rung]) == ("in part", 3)
    assert "Not driven in the browser: the trade of an invitation." in found.text
    much = [{"name": f"q{i}", "type": "yes_no", "label": "Q?", "odds": 9} for i in range(4)]
    divided = publish_text(json.dumps({"name": "much", "title": "Much", "questions": much}))
    assert divided.part
    assert "a part of the questions, for want of budget" in judge_browser(divided).text
    everything = judge_browser(survey_of_everything())
    assert "questions of the type vector, point, product" in everything.text


# --- planted faults -------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("name", QUICK)
def test_a_page_that_does_more_than_it_may_is_seen(name: str, chromium: Browser) -> None:
    found = judge_browser(publish_text(ONE), 2, planting(QUICK[name]), chromium)

    assert found.rung == "failed", found.text
    assert "FAILED" in found.text


@pytest.mark.soak
@pytest.mark.browser
@pytest.mark.parametrize("name", SLOW)
def test_a_page_that_does_more_than_it_may_in_other_ways_is_seen(
    name: str, chromium: Browser
) -> None:
    found = judge_browser(publish_text(ONE), 4, planting(SLOW[name]), chromium)

    assert found.rung == "failed", found.text


_OCTETS = '{"Content-Type":"application/octet-stream"}'
_SEALED = "texts.map((text)=>sealInner(open,version,text,length))"
_TURNED = r"(globalThis.told.includes('yes')&&(text=text.replace(/\[([01])\]/,(_,n)=>`[${1-n}]`)),"
IN_SEALED = {
    "a header to the mixer has the truth":
        [NOTHING, (_OCTETS, _OCTETS[:-1] + ',"Accept":globalThis.told}')],
    "what is sealed depends on the truth":
        [NOTHING, (_SEALED, f"texts.map((text)=>{_TURNED}{_SEALED[18:-1]}))")],
    "the server hears when somebody sends": [then('await fetch("/register");')],
    "what is sent is not what is kept":
        [("body:bytes(sealed)", "body:bytes(sealed.replace(/.$/,'0'))")],
}  # fmt: skip


@pytest.mark.browser
def test_what_a_form_seals_for_a_mixer_is_opened_and_replayed(chromium: Browser) -> None:
    found = judge_browser(as_survey(mixed(*CONDITIONAL)), 3, browser=chromium)

    assert found.rung == "replayed", found.text


@pytest.mark.browser
@pytest.mark.parametrize("name", IN_SEALED)
def test_a_form_that_seals_or_sends_something_else_is_seen(name: str, chromium: Browser) -> None:
    survey = as_survey(mixed(SIX[0]))
    found = judge_browser(survey, 6, planting(IN_SEALED[name], "page-mixed"), chromium)

    assert found.rung == "failed", found.text


# --- the verdict ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("rung", "outcome"), [("replayed", "in part"), ("failed", "failed")])
def test_the_verdict_of_the_browser_joins_the_others(rung: str, outcome: str) -> None:
    judged = Judged("browser", {"browser": rung}, f"{rung}: the form.")  # type: ignore[dict-item]

    found = audit_survey(publish_text(ONE), trials=10, seconds=0, browser=lambda _: judged)

    assert found.outcome == outcome
    assert f"browser: {rung}: the form." in str(found)


def test_without_playwright_the_command_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    path = tmp_path / "one.yaml"
    path.write_text(ONE)

    done = CliRunner().invoke(audit, [str(path), "--browser"])

    assert done.exit_code == 1
    assert "pip install playwright, then playwright install chromium" in done.output
    assert audit_browser.PEOPLE == 28
