"""One drawn row of a figure: a label, an estimate with its intervals, and how they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deniably.results.drawing import rounding
from deniably.results.drawing.rounding import UNKNOWN, Reading

Ends = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a strip, a figure for a paper and a notebook draw, and what a spreadsheet says of it.

    ``estimate`` and the ends are in the unit of the scale: shares from 0 to 1, means in the
    question's unit. ``band_80`` and ``band_50`` are narrower intervals of the same method; without
    them the line of the 95 % interval and the dot are drawn alone. ``reading`` is the text, by
    ``digits``; nothing is drawn where it says too few. ``open`` draws the dot open: the interval
    reaches an end of the scale, or the place is not known well. ``muted`` draws in grey, such as a
    difference that cannot be told from none. ``aside`` marks answers such as "Prefer not to say",
    which come last and grey. ``address`` makes the label a link.
    """

    label: str
    note: str = ""
    estimate: float
    interval: Ends
    band_80: Ends | None = None
    band_50: Ends | None = None
    reading: Reading
    open: bool = False
    muted: bool = False
    aside: bool = False
    address: str = ""

    @property
    def drawn(self) -> bool:
        """Whether there is a dot and a line."""
        return self.reading.state != "unknown"


def share_row(label: str, estimate: float, interval: Sequence[float]) -> Row:
    """The row of a share from 0 to 1; ``replace`` adds what else it has."""
    return _row(label, estimate, interval, rounding.share(estimate, interval))


def mean_row(
    label: str,
    estimate: float | None,
    interval: Sequence[float],
    extent: Sequence[float],
    unit: str = "",
) -> Row:
    """The row of a mean of numbers from ``extent``; None where reports do not determine it."""
    if estimate is None:
        middle = sum(interval) / 2
        reading = rounding.mean(middle, interval, extent, unit)
        return _row(label, middle, interval, replace(reading, value=UNKNOWN, state="unknown"))
    return _row(label, estimate, interval, rounding.mean(estimate, interval, extent, unit))


def difference_row(label: str, estimate: float, interval: Sequence[float], *, shown: bool) -> Row:
    """The row of a difference of two shares; grey and open unless it is ``shown`` to be one."""
    row = _row(label, estimate, interval, rounding.points(estimate, interval))
    return replace(row, open=not shown, muted=not shown)


def banded(row: Row, band_80: Sequence[float] | None, band_50: Sequence[float] | None) -> Row:
    """The row with its narrower intervals, where there are any."""
    return replace(
        row,
        band_80=None if band_80 is None else ends(band_80),
        band_50=None if band_50 is None else ends(band_50),
    )


def ends(interval: Sequence[float]) -> Ends:
    """An interval of the results document as a pair."""
    low, high = interval
    return float(low), float(high)


def _row(label: str, estimate: float, interval: Sequence[float], reading: Reading) -> Row:
    return Row(
        label=label,
        estimate=estimate,
        interval=ends(interval),
        reading=reading,
        open=reading.open,
    )
