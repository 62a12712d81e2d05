"""Pairs of reports, as often as a tally file has them, for what reads whole reports."""

from __future__ import annotations

from deniably.results.crosstabs import Blocks
from deniably.survey.survey import Survey
from deniably.workbench.engines.counting_engine import Groups
from deniably.workbench.engines.tallying import Counts

MOST_PAIRS = 20_000_000
"""Pairs of reports that are crossed: the tests take each by itself, and 1 GB."""
_BLOCK = 10_000


def pairs_of(survey: Survey, counts: Counts, first: int, other: int) -> Blocks | None:
    """Returns the pairs of reports to two questions, given by index; None if they were not counted
    or are too many."""
    names = survey.questions[first].name, survey.questions[other].name
    groups = counts.both(*names)
    if groups is None or sum(groups.values()) > MOST_PAIRS:
        return None
    return pair_blocks(groups)


def pair_blocks(counts: Groups) -> Blocks:
    """Yields blocks of pairs, each pair as often as it was counted."""
    for numbers, count in counts.items():
        row = [None if number is None else [number] for number in numbers]
        for start in range(0, count, _BLOCK):
            yield [row] * min(_BLOCK, count - start)
