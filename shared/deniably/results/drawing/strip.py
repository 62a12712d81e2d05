"""Draws estimates as an HTML table in which each row has a label, a drawn strip, an estimate and an
interval.

A strip shows the 95 % interval as a line with nested bands (95, 80 and 50 %), and the estimate as a
dot. The table has the figures as text too, so the pictures are hidden from screen readers.
"""

from __future__ import annotations

from collections.abc import Sequence

from deniably.core.languages.html import Html
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.rounding import NARROW, inside
from deniably.results.drawing.row import Ends, Row

_LEAST = 0.3  # per cent of the width: a narrower band would not be seen


UNSEEN, NUMBERS = Html(' class="unseen"'), Html(' class="t"')
INTERVAL = f"95{NARROW}% interval"
_NONE = Html()


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
    """Returns the table of ``rows`` as HTML. A single ``axis`` is common to all rows and is drawn
    above them; with a sequence of axes, one for each row, no axis is drawn.

    ``heads`` are the headings of the last two columns. ``caption``, and the ``heading`` of the
    labels, are for screen readers; with ``titled`` the caption is visible to all. ``above`` is
    drawn over the axis. ARIA roles are spelt out because a phone shows the table as a CSS grid,
    which would lose them.
    """
    own_axes = [axis] * len(rows) if isinstance(axis, Axis) else axis
    top = tick_labels(axis) if isinstance(axis, Axis) else _NONE
    body: list[Html] = []
    aside = False
    for row, own in zip(rows, own_axes, strict=True):
        # A gap before the first row that is set aside.
        body.append(_row(row, own, gap=row.aside and not aside))
        aside = row.aside
    return Html.filled(
        '<table class="fig" role="table"><caption{unseen}>{caption}</caption>{head}'
        '<tbody role="rowgroup">{body}</tbody></table>',
        unseen=_NONE if titled else UNSEEN, caption=Html.text(caption),
        head=_head(Html.joined("", [above or _NONE, top]), heads, heading),
        body=Html.joined("", body),
    )  # fmt: skip


def plain_table(caption: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> Html:
    """Returns a table of numbers without pictures as HTML, in a box that scrolls sideways if the
    table is too wide. The first cell of each line is its label."""
    return scrolling(caption, numbers_table(caption, heads, lines, NUMBERS))


def numbers_table(
    caption: str, heads: Sequence[str], lines: Sequence[Sequence[str]], kind: Html = _NONE
) -> Html:
    """Returns a table of numbers as HTML, without the scrolling box that ``plain_table`` puts
    around it. ``kind`` has attributes for the table element. The first cell of each line is its
    label."""
    top = (Html.filled('<th scope="col">{head}</th>', head=Html.text(head)) for head in heads)
    body = (
        Html.filled(
            '<tr><th scope="row">{first}</th>{rest}</tr>',
            first=Html.text(first),
            rest=Html.joined(
                "", (Html.filled("<td>{cell}</td>", cell=Html.text(cell)) for cell in rest)
            ),
        )
        for first, *rest in lines
    )
    return Html.filled(
        "<table{kind}><caption{unseen}>{caption}</caption><thead><tr>{top}</tr></thead>"
        "<tbody>{body}</tbody></table>",
        kind=kind, unseen=UNSEEN, caption=Html.text(caption), top=Html.joined("", top),
        body=Html.joined("", body),
    )  # fmt: skip


def scrolling(label: str, inside: Html, *, wide: bool = False) -> Html:
    """Returns ``inside`` in an HTML box that scrolls sideways, also by keyboard, while the page
    stays. ``label`` names the box for screen readers."""
    return Html.filled(
        '<div class="scroll{wide}" tabindex="0" role="region" aria-label="{label}">{inside}</div>',
        wide=Html(" wide" if wide else ""), label=Html.text(label), inside=inside,
    )  # fmt: skip


def tick_labels(axis: Axis) -> Html:
    """Returns the labels of the axis as SVG."""
    words = (
        Html.filled(
            '<text x="{x:.2f}%" y="14"{anchor}>{text}</text>',
            x=axis.at(value), anchor=_anchor(axis, value), text=Html.text(text),
        )
        for value, text in axis.ticks
        if text
    )  # fmt: skip
    return Html.filled(
        '<svg class="x" aria-hidden="true">{words}</svg>', words=Html.joined("", words)
    )


def strip(row: Row, axis: Axis) -> Html:
    """Returns the gridlines, the bands and the dot of a row as SVG."""
    return Html.filled(
        '<svg class="s" aria-hidden="true">{grid}{marks}</svg>',
        grid=grid(axis), marks=_marks(row, axis),
    )  # fmt: skip


def grid(axis: Axis, bottom: Html | None = None) -> Html:
    """Returns the gridlines as SVG: a vertical line at each tick of the axis, from the top down to
    ``bottom``, by default 100 %."""
    end = bottom or Html("100%")
    lines = (
        Html.filled(
            '<line class="g{zero}" x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="{end}"/>',
            zero=Html(" z" if value == axis.zero else ""), x=axis.at(value), end=end,
        )
        for value, _ in axis.ticks
    )  # fmt: skip
    return Html.joined("", lines)


def _marks(row: Row, axis: Axis) -> Html:
    if not row.drawn:
        return _NONE
    bands = [(95, row.interval), (80, row.band_80), (50, row.band_50)]
    drawn = [_band(level, ends, axis) for level, ends in bands if ends is not None]
    # The line lies above the widest band and below the others, so that all three are seen.
    drawn.insert(1, _bar(Html("w"), row.interval, axis, 2))
    dot = Html.filled(
        '<circle class="d{open}" cx="{x:.2f}%" cy="50%" r="5.5"/>',
        open=Html(" o" if row.open else ""), x=axis.at(inside(row.estimate, row.interval)),
    )  # fmt: skip
    return Html.joined("", [*drawn, dot])


def _band(level: int, ends: Ends, axis: Axis) -> Html:
    return _bar(Html.filled("b b{level}", level=level), ends, axis, 12)


def _bar(kind: Html, ends: Ends, axis: Axis, height: int) -> Html:
    left, right = axis.at(ends[0]), axis.at(ends[1])
    return Html.filled(
        '<rect class="{kind}" x="{left:.2f}%" width="{width:.2f}%" y="50%"'
        # y is in per cent and the height in pixels, so a transform takes half of it off.
        ' height="{height}" transform="translate(0 -{half})"/>',
        kind=kind, left=left, width=max(right - left, _LEAST), height=height, half=height // 2,
    )  # fmt: skip


def _head(drawn: Html, heads: tuple[str, str], heading: str) -> Html:
    value, interval = map(Html.text, heads)
    return Html.filled(
        '<thead role="rowgroup"><tr role="row"><th role="columnheader" class="l0" scope="col">'
        '<span class="unseen">{heading}</span></th>'
        '<td class="c" role="cell">{drawn}</td>'
        '<th role="columnheader" scope="col" class="v">{value}</th>'
        '<th role="columnheader" scope="col" class="i">{interval}</th></tr></thead>',
        heading=Html.text(heading), drawn=drawn, value=value, interval=interval,
    )  # fmt: skip


def _row(row: Row, axis: Axis, *, gap: bool) -> Html:
    flags = ((Html("aside"), row.aside), (Html("gap"), gap), (Html("n"), row.muted))
    kinds = Html.joined(" ", (kind for kind, has in flags if has))
    label = Html.text(row.label)
    if row.address:
        label = Html.filled(
            '<a href="{address}">{label}</a>', address=Html.text(row.address), label=label
        )
    if row.note:
        label = Html.filled(
            '{label}<span class="what">{note}</span>', label=label, note=Html.text(row.note)
        )
    return Html.filled(
        '<tr role="row"{kind}>'
        '<th role="rowheader" scope="row">{label}</th>'
        '<td class="c" role="cell">{strip}</td>'
        '<td role="cell" class="v">{value}</td>'
        '<td role="cell" class="i">{interval}</td></tr>',
        kind=Html.filled(' class="{kinds}"', kinds=kinds) if kinds else _NONE,
        label=label, strip=strip(row, axis), value=Html.text(row.reading.value),
        interval=Html.text(row.reading.interval),
    )  # fmt: skip


def _anchor(axis: Axis, value: float) -> Html:
    """Words at the ends stay within the width."""
    place = axis.at(value)
    if place > 99:
        return Html(' text-anchor="end"')
    return Html(' text-anchor="middle"') if place > 1 else _NONE
