"""Decides which subgroups of a survey's respondents, by strata, have results of their own.

A subgroup fixes the values of some keys of the strata. Its results need as many reports as those of
the survey. That alone is not enough: whoever knows the results of all people, and those of all
strata but one, can work out those of the last one. So, as in statistical offices, further subgroups
are hidden until no part of the respondents with too few reports can be worked out (complementary
suppression). Reports are randomised, so this is caution beyond what epsilon promises.

Whole reports are given out with their strata only where each stratum has results of its own.
Whoever has these reports can tally any subgroup, and every sum or difference of subgroups is then
one of strata that have enough reports. Otherwise reports are given out without strata, and sorted
without them. That strata are left out reveals nothing new: the results name the subgroups that they
show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from deniably.survey.strata import every_stratum, members

Coefficients = list[int]


def every_subgroup(strata: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Returns all subgroups, each as the dict of the keys that it fixes, at least one, with their
    values. Subgroups that fix fewer keys come first."""
    keys = sorted(strata)
    subgroups = [
        {key: value for key, value in zip(keys, values, strict=True) if value is not None}
        for values in product(*([None, *strata[key]] for key in keys))
    ]
    return sorted((subgroup for subgroup in subgroups if subgroup), key=len)


def shown_subgroups(
    strata: Mapping[str, Sequence[str]], counts: Sequence[Sequence[int]], minimum: int
) -> list[dict[str, str]]:
    """Returns the subgroups whose results may be shown beside those of all people.

    ``counts`` has, for each stratum, its number of reports to each question (or a single number,
    if all questions have as many). All strata together must have at least ``minimum`` reports.
    Subgroups are decided one after the other: those that fix fewer keys first, and among them
    those with more reports first. A subgroup is left out if its results, with those already
    chosen, would reveal the sum of some strata that have fewer than ``minimum`` reports.
    """
    size = len(counts)
    # All sets of strata, as rows of 0 and 1, that have somebody but too few for results.
    small = [part for part in _parts(size) if _too_few(part, counts, minimum)]
    # The results of all people are shown in any case.
    known = _Span([1] * size)
    shown: list[dict[str, str]] = []

    def order(subgroup: dict[str, str]) -> tuple[int, int, list[str]]:
        people = sum(sum(counts[i]) for i in members(strata, subgroup))
        return len(subgroup), -people, sorted(subgroup.values())

    for subgroup in sorted(every_subgroup(strata), key=order):
        inside = members(strata, subgroup)
        # If results are sums of strata, sums and differences are all that can be worked out.
        with_it = known.and_one([int(i in inside) for i in range(size)])
        # The question with the fewest reports decides.
        if min(map(sum, zip(*(counts[i] for i in inside), strict=True))) < minimum:
            continue
        if not any(with_it.has(part) for part in small):
            known = with_it
            shown.append(subgroup)
    return [subgroup for subgroup in every_subgroup(strata) if subgroup in shown]


def all_shown(
    strata: Mapping[str, Sequence[str]], counts: Sequence[Sequence[int]], minimum: int
) -> bool:
    """Returns whether every stratum has results of its own. Only then may reports be given out
    with their stratum.

    >>> sites = {"site": ["north", "south"]}
    >>> all_shown(sites, [[50], [30]], 30), all_shown(sites, [[50], [29]], 30)
    (True, False)
    """
    shown = shown_subgroups(strata, counts, minimum)
    return all(stratum in shown for stratum in every_stratum(strata))


def _parts(size: int) -> Iterator[Coefficients]:
    # At most 2**8 parts: a survey has up to 8 strata.
    return (list(part) for part in product((0, 1), repeat=size))


def _too_few(part: Coefficients, counts: Sequence[Sequence[int]], minimum: int) -> bool:
    """Whether there is somebody in a part, and too few of them for results."""
    inside = [count for count, chosen in zip(counts, part, strict=True) if chosen]
    reports = [sum(of_question) for of_question in zip(*inside, strict=True)]
    return any(reports) and min(reports) < minimum


class _Span:
    """What can be worked out from some parts: their sums and differences, in whole numbers."""

    def __init__(self, *rows: Coefficients) -> None:
        self._rows: list[tuple[int, Coefficients]] = []
        for row in rows:
            rest = self._rest(row)
            if any(rest):
                self._rows.append((next(i for i, factor in enumerate(rest) if factor), rest))

    def and_one(self, row: Coefficients) -> _Span:
        """With one more part."""
        return _Span(*(own_row for _, own_row in self._rows), row)

    def has(self, row: Coefficients) -> bool:
        """Whether a part can be worked out."""
        return not any(self._rest(row))

    def _rest(self, row: Coefficients) -> Coefficients:
        """A multiple of the row, less what the others explain."""
        for pivot, own in self._rows:
            if row[pivot]:
                # Gaussian elimination in integers: fractions would not be exact as floats.
                times, less = own[pivot], row[pivot]
                row = [times * a - less * b for a, b in zip(row, own, strict=True)]
        return row
