"""The narrower intervals within an interval, for the bands of figures."""

from __future__ import annotations

from collections.abc import Callable

from deniably.estimation.intervals import IntervalEnds, within_each_other
from deniably.survey.readable import rounded


def bands(
    whole: IntervalEnds, at: Callable[[float], IntervalEnds], confidence: float
) -> tuple[IntervalEnds | None, IntervalEnds | None]:
    """The intervals at 80 and 50 %, each within the one before; None unless below ``confidence``.

    ``whole`` is the interval at ``confidence``, and ``at`` makes it at any other.
    """
    levels = [level for level in (0.8, 0.5) if level < confidence]
    _, *intervals = within_each_other([whole, *map(at, levels)])
    narrower = dict(zip(levels, intervals, strict=True))
    return narrower.get(0.8), narrower.get(0.5)


def band(ends: IntervalEnds | None, place: int | tuple[int, ...] = ()) -> list[float] | None:
    """The document's form of one interval out of the arrays, by its ``place`` in them.

    It has the two ends, in the unit of the estimate.
    """
    return None if ends is None else [rounded(float(end[place])) for end in ends]
