"""The published definition of a survey: what every device verifies and every report answers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec

from deniably.canonical import canonical, digest, parse
from deniably.errors import BadSurvey, Problem
from deniably.exponential import at_most_exp
from deniably.mechanism import SubsetSelection

SPEC = 1
SMALLEST_EPSILON = Fraction(1, 100)
LARGEST_EPSILON = Fraction(10)
YES_NO = ("yes", "no")

# Not $, which also matches before a final line break.
SURVEY_NAME = r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?\Z"
FIELD_NAME = r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z"

SurveyName = Annotated[str, msgspec.Meta(pattern=SURVEY_NAME)]
FieldName = Annotated[str, msgspec.Meta(pattern=FIELD_NAME)]
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
Prose = Annotated[str, msgspec.Meta(min_length=1, max_length=5000)]


class _Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A frozen part of a definition; unknown keys are refused."""


class Claim(_Value, frozen=True):
    """What a question promises: ``epsilon`` or ``odds`` (e**epsilon), exactly one of them."""

    epsilon: str | msgspec.UnsetType = msgspec.UNSET
    odds: str | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if (self.epsilon is msgspec.UNSET) == (self.odds is msgspec.UNSET):
            raise ValueError("a claim is either epsilon or odds")
        if isinstance(self.epsilon, str):
            low, high = SMALLEST_EPSILON, LARGEST_EPSILON
            if not low <= decimal_fraction(self.epsilon) <= high:
                raise ValueError(f"epsilon is from {float(low)} to {float(high)}")
        elif isinstance(self.odds, str) and not odds_allowed(odds_fraction(self.odds)):
            raise ValueError("odds are from e^0.01 to e^10")

    def covers(self, odds: Fraction) -> bool:
        """Whether a mechanism with these exact odds keeps the promise; decided exactly."""
        if isinstance(self.epsilon, str):
            return at_most_exp(odds, decimal_fraction(self.epsilon))
        return isinstance(self.odds, str) and odds <= odds_fraction(self.odds)


class Choice(_Value, frozen=True):
    """One of the answers that a question offers."""

    name: FieldName
    label: Label


class Question(_Value, frozen=True):
    """One question with its choices and its mechanism."""

    name: FieldName
    type: Literal["yes_no", "select_one"]
    label: Label
    choices: list[Choice]
    claim: Claim
    mechanism: SubsetSelection
    hint: Label | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        names = [choice.name for choice in self.choices]
        if self.type == "yes_no" and tuple(names) != YES_NO:
            raise ValueError("a yes_no question has the choices yes and no, in this order")
        if repeated := _repeated(names):
            raise ValueError(f"the choice {repeated} is given twice")
        if self.mechanism.k != len(names):
            raise ValueError("the mechanism's k is the number of choices")
        if not self.claim.covers(self.mechanism.odds):
            raise ValueError("the mechanism's weights give larger odds than the claim allows")


class Results(_Value, frozen=True):
    """When the results are shown: from ``minimum`` reports on, and ``while_open`` or only after."""

    minimum: Annotated[int, msgspec.Meta(ge=1, le=(1 << 53) - 1)]
    while_open: bool


class Survey(_Value, frozen=True, dict=True):
    """A published definition. Two surveys are the same exactly if their digests are."""

    spec: Literal[1]
    name: SurveyName
    title: Label
    language: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\Z")]
    results: Results
    questions: Annotated[list[Question], msgspec.Meta(min_length=1, max_length=100)]
    intro: Prose | msgspec.UnsetType = msgspec.UNSET
    contact: Prose | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if repeated := _repeated(question.name for question in self.questions):
            raise ValueError(f"the question {repeated} is given twice")

    @cached_property
    def canonical(self) -> bytes:
        """The canonical JSON (SPEC 3)."""
        return canonical(msgspec.to_builtins(self))

    @cached_property
    def digest(self) -> str:
        """The version that a report answers: SHA-256 of the canonical JSON, in hexadecimal."""
        return digest(msgspec.to_builtins(self))

    @property
    def total_odds(self) -> Fraction:
        """What all reports of one person together can shift the odds: the product, exactly."""
        return math.prod(
            (question.mechanism.odds for question in self.questions), start=Fraction(1)
        )


# Built here, once and in one thread: msgspec finishes a type at its first use, and two threads
# that do so at the same time crash the process.
msgspec.json.Decoder(Survey)


def read_survey(text: str | bytes) -> Survey:
    """The published definition in a JSON text, fully verified (SPEC 4 and 2.2).

    Raises BadSurvey with the path and what is wrong.
    """
    try:
        return as_survey(parse(text))
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
        why, _, path = str(error).partition(" - at `")
        raise BadSurvey([Problem(path.rstrip("`") or "$", why)]) from None
    except ValueError as error:
        raise BadSurvey([Problem("$", str(error))]) from None
    return survey


def decimal_fraction(text: str) -> Fraction:
    """The value of a claim's epsilon. Raises ValueError unless in SPEC 2.2's one spelling."""
    if len(text) > 40 or not re.fullmatch(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text, re.ASCII):
        raise ValueError("epsilon is written as a plain decimal number, such as 1.5")
    return Fraction(text)


def odds_fraction(text: str) -> Fraction:
    """The value of a claim's odds. Raises ValueError unless an integer or in lowest terms."""
    if len(text) > 40 or not re.fullmatch(r"[1-9][0-9]*(/[1-9][0-9]*)?", text, re.ASCII):
        raise ValueError("odds are written as an integer or a fraction, such as 3 or 13/7")
    odds = Fraction(text)
    if str(odds) != text:
        raise ValueError("odds are written in lowest terms")
    return odds


def odds_allowed(odds: Fraction) -> bool:
    """Whether odds are within e**0.01 and e**10, where surveys make sense; decided exactly."""
    return not at_most_exp(odds, SMALLEST_EPSILON) and at_most_exp(odds, LARGEST_EPSILON)


def epsilon_text(odds: Fraction, places: int = 2) -> str:
    """ln(odds) for people, rounded up, so that the printed epsilon is never too small."""
    exact = Decimal(odds.numerator).ln() - Decimal(odds.denominator).ln()
    nudged = exact + Decimal(10) ** -20
    return str(nudged.quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING))


def _repeated(names: Iterable[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)
