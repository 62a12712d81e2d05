"""Codes of invitations: long enough not to be guessed, and every usual slip of a hand shows."""

from __future__ import annotations

from itertools import combinations
from math import log2

import pytest

from deniably.core.errors import BadInvitation
from deniably.trust.invitation_codes import _ALPHABET, _RANDOM, code_in_groups, new_code, read_code

CODE = new_code()


def test_a_code_cannot_be_guessed_and_is_read_as_it_is_shown() -> None:
    assert _RANDOM * log2(len(_ALPHABET)) >= 80
    assert len({new_code() for _ in range(100)}) == 100
    for _ in range(100):
        code = new_code()
        assert read_code(code_in_groups(code)) == code


def test_every_wrong_character_shows() -> None:
    for place, own in enumerate(CODE):
        for other in _ALPHABET:
            if other != own:
                with pytest.raises(BadInvitation, match="not as it was written"):
                    read_code(CODE[:place] + other + CODE[place + 1 :])


def test_every_two_characters_that_changed_places_show() -> None:
    for one, two in combinations(range(len(CODE)), 2):
        if CODE[one] != CODE[two]:
            turned = list(CODE)
            turned[one], turned[two] = turned[two], turned[one]
            with pytest.raises(BadInvitation):
                read_code("".join(turned))


def test_a_refusal_says_nothing_of_the_code() -> None:
    with pytest.raises(BadInvitation) as refused:
        read_code(CODE[:-1] + ("0" if CODE[-1] != "0" else "1"))

    assert CODE[:6] not in str(refused.value)
