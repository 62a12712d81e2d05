"""Figures as the table of a terminal or a notebook prints them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from deniably.core.table import Cell
from deniably.results.drawing import rounding
from deniably.results.narrative import level_text
from deniably.results.rows import COLUMNS, OF_THOSE_ASKED, SHARE_ASKED, ResultRow

TEXTS = 2
"""Columns of ``table_lines`` that are words."""


def share(estimate: float | None, interval: Sequence[float]) -> tuple[str, str]:
    """A share and its interval; where there are too few people, that."""
    if estimate is None:
        return rounding.UNKNOWN, ""
    reading = rounding.share(estimate, list(interval))
    return reading.value, reading.interval


def apart(
    estimate: float, interval: Sequence[float], *, shares: bool, unit: str = ""
) -> tuple[str, str]:
    """A difference and its interval as the pages print them: of shares in points, of means in their
    ``unit``."""
    if shares:
        reading = rounding.points(estimate, interval)
        return reading.value, reading.bare
    decimals = rounding.places(interval)
    low, high = (rounding.signed(end, decimals) for end in interval)
    return rounding.with_unit(rounding.signed(estimate, decimals), unit), f"{low} to {high}"


def points(share: float) -> str:
    """A share as a number of a hundred with a decimal: 0.3217 becomes 32.2."""
    return rounding.number(100 * share, 1)


def span(interval: Iterable[float]) -> str:
    """An interval of shares as ``points`` prints them."""
    return " to ".join(map(points, interval))


def p_text(p: float) -> str:
    """A p-value with three decimals."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def whole_rows(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """The rows with every column of ``results.csv``, in its order."""
    return [{key: row.get(key) for key in COLUMNS} for row in rows]


def table_lines(rows: Iterable[ResultRow], confidence: float) -> list[tuple[str, ...]]:
    """The lines of a table for people, from rows as in ``results.csv``."""
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
