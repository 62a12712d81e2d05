"""Draws a figure for a paper as one SVG file that needs nothing else.

The figure has the width of one or two columns of a journal, a white background, and Helvetica or a
similar font. Bands, dots and shades differ in lightness, so that a print without colour shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from deniably.core.languages.html import Html
from deniably.results.drawing.sheet import GAP, INK, LABEL, LEDE, NOTE, SOFT, TITLE, Sheet, xml

WIDTHS = (85, 180)
"""The widths of a figure, in millimetres: one column or two."""

_POINT = 25.4 / 72  # millimetres


class Svg(str):
    """An SVG file as text, which notebooks display as a picture."""

    __slots__ = ()

    def __new__(cls, drawn: Html) -> Self:
        """Returns the text of an SVG file that was built as safe markup."""
        return super().__new__(cls, drawn.source)

    def _repr_svg_(self) -> str:
        return self

    def __html__(self) -> str:
        return self


class PaperPart(Protocol):
    """A picture in a figure for a paper, with a title of its own if the figure has several
    pictures."""

    @property
    def title(self) -> str:
        """The title of this picture; empty if the figure has one picture."""
        ...

    def draw(self, sheet: Sheet) -> None:
        """Draws the picture on ``sheet``, below what is drawn there already."""
        ...

    def described(self) -> str:
        """Returns all numbers of the picture as text, without a full stop."""
        ...


@dataclass(frozen=True)
class Paper:
    """The contents of a figure for a paper: the title, ``lede`` (a line under it that states what
    is shown, and for whom), the pictures in ``parts``, and notes below.

    ``words`` describe the figure for the text of a paper, without its numbers.
    """

    title: str
    lede: str
    parts: Sequence[PaperPart]
    notes: Sequence[str]
    words: str = ""

    @property
    def described(self) -> str:
        """All numbers of the figure as text; they go into the file's description for screen
        readers."""
        descriptions = [(part.title, part.described()) for part in self.parts]
        return " ".join(f"{_before(title)}{text}." for title, text in descriptions if text)

    @property
    def in_words(self) -> str:
        """A paragraph for the text of a paper: ``words``, then all numbers."""
        return f"{self.words} {self.described}"


def _before(title: str) -> str:
    """What a title is before the numbers that it is of."""
    if not title:
        return ""
    return f"{title} " if title.endswith("?") else f"{title}: "


def svg(figure: Paper, millimetres: int = WIDTHS[0]) -> Svg:
    """Returns the figure as an SVG file of this width. Raises ValueError unless ``millimetres`` is
    85 or 180."""
    if millimetres not in WIDTHS:
        raise ValueError(f"a figure is {WIDTHS[0]} or {WIDTHS[1]} mm wide, not {millimetres}")
    across = millimetres / _POINT
    sheet = Sheet(across)
    sheet.paragraph(figure.title, TITLE, bold=True)
    sheet.paragraph(figure.lede, LEDE, colour=SOFT)
    for part in figure.parts:
        sheet.down(GAP)
        if part.title:
            sheet.paragraph(part.title, LABEL, bold=True)
        part.draw(sheet)
    sheet.down(GAP)
    for note in figure.notes:
        sheet.paragraph(note, NOTE, colour=SOFT)
    sheet.down(2)
    return Svg(
        Html.filled(
            '<svg xmlns="http://www.w3.org/2000/svg" width="{millimetres}mm"'
            ' height="{high:.2f}mm" viewBox="0 0 {across:.1f} {down:.1f}"'
            ' font-family="Helvetica, Arial, Liberation Sans, sans-serif" fill="{ink}" role="img">'
            "<title>{title}</title><desc>{about}</desc>"
            '<rect width="100%" height="100%" fill="#fff"/>{drawn}</svg>\n',
            millimetres=millimetres, high=sheet.at * _POINT, across=across, down=sheet.at,
            ink=Html(INK), title=xml(figure.title), about=xml(figure.described),
            drawn=Html.joined("", sheet.drawn),
        )
    )  # fmt: skip
