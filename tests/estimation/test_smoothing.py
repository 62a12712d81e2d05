"""Smoothing a distribution: the analyst's choice, for the picture alone, and where it helps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniably.authoring.compiling import compile_survey
from deniably.estimation.channels import matrix
from deniably.estimation.distribution import SMALL
from deniably.estimation.likelihood import expectation_maximisation
from deniably.estimation.question_distributions import number_distribution
from deniably.estimation.smoothing import helps, smoothed
from deniably.estimation.tally import Tally
from deniably.survey.questions import Number
from support.textbook import wasserstein


def number(**keys: Any) -> Number:
    asked = {
        "name": "income",
        "type": "number",
        "label": "Income?",
        "minimum": 0,
        "maximum": 31,
        "aim": "distribution",
        "epsilon": 1,
    }
    survey = compile_survey({"name": "s", "title": "T", "questions": [asked | keys]})
    question = survey.questions[0]
    assert isinstance(question, Number)
    return question


def tally_of(question: Number, truth: Any, n: int, rng: np.random.Generator) -> Tally:
    channel = matrix(question.mechanism)  # type: ignore[arg-type]
    return Tally(n, rng.multinomial(n, truth @ channel).astype(np.int64))


HUMP = np.diff(stats.beta(2, 2).cdf(np.linspace(0, 1, 33)))
PEAKS = np.bincount([4, 20], [0.5, 0.5], minlength=32)


@pytest.mark.parametrize(("truth", "better"), [(HUMP, True), (PEAKS, False)])
def test_a_broad_hump_gains_by_smoothing_and_two_peaks_lose(truth: Any, better: bool) -> None:
    """The mean W1 error over 6 surveys of 500, from a fixed seed."""
    rng, question = np.random.default_rng(2020), number()
    errors = np.zeros((6, 2))
    for row in errors:
        tally = tally_of(question, truth, 500, rng)
        found = number_distribution(question, tally)
        row[:] = [
            wasserstein(one.shares, truth) for one in (found, smoothed(question, tally, found))
        ]

    plain, smooth = errors.mean(axis=0)
    assert (smooth < 0.9 * plain) if better else (smooth > 1.1 * plain)


def test_it_is_the_em_with_smoothing_of_the_paper() -> None:
    question = number()
    tally = tally_of(question, HUMP, 500, np.random.default_rng(1))
    channel = matrix(question.mechanism)  # type: ignore[arg-type]

    again = smoothed(question, tally, number_distribution(question, tally))

    expected = expectation_maximisation(tally.counts, channel, smooth=True, change=1e-3).shares
    np.testing.assert_array_equal(again.shares, expected)


def test_only_the_picture_changes() -> None:
    question = number()
    tally = tally_of(question, HUMP, 500, np.random.default_rng(1))
    found = number_distribution(question, tally)

    again = smoothed(question, tally, found)

    assert (again.n, again.at_most) == (found.n, found.at_most)
    assert not np.array_equal(again.shares, found.shares)
    for before, after in zip(found.quantiles, again.quantiles, strict=True):
        assert (before.share, before.low, before.high) == (after.share, after.low, after.high)
        reached = int(np.searchsorted(np.cumsum(again.shares), after.share))
        assert after.bucket == min(max(reached, after.low), after.high)


@pytest.mark.parametrize(
    ("keys", "n"),
    [({}, SMALL + 1), ({"mechanism": "subset_selection"}, 500), ({"mechanism": "laplace"}, 500)],
)
def test_elsewhere_nothing_is_smoothed(keys: dict[str, Any], n: int) -> None:
    assert not helps(number(**keys), n)


def test_a_large_survey_stays_as_it_is() -> None:
    question = number()
    tally = tally_of(question, HUMP, SMALL + 1, np.random.default_rng(1))
    found = number_distribution(question, tally)

    assert smoothed(question, tally, found) is found
