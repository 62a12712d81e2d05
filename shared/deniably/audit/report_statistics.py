"""Counts whole reports, made with the system's own coins, to find what no replay can find.

Replays trust the reference and the recorded random bytes. So reports are also made without either,
and looked at from outside: whether the likeliest cell of an answer comes too often, in each
question and in all together; whether questions, or a question and the bits of an id, go together,
within a report, from a report to the next, and three at a time; whether ids are even, and never
twice the same.

A feature is a cell's indicator less its probability under the answer, or an id's bit less 1/2. For
a right device all have mean 0 given the answers, and those of different questions or reports are
independent. So each sum is of independent terms of mean 0 and at most 1 (pairs of neighbouring
reports are summed in two halves, each of reports that stand in no other pair), and Bernstein's
inequality bounds its tail: a right device is accused with probability at most ``ALPHA``, whatever
the survey.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, count, islice, product
from math import log
from random import Random
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deniably.audit.whole_reports import inputs, of_link
from deniably.core.binomial import Floats
from deniably.mechanisms.law import Finite, Law, Supporting
from deniably.survey.questions import NOT_APPLICABLE, MechanismInput, Question, SelectMultiple
from deniably.survey.report import Report, make_report, separate_reports
from deniably.survey.survey import Survey

REPORTS = 4000
"""How many reports are made, where the lists of their cells are short."""
_FEWEST, _CELLS_IN_ALL = 200, 20_000_000
"""Reports at least, and cells of all reports above which there are fewer: some ten seconds."""
ALPHA = 1e-6
"""The probability that a right device is accused."""
_ANSWERS, _CELLS = 6, 6
"""Answers and cells of a question that are looked at, spread over all."""
_TRIPLES = 20
"""Questions of which three at a time are looked at."""
_ID_BITS = 128

Make = Callable[[Survey, Mapping[str, object]], Report]
"""Makes a report of true answers."""


@dataclass(frozen=True)
class Counted:
    """The outcome of a test of the sums over ``n`` reports.

    ``tests`` is how many sums were tested; ``fault`` says in words what is wrong, None if nothing
    is.
    """

    n: int
    tests: int
    fault: str | None


class _Features(NamedTuple):
    """What reports show: values and their variances (n, features), the question of each feature
    (-1 of an id's bit), and its name."""

    values: Floats
    variances: Floats
    question: npt.NDArray[np.int64]
    names: list[str]


def _made(survey: Survey, answers: Mapping[str, object]) -> Report:
    if survey.mixer:
        return _joined(separate_reports(survey, answers))
    return make_report(survey, answers, strata=of_link(survey).get("strata")).report


def _joined(reports: Sequence[Report]) -> Report:
    """The reports that one person seals for a mixer as one, with the id of each in turn."""
    first = reports[next(_TURNS) % len(reports)]
    values = {name: value for report in reports for name, value in report.values.items()}
    return Report(first.id, first.survey, values)


_TURNS = count()
"""So that the ids of all questions are looked at."""


def reports_for(survey: Survey) -> int:
    """Returns how many reports ``count_reports`` makes by default.

    There are ``REPORTS``, or fewer for a survey whose reports have so many possible cells that
    counting takes long.
    """
    cells = sum(_size(question.mechanism.law) for question in survey.questions)
    return max(_FEWEST, min(REPORTS, _CELLS_IN_ALL // max(cells, 1)))


def count_reports(survey: Survey, n: int | None = None, make: Make = _made) -> Counted:
    """Makes ``n`` reports of made-up answers, and tests sums over the reports.

    ``n`` is by default ``reports_for(survey)``.
    """
    n = n or reports_for(survey)
    random = Random(n)  # noqa: S311  # of made-up answers
    encoded_answers: list[dict[str, Any]] = []
    reports: list[Report] = []
    offered: list[list[Any]] = [list(_inputs(question)) for question in survey.questions]
    for _ in range(n):
        chosen: list[MechanismInput] = [random.choice(some) for some in offered]
        answers = {
            question.name: question.decode(meant)
            for question, meant in zip(survey.questions, chosen, strict=True)
        }
        encoded_answers.append(inputs(survey, chosen))
        reports.append(make(survey, answers))
    seen = _features(survey, encoded_answers, reports)
    sums = list(_sums(seen, len(survey.questions)))
    tests = sum(each.sums.size for each in sums)
    ids = len({report.id for report in reports})
    fault = f"{n - ids} of {n:,} ids came before" if ids < n else _worst(sums, seen, n)
    return Counted(n, tests, fault)


def _inputs(question: Question) -> Iterator[Any]:
    """Some answers that are offered to people who are asked the question."""
    some: Iterator[Any] = islice(question.mechanism.law.domain.some(_ANSWERS), _ANSWERS)
    hidden: list[object] = [NOT_APPLICABLE, [NOT_APPLICABLE]]
    ticks = isinstance(question, SelectMultiple)
    # The inputs of ticks have none, too, which is no answer where there is exactly one.
    meant_ones = (meant for meant in some if ticks or meant != ())
    yield from (meant for meant in meant_ones if question.decode(meant) not in hidden)


# --- features -----------------------------------------------------------------------------------


def _features(
    survey: Survey, encoded_answers: Sequence[Mapping[str, Any]], reports: Sequence[Report]
) -> _Features:
    """The likeliest cell of each question first, then some cells, then the bits of ids."""
    columns = [_Column(at, question) for at, question in enumerate(survey.questions)]
    columns += [
        _Column(at, question, cell)
        for at, question in enumerate(survey.questions)
        for cell in _spread(question.mechanism.law)
    ]
    made = [
        [column.of(answers, report) for column in columns]
        for answers, report in zip(encoded_answers, reports, strict=True)
    ]
    values, variances = np.moveaxis(np.array(made, np.float64), 2, 0)
    ids = np.array([[int(digit, 16) for digit in report.id] for report in reports])
    bits = (ids[:, :, None] >> np.arange(4) & 1).reshape(len(reports), -1) - 0.5
    return _Features(
        np.hstack([values, bits]).astype(np.float64),
        np.hstack([variances, np.full(bits.shape, 0.25)]).astype(np.float64),
        np.array([*(column.at for column in columns), *[-1] * _ID_BITS]),
        [
            *(column.name for column in columns),
            *(f"bit {bit} of the id" for bit in range(_ID_BITS)),
        ],
    )


def _size(law: Law) -> int:
    """The number of cells of a law that has an end, else 0."""
    match law:
        case Supporting():
            return law.cell_count
        case Finite() if law.exact:
            return law.outputs
        case _:
            return 0


def _spread(law: Law) -> list[int]:
    """Some cells of a law that has an end."""
    count = _size(law)
    return sorted({count * place // _CELLS for place in range(_CELLS)}) if count else []


class _Column:
    """A cell of the question of number ``at``; without ``cell`` each answer's likeliest."""

    def __init__(self, at: int, question: Question, cell: int | None = None) -> None:
        self.at, self.cell = at, cell
        self.question, self.law = question.name, question.mechanism.law
        self.name = f"{question.name}, {'the likeliest cell' if cell is None else f'cell {cell}'}"
        self._chances: dict[Any, tuple[int, float]] = {}

    def of(self, encoded_answers: Mapping[str, Any], report: Report) -> tuple[float, float]:
        """Returns the feature of a report, and its variance; (0, 0) where the report does not
        answer the question."""
        reported = report.values.get(self.question)
        if reported is None:
            return 0.0, 0.0
        cell, chance = self._chance(encoded_answers[self.question])
        return (cell in reported) - chance, chance * (1 - chance)

    def _chance(self, answer: Any) -> tuple[int, float]:
        # Exact probabilities are slow, and thousands of reports have the same few answers.
        if answer not in self._chances:
            chances = partial(self.law.cell_probability, answer)
            cell = max(self.law.cells(answer), key=chances) if self.cell is None else self.cell
            self._chances[answer] = cell, float(chances(cell))
        return self._chances[answer]


# --- sums ---------------------------------------------------------------------------------------


class _Sums(NamedTuple):
    """Sums with the variance of each, and the features of each, (sums, features in a term).

    ``before`` says that the last of them is of the report before.
    """

    sums: Floats
    variances: Floats
    of: npt.NDArray[np.int64]
    before: bool = False

    def name(self, at: int, names: Sequence[str]) -> str:
        """Returns the name of a sum, made of the names of its features."""
        places: list[int] = self.of[at].tolist()
        terms = ", with ".join([names[place] for place in places])
        return f"{terms} of the report before" if self.before else terms


def _apart(question: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """The pairs of features, each once, that are independent: of two questions, or of two bits."""
    differ = (question[:, None] != question[None, :]) | (question[:, None] < 0)
    return np.triu(differ, 1)


def _sums(seen: _Features, questions: int) -> Iterator[_Sums]:
    x, v, width = seen.values, seen.variances, seen.values.shape[1]
    yield _Sums(x.sum(axis=0), v.sum(axis=0), np.arange(width)[:, None])
    # All questions' likeliest cells at once: small departures in the same direction add up here
    # alone.
    own = np.arange(questions)
    yield _Sums(x[:, own].sum(keepdims=True)[0], v[:, own].sum(keepdims=True)[0], own[None, :])
    first, second = np.nonzero(_apart(seen.question))
    yield _Sums((x.T @ x)[first, second], (v.T @ v)[first, second],
                np.column_stack([first, second]))  # fmt: skip
    # Also a feature with itself: a device could repeat what it sent before.
    both = np.array(list(product(range(width), repeat=2)), np.int64)
    for start in (0, 1):  # reports 0 and 1, 2 and 3, ...; then 1 and 2, 3 and 4, ...
        now = np.arange(start + 1, len(x), 2)
        earlier = now - 1
        yield _Sums((x[now].T @ x[earlier]).ravel(), (v[now].T @ v[earlier]).ravel(), both,
                    before=True)  # fmt: skip
    triples = [list(triple) for triple in combinations(range(min(questions, _TRIPLES)), 3)]
    if triples:
        terms, spread = (
            np.array([part[:, triple].prod(axis=1).sum() for triple in triples]) for part in (x, v)
        )
        yield _Sums(terms, spread, np.array(triples))


def _worst(sums: Sequence[_Sums], seen: _Features, n: int) -> str | None:
    """The sum with the least likely value, if a right device seldom has it; else None. Each kind of
    sums has an equal part of ``ALPHA``, and within it each sum."""
    fault, least_tail = None, 0.0
    for each in sums:
        # Bernstein's inequality for terms of at most 1, with Bonferroni's correction for all sums
        # and both sides. Rounding adds less than a millionth to any term.
        size = np.maximum(np.abs(each.sums) - 1e-6 * n, 0.0)
        tails = -(size**2) / (2 * (each.variances + size / 3) + 1e-300)
        tails -= log(ALPHA / (2 * size.size * len(sums)))
        at = int(tails.argmin())
        if tails[at] < least_tail:
            least_tail = float(tails[at])
            fault = (
                f"of {n:,} reports: {each.name(at, seen.names)}: {each.sums[at]:+,.1f} from what"
                f" the law expects, where {each.variances[at] ** 0.5:,.1f} is a standard error"
            )
    return fault
