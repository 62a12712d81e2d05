"""Simulates the reports of many devices at once, with exactly the output distribution of a device.

A device draws one report with ``mechanism.randomise``. A million such calls would take minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import cycle, islice
from operator import add

import numpy as np
import numpy.typing as npt

from deniably.core.table import Cell, aligned
from deniably.estimation.shares_among_asked import FollowUpCounts, Pairs, follow_ups, joint_counts
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Supporting
from deniably.simulation import bulk
from deniably.simulation.blanks import blanks_for, with_blanks
from deniably.simulation.bulk.any_law import named
from deniably.simulation.bulk.picks import picked
from deniably.simulation.made_up import Answers, make_up
from deniably.simulation.people import (
    BLOCK,
    People,
    QuestionAnswers,
    blocks,
    column_names,
    read_people,
)
from deniably.survey.questions import Question
from deniably.survey.strata import Stratum, members
from deniably.survey.survey import Survey

_HEAD = 5
"""The number of reports that ``repr`` shows."""


@dataclass(frozen=True, eq=False)
class Some:
    """The reports of a block of n people to one question.

    ``asked`` (n,) marks the people who were asked. ``reports`` holds one row for each of them, in
    their order, in the layout of ``bulk.randomise_many``.
    """

    question: Question
    asked: npt.NDArray[np.bool_]
    reports: bulk.Reports

    def among(self, chosen: npt.NDArray[np.bool_]) -> Some:
        """Returns the reports of only those people whom ``chosen`` (n,) marks. All others become
        "not asked", so everybody keeps their index."""
        return Some(self.question, self.asked & chosen, self.reports[chosen[self.asked]])

    def tally(self) -> Tally:
        """Returns the tally of these reports."""
        return bulk.tally_many(self.question.report_mechanism, self.reports)

    def cells(self) -> Iterator[tuple[int, ...] | None]:
        """Yields for each person the tally cells that the report counts in, or None for people who
        were not asked."""
        law, reports = self.question.mechanism.law, iter(self.reports)
        for asked in self.asked.tolist():
            if not asked:
                yield None
            elif named(law):
                bits = np.unpackbits(next(reports), bitorder="little")
                yield tuple(np.flatnonzero(bits).tolist())
            else:
                yield tuple(np.atleast_1d(next(reports)).tolist())


Block = Mapping[str, Some]
"""The reports of a block of people, by the name of the question."""


@dataclass(frozen=True, eq=False, repr=False)
class Reports:
    """The reports of ``n`` people, in ``blocks``: all that a server sees of these people.

    Each report is random, and says nothing certain about anybody. ``strata`` (n,) holds the index
    of each person's stratum, which is not randomised; 0 for all if the survey has none. ``blanks``
    has the tally of the blanks to each question that a mixer adds, by name; empty without a mixer.
    """

    survey: Survey
    n: int
    blocks: Sequence[Block]
    strata: npt.NDArray[np.uint8]
    blanks: Mapping[str, Tally] = field(default_factory=dict[str, Tally])

    def rows(self) -> Iterator[dict[str, Cell]]:
        """Yields one dict for each person: the value of each stratum key, then the report to each
        question, by name.

        A report is a text with the choices that it names, separated by "; ", or with the indices
        of the tally cells that it counts in. A report is None if the device was not asked the
        question.
        """
        strata_of_survey, strata = self.survey.every_stratum, iter(self.strata.tolist())
        for block in self.blocks:
            columns = [_texts(some) for some in block.values()]
            for cells in zip(*columns, strict=True):
                yield {**strata_of_survey[next(strata)], **dict(zip(block, cells, strict=True))}

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        names = [
            *sorted(self.survey.strata or {}),
            *(question.name for question in self.survey.questions),
        ]
        head = [[str(row[name] or "") for name in names] for row in islice(self.rows(), _HEAD)]
        more = [f"... {self.n:,} reports in all"] if self.n > _HEAD else []
        return "\n".join([*aligned([names, *head], len(names)), *more])


def randomise(people: People) -> Reports:
    """Randomises the answers of each person with the survey's mechanisms, as devices do.

    Raises ValueError if no device picked one of the questions: simulate more people.

    >>> from deniably import load_survey, randomise, simulate_people
    >>> survey = load_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> len(randomise(simulate_people(survey, 1_000)))
    1000
    """
    blocks = list(_blocks(people))
    for question in people.survey.questions:
        if not any(block[question.name].asked.any() for block in blocks):
            raise ValueError(f"nobody was asked {question.name}; simulate more people")
    blanks = blanks_for(people.survey)
    return Reports(people.survey, people.n, blocks, people.strata, blanks)


def randomise_again(people: People, n: int) -> Iterator[Reports]:
    """Yields the reports of ``n`` people in batches, so that memory stays bounded. The answers are
    those of ``people``, one person after the other; if there are fewer than n, from the first
    person again."""
    # Few people are repeated to a full block: a batch of each handful would be slow.
    batch = people.repeated(-(-BLOCK // people.n))
    while n > 0:
        some = batch if n >= batch.n else batch.first(n)
        yield Reports(some.survey, some.n, list(_blocks(some)), some.strata)
        n -= some.n


def tally(reports: Reports, *, strata: Stratum | None = None) -> dict[str, Tally]:
    """Tallies reports, and returns the tally of each question by its name. Estimates need nothing
    else. With a mixer, the blanks that it adds are in the tallies.

    ``strata``, such as ``{"site": "north"}``, restricts the tally to a subgroup. Raises ValueError
    for a key or value that the survey does not have.

    >>> from deniably import load_survey, randomise, simulate_people, tally
    >>> survey = load_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> found = tally(randomise(simulate_people(survey, 1_000)))["stolen"]
    >>> found.n, int(found.counts.sum())  # of "yes" and "no"
    (1000, 1000)
    """
    if not strata:
        return with_blanks(tally_blocks(reports.survey, reports.blocks), reports.blanks)
    inside = np.isin(reports.strata, members(reports.survey.strata or {}, strata))
    return tally_blocks(reports.survey, _chosen(reports.blocks, inside))


def _chosen(some: Iterable[Block], inside: npt.NDArray[np.bool_]) -> Iterator[Block]:
    """The reports of some of the people."""
    start = 0
    for block in some:
        stop = start + len(next(iter(block.values())).asked)
        yield {name: column.among(inside[start:stop]) for name, column in block.items()}
        start = stop


def tally_blocks(survey: Survey, some: Iterable[Block]) -> dict[str, Tally]:
    """Tallies reports that come in blocks, and returns the tally of each question by its name."""
    by_question: dict[str, list[Tally]] = {question.name: [] for question in survey.questions}
    for block in some:
        for name, tallies in by_question.items():
            tallies.append(block[name].tally())
    return {name: reduce(add, tallies) for name, tallies in by_question.items()}


def simulate(people: People) -> dict[str, Tally]:
    """Simulates one run, in which everybody's device answers once. Returns the tally of each
    question by its name, and keeps no reports.

    Raises ValueError if no device picked one of the questions.
    """
    tallies = tally_blocks(people.survey, _blocks(people))
    if short := [name for name, tally in tallies.items() if tally.n == 0]:
        raise ValueError(f"nobody was asked {', '.join(short)}; simulate more people")
    return with_blanks(tallies, blanks_for(people.survey))


@dataclass(frozen=True, eq=False)
class Run:
    """The tallies from one run of a survey.

    ``tallies`` has the tally of every question by its name. ``together`` has, for each question
    with ``show_if``, the joint counts of its reports and of the reports to the question that
    decides whether it is shown.
    """

    tallies: Mapping[str, Tally]
    together: Mapping[str, FollowUpCounts]


def simulate_whole(people: People) -> Run:
    """Simulates one run, in which everybody's device answers once, and also counts reports jointly
    for questions with ``show_if``. Raises ValueError if no device picked one of the questions."""
    survey = people.survey
    # Joint counts need every report at once; without ``show_if`` a tally of each block is enough.
    # Through a mixer answers travel apart, and nobody counts two of them jointly.
    if survey.mixer or not follow_ups(survey):
        return Run(simulate(people), {})
    reports = randomise(people)

    def reports_to(first: int, other: int) -> Pairs:
        names = [survey.questions[index].name for index in (first, other)]
        for block in reports.blocks:
            columns = [
                [None if cells is None else list(cells) for cells in block[name].cells()]
                for name in names
            ]
            yield list(zip(*columns, strict=True))

    return Run(tally(reports), joint_counts(survey, reports_to))


def simulate_people(survey: Survey, n: int) -> People:
    """Makes up ``n`` people and their true answers.

    The popularity of each choice is drawn once for all people. Numbers have one peak. People are
    spread evenly over the strata. Raises ValueError unless n is at least 1.

    >>> from deniably import load_survey, simulate_people
    >>> survey = load_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> simulate_people(survey, 1_000)
    1,000 people with answers to 1 question
    """
    if n < 1:
        raise ValueError(f"{n} people; there is at least 1")
    names = [name for question in survey.questions for name in column_names(question)]
    rows = (_row(survey.questions, answers) for answers in make_up(survey, n))
    links = cycle(list(stratum.values()) for stratum in survey.every_stratum)
    keys = sorted(survey.strata or {})
    return read_people(survey, [keys + names, *map(add, links, rows)])


def _blocks(people: People) -> Iterator[Block]:
    survey = people.survey
    for some in blocks(people.n):
        size: int = some.stop - some.start
        # Which questions each device asks, as ``report.draw_questions`` picks them.
        asked = picked(np.full(size, survey.asked), len(survey.questions))
        yield {
            answers.question.name: _randomised(answers, some, own)
            for answers, own in zip(people.answers, asked.T, strict=True)
        }


def _randomised(answers: QuestionAnswers, some: slice, asked: npt.NDArray[np.bool_]) -> Some:
    inputs = answers.inputs(some)[asked]
    return Some(
        answers.question, asked, bulk.randomise_many(answers.question.report_mechanism, inputs)
    )


def _row(questions: Sequence[Question], answers: Answers) -> list[str]:
    """Answers as cells of a table; a hidden question has an empty cell."""
    cells: list[str] = []
    for question in questions:
        match answers.get(question.name, ""):
            case dict() as parts:
                cells += parts.values()  # in the order of the columns
            case list() as ticked:
                cells.append(";".join(ticked))
            case cell:
                cells.append(cell)
    return cells


def _texts(some: Some) -> Iterator[Cell]:
    law, choices = some.question.mechanism.law, _names(some.question)
    by_name = isinstance(law, Supporting) and len(choices) == law.cell_count
    for cells in some.cells():
        if cells is None:
            yield None
        else:
            yield "; ".join(choices[cell] if by_name else str(cell) for cell in cells)


def _names(question: Question) -> list[str]:
    return [choice.name for choice in getattr(question, "choices", [])]
