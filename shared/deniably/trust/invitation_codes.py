"""Makes invitation codes, reads them as people type them, and finds typing errors (SPEC 11.1).

A code has 17 random characters from 31 that are hard to confuse (84 bits), and a check character.
It detects any one wrong character and any two that changed places.
"""

from __future__ import annotations

import secrets

from deniably.core.errors import BadInvitation

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXY"
_ALIKE = str.maketrans("OILZU", "0112V", "- \t\r\n")
_RANDOM = 17
_GROUP = 6


def new_code() -> str:
    """Returns a new code of 18 characters, drawn with the operating system's generator."""
    digits = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM))
    return digits + _check(digits)


def read_code(text: str) -> str:
    """Returns the 18 characters of the code in a typed text or a link, without separators.

    Raises BadInvitation where the text is no code; the message says whether it looks like a typing
    error.

    >>> read_code("0000oo-000000-000000")
    '000000000000000000'
    """
    last = text.rpartition("#")[2]
    plain = last.upper().translate(_ALIKE) if last.isascii() else ""
    if len(plain) != _RANDOM + 1 or not set(plain) <= set(_ALPHABET):
        raise BadInvitation(
            f"an invitation has {_RANDOM + 1} letters and digits; type or paste all of it"
        )
    if _check(plain[:_RANDOM]) != plain[_RANDOM]:
        raise BadInvitation(
            "a letter or digit of the invitation is not as it was written; compare it again"
        )
    return plain


def code_in_groups(code: str) -> str:
    """Returns the code for people to read: groups of six characters with hyphens between them."""
    return "-".join(code[start : start + _GROUP] for start in range(0, len(code), _GROUP))


def _check(digits: str) -> str:
    """The check character: the places have different weights below the prime 31, so one wrong
    character changes the sum, and so do two that changed places."""
    total = sum(place * _ALPHABET.index(digit) for place, digit in enumerate(digits, start=1))
    return _ALPHABET[total % len(_ALPHABET)]
