"""Tests of means agree with the intervals of every mechanism, and hold their level."""

from __future__ import annotations

from collections.abc import Iterator
from math import hypot
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from deniably.authoring.compiling import compile_survey
from deniably.estimation.channels import masses, matrix
from deniably.estimation.difference import Moments, between_means
from deniably.estimation.inversion import Margin, Mean, Uncertain
from deniably.estimation.means import against_value, between_ratios, two_sided
from deniably.estimation.question_means import (
    Ratio,
    bucket_middles,
    is_ratio,
    mean,
    mean_of_scored,
    moments_of_mean,
)
from deniably.estimation.tally import Tally
from deniably.mechanisms import SubsetSelection
from deniably.mechanisms.law import Noise
from deniably.simulation.bulk import randomise_many, tally_many
from deniably.survey.questions import Number, Scale
from support.soak import soak

Floats = npt.NDArray[np.float64]

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
    BUCKETS | {"mechanism": "gaussian", "delta": 0.0001, "maximum": 21},
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
        margin = found(confidence).population_margin
        width = margin.high - margin.low
        for end, out in ((margin.low, -1), (margin.high, 1)):
            for value, kept in ((end - out * width / 50, True), (end + out * width / 50, False)):
                if margin.low in ends or margin.high in ends or not ends[0] <= value <= ends[1]:
                    continue
                checked += 1
                if is_ratio(question):
                    p_value = two_sided(mean_of_scored(question, tally).deviate(value))
                else:
                    p_value = against_value(found(0.95), value).p_value
                assert (p_value > 1 - confidence) == kept
    assert checked >= 4


def test_of_a_normal_estimate_it_is_the_normal_test() -> None:
    """Laplace noise has normal intervals: the p-value is 2 Phi(-|z|)."""
    question = asked(NUMBER | {"mechanism": "laplace"})
    tally = answered(question, 2000, np.random.default_rng(1))
    found = mean(question, tally)
    assert found is not None
    error = found.population_margin.standard_error

    for value in (found.estimate, found.estimate - 1.5 * error, found.estimate + 3 * error):
        outcome = against_value(found, value)
        z = abs(found.estimate - value) / error
        assert outcome.estimate == pytest.approx(found.estimate - value)
        assert outcome.p_value == pytest.approx(2 * stats.norm.sf(z), rel=1e-3)


def test_what_no_confidence_can_hold_is_not_called_impossible() -> None:
    margin = Margin(0.1, 20, 20, True)
    missed = Mean(9, 0.95, 30.0, lambda _: margin, lambda _: margin)

    assert 0 < against_value(missed, 20).p_value <= 1e-12


@pytest.mark.parametrize("epsilon", [soak(4), 8])
@pytest.mark.parametrize("kind", [*KINDS[:6], *KINDS[7:]])
def test_waves_of_unequal_size_hold_their_level_where_nearly_all_agree(
    kind: dict[str, Any], epsilon: int
) -> None:
    """20 and 200 people, 96 % of them at one end: level 0.05, and more than 36 of 300 alarms have
    a chance below 1e-6. A test by both standard errors alarms in up to 40 %."""
    assert stats.binom.sf(36, 300, 0.05) < 1e-6
    question = asked(kind | {"epsilon": epsilon})
    k = question.mechanism.k
    law = np.append(0.96, np.full(k - 1, 0.04 / (k - 1)))

    def groups(n: int, seed: int) -> Iterator[Moments]:
        for tally in drawn(question, law, n, 300, seed):
            found = moments_of_mean(question, tally)
            assert found is not None
            yield found

    found = (between_means(*pair) for pair in zip(groups(20, 7), groups(200, 8), strict=True))
    assert sum(one.p_value <= 0.05 for one in found) <= 36


def drawn(question: Number | Scale, law: Floats, n: int, runs: int, seed: int) -> Iterator[Tally]:
    """Tallies of n people each, whose positions have this law, shape (k,): by the exact law of
    reports, of which noise far out has less than 1e-12."""
    mechanism, random = question.mechanism, np.random.default_rng(seed)
    if isinstance(mechanism.law, Noise):
        reach = round(40 * mechanism.law.variance**0.5)
        noise = np.arange(-reach, reach + 1)
        outputs, start = np.convolve(law, masses(mechanism, noise)), -reach
    else:
        outputs, start = law @ matrix(mechanism), 0
    for counts in random.multinomial(n, outputs / outputs.sum(), size=runs):
        first, last = np.flatnonzero(counts)[[0, -1]] if start else (0, len(counts) - 1)
        yield Tally(n, counts[first : last + 1], start + int(first), endless=start < 0)


@pytest.mark.parametrize("n", [20, soak(50), 200, soak(2000)])
@pytest.mark.parametrize(("epsilon", "maximum"), [(4, 39), (8, 40)])
def test_the_mean_of_buckets_under_gaussian_noise_is_within_its_interval(
    epsilon: int, maximum: int, n: int
) -> None:
    """Buckets of equal and of unequal width, 8 of them. It covers with 0.93 or more; of 200
    intervals that do, fewer than 166 hold the mean with a chance below 1e-6."""
    assert stats.binom.cdf(165, 200, 0.93) < 1e-6
    noise = {"mechanism": "gaussian", "delta": 0.0001, "aim": "distribution", "buckets": 8}
    question = asked(NUMBER | noise | {"epsilon": epsilon, "maximum": maximum})
    assert isinstance(question, Number)
    middles = np.array([float(middle) for middle in bucket_middles(question)])
    one, other = np.eye(8)[0], np.eye(8)[-1]

    for law in (np.full(8, 1 / 8), one, other, (one + other) / 2, 0.96 * one + 0.04 * other):
        held = 0
        for tally in drawn(question, law, n, 200, 11):
            found = mean(question, tally)
            assert found is not None
            margin = found.population_margin
            assert middles[0] <= margin.low < margin.high <= middles[-1]
            held += margin.low - 1e-9 <= law @ middles <= margin.high + 1e-9
        assert held >= 166


@pytest.mark.parametrize(("maximum", "buckets"), [(39, 8), (40, 8), (100, 32), (300, 256)])
def test_without_noise_to_speak_of_no_spread_of_answers_leaves_the_interval(
    maximum: int, buckets: int
) -> None:
    """Tallies at the expectation of 10^12 people: the interval holds the mean of every single
    bucket, however unequal the widths are, and is less than one number to either side."""
    noise = {"mechanism": "gaussian", "delta": 0.0001, "aim": "distribution", "buckets": buckets}
    question = asked(NUMBER | noise | {"epsilon": 8, "maximum": maximum})
    assert isinstance(question, Number)
    for bucket, middle in enumerate(bucket_middles(question)):
        counts = np.zeros(3, dtype=np.int64)
        counts[1] = 10**12
        found = mean(question, Tally(10**12, counts, bucket - 1, endless=True))
        assert found is not None
        low, high = found.population_margin.low, found.population_margin.high
        assert low <= middle <= high
        assert high - low < 2


@pytest.mark.parametrize("kind", KINDS[1:3])
def test_noisy_numbers_are_compared_by_students_law_as_their_variance_is_estimated(
    kind: dict[str, Any],
) -> None:
    """Where answers are at both ends the variance is the largest that answers allow, and must not
    be drawn below it: of 20 and 20 the level was 0.07."""
    question = asked(kind | {"epsilon": 8})
    random, positions = np.random.default_rng(5), np.repeat([0, question.mechanism.k - 1], 10)
    for _ in range(40):
        reports = [randomise_many(question.mechanism, random.permutation(positions))
                   for _ in range(2)]  # fmt: skip
        groups = [moments_of_mean(question, tally_many(question.mechanism, one)) for one in reports]
        assert groups[0]
        assert groups[1]
        found = between_means(groups[0], groups[1])

        means = [group.mean for group in groups if group]
        common = sum(means) / 2
        tallies = [tally_many(question.mechanism, one) for one in reports]
        variances = [group.variance(common) for group in groups if group]
        for tally, group in zip(tallies, groups, strict=True):
            assert group
            sent = np.repeat(np.arange(len(tally.counts)) + tally.start, tally.counts)
            expected = max(np.var(sent), question.mechanism.law.variance) / 19  # type: ignore[arg-type]
            assert group.variance(group.mean) == pytest.approx(expected, rel=0.02)
        freedom = 19 * sum(variances) ** 2 / sum(v**2 for v in variances)
        beyond = max(abs(means[0] - means[1]) - 1 / 40, 0)
        expected = 2 * stats.t.sf(beyond / sum(variances) ** 0.5, freedom)
        assert found.p_value == pytest.approx(expected, abs=1e-9)


def test_so_many_different_numbers_are_compared_in_groups() -> None:
    """Noise over 100,000 numbers: the test is that of a normal mean, and takes no table of all."""
    question = asked(NUMBER | {"mechanism": "laplace", "maximum": 99_999})
    random, groups = np.random.default_rng(8), list[Moments]()
    for middle in (40_000, 41_000):
        positions = np.clip(random.normal(middle, 5000, 20_000), 0, 99_999).astype(int)
        tally = tally_many(question.mechanism, randomise_many(question.mechanism, positions))
        found = moments_of_mean(question, tally)
        assert found is not None
        groups.append(found)

    outcome = between_means(*groups)

    error = np.sqrt(2) * np.sqrt(2 * 100_000**2 + 5000**2) / np.sqrt(20_000)
    z = abs(groups[0].mean - groups[1].mean) / error
    assert outcome.p_value == pytest.approx(2 * stats.norm.sf(z), abs=0.03)


# --- the mean of those who are on the scale --------------------------------------------------

SCALE: dict[str, Any] = {"type": "scale", "choices": list("abcde"), "also": ["dont_know"]}
RUNS, FEWEST = 60, 46  # at a coverage of 0.95, fewer have a chance below 1e-6
SHOWN = 12  # of them: what takes 100 deviates each


def seen(question: Number | Scale, unscored: float, n: int, runs: int) -> list[Tally]:
    """Surveys of people of whom some do not know, and the others rather agree: the mean is 3.9."""
    assert isinstance(question.report_mechanism, SubsetSelection)
    law = np.append((1 - unscored) * np.array([0.05, 0.1, 0.15, 0.3, 0.4]), unscored)
    rng, reports = np.random.default_rng(9), list[Tally]()
    for _ in range(runs):
        people = rng.choice(6, n, p=law)
        reports.append(
            tally_many(question.report_mechanism, randomise_many(question.report_mechanism, people))
        )
    return reports


@pytest.mark.parametrize(
    ("epsilon", "n", "unscored"),
    [(1, 200, 0.9), soak(1, 1000, 0.2), soak(1, 200, 0.5), soak(2, 200, 0.9), (4, 200, 0.9)],
)
def test_the_means_that_reports_allow_hold_the_true_one(
    epsilon: float, n: int, unscored: float
) -> None:
    """Whether it can be told or not; where it can, both points and intervals are on the scale."""
    assert stats.binom.cdf(FEWEST - 1, RUNS, 0.95) < 1e-6
    question = asked(SCALE | {"epsilon": epsilon})
    assert isinstance(question, Scale)
    tallies = seen(question, unscored, n, RUNS)

    held = sum(abs(mean_of_scored(question, tally).deviate(3.9)) <= 1.96 for tally in tallies)
    assert held >= FEWEST

    for tally in tallies[:SHOWN]:
        found = mean(question, tally)
        if found is not None:
            margin = found.population_margin
            assert 1 <= margin.low <= found.estimate <= margin.high <= 5
            assert margin.high - margin.low < 0.9 * 4
            assert found.sample_margin.low >= margin.low - 0.3
            middle = (margin.low + margin.high) / 2
            assert abs(mean_of_scored(question, tally).deviate(middle)) <= 1.96


def test_a_mean_of_hardly_anybody_is_not_given() -> None:
    """90 % do not know, 200 people, epsilon 1: a ratio of noise, which was -4 to 27."""
    question = asked(SCALE | {"epsilon": 1})
    told = [mean(question, tally) for tally in seen(question, 0.9, 200, 40)]

    assert sum(found is None for found in told) >= 20

    nobody = mean(question, Tally(1000, np.array([0, 0, 0, 0, 0, 1000])))
    assert nobody is None


def test_where_everybody_knows_the_mean_is_as_good_as_without_the_choice() -> None:
    question, plain = asked(SCALE | {"epsilon": 6}), asked(KINDS[5] | {"epsilon": 6})
    counts = np.array([1, 2, 197, 2, 1, 0])

    found, other = mean(question, Tally(203, counts)), mean(plain, Tally(203, counts[:5]))

    assert found
    assert other
    assert found.estimate == pytest.approx(other.estimate, abs=0.02)
    assert found.population_margin.high == pytest.approx(other.population_margin.high, abs=0.03)


def test_a_ratio_beyond_the_scale_is_marked_and_stays_on_it() -> None:
    """Five choices alike are seen less often than nobody's answers would be."""
    question = asked(SCALE | {"epsilon": 4})

    found = mean(question, Tally(1000, np.array([0, 0, 0, 0, 900, 100])))

    assert found
    assert found.estimate == 5
    assert found.population_margin.missed
    assert 4 < found.population_margin.low < found.population_margin.high == 5


@pytest.mark.parametrize("unscored", [soak(0.1), 0.8])
def test_ratios_of_two_waves_hold_their_level(unscored: float) -> None:
    """At the level of 0.05, more than 14 of 50 alarms have a chance below 1e-6."""
    assert stats.binom.sf(14, 50, 0.05) < 1e-6
    question = asked(SCALE | {"epsilon": 2})
    assert isinstance(question, Scale)
    groups = [mean_of_scored(question, tally) for tally in seen(question, unscored, 150, 100)]
    pairs = list(zip(groups[:50], groups[50:], strict=True))

    # The smallest distance is at most the one at the true mean: a pair that is near there raises no
    # alarm, which is shown of those that are nearly far.
    pairs.sort(key=lambda pair: distance(*pair))
    alarms, near = 0, sum(distance(*pair) <= 1.96 for pair in pairs)
    for one, other in pairs[max(near - 5, 0) :]:
        p_value = between_ratios(one, other).p_value
        assert p_value >= 0.999 * two_sided(distance(one, other))
        alarms += p_value <= 0.05

    assert near >= 5
    assert alarms <= 14


def distance(one: Ratio, other: Ratio) -> float:
    """How far both are from the true mean."""
    return hypot(one.deviate(3.9), other.deviate(3.9))


def test_ratios_that_differ_are_told_apart() -> None:
    """Normal deviates with errors 3 and 4, 5 apart: z = 1, and the interval is 5 ± 1.96 · 5."""

    def normal(centre: float, error: float) -> Ratio:
        def about(mu: float) -> tuple[Uncertain, Uncertain]:
            one = Uncertain(
                centre - mu, error**2, lambda at: 0 * at + error**2, 0.0, (-99, 99), error
            )
            return one, one

        return Ratio(centre, 1.0, (-50, 50), about)

    found = between_ratios(normal(7, 3), normal(2, 4))

    assert found.estimate == found.standard_error == 5
    assert found.p_value == pytest.approx(2 * stats.norm.sf(1), rel=1e-3)
    assert found.interval(0.95) == pytest.approx((5 - 9.8, 5 + 9.8), abs=0.01)
