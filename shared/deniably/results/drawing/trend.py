"""Draws a figure over the waves of a panel: a band for each wave, and a thin line between.

The axis of the figure runs upwards. Values stand beside their dots, with a halo, so that lines and
bands do not cross them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from deniably.results.drawing.axes import Axis
from deniably.results.drawing.digits import inside
from deniably.results.drawing.row import Ends, Row
from deniably.results.drawing.strip import Html

_TOP, _BELOW = 18, 28  # pixels for a tick above the highest line, and for the waves' names
_FIRST, _SMALL_FIRST, _LAST = 17.0, 30.0, 86.0
"""Per cent of the width: ticks stand at the left, a value at the right."""
_MOST_VALUES = 5
"""With more waves, only the first and the last have their value beside the dot."""


def trend(
    about: str, rows: Sequence[Row], axis: Axis, *, height: int = 216, values: bool = True
) -> Html:
    """A picture of one row for each wave, with the row's label below.

    ``about`` says what is drawn; screen readers get it with all values. Waves without an estimate
    have no dot, and the line leaves them out. Without ``values``, none stand beside the dots.
    """
    bottom = height - _BELOW
    said = "; ".join(
        f"{row.label} {row.reading.value} ({row.reading.bare})" if row.drawn
        else f"{row.label} {row.reading.value}"
        for row in rows
    )  # fmt: skip
    places = _places(len(rows), _FIRST if values else _SMALL_FIRST)
    drawn = [(at, row) for at, row in zip(places, rows, strict=True) if row.drawn]
    parts = [
        f'<svg class="plot trend" height="{height}" role="img" aria-label="{escape(about)}: '
        f'{escape(said)}">',
        *_grid(axis, bottom),
        *_lines(drawn, axis, bottom),
    ]
    for at, row in zip(places, rows, strict=True):
        parts.append(_text(at, height - 6, row.label, "middle"))
        if row.drawn:
            parts += _marks(at, row, axis, bottom)
    for at, row in _named(drawn) if values else []:
        y = _y(axis, inside(row.estimate, row.interval), bottom)
        parts.append(
            f'<text class="val" x="{at:.1f}%" dx="11" y="{y - 6:.1f}">'
            f"{escape(row.reading.value)}</text>"
        )
    return Html("".join([*parts, "</svg>"]))


def _named(drawn: list[tuple[float, Row]]) -> list[tuple[float, Row]]:
    """The waves whose values stand beside their dots."""
    return drawn if len(drawn) <= _MOST_VALUES else [drawn[0], drawn[-1]]


def _places(count: int, first: float) -> list[float]:
    """Where the waves stand, in per cent of the width."""
    return [first + (_LAST - first) * place / max(count - 1, 1) for place in range(count)]


def _grid(axis: Axis, bottom: float) -> list[str]:
    parts: list[str] = []
    for value, text in axis.ticks:
        y = _y(axis, value, bottom)
        dark = " z" * (value == axis.low)
        parts.append(f'<line class="g{dark}" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="0" y="{y - 4:.1f}">{escape(text)}</text>')
    return parts


def _lines(drawn: Sequence[tuple[float, Row]], axis: Axis, bottom: float) -> list[str]:
    dots = [(at, _y(axis, inside(row.estimate, row.interval), bottom)) for at, row in drawn]
    return [
        f'<line class="l" x1="{one[0]:.1f}%" x2="{other[0]:.1f}%"'
        f' y1="{one[1]:.1f}" y2="{other[1]:.1f}"/>'
        for one, other in zip(dots, dots[1:], strict=False)  # noqa: RUF007  # as in the text
    ]


def _marks(at: float, row: Row, axis: Axis, bottom: float) -> list[str]:
    bands = [(95, row.interval), (80, row.band_80), (50, row.band_50)]
    drawn = [
        _bar(f"b b{level}", at, ends, axis, bottom, 12) for level, ends in bands if ends is not None
    ]
    drawn.insert(1, _bar("w", at, row.interval, axis, bottom, 2))
    y = _y(axis, inside(row.estimate, row.interval), bottom)
    dot = f'<circle class="d{" o" * row.open}" cx="{at:.1f}%" cy="{y:.1f}" r="5.5"/>'
    return [*drawn, dot]


def _bar(kind: str, at: float, ends: Ends, axis: Axis, bottom: float, width: int) -> str:
    low, high = (_y(axis, end, bottom) for end in ends)
    return (
        f'<rect class="{kind}" x="{at:.1f}%" width="{width}" transform="translate(-{width // 2} 0)"'
        f' y="{high:.1f}" height="{max(low - high, 1):.1f}"/>'
    )


def _text(at: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{at:.1f}%" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _y(axis: Axis, value: float, bottom: float) -> float:
    """Pixels from the top; the axis's low end is at the bottom."""
    return bottom - (bottom - _TOP) * axis.at(value) / 100
