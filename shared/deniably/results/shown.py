"""The drawn rows of the figures of a results document: one place where they are rounded."""

from __future__ import annotations

from dataclasses import replace

from deniably.estimation.analysis import UNSCORED
from deniably.results.document import AreaResult, CellResult, ChoiceResult, MeanResult
from deniably.results.figures.row import Row, banded, mean_row, share_row


def of_choice(choice: ChoiceResult) -> Row:
    """The share of a choice; what is no answer proper, such as "Don't know", is set aside."""
    row = share_row(choice.label, choice.estimate, choice.interval)
    row = replace(row, aside=choice.name in UNSCORED)
    return banded(row, choice.interval_80, choice.interval_50)


def of_cell(label: str, cell: CellResult) -> Row:
    """The share of a combination of answers or of an area."""
    row = share_row(label, cell.estimate, cell.interval)
    if isinstance(cell, AreaResult):
        return banded(row, cell.interval_80, cell.interval_50)
    return row


def of_mean(label: str, mean: MeanResult) -> Row:
    """A mean; nothing is drawn where the reports do not determine it."""
    row = mean_row(label, mean.estimate, mean.interval, mean.extent, mean.unit)
    return banded(row, mean.interval_80, mean.interval_50)
