"""Edits drafts: an author's document while it is written, by one person or by several at once.

Each question of a draft has a hidden ``id``. The draft says how many people are expected to answer
(``expect``), and may have a mixer's ``offer`` that the survey does not use. None of these is ever
published. An edit is one small operation. It names the
revision that its author saw, and is applied to the newest one, unless somebody changed that very
thing in between: so two people at two questions never meet, and nobody's words are lost.

>>> draft = drafted({"title": "Pay", "questions": [{"name": "fair", "type": "yes_no"}]})
>>> edited = edit(draft, draft, Put("q1", "label", "Is it fair?"))
>>> edited.document["questions"][0]["label"], edited.undo
('Is it fair?', Put(question='q1', key='label', value=None))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta

from deniably.authoring.documents import DEEPEST
from deniably.authoring.written import slug
from deniably.authoring.yaml_writing import check_values
from deniably.core.canonical import parse
from deniably.core.errors import BadSurvey, Problem
from deniably.survey.survey import MOST_QUESTIONS, what_is_wrong

LARGEST_DRAFT = 256 << 10
"""The maximum of bytes of a draft as JSON."""
_OF_DRAFTS = ("expect", "offer")
"""Keys of a draft that its survey does not have."""
_LONGEST_NAME = 32  # characters of a name that is made; there is room for a number behind it

Document = Mapping[str, Any]
"""A document or a draft: its keys and their values."""
QuestionId = Annotated[str, Meta(pattern=r"^[a-z0-9]{1,32}$")]
Key = Annotated[str, Meta(min_length=1, max_length=64)]


class Put(msgspec.Struct, frozen=True, tag="put", tag_field="do", forbid_unknown_fields=True):
    """An operation that sets a key of a question, or a key of the survey where ``question`` is
    None. A ``value`` of None removes the key."""

    question: QuestionId | None
    key: Key
    value: Any


class Add(msgspec.Struct, frozen=True, tag="add", tag_field="do", forbid_unknown_fields=True):
    """An operation that adds a question with these ``keys``.

    The new question comes after the question ``after``, or first where ``after`` is None.
    """

    question: QuestionId
    after: QuestionId | None
    keys: dict[str, Any]


class Remove(msgspec.Struct, frozen=True, tag="remove", tag_field="do", forbid_unknown_fields=True):
    """An operation that removes a question."""

    question: QuestionId


class Move(msgspec.Struct, frozen=True, tag="move", tag_field="do", forbid_unknown_fields=True):
    """An operation that moves a question.

    It then comes after the question ``after``, or first where ``after`` is None.
    """

    question: QuestionId
    after: QuestionId | None


class Several(msgspec.Struct, frozen=True, tag="all", tag_field="do", forbid_unknown_fields=True):
    """An operation that does several others together: all of them, or none if one is refused."""

    operations: Annotated[list[Put | Add | Remove | Move], Meta(min_length=1, max_length=1_000)]


Operation = Put | Add | Remove | Move | Several


@dataclass(frozen=True)
class Edited:
    """The draft after an operation, and the operation that takes it back (``undo``)."""

    document: Document
    undo: Operation


@dataclass(frozen=True)
class Clash:
    """A refusal of an operation, because somebody else changed the same thing in the meantime.

    ``theirs`` is the present value of the key, or the present keys of the question; None where it
    was removed.
    """

    theirs: Any


def drafted(document: object) -> Document:
    """Returns an author's document as a draft: its questions have the ids q1, q2, and so on.

    Raises BadSurvey where the document is no mapping with a list of questions, or exceeds the
    limits of a draft.
    """
    if not isinstance(document, dict):
        raise _bad("$", "a survey is written as keys and their values, such as title: Pay")
    whole = cast(dict[str, Any], document)
    if "spec" in whole:
        raise _bad("$", "this is a published survey; its author's own file makes a draft")
    questions: object = whole.get("questions", [])
    if not isinstance(questions, list) or not _are_mappings(cast(list[object], questions)):
        raise _bad("$.questions", "questions are a list, and each has keys of its own")
    numbered = [
        {"id": f"q{number}"} | _without(question, "id")
        for number, question in enumerate(cast(list[Document], questions), 1)
    ]
    return _bounded(whole | {"questions": numbered})


def written(draft: Document) -> Document:
    """Returns a draft as an author's document, to be checked, published or saved.

    The keys ``id``, ``expect`` and ``offer`` are left out. A question without a name gets one that
    is made from its text.

    >>> written({"title": "Pay", "questions": [{"id": "q1", "label": "Paid fairly?"}]})["questions"]
    [{'name': 'paid_fairly', 'label': 'Paid fairly?'}]
    """
    names = question_names(draft)
    questions = [
        {"name": names[question["id"]]} | _without(question, "id") for question in _all(draft)
    ]
    kept = {key: value for key, value in draft.items() if key not in _OF_DRAFTS}
    return kept | {"questions": questions}


def question_names(draft: Document) -> dict[str, str]:
    """Returns {id of a question: the name with which it is published}.

    If the author wrote no name, it is made from the short name or the text of the question. A
    number is added where another question has the same name.
    """
    own = {each["id"]: each["name"] for each in _all(draft) if each.get("name")}
    taken, names = {str(name) for name in own.values()}, dict[str, str]()
    for question in _all(draft):
        if (written_name := own.get(question["id"])) is not None:
            names[question["id"]] = written_name
            continue
        plain = _plain(question)
        tries = (plain if number == 1 else f"{plain}_{number}" for number in count(1))
        name = next(each for each in tries if each not in taken)
        taken.add(name)
        names[question["id"]] = name
    return names


def _plain(question: Document) -> str:
    texts = (question.get(key) for key in ("short", "label"))
    slugs = (slug(text)[:_LONGEST_NAME].rstrip("_") for text in texts if isinstance(text, str))
    return next((name for name in slugs if name), "question")


def edit(newest: Document, base: Document | None, operation: Operation) -> Edited | Clash:
    """Returns the newest revision of a draft after an operation, with the operation that takes it
    back.

    ``base`` is the revision that the operation was made from; None where it is no longer known.
    Returns Clash where somebody else changed the same thing since that revision. Raises BadSurvey
    where the draft would go beyond its limits, or where the operation does not fit it.
    """
    result = _edited(newest, base, operation)
    if isinstance(result, Edited):
        _bounded(result.document)
    return result


def operation_of(value: object) -> Operation:
    """Returns the operation in a parsed JSON value. Raises BadSurvey where the value is no
    operation."""
    try:
        # Read again as documents are: numbers with a point stay exact.
        return msgspec.convert(from_json(to_json(value)), Put | Add | Remove | Move | Several)
    except msgspec.ValidationError as error:
        raise BadSurvey([what_is_wrong(error)]) from None


def to_json(value: object) -> str:
    """Returns a draft, an operation or a part of either as JSON; decimals stay exact."""
    return _encoder.encode(value).decode()


def from_json(text: str) -> Document:
    """Returns the draft that ``to_json`` wrote."""
    return cast(Document, parse(text))


_encoder = msgspec.json.Encoder(decimal_format="number")

# --- operations ---------------------------------------------------------------------------------


def _edited(newest: Document, base: Document | None, operation: Operation) -> Edited | Clash:
    match operation:
        case Put():
            return _put(newest, base, operation)
        case Add():
            return _add(newest, operation)
        case Remove():
            return _remove(newest, base, operation)
        case Move():
            return _move(newest, operation)
        case Several():
            return _several(newest, base, operation)


def _several(newest: Document, base: Document | None, operation: Several) -> Edited | Clash:
    undos: list[Put | Add | Remove | Move] = []
    for each in operation.operations:
        result = _edited(newest, base, each)
        if isinstance(result, Clash):
            return result
        assert not isinstance(result.undo, Several)
        undos.append(result.undo)
        # What these operations did themselves is nobody else's change.
        newest, base = result.document, _followed(base, each)
    return Edited(newest, Several(undos[::-1]))


def _followed(base: Document | None, operation: Operation) -> Document | None:
    """The revision that an author saw, after this operation of his own."""
    if base is None:
        return None
    result = _edited(base, base, operation)
    return result.document if isinstance(result, Edited) else base


def _put(newest: Document, base: Document | None, operation: Put) -> Edited | Clash:
    question, key, value = operation.question, operation.key, operation.value
    if key == "id" or (question is None and key == "questions"):
        raise _bad(f"$.{key}", "questions are added, removed and moved, each by its own operation")
    keys = _keys(newest, question)
    if keys is None:
        return Clash(None)
    theirs = keys.get(key)
    seen = None if base is None else _keys(base, question)
    # Where somebody else set the same value already, both agree and nothing is lost.
    if theirs != value and (seen is None or seen.get(key) != theirs):
        return Clash(theirs)
    changed = _without(keys, key) if value is None else dict(keys) | {key: value}
    undo = Put(question, key, theirs)
    if question is None:
        return Edited(changed, undo)
    return Edited(_with(newest, [changed if each is keys else each for each in _all(newest)]), undo)


def _add(newest: Document, operation: Add) -> Edited | Clash:
    # An id that is there already would make two questions one.
    if _keys(newest, operation.question) is not None:
        raise _bad("$.question", f"the draft has a question {operation.question} already")
    made = {"id": operation.question} | _without(operation.keys, "id")
    return Edited(_with(newest, _inserted(_all(newest), operation.after, made)),
                  Remove(operation.question))  # fmt: skip


def _remove(newest: Document, base: Document | None, operation: Remove) -> Edited | Clash:
    keys = _keys(newest, operation.question)
    if keys is None:
        return Clash(None)
    if base is None or _keys(base, operation.question) != keys:
        return Clash(_without(keys, "id"))
    undo = Add(operation.question, _before(newest, operation.question), _without(keys, "id"))
    return Edited(_with(newest, [each for each in _all(newest) if each is not keys]), undo)


def _move(newest: Document, operation: Move) -> Edited | Clash:
    keys = _keys(newest, operation.question)
    if keys is None:
        return Clash(None)
    if operation.after == operation.question:
        raise _bad("$.after", "a question cannot stand behind itself")
    others = [each for each in _all(newest) if each is not keys]
    undo = Move(operation.question, _before(newest, operation.question))
    return Edited(_with(newest, _inserted(others, operation.after, keys)), undo)


# --- documents ----------------------------------------------------------------------------------


def _all(draft: Document) -> Sequence[Document]:
    return cast(Sequence[Document], draft["questions"])


def _keys(draft: Document, question: str | None) -> Document | None:
    """The keys of a question, or of the survey; None where there is no such question."""
    if question is None:
        return draft
    return next((each for each in _all(draft) if each["id"] == question), None)


def _with(draft: Document, questions: Sequence[Document]) -> Document:
    return dict(draft) | {"questions": list(questions)}


def _before(draft: Document, question: str) -> str | None:
    """The id of the question that stands before this one; None for the first."""
    ids = [each["id"] for each in _all(draft)]
    at = ids.index(question)
    return ids[at - 1] if at else None


def _inserted(
    questions: Sequence[Document], after: str | None, question: Document
) -> list[Document]:
    """The questions with one more; at the end where the one before it is gone."""
    ids = [each["id"] for each in questions]
    at = 0 if after is None else ids.index(after) + 1 if after in ids else len(ids)
    return [*questions[:at], question, *questions[at:]]


def _without(keys: Document, key: str) -> dict[str, Any]:
    return {name: value for name, value in keys.items() if name != key}


def _are_mappings(questions: Sequence[object]) -> bool:
    return all(isinstance(question, dict) for question in questions)


def _bounded(draft: Document) -> Document:
    """Returns the draft. Raises BadSurvey where it is beyond a limit."""
    if (count := len(_all(draft))) > MOST_QUESTIONS:
        raise _bad("$.questions", f"a survey has at most {MOST_QUESTIONS} questions, not {count}")
    if next(_deeper(draft, DEEPEST), False):
        raise _bad("$", f"at most {DEEPEST} lists and maps can be within each other")
    try:
        check_values(draft)
    except ValueError as error:
        raise _bad("$", str(error)) from None
    if (size := len(_encoder.encode(draft))) > LARGEST_DRAFT:
        raise _bad(
            "$", f"a draft has at most {LARGEST_DRAFT:,} bytes, and this would have {size:,}"
        )
    return draft


def _deeper(value: object, levels: int) -> Iterator[bool]:
    """Yields True for each list or map that is within more than so many others."""
    match value:
        case dict() | list() if levels == 0:
            yield True
        case dict():
            for item in cast(dict[str, object], value).values():
                yield from _deeper(item, levels - 1)
        case list():
            for item in cast(list[object], value):
                yield from _deeper(item, levels - 1)
        case _:
            pass


def _bad(path: str, why: str) -> BadSurvey:
    return BadSurvey([Problem(path, why)])
