"""Draws people as dots along an axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from deniably.core.languages.html import Html
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.strip import grid

DOTS = 20
"""The number of dots in a dotplot; each stands for one in 20 people."""
_COLUMNS, _RADIUS, _STEP, _HEIGHT = 20, 6.5, 14.5, 64


def dots(values: Sequence[float], known: int, axis: Axis) -> Html:
    """Returns a quantile dotplot as SVG: one dot for each of 20 equal groups of people, stacked in
    columns.

    ``values`` are the values of the groups, ascending. The first ``known`` dots are filled; the
    others are open circles, since their values are uncertain. Source: Kay, Kola, Hullman and
    Munson 2016, "When (ish) is my bus?", CHI.
    """
    # The high end of the axis belongs to the last column.
    columns = [min(_COLUMNS - 1, int(axis.at(value) / 100 * _COLUMNS)) for value in values]
    height = max(_HEIGHT, max(Counter(columns).values(), default=0) * _STEP + 8)
    stacked: Counter[int] = Counter()
    circles: list[Html] = []
    for index, column in enumerate(columns):
        y = height - _RADIUS - 1 - stacked[column] * _STEP
        stacked[column] += 1
        circles.append(
            Html.filled(
                '<circle class="d{open}" cx="{x:.2%}" cy="{y:g}" r="{radius}"/>',
                open=Html(" o" if index >= known else ""), x=(column + 0.5) / _COLUMNS, y=y,
                radius=_RADIUS,
            )
        )  # fmt: skip
    return Html.filled(
        '<svg class="plot" height="{down:g}" aria-hidden="true">{grid}'
        '<line class="g z" x1="0" x2="100%" y1="{height:g}" y2="{height:g}"/>{circles}</svg>',
        down=height + 1, height=height, circles=Html.joined("", circles),
        grid=grid(axis, Html.filled("{height:g}", height=height)),
    )  # fmt: skip
