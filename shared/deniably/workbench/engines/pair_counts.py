"""Turns the joint counts of a tally file back into pairs of reports, for tests that read whole
reports."""

from __future__ import annotations

from deniably.results.crosstabs import Blocks
from deniably.survey.survey import Survey
from deniably.workbench.engines.counting_engine import Groups
from deniably.workbench.engines.tallying import Counts

MOST_PAIRS = 20_000_000
"""The most pairs of reports that are crossed: tests hold each by itself, about 1 GB in all."""
_BLOCK = 10_000


def pairs_of(survey: Survey, counts: Counts, first: int, other: int) -> Blocks | None:
    """Returns the pairs of reports that the same person gave to two questions, in blocks;
    ``first`` and ``other`` are the indices of the questions. Returns None if the pairs were not
    counted or are too many."""
    names = survey.questions[first].name, survey.questions[other].name
    groups = counts.both(*names)
    if groups is None or sum(groups.values()) > MOST_PAIRS:
        return None
    return pair_blocks(groups)


def pair_blocks(counts: Groups) -> Blocks:
    """Yields blocks of pairs of reports, in which each pair occurs as often as ``counts`` says."""
    for numbers, count in counts.items():
        row = [None if number is None else [number] for number in numbers]
        for start in range(0, count, _BLOCK):
            yield [row] * min(_BLOCK, count - start)
