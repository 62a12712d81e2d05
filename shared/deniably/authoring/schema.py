"""Generates the published JSON Schema of an author's survey from its types (``written``)."""

from __future__ import annotations

from functools import cache, reduce
from typing import Any, cast

from msgspec import inspect

from deniably.authoring.written import WrittenSurvey

_HEAD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "urn:deniably:survey:1",
    "title": "Deniably survey",
    "$comment": "What an author writes, in YAML or JSON. Publishing turns it into the exact"
    " integers that devices use.",
    "description": "a group of keys: name, title, questions and, if wanted, intro, contact,"
    " language, results, budget, waves, invited, part, strata, mixer",
}

_Schema = dict[str, Any]


@cache
def schema() -> _Schema:
    """Returns the published JSON Schema (draft 2020-12) of what an author writes."""
    return _HEAD | _of(inspect.type_info(WrittenSurvey))


def _of(kind: inspect.Type) -> _Schema:
    match kind:
        case inspect.Metadata():
            return _described(kind)
        case inspect.UnionType():
            return _of_union(
                [each for each in kind.types if not isinstance(each, inspect.NoneType)]
            )
        case inspect.StructType():
            return _of_struct(kind)
        case inspect.VarTupleType():
            bounds = _bounds(kind, min_length="minItems", max_length="maxItems")
            return {"type": "array", **bounds, "items": _of(kind.item_type)}
        case inspect.DictType():
            bounds = _bounds(kind, min_length="minProperties", max_length="maxProperties")
            names, values = _of(kind.key_type), _of(kind.value_type)
            return {
                "type": "object", **bounds, "propertyNames": names, "additionalProperties": values
            }  # fmt: skip
        case inspect.LiteralType(values=(only,)):
            return {"const": only}
        case inspect.LiteralType():
            return {"enum": list(kind.values)}
        case inspect.StrType():
            keys = {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"}
            return {"type": "string", **_bounds(kind, **keys)}
        case inspect.IntType():
            return {"type": "integer", **_bounds(kind, ge="minimum", le="maximum")}
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.CustomType():
            return {}  # its Meta gives the keywords
        case _:
            raise TypeError(f"{kind} is nothing that an author writes")


def _bounds(kind: inspect.Type, **keys: str) -> _Schema:
    bounds = {keyword: getattr(kind, name) for name, keyword in keys.items()}
    return {keyword: bound for keyword, bound in bounds.items() if bound is not None}


def beside(kind: inspect.Type) -> dict[str, Any]:
    """Returns what ``key_types.says`` was told about a type, for facts that JSON Schema cannot
    express."""
    extra = kind.extra if isinstance(kind, inspect.Metadata) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # msgspec says dict alone
    return cast("dict[str, Any]", extra or {})


def _described(kind: inspect.Metadata) -> _Schema:
    more = cast(_Schema, kind.extra_json_schema or {})  # pyright: ignore[reportUnknownMemberType]  # msgspec says dict alone
    described: _Schema = {"enum": more["enum"]} if "enum" in more else _of(kind.type)
    if note := beside(kind).get("type"):  # of questions
        *others, last = cast(list[str], described["properties"]["type"]["enum"])
        described["properties"]["type"]["description"] = f"{', '.join(others)} or {last} {note}"
    return described | more


def _of_struct(kind: inspect.StructType) -> _Schema:
    properties = {field.encode_name: _of(field.type) for field in kind.fields}
    required = [field.encode_name for field in kind.fields if field.required]
    if kind.tag_field:  # stands behind the name
        properties = {"name": {}, kind.tag_field: {"enum": [kind.tag]}} | properties
        required.insert(1, kind.tag_field)
    return {
        "type": "object",
        "additionalProperties": False,
        **({"required": required} if required else {}),
        "properties": properties,
    }


def _of_union(kinds: list[inspect.Type]) -> _Schema:
    """Several types as one flat schema, so that a mistake is reported at its key.

    A keyword of JSON Schema applies to values of its own type alone. Of several objects the shared
    keys are required. Which key goes with which type of question is checked in ``reading``.
    """
    return reduce(_merged, map(_of, kinds))


def _merged(first: _Schema, second: _Schema) -> _Schema:
    return first | {
        keyword: _either(keyword, first[keyword], value) if keyword in first else value
        for keyword, value in second.items()
    }


def _either(keyword: str, first: Any, second: Any) -> Any:
    if first == second:
        return first
    match keyword:
        case "type":
            return [*(first if isinstance(first, list) else [first]), second]
        case "enum":
            return [*first, *second]
        case "required":
            return [name for name in first if name in second]
        case "properties":
            return first | {
                name: _merged(first[name], value) if name in first else value
                for name, value in second.items()
            }
        case "items":
            return _merged(first, second)
        case _:
            raise TypeError(f"{keyword} is {first} here and {second} there")
