"""Computes how wide text is in Helvetica, and breaks it into lines that fit.

Whoever writes an SVG file cannot measure text: the reader's software chooses the font. Widths are
those of Liberation Sans, which has the metrics of Arial and Helvetica, with some room added for the
wider letters of DejaVu Sans, which is used on computers that have none of these.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_ROOM, _ROOM_BOLD = 1.16, 1.23
"""The factors on all widths, regular and bold: DejaVu Sans is 1.10 to 1.15 times as wide, and 1.18
to 1.23 times in bold."""
_REGULAR = {
    191: "'",
    222: "ijl\u2018\u2019\u0142",
    260: "|",
    278: " !,./:;I[\\]ft\xa0\xb7\u0131",
    333: "()-`r\u201c\u201d\u201e",
    334: "{}",
    355: '"',
    389: "*",
    400: "\xb0",
    469: "^",
    500: "Jcksvxyz",
    549: "\xb1",
    556: "#$0123456789?L_abdeghnopqu\u2013\u0141\xab\xbb\xa7\u20ac\xa3",
    584: "+<=>~\u2212\xd7",
    611: "FTZ\xf8\xdf",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ\xd8",
    833: "Mm",
    889: "%\xe6",
    944: "W\u0153",
    1000: "\u2014\u2026\xc6\u0152",
    1015: "@",
}
_BOLD = {
    238: "'",
    278: " ,./I\\ijl\xa0\u2018\u2019\xb7\u0131\u0142",
    280: "|",
    333: "!()-:;[]`ft",
    389: "*r{}",
    400: "\xb0",
    474: '"',
    500: "z\u201c\u201d\u201e",
    549: "\xb1",
    556: "#$0123456789J_aceksvxy\u2013\xab\xbb\xa7\u20ac\xa3",
    584: "+<=>^~\u2212\xd7",
    611: "?FLTZbdghnopqu\xf8\xdf\u0141",
    667: "EPSVXY",
    722: "&ABCDHKNRU",
    778: "GOQw\xd8",
    833: "M",
    889: "%m\xe6",
    944: "W\u0153",
    975: "@",
    1000: "\u2014\u2026\xc6\u0152",
}

"""{width in thousandths of the font size: the characters of that width}, as for the regular
letters."""
# Wide East Asian letters are squares, emoji are wider still; a letter that is not listed counts as
# a square, which is too wide rather than too narrow.
_WIDE, _PICTURE, _OTHER = 1000, 1300, 1000


def width(text: str, size: float, *, bold: bool = False) -> float:
    """Returns an estimate of the width of a line of text, in the unit of ``size``; more often too
    large than too small."""
    return _set(_letters(text, bold), size, bold)


def _set(letters: int, size: float, bold: bool) -> float:
    return letters / 1000 * size * (_ROOM_BOLD if bold else _ROOM)


@lru_cache(maxsize=1024)  # the same label stands in many places of a figure
def _letters(text: str, bold: bool) -> int:
    """Thousandths of the size."""
    return sum(_letter(char, bold) for char in text)


def wrap(text: str, size: float, room: float, *, bold: bool = False) -> list[str]:
    """Returns the text broken into lines no wider than ``room`` (in the unit of ``size``), between
    words where that is possible.

    Words must be separated by single spaces, as in the text that ``sheet.plain`` returns. Each
    line has at least one character; an empty text gives no line.
    """
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if width(longer, size, bold=bold) <= room:
            line = longer
            continue
        if line:
            lines.append(line)
        *whole, line = _pieces(word, size, room, bold=bold)
        lines += whole
    return [*lines, line] if line else lines


def fit(text: str, size: float, room: float) -> str:
    """Returns the text if it fits into ``room``, otherwise as much of its start as fits, with an
    ellipsis."""
    if width(text, size) <= room:
        return text
    first = wrap(text, size, room - width(_ELLIPSIS, size))[0]
    return f"{first}{_ELLIPSIS}"


_ELLIPSIS = "\u2026"


def _pieces(word: str, size: float, room: float, *, bold: bool) -> list[str]:
    """A word in pieces that fit; accents stay with their letter."""
    pieces, letters = [""], 0
    for cluster in _clusters(word):
        more = sum(_letter(char, bold) for char in cluster)
        if pieces[-1] and _set(letters + more, size, bold) > room:
            pieces.append(cluster)
            letters = more
        else:
            pieces[-1] += cluster
            letters += more
    return pieces


def _clusters(word: str) -> Iterator[str]:
    cluster = ""
    for char in word:
        if cluster and unicodedata.category(char) not in _ON_TOP:
            yield cluster
            cluster = ""
        cluster += char
    yield cluster


_ON_TOP = frozenset({"Mn", "Me", "Cf"})
"""Categories of characters that take no room of their own."""


# A text has few different letters, and normalising each is slow.
@lru_cache(maxsize=4096)
def _letter(char: str, bold: bool) -> int:
    if (known := _WIDTHS[bold].get(char)) is not None:
        return known
    parts = unicodedata.normalize("NFKD", char)
    # Decomposed characters are as wide as their parts: most accented letters as their letter.
    if parts != char:  # accents, ligatures, fractions
        return sum(_letter(part, bold) for part in parts)
    category = unicodedata.category(char)
    if category in _ON_TOP:
        return 0
    if unicodedata.east_asian_width(char) == "W":
        return _PICTURE if category == "So" else _WIDE
    return _OTHER


_WIDTHS = [
    {char: thousandths for thousandths, chars in table.items() for char in chars}
    for table in (_REGULAR, _BOLD)
]
