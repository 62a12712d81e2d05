"""Surveys with a mixer: cases of definitions.json, ledger.json and registers.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deniably.reference.p256 import P
from spec.cases.mechanisms import laplace, sampled_ticks, set_response, unary, vector, window
from spec.cases.questions import (
    GAUSS,
    LAPLACE,
    MULTIPLE,
    NUMBER,
    ONE,
    RANGE,
    YES_NO,
    ask,
    changed,
    choices,
    condition,
    number_part,
    subset,
    survey,
)

_X = 0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296
_Y = 0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5
_Y_OF_5 = 0x459243B9AA581806FE913BCE99817ADE11CA503C64D9A3C533415C083248FBCC
_X_OF_1 = 0x8D0177EBAB9C6E9E10DB6DD095DBAC0D6375E8A97B70F611875D877F0069D2C7
"""Points with a small x, and with a small y."""
CLOSED = {"minimum": 1, "while_open": False}
EIGHT = ask("e", "yes_no", subset(2, own=8), choices=choices("yes", "no"), claim={"odds": "8"})


def point(x: int, y: int) -> str:
    return f"04{x:064x}{y:064x}"


KEY, OPEN = point(_X, _Y), point(_X, P - _Y)
SIGNING = "5e" * 32
MIXER: dict[str, Any] = {
    "address": "https://mixer.example.net",
    "by": "Works council of Example Ltd",
    "key": KEY,
    "signing": SIGNING,
    "open": OPEN,
    "length": 192,
    "blanks": 220,
    "claim": {"epsilon": "1.0986", "delta": "0.000001"},
}


def mixed(*questions: Any, mixer: Any = None, **more: Any) -> dict[str, Any]:
    """A survey with a mixer; ``mixer`` has changes of it, None leaves a member out."""
    members = changed(MIXER, **(mixer or {}))
    rest = {"results": CLOSED, "mixer": members} | more
    return survey(*questions, **rest)


def mixer_definitions() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, result, definition)"""
    for comment, definition in _right():
        yield comment, ["Mixer"], "valid", definition
    for comment, definition in _wrong():
        yield comment, ["Mixer"], "invalid", definition


def _right() -> Iterator[tuple[str, Any]]:
    yield "a mixer", mixed(EIGHT)
    yield "several questions", mixed(YES_NO, ONE, EIGHT, NUMBER, LAPLACE)
    yield "a condition", mixed(YES_NO, changed(ONE, show_if=condition("a", "yes")))
    yield "results for analysts", mixed(EIGHT, results=CLOSED | {"to": "analysts"})
    yield "reports for nobody", mixed(EIGHT, results=CLOSED | {"reports": "never"})
    for address in (
        "https://m", "https://a-b.example.org:8443", "https://192.0.2.1", "https://[2001:db8::1]",
        "https://[::ffff:192.0.2.1]:1", "http://localhost", "http://127.0.0.1:8001",
        "http://[::1]:8001", f"https://{'m' * 253}:65535",
    ):  # fmt: skip
        yield f"at {address[:40]}", mixed(EIGHT, mixer={"address": address})
    yield "one blank", mixed(EIGHT, mixer={"blanks": 1})
    yield "20000 blanks", mixed(EIGHT, mixer={"blanks": 20000})
    for epsilon, delta in (("0.01", "0.0001"), ("10", "0.00005"), ("1", "0.000000000001")):
        claim = {"epsilon": epsilon, "delta": delta}
        yield f"epsilon {epsilon} and delta {delta}", mixed(EIGHT, mixer={"claim": claim})
    yield "a name of any script", mixed(EIGHT, mixer={"by": "工会 “B”"})
    for numbers, question in _measured():
        least = 136 + len(question["name"]) + 12 * numbers
        comment = f"{question['mechanism']['name']}, the smallest length"
        yield comment, mixed(question, mixer={"length": least})
    yield "the longest envelopes", mixed(EIGHT, mixer={"length": 65436})
    yield "of two questions", mixed(EIGHT, YES_NO, mixer={"length": 32677})
    yield "odds of exactly 20", mixed(_with_odds(20, 1))
    yield "odds just below 20", mixed(_with_odds(85899345919, 1 << 32))
    yield "an exponent just below ln(20)", mixed(_noise("2.9957"))


def _wrong() -> Iterator[tuple[str, Any]]:
    yield "no mixer, said so", survey(EIGHT, mixer=None, results=CLOSED)
    yield "a mixer that is an address", survey(EIGHT, mixer=MIXER["address"], results=CLOSED)
    for member in MIXER:
        yield f"no {member}", mixed(EIGHT, mixer={member: None})
    yield "a member more", mixed(EIGHT, mixer={"until": "2026-12-24"})
    yield from _wrong_members()
    for key, value in (
        ("waves", {"panel": "p", "count": 2}), ("strata", {"site": ["n", "s"]}), ("part", True),
        ("invited", True), ("ask", 1), ("ask", 2),
    ):  # fmt: skip
        yield f"{key} {value}", mixed(EIGHT, YES_NO, NUMBER, **{key: value})
    yield "results while it is open", mixed(EIGHT, results=CLOSED | {"while_open": True})
    yield "public reports", mixed(EIGHT, results=CLOSED | {"reports": "public"})
    yield "a mechanism with a delta", mixed(EIGHT, GAUSS)
    yield "odds just above 20", mixed(_with_odds(85899345921, 1 << 32))
    yield "odds of 21", mixed(_with_odds(21, 1))
    yield "an exponent just above ln(20)", mixed(_noise("2.9958"))
    yield (
        "ticks of 3 times 7",
        mixed(changed(MULTIPLE, mechanism=sampled_ticks(4, 3, 3, 1), claim={"odds": "27"})),
    )
    for numbers, question in _measured():
        least = 136 + len(question["name"]) + 12 * numbers
        comment = f"{question['mechanism']['name']}, a byte too few"
        yield comment, mixed(question, mixer={"length": least - 1})
        yield f"{comment}, second", mixed(EIGHT, question, mixer={"length": least - 1})
    yield "envelopes that are a byte too long", mixed(EIGHT, mixer={"length": 65437})
    yield "of two questions, a byte too long", mixed(EIGHT, YES_NO, mixer={"length": 32678})


def _wrong_members() -> Iterator[tuple[str, Any]]:
    for address in (
        "", "https://", "http://mixer.example.net", "http://localhost.example.net",
        "http://127.0.0.2", "https://mixer.example.net/", "https://mixer.example.net/mix",
        "https://Mixer.example.net", "https://a b", "https://m;script-src", "https://m'", "ftp://m",
        "https://u@m", "https://m:0", "https://m:", "https://m:123456", "https://[::1", "//m",
        "https://m\n", f"https://{'m' * 254}", 5,
    ):  # fmt: skip
        yield f"at {str(address)[:40]!r}", mixed(EIGHT, mixer={"address": address})
    yield "a name with lines", mixed(EIGHT, mixer={"by": "Works\ncouncil"})
    yield "a name that steers", mixed(EIGHT, mixer={"by": "Works \u202ecouncil"})
    yield "a name that is none", mixed(EIGHT, mixer={"by": 5})
    for name in ("key", "open"):
        for comment, text in (
            ("too short", KEY[:-2]), ("too long", KEY + "00"), ("compressed", f"02{_X:064x}"),
            ("in capitals", KEY.upper()), ("no point", point(_X, _Y + 1)),
            ("the origin", point(0, 0)), ("x too large", point(5 + P, _Y_OF_5)),
            ("y too large", point(_X_OF_1, 1 + P)), ("a hybrid", "06" + KEY[2:]), ("of no text", 5),
            ("a line break", KEY + "\n"),
        ):  # fmt: skip
            yield f"{name} {comment}", mixed(EIGHT, mixer={name: text})
    yield "one key for both", mixed(EIGHT, mixer={"open": KEY})
    yield "a signing key in capitals", mixed(EIGHT, mixer={"signing": SIGNING.upper()})
    yield "a short signing key", mixed(EIGHT, mixer={"signing": SIGNING[:-2]})
    for blanks in (0, -1, 20001, "220", True):
        yield f"{blanks!r} blanks", mixed(EIGHT, mixer={"blanks": blanks})
    for length in ("192", True, -1, 0):
        yield f"length {length!r}", mixed(EIGHT, mixer={"length": length})
    claim = MIXER["claim"]
    for comment, wrong in (
        ("epsilon too small", claim | {"epsilon": "0.009"}),
        ("epsilon too large", claim | {"epsilon": "10.1"}),
        ("epsilon that is a number", claim | {"epsilon": 1}),
        ("epsilon with a zero", claim | {"epsilon": "1.10"}),
        ("no delta", {"epsilon": "1"}),
        ("a delta of nothing", claim | {"delta": "0"}),
        ("a delta that is large", claim | {"delta": "0.0002"}),
        ("a delta that is no part", claim | {"delta": "0.00003"}),
        ("a delta that is a fraction", claim | {"delta": "1/1000000"}),
        ("odds", {"odds": "3", "delta": "0.000001"}),
        ("epsilon and odds", claim | {"odds": "3"}),
        ("a history", claim | {"history": {"epsilon": "2"}}),
        ("a text", "1.0986"),
    ):
        yield f"a claim with {comment}", mixed(EIGHT, mixer={"claim": wrong})


def _with_odds(own: int, other: int) -> dict[str, Any]:
    mechanism = subset(2, own=own, other=other)
    return ask("o", "yes_no", mechanism, choices=choices("yes", "no"), claim={"epsilon": "9"})


def _noise(exponent: str) -> dict[str, Any]:
    """A number whose noise has this exponent: 10 over the scale."""
    scale = {"2.9957": "100000/29957", "2.9958": "50000/14979"}[exponent]
    return changed(LAPLACE, mechanism=laplace(11, scale), claim={"epsilon": "3"})


def _measured() -> Iterator[tuple[int, dict[str, Any]]]:
    """(numbers of a report, question)"""
    yield 1, YES_NO
    yield 2, changed(ONE, name="a" * 64)
    yield 2, changed(MULTIPLE, mechanism=set_response(4, 2, 2))
    yield 3, changed(MULTIPLE, mechanism=sampled_ticks(4, 3, 2, 1), claim={"odds": "8"})
    yield 4, changed(ONE, mechanism=unary(4, 1, 4, 2, 8))
    yield 1, changed(NUMBER, mechanism=window(11, 3, 1))
    yield 1, LAPLACE
    yield 2, ask(
        "v", "vector", vector(2, *[window(11, 3, 1, own=2)] * 3), claim={"odds": "4"},
        parts=[number_part(name, **RANGE) for name in "xyz"],
    )  # fmt: skip
