"""Tallies a report set with an engine, to the same integers as every other tally of it.

Rows that no device could have sent are counted by question, and left out of every tally. Where a
set has strata, each stratum is counted by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import product
from operator import add

from deniably.core.counting import counted
from deniably.core.errors import NoResults
from deniably.estimation.tally import Tally
from deniably.results.subgroups import all_shown
from deniably.survey.strata import Stratum, members
from deniably.survey.survey import Survey, require_whole_reports
from deniably.workbench.engines.counting_engine import CountingEngine, Groups, Key, Source
from deniably.workbench.engines.question_counters import (
    OneColumn,
    QuestionCounter,
    counters,
    joined,
    number,
    within,
)
from deniably.workbench.engines.row_counts import Counted, by_first
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.files.parquet_parts import Parts, check_unchanged

_EVERY = "count(*)"
"""The SQL for the number of rows."""
_MOST_WRONG = 1_000_000
"""If more rows than this do not fit, the files are probably of another survey."""
ASKED = "number of questions"
"""The key in ``unfit`` for rows with more or fewer questions than a device asks."""


@dataclass(frozen=True, eq=False)
class Counts:
    """The tally of each question in ``n`` reports.

    ``pairs`` maps the names of two questions to the number of reports with each pair of values.
    """

    n: int
    tallies: dict[str, Tally]
    pairs: dict[tuple[str, str], Groups] = field(default_factory=dict[tuple[str, str], Groups])

    def __add__(self, other: Counts) -> Counts:
        tallies = {name: tally + other.tallies[name] for name, tally in self.tallies.items()}
        pairs: dict[tuple[str, str], Groups] = {
            pair: Counter(groups) + Counter(other.pairs[pair])
            for pair, groups in self.pairs.items()
        }
        return Counts(self.n + other.n, tallies, pairs)

    def both(self, first: str, other: str) -> Groups | None:
        """Returns {(value of ``first``, value of ``other``): number of reports} of two questions.
        Returns None where their pairs were not counted."""
        if (first, other) in self.pairs:
            return self.pairs[first, other]
        if (other, first) in self.pairs:
            turned = self.pairs[other, first].items()
            return {(first, second): count for (second, first), count in turned}
        return None


@dataclass(frozen=True, eq=False)
class TalliedSet:
    """The counts of a report set, without the rows that no device could have sent.

    ``strata`` has the counts of each stratum, in the order of the strata's numbers. It has a
    single item, the counts of all reports, where the set has no strata or some stratum has too few
    reports to be shown. ``left_out`` is the number of rows that were left out; ``unfit`` maps the
    name of what does not fit in a row (a question, a stratum key, or the number of questions) to
    the number of such rows.
    """

    survey: Survey
    strata: tuple[Counts, ...]
    left_out: int = 0
    unfit: dict[str, int] = field(default_factory=dict[str, int])

    def __add__(self, other: TalliedSet) -> TalliedSet:
        """Returns the sum of two sets. Raises NoExport where they are not of the same survey,
        strata and pairs, and where their survey has a mixer, which passes on one batch."""
        if self.survey.digest != other.survey.digest:
            raise NoExport("these are counts of several surveys, or versions of one")
        if self.survey.mixer:
            raise NoExport("a survey with a mixer has one batch, so its counts do not add up")
        if self.stratified is not other.stratified:
            keys, least = ", ".join(sorted(self.survey.strata or {})), self.survey.results.minimum
            raise NoExport(
                f"one has counts by {keys}, and the other has them of all together alone, as each"
                f" stratum needs {counted(least, 'report')} to every question: their sum would tell"
                " of fewer. Count more reports at once, such as those of several days"
            )
        if differ := self.pairs.keys() ^ other.pairs.keys():
            raise NoExport(f"{' and '.join(min(differ))} are a pair of one of them alone")
        strata = tuple(mine + more for mine, more in zip(self.strata, other.strata, strict=True))
        unfit = dict(Counter(self.unfit) + Counter(other.unfit))
        return TalliedSet(self.survey, strata, self.left_out + other.left_out, unfit)

    @property
    def n(self) -> int:
        """Returns the number of reports that were counted."""
        return self.whole.n

    @property
    def tallies(self) -> dict[str, Tally]:
        """Returns the tally of each question over all strata, by name."""
        return self.whole.tallies

    @property
    def pairs(self) -> dict[tuple[str, str], Groups]:
        """Returns the joint counts of pairs of questions over all strata."""
        return self.whole.pairs

    @property
    def stratified(self) -> bool:
        """Returns whether each stratum has counts of its own."""
        return len(self.strata) > 1

    @cached_property
    def whole(self) -> Counts:
        """Returns the counts of all strata together."""
        return reduce(add, self.strata)

    def among(self, subgroup: Stratum) -> Counts:
        """Returns the counts of a subgroup, such as ``{"site": "north"}``, or of all reports if
        ``subgroup`` is empty.

        Raises ValueError for a key or value that the survey does not have, and NoResults where the
        counts are not by stratum.
        """
        inside = members(self.survey.strata or {}, subgroup)
        if not subgroup:
            return self.whole
        if not self.stratified:
            least = counted(self.survey.results.minimum, "report")
            raise NoResults(
                f"{self.survey.name}: this tally file has no counts by {', '.join(subgroup)}: the"
                f" reports came without strata, or one stratum has fewer than {least} to a question"
            )
        return reduce(add, (self.strata[number] for number in inside))


def shown_strata(survey: Survey, strata: Sequence[Counts]) -> tuple[Counts, ...]:
    """Returns the counts of each stratum if all strata have enough reports to be shown. Otherwise
    returns a single item, the counts of all strata together.

    If only one stratum were hidden, its counts would follow from those of the others and the
    total; so either all strata are shown or none.
    """
    if len(strata) > 1 and not may_be_seen(survey, strata):
        return (reduce(add, strata),)
    return tuple(strata)


def may_be_seen(survey: Survey, strata: Sequence[Counts]) -> bool:
    """Returns whether the counts by stratum may be shown: each stratum has the minimum number of
    reports to every question."""
    counts = [[tally.n for tally in stratum.tallies.values()] for stratum in strata]
    return all_shown(survey.strata or {}, counts, survey.results.minimum)


def tally_set(
    parts: Parts, engine: CountingEngine, pairs: Sequence[tuple[str, str]] = ()
) -> TalliedSet:
    """Tallies a report set with an engine. For each of ``pairs`` of questions, also counts the
    reports with each pair of values.

    Raises NoExport where a file cannot be read or is rewritten meanwhile, and for a pair of
    questions whose reports are not one number each; TravelledApart for a survey with a mixer, which
    has no whole reports.
    """
    require_whole_reports(parts.survey)
    reading = _Reading(parts, source_of(parts), engine)
    places = {pair: reading.places(pair) for pair in pairs}
    seen = reading.seen(list(places.values()))
    # Usually everything fits, and the slow condition is never evaluated.
    unfit = {} if reading.all_fit(seen) else reading.unfit()
    # Everything was counted already, so the few rows that do not fit are fetched and subtracted.
    wrong = reading.wrong(unfit)
    of_stratum = by_first(wrong, reading.width, 0)
    strata = [
        reading.counts(seen[key].counted.less(of_stratum[key]), places) for key in reading.keys
    ]
    # Several queries read the files: their results belong together only if no file changed.
    check_unchanged(parts)
    return TalliedSet(parts.survey, shown_strata(parts.survey, strata), sum(wrong.values()), unfit)


def source_of(parts: Parts) -> Source:
    """Returns the files and columns of a report set in the form that engines take."""
    return Source(parts.files, tuple(parts.columns.names))


@dataclass(frozen=True, eq=False)
class _Seen:
    """What was counted of the rows of one stratum, and the values of aggregates, by their SQL."""

    counted: Counted
    values: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class _Reading:
    parts: Parts
    source: Source
    engine: CountingEngine

    @cached_property
    def counters(self) -> list[QuestionCounter]:
        """Returns what is counted of each question."""
        return counters(self.parts.columns)

    @property
    def width(self) -> int:
        """Returns the number of columns of strata, which come first."""
        return len(self.parts.columns.strata)

    @cached_property
    def keys(self) -> list[Key]:
        """Returns the values that the columns of strata have in each stratum, in the order of the
        strata's numbers."""
        return list(product(*(range(len(key.categories)) for key in self.parts.columns.strata)))

    @cached_property
    def conditions(self) -> dict[str, str]:
        """Returns the SQL conditions that a row must meet, by the name under which a failure is
        counted."""
        conditions = {counter.question.name: counter.fits for counter in self.counters}
        strata = enumerate(self.parts.columns.strata)
        conditions |= {key.key: within(place, *key.reach) for place, key in strata}
        # Not strict: where everybody is asked everything there is no such condition.
        return conditions | dict(zip([ASKED], self.asked_condition, strict=False))

    @cached_property
    def asked_condition(self) -> list[str]:
        """Returns the condition on how many questions a row has; none where every row has all."""
        survey = self.parts.survey
        if survey.complete:
            return []
        question_count = joined(" + ", (number(counter.asked) for counter in self.counters))
        return [f"({question_count} BETWEEN {survey.least_asked} AND {survey.asked})"]

    def seen(self, pairs: Sequence[tuple[int, int]]) -> dict[Key, _Seen]:
        """Counts all rows, whether they fit or not, by the values of their columns of strata.

        Every stratum is in the result. Raises NoExport where not all rows were counted.
        """
        groups = self.groups(
            [*((place,) for each in self.counters for place in each.grouped), *pairs]
        )
        filled = {
            place: f"count(c{place})" for counter in self.counters for place in counter.filled
        }
        summed = {place: f"sum(c{place})" for counter in self.counters for place in counter.summed}
        texts = [*filled.values(), *summed.values()]
        texts += [text for counter in self.counters for text in counter.checks]
        texts += [_EVERY, *map(_sum, self.asked_condition)]
        aggregates = self.engine.aggregates(self.source, texts, range(self.width))
        self.check_rows(sum(row[texts.index(_EVERY)] for row in aggregates.values()))
        seen = dict[Key, _Seen]()
        # Rows may have values that are no stratum: they are among the aggregates, and do not fit.
        for key in {*self.keys, *aggregates}:
            values = dict(zip(texts, aggregates.get(key, [0] * len(texts)), strict=True))
            counted = Counted(
                values[_EVERY],
                {places: each.get(key, {}) for places, each in groups.items()},
                {place: values[text] for place, text in filled.items()},
                {place: values[text] for place, text in summed.items()},
            )
            seen[key] = _Seen(counted, values)
        return seen

    def groups(
        self, columns: Sequence[tuple[int, ...]]
    ) -> dict[tuple[int, ...], Mapping[Key, Groups]]:
        """Returns how many rows have each combination of values in some columns, by strata."""
        keys = [(*range(self.width), *places) for places in columns]
        counts = self.engine.groups(self.source, keys)
        for of_columns in counts:
            self.check_rows(sum(of_columns.values()))
        by_stratum = (by_first(of_columns, self.width, self.width) for of_columns in counts)
        return dict(zip(columns, by_stratum, strict=True))

    def check_rows(self, rows: int) -> None:
        """Raise NoExport unless an engine counted as many rows as the footers of the files
        state."""
        if rows != self.parts.rows:
            raise NoExport(f"{rows:,} reports were counted, and the files have {self.parts.rows:,}")

    def all_fit(self, seen: Mapping[Key, _Seen]) -> bool:
        """Returns whether all rows fit, by what was counted of them."""
        return len(seen) == len(self.keys) and all(
            all(
                counter.all_fit(here.counted, [here.values[text] for text in counter.checks])
                for counter in self.counters
            )
            and all(
                here.values[_sum(condition)] == here.counted.rows
                for condition in self.asked_condition
            )
            for here in seen.values()
        )

    def unfit(self) -> dict[str, int]:
        """Returns how many rows do not fit, by the name of what does not."""
        texts = [_sum(f"not {fits}") for fits in self.conditions.values()]
        [values] = self.engine.aggregates(self.source, texts).values()
        counts = zip(self.conditions, values, strict=True)
        return {name: count for name, count in counts if count}

    def wrong(self, unfit: Mapping[str, int]) -> Groups:
        """Returns the rows that do not fit, with all their values. Raises NoExport where there are
        very many."""
        if not unfit:
            return {}
        if sum(unfit.values()) > _MOST_WRONG:
            counts = ", ".join(f"{name} of {count:,}" for name, count in unfit.items())
            name = self.parts.survey.name
            raise NoExport(f"these are no reports to {name}: {counts} do not fit")
        places = range(len(self.source.names))
        where = f"not {joined(' and ', self.conditions.values())}"
        [rows] = self.engine.groups(self.source, [places], where)
        return rows

    def counts(self, counted: Counted, pairs: Mapping[tuple[str, str], tuple[int, int]]) -> Counts:
        """Returns the counts of a stratum from those of its rows, all of which fit."""
        tallies = {counter.question.name: counter.tally(counted) for counter in self.counters}
        joint = {pair: counted.groups[places] for pair, places in pairs.items()}
        return Counts(counted.rows, tallies, joint)

    def places(self, pair: tuple[str, str]) -> tuple[int, int]:
        """Returns the columns of two questions whose reports are one number each. Raises NoExport
        for others."""
        known = {
            counter.question.name: counter.place
            for counter in self.counters
            if isinstance(counter, OneColumn)
        }
        for name in pair:
            if name not in known:
                raise NoExport(f"{name} is no question whose reports are one number each")
        return known[pair[0]], known[pair[1]]


def _sum(condition: str) -> str:
    """Returns SQL for the number of rows of which a condition holds."""
    return f"sum({number(condition)})"
