"""Computes axes: where a value lies, in per cent of the width, and which values have a labelled
tick mark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from deniably.results.drawing.rounding import NARROW, number, signed, with_unit
from deniably.results.drawing.row import Row

_SHARES = (
    (0.1, 0.02), (0.2, 0.05), (0.3, 0.1), (0.4, 0.1), (0.5, 0.1), (0.6, 0.2), (0.8, 0.2), (1, 0.25)
)  # fmt: skip
"""(end of an axis for shares, distance of its tick marks)."""
_MOST_STEPS, _FIVE, _SHORT = 6, 5, 4
"""The numbers of steps between tick marks on an axis of short and on one of other labels, and the
most characters of a short label: longer ones would touch on a phone."""


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``. Each of ``ticks`` is a value and its label.

    ``zero`` is the value whose gridline is drawn dark, None if no gridline is. Where ``log`` is
    true, equal ratios are equally far apart, and all values are above 0.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    zero: float | None = None
    log: bool = False

    def at(self, value: float) -> float:
        """Returns the position of a value, in per cent of the width, from 0 at the left to 100 at
        the right. A value beyond an end is drawn at that end."""
        low, high = self._place(self.low), self._place(self.high)
        within = min(max(value, self.low), self.high)
        return 100 * (self._place(within) - low) / (high - low)

    def _place(self, value: float) -> float:
        return math.log10(value) if self.log else value


_LONG, _FEW = 5, 3
"""Powers of ten above which neighbours would touch on a phone, and steps between such ticks."""
_CHARACTER = 2.6  # per cent of the narrowest strip
_LONGEST = 16


def of_shares(rows: Iterable[Row]) -> Axis:
    """Returns an axis for shares. It begins at 0 and ends at a round share, the smallest of a
    fixed list up to 1 that no drawn interval exceeds."""
    largest = max((row.interval[1] for row in rows if row.drawn), default=1.0)
    # Interval ends are sums of floats: 0.1 + 0.2 must still fit an axis that ends at 0.3.
    end, step = next((pair for pair in _SHARES if largest <= pair[0] + 1e-9), _SHARES[-1])
    steps = [round(step * k, 9) for k in range(round(end / step) + 1)]
    return Axis(0.0, end, tuple((step, f"{100 * step:g}{NARROW}%") for step in steps), zero=0.0)


def of_numbers(low: float, high: float, unit: str = "", *, first: str = "", last: str = "") -> Axis:
    """Returns the axis of a mean, with ticks at equal distances over the whole range from ``low``
    to ``high``, and labels at both ends.

    The axis ends at ``low`` and ``high``, or at round numbers around them where no round step
    divides the range. ``unit`` follows the last number. ``first`` and ``last`` are words beside
    the numbers at the ends, as in "1 disagree".
    """
    longest = max(len(number(low)) + len(first), len(number(high)) + len(last or unit))
    limit = _MOST_STEPS if longest <= _SHORT else _SHORT
    # Words at the ends belong to the ends of a scale, so its axis must end exactly there.
    values = _even(low, high, limit, exact=bool(first or last))
    texts = [plain(value, values[1] - values[0]) for value in values]
    texts[0] = f"{texts[0]} {_cut(first)}" if first else texts[0]
    texts[-1] = f"{texts[-1]} {_cut(last)}" if last else with_unit(texts[-1], unit)
    # Positions are needed to see which labels would touch, so labels are dropped afterwards.
    axis = Axis(values[0], values[-1], tuple(zip(values, texts, strict=True)))
    return replace(axis, ticks=tuple(_apart(axis)))


def _even(low: float, high: float, limit: int, *, exact: bool) -> list[float]:
    """Ticks with equal steps, ``limit`` or one more at the most: from ``low`` to ``high`` where a
    round step divides the range, or ``exact`` says that these are whole numbers; else from a round
    number below to one above."""
    length = high - low
    whole = _whole(low) and _whole(length)
    if whole and 1 < length <= limit + 1:
        steps: Iterable[float] = [1.0]
    elif exact:
        steps = range(math.ceil(length / limit), round(length) + 1)
    else:
        # Round steps are 1, 2, 2.5, 4 or 5 times a power of ten.
        unit = 10.0 ** math.floor(math.log10(length / limit))
        sizes = (unit * factor for factor in (1, 2, 2.5, 4, 5, 10))
        steps = (size for size in sizes if size * limit >= length - 1e-9)
    for step in steps:
        if _whole(length / step) and (exact or _whole(low / step)):
            return [low + step * k for k in range(round(length / step) + 1)]
    return [value for value, _ in of_values((low, high)).ticks]


def _whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-9


def _apart(drawn: Axis) -> Iterator[tuple[float, str]]:
    """The ticks without those whose words would touch the words at the ends on a phone."""
    first, *inner, last = drawn.ticks
    yield first
    for value, text in inner:
        half = _CHARACTER * len(text) / 2 + _CHARACTER
        if (
            _CHARACTER * len(first[1]) + half
            <= drawn.at(value)
            <= 100 - half - _CHARACTER * len(last[1])
        ):
            yield value, text
        else:
            yield value, ""
    yield last


def _cut(words: str) -> str:
    """Words at an end of the axis, with room for those at the other end."""
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1].rstrip()}…"


def of_differences(rows: Iterable[Row]) -> Axis:
    """Returns an axis for differences of shares, in percentage points, that always includes 0, with
    a dark line at 0."""
    ends = [end for row in rows if row.drawn for end in row.interval]
    low, high = min([*ends, 0.0]), max([*ends, 0.0])
    # Equal ends at 0 would give no step.
    step = _step(max(high - low, 0.02), _SHORT)
    # Without the 1e-9 a multiple that is rounded down would move the axis by a whole step.
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    values = [step * k for k in range(min(first, 0), max(last, 0, first + 1) + 1)]
    decimals = 0 if step >= 0.01 else 1
    ticks = tuple((value, signed(100 * value, decimals)) for value in values)
    return Axis(values[0], values[-1], ticks, zero=0.0)


def of_values(values: Iterable[float], unit: str = "") -> Axis:
    """Returns an axis that includes all ``values`` and begins and ends at round numbers; ``unit``
    follows the last number. Raises ValueError if there are no values."""
    least, largest = _ends(values)
    step = _step(largest - least, _FIVE)
    # Rounding must not add a step where a value is a multiple already.
    first, last = math.floor(least / step + 1e-9), math.ceil(largest / step - 1e-9)
    ticks = [(step * k, plain(step * k, step)) for k in range(first, last + 1)]
    ticks[-1] = (ticks[-1][0], with_unit(ticks[-1][1], unit))
    zero = 0.0 if first <= 0 <= last else None
    return Axis(step * first, step * last, tuple(ticks), zero)


def upright(low: float, high: float, unit: str = "", *, first: str = "", last: str = "") -> Axis:
    """Returns the vertical axis of a mean, with equal steps and every tick labelled.

    The axis ends at round numbers around the range. With ``first`` or ``last``, the words at the
    ends of a scale, it ends exactly at ``low`` and ``high``, which must then be whole numbers.
    """
    if not (first or last):
        return of_values((low, high), unit)
    length = round(high - low)
    step = next(
        stride
        for stride in range(1, length + 1)
        if length % stride == 0 and length / stride <= _FIVE
    )
    values = [low + at for at in range(0, length + 1, step)]
    texts = [plain(value) for value in values]
    texts[0], texts[-1] = f"{texts[0]} {_cut(first)}", f"{texts[-1]} {_cut(last)}"
    return Axis(low, high, tuple(zip(values, texts, strict=True)))


def of_parts(values: Iterable[float]) -> Axis:
    """Returns an axis that includes all ``values``, with labels in per cent. The values are shares
    from 0 to 1 or other proportions, of which 1 is 100 %."""
    hundred = of_values(100 * value for value in values)
    ticks = tuple((at / 100, f"{text}{NARROW}%") for at, text in hundred.ticks)
    return Axis(hundred.low / 100, hundred.high / 100, ticks, hundred.zero)


def of_ratios(values: Iterable[float], unit: str = "") -> Axis:
    """Returns a logarithmic axis that includes all ``values``; equal ratios are equally far apart
    on it.

    Raises ValueError unless all values are above 0.
    """
    least, largest = _ends(values)
    if least <= 0:
        raise ValueError(f"{least:g} has no place on an axis of ratios; values are above 0")
    low, high = math.floor(math.log10(least) + 1e-9), math.ceil(math.log10(largest) - 1e-9)
    stride = max(1, math.ceil((high - low) / (_MOST_STEPS if high <= _LONG else _FEW)))
    # Beyond two powers of ten, labels at 2 and 5 would crowd the axis.
    few = high - low > 2 or high > _LONG
    inner = (1,) if few else (1, 2, 5)
    # The axis ends at such marks too, so it need not span whole powers of ten.
    round_ = [part * 10.0**k for k in range(low, high + 1) for part in inner]
    first = max(tick for tick in round_ if tick <= least * (1 + 1e-9))
    last = min(tick for tick in round_ if tick >= largest * (1 - 1e-9))
    if few:
        ticks = [10.0**k for k in range(low, high + 1) if (k - low) % stride == 0]
    else:
        ticks = [tick for tick in round_ if first <= tick <= last]
    texts = [plain(tick, tick) for tick in ticks]
    texts[-1] = with_unit(texts[-1], unit)
    return Axis(first, last, tuple(zip(ticks, texts, strict=True)), log=True)


def _ends(values: Iterable[float]) -> tuple[float, float]:
    """The least and the largest value; two numbers apart where all are the same."""
    listed = list(values)
    least, largest = min(listed), max(listed)
    return (least, largest) if least < largest else (least, largest + max(abs(largest), 1.0))


def _step(length: float, limit: int) -> float:
    """The smallest round step that divides a length into no more than ``limit``."""
    rough = length / limit
    unit = 10.0 ** math.floor(math.log10(rough))
    steps: Sequence[float] = (1, 2, 2.5, 5, 10)
    return next(unit * factor for factor in steps if unit * factor >= rough * (1 - 1e-9))


def plain(value: float, step: float = 1.0) -> str:
    """Returns the text of a number with only the decimals it needs, at most six. Digits below a
    millionth of ``step`` are taken as rounding errors."""
    decimals = next(
        (d for d in range(7) if math.isclose(value, round(value, d), abs_tol=step / 1e6)), 6
    )
    return number(value, decimals)
