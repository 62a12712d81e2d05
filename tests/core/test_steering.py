"""No text of a survey steers a screen, or shows anything otherwise than it is written."""

from __future__ import annotations

import json
import unicodedata
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from deniably.authoring.compiling import publish_text
from deniably.core.errors import BadSurvey
from deniably.core.steering import one_line, printable, steering_problems
from deniably.survey.survey import read_survey
from support.cases import for_each
from support.material import survey_named

TEXT = """
name: s
title: "{title}"
intro: "{intro}"
questions:
  - {{name: a, type: select_one, label: "{label}", odds: 3, choices: [X, "{choice}"]}}
"""


def author(**texts: str) -> str:
    return TEXT.format(**({"title": "T", "intro": "I", "label": "L", "choice": "C"} | texts))


@for_each(
    ("text", "steers"),
    [
        ("Ever\x1b[8m", True), ("\x9b2J", True), ("\x7f", True), ("at work\rnever", True),
        ("\b\b\b", True), ("\f", True), ("\\\x1b", True), ("\\\\\x00", True), ("end\r", True),
        ("a\u202eb", True), ("a\u2066b\u2069", True), ("\u202a", True),
        ("One.\n\tTwo.\r\nThree", False), (r"\u001b \\u001b \r \b", False),
        ("\u2019\u00a0\u202f", False), ("שלום, \u200fabc 12", False), ("می\u200cخواهم", False),
        ("👩\u200d💻", False), ("العربية \u061c12%", False),
    ],
)  # fmt: skip
def test_what_steers_is_told_from_what_people_write(text: str, steers: bool) -> None:
    assert bool(list(steering_problems({"intro": text}))) is steers
    assert (printable(text) != text) is steers


BREAKS = ("\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")


@for_each("end", BREAKS)
def test_every_end_of_a_line_becomes_a_space(end: str) -> None:
    assert one_line(f"Health{end}system('touch x') #{end}") == "Health system('touch x') # "


@for_each("end", BREAKS)
def test_a_title_and_every_label_are_on_one_line(end: str) -> None:
    """Where the break is no control character anyway, an introduction may have it."""
    whole = publish_text(author())
    definition = json.loads(whole.canonical)
    for place in ("title", "questions.0.label", "questions.0.choices.1.label"):
        *above, last = (int(key) if key.isdigit() else key for key in place.split("."))
        changed: Any = deepcopy(definition)
        group = changed
        for key in above:
            group = group[key]
        group[last] += f"{end}end"
        with pytest.raises(BadSurvey) as refused:
            read_survey(json.dumps(changed))
        (problem,) = refused.value.problems
        assert problem.path == "$." + place.replace(".0", "[0]").replace(".1", "[1]")
        assert end in BREAKS[2:9] or "is a line break (U+" in problem.why
    allowed = end in ("\n", "\r\n", "\u2028", "\u2029")
    text = json.dumps(definition | {"intro": f"One.{end}Two."})
    if allowed:
        assert read_survey(text).intro == f"One.{end}Two."
    else:
        with pytest.raises(BadSurvey):
            read_survey(text)


def test_an_author_is_told_how_to_write_a_long_label() -> None:
    written = """
name: s
title: |
  Health
  at work
questions:
  - name: a
    type: yes_no
    label: >
      Have you
      ever?
    odds: 3
"""
    with pytest.raises(BadSurvey) as refused:
        publish_text(written)

    told = {problem.path: problem.why for problem in refused.value.problems}
    assert told["$.title"] == (
        "character 7 is a line break (U+000A); this text is on one line: put a space there"
        " (in YAML, begin a long text with >- instead of > or |)"
    )
    assert "this text is on one line: leave it out" in told["$.questions[0].label"]
    mended = written.replace("title: |", "title: >-").replace("label: >", "label: >-")
    assert publish_text(mended).title == "Health at work"


@given(st.text())
def test_what_is_printed_steers_nothing(text: str) -> None:
    shown = printable(text)

    assert not list(steering_problems({"intro": shown}))
    assert printable(shown) == shown
    assert not list(steering_problems({"title": one_line(text)}))
    assert len(one_line(text).splitlines()) <= 1
    controls = {char for char in shown if unicodedata.category(char) in ("Cc", "Cs")}
    assert controls <= {"\n", "\r", "\t"}


def test_an_author_is_told_every_such_character_and_where_it_is() -> None:
    bad = author(title=r"T\e[2J", label=r"Ever\u202e?", choice=r"\u2067C", intro=r"ab\x9b")

    with pytest.raises(BadSurvey) as refused:
        publish_text(bad)

    told = {problem.path: problem.why for problem in refused.value.problems}
    assert told["$.title"].startswith("character 2 is U+001B (a control character)")
    assert told["$.intro"].startswith("character 3 is U+009B (a control character)")
    label = told["$.questions[0].label"]
    assert label.startswith("character 5 is U+202E (right-to-left override)")
    assert "U+2067 (right-to-left isolate)" in told["$.questions[0].choices[1]"]
    publish_text(author(title=r"T\u200f", intro=r"a\r\n\tb"))


def test_a_device_refuses_what_was_published_elsewhere() -> None:
    survey = structs.replace(survey_named(), title="T\u202eitle")

    with pytest.raises(BadSurvey, match=r"\$\.title: character 2 is U\+202E"):
        read_survey(survey.canonical)
