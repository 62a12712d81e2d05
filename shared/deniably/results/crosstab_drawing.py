"""Draws a cross-table: strips where a question has two answers, and a heat table of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from deniably.core.languages.html import Html
from deniably.results.crosstabs import RISK, CrossedResult, CrosstabResult, WithinResult
from deniably.results.drawing import axes, digits, heat
from deniably.results.drawing.digits import Reading
from deniably.results.drawing.heat import Heat, HeatCell, HeatMargin, heat_cell
from deniably.results.drawing.row import Row, banded, share_row
from deniably.results.drawing.strip import table as strip_table
from deniably.results.narrative import level_text, quoted

Of = Literal["rows", "columns", "all"]
"""What the percentages are of."""
ABOUT: dict[Of, str] = {"rows": "of each row", "columns": "of each column", "all": "of everybody"}
COARSE = 0.15
"""Half the width of a typical interval beyond which pairs are folded away, if nothing is shown."""
_MOST_NAMED = 4


@dataclass(frozen=True)
class CrosstabStrips:
    """The share of one answer within each answer to the other question: what it is of, a finding
    (empty if nothing is shown to go together), its rows, and the drawn table."""

    about: str
    finding: str
    rows: list[Row]
    picture: Html


def usual(found: CrosstabResult) -> Of:
    """The percentages that a page shows first: those that can be drawn as strips."""
    return "columns" if len(found["rows"]) == 2 < len(found["columns"]) else "rows"


def is_folded(found: CrosstabResult, of: Of) -> bool:
    """Whether the pairs say too little to be shown unasked."""
    return found["independence"] >= RISK and half_width(found, of) > COARSE


def half_width(found: CrosstabResult, of: Of) -> float:
    """Half the width of a typical interval of these percentages (the median)."""
    intervals = [_share(one, of)[1] for line in found["cells"] for one in line]
    return median(high - low for low, high in intervals) / 2


def strips(found: CrosstabResult, of: Of) -> CrosstabStrips | None:
    """Strips of the first of two answers, within rows or columns; None where there are not two."""
    if of == "all":
        return None
    lines, answers = found["rows"], found["columns"]
    outer, inner = found["questions"]
    if of == "columns":
        lines, answers, outer, inner = answers, lines, inner, outer
    if len(answers) != 2:
        return None
    shares = [line[0] for line in _lines(found, of)]
    rows = [_row(label, share) for label, share in zip(lines, shares, strict=True)]
    about = f"{inner} “{answers[0]}”, by: {outer}"
    heads = (f"“{answers[0]}”", f"{level_text(found['confidence'])} interval")
    picture = strip_table(about, rows, axes.of_shares(rows), heads=heads, heading=outer)
    finding = _finding(answers[0], rows) if found["independence"] < RISK else ""
    return CrosstabStrips(about, finding, rows, picture)


def pairs(found: CrosstabResult, of: Of) -> list[Row]:
    """A row for each pair of answers, where a heat table has no room."""
    return [
        share_row(", ".join(one.names), one.estimate, one.interval)
        if of == "all"
        else _row(", ".join(one.names), one.of_row if of == "rows" else one.of_column)
        for line in found["cells"]
        for one in line
    ]


def silent(found: CrosstabResult, of: Of) -> list[str]:
    """The rows or columns with too few people to say anything about them."""
    if of == "all":
        return []
    labels = found["columns"] if of == "columns" else found["rows"]
    return [
        label
        for label, line in zip(labels, _lines(found, of), strict=True)
        if all(share.estimate is None for share in line)
    ]


def silence(labels: Sequence[str]) -> str:
    """Says of whom nothing can be said; empty if there is nobody."""
    if not labels:
        return ""
    return f"Too few to say anything about those who answered {quoted(list(labels))}."


def heat_table(found: CrosstabResult, of: Of, titles: tuple[str, str]) -> Html:
    """All pairs as shares of everybody, of their row or of their column."""
    return heat.table(f"Percentages {ABOUT[of]}", together(found, of, titles))


def together(found: CrosstabResult, of: Of, titles: tuple[str, str]) -> Heat:
    """The heat table of all pairs.

    ``titles`` are short names of the questions. Margins are shares of everybody; a margin that
    would be 100 % everywhere is left out. A hatched cell cannot be told from nobody, or is too few.
    """
    shares = [[_share(one, of) for one in line] for line in found["cells"]]
    most = max((one[0] for line in shares for one in line if one[0] is not None), default=1.0)
    cells = [[_heat_cell(one, most) for one in line] for line in shares]
    rows, columns = (
        [digits.share(one.estimate, one.interval) for one in found[key]]
        for key in ("row_margins", "column_margins")
    )
    return Heat(
        HeatMargin(titles[0], found["rows"], () if of == "rows" else rows),
        HeatMargin(titles[1], found["columns"], () if of == "columns" else columns),
        cells,
    )


HEADS = (
    "% of all", "interval", "Std. error", "Adjusted", "% of its row", "interval",
    "% of its column", "interval",
)  # fmt: skip


def numbers(found: CrosstabResult) -> list[list[str]]:
    """A line for each pair: its labels, then its figures in per cent, as ``HEADS`` names them."""
    return [
        [
            ", ".join(one.names),
            _points(one.estimate),
            _span(one.interval),
            _points(one.standard_error),
            _points(one.consistent),
            *_within(one.of_row),
            *_within(one.of_column),
        ]
        for line in found["cells"]
        for one in line
    ]


# --- below ------------------------------------------------------------------------------------

_Share = tuple[float | None, Sequence[float]]


def _lines(found: CrosstabResult, of: Of) -> list[list[WithinResult]]:
    """The shares within each row, or within each column."""
    if of == "rows":
        return [[one.of_row for one in line] for line in found["cells"]]
    return [[one.of_column for one in line] for line in zip(*found["cells"], strict=True)]


def _row(label: str, share: WithinResult) -> Row:
    if share.estimate is None:
        row = share_row(label, sum(share.interval) / 2, share.interval)
        return replace(row, reading=_untold(row.reading), muted=True)
    row = share_row(label, share.estimate, share.interval)
    return banded(row, share.interval_80, share.interval_50)


def _untold(reading: Reading) -> Reading:
    """Too few to say: also where the interval is narrower than that, but nobody seems to be in the
    row."""
    return replace(reading, value=digits.UNKNOWN, state="unknown")


def _finding(answer: str, rows: Sequence[Row]) -> str:
    """Names the shares; of many, the least and the largest."""
    known = [row for row in rows if row.reading.state == "known"] or [
        row for row in rows if row.drawn
    ]
    if not known:
        return ""
    if len(known) > _MOST_NAMED:
        known = sorted(known, key=lambda row: row.estimate)
        known = [known[0], known[-1]]
    first, *rest = (f"{row.reading.value} ({row.reading.bare})" for row in known)
    others = "".join(
        f", of “{row.label}” {share}" for row, share in zip(known[1:], rest, strict=True)
    )
    return f"Of those who answered “{known[0].label}”, {first} answered “{answer}”{others}."


def _share(one: CrossedResult, of: Of) -> _Share:
    if of == "all":
        return one.estimate, one.interval
    within = one.of_row if of == "rows" else one.of_column
    return within.estimate, within.interval


def _heat_cell(share: _Share, most: float) -> HeatCell:
    estimate, interval = share
    if estimate is None:
        one = heat_cell(sum(interval) / 2, interval, most, seen=False)
        return replace(one, reading=_untold(one.reading))
    return heat_cell(estimate, interval, most, seen=interval[0] > 0)


def _within(share: WithinResult) -> list[str]:
    if share.estimate is None:
        return [digits.UNKNOWN, _span(share.interval)]
    return [_points(share.estimate), _span(share.interval)]


def _points(share: float) -> str:
    return digits.number(100 * share, 1)


def _span(interval: Sequence[float]) -> str:
    return " to ".join(_points(end) for end in interval)
