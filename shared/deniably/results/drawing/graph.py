"""Draws graphs (lines, bands and dots over two axes), horizontal bars, people one by one, and
mosaics.

As in ``strip``, horizontal positions are per cents of the width and words keep their size, so that
a phone shows the same picture as a wide page. Lines and bands lie in a nested box that is
stretched. The same drawing is also a file that stands alone: its elements have the pages' CSS
classes and, as presentation attributes, the colours of the light theme.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, LiteralString

from deniably.core.languages.html import Html
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.colours import CARD, GRID, INK, MUTE, SOFT, TONES, Tone
from deniably.results.drawing.letters import wrap
from deniably.results.drawing.paper_figure import Svg

FILE_WIDTH = 640
"""The width in pixels of a drawing that is a file of its own."""
LEFT, RIGHT = 15.0, 96.0
"""Per cent of the width between which values lie. Labels of the vertical axis stand at the left;
where they are long, values begin farther right."""
_BARS = 92.0
"""Per cent of the width that the longest bar has."""
STRETCHED = 1000
"""Units of each side of the nested box in which lines and bands lie."""
LONGEST = 38
"""The largest number of characters of a label that a phone shows on one line."""

_LINE, _TALL, _BELOW = 20, 240, 44  # pixels
_BAR, _BAR_ROW = 14, 44
_BESIDE = 32  # characters of a label and its value that fit side by side on a phone
_EDGE = 12
"""Pixels of margin around a drawing that is a file of its own."""
_PERSON, _OF_A_ROW = 22, 10  # pixels of a person, and people in a row: 220 pixels fit every phone
_OPACITY = {95: 0.14, 80: 0.24, 50: 0.45}  # by confidence; bands lie on one another
_CHARACTERS = 44  # of the whole width of a phone
_LEFTMOST, _RIGHTMOST, _INDENT, _NOTHING = Html("0"), Html("100%"), Html(' dx="6"'), Html()

Columns = tuple[str, ...]
"""The columns of a table of results from which the numbers of a point were taken."""


# --- what is drawn ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """Straight lines that join ``points`` (x, y) in their order."""

    label: str
    points: tuple[tuple[float, float], ...]
    columns: Columns
    tone: Tone = "mark"
    dashed: bool = False


@dataclass(frozen=True)
class Band:
    """The area between two lines: ``points`` are (x, low, high). ``level`` is the confidence, 95,
    80 or 50 per cent, and decides the opacity."""

    label: str
    points: tuple[tuple[float, float, float], ...]
    columns: Columns
    tone: Tone = "mark"
    level: int = 95


@dataclass(frozen=True)
class Dots:
    """A dot at each of ``points`` (x, y); ``open`` dots (circles) mark values that are less
    certain."""

    label: str
    points: tuple[tuple[float, float], ...]
    columns: Columns
    tone: Tone = "mark"
    open: bool = False


GraphLayer = Line | Band | Dots


@dataclass(frozen=True)
class Graph:
    """A graph: layers over two axes, each axis with a label. Later layers are drawn over earlier
    ones."""

    across: Axis
    across_label: str
    up: Axis
    up_label: str
    layers: Sequence[GraphLayer]


@dataclass(frozen=True)
class Bar:
    """A horizontal bar from the low end of the axis to ``value``. Its label and ``text`` are above
    the bar.

    ``ends`` adds a line over the bar between two values, and ``dot`` a dot at a value.
    """

    label: str
    value: float
    text: str
    columns: Columns
    tone: Tone = "mark"
    ends: tuple[float, float] | None = None
    dot: float | None = None


@dataclass(frozen=True)
class Bars:
    """Horizontal bars on one axis."""

    across: Axis
    across_label: str
    bars: Sequence[Bar]


@dataclass(frozen=True)
class CrowdGroup:
    """A group of ``count`` people who are drawn alike. ``filled`` and ``tone`` are how they are
    drawn."""

    label: str
    count: int
    columns: Columns
    tone: Tone = "mark"
    filled: bool = True


@dataclass(frozen=True)
class Crowd:
    """A drawing of people one by one, group after group, ten in a row."""

    groups: Sequence[CrowdGroup]


@dataclass(frozen=True)
class MosaicTile:
    """One tile of a mosaic, a rectangle. ``across`` is the width of its column, as a share of
    everybody, and ``up`` is its height, as a share of the column. ``text`` is written on the tile,
    as many lines as fit."""

    label: str
    across: float
    up: float
    text: str
    columns: Columns
    tone: Tone = "mark"
    level: int = 95


@dataclass(frozen=True)
class Mosaic:
    """A square of area 1, cut into columns by one variable, and each column into tiles by a second
    one. The area of a tile is its probability.

    ``areas`` are the tiles, column by column, from the lowest tile up. ``columns`` has a label for
    each column, which is written above.
    """

    areas: Sequence[MosaicTile]
    columns: Sequence[str]


Drawing = Graph | Bars | Crowd | Mosaic


def inline(drawing: Drawing, title: str, about: str) -> Html:
    """Returns the drawing as SVG for a page. ``title`` is the name of the drawing for screen
    readers, and ``about`` states all its numbers in words."""
    height, parts = _parts(drawing)
    return Html.filled(
        '<svg class="plot graph" height="{height}" font-size="13" role="img" aria-label="{title}">'
        "<title>{title}</title><desc>{about}</desc>{parts}</svg>",
        height=height, title=Html.text(title), about=Html.text(about),
        parts=Html.joined("", parts),
    )  # fmt: skip


def file(drawing: Drawing, title: str, about: str) -> Svg:
    """Returns the drawing as an SVG file that loads no other file, with ``title`` above the
    drawing. ``about`` states all numbers in words, for screen readers."""
    height, parts = _parts(drawing)
    room = FILE_WIDTH - 2 * _EDGE
    look = Html.filled(' font-size="15" font-weight="bold" fill="{ink}"', ink=Html(INK))
    lines = wrap(title, 15, room, bold=True)
    heading = [_text(_px(_EDGE), 24 + _LINE * k, line, "", look) for k, line in enumerate(lines)]
    top = 20 + _LINE * len(lines)
    return Svg(
        Html.filled(
            '<svg xmlns="http://www.w3.org/2000/svg" width="{across}" height="{down}"'
            ' font-size="13" role="img"'
            ' font-family="Helvetica, Arial, Liberation Sans, sans-serif">'
            "<title>{title}</title><desc>{about}</desc>"
            '<rect width="100%" height="100%" fill="{card}"/>{heading}'
            '<svg x="{edge}" y="{top}" width="{room}" height="{height}" overflow="visible">'
            "{parts}</svg></svg>\n",
            across=FILE_WIDTH, down=height + top + _EDGE, title=Html.text(title),
            about=Html.text(about), card=Html(CARD), heading=Html.joined("", heading), edge=_EDGE,
            top=top, room=room, height=height, parts=Html.joined("", parts),
        )
    )  # fmt: skip


# --- below ------------------------------------------------------------------------------------


def _parts(drawing: Drawing) -> tuple[int, list[Html]]:
    match drawing:
        case Graph():
            return _graph(drawing)
        case Bars():
            return _bars(drawing)
        case Crowd():
            return _crowd(drawing)
        case Mosaic():
            return _areas(drawing)


def height(graph: Graph, value: float) -> float:
    """Returns the distance, in pixels, from the top of the drawing down to a value of the vertical
    axis."""
    return _y(graph.up, value, _top(graph))


def _top(graph: Graph) -> int:
    """Pixels above the high end of the upward axis: a line for each layer, and the axis' words."""
    return _LINE * len(graph.layers) + 2 * _LINE


def _graph(graph: Graph) -> tuple[int, list[Html]]:
    keys = [_key(layer, place) for place, layer in enumerate(graph.layers)]
    top = _top(graph)
    bottom = top + _TALL
    parts = [*keys, _text(_LEFTMOST, top - _LINE - 2, graph.up_label)]
    for value, words in graph.up.ticks:
        y = _y(graph.up, value, top)
        dark = value in (graph.up.low, graph.up.zero)
        parts.append(_grid(_LEFTMOST, _RIGHTMOST, y, y, dark=dark))
        parts.append(_text(_LEFTMOST, y - 4, words))
    for value, words in graph.across.ticks:
        at = _x(graph, value)
        x = Html.filled("{at:.3f}%", at=at)
        parts.append(_grid(x, x, bottom, bottom + 5, dark=True))
        parts.append(_text(x, bottom + 19, words, "middle", _inwards(at, words)))
    parts.append(_text(_RIGHTMOST, bottom + _BELOW - 5, graph.across_label, "end"))
    parts += [_layer(layer, graph, top) for layer in graph.layers]
    return bottom + _BELOW, parts


def _inwards(x: float, words: str) -> Html:
    """A long number at the right end would leave the card on a phone."""
    long = len(words) > len("100,000") and x > RIGHT - 4
    return Html(' dx="-12"' if long else "")


def _layer(layer: GraphLayer, graph: Graph, top: float) -> Html:
    if isinstance(layer, Dots):
        dots = (
            Html.filled(
                '<circle cx="{x:.3f}%" cy="{y:.2f}" r="4"/>',
                x=_x(graph, x), y=_y(graph.up, y, top),
            )
            for x, y in layer.points
        )  # fmt: skip
        return _group(_dot_look(layer.tone, layer.open), Html.joined("", dots))
    # A nested box with stretched units: a polyline cannot mix per cents across and pixels down.
    left = _left(graph)
    return Html.filled(
        '<svg x="{left:g}%" y="{top}" width="{across:g}%" height="{tall}"'
        ' viewBox="0 0 {side} {side}" preserveAspectRatio="none">{drawn}</svg>',
        left=left, top=top, across=RIGHT - left, tall=_TALL, side=STRETCHED,
        drawn=_stretched(layer, graph),
    )  # fmt: skip


def _group(look: Html, inside: Html) -> Html:
    return Html.filled("<g {look}>{inside}</g>", look=look, inside=inside)


def _stretched(layer: Line | Band, graph: Graph) -> Html:
    def place(x: float, y: float) -> Html:
        across, up = (
            STRETCHED / 100 * fraction for fraction in (graph.across.at(x), graph.up.at(y))
        )
        return Html.filled("{x:.2f},{y:.2f}", x=across, y=STRETCHED - up)

    if isinstance(layer, Line):
        return Html.filled(
            # The box is stretched: a stroke that scales would be thicker across than along.
            '<polyline points="{points}" {look} vector-effect="non-scaling-stroke"/>',
            points=Html.joined(" ", (place(x, y) for x, y in layer.points)),
            look=_line_look(layer),
        )  # fmt: skip
    # Along the upper line, and back along the lower one.
    there = [place(x, high) for x, _, high in layer.points]
    back = [place(x, low) for x, low, _ in reversed(layer.points)]
    return Html.filled(
        '<polygon points="{points}" {look}/>',
        points=Html.joined(" ", [*there, *back]), look=_band_look(layer.tone, layer.level),
    )  # fmt: skip


def _key(layer: GraphLayer, place: int) -> Html:
    """The layer's line of the legend."""
    y = _LINE * place + 10
    match layer:
        case Dots():
            dot = Html.filled('<circle class="key" cx="12" cy="{y}" r="4"/>', y=y)
            mark = _group(_dot_look(layer.tone, layer.open), dot)
        case Line():
            mark = Html.filled('<path d="M0 {y}h24" {look}/>', y=y, look=_line_look(layer))
        case Band():
            mark = Html.filled(
                '<rect y="{y}" width="24" height="12" {look}/>',
                y=y - 6, look=_band_look(layer.tone, layer.level),
            )  # fmt: skip
    return Html.joined("", [mark, _text(_px(32), y + 4.5, layer.label)])


def _bars(bars: Bars) -> tuple[int, list[Html]]:
    lines, at = list[Html](), 0
    bold = Html(' font-weight="bold"')
    for bar in bars.bars:
        fits_beside = len(bar.label) + len(bar.text) <= _BESIDE
        lines.append(_text(_LEFTMOST, at + 15, bar.label, fill="ink"))
        at += 0 if fits_beside else _LINE
        lines.append(_text(_RIGHTMOST, at + 15, bar.text, "end", bold, fill="ink"))
        lines += _bar(bar, bars.across, at)
        at += _BAR_ROW
    bottom = at + 4
    parts: list[Html] = []
    for value, words in bars.across.ticks:
        x, dark = _wide(bars.across, value), value == bars.across.low
        parts.append(_grid(x, x, 0, bottom, dark=dark))
        parts.append(_text(x, bottom + 15, words, "" if dark else "middle"))
    parts += [*lines, _text(_RIGHTMOST, bottom + 36, bars.across_label, "end")]
    return bottom + _BELOW, parts


def _bar(bar: Bar, across: Axis, y: int) -> Iterator[Html]:
    tone, colour = Html(bar.tone), Html(TONES[bar.tone])
    yield Html.filled(
        '<rect class="b b50 t-{tone}" y="{y}" height="{height}" width="{width}"'
        ' fill="{colour}" fill-opacity="{opacity}"/>',
        tone=tone, y=y + 22, height=_BAR, width=_wide(across, bar.value), colour=colour,
        opacity=_OPACITY[50],
    )  # fmt: skip
    if bar.ends:
        low, high = (_wide(across, end) for end in bar.ends)
        yield Html.filled(
            '<line class="l t-{tone}" x1="{low}" x2="{high}" y1="{y}" y2="{y}"'
            ' stroke="{colour}" stroke-width="2"/>',
            tone=tone, low=low, high=high, y=y + 29, colour=colour,
        )  # fmt: skip
    if bar.dot is not None:
        x = _wide(across, bar.dot)
        dot = Html.filled('<circle cx="{x}" cy="{y}" r="5"/>', x=x, y=y + 29)
        yield _group(_dot_look("second", False), dot)


def _crowd(crowd: Crowd) -> tuple[int, list[Html]]:
    parts: list[Html] = []
    for place, group in enumerate(crowd.groups):
        y = _LINE * place + 10
        dot = Html.filled('<circle class="key" cx="8" cy="{y}" r="6"/>', y=y)
        parts.append(_group(_dot_look(group.tone, not group.filled), dot))
        parts.append(_text(_px(24), y + 4.5, f"{group.count} {group.label}"))
    top, person = _LINE * len(crowd.groups) + 8, 0
    for group in crowd.groups:
        dots: list[Html] = []
        for _ in range(group.count):
            row, column = divmod(person, _OF_A_ROW)
            dots.append(
                Html.filled(
                    '<circle cx="{x:g}" cy="{y:g}" r="7"/>',
                    x=(column + 0.5) * _PERSON, y=top + (row + 0.5) * _PERSON,
                )
            )  # fmt: skip
            person += 1
        parts.append(_group(_dot_look(group.tone, not group.filled), Html.joined("", dots)))
    return top + _PERSON * -(-person // _OF_A_ROW) + 4, parts


def _areas(areas: Mosaic) -> tuple[int, list[Html]]:
    parts: list[Html] = []
    left = up = 0.0
    column = 0
    for area in areas.areas:
        x = Html.filled("{x:.2f}%", x=100 * left)
        # The first tile of a column, which has the label above.
        if up == 0.0:
            parts.append(_text(x, 14, areas.columns[column]))
        y = _LINE + _TALL * (1 - up - area.up)
        parts.append(
            Html.filled(
                '<rect class="b b{level} t-{tone} edge" x="{x:.3f}%" y="{y:.2f}"'
                ' width="{width:.3f}%" height="{height:.2f}"'
                ' fill="{colour}" fill-opacity="{opacity}" stroke="{card}"/>',
                level=area.level, tone=Html(area.tone), x=100 * left, y=y,
                width=100 * area.across, height=_TALL * area.up, colour=Html(TONES[area.tone]),
                opacity=_OPACITY[area.level], card=Html(CARD),
            )
        )  # fmt: skip
        for place, words in enumerate(area.text.split("\n")):
            if _fits(area, place, words):
                parts.append(_text(x, y + _LINE * place + 17, words, "", _INDENT, fill="ink"))
        up += area.up
        # Heights are probabilities that sum to 1 but for rounding: the column is full.
        if up > 1 - 1e-9:
            left, up, column = left + area.across, 0.0, column + 1
    return _LINE + _TALL + 4, parts


# --- looks ------------------------------------------------------------------------------------


def _line_look(line: Line) -> Html:
    return Html.filled(
        'class="l t-{tone}" fill="none" stroke="{colour}" stroke-width="2"{dash}',
        tone=Html(line.tone), colour=Html(TONES[line.tone]),
        dash=Html(' stroke-dasharray="6 5"' if line.dashed else ""),
    )  # fmt: skip


def _band_look(tone: Tone, level: int) -> Html:
    return Html.filled(
        'class="b b{level} t-{tone}" fill="{colour}" fill-opacity="{opacity}"',
        level=level, tone=Html(tone), colour=Html(TONES[tone]), opacity=_OPACITY[level],
    )  # fmt: skip


def _dot_look(tone: Tone, hollow: bool) -> Html:
    fill, stroke = (CARD, TONES[tone]) if hollow else (TONES[tone], CARD)
    return Html.filled(
        'class="d{open} t-{tone}" fill="{fill}" stroke="{stroke}" stroke-width="1.5"',
        open=Html(" o" if hollow else ""), tone=Html(tone), fill=Html(fill), stroke=Html(stroke),
    )  # fmt: skip


def _grid(x1: Html, x2: Html, y1: float, y2: float, *, dark: bool) -> Html:
    return Html.filled(
        '<line class="g{dark}" x1="{x1}" x2="{x2}" y1="{y1:.1f}" y2="{y2:.1f}" stroke="{colour}"/>',
        dark=Html(" z" if dark else ""), x1=x1, x2=x2, y1=y1, y2=y2,
        colour=Html(MUTE if dark else GRID),
    )  # fmt: skip


def _text(
    x: Html, y: float, words: str, anchor: LiteralString = "", extra: Html = _NOTHING, *,
    fill: Literal["soft", "ink"] = "soft",
) -> Html:  # fmt: skip
    side = Html.filled(' text-anchor="{anchor}"', anchor=Html(anchor)) if anchor else _NOTHING
    colour = Html.filled(' fill="{ink}"', ink=Html(INK if fill == "ink" else SOFT))
    return Html.filled(
        '<text{kind} x="{x}" y="{y:.1f}"{side}{colour}{extra}>{words}</text>',
        kind=Html(' class="ink"' if fill == "ink" else ""), x=x, y=y, side=side,
        # The heading of a file brings a colour of its own.
        colour=_NOTHING if "fill=" in extra.source else colour, extra=extra,
        words=Html.text(words),
    )  # fmt: skip


def _px(at: int) -> Html:
    return Html.filled("{at}", at=at)


def _fits(area: MosaicTile, line: int, words: str) -> bool:
    """Whether a line of words is within its part on a phone."""
    return _LINE * (line + 1) + 2 <= _TALL * area.up and len(words) <= _CHARACTERS * area.across


def _left(graph: Graph) -> float:
    """Per cent of the width at which values begin: beside the longest words on a phone."""
    longest = max(len(words) for _, words in graph.up.ticks)
    return max(LEFT, round(100 * (longest + 1) / _CHARACTERS, 1))


def _x(graph: Graph, value: float) -> float:
    """Per cent of the width."""
    left = _left(graph)
    return left + (RIGHT - left) * graph.across.at(value) / 100


def _y(axis: Axis, value: float, top: float) -> float:
    """Pixels from above; the low end of the axis is at the bottom."""
    return top + _TALL * (1 - axis.at(value) / 100)


def _wide(axis: Axis, value: float) -> Html:
    """Where a value of a bar is; the words of the last tick have room beside it."""
    return Html.filled("{at:.3f}%", at=_BARS * axis.at(value) / 100)


# --- the numbers of a drawing -----------------------------------------------------------------


def numbers(drawing: Drawing) -> Iterator[tuple[str, dict[str, float]]]:
    """Yields (label, {column: number}) for every line point, bar, group or tile that is drawn."""
    match drawing:
        case Graph():
            for layer in drawing.layers:
                for point in layer.points:
                    yield layer.label, dict(zip(layer.columns, point, strict=True))
        case Bars():
            for bar in drawing.bars:
                more = [*(bar.ends or ()), *([] if bar.dot is None else [bar.dot])]
                yield bar.label, dict(zip(bar.columns, [bar.value, *more], strict=True))
        case Crowd():
            for group in drawing.groups:
                yield group.label, dict(zip(group.columns, [float(group.count)], strict=True))
        case Mosaic():
            for area in drawing.areas:
                yield area.label, dict(zip(area.columns, [area.across * area.up], strict=True))
