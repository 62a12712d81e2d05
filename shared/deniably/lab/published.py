"""Computes what a trusted curator would publish from the true answers of all people of a survey.

The curator promises what the survey promises: the epsilon of each question, and its delta where it
has one. Shares come from a noisy count of every answer, means from a noisy mean. Where devices
sample some of the questions, the curator publishes all of them, and divides the epsilon of a report
among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.figures import Average, Group, Share, SingleMean, groups
from deniably.estimation.question_means import bucket_middles
from deniably.lab.curator import Calibrated, GaussNoise, LaplaceNoise
from deniably.lab.draws import Draws
from deniably.mechanisms.law import Ticks
from deniably.simulation.people import People, QuestionAnswers
from deniably.simulation.truth import shares, truths
from deniably.survey.questions import Number, Question, SelectMultiple

PublishedFigures = Mapping[tuple[str, str], Floats]
"""The published values by (name of the question, key of the figure), shape (runs,), in the figure's
unit."""


def published(people: People, draws: Draws, runs: int = 1) -> PublishedFigures:
    """Returns every figure of the results as a curator would publish it, in each of ``runs`` runs
    with fresh noise.

    All runs have the same true answers, clipped to the bounds of their questions.
    """
    part = people.survey.asked / len(people.survey.questions)
    return {
        (answers.question.name, name): values
        for answers in people.answers
        for name, values in _of_question(answers, _promise(answers.question, part), draws, runs)
    }


def _promise(question: Question, part: float) -> Calibrated:
    """Noise that keeps the epsilon of a question, or a part of it."""
    loss = question.mechanism.loss
    if loss.delta:
        # Where devices ask a part of the questions, the curator's answers share what a report may
        # tell.
        return GaussNoise(part * loss.epsilon, part * float(loss.delta))
    return LaplaceNoise(part * loss.epsilon)


def _of_question(
    answers: QuestionAnswers, by: Calibrated, draws: Draws, runs: int
) -> Iterator[tuple[str, Floats]]:
    figure_groups = groups(answers.question)
    direct = [
        group
        for group in figure_groups
        if isinstance(group, SingleMean) and group.figure.scored is None
    ]
    if direct == figure_groups:
        yield from _means(answers, direct, by, draws, runs)
        return
    noisy = _noisy_shares(answers, by, draws, runs)
    for group in figure_groups:
        yield from _of_group(answers.question, group, noisy)


# --- means --------------------------------------------------------------------------------------


def _means(
    answers: QuestionAnswers, means: list[SingleMean], by: Calibrated, draws: Draws, runs: int
) -> Iterator[tuple[str, Floats]]:
    """Means with noise on each; one person's answers move all of them."""
    for group, truth in zip(means, truths(answers), strict=True):
        if truth is not None:
            low, high = group.figure.extent
            noise = by.noise((high - low) / answers.n, len(means))
            yield group.figure.key, truth.asked + noise.draw(draws, runs)


# --- counts -------------------------------------------------------------------------------------


def _noisy_shares(answers: QuestionAnswers, by: Calibrated, draws: Draws, runs: int) -> Floats:
    """The share of every answer, or of every option, with noise on its count; (runs, k).

    A person who changes an answer moves two counts by one, and with ticks as many as may differ. Of
    two answers one count tells both. Shares of answers are moved to the sum of 1, which everybody
    knows.
    """
    exact, n = shares(answers), answers.n
    k = len(exact)
    if isinstance(answers.question.mechanism.law.domain, Ticks):
        noise = by.noise(1.0, _ticks_moved(answers.question, k))
        return exact + noise.draw(draws, runs * k).reshape(runs, k) / n
    if k == 2:
        # The other count follows, and needs no noise of its own.
        first = exact[0] + by.noise(1.0).draw(draws, runs) / n
        return np.stack([first, 1 - first], axis=1)
    noisy = exact + by.noise(1.0, 2).draw(draws, runs * k).reshape(runs, k) / n
    # The projection to shares that sum to 1, which also removes a part of the noise.
    return np.asarray(noisy - (noisy.sum(axis=1, keepdims=True) - 1) / k)


def _ticks_moved(question: Question, k: int) -> int:
    maximum = question.most if isinstance(question, SelectMultiple) else 1
    # Every old tick may go, and as many new ones may come.
    return min(k, 2 * maximum)


def _of_group(question: Question, group: Group, noisy: Floats) -> Iterator[tuple[str, Floats]]:
    for figure in group.figures:
        if isinstance(figure, Share):
            yield figure.key, np.asarray(noisy[:, list(figure.answers)].sum(axis=1))
        elif isinstance(figure, Average):
            yield figure.key, _average(figure, noisy)
        else:
            assert isinstance(question, Number)
            yield figure.key, _quantile(question, noisy, figure.level)


def _quantile(question: Number, noisy: Floats, level: float) -> Floats:
    """The middle of the bucket in which the sum of the noisy shares first reaches the level."""
    # Noise makes the sums fall at places; a share up to a bucket cannot.
    at_most = np.maximum.accumulate(np.cumsum(noisy, axis=1)[:, :-1], axis=1)
    middles = np.array([float(middle) for middle in bucket_middles(question)])
    return np.asarray(middles[(at_most < level - 1e-12).sum(axis=1)])


def _average(figure: Average, noisy: Floats) -> Floats:
    """The mean of those who are on the scale; nan where the noise leaves nobody there."""
    values = figure.values
    if values is None:
        values = np.linspace(*figure.ends, noisy.shape[1])
    scored = np.ones(len(values)) if figure.scored is None else figure.scored.astype(np.float64)
    having = noisy @ scored
    with np.errstate(divide="ignore", invalid="ignore"):
        average = (noisy @ (np.nan_to_num(values) * scored)) / having
    return np.asarray(np.where(having > 0, average, np.nan))
