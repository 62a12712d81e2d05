"""Characters that change how a text is shown: controls, direction overrides, and line breaks.

A control character can wipe the odds off a terminal. A direction override can show a text in
another order than it has (Boucher and Anderson 2021, "Trojan Source"). A line break in a title can
end a comment, so that what follows is a command of the language in which the title was written.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import cast

from deniably.core.errors import Problem

# C0 and C1 except tab, line feed and a carriage return before one; embeddings, overrides and
# isolates. The marks U+200E, U+200F and U+061C are allowed: right-to-left texts need them, and
# they move only the punctuation and the digits beside them.
_STEERING = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")
_LINE_BREAK = re.compile("\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
"""All that ``str.splitlines``, or a program that reads a written file, takes for a line's end."""
LONGEST_FOUND = 64
"""Characters of a wrong value that a refusal shows, so that it does not flood a terminal."""
_SEVERAL_LINES = ("$.intro", "$.contact")
"""The texts of a definition that may have paragraphs."""


def printable(text: str) -> str:
    """Returns an untrusted text without characters that control a terminal or a text's
    direction."""
    # A lone surrogate cannot be encoded; printing it would raise an error.
    return _STEERING.sub("", text).encode(errors="ignore").decode()


def one_line(text: str) -> str:
    """Returns a text without the characters that ``printable`` removes, and with a space for every
    line break and tab.

    So no part of the text looks like the program's own output, or like code where the text is in a
    comment.

    >>> one_line("Health\\r\\nsystem('touch x')\\u2028#\\x85")
    "Health system('touch x') # "
    """
    return printable(_LINE_BREAK.sub(" ", text)).replace("\t", " ")


def steering_problems(value: object) -> Iterator[Problem]:
    """Yields a Problem for every text in a survey's definition that has a character which changes
    how the text is displayed.

    ``value`` is the definition as a JSON value. A line break is such a character, too, except in
    ``intro`` and ``contact``.
    """
    for path, text in _texts(value, "$"):
        if why := _what_steers(path, text):
            yield Problem(path, why, "control-character")


def refused_texts(value: object) -> Iterator[Problem]:
    """Yields a Problem for every text in a survey's definition that has a character which changes
    how the text is displayed. Each message quotes the beginning of that text.

    At most 64 characters are quoted, in ASCII. ``steering_problems`` finds the same texts, and
    quotes none.
    """
    for path, text in _texts(value, "$"):
        if why := _what_steers(path, text):
            yield Problem(path, f"{why}; found {json.dumps(text)[:LONGEST_FOUND]}")


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Every text of a JSON value, with its path."""
    match value:
        case str():
            yield path, value
        case dict():
            for key, item in cast("dict[str, object]", value).items():
                yield from _texts(item, f"{path}.{key}")
        case list():
            for index, item in enumerate(cast("list[object]", value)):
                yield from _texts(item, f"{path}[{index}]")
        case _:
            pass


def _what_steers(path: str, text: str) -> str:
    """What is wrong with a text, and how to mend it; empty where nothing is."""
    if match := _STEERING.search(text):
        return _why(match[0], match.start() + 1)
    if path not in _SEVERAL_LINES and (match := _LINE_BREAK.search(text)):
        return _why_one_line(text, match)
    return ""


def _why(char: str, place: int) -> str:
    what = unicodedata.name(char, "a control character").lower()
    return (
        f"character {place} is U+{ord(char):04X} ({what}), which nobody sees and which changes how"
        " the rest is shown; leave it out"
    )


def _why_one_line(text: str, match: re.Match[str]) -> str:
    mend = "leave it out" if not text[match.end() :].strip() else "put a space there"
    return (
        f"character {match.start() + 1} is a line break (U+{ord(match[0][0]):04X}); this text is"
        f" on one line: {mend} (in YAML, begin a long text with >- instead of > or |)"
    )
