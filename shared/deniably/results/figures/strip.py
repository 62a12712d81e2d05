"""The table that is the chart: label, drawn strip, estimate, interval.

A strip shows the 95 % interval as a line with nested bands (95, 80 and 50 %) and the estimate as a
dot. The table around it has the figures as text, so that the pictures are hidden from screen
readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from deniably.results.figures.digits import NARROW, inside
from deniably.results.figures.row import Ends, Row
from deniably.results.figures.scale import Scale

_LEAST = 0.3  # per cent of the width: a narrower band would not be seen


class Html(str):
    """Markup whose texts are escaped; templates insert it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


INTERVAL = f"95{NARROW}% interval"


def table(
    caption: str,
    rows: Sequence[Row],
    scale: Scale,
    *,
    heads: tuple[str, str] = ("Estimate", INTERVAL),
    heading: str = "Answer",
    kind: str = "",
) -> Html:
    """Rows on one scale, below their axis.

    ``heads`` are the headings of the last two columns. ``caption`` and ``heading``, that of the
    labels, are for screen readers. ``kind`` is one more class of the table. Roles are spelt out
    because a phone shows the table as a grid, which would lose them.
    """
    parts = [
        f'<table class="{f"fig {kind}".strip()}" role="table">'
        f'<caption class="unseen">{escape(caption)}</caption>',
        _head(scale, heads, heading),
        '<tbody role="rowgroup">',
    ]
    aside = False
    for row in rows:
        parts.append(_row(row, scale, gap=row.aside and not aside))
        aside = row.aside
    return Html("".join([*parts, "</tbody></table>"]))


def axis(scale: Scale) -> str:
    """The words of the ticks."""
    words = "".join(
        f'<text x="{_x(scale, value)}" y="14"{_anchor(scale, value)}>{escape(text)}</text>'
        for value, text in scale.ticks
    )
    return f'<svg class="x" aria-hidden="true">{words}</svg>'


def strip(row: Row, scale: Scale) -> str:
    """The gridlines, the bands and the dot of a row."""
    return f'<svg class="s" aria-hidden="true">{grid(scale)}{_marks(row, scale)}</svg>'


def grid(scale: Scale, bottom: str = "100%") -> str:
    """A vertical line at each tick."""
    return "".join(
        f'<line class="g{" z" * (value == scale.zero)}"'
        f' x1="{_x(scale, value)}" x2="{_x(scale, value)}" y1="0" y2="{bottom}"/>'
        for value, _ in scale.ticks
    )


def _marks(row: Row, scale: Scale) -> str:
    if not row.drawn:
        return ""
    bands = [(95, row.interval), (80, row.band_80), (50, row.band_50)]
    drawn = [_band(level, ends, scale) for level, ends in bands if ends is not None]
    drawn.insert(1, _bar("w", row.interval, scale, 2))
    dot = _x(scale, inside(row.estimate, row.interval))
    return "".join([*drawn, f'<circle class="d{" o" * row.open}" cx="{dot}" cy="50%" r="5.5"/>'])


def _band(level: int, ends: Ends, scale: Scale) -> str:
    return _bar(f"b b{level}", ends, scale, 12)


def _bar(kind: str, ends: Ends, scale: Scale, height: int) -> str:
    left, right = scale.at(ends[0]), scale.at(ends[1])
    return (
        f'<rect class="{kind}" x="{left:.2f}%" width="{max(right - left, _LEAST):.2f}%" y="50%"'
        f' height="{height}" transform="translate(0 -{height // 2})"/>'
    )


def _head(scale: Scale, heads: tuple[str, str], heading: str) -> str:
    value, interval = heads
    return (
        '<thead role="rowgroup"><tr role="row"><th role="columnheader" class="l0" scope="col">'
        f'<span class="unseen">{escape(heading)}</span></th>'
        f'<td class="c" role="cell">{axis(scale)}</td>'
        f'<th role="columnheader" scope="col" class="v">{escape(value)}</th>'
        f'<th role="columnheader" scope="col" class="i">{escape(interval)}</th></tr></thead>'
    )


def _row(row: Row, scale: Scale, *, gap: bool) -> str:
    flags = {"aside": row.aside, "gap": gap, "n": row.muted}
    kinds = " ".join(kind for kind, has in flags.items() if has)
    kind = f' class="{kinds}"' if kinds else ""
    label, note = escape(row.label), escape(row.note)
    if row.address:
        label = f'<a href="{escape(row.address)}">{label}</a>'
    if note:
        label = f'{label}<span class="what">{note}</span>'
    return (
        f'<tr role="row"{kind}>'
        f'<th role="rowheader" scope="row">{label}</th>'
        f'<td class="c" role="cell">{strip(row, scale)}</td>'
        f'<td role="cell" class="v">{escape(row.reading.value)}</td>'
        f'<td role="cell" class="i">{escape(row.reading.interval)}</td></tr>'
    )


def _x(scale: Scale, value: float) -> str:
    return f"{scale.at(value):.2f}%"


def _anchor(scale: Scale, value: float) -> str:
    """Words at the ends stay within the width."""
    place = scale.at(value)
    anchor = "end" if place > 99 else "middle" if place > 1 else ""
    return f' text-anchor="{anchor}"' if anchor else ""
