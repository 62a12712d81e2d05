"""Holds what a study collected (reports, counts or a server's results) and estimates results from
it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from deniably.core.errors import BadModel, NoFigure, NoResults
from deniably.estimation.shares_among_asked import FollowUpCounts, joint_counts
from deniably.estimation.tally import Tally
from deniably.results.crosstabs import Blocks
from deniably.results.document import SurveyResult
from deniably.results.remote import Remote, fetch_results
from deniably.results.result import result
from deniably.survey.questions import Question
from deniably.survey.strata import Stratum
from deniably.survey.survey import Survey, require_whole_reports
from deniably.workbench.engines.pair_counts import MOST_PAIRS, pair_blocks, pairs_of
from deniably.workbench.models.follow_up_weights import values_of
from deniably.workbench.models.model_columns import nearest
from deniably.workbench.report_set import ReportSet

if TYPE_CHECKING:
    from deniably.workbench.engines.counting_engine import Groups
    from deniably.workbench.engines.tallying import Counts, TalliedSet

LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.999


@dataclass(frozen=True)
class _Wanted:
    """A request for results: of one ``question``, or of all if None. ``strata`` is a key and its
    value."""

    question: str | None
    confidence: float
    smooth: bool
    strata: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False)
class Collected:
    """What a survey collected: its reports, the counts of a tally file, or the results that a
    server publishes.

    ``state`` is "open" or "closed", and ``n`` the number of respondents. ``served`` has the
    results of a server, and ``tallied`` the counts of a tally file; None where there are none.
    ``_without`` says why there are no reports.
    """

    survey: Survey
    state: str
    n: int
    _reports: ReportSet | None = None
    _without: str = ""
    _remote: Remote | None = None
    served: SurveyResult | None = None
    tallied: TalliedSet | None = None
    _kept: dict[_Wanted, SurveyResult] = field(
        init=False, default_factory=dict[_Wanted, SurveyResult]
    )

    @property
    def reports(self) -> ReportSet:
        """Returns the randomised reports, sorted by content.

        Raises NoResults, with the reason, where there are only counts or a server's results, and
        TravelledApart for a survey with a mixer.
        """
        require_whole_reports(self.survey)
        if self._reports is None:
            raise self.lacks
        return self._reports

    @property
    def lacks(self) -> NoResults:
        """Returns the error that says what an estimate lacks: reports, or with a mixer counts."""
        if self.survey.mixer:
            return NoResults(f"{self.survey.name}: this needs counts, and there are only results")
        there = "results" if self.tallied is None else "counts"
        return NoResults(
            f"{self.survey.name}: this needs its reports, and there are only {there}:"
            f" {self._without}"
        )

    @property
    def has_reports(self) -> bool:
        """Returns whether there are reports, and not only results or counts."""
        return self._reports is not None

    @property
    def has_tallies(self) -> bool:
        """Returns whether there are reports or counts to estimate from; False where a server's
        results are all there is."""
        return self._reports is not None or self.tallied is not None

    @property
    def is_grouped(self) -> bool:
        """Returns True for reports with strata and for every tally file, even one without counts
        by stratum; False for reports without strata and for a server's results."""
        return self.tallied is not None or (
            self._reports is not None and self._reports.layout.stratified
        )

    @cached_property
    def tallies(self) -> dict[str, Tally]:
        """Returns the tally of every question, by name. Raises NoResults where there are only a
        server's results."""
        if self.tallied is not None:
            return self.tallied.tallies
        if self._reports is None:
            raise self.lacks
        return self._reports.tally()

    def index(self, name: str) -> int:
        """Returns the position of the question ``name`` in the survey, from 0. Raises NoFigure if
        there is no such question."""
        names = [question.name for question in self.survey.questions]
        if name not in names:
            raise NoFigure(f"{self.survey.name} has no question {name}{nearest(name, names)}")
        return names.index(name)

    def question(self, name: str) -> Question:
        """Returns the question of this name. Raises NoFigure if there is none."""
        return self.survey.questions[self.index(name)]

    def names(self, *chosen: int) -> list[str]:
        """Returns the names of the questions with these indices in the survey."""
        return [self.survey.questions[index].name for index in chosen]

    def key_values(self, key: str) -> Sequence[str]:
        """Returns the values of a stratum key: for the key "site" for example "north" and "south".
        Raises NoFigure for an unknown key, and TravelledApart for a survey with a mixer, which
        cannot have strata."""
        require_whole_reports(self.survey)
        keys = self.survey.strata or {}
        if key not in keys:
            why = nearest(key, keys) if keys else ": it has no strata, so no groups to compare"
            raise NoFigure(f"{self.survey.name} has no key {key}{why}")
        return keys[key]

    def document(
        self, question: str | None, confidence: float, *, smooth: bool = False
    ) -> SurveyResult:
        """Returns the results of one ``question``, or of all questions if None. They are estimated
        here if there are reports or counts, otherwise fetched from the server.

        ``smooth`` fits smooth distributions of numbers. Raises NoFigure for an unknown question
        and a ``confidence`` out of range, and NoResults where the server refuses.
        """
        check_confidence(confidence)
        if question is not None:
            self.question(question)
        served = self.served
        if self.has_tallies:
            document = self._estimated(_Wanted(question, confidence, smooth), self.tallies)
            return (
                document
                if served is None
                else structs.replace(document, subgroups=served.subgroups)
            )
        assert served is not None
        assert self._remote is not None
        # The results at hand were fetched with other options, so the server is asked once more.
        if (confidence, smooth) != (served.confidence, False):
            served = fetch_results(self._remote, confidence=confidence, smooth=smooth)
        return _only(question, served)

    def _estimated(self, wanted: _Wanted, tallies: Mapping[str, Tally]) -> SurveyResult:
        """Returns the results that are wanted from these tallies. They are slow to estimate, and
        kept."""
        # Results of all questions also have those of each one.
        all_questions = self._kept.get(replace(wanted, question=None))
        if all_questions is not None:
            return _only(wanted.question, all_questions)
        if wanted not in self._kept:
            strata = wanted.strata and dict([wanted.strata])
            invited = self.served.invited if self.served and not strata else None
            self._kept[wanted] = result(
                self.survey, self.state, tallies, smooth=wanted.smooth,
                confidence=wanted.confidence, invited=invited, only=wanted.question, strata=strata,
                reports=self.people(strata),
                together=self.together(wanted.question, strata),
            )  # fmt: skip
        return self._kept[wanted]

    def together(
        self, question: str | None, strata: Stratum | None = None
    ) -> dict[str, FollowUpCounts]:
        """Returns the joint counts of each follow-up question (``show_if``) with the earlier
        question that decides who is asked, as {name of the follow-up: counts}.

        ``strata`` restricts the counts to a subgroup. ``question`` names a single follow-up; None
        stands for all. Follow-ups whose joint counts are not known are left out.
        """
        return joint_counts(self.survey, partial(self._reports_to, strata), question)

    def people(self, strata: Stratum | None) -> int:
        """Returns the number of reports in a subgroup, or of all reports if ``strata`` is None or
        empty."""
        if self.tallied is not None:
            return self.tallied.among(strata or {}).n
        if not strata:
            return self.n
        ((key, value),) = strata.items()
        return len(self.reports.by(key)[value])

    def _reports_to(self, strata: Stratum | None, first: int, other: int) -> Blocks | None:
        """Returns what each respondent of a subgroup reported to two questions; None where it is
        not known."""
        if self.tallied is not None:
            return pairs_of(self.survey, self.tallied.among(strata or {}), first, other)
        reports = self.reports
        for key, value in (strata or {}).items():
            reports = reports.by(key)[value]
        return values_of(reports, self.names(first, other))

    def subgroups(
        self, question: str | None, by: str, confidence: float, *, smooth: bool = False
    ) -> dict[str, SurveyResult]:
        """Returns the results of each value of the stratum key ``by``, as {value: results}.

        Values with too few reports to be shown are left out. Raises NoFigure for an unknown
        question or key, NoResults where there are no counts by stratum or the server shows no
        subgroup, and BadModel where the strata of the reports are not known.
        """
        check_confidence(confidence)
        values = self.key_values(by)
        if question is not None:
            self.question(question)
        if self.served is None or self._remote is None:
            return {
                value: self._estimated(_Wanted(question, confidence, smooth, (by, value)), tallies)
                for value, tallies in self.tallies_by(by).items()
            }
        shown = [value for value in values if {by: value} in (self.served.subgroups or [])]
        if not shown:
            raise NoResults(f"{self.survey.name}: no value of {by} has results of its own")
        options: dict[str, Any] = {"confidence": confidence, "smooth": smooth}
        return {
            value: _only(question, fetch_results(self._remote, strata={by: value}, **options))
            for value in shown
        }

    def tallies_by(self, by: str) -> dict[str, dict[str, Tally]]:
        """Returns the tally of each question in each value of the stratum key ``by``, as {value:
        {question: tally}}.

        Values with no report to some question are left out. Raises NoResults and BadModel under
        the same conditions as ``subgroups``.
        """
        if self.tallied is None:
            tallies = {value: part.tally() for value, part in self.reports.by(by).items()}
        else:
            tallies = {value: counts.tallies for value, counts in self._counts_by(by)}
        return {
            value: of_value
            for value, of_value in tallies.items()
            if all(tally.n for tally in of_value.values())
        }

    def pairs(self, first: int, second: int) -> Blocks:
        """Returns the pairs of reports that the same person gave to two questions, in blocks.
        ``first`` and ``second`` are the indices of the questions.

        Raises NoResults where a tally file has no joint counts of the two questions, and NoFigure
        where these are of more than 20 million pairs.
        """
        if self.tallied is None:
            return values_of(self.reports, self.names(first, second))
        names = [self.survey.questions[index].name for index in (first, second)]
        return pair_blocks(self._both(self.tallied.whole, names))

    def pairs_by(self, by: str, first: int, second: int) -> Iterator[tuple[str, Blocks]]:
        """Yields (value, pairs) for each value of the stratum key ``by``: the pairs of reports of
        the people with that value, in blocks as ``pairs`` returns them.

        Values are left out where nobody was asked both questions. Raises NoFigure for an unknown
        key, and the errors of ``pairs``.
        """
        self.key_values(by)
        names = [self.survey.questions[index].name for index in (first, second)]
        if self.tallied is None:
            for value, part in self.reports.by(by).items():
                if were_asked(part, *names).any():
                    yield value, values_of(part, names)
            return
        for value, counts in self._counts_by(by):
            groups = self._both(counts, names)
            if any(groups.values()):
                yield value, pair_blocks(groups)

    def _counts_by(self, by: str) -> Iterator[tuple[str, Counts]]:
        """Yields the counts of each value of a key in a tally file. Raises NoResults where it has
        none by stratum."""
        assert self.tallied is not None
        for value in self.key_values(by):
            yield value, self.tallied.among({by: value})

    def _both(self, counts: Counts, names: Sequence[str]) -> Groups:
        """Returns the joint counts of two questions in a tally file. Raises NoResults where it has
        none, and NoFigure for very many."""
        first, other = names
        groups = counts.both(first, other)
        if groups is None:
            raise NoResults(
                f"{self.survey.name}: this tally file has no pairs of {first} and {other}; count"
                f" them with deniably tally ... --pair {first} {other}"
            )
        if (n := sum(groups.values())) > MOST_PAIRS:
            raise NoFigure(
                f"a cross-table is of at most {MOST_PAIRS:,} pairs of reports, and not"
                f" {n:,}; the tally file has their counts, under pairs"
            )
        return groups

    def first_part(self, by: str) -> float:
        """Returns the share of respondents whose value of the stratum key ``by`` is the first of
        two.

        Returns 0.5 where the counts by stratum are not known, or the key does not have two values.
        Raises NoFigure for an unknown key.
        """
        values = self.key_values(by)
        if len(values) != 2 or not self.has_tallies:
            return 0.5
        try:
            sizes = [
                # Not everybody is asked every question; the largest count is nearest to the number
                # of people.
                max(tally.n for tally in tallies.values())
                for tallies in self.tallies_by(by).values()
            ]
        except (NoResults, BadModel):
            return 0.5
        return sizes[0] / sum(sizes) if len(sizes) == 2 else 0.5


def inside(reports: ReportSet, by: str, value: str) -> npt.NDArray[np.bool_]:
    """Returns a boolean for each report: whether the value of its stratum key ``by`` is
    ``value``."""
    there: npt.NDArray[np.bool_] = np.array(reports.strata[by], object) == value
    return there


def were_asked(reports: ReportSet, *questions: str) -> npt.NDArray[np.bool_]:
    """Returns a boolean for each row of the set: whether that person was asked all of these
    questions."""
    there = [reports.answered(question).asked for question in questions]
    asked_all: npt.NDArray[np.bool_] = np.logical_and.reduce(there)
    return asked_all


def _only(question: str | None, document: SurveyResult) -> SurveyResult:
    """Returns the document with the results of one question, or unchanged if ``question`` is
    None."""
    chosen = [each for each in document.questions if question in (None, each.name)]
    return structs.replace(document, questions=chosen)


def check_confidence(confidence: float) -> None:
    """Raises NoFigure unless ``confidence`` is from 0.5 to 0.999."""
    if not LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE:
        raise NoFigure(
            f"the confidence is {confidence:g}; it is from {LEAST_CONFIDENCE} to {MOST_CONFIDENCE},"
            " such as 0.95"
        )
