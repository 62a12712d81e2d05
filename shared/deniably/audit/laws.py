"""The law of every mechanism, from its published parameters alone: what running code is held to.

Exact fractions where the law is finite. Noise has irrational probabilities; they are taken in
floating point and rounded up, by one part in 10**9.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction
from functools import lru_cache
from math import comb, exp, expm1, fsum, prod, sqrt, tanh
from typing import Any, cast

from deniably.core.errors import BadReport
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    Memoised,
    Report,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.mechanisms.noise import ratio

_ROUNDED_UP = Fraction(10**9 + 1, 10**9)
_NEAR = 64  # steps of noise to either side whose cells are counted


def check(mechanism: Mechanism, report: Hashable) -> Report:
    """The report, where it is one that the mechanism can make. Raises BadReport."""
    made = cast(tuple[object, ...], report)
    if not isinstance(report, tuple) or any(type(cell) is not int for cell in made):
        raise BadReport("a report is a tuple of integers")
    mechanism.check(cast(Report, made))
    return cast(Report, made)


def probability(mechanism: Mechanism, answer: Any, report: Report) -> Fraction:
    """P(report | answer) of a report that passes ``check``."""
    match mechanism:
        case SubsetSelection(k=k, omega=omega, own=own, other=other):
            total = comb(k - 1, omega - 1) * own + comb(k - 1, omega) * other
            return Fraction(own if answer in report else other, total)
        case Window() | Channel():
            return _rounded(mechanism, answer, report[0])
        case SetResponse(own=own, other=other, total=total):
            meets = set(report) & _padded(mechanism, answer)
            return Fraction(own if meets else other, total)
        case SampledTicks(k=k, s=s, p=p, q=q):
            ticks = [_of((item // 2 in answer) == item % 2, p, q) for item in report]
            return prod(ticks, start=Fraction(1, comb(k, s)))
        case Unary(k=k, p=p, q=q):
            said = [_of(option in answer, p, q) for option in range(k)]
            return prod(
                (one if option in report else 1 - one for option, one in enumerate(said)),
                start=Fraction(1),
            )
        case Laplace() | BoundedLaplace():
            return _noisy(mechanism, answer, report[0])
        case Gaussian(d=d):
            answers = _listed(answer)
            return prod(
                (_noisy(mechanism, answers[cell % d], cell // d) for cell in report),
                start=Fraction(1),
            )
        case Vector(parts=parts, s=s):
            d = len(parts)
            return prod(
                (probability(parts[c % d], answer[c % d], (c // d,)) for c in report),
                start=Fraction(1, comb(d, s)),
            )


def sent_probability(mechanism: Memoised[Any], memo: int, report: Report) -> Fraction:
    """P(report | memo): what has to be sent so that one report by itself is one of ``once``.

    Not by the weights that are sent with, but backwards, from the law of ``once``: of ``count``
    answers the memo says the right one with the odds ``odds`` against each other one, so one report
    is ``odds - 1`` times that of its own memo and once that of every memo.
    """
    once, odds = mechanism.once, Fraction(mechanism.own, mechanism.other)
    match once:
        case SetResponse(k=k, most=most, own=own, other=other, total=total):
            step = Fraction(own - other, total) / (odds - 1)
            return Fraction(other, total) - step + (most * odds + k) * step * (memo in report)
        case SubsetSelection(k=count, omega=omega):
            alone = probability(once, memo, report)
            every = Fraction(count, comb(count, omega))  # all sets are alike
        case _:
            count = len(once.weights) if isinstance(once, Channel) else once.m - once.w + 1
            alone = _output(once, memo, report[0])
            every = sum((_output(once, row, report[0]) for row in range(count)), Fraction(0))
    return ((odds + count - 1) * alone - every) / (odds - 1)


def cell_probability(mechanism: Mechanism, answer: Any, cell: int) -> Fraction:
    """P(the report counts in this cell of the tally | answer)."""
    match mechanism:
        case SubsetSelection(p=p, q=q):
            return _of(cell == answer, p, q)
        case SetResponse(p=p, q=q):
            return _of(cell in _padded(mechanism, answer), p, q)
        case SampledTicks(k=k, s=s, p=p, q=q):
            return Fraction(s, k) * _of((cell // 2 in answer) == cell % 2, p, q)
        case Unary(p=p, q=q):
            return _of(cell in answer, p, q)
        case Gaussian(d=d):
            return _noisy(mechanism, _listed(answer)[cell % d], cell // d)
        case Vector(parts=parts, s=s):
            d = len(parts)
            part = probability(parts[cell % d], answer[cell % d], (cell // d,))
            return Fraction(s, d) * part
        case Window() | Channel() | Laplace() | BoundedLaplace():
            return probability(mechanism, answer, (cell,))


def cells(mechanism: Mechanism, answer: Any) -> Iterable[int]:
    """The cells of a tally: all of them, of noise those near the answer."""
    match mechanism:
        case Laplace():
            return range(answer - _NEAR, answer + _NEAR + 1)
        case BoundedLaplace(k=k):
            return range(max(answer - _NEAR, 0), min(answer + _NEAR + 1, k))
        case Gaussian(d=d):
            near = range(-_NEAR, _NEAR + 1)
            return [(a + y) * d + i for i, a in enumerate(_listed(answer)) for y in near]
        case Vector(parts=parts):
            d = len(parts)
            return [c * d + i for i in range(d) for c in cells(parts[i], answer[i])]
        case _:
            return range(mechanism.cell_count)


def _of(own: bool | int, p: Fraction, q: Fraction) -> Fraction:
    return p if own else q


def _padded(mechanism: SetResponse, answer: Iterable[int]) -> set[int]:
    ticks = set(answer)
    return ticks | set(range(mechanism.k, mechanism.domain - len(ticks)))


def _listed(answer: Any) -> tuple[int, ...]:
    return (answer,) if isinstance(answer, int) else tuple(answer)


def _rounded(mechanism: Window | Channel, answer: int, output: int) -> Fraction:
    """Between the two rows that the position is rounded to without bias."""
    if isinstance(mechanism, Channel):
        rows = len(mechanism.weights)
    else:
        rows = mechanism.m - mechanism.w + 1
    low, rest = divmod(answer * (rows - 1), mechanism.k - 1)
    up = Fraction(rest, mechanism.k - 1)
    below = _output(mechanism, low, output)
    return below if not up else (1 - up) * below + up * _output(mechanism, low + 1, output)


def _output(mechanism: Window | Channel, row: int, output: int) -> Fraction:
    if isinstance(mechanism, Channel):
        return Fraction(mechanism.weights[row][output], sum(mechanism.weights[row]))
    inside = row <= output < row + mechanism.w
    return Fraction(mechanism.own if inside else mechanism.other, mechanism.total)


def _noisy(mechanism: Laplace | BoundedLaplace | Gaussian, answer: int, number: int) -> Fraction:
    if isinstance(mechanism, Gaussian):
        variance = float(ratio(mechanism.sigma2, "sigma2"))
        found = exp(-((number - answer) ** 2) / (2 * variance)) / _gaussian_total(variance)
    else:
        found = _laplace(mechanism, answer, number)
    return Fraction(found) * _ROUNDED_UP


@lru_cache(maxsize=64)
def _gaussian_total(variance: float) -> float:
    """The sum of e**(-y**2 / (2 variance)); what is 12 deviations away is less than 1e-30 of it."""
    reach = int(12 * sqrt(variance)) + 12
    return fsum(exp(-(y**2) / (2 * variance)) for y in range(-reach, reach + 1))


def _laplace(mechanism: Laplace | BoundedLaplace, answer: int, number: int) -> float:
    scale = float(ratio(mechanism.scale, "scale"))
    weight, last = exp(-abs(number - answer) / scale), mechanism.k - 1
    match mechanism:
        case BoundedLaplace(beyond="resample"):
            # The weights of 0 to last: two geometric series that meet at the answer.
            left, right = expm1(-(answer + 1) / scale), expm1(-(last - answer) / scale)
            return weight * expm1(-1 / scale) / (left + exp(-1 / scale) * right)
        case BoundedLaplace() if number in (0, last):
            return weight / (1 + exp(-1 / scale))  # all of the tail beyond this end
        case Laplace() if number in (-mechanism.reach, last + mechanism.reach):
            return weight / (1 + exp(-1 / scale))
        case _:
            return weight * tanh(1 / (2 * scale))
