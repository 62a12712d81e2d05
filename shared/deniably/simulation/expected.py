"""What reports say on average: the design of a question, without any chance in it."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.channels import matrix, noise_law, noise_variance, rounding, rows
from deniably.estimation.tally import Tally
from deniably.mechanisms import (
    BoundedLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
)
from deniably.mechanisms.vector import Part
from deniably.simulation.people import Answers, Encoded

SO_MANY = 10**9
"""Reports of the expected tally: so many that rounding it to whole reports is far below a digit."""

_REACH = 12  # standard deviations; noise beyond has less than a ten-millionth of the probability


def expected_tally(answers: Answers) -> Tally:
    """The tally of ``SO_MANY`` reports by people of whom as many as here give each answer, if
    every report came as often as its probability says."""
    mechanism = answers.question.once
    start, cells = 0, np.zeros(1)
    for inputs in answers.blocks():
        start, more = _expected(mechanism, inputs)
        cells = cells + more
    counts = np.rint(cells * (SO_MANY / answers.n)).astype(np.int64)
    return Tally(SO_MANY, counts, start, endless=mechanism.cell_count is None)


def _expected(mechanism: Mechanism, inputs: Encoded) -> tuple[int, Floats]:
    """The first cell, and how many reports to ``inputs`` count in each from there on."""
    match mechanism:
        case SubsetSelection(k=k):
            return 0, _supports(mechanism, np.bincount(inputs, minlength=k), len(inputs))
        case Unary():
            return 0, _supports(mechanism, inputs.sum(axis=0), len(inputs))
        case SetResponse(most=most):
            ticked = inputs.sum(axis=1)
            blanks = [(ticked < most - blank).sum() for blank in range(most)]
            return 0, _supports(mechanism, np.append(inputs.sum(axis=0), blanks), len(inputs))
        case SampledTicks(k=k, s=s):
            yes = _supports(mechanism, inputs.sum(axis=0), len(inputs))
            return 0, np.stack([len(inputs) - yes, yes], axis=1).ravel() * s / k
        case Gaussian(d=d) if d > 1:
            return _side_by_side([_of_number(mechanism, column) for column in inputs.T])
        case Vector(parts=parts, s=s):
            single = [_of_number(part, one) for part, one in zip(parts, inputs.T, strict=True)]
            start, cells = _side_by_side(single)
            return start, cells * s / len(parts)
        case _:
            return _of_number(mechanism, inputs)


def _supports(
    mechanism: SubsetSelection | SetResponse | SampledTicks | Unary, own: Encoded, n: int
) -> Floats:
    p, q = float(mechanism.p), float(mechanism.q)
    found: Floats = own * p + (n - own) * q
    return found


def _of_number(mechanism: Part | Gaussian, inputs: Encoded) -> tuple[int, Floats]:
    given = np.bincount(inputs, minlength=mechanism.k).astype(np.float64)
    match mechanism:
        case Laplace() | Gaussian():
            reach = ceil(_REACH * sqrt(noise_variance(mechanism)))
            law = noise_law(mechanism, np.arange(-reach, reach + 1))
            return -reach, np.maximum(_convolved(given, law), 0.0)
        case BoundedLaplace():
            return 0, given @ matrix(mechanism)
        case _:  # only of positions that somebody has: there may be a million
            some = np.flatnonzero(given)
            knots = rounding(mechanism.k, len(rows(mechanism)), some)
            return 0, given[some] @ knots @ rows(mechanism)


def _convolved(one: Floats, other: Floats) -> Floats:
    size = len(one) + len(other) - 1  # by Fourier: a range can have a million positions
    return np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(other, size), size)


def _side_by_side(parts: list[tuple[int, Floats]]) -> tuple[int, Floats]:
    """Cells ``number * d + part`` from the cells of d parts."""
    first = min(start for start, _ in parts)
    beyond = max(start + len(cells) for start, cells in parts)
    table = np.zeros((beyond - first, len(parts)))
    for index, (start, cells) in enumerate(parts):
        table[start - first : start - first + len(cells), index] = cells
    return first * len(parts), table.ravel()
