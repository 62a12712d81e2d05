"""Lists the figures of a question: the shares, means and quantiles that its results give.

Results, spreadsheet, plan and simulation all read this one list. A figure is one number of the
results. Figures that are estimated together form a group, and ``groups`` returns the groups of a
question in display order.

The accuracy of a figure is n times the variance of its estimate from n people drawn at random. The
noise of the mechanism and the differences between people both add to it. If it depends on how
answers are spread, the worst spread counts. Shares are on [0, 1]. So are means: as parts of the
range from the least to the largest number that an answer counts as.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from math import inf
from typing import Literal

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation import question_distributions, question_means, question_shares
from deniably.estimation.estimate import Estimate
from deniably.estimation.inversion import Mean, allowed
from deniably.estimation.question_distributions import Distribution
from deniably.estimation.question_shares import CONFIDENCE
from deniably.estimation.scores import Score, of_choice, of_number, of_target
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import HasLaw, Law, Supporting
from deniably.survey.parts import Choice, ChoicePart, NumberPart, Range
from deniably.survey.questions import (
    Number,
    OfChoices,
    Point,
    Product,
    Question,
    Scale,
    VectorOfNumbers,
)
from deniably.survey.readable import area_text, number_text

Ends = tuple[float, float]

_MEANS = 129  # tried, for the worst


@dataclass(frozen=True)
class FigureEstimate:
    """A figure estimated from reports, with the ends of its intervals.

    ``estimate`` is None where the reports do not determine it; the intervals then span the whole
    scale. A quantile has no standard error and no ``sample_margin``.
    """

    estimate: float | None
    standard_error: float | None
    population_margin: Ends
    sample_margin: Ends | None


@dataclass(frozen=True)
class Known:
    """The true value of a figure, for people whose answers are known.

    The figure is the mean of some quantity over people; ``spread`` is the variance of that quantity
    between people.
    """

    value: float
    spread: float


# --- figures ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Share:
    """A figure: the share of people who give one of ``answers``, which are indices of answers.

    ``key`` is the figure's name for programs, and ``labels`` is its name for people: several labels
    for a combination of choices. ``name`` is the name of the choice, empty where the figure is not
    about a single choice.
    """

    kind: Literal["share", "share at most", "joint share"]
    key: str
    labels: tuple[str, ...]
    answers: Sequence[int]
    name: str = ""

    @property
    def label(self) -> str:
        """The figure's name for people, its labels with commas between them."""
        return ", ".join(self.labels)

    def truth(self, shares: Floats) -> Known:
        """Returns the true value of the figure, given the true shares of all answers, shape
        (k,)."""
        share = float(sum(shares[list(self.answers)].tolist()))
        # The variance between people of a yes or no.
        return Known(share, share * (1 - share))

    def score(self, mechanism: HasLaw[Law]) -> Score:
        """Returns the score of the figure: what one report adds to its estimate.

        Raises ValueError where the reports do not determine the share.
        """
        law = mechanism.law
        # The score of one choice is known for ticks, too, which ``of_target`` refuses.
        if isinstance(law, Supporting) and len(self.answers) == 1:
            return of_choice(law)
        target = np.zeros(law.domain.count)
        target[list(self.answers)] = 1.0
        return of_target(law, target)

    def variance(
        self, mechanism: HasLaw[Law], share: float | None = None, blanks: float = 0.0
    ) -> float:
        """Returns n times the variance of the estimate at a true ``share``.

        By default that is the share with the largest variance. A mixer adds so many ``blanks``
        for each person. The result is inf where the reports do not determine the figure.
        """
        try:
            score = self.score(mechanism)
        except ValueError:
            return inf
        return score.at(score.peak if share is None else share, blanks)


@dataclass(frozen=True, eq=False)
class Average:
    """A figure: the mean of the numbers that answers stand for, in ``unit``, within ``ends``.

    ``key`` is its name for programs, ``label`` that for people. In a question with several numbers,
    ``index`` says which of them. ``values``, shape (k,), are the numbers that the k answers stand
    for; None where answers are positions on the question's grid, of which there may be a million.
    ``scored`` marks the answers that have a score; None means all of them. The mean is among people
    who gave a scored answer.
    """

    key: str
    label: str
    unit: str
    ends: Ends
    values: Floats | None = None
    scored: npt.NDArray[np.bool_] | None = None
    index: int = 0
    kind: Literal["mean"] = "mean"
    by_position: bool = True
    """Whether it is estimated as a mean position, by a score that rises evenly."""

    @property
    def extent(self) -> Ends:
        """The smallest and the largest number that an answer stands for."""
        if self.values is None:
            return self.ends
        some = self.values if self.scored is None else self.values[self.scored]
        return float(some.min()), float(some.max())

    @property
    def width(self) -> float:
        """The difference between the largest and the smallest number that an answer stands for."""
        low, high = self.extent
        return high - low

    @property
    def places(self) -> Floats:
        """The numbers that answers stand for, shifted and scaled so that they run from 0 to 1;
        shape (k,)."""
        assert self.values is not None
        return (self.values - self.extent[0]) / self.width

    def truth(self, shares: Floats) -> Known | None:
        """Returns the true mean, given the true shares of all answers, shape (k,).

        None if nobody has a score.
        """
        assert self.values is not None
        scored = np.ones(len(shares), dtype=np.bool_) if self.scored is None else self.scored
        having = float(shares[scored].sum())
        if not having:
            return None
        among, values = shares[scored] / having, self.values[scored]
        mean = float(among @ values)
        # The estimate is a ratio of two means: to first order that of (value - mean) / having.
        return Known(mean, float(among @ (values - mean) ** 2) / having)

    def score(self, mechanism: HasLaw[Law]) -> Score:
        """Returns the score of the mean, with the mean scaled so that ``extent`` is 0 to 1.

        The score is what one report adds to the estimate. Raises ValueError where the reports do
        not determine the mean, and for a mean among only some people, which is a ratio.
        """
        if self.scored is not None:
            raise ValueError("a mean among some is a ratio, and no mean of scores")
        if self.by_position:
            return of_number(mechanism, self.index)
        return of_target(mechanism, self.places)

    def variance(self, mechanism: HasLaw[Law], blanks: float = 0.0) -> float:
        """Returns n times the variance of the estimate for the worst distribution of answers.

        The mean is scaled so that ``extent`` is 0 to 1. For a mean among the people with a score, n
        is the number of these people, for each of whom there are ``blanks``. The result is inf
        where the reports do not determine the mean.
        """
        try:
            if self.scored is None:
                return self.score(mechanism).worst(blanks)
            places, scored = self.places.tolist(), self.scored.tolist()
            return _worst_of_ratio(mechanism, tuple(places), tuple(scored), blanks)
        except ValueError:
            return inf


@lru_cache(maxsize=256)  # 8 ms each, and a check of a draft asks for the same again and again
def _worst_of_ratio(
    mechanism: HasLaw[Law], places: tuple[float, ...], scored: tuple[bool, ...], blanks: float
) -> float:
    """The largest variance of a mean among those who are on the scale. Raises ValueError where the
    reports do not determine it."""
    where, on_scale = np.array(places), np.array(scored)
    tried = np.linspace(0, 1, _MEANS)
    return max(_squared_error(mechanism, where, on_scale, float(mu), blanks) for mu in tried)


def _squared_error(
    mechanism: HasLaw[Law], places: Floats, scored: npt.NDArray[np.bool_], mu: float, blanks: float
) -> float:
    """To first order a ratio errs as the mean of place - mu does among those who are on the scale,
    where mu is the true mean, and that of nothing among the others."""
    apart = np.where(scored, places - mu, 0.0)
    score = of_target(mechanism, apart)
    # inf is clipped to the upper hull: the largest mean square that answers with the mean mu can
    # have.
    largest = allowed(places[scored], score.square[scored])(mu, inf)
    return float(largest) + blanks * score.blank_variance


@dataclass(frozen=True)
class Quantile:
    """A figure: the number up to which a share ``level`` of all numbers lies.

    It is estimated as the middle of a bucket, the first up to whose end such a share lies.
    """

    key: str
    level: float
    kind: Literal["quantile"] = "quantile"


Figure = Share | Average | Quantile


# --- groups -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shares:
    """A group of shares that are estimated together: of all choices, all combinations or all areas.

    A product question asks several small questions, its parts, in one joint report. ``part`` is the
    part whose choices these are; None for shares of the whole question.
    """

    name: str
    figures: tuple[Share, ...]
    estimate: Callable[[Tally, float], Estimate]
    part: ChoicePart | None = None
    note: str = ""
    guarded: bool = True
    """Whether results say what fake reports can do to it: what a question is about, and not
    what comes with it."""

    def estimate_figures(
        self, tally: Tally, confidence: float = CONFIDENCE
    ) -> Sequence[FigureEstimate | None]:
        """Estimates all shares of the group from the tally of the question's reports."""
        estimated = self.estimate(tally, confidence)
        columns = (
            estimated.raw,
            estimated.standard_error,
            estimated.low,
            estimated.high,
            estimated.respondents_low,
            estimated.respondents_high,
        )
        return [
            FigureEstimate(raw, error, (low, high), (own_low, own_high))
            for raw, error, low, high, own_low, own_high in np.stack(columns, axis=1).tolist()
        ]

    def variance(
        self, mechanism: HasLaw[Law], share: float | None = None, blanks: float = 0.0
    ) -> float:
        """Returns n times the largest variance of the group's estimated shares, at a true
        ``share``.

        Without it, each estimate is taken at the true share for which its variance is largest.
        ``blanks`` is the number of those for each person.
        """
        try:
            # All choices of a question may have one score.
            distinct = {figure.score(mechanism) for figure in self.figures}
        except ValueError:
            return inf
        return max(score.at(score.peak if share is None else share, blanks) for score in distinct)

    def spread(self, share: float | None = None) -> float:
        """Returns n times the variance of a share if n people were asked directly.

        This is f (1 - f) at the true ``share`` f, and 1/4, the largest such value, without one.
        """
        return 0.25 if share is None else share * (1 - share)


@dataclass(frozen=True, eq=False)
class SingleMean:
    """A group of one figure, a mean.

    In a question with several numbers, ``part`` is the number whose mean this is; otherwise None.
    """

    name: str
    figure: Average
    estimate: Callable[[Tally, float], Mean | None]
    part: NumberPart | None = None
    note: str = ""
    guarded: bool = True

    @property
    def figures(self) -> tuple[Average]:
        """The group's single figure, its mean."""
        return (self.figure,)

    def estimate_figures(
        self, tally: Tally, confidence: float = CONFIDENCE
    ) -> Sequence[FigureEstimate | None]:
        """Estimates the mean from the tally of the question's reports, as a list of one.

        The entry is None where the reports do not determine the mean. For a mean score among some
        people it then has no estimate, and the whole scale as its interval.
        """
        mean = self.estimate(tally, confidence)
        if mean is not None:
            return [_of_mean(mean)]
        extent = self.figure.extent
        return [None if self.figure.scored is None else FigureEstimate(None, None, extent, extent)]

    def variance(
        self, mechanism: HasLaw[Law], share: float | None = None, blanks: float = 0.0
    ) -> float:
        """Returns n times the variance of the mean for the worst spread of answers; ignores
        ``share``."""
        return self.figure.variance(mechanism, blanks)

    def spread(self, share: float | None = None) -> float:
        """Returns n times the variance of a mean from 0 to 1 if n people were asked directly: 1/4.

        This is the worst case, with half of the people at either end.
        """
        return 0.25


@dataclass(frozen=True, eq=False)
class Buckets:
    """The group of figures that say how a number is distributed over its buckets.

    These are the shares up to the end of every bucket but the last, and quantiles. ``ranges`` are
    the first and the last number of every bucket as text, in ``unit``.
    """

    name: str
    shares: tuple[Share, ...]
    quantiles: tuple[Quantile, ...]
    ranges: tuple[tuple[str, str], ...]
    unit: str
    estimate: Callable[[Tally, float], Distribution]
    note: str = ""
    part: None = None
    guarded: bool = False
    _ends: tuple[Ends, ...] = field(default=(), repr=False)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures of the group: the shares, then the quantiles."""
        return (*self.shares, *self.quantiles)

    def estimate_figures(
        self, tally: Tally, confidence: float = CONFIDENCE
    ) -> Sequence[FigureEstimate | None]:
        """Estimates all figures from the tally of the question's reports: shares, then quantiles.

        An entry is None where the reports do not determine the shape of the distribution.
        """
        estimated = self.estimate(tally, confidence)
        quantiles = [
            FigureEstimate(
                sum(self._ends[quantile.bucket]) / 2,
                None,
                (self._ends[quantile.low][0], self._ends[quantile.high][1]),
                None,
            )
            for quantile in estimated.quantiles
        ]
        at_most = [_of_mean(mean) for mean in estimated.at_most]
        missing = [None] * len(self.figures)
        # Padded with None, so that there is one entry for each figure whatever could be estimated.
        return [*(at_most or missing[: len(self.shares)]), *quantiles, *missing][: len(missing)]

    def variance(
        self, mechanism: HasLaw[Law], share: float | None = None, blanks: float = 0.0
    ) -> float:
        """Returns n times the largest variance of the group's estimated shares, at a true
        ``share``.

        The result is inf where the reports do not determine the distribution.
        """
        return max(share_figure.variance(mechanism, share, blanks) for share_figure in self.shares)

    def spread(self, share: float | None = None) -> float:
        """Returns n times the variance of a share if n people were asked directly.

        This is f (1 - f) at the true ``share`` f, and 1/4, the largest such value, without one.
        """
        return 0.25 if share is None else share * (1 - share)


Group = Shares | SingleMean | Buckets


def groups(question: Question) -> list[Group]:
    """Returns the groups of figures of a question, in display order."""
    match question:
        case Scale():
            shares: list[Group] = [_choices(question)] if question.aim == "distribution" else []
            return shares + ([_mean_score(question)] if question_means.has_mean(question) else [])
        case Number():
            return [_number(question), *([_buckets(question)] if _is_spread(question) else [])]
        case VectorOfNumbers():
            return [_of_part(question, index) for index in range(len(question.parts))]
        case Product():
            parts = [_choices_of_part(question, axis) for axis in range(len(question.parts))]
            return [*parts, _combinations(question)]
        case Point():
            return [_areas(question)]
        case _:
            return [_choices(question)]


# --- below ------------------------------------------------------------------------------------


def _is_spread(question: Number | Scale) -> bool:
    return question.aim == "distribution"


def _choices(question: OfChoices) -> Shares:
    every = tuple(_choice(one, [v], one.name) for v, one in enumerate(question.choices))
    return Shares("share", every, partial(question_shares.shares, question))


def _choice(choice: Choice, answers: Sequence[int], key: str) -> Share:
    return Share("share", key, (choice.label,), answers, choice.name)


def _mean_score(question: Scale) -> SingleMean:
    even, scored = (
        question_means.by_position(question),
        np.array(question_means.has_score(question)),
    )
    values = np.array(question.values, dtype=np.float64)
    figure = Average(
        "mean score",
        "The mean score",
        "",
        question_means.scored_range(question),
        values,
        None if even or scored.all() else scored,
        by_position=even,
    )
    return SingleMean(
        "mean",
        figure,
        partial(question_means.mean, question),
        note="" if figure.scored is None else _AMONG,
        guarded=not _is_spread(question),
    )


_AMONG = (
    "of those who have a score, if that is everybody; if only half of all have one, the margin is"
    " up to twice as wide"
)


def _number(question: Number) -> SingleMean:
    grid, even, values = question.range, question_means.by_position(question), None
    if not even or question.mechanism.law.domain.count != grid.positions:
        values = np.array([float(one) for one in question_means.bucket_middles(question)])
    figure = Average("mean", "The mean", _unit(grid), _ends(grid), values, by_position=even)
    low, high = (number_text(end) for end in figure.extent)
    unit = f" {figure.unit}" if figure.unit else ""
    between = f"as a part of {low} to {high}{unit}, the middles of the first and the last bucket"
    note = "" if figure.extent == figure.ends else between
    if even and (off := question_means.position_line(question).off):
        note += f"; buckets of unequal width add up to {off:.2g}{unit} to the margin"
    return SingleMean("mean", figure, partial(question_means.mean, question), note=note)


def _buckets(question: Number) -> Buckets:
    ends = question_means.bucket_ends(question)
    ranges = tuple((number_text(low), number_text(high)) for low, high in ends)
    better = question_distributions.roots(question.report_mechanism) is not None
    return Buckets(
        "share up to a number",
        tuple(
            Share("share at most", f"at most {high}", (high,), range(t + 1))
            for t, (_, high) in enumerate(ranges[:-1])
        ),
        tuple(Quantile(f"quantile {level:g}", level) for level in question_distributions.QUANTILES),
        ranges,
        _unit(question.range),
        partial(question_distributions.number_distribution, question),
        f"at every end of the {question.mechanism.k} buckets; quantiles"
        + (" are known better than this" if better else " follow from it"),
        _ends=tuple((float(low), float(high)) for low, high in ends),
    )


def _of_part(question: VectorOfNumbers, index: int) -> SingleMean:
    part = question.parts[index]
    called = f"{part.name} mean", f"{part.label}: the mean"
    figure = Average(*called, _unit(part.range), _ends(part.range), index=index)
    estimate = partial(question_means.mean_of_part, question, index)
    return SingleMean(f"mean of {part.name}", figure, estimate, part)


def _choices_of_part(question: Product, axis: int) -> Shares:
    part = question.parts[axis]
    cells = np.arange(question.mechanism.k).reshape(question.shape)
    figures = tuple(
        _choice(
            choice, np.take(cells, index, axis=axis).ravel().tolist(), f"{part.name}.{choice.name}"
        )
        for index, choice in enumerate(part.choices)
    )
    estimate = partial(question_shares.part_shares, question, axis)
    return Shares(f"share of {part.name}", figures, estimate, part, guarded=False)


def _combinations(question: Product) -> Shares:
    names = [[choice.label for choice in part.choices] for part in question.parts]
    note = f"each of the {question.mechanism.k} combinations in the cross-table of the parts"
    return _cells(question, "share of a combination", names, note)


def _areas(question: Point) -> Shares:
    names = [
        [area_text(part.range, cell, question.grid) for cell in range(question.grid)]
        for part in question.parts
    ]
    sides = " by ".join(
        f"{float(part.range.value(part.range.positions) - part.range.value(0)) / question.grid:g}"
        + (f" {part.range.unit}" if isinstance(part.range.unit, str) else "")
        for part in question.parts
    )
    note = f"each of {question.grid**2} areas, about {sides}; groups on the map gather many of them"
    return _cells(question, "share of an area", names, note)


def _cells(
    question: Product | Point, name: str, names: Sequence[Sequence[str]], note: str
) -> Shares:
    figures = tuple(
        Share("joint share", ", ".join(labels), labels, [cell])
        for cell, labels in enumerate(product(*names))
    )
    return Shares(name, figures, partial(question_shares.cell_shares, question), note=note)


def _of_mean(mean: Mean) -> FigureEstimate:
    population, respondents = mean.population_margin, mean.sample_margin
    return FigureEstimate(
        mean.estimate,
        population.standard_error,
        (population.low, population.high),
        (respondents.low, respondents.high),
    )


def _unit(grid: Range) -> str:
    return grid.unit if isinstance(grid.unit, str) else ""


def _ends(grid: Range) -> Ends:
    return float(grid.minimum), float(grid.maximum)
