"""Finds addresses (names) that no survey has yet."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import date
from itertools import count
from string import ascii_lowercase

from deniably.survey.parts import SURVEY_NAME
from deniably_server.storage.tables.tokens import day_in

_SEASONS = ("winter", "spring", "summer", "autumn")
_LONGEST = 60
"""The most characters of a name that an ending is added to: 64 are allowed, and "-z9" is three."""
_ADDED = re.compile(r"-(?:[b-z]|z[0-9]+)\Z")


def free_address(wanted: str, taken: Collection[str]) -> str:
    """Returns ``wanted`` if no survey has that address, else ``wanted`` with the next ending that
    is free.

    A text that cannot be a survey's name is returned unchanged; the check of the draft reports it.

    >>> free_address("spring-26", ["spring-26", "spring-26-b"])
    'spring-26-c'
    >>> free_address("Spring", [])
    'Spring'
    """
    if wanted not in taken or not re.match(SURVEY_NAME, wanted):
        return wanted
    plain = _ADDED.sub("", wanted)[:_LONGEST].rstrip("-")
    return next(name for end in _ends() if (name := f"{plain}-{end}") not in taken)


def season_address(taken: Collection[str]) -> str:
    """Returns a free address that names only the season, such as "autumn-26": addresses stay in the
    histories of browsers, so they should not say the topic."""
    day = date.fromisoformat(day_in(0))
    season = _SEASONS[day.month % 12 // 3]
    return free_address(f"{season}-{day.year % 100:02}", taken)


def _ends() -> Iterator[str]:
    yield from ascii_lowercase[1:]
    yield from (f"z{number}" for number in count(2))
