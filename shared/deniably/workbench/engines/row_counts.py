"""Holds what an engine counted of some rows: rows by value, and sums of columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from deniably.workbench.engines.counting_engine import Groups, Key


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts and sums of the columns of ``rows`` rows; columns are named by their numbers.

    ``groups`` maps one column or a pair of columns to the number of rows with each value.
    ``filled`` maps a column to the number of its cells that are not empty, and ``sums`` to the sum
    of its values.
    """

    rows: int
    groups: Mapping[tuple[int, ...], Groups]
    filled: Mapping[int, int]
    sums: Mapping[int, int]

    def less(self, wrong: Groups) -> Counted:
        """Returns the counts with the rows ``wrong`` subtracted. ``wrong`` maps the values of all
        columns of a row to the number of such rows."""
        groups = {places: _less(group, wrong, places) for places, group in self.groups.items()}
        filled = {place: count - _filled(wrong, place) for place, count in self.filled.items()}
        sums = {place: total - _sum(wrong, place) for place, total in self.sums.items()}
        return Counted(self.rows - sum(wrong.values()), groups, filled, sums)


def _less(groups: Groups, wrong: Groups, places: tuple[int, ...]) -> Groups:
    left = Counter(groups)
    for row, count in wrong.items():
        left[tuple(row[place] for place in places)] -= count
    return +left  # drops the values whose count became 0


def _filled(rows: Groups, place: int) -> int:
    return sum(count for row, count in rows.items() if row[place] is not None)


def _sum(rows: Groups, place: int) -> int:
    return sum((row[place] or 0) * count for row, count in rows.items())


def by_first(groups: Groups, width: int, start: int) -> Mapping[Key, dict[Key, int]]:
    """Splits counts of rows by the values in the first ``width`` columns. Returns {those values:
    {values from column number ``start`` on: count}}."""
    by_key = defaultdict[Key, dict[Key, int]](dict)
    for row, count in groups.items():
        by_key[row[:width]][row[start:]] = count
    return by_key
