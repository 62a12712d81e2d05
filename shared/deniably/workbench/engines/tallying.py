"""Tallies a report set with an engine: one query over all files, and the integers of every tally.

Reports that no device could have made are counted by question and left out of every tally.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from deniably.estimation.tally import Tally
from deniably.survey.survey import Survey
from deniably.workbench.engines.counting import QuestionCounter, counters, joined, number, within
from deniably.workbench.engines.engine import CountingEngine, Groups, Source
from deniably.workbench.files.needed import NoExport
from deniably.workbench.files.parts import Parts

_EVERY = "1"
"""The expression whose sum is the number of rows."""
_MOST_WRONG = 1_000_000
"""Reports that may not fit before the definition must be another one."""
ASKED = "number of questions"
"""What ``unfit`` calls reports with more or fewer questions than a device asks."""


@dataclass(frozen=True, eq=False)
class TalliedSet:
    """The tallies of a report set, by question, of the ``n`` reports that fit its definition.

    ``unfit`` says of how many reports the part of a question does not fit; there are ``left_out``
    such reports. ``pairs`` has for two questions how many reports have each two of their numbers.
    """

    survey: Survey
    n: int
    tallies: dict[str, Tally]
    left_out: int = 0
    unfit: dict[str, int] = field(default_factory=dict[str, int])
    pairs: dict[tuple[str, str], Groups] = field(default_factory=dict[tuple[str, str], Groups])


def tally_set(
    parts: Parts, engine: CountingEngine, pairs: Sequence[tuple[str, str]] = ()
) -> TalliedSet:
    """Tallies a report set, with the joint counts of some ``pairs`` of questions.

    Raises NoExport where a file cannot be read, and for a pair that is none of two questions whose
    reports are one number each.
    """
    source = source_of(parts)
    reading = _Reading(parts, source, engine)
    places = {pair: reading.places(pair) for pair in pairs}
    found = reading.counted()
    if found.rows != parts.rows:
        raise NoExport(f"{found.rows:,} reports were counted, and the files have {parts.rows:,}")
    both = engine.groups(source, list(places.values()))
    joint = dict(zip(places, both, strict=True))
    left_out, unfit = 0, reading.unfit(found)
    if unfit:
        wrong = reading.wrong(unfit)
        left_out = sum(wrong.values())
        found = found.less(wrong, reading.sums(reading.summed, f"not {reading.fits}"))
        joint = {pair: _less(joint[pair], wrong, two) for pair, two in places.items()}
    tallies = reading.tallies(found)
    return TalliedSet(parts.survey, parts.rows - left_out, tallies, left_out, unfit, joint)


def source_of(parts: Parts) -> Source:
    """The files and columns of a report set, as engines are given them."""
    return Source(tuple(map(str, parts.files)), tuple(parts.columns.names))


@dataclass(frozen=True, eq=False)
class _Counted:
    """What an engine found in ``rows``: the groups by column, and the sums of expressions."""

    rows: int
    groups: dict[int, Groups]
    sums: dict[str, int]

    def less(self, wrong: Groups, sums: dict[str, int]) -> _Counted:
        """Without some rows, given whole, and their sums."""
        groups = {place: _less(one, wrong, (place,)) for place, one in self.groups.items()}
        left = {text: self.sums[text] - less for text, less in sums.items()}
        return _Counted(self.rows - sum(wrong.values()), groups, left)


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
        return [text for one in self.counters for text in one.summed]

    def counted(self) -> _Counted:
        """Counts all rows, whether they fit or not."""
        places = [place for one in self.counters for place in one.grouped]
        found = self.engine.groups(self.source, [[place] for place in places])
        misfits = [one.misfit for one in self.counters if one.misfit]
        misfits += map(_misfit, self.beside.values())
        groups = dict(zip(places, found, strict=True))
        if not places:
            misfits.append(_EVERY)
        sums = self.sums([*self.summed, *misfits])
        rows = sum(groups[places[0]].values()) if places else sums[_EVERY]
        return _Counted(rows, groups, sums)

    def sums(self, expressions: Sequence[str], where: str | None = None) -> dict[str, int]:
        """The sums of expressions over all rows, or over those ``where`` a condition holds."""
        if not expressions:
            return {}
        found = self.engine.totals(self.source, expressions, where)
        return dict(zip(expressions, found, strict=True))

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
        counts = {
            one.question.name: one.unfit(found.groups, found.sums.get(one.misfit or "", 0))
            for one in self.counters
        }
        counts |= {name: found.sums[_misfit(fits)] for name, fits in self.beside.items()}
        return {name: count for name, count in counts.items() if count}

    def tallies(self, found: _Counted) -> dict[str, Tally]:
        """The tally of every question, of rows that fit."""
        return {
            one.question.name: one.tally(found.groups, [found.sums[text] for text in one.summed])
            for one in self.counters
        }

    def places(self, pair: tuple[str, str]) -> tuple[int, int]:
        """The columns of two questions whose reports are one number each. Raises NoExport."""
        known = {one.question.name: one.grouped[0] for one in self.counters if not one.misfit}
        for name in pair:
            if name not in known:
                raise NoExport(f"{name} is no question whose reports are one number each")
        return known[pair[0]], known[pair[1]]


def _misfit(fits: str) -> str:
    return number(f"not {fits}")
