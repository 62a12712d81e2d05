"""Control characters and direction overrides, which change how a text is shown.

A control character can wipe the odds off a terminal. A direction override can show a text in
another order than it has (Boucher and Anderson 2021, "Trojan Source").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import cast

from deniably.core.errors import Problem

# C0 and C1 except tab, line feed and a carriage return before one; embeddings, overrides and
# isolates. The marks U+200E, U+200F and U+061C are allowed: right-to-left texts need them, and
# they move only the punctuation and the digits beside them.
_STEERING = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")


def printable(text: str) -> str:
    """An untrusted text without the characters that control a terminal."""
    return _STEERING.sub("", text).encode(errors="ignore").decode()


def one_line(text: str) -> str:
    """``printable`` text on one line, so that no part of it looks like the program's own output."""
    return " ".join(printable(text).split("\n"))


def steering_problems(value: object, path: str = "$") -> Iterator[Problem]:
    """A problem for every text of a JSON value that has such a character."""
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
