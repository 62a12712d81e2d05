"""What an engine counted of some rows: how many have each value, and the sums of columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from deniably.workbench.engines.counting_engine import Groups, Key


@dataclass(frozen=True, eq=False)
class Counted:
    """What was counted in ``rows``.

    Of one or two columns the rows with each value; of one the rows with any, ``filled``, and the
    sum of all values.
    """

    rows: int
    groups: Mapping[tuple[int, ...], Groups]
    filled: Mapping[int, int]
    sums: Mapping[int, int]

    def less(self, wrong: Groups) -> Counted:
        """Returns the counts without some rows, which are given whole."""
        groups = {places: _less(group, wrong, places) for places, group in self.groups.items()}
        filled = {place: count - _filled(wrong, place) for place, count in self.filled.items()}
        sums = {place: total - _sum(wrong, place) for place, total in self.sums.items()}
        return Counted(self.rows - sum(wrong.values()), groups, filled, sums)


def _less(groups: Groups, wrong: Groups, places: tuple[int, ...]) -> Groups:
    left = Counter(groups)
    for row, count in wrong.items():
        left[tuple(row[place] for place in places)] -= count
    return +left


def _filled(rows: Groups, place: int) -> int:
    return sum(count for row, count in rows.items() if row[place] is not None)


def _sum(rows: Groups, place: int) -> int:
    return sum((row[place] or 0) * count for row, count in rows.items())


def by_first(groups: Groups, width: int, start: int) -> Mapping[Key, dict[Key, int]]:
    """Splits groups by the values of their first ``width`` columns; the parts keep the columns from
    ``start`` on."""
    by_key = defaultdict[Key, dict[Key, int]](dict)
    for row, count in groups.items():
        by_key[row[:width]][row[start:]] = count
    return by_key
