"""Published definitions, right and wrong: the cases of definitions.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from deniably.reference.canonical import parse
from deniably.reference.claims import floor_exp
from deniably.reference.definition import FreeText, check_definition
from deniably.reference.refusal import Invalid
from deniably.reference.values import Definition, Json
from spec.cases.mixers import mixer_definitions
from spec.cases.questions import more_definitions, part_definitions
from spec.vector_types import Case, Made

NOTES = {
    "Text": "the JSON text itself is what is wrong or unusual: a parser must not hide it",
    "Steering": "characters that steer a screen or the direction of a text",
    "Lines": "line breaks, which only an introduction and a contact may have",
    "Claim": "the mechanism or the claim breaks section 2.2",
    "Names": "names of surveys, questions and choices",
    "Prototype": "names that every JavaScript object has already",
    "Types": "what a type of question has, and which mechanisms may randomise it",
    "ShowIf": "section 4.2",
    "Short": "what tables and figures call a question",
    "Ask": "section 4.3",
    "Part": "section 4.7",
    "Mixer": "section 4.8",
    "FreeText": "a question that is answered in free text, which is what the device says of it",
    "Invited": "section 11: whether it is by invitation",
    "Type": "a value of another type than the specification says",
}
OWN_E = floor_exp(Fraction(1), 32)


def cases() -> Made:
    tests = [
        _case(*case) for case in (*_valid(), *_invalid(), *_texts(), *more_definitions(), *_short())
    ]
    groups = [
        {"type": result, "tests": [test for test in tests if test["result"] == result]}
        for result in ("valid", "invalid")
    ]
    for later in (part_definitions, mixer_definitions):
        for result in ("valid", "invalid"):
            tests = [_case(*case) for case in later() if case[2] == result]
            groups.append({"type": result, "tests": tests})
    return NOTES, groups


def _case(comment: str, flags: list[str], result: str, definition: Definition) -> dict[str, Any]:
    text = definition if isinstance(definition, str) else json.dumps(definition)
    case: Case = {"comment": comment, "flags": flags, "text": text}
    try:
        case["digest"] = check_definition(parse(text))
    except FreeText as reason:
        case |= {"reason": str(reason), "free_text": True}
    except Invalid as reason:
        case["reason"] = str(reason)
    assert ("digest" in case) == (result == "valid"), (comment, case)
    return case | {"result": result}


# --- building ---


def workplace(**changes: Any) -> dict[str, Any]:
    """The example of section 4, with changes; None leaves a key out."""
    definition = {
        "spec": 1,
        "name": "workplace",
        "title": "Honesty at work",
        "intro": "Optional text for the first page.",
        "contact": "Optional: who asks, and how to reach them.",
        "language": "en",
        "results": {"minimum": 100, "while_open": False},
        "questions": [stolen()],
    }
    return _changed(definition, changes)


def stolen(**changes: Any) -> dict[str, Any]:
    question = {
        "name": "stolen",
        "type": "yes_no",
        "label": "Have you ever stolen from work?",
        "hint": "Optional explanation.",
        "choices": [{"name": "yes", "label": "Yes"}, {"name": "no", "label": "No"}],
        "claim": {"odds": "3"},
        "mechanism": mechanism(2, 1, 3, 1),
    }
    return _changed(question, changes)


def party(k: int = 16, omega: int = 4, **changes: Any) -> dict[str, Any]:
    """A select_one question of epsilon 1."""
    question = {
        "name": "party",
        "type": "select_one",
        "label": "Which party would you vote for?",
        "choices": [{"name": f"p{i}", "label": f"{i}"} for i in range(k)],
        "claim": {"epsilon": "1"},
        "mechanism": mechanism(k, omega, OWN_E, 2**32),
    }
    return _changed(question, changes)


def mechanism(k: int | str, omega: Json, own: int | str, other: int) -> dict[str, Any]:
    return {"name": "subset_selection", "k": k, "omega": omega, "own": own, "other": other}


def _changed(value: Json, changes: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in (value | changes).items() if item is not None}


def _asking(*questions: Any, **changes: Any) -> dict[str, Any]:
    return workplace(questions=list(questions), **changes)


def _renamed(*names: Any) -> dict[str, Any]:
    """A select_one question whose choices have these names."""
    choices = [{"name": name, "label": f"Choice {i}"} for i, name in enumerate(names)]
    return party(len(names), 1, choices=choices)


# --- cases: (comment, flags, result, definition or text) ---


def _valid() -> Iterator[tuple[Any, ...]]:
    for to in ("everybody", "", ["analysts"], True, None):
        results = {"minimum": 100, "while_open": False, "to": to}
        yield f"results are to {to!r}", ["Type"], "invalid", workplace(results=results)
    many = [stolen(name=f"q{i}", label="?", hint=None) for i in range(100)]
    yield "the example of section 4", [], "valid", workplace()
    yield (
        "without what may be absent",
        [],
        "valid",
        _asking(stolen(hint=None), intro=None, contact=None),
    )
    yield "several questions", [], "valid", _asking(stolen(), party(), party(1024, 275, name="q3"))
    yield "the most questions", [], "valid", workplace(questions=many)
    yield "by invitation", ["Invited"], "valid", workplace(invited=True)
    for name in ("a", "0", "x-1", "a--b", "a" * 64):
        yield f"the survey name {name[:5]}", ["Names"], "valid", workplace(name=name)
    for name in ("_", "A", "a.b-c_9", "_" + "0" * 63, "Stolen"):
        yield f"the question name {name[:7]}", ["Names"], "valid", _asking(stolen(name=name))
    yield "names differ in case only", ["Names"], "valid", _asking(stolen(), stolen(name="STOLEN"))
    prototype = ("__proto__", "constructor", "toString", "hasOwnProperty")
    questions = [_renamed(*prototype) | {"name": name, "label": name} for name in prototype]
    yield "names of the prototype", ["Prototype"], "valid", _asking(*questions)
    yield (
        "not English",
        [],
        "valid",
        workplace(title="\u00dcber \u4f60 \U0001f600 \u2027", language="de"),
    )
    yield "an escaped title", [], "valid", workplace(title='"\\/\t\u00ad')
    yield "results at once", [], "valid", workplace(results={"minimum": 1, "while_open": True})
    largest = {"minimum": 2**53 - 1, "while_open": False}
    yield "the largest minimum", [], "valid", workplace(results=largest)
    to_some = {"minimum": 100, "while_open": False, "to": "analysts"}
    yield "results for analysts", [], "valid", workplace(results=to_some)
    for reports in ("public", "never"):
        given = {"minimum": 100, "while_open": False, "reports": reports}
        yield f"the reports are for {reports}", [], "valid", workplace(results=given)
    yield (
        "results for analysts only",
        [],
        "valid",
        workplace(results=to_some | {"reports": "never"}),
    )
    stricter = stolen(claim={"odds": "4"})
    yield "weights below the claimed odds", ["Claim"], "valid", _asking(stricter)
    in_epsilon = stolen(claim={"epsilon": "1.0986123"})
    yield "exact odds below the claimed epsilon", ["Claim"], "valid", _asking(in_epsilon)
    full = stolen(claim={"odds": "22026"}, mechanism=mechanism(2, 1, 22026 * 10**11, 10**11))
    yield "large weights", ["Claim"], "valid", _asking(full)
    yield "any omega", [], "valid", _asking(party(6, 5))


def _invalid() -> Iterator[tuple[Any, ...]]:
    value: Json
    for value in (False, 1, 0, "true", "yes", [True], {}):
        comment = f"invited is {json.dumps(value)}"
        yield comment, ["Invited"], "invalid", workplace(invited=value)
    yield from _invalid_shapes()
    yield from _invalid_names()
    yield from _invalid_questions()


def _invalid_shapes() -> Iterator[tuple[Any, ...]]:
    for key in ("spec", "name", "title", "language", "results", "questions"):
        yield f"{key} is missing", [], "invalid", workplace(**{key: None})
    for key in ("name", "type", "label", "choices", "claim", "mechanism"):
        yield f"a question without {key}", [], "invalid", _asking(stolen(**{key: None}))
    for key in ("name", "k", "omega", "own", "other"):
        without = stolen(mechanism=_changed(mechanism(2, 1, 3, 1), {key: None}))
        yield f"a mechanism without {key}", [], "invalid", _asking(without)
    results: Json
    for results in ({"minimum": 100}, {"while_open": False}, {}):
        yield "results lack a key", [], "invalid", workplace(results=results)
    yield "an unknown key", [], "invalid", workplace(tracking=True)
    yield "an unknown key in the prototype", ["Prototype"], "invalid", workplace(__proto__={})
    yield "another unknown one", ["Prototype"], "invalid", workplace(constructor="x")
    more = {"minimum": 100, "while_open": False, "who": "me"}
    yield "an unknown key in results", [], "invalid", workplace(results=more)
    yield "an unknown key in a question", [], "invalid", _asking(stolen(required=True))
    noted = stolen(mechanism=mechanism(2, 1, 3, 1) | {"seed": 7})
    yield "an unknown key in a mechanism", [], "invalid", _asking(noted)
    odd = [{"name": "yes", "label": "Yes", "url": "x"}, {"name": "no", "label": "No"}]
    yield "an unknown key in a choice", [], "invalid", _asking(stolen(choices=odd))
    value: Json
    for spec in (2, 0, "1", True, [1]):
        yield f"spec is {spec!r}", ["Type"], "invalid", workplace(spec=spec)
    for key in ("name", "title", "intro", "contact", "language"):
        for value in (1, False, ["x"], {"en": "x"}):
            yield f"{key} is no text", ["Type"], "invalid", workplace(**{key: value})
    for value in ([], {}, "x", 1, [stolen(), 1], [[]]):
        yield "the questions are no questions", ["Type"], "invalid", workplace(questions=value)
    for value in ([], "x", 1, True):
        yield "results are no object", ["Type"], "invalid", workplace(results=value)
    for minimum in (0, -1, "100", True):
        results = {"minimum": minimum, "while_open": False}
        yield f"the minimum is {minimum!r}", ["Type"], "invalid", workplace(results=results)
    for reports in ("analysts", "", ["public"], True, None):
        results = {"minimum": 100, "while_open": False, "reports": reports}
        yield f"the reports are for {reports!r}", ["Type"], "invalid", workplace(results=results)
    results = {"minimum": 100, "while_open": False, "to": "analysts", "reports": "public"}
    yield "public reports of results for analysts", [], "invalid", workplace(results=results)
    for flag in (0, 1, "false"):
        results = {"minimum": 100, "while_open": flag}
        yield f"while_open is {flag!r}", ["Type"], "invalid", workplace(results=results)
    for to in ("everybody", "", ["analysts"], True, None):
        results = {"minimum": 100, "while_open": False, "to": to}
        yield f"results are to {to!r}", ["Type"], "invalid", workplace(results=results)
    many = [stolen(name=f"q{i}", label="?", hint=None) for i in range(101)]
    yield "too many questions", [], "invalid", workplace(questions=many)
    for value in ([], [1], "x", 1, True):
        yield "no object at all", ["Type"], "invalid", json.dumps(value)


def _invalid_names() -> Iterator[tuple[Any, ...]]:
    for name in ("", "-a", "a-", "A", "a_b", "a b", "\u00e4", "a" * 65, "workplace\n", "../x"):
        yield f"the survey name {name[:12]!r}", ["Names"], "invalid", workplace(name=name)
    for name in ("", "0a", "-a", ".a", "a b", "a/b", "\u00e4", "a" * 65, "stolen\n", "a\u0000"):
        yield f"the question name {name[:7]!r}", ["Names"], "invalid", _asking(stolen(name=name))
    for name in ("", "9", "a b", "yes\n"):
        yield f"a choice named {name!r}", ["Names"], "invalid", _asking(_renamed("other", name))
    yield "two questions of one name", ["Names"], "invalid", _asking(stolen(), party(name="stolen"))
    yield "two choices of one name", ["Names"], "invalid", _asking(_renamed("a", "b", "a"))


def _invalid_questions() -> Iterator[tuple[Any, ...]]:
    yes, no = stolen()["choices"]
    three = [yes, no, {"name": "maybe", "label": "Maybe"}]
    third = stolen(choices=three, mechanism=mechanism(3, 1, 3, 1))
    yield "yes_no the other way round", [], "invalid", _asking(stolen(choices=[no, yes]))
    yield "yes_no with a third choice", [], "invalid", _asking(third)
    spelt = [{"name": "Yes", "label": "Yes"}, no]
    yield "yes_no spelt otherwise", [], "invalid", _asking(stolen(choices=spelt))
    yield (
        "k is not the number of choices",
        [],
        "invalid",
        _asking(party(16, 4) | {"mechanism": mechanism(15, 4, OWN_E, 2**32)}),
    )
    yield (
        "k is larger than the number of choices",
        [],
        "invalid",
        _asking(stolen(type="select_one", mechanism=mechanism(3, 1, 3, 1))),
    )
    for kind in ("select_multiple", "ranking", "context", "", 1, ["yes_no"]):
        yield "an unknown type of question", [], "invalid", _asking(stolen(type=kind))
    yield from _free_text()
    yield "one choice", [], "invalid", _asking(party(1, 1))
    yield "too many choices", [], "invalid", _asking(party(1025, 275))
    choices: Json
    value: Json
    for choices in ({}, "yes", [], [1, 2], [yes, "no"], [yes, {"name": "no"}]):
        yield "the choices are no choices", ["Type"], "invalid", _asking(stolen(choices=choices))
    for key in ("label", "hint"):
        for value in (1, False, [], {"en": "x"}):
            yield f"{key} is no text", ["Type"], "invalid", _asking(stolen(**{key: value}))
    shapes: tuple[Any, ...] = (
        (2, 0, 3, 1),
        (2, 2, 3, 1),
        (2, 1, 1, 1),
        (2, 1, 1, 3),
        (2, 1, 3, 0),
        (2, -1, 3, 1),
    )
    shapes += ((2, 1, 2**53 - 1, 2), (2, 1, 2**53 - 1, 2**53 - 2), (2, "1", 3, 1), (2, True, 3, 1))
    shapes += ((2, 1, "3", 1), (2, 1, 3, True), ("2", 1, 3, 1), (2, [1], 3, 1))
    for shape in shapes:
        question = stolen(claim={"odds": "22026"}, mechanism=mechanism(*shape))
        yield f"a mechanism of {shape}", [], "invalid", _asking(question)
    rounded = party(4, 3, claim={"epsilon": "10"}) | {
        "mechanism": mechanism(4, 3, (2**53 + 1) // 3, 2**40)
    }
    yield "Z passes 2^53", [], "invalid", _asking(rounded)
    for name in ("k_ary", "SubsetSelection", "", 1):
        other = stolen(mechanism=mechanism(2, 1, 3, 1) | {"name": name})
        yield "an unknown mechanism", [], "invalid", _asking(other)
    for value in ([], "subset_selection", 1):
        yield "the mechanism is no object", ["Type"], "invalid", _asking(stolen(mechanism=value))
    claims: tuple[Json, ...] = (
        {"odds": "2"},
        {"odds": "29/10"},
        {"epsilon": "1"},
        {"epsilon": "1.0986122"},
    )
    for claim in claims:
        yield "the weights break the claim", ["Claim"], "invalid", _asking(stolen(claim=claim))
    claims = ({}, {"epsilon": "2", "odds": "3"}, {"odds": 3}, {"odds": "6/2"}, {"odds": "3\n"}, "3")
    claims += ({"epsilon": "1.50"}, {"epsilon": "11"}, {"odds": "30000"}, [], {"delta": "1"})
    for claim in claims:
        yield "the claim is none", ["Claim"], "invalid", _asking(stolen(claim=claim))
    above = party() | {"mechanism": mechanism(16, 4, OWN_E + 1, 2**32)}
    yield "own is one too large", ["Claim"], "invalid", _asking(above)
    yield "the second question is broken", ["Claim"], "invalid", _asking(stolen(), above)


def _short() -> Iterator[tuple[Any, ...]]:
    value: Json
    yield "a short label", ["Short"], "valid", _asking(stolen(short="Theft at work"))
    for value in (1, False, [], {"en": "x"}):
        yield "a short label is no text", ["Short"], "invalid", _asking(stolen(short=value))
    text = json.dumps(_asking(stolen(short="Theft")))
    yield "U+202e in a short label", ["Short"], "invalid", text.replace("Th", r"Th\u202e")
    yield "U+000a in a short label", ["Short", "Lines"], "invalid", text.replace("Th", r"Th\n")


def _free_text() -> Iterator[tuple[Any, ...]]:
    names = "text string str note comment open sentence essay paragraph freetext opentext longtext"
    names += " shorttext openended openquestion textarea textbox Free_Text OPEN-ENDED"
    for kind in (*names.split(), "long text"):
        yield f"free text, as {kind}", ["FreeText"], "invalid", _asking(stolen(type=kind))
    bare = {"name": "why", "type": "text", "label": "Why?"}
    yield "free text with a label alone", ["FreeText"], "invalid", _asking(bare)
    none = stolen(name="why", type="text", choices=None, mechanism={"name": "none"})
    yield "free text, not randomised", ["FreeText"], "invalid", _asking(stolen(), none)
    for name in ("none", "identity", "text"):
        plain = stolen(mechanism=mechanism(2, 1, 3, 1) | {"name": name})
        yield f"the mechanism {name}", [], "invalid", _asking(plain)


def _texts() -> Iterator[tuple[Any, ...]]:
    """Texts that no serialiser of parsed values would write."""
    text = json.dumps(workplace())
    spaced = json.dumps(workplace(), indent=3, sort_keys=True)
    yield "other spacing and order", ["Text"], "valid", spaced
    yield "needless escapes", ["Text"], "valid", text.replace("stolen", r"st\u006flen")
    places = {
        "title": "Honesty at", "label": "Have you", "hint": "Optional explanation",
        "intro": "Optional text", "contact": "Optional: who", "choice": "Yes",
    }  # fmt: skip
    bad = ("0000", "0008", "000b", "001f", "007f", "009f", "202a", "202e", "2066", "2069", "000d")
    good = ("0009", "00a0", "200f", "200e", "061c", "200d", "2065", "2027", "202f")
    breaks = ("000a", r"000d\u000a", "2028", "2029")
    for where, old in places.items():
        assert text.count(old) == 1
        for codes, result in ((bad, "invalid"), (good, "valid")):
            for code in codes if where == "title" else codes[-2:]:
                new = rf"{old[:2]}\u{code}{old[2:]}"
                yield f"U+{code} in a {where}", ["Steering"], result, text.replace(old, new)
        paragraphs = "valid" if where in ("intro", "contact") else "invalid"
        for code in breaks:
            new = rf"{old[:2]}\u{code}{old[2:]}"
            yield f"U+{code} in a {where}", ["Lines"], paragraphs, text.replace(old, new)
    pieces = (
        ("a fraction", '"minimum": 100', '"minimum": 100.0'),
        ("an exponent", '"minimum": 100', '"minimum": 1e2'),
        ("a weight with a fraction", '"own": 3', '"own": 3.0'),
        ("a weight that a double rounds", '"own": 3', '"own": 2.9999999999999999999'),
        ("a minimum past 2^53", '"minimum": 100', '"minimum": 9007199254740993'),
        ("a repeated weight", '"own": 3', '"own": 30, "own": 3'),
        ("a repeated claim", '"claim": {"odds": "3"}', '"claim": {"odds": "3", "odds": "3"}'),
        ("a repeated key, escaped", '"own": 3', r'"\u006fwn": 30, "own": 3'),
        ("null", '"while_open": false', '"while_open": null'),
        ("null where a key may be absent", '"Optional explanation."', "null"),
        ("a lone surrogate", "Honesty", r"\ud800"),
    )
    for comment, old, new in pieces:
        assert text.count(old) == 1
        yield comment, ["Text"], "invalid", text.replace(old, new)
