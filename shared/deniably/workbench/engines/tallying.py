"""Tallies a report set with an engine: one query over all files, and the integers of every tally.

Reports that no device could have made are counted by question and left out of every tally. Where a
set has strata, each is counted by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import product
from operator import add

from deniably.estimation.tally import Tally
from deniably.results.subgroups import all_shown
from deniably.survey.strata import Stratum, members
from deniably.survey.survey import Survey
from deniably.workbench.engines.counting import QuestionCounter, counters, joined, number, within
from deniably.workbench.engines.engine import CountingEngine, Groups, Key, Source
from deniably.workbench.files.needed import NoExport
from deniably.workbench.files.parts import Parts

_EVERY = "1"
"""The expression whose sum is the number of rows."""
_MOST_WRONG = 1_000_000
"""Reports that may not fit before the definition must be another one."""
ASKED = "number of questions"
"""What ``unfit`` calls reports with more or fewer questions than a device asks."""


@dataclass(frozen=True, eq=False)
class Counts:
    """The tallies of ``n`` reports, by question.

    ``pairs`` has for two questions how many reports have each two of their numbers.
    """

    n: int
    tallies: dict[str, Tally]
    pairs: dict[tuple[str, str], Groups] = field(default_factory=dict[tuple[str, str], Groups])

    def __add__(self, other: Counts) -> Counts:
        tallies = {name: one + other.tallies[name] for name, one in self.tallies.items()}
        pairs: dict[tuple[str, str], Groups] = {
            pair: Counter(one) + Counter(other.pairs[pair]) for pair, one in self.pairs.items()
        }
        return Counts(self.n + other.n, tallies, pairs)


@dataclass(frozen=True, eq=False)
class TalliedSet:
    """The counts of a report set, of the reports that fit its definition.

    ``strata`` has those of each stratum, in the order of their numbers; or those of all, once,
    where the set has no strata or not every stratum may be seen. ``unfit`` says of how many reports
    the part of a question does not fit; there are ``left_out`` such reports.
    """

    survey: Survey
    strata: tuple[Counts, ...]
    left_out: int = 0
    unfit: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def n(self) -> int:
        """The number of reports that fit."""
        return self.whole.n

    @property
    def tallies(self) -> dict[str, Tally]:
        """The tallies of all, by question."""
        return self.whole.tallies

    @property
    def pairs(self) -> dict[tuple[str, str], Groups]:
        """The joint counts of all."""
        return self.whole.pairs

    @property
    def stratified(self) -> bool:
        """Whether each stratum has counts of its own."""
        return len(self.strata) > 1

    @cached_property
    def whole(self) -> Counts:
        """The counts of all strata together."""
        return reduce(add, self.strata)

    def among(self, subgroup: Stratum) -> Counts:
        """The counts of a subgroup, such as ``{"site": "north"}``; of all, if that is empty.

        Raises ValueError for a key or value that there is not, and where strata have no counts.
        """
        inside = members(self.survey.strata or {}, subgroup)
        if not subgroup:
            return self.whole
        if not self.stratified:
            raise ValueError("these counts are of all strata together")
        return reduce(add, (self.strata[number] for number in inside))


def shown_strata(survey: Survey, strata: Sequence[Counts]) -> tuple[Counts, ...]:
    """The counts of each stratum where every one may be seen, else those of all, once.

    As with whole reports that are given out: see ``results.subgroups``.
    """
    if len(strata) > 1 and not may_be_seen(survey, strata):
        return (reduce(add, strata),)
    return tuple(strata)


def may_be_seen(survey: Survey, strata: Sequence[Counts]) -> bool:
    """Whether each stratum has as many reports to every question as results need."""
    counts = [[tally.n for tally in one.tallies.values()] for one in strata]
    return all_shown(survey.strata or {}, counts, survey.results.minimum)


def tally_set(
    parts: Parts, engine: CountingEngine, pairs: Sequence[tuple[str, str]] = ()
) -> TalliedSet:
    """Tallies a report set, with the joint counts of some ``pairs`` of questions.

    Raises NoExport where a file cannot be read, and for a pair that is none of two questions whose
    reports are one number each.
    """
    reading = _Reading(parts, source_of(parts), engine)
    places = {pair: reading.places(pair) for pair in pairs}
    found = reading.counted()
    if found.rows != parts.rows:
        raise NoExport(f"{found.rows:,} reports were counted, and the files have {parts.rows:,}")
    joint = dict(zip(places, reading.groups(list(places.values())), strict=True))
    left_out, unfit = 0, reading.unfit(found.of(None))
    if unfit:
        wrong = reading.wrong(unfit)
        left_out = sum(wrong.values())
        found = found.less(wrong, reading.sums(reading.summed, f"not {reading.fits}"))
        joint = {pair: _less(joint[pair], wrong, reading.key(two)) for pair, two in places.items()}
    strata = [reading.counts(found, joint, key) for key in reading.keys]
    return TalliedSet(parts.survey, shown_strata(parts.survey, strata), left_out, unfit)


def source_of(parts: Parts) -> Source:
    """The files and columns of a report set, as engines are given them."""
    return Source(tuple(map(str, parts.files)), tuple(parts.columns.names))


@dataclass(frozen=True, eq=False)
class _Counted:
    """What an engine found, by strata: groups by column, and the sums of expressions.

    The first ``width`` values of each group are those of its strata.
    """

    width: int
    groups: dict[int, Groups]
    sums: Mapping[Key, dict[str, int]]

    @property
    def rows(self) -> int:
        """The number of rows."""
        for one in self.groups.values():
            return sum(one.values())
        return sum(sums[_EVERY] for sums in self.sums.values())

    def less(self, wrong: Groups, sums: Mapping[Key, dict[str, int]]) -> _Counted:
        """Without some rows, given whole, and their sums."""
        strata = range(self.width)
        groups = {place: _less(one, wrong, (*strata, place)) for place, one in self.groups.items()}
        left = {
            key: {text: one[text] - sums.get(key, {}).get(text, 0) for text in one}
            for key, one in self.sums.items()
        }
        return _Counted(self.width, groups, left)

    def of(self, key: Key | None) -> _Counted:
        """What was found in one stratum, or in all of them."""
        sums = Counter[str]()
        for here, one in self.sums.items():
            if key in (None, here):
                sums.update(one)
        groups = {place: _of(one, self.width, key) for place, one in self.groups.items()}
        return _Counted(0, groups, {(): sums})


def _of(groups: Groups, width: int, key: Key | None) -> Groups:
    """The groups of one stratum, or of all, without the values of their strata."""
    found = Counter[Key]()
    for row, count in groups.items():
        if key in (None, row[:width]):
            found[row[width:]] += count
    return found


def _less(groups: Groups, wrong: Groups, places: Sequence[int]) -> Groups:
    """The groups of some columns, without the rows of ``wrong``, of which all columns are known."""
    left = Counter(groups)
    for row, count in wrong.items():
        left[tuple(row[place] for place in places)] -= count
    return +left


@dataclass(frozen=True, eq=False)
class _Reading:
    parts: Parts
    source: Source
    engine: CountingEngine

    @cached_property
    def counters(self) -> list[QuestionCounter]:
        """What is counted of each question."""
        return counters(self.parts.columns)

    @cached_property
    def beside(self) -> dict[str, str]:
        """What must hold of a report beside its questions, by the name of what does not fit."""
        strata, survey = self.parts.columns.strata, self.parts.survey
        found = {one.key: within(place, *one.reach) for place, one in enumerate(strata)}
        if survey.asked < len(survey.questions):
            asked = joined(" + ", (number(one.asked) for one in self.counters))
            found[ASKED] = f"({asked} = {survey.asked})"
        return found

    @cached_property
    def fits(self) -> str:
        """The condition that a report as a whole fits."""
        return joined(" and ", [*(one.fits for one in self.counters), *self.beside.values()])

    @cached_property
    def summed(self) -> list[str]:
        """The expressions whose sums make tallies."""
        every = [] if any(one.grouped for one in self.counters) else [_EVERY]
        return [*every, *(text for one in self.counters for text in one.summed)]

    @cached_property
    def strata(self) -> range:
        """The columns of strata, which come first."""
        return range(len(self.parts.columns.strata))

    @property
    def keys(self) -> Iterator[Key]:
        """What the columns of strata have in each stratum, in the order of their numbers."""
        return product(*(range(len(one.categories)) for one in self.parts.columns.strata))

    def key(self, places: Sequence[int]) -> tuple[int, ...]:
        """Columns behind those of strata."""
        return (*self.strata, *places)

    def groups(self, places: Sequence[Sequence[int]]) -> list[Groups]:
        """How many rows have each combination of values in some columns, by strata."""
        return self.engine.groups(self.source, [self.key(one) for one in places])

    def counted(self) -> _Counted:
        """Counts all rows, whether they fit or not."""
        places = [place for one in self.counters for place in one.grouped]
        found = self.groups([[place] for place in places])
        misfits = [one.misfit for one in self.counters if one.misfit]
        misfits += map(_misfit, self.beside.values())
        groups = dict(zip(places, found, strict=True))
        return _Counted(len(self.strata), groups, self.sums([*self.summed, *misfits]))

    def sums(
        self, expressions: Sequence[str], where: str | None = None
    ) -> dict[Key, dict[str, int]]:
        """The sums of expressions over all rows, or over those ``where`` a condition holds."""
        if not expressions:
            return {}
        found = self.engine.totals(self.source, expressions, where, self.strata)
        return {key: dict(zip(expressions, one, strict=True)) for key, one in found.items()}

    def wrong(self, unfit: Mapping[str, int]) -> Groups:
        """The rows that do not fit, whole. Raises NoExport where there are very many."""
        if sum(unfit.values()) > _MOST_WRONG:
            counts = ", ".join(f"{name} of {count:,}" for name, count in unfit.items())
            name = self.parts.survey.name
            raise NoExport(f"these are no reports to {name}: {counts} do not fit")
        places = range(len(self.source.names))
        [found] = self.engine.groups(self.source, [places], f"not {self.fits}")
        return found

    def unfit(self, found: _Counted) -> dict[str, int]:
        """How many reports do not fit, by question, of what was counted of all rows."""
        sums = found.sums[()]
        counts = {
            one.question.name: one.unfit(found.groups, sums.get(one.misfit or "", 0))
            for one in self.counters
        }
        counts |= {name: sums[_misfit(fits)] for name, fits in self.beside.items()}
        return {name: count for name, count in counts.items() if count}

    def counts(self, found: _Counted, joint: Mapping[tuple[str, str], Groups], key: Key) -> Counts:
        """The counts of a stratum, of rows that fit."""
        own = found.of(key)
        tallies = {
            one.question.name: one.tally(own.groups, [own.sums[()][text] for text in one.summed])
            for one in self.counters
        }
        pairs = {pair: _of(one, len(self.strata), key) for pair, one in joint.items()}
        return Counts(own.rows, tallies, pairs)

    def places(self, pair: tuple[str, str]) -> tuple[int, int]:
        """The columns of two questions whose reports are one number each. Raises NoExport."""
        known = {one.question.name: one.grouped[0] for one in self.counters if not one.misfit}
        for name in pair:
            if name not in known:
                raise NoExport(f"{name} is no question whose reports are one number each")
        return known[pair[0]], known[pair[1]]


def _misfit(fits: str) -> str:
    return number(f"not {fits}")
