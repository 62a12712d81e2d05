"""Compares estimates with the truth, for people whose true answers are known.

Answers go the way of real answers: they are encoded, randomised with exactly the law of the device,
tallied and estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.figures import FigureEstimate, groups
from deniably.estimation.shares_among_asked import (
    AmongAsked,
    FollowUp,
    among_asked,
    counts_alone,
    follow_ups,
)
from deniably.estimation.tally import Tally
from deniably.simulation.expected_tally import FEWER, SO_MANY, expected_tally
from deniably.simulation.people import People, QuestionAnswers
from deniably.simulation.reports import Run
from deniably.simulation.truth import Truth, truths, truths_among
from deniably.survey.mixer import Mixer
from deniably.survey.questions import Question
from deniably.survey.survey import Survey

Meant = Literal["these respondents", "the population"]
"""Whom an interval is about: the people who reported, or the population they were drawn from."""


@dataclass(frozen=True, eq=False)
class FigureRuns:
    """One figure of the results: its true value, and its estimates in several runs.

    ``predicted`` is the standard error that the design implies for exactly these people, None if
    the figure is not the mean of a quantity over all people, such as a quantile. ``low`` and
    ``high`` are the ends of each run's 95 % interval, which is about ``meant``: these respondents
    or the population. If the reports of a run do not determine the figure, the estimate is nan,
    and the interval spans the whole scale, so it contains the truth.
    """

    question: str
    truth: Truth
    predicted: float | None
    meant: Meant
    estimates: Floats
    low: Floats
    high: Floats

    @property
    def mean(self) -> float:
        """The mean of the estimates, over the runs that have one; nan if no run has."""
        return _mean(self._determined)

    @property
    def unknown(self) -> int:
        """The number of runs whose reports did not determine the figure."""
        return len(self.estimates) - len(self._determined)

    @property
    def _determined(self) -> Floats:
        return self.estimates[~np.isnan(self.estimates)]

    @property
    def rmse(self) -> float:
        """The root mean squared error of the estimates about the true value."""
        return sqrt(_mean((self._determined - self.truth.value) ** 2))

    @property
    def clipping(self) -> float:
        """The clipped truth less the truth. In the clipped truth, numbers outside the question's
        bounds count as the nearer bound.

        This is bias, not chance: it stays however many people report.
        """
        return self.truth.asked - self.truth.value

    @property
    def noise(self) -> float:
        """The root mean squared error of the estimates about the clipped truth, in which numbers
        outside the question's bounds count as the nearer bound."""
        return sqrt(_mean((self._determined - self.truth.asked) ** 2))

    @property
    def coverage(self) -> float:
        """The share of the runs whose interval contains the truth."""
        return self._holding(self.truth.value)

    @property
    def coverage_asked(self) -> float:
        """The share of the runs whose interval contains the clipped truth, in which numbers outside
        the question's bounds count as the nearer bound."""
        return self._holding(self.truth.asked)

    def _holding(self, value: float) -> float:
        slack = 1e-9 * max(1.0, abs(value))  # a truth of 0 or 1 is an end itself
        held = (self.low - slack <= value) & (value <= self.high + slack)
        return float(held.mean())


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def compare(people: People, runs: Iterable[Run | Mapping[str, Tally]]) -> list[FigureRuns]:
    """Compares every figure of the results with its true value, and returns one ``FigureRuns`` per
    figure.

    ``runs`` has one item for each run: the tallies of all questions by name, or a ``Run``, which
    also has the joint counts for questions with ``show_if``. A run may lack a figure, such as the
    mean of a part that nobody reported; then it is left out for that figure. Figures that no run
    has, or for which nobody has an answer, are left out.
    """
    conditional = follow_ups(people.survey)
    by_question: dict[str, list[Sequence[FigureEstimate | None]]] = {}
    among: dict[str, list[AmongAsked]] = {name: [] for name in conditional}
    for estimates_of_run in runs:
        run = estimates_of_run if isinstance(estimates_of_run, Run) else Run(estimates_of_run, {})
        for question in people.survey.questions:
            name, tally = question.name, run.tallies[question.name]
            by_question.setdefault(name, []).append(estimates(question, tally))
            if name in conditional:
                counts = run.together.get(name) or counts_alone(conditional[name], tally)
                shares = among_asked(conditional[name], counts)
                among[name] += [] if shares is None else [shares]
    return [
        figure
        for answers in people.answers
        for name in [answers.question.name]
        for figure in (
            *_figures(people.survey, answers, by_question[name]),
            *(_among(conditional[name], answers, among[name]) if among.get(name) else ()),
        )
    ]


def estimates(question: Question, tally: Tally) -> list[FigureEstimate | None]:
    """Returns the estimated figures of a question from the tally of its reports, in the order of
    ``truths``. None stands for a figure that the tally does not have."""
    return [estimate for group in groups(question) for estimate in group.estimate_figures(tally)]


def _figures(
    survey: Survey, answers: QuestionAnswers, runs: list[Sequence[FigureEstimate | None]]
) -> list[FigureRuns]:
    question = answers.question
    blanks = survey.mixer.blanks if isinstance(survey.mixer, Mixer) else 0
    design = estimates(question, expected_tally(answers, blanks))
    figures: list[FigureRuns] = []
    for truth, expected, *seen in zip(truths(answers), design, *runs, strict=True):
        determined = [estimate for estimate in seen if estimate is not None]
        if truth is None or not determined:
            continue
        part = not _everybody_reports(survey, question)
        ends = [
            (not part and estimate.sample_margin) or estimate.population_margin
            for estimate in determined
        ]
        figures.append(
            FigureRuns(
                question.name,
                truth,
                _predicted(survey, answers, truth, expected),
                "the population"
                if part or not determined[0].sample_margin
                else "these respondents",
                np.array(
                    [
                        np.nan if estimate.estimate is None else estimate.estimate
                        for estimate in determined
                    ]
                ),
                np.array([low for low, _ in ends]),
                np.array([high for _, high in ends]),
            )
        )
    return figures


def _among(
    follow_up: FollowUp, answers: QuestionAnswers, runs: Sequence[AmongAsked]
) -> Iterator[FigureRuns]:
    """The shares of those who were asked a question with ``show_if``."""
    for place, truth in enumerate(truths_among(answers, follow_up)):
        shares = [run.shares[place] for run in runs]
        yield FigureRuns(
            follow_up.question.name,
            truth,
            None,
            "the population",
            np.array([np.nan if share.estimate is None else share.estimate for share in shares]),
            np.array([share.low for share in shares]),
            np.array([share.high for share in shares]),
        )


def _everybody_reports(survey: Survey, question: Question) -> bool:
    """Whether every figure has a report of everybody.

    If devices pick some of the questions, options or numbers, the reporters are a random sample of
    the file. The intervals for the population are then about the file, and a little wide.
    """
    return question.mechanism.law.sampled_fraction == 1 and survey.asked == len(survey.questions)


def _predicted(
    survey: Survey, answers: QuestionAnswers, truth: Truth, expected: FigureEstimate | None
) -> float | None:
    """The standard error for these people by the design, with a mixer's blanks.

    The variance for a population is that of the randomisation plus that of drawing the people,
    ``spread / n``. These people are not drawn, so the latter is taken off. If only some people are
    asked a question, they are the n of the first term, and ``spread`` over everybody is the
    finite-population correction.
    """
    if expected is None or expected.standard_error is None or truth.spread is None:
        return None
    # The expected tally has very many people; a standard error shrinks with the root of n, if
    # there are as many blanks for each.
    asked = answers.n * survey.asked / len(survey.questions)
    many = FEWER if survey.mixer else SO_MANY
    population = expected.standard_error**2 * many / asked
    return sqrt(max(population - truth.spread / answers.n, 0.0))
