"""Texts that try to be code, and a survey that has them in every place past the check."""

# ruff: noqa: E501  # a table of texts

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import cycle
from random import Random
from typing import Any

import msgspec

import deniably as dn
from deniably.core.coins import Coins
from deniably.core.steering import steering_problems
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from deniably.workbench.files.report_lines import read_ndjson
from deniably.workbench.packing import layout
from deniably.workbench.report_set import ReportSet, of_rows

CANARY = "x"
"""The file that the texts try to make, in the folder where they are run."""
BREAKS = (
    "\r\n", "\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\n\r",
)  # fmt: skip
_LINES = (
    "system('touch x') #", "import os; os.system('touch x')", "end\nshell touch x", "!touch x",
    "TY  - JOUR\nAU  - Evil", "ER  - ", "title: evil", "@misc{evil,", "# Evil", "- evil",
    "</titl></citation>", "Set-Cookie: evil=1",
)  # fmt: skip
TEXTS: tuple[str, ...] = (
    *(f"Health{end}{line}" for end, line in zip(BREAKS, _LINES, strict=True)),
    # R
    '"); system("touch x"); c("', "\\\"); system('touch x') #", "`); system('touch x') #",
    "\\U{22}); system('touch x')", "#line 1 \"evil.R\"", "r\"(x)\"", "%s%d\\0", "'); q('no')",
    # Python
    "'''\nimport os\n'''", '""" + __import__("os").system("touch x") + """', "\\", "\\'", "{0.__class__}",
    "{head}{calls}", "# -*- coding: utf-7 -*-", "coding: rot13",
    # Stata
    '"\' shell touch x', "`=_N'", "$S_ADO", "*/ shell touch x /*", "///", "// shell touch x",
    "`\"'\"', shell touch x", "#delimit ;", "{stata shell touch x:click}",
    # SPSS
    "'.\nHOST COMMAND=['touch x'].\nTITLE '", "* comment.",
    # LaTeX and BibTeX
    "\\immediate\\write18{touch x}", "\\input{|touch x}", "}\\end{document}", "^^5cwrite18{touch x}",
    "$\\number`\\^^M$ % comment", "}, note = {evil", "@comment{", '" # evil # "', "\\\\[-9em]", "[3pt]",
    # Markdown and HTML
    "<script>fetch('//evil.example')</script>", "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))",
    "![a](http://evil.example/a.png)", "<http://evil.example>", "`r system('touch x') #`", "| a | b |",
    "&lt;script&gt; &#x202e;", "\"><svg onload=alert(1)>", "'><b>", "</title></style></svg>", "]]>",
    "<!--", "1. evil", "===", "{{< include evil >}}", "~~evil~~ **evil** $x$", "<?xml version='1.1'?>",
    "<!ENTITY a SYSTEM 'file:///etc/passwd'>", "&a;",
    # YAML, JSON and spreadsheets
    "': evil: '", "!!python/object/apply:os.system ['touch x']", "*alias &anchor", "\\u0022,\"a\":1",
    "=cmd|' /C calc'!A0", "@SUM(1+1)", "+1+1", "-1+1", "\t=1+1", "a;=1+1", "＝1+1", "_x000D_evil",
    '"=1+1', '=HYPERLINK("http://evil.example")',
    # terminals, and what nobody sees
    "\x1b]0;evil\x07\x1b[2J\x1b[1;1H", "\x9b2J\x9d8;;http://evil.example\x9c", "\b\b\b\x7f", "a\0b",
    "\u202egnp.exe", "\u2066a\u2069", "\ufeffa\ufffe\uffff", "\udc80 alone", "e\u0301" * 9,
)  # fmt: skip
"""More than 60. None is harmful where a language's writer has written it."""

_ENCODABLE = tuple(text for text in TEXTS if "\udc80" not in text)
"""JSON refuses a lone surrogate, so no survey has one."""
_CHOICES = len(TEXTS) + 1
_PLAIN: dict[str, Any] = {
    "name": "exported",
    "title": "Title",
    "intro": "Intro",
    "contact": "Contact",
    "strata": {"site": ["north", "south"]},
    "results": {"minimum": 1},
    "questions": [
        {"name": "one", "short": "One", "hint": "Hint", "type": "select_one", "label": "One of them",
         "choices": [{"name": f"c{place}", "label": f"Choice {place}"} for place in range(_CHOICES)],
         "epsilon": 4},
        {"name": "drinks", "short": "Drinks", "type": "number", "label": "Drinks", "unit": "drinks",
         "minimum": 0, "maximum": 20, "epsilon": 1},
        {"name": "some", "type": "select_multiple", "label": "Some", "most": 2, "epsilon": 1,
         "choices": [f"Some {letter}" for letter in "abcd"]},
        {"name": "vote", "type": "product", "label": "Vote", "epsilon": 1,
         "parts": [{"name": "party", "label": "Party", "choices": ["Red", "Blue"]},
                   {"name": "union", "label": "Union", "choices": ["Member", "None"]}]},
        {"name": "hours", "type": "vector", "label": "Hours", "epsilon": 1,
         "parts": [{"name": "work", "label": "Work", "minimum": 0, "maximum": 10},
                   {"name": "care", "label": "Care", "minimum": 0, "maximum": 10}]},
        {"name": "stolen", "type": "yes_no", "label": "Stolen", "short": "Stolen", "epsilon": 1},
    ],
}  # fmt: skip
PUBLISHED = tuple(
    text for text in _ENCODABLE if not any(steering_problems({"title": text}))
)  # fmt: skip
"""Those that no tool refuses: most of them."""
_TEXTS = {"by", "title", "label", "short", "hint", "unit", "intro", "contact"}


def plain_survey() -> Survey:
    """The survey with texts that do no harm."""
    return dn.load_survey(_PLAIN)


def hostile_survey() -> Survey:
    """The same survey with a hostile text in every place, which devices and authors are refused.

    Its title is all of them, each after a line's end.
    """
    hostile: Any = deepcopy(msgspec.to_builtins(plain_survey()))
    _fill(hostile, cycle(_ENCODABLE))
    ends = cycle(BREAKS)
    title = "Health" + "".join(f"{next(ends)}{text}" for text in _ENCODABLE)
    return msgspec.structs.replace(msgspec.convert(hostile, Survey), title=title)


def _fill(value: Any, texts: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in _TEXTS and isinstance(item, str):
                value[key] = next(texts)[: 32 if key == "short" else None]
            else:
                _fill(item, texts)
    elif isinstance(value, list):
        for item in value:
            _fill(item, texts)


def written_survey() -> dict[str, Any]:
    """What an author writes, with a hostile text in every place, and every tool takes."""
    texts = cycle(PUBLISHED)

    def choices(count: int) -> list[dict[str, str]]:
        return [{"name": f"c{place}", "label": next(texts)} for place in range(count)]

    parts = [{"name": name, "label": next(texts), "choices": choices(2)} for name in ("a", "b")]
    questions: list[dict[str, Any]] = [
        {"name": "one", "type": "select_one", "choices": choices(len(PUBLISHED)),
         "hint": next(texts), "short": next(texts)[:32]},
        {"name": "drinks", "type": "number", "unit": next(texts), "minimum": 0, "maximum": 20},
        {"name": "vote", "type": "product", "parts": parts},
        {"name": "stolen", "type": "yes_no"},
    ]  # fmt: skip
    return {
        "name": "wild",
        "title": next(texts),
        "intro": next(texts),
        "contact": next(texts),
        "results": {"minimum": 1},
        "questions": [one | {"label": next(texts), "epsilon": 1} for one in questions],
    }


def made_hostile(survey: Survey, name: str, texts: Sequence[str] = _ENCODABLE) -> Survey:
    """A survey with another name, and with a text in every place that an author writes, in turn."""
    hostile: Any = msgspec.to_builtins(survey) | {"name": name}
    _fill(hostile, cycle(texts))
    return msgspec.convert(hostile, Survey)


def reports_of(survey: Survey, n: int = 120) -> ReportSet:
    """Reports of the plain survey's people, always the same, as those to this survey."""
    plain, random = plain_survey(), Random(3)
    coins = Coins(random.randbytes)
    lines = [
        randomise_answers(
            plain, _somebody(random), coins, strata=plain.every_stratum[number % 2]
        ).canonical
        for number in range(n)
    ]
    rows = read_ndjson(plain, lines).rows
    return of_rows(layout(survey, stratified=True), [rows])


def _somebody(random: Random) -> dict[str, Any]:
    return {
        "one": f"c{random.randrange(_CHOICES)}",
        "drinks": random.randrange(9),
        "some": ["some_a"],
        "vote": {"party": "red", "union": "member"},
        "hours": {"work": 3, "care": 4},
        "stolen": random.choice(["yes", "no"]),
    }
