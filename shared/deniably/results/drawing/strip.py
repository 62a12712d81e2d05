"""The table that is the chart: label, drawn strip, estimate, interval.

A strip shows the 95 % interval as a line with nested bands (95, 80 and 50 %) and the estimate as a
dot. The table around it has the figures as text, so that the pictures are hidden from screen
readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from deniably.results.drawing.axes import Axis
from deniably.results.drawing.digits import NARROW, inside
from deniably.results.drawing.row import Ends, Row

_LEAST = 0.3  # per cent of the width: a narrower band would not be seen


class Html(str):
    """Markup whose texts are escaped; templates insert it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


UNSEEN, NUMBERS = ' class="unseen"', ' class="t"'
INTERVAL = f"95{NARROW}% interval"


def table(
    caption: str,
    rows: Sequence[Row],
    axis: Axis | Sequence[Axis],
    *,
    heads: tuple[str, str] = ("Estimate", INTERVAL),
    heading: str = "Answer",
    titled: bool = False,
    above: Html | None = None,
) -> Html:
    """Rows below their common axis; or each on its own axis, which is not drawn.

    ``heads`` are the headings of the last two columns. ``caption`` and ``heading``, that of the
    labels, are for screen readers; ``titled`` shows the caption to all. ``above`` is drawn over the
    axis. Roles are spelt out because a phone shows the table as a grid, which would lose them.
    """
    own_axes = [axis] * len(rows) if isinstance(axis, Axis) else axis
    top = tick_labels(axis) if isinstance(axis, Axis) else ""
    parts = [
        f'<table class="fig" role="table">'
        f"<caption{'' if titled else UNSEEN}>{escape(caption)}</caption>",
        _head(f"{above or ''}{top}", heads, heading),
        '<tbody role="rowgroup">',
    ]
    aside = False
    for row, own in zip(rows, own_axes, strict=True):
        parts.append(_row(row, own, gap=row.aside and not aside))
        aside = row.aside
    return Html("".join([*parts, "</tbody></table>"]))


def plain_table(caption: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> Html:
    """A table of numbers without a picture; the first cell of a line names it."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        f"{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in lines
    )
    table = (
        f"<table{NUMBERS}><caption{UNSEEN}>{escape(caption)}</caption><thead><tr>{top}</tr></thead>"
    )
    return scrolling(caption, f"{table}<tbody>{body}</tbody></table>")


def scrolling(label: str, inside: str) -> Html:
    """A part of the page that scrolls sideways by itself, also by keyboard."""
    return Html(
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
        f"{inside}</div>"
    )


def tick_labels(axis: Axis) -> str:
    """The words of the ticks."""
    words = "".join(
        f'<text x="{_x(axis, value)}" y="14"{_anchor(axis, value)}>{escape(text)}</text>'
        for value, text in axis.ticks
        if text
    )
    return f'<svg class="x" aria-hidden="true">{words}</svg>'


def strip(row: Row, axis: Axis) -> str:
    """The gridlines, the bands and the dot of a row."""
    return f'<svg class="s" aria-hidden="true">{grid(axis)}{_marks(row, axis)}</svg>'


def grid(axis: Axis, bottom: str = "100%") -> str:
    """A vertical line at each tick."""
    return "".join(
        f'<line class="g{" z" * (value == axis.zero)}"'
        f' x1="{_x(axis, value)}" x2="{_x(axis, value)}" y1="0" y2="{bottom}"/>'
        for value, _ in axis.ticks
    )


def _marks(row: Row, axis: Axis) -> str:
    if not row.drawn:
        return ""
    bands = [(95, row.interval), (80, row.band_80), (50, row.band_50)]
    drawn = [_band(level, ends, axis) for level, ends in bands if ends is not None]
    drawn.insert(1, _bar("w", row.interval, axis, 2))
    dot = _x(axis, inside(row.estimate, row.interval))
    return "".join([*drawn, f'<circle class="d{" o" * row.open}" cx="{dot}" cy="50%" r="5.5"/>'])


def _band(level: int, ends: Ends, axis: Axis) -> str:
    return _bar(f"b b{level}", ends, axis, 12)


def _bar(kind: str, ends: Ends, axis: Axis, height: int) -> str:
    left, right = axis.at(ends[0]), axis.at(ends[1])
    return (
        f'<rect class="{kind}" x="{left:.2f}%" width="{max(right - left, _LEAST):.2f}%" y="50%"'
        f' height="{height}" transform="translate(0 -{height // 2})"/>'
    )


def _head(drawn: str, heads: tuple[str, str], heading: str) -> str:
    value, interval = heads
    return (
        '<thead role="rowgroup"><tr role="row"><th role="columnheader" class="l0" scope="col">'
        f'<span class="unseen">{escape(heading)}</span></th>'
        f'<td class="c" role="cell">{drawn}</td>'
        f'<th role="columnheader" scope="col" class="v">{escape(value)}</th>'
        f'<th role="columnheader" scope="col" class="i">{escape(interval)}</th></tr></thead>'
    )


def _row(row: Row, axis: Axis, *, gap: bool) -> str:
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
        f'<td class="c" role="cell">{strip(row, axis)}</td>'
        f'<td role="cell" class="v">{escape(row.reading.value)}</td>'
        f'<td role="cell" class="i">{escape(row.reading.interval)}</td></tr>'
    )


def _x(axis: Axis, value: float) -> str:
    return f"{axis.at(value):.2f}%"


def _anchor(axis: Axis, value: float) -> str:
    """Words at the ends stay within the width."""
    place = axis.at(value)
    anchor = "end" if place > 99 else "middle" if place > 1 else ""
    return f' text-anchor="{anchor}"' if anchor else ""
