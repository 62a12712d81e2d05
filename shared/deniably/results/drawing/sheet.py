"""The sheet on which a figure for a paper is drawn, from the top down.

Lengths are in points. Every mark has presentation attributes only: no style sheet, no script, no
``style``, and no reference to another mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, LiteralString

from deniably.core.languages.html import Html
from deniably.core.steering import one_line
from deniably.results.drawing.letters import fit, width, wrap
from deniably.results.drawing.rounding import NARROW

TITLE, LEDE, LABEL, INTERVAL, AXIS, NOTE = 9.5, 7.5, 8.0, 7.0, 6.5, 6.2
"""Font sizes in points."""
LEADING = 1.25
INK: Final = "#18221f"
SOFT: Final = "#52605b"
GRID: Final = "#d8dcd5"
MARK: Final = "#0b6158"
SECOND: Final = "#a8480c"
BANDS = (0.14, 0.24, 0.45)
"""Opacities of the bands of 95, 80 and 50 %, which lie on one another."""
BAND, DOT, GAP = 6.0, 2.8, 8.0
# Between the two widths of a figure, 85 mm (241 points) and 180 mm (510 points).
_WIDE = 300.0
_NOT_XML = re.compile("[\ufffe\uffff]")
"""Characters that XML 1.0 forbids, besides the control characters that ``one_line`` removes."""


class Sheet:
    """A drawing that is made from the top down: the marks ``drawn`` so far, and the height ``at``
    at which the next mark begins.

    ``across`` is the width of the area to draw on, whose left edge is at ``left``. Horizontal
    positions are distances from this edge.
    """

    def __init__(self, across: float, left: float = 0.0, at: float = 0.0) -> None:
        self.across, self.left, self.at = across, left, at
        self.drawn: list[Html] = []

    @property
    def wide(self) -> bool:
        """Whether the figure is wide enough for pictures beside their labels."""
        return self.across > _WIDE

    def column(self, left: float, across: float) -> Sheet:
        """Returns a column of this sheet that begins at the current height, ``left`` from the
        sheet's edge and ``across`` wide. Marks drawn in the column appear on this sheet, but do
        not change its current height."""
        part = Sheet(across, self.left + left, self.at)
        # One list for all parts: what is drawn on a part belongs to the sheet.
        part.drawn = self.drawn
        return part

    def down(self, points: float) -> None:
        """Moves the current height down, to leave room."""
        self.at += points

    def paragraph(
        self, text: str, size: float, *, bold: bool = False, colour: LiteralString = ""
    ) -> None:
        """Writes text over the whole width, broken into lines, and moves the current height below
        it."""
        texts = wrap(plain(text), size, self.across, bold=bold)
        self.at += self.lines(texts, 0, self.at, size, bold=bold, colour=colour)

    def lines(
        self, texts: Sequence[str], x: float, top: float, size: float, *,
        bold: bool = False, colour: LiteralString = "", anchor: LiteralString = "",
    ) -> float:  # fmt: skip
        """Writes lines of text below each other, the first at the height ``top``, and returns
        their total height. The current height of the sheet is not changed."""
        attributes = (
            (Html("font-weight"), Html("bold" if bold else "")),
            (Html("fill"), Html(colour)),
            (Html("text-anchor"), Html(anchor)),
        )
        look = Html.joined(
            "",
            (
                Html.filled(' {name}="{value}"', name=name, value=value)
                for name, value in attributes
                if value
            ),
        )
        for place, text in enumerate(texts):
            self.drawn.append(
                Html.filled(
                    '<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{look}>{text}</text>',
                    x=self.left + x, y=top + size + place * size * LEADING, size=size, look=look,
                    text=xml(text),
                )
            )  # fmt: skip
        return len(texts) * size * LEADING

    def box(
        self, x: float, y: float, across: float, down: float, colour: LiteralString,
        opacity: float = 1.0,
    ) -> None:  # fmt: skip
        """Draws a filled rectangle."""
        seen = Html.filled(' fill-opacity="{opacity:g}"', opacity=opacity)
        self.drawn.append(
            Html.filled(
                '<rect x="{x:.1f}" y="{y:.1f}" width="{across:.1f}" height="{down:.1f}"'
                ' fill="{colour}"{seen}/>',
                # A narrower mark would not be seen in print.
                x=self.left + x, y=y, across=max(across, 0.5), down=max(down, 0.5),
                colour=Html(colour), seen=seen if opacity < 1 else Html(),
            )
        )  # fmt: skip

    def strokes(
        self, lines: Iterable[tuple[float, float, float, float]], colour: LiteralString,
        thick: float = 0.5,
    ) -> None:  # fmt: skip
        """Draws straight lines, each given as (x, y, to x, to y), as one path."""
        path = Html.joined(
            "",
            (
                Html.filled(
                    "M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}",
                    x=self.left + x, y=y, to_x=self.left + to_x, to_y=to_y,
                )
                for x, y, to_x, to_y in lines
            ),
        )  # fmt: skip
        if path:
            self.drawn.append(
                Html.filled(
                    '<path d="{path}" stroke="{colour}" stroke-width="{thick:g}"/>',
                    path=path, colour=Html(colour), thick=thick,
                )
            )  # fmt: skip

    def ticks(self, words: Sequence[tuple[float, str]]) -> None:
        """Writes the labels of an axis, each (position, text), and moves the current height below
        them. Labels that would touch another label are left out.

        The labels at the two ends are always written, cut if they are longer than 45 % of the
        axis.
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
        """Draws a ring with a letter in its middle."""
        self.drawn.append(
            Html.filled(
                '<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="#fff"'
                ' fill-opacity="0.75" stroke="{colour}" stroke-width="1.5"/>',
                x=self.left + x, y=y, radius=radius, colour=Html(SECOND),
            )
        )  # fmt: skip
        self.lines([letter], x, y - 0.72 * LABEL, LABEL, bold=True, anchor="middle")

    def dot(self, x: float, y: float, radius: float, colour: LiteralString, *, open_: bool) -> None:
        """Draws a dot with a white ring around it or, with ``open_``, a circle."""
        fill, ring = ("#fff", colour) if open_ else (colour, "#fff")
        self.drawn.append(
            Html.filled(
                '<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" stroke="{ring}"/>',
                x=self.left + x, y=y, radius=radius, fill=Html(fill), ring=Html(ring),
            )
        )  # fmt: skip


def needed(texts: Iterable[str], size: float, limit: float, *, bold: bool = False) -> float:
    """Returns the width of the widest of ``texts``, at most ``limit``."""
    widest = max((width(plain(text), size, bold=bold) for text in texts), default=0.0)
    return min(widest + 0.1, limit)


def plain(text: str) -> str:
    """Returns the text on one line, with the narrow space before a unit replaced: many fonts lack
    it."""
    words = _NOT_XML.sub("", one_line(text))
    return re.sub(" +", " ", words).replace(NARROW, "\u00a0").strip()


def xml(text: str) -> Html:
    """Returns text escaped for an XML file, on one line."""
    return Html.text(plain(text))
