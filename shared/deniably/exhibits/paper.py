"""Turns an exhibit into a figure for a paper: title, lede, parts, notes and words in one fixed
order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deniably.core.counting import people
from deniably.exhibits.exhibit import Exhibit, stated
from deniably.exhibits.marks import HeatTable
from deniably.results.drawing import axes
from deniably.results.drawing.paper_figure import Paper, PaperPart
from deniably.results.drawing.paper_map import PaperMap
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.results.drawing.row import Row
from deniably.results.provenance import Protection, privacy
from deniably.survey.readable import cut

MOST_ROWS = 40
"""The most rows of one part; a journal's page has no room for more."""
_MOST_DOWN, _MOST_ACROSS = 20, 8
"""The most rows and columns of a heat table; a larger one is drawn as a list of its largest
shares."""


def paper(exhibit: Exhibit) -> Paper:
    """Returns the figure of an exhibit; ``drawing.paper_figure.svg`` makes an SVG file of it."""
    parts = [with_room(part) for part in exhibit.parts]
    source = exhibit.source
    return Paper(
        title=exhibit.title,
        lede=exhibit.lede,
        parts=[fewer(part) for part in parts],
        notes=stated(
            *exhibit.opening,
            *(left_out(part, exhibit.rows) for part in parts),
            *exhibit.legend,
            f"{privacy(source, exhibit.protections)}{exhibit.effect}",
            exhibit.origin or source.note,
        ),
        words=(
            f"{exhibit.who or people(source.n).capitalize()} answered"
            f" {' and '.join(f'“{question}”' for question in exhibit.asks)} under local"
            f" differential privacy ({_protected(exhibit.protections)}{source.epsilon} in total"
            f" {exhibit.per}{source.besides}){exhibit.words}"
        ),
    )


def headed(short: str, label: str) -> tuple[str, str]:
    """Returns the title of a figure, and the beginning of its subtitle.

    If the author wrote a ``short`` label, that is the title, and the subtitle begins with the full
    ``label`` and a space. Otherwise the title is the full label, and the beginning is empty.
    """
    return (label, "") if short == cut(label) else (short, f"{label} ")


def with_room(part: PaperPart) -> PaperPart:
    """Returns ``part`` unchanged, but a heat table that is too large for a figure as a list of its
    cells."""
    if not isinstance(part, HeatTable) or has_room(part):
        return part
    cells = part.cells()
    return PaperStrips(cells, axes.of_shares(cells), part.title)


def has_room(table: HeatTable) -> bool:
    """Returns whether a heat table fits into a figure."""
    down, across = table.heat.rows.labels, table.heat.columns.labels
    return len(down) <= _MOST_DOWN and len(across) <= _MOST_ACROSS


def fewer(part: PaperPart) -> PaperPart:
    """Returns ``part`` with at most ``MOST_ROWS`` rows: those whose estimates are furthest from
    0."""
    match part:
        case PaperStrips():
            return _fewer(part)
        case PaperMap(listed=PaperStrips() as listed):
            return replace(part, listed=_fewer(listed))
        case _:
            return part


def left_out(part: PaperPart, what: str = "answers") -> str:
    """Returns a note on the rows that ``fewer`` leaves out of ``part``; empty if all are kept.
    ``what`` is the word for the rows, such as "answers"."""
    rows = part.listed if isinstance(part, PaperMap) else part
    if not isinstance(rows, PaperStrips) or len(rows.rows) <= MOST_ROWS:
        return ""
    return f"Of {len(rows.rows)} {what}, the {MOST_ROWS} with the largest estimates."


def nearest_last(row: Row) -> float:
    """Returns a key that sorts rows by absolute estimate, the largest first, and rows without an
    estimate last."""
    return -abs(row.estimate) if row.drawn else 1.0  # every other key is at most 0


# --- below ------------------------------------------------------------------------------------


def _fewer(part: PaperStrips) -> PaperStrips:
    if len(part.rows) <= MOST_ROWS:
        return part
    return replace(part, rows=sorted(part.rows, key=nearest_last)[:MOST_ROWS])


def _protected(protections: Sequence[Protection]) -> str:
    """Returns what protects the answers to one question or to several, before the total epsilon."""
    if len(protections) == 1:
        (own,) = protections
        return f"{own.method}; {own.words} for this question, "
    # Questions with the same mechanism and epsilon are named once.
    methods = (f"{each.method}, {each.words}" for each in dict.fromkeys(protections))
    return f"{'; '.join(methods)}; epsilon "
