"""Writes and reads canonical JSON, and computes digests (SPEC 3)."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property
from typing import Any

from deniably.reference.refusal import Invalid, require
from deniably.reference.values import Json


def parse(text: str) -> Json:
    """Returns the JSON value of a text. Raises Invalid for a repeated key and for a number with a
    fraction or an exponent."""

    def unique(pairs: list[Any]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), "a key is repeated")
        return dict(pairs)

    def refuse(_: str) -> None:
        raise Invalid("a number has a fraction or an exponent")

    return json.loads(text, object_pairs_hook=unique, parse_float=refuse, parse_constant=refuse)


ESCAPES = dict(
    zip('"\\\b\f\n\r\t', ('\\"', "\\\\", "\\b", "\\f", "\\n", "\\r", "\\t"), strict=True)
)


PLAIN = re.compile(r"[ !#-\[\]-~]*").fullmatch
"""Matches a text of ASCII characters that need no escape; most texts take this fast path."""


def canonical(value: Json) -> str:
    """Returns the canonical JSON of a value. Raises Invalid if SPEC 3 does not allow the value."""
    # `type`, not `isinstance`: True is an int in Python, and is written differently.
    if type(value) is int:
        require(abs(value) <= 2**53 - 1, "an integer is larger than 2^53 - 1")
        return str(value)
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is str:
        if PLAIN(value):
            return f'"{value}"'
        require(not re.search("[\ud800-\udfff]", value), "a lone surrogate is no character")
        return '"' + re.sub('["\\\\\x00-\x1f]', _escaped, value) + '"'
    if type(value) is list:
        return "[" + ",".join(canonical(item) for item in value) + "]"
    require(isinstance(value, dict), "only objects, arrays, strings, booleans and integers")
    # RFC 8785 sorts keys by UTF-16 code units, which differs from Python's order by code points.
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(canonical(key) + ":" + canonical(value[key]) for key in keys) + "}"


def _escaped(match: re.Match[str]) -> str:
    return ESCAPES.get(match[0], f"\\u{ord(match[0]):04x}")


class Published(dict[str, Any]):
    """A JSON object that will not change any more, so that its digest is computed only once."""

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the object's canonical JSON, in hexadecimal."""
        return digest(dict(self))


def digest(value: Json) -> str:
    """Returns the SHA-256 of a value's canonical JSON, in 64 hexadecimal digits."""
    if isinstance(value, Published):
        return value.digest
    return hashlib.sha256(canonical(value).encode()).hexdigest()
