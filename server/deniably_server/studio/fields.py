"""Makes the editor's fields for a question: its kind of answer, and a field for each key of that
kind.

A key that has no field here is kept as it is; its author edits it in the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, cast

from deniably.design.mixer_plan import LOCAL_ODDS
from deniably.survey.mixer import MOST_ODDS

KINDS = {
    "yes_no": "Yes or no",
    "select_one": "One of several answers",
    "select_multiple": "Several answers",
    "scale": "Scale",
    "number": "Number",
}
"""The types of question that the editor can make, each with its name there."""
_OTHERS = {
    "vector": "Several numbers",
    "point": "Place on a map",
    "product": "Questions that belong together",
}
"""Types of question that the editor shows and cannot make."""
ALSO = {"prefer_not_to_say": "Prefer not to say", "dont_know": "Don’t know"}

"""Ordinary answers that a question may offer besides its own, with their labels."""

Widget = Literal["text", "area", "lines", "number"]


@dataclass(frozen=True)
class Field:
    """A field for a key of an author's document: its label, its control, and the present text.

    ``hint`` explains the field; ``needed`` says whether the key must have a value.
    """

    key: str
    label: str
    widget: Widget
    text: str
    hint: str = ""
    needed: bool = True


@dataclass(frozen=True)
class Stop:
    """A stop of the slider of protection: the odds, and how many of 100 guesses about one answer
    are right, both as text."""

    odds: str
    right: str


# A guess between two equally likely answers is right with probability odds / (1 + odds).
def _stops(*odds: str) -> tuple[Stop, ...]:
    return tuple(Stop(each, f"{100 * Decimal(each) / (1 + Decimal(each)):.0f}") for each in odds)


STOPS = _stops("2", "2.5", "3", "4", "5", "7", "10", "14", "20", "30", "55", "90")
MIXED_STOPS = _stops("2", "2.5", "3", "4", "5", "7", f"{LOCAL_ODDS}", "10", "14", f"{MOST_ODDS}")
"""The stops of a question whose answers go through a mixer. A question that states no protection
has ``LOCAL_ODDS``."""


@dataclass(frozen=True)
class QuestionForm:
    """The editor's form for one question.

    ``number`` is the question's place in the survey, from 1. ``kind`` is its type, and ``kinds``
    maps each type that can be chosen to its name. ``also`` is {additional answer, such as "prefer
    not to say": whether the question offers it}, and empty for types that cannot offer any.
    ``stop`` is the index in ``stops`` of the question's odds, or None if they are none of these.
    ``shares`` is true if all questions share one budget, and ``mixed`` if answers go through a
    mixer. ``kept`` are keys of the question that no
    field shows; the form leaves them as they are.
    """

    id: str
    number: int
    kind: str
    kinds: Mapping[str, str]
    fields: Sequence[Field]
    also: Mapping[str, bool]
    stops: Sequence[Stop]
    stop: int | None
    shares: bool
    mixed: bool
    kept: Sequence[str]


def survey_fields(draft: Mapping[str, Any]) -> list[Field]:
    """Returns the fields of the editor's first page, which is about the whole survey."""
    return [
        _field(draft, "title", "Title", "text", "Respondents see it above everything."),
        _field(draft, "intro", "What it is about", "area",
               "Why you ask, and what you will do with it.", needed=False),
        _field(draft, "contact", "Who asks, and how to reach you", "text", "It is public."),
    ]  # fmt: skip


def question_form(draft: Mapping[str, Any], question: str) -> QuestionForm | None:
    """Returns the form for the question with this id; None where the draft has no such question."""
    questions = cast(Sequence[Mapping[str, Any]], draft["questions"])
    at = next((at for at, each in enumerate(questions) if each["id"] == question), None)
    if at is None:
        return None
    keys = questions[at]
    kind = str(keys.get("type", ""))
    fields = list(_fields(keys, kind))
    stops = MIXED_STOPS if "mixer" in draft else STOPS
    also = {name: name in _names(keys.get("also")) for name in ALSO} if kind in _ALSO else {}
    shown = {"id", "type", "odds", *(each.key for each in fields), *(["also"] if also else [])}
    return QuestionForm(
        question,
        at + 1,
        kind,
        KINDS if kind in KINDS else {**KINDS, kind: _OTHERS.get(kind, kind or "Not chosen yet")},
        fields,
        also,
        stops,
        _stop(keys, stops, local=str(LOCAL_ODDS) if "mixer" in draft else ""),
        "budget" in draft,
        "mixer" in draft,
        sorted(key for key in keys if key not in shown),
    )


def lines_of(choices: object) -> str:
    """Returns the labels of choices as text, one a line; empty if ``choices`` is not a list."""
    if not isinstance(choices, list):
        return ""
    return "\n".join(_label(choice) for choice in cast(list[object], choices))


_ALSO = ("yes_no", "select_one", "select_multiple")
CHOOSING = ("select_one", "select_multiple", "scale")
"""The types of question whose answers the author writes."""


def _fields(keys: Mapping[str, Any], kind: str) -> list[Field]:
    fields = [
        _field(keys, "label", "Question", "area", "Say what counts, and since when."),
        _field(keys, "hint", "Explanation", "text", needed=False),
    ]
    if kind in CHOOSING:
        hint = "One a line, in their order." if kind == "scale" else "One a line."
        fields.append(Field("choices", "Answers", "lines", lines_of(keys.get("choices")), hint))
    if kind == "select_multiple":
        fields.append(_field(keys, "most", "At most so many ticks", "number", needed=False))
    if kind == "number":
        fields += [
            _field(keys, "minimum", "Smallest number", "number", "Smaller ones count as this."),
            _field(keys, "maximum", "Largest number", "number", "Larger ones count as this."),
            _field(keys, "unit", "Unit", "text", "Such as hours.", needed=False),
        ]
    return [*fields, _field(keys, "short", "Short name in tables", "text", needed=False)]


def _field(
    keys: Mapping[str, Any],
    key: str,
    label: str,
    widget: Widget,
    hint: str = "",
    *,
    needed: bool = True,
) -> Field:
    value = keys.get(key)
    text = "" if value is None or isinstance(value, (dict, list)) else str(value)
    return Field(key, label, widget, text, hint, needed)


def _names(also: object) -> list[object]:
    return cast(list[object], also) if isinstance(also, list) else []


def _label(choice: object) -> str:
    if not isinstance(choice, dict):
        return str(choice)
    keys = cast(Mapping[str, object], choice)
    return str(keys.get("label", ""))


def _stop(keys: Mapping[str, Any], stops: Sequence[Stop], local: str) -> int | None:
    """The place of a question's odds on the slider; ``local`` are those of a question that states
    none."""
    odds = keys.get("odds", local if not {"epsilon", "coins"} & keys.keys() else None)
    texts = [stop.odds for stop in stops]
    return texts.index(str(odds)) if str(odds) in texts else None
