"""Refusals of definitions name the value that is wrong, in Python and in JavaScript."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
import pytest

from deniably.core.errors import BadSurvey
from deniably.survey.survey import as_survey
from support.every_type import OTHER, survey_of_everything
from support.modules import Modules

BASE: dict[str, Any] = msgspec.to_builtins(survey_of_everything())
TWO_TO_53 = 1 << 53

WRONG: list[tuple[str, dict[str, Any], str]] = [
    # question, changes of it by the path of a key, the value that a refusal names;
    # without a question, changes of the definition
    ("", {"spec": 77}, "77"),
    ("", {"name": "Work Place"}, "Work Place"),
    ("", {"title": 77}, "77"),
    ("", {"title": "Work\r\n77"}, "Work\\r\\n77"),
    ("", {"intro": "Work\x0b77"}, "Work"),
    ("", {"ask": 77}, "77"),
    ("", {"ask": "77"}, '"77"'),
    ("", {"questions": []}, "[]"),
    ("", {"invited": "maybe"}, "maybe"),
    ("", {"results.minimum": -77}, "-77"),
    ("", {"results.minimum": "77"}, '"77"'),
    ("", {"results.while_open": "perhaps"}, "perhaps"),
    ("", {"results.to": "everybody"}, "everybody"),
    ("", {"results.reports": "perhaps"}, "perhaps"),
    ("", {"results.to": "analysts", "results.reports": "public"}, "public"),
    ("", {"waves": {"panel": "P 77"}}, "P 77"),
    ("", {"waves": {"panel": "p", "count": 177}}, "177"),
    ("", {"waves": {"panel": "p", "recognised": 7}}, "7"),
    ("", {"waves": {"panel": "p", "waves": 177}}, "177"),
    ("", {"waves": {"panel": "p", "people": 7_000_000}}, "7000000"),
    ("", {"waves": {"panel": "p", "count": 3, "waves": 3}}, "waves"),
    ("", {"strata": 77}, "77"),
    ("", {"strata": {"site": ["north"]}}, '["north"]'),
    ("", {"strata": {"site": ["north", "north"]}}, "north"),
    ("", {"strata": {"site": ["north", "S 77"]}}, "S 77"),
    ("", {"strata": {"site": ["a", "b", "c"], "shift": ["x", "y", "z"]}}, "9"),
    ("", {"no_such_key": 1}, "no_such_key"),
    ("stolen", {"name": "7 steal"}, "7 steal"),
    ("stolen", {"name": "what"}, "what"),
    ("stolen", {"type": "riddle"}, "riddle"),
    ("stolen", {"label": 77}, "77"),
    ("stolen", {"label": "Taken\u202877"}, "Taken"),
    ("stolen", {"hint": "Goods\n77"}, "Goods\\n77"),
    ("stolen", {"short": "77\u2029"}, "77"),
    ("stolen", {"choices": 77}, "77"),
    ("stolen", {"choices.1.label": "Never\rend"}, "Never\\rend"),
    ("stolen", {"choices.0.name": "aye"}, "aye"),
    ("stolen", {"choices.0.name": "no"}, "no"),
    ("stolen", {"mechanism.name": "riddle"}, "riddle"),
    ("stolen", {"mechanism.name": "laplace"}, "laplace"),
    ("stolen", {"mechanism.k": 77}, "77"),
    ("stolen", {"mechanism.k": 1}, "1"),
    ("stolen", {"mechanism.k": 7.5}, "7.5"),
    ("stolen", {"mechanism.omega": 77}, "77"),
    ("stolen", {"mechanism.own": 77}, "77"),
    ("stolen", {"mechanism.own": TWO_TO_53 - 1}, str(TWO_TO_53 - 1 + OTHER)),
    ("stolen", {"claim": 77}, "77"),
    ("stolen", {"claim": {"epsilon": "1", "odds": "77"}}, "77"),
    ("stolen", {"claim": {"epsilon": "77"}}, "77"),
    ("stolen", {"claim": {"epsilon": "1.0"}}, "1.0"),
    ("stolen", {"claim": {"epsilon": "0.77"}}, "0.77"),
    ("stolen", {"claim": {"odds": "77/7"}}, "77/7"),
    ("stolen", {"claim": {"odds": "77777"}}, "77777"),
    ("stolen", {"claim": {"odds": "7", "delta": "0.00007"}}, "0.00007"),
    ("stolen", {"claim": {"epsilon": "2", "delta": "0.7"}}, "0.7"),
    ("stolen", {"claim.history": {"epsilon": "7"}}, '"7"'),
    ("what", {"show_if": 77}, "77"),
    ("what", {"show_if.question": "unasked"}, "unasked"),
    ("what", {"show_if.is": ["seldom"]}, "seldom"),
    ("what", {"choices.3.name": "rest"}, "rest"),
    ("caught", {"mechanism.weights": [[7, 7], [7, 7]]}, "[7,7]"),
    ("caught", {"mechanism.weights": [[5, 1], [2, 77]]}, "7"),
    ("caught", {"mechanism.weights": [[5, 1], [2, 77, 3]]}, "3"),
    ("caught", {"mechanism.weights": [[5, 1], [6, 0]]}, "0"),
    ("caught", {"mechanism.weights": [[5, 1], [2, 4], [77, 3]]}, "3"),
    ("drugs", {"most": 77}, "77"),
    ("drugs", {"mechanism.most": 77}, "77"),
    ("drugs", {"mechanism.size": 77}, "77"),
    ("worries", {"most": 77}, "77"),
    ("worries", {"mechanism.s": 77}, "77"),
    ("happy", {"aim": "fame"}, "fame"),
    ("happy", {"scores": [1, 2]}, "[1,2]"),
    ("happy", {"scores": [1, 2, 4, 3, 77]}, "[1,2,4,3,77]"),
    ("happy", {"scores": [1, 2, 3, 4, 1 << 31]}, str(1 << 31)),
    ("trust", {"scores": [1, 2, 3, 4, 77]}, "77"),
    ("trust", {"mechanism.m": 1}, "1"),
    ("trust", {"mechanism.w": 77}, "77"),
    ("drinks", {"range.unit": "l\n77"}, "l\\n77"),
    ("drinks", {"range.step": "0"}, "0"),
    ("drinks", {"range.step": "77"}, "77"),
    ("drinks", {"range.maximum": "07"}, "07"),
    ("drinks", {"mechanism.k": 77}, "77"),
    ("sick", {"mechanism.scale": "14/7"}, "14/7"),
    ("sick", {"mechanism.scale": "wide"}, "wide"),
    ("fines", {"mechanism.d": 7, "mechanism.sigma2": "60000"}, "7"),
    ("fines", {"mechanism.d": 77}, "77"),
    ("fines", {"mechanism.delta": "0.7"}, "0.7"),
    ("fines", {"mechanism.sigma2": "7"}, "7"),
    ("hours", {"parts.0.label": "At\n77"}, "At\\n77"),
    ("hours", {"mechanism.s": 77}, "77"),
    ("hours", {"mechanism.parts.0.name": "riddle"}, "riddle"),
    ("hours", {"mechanism.parts.0.k": 77}, "77"),
    ("home", {"grid": 77}, "77"),
    ("home", {"mechanism.k": 77}, "77"),
    ("vote", {"mechanism.k": 77}, "77"),
]


def wrong_definition(question: str, changes: dict[str, Any]) -> dict[str, Any]:
    definition = deepcopy(BASE)
    top: Any = definition
    if question:
        (top,) = (each for each in definition["questions"] if each["name"] == question)
    for path, value in changes.items():
        *above, last = (int(key) if key.isdigit() else key for key in path.split("."))
        place = top
        for key in above:
            place = place[key]
        place[last] = value
    return definition


DEFINITIONS = [wrong_definition(question, changes) for question, changes, _ in WRONG]
NAMED = [(f"{question} {changes}", named) for question, changes, named in WRONG]


def unnamed(refusals: list[str]) -> dict[str, str]:
    """The refusals without the value that is wrong, by what was changed."""
    return {
        what: refusal
        for (what, named), refusal in zip(NAMED, refusals, strict=True)
        if named not in refusal.rpartition("; found")[2].replace(", ", ",")
    }


def test_what_is_wrong_with_a_definition_is_named_by_a_page(modules: Modules) -> None:
    body = """
      const { digest } = await import("/core/canonical.js");
      const { verify } = await import("/survey/survey.js");
      const why = async (one) => verify(one, await digest(one).catch(() => ""))
        .then(() => "taken", (error) => `${error.name} ${error.message}`);
      return Promise.all(given.map(why));
    """
    refusals = modules.compute(body, DEFINITIONS)

    assert unnamed(refusals) == {}
    assert all(refusal.startswith("Refused ") for refusal in refusals)


def test_what_is_wrong_with_a_definition_is_named_by_a_device() -> None:
    refusals = list[str]()
    for definition in DEFINITIONS:
        with pytest.raises(BadSurvey) as refused:
            as_survey(definition)
        refusals.append(str(refused.value))

    assert unnamed(refusals) == {}


def test_what_is_wrong_with_what_a_device_remembers_is_not_named(modules: Modules) -> None:
    """It may be a memo or the secret of an invitation."""
    body = """
      const { EMPTY, readMemory, written } = await import("/device/memory.js");
      return readMemory(written({ ...EMPTY, ...given }));
    """
    kept: list[dict[str, Any]] = [
        {"memos": {f"/panel/{'0' * 64}": ["secret"]}},
        {"tickets": {"0" * 64: {"id": "secret", "ticket": "0" * 576}}},
        {"authors": {"https://example.org": "secret"}},
    ]
    for each in kept:
        error = modules.compute(body, each)
        assert (error["name"], "secret" in error["message"]) == ("Refused", False)
        assert error["message"].startswith("memory.")
