"""The cases of codes.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deniably.reference.codes import ALPHABET, check_character, read_code
from deniably.reference.refusal import Invalid
from spec.cases.tapes import label_bytes
from spec.vector_types import Case, Made

CODE_NOTES = {
    "Alike": "characters that look or sound alike stand for the one that is in the alphabet",
    "Length": "more or fewer characters than a code has",
    "Typo": "one character is another, or two changed places: the last character shows it",
}


def cases() -> Made:
    return CODE_NOTES, [{"type": "code", "tests": [_code(*case) for case in _codes()]}]


def _made(label: str) -> str:
    digits = "".join(ALPHABET[byte % 31] for byte in label_bytes(label, 17))
    return digits + check_character(digits)


GOOD = _made("code 0")


def _codes() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, text)"""
    for number in range(8):
        yield "any", [], _made(f"code {number}")
    for digit in "0Y":
        yield f"all {digit}", [], digit * 17 + check_character(digit * 17)
    groups = f"{GOOD[:6]}-{GOOD[6:12]}-{GOOD[12:]}"
    yield "in groups", [], groups
    yield "small, with spaces around", [], f"  {groups.lower()}\r\n"
    yield "with spaces between", ["Alike"], " ".join(GOOD)
    yield "a link", [], f"https://example.org/s/workplace#{groups}"
    yield "a link with letters of all kinds", [], f"https://m\u00fcller.example/s/w#{GOOD}"
    yield "the fragment alone", [], f"#{groups}"
    alike = "0" * 5 + "1" * 6 + "2" * 3 + "V" * 3
    told = alike + check_character(alike)
    yield "alike, as they are", [], told
    yield "alike, as they are not", ["Alike"], "OooOo" + "IiLl1I" + "zZZ" + "uUU" + told[17:]
    for place in range(18):
        digit = ALPHABET[(ALPHABET.index(GOOD[place]) + 1 + place) % 31]
        yield f"place {place} is another", ["Typo"], GOOD[:place] + digit + GOOD[place + 1 :]
    different = "0123456789ABCDEFG"
    different += check_character(different)
    for one, two in ((0, 1), (0, 16), (7, 8), (15, 16), (0, 17), (16, 17), (3, 12)):
        turned = list(different)
        turned[one], turned[two] = turned[two], turned[one]
        comment = f"places {one} and {two} exchanged"
        yield comment, ["Typo"], "".join(turned)
    yield "17 characters", ["Length"], GOOD[:17]
    yield "19 characters", ["Length"], GOOD + "0"
    yield "19 that add up", ["Length"], GOOD + check_character(GOOD)
    yield "17 that add up", ["Length"], GOOD[:16] + check_character(GOOD[:16])
    yield "nothing", ["Length"], ""
    yield "groups alone", ["Length"], "--"
    yield "a character that is none", ["Typo"], GOOD[:5] + "*" + GOOD[6:]
    yield "other digits", ["Typo"], "\u0663" + GOOD[1:]
    long = "S" * 17
    yield "letters that are ours", [], long + check_character(long)
    for other in ("\u017f", "\uff33", "\u0455"):  # capital, or as it looks, one of ours
        yield "a letter like ours", ["Typo"], other + long[1:] + check_character(long)


def _code(comment: str, flags: list[str], text: str) -> dict[str, Any]:
    case: Case = {"comment": comment, "flags": flags, "text": text}
    try:
        return case | {"code": read_code(text), "result": "valid"}
    except Invalid as error:
        return case | {"result": "invalid", "reason": str(error)}
