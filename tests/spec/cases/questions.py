"""Types of question: the cases of answers.json and totals.json, and more of definitions.json."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from deniably.reference.answers import settle
from deniably.reference.definition import check_definition, total
from deniably.reference.losses import loss_texts
from deniably.reference.refusal import Invalid
from deniably.reference.values import Definition, Mechanism, Question
from spec.cases.mechanisms import (
    bounded,
    channel,
    gaussian,
    laplace,
    sampled_ticks,
    set_response,
    unary,
    vector,
    window,
)
from spec.vector_types import Case, Made

RANGE = {"minimum": "0", "maximum": "10", "step": "1"}


def subset(k: int, omega: int = 1, own: int = 3, other: int = 1) -> dict[str, Any]:
    name = {"name": "subset_selection", "k": k, "omega": omega}
    return name | {"own": own, "other": other}


def choices(*names: Any) -> list[dict[str, Any]]:
    return [{"name": name, "label": name.upper()} for name in names]


def ask(name: str, kind: str, mechanism: Mechanism, **more: Any) -> dict[str, Any]:
    base = {"name": name, "type": kind, "label": name.upper(), "claim": {"odds": "3"}}
    return base | {"mechanism": mechanism} | more


def number_part(name: str, **grid: Any) -> dict[str, Any]:
    return {"name": name, "label": name.upper(), "range": RANGE | grid}


def survey(*questions: Any, **more: Any) -> dict[str, Any]:
    head = {"spec": 1, "name": "s", "title": "T", "language": "en"}
    rest = {"results": {"minimum": 1, "while_open": True}, "questions": list(questions)}
    return copy.deepcopy(head | rest | more)


def condition(question: str, *names: Any) -> dict[str, Any]:
    return {"question": question, "is": list(names)}


YES_NO = ask("a", "yes_no", subset(2), choices=choices("yes", "no"))
ONE = ask("b", "select_one", subset(4, 2), choices=choices("x", "y", "z", "not_applicable"))
MULTIPLE = ask(
    "c", "select_multiple", set_response(4, 2, 1), most=2,
    choices=choices("p", "q", "r", "not_applicable"),
)  # fmt: skip
SCALE = ask(
    "d", "scale", subset(3), aim="distribution", choices=choices("low", "high", "not_applicable")
)
MEAN = ask("e", "scale", window(5, 3, 1), aim="mean", choices=choices(*"vwxyz"))
NUMBER = ask("f", "number", window(11, 3, 1), aim="mean", range=RANGE)
FINE = {"minimum": "-1.5", "maximum": "2", "step": "0.25", "unit": "m"}
BUCKETS = ask("g", "number", window(4, 5, 2), aim="distribution", range=FINE)
VECTOR = ask(
    "h", "vector", vector(1, window(11, 2, 1), window(21, 3, 1)),
    parts=[number_part("u"), number_part("v", step="0.5")],
)  # fmt: skip
POINT = ask(
    "i", "point", subset(9, 3), grid=3,
    parts=[number_part("east", minimum="-10"), number_part("north", maximum="2")],
)  # fmt: skip
PRODUCT = ask(
    "j", "product", subset(12, 3),
    parts=[
        {"name": name, "label": name.upper(), "choices": choices(*names)}
        for name, names in (("one", "ab"), ("two", "cde"), ("three", "fg"))
    ],
)  # fmt: skip
LAPLACE = ask("k", "number", laplace(11, "10"), aim="mean", range=RANGE, claim={"epsilon": "1"})
GAUSS = ask(
    "l", "number", gaussian(11, 1, "1600"), aim="mean", range=RANGE,
    claim={"epsilon": "1", "delta": "0.00001"},
)  # fmt: skip
EVERY = [
    YES_NO,
    ONE,
    MULTIPLE,
    SCALE,
    MEAN,
    NUMBER,
    BUCKETS,
    VECTOR,
    POINT,
    PRODUCT,
    LAPLACE,
    GAUSS,
]


def changed(question: Question, **changes: Any) -> dict[str, Any]:
    found = copy.deepcopy(question) | copy.deepcopy(changes)
    return {key: value for key, value in found.items() if value is not None}


# --- definitions ---


def more_definitions() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, result, definition)"""
    yield "every type of question", ["Types"], "valid", survey(*EVERY)
    for question in EVERY:
        yield f"{question['type']} alone", ["Types"], "valid", survey(question)
    for comment, question in _right():
        yield comment, ["Types"], "valid", survey(YES_NO, question)
    for comment, question in _wrong():
        yield comment, ["Types"], "invalid", survey(YES_NO, question)
    yield from _asking()
    for comment, first, second in _chains():
        yield comment, ["ShowIf"], "invalid", survey(first, second)
    yield "a chain of conditions", ["ShowIf"], "valid", survey(
        YES_NO, changed(ONE, show_if=condition("a", "yes")),
        changed(SCALE, show_if=condition("b", "x", "not_applicable")),
        changed(MULTIPLE, show_if=condition("d", "low")),
    )  # fmt: skip


def _right() -> Iterator[tuple[Any, ...]]:
    three = choices("v", "w", "x")
    yield "unary for one answer", changed(ONE, mechanism=unary(4, 1, 4, 2, 8))
    yield (
        "a channel for yes or no",
        changed(YES_NO, name="z", mechanism=channel(2, (5, 1), (2, 4)), claim={"odds": "4"}),
    )
    yield "sampled ticks, fewer than all", changed(MULTIPLE, mechanism=sampled_ticks(4, 1))
    yield "unary ticks", changed(MULTIPLE, mechanism=unary(4, 2, 4, 2, 8), claim={"odds": "9"})
    yield "a scale with scores", changed(SCALE, scores=[-5, 0, 100])
    yield "a mean with even scores", changed(MEAN, scores=[-2, 0, 2, 4, 6])
    yield (
        "a scale with a channel of fewer rows",
        changed(MEAN, choices=three, mechanism=channel(3, (3, 1), (1, 3))),
    )
    yield (
        "the exponential mechanism",
        changed(SCALE, mechanism=bounded(3, "2", "resample"), claim={"epsilon": "1"}),
    )
    yield "an exponent that is all of the claim", changed(LAPLACE, mechanism=laplace(11, "10"))
    yield "an exponent below the claim", changed(LAPLACE, mechanism=laplace(11, "21/2"))
    yield "a larger delta claimed", changed(GAUSS, claim={"epsilon": "1", "delta": "0.0001"})
    yield "a larger epsilon claimed", changed(GAUSS, claim={"epsilon": "2", "delta": "0.00001"})
    yield "a vector of Gaussian numbers", ask(
        "y", "vector", gaussian(11, 2, "3200"), parts=[number_part("u"), number_part("v")],
        claim={"epsilon": "1", "delta": "0.00001"},
    )  # fmt: skip
    yield (
        "odds and an exponent in one vector",
        changed(
            VECTOR,
            mechanism=vector(2, window(11, 2, 1), laplace(21, "40")),
            claim={"epsilon": "1.6"},
        ),
    )
    yield "an outline", changed(POINT, outline="M0 0 1000 1000")
    yield "an outline of two lines", changed(POINT, outline="M10 20 999 0 0 1000M1 2 1 2")
    yield "an outline of 5000 characters", changed(POINT, outline="M1 2" + " 3 4" * 1249)
    yield (
        "subset selection of numbers",
        changed(BUCKETS, mechanism=subset(4, 2), claim={"odds": "3"}),
    )
    yield (
        "a fine grid",
        changed(NUMBER, range=RANGE | {"maximum": "1048576"}, mechanism=window(2**20 + 1, 3, 1)),
    )


def _wrong() -> Iterator[tuple[Any, ...]]:
    one = number_part("u")
    yield "an unknown type", changed(NUMBER, type="text")
    yield "a list as the type", changed(NUMBER, type=["number"])
    for question in EVERY:
        yield f"{question['type']} with a key too many", changed(question, name="z", extra=1)
        claims = [{"odds": "2"}, {"epsilon": "0.5"}]
        for claim in claims:
            yield (
                f"{question['type']} with a broken claim",
                changed(question, name="z", claim=claim),
            )
    for question, wrong in (
        (ONE, window(4, 3, 1)), (ONE, laplace(4, "3")), (MULTIPLE, subset(4)),
        (SCALE, laplace(3, "2")), (NUMBER, unary(11, 1, 4, 2, 8)), (VECTOR, window(11, 3, 1)),
        (POINT, window(9, 3, 1)), (PRODUCT, channel(12, (3, 1), (1, 3))), (NUMBER, "window"),
        (NUMBER, None), (NUMBER, {"name": "toString"}), (NUMBER, {"name": "constructor"}),
    ):  # fmt: skip
        yield "a mechanism of another type", changed(question, mechanism=wrong)
    yield "k of other choices", changed(ONE, mechanism=subset(3))
    yield (
        "ticks for more than one answer",
        changed(ONE, mechanism=unary(4, 2, 4, 2, 8), claim={"odds": "9"}),
    )
    yield "fewer rows than choices", changed(ONE, mechanism=channel(4, (3, 1), (1, 3)))
    yield "fewer rows on a scale", changed(SCALE, mechanism=channel(3, (3, 1), (1, 3)))
    yield "most above the choices", changed(MULTIPLE, most=5, mechanism=sampled_ticks(4, 1))
    yield "most is nothing", changed(MULTIPLE, most=0, mechanism=sampled_ticks(4, 1))
    yield "another most", changed(MULTIPLE, most=3)
    yield "most as a text", changed(MULTIPLE, most="2")
    yield "no most", changed(MULTIPLE, most=None)
    yield "no aim", changed(SCALE, aim=None)
    yield "another aim", changed(SCALE, aim="median")
    yield "scores that stand still", changed(SCALE, scores=[1, 1, 2])
    yield "scores that fall", changed(SCALE, scores=[3, 2, 1])
    yield "too few scores", changed(SCALE, scores=[1, 2])
    yield "scores of 2^31", changed(SCALE, scores=[0, 1, 2**31])
    yield "uneven scores of a mean", changed(MEAN, scores=[1, 2, 3, 4, 6])
    for text in ("1.0", "-0", "+1", "01", "1e1", "", " 1", ".5", "1" * 41, "-"):
        yield "a minimum in another spelling", changed(NUMBER, range=RANGE | {"minimum": text})
    # What a careless reader would take for the range from 0 to 10.
    yield "a bound of -0", changed(NUMBER, range=RANGE | {"minimum": "-0"})
    yield "a minimum as a number", changed(NUMBER, range=RANGE | {"minimum": 0})
    yield "a step of nothing", changed(NUMBER, range=RANGE | {"step": "0"})
    yield "a step downwards", changed(NUMBER, range=RANGE | {"step": "-1"})
    yield (
        "steps that are not whole",
        changed(NUMBER, range=RANGE | {"step": "3"}, mechanism=window(4, 3, 1)),
    )
    yield (
        "no step at all",
        changed(NUMBER, range=RANGE | {"maximum": "0"}, mechanism=window(2, 3, 1)),
    )
    yield "a maximum below", changed(NUMBER, range=RANGE | {"maximum": "-10"})
    yield (
        "too fine",
        changed(BUCKETS, range=RANGE | {"maximum": "1048577"}, mechanism=window(4, 5, 2)),
    )
    yield "a unit that is none", changed(NUMBER, range=RANGE | {"unit": 3})
    yield "a line break in a unit", changed(NUMBER, range=RANGE | {"unit": "h\n"})
    yield (
        "a line break in a part",
        changed(VECTOR, parts=[one | {"label": "U\u2028"}, number_part("v", maximum="20")]),
    )
    yield "an unknown key of a range", changed(NUMBER, range=RANGE | {"x": "1"})
    yield "fewer cells for a mean", changed(NUMBER, mechanism=window(10, 3, 1))
    yield "more cells than positions", changed(BUCKETS, mechanism=window(16, 5, 2))
    yield "two numbers for one", changed(GAUSS, mechanism=gaussian(11, 2, "3200"))
    yield "claimed odds, and an exponent", changed(LAPLACE, claim={"odds": "3"})
    yield "an exponent above the claim", changed(LAPLACE, mechanism=laplace(11, "9"))
    yield "a delta that nobody claims", changed(GAUSS, claim={"epsilon": "1"})
    yield (
        "a delta claimed for nothing",
        changed(LAPLACE, claim={"epsilon": "1", "delta": "0.00001"}),
    )
    yield "a smaller delta claimed", changed(GAUSS, claim={"epsilon": "1", "delta": "0.000001"})
    yield "a delta too large", changed(GAUSS, claim={"epsilon": "1", "delta": "0.001"})
    yield "a delta of nothing", changed(GAUSS, claim={"epsilon": "1", "delta": "0"})
    yield "a delta beside odds", changed(GAUSS, claim={"odds": "3", "delta": "0.00001"})
    yield (
        "odds and exponent together too large",
        changed(
            VECTOR,
            mechanism=vector(2, window(11, 2, 1), laplace(21, "40")),
            claim={"epsilon": "1.5"},
        ),
    )
    yield "one part", changed(VECTOR, parts=[one])
    yield "parts of one name", changed(VECTOR, parts=[one, one])
    yield (
        "another number of parts",
        changed(VECTOR, parts=[one, number_part("v"), number_part("w")]),
    )
    yield "positions of another part", changed(VECTOR, parts=[one, number_part("v")])
    yield (
        "a point of three",
        changed(POINT, parts=[one, number_part("v"), number_part("w")], mechanism=subset(9)),
    )
    yield "a grid of another k", changed(POINT, grid=4, parts=[one, number_part("v")])
    yield "a grid of one", changed(POINT, grid=1)
    yield (
        "a grid of 33",
        changed(
            POINT, grid=33, parts=[number_part("u", maximum="99"), number_part("v", maximum="99")]
        ),
    )
    for comment, outline in (
        ("an outline without a line", ""),
        ("an outline of one point", "M1 2"),
        ("an outline with half a point", "M1 2 3"),
        ("an outline that does not begin with a line", "1 2 3 4"),
        ("an outline beyond the map", "M1 2 3 1001"),
        ("an outline with a sign", "M1 2 3 -4"),
        ("an outline with a fraction", "M1 2 3 4.5"),
        ("an outline with a leading zero", "M1 2 3 04"),
        ("an outline with two spaces", "M1 2  3 4"),
        ("an outline that ends with a line break", "M1 2 3 4\n"),
        ("an outline with digits of another script", "M1 2 3 \u0664"),
        ("an outline with another command", "M1 2 3 4Z"),
        ("an outline as a list", [[1, 2], [3, 4]]),
        ("an outline of more than 5000 characters", "M1 2" + " 3 4" * 1250),
    ):
        yield comment, changed(POINT, outline=outline)
    yield "an outline of a vector", changed(VECTOR, outline="M1 2 3 4")
    yield "a grid finer than the steps", changed(POINT, parts=[one, number_part("v", maximum="1")])
    yield "combinations of another k", changed(PRODUCT, mechanism=subset(11))
    yield "a part without choices", changed(PRODUCT, parts=[one, number_part("v")])
    yield "a part of one choice", changed(
        PRODUCT, mechanism=subset(2),
        parts=[{"name": "p", "label": "P", "choices": choices("a")},
               {"name": "q", "label": "Q", "choices": choices("a", "b")}],
    )  # fmt: skip


def _chains() -> Iterator[tuple[Any, ...]]:
    shown = changed(ONE, show_if=condition("a", "yes"))
    yield "without not_applicable", YES_NO, changed(shown, choices=choices("x", "y", "z", "w"))
    yield "of a later question", shown, YES_NO
    yield "of itself", YES_NO, changed(ONE, show_if=condition("b", "x"))
    yield "of no question", YES_NO, changed(ONE, show_if=condition("nobody", "yes"))
    yield "a choice that is none", YES_NO, changed(ONE, show_if=condition("a", "perhaps"))
    yield "one that is, one that is not", YES_NO, changed(ONE, show_if=condition("a", "yes", "x"))
    yield "no choice", YES_NO, changed(ONE, show_if=condition("a"))
    yield "no list", YES_NO, changed(ONE, show_if={"question": "a", "is": "yes"})
    yield "of several ticks", MULTIPLE, changed(ONE, show_if=condition("c", "p"))
    yield "of a number", NUMBER, changed(ONE, show_if=condition("f", "1"))
    yield "on a number", YES_NO, changed(NUMBER, show_if=condition("a", "yes"))
    yield "on yes or no", YES_NO, changed(YES_NO, name="z", show_if=condition("a", "yes"))
    yield "with a key too many", YES_NO, changed(ONE, show_if=condition("a", "yes") | {"not": []})


def _asking() -> Iterator[tuple[Any, ...]]:
    for count, result in (
        (1, "valid"),
        (2, "valid"),
        (3, "invalid"),
        (0, "invalid"),
        (-1, "invalid"),
    ):
        yield f"{count} of three", ["Ask"], result, survey(YES_NO, ONE, NUMBER, ask=count)
    yield "as a text", ["Ask"], "invalid", survey(YES_NO, ONE, ask="1")
    yield "one of one", ["Ask"], "invalid", survey(YES_NO, ask=1)
    yield (
        "with a condition",
        ["Ask", "ShowIf"],
        "invalid",
        survey(YES_NO, changed(ONE, show_if=condition("a", "yes")), NUMBER, ask=2),
    )


def part_definitions() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, result, definition)"""
    yield "a part may be answered", ["Part"], "valid", survey(YES_NO, ONE, part=True)
    yield "of the questions drawn", ["Part"], "valid", survey(YES_NO, ONE, SCALE, ask=2, part=True)
    yield "of one question drawn", ["Part"], "invalid", survey(YES_NO, ONE, SCALE, ask=1, part=True)
    yield "of one question", ["Part"], "invalid", survey(YES_NO, part=True)
    wrong: tuple[Any, ...] = (False, 1, "true", [])
    for value in wrong:
        yield f"as {json.dumps(value)}", ["Part"], "invalid", survey(YES_NO, ONE, part=value)
    hidden = changed(ONE, show_if=condition("a", "yes"))
    yield "with a condition", ["Part", "ShowIf"], "invalid", survey(YES_NO, hidden, part=True)


# --- totals ---


def totals() -> Made:
    strong = changed(NUMBER, name="m", mechanism=window(11, 3, 1, 5, 1), claim={"odds": "5"})
    half = changed(LAPLACE, name="n", mechanism=laplace(11, "20"), claim={"epsilon": "0.5"})
    definitions = [
        survey(YES_NO), survey(YES_NO, ONE, strong), survey(LAPLACE, half), survey(*EVERY),
        *(survey(YES_NO, strong, half, LAPLACE, ask=count) for count in (1, 2, 3)),
        *(survey(LAPLACE, half, GAUSS, YES_NO, ask=count) for count in (1, 2, 3)),
        survey(VECTOR, POINT, PRODUCT, ask=2),
        # The question with a delta is not among those with the largest odds.
        *(survey(strong, YES_NO, GAUSS, half, ask=count) for count in (1, 2, 3)),
    ]  # fmt: skip
    tests = []
    for definition in definitions:
        check_definition(definition)
        case: Case = {"comment": "", "flags": [], "definition": json.dumps(definition)}
        tests.append(case | loss_texts(total(definition)) | {"result": "valid"})
    return {}, [{"type": "total", "tests": tests}]


# --- answers ---

PLAIN = {
    "a": "yes", "b": "z", "c": ["r", "p"], "d": "low", "e": "w", "f": "7", "g": "0.5",
    "h": {"u": "3", "v": "2.25"}, "i": {"east": "-10", "north": "2"},
    "j": {"one": "b", "two": "d", "three": "f"}, "k": "0", "l": "10",
}  # fmt: skip


def answers() -> Made:
    tests = [_answered(survey(*EVERY), answers) for answers in _sheets()]
    groups = [{"type": "answers", "definition": json.dumps(survey(*EVERY)), "tests": tests}]
    unary_one = survey(changed(ONE, mechanism=unary(4, 1, 4, 2, 8)))
    single = [_answered(unary_one, {"b": name}) for name in ("x", "z", "nobody")]
    groups.append({"type": "answers", "definition": json.dumps(unary_one), "tests": single})
    chain = survey(
        YES_NO, changed(ONE, show_if=condition("a", "yes")),
        changed(SCALE, show_if=condition("b", "x", "y")),
        changed(MULTIPLE, show_if=condition("d", "low", "not_applicable")),
    )  # fmt: skip
    sheets = (
        {"a": "no"}, {"a": "no", "b": "x", "d": "low", "c": ["p"]}, {"a": "yes", "b": "z"},
        {"a": "yes", "b": "x", "d": "high"}, {"a": "yes", "b": "y", "d": "low", "c": []},
        {"a": "yes", "b": "y", "d": "low"}, {"a": "no", "b": "nobody"}, {"b": "x"}, {"a": "maybe"},
        {"a": "yes"}, {"a": "yes", "b": "not_applicable", "d": "low"},
        {"a": "yes", "b": "x", "d": "not_applicable"}, {"a": "no", "b": "not_applicable"},
        {"a": "yes", "b": "y", "d": "low", "c": ["p", "not_applicable"]},
    )  # fmt: skip
    hidden = [_answered(chain, sheet) for sheet in sheets]
    groups.append({"type": "answers", "definition": json.dumps(chain), "tests": hidden})
    notes = {"Round": "the nearest position, a half upwards; beyond the range its end"}
    return notes, groups


def _sheets() -> Iterator[Case]:
    yield PLAIN
    for f in ("0", "10", "-3", "11", "99999999", "0.5", "0.4999999999999999999999", "1.5", "-0.5",
              "2.50", "007", "+4", " 5 ", ".5", "9.", "9.5", "-0"):  # fmt: skip
        yield PLAIN | {"f": f}
    for g in ("-1.5", "-1.375", "-1.376", "-0.625", "-0.6", "0.375", "1.1", "2", "1.9", "-9"):
        yield PLAIN | {"g": g}
    for u, v in (("0", "0.25"), ("0.5", "0.74"), ("10", "10"), ("-1", "99"), ("4.5", "4.75")):
        yield PLAIN | {"h": {"u": u, "v": v}}
    for east, north in (
        ("-10", "0"),
        ("-4", "0.5"),
        ("-3", "1"),
        ("3", "1.4"),
        ("4", "1.5"),
        ("10", "9"),
    ):
        yield PLAIN | {"i": {"east": east, "north": north}}
    for one, two, three in (("a", "c", "f"), ("a", "c", "g"), ("a", "e", "f"), ("b", "e", "g")):
        yield PLAIN | {"j": {"one": one, "two": two, "three": three}}
    for ticks in ([], ["p"], ["q", "p"], ["p", "p"], ["p", "q", "r"], "p", ["nobody"]):
        yield PLAIN | {"c": ticks}
    for f in ("", "x", "1e3", "1,5", "--1", "NaN", "0x10", "1 2", ".", "1" * 41):
        yield PLAIN | {"f": f}
    yield PLAIN | {"b": "nobody"}
    yield PLAIN | {"b": ["x"]}
    yield PLAIN | {"h": {"u": "1"}}
    yield PLAIN | {"h": {"u": "1", "v": "1", "w": "1"}}
    yield PLAIN | {"h": {"u": "1", "v": ""}}
    yield PLAIN | {"j": {"one": "a", "two": "a", "three": "f"}}
    yield {key: value for key, value in PLAIN.items() if key != "e"}


def _answered(definition: Definition, sheet: dict[str, Any]) -> dict[str, Any]:
    check_definition(definition)
    case: Case = {"comment": "", "flags": [], "answers": sheet}
    try:
        hidden, inputs = settle(definition, sheet)
        return case | {"hidden": hidden, "inputs": inputs, "result": "valid"}
    except Invalid as reason:
        return case | {"reason": str(reason), "result": "invalid"}
