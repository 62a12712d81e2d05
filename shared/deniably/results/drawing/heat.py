"""Draws heat tables: a share and its interval in each cell, shaded by the share.

A hatched cell is one whose share may be 0: its estimate does not stand out from the noise. The
margins are not shaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deniably.core.languages.html import Html
from deniably.results.drawing.rounding import Reading, share

_SHADES = 5  # as many as the CSS classes q0 to q4


@dataclass(frozen=True)
class HeatCell:
    """One cell of a heat table: its share as text, and its shade from 0 (light) to 4 (dark). A
    ``hatched`` cell is drawn without its shade."""

    reading: Reading
    shade: int
    hatched: bool


@dataclass(frozen=True)
class HeatMargin:
    """The heading of the rows or of the columns, and the label of each row or column. ``readings``
    has the share of each, of everybody, as text; empty if the table has no margin."""

    title: str
    labels: Sequence[str]
    readings: Sequence[Reading] = ()


@dataclass(frozen=True)
class Heat:
    """A heat table: ``cells[r][c]`` is in row r and column c."""

    rows: HeatMargin
    columns: HeatMargin
    cells: Sequence[Sequence[HeatCell]]


def heat_cell(
    estimate: float, interval: Sequence[float], largest: float, *, seen: bool
) -> HeatCell:
    """Returns a cell of a heat table in which ``largest`` is the largest estimate. The cell is
    hatched unless ``seen``, that is, unless its share stands out from the noise."""
    # An unbiased estimate can be below 0.
    part = max(estimate, 0.0) / largest if largest > 0 else 0.0
    return HeatCell(share(estimate, interval), min(int(part * _SHADES), _SHADES - 1), not seen)


def table(caption: str, shown: Heat) -> Html:
    """Returns the heat table as HTML; ``caption`` is for screen readers."""
    rows, columns = shown.rows, shown.columns
    last = Html('<th scope="col" class="m">All</th>') if rows.readings else Html()
    heads = (
        Html.filled('<th scope="col">{label}</th>', label=Html.text(label))
        for label in columns.labels
    )
    readings: Sequence[Reading | None] = rows.readings or [None] * len(rows.labels)
    body = (
        Html.filled(
            '<tr><th scope="row">{label}</th>{cells}{margin}</tr>',
            label=Html.text(label), cells=Html.joined("", map(_cell, line)), margin=_margin(margin),
        )
        for label, line, margin in zip(rows.labels, shown.cells, readings, strict=True)
    )  # fmt: skip
    return Html.filled(
        '<table class="heat"><caption class="unseen">{caption}</caption><thead><tr>'
        '<td></td><th colspan="{span}" scope="colgroup" class="axis">{across}</th>{corner}</tr>'
        '<tr><th class="axis" scope="col">{down}</th>{heads}{last}</tr></thead>'
        "<tbody>{body}{below}</tbody></table>",
        caption=Html.text(caption), span=len(columns.labels), across=Html.text(columns.title),
        corner=_corner(shown), down=Html.text(rows.title), heads=Html.joined("", heads), last=last,
        body=Html.joined("", body), below=_below(shown),
    )  # fmt: skip


def _corner(shown: Heat) -> Html:
    """The empty cell where both margins meet."""
    return Html("<td></td>") if shown.rows.readings else Html()


def _below(shown: Heat) -> Html:
    """The line of the columns' margins."""
    if not shown.columns.readings:
        return Html()
    return Html.filled(
        '<tr><th scope="row" class="m">All</th>{sums}{corner}</tr>',
        sums=Html.joined("", map(_margin, shown.columns.readings)), corner=_corner(shown),
    )  # fmt: skip


def _cell(cell: HeatCell) -> Html:
    kind = Html("no") if cell.hatched else Html.filled("q{shade}", shade=cell.shade)
    return Html.filled('<td class="{kind}">{texts}</td>', kind=kind, texts=_texts(cell.reading))


def _margin(reading: Reading | None) -> Html:
    if reading is None:
        return Html()
    return Html.filled('<td class="m">{texts}</td>', texts=_texts(reading))


def _texts(reading: Reading) -> Html:
    return Html.filled(
        "<b>{value}</b> <span>{interval}</span>",
        value=Html.text(reading.value), interval=Html.text(reading.bare),
    )  # fmt: skip
