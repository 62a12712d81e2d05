"""Draws lines, bands and dots over two axes, bars on one, and people one by one.

As in a strip, places across are per cents of the width and words keep their size, so that a phone
shows the same picture as a wide page. Lines and bands lie in a box of their own that is stretched.
The same drawing is a file that stands alone: elements have the tokens' classes and, as presentation
attributes, the tokens' colours in the light.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from deniably.results.drawing.axes import Axis
from deniably.results.drawing.colours import CARD, GRID, INK, MUTE, SOFT, TONES, Tone
from deniably.results.drawing.letters import wrap
from deniably.results.drawing.paper import Svg
from deniably.results.drawing.strip import Html

FILE_WIDTH = 640
"""Pixels of a drawing that stands alone."""
LEFT, RIGHT = 15.0, 96.0
"""Per cent of the width between which values lie; words of the upward axis stand at the left, and
values begin farther right where these are long."""
_BARS = 92.0
"""Per cent of the width that the longest bar has."""
STRETCHED = 1000
"""Units of either side of the box in which lines and bands lie."""
LONGEST = 38
"""Characters of a label that a phone shows on one line."""

_LINE, _TALL, _BELOW = 20, 240, 44  # pixels
_BAR, _BAR_ROW = 14, 44
_BESIDE = 32  # characters of a label and its value that fit side by side on a phone
_EDGE = 12
"""Around a drawing that stands alone."""
_PERSON, _OF_A_ROW = 22, 10
_OPACITY = {95: 0.14, 80: 0.24, 50: 0.45}
_CHARACTERS = 44  # of the whole width of a phone

Columns = tuple[str, ...]
"""The columns of the rows that the numbers of a point were taken from."""


# --- what is drawn ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """Straight lines from point to point (x, y)."""

    label: str
    points: tuple[tuple[float, float], ...]
    columns: Columns
    tone: Tone = "mark"
    dashed: bool = False


@dataclass(frozen=True)
class Band:
    """The area between two lines: points (x, low, high). ``level`` is 95, 80 or 50 per cent."""

    label: str
    points: tuple[tuple[float, float, float], ...]
    columns: Columns
    tone: Tone = "mark"
    level: int = 95


@dataclass(frozen=True)
class Dots:
    """A dot at each point (x, y); open where it is less sure."""

    label: str
    points: tuple[tuple[float, float], ...]
    columns: Columns
    tone: Tone = "mark"
    open: bool = False


GraphLayer = Line | Band | Dots


@dataclass(frozen=True)
class Graph:
    """Layers over two axes, each with its words; those drawn first lie below."""

    across: Axis
    across_label: str
    up: Axis
    up_label: str
    layers: Sequence[GraphLayer]


@dataclass(frozen=True)
class Bar:
    """A horizontal bar from the low end of the axis to ``value``, with its words above.

    ``ends`` draws a line over it, from one value to another, and ``dot`` a dot.
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
    """Bars on one axis."""

    across: Axis
    across_label: str
    bars: Sequence[Bar]


@dataclass(frozen=True)
class CrowdGroup:
    """People who look alike; ``filled`` and ``tone`` tell them from others."""

    label: str
    count: int
    columns: Columns
    tone: Tone = "mark"
    filled: bool = True


@dataclass(frozen=True)
class Crowd:
    """Everybody one by one, group after group, ten in a row."""

    groups: Sequence[CrowdGroup]


@dataclass(frozen=True)
class MosaicTile:
    """A part of everybody: ``across`` of them have the first thing in common, and of these the
    part ``up`` the second. the lines of ``text`` stand in it where they fit."""

    label: str
    across: float
    up: float
    text: str
    columns: Columns
    tone: Tone = "mark"
    level: int = 95


@dataclass(frozen=True)
class Mosaic:
    """A square of area 1, cut upright by the first thing and then across by the second.

    ``areas`` come column by column, from below. The area of each is its probability. ``columns``
    are the words above the columns, one each.
    """

    areas: Sequence[MosaicTile]
    columns: Sequence[str]


Drawing = Graph | Bars | Crowd | Mosaic


def inline(drawing: Drawing, title: str, about: str) -> Html:
    """The drawing as part of a page; ``about`` says its numbers in words."""
    height, parts = _parts(drawing)
    return Html(
        f'<svg class="plot graph" height="{height}" font-size="13" role="img"'
        f' aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><desc>{escape(about)}</desc>{''.join(parts)}</svg>"
    )


def file(drawing: Drawing, title: str, about: str) -> Svg:
    """The drawing as a file that needs nothing else."""
    height, parts = _parts(drawing)
    room = FILE_WIDTH - 2 * _EDGE
    look = f' font-size="15" font-weight="bold" fill="{INK}"'
    lines = wrap(title, 15, room, bold=True)
    heading = [_text(f"{_EDGE}", 24 + _LINE * k, line, "", look) for k, line in enumerate(lines)]
    top = 20 + _LINE * len(lines)
    return Svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{FILE_WIDTH}"'
        f' height="{height + top + _EDGE}" font-size="13" role="img"'
        ' font-family="Helvetica, Arial, Liberation Sans, sans-serif">'
        f"<title>{escape(title)}</title><desc>{escape(about)}</desc>"
        f'<rect width="100%" height="100%" fill="{CARD}"/>{"".join(heading)}'
        f'<svg x="{_EDGE}" y="{top}" width="{room}" height="{height}" overflow="visible">'
        f"{''.join(parts)}</svg></svg>\n"
    )


# --- below ------------------------------------------------------------------------------------


def _parts(drawing: Drawing) -> tuple[int, list[str]]:
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
    """Pixels from the top of the drawing down to a value of the upward axis."""
    return _y(graph.up, value, _top(graph))


def _top(graph: Graph) -> int:
    """Pixels above the high end of the upward axis: a line for each layer, and the axis' words."""
    return _LINE * len(graph.layers) + 2 * _LINE


def _graph(graph: Graph) -> tuple[int, list[str]]:
    keys = [_key(layer, place) for place, layer in enumerate(graph.layers)]
    top = _top(graph)
    bottom = top + _TALL
    parts = [*keys, _text("0", top - _LINE - 2, graph.up_label)]
    for value, words in graph.up.ticks:
        y = _y(graph.up, value, top)
        parts.append(_grid("0", "100%", y, y, dark=value in (graph.up.low, graph.up.zero)))
        parts.append(_text("0", y - 4, words))
    for value, words in graph.across.ticks:
        x = _x(graph, value)
        parts.append(_grid(x, None, bottom, bottom + 5, dark=True))
        parts.append(_text(x, bottom + 19, words, "middle", _inwards(x, words)))
    parts.append(_text("100%", bottom + _BELOW - 5, graph.across_label, "end"))
    parts += [_layer(layer, graph, top) for layer in graph.layers]
    return bottom + _BELOW, parts


def _inwards(x: str, words: str) -> str:
    """A long number at the right end would leave the card on a phone."""
    long = len(words) > len("100,000") and float(x.rstrip("%")) > RIGHT - 4
    return ' dx="-12"' if long else ""


def _layer(layer: GraphLayer, graph: Graph, top: float) -> str:
    if isinstance(layer, Dots):
        dots = "".join(
            f'<circle cx="{_x(graph, x)}" cy="{_y(graph.up, y, top):.2f}" r="4"/>'
            for x, y in layer.points
        )
        return f"<g {_dot_look(layer.tone, layer.open)}>{dots}</g>"
    left = _left(graph)
    return (
        f'<svg x="{left:g}%" y="{top}" width="{RIGHT - left:g}%" height="{_TALL}"'
        f' viewBox="0 0 {STRETCHED} {STRETCHED}" preserveAspectRatio="none">'
        f"{_stretched(layer, graph)}</svg>"
    )


def _stretched(layer: Line | Band, graph: Graph) -> str:
    def place(x: float, y: float) -> str:
        across, up = (STRETCHED / 100 * one for one in (graph.across.at(x), graph.up.at(y)))
        return f"{across:.2f},{STRETCHED - up:.2f}"

    if isinstance(layer, Line):
        points = " ".join(place(x, y) for x, y in layer.points)
        return (
            f'<polyline points="{points}" {_line_look(layer)} vector-effect="non-scaling-stroke"/>'
        )
    there = [place(x, high) for x, _, high in layer.points]
    back = [place(x, low) for x, low, _ in reversed(layer.points)]
    return f'<polygon points="{" ".join([*there, *back])}" {_band_look(layer.tone, layer.level)}/>'


def _key(layer: GraphLayer, place: int) -> str:
    """The layer's line of the legend."""
    y = _LINE * place + 10
    match layer:
        case Dots():
            look = _dot_look(layer.tone, layer.open)
            mark = f'<g {look}><circle class="key" cx="12" cy="{y}" r="4"/></g>'
        case Line():
            mark = f'<path d="M0 {y}h24" {_line_look(layer)}/>'
        case Band():
            look = _band_look(layer.tone, layer.level)
            mark = f'<rect y="{y - 6}" width="24" height="12" {look}/>'
    return f"{mark}{_text('32', y + 4.5, layer.label)}"


def _bars(bars: Bars) -> tuple[int, list[str]]:
    lines, at = list[str](), 0
    for bar in bars.bars:
        beside = len(bar.label) + len(bar.text) <= _BESIDE
        lines.append(_text("0", at + 15, bar.label, fill="ink"))
        at += 0 if beside else _LINE
        lines.append(_text("100%", at + 15, bar.text, "end", ' font-weight="bold"', fill="ink"))
        lines += _bar(bar, bars.across, at)
        at += _BAR_ROW
    bottom = at + 4
    parts: list[str] = []
    for value, words in bars.across.ticks:
        x, dark = _wide(bars.across, value), value == bars.across.low
        parts.append(_grid(x, None, 0, bottom, dark=dark))
        parts.append(_text(x, bottom + 15, words, "" if dark else "middle"))
    parts += [*lines, _text("100%", bottom + 36, bars.across_label, "end")]
    return bottom + _BELOW, parts


def _bar(bar: Bar, across: Axis, y: int) -> Iterator[str]:
    yield (
        f'<rect class="b b50 t-{bar.tone}" y="{y + 22}" height="{_BAR}"'
        f' width="{_wide(across, bar.value)}"'
        f' fill="{TONES[bar.tone]}" fill-opacity="{_OPACITY[50]}"/>'
    )
    if bar.ends:
        low, high = (_wide(across, end) for end in bar.ends)
        yield (
            f'<line class="l t-{bar.tone}" x1="{low}" x2="{high}" y1="{y + 29}" y2="{y + 29}"'
            f' stroke="{TONES[bar.tone]}" stroke-width="2"/>'
        )
    if bar.dot is not None:
        yield (
            f"<g {_dot_look('second', False)}>"
            f'<circle cx="{_wide(across, bar.dot)}" cy="{y + 29}" r="5"/></g>'
        )


def _crowd(crowd: Crowd) -> tuple[int, list[str]]:
    parts: list[str] = []
    for place, group in enumerate(crowd.groups):
        y = _LINE * place + 10
        parts.append(
            f"<g {_dot_look(group.tone, not group.filled)}>"
            f'<circle class="key" cx="8" cy="{y}" r="6"/></g>'
            f"{_text('24', y + 4.5, f'{group.count} {group.label}')}"
        )
    top, person = _LINE * len(crowd.groups) + 8, 0
    for group in crowd.groups:
        dots = ""
        for _ in range(group.count):
            row, column = divmod(person, _OF_A_ROW)
            dots += (
                f'<circle cx="{(column + 0.5) * _PERSON:g}" cy="{top + (row + 0.5) * _PERSON:g}"'
                ' r="7"/>'
            )
            person += 1
        parts.append(f"<g {_dot_look(group.tone, not group.filled)}>{dots}</g>")
    return top + _PERSON * -(-person // _OF_A_ROW) + 4, parts


def _areas(areas: Mosaic) -> tuple[int, list[str]]:
    parts: list[str] = []
    left = up = 0.0
    column = 0
    for area in areas.areas:
        if up == 0.0:
            parts.append(_text(f"{100 * left:.2f}%", 14, areas.columns[column]))
        y = _LINE + _TALL * (1 - up - area.up)
        parts.append(
            f'<rect class="b b{area.level} t-{area.tone} edge" x="{100 * left:.3f}%" y="{y:.2f}"'
            f' width="{100 * area.across:.3f}%" height="{_TALL * area.up:.2f}"'
            f' fill="{TONES[area.tone]}" fill-opacity="{_OPACITY[area.level]}" stroke="{CARD}"/>'
        )
        for place, words in enumerate(area.text.split("\n")):
            if _fits(area, place, words):
                words_at = f"{100 * left:.2f}%", y + _LINE * place + 17
                parts.append(_text(*words_at, words, extra=' dx="6"', fill="ink"))
        up += area.up
        if up > 1 - 1e-9:
            left, up, column = left + area.across, 0.0, column + 1
    return _LINE + _TALL + 4, parts


# --- looks ------------------------------------------------------------------------------------


def _line_look(line: Line) -> str:
    dash = ' stroke-dasharray="6 5"' if line.dashed else ""
    return f'class="l t-{line.tone}" fill="none" stroke="{TONES[line.tone]}" stroke-width="2"{dash}'


def _band_look(tone: Tone, level: int) -> str:
    return f'class="b b{level} t-{tone}" fill="{TONES[tone]}" fill-opacity="{_OPACITY[level]}"'


def _dot_look(tone: Tone, hollow: bool) -> str:
    fill, stroke = (CARD, TONES[tone]) if hollow else (TONES[tone], CARD)
    return f'class="d{" o" * hollow} t-{tone}" fill="{fill}" stroke="{stroke}" stroke-width="1.5"'


def _grid(x1: str, x2: str | None, y1: float, y2: float, *, dark: bool) -> str:
    return (
        f'<line class="g{" z" * dark}" x1="{x1}" x2="{x2 or x1}" y1="{y1:.1f}" y2="{y2:.1f}"'
        f' stroke="{MUTE if dark else GRID}"/>'
    )


def _text(
    x: str, y: float, words: str, anchor: str = "", extra: str = "", *, fill: str = "soft"
) -> str:
    side = f' text-anchor="{anchor}"' if anchor else ""
    look = "" if "fill=" in extra else f' fill="{INK if fill == "ink" else SOFT}"'
    kind = ' class="ink"' if fill == "ink" else ""
    return f'<text{kind} x="{x}" y="{y:.1f}"{side}{look}{extra}>{escape(words)}</text>'


def _fits(area: MosaicTile, line: int, words: str) -> bool:
    """Whether a line of words is within its part on a phone."""
    return _LINE * (line + 1) + 2 <= _TALL * area.up and len(words) <= _CHARACTERS * area.across


def _left(graph: Graph) -> float:
    """Per cent of the width at which values begin: beside the longest words on a phone."""
    longest = max(len(words) for _, words in graph.up.ticks)
    return max(LEFT, round(100 * (longest + 1) / _CHARACTERS, 1))


def _x(graph: Graph, value: float) -> str:
    left = _left(graph)
    return f"{left + (RIGHT - left) * graph.across.at(value) / 100:.3f}%"


def _y(axis: Axis, value: float, top: float) -> float:
    """Pixels from above; the low end of the axis is at the bottom."""
    return top + _TALL * (1 - axis.at(value) / 100)


def _wide(axis: Axis, value: float) -> str:
    """Where a value of a bar is; the words of the last tick have room beside it."""
    return f"{_BARS * axis.at(value) / 100:.3f}%"


# --- the numbers of a drawing -----------------------------------------------------------------


def numbers(drawing: Drawing) -> Iterator[tuple[str, dict[str, float]]]:
    """Every point that is drawn: the label of its mark, and its numbers by column."""
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
