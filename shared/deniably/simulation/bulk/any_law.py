"""Randomises many answers with a mechanism that has no sampler of its own.

A law with a finite matrix of integer weights is sampled exactly in numpy. For any other law, each
report is drawn one by one as a device draws it.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from deniably.mechanisms.law import Finite, Law, Randomiser, Supporting, Ticks
from deniably.simulation.bulk.ordered import knots
from deniably.simulation.bulk.uniform import Int64, below, coins


def any_law(mechanism: Randomiser[Law], answers: Any) -> Any:
    """Returns the reports to valid answers, in the layout that ``randomise_many`` documents."""
    law = mechanism.law
    if isinstance(law, Finite) and law.exact:
        return _of_rows(law, answers)
    ticked = isinstance(law.domain, Ticks)
    inputs: list[Any] = answers.tolist()
    if ticked:
        inputs = [tuple(np.flatnonzero(row).tolist()) for row in answers]
    elif answers.ndim > 1:
        inputs = [tuple(row) for row in inputs]
    # One source for all reports; a device makes a new one for each.
    door = coins()
    reports = [mechanism.randomise(answer, door) for answer in inputs]
    if named(law):
        bits = np.zeros((len(reports), mechanism.law.cell_count or 0), dtype=np.bool_)
        for row, report in zip(bits, reports, strict=True):
            row[list(report)] = True
        return np.packbits(bits, axis=1, bitorder="little")
    cells = np.array(reports, dtype=np.int64)
    return cells[:, 0] if cells.shape[1:] == (1,) and not ticked else cells


def named(law: Law) -> bool:
    """Returns whether reports of ``law`` are kept as bits, one for each cell, and not as the
    numbers of their cells."""
    return isinstance(law, Supporting) and not law.both


def _of_rows(law: Finite, answers: Int64) -> Int64:
    rows, reports = knots(answers, law.k, law.rows), np.empty(len(answers), dtype=np.int64)
    # All answers of one row share its cumulative weights, so there is one search a row.
    for row in np.unique(rows).tolist():
        here = np.flatnonzero(rows == row)
        ends = np.array(list(accumulate(law.row(row))), dtype=np.uint64)
        reports[here] = np.searchsorted(ends, below(int(ends[-1]), len(here)), side="right")
    return reports
