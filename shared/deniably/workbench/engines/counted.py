"""What an engine counted of some rows: how many have each value, and the sums of columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from deniably.workbench.engines.engine import Groups, Key


class Sum(NamedTuple):
    """How many rows have a value in a column, and the sum of these values."""

    filled: int
    total: int


@dataclass(frozen=True, eq=False)
class Counted:
    """What was counted in ``rows``: the rows with each value of one or two columns, and sums."""

    rows: int
    groups: Mapping[tuple[int, ...], Groups]
    sums: Mapping[int, Sum]

    def less(self, wrong: Groups) -> Counted:
        """Without some rows, given whole."""
        groups = {places: _less(one, wrong, places) for places, one in self.groups.items()}
        sums = {place: _less_sum(one, wrong, place) for place, one in self.sums.items()}
        return Counted(self.rows - sum(wrong.values()), groups, sums)


def _less(groups: Groups, wrong: Groups, places: tuple[int, ...]) -> Groups:
    left = Counter(groups)
    for row, count in wrong.items():
        left[tuple(row[place] for place in places)] -= count
    return +left


def _less_sum(of: Sum, wrong: Groups, place: int) -> Sum:
    given = [(row[place], count) for row, count in wrong.items()]
    there = [(value, count) for value, count in given if value is not None]
    return Sum(
        of.filled - sum(count for _, count in there),
        of.total - sum(value * count for value, count in there),
    )


def by_first(groups: Groups, width: int, start: int) -> Mapping[Key, dict[Key, int]]:
    """Groups by their first values, of ``width`` columns; they keep those from ``start`` on."""
    found = defaultdict[Key, dict[Key, int]](dict)
    for row, count in groups.items():
        found[row[:width]][row[start:]] = count
    return found
