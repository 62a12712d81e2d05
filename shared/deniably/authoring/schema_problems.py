"""Turns JSON Schema errors into sentences: the path, the mistake, and what is allowed.

Needs the extra ``author`` (jsonschema). The sentences take what is allowed from the descriptions in
the schema, so that each is written once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from difflib import get_close_matches
from math import inf
from typing import Any, cast

import jsonschema

from deniably.authoring.schema import schema
from deniably.core.errors import Problem
from deniably.survey.free_text import MEND, WHY, is_free_text

_Error = jsonschema.ValidationError

_MOST_KEYS = 20  # unknown ones that one problem names


def schema_problems(document: object) -> Iterator[Problem]:
    """Yields every problem that the schema finds in a document, each with its path."""
    errors: Iterator[_Error] = _Validator(schema()).iter_errors(document)
    for error in errors:
        code = _CODES.get(str(error.validator), "not-allowed")
        yield Problem(_path(error.absolute_path), _sentence(error), code)


def _path(parts: Iterable[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def _sentence(error: _Error) -> str:
    sentence = _SENTENCES.get(str(error.validator), _beyond_what_is_allowed)
    return sentence(error)


def _unknown_key(error: _Error) -> str:
    group = cast(dict[str, Any], error.instance)
    allowed = cast(dict[str, Any], error.schema)["properties"]
    names = [str(key) for key in group if key not in allowed]
    unknown, more = names[:_MOST_KEYS], len(names) - _MOST_KEYS
    meant = " ".join(_meant(key, allowed) for key in unknown).strip()
    if any(" " in key and group[key] is None for key in unknown):
        meant = "within { } a text with a comma stands in quotes"
    known = ", ".join(allowed)
    further = f" and {more:,} more" if more > 0 else ""
    return (
        f"unknown key {', '.join(unknown)}{further}{meant and f' ({meant})'}; allowed are {known}"
    )


def _none_of(error: _Error) -> str:
    if error.absolute_path[-1] == "type" and is_free_text(error.instance):
        return f"{WHY}; {MEND}"
    names = [str(name) for name in cast(list[object], error.validator_value)]
    meant = _meant(str(error.instance), names)
    refused = f"{_shown(error.instance)}{meant and f' ({meant})'}"
    allowed = _allowed(error)
    listed = "" if all(name in allowed for name in names) else f": {', '.join(names)}"
    return f"{refused}; allowed is {allowed}{listed}"


def _missing(error: _Error) -> str:
    group = cast(dict[str, Any], error.instance)
    missing = [key for key in cast(list[str], error.validator_value) if key not in group]
    return f"the key {missing[0]} is missing"


def _beyond_what_is_allowed(error: _Error) -> str:
    allowed = _allowed(error)
    is_number = type(error.instance) in (int, Decimal) and "text of" in allowed
    quoted = f' (write "{error.instance}" in quotes for a text)' if is_number else ""
    return f"{_shown(error.instance)}{quoted}; allowed is {allowed}"


_SENTENCES: dict[str, Callable[[_Error], str]] = {
    "additionalProperties": _unknown_key,
    "enum": _none_of,
    "required": _missing,
}
_CODES = {"additionalProperties": "unknown-key", "required": "missing-key"}


def _meant(written: str, names: Iterable[str]) -> str:
    """The name that was probably meant, as a question; empty where none is similar."""
    near = get_close_matches(written, list(names), 1)
    return f"did you mean {near[0]}?" if near else ""


def _allowed(error: _Error) -> str:
    """The description of the innermost schema with one: it says what is allowed there."""
    described = ""
    at: Any = schema()
    for part in error.absolute_schema_path:
        if isinstance(part, str):  # a key of a group, not a place of a list
            described = str(at.get("description", described))
        at = at[part]
    return described


def _shown(value: object) -> str:
    match value:
        case bool():
            word = "true" if value else "false"
            return f'the boolean {word} (write "{word}" in quotes for a text)'
        case None:
            return "nothing is given"
        case str():
            return f"the text {_cut(value)!r}"
        case int() | Decimal():
            return f"the number {_cut(str(value))}"
        case list():
            return f"a list of {len(cast(list[object], value))}"
        case _:
            return "a group of keys"


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _is_integer(_: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _bound(outside: Callable[[Decimal, Decimal], bool]) -> Callable[..., Iterator[Any]]:
    """A check of a bound in exact decimals: the double nearest to 0.01 is above one hundredth."""

    def check(validator: Any, bound: object, value: object, _: object) -> Iterator[Any]:
        if validator.is_type(value, "number"):
            number = Decimal(str(value))
            if number.is_nan() or outside(number, Decimal(str(bound))):
                yield _Error(f"{value} is beyond {bound}")

    return check


def _items(validator: Any, items: object, value: object, group: Any) -> Iterator[Any]:
    """A check of the items of a list that is not too long: ``maxItems`` refuses the others."""
    if validator.is_type(value, "array") and len(cast(list[object], value)) <= group.get(
        "maxItems", inf
    ):
        check_items = jsonschema.Draft202012Validator.VALIDATORS["items"]
        yield from check_items(validator, items, value, group)


_Validator: Any = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator,
    {
        "minimum": _bound(operator.lt),
        "exclusiveMinimum": _bound(operator.le),
        "maximum": _bound(operator.gt),
        "items": _items,
    },
    # 1.0 is no integer here: the canonical definition knows no fractions.
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
