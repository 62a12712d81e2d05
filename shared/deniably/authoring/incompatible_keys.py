"""Checks keys of a survey against each other, where JSON Schema cannot do so with a useful message.

A key that would change nothing is refused too: its author expects an effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from deniably.authoring.documents import LONGEST_NUMBER
from deniably.authoring.written import (
    ALSO,
    Choosing,
    Deciding,
    WrittenNumber,
    WrittenPoint,
    WrittenProduct,
    WrittenQuestion,
    WrittenScale,
    WrittenSelectMultiple,
    WrittenSelectOne,
    WrittenSurvey,
    WrittenVector,
    WrittenYesNo,
    named,
)
from deniably.core.errors import Problem
from deniably.design.named_mechanisms import PLACES, made_by
from deniably.survey.parts import FIELD_NAME, Choice, odds_allowed
from deniably.survey.questions import MOST_PARTS
from deniably.survey.strata import APPENDED, RESERVED, check_strata
from deniably.wording.words import LANGUAGES, Words

_NONE = {
    "none",
    "none of the above",
    "none of them",
    *(Words(language)("question.none").casefold() for language in LANGUAGES),
}
"""Labels for "nothing ticked", which the form offers already."""


def problems_in(
    question: WrittenQuestion, path: str, *, budgeted: bool, mixed: bool = False
) -> Iterator[Problem]:
    """Yields the problems of one question, such as keys that do not go together.

    All keys must be those of the question's type. If the survey has a budget (``budgeted``), the
    question must not state a privacy of its own; if it has a mixer (``mixed``), it need not.
    """
    if question.promised or not mixed:
        yield from _privacy_problems(question, path, budgeted=budgeted)
    for check in _CHECKS:
        yield from check(question, path)


def problems_between(questions: Sequence[WrittenQuestion]) -> Iterator[Problem]:
    """Yields the problems between questions.

    They are repeated names, and conditions (``show_if``) on something that is no earlier question,
    or no choice of that question.
    """
    yield from _repeated(questions, "$.questions", "question")
    yield from _condition_problems(questions)


def problems_of_strata(survey: WrittenSurvey) -> Iterator[Problem]:
    """Yields the problems of a survey's strata: too many of them, or keys that questions or links
    use for something else."""
    strata = survey.strata or {}
    try:
        check_strata(strata)
    except ValueError as error:
        yield Problem("$.strata", str(error).removeprefix("strata: "))
    names = {question.name for question in survey.questions}
    for key in strata:
        place = f"$.strata.{key}"
        if key in RESERVED or key.startswith(APPENDED):
            yield Problem(place, "links use this name for something else; give the key another one")
        if key in names:
            yield Problem(place, "a question has this name; give one of the two another name")


# --- what it promises -------------------------------------------------------------------------


def _privacy_problems(question: WrittenQuestion, path: str, *, budgeted: bool) -> Iterator[Problem]:
    promised = list(question.promised)
    if budgeted:
        for key in promised[:1]:
            yield Problem(
                f"{path}.{key}",
                "the survey has a budget, which sets this for all questions; leave this out",
            )
    elif len(promised) != 1:
        listed = "none is given" if not promised else "given are " + " and ".join(promised)
        yield Problem(path, f"state the privacy once, as epsilon, odds or coins; {listed}")
    else:
        yield from _promise_problems(question, promised[0], path)


def _promise_problems(question: WrittenQuestion, key: str, path: str) -> Iterator[Problem]:
    place = f"{path}.coins.truth" if key == "coins" else f"{path}.{key}"
    if any(len(number) > LONGEST_NUMBER for number in question.promised[key]):
        yield Problem(place, f"write the number with at most {LONGEST_NUMBER} characters")
        return
    if problem := _coin_problem(question, path):
        yield problem
        return
    try:
        odds = question.privacy.odds
    except (ValueError, ZeroDivisionError) as error:
        yield Problem(place, str(error))
        return
    if odds is not None and not odds_allowed(odds):
        # A float would be rounded and the exact value can be huge, so only the bounds are named.
        yield Problem(
            place,
            "this gives odds outside what surveys can use: from about 1.0101 (epsilon 0.01) "
            "to about 22026 (epsilon 10)",
        )


def _coin_problem(question: WrittenQuestion, path: str) -> Problem | None:
    if question.coins is None:
        return None
    if not isinstance(question, WrittenYesNo | WrittenSelectOne):
        return Problem(f"{path}.coins", "coins are for yes_no and select_one")
    # 0 where choices are missing, which is reported elsewhere.
    if question.coins.yes is not None and len(question.offered()) not in (0, 2):
        return Problem(f"{path}.coins.yes", "the second coin's yes is for two choices")
    return None


def _coins_and_mechanism(question: WrittenQuestion, path: str) -> Iterator[Problem]:
    coins, name = question.coins, question.mechanism
    if coins is None or name is None:
        return
    if coins.yes is not None or made_by(name) != made_by("k_ary"):
        yield Problem(
            f"{path}.mechanism", "coins are a mechanism already; leave one of the two out"
        )


def _noise(question: WrittenQuestion, path: str) -> Iterator[Problem]:
    if not isinstance(question, WrittenNumber | WrittenVector):
        return
    name = question.mechanism
    if isinstance(question, WrittenNumber) and question.beyond and name != "bounded_laplace":
        yield Problem(f"{path}.beyond", "beyond is only for mechanism: bounded_laplace")
    # A vector that names no mechanism is asked by Gaussian noise if that is the best.
    gaussian = name == "gaussian" or (isinstance(question, WrittenVector) and name is None)
    if question.delta is not None and not gaussian:
        yield Problem(f"{path}.delta", "delta is only for mechanism: gaussian")
    if question.delta is None and name == "gaussian":
        yield Problem(f"{path}.mechanism", "gaussian needs a delta, such as delta: 0.00001")


# --- what it offers ---------------------------------------------------------------------------


def _choices(question: WrittenQuestion, path: str) -> Iterator[Problem]:
    if isinstance(question, Choosing):
        yield from _choice_problems(question.offered(), path)
    if isinstance(question, WrittenSelectMultiple):
        for index, choice in enumerate(question.offered()):
            if choice.label.casefold().strip(" .…!") in _NONE:
                yield Problem(
                    f"{path}.choices[{index}]",
                    "ticking nothing says this already, and the form has a line for it; leave this"
                    " choice out",
                )


def _choice_problems(choices: Sequence[Choice], path: str) -> Iterator[Problem]:
    for index, choice in enumerate(choices):
        if not re.fullmatch(FIELD_NAME, choice.name):
            yield Problem(
                f"{path}.choices[{index}]",
                "no name can be made of this text; write {name: ..., label: ...}",
            )
    yield from _repeated(choices, f"{path}.choices", "choice")


def _parts(question: WrittenQuestion, path: str) -> Iterator[Problem]:
    if isinstance(question, WrittenProduct):
        for index, part in enumerate(question.parts):
            yield from _choice_problems(named(part.choices), f"{path}.parts[{index}]")
    if isinstance(question, WrittenVector | WrittenPoint | WrittenProduct):
        yield from _repeated(question.parts, f"{path}.parts", "part")
        count = len(question.parts)
        # 0 where the parts are missing, which is reported elsewhere.
        if isinstance(question, WrittenPoint) and count not in (0, 2):
            yield Problem(f"{path}.parts", f"a point has 2 parts, and this one has {count}")
        if isinstance(question, WrittenProduct) and count > MOST_PARTS:
            why = f"a product has 2 to {MOST_PARTS} parts, and this one has {count}"
            yield Problem(f"{path}.parts", why)


def _scale(question: WrittenQuestion, path: str) -> Iterator[Problem]:
    if not isinstance(question, WrittenScale):
        return
    choices, scores = question.choices, question.scores
    if scores is not None and len(scores) != len(choices):
        yield Problem(
            f"{path}.scores",
            f"scores has {len(scores)} integers for {len(choices)} choices; it needs one for each"
            " (what also adds has none)",
        )
    unplaced = [choice.label for choice in question.offered() if choice.name in ALSO]
    if not unplaced:
        return
    these = f"{', '.join(unplaced)} cannot be placed on a scale"
    if question.aim == "mean":
        key = "also" if question.also else "show_if" if question.show_if else "choices"
        mend = "write aim: distribution, which gives the mean of the other answers"
        yield Problem(f"{path}.{key}", f"{these}; {mend}")
    elif question.mechanism in PLACES:
        mend = "write mechanism: subset_selection, or leave it out"
        yield Problem(f"{path}.mechanism", f"{these}, as {question.mechanism} needs; {mend}")


_CHECKS: tuple[Callable[[WrittenQuestion, str], Iterator[Problem]], ...] = (
    _choices,
    _parts,
    _coins_and_mechanism,
    _noise,
    _scale,
)


# --- several of them --------------------------------------------------------------------------


def _condition_problems(questions: Sequence[WrittenQuestion]) -> Iterator[Problem]:
    """The problems of show_if, which names choices of an earlier yes_no, select_one or scale."""
    for index, question in enumerate(questions):
        condition = question.show_if if isinstance(question, Choosing) else None
        if condition is None:
            continue
        path = f"$.questions[{index}].show_if"
        earlier = [
            deciding
            for deciding in questions[:index]
            if deciding.name == condition.question and isinstance(deciding, Deciding)
        ]
        if not earlier:
            why = "names no earlier yes_no, select_one or scale question"
            yield Problem(f"{path}.question", f"{condition.question} {why}")
            continue
        names = [choice.name for choice in earlier[0].offered()]
        for name in condition.names:
            if name not in names:
                allowed = ", ".join(names)
                yield Problem(
                    f"{path}.is", f"{name} is no choice of {condition.question}: {allowed}"
                )


class _Labelled(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...


def _repeated(items: Sequence[_Labelled], path: str, noun: str) -> Iterator[Problem]:
    keys = ("name",) if noun == "question" else ("name", "label")
    for key in keys:
        first: dict[str, int] = {}
        for index, item in enumerate(items):
            earlier = first.setdefault(getattr(item, key), index)
            if earlier != index:
                yield Problem(
                    f"{path}[{index}].{key}",
                    f"the same {key} as {path}[{earlier}]; every {noun} needs its own",
                )
