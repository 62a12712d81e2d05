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

    ``estimate`` and intervals are in the unit of the axis: shares from 0 to 1, means in the
    question's unit. ``band_80`` and ``band_50`` are intervals at 80 and 50 % by the same method;
    where they are None, only the 95 % interval and the dot are drawn. ``reading`` is the estimate
    and interval as text; if that is "too few to say", nothing is drawn. With ``open`` the dot is
    an open circle: the interval reaches an end of the scale, or the value is uncertain. With
    ``muted`` the row is grey, such as for a difference that is not significant. ``aside`` marks
    answers such as "Prefer not to say", which come last and are grey. ``note`` is printed after
    the label, and ``address`` makes the label a link.
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
    """Returns the row of a mean; ``extent`` is (least, largest) number that people could give. If
    ``estimate`` is None, the row has the text "too few to say"."""
    if estimate is None:
        middle = sum(interval) / 2
        reading = rounding.mean(middle, interval, extent, unit)
        return _row(label, middle, interval, replace(reading, value=UNKNOWN, state="unknown"))
    return _row(label, estimate, interval, rounding.mean(estimate, interval, extent, unit))


def difference_row(label: str, estimate: float, interval: Sequence[float], *, shown: bool) -> Row:
    """Returns the row of a difference of two shares. Unless ``shown`` (the difference is
    significant), the row is grey and its dot an open circle."""
    row = _row(label, estimate, interval, rounding.points(estimate, interval))
    return replace(row, open=not shown, muted=not shown)


def banded(row: Row, band_80: Sequence[float] | None, band_50: Sequence[float] | None) -> Row:
    """Returns the row with these 80 % and 50 % intervals, each None if there is none."""
    return replace(
        row,
        band_80=None if band_80 is None else ends(band_80),
        band_50=None if band_50 is None else ends(band_50),
    )


def ends(interval: Sequence[float]) -> Ends:
    """Returns an interval, which is a list in the results document, as a pair (low, high)."""
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
