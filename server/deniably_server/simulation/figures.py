"""Every number that a question's results show: its truth among the people, and its estimates.

``truths`` and ``estimates`` list the same figures in the same order; None stands where a figure
cannot be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation import analysis
from deniably.estimation.estimate import Estimate
from deniably.estimation.inversion import Mean
from deniably.estimation.tally import Tally
from deniably.survey.parts import Range
from deniably.survey.questions import (
    Number,
    Point,
    Product,
    Question,
    Scale,
    SelectMultiple,
    SelectOne,
    VectorOfNumbers,
    YesNo,
)
from deniably_server.results.finding import area_text, number_text
from deniably_server.simulation.people import Answers, Column, blocks

Int64 = npt.NDArray[np.int64]
Ends = tuple[float, float]


@dataclass(frozen=True)
class Truth:
    """A figure among all people: a share of them if ``share``, else in the question's unit.

    ``value`` is that of their answers as they are, ``asked`` what is left of it where numbers
    outside the question's bounds count as the nearer one: reports tell no more, however many.
    ``outside`` is the share of such answers. ``spread`` is the variance from person to person of
    that whose mean is estimated, None where the figure is no mean.
    """

    name: str
    share: bool
    value: float
    spread: float | None
    asked: float
    outside: float = 0.0


@dataclass(frozen=True)
class Found:
    """A figure from reports, with the ends of its 95 % intervals; ``estimate`` is None where it
    cannot be told, and the intervals leave all open."""

    estimate: float | None
    standard_error: float | None
    population: Ends
    respondents: Ends | None


# --- the truth --------------------------------------------------------------------------------


def truths(answers: Answers) -> Sequence[Truth | None]:
    """The figures of a question if everybody's answer were known."""
    match answers.question:
        case Scale() as question:
            found = _frequencies(answers, len(question.choices))
            shown = _shares(question.names, found) if question.aim == "distribution" else []
            return [*shown, _mean_score(question, found)]
        case YesNo() | SelectOne() | SelectMultiple() as question:
            return _shares(question.names, _frequencies(answers, len(question.choices)))
        case Number() as question:
            more = _distribution(question, answers) if _is_spread(question) else []
            return [_mean_number(question, answers), *more]
        case VectorOfNumbers() as question:
            return [
                _mean(f"{part.name} mean", part.range, encoded, column)
                for part, column, encoded in zip(
                    question.parts, answers.columns, answers.encoded, strict=True
                )
            ]
        case Product() as question:
            cells = _frequencies(answers, question.once.k).reshape(question.shape)
            axes = range(len(question.parts))
            marginals = [cells.sum(axis=tuple({*axes} - {axis})) for axis in axes]
            return [
                *(
                    truth
                    for part, found in zip(question.parts, marginals, strict=True)
                    for truth in _shares([f"{part.name}.{one.name}" for one in part.choices], found)
                ),
                *_shares(_cell_names(question), cells.ravel()),
            ]
        case Point() as question:
            return _places(question, answers)


def _frequencies(answers: Answers, k: int) -> Floats:
    """The share of people who give each of k answers."""
    counts = np.zeros(k, dtype=np.int64)
    for inputs in answers.blocks():
        ticked = inputs.dtype == np.bool_
        counts += inputs.sum(axis=0) if ticked else np.bincount(inputs, minlength=k)
    return counts / answers.n


def _shares(names: Sequence[str], shares: Floats) -> list[Truth]:
    return [
        Truth(name, True, share, share * (1 - share), share)
        for name, share in zip(names, shares.tolist(), strict=True)
    ]


def _places(question: Point, answers: Answers) -> list[Truth]:
    """The share of people within each area. Whoever is off the map is in none, and counts in one
    at its edge."""
    counted = _frequencies(answers, question.once.k)
    off = [
        _outside(part.range, _numbers(column))
        for part, column in zip(question.parts, answers.columns, strict=True)
    ]
    within = np.zeros(question.once.k, dtype=np.int64)
    for some in blocks(answers.n):
        inputs = answers.inputs(some)
        away = np.logical_or(
            *(one[column.codes[some]] for one, column in zip(off, answers.columns, strict=True))
        )
        within += np.bincount(inputs[~away], minlength=len(within))
    true = within / answers.n
    outside = 1 - int(within.sum()) / answers.n
    return [
        Truth(name, True, share, asked * (1 - asked), asked, outside)
        for name, share, asked in zip(
            _cell_names(question), true.tolist(), counted.tolist(), strict=True
        )
    ]


def _numbers(column: Column) -> Floats:
    """The numbers that stand in a column, as they were given."""
    return np.array([float(text) for text in column.texts])


def _outside(grid: Range, numbers: Floats) -> npt.NDArray[np.bool_]:
    return (numbers < float(grid.minimum)) | (numbers > float(grid.maximum))


def _mean_score(question: Scale, shares: Floats) -> Truth | None:
    scored = np.array([name not in analysis.UNSCORED for name in question.names])
    having = float(shares[scored].sum())
    if not having:
        return None
    values = np.array(question.values, dtype=np.float64)[scored]
    among = shares[scored] / having
    mean = float(among @ values)
    # The estimate is a ratio of two means: to first order that of (score - mean) / having.
    return Truth("mean score", False, mean, float(among @ (values - mean) ** 2) / having, mean)


def _mean(name: str, grid: Range, positions: Int64, column: Column) -> Truth:
    """The mean of the numbers as they were given; they are asked as positions on the grid."""
    counts = column.counts()
    total = int(counts.sum())
    mean = Fraction(int(counts @ positions), total)
    spread = float(counts @ (positions - float(mean)) ** 2) / total
    step = float(grid.value(1) - grid.value(0))
    asked, numbers = float(grid.value(mean)), _numbers(column)
    moved = float(grid.minimum) + step * positions - numbers
    moved[np.abs(moved) < 1e-9 * step] = 0  # on the grid, but for the rounding of doubles
    outside = int(counts[_outside(grid, numbers)].sum()) / total
    return Truth(
        name, False, asked - float(counts @ moved) / total, spread * step**2, asked, outside
    )


def _mean_number(question: Number, answers: Answers) -> Truth:
    """The mean of the numbers themselves, also where they are reported by buckets and estimated
    from the middles: that is an error of the survey which the simulation has to show."""
    grid, (column,) = question.range, answers.columns
    if question.once.k == grid.positions:
        return _mean("mean", grid, answers.encoded[0], column)
    positions = np.array([grid.position(text) for text in column.texts])
    mean = _mean("mean", grid, positions, column)
    middles = np.array([float(middle) for middle in analysis.bucket_middles(question)])
    shares = _frequencies(answers, question.once.k)
    spread = float(shares @ middles**2 - (shares @ middles) ** 2)
    return replace(mean, spread=spread)


def _distribution(question: Number, answers: Answers) -> list[Truth]:
    ends = analysis.bucket_ends(question)
    at_most = np.cumsum(_frequencies(answers, len(ends)))[:-1]
    names = [f"at most {number_text(high)}" for _, high in ends[:-1]]
    middles = [float(middle) for middle in analysis.bucket_middles(question)]
    (column,) = answers.columns
    numbers = _numbers(column)
    order = np.argsort(numbers)
    below = np.cumsum(column.counts()[order]) / answers.n
    outside = int(column.counts()[_outside(question.range, numbers)].sum()) / answers.n

    def quantile(share: float) -> Truth:
        # Sums of shares can miss one of 0.1 by a rounding.
        middle = middles[int((at_most < share - 1e-12).sum())]
        given = numbers[order][int((below < share - 1e-12).sum())]
        beyond = bool(_outside(question.range, given))
        value = float(given) if beyond else middle
        return Truth(f"quantile {share:g}", False, value, None, middle, outside)

    return [*_shares(names, at_most), *map(quantile, analysis.QUANTILES)]


# --- what reports say -------------------------------------------------------------------------


def estimates(question: Question, tally: Tally) -> Sequence[Found | None]:
    """The figures of a question from the tally of its reports."""
    match question:
        case Scale():
            shown = _estimated(analysis.shares(question, tally)) if _is_spread(question) else []
            mean = _estimated_mean(analysis.mean(question, tally)) or _untold(question)
            return [*shown, mean]
        case YesNo() | SelectOne() | SelectMultiple():
            return _estimated(analysis.shares(question, tally))
        case Number():
            first = [_estimated_mean(analysis.mean(question, tally))]
            return first + (
                _estimated_distribution(question, tally) if _is_spread(question) else []
            )
        case VectorOfNumbers():
            return [_estimated_mean(mean) for mean in analysis.means(question, tally)]
        case Product():
            found = [*analysis.marginals(question, tally), analysis.joint(question, tally)]
            return [one for shares in found for one in _estimated(shares)]
        case Point():
            return _estimated(analysis.joint(question, tally))


def _estimated(found: Estimate) -> list[Found]:
    columns = (
        found.raw,
        found.standard_error,
        found.low,
        found.high,
        found.respondents_low,
        found.respondents_high,
    )
    return [
        Found(raw, error, (low, high), (own_low, own_high))
        for raw, error, low, high, own_low, own_high in np.stack(columns, axis=1).tolist()
    ]


def _estimated_mean(mean: Mean | None) -> Found | None:
    if mean is None:
        return None
    population, respondents = mean.population, mean.respondents
    return Found(
        mean.estimate,
        population.standard_error,
        (population.low, population.high),
        (respondents.low, respondents.high),
    )


def _untold(question: Scale) -> Found | None:
    """A mean score that cannot be told: it may be anywhere on the scale, which holds any truth."""
    if not analysis.is_ratio(question):
        return None
    ends = analysis.scored_range(question)
    return Found(None, None, ends, ends)


def _estimated_distribution(question: Number, tally: Tally) -> list[Found | None]:
    found = analysis.number_distribution(question, tally)
    buckets = [(float(low), float(high)) for low, high in analysis.bucket_ends(question)]
    quantiles: list[Found | None] = [
        Found(
            sum(buckets[quantile.bucket]) / 2,
            None,
            (buckets[quantile.low][0], buckets[quantile.high][1]),
            None,
        )
        for quantile in found.quantiles
    ]
    at_most = [_estimated_mean(mean) for mean in found.at_most]
    return [
        *(at_most or [None] * (len(buckets) - 1)),
        *(quantiles or [None] * len(analysis.QUANTILES)),
    ]


# --- below ------------------------------------------------------------------------------------


def _is_spread(question: Number | Scale) -> bool:
    return question.aim == "distribution"


def _cell_names(question: Product | Point) -> list[str]:
    if isinstance(question, Product):
        names = [[choice.label for choice in part.choices] for part in question.parts]
    else:
        cells = range(question.grid)
        names = [
            [area_text(part.range, cell, question.grid) for cell in cells]
            for part in question.parts
        ]
    return [", ".join(each) for each in product(*names)]
