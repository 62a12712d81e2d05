"""Characters that steer a screen or the direction of a text instead of being read.

A control character can clear the odds off a terminal, and a direction override can show a text
otherwise than it is written (Boucher and Anderson, 2021, "Trojan Source").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import cast

from deniably.core.errors import Problem

# C0 and C1 but for tab, line feed and a carriage return before one; embeddings, overrides,
# isolates. The marks U+200E, U+200F and U+061C stay: right-to-left texts need them, and they
# move nothing beyond the punctuation and the digits beside them.
_STEERING = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")


def printable(text: str) -> str:
    """The text without what a terminal would obey: that of a server or of somebody's file."""
    return _STEERING.sub("", text).encode(errors="ignore").decode()


def one_line(text: str) -> str:
    """The same on one line, so that no part of it passes for a line of the program's own."""
    return " ".join(printable(text).split("\n"))


def steering_problems(value: object, path: str = "$") -> Iterator[Problem]:
    """Every text of a JSON value that holds such a character, with the character and its place."""
    match value:
        case str():
            if found := _STEERING.search(value):
                yield Problem(path, _why(found[0], found.start() + 1))
        case dict():
            for key, item in cast("dict[str, object]", value).items():
                yield from steering_problems(item, f"{path}.{key}")
        case list():
            for index, item in enumerate(cast("list[object]", value)):
                yield from steering_problems(item, f"{path}[{index}]")
        case _:
            pass


def _why(char: str, place: int) -> str:
    what = unicodedata.name(char, "a control character").lower()
    return (
        f"character {place} is U+{ord(char):04X} ({what}), which nobody sees and which changes how"
        " the rest is shown; leave it out"
    )
