"""Draws an author's lines as the outline on a map: clipped, rounded and thinned (SPEC 4.1).

Thinning follows Visvalingam and Whyatt (1993), "Line generalisation by repeated elimination of
points", The Cartographic Journal 30(1): the point whose triangle with its neighbours is smallest
goes first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from deniably.survey.parts import OUTLINE_SIDE

MOST_POINTS = 500
"""The maximum of points of an outline, which have at most 5,000 characters; every device loads
them."""
MOST_READ = 200_000
"""The maximum of points that an author may give; thinning more takes long."""
_LARGEST = 1e12

Position = tuple[float, float]
"""(number for the first part of the point, number for the second)."""
Line = Sequence[Position]
_Whole = tuple[int, int]


class Side(NamedTuple):
    """A side of the map: its label, its first and last number, and the step between numbers."""

    label: str
    low: float
    high: float
    step: float

    def at(self, value: float) -> float:
        """Returns where a number lies on the side, from 0 to 1: the middle of the number's band.

        All numbers have equally wide bands.
        """
        return (value - self.low + self.step / 2) / (self.high - self.low + self.step)


def outline(lines: Iterable[Line], sides: tuple[Side, Side]) -> str:
    """Returns SVG path data of lines in a question's own numbers, with at most ``MOST_POINTS``
    points.

    Raises ValueError where there are too many points or lines, where a coordinate is no number up
    to 10^12, and where nothing lies on the map; the message says how to mend it.
    """
    drawn: list[list[_Whole]] = []
    count = 0
    for line in lines:
        if (count := count + len(line)) > MOST_READ:
            raise ValueError(
                f"the outline has more than {MOST_READ:,} points: simplify it first, such as with"
                " mapshaper or ogr2ogr -simplify"
            )
        if not all(abs(number) <= _LARGEST for point in line for number in point):  # NaN is not
            raise ValueError("a coordinate of the outline is no number up to 1000000000000")
        placed = [tuple(side.at(x) for side, x in zip(sides, point, strict=True)) for point in line]
        drawn += map(_rounded, _clipped(placed))
    kept = _thinned([line for line in drawn if len(line) > 1])
    if not kept:
        first, second = sides
        raise ValueError(
            f"no line of the outline lies on the map: “{first.label}” is from {first.low:g} to"
            f" {first.high:g} and “{second.label}” from {second.low:g} to {second.high:g}. Of each"
            " point the number for the first part comes first; in GeoJSON that is the longitude"
        )
    return "".join("M" + " ".join(f"{x} {y}" for x, y in line) for line in kept)


# --- clipping (Liang and Barsky 1984) ---------------------------------------------------------


def _clipped(line: Sequence[Sequence[float]]) -> Iterator[list[Sequence[float]]]:
    """The pieces of a line within the unit square."""
    piece: list[Sequence[float]] = []
    for begin, end in pairwise(line):
        seen = _within(begin, end)
        if seen is None:
            continue
        first, last = seen
        if piece and piece[-1] != first:
            yield piece
            piece = []
        piece = piece or [first]
        piece.append(last)
    if piece:
        yield piece


def _within(
    begin: Sequence[float], end: Sequence[float]
) -> tuple[Sequence[float], Sequence[float]] | None:
    """The part of a straight line within the unit square; None where it passes by."""
    enters, leaves = 0.0, 1.0
    for a, b in zip(begin, end, strict=True):
        if a == b:
            if not 0 <= a <= 1:
                return None
            continue
        first, last = sorted(((0 - a) / (b - a), (1 - a) / (b - a)))
        enters, leaves = max(enters, first), min(leaves, last)
    if enters > leaves:
        return None
    return _along(begin, end, enters), _along(begin, end, leaves)


def _along(begin: Sequence[float], end: Sequence[float], part: float) -> Sequence[float]:
    if part in (0.0, 1.0):
        return end if part else begin
    return tuple(a + (b - a) * part for a, b in zip(begin, end, strict=True))


def _rounded(line: Iterable[Sequence[float]]) -> list[_Whole]:
    """The points in whole units from the upper left corner, without repetitions."""
    points = ((_unit(x), OUTLINE_SIDE - _unit(y)) for x, y in line)
    return [point for point, _ in groupby(points)]


def _unit(part: float) -> int:
    return min(max(round(OUTLINE_SIDE * part), 0), OUTLINE_SIDE)


# --- thinning ---------------------------------------------------------------------------------


def _thinned(lines: list[list[_Whole]]) -> list[list[_Whole]]:
    """The lines with at most ``MOST_POINTS`` points; islands too small to see are left out.

    Raises ValueError where the ends of lines alone are more.
    """
    neighbours = [[(i - 1, i + 1) for i in range(len(line))] for line in lines]
    gone = [[False] * len(line) for line in lines]
    size = [len(line) for line in lines]
    total = sum(size)
    heap: list[tuple[int, int, int]] = []

    def push(which: int, at: int) -> None:
        line, (before, after) = lines[which], neighbours[which][at]
        if 0 < at < len(line) - 1:
            heapq.heappush(heap, (_area(line[before], line[at], line[after]), which, at))

    for which, line in enumerate(lines):
        for at in range(len(line)):
            push(which, at)
    # Points of area 0 lie on a straight line, and go even where there is room for them.
    while heap and (total > MOST_POINTS or heap[0][0] == 0):
        area, which, at = heapq.heappop(heap)
        line, (before, after) = lines[which], neighbours[which][at]
        if gone[which][at] or area != _area(line[before], line[at], line[after]):
            continue  # a newer entry of the point has its area
        gone[which][at] = True
        neighbours[which][before] = (neighbours[which][before][0], after)
        neighbours[which][after] = (before, neighbours[which][after][1])
        push(which, before)
        push(which, after)
        size[which] -= 1
        total -= 1
        # A closed line of two points has no area left: it is an island too small to see.
        if size[which] == 2 and line[0] == line[-1]:
            size[which], total = 0, total - 2
    if total > MOST_POINTS:
        raise ValueError(
            f"the outline has {sum(map(bool, size)):,} separate lines on the map, and"
            f" {MOST_POINTS} points draw {MOST_POINTS // 2} at most: leave some out"
        )
    return [
        [point for point, left in zip(line, out, strict=True) if not left]
        for line, out, count in zip(lines, gone, size, strict=True)
        if count
    ]


def _area(a: _Whole, b: _Whole, c: _Whole) -> int:
    """Twice the area of the triangle."""
    return abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]))
