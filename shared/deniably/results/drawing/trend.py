"""Draws a figure over the waves of a panel: bands and a dot for each wave, and a thin line between
the dots.

The axis of the figure runs upwards. Values stand beside their dots, with a halo, so that lines and
bands do not cross them.
"""

from __future__ import annotations

from collections.abc import Sequence

from deniably.core.languages.html import Html
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.rounding import inside
from deniably.results.drawing.row import Ends, Row

_TOP, _BELOW = 18, 28  # pixels for a tick above the highest line, and for the waves' names
_FIRST, _SMALL_FIRST, _LAST = 17.0, 30.0, 86.0
"""The first and the last wave's position in per cent of the width: tick labels stand at the left, a
value at the right. A small picture, which has no values, needs more room for its labels."""
_OVER, _UNDER = 6, 17
"""Pixels from the dot's middle to the foot of its value, above the line and under it."""
_MOST_VALUES = 5
"""With more waves, only the first and the last have their value beside the dot."""


def trend(
    about: str, rows: Sequence[Row], axis: Axis, *, height: int = 216, values: bool = True
) -> Html:
    """Returns a picture as SVG with one row for each wave, from left to right; the label of each
    row is below.

    ``about`` describes the picture for screen readers, which also get all values. Waves without an
    estimate have no dot, and the line joins the dots before and after. ``values`` writes estimates
    beside the dots: all of them for up to five waves, otherwise the first and the last.
    """
    bottom = height - _BELOW
    text = "; ".join(
        f"{row.label} {row.reading.value} ({row.reading.bare})" if row.drawn
        else f"{row.label} {row.reading.value}"
        for row in rows
    )  # fmt: skip
    places = _places(len(rows), _FIRST if values else _SMALL_FIRST)
    drawn = [(at, row) for at, row in zip(places, rows, strict=True) if row.drawn]
    parts = [*_grid(axis, bottom), *_lines(drawn, axis, bottom)]
    for at, row in zip(places, rows, strict=True):
        parts.append(_text(at, height - 6, row.label))
        if row.drawn:
            parts += _marks(at, row, axis, bottom)
    for at, row in _named(drawn) if values else []:
        y = _y(axis, inside(row.estimate, row.interval), bottom)
        label_y = y + _UNDER if _rises(drawn, (at, row)) else y - _OVER
        parts.append(
            Html.filled(
                '<text class="val" x="{at:.1f}%" dx="11" y="{y:.1f}">{value}</text>',
                at=at, y=label_y, value=Html.text(row.reading.value),
            )
        )  # fmt: skip
    return Html.filled(
        '<svg class="plot trend" height="{height}" role="img" aria-label="{said}">{parts}</svg>',
        height=height, said=Html.text(f"{about}: {text}"), parts=Html.joined("", parts),
    )  # fmt: skip


def _named(drawn: list[tuple[float, Row]]) -> list[tuple[float, Row]]:
    """The waves whose values stand beside their dots."""
    return drawn if len(drawn) <= _MOST_VALUES else [drawn[0], drawn[-1]]


def _rises(drawn: list[tuple[float, Row]], point: tuple[float, Row]) -> bool:
    """Whether the line goes up from this wave to the next: it would strike a value above it."""
    later = drawn[drawn.index(point) + 1 :]
    return bool(later) and _estimate(later[0][1]) > _estimate(point[1])


def _estimate(row: Row) -> float:
    return inside(row.estimate, row.interval)


def _places(count: int, first: float) -> list[float]:
    """Where the waves stand, in per cent of the width."""
    return [first + (_LAST - first) * place / max(count - 1, 1) for place in range(count)]


def _grid(axis: Axis, bottom: float) -> list[Html]:
    parts: list[Html] = []
    for value, text in axis.ticks:
        y = _y(axis, value, bottom)
        parts.append(
            Html.filled(
                '<line class="g{dark}" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
                '<text x="0" y="{above:.1f}">{text}</text>',
                dark=Html(" z" if value == axis.low else ""), y=y, above=y - 4,
                text=Html.text(text),
            )
        )  # fmt: skip
    return parts


def _lines(drawn: Sequence[tuple[float, Row]], axis: Axis, bottom: float) -> list[Html]:
    dots = [(at, _y(axis, inside(row.estimate, row.interval), bottom)) for at, row in drawn]
    return [
        Html.filled(
            '<line class="l" x1="{x1:.1f}%" x2="{x2:.1f}%" y1="{y1:.1f}" y2="{y2:.1f}"/>',
            x1=dot[0], x2=other[0], y1=dot[1], y2=other[1],
        )
        for dot, other in zip(dots, dots[1:], strict=False)  # noqa: RUF007  # as in the text
    ]  # fmt: skip


def _marks(at: float, row: Row, axis: Axis, bottom: float) -> list[Html]:
    bands = [(95, row.interval), (80, row.band_80), (50, row.band_50)]
    drawn = [
        _bar(Html.filled("b b{level}", level=level), at, ends, axis, bottom, 12)
        for level, ends in bands
        if ends is not None
    ]
    drawn.insert(1, _bar(Html("w"), at, row.interval, axis, bottom, 2))
    dot = Html.filled(
        '<circle class="d{open}" cx="{at:.1f}%" cy="{y:.1f}" r="5.5"/>',
        open=Html(" o" if row.open else ""), at=at,
        y=_y(axis, inside(row.estimate, row.interval), bottom),
    )  # fmt: skip
    return [*drawn, dot]


def _bar(kind: Html, at: float, ends: Ends, axis: Axis, bottom: float, width: int) -> Html:
    low, high = (_y(axis, end, bottom) for end in ends)
    return Html.filled(
        '<rect class="{kind}" x="{at:.1f}%" width="{width}" transform="translate(-{half} 0)"'
        ' y="{high:.1f}" height="{height:.1f}"/>',
        kind=kind, at=at, width=width, half=width // 2, high=high, height=max(low - high, 1),
    )  # fmt: skip


def _text(at: float, y: float, text: str) -> Html:
    return Html.filled(
        '<text x="{at:.1f}%" y="{y:.1f}" text-anchor="middle">{text}</text>',
        at=at, y=y, text=Html.text(text),
    )  # fmt: skip


def _y(axis: Axis, value: float, bottom: float) -> float:
    """Pixels from the top; the axis's low end is at the bottom."""
    return bottom - (bottom - _TOP) * axis.at(value) / 100
