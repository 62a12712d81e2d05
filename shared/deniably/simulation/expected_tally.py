"""Computes the expected tally of a question for people whose answers are known."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation.channels import masses, rounding, rows
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Law, Noise, OfNumber, Several, Supporting
from deniably.simulation.people import Encoded, QuestionAnswers

SO_MANY = 10**9
"""The number of reports in an expected tally: large enough that rounding to whole reports does not
matter."""

_REACH = 12  # standard deviations; noise beyond has less than a ten-millionth of the probability


def expected_tally(answers: QuestionAnswers) -> Tally:
    """Returns the expected tally of a question, scaled to ``SO_MANY`` reports: each cell has its
    expected share of reports if people give the answers ``answers``."""
    law = answers.question.mechanism.law
    start, cells = 0, np.zeros(1)
    for inputs in answers.blocks():
        start, more = _expected(law, inputs)
        cells = cells + more
    counts = np.rint(cells * (SO_MANY / answers.n)).astype(np.int64)
    return Tally(SO_MANY, counts, start, endless=law.cell_count is None)


def _expected(law: Law, inputs: Encoded) -> tuple[int, Floats]:
    """The first cell, and how many reports to ``inputs`` count in each from there on."""
    match law:
        case Supporting():
            own = _own(law, inputs)
            support = own * float(law.p) + (len(inputs) - own) * float(law.q)
            # Each cell is named with p by those whose answer it supports, with q by the others.
            return 0, support * float(law.sampled_fraction)
        case Several():
            single = [
                _of_number(part, column) for part, column in zip(law.parts, inputs.T, strict=True)
            ]
            # Sampling takes the same fraction of every number, so it scales all cells alike.
            start, cells = _side_by_side(single)
            return start, cells * float(law.sampled_fraction)
        case _:
            return _of_number(law, inputs)


def _own(law: Supporting, inputs: Encoded) -> npt.NDArray[np.int64]:
    """How many answers each cell speaks for."""
    if law.single:
        return np.bincount(inputs, minlength=law.k)
    ticked = inputs.sum(axis=0)
    if law.both:
        return np.stack([len(inputs) - ticked, ticked], axis=1).ravel()
    of_each = inputs.sum(axis=1)
    return np.append(ticked, [(of_each < law.padding - cell).sum() for cell in range(law.padding)])


def _of_number(law: OfNumber, inputs: Encoded) -> tuple[int, Floats]:
    counts = np.bincount(inputs, minlength=law.k).astype(np.float64)
    if isinstance(law, Noise):
        reach = ceil(_REACH * sqrt(law.variance))
        noise = masses(law, np.arange(-reach, reach + 1))
        return -reach, np.maximum(_convolved(counts, noise), 0.0)
    some = np.flatnonzero(counts)  # only positions that somebody has: there may be a million
    # Positions between two rows are rounded at random: they count in both, in proportion.
    knots = counts[some] @ rounding(law.k, law.rows, some)
    return 0, knots @ rows(law)


def _convolved(first: Floats, other: Floats) -> Floats:
    size = len(first) + len(other) - 1  # by Fourier: a range can have a million positions
    return np.fft.irfft(np.fft.rfft(first, size) * np.fft.rfft(other, size), size)


def _side_by_side(parts: list[tuple[int, Floats]]) -> tuple[int, Floats]:
    """Cells ``number * d + part`` from the cells of d parts."""
    first = min(start for start, _ in parts)
    beyond = max(start + len(cells) for start, cells in parts)
    table = np.zeros((beyond - first, len(parts)))
    for index, (start, cells) in enumerate(parts):
        table[start - first : start - first + len(cells), index] = cells
    return first * len(parts), table.ravel()
