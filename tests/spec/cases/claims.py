"""The cases of claims.json."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from deniably.reference.claims import check_claim, floor_exp
from deniably.reference.refusal import Invalid
from deniably.reference.values import Json
from spec.cases.tapes import LIMIT
from spec.vector_types import Case, Made

CLAIM_NOTES = {
    "Honest": "the weights that a publisher takes: other = 2^32, own = floor(2^32 e^epsilon)",
    "Broken": "own/other is larger than claimed",
    "Boundary": "as large or as near to it as it gets",
    "Malformed": "not the one spelling of a claim",
    "Range": "outside 0.01 <= epsilon <= 10",
    "Doubles": "arithmetic in doubles decides wrongly or by luck",
}
EPSILONS: tuple[str, ...] = (
    "0.01",
    "0.05",
    "0.1",
    "0.2",
    "0.25",
    "0.5",
    "0.6931471805599453",
    "0.75",
    "0.9",
    "1",
)
EPSILONS += (
    "1.0986122886681098",
    "1.2345678901234567",
    "1.5",
    "2",
    "2.302585092994046",
    "2.5",
    "3",
)
EPSILONS += ("3.1415926535897932384626433832795", "4", "5", "6.907755278982137", "8", "9.99", "10")
LN_3 = "1.098612288668109691395"  # 24523692...


def cases() -> Made:
    groups = [
        ("epsilon", _epsilon_claims()),
        ("odds", _odds_claims()),
        ("malformed", _malformed_claims()),
    ]
    return CLAIM_NOTES, [
        {"type": name, "tests": [_claim(*case) for case in cases]} for name, cases in groups
    ]


def _claim(flags: list[str], claim: Json, own: int, other: int) -> dict[str, Any]:
    case: Case = {
        "comment": "",
        "flags": flags,
        "claim": claim,
        "own": str(own),
        "other": str(other),
    }
    assert own + other <= LIMIT
    try:
        check_claim(claim, own, other)
        assert not {"Broken", "Malformed", "Range"} & set(flags), case
    except Invalid as reason:
        assert {"Broken", "Malformed", "Range"} & set(flags), case
        return case | {"reason": str(reason), "result": "invalid"}
    return case | {"result": "valid"}


def _epsilon_claims() -> Iterator[tuple[Any, ...]]:
    for text in EPSILONS:
        claim, own = {"epsilon": text}, floor_exp(Fraction(text), 32)
        yield ["Honest", "Boundary"], claim, own, 2**32
        yield ["Broken", "Boundary"], claim, own + 1, 2**32
        yield [], claim, own - 1, 2**32
        bits = 51 if own < 2**33 else 37
        own = floor_exp(Fraction(text), bits)
        yield ["Boundary"], claim, own, 2**bits
        yield ["Broken", "Boundary"], claim, own + 1, 2**bits
    yield [], {"epsilon": "0.7"}, 2, 1
    yield ["Broken"], {"epsilon": "0.69"}, 2, 1
    yield ["Boundary"], {"epsilon": "10"}, 22026, 1
    yield ["Boundary", "Broken"], {"epsilon": "10"}, 22027, 1
    for digits, step in ((7, 1), (16, 1), (19, 1)):  # ln 3 cut off, and the next number
        cut = Fraction(LN_3[: digits + 2])
        below, above = (_decimal(cut + Fraction(i * step, 10**digits), digits) for i in (0, 1))
        flags = ["Boundary", "Doubles"] if digits > 15 else ["Boundary"]
        yield ["Broken", *flags], {"epsilon": below}, 3, 1
        yield flags, {"epsilon": above}, 3, 1
        yield flags, {"epsilon": above}, 3 * 10**14, 10**14


def _odds_claims() -> Iterator[tuple[Any, ...]]:
    for text in ("3", "2", "13/7", "1011/1000", "22026", "10/9", "4503599627370496/1111111111111"):
        claim, odds = {"odds": text}, Fraction(text)
        own, other = odds.as_integer_ratio()
        factor = max(1, LIMIT // (own + other) - 1)
        yield ["Boundary"], claim, own, other
        yield ["Boundary", "Doubles"], claim, own * factor, other * factor
        yield ["Broken", "Boundary", "Doubles"], claim, own * factor + 1, other * factor
        yield [], claim, own * factor - 1, other * factor
        yield ["Broken"], claim, own + 1, other
    yield [], {"odds": "3"}, 2, 1
    yield [], {"odds": "3"}, 6, 2
    yield ["Broken"], {"odds": "2"}, 3, 1
    low = (Fraction(floor_exp(Fraction(1, 100), 40) + i, 2**40) for i in (0, 1))
    high = (Fraction(floor_exp(Fraction(10), 20) + i, 2**20) for i in (0, 1))
    for flags, odds in zip((["Range"], []), low, strict=True):
        yield [*flags, "Boundary"], {"odds": str(odds)}, *odds.as_integer_ratio()
    for flags, odds in zip(([], ["Range"]), high, strict=True):
        yield [*flags, "Boundary"], {"odds": str(odds)}, *odds.as_integer_ratio()
    for text in ("1", "101/100", "1/3", "22027", "44053/2", "1" + "0" * 30):
        yield ["Range"], {"odds": text}, 1000001, 1000000


def _malformed_claims() -> Iterator[tuple[Any, ...]]:
    out_of_range = ("0", "0.009", "0.00999999999999999999", "10.01", "10.000000000000000001", "50")
    for text in out_of_range:
        yield ["Range"], {"epsilon": text}, 1000001, 1000000
    epsilons: tuple[str, ...] = (
        "",
        "1.50",
        "1.0",
        ".5",
        "1.",
        "01",
        "1e0",
        "1E-1",
        "+1",
        "-1",
        " 1",
        "1 ",
        "1\n",
    )
    epsilons += ("1,5", "1/2", "0x1", "1_0", "NaN", "Infinity", "one", "\u0661", "\uff11")
    for text in epsilons:
        yield ["Malformed"], {"epsilon": text}, 1000001, 1000000
    odds: tuple[str, ...] = (
        "",
        "0",
        "03",
        "3.0",
        "1.5",
        "+3",
        "-3",
        " 3",
        "3 ",
        "3\n",
        "3/",
        "/3",
        "3/0",
        "3/02",
    )
    odds += ("6/2", "26/14", "3/1", "3 / 2", "3e0", "3:1", "7/2/1", "three", "\u0663", "\uff13")
    for text in odds:
        yield ["Malformed"], {"odds": text}, 1000001, 1000000
    claim: Json
    for claim in ({}, {"epsilon": "1", "odds": "3"}, {"epsilon": 1}, {"odds": 3}, {"odds": ["3"]}):
        yield ["Malformed"], claim, 1000001, 1000000
    for claim in ({"ln": "1"}, {"odds": True}, {"Epsilon": "1"}, {"odds": "3", "note": "x"}):
        yield ["Malformed"], claim, 1000001, 1000000
    for claim in ([], ["odds", "3"], "3", 3, True):
        yield ["Malformed"], claim, 1000001, 1000000


def _decimal(value: Fraction, digits: int) -> str:
    """A claim's spelling of a rational number with at most so many decimals."""
    scaled = value * 10**digits
    assert scaled.denominator == 1
    whole, rest = divmod(int(scaled), 10**digits)
    return f"{whole}.{rest:0{digits}}".rstrip("0").rstrip(".")
