"""Counts weighted reports to a follow-up question (``show_if``), for the shares among those who
were asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from deniably.estimation.shares_among_asked import FollowUp, FollowUpCounts, weighted_counts
from deniably.estimation.weighted_tally import Weighing
from deniably.workbench.report_rows import ReportRows

_BLOCK = 10_000


def counts_of(
    follow_up: FollowUp, reports: ReportRows, weighing: Weighing, *, alone: bool = False
) -> FollowUpCounts:
    """Returns the weighted joint counts of a follow-up question (``show_if``) with the earlier
    question that decides who is asked. With ``alone``, returns the weighted counts of the
    follow-up only."""
    alone = alone or not follow_up.tells_who_is_asked
    names = [follow_up.question.name]
    names = [names[0] if alone else follow_up.decides.name, *names]
    there = np.logical_and.reduce([reports.answered(name).asked for name in names])
    blocks = values_of(reports, names)
    return weighted_counts(follow_up, blocks, weighing.among(there), alone=alone)


def values_of(reports: ReportRows, names: Sequence[str]) -> Iterator[list[list[list[int] | None]]]:
    """Yields the reports to the questions ``names`` in blocks. A block has a list for each person,
    with one item per question: the integers of the report, or None if that person was not
    asked."""
    answered = [reports.answered(name) for name in names]
    for start in range(0, len(reports), _BLOCK):
        some = slice(start, start + _BLOCK)
        columns: list[list[list[int] | None]] = []
        for answered_question in answered:
            cells = answered_question.cells[some]
            rows = [np.flatnonzero(row) for row in cells] if cells.dtype == np.bool_ else cells
            there = answered_question.asked[some].tolist()
            columns.append(
                [row.tolist() if there else None for row, there in zip(rows, there, strict=True)]
            )
        yield [list(row) for row in zip(*columns, strict=True)]
