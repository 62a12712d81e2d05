"""Converts an author's document into typed values (``written``), and checks each question's keys.

The schema says what each key may hold. This module knows which keys go with which type of question.
Every mistake is reported with its path. A misplaced key is left out of the value, so that the rest
is checked too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from itertools import chain, islice
from typing import Any, cast

import msgspec
from msgspec import inspect

from deniably.authoring.documents import LONGEST_NUMBER
from deniably.authoring.key_types import Numeral
from deniably.authoring.schema import beside
from deniably.authoring.schema_problems import schema_problems
from deniably.authoring.written import EVERY_KEY, KINDS, WrittenSurvey
from deniably.core.errors import BadSurvey, Problem
from deniably.core.steering import steering_problems
from deniably.survey.survey import what_is_wrong

_Group = Mapping[str, Any]

MOST_PROBLEMS = 100
"""The maximum of problems that are listed; a hostile document has as many as it has values."""
_LONGEST_TEXT = 1000  # characters; far more than any key allows, and quick to convert


def read(document: object) -> tuple[WrittenSurvey, list[list[Problem]]]:
    """Returns the document as typed values, and a list of problems for each question.

    The problems are misplaced and missing keys.

    Raises BadSurvey with the problems found, at most ``MOST_PROBLEMS``, where the document breaks
    the schema.
    """
    problems = document_problems(document)
    if broken := list(dict.fromkeys(islice(problems, MOST_PROBLEMS))):
        if next(problems, None):
            broken.append(Problem("$", "there are more problems; mend these first"))
        raise BadSurvey(broken)
    return typed(document)


def typed(document: object) -> tuple[WrittenSurvey, list[list[Problem]]]:
    """Returns what ``read`` does, of a document in which ``document_problems`` found none: to look
    for them takes as long as all else. Raises BadSurvey for what the schema cannot say."""
    # The schema has vouched for the shape of every part.
    written = cast(dict[str, Any], document)
    questions = cast(list[_Group], written["questions"])
    misplaced = [
        list(_misplaced(question, f"$.questions[{index}]"))
        for index, question in enumerate(questions)
    ]
    kept = written | {"questions": [_with_its_keys(question) for question in questions]}
    try:
        return msgspec.convert(kept, WrittenSurvey, dec_hook=_as_numeral), misplaced
    except msgspec.ValidationError as error:
        raise BadSurvey([*chain(*misplaced), what_is_wrong(error)]) from None


def document_problems(document: object) -> Iterator[Problem]:
    """Yields the problems of a document that breaks the schema, or whose texts have control
    characters."""
    return chain(schema_problems(document), steering_problems(document))


def _as_numeral(kind: type, value: object) -> Numeral:
    """A Numeral. Raises ValueError for a number that would take too long to convert."""
    assert kind is Numeral
    text = str(value)
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"the number has {len(text):,} characters; write at most {LONGEST_NUMBER}")
    if isinstance(value, Decimal) and value and value.adjusted() < -_LONGEST_TEXT:
        raise ValueError(
            f"the number is next to nothing, {value:.1e}; write a larger one, such as 0.001"
        )
    return Numeral(text)


# --- keys -------------------------------------------------------------------------------------


def _misplaced(question: _Group, path: str) -> Iterator[Problem]:
    """The keys that a question of this type cannot have, and those that are missing."""
    kind = KINDS[question["type"]]
    keys = _keys(kind)
    for key in question:
        if key not in keys and key != "type":
            own = ", ".join(sorted(keys.keys() - EVERY_KEY))
            why = f"{question['type']} has no {key}; it may have {own}"
            yield Problem(f"{path}.{key}", kind.refused.get(key, why), "unknown-key")
    for key, needs in keys.items():
        if needs and key not in question:
            yield Problem(path, f"{question['type']} needs {needs}", "missing-key")
    if part := _part(kind):
        for index, written in enumerate(question.get("parts", ())):
            yield from _misplaced_in_part(written, _keys(part), f"{path}.parts[{index}]")


def _misplaced_in_part(part: _Group, keys: Mapping[str, str], path: str) -> Iterator[Problem]:
    for key, needs in keys.items():
        if needs and key not in part:
            yield Problem(path, f"the key {key} is missing", "missing-key")
    for key in part:
        if key not in keys:
            yield Problem(f"{path}.{key}", f"a part here has no {key}", "unknown-key")


def _with_its_keys(question: _Group) -> dict[str, Any]:
    kind = KINDS[question["type"]]
    kept = {key: question[key] for key in question if key == "type" or key in _keys(kind)}
    if (part := _part(kind)) and "parts" in kept:
        kept["parts"] = [
            {key: written[key] for key in written if key in _keys(part)}
            for written in cast(Sequence[_Group], kept["parts"])
        ]
    return kept


@cache
def _keys(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The keys of a struct; a required key with the sentence for a question without it."""
    return {field.encode_name: str(beside(field.type).get("needs", "")) for field in _fields(kind)}


@cache
def _part(kind: type[msgspec.Struct]) -> type[msgspec.Struct] | None:
    """The type of the parts of such a question; None where it has no parts."""
    for field in _fields(kind):
        inner = _plain(field.type)
        if field.name == "parts" and isinstance(inner, inspect.VarTupleType):
            part = _plain(inner.item_type)
            assert isinstance(part, inspect.StructType)
            return part.cls
    return None


def _fields(kind: type[msgspec.Struct]) -> Sequence[inspect.Field]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return info.fields


def _plain(kind: inspect.Type) -> inspect.Type:
    return kind.type if isinstance(kind, inspect.Metadata) else kind
