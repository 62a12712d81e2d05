"""The published definition of a survey: what every device verifies and every report answers."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec

from deniably.core.canonical import canonical, digest, parse
from deniably.core.errors import BadSurvey, Problem
from deniably.core.loss import Loss, largest
from deniably.mechanisms import Memoised
from deniably.survey.free_text import WHY, is_free_text
from deniably.survey.parts import Label, Prose, ShowIf, SurveyName, Value, unique
from deniably.survey.questions import Condition, Conditional, Question
from deniably.survey.steering import steering_problems

SPEC = 1

EPSILON_LIMIT = "5"
"""Over all questions of one survey; above it a device refuses unless its owner raises it."""


MOST_QUESTIONS = 100
MOST_WAVES = 100
"""Of a panel that is answered with fresh chance."""


class ResultsRule(Value, frozen=True):
    """When the results are shown: from ``minimum`` reports on, and ``while_open`` or only after;
    and to whom, which is everybody unless it is said."""

    minimum: Annotated[int, msgspec.Meta(ge=1, le=(1 << 53) - 1)]
    while_open: bool
    to: Literal["analysts"] | msgspec.UnsetType = msgspec.UNSET


class Waves(Value, frozen=True):
    """The survey is one wave of a ``panel``: the same people are asked again, and their devices
    answer from what they keep for it; or with fresh chance, ``count`` times and no more. Of 1,000
    people about so many as ``recognised`` says can be recognised from one wave to another, where
    they are 10 or more (SPEC 4.4)."""

    panel: SurveyName
    count: Annotated[int, msgspec.Meta(ge=2, le=MOST_WAVES)] | msgspec.UnsetType = msgspec.UNSET
    recognised: Annotated[int, msgspec.Meta(ge=10, le=1000)] | msgspec.UnsetType = msgspec.UNSET


class Survey(Value, frozen=True, dict=True):
    """A published definition. Two surveys are the same exactly if their digests are."""

    spec: Literal[1]
    name: SurveyName
    title: Label
    language: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\Z")]
    results: ResultsRule
    questions: Annotated[list[Question], msgspec.Meta(min_length=1, max_length=MOST_QUESTIONS)]
    intro: Prose | msgspec.UnsetType = msgspec.UNSET
    contact: Prose | msgspec.UnsetType = msgspec.UNSET
    ask: int | msgspec.UnsetType = msgspec.UNSET
    waves: Waves | msgspec.UnsetType = msgspec.UNSET
    invited: bool | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        unique((question.name for question in self.questions), "the question")
        hidden = [question for question in self.questions if show_if(question)]
        if isinstance(self.ask, int):
            if not 1 <= self.ask < len(self.questions):
                raise ValueError("ask is the number of questions asked, from 1 to all but one")
            if hidden:
                raise ValueError("a survey that asks some of its questions has no show_if")
        for question in hidden:
            self._check_condition(question)
        self._check_waves(bool(hidden))
        if self.invited is False:
            raise ValueError("invited is true, or is not there")

    def _check_waves(self, hides: bool) -> None:
        panel = isinstance(self.waves, Waves)
        keeps = panel and not self.count
        if any(isinstance(one.mechanism, Memoised) != keeps for one in self.questions):
            raise ValueError("with waves, but no count, every mechanism is memoised; else none")
        if panel and (hides or isinstance(self.ask, int)):
            raise ValueError("a survey with waves asks everybody everything: no ask, no show_if")

    def _check_condition(self, question: Question) -> None:
        condition = show_if(question)
        assert condition is not None
        for earlier in self.questions[: self.questions.index(question)]:
            if earlier.name == condition.question and isinstance(earlier, Condition):
                if not set(condition.among) <= set(earlier.names):
                    raise ValueError(f"{question.name}: show_if names a choice that is none")
                return
        raise ValueError(
            f"{question.name}: show_if names an earlier yes_no, select_one or scale question"
        )

    @cached_property
    def canonical(self) -> bytes:
        """The canonical JSON (SPEC 3)."""
        return canonical(msgspec.to_builtins(self))

    @cached_property
    def digest(self) -> str:
        """The version that a report answers: SHA-256 of the canonical JSON, in hexadecimal."""
        return digest(msgspec.to_builtins(self))

    @property
    def asked(self) -> int:
        """How many of the questions each respondent answers."""
        return self.ask if isinstance(self.ask, int) else len(self.questions)

    @property
    def count(self) -> int | None:
        """How many waves there are at most; None without waves, and where answers are kept."""
        found = self.waves.count if isinstance(self.waves, Waves) else None
        return found if isinstance(found, int) else None

    @property
    def recognised(self) -> int | None:
        """Of 1,000 people so many can be recognised from one wave to another; None if below 10."""
        found = self.waves.recognised if isinstance(self.waves, Waves) else None
        return found if isinstance(found, int) else None

    @property
    def total(self) -> Loss:
        """What all reports of one person together can give away: the sum, exactly; where some
        of the questions are asked, the most that any drawing of them gives away."""
        return largest([question.mechanism.loss for question in self.questions], self.asked)

    @property
    def history(self) -> Loss:
        """The same of all waves of its panel; without waves the total."""
        losses = [
            one.history if isinstance(one, Memoised) else one.loss
            for one in (question.mechanism for question in self.questions)
        ]
        times = self.count or 1
        return largest(losses * times, self.asked * times)


def show_if(question: Question) -> ShowIf | None:
    """The condition under which a question is shown, if it has one."""
    found = question.show_if if isinstance(question, Conditional) else None
    return found if isinstance(found, ShowIf) else None


# Built here, once and in one thread: msgspec finishes a type at its first use, and two threads
# that do so at the same time crash the process.
msgspec.json.Decoder(Survey)


def read_survey(text: str | bytes) -> Survey:
    """The published definition in a JSON text, fully verified (SPEC 4 and 2.2).

    Raises BadSurvey with the path and what is wrong.
    """
    try:
        value = parse(text)
        if problems := list(steering_problems(value)):
            raise BadSurvey(problems)
        return as_survey(value)
    except (ValueError, UnicodeDecodeError) as error:
        if isinstance(error, BadSurvey):
            raise
        raise BadSurvey([Problem("$", f"this is not a JSON definition: {error}")]) from None


def as_survey(value: Any) -> Survey:
    """The published definition in a parsed JSON value. Raises BadSurvey."""
    try:
        survey = msgspec.convert(value, Survey, strict=True)
        # Also refuses lone surrogates, and whatever reading it would have filled in.
        if canonical(value) != survey.canonical:
            raise ValueError("a key of the definition or of a mechanism is missing")
    except msgspec.ValidationError as error:
        found = what_is_wrong(error)
        why = _unknown(value, found.path) or found.why
        raise BadSurvey([Problem(found.path, why)]) from None
    except ValueError as error:
        raise BadSurvey([Problem("$", str(error))]) from None
    return survey


def what_is_wrong(error: msgspec.ValidationError) -> Problem:
    """What does not fit a type, and where."""
    why, _, path = str(error).partition(" - at `")
    return Problem(path.rstrip("`") or "$", why)


def _unknown(value: Any, path: str) -> str | None:
    """Why a question of an unknown type or mechanism cannot be asked; None for other faults."""
    found = re.fullmatch(r"\$\.questions\[(\d+)\](?:\.(type)|\.mechanism(?:\..+)?\.name)", path)
    if not found:
        return None
    if not found[2]:
        return "there is no such mechanism for a question of this type"
    free = is_free_text(value["questions"][int(found[1])]["type"])
    return WHY if free else "there is no such type of question"
