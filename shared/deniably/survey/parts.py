"""The parts of a question in a published definition: names, claims, choices, ranges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

import msgspec

from deniably.core.errors import BadAnswer
from deniably.core.exponential import at_most_exp
from deniably.core.loss import Loss

SMALLEST_EPSILON = Fraction(1, 100)
LARGEST_EPSILON = Fraction(10)
LARGEST_DELTA = Fraction(1, 10_000)
MOST_STEPS = 1 << 20
CHOICES = msgspec.Meta(min_length=2, max_length=1024)
FEW_CHOICES = msgspec.Meta(min_length=2, max_length=512)
SEVERAL = msgspec.Meta(min_length=2, max_length=64)
"""Lengths of lists: of choices, of the choices of a part, of the numbers of a vector."""

# SPEC 4. Patterns are anchored by hand, as msgspec searches for them.
# Not $, which also matches before a final line break.
SURVEY_NAME = r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?\Z"
FIELD_NAME = r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z"

SurveyName = Annotated[str, msgspec.Meta(pattern=SURVEY_NAME)]
FieldName = Annotated[str, msgspec.Meta(pattern=FIELD_NAME)]
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
MOST_SHORT = 32
ShortLabel = Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_SHORT)]
Prose = Annotated[str, msgspec.Meta(min_length=1, max_length=5000)]

OUTLINE_SIDE = 1000
"""Units of a side of the picture in which an outline is drawn."""
_AT = r"(0|[1-9][0-9]{0,2}|1000)"
OUTLINE = rf"^(M{_AT} {_AT}( {_AT} {_AT})+)+\Z"
LONGEST_OUTLINE = 5000
Outline = Annotated[str, msgspec.Meta(pattern=OUTLINE, max_length=LONGEST_OUTLINE)]
"""Path data of SVG with moves and straight lines alone, in whole units."""


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base class of all parts of a definition: frozen, and without keys that the class does
    not name."""


class Claim(Value, frozen=True):
    """The privacy guarantee that a question states: an ``epsilon`` (with a ``delta`` for Gaussian
    noise) or ``odds``.

    ``history`` is the guarantee over all waves of a panel, in the same measure. Raises ValueError
    where the numbers break SPEC 2.2.

    >>> Claim(odds="3").covers(Fraction(3)), Claim(epsilon="1").covers(Fraction(3))
    (True, False)
    """

    epsilon: str | msgspec.UnsetType = msgspec.UNSET
    odds: str | msgspec.UnsetType = msgspec.UNSET
    delta: str | msgspec.UnsetType = msgspec.UNSET
    history: Claim | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if (self.epsilon is msgspec.UNSET) == (self.odds is msgspec.UNSET):
            raise ValueError(f"a claim has either epsilon or odds, not {self.text()}")
        if isinstance(self.epsilon, str):
            low, high = SMALLEST_EPSILON, LARGEST_EPSILON
            if not low <= decimal_fraction(self.epsilon) <= high:
                raise ValueError(f"epsilon is {self.epsilon}; use {float(low)} to {float(high)}")
        elif isinstance(self.odds, str) and not odds_allowed(odds_fraction(self.odds)):
            raise ValueError(f"the odds are {self.odds}; they must be from e^0.01 to e^10")
        if isinstance(self.delta, str):
            if self.epsilon is msgspec.UNSET:
                raise ValueError(f"delta is {self.delta}; it needs an epsilon beside it, not odds")
            if not 0 < decimal_fraction(self.delta) <= LARGEST_DELTA:
                raise ValueError(f"delta is {self.delta}; use one up to {float(LARGEST_DELTA)}")
        if isinstance(self.history, Claim):
            measure = "odds" if self.epsilon is msgspec.UNSET else "epsilon"
            if getattr(self.history, measure) is msgspec.UNSET or self.delta is not msgspec.UNSET:
                raise ValueError(f"the history of this claim must have the form {{{measure}: ...}}")
            if isinstance(self.history.history, Claim) or self.history.delta is not msgspec.UNSET:
                raise ValueError("a history cannot have a delta or a history of its own")

    def text(self) -> str:
        """Returns the claim as JSON."""
        return msgspec.json.encode(self).decode()

    def covers(self, loss: Loss | Fraction) -> bool:
        """Returns whether a mechanism with this privacy loss keeps the claim, decided exactly.

        A Fraction stands for a loss with these odds, and without an exponent and a delta.
        """
        if isinstance(loss, Fraction):
            loss = Loss(loss)
        # SPEC 2.2: a claim has a delta if and only if the loss has one.
        if bool(loss.delta) != isinstance(self.delta, str):
            return False
        if isinstance(self.delta, str) and loss.delta > decimal_fraction(self.delta):
            return False
        if isinstance(self.epsilon, str):
            return loss.at_most_epsilon(decimal_fraction(self.epsilon))
        return (
            isinstance(self.odds, str)
            and not loss.exponent
            and loss.odds <= odds_fraction(self.odds)
        )

    def covers_history(self, loss: Loss | None) -> bool:
        """Returns whether all reports of one person in a panel together keep the claim's
        ``history``, decided exactly.

        ``loss`` is the loss of the memo (the randomised answer that all these reports are made
        from), None for a mechanism without memos. Without memos the result is True exactly if the
        claim has no history.
        """
        if not isinstance(self.history, Claim) or loss is None:
            return self.history is msgspec.UNSET and loss is None
        return self.history.covers(loss)


class Choice(Value, frozen=True):
    """One of the answers that a question offers. Programs use the ``name``, people read the
    ``label``."""

    name: FieldName
    label: Label


class Range(Value, frozen=True):
    """The numbers that can answer a question: a grid from ``minimum`` to ``maximum`` by ``step``.

    All three are decimals as texts, in the question's ``unit``. Grid points are numbered from 0,
    which is their position. Raises ValueError where the three numbers make no grid.

    >>> hours = Range(minimum="0", maximum="60", step="0.5")
    >>> hours.positions, hours.position("7.6"), hours.nearest("7.6")
    (121, 15, '7.5')
    """

    minimum: str
    maximum: str
    step: str
    unit: Label | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if number(self.step) <= 0:
            raise ValueError(f"the step is {self.step}; it must be above 0")
        low, high, step = self.minimum, self.maximum, self.step
        steps = (number(high) - number(low)) / number(step)
        if steps <= 0:
            raise ValueError(f"the maximum, {high}, has to be above the minimum, {low}")
        if steps.denominator != 1:
            nearest = number(low) + steps.__floor__() * number(step)
            raise ValueError(
                "from the minimum to the maximum it is a whole number of steps; with steps of"
                f" {step} the maximum may be {float(nearest):g} instead of {high}"
            )
        if steps > MOST_STEPS:
            raise ValueError(f"at most {MOST_STEPS:,} steps are allowed; raise the step, {step}")

    @property
    def positions(self) -> int:
        """The number of positions on the grid, both ends included."""
        return _positions(self.minimum, self.maximum, self.step)

    def value(self, position: Fraction | int) -> Fraction:
        """Returns the number at a position; a position with a fraction lies between two points of
        the grid."""
        return number(self.minimum) + position * number(self.step)

    def position(self, answer: object) -> int:
        """Returns the position of the grid point nearest to ``answer``, a number (int, Decimal,
        float or text). A number outside the range counts as the nearer end.

        Raises BadAnswer where ``answer`` is not a number.
        """
        steps = (_given(answer) - number(self.minimum)) / number(self.step)
        # SPEC 4.1, in fractions: halves go up. Python's ``round`` would take the even neighbour.
        nearest = (steps + Fraction(1, 2)).__floor__()
        return min(max(nearest, 0), self.positions - 1)

    def nearest(self, answer: str) -> str | None:
        """Returns the grid point that ``answer`` counts as; None if ``answer`` is a grid point
        itself.

        Raises BadAnswer where ``answer`` is not a number.
        """
        position = self.position(answer)
        return None if self.value(position) == _given(answer) else self.written(position)

    def written(self, position: int) -> str:
        """Returns the number at a position as a decimal text."""
        value = self.value(position)
        decimal = Decimal(value.numerator) / value.denominator  # finite, as all on the grid
        return f"{decimal.normalize():f}"

    def cell(self, answer: object, cells: int) -> int:
        """Returns the group that a number belongs to, where all positions are cut into ``cells``
        groups as equal as possible, numbered from 0 (SPEC 4.1).

        Raises BadAnswer where ``answer`` is not a number.
        """
        # The cell of position i is floor(i * cells / positions) (SPEC 4.1).
        return self.position(answer) * cells // self.positions

    def first(self, cell: int, cells: int) -> str:
        """Returns the first number, as a decimal text, of the group with the index ``cell``, where
        all positions are cut into ``cells`` groups."""
        return self.written(-(-cell * self.positions // cells))


class NumberPart(Value, frozen=True):
    """One of the numbers of a vector or a point question."""

    name: FieldName
    label: Label
    range: Range


class ChoicePart(Value, frozen=True):
    """One of the small questions of a product question, which are all answered in one joint
    report."""

    name: FieldName
    label: Label
    choices: Annotated[list[Choice], FEW_CHOICES]

    def __post_init__(self) -> None:
        unique((choice.name for choice in self.choices), "the choice")


class ShowIf(Value, frozen=True):
    """The condition that a question is shown only to people who gave one of the answers ``among``
    to the earlier ``question``."""

    question: FieldName
    # Authors write "is", which Python does not allow as a name.
    among: Annotated[list[FieldName], msgspec.Meta(min_length=1)] = msgspec.field(name="is")


def unique(names: Iterable[str], noun: str) -> None:
    """Raises ValueError where a name occurs twice. ``noun`` is what the message calls the thing
    that is named, such as "the choice"."""
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated:
        raise ValueError(f"{noun} {repeated} is given twice")


def decimal_fraction(text: str) -> Fraction:
    """Returns the exact value of a decimal text, the epsilon or delta of a claim.

    Raises ValueError unless the text is a plain decimal without superfluous zeros (SPEC 2.2).
    """
    if len(text) > 40 or not re.fullmatch(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text, re.ASCII):
        raise ValueError(f"write {text[:40]!r} as a plain decimal number, such as 1.5")
    return Fraction(text)


@lru_cache(maxsize=1024)  # asked for with every answer
def _positions(minimum: str, maximum: str, step: str) -> int:
    return int((number(maximum) - number(minimum)) / number(step)) + 1


@lru_cache(maxsize=1024)
def number(text: str) -> Fraction:
    """Returns the exact value of a decimal text of a range, which may be negative.

    Raises ValueError unless the text is a plain decimal without superfluous zeros (SPEC 4.1).
    """
    spelt = re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text, re.ASCII)
    if len(text) > 40 or not spelt or text == "-0":
        raise ValueError(f"write {text[:40]!r} in the range as a plain decimal, such as -1.5")
    return Fraction(text)


def odds_fraction(text: str) -> Fraction:
    """Returns the exact value of a text, the odds of a claim. Raises ValueError unless the text is
    an integer or a fraction in lowest terms."""
    if len(text) > 40 or not re.fullmatch(r"[1-9][0-9]*(/[1-9][0-9]*)?", text, re.ASCII):
        raise ValueError(
            f"write the odds {text[:40]!r} as an integer or a fraction, such as 3 or 13/7"
        )
    odds = Fraction(text)
    if str(odds) != text:
        raise ValueError(f"write the odds {text} in lowest terms: {odds}")
    return odds


def odds_allowed(odds: Fraction) -> bool:
    """Returns whether a survey may have these odds: whether they are from e**0.01 to e**10,
    decided exactly."""
    return not at_most_exp(odds, SMALLEST_EPSILON) and at_most_exp(odds, LARGEST_EPSILON)


def _given(answer: object) -> Fraction:
    """The exact value of a respondent's number; of 0.1 one tenth, not the nearest double."""
    try:
        text = str(answer).strip()
    except ValueError:  # an integer of thousands of digits
        raise BadAnswer("needs a number") from None
    if isinstance(answer, str):
        # What people write: SPEC 4.1 knows no exponents.
        plain = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text, re.ASCII)
        if len(answer) > 40 or not plain:
            raise BadAnswer("needs a number")
    try:
        value = None if isinstance(answer, bool) else Decimal(text)
    except InvalidOperation:
        value = None
    # A number like 1e999999 would be an integer of a million digits.
    if value is None or not value.is_finite() or value.adjusted() > 40:
        raise BadAnswer("needs a number")
    return Fraction(value)
