"""Answers what a server's pages of results ask of their store from a tally file.

The survey counts as closed, and no single report is known. What the file does not have (who
published the survey, and when) is empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add

from deniably.estimation.tally import Repeated, Tally
from deniably.survey.survey import Survey
from deniably.workbench.engines.counting_engine import Groups
from deniably.workbench.engines.pair_counts import MOST_PAIRS, pair_blocks
from deniably.workbench.engines.tallying import Counts, TalliedSet
from deniably_server.errors import NotFound
from deniably_server.storage.store import ShownCounts
from deniably_server.storage.tables.mixed import StoredManifest
from deniably_server.storage.tables.surveys import State
from deniably_server.storage.tables.tokens import Token


class TakenBatch:
    """A stand-in for ``MixedStore``: the batch of a tally file was taken, since it was counted."""

    def is_awaited(self, name: str) -> bool:
        """Returns False: the batch has come."""
        return False

    def manifest(self, name: str) -> StoredManifest:
        """Returns a manifest that says no more than that."""
        return StoredManifest("", "", "taken", 0, "")


@dataclass(frozen=True, eq=False)
class TallyStore:
    """A stand-in for ``Store`` that answers from a tally file (``tallied``). It has the methods
    that views of results call.

    ``analyst`` is the token that may see the results. In the methods, ``strata`` are numbers of
    strata (SPEC 4.6), of which alone the reports are counted; None means all reports.
    ``questions`` are indices of questions in the survey.
    """

    tallied: TalliedSet
    analyst: Token
    whole_reports: bool = field(default=False, init=False)

    def survey(self, name: str) -> Survey:
        """Returns the survey of the tally file. Raises NotFound for another name."""
        if name != self.tallied.survey.name:
            raise NotFound(f"this tally file is of {self.tallied.survey.name}")
        return self.tallied.survey

    def state(self, name: str) -> State:
        """Returns "closed": nothing can be added to a tally file."""
        return "closed"

    @property
    def mixed(self) -> TakenBatch:
        """The part of the store for what a mixer passes on."""
        return TakenBatch()

    def publication_day(self, name: str) -> str:
        """Returns an empty text: nobody signs a tally file, so the day is not known."""
        return ""

    def closing_day(self, name: str) -> str:
        """Returns an empty text: the day is not known."""
        return ""

    def author(self, name: str) -> str:
        """Returns an empty text: the author's key is not known."""
        return ""

    def issued(self, name: str, strata: Collection[int] | None = None) -> int | None:
        """Returns None: the number of invitations that were issued is not known."""
        return None

    def token(self, name: str) -> Token | None:
        """Returns the analyst's token if ``name`` is its id, else None."""
        return self.analyst if name == self.analyst.id else None

    def shown_tally(self, name: str, strata: Collection[int] | None = None) -> dict[str, Tally]:
        """Returns the tally of every question, by question name; of the ``strata`` alone where
        these are given."""
        return self._counts(strata).tallies

    def shown_reports(self, name: str, strata: Collection[int] | None = None) -> int:
        """Returns the number of reports; of the ``strata`` alone where these are given."""
        return self._counts(strata).n

    def counts_by_stratum(self, name: str) -> list[list[int]]:
        """Returns for each stratum how many reports answer each question, in the survey's order.

        One number stands for all questions where every report answers all of them. Every stratum
        has [0] where the file has only the counts of all strata together.
        """
        if not self.tallied.stratified:
            return [[0] for _ in self.tallied.survey.every_stratum]
        counts = [[tally.n for tally in part.tallies.values()] for part in self.tallied.strata]
        complete = self.tallied.survey.complete
        return [tally[:1] for tally in counts] if complete else counts

    def shown_counts(self, name: str) -> ShownCounts:
        """Returns the counts that decide whether results are shown: of all reports, and of reports
        to the question with the fewest."""
        fewest = min(tally.n for tally in self.tallied.tallies.values())
        return ShownCounts(self.tallied.n, fewest, "0")

    def crosses(self, name: str, first: str, second: str) -> bool:
        """Returns whether the two questions, given by name, can be crossed: the tally file has
        counts of their pairs of values, and at most ``MOST_PAIRS`` pairs were counted."""
        pairs = self._pairs.get(frozenset((first, second)))
        return pairs is not None and sum(pairs.values()) <= MOST_PAIRS

    def asked_together(self, name: str, *questions: int) -> list[int]:
        """Returns for each stratum the number of reports that answer both of two questions. If the
        file has no counts by stratum, the first number is that of all reports and the others are
        0.

        Raises NotFound where the pairs of these questions were not counted.
        """
        strata = [sum(self._both(counts, questions).values()) for counts in self.tallied.strata]
        # A file without counts by stratum has one entry, of all; the others are 0.
        return strata + [0] * (len(self.tallied.survey.every_stratum) - len(strata))

    def values(
        self, name: str, *questions: int, strata: Collection[int] | None = None
    ) -> Iterator[Sequence[Sequence[list[int] | None]]]:
        """Yields blocks of the pairs of values of two questions, each pair as often as it was
        counted.

        A value is a list of integers, None where the question was not asked. Raises NotFound where
        the pairs were not counted.
        """
        return iter(pair_blocks(self._both(self._counts(strata), questions)))

    def distinct_values(
        self, name: str, *groups: Sequence[int], strata: Collection[int] | None = None
    ) -> Iterator[tuple[int, Repeated]]:
        """Yields each pair of values once, with how often it was counted, for each group of two
        questions: as (index of the group, the pair with its count).

        Raises NotFound where the pairs of a group were not counted.
        """
        for place, questions in enumerate(groups):
            for numbers, count in self._both(self._counts(strata), questions).items():
                row = [None if number is None else [number] for number in numbers]
                yield place, Repeated([row], [count])

    @cached_property
    def _pairs(self) -> dict[frozenset[str], Groups]:
        return {frozenset(pair): counts for pair, counts in self.tallied.pairs.items()}

    def _counts(self, strata: Collection[int] | None) -> Counts:
        if strata is None:
            return self.tallied.whole
        return reduce(add, (self.tallied.strata[number] for number in strata))

    def _both(self, counts: Counts, questions: Sequence[int]) -> Groups:
        """Returns the pairs of two questions. Raises NotFound where they were not counted."""
        first, second = (self.tallied.survey.questions[index].name for index in sorted(questions))
        pairs = counts.both(first, second) if self.crosses("", first, second) else None
        if pairs is None:
            raise NotFound(f"there are no pairs of {first} and {second} in this tally file")
        return pairs
