"""Canonical JSON (RFC 8785, integers only) and digests (SPEC 3)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, cast

import rfc8785

LARGEST_INTEGER = (1 << 53) - 1
_BY_CODE_POINTS = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)
_OF_TWO_UNITS = re.compile(b"[\xf0-\xf4]")
"""Where UTF-8 begins a character that UTF-16 writes in two units."""


def canonical(value: object) -> bytes:
    """Returns the canonical JSON of ``value``; equal values have equal bytes.

    Raises ValueError for what SPEC 3 refuses: fractions, null, integers beyond 2**53 - 1 and lone
    surrogates.

    >>> canonical({"b": [1, 2], "a": True})
    b'{"a":true,"b":[1,2]}'
    """
    _refuse(value)
    try:
        # RFC 8785 sorts keys by UTF-16 units, Python by code points. The orders differ only for
        # characters of two units; without any, Python's encoder writes the same in a tenth of the
        # time.
        encoded = _BY_CODE_POINTS.encode(value).encode()
        if not _OF_TWO_UNITS.search(encoded):
            return encoded
        return rfc8785.dumps(value)  # type: ignore[arg-type]  # checked by _refuse
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        raise ValueError("a text holds a lone surrogate, which is no character") from None


def digest(value: object) -> str:
    """Returns the SHA-256 of the canonical JSON of ``value``, as 64 lower-case hexadecimal
    digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def parse(text: str | bytes) -> Any:
    """Returns the value of a JSON text; numbers with a point or an exponent become ``Decimal``.

    Raises ValueError for text that is no JSON, a repeated key, NaN or Infinity, and deep nesting.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            # Not a float, which would be rounded: ``canonical`` refuses it, whatever its value.
            parse_float=Decimal,
            parse_constant=_no_constant,
        )
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a key is given twice in one object")
    return mapping


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def _refuse(value: object) -> None:
    match value:
        case bool() | str():
            pass
        case int():
            if abs(value) > LARGEST_INTEGER:
                raise ValueError("an integer is beyond 2**53 - 1")
        case list() | tuple():
            for item in cast(Sequence[object], value):
                if type(item) is not str:  # most are, and need no look
                    _refuse(item)
        case dict():
            for key, item in cast(dict[object, object], value).items():
                if not isinstance(key, str):
                    raise ValueError(f"a key is of type {type(key).__name__}, and not a text")
                if type(item) is not str:
                    _refuse(item)
        case _:
            raise ValueError(
                "only objects, lists, texts, booleans and integers are allowed, not"
                f" {type(value).__name__}"
            )
