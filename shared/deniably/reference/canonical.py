"""Section 3, canonical JSON."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property
from typing import Any

from deniably.reference.refusal import Invalid, require
from deniably.reference.values import Json


def parse(text: str) -> Json:
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


def canonical(value: Json) -> str:
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
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(canonical(key) + ":" + canonical(value[key]) for key in keys) + "}"


def _escaped(match: re.Match[str]) -> str:
    return ESCAPES.get(match[0], f"\\u{ord(match[0]):04x}")


class Published(dict[str, Any]):
    """An object that is not changed any more: its digest is computed once."""

    @cached_property
    def digest(self) -> str:
        return digest(dict(self))


def digest(value: Json) -> str:
    if isinstance(value, Published):
        return value.digest
    return hashlib.sha256(canonical(value).encode()).hexdigest()
