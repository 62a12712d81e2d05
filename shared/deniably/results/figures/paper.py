"""Draws a figure for a paper: one SVG file that needs nothing else.

Lengths are in points, at the width of one or two columns of a journal. White ground, Helvetica or
what stands for it, presentation attributes alone: no style sheet, no script, no ``style``. Bands
and dots differ in lightness, so that a print without colour shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from deniably.results.figures.digits import NARROW, inside
from deniably.results.figures.letters import fit, width, wrap
from deniably.results.figures.row import Ends, Row
from deniably.results.figures.scale import Axis

WIDTHS = (85, 180)
"""Of a figure, in millimetres: one column or two."""

_POINT = 25.4 / 72  # millimetres
_TITLE, _LEDE, _LABEL, _INTERVAL, _AXIS, _NOTE = 9.5, 7.5, 8.0, 7.0, 6.5, 6.2
_LEADING = 1.25
_INK, _SOFT, _GRID, _MARK = "#18221f", "#52605b", "#d8dcd5", "#0b6158"
_BAND, _DOT = 6.0, 2.8
_EDGE = 4.0  # beside the scale, for half a dot
_GAP = 8.0
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_SPACES = re.compile("[ \t\r\n\u2028\u2029]+")


class Svg(str):
    """An SVG file as text; a notebook shows it as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return self


@dataclass(frozen=True)
class Part:
    """Rows on one scale, below a title of their own where there are several parts."""

    rows: Sequence[Row]
    scale: Axis
    title: str = ""


@dataclass(frozen=True)
class Paper:
    """What a figure's file says: title, what is shown of whom, the parts, and notes below."""

    title: str
    lede: str
    parts: Sequence[Part]
    notes: Sequence[str]


def svg(figure: Paper, millimetres: int = WIDTHS[0]) -> Svg:
    """The file. Raises ValueError unless it is 85 or 180 mm wide."""
    if millimetres not in WIDTHS:
        raise ValueError(f"a figure is {WIDTHS[0]} or {WIDTHS[1]} mm wide, not {millimetres}")
    across = millimetres / _POINT
    sheet = _Sheet(across)
    sheet.paragraph(figure.title, _TITLE, bold=True)
    sheet.paragraph(figure.lede, _LEDE, colour=_SOFT)
    for part in figure.parts:
        sheet.down(_GAP)
        if part.title:
            sheet.paragraph(part.title, _LABEL, bold=True)
        _Drawing(sheet, part, beside=millimetres > WIDTHS[0]).draw()
    sheet.down(_GAP)
    for note in figure.notes:
        sheet.paragraph(note, _NOTE, colour=_SOFT)
    sheet.down(2)
    return Svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{millimetres}mm"'
        f' height="{sheet.at * _POINT:.2f}mm" viewBox="0 0 {across:.1f} {sheet.at:.1f}"'
        f' font-family="Helvetica, Arial, Liberation Sans, sans-serif" fill="{_INK}" role="img">'
        f"<title>{_xml(figure.title)}</title><desc>{_xml(described(figure))}</desc>"
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(sheet.drawn)}</svg>\n'
    )


def described(figure: Paper) -> str:
    """All numbers of the figure as text."""
    return " ".join(
        f"{f'{part.title}: ' if part.title else ''}"
        + "; ".join(
            f"{row.label} {row.reading.value} ({row.reading.interval})" for row in part.rows
        )
        + "."
        for part in figure.parts
    )


# --- below ------------------------------------------------------------------------------------


class _Sheet:
    """What is drawn so far, and how far down it reaches."""

    def __init__(self, across: float) -> None:
        self.across, self.at = across, 0.0
        self.drawn: list[str] = []

    def down(self, points: float) -> None:
        self.at += points

    def paragraph(self, text: str, size: float, *, bold: bool = False, colour: str = "") -> None:
        """Text over the whole width."""
        self.at += self.lines(
            wrap(_plain(text), size, self.across, bold=bold), 0, self.at, size, bold=bold,
            colour=colour,
        )  # fmt: skip

    def lines(
        self, texts: Sequence[str], x: float, top: float, size: float, *,
        bold: bool = False, colour: str = "", anchor: str = "",
    ) -> float:  # fmt: skip
        """Lines of text from ``top`` down; gives their height."""
        look = "".join(
            f' {name}="{value}"'
            for name, value in (
                ("font-weight", "bold" if bold else ""), ("fill", colour), ("text-anchor", anchor),
            )
            if value
        )  # fmt: skip
        for place, text in enumerate(texts):
            y = top + size + place * size * _LEADING
            self.drawn.append(
                f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{look}>{_xml(text)}</text>'
            )
        return len(texts) * size * _LEADING


@dataclass(frozen=True)
class _Columns:
    """Where the columns of a part are: labels on the left, then the scale, two columns of figures.

    In a narrow figure the scale is below the labels, over the whole width.
    """

    label: float
    scale: Ends
    value: float
    value_room: float
    interval: float
    interval_room: float


class _Drawing:
    """Draws a part on a sheet."""

    def __init__(self, sheet: _Sheet, part: Part, *, beside: bool) -> None:
        self.sheet, self.part, self.beside = sheet, part, beside
        self.columns = _columns(sheet.across, part.rows, beside=beside)

    def draw(self) -> None:
        """The axis, then row after row."""
        self._axis()
        for row in self.part.rows:
            self._row(row)

    def _axis(self) -> None:
        left, right = self.columns.scale
        for x, text, anchor in _ticks(self.part.scale, left, right - left):
            self.sheet.lines([text], x, self.sheet.at, _AXIS, colour=_SOFT, anchor=anchor)
        self.sheet.down(_AXIS * _LEADING + 2)

    def _row(self, row: Row) -> None:
        sheet, columns, top = self.sheet, self.columns, self.sheet.at
        grey = _SOFT if row.aside or row.muted else ""
        label = wrap(_plain(row.label), _LABEL, columns.label)
        value = wrap(_plain(row.reading.value), _LABEL, columns.value_room, bold=True)
        interval = wrap(_plain(row.reading.interval), _INTERVAL, columns.interval_room)
        lines = max(len(label), len(value), len(interval), 1)
        height = lines * _LABEL * _LEADING
        if self.beside:
            self._strip(row, top, height + 5)
            top += 2.5
        sheet.lines(label, 0, top, _LABEL, colour=grey)
        sheet.lines(value, columns.value, top, _LABEL, bold=True, colour=grey, anchor="end")
        sheet.lines(interval, columns.interval, top + 0.6, _INTERVAL, colour=_SOFT, anchor="end")
        if self.beside:
            sheet.down(height + 5)
            return
        self._strip(row, top + height + 1, _BAND + 4)
        sheet.down(height + _BAND + 9)

    def _strip(self, row: Row, top: float, height: float) -> None:
        """The gridlines, the bands, the line and the dot of a row."""
        scale, (left, right) = self.part.scale, self.columns.scale

        def x(value: float) -> float:
            return left + (right - left) * scale.at(value) / 100

        for value, _ in scale.ticks:
            colour = _SOFT if value == scale.zero else _GRID
            self.sheet.drawn.append(
                f'<path d="M{x(value):.1f} {top:.1f}v{height:.1f}" stroke="{colour}"'
                ' stroke-width=".5"/>'
            )
        if row.drawn:
            middle, colour = top + height / 2, _SOFT if row.aside or row.muted else _MARK
            self.sheet.drawn += _marks(row, x(inside(row.estimate, row.interval)), [
                (x(ends[0]), x(ends[1]), opacity)
                for ends, opacity in (
                    (row.interval, 0.14), (row.band_80, 0.24), (row.band_50, 0.45)
                )
                if ends is not None
            ], middle, colour)  # fmt: skip


def _marks(
    row: Row, dot: float, bands: Sequence[tuple[float, float, float]], y: float, colour: str
) -> Iterator[str]:
    for low, high, opacity in bands:
        yield (
            f'<rect x="{low:.1f}" y="{y - _BAND / 2:.1f}" width="{max(high - low, 0.5):.1f}"'
            f' height="{_BAND:g}" fill="{colour}" fill-opacity="{opacity:g}"/>'
        )
    low, high, _ = bands[0]
    yield f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" stroke="{colour}"/>'
    fill, ring = ("#fff", colour) if row.open else (colour, "#fff")
    yield f'<circle cx="{dot:.1f}" cy="{y:.1f}" r="{_DOT:g}" fill="{fill}" stroke="{ring}"/>'


def _columns(across: float, rows: Sequence[Row], *, beside: bool) -> _Columns:
    """Figures take the room they need, up to a quarter of the width each; labels have the rest."""
    value = _needed([row.reading.value for row in rows], _LABEL, across / 4, bold=True)
    interval = _needed([row.reading.interval for row in rows], _INTERVAL, across / 4)
    figures = across - interval - _GAP - value
    label = figures - _GAP
    if not beside:
        scale = (_EDGE, across - _EDGE)
    else:
        label = _needed([row.label for row in rows], _LABEL, across / 3)
        scale = (label + _GAP + _EDGE, figures - _GAP - _EDGE)
    return _Columns(label, scale, across - interval - _GAP, value, across, interval)


def _needed(texts: Sequence[str], size: float, most: float, *, bold: bool = False) -> float:
    widest = max((width(_plain(text), size, bold=bold) for text in texts), default=0.0)
    return min(widest + 0.1, most)


def _ticks(scale: Axis, left: float, across: float) -> Iterator[tuple[float, str, str]]:
    """The words of the axis that fit side by side: place, text and anchor.

    Those at the ends come first, and are cut where they are longer than nearly half the axis.
    """
    words = [(left + across * scale.at(value) / 100, _plain(text)) for value, text in scale.ticks]
    (first, start), *between, (last, end) = [one for one in words if one[1]]
    start, end = (fit(text, _AXIS, 0.45 * across) for text in (start, end))
    yield first, start, "start"
    yield last, end, "end"
    taken, free = first + width(start, _AXIS), last - width(end, _AXIS)
    for x, text in between:
        half = width(text, _AXIS) / 2 + 2
        if taken <= x - half and x + half <= free:
            yield x, text, "middle"
            taken = x + half


def _plain(text: str) -> str:
    """On one line; the narrow space before a unit is missing in many fonts."""
    return _SPACES.sub(" ", _NOT_XML.sub("", text)).replace(NARROW, "\u00a0").strip()


def _xml(text: str) -> str:
    return escape(_plain(text))
