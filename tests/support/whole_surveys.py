"""Small surveys whose whole reports are walked, in both languages: two and three questions, of all
kinds that hang together."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec

from deniably.mechanisms import Channel, Memoised, SetResponse, SubsetSelection, Unary, Window
from deniably.mechanisms.memoised import memoised

Definition = dict[str, Any]


def choices(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "label": name} for name in names]


def question(name: str, kind: str, mechanism: Any, **more: Any) -> Definition:
    claim = {"odds": "3"}
    if isinstance(mechanism, Memoised):
        claim = claim | {"history": {"odds": "9"}}
    return {
        "name": name, "type": kind, "label": name, "claim": claim,
        "mechanism": msgspec.to_builtins(mechanism), **more,
    }  # fmt: skip


def yes_no(name: str, mechanism: Any = None, **more: Any) -> Definition:
    mechanism = mechanism or SubsetSelection(2, 1, 3, 1)
    return question(name, "yes_no", mechanism, choices=choices("yes", "no"), **more)


def one_of(name: str, k: int = 3, mechanism: Any = None, **more: Any) -> Definition:
    mechanism = mechanism or SubsetSelection(k, 1, 3, 1)
    named = more.pop("named", [f"c{i}" for i in range(k)])
    return question(name, "select_one", mechanism, choices=choices(*named), **more)


def ticks(name: str, **more: Any) -> Definition:
    named = choices("a", "b", "not_applicable")
    return question(
        name, "select_multiple", SetResponse(3, 1, 1, 3, 1), choices=named, most=1, **more
    )


def number(name: str) -> Definition:
    grid = {"minimum": "0", "maximum": "2", "step": "1"}
    return question(name, "number", Window(3, 3, 1, 3, 1), range=grid, aim="mean")


def survey(*questions: Definition, **more: Any) -> Definition:
    return {
        "spec": 1, "name": "small", "title": "Small", "language": "en",
        "results": {"minimum": 10, "while_open": False}, "questions": list(questions), **more,
    }  # fmt: skip


def kept(once: Any) -> Memoised[Any]:
    return memoised(once, Fraction(9))


ONLY_YES = {"show_if": {"question": "first", "is": ["yes"]}}
PANEL = {"waves": {"panel": "people"}}

SURVEYS: dict[str, Definition] = {
    "two questions": survey(yes_no("first"), yes_no("second")),
    "three questions": survey(one_of("first"), yes_no("second"), one_of("third")),
    "ticks and a number": survey(ticks("first"), number("second")),
    "of other kinds": survey(
        one_of("first", 2, Channel(2, ((3, 1), (1, 3)))),
        one_of("second", 2, Unary(2, 1, 3, 2, 4)),
    ),
    "one of two": survey(yes_no("first"), yes_no("second"), ask=1),
    "two of three": survey(yes_no("first"), one_of("second"), yes_no("third"), ask=2),
    "a hidden question": survey(
        yes_no("first"), one_of("second", named=["a", "b", "not_applicable"], **ONLY_YES)
    ),
    "hidden ticks, and what they hide": survey(
        yes_no("first"),
        one_of("second", named=["a", "b", "not_applicable"], **ONLY_YES),
        ticks("third", show_if={"question": "second", "is": ["a"]}),
    ),
    "by invitation": survey(yes_no("first"), yes_no("second"), invited=True),
    "by site": survey(
        yes_no("first"), yes_no("second"), strata={"site": ["north", "mid", "south"]}
    ),
    "two waves": survey(
        yes_no("first", kept(SubsetSelection(2, 1, 3, 1))),
        yes_no("second", kept(SubsetSelection(2, 1, 3, 1))),
        **PANEL,
    ),
    "two waves of other kinds": survey(
        yes_no("first", kept(SubsetSelection(2, 1, 3, 1))),
        yes_no("second", kept(Channel(2, ((3, 1), (1, 3))))),
        **PANEL,
    ),
    "two waves with fresh chance": survey(
        yes_no("first"), yes_no("second"), waves={"panel": "people", "count": 2}
    ),
}  # fmt: skip

MANY_BRANCHES = (
    "ticks and a number",
    "three questions",
    "two of three",
    "hidden ticks, and what they hide",
)
"""Surveys that are walked with a few ids in place of all: what an id is made of is the same for all
kinds of questions, and the others show that it says nothing of them."""  # fmt: skip
