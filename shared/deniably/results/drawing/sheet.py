"""The sheet that a figure for a paper is drawn on, from the top down.

Lengths are in points. Every mark has presentation attributes alone: no style sheet, no script, no
``style``, and no reference to another mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from deniably.results.drawing.digits import NARROW
from deniably.results.drawing.letters import fit, width, wrap

TITLE, LEDE, LABEL, INTERVAL, AXIS, NOTE = 9.5, 7.5, 8.0, 7.0, 6.5, 6.2
"""Sizes of text."""
LEADING = 1.25
INK, SOFT, GRID, MARK, SECOND = "#18221f", "#52605b", "#d8dcd5", "#0b6158", "#a8480c"
BANDS = (0.14, 0.24, 0.45)
"""Opacities of the bands of 95, 80 and 50 %, one on the other."""
BAND, DOT, GAP = 6.0, 2.8, 8.0
_WIDE = 300.0
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_SPACES = re.compile("[ \t\r\n\u2028\u2029]+")


class Sheet:
    """What is drawn so far, and how far down (``at``) it reaches.

    ``across`` is the width that there is, from ``left`` on. Places are counted from there.
    """

    def __init__(self, across: float, left: float = 0.0, at: float = 0.0) -> None:
        self.across, self.left, self.at = across, left, at
        self.drawn: list[str] = []

    @property
    def wide(self) -> bool:
        """Whether pictures fit beside their labels."""
        return self.across > _WIDE

    def column(self, left: float, across: float) -> Sheet:
        """A part of the sheet from here down; what is drawn there is drawn here."""
        part = Sheet(across, self.left + left, self.at)
        part.drawn = self.drawn
        return part

    def down(self, points: float) -> None:
        """Leave room."""
        self.at += points

    def paragraph(self, text: str, size: float, *, bold: bool = False, colour: str = "") -> None:
        """Text over the whole width."""
        texts = wrap(plain(text), size, self.across, bold=bold)
        self.at += self.lines(texts, 0, self.at, size, bold=bold, colour=colour)

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
            y = top + size + place * size * LEADING
            self.drawn.append(
                f'<text x="{self.left + x:.1f}" y="{y:.1f}" font-size="{size:g}"{look}>{xml(text)}'
                "</text>"
            )
        return len(texts) * size * LEADING

    def box(
        self, x: float, y: float, across: float, down: float, colour: str, opacity: float = 1.0
    ) -> None:
        """A filled rectangle."""
        seen = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        self.drawn.append(
            f'<rect x="{self.left + x:.1f}" y="{y:.1f}" width="{max(across, 0.5):.1f}"'
            f' height="{max(down, 0.5):.1f}" fill="{colour}"{seen}/>'
        )

    def strokes(
        self, lines: Iterable[tuple[float, float, float, float]], colour: str, thick: float = 0.5
    ) -> None:
        """Straight lines, each from one point to another."""
        path = "".join(
            f"M{self.left + x:.1f} {y:.1f}L{self.left + to_x:.1f} {to_y:.1f}"
            for x, y, to_x, to_y in lines
        )
        if path:
            self.drawn.append(f'<path d="{path}" stroke="{colour}" stroke-width="{thick:g}"/>')

    def ticks(self, words: Sequence[tuple[float, str]]) -> None:
        """Words below or above an axis, each at its place, as far as they fit side by side.

        Those at the ends come first, and are cut where they are longer than nearly half the axis.
        """
        (first, start), *between, (last, end) = [(x, plain(text)) for x, text in words if text]
        start, end = (fit(text, AXIS, 0.45 * (last - first)) for text in (start, end))
        self.lines([start], first, self.at, AXIS, colour=SOFT)
        self.lines([end], last, self.at, AXIS, colour=SOFT, anchor="end")
        taken, free = first + width(start, AXIS), last - width(end, AXIS)
        for x, text in between:
            half = width(text, AXIS) / 2 + 2
            if taken <= x - half and x + half <= free:
                self.lines([text], x, self.at, AXIS, colour=SOFT, anchor="middle")
                taken = x + half
        self.down(AXIS * LEADING)

    def ring(self, x: float, y: float, radius: float, letter: str) -> None:
        """A ring with a letter in its middle."""
        self.drawn.append(
            f'<circle cx="{self.left + x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="#fff"'
            f' fill-opacity="0.75" stroke="{SECOND}" stroke-width="1.5"/>'
        )
        self.lines([letter], x, y - 0.72 * LABEL, LABEL, bold=True, anchor="middle")

    def dot(self, x: float, y: float, radius: float, colour: str, *, open_: bool) -> None:
        """A dot with a ring around it, or an open one."""
        fill, ring = ("#fff", colour) if open_ else (colour, "#fff")
        self.drawn.append(
            f'<circle cx="{self.left + x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}"'
            f' stroke="{ring}"/>'
        )


def needed(texts: Iterable[str], size: float, most: float, *, bold: bool = False) -> float:
    """The width that the widest of these takes, up to ``most``."""
    widest = max((width(plain(text), size, bold=bold) for text in texts), default=0.0)
    return min(widest + 0.1, most)


def plain(text: str) -> str:
    """On one line; the narrow space before a unit is missing in many fonts."""
    return _SPACES.sub(" ", _NOT_XML.sub("", text)).replace(NARROW, "\u00a0").strip()


def xml(text: str) -> str:
    """Text for a file of XML."""
    return escape(plain(text))
