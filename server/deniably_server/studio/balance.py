"""What the editor shows beside a draft: what it spends, what people are told, what is learnt.

All figures are those of the check (``authoring.quick_check``); here they become texts of a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniably.authoring.drafts import Add, Document, Put, Remove, question_names, to_json
from deniably.authoring.quick_check import LARGEST_N, FigureMargin, QuickCheck, ShownProblem
from deniably.authoring.ways import Mend, Operation
from deniably.core.errors import BadSurvey, Problem

_PATH = re.compile(r"\$(?:\.questions\[(\d+)\])?\.?(.*)")
_MISSING = re.compile(r"the key (\w+) is missing")
_FEW_CHOICES = re.compile(r"\w+ needs choices\b|a list of 1; allowed is a list of 2 to ")
_KEYS = {
    "title": "the title",
    "intro": "what it is about",
    "contact": "who asks",
    "name": "the address",
    "label": "the question",
    "hint": "the explanation",
    "short": "the short name",
    "choices": "the answers",
    "most": "the most ticks",
    "minimum": "the smallest number",
    "maximum": "the largest number",
    "type": "the kind of answer",
    "odds": "the protection",
    "questions": "the questions",
}
"""What the editor calls the keys of a document."""
_SAY = 30
"""How many of 100 say so in the example."""
EXPECTED = 600
"""How many people are taken to answer where a draft does not say."""


@dataclass(frozen=True)
class ShownMistake:
    """A mistake: where it is, in words, what to do, and the id of its question."""

    where: str
    why: str
    question: str | None


@dataclass(frozen=True)
class Part:
    """A question's part of the meter, in per cent of its width; ``here`` is the one on the page."""

    start: float
    width: float
    here: bool


@dataclass(frozen=True)
class Margin:
    """How near a question's result comes to the truth."""

    title: str
    margin: str
    here: bool


@dataclass(frozen=True)
class ShownMend:
    """A mend, and its operations on the draft as JSON."""

    label: str
    operations: str


@dataclass(frozen=True)
class Balance:
    """What the piece of the page shows. Without ``spent`` it is still worked out."""

    problems: Sequence[ShownMistake] = ()
    more: int = 0
    spent: int | None = None
    parts: Sequence[Part] = ()
    refused: bool = False
    mends: Sequence[ShownMend] = ()
    asked: int = 0
    one: str = ""
    all: str = ""
    worst: str = ""
    margins: Sequence[Margin] = ()
    example: str = ""
    """What the margin of a share means, of the question on the page or the first."""
    about: bool = False
    slow: bool = False
    """Whether a check takes longer than it may."""


def people_expected(draft: Document) -> int:
    """Returns how many people are expected to answer a draft."""
    n = draft.get("expect")
    return min(n, LARGEST_N) if isinstance(n, int) and n > 0 else EXPECTED


def balance_of(view: QuickCheck, draft: Document, question: str) -> Balance:
    """Returns what the page of this question shows beside it; of the first page without one.

    ``view`` is that of a check of the draft as it is written.
    """
    ids = [each["id"] for each in draft["questions"]]
    if view.problems:
        return Balance([_mistake(each, ids) for each in view.problems], view.more)
    names = {name: id_ for id_, name in question_names(draft).items()}
    assert view.used is not None
    assert view.guessing is not None
    lowest, highest = view.guessing.one
    return Balance(
        spent=view.used.total,
        parts=list(_parts(view.used.each, view.used.total, names.get, question)),
        refused=bool(view.refused),
        mends=[_mend(mend, names) for mend in view.mends],
        asked=view.asked,
        one=f"{lowest}" if lowest == highest else f"{lowest} to {highest}",
        all=str(view.guessing.all),
        worst=str(view.guessing.worst),
        margins=list(_margins(view, draft, names, question)),
        example=_example(view, names.get, question),
        about=view.about,
    )


def mistakes_of(error: BadSurvey, draft: Document) -> list[ShownMistake]:
    """Returns what is wrong with a draft that cannot be compiled, in words."""
    ids = [each["id"] for each in draft["questions"]]
    return [_mistake(each, ids) for each in error.problems]


def _mistake(problem: ShownProblem | Problem, ids: Sequence[str]) -> ShownMistake:
    match = _PATH.match(problem.path)
    number, key = (match[1], match[2]) if match else (None, "")
    why = problem.why
    if missing := _MISSING.fullmatch(why):
        key, why = missing[1], "this is still empty"
    elif _FEW_CHOICES.match(why):
        why = "give two answers or more"
    what = _KEYS.get(key.partition(".")[0].partition("[")[0], key)
    if number is None or int(number) >= len(ids):
        return ShownMistake(_capital(what or "the survey"), why, None)
    where = f"Question {int(number) + 1}"
    return ShownMistake(f"{where}, {what}" if what else where, why, ids[int(number)])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _parts(
    each: Mapping[str, int], total: int, id_of: Callable[[str], str | None], here: str
) -> Iterator[Part]:
    """The questions' parts of the meter, whose whole width is 100, or more where it is overspent.

    Where people are asked some of the questions, the parts share what those cost.
    """
    together = sum(each.values())
    scale = total / together * min(1, 100 / total) if total and together else 0
    start = 0.0
    for name, spent in each.items():
        width = spent * scale
        yield Part(round(start, 2), round(max(0, width - 0.4), 2), id_of(name) == here)
        start += width


def _mend(mend: Mend, ids: Mapping[str, str]) -> ShownMend:
    operations = [
        operation for written_one in mend.operations for operation in _drafted(written_one, ids)
    ]
    return ShownMend(mend.label, to_json(operations))


def _drafted(operation: Operation, ids: Mapping[str, str]) -> Iterator[Put | Remove | Add]:
    """The operations on a draft that do what one on the author's document does."""
    if operation.question is not None and operation.key is None:
        yield Remove(ids[operation.question])
    elif operation.question is None and operation.key == "questions":
        yield from (Remove(id_) for id_ in ids.values())
        after = None
        for number, question in enumerate(operation.value, 1):
            id_ = ids.get(question["name"], f"mend{number}")
            yield Add(id_, after, question)
            after = id_
    else:
        question_id = None if operation.question is None else ids[operation.question]
        yield Put(question_id, operation.key or "", operation.value)


def _margins(
    view: QuickCheck, draft: Document, ids: Mapping[str, str], here: str
) -> Iterator[Margin]:
    titles = {
        each["id"]: str(each.get("short") or each.get("label") or "") for each in draft["questions"]
    }
    units = {each["id"]: _range(each) for each in draft["questions"]}
    for row in view.questions:
        id_ = ids[row.name]
        widest = max(row.figures, key=lambda figure: figure.margin, default=None)
        if widest is None:
            margin = "no figure"
        elif widest.unit == "share":
            margin = f"{_of_100(widest)} of 100"
        else:
            span, unit = units[id_]
            margin = f"{widest.margin * span:.2g} {unit}".strip()
        yield Margin(titles[id_], margin, id_ == here)


def _example(view: QuickCheck, id_of: Callable[[str], str | None], here: str) -> str:
    """What a share's margin means; empty where no question has a share."""
    shares = {
        id_of(row.name): max(map(_of_100, figures))
        for row in view.questions
        if (figures := [figure for figure in row.figures if figure.unit == "share"])
    }
    if not shares:
        return ""
    margin = shares.get(here, next(iter(shares.values())))
    low, high = max(0, _SAY - margin), min(100, _SAY + margin)
    return (
        f"If {_SAY} of 100 people say so, you would nearly always (19 of 20 times) read something"
        f" between {low} and {high}."
    )


def _of_100(figure: FigureMargin) -> int:
    return round(100 * figure.margin)


def _range(question: Mapping[str, Any]) -> tuple[float, str]:
    """How wide a number's range is, and its unit."""
    try:
        span = float(question["maximum"]) - float(question["minimum"])
    except (KeyError, TypeError, ValueError):
        span = 1.0
    return span, str(question.get("unit") or "")
