"""Draws the shares of areas on a map.

A map colours only areas that stand out from the noise. All others are plain grey: their estimates
differ by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deniably.core.languages.html import Html
from deniably.results.drawing.rounding import Reading, number, with_unit
from deniably.survey.parts import OUTLINE_SIDE

_NARROW = 16
"""Per cent of the map's side: a narrower area has no room for its share."""
_FAINT, _DARK = 0.2, 0.48  # opacities on which words can be read, in light and dark


@dataclass(frozen=True)
class MapSide:
    """One axis of a map: its label, its unit, and the numbers that each column (or row) of areas
    covers.

    ``firsts`` has the first number of each column or row, ``last`` is the last number of the last
    one, and neighbouring numbers are ``step`` apart.
    """

    label: str
    unit: str
    firsts: Sequence[float]
    last: float
    step: float

    def at(self, value: float) -> float:
        """Returns where a number is drawn on the axis, in per cent: the low end of a strip as wide
        as one step. Every number has such a strip, so that an area that covers only one number has
        a width."""
        return 100 * (value - self.firsts[0]) / (self.last + self.step - self.firsts[0])

    @property
    def borders(self) -> list[float]:
        """The borders between areas, with both ends of the axis, in per cent of the axis. The
        width of an area is proportional to how many numbers it covers."""
        return [*map(self.at, self.firsts), 100.0]

    def middle(self, part: float) -> float:
        """Returns the middle of the strip of a number, in per cent of the axis. The number is
        given by its position ``part`` in the range, from 0 to 1."""
        return self.at(self.firsts[0] + part * (self.last - self.firsts[0]) + self.step / 2)


@dataclass(frozen=True)
class Area:
    """One area of a map that stands out: its column and row, counted from the lower left, and its
    share."""

    column: int
    row: int
    share: float
    reading: Reading


@dataclass(frozen=True)
class AreaMap:
    """A map to draw; ``areas`` has only the areas that stand out.

    The first of ``sides`` runs to the right, the second upwards. ``outline`` is the author's
    drawing as SVG path data (SPEC 4.1), empty if there is none.
    """

    sides: tuple[MapSide, MapSide]
    areas: Sequence[Area]
    outline: str = ""

    def box(self, column: int, row: int) -> tuple[float, float, float, float]:
        """Returns (left, top, width, height) of an area, in per cent of the map's sides."""
        across, up = (side.borders for side in self.sides)
        left, top = across[column], 100 - up[row + 1]
        return left, top, across[column + 1] - left, up[row + 1] - up[row]

    def opacity(self, area: Area) -> float:
        """Returns the opacity of an area's colour, which grows with its share; the largest share
        has the highest."""
        largest = max(area.share for area in self.areas)
        part = max(area.share, 0.0) / largest if largest > 0 else 0.0
        return _FAINT + (_DARK - _FAINT) * part


def area_map(about: str, shown: AreaMap, centres: Sequence[tuple[float, float]] = ()) -> Html:
    """Returns the map as HTML; ``about`` describes it in words, for screen readers.

    ``centres`` are drawn over the map as rings with the letters A, B and so on. Each is (fraction
    of the first side, fraction of the second), from 0 to 1.
    """
    first, second = shown.sides
    drawn = {(area.column, area.row): area for area in shown.areas}
    parts = [
        _area(shown, shown.box(column, row), drawn.get((column, row)))
        for column in range(len(first.firsts))
        for row in range(len(second.firsts))
    ]
    if shown.outline:
        lines = outline_on_map(shown.outline, OUTLINE_SIDE)
        parts.append(
            Html.filled(
                '<svg viewBox="0 0 {side} {side}" preserveAspectRatio="none">{lines}</svg>',
                side=OUTLINE_SIDE, lines=lines,
            )
        )  # fmt: skip
    parts += [
        _ring((first.middle(x), 100 - second.middle(y)), index)
        for index, (x, y) in enumerate(centres)
    ]
    return Html.filled(
        '<div class="map" role="img" aria-label="{about}">'
        '<svg class="yax" aria-hidden="true">{up}</svg>'
        '<svg class="sq" aria-hidden="true">{parts}</svg>'
        '<svg class="x xax" aria-hidden="true">{across}</svg></div>',
        about=Html.text(about), up=_upwards(second), parts=Html.joined("", parts),
        across=_across(first),
    )  # fmt: skip


def outline_on_map(outline: str, side: float) -> Html:
    """Returns an author's outline (SPEC 4.1) as an SVG path, scaled to a picture whose sides have
    ``side`` units."""
    return Html.filled(
        '<path d="{data}" transform="scale({scale:g})" fill="none" stroke="currentColor"'
        ' stroke-opacity=".7" vector-effect="non-scaling-stroke"/>',
        data=Html.text(outline), scale=side / OUTLINE_SIDE,
    )  # fmt: skip


def _area(shown: AreaMap, box: tuple[float, float, float, float], area: Area | None) -> Html:
    x, y, width, height = box
    place = Html.filled(
        'x="{x:.2f}%" y="{y:.2f}%" width="{width:.2f}%" height="{height:.2f}%"',
        x=x, y=y, width=width, height=height,
    )  # fmt: skip
    if area is None:
        return Html.filled('<rect class="cell off" {place}/>', place=place)
    drawn = Html.filled(
        '<rect class="cell on" {place} fill-opacity="{opacity:.2f}"/>',
        place=place, opacity=shown.opacity(area),
    )  # fmt: skip
    # Where the words would not fit, the list beside the map has them.
    if min(width, height) <= _NARROW:
        return drawn
    words = Html.filled(
        '<text class="ink" x="{x:.2f}%" y="{y:.2f}%" dx="6" dy="18">{value}</text>',
        x=x, y=y, value=Html.text(area.reading.value),
    )  # fmt: skip
    return Html.joined("", [drawn, words])


def _ring(place: tuple[float, float], index: int) -> Html:
    return Html.filled(
        '<circle class="ring" cx="{x:.2f}%" cy="{y:.2f}%" r="13"/>'
        '<text class="ringlab" x="{x:.2f}%" y="{y:.2f}%" dy="5" text-anchor="middle">{letter}'
        "</text>",
        x=place[0], y=place[1], letter=Html.text(group_letter(index)),
    )  # fmt: skip


def group_letter(index: int) -> str:
    """Returns the letter that names the group with this index: A for 0, B for 1."""
    return chr(ord("A") + index)


def _across(side: MapSide) -> Html:
    words = boundaries(side)
    middle = Html(' text-anchor="middle"')
    anchors = [Html(), *[middle] * (len(words) - 2), Html(' text-anchor="end"')]
    return Html.joined(
        "",
        (
            Html.filled(
                '<text x="{at:.2f}%" y="14"{anchor}>{text}</text>',
                at=at, anchor=anchor, text=Html.text(text),
            )
            for (at, text), anchor in zip(words, anchors, strict=True)
        ),
    )  # fmt: skip


def _upwards(side: MapSide) -> Html:
    words = boundaries(side)
    shifts = [0, *[4] * (len(words) - 2), 10]
    return Html.joined(
        "",
        (
            Html.filled(
                '<text x="100%" y="{y:.2f}%" dy="{shift}" text-anchor="end">{text}</text>',
                y=100 - at, shift=shift, text=Html.text(text),
            )
            for (at, text), shift in zip(words, shifts, strict=True)
        ),
    )  # fmt: skip


def boundaries(side: MapSide) -> list[tuple[float, str]]:
    """Returns the labels of a map's axis, each (position in per cent of the axis, text): the first
    number of every area, or of every second, third and so on if there are more than six, and the
    last number."""
    cells = len(side.firsts)
    # Only strides that divide the number of areas keep labels evenly spread.
    stride = next(step for step in range(1, cells + 1) if cells % step == 0 and cells // step <= 6)
    numbers = [*side.firsts[::stride], side.last]
    decimals = next((d for d in range(4) if all(_is_short(value, d) for value in numbers)), 2)
    words = [(side.at(value), number(value, decimals)) for value in numbers[:-1]]
    return [*words, (100.0, with_unit(number(side.last, decimals), side.unit))]


def _is_short(value: float, decimals: int) -> bool:
    return abs(value - round(value, decimals)) < 1e-9
