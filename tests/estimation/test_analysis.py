"""What an analyst reads off a tally, for every type of question, held against the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deniably.core.binomial import Floats
from deniably.estimation import question_distributions, question_means, question_shares
from deniably.estimation.channels import masses, matrix
from deniably.estimation.estimate import estimate
from deniably.estimation.intervals import population_interval, respondents_interval
from deniably.estimation.inversion import Mean
from deniably.estimation.scores import noise_of_sum
from deniably.estimation.tally import Tally, from_cells, tally
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    SampledTicks,
    SubsetSelection,
    Window,
)
from deniably.simulation.bulk import tally_many
from deniably.survey.parts import Claim
from deniably.survey.questions import Question, Scale
from deniably.survey.survey import as_survey
from support.cases import for_each
from support.exact_laws import distribution
from support.soak import soak

OWN, OTHER = 31735754293, 1 << 32  # epsilon 2
RANGE = {"minimum": "0", "maximum": "10", "step": "1"}
WINDOW = {"name": "window", "m": 3, "w": 1, "own": OWN, "other": OTHER}


def ask(**question: Any) -> Any:
    """A published question, alone in its survey."""
    definition = {
        "spec": 1,
        "name": "s",
        "title": "T",
        "language": "en",
        "results": {"minimum": 1, "while_open": True},
        "questions": [{"name": "q", "label": "Q", "claim": {"epsilon": "2"}} | question],
    }
    return as_survey(definition).questions[0]


def choices(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "label": name.title()} for name in names]


def subset(k: int, omega: int = 1) -> dict[str, object]:
    return {"name": "subset_selection", "k": k, "omega": omega, "own": OWN, "other": OTHER}


NUMBER = ask(type="number", range=RANGE, aim="mean", mechanism=WINDOW | {"k": 11})
HISTOGRAM = ask(
    type="number",
    range=RANGE,
    aim="distribution",
    mechanism={"name": "window", "k": 11, "m": 13, "w": 3, "own": OWN, "other": OTHER},
)
AGREE = ask(
    type="scale",
    aim="distribution",
    choices=choices("never", "rarely", "often", "always", "dont_know"),
    mechanism=subset(5, 2),
)
LIKERT = ask(
    type="scale",
    aim="mean",
    choices=choices("a", "b", "c", "d", "e"),
    scores=[-2, -1, 0, 1, 2],
    mechanism=WINDOW | {"k": 5},
)
PRODUCT = ask(
    type="product",
    parts=[
        {"name": "sex", "label": "S", "choices": choices("f", "m")},
        {"name": "use", "label": "U", "choices": choices("no", "some", "much")},
    ],
    mechanism=subset(6, 2),
)

_PART = {"name": "window", "m": 2, "w": 1, "own": OWN, "other": OTHER}
TWO_NUMBERS = ask(
    type="vector",
    parts=[
        {"name": "a", "label": "A", "range": RANGE | {"maximum": "1"}},
        {"name": "b", "label": "B", "range": RANGE},
    ],
    mechanism={"name": "vector", "s": 1, "parts": [_PART | {"k": 2}, _PART | {"k": 11}]},
)


# --- on the enumerated channel --------------------------------------------------------------


@pytest.mark.parametrize("omega", [1, 2, 3])
def test_a_weighted_mean_is_unbiased_and_knows_its_variance(omega: int) -> None:
    """Score and variance of one report, against every report of the running code."""
    m = SubsetSelection(5, omega, 3, 1)
    value = np.array([4.0, -1.0, 0.5, 2.0, 7.0])
    noise = noise_of_sum(m, value)
    p, q = float(m.p), float(m.q)
    for answer in range(5):
        law = distribution(lambda coins, a=answer: m.randomise(a, coins))
        score = {
            report: sum(value[list(report)]) / (p - q) - q * value.sum() / (p - q) for report in law
        }
        mean = sum(float(pr) * score[report] for report, pr in law.items())
        second = sum(float(pr) * score[report] ** 2 for report, pr in law.items())
        assert mean == pytest.approx(value[answer])
        assert second - mean**2 == pytest.approx(noise[answer])


# --- expected counts give back the truth ------------------------------------------------------


def expected(question: Question, truth: np.ndarray[Any, Any], n: int = 10**9) -> Tally:
    """The tally that n respondents with shares ``truth`` would have without chance."""
    m = question.mechanism
    if isinstance(m, SubsetSelection):
        share = float(m.q) + float(m.p - m.q) * truth
    else:
        assert isinstance(m, Window | Channel | BoundedLaplace)
        share = truth @ matrix(m)
    return Tally(n, np.rint(share * n).astype(np.int64))


def test_the_mean_of_a_number_is_in_its_unit() -> None:
    truth = np.zeros(11)
    truth[[2, 7]] = 0.25, 0.75

    found = question_means.mean(NUMBER, expected(NUMBER, truth))

    assert found is not None
    assert found.estimate == pytest.approx(5.75, abs=1e-4)
    assert found.population_margin.low < 5.75 < found.population_margin.high


def test_the_mean_of_a_scale_is_in_its_scores() -> None:
    found = question_means.mean(LIKERT, expected(LIKERT, np.array([0, 0, 0.5, 0, 0.5])))

    assert found is not None
    assert found.estimate == pytest.approx(1.0, abs=1e-6)


def test_a_mean_score_leaves_those_without_a_score_out() -> None:
    """Of those who know, half say 1 (never) and half 4 (always)."""
    truth = np.array([0.3, 0, 0, 0.3, 0.4])

    found = question_means.mean(AGREE, expected(AGREE, truth))

    assert found is not None
    assert found.estimate == pytest.approx(2.5, abs=1e-6)


def test_a_product_gives_every_marginal_and_the_joint_table() -> None:
    truth = np.array([0.1, 0.2, 0.1, 0.3, 0.05, 0.25])
    seen = expected(PRODUCT, truth)

    sex, use = (question_shares.part_shares(PRODUCT, axis, seen) for axis in (0, 1))

    np.testing.assert_allclose(sex.raw, [0.4, 0.6], atol=1e-6)
    np.testing.assert_allclose(use.raw, [0.4, 0.25, 0.35], atol=1e-6)
    np.testing.assert_allclose(question_shares.cell_shares(PRODUCT, seen).raw, truth, atol=1e-6)


def test_a_distribution_gives_back_shape_shares_and_quantiles() -> None:
    truth = np.array([0, 1, 2, 4, 6, 8, 6, 4, 2, 1, 0]) / 34

    found = question_distributions.number_distribution(HISTOGRAM, expected(HISTOGRAM, truth))

    np.testing.assert_allclose(found.shares, truth, atol=0.02)
    np.testing.assert_allclose([m.estimate for m in found.at_most], truth.cumsum()[:-1], atol=1e-5)
    assert [(q.share, q.bucket) for q in found.quantiles if q.share == 0.5] == [(0.5, 5)]


def test_a_distribution_inverts_its_channel_once_and_not_for_every_bucket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it costs would else grow with the fourth power of the buckets."""
    inverted, invert = [], np.linalg.pinv
    monkeypatch.setattr(np.linalg, "pinv", lambda q: inverted.append(q.shape) or invert(q))
    counts = np.arange(1001, 1014)

    assert (
        len(
            question_distributions.number_distribution(
                HISTOGRAM, Tally(int(counts.sum()), counts)
            ).at_most
        )
        == 10
    )
    assert len(inverted) <= 2


def test_the_mean_of_a_number_in_buckets_is_that_of_their_middles() -> None:
    """Buckets of an uneven grid are not equally wide: 0 to 500 and 600 to 1000 here."""
    question = ask(
        type="number",
        range={"minimum": "0", "maximum": "8000", "step": "100"},
        aim="distribution",
        mechanism={"name": "window", "k": 16, "m": 18, "w": 3, "own": OWN, "other": OTHER},
    )
    truth = np.eye(16)[1]

    found = question_means.mean(question, expected(question, truth))

    assert found is not None
    assert found.estimate == pytest.approx(800, abs=1e-3)


def test_the_buckets_of_a_number_cover_its_grid_without_a_gap() -> None:
    question = ask(
        type="number",
        range={"minimum": "-1", "maximum": "2.5", "step": "0.5"},
        aim="distribution",
        mechanism={"name": "window", "k": 3, "m": 3, "w": 1, "own": OWN, "other": OTHER},
    )
    ends = question_means.bucket_ends(question)

    assert ends == [
        (Fraction(-1), Fraction(0)),
        (Fraction(1, 2), Fraction(3, 2)),
        (Fraction(2), Fraction(5, 2)),
    ]
    for bucket, (low, high) in enumerate(ends):
        assert question.encode(float(low)) == question.encode(float(high)) == bucket


@pytest.mark.parametrize(
    "mechanism",
    [
        {"name": "laplace", "scale": "5"},
        {"name": "gaussian", "d": 1, "sigma2": "600", "epsilon": "2", "delta": "0.00001"},
    ],
)
def test_noisy_numbers_average_to_their_mean(mechanism: dict[str, object]) -> None:
    claim = {"epsilon": "2"} | ({"delta": "0.00001"} if "delta" in mechanism else {})
    question = ask(
        type="number", range=RANGE, aim="mean", claim=claim, mechanism={"k": 11} | mechanism
    )
    noise = np.arange(-400, 401)
    law = masses(question.mechanism, noise)
    n = 10**8
    seen = from_cells(n, {int(4 + y): round(n * w) for y, w in zip(noise, law, strict=True)}, None)

    found = question_means.mean(question, seen)

    assert found is not None
    assert found.estimate == pytest.approx(4, abs=1e-4)
    assert found.population_margin.standard_error == pytest.approx(
        found.sample_margin.standard_error, rel=1e-3
    )


def test_every_number_of_a_vector_has_its_own_reports() -> None:
    """One of two numbers is sent: 0 to 1 and 0 to 10, all people at the top of both."""
    question = TWO_NUMBERS
    high = OWN / (OWN + OTHER)
    n = 10**8
    cells = {
        2: round(n * high),
        0: n - round(n * high),
        3: 3 * round(n * high),
        1: 3 * (n - round(n * high)),
    }

    seen = from_cells(4 * n, cells, question.mechanism.law.cell_count)
    a, b = (question_means.mean_of_part(question, index, seen) for index in (0, 1))

    assert a is not None
    assert b is not None
    assert (a.n, b.n) == (n, 3 * n)
    assert (a.estimate, b.estimate) == (pytest.approx(1, abs=1e-6), pytest.approx(10, abs=1e-5))


# --- margins cover as they state --------------------------------------------------------------

RUNS, N = 400, 400
FEWEST = 356  # at a coverage of 0.95, fewer have a chance below 1e-6
FEWEST_OF_FEW = 339  # the same at 0.92


def coverage(run: Callable[[np.random.Generator], tuple[Mean, float, float]]) -> tuple[int, int]:
    """How many runs cover the truth of the population, and that of these respondents."""
    rng = np.random.default_rng(20_260_101)
    population = respondents = 0
    for _ in range(RUNS):
        found, everybody, these = run(rng)
        population += found.population_margin.low <= everybody <= found.population_margin.high
        respondents += found.sample_margin.low <= these <= found.sample_margin.high
    return population, respondents


@pytest.mark.parametrize("question", [NUMBER, LIKERT], ids=["number", "scale"])
def test_margins_of_means_cover(question: Any) -> None:
    assert stats.binom.cdf(FEWEST - 1, RUNS, 0.95) < 1e-6
    assert stats.binom.cdf(FEWEST_OF_FEW - 1, RUNS, 0.92) < 1e-6
    k = question.mechanism.k
    truth = np.arange(1.0, k + 1) / np.arange(1.0, k + 1).sum()
    value = np.arange(k) if question is NUMBER else np.array(question.values)
    channel = matrix(question.mechanism)

    def run(rng: np.random.Generator) -> tuple[Mean, float, float]:
        people = rng.multinomial(N, truth)
        counts = sum(rng.multinomial(c, row) for c, row in zip(people, channel, strict=True))
        found = question_means.mean(question, Tally(N, np.asarray(counts)))
        assert found is not None
        return found, float(truth @ value), float(people @ value / N)

    assert min(coverage(run)) >= FEWEST


def test_margins_through_subset_selection_cover() -> None:
    m = SubsetSelection(4, 2, 3, 1)
    value = np.array([0.0, 1.0, 2.0, 10.0])
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    laws = [distribution(lambda coins, a=a: m.randomise(a, coins)) for a in range(4)]
    reports = sorted({report for law in laws for report in law})
    channel = np.array([[float(law[report]) for report in reports] for law in laws])

    def run(rng: np.random.Generator) -> tuple[Mean, float, float]:
        people = rng.multinomial(N, truth)
        seen = sum(rng.multinomial(c, row) for c, row in zip(people, channel, strict=True))
        rows = [report for report, count in zip(reports, seen, strict=True) for _ in range(count)]
        found = question_shares.weighted_mean(tally(rows, 4), m, value)
        return found, float(truth @ value), float(people @ value / N)

    assert min(coverage(run)) >= FEWEST


def sharp(k: int, epsilon: float) -> SubsetSelection:
    """One of k choices, the own one with odds e^epsilon."""
    return SubsetSelection(k, 1, round(1e6 * math.exp(epsilon)), 10**6)


def covered(m: SubsetSelection, value: Floats, truth: Floats, n: int) -> tuple[int, int]:
    """``coverage`` of the weighted mean where a report is one choice."""
    channel = float(m.q) + float(m.p - m.q) * np.eye(m.k)

    @cache  # where nearly all say the same, few tallies are seen
    def seen(counts: tuple[int, ...]) -> Mean:
        return question_shares.weighted_mean(Tally(n, np.array(counts)), m, value)

    def run(rng: np.random.Generator) -> tuple[Mean, float, float]:
        people = rng.multinomial(n, truth)
        counts = sum(rng.multinomial(c, row) for c, row in zip(people, channel, strict=True))
        found = seen(tuple(np.asarray(counts).tolist()))
        return found, float(truth @ value), float(people @ value / n)

    return coverage(run)


@pytest.mark.parametrize(("epsilon", "n"), [soak(6, 50), (8, 50), soak(8, 200)])
@pytest.mark.parametrize("truth", [[0.02, 0, 0, 0.4, 0.3, 0.28], [1 / 6] * 6])
def test_margins_of_a_group_cover_where_there_is_little_noise(
    epsilon: float, n: int, truth: list[float]
) -> None:
    value = np.array([1.0, 1, 1, 0, 0, 0])

    assert min(covered(sharp(6, epsilon), value, np.array(truth), n)) >= FEWEST_OF_FEW


@pytest.mark.parametrize(("epsilon", "n"), [soak(4, 50), (8, 50), soak(8, 200)])
def test_margins_of_a_mean_cover_where_few_are_at_the_other_end(epsilon: float, n: int) -> None:
    value, truth = np.arange(1930.0, 2030, 20), np.array([0.98, 0, 0, 0, 0.02])

    assert min(covered(sharp(5, epsilon), value, truth, n)) >= FEWEST_OF_FEW


@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_a_group_has_the_intervals_of_its_count(confidence: float) -> None:
    """P(report in the group) is p + 2q for its own answers, 3q for others."""
    m = sharp(6, 3)
    p, q = float(m.p + 2 * m.q), float(3 * m.q)
    for count in (18, 60, 81):
        seen = Tally(99, np.repeat([count, 99 - count], 3) // 3)

        found = question_shares.weighted_mean(seen, m, np.array([1.0, 1, 1, 0, 0, 0]), confidence)

        for margin, interval in ((found.population_margin, population_interval),
                                 (found.sample_margin, respondents_interval)):  # fmt: skip
            expected = interval(count, 99, p, q, 1 - confidence)
            assert margin.low == pytest.approx(float(expected.low), abs=1e-9)
            assert margin.high == pytest.approx(float(expected.high), abs=1e-9)


@pytest.mark.parametrize("omega", [1, 2])
@settings(deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=5, max_size=5).filter(lambda c: sum(c) > 1),
    st.floats(0.01, 1000),
    st.floats(-3000, 3000),
)
def test_a_weighted_mean_moves_with_the_scale(
    omega: int, counts: list[int], factor: float, start: float
) -> None:
    m, value = SubsetSelection(5, omega, 20, 1), np.arange(5.0)
    seen = Tally(sum(counts), omega * np.array(counts))
    one = question_shares.weighted_mean(seen, m, value)
    other = question_shares.weighted_mean(seen, m, start + factor * value)

    slack = 1e-7 * (factor + abs(start) / 1000)
    assert other.estimate == pytest.approx(start + factor * one.estimate, abs=slack)
    for ours, theirs in (
        (one.population_margin, other.population_margin),
        (one.sample_margin, other.sample_margin),
    ):
        assert theirs.low == pytest.approx(start + factor * ours.low, abs=slack)
        assert theirs.high == pytest.approx(start + factor * ours.high, abs=slack)
        assert theirs.standard_error == pytest.approx(factor * ours.standard_error, abs=slack)


@pytest.mark.parametrize("omega", [1, soak(2), 3])
@pytest.mark.parametrize("own", [3, 400])
def test_all_marginals_hold_at_once_by_bonferroni(omega: int, own: int) -> None:
    """Exactly, from the law of how many of a row's choices the reports of 40 people name."""
    product, n = joint_of(own, omega), 40
    law_of = [_rows_named(product, answer) for answer in (0, 5)]
    totals = np.arange(n * omega + 1)
    ends = np.array([_first_row(product, n, int(total)) for total in totals])
    for share in (0.0, 0.03, 0.2, 0.5, 0.97, 1.0):
        law = np.ones(1)
        for _ in range(n):
            law = np.convolve(law, share * law_of[0] + (1 - share) * law_of[1])
        held = (ends[:, 0] <= share + 1e-9) & (share - 1e-9 <= ends[:, 1])
        assert law[held].sum() >= 1 - 0.05 / 2 - 1e-12


def joint_of(own: int, omega: int) -> Any:
    return msgspec.structs.replace(
        PRODUCT, mechanism=SubsetSelection(6, omega, own, 1), claim=Claim(odds=str(own))
    )


def _rows_named(product: Any, answer: int) -> Floats:
    """How many choices of the first of two rows a report names, with its probability."""
    law = np.zeros(product.report_mechanism.omega + 1)
    for named, probability in distribution(
        partial(product.report_mechanism.randomise, answer)
    ).items():
        law[sum(choice < 3 for choice in named)] += float(probability)
    return law


def _first_row(product: Any, n: int, total: int) -> tuple[float, float]:
    """The joint interval of the first row, whose choices were named ``total`` times."""
    cells = np.array([total, 0, 0, n * product.report_mechanism.omega - total, 0, 0])
    found = question_shares.part_shares(product, 0, Tally(n, cells))
    return float(found.joint_low[0]), float(found.joint_high[0])


@pytest.mark.parametrize("omega", [1, 2])
def test_the_errors_of_a_weighted_mean_are_those_of_chance(omega: int) -> None:
    """From the exact law of one report; expected counts, so that the plug-in is the truth."""
    m, value = SubsetSelection(5, omega, 9, 1), np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    truth, n = np.array([0.3, 0.3, 0.2, 0.1, 0.1]), 10**9
    within, spread = 0.0, float(truth @ value**2 - (truth @ value) ** 2)
    for answer, share in enumerate(truth):
        law = distribution(partial(m.randomise, answer))
        odds = np.array([float(p) for p in law.values()])
        score = np.array([value[list(report)].sum() for report in law]) / float(m.p - m.q)
        within += share * float(odds @ score**2 - (odds @ score) ** 2)
    seen = Tally(n, np.rint(n * (float(m.q) + float(m.p - m.q) * truth)).astype(np.int64))

    found = question_shares.weighted_mean(seen, m, value)

    assert found.sample_margin.standard_error == pytest.approx((within / n) ** 0.5, rel=1e-5)
    assert found.population_margin.standard_error == pytest.approx(
        ((within + spread) / n) ** 0.5, rel=1e-5
    )


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_margins_of_a_mean_score_cover_and_are_no_wider_than_they_must_be(epsilon: float) -> None:
    """A ratio: 40 % have no score. Its errors are those with which it really varies."""
    question = ask(
        type="scale",
        aim="distribution",
        choices=choices("never", "rarely", "often", "always", "dont_know"),
        mechanism=subset(5) | {"own": round(math.exp(epsilon) * OTHER)},
        claim={"epsilon": str(epsilon + 0.001)},
    )
    assert isinstance(question, Scale)
    truth, n, many = np.array([0.3, 0.1, 0.1, 0.1, 0.4]), 4000, 1000
    m = question.mechanism
    channel = float(m.q) + float(m.p - m.q) * np.eye(5)
    rng = np.random.default_rng(20_260_101)
    people = rng.multinomial(n, truth, size=many)
    counts = sum(rng.multinomial(c, row) for c, row in zip(people.T, channel, strict=True))
    these = people[:, :4] @ question.values[:4] / people[:, :4].sum(axis=1)
    surveys = [Tally(n, row) for row in np.asarray(counts)]
    ratios = [question_means.mean_of_scored(question, tally) for tally in surveys]

    # A mean is within the interval exactly where its deviate is small; and that is quick to find.
    assert sum(abs(one.deviate(2.0)) <= 1.96 for one in ratios[:RUNS]) >= FEWEST
    told = zip(ratios[:RUNS], these[:RUNS], strict=True)
    held = (abs(one.deviate(mu, 1)) <= 1.96 for one, mu in told)
    assert sum(held) >= FEWEST
    # The standard deviation of 1,000 runs is within 15 % of the truth but for 1e-6.
    points = np.array([one.estimate for one in ratios])
    really = np.std(points), np.std(points - these)
    assert np.mean(points) == pytest.approx(2.0, abs=5 * really[0] / many**0.5)
    found = [mean for tally in surveys[:8] if (mean := question_means.mean(question, tally))]
    assert len(found) == 8
    assert np.mean([m.population_margin.standard_error for m in found]) == pytest.approx(
        really[0], rel=0.15
    )
    assert np.mean([m.sample_margin.standard_error for m in found]) == pytest.approx(
        really[1], rel=0.15
    )
    half = np.mean([(m.population_margin.high - m.population_margin.low) / 2 for m in found])
    assert half == pytest.approx(1.96 * really[0], rel=0.15)
    for mean, one, mu in zip(found, ratios, these, strict=False):
        assert mean.estimate == one.estimate
        for margin, true, whose in ((mean.population_margin, 2.0, 0), (mean.sample_margin, mu, 1)):
            assert (margin.low <= true <= margin.high) == (abs(one.deviate(true, whose)) <= 1.96)


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_margins_of_noisy_numbers_cover(kind: type) -> None:
    question = ask(
        type="number",
        range=RANGE,
        aim="mean",
        claim={"epsilon": "2"} | ({"delta": "0.00001"} if kind is Gaussian else {}),
        mechanism={"name": "laplace", "k": 11, "scale": "5"}
        if kind is Laplace
        else {
            "name": "gaussian",
            "k": 11,
            "d": 1,
            "sigma2": "600",
            "epsilon": "2",
            "delta": "0.00001",
        },
    )
    noise = np.arange(-300, 301)
    law = masses(question.mechanism, noise)
    law /= law.sum()

    def run(rng: np.random.Generator) -> tuple[Mean, float, float]:
        people = rng.integers(0, 11, N)
        found = question_means.mean(
            question, tally((people + rng.choice(noise, N, p=law))[:, None], None)
        )
        assert found is not None
        return found, 5.0, float(people.mean())

    assert min(coverage(run)) >= FEWEST


def test_margins_cover_these_respondents_where_each_device_draws_what_it_reports() -> None:
    """One of four options is drawn, at odds that add little noise: what matters is who drew it."""
    mechanism, n = SampledTicks(4, 1, 50, 1), 2000
    rng, covered = np.random.default_rng(20_260_102), 0
    for _ in range(RUNS):
        ticks = rng.random((n, 4)) < [0.5, 0.1, 0.9, 0.4]
        seen = tally_many(mechanism, randomise(mechanism, ticks, rng))
        found = estimate(seen, mechanism, single=False)
        covered += found.respondents_low[0] <= ticks[:, 0].mean() <= found.respondents_high[0]
    assert covered >= FEWEST


def randomise(
    mechanism: SampledTicks, ticks: npt.NDArray[np.bool_], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    drawn = rng.integers(0, mechanism.k, len(ticks))
    flipped = rng.random(len(ticks)) < mechanism.other / (mechanism.own + mechanism.other)
    return (2 * drawn + (ticks[np.arange(len(ticks)), drawn] ^ flipped))[:, None]


def test_margins_of_a_drawn_number_are_those_for_a_population() -> None:
    seen = from_cells(4000, {2: 700, 0: 300, 3: 2000, 1: 1000}, 4)
    for index in (0, 1):
        mean = question_means.mean_of_part(TWO_NUMBERS, index, seen)
        assert mean is not None
        assert mean.sample_margin == mean.population_margin


def test_nothing_is_estimated_from_no_reports() -> None:
    with pytest.raises(ValueError, match="at least one report"):
        question_means.mean(NUMBER, Tally(0, np.zeros(3, dtype=np.int64)))
    with pytest.raises(ValueError, match="at least one report"):
        question_distributions.number_distribution(
            HISTOGRAM, Tally(0, np.zeros(13, dtype=np.int64))
        )
    with pytest.raises(ValueError, match="at least one report"):
        question_shares.part_shares(PRODUCT, 0, Tally(0, np.zeros(6, dtype=np.int64)))


@for_each("scale", ["16", "31", "62"])
@for_each(
    "reports",
    [[3], [-70, -70], [40, 41, 42], [0, 31], [200, 200, 200, 200, -9], [15] * 12],
    ids=str,
)
def test_a_few_noisy_numbers_have_a_distribution_wherever_they_fell(
    reports: list[int], scale: str
) -> None:
    mechanism = {"name": "laplace", "k": 32, "scale": scale}
    numbers = {"minimum": "0", "maximum": "31", "step": "1"}
    question = ask(type="number", range=numbers, aim="distribution", mechanism=mechanism)

    found = question_distributions.number_distribution(
        question, tally([[one] for one in reports], None)
    )

    assert found.shares.sum() == pytest.approx(1)
    assert len(found.at_most) == 31
    for mean in found.at_most:
        assert math.isfinite(mean.estimate)
        assert -1e-9 <= mean.population_margin.low <= mean.population_margin.high <= 1 + 1e-9
