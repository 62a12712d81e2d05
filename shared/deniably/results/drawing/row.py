"""Defines a row of a figure: a label, an estimate with its intervals, and their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deniably.results.drawing import rounding
from deniably.results.drawing.rounding import UNKNOWN, Reading

Ends = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a figure, for web pages, figures for papers, notebooks and spreadsheets.

    ``estimate`` and intervals are in the unit of the scale: shares from 0 to 1, means in the
    question's unit. ``band_80`` and ``band_50`` are intervals at 80 and 50 % by the same method;
    where they are None, only the 95 % interval and the dot are drawn. ``reading`` is the text;
    nothing is drawn where it says "too few to say". ``open`` draws the dot open: the interval
    reaches an end of the scale, or the value is uncertain. ``muted`` draws in grey, such as a
    difference that is not significant. ``aside`` marks answers such as "Prefer not to say", which
    come last and grey. ``note`` follows the label, and ``address`` makes the label a link.
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
        """Whether the row has a dot and a line."""
        return self.reading.state != "unknown"


def share_row(label: str, estimate: float, interval: Sequence[float]) -> Row:
    """Returns the row of a share from 0 to 1, without bands."""
    return _row(label, estimate, interval, rounding.share(estimate, interval))


def mean_row(
    label: str,
    estimate: float | None,
    interval: Sequence[float],
    extent: Sequence[float],
    unit: str = "",
) -> Row:
    """Returns the row of a mean; ``extent`` is (least, largest) number that people could give. An
    ``estimate`` of None gives a row that says "too few to say"."""
    if estimate is None:
        middle = sum(interval) / 2
        reading = rounding.mean(middle, interval, extent, unit)
        return _row(label, middle, interval, replace(reading, value=UNKNOWN, state="unknown"))
    return _row(label, estimate, interval, rounding.mean(estimate, interval, extent, unit))


def difference_row(label: str, estimate: float, interval: Sequence[float], *, shown: bool) -> Row:
    """Returns the row of a difference of two shares, grey and with an open dot unless the
    difference is ``shown`` (significant)."""
    row = _row(label, estimate, interval, rounding.points(estimate, interval))
    return replace(row, open=not shown, muted=not shown)


def banded(row: Row, band_80: Sequence[float] | None, band_50: Sequence[float] | None) -> Row:
    """Returns the row with its 80 % and 50 % intervals; None for a band that it has not."""
    return replace(
        row,
        band_80=None if band_80 is None else ends(band_80),
        band_50=None if band_50 is None else ends(band_50),
    )


def ends(interval: Sequence[float]) -> Ends:
    """Returns an interval of the results document, a list, as a pair (low, high)."""
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
