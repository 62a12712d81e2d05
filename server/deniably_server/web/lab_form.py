"""The fields of an experiment's form: each input as text, with the stops of a slider where it has
one. The script of the page knows no numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log10
from typing import Any

from deniably.lab.experiment import text_of
from deniably.lab.inputs import SEED, ExperimentInput, Level, OneOf, Real, Whole
from deniably.results.drawing.digits import MINUS
from deniably.survey.privacy import to_decimal_text

LONGEST = 200
"""Characters of an input."""
_STOPS = 40
_DIGITS = 15
"""The digits of a decimal."""
_EACH = 100
"""A whole number of a range up to this has a stop at each."""
_WIDE = 1000
"""A range whose ends differ by this factor is gone through in equal factors."""


@dataclass(frozen=True)
class Field:
    """An input as a form shows it: ``label`` and ``allowed`` in words, and its ``value``.

    One of ``choices`` is chosen. A slider goes through ``stops``, which are values, too, and stands
    ``at`` the nearest.
    """

    name: str
    label: str
    allowed: str
    value: str
    choices: Sequence[str] = ()
    stops: Sequence[str] = ()
    at: int = 0


def fields(inputs: Mapping[str, ExperimentInput], values: Mapping[str, Any]) -> list[Field]:
    """The fields of these inputs with their values, which were read."""
    return [_field(name, one, values[name]) for name, one in inputs.items()]


def _field(name: str, one: ExperimentInput, value: Any) -> Field:
    label, allowed = one.help.rstrip("."), one.allowed.replace("-", MINUS)
    if isinstance(one, OneOf):
        return Field(name, label, allowed, value, choices=one.names)
    text, stops = shown(one, value), _stops(one)
    known = [one.read(name, stop) for stop in stops]
    at = min(range(len(known)), key=lambda i: abs(_size(known[i]) - _size(value)), default=0)
    return Field(name, label, allowed, text, stops=stops, at=at)


def shown(one: ExperimentInput, value: Any) -> str:
    """A value as its field has it: whole per cents of an input that has them, else a decimal where
    that is exact."""
    if not isinstance(one, Real):
        return text_of(value)
    if one.percent and (100 * Fraction(value)).denominator == 1:
        return f"{100 * value} %"
    return to_decimal_text(value) if 10**_DIGITS % value.denominator == 0 else text_of(value)


def _stops(one: ExperimentInput) -> list[str]:
    """Values over the range of an input, ascending; none of one that is no single number."""
    if one is SEED or not isinstance(one, Real | Whole | Level):
        return []
    low, high = Fraction(one.minimum), Fraction(one.maximum)
    if isinstance(one, Whole) and high - low <= _EACH:
        return [str(number) for number in range(one.minimum, one.maximum + 1)]
    if isinstance(one, Level) or (low > 0 and high >= _WIDE * low):
        return _by_factors(one, float(low), float(high))
    if isinstance(one, Real) and one.percent:
        found = {
            low,
            high,
            *(Fraction(k, 100) for k in range(101) if low <= Fraction(k, 100) <= high),
        }
        return [shown(one, each) for each in sorted(found)]
    steps = [low + (high - low) * k / _STOPS for k in range(_STOPS + 1)]
    if isinstance(one, Whole):
        return [str(number) for number in sorted({round(step) for step in steps})]
    return [shown(one, one.read("", f"{float(step):.3g}")) for step in steps]


def _by_factors(one: ExperimentInput, low: float, high: float) -> list[str]:
    """Two digits each, with the ends as they are."""
    begin, end = log10(low), log10(high)
    rounded = [
        float(f"{10 ** (begin + (end - begin) * k / _STOPS):.2g}") for k in range(_STOPS + 1)
    ]
    kept = sorted({low, high, *(each for each in rounded if low <= each <= high)})
    if isinstance(one, Whole):
        return [str(number) for number in sorted({round(each) for each in kept})]
    return [shown(one, one.read("", f"{each:.4g}")) for each in kept]


def _size(value: Any) -> float:
    return float(value.ln if hasattr(value, "ln") else value)
