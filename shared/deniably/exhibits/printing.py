"""Prints figures as texts for the table of a terminal or a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from deniably.core.table import Cell
from deniably.results.drawing import rounding
from deniably.results.narrative import level_text
from deniably.results.rows import COLUMNS, OF_THOSE_ASKED, SHARE_ASKED, ResultRow

TEXTS = 2
"""The number of first columns of ``table_lines`` that are words."""


def share(estimate: float | None, interval: Sequence[float]) -> tuple[str, str]:
    """Returns a share and its interval as texts. Without an estimate, the first text is that there
    are too few people, and the second is empty."""
    if estimate is None:
        return rounding.UNKNOWN, ""
    reading = rounding.share(estimate, list(interval))
    return reading.value, reading.interval


def apart(
    estimate: float, interval: Sequence[float], *, shares: bool, unit: str = ""
) -> tuple[str, str]:
    """Returns a difference and its interval as texts: in percentage points if it is between
    ``shares``, otherwise in the ``unit`` of the means."""
    if shares:
        reading = rounding.points(estimate, interval)
        return reading.value, reading.bare
    decimals = rounding.places(interval)
    low, high = (rounding.signed(end, decimals) for end in interval)
    return rounding.with_unit(rounding.signed(estimate, decimals), unit), f"{low} to {high}"


def points(share: float) -> str:
    """Returns a share in per cent with one decimal: 0.3217 becomes "32.2"."""
    return rounding.number(100 * share, 1)


def span(interval: Iterable[float]) -> str:
    """Returns an interval of shares in per cent, such as "28.0 to 36.5"."""
    return " to ".join(map(points, interval))


def p_text(p: float) -> str:
    """Returns a p-value with three decimals, or "<0.001"."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def whole_rows(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Returns the rows with all columns of ``results.csv``, in the order of that file; a column
    that a row lacks is None."""
    return [{key: row.get(key) for key in COLUMNS} for row in rows]


def table_lines(rows: Iterable[ResultRow], confidence: float) -> list[tuple[str, ...]]:
    """Returns a table for people: a line of headings, then a line for each of ``rows``, which have
    the columns of ``results.csv``. Rows without an interval are left out, as are shares of
    everybody where there are shares of those who were asked."""
    heading = ("question", "answer", "estimate", f"{level_text(confidence)} interval", "n")
    return [heading, *_lines(rows)]


def _lines(result_rows: Iterable[ResultRow]) -> Iterator[tuple[str, ...]]:
    before: Cell = None
    rows = list(result_rows)
    followed = {row["question"] for row in rows if row["figure"] == OF_THOSE_ASKED}
    for row in rows:
        if row.get("low") is None:  # a share for display alone
            continue
        if row["question"] in followed and row["figure"] == "share":
            continue  # of everybody: most are of people who were not asked
        question = str(row["question"])
        yield ("" if question == before else question, *_figure(row), f"{row['n']:,}")
        before = question


def _figure(row: ResultRow) -> tuple[str, str, str]:
    """Label, estimate and interval of a row, as text."""
    label = ": ".join(str(row[key]) for key in ("part", "choice_label") if row.get(key))
    if row["figure"] == "mean":
        label = f"{label}: mean" if label else "mean"
    if row["figure"] == OF_THOSE_ASKED:
        label = f"of those asked: {label}"
    if row["figure"] == SHARE_ASKED:
        label = "were asked"
    if row["figure"] == "share at most":
        label = f"at most {label}"
    return label, str(row["reads"]), str(row["reads_interval"])
