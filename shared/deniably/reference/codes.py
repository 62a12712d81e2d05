"""Section 11, the codes of an invitation."""

from __future__ import annotations

from deniably.reference.refusal import require

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXY"
ALIKE = {"O": "0", "I": "1", "L": "1", "Z": "2", "U": "V"}


def check_character(digits: str) -> str:
    total = sum(place * ALPHABET.index(digit) for place, digit in enumerate(digits, start=1))
    return ALPHABET[total % 31]


def read_code(text: str) -> str:
    """The 18 characters of a code that a person wrote, or of a link."""
    last = text.split("#")[-1]
    require(last.isascii(), "a code has letters and digits")
    plain = "".join(ALIKE.get(char, char) for char in last.upper() if char not in " -\t\r\n")
    require(len(plain) == 18 and set(plain) <= set(ALPHABET), "a code has 18 characters")
    require(check_character(plain[:17]) == plain[17], "a character is wrong")
    return plain
