"""Authors are told where noise hides a distribution, and only there."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

import deniably as dn
from deniably.authoring.compiling import compile_with_notes
from deniably.authoring.distribution_warnings import distribution_warnings, middle_error
from deniably.design.best_mechanisms import cdf_variance
from deniably.estimation.channels import matrix
from deniably.estimation.question_distributions import number_distribution
from deniably.estimation.tally import Tally
from deniably.mechanisms import Laplace, Window
from deniably.mechanisms.law import Noise
from deniably.survey.questions import Number
from deniably.survey.survey import Survey

NUMBER: dict[str, Any] = {
    "name": "income",
    "type": "number",
    "label": "Income?",
    "minimum": 0,
    "maximum": 15,
    "aim": "distribution",
}
GAUSSIAN = {"mechanism": "gaussian", "delta": 0.00001}


def asked(**keys: Any) -> tuple[Survey, list[str]]:
    questions = [NUMBER | {"epsilon": 1} | keys]
    return compile_with_notes({"name": "s", "title": "T", "questions": questions})


@pytest.mark.parametrize("epsilon", [1, 4, 8])
def test_gaussian_noise_hides_a_distribution_and_the_author_is_told(epsilon: float) -> None:
    survey, notes = asked(epsilon=epsilon, **GAUSSIAN)

    (note,) = notes
    assert note.startswith("income: gaussian noise hides")
    assert "no shares up to a number" in note
    assert "square wave" in note
    assert middle_error(survey.questions[0].mechanism) == inf  # type: ignore[arg-type]


def test_what_the_author_is_told_is_what_the_results_do() -> None:
    """The results of 1,000 such reports show no shares up to a number and no quantiles."""
    question = asked(epsilon=8, **GAUSSIAN)[0].questions[0]
    assert isinstance(question, Number)
    rng = np.random.default_rng(1)
    drawn = np.rint(rng.integers(0, 16, 1000) + rng.normal(0, 9, 1000)).astype(np.int64)
    start = int(drawn.min())

    found = number_distribution(question, Tally(1000, np.bincount(drawn - start), start, True))

    assert found.at_most == []
    assert found.quantiles == []


@pytest.mark.parametrize(
    "keys",
    [
        {"epsilon": 0.5},
        {"mechanism": "subset_selection"},
        {"aim": "mean"} | GAUSSIAN,
        {"mechanism": "laplace", "epsilon": 8},
        {"maximum": 2, "epsilon": 8} | GAUSSIAN,
    ],
)
def test_elsewhere_there_is_no_warning(keys: dict[str, Any]) -> None:
    assert asked(**keys)[1] == []


@pytest.mark.parametrize(
    ("noise", "maximum", "buckets"),
    [
        (GAUSSIAN, 15, 16),
        (GAUSSIAN, 100, 16),
        (GAUSSIAN, 99, 20),
        ({"mechanism": "laplace"}, 30, 24),
    ],
)
def test_the_mean_of_noisy_buckets_is_planned_as_that_of_noisy_numbers(
    noise: dict[str, Any], maximum: int, buckets: int
) -> None:
    """Check says that the mean is not concerned, and its plan has it, with a worst error that is
    that of the noise and of answers at both ends."""
    survey, (note,) = asked(epsilon=4, maximum=maximum, buckets=buckets, **noise)
    (question,) = survey.questions
    assert isinstance(question.mechanism.law, Noise)

    mean = dn.plan_survey(survey, n=1000).rows[0]

    assert "The mean is not affected." in note
    assert mean["figure"] == "mean"
    noisy = question.mechanism.law.variance / (buckets - 1) ** 2
    assert mean["margin"] == pytest.approx(1.96 * ((noisy + 0.25) / 1000) ** 0.5, rel=1e-3)
    uneven = (maximum + 1) % buckets != 0
    assert ("buckets of unequal width add up to" in mean["note"]) == uneven


def test_laplace_noise_is_measured() -> None:
    survey, (note,) = asked(epsilon=2, mechanism="laplace")

    points = 100 * middle_error(survey.questions[0].mechanism)  # type: ignore[arg-type]
    assert f"a standard error of {int(points) + 1} points" in note
    assert 25 < points < 100


def test_very_many_buckets_of_noise_are_warned_of_without_working_them_out() -> None:
    """The standard error grows with the buckets: with 128 it is past use already."""
    (note,) = asked(maximum=255, buckets=256, mechanism="laplace", epsilon=2)[1]

    assert "no quantiles worth reading" in note


def test_at_the_largest_epsilon_so_many_buckets_are_past_use() -> None:
    assert 0.25 < middle_error(Laplace(128, "127/10")) < inf


def test_the_error_is_that_of_simulated_surveys() -> None:
    """400 surveys of 1,000 at their best scores: the ratio of variances is within 1 +- 0.36,
    5 standard errors of a normal variance, which gives a false alarm below 1e-6."""
    from deniably.estimation.channels import matrix
    from deniably.estimation.inversion import scores

    window = Window(k=8, m=10, w=3, own=3, other=1)
    channel = matrix(window)
    v = scores(channel, np.arange(8) < 4)
    tallies = np.random.default_rng(7).multinomial(1000, channel.mean(axis=0), size=400)

    assert (tallies @ v / 1000).var() == pytest.approx(middle_error(window) ** 2, rel=0.36)
    assert middle_error(window, 4000) == pytest.approx(middle_error(window) / 2)
    assert middle_error(Laplace(8, "7")) > middle_error(Laplace(8, "2"))


def test_a_survey_without_distributions_has_none_to_hide() -> None:
    question = {"name": "q", "type": "yes_no", "label": "Q?", "epsilon": 1}
    survey, _ = compile_with_notes({"name": "s", "title": "T", "questions": [question]})

    assert list(distribution_warnings(survey)) == []


@pytest.mark.parametrize("epsilon", [1, 2, 3, 4])
def test_the_price_of_a_wider_window_is_that_of_its_own_channel(epsilon: float) -> None:
    """Beside the width with the least variance of shares up to a number, of all that there are."""
    survey, notes = asked(epsilon=epsilon, maximum=31)
    window = survey.questions[0].mechanism
    assert isinstance(window, Window)
    every = [Window(32, 31 + w, w, window.own, window.other) for w in range(1, 33)]
    price = (cdf_variance(matrix(window)) / min(cdf_variance(matrix(w)) for w in every)) ** 0.5

    said = [note for note in notes if "wider for it" in note]

    assert bool(said) == (epsilon > 2)
    for note in said:
        assert note.startswith("income: the window is wide")
        assert f"about {100 * (price - 1):.0f} % wider for it" in note
        assert "aim: mean" in note


def test_a_mean_pays_nothing_for_a_window() -> None:
    assert not any("wider for it" in note for note in asked(epsilon=4, aim="mean")[1])
