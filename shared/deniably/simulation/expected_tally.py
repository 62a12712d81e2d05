"""Computes the expected tally of a question for people whose answers are known."""

from __future__ import annotations

from math import ceil, comb, sqrt

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation.blank_laws import has_choice
from deniably.estimation.channels import masses, rounding, rows
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Law, Noise, OfNumber, Several, Supporting, Ticks
from deniably.simulation.people import Encoded, QuestionAnswers

SO_MANY = 10**9
"""The number of people in an expected tally: large enough that rounding to whole reports does not
matter."""
FEWER = 10**5
"""The same where a mixer added blanks: intervals then enumerate how many support a choice."""

_REACH = 12  # standard deviations; noise beyond has less than a ten-millionth of the probability


def expected_tally(answers: QuestionAnswers, blanks: int = 0) -> Tally:
    """Returns the expected tally of a question, scaled to ``SO_MANY`` people: each cell has its
    expected share of reports if people give the answers ``answers``.

    Where a mixer adds so many ``blanks`` to their reports, these are scaled alike, and people are
    ``FEWER``."""
    law = answers.question.mechanism.law
    start, cells = 0, np.zeros(1)
    for inputs in answers.blocks():
        start, more = _expected(law, inputs)
        cells = cells + more
    if blanks:
        cells = cells + blanks * _of_blank(law)
    people = FEWER if blanks else SO_MANY
    scale = people / answers.n
    counts = np.rint(cells * scale).astype(np.int64)
    many = round(blanks * scale)
    return Tally(people, counts, start, endless=law.cell_count is None, blanks=many)


def _of_blank(law: Law) -> Floats:
    """How many times a blank counts in each of these cells, in the mean."""
    match law:
        case Supporting():
            own = _own_of_blank(law)
            return (own * float(law.p) + (1 - own) * float(law.q)) * float(law.sampled_fraction)
        case Several():
            _, cells = _side_by_side([_of_counts(part, _evenly(part)) for part in law.parts])
            return cells * float(law.sampled_fraction)
        case _:
            return _of_counts(law, _evenly(law))[1]


def _own_of_blank(law: Supporting) -> Floats:
    """The probability that each cell speaks for a uniformly random answer."""
    domain = law.domain
    ticked = np.full(law.k, float(has_choice(domain)))
    if not isinstance(domain, Ticks):
        return ticked
    if law.both:
        return np.stack([1 - ticked, ticked], axis=1).ravel()
    sizes = [comb(domain.k, ticks) / domain.count for ticks in range(domain.most + 1)]
    return np.append(ticked, [sum(sizes[: law.padding - cell]) for cell in range(law.padding)])


def _evenly(law: OfNumber) -> Floats:
    return np.full(law.k, 1 / law.k)


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
    return _of_counts(law, np.bincount(inputs, minlength=law.k).astype(np.float64))


def _of_counts(law: OfNumber, counts: Floats) -> tuple[int, Floats]:
    """The first cell, and how many reports count in each, by how many people have each number."""
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
