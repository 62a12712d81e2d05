"""The code of an invitation, as people type it, read it out and find it in a link (SPEC 11.1).

17 random characters of 31 that are hard to mistake (84 bits), and one more that shows a typing
error: any wrong character, and any two that changed places.
"""

from __future__ import annotations

import secrets

from deniably.core.errors import BadInvitation

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXY"
_ALIKE = str.maketrans("OILZU", "0112V", "- \t\r\n")
_RANDOM = 17
_GROUP = 6


def new_code() -> str:
    """A new code, from the operating system's generator."""
    digits = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM))
    return digits + _check(digits)


def read_code(text: str) -> str:
    """The code in what a person wrote, or in a link, without what is between its groups.

    Raises BadInvitation, whose sentence tells a typing error.
    """
    last = text.rpartition("#")[2]
    plain = last.upper().translate(_ALIKE) if last.isascii() else ""
    if len(plain) != _RANDOM + 1 or not set(plain) <= set(_ALPHABET):
        raise BadInvitation(f"an invitation has {_RANDOM + 1} letters and digits")
    if _check(plain[:_RANDOM]) != plain[_RANDOM]:
        raise BadInvitation("a letter or digit of the invitation is not as it was written")
    return plain


def code_in_groups(code: str) -> str:
    """The code in groups, for people."""
    return "-".join(code[start : start + _GROUP] for start in range(0, len(code), _GROUP))


def _check(digits: str) -> str:
    """31 is a prime, and the places have different weights below it: so each wrong character
    changes the sum, and so do two that are exchanged."""
    total = sum(place * _ALPHABET.index(digit) for place, digit in enumerate(digits, start=1))
    return _ALPHABET[total % len(_ALPHABET)]
