"""Defines the inputs of experiments: typed, bounded, and read in the same way from Python, a
command and a page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, cast

from deniably.survey.privacy import Privacy, to_decimal_text

Exact = Fraction | float | str
"""A number as people write it: ``Fraction(1, 2)``, ``0.5``, ``"1/2"`` or ``"50 %"``; it is read
exactly."""

# The largest power of ten and the longest text that are read: what a person types is shorter.
_MOST_DIGITS, _MOST_CHARACTERS = 12, 24


@dataclass(frozen=True, kw_only=True)
class ExperimentInput(ABC):
    """The rule for the values that an input of an experiment may have, with a ``help`` text for
    readers."""

    help: str

    @abstractmethod
    def read(self, name: str, value: object) -> Any:
        """Returns the checked value of the input ``name``, from a Python value or from text. Raises
        ValueError, with name, value and range, if it is not allowed."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """The allowed values in words, for help texts and error messages."""

    def _refused(self, name: str, value: object) -> ValueError:
        return ValueError(f"{name} is {_shown(value)}; it is {self.allowed}")


@dataclass(frozen=True, kw_only=True)
class Real(ExperimentInput):
    """An input that is an exact number from ``minimum`` to ``maximum``. With ``percent``, pages
    show it in per cent."""

    minimum: Fraction | float
    maximum: Fraction | float
    percent: bool = False

    def read(self, name: str, value: object) -> Fraction:
        """Returns the number exactly as it is written: 0.1 is a tenth. Raises ValueError if it is
        no number or out of range."""
        try:
            number = _exact(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            raise self._refused(name, value) from None
        if not self.minimum <= number <= self.maximum:
            raise self._refused(name, value)
        return number

    @property
    def allowed(self) -> str:
        """The allowed range in words, for help texts and error messages."""
        ends = f"{_short(self.minimum)} to {_short(self.maximum)}"
        return f"a number from {ends}, as a decimal or a fraction"


@dataclass(frozen=True, kw_only=True)
class Whole(ExperimentInput):
    """An input that is a whole number from ``minimum`` to ``maximum``."""

    minimum: int
    maximum: int

    def read(self, name: str, value: object) -> int:
        """Returns the whole number. Raises ValueError if it is no whole number or out of range."""
        try:
            number = _exact(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            raise self._refused(name, value) from None
        if number.denominator != 1 or not self.minimum <= number <= self.maximum:
            raise self._refused(name, value)
        return int(number)

    @property
    def allowed(self) -> str:
        """The allowed range in words, for help texts and error messages."""
        return f"a whole number from {self.minimum:,} to {self.maximum:,}"


@dataclass(frozen=True, kw_only=True)
class SeveralOf(ExperimentInput):
    """An input that is a list of one to ``most`` different numbers, each of the type ``each``. A
    text has the numbers separated by commas or spaces."""

    each: Real | Whole
    most: int

    def read(self, name: str, value: object) -> tuple[Any, ...]:
        """Returns the distinct numbers in ascending order. Raises ValueError if a number is not
        allowed, or if there are none or too many."""
        if isinstance(value, str):
            value = value.replace(",", " ").split()
        try:
            values = list(cast(Iterable[object], value))
        except TypeError:
            values = [value]
        if not 1 <= len(values) <= self.most:
            raise self._refused(name, value)
        # A number twice would be drawn twice.
        return tuple(sorted({self.each.read(name, item) for item in values}))

    @property
    def allowed(self) -> str:
        """The allowed values in words, for help texts and error messages."""
        return f"from one to {self.most} numbers, each {self.each.allowed}"


@dataclass(frozen=True, kw_only=True)
class OneOf(ExperimentInput):
    """An input that is one of ``names``."""

    names: Sequence[str]

    def read(self, name: str, value: object) -> str:
        """Returns the name. Raises ValueError if it is not one of ``names``."""
        if not isinstance(value, str) or value not in self.names:
            raise self._refused(name, value)
        return value

    @property
    def allowed(self) -> str:
        """The allowed names in words, for help texts and error messages."""
        return f"one of {', '.join(self.names)}"


@dataclass(frozen=True, kw_only=True)
class Level(ExperimentInput):
    """An input that is a level of privacy: an epsilon from ``minimum`` to ``maximum``, or the
    logarithm of odds, such as ``"ln 3"``."""

    minimum: Fraction | float
    maximum: Fraction | float

    def read(self, name: str, value: object) -> Privacy:
        """Returns the epsilon or the odds, exactly as written. Raises ValueError if ``value`` is
        neither, or out of range."""
        if isinstance(value, Privacy):
            level = value
        elif isinstance(value, str) and value.strip().startswith("ln"):
            odds = value.strip().removeprefix("ln").strip(" ()")
            try:
                level = Privacy(odds=_exact(odds))
            except (ValueError, ZeroDivisionError):
                raise self._refused(name, value) from None
            if level.odds is None or level.odds <= 1:
                raise self._refused(name, value)
        else:
            try:
                level = Privacy(epsilon=_exact(value))
            except (ValueError, ZeroDivisionError):
                raise self._refused(name, value) from None
        if not self.minimum <= level.ln <= self.maximum:
            raise self._refused(name, value)
        return level

    @property
    def allowed(self) -> str:
        """The allowed range in words, for help texts and error messages."""
        return (
            f"a number from {_short(self.minimum)} to {_short(self.maximum)}, or the logarithm of"
            " odds as ln 3"
        )


def privacy_text(privacy: Privacy) -> str:
    """Returns a level of privacy as people write it, such as "1" or "ln 3"."""
    if privacy.odds is not None:
        return f"ln {privacy.odds}"
    assert privacy.epsilon is not None
    text = to_decimal_text(privacy.epsilon)
    return text if len(text) <= _MOST_CHARACTERS else str(privacy.epsilon)


SEED = Whole(
    minimum=0, maximum=2**32 - 1, help="Seed of the draws. The same seed gives the same draws."
)
SeedInput = Annotated[int, SEED]
SHARE = Real(
    minimum=0, maximum=1, percent=True, help="Share of the people whose true answer is yes."
)
ShareInput = Annotated[Exact, SHARE]
EPSILON = Level(
    minimum=Fraction(1, 100), maximum=10, help="Epsilon, the protection of an answer, or ln odds."
)
EpsilonInput = Annotated[Exact | Privacy, EPSILON]


def as_privacy(value: Exact | Privacy) -> Privacy:
    """Returns ``value`` unchanged, typed as ``Privacy``. Inside an experiment every
    ``EpsilonInput`` has been read into a ``Privacy``, which type checkers do not know."""
    assert isinstance(value, Privacy)
    return value


def _exact(value: object) -> Fraction:
    # True is an instance of int, too.
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction):
        raise ValueError
    if isinstance(value, Fraction):
        return value
    text = str(value).strip()  # a float as people write it, 0.1 and not its binary neighbour
    percent = text.endswith("%")
    text = text.removesuffix("%").strip().replace("\u202f", "")
    # Fraction takes 1_000 for 1000, which no reader of a page expects.
    if len(text) > _MOST_CHARACTERS or "_" in text:
        raise ValueError
    # 1e999999999 is short to write, and exact it would fill the memory.
    if abs(int(text.lower().partition("e")[2] or 0)) > _MOST_DIGITS:
        raise ValueError
    return Fraction(text) / (100 if percent else 1)


def _short(value: Fraction | float) -> str:
    fraction = Fraction(value)
    return str(fraction) if fraction.denominator in (1, 3) else f"{float(fraction):g}"


def _shown(value: object) -> str:
    text = str(value) if isinstance(value, str | int | float | Fraction) else repr(value)
    return repr(text[:40]) if isinstance(value, str) else text[:60]
