"""Computes the true value of every figure, for people whose answers are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation.figures import Buckets, Group, Share, Shares, SingleMean, groups
from deniably.estimation.question_means import bucket_middles
from deniably.estimation.shares_among_asked import FollowUp
from deniably.simulation.people import Column, QuestionAnswers, blocks
from deniably.survey.parts import Range
from deniably.survey.questions import Number, Point, Question, VectorOfNumbers

# Below one person in the largest simulation, and above the rounding of sums of shares.
_NOBODY = 1e-12
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Truth:
    """The true value of a figure: a share if ``share`` is True, otherwise a number in the
    question's unit.

    ``value`` is computed from the answers as given. ``asked`` is the clipped truth, to which
    estimates converge: numbers outside the question's bounds count as the nearer bound.
    ``outside`` is the share of people with such numbers. ``spread`` is the variance, between
    people, of the quantity whose mean is estimated; None if the figure is not the mean of a
    quantity over all people, such as a quantile.
    """

    name: str
    share: bool
    value: float
    spread: float | None
    asked: float
    outside: float = 0.0


def truths(answers: QuestionAnswers) -> list[Truth | None]:
    """Returns the true figures of a question, in the order of ``estimation.figures.groups``.

    A figure is None if it is about a group to which nobody belongs, such as the mean of scores if
    nobody chose an answer with a score.
    """
    known = _Known(answers)
    return [truth for group in groups(answers.question) for truth in _of_group(known, group)]


def truths_among(answers: QuestionAnswers, follow_up: FollowUp) -> list[Truth]:
    """Returns the true share of each answer among the people who were asked, for a question with
    ``show_if``; an empty list if nobody was asked."""
    shares = _Known(answers).shares
    asked = 1 - float(shares[follow_up.hidden])
    # Shares are sums of floats: nobody can be 1e-17 of the people.
    if asked < _NOBODY:
        return []
    names = follow_up.question.names
    return [
        Truth(f"{names[answer]} of those asked", True, share, None, share)
        for answer in follow_up.answers
        for share in [min(float(shares[answer]) / asked, 1.0)]
    ]


def shares(answers: QuestionAnswers) -> Floats:
    """Returns the share of people who give each answer or tick each option, shape (k,). Numbers
    outside the question's bounds count as the nearer bound.

    Only for questions with one mechanism input a person: a vector of numbers has no such shares.
    """
    return _Known(answers).shares


def _of_group(known: _Known, group: Group) -> Iterator[Truth | None]:
    match group:
        case SingleMean():
            yield _mean(known, group)
        case Shares():
            yield from _shares(known, group.figures)
        case Buckets():
            yield from _shares(known, group.shares)
            yield from _quantiles(known, group)


class _Known:
    """Counts of the answers to a question, made when needed."""

    def __init__(self, answers: QuestionAnswers) -> None:
        self.answers = answers

    @cached_property
    def shares(self) -> Floats:
        """The share of people who give each answer, or tick each option, shape (k,)."""
        return self._counts / self.answers.n

    @cached_property
    def within(self) -> Floats:
        """The shares, shape (k,), without the people off the map, whom ``shares`` counts at the
        map's edge."""
        if not isinstance(self.answers.question, Point):
            return self.shares
        return self._counts_within / self.answers.n

    @cached_property
    def off_the_map(self) -> float:
        """The share of people outside the bounds of a map."""
        if not isinstance(self.answers.question, Point):
            return 0.0
        return 1 - int(self._counts_within.sum()) / self.answers.n

    @cached_property
    def _counts(self) -> Int64:
        counts = np.zeros(_cells(self.answers.question), dtype=np.int64)
        for inputs in self.answers.blocks():
            ticked = inputs.dtype == np.bool_
            counts += inputs.sum(axis=0) if ticked else np.bincount(inputs, minlength=len(counts))
        return counts

    @cached_property
    def _counts_within(self) -> Int64:
        answers, question = self.answers, self.answers.question
        assert isinstance(question, Point)
        off = [
            _outside(part.range, _numbers(column))
            for part, column in zip(question.parts, answers.columns, strict=True)
        ]
        counts = np.zeros(_cells(question), dtype=np.int64)
        for some in blocks(answers.n):
            away = np.logical_or(
                *(
                    offset[column.codes[some]]
                    for offset, column in zip(off, answers.columns, strict=True)
                )
            )
            counts += np.bincount(answers.inputs(some)[~away], minlength=len(counts))
        return counts


def _cells(question: Question) -> int:
    assert not isinstance(question, VectorOfNumbers)
    return question.mechanism.k


# --- one function a kind ----------------------------------------------------------------------


def _shares(known: _Known, figures: Sequence[Share]) -> Iterator[Truth]:
    for figure in figures:
        true, asked = figure.truth(known.within), figure.truth(known.shares)
        yield Truth(figure.key, True, true.value, asked.spread, asked.value, known.off_the_map)


def _mean(known: _Known, group: SingleMean) -> Truth | None:
    question, figure = known.answers.question, group.figure
    if isinstance(question, Number):
        return _mean_number(question, known)
    if isinstance(question, VectorOfNumbers):
        answers, index = known.answers, figure.index
        grid, encoded = question.parts[index].range, answers.encoded[index]
        return _mean_of_numbers(figure.key, grid, encoded, answers.columns[index])
    mean = figure.truth(known.shares)
    if mean is None:
        return None
    return Truth(figure.key, False, mean.value, mean.spread, mean.value)


def _mean_of_numbers(name: str, grid: Range, positions: Int64, column: Column) -> Truth:
    """The mean of the numbers as given; the question asks for positions on the grid."""
    counts = column.counts()
    total = int(counts.sum())
    # Exact: the grid turns it into a value without a second rounding.
    mean = Fraction(int(counts @ positions), total)
    spread = float(counts @ (positions - float(mean)) ** 2) / total
    step = float(grid.value(1) - grid.value(0))
    clipped_mean, numbers = float(grid.value(mean)), _numbers(column)
    moved = float(grid.minimum) + step * positions - numbers
    moved[np.abs(moved) < 1e-9 * step] = 0  # on the grid, but for the rounding of doubles
    outside = int(counts[_outside(grid, numbers)].sum()) / total
    return Truth(
        name,
        False,
        clipped_mean - float(counts @ moved) / total,
        spread * step**2,
        clipped_mean,
        outside,
    )


def _mean_number(question: Number, known: _Known) -> Truth:
    """The mean of the numbers themselves, even if they are reported by buckets.

    The estimate then takes the middles of buckets. That error belongs to the survey, and the
    simulation has to show it.
    """
    grid, (column,) = question.range, known.answers.columns
    if question.mechanism.k == grid.positions:
        return _mean_of_numbers("mean", grid, known.answers.encoded[0], column)
    positions = np.array([grid.position(text) for text in column.texts])
    mean = _mean_of_numbers("mean", grid, positions, column)
    middles = np.array([float(middle) for middle in bucket_middles(question)])
    spread = float(known.shares @ middles**2 - (known.shares @ middles) ** 2)
    return replace(mean, spread=spread)


def _quantiles(known: _Known, group: Buckets) -> Iterator[Truth]:
    question, (column,) = known.answers.question, known.answers.columns
    assert isinstance(question, Number)
    at_most = np.cumsum(known.shares)[:-1]  # the last sum is 1, whatever rounding says
    middles = [float(middle) for middle in bucket_middles(question)]
    numbers = _numbers(column)
    # Columns have their texts in the order in which people wrote them first.
    order = np.argsort(numbers)
    below = np.cumsum(column.counts()[order]) / known.answers.n
    beyond = _outside(question.range, numbers)
    outside = int(column.counts()[beyond].sum()) / known.answers.n
    for figure in group.quantiles:
        # Sums of shares can miss one of 0.1 by a rounding.
        middle = middles[int((at_most < figure.level - 1e-12).sum())]
        choice = order[int((below < figure.level - 1e-12).sum())]
        value = float(numbers[choice]) if beyond[choice] else middle
        yield Truth(figure.key, False, value, None, middle, outside)


# --- below ------------------------------------------------------------------------------------


def _numbers(column: Column) -> Floats:
    """The numbers of a column, as given."""
    return np.array([float(text) for text in column.texts])


def _outside(grid: Range, numbers: Floats) -> npt.NDArray[np.bool_]:
    return (numbers < float(grid.minimum)) | (numbers > float(grid.maximum))
