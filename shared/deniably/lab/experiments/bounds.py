"""Experiment L8: how wide a range of numbers to ask for, which trades clipping against noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, floor, log, log10, sqrt
from typing import Annotated, Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import special

from deniably.core.binomial import Floats
from deniably.core.bisection import smallest
from deniably.core.table import Cell
from deniably.estimation.channels import position_scores
from deniably.estimation.figures import Average, groups
from deniably.lab.catalogue import each_question, experiment
from deniably.lab.curator import LaplaceNoise
from deniably.lab.draws import Draws
from deniably.lab.example_questions import question as example_question
from deniably.lab.example_questions import stated
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import (
    EpsilonInput,
    Exact,
    Real,
    SeedInput,
    Whole,
    as_privacy,
    privacy_text,
)
from deniably.lab.picture import Picture, column, dots, line, value
from deniably.mechanisms.law import Finite
from deniably.results.drawing.axes import of_parts, of_ratios, of_values
from deniably.results.drawing.graph import Graph
from deniably.results.drawing.rounding import NARROW, number
from deniably.survey.questions import Number, Question

_STEPS = 1000
"""The number of steps of the range, for any maximum."""
_PLACES, _DRAWN_EVERY = 17, 4
_SURVEYS, _FEWEST_SURVEYS, _MOST_REPORTS = 20, 4, 50_000

PeopleInput = Annotated[int, Whole(minimum=10, maximum=100_000, help="How many people answer.")]
MiddleInput = Annotated[
    Exact, Real(minimum=0, maximum=20, help="Natural logarithm of the number in the middle.")
]
WidthInput = Annotated[
    Exact,
    Real(minimum=Fraction(1, 10), maximum=2, help="Standard deviation of the logarithm."),
]
MaximumInput = Annotated[
    Exact, Real(minimum=1, maximum=10**9, help="A maximum to compare with others.")
]


def _of_question(question: Question) -> dict[str, Any] | None:
    """Questions about one number whose mean is reported."""
    if not isinstance(question, Number):
        return None
    return {"question": question} if isinstance(groups(question)[0].figures[0], Average) else None


@experiment(
    "How wide a range",
    "How wide may the range of a number be?",
    [
        Reference("Dwork and Roth", 2014, "The Algorithmic Foundations of Differential Privacy,"
               " section 3.3: noise as wide as the range"),
        Reference("Amin, Kulesza, Munoz and Vassilvitskii", 2019, "Bounding user contributions,"
               " ICML: clipping against noise"),
    ],
    each_question(_of_question),
)  # fmt: skip
def bounds(
    *,
    mu: MiddleInput = 10,
    spread: WidthInput = 1,
    n: PeopleInput = 5000,
    epsilon: EpsilonInput = 1,
    maximum: MaximumInput = 20_000,
    seed: SeedInput = 1,
    values: npt.ArrayLike | None = None,
    question: Question | None = None,
) -> ExperimentFindings:
    """Shows how far the mean is off if numbers above a maximum count as the maximum.

    Clipping lowers the mean; a larger maximum needs more noise, which grows with the range. The
    numbers are lognormal, like incomes, with parameters ``mu`` and ``spread``, or the numbers
    ``values`` if these are given. With a survey's ``question`` about a number, only the effect of
    noise is shown, since its answers are not known.

    Raises ValueError if ``values`` are empty or contain anything but numbers from 0.
    """
    if question is not None:
        return _of_survey(question, n)
    numbers: _Numbers = _LogNormal(float(Fraction(mu)), float(Fraction(spread)))
    if values is not None:
        numbers = _Table(np.asarray(values, dtype=np.float64))
    level = as_privacy(epsilon)
    # The mechanism sees positions on a grid, so one question serves every maximum.
    clipping = _Clipping(numbers, example_question(type="number", minimum=0, maximum=_STEPS, step=1,
                                        **stated(level)), n)  # fmt: skip
    central = LaplaceNoise(level.ln).noise(1 / n).deviation
    tried = float(Fraction(maximum))
    best = numbers.best(clipping.noise)
    curator = numbers.best(central)

    draws = Draws(seed, "bounds")
    places = _places(numbers, [tried, best, curator])
    rows: list[dict[str, Cell]] = []
    for place, bound in enumerate(places):
        row = clipping.row(bound, central)
        if bound in (tried, best) or place % _DRAWN_EVERY == 0:
            row |= clipping.drawn(bound, draws)
        rows.append(row)
    at = dict(zip(places, rows, strict=True))
    at[tried]["what"], at[best]["what"] = "maximum that was given", "best maximum"
    at[curator]["what"] = "curator's best maximum"

    at_tried, ours, theirs = at[tried], at[best], at[curator]
    answer = (
        f"With {n:,} people at epsilon {privacy_text(level)} the best maximum is {number(best)}. It"
        f" clips {_hundred(ours)}{NARROW}% of the numbers, and the mean is off by"
        f" {_short(value(ours, 'planned'))}. A maximum of {number(tried)} clips"
        f" {_hundred(at_tried)}{NARROW}%, and the mean is off by"
        f" {_short(value(at_tried, 'planned'))}. A trusted curator would be off by"
        f" {_short(value(theirs, 'curator'))} at {number(curator)}."
    )
    notes = [
        "“Planned” is the error that an author plans with, for the worst spread of answers within"
        " the range. The draws follow the exact error, for these numbers and a fresh sample of"
        " people.",
        "The curator's error has only noise and clipping. The sample of people adds"
        f" {_short(numbers.deviation / sqrt(n))} to it, whatever the range and whoever is trusted.",
        "More people do not reduce clipping. Take the range from a register or an earlier survey:"
        " if you know nothing beforehand, you do not know the clipping either.",
    ]
    return ExperimentFindings(answer, rows, _pictures(rows), notes, clipping.mechanism.described)


class _Numbers(Protocol):
    """What people would answer if nothing were clipped: numbers from 0."""

    @property
    def mean(self) -> float: ...
    @property
    def deviation(self) -> float: ...
    def beyond(self, bound: float) -> float:
        """The share above ``bound``."""
        ...

    def lost(self, bound: float) -> float:
        """By how much clipping to ``bound`` pulls the mean down."""
        ...

    def below(self, ends: Floats) -> Floats:
        """The shares of numbers below each of ``ends``."""
        ...

    def draw(self, draws: Draws, size: int) -> Floats: ...
    @property
    def ends(self) -> tuple[float, float]:
        """From the number in the middle to one that hardly anybody is above."""
        ...

    def best(self, noise: float) -> float:
        """The maximum with the least error, where noise is ``noise`` times as wide."""
        ...


@dataclass(frozen=True)
class _LogNormal:
    mu: float
    s: float

    @property
    def mean(self) -> float:
        return exp(self.mu + self.s**2 / 2)

    @property
    def deviation(self) -> float:
        return self.mean * sqrt(exp(self.s**2) - 1)

    @property
    def ends(self) -> tuple[float, float]:
        # 3.5 standard deviations above the median: about 1 in 4,000 are beyond.
        return exp(self.mu), exp(self.mu + 3.5 * self.s)

    def _away(self, bound: float) -> float:
        return (log(bound) - self.mu) / self.s

    def beyond(self, bound: float) -> float:
        return float(special.ndtr(-self._away(bound)))

    def lost(self, bound: float) -> float:
        away = self._away(bound)
        # The mean of (X - bound)_+ for a lognormal X, as in the formula of Black and Scholes
        # (1973).
        return self.mean * float(special.ndtr(self.s - away)) - bound * self.beyond(bound)

    def below(self, ends: Floats) -> Floats:
        return np.asarray(special.ndtr((np.log(ends) - self.mu) / self.s))

    def draw(self, draws: Draws, size: int) -> Floats:
        return np.asarray(np.exp(self.mu + self.s * special.ndtri(draws.uniform(size))))

    def best(self, noise: float) -> float:
        return _best(self, noise)


class _Table:
    """Numbers that are known: people are drawn from them."""

    def __init__(self, values: Floats) -> None:
        if values.ndim != 1 or not values.size:
            raise ValueError(
                f"values are of the shape {values.shape}; give one row of numbers, at least one"
            )
        if not (np.isfinite(values) & (values >= 0)).all() or not values.any():
            raise ValueError("values are numbers from 0, not all of them 0")
        self.values = np.sort(values)
        self.mean, self.deviation = float(values.mean()), float(values.std())

    @property
    def ends(self) -> tuple[float, float]:
        middle, top = np.quantile(self.values, [0.5, 1.0])
        return float(middle or top / 2), float(top)

    def beyond(self, bound: float) -> float:
        return float((self.values > bound).mean())

    def lost(self, bound: float) -> float:
        return float(np.maximum(self.values - bound, 0).mean())

    def below(self, ends: Floats) -> Floats:
        return np.searchsorted(self.values, ends) / self.values.size

    def draw(self, draws: Draws, size: int) -> Floats:
        return np.asarray(self.values[(draws.uniform(size) * self.values.size).astype(np.int64)])

    def best(self, noise: float) -> float:
        return _best(self, noise)


def _best(numbers: _Numbers, noise: float) -> float:
    """Where one step more of range adds as much noise as it takes from clipping.

    The squared error is lost(M)^2 + (noise M)^2, whose slope is 0 where noise^2 M is lost(M) times
    the share above M: that falls as M rises.
    """
    return smallest(
        lambda bound: noise**2 * bound >= numbers.lost(bound) * numbers.beyond(bound),
        numbers.mean,
    )


class _Clipping:
    """A mean of numbers up to any maximum, by a question that cuts the range into steps."""

    def __init__(self, numbers: _Numbers, question: Question, people: int) -> None:
        self.numbers, self.people = numbers, people
        self.mechanism = question.report_mechanism
        figure, law = groups(question)[0].figures[0], self.mechanism.law
        assert isinstance(figure, Average)
        assert isinstance(law, Finite)
        self.score, self.scores = figure.score(self.mechanism), position_scores(law)
        self.noise = sqrt(figure.variance(self.mechanism) / people)
        """The standard error as a part of the range, planned for the worst spread of answers."""

    def row(self, bound: float, central: float) -> dict[str, Cell]:
        """The error at a maximum in its parts, as it is planned."""
        lost, noise = self.numbers.lost(bound), self.noise * bound
        return {
            "what": "maximum",
            "maximum": bound,
            "clipped": self.numbers.beyond(bound),
            "clipping": lost,
            "noise": noise,
            "planned": sqrt(lost**2 + noise**2),
            "curator": sqrt(lost**2 + (central * bound) ** 2),
        }

    def drawn(self, bound: float, draws: Draws) -> dict[str, Cell]:
        """The error of surveys that are drawn, and the exact one, of these numbers in steps."""
        # Numbers are rounded to the nearest step, so that steps meet halfway.
        edges: Floats = (np.arange(_STEPS, dtype=np.float64) + 0.5) * (bound / _STEPS)
        shares = np.diff(self.numbers.below(edges), prepend=0.0, append=1.0)
        place = np.arange(_STEPS + 1) / _STEPS
        square = np.interp(place, self.score.target, self.score.square)
        mean = float(shares @ place)
        bias = mean * bound - self.numbers.mean
        variance = (float(shares @ square) - mean**2) / self.people * bound**2
        exact = sqrt(bias**2 + variance)
        times = max(_FEWEST_SURVEYS, min(_SURVEYS, _MOST_REPORTS // self.people))
        off = [self._estimate(bound, draws) - self.numbers.mean for _ in range(times)]
        return {
            "exact": exact,
            "drawn": sqrt(sum(error**2 for error in off) / times),
            # By the delta method: the mean of squares of a normal error with this bias, then its
            # root.
            "standard_error": sqrt((2 * variance + 4 * bias**2) * variance / times) / (2 * exact),
        }

    def _estimate(self, bound: float, draws: Draws) -> float:
        # As a form does with what is too large.
        clipped = np.minimum(self.numbers.draw(draws, self.people), bound)
        # Rounded to the nearest step, halves upwards.
        places = np.floor(clipped * (_STEPS / bound) + 0.5).astype(np.int64)
        tally = draws.tally(self.mechanism, Counter(places.tolist()))
        return float(tally.counts @ self.scores) / self.people * bound / _STEPS


def _places(numbers: _Numbers, more: Sequence[float]) -> list[float]:
    """Maxima with even ratios that hold all the others."""
    low, high = min(*numbers.ends, *more), max(*numbers.ends, *more)
    # Even ratios, for a logarithmic axis.
    even = np.geomspace(low, high, _PLACES).tolist()
    return sorted({*even[1:-1], low, high, *more})


def _pictures(rows: list[dict[str, Cell]]) -> list[Picture]:
    across = of_ratios(column(rows, "maximum"))
    heights = [0.0, *column(rows, "planned"), *column(rows, "clipping"), *column(rows, "curator"),
             *column(rows, "drawn")]  # fmt: skip
    best = [row for row in rows if row["what"] == "best maximum"]
    return [
        Picture(
            "How far the mean is off, by the maximum that is asked for",
            Graph(across, "maximum", of_values(heights), "off by", [
                line(rows, "maximum", "curator", "trusted curator, noise and clipping", "mute"),
                line(rows, "maximum", "clipping", "clipping", "second", dashed=True),
                line(rows, "maximum", "noise", "noise", "mark", dashed=True),
                line(rows, "maximum", "planned", "both, as planned", "mark"),
                dots(rows, "maximum", "drawn", "surveys that were drawn"),
                dots(best, "maximum", "planned", "the best maximum", "mark", hollow=True),
            ]),
        ),
        Picture(
            "How many numbers are above the maximum",
            Graph(across, "maximum", of_parts([0, *column(rows, "clipped")]), "clipped", [
                line(rows, "maximum", "clipped", "of all numbers", "second"),
                dots(best, "maximum", "clipped", "at the best maximum", "mark", hollow=True),
            ]),
        ),
    ]  # fmt: skip


def _of_survey(question: Question, n: int) -> ExperimentFindings:
    """Noise by the width of the range; clipping is unknown, since nothing is known of answers."""
    mechanism, figure = question.report_mechanism, groups(question)[0].figures[0]
    assert isinstance(figure, Average)
    noise = sqrt(figure.variance(mechanism) / n)
    rows: list[dict[str, Cell]] = [
        {"what": "this range" if times == 1 else "another range", "range": times * figure.width,
         "noise": times * figure.width * noise, "clipping": None, "known": "unknown"}
        for times in (0.25, 0.5, 1.0, 2.0, 4.0)
    ]  # fmt: skip
    ours = [row for row in rows if row["what"] == "this range"]
    unit = f" {figure.unit}" if figure.unit else ""
    answer = (
        f"With {n:,} people and the survey's range of {_short(figure.width)}{unit}, the mean is off"
        f" by {_short(value(ours[0], 'noise'))}{unit}. How much clipping adds is unknown, because"
        " nothing is known about the answers."
    )
    graph = Graph(
        of_values([0.0, *column(rows, "range")]), f"width of the range{unit}",
        of_values([0.0, *column(rows, "noise")]), f"off by{unit}",
        [line(rows, "range", "noise", "noise"),
         dots(ours, "range", "noise", "the range that is asked for", "mark")],
    )  # fmt: skip
    notes = ["Clipping is unknown. To see it, try the question on numbers of a register with"
             " “deniably simulate”."]  # fmt: skip
    return ExperimentFindings(
        answer, rows, [Picture("Noise is as wide as the range", graph)], notes, mechanism.described
    )


def _hundred(row: dict[str, Cell]) -> str:
    return number(100 * value(row, "clipped"), 1)


def _short(shown: float) -> str:
    """Whole where it is large or whole, else with three digits."""
    if shown >= 100 or shown == round(shown):
        return number(shown)
    return number(shown, 2 - floor(log10(abs(shown))))
