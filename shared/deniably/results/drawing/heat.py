"""Heat tables: a share and its interval in each cell, shaded by the share.

A hatched cell cannot be told from nobody. The margins are not shaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from deniably.results.drawing.digits import Reading, share
from deniably.results.drawing.strip import Html

_SHADES = 5


@dataclass(frozen=True)
class HeatCell:
    """A cell: how it reads, its shade from 0 to 4, or hatched."""

    reading: Reading
    shade: int
    hatched: bool


@dataclass(frozen=True)
class HeatMargin:
    """The labels of the rows or of the columns, what they are of, and their shares of all."""

    title: str
    labels: Sequence[str]
    readings: Sequence[Reading] = ()


@dataclass(frozen=True)
class Heat:
    """A heat table: ``cells`` by row and column, with the margins where they have readings."""

    rows: HeatMargin
    columns: HeatMargin
    cells: Sequence[Sequence[HeatCell]]


def heat_cell(estimate: float, interval: Sequence[float], most: float, *, seen: bool) -> HeatCell:
    """A cell of a table whose largest estimate is ``most``; hatched unless it is ``seen``."""
    part = max(estimate, 0.0) / most if most > 0 else 0.0
    return HeatCell(share(estimate, interval), min(int(part * _SHADES), _SHADES - 1), not seen)


def table(caption: str, shown: Heat) -> Html:
    """The table for a page."""
    rows, columns, cells = shown.rows, shown.columns, shown.cells
    last = '<th scope="col" class="m">All</th>' if rows.readings else ""
    heads = "".join(f'<th scope="col">{escape(label)}</th>' for label in columns.labels)
    beside: Sequence[Reading | None] = rows.readings or [None] * len(rows.labels)
    body = "".join(
        f'<tr><th scope="row">{escape(label)}</th>{"".join(map(_cell, line))}{_margin(margin)}</tr>'
        for label, line, margin in zip(rows.labels, cells, beside, strict=True)
    )
    below = ""
    if columns.readings:
        sums = "".join(map(_margin, columns.readings))
        corner = "<td></td>" if rows.readings else ""
        below = f'<tr><th scope="row" class="m">All</th>{sums}{corner}</tr>'
    return Html(
        f'<table class="heat"><caption class="unseen">{escape(caption)}</caption><thead><tr>'
        f'<td></td><th colspan="{len(columns.labels)}" scope="colgroup" class="axis">'
        f"{escape(columns.title)}</th>{'<td></td>' if last else ''}</tr>"
        f'<tr><th class="axis" scope="col">{escape(rows.title)}</th>{heads}{last}</tr></thead>'
        f"<tbody>{body}{below}</tbody></table>"
    )


def _cell(one: HeatCell) -> str:
    kind = "no" if one.hatched else f"q{one.shade}"
    return f'<td class="{kind}">{_texts(one.reading)}</td>'


def _margin(reading: Reading | None) -> str:
    return "" if reading is None else f'<td class="m">{_texts(reading)}</td>'


def _texts(reading: Reading) -> str:
    return f"<b>{escape(reading.value)}</b> <span>{escape(reading.bare)}</span>"
