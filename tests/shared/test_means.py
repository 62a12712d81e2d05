"""Tests of means agree with the intervals of every mechanism, and hold their level."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniably.analysis import compared, mean
from deniably.authoring import compile_survey
from deniably.bulk import randomise_many, tally_many
from deniably.difference import Moments, between_means
from deniably.inversion import Margin, Mean
from deniably.means import against_value, between_estimates
from deniably.questions import Number, Scale
from deniably.tally import Tally

NUMBER: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 20, "epsilon": 1}
BUCKETS = NUMBER | {"aim": "distribution", "buckets": 7}
KINDS: list[dict[str, Any]] = [
    NUMBER,
    NUMBER | {"mechanism": "laplace"},
    NUMBER | {"mechanism": "gaussian", "delta": 0.0001},
    BUCKETS,
    BUCKETS | {"mechanism": "subset_selection"},
    {"type": "scale", "choices": list("abcde"), "epsilon": 1},
    {"type": "scale", "choices": list("abcde"), "also": ["dont_know"], "epsilon": 3},
    {"type": "scale", "choices": list("abcde"), "aim": "mean", "epsilon": 1},
]


def asked(kind: dict[str, Any]) -> Number | Scale:
    questions = [{"name": "q", "label": "Q?"} | kind]
    question = compile_survey({"name": "s", "title": "T", "questions": questions}).questions[0]
    assert isinstance(question, Number | Scale)
    return question


def answered(question: Number | Scale, n: int, random: np.random.Generator) -> Tally:
    """Reports on positions around the lower middle."""
    k = question.mechanism.k
    positions = random.binomial(k - 1, 0.4, n)
    return tally_many(question.mechanism, randomise_many(question.mechanism, positions))


def normal(estimate: float, error: float) -> Mean:
    margin = Margin(error, estimate - 1, estimate + 1, missed=False)
    return Mean(100, 0.95, estimate, margin, margin)


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_refused_exactly_where_the_interval_leaves_it_out(kind: dict[str, Any]) -> None:
    """Whatever the reports are: at every confidence, just inside and just outside of the ends."""
    question = asked(kind)
    tally = answered(question, 20_000, np.random.default_rng(1))

    def found(confidence: float) -> Mean:
        result = mean(question, tally, confidence)
        assert result is not None
        return result

    ends = (0.0, 20.0) if isinstance(question, Number) else (1.0, 5.0)
    checked = 0
    for confidence in (0.5, 0.95, 0.999):
        margin = found(confidence).population
        width = margin.high - margin.low
        for end, out in ((margin.low, -1), (margin.high, 1)):
            for value, kept in ((end - out * width / 50, True), (end + out * width / 50, False)):
                if margin.low in ends or margin.high in ends or not ends[0] <= value <= ends[1]:
                    continue
                checked += 1
                assert (against_value(found, value).p_value > 1 - confidence) == kept
    assert checked >= 4


def test_of_a_normal_estimate_it_is_the_normal_test() -> None:
    """Laplace noise has normal intervals: the p-value is 2 Phi(-|z|)."""
    question = asked(NUMBER | {"mechanism": "laplace"})
    tally = answered(question, 2000, np.random.default_rng(1))
    found = mean(question, tally)
    assert found is not None
    error = found.population.standard_error

    for value in (found.estimate, found.estimate - 1.5 * error, found.estimate + 3 * error):
        outcome = against_value(partial(mean, question, tally), value)  # type: ignore[arg-type]
        z = abs(found.estimate - value) / error
        assert outcome.estimate == pytest.approx(found.estimate - value)
        assert outcome.p_value == pytest.approx(2 * stats.norm.sf(z), rel=1e-3)


def test_what_no_confidence_can_hold_is_not_called_impossible() -> None:
    missed = Mean(9, 0.95, 30.0, Margin(0.1, 20, 20, True), Margin(0.1, 20, 20, True))

    assert 0 < against_value(lambda _: missed, 20).p_value <= 1e-12


@pytest.mark.parametrize("kind", [KINDS[1], KINDS[2], KINDS[4], KINDS[5], KINDS[6]])
def test_two_samples_of_the_same_people_rarely_differ(kind: dict[str, Any]) -> None:
    """200 pairs of surveys of 300: at the level of 0.056, 31 alarms have a chance below 1e-6."""
    assert stats.binom.sf(30, 200, 0.056) < 1e-6
    question, random = asked(kind), np.random.default_rng(2)
    alarms = 0
    for _ in range(200):
        first, second = (mean(question, answered(question, 300, random)) for _ in range(2))
        if first and second:
            alarms += between_estimates(first, second).p_value <= 0.05

    assert alarms <= 30


@pytest.mark.parametrize("epsilon", [4, 8])
@pytest.mark.parametrize("kind", [*KINDS[:6], KINDS[7]])
def test_waves_of_unequal_size_hold_their_level_where_nearly_all_agree(
    kind: dict[str, Any], epsilon: int
) -> None:
    """20 and 200 people, 96 % of them at one end: level 0.05, and more than 36 of 300 alarms have
    a chance below 1e-6. A test by both standard errors alarms in up to 40 %."""
    assert stats.binom.sf(36, 300, 0.05) < 1e-6
    question, random = asked(kind | {"epsilon": epsilon}), np.random.default_rng(7)
    mechanism = question.mechanism
    law = np.append(0.96, np.full(mechanism.k - 1, 0.04 / (mechanism.k - 1)))

    def group(n: int) -> Moments:
        positions = random.choice(mechanism.k, n, p=law)
        found = compared(question, tally_many(mechanism, randomise_many(mechanism, positions)))
        assert found is not None
        return found

    assert sum(between_means(group(20), group(200)).p_value <= 0.05 for _ in range(300)) <= 36


def test_so_many_different_numbers_are_compared_in_groups() -> None:
    """Noise over 100,000 numbers: the test is that of a normal mean, and takes no table of all."""
    question = asked(NUMBER | {"mechanism": "laplace", "maximum": 99_999})
    random, groups = np.random.default_rng(8), list[Moments]()
    for middle in (40_000, 41_000):
        positions = np.clip(random.normal(middle, 5000, 20_000), 0, 99_999).astype(int)
        tally = tally_many(question.mechanism, randomise_many(question.mechanism, positions))
        found = compared(question, tally)
        assert found is not None
        groups.append(found)

    outcome = between_means(*groups)

    error = np.sqrt(2) * np.sqrt(2 * 100_000**2 + 5000**2) / np.sqrt(20_000)
    z = abs(groups[0].mean - groups[1].mean) / error
    assert outcome.p_value == pytest.approx(2 * stats.norm.sf(z), abs=0.03)


def test_two_means_are_compared_by_both_their_errors() -> None:
    """A difference of 5 with errors 3 and 4: z = 1."""
    found = between_estimates(normal(7, 3), normal(2, 4))

    assert found.estimate == 5
    assert found.p_value == pytest.approx(2 * stats.norm.sf(1))
    assert between_estimates(normal(2, 4), normal(7, 3)).estimate == -5
    assert between_estimates(normal(2, 0), normal(2, 0)).p_value == 1
    assert between_estimates(normal(2, 0), normal(3, 0)).p_value == 0
