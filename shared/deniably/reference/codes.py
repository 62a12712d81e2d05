"""Reads the code of an invitation (SPEC 11.1)."""

from __future__ import annotations

from deniably.reference.refusal import require

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXY"
"""The 31 characters of a code. 31 is prime, so the check character finds every single wrong
character."""
ALIKE = {"O": "0", "I": "1", "L": "1", "Z": "2", "U": "V"}
"""Letters that people confuse with characters of the alphabet, and what each is read as."""


def check_character(digits: str) -> str:
    """Returns the last character of an invitation code, given the 17 characters before it."""
    total = sum(place * ALPHABET.index(digit) for place, digit in enumerate(digits, start=1))
    return ALPHABET[total % 31]


def read_code(text: str) -> str:
    """Returns the 18 characters of an invitation code, typed by a person or in a link.

    Raises Invalid if the text is no code.
    """
    # A link has the code behind the last #.
    last = text.split("#")[-1]
    require(last.isascii(), "a code has letters and digits")
    plain = "".join(ALIKE.get(char, char) for char in last.upper() if char not in " -\t\r\n")
    require(len(plain) == 18 and set(plain) <= set(ALPHABET), "a code has 18 characters")
    require(check_character(plain[:17]) == plain[17], "a character is wrong")
    return plain
