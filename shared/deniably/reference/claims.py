"""Checks a question's claim against its mechanism's loss, without rounding (SPEC 2.2)."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import cache
from typing import Any

from mpmath import iv

from deniably.reference.parameters import decimal
from deniably.reference.refusal import require
from deniably.reference.values import Json, Loss


def exp_interval(x: Fraction, digits: int = 120) -> Any:
    """Returns an mpmath interval that certainly contains e^x, computed with ``digits`` decimal
    digits."""
    # mpmath keeps its precision in a global, so each use sets it.
    iv.dps = digits
    return iv.exp(iv.mpf(x.numerator) / iv.mpf(x.denominator))


@cache
def at_most_exp(ratio: Fraction, x: Fraction) -> bool:
    """Returns whether ratio <= e^x. Raises AssertionError if the interval of e^x does not
    decide."""
    interval, exact = exp_interval(x), iv.mpf(ratio.numerator) / iv.mpf(ratio.denominator)
    # e^x is irrational for every rational x but 0, so enough digits always decide. 120 have
    # sufficed.
    assert exact.b < interval.a or exact.a > interval.b, "too close to decide"
    return bool(exact.b < interval.a)


def floor_exp(x: Fraction, bits: int) -> int:
    """Returns floor(2^bits * e^x). Raises AssertionError if the interval of e^x does not decide."""
    interval = exp_interval(x) * 2**bits
    low, high = math.floor(interval.a), math.floor(interval.b)
    assert low == high, "the floor is not certain"
    return int(low)


def read_claim(claim: Json) -> tuple[str, Fraction]:
    """Returns (kind, value) of a claim, where the kind is "epsilon" or "odds". Raises Invalid for
    any other claim, and for a value that is not from 0.01 to 10 as an epsilon."""
    require(type(claim) is dict and len(claim) == 1, "a claim is either epsilon or odds")
    ((kind, text),) = claim.items()
    require(kind in ("epsilon", "odds") and type(text) is str, "a claim is a text")
    if kind == "epsilon":
        plain = re.fullmatch(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text)
        require(plain, "epsilon is a plain decimal number")
        require(Fraction(1, 100) <= Fraction(text) <= 10, "epsilon is from 0.01 to 10")
        return kind, Fraction(text)
    require(re.fullmatch(r"[1-9][0-9]*(/[1-9][0-9]*)?", text), "odds are n or n/d")
    odds = Fraction(text)
    require(str(odds) == text, "odds are in lowest terms")
    in_range = not at_most_exp(odds, Fraction(1, 100)) and at_most_exp(odds, Fraction(10))
    require(in_range, "odds are from e^0.01 to e^10")
    return kind, odds


def check_claim(claim: Json, own: int, other: int) -> None:
    """Raises Invalid if the odds ``own/other`` are larger than the claim allows."""
    kind, value = read_claim(claim)
    odds = Fraction(own, other)
    kept = odds <= value if kind == "odds" else at_most_exp(odds, value)
    require(kept, "own/other is larger than claimed")


def check_promise(claim: Json, loss: Loss) -> None:
    """Raises Invalid if a privacy loss (odds, exponent and delta) is larger than the claim allows.

    SPEC 2.2 says how the two are compared.
    """
    odds, exponent, delta = loss
    require(type(claim) is dict, "a claim is an object")
    if "delta" in claim:
        require("epsilon" in claim, "a delta stands beside an epsilon")
        stated = decimal(claim["delta"])
        require(0 < stated <= Fraction(1, 10000), "0 < delta <= 0.0001")
        require(0 < delta <= stated, "the delta is claimed, and kept")
    else:
        require(delta == 0, "a delta is claimed")
    kind, value = read_claim({key: text for key, text in claim.items() if key != "delta"})
    if kind == "odds":
        require(exponent == 0 and odds <= value, "the odds are larger than claimed")
        return
    rest = value - exponent
    require(rest >= 0, "the exponent is larger than claimed")
    # An exponent equal to the epsilon leaves room for odds of 1 alone, and `at_most_exp` cannot
    # decide 1 <= e^0.
    kept = odds == 1 if rest == 0 else odds == 1 or at_most_exp(odds, rest)
    require(kept, "the odds are larger than claimed")
