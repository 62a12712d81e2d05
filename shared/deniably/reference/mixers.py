"""Checks the mixer of a definition (SPEC 4.8)."""

from __future__ import annotations

import re
from fractions import Fraction

from deniably.reference.claims import at_most_exp
from deniably.reference.losses import loss
from deniably.reference.p256 import read_point
from deniably.reference.parameters import decimal
from deniably.reference.refusal import require
from deniably.reference.values import Json, Loss, Mechanism

MEMBERS = ("address", "by", "key", "signing", "open", "length", "blanks", "claim")
HOST = r"([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])"
HERE = r"(localhost|127\.0\.0\.1|\[::1\])"
ORIGIN = rf"(https://{HOST}|http://{HERE})(:[1-9][0-9]{{0,4}})?"
APART = ("waves", "strata", "ask", "part", "invited")
"""The keys of a definition that do not go with a mixer."""


def matches(value: Json, pattern: str) -> None:
    """Raises Invalid unless ``value`` is a text that matches the whole ``pattern``."""
    require(type(value) is str and re.fullmatch(pattern, value), f"is none of {pattern}")


def check_mixer(definition: Json) -> None:
    """Raises Invalid unless the definition's ``mixer`` is valid and goes with all else.

    All keys, names and questions of the definition were checked, and that ``by`` is a text.
    """
    mixer, questions = definition["mixer"], definition["questions"]
    matches(mixer["address"], ORIGIN)
    check_point(mixer["key"])
    check_point(mixer["open"])
    require(mixer["key"] != mixer["open"], "two parties have two keys")
    matches(mixer["signing"], "[0-9a-f]{64}")
    require(type(mixer["blanks"]) is int and 1 <= mixer["blanks"] <= 20000, "1 to 20000 blanks")
    check_claim(mixer["claim"])
    for key in APART:
        require(key not in definition, f"no {key} with a mixer")
    results = definition["results"]
    require(not results["while_open"], "no results while the survey is open")
    require(results.get("reports") != "public", "no public reports")
    for question in questions:
        check_local(loss(question["mechanism"]))
    length = mixer["length"]
    require(type(length) is int, "length is an integer")
    for question in questions:
        longest = 134 + len(question["name"]) + 12 * numbers(question["mechanism"])
        require(length >= 2 + longest, "every report fits")
    require(18 + len(questions) * (length + 81) <= 65535, "all envelopes fit into one")


def check_point(text: Json) -> None:
    """Raises Invalid unless the text is an uncompressed point of P-256."""
    matches(text, "04[0-9a-f]{128}")
    read_point(bytes.fromhex(text))


def check_claim(claim: Json) -> None:
    """Raises Invalid unless ``claim`` has the form of a mixer's claim."""
    require(type(claim) is dict and set(claim) == {"epsilon", "delta"}, "epsilon and delta")
    epsilon, delta = decimal(claim["epsilon"]), decimal(claim["delta"])
    require(Fraction(1, 100) <= epsilon <= 10, "epsilon is from 0.01 to 10")
    require(delta > 0 and (1 / delta).denominator == 1, "delta is one over a whole number")
    require(delta <= Fraction(1, 10000), "delta is at most 0.0001")


def check_local(found: Loss) -> None:
    """Raises Invalid where a loss has a delta, or odds * e^exponent above 20."""
    odds, exponent, delta = found
    require(delta == 0, "no delta with a mixer")
    room = 20 / odds
    # e^x is irrational for every rational x but 0, so that there is no tie.
    small = room >= 1 if exponent == 0 else room > 1 and not at_most_exp(room, exponent)
    require(small, "local odds of at most 20")


def numbers(mechanism: Mechanism) -> int:
    """Returns how many numbers a report has at most."""
    match mechanism["name"]:
        case "subset_selection":
            return mechanism["omega"]
        case "set_response":
            return mechanism["size"]
        case "sampled_ticks" | "vector":
            return mechanism["s"]
        case "unary":
            return mechanism["k"]
        case _:
            return 1
