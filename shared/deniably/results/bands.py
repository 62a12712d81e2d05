"""Computes the narrower intervals that figures draw as bands within the main interval."""

from __future__ import annotations

from collections.abc import Callable

from deniably.estimation.intervals import IntervalEnds, within_each_other
from deniably.survey.readable import rounded


def bands(
    whole: IntervalEnds, at: Callable[[float], IntervalEnds], confidence: float
) -> tuple[IntervalEnds | None, IntervalEnds | None]:
    """Returns (80 % interval, 50 % interval), each made to lie within the wider ones; None instead
    of an interval whose level is not below ``confidence``.

    ``whole`` is the interval at ``confidence``, and ``at(level)`` computes the interval at another
    level.
    """
    levels = [level for level in (0.8, 0.5) if level < confidence]
    # Intervals of several levels need not be nested where each inverts a discrete test.
    _, *intervals = within_each_other([whole, *map(at, levels)])
    narrower = dict(zip(levels, intervals, strict=True))
    return narrower.get(0.8), narrower.get(0.5)


def band(ends: IntervalEnds | None, place: int | tuple[int, ...] = ()) -> list[float] | None:
    """Returns the interval at index ``place`` of the two arrays ``ends`` (low ends, high ends) as
    a rounded list [low, high] for the results document; None if ``ends`` is None."""
    return None if ends is None else [rounded(float(end[place])) for end in ends]
