"""Makes the fields of an experiment's form in the lab: each input as text, with the values that a
slider stops at. The script of the page computes no numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log10
from typing import Any

from deniably.lab.experiment import text_of
from deniably.lab.inputs import SEED, ExperimentInput, Level, OneOf, Real, Whole
from deniably.results.drawing.rounding import MINUS
from deniably.survey.privacy import to_decimal_text

LONGEST = 200
"""The most characters of an input."""
_STOPS = 40
"""A slider has about so many stops."""
_DIGITS = 15
"""The most decimal places with which a fraction is still shown as a decimal."""
_EACH = 100
"""A whole number of a range up to this has a stop at each."""
_WIDE = 1000
"""A range whose ends differ by this factor is gone through in equal factors."""


@dataclass(frozen=True)
class Field:
    """An input of an experiment as a form shows it.

    ``label`` says what the input is, ``allowed`` which values it takes, and ``value`` is the
    present value as text. ``choices`` has the names if the input is one of several names.
    ``stops`` has values as text in ascending order if the input has a slider; ``at`` is the index
    of the stop nearest to the present value.
    """

    name: str
    label: str
    allowed: str
    value: str
    choices: Sequence[str] = ()
    stops: Sequence[str] = ()
    at: int = 0


def fields(inputs: Mapping[str, ExperimentInput], values: Mapping[str, Any]) -> list[Field]:
    """Returns the fields for ``inputs``, in order. Both mappings are by name; ``values`` has the
    parsed value of each input."""
    return [_field(name, declared, values[name]) for name, declared in inputs.items()]


def _field(name: str, declared: ExperimentInput, value: Any) -> Field:
    label, allowed = declared.help.rstrip("."), declared.allowed.replace("-", MINUS)
    if isinstance(declared, OneOf):
        return Field(name, label, allowed, value, choices=declared.names)
    text, stops = shown(declared, value), _stops(declared)
    stop_values = [declared.read(name, stop) for stop in stops]
    at = min(
        range(len(stop_values)), key=lambda i: abs(_size(stop_values[i]) - _size(value)), default=0
    )
    return Field(name, label, allowed, text, stops=stops, at=at)


def shown(declared: ExperimentInput, value: Any) -> str:
    """Returns the text of a value as the field of the input ``declared`` shows it: a whole
    percentage for an input in per cent, else a decimal where that is exact, else a fraction."""
    if not isinstance(declared, Real):
        return text_of(value)
    if declared.percent and (100 * Fraction(value)).denominator == 1:
        return f"{100 * value} %"
    # A fraction is a decimal of so many places if its denominator divides that power of ten.
    return to_decimal_text(value) if 10**_DIGITS % value.denominator == 0 else text_of(value)


def _stops(declared: ExperimentInput) -> list[str]:
    """Returns ascending values over the range of an input; none for one that is no single
    number."""
    if declared is SEED or not isinstance(declared, Real | Whole | Level):
        return []
    low, high = Fraction(declared.minimum), Fraction(declared.maximum)
    if isinstance(declared, Whole) and high - low <= _EACH:
        return [str(number) for number in range(declared.minimum, declared.maximum + 1)]
    if isinstance(declared, Level) or (low > 0 and high >= _WIDE * low):
        return _by_factors(declared, float(low), float(high))
    if isinstance(declared, Real) and declared.percent:
        values = {
            low,
            high,
            *(Fraction(k, 100) for k in range(101) if low <= Fraction(k, 100) <= high),
        }
        return [shown(declared, value) for value in sorted(values)]
    steps = [low + (high - low) * k / _STOPS for k in range(_STOPS + 1)]
    if isinstance(declared, Whole):
        return [str(number) for number in sorted({round(step) for step in steps})]
    # Rounded and read back: a stop has to be a value that the field itself takes.
    return [shown(declared, declared.read("", f"{float(step):.3g}")) for step in steps]


def _by_factors(declared: ExperimentInput, low: float, high: float) -> list[str]:
    """Returns stops at equal factors, with two digits each, and the ends exactly."""
    begin, end = log10(low), log10(high)
    rounded = [
        float(f"{10 ** (begin + (end - begin) * k / _STOPS):.2g}") for k in range(_STOPS + 1)
    ]
    values = sorted({low, high, *(value for value in rounded if low <= value <= high)})
    if isinstance(declared, Whole):
        return [str(number) for number in sorted({round(value) for value in values})]
    return [shown(declared, declared.read("", f"{value:.4g}")) for value in values]


def _size(value: Any) -> float:
    return float(value.ln if hasattr(value, "ln") else value)
