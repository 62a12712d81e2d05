"""Draws a table of texts in a figure for a paper, such as the coefficients of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deniably.results.drawing.letters import wrap
from deniably.results.drawing.sheet import (
    AXIS,
    GRID,
    INTERVAL,
    LEADING,
    SOFT,
    Sheet,
    needed,
    plain,
)

_PAD, _LINE = 6.0, 2.5
_LABELS, _LEAST = 0.3, 0.1
"""The smallest fractions of the width that the first column keeps, and that another column has."""


@dataclass(frozen=True)
class PaperColumns:
    """A table of texts in a figure for a paper: the first column has words, aligned left, the
    others have numbers, aligned right.

    ``heads`` are the headings of the columns. A number that is too wide for its column is broken
    into lines.
    """

    heads: Sequence[str]
    lines: Sequence[Sequence[str]]
    title: str = ""

    def draw(self, sheet: Sheet) -> None:
        """Draws the headings, a rule, and the lines of the table at the current height of
        ``sheet``."""
        columns = [list(column) for column in zip(*[self.heads, *self.lines], strict=True)]
        width = (1 - _LABELS) * sheet.across / max(len(columns) - 1, 1)
        least = _LEAST * sheet.across
        widths = [
            max(needed(column, INTERVAL, width - _PAD) + _PAD, min(least, width))
            for column in columns[1:]
        ]
        label = sheet.across - sum(widths)
        rights = [label + sum(widths[: place + 1]) for place in range(len(widths))]
        _draw(sheet, self.heads, label, widths, rights, AXIS)
        sheet.strokes([(0, sheet.at + 1, sheet.across, sheet.at + 1)], GRID)
        sheet.down(_LINE)
        for line in self.lines:
            _draw(sheet, line, label, widths, rights, INTERVAL)

    def described(self) -> str:
        """Returns all lines of the table as text: the words of each line, then each number with
        its heading."""
        return "; ".join(
            f"{line[0]}: "
            + ", ".join(
                f"{head} {text}" for head, text in zip(self.heads[1:], line[1:], strict=True)
            )
            for line in self.lines
        )


def _draw(
    sheet: Sheet,
    line: Sequence[str],
    label: float,
    widths: Sequence[float],
    rights: Sequence[float],
    size: float,
) -> None:
    grey = SOFT if size == AXIS else ""
    top = sheet.at
    high = [sheet.lines(wrap(plain(line[0]), size, label), 0, top, size, colour=grey)]
    for text, room, right in zip(line[1:], widths, rights, strict=True):
        lines = wrap(plain(text), size, room - _PAD)
        high.append(sheet.lines(lines, right, top, size, colour=grey, anchor="end"))
    sheet.down(max(*high, size * LEADING) + _LINE)
