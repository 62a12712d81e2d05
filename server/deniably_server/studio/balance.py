"""Turns the check of a draft into what the editor shows beside it.

That is how much privacy the draft spends, what respondents are told, and how precise its results
will be. All figures are those of the check (``authoring.quick_check``); here they become texts of a
page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Any

from deniably.authoring.drafts import (
    Add,
    Document,
    Move,
    Put,
    Remove,
    Several,
    question_names,
    to_json,
    written,
)
from deniably.authoring.quick_check import LARGEST_N, GuessingScale, QuickCheck, ShownProblem
from deniably.authoring.ways import Operation, Together
from deniably.core.errors import BadSurvey, Problem
from deniably.survey.guessing_rates import Rate
from deniably_server.web.icon_array import place

# Paths and messages of the compiler, such as $.questions[3].choices[0].label.
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
    "mixer": "the mixer",
    "questions": "the questions",
}
"""What the editor calls the keys of an author's document."""
SAY = 30
"""The example of a result: so many of 100 people say so."""
_TOGETHER = "Questions that are asked as one"
"""The title of a question that the compiler made of several."""
EXPECTED = 600
"""How many people are expected to answer where a draft does not say."""


@dataclass(frozen=True)
class ShownMistake:
    """A mistake in a draft: ``where`` it is, in words, and ``why`` it is a mistake. ``question``
    is the id of the question concerned, or None if the mistake is in the survey as a whole."""

    where: str
    why: str
    question: str | None


@dataclass(frozen=True)
class Part:
    """The section of one question in the meter of spent privacy: where it begins and how wide it
    is, in per cent of the meter. ``here`` marks the question that the page is about."""

    start: float
    width: float
    here: bool


@dataclass(frozen=True)
class Range:
    """How wide a number's range is, and its unit; None where its parts have ranges of their own."""

    span: float | None
    unit: str

    def text(self, part: float) -> str:
        """Returns a part of the range as its author reads it."""
        if self.span is None:
            return f"{100 * part:.2g} % of the range"
        return f"{part * self.span:.2g} {self.unit}".strip()


@dataclass(frozen=True)
class Margin:
    """The precision of a question's result.

    ``question`` is the question's published name. ``margin`` is the widest 95 % margin of its
    figures, in words; ``share`` is the same margin as a fraction of 1 if the figure is a share,
    else None. ``range`` is the question's range if it is a number, else None. ``here`` marks the
    question that the page is about. ``example`` says what the margin of a share means; one question
    has it: the one that the page is about, or else the first.
    """

    question: str
    title: str
    margin: str
    share: float | None
    range: Range | None
    here: bool
    example: str = ""


@dataclass(frozen=True)
class ScaleMark:
    """A mark on the form's guessing scale: its label, its value in words, and where it begins and
    ends, in per cent of the scale's width."""

    label: str
    value: str
    low: float
    high: float


@dataclass(frozen=True)
class ShownMend:
    """A change to the draft after which devices accept the survey: its ``label``, and the
    ``operation`` on the draft that makes the change, as JSON."""

    label: str
    operation: str


@dataclass(frozen=True)
class Balance:
    """What the editor shows beside a draft: how much privacy the draft costs respondents, and how
    precise its results will be. ``spent`` is None before the check is done, and where the draft
    has mistakes."""

    problems: Sequence[ShownMistake] = ()
    more: int = 0
    """How many mistakes there are besides ``problems``."""
    spent: int | None = None
    """What the survey spends of the 100 that devices allow."""
    says: str = ""
    """All of it in a sentence, for screen readers."""
    nearest: str = ""
    """The least and the most margin of all figures, in points of 100, such as "8 to 11"."""
    parts: Sequence[Part] = ()
    refused: bool = False
    """Whether devices would refuse the survey."""
    mends: Sequence[ShownMend] = ()
    asked: int = 0
    """How many questions a respondent is asked."""
    marks: Sequence[ScaleMark] = ()
    """Of the guessing scale; with a mixer, of this server alone."""
    both: Sequence[ScaleMark] = ()
    """With a mixer: the marks of this server and the mixer together."""
    both_refuse: bool = False
    """Whether devices would refuse the survey for what both could learn together."""
    no_more: bool = False
    """Whether a guess from all answers together is right no more often than from one."""
    worst: str = ""
    """How many of 100 guesses of the luckiest guesser are right."""
    margins: Sequence[Margin] = ()
    about: bool = False
    """Whether the figures are only about right."""
    slow: bool = False
    """Whether the check takes longer than it may, so that there are no figures."""


def people_expected(draft: Document) -> int:
    """Returns how many people are expected to answer: the number in the draft, at most
    ``LARGEST_N``; ``EXPECTED`` where the draft has none."""
    n = draft.get("expect")
    return min(n, LARGEST_N) if isinstance(n, int) and n > 0 else EXPECTED


def balance_of(view: QuickCheck, draft: Document, question: str) -> Balance:
    """Returns what the editor shows beside the page of a question.

    ``view`` is the check of the draft as it is written. ``question`` is the question's id in the
    draft; an empty text is the first page, which is about the whole survey.
    """
    ids = [each["id"] for each in draft["questions"]]
    if view.problems:
        return Balance([_mistake(each, ids) for each in view.problems], view.more)
    names = {name: id_ for id_, name in question_names(draft).items()}
    assert view.used is not None
    assert view.guessing is not None
    together = view.guessing.together
    nearest = range_of([figure.margin for row in view.questions for figure in row.figures])
    accepted = "refused" if view.refused else "accepted"
    near = f" Plus or minus {nearest} points." if nearest else ""
    return Balance(
        spent=view.used.total,
        says=f"Privacy spent {view.used.total} of {view.used.limit}, {accepted}.{near}",
        nearest=nearest,
        parts=list(_parts(view.used.each, view.used.total, names.get, question)),
        refused=bool(view.refused),
        mends=[
            ShownMend(mend.label, operation_json(mend.operations, draft)) for mend in view.mends
        ],
        asked=view.asked,
        marks=list(_marks(view.guessing, view.asked)),
        both=list(_marks_of_both(together, view.asked)) if together else (),
        both_refuse=(view.used.together or 0) > view.used.limit,
        no_more=view.asked > 1 and not together and view.guessing.all == view.guessing.one[1],
        worst=str((together or view.guessing).worst),
        margins=_with_example(list(_margins(view, draft, names, question))),
        about=view.about,
    )


def mistakes_of(error: BadSurvey, draft: Document) -> list[ShownMistake]:
    """Returns the mistakes of a draft that cannot be compiled, in the words of the editor."""
    ids = [each["id"] for each in draft["questions"]]
    return [_mistake(each, ids) for each in error.problems]


def _mistake(problem: ShownProblem | Problem, ids: Sequence[str]) -> ShownMistake:
    match = _PATH.match(problem.path)
    number, key = (match[1], match[2]) if match else (None, "")
    why = problem.why
    # The messages are for authors of files; in a form nothing is "missing", but still empty.
    if missing := _MISSING.fullmatch(why):
        key, why = missing[1], "this is still empty"
    elif _FEW_CHOICES.match(why):
        why = "give two answers or more"
    what = _KEYS.get(key.partition(".")[0].partition("[")[0], key)
    if number is None or int(number) >= len(ids):
        return ShownMistake(_capital(what or "the survey"), why, None)
    where = f"Question {int(number) + 1}"
    return ShownMistake(f"{where}, {what}" if what else where, why, ids[int(number)])


def _marks(scale: GuessingScale, asked: int) -> Iterator[ScaleMark]:
    yield _mark("from one answer", *scale.one)
    if asked > 1:
        yield _mark(f"from all {asked}", scale.all, scale.all)
    if scale.waves is not None:
        yield _mark("from all waves", scale.waves, scale.waves)


def _marks_of_both(together: Together, asked: int) -> Iterator[ScaleMark]:
    yield _mark("from one answer", *together.one)
    if asked > 1:
        yield _mark(f"from all {asked}", together.all_answers, together.all_answers)


def _mark(label: str, low: Rate, high: Rate) -> ScaleMark:
    return ScaleMark(
        label, from_to(low, high), place(Fraction(low) / 100), place(Fraction(high) / 100)
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _parts(
    each: Mapping[str, int], total: int, id_of: Callable[[str], str | None], here: str
) -> Iterator[Part]:
    """The questions' parts of the meter: together as wide as what is spent, 100 at most.

    Where people are asked some of the questions, the parts share what those cost.
    """
    together = sum(each.values())
    scale = total / together * min(1, 100 / total) if total and together else 0
    start = 0.0
    for name, spent in each.items():
        width = spent * scale
        # 0.4 less, so that there is a gap between two parts.
        yield Part(round(start, 2), round(max(0, width - 0.4), 2), id_of(name) == here)
        start += width


def range_of(margins: Sequence[float]) -> str:
    """Returns the least and the most of ``margins`` (fractions of 1) in points of 100, such as "8
    to 11"; empty where there are none."""
    points = [round(100 * margin) for margin in margins]
    return from_to(min(points), max(points)) if points else ""


def from_to(low: object, high: object) -> str:
    """Returns a range in words, such as "8 to 11"; where both ends are the same, that value."""
    return f"{low}" if low == high else f"{low} to {high}"


def operation_json(operations: Sequence[Operation], draft: Document) -> str:
    """Returns the operation on a draft that does the same as ``operations`` do on the author's
    document, as JSON; empty where there is nothing to do.

    A draft names questions by their ids, a document by their names.
    """
    drafted: list[Put | Add | Remove | Move] = [
        each for one in operations for each in _drafted(one, draft)
    ]
    return to_json(Several(drafted)) if drafted else ""


def _drafted(operation: Operation, draft: Document) -> Iterator[Put | Remove | Add]:
    ids = {name: id_ for id_, name in question_names(draft).items()}
    if operation.question is not None and operation.key is None:
        yield Remove(ids[operation.question])
    elif operation.question is None and operation.key == "questions":
        yield from _asked_instead(operation.value, written(draft)["questions"], ids)
    else:
        question_id = None if operation.question is None else ids[operation.question]
        yield Put(question_id, operation.key or "", operation.value)


def _asked_instead(
    after: Sequence[Document], before: Sequence[Document], ids: Mapping[str, str]
) -> Iterator[Put | Remove | Add]:
    """What makes of the questions ``before`` those ``after``; what both have stays as it is."""
    known = {each["name"]: each for each in before}
    kept = {each["name"] for each in after}
    yield from (Remove(ids[name]) for name in known if name not in kept)
    last = None
    # Ids for questions that are new in the draft.
    free = (f"joint{number}" for number in count(1) if f"joint{number}" not in ids.values())
    for question in after:
        name = question["name"]
        if (own := known.get(name)) is None:
            id_ = next(free)
            yield Add(id_, last, dict(question))
        else:
            id_ = ids[name]
            for key in {**own, **question}:
                if own.get(key) != question.get(key):
                    yield Put(id_, key, question.get(key))
        last = id_


def _margins(
    view: QuickCheck, draft: Document, ids: Mapping[str, str], here: str
) -> Iterator[Margin]:
    titles = {
        each["id"]: str(each.get("short") or each.get("label") or "") for each in draft["questions"]
    }
    ranges = {each["id"]: _range(each) for each in draft["questions"]}
    for row in view.questions:
        id_ = ids.get(row.name, "")
        widest = max(row.figures, key=lambda figure: figure.margin, default=None)
        share, its_range = None, None
        if widest is None:
            margin = "no figure"
        elif widest.unit == "share":
            margin, share = f"{round(100 * widest.margin)} of 100", widest.margin
        else:
            its_range = ranges[id_]
            margin = its_range.text(widest.margin)
        yield Margin(row.name, titles.get(id_, _TOGETHER), margin, share, its_range, id_ == here)


def _with_example(margins: Sequence[Margin]) -> Sequence[Margin]:
    """The same, one of them with what its share means: the one here, or else the first share."""
    shares = [row for row in margins if row.share is not None]
    chosen = next((row for row in shares if row.here), shares[0] if shares else None)
    return [replace(row, example=_example(row)) if row is chosen else row for row in margins]


def _example(row: Margin) -> str:
    margin = round(100 * (row.share or 0))
    low, high = max(0, SAY - margin), min(100, SAY + margin)
    return (
        f"If {SAY} of 100 people say so, you would nearly always (19 of 20 times) read between"
        f" {low} and {high}."
    )


def _range(question: Mapping[str, Any]) -> Range:
    try:
        span = float(question["maximum"]) - float(question["minimum"])
    except (KeyError, TypeError, ValueError):
        span = None
    return Range(span, str(question.get("unit") or ""))
