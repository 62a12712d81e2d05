"""Rounds figures for sentences, tables, pictures and spreadsheets alike.

The width of an interval decides how many digits its estimate has. An estimate whose interval
reaches an end of the scale reads "below 9 %" or "above 53 %": reports never prove that nobody or
everybody has an answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Literal

NARROW = "\u202f"
"""The narrow no-break space before a per cent sign or a unit."""
MINUS = "\u2212"
_NO_BREAK = "\u00a0"
# Smaller p-values are tails of approximations, whose digits mean little.
_LEAST_P = 0.001
UNKNOWN = "too few to say"

_WHOLE = 1e-9
_NEARLY = 99.8
"""In per cent; probabilities from here on have at least two decimals."""
_MOST_PLACES = 5

FINE = 0.015
"""Half-widths of intervals (as a share) below which shares have a decimal."""
WIDEST = 0.8
"""An interval wider than this fraction of its scale is reported as "too few to say"."""

Known = Literal["known", "below", "above", "unknown"]


@dataclass(frozen=True)
class Reading:
    """A figure as text for readers: ``value`` such as "29 %" or "2.5 days", ``interval`` such as
    "21 to 38 %" or "0.5 to 4.5".

    ``bare`` is the interval without a per cent sign, for brackets in a sentence. ``state`` says
    what ``value`` is: the estimate ("known"), one end of the interval ("below" or "above", as in
    "below 9 %"), or "too few to say" ("unknown").
    """

    value: str
    interval: str
    bare: str
    state: Known

    @property
    def open(self) -> bool:
        """Whether the interval reaches an end of the scale. The dot of the figure is then drawn as
        an open circle."""
        return self.state in ("below", "above")


def share(estimate: float, interval: Sequence[float]) -> Reading:
    """Returns a share from 0 to 1 as text, a percentage.

    >>> share(0.294, (0.21, 0.381)).value.replace(NARROW, " ")
    '29 %'
    >>> share(-0.01, (0.0, 0.0812)).value.replace(NARROW, " ")
    'below 9 %'
    >>> share(0.4, (0.05, 0.9)).value
    'too few to say'
    """
    low, high = interval
    places = 0 if (high - low) / 2 >= FINE else 1
    return _reading(100 * estimate, (100 * low, 100 * high), (0.0, 100.0), places, "%")


def share_untold(interval: Sequence[float]) -> Reading:
    """Returns the text of a share that the reports do not determine: "too few to say", with
    ``interval`` as the range of possible shares."""
    reading = share(sum(interval) / 2, interval)
    return replace(reading, value=UNKNOWN, state="unknown")


def mean(
    estimate: float, interval: Sequence[float], extent: Sequence[float], unit: str = ""
) -> Reading:
    """Returns a mean as text, in its unit. ``extent`` is (least, largest) number that people could
    give.

    The last digit is about a tenth of half the interval.

    >>> mean(2.48, (0.49, 4.52), (0, 30), "days").value.replace(NARROW, " ")
    '2.5 days'
    >>> mean(3694, (2940, 4456), (0, 20_000)).interval
    '2,900 to 4,500'
    """
    return _reading(estimate, interval, extent, places(interval), unit)


def points(estimate: float, interval: Sequence[float]) -> Reading:
    """Returns a difference of two shares (from -1 to 1) as text, in percentage points with a sign.

    >>> points(0.127, (0.04, 0.21)).value.replace(NARROW, " ")
    '+13 points'
    """
    low, high = interval
    decimals = 0 if (high - low) / 2 >= FINE else 1
    ends = [signed(100 * end, decimals) for end in interval]
    bare = f"{ends[0]} to {ends[1]}"
    value = f"{signed(100 * estimate, decimals)}{NARROW}points"
    return Reading(value, bare, bare, "known")


def in_100(reading: Reading) -> str:
    """Returns a share as people out of a hundred, as sentences state it: "29 in 100" for "29 %" or
    for "above 29 %"."""
    value = reading.value.removeprefix("above ").removesuffix("%").removesuffix(NARROW)
    return f"{value} in 100"


def hundred(part: Fraction | float, places: int = 1) -> str:
    """Returns a probability as a number out of a hundred, with more digits near 0 and 100.

    Only the fractions 0 and 1 give "0" and "100". Others are never rounded to these, and a float
    never proves certainty.

    >>> hundred(Fraction(1, 4)), hundred(0.99966), hundred(0.999996), hundred(1.0), hundred(1e-5)
    ('25', '99.97', '99.9996', 'nearly 100', '0.001')
    """
    in_hundred = 100 * part
    if in_hundred in (0, 100) and isinstance(part, Fraction):
        return number(float(in_hundred))
    if abs(in_hundred - round(in_hundred)) < _WHOLE and 0 < round(in_hundred) < 100:
        return number(float(in_hundred))
    # So that 99.97 does not read 100.0.
    first = places if in_hundred < _NEARLY else 2
    fit = (d for d in range(first, _MOST_PLACES) if 0 < round(in_hundred, d) < 100)
    if (decimals := next(fit, None)) is None:
        return f"nearly {0 if in_hundred < 50 else 100}"
    return number(float(in_hundred), decimals)


def half(width: float) -> str:
    """Returns the half-width of a share's interval in percentage points: "10", or "0.8" where it is
    below 1.5 points."""
    return number(half_points(width), _half_places(width))


def half_points(width: float) -> float:
    """Returns the half-width that ``half`` prints, as a number. A text that depends on the number
    then agrees with the printed one.

    >>> half(0.0512), half_points(0.0512)
    ('5', 5.0)
    """
    return round(100 * width, _half_places(width))


def _half_places(width: float) -> int:
    return 0 if width >= FINE else 1


def places(interval: Sequence[float]) -> int:
    """Returns the number of decimals to print of a mean with this interval, fewer for a wider
    interval; -2 means rounding to hundreds."""
    half = (interval[1] - interval[0]) / 2
    # The last digit printed is the first digit of a tenth of the half-width.
    return min(6, round(-math.log10(half / 10))) if half > 0 else 2


def number(value: float, decimals: int = 0) -> str:
    """Returns a number as text with thousands separators and a true minus sign, never "-0".
    Negative ``decimals`` round to tens, hundreds and so on.

    >>> number(-0.04, 1), number(-1234.5, -2)
    ('0.0', '−1,200')
    """
    text = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    # Rounding can leave "-0.0"; zero has no sign.
    if not any(digit in text for digit in "123456789"):
        text = text.removeprefix("-")
    return text.replace("-", MINUS)


def signed(value: float, decimals: int = 0) -> str:
    """Returns a number as text, as ``number`` does, with a plus sign if it is above zero after
    rounding."""
    text = number(value, decimals)
    plus = value > 0 and text != number(0, decimals)
    return f"+{text}" if plus else text


def with_unit(text: str, unit: str) -> str:
    """Returns a number and its unit as text that stays on one line; the number alone if the unit is
    empty."""
    return f"{text}{NARROW}{unit}" if unit else text


def p_value(p: float, places: int = 3) -> str:
    """Returns a p-value as text that stays on one line.

    >>> p_value(0.0123).replace(_NO_BREAK, " "), p_value(1e-9).replace(_NO_BREAK, " ")
    ('p = 0.012', 'p < 0.001')
    """
    relation = f"= {p:.{places}f}" if p >= _LEAST_P else f"< {_LEAST_P}"
    return f"p {relation}".replace(" ", _NO_BREAK)


def p_cell(p: float) -> str:
    """Returns a p-value for a table whose heading says "p": "0.012" or "< 0.001"."""
    return p_value(p).removeprefix(f"p{_NO_BREAK}").removeprefix(f"={_NO_BREAK}")


def exact(text: str) -> str:
    """Returns the text of a decimal number with thousands separators, a true minus sign and all its
    digits. For numbers that are given and not estimated, such as the end of a range.

    >>> exact("-2500.5")
    '−2,500.5'
    """
    return f"{Decimal(text):,}".replace("-", MINUS)


def inside(estimate: float, interval: Sequence[float]) -> float:
    """Returns ``estimate`` moved to the nearer end of ``interval`` if it lies outside, as unbiased
    estimates may; otherwise returns it unchanged."""
    return min(max(estimate, interval[0]), interval[1])


# --- below ------------------------------------------------------------------------------------


def _reading(
    estimate: float,
    interval: Sequence[float],
    extent: Sequence[float],
    decimals: int,
    unit: str,
) -> Reading:
    low, high = interval
    bottom, top = extent
    middle = inside(estimate, interval)
    # An estimate that rounds to the end of the scale would read as if it were proved.
    at_bottom = low <= bottom or round(middle, decimals) <= bottom
    at_top = high >= top or round(middle, decimals) >= top
    if at_bottom:
        low, high = bottom, _up(high, bottom, decimals)
    elif at_top:
        low, high = _down(low, top, decimals), top
    low_text, high_text = number(low, decimals), number(high, decimals)
    if min(low, round(low, decimals)) <= bottom:
        low_text = _end(bottom, decimals)
    if max(high, round(high, decimals)) >= top:
        high_text = _end(top, decimals)
    bare = f"{low_text} to {high_text}"
    whole = with_unit(bare, unit) if unit == "%" else bare
    # An interval that reaches both ends, after rounding, says nothing either.
    if interval[1] - interval[0] > WIDEST * (top - bottom) or (at_bottom and at_top):
        return Reading(UNKNOWN, whole, bare, "unknown")
    if at_bottom:
        return Reading(f"below {with_unit(high_text, unit)}", whole, bare, "below")
    if at_top:
        return Reading(f"above {with_unit(low_text, unit)}", whole, bare, "above")
    return Reading(with_unit(number(middle, decimals), unit), whole, bare, "known")


def _end(value: float, decimals: int) -> str:
    """An end of the scale, never rounded: nobody of 18 or older is 10, or 20 at least."""
    fit = (d for d in range(max(decimals, 0), 7) if math.isclose(value, round(value, d)))
    return number(value, next(fit, 6))


def _up(value: float, bottom: float, decimals: int) -> float:
    """Rounded up, at least one step above the bottom of the scale."""
    step = 10.0**-decimals
    return max(math.ceil(_whole(value / step)) * step, bottom + step)


def _down(value: float, top: float, decimals: int) -> float:
    """Rounded down, at least one step below the top of the scale."""
    step = 10.0**-decimals
    return min(math.floor(_whole(value / step)) * step, top - step)


def _whole(steps: float) -> float:
    """Without the error of floating point: 7.000000000000001 steps are 7."""
    return round(steps, 6)
