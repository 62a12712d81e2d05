"""Means through any channel: unbiased for every answer, with margins that hold from n = 20."""

from math import exp

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from deniably.estimation.intervals import population_interval, respondents_interval
from deniably.estimation.inversion import Margin, linear, linear_each, scores, tilted
from support.soak import soak

Floats = npt.NDArray[np.float64]
SCALE = np.linspace(-1, 1, 5)
WARNER = np.array([[0.75, 0.25], [0.25, 0.75]])


def k_ary(k: int, epsilon: float) -> Floats:
    return (np.ones((k, k)) + (exp(epsilon) - 1) * np.eye(k)) / (exp(epsilon) + k - 1)


def window(m: int, w: int, epsilon: float, positions: int = 5) -> Floats:
    """Positions are rounded at random to a start of a window of w likelier outputs."""
    starts = m - w + 1
    likely = np.array([[exp(epsilon) if s <= y < s + w else 1.0 for y in range(m)]
                       for s in range(starts)])  # fmt: skip
    place = np.linspace(0, starts - 1, positions)
    rounded = np.maximum(0, 1 - np.abs(place[:, None] - np.arange(starts)))
    result: Floats = rounded @ (likely / likely.sum(axis=1, keepdims=True))
    return result


def outcomes(n: int) -> npt.NDArray[np.int64]:
    """All counts of three outputs that sum to n."""
    return np.array([(a, b, n - a - b) for a in range(n + 1) for b in range(n - a + 1)])


def law_of_respondents(channel: Floats, answers: npt.NDArray[np.int64], n: int) -> Floats:
    """P(counts of three outputs), shape (n+1, n+1), given how many respondents have each answer."""
    turn = np.exp(-2j * np.pi * np.arange(n + 1) / (n + 1))
    first, second = np.meshgrid(turn, turn, indexing="ij")
    waves = [q[0] * first + q[1] * second + q[2] for q in channel]
    product_of_all = np.prod([w**y for w, y in zip(waves, answers, strict=True)], axis=0)
    return np.fft.ifft2(product_of_all).real


@given(st.integers(2, 5), st.integers(0, 3), st.integers(0, 2**32))
def test_scores_are_unbiased_for_every_answer(inputs: int, spare: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel = rng.dirichlet(np.ones(inputs + spare), size=inputs) * 0.5
    channel[:, :inputs] += 0.5 * np.eye(inputs)
    target = rng.normal(size=inputs)

    np.testing.assert_allclose(channel @ scores(channel, target), target, atol=1e-9)


@pytest.mark.parametrize("channel", [k_ary(5, 1.0), window(6, 2, 2.0)])
def test_many_scores_of_the_same_reports_have_the_means_of_each(channel: Floats) -> None:
    counts = np.arange(channel.shape[1]) * 3 + 1
    every = scores(channel, np.tri(5)[:-1])
    found = linear_each(counts, every, channel, 0.9)

    assert len(found) == 4
    for target, score, one in zip(np.tri(5), every, found, strict=False):
        np.testing.assert_allclose(score, scores(channel, target), atol=1e-12)
        alone = linear(counts, score, channel, 0.9)
        for own, other in (
            (one.population_margin, alone.population_margin),
            (one.sample_margin, alone.sample_margin),
        ):
            np.testing.assert_allclose(own.ends, other.ends, rtol=1e-9, atol=1e-12)
            assert own.standard_error == pytest.approx(other.standard_error, rel=1e-9)


def test_no_other_unbiased_scores_vary_less() -> None:
    """Window(8, 3) has six starts and eight outputs, hence a plane of unbiased scores."""
    channel = window(8, 3, 1.0, positions=6)
    target = np.linspace(-1, 1, 6)
    best = scores(channel, target)
    free = np.linalg.svd(channel)[2][6:]
    seen = channel.mean(axis=0)

    for direction in free:
        np.testing.assert_allclose(channel @ direction, 0, atol=1e-12)
        assert abs((seen * best) @ direction) < 1e-12  # a stationary point of a convex function
    assert np.linalg.norm(free) > 1


def test_one_bit_can_carry_a_mean_but_not_a_distribution() -> None:
    channel = window(2, 1, 1.0)
    wide = (exp(1) + 1) / (exp(1) - 1)

    np.testing.assert_allclose(scores(channel, SCALE), [-wide, wide])  # Duchi et al. 2018
    with pytest.raises(ValueError, match="do not tell"):
        scores(channel, [1, 0, 0, 0, 0])


def test_an_output_that_nobody_makes_scores_nothing() -> None:
    assert scores([[0.8, 0.2, 0], [0.2, 0.8, 0]], [1, 0])[2] == 0


def test_a_known_survey_gives_its_published_figure() -> None:
    """Blair, Imai and Zhou 2015, data `nigeria`: forced response 2/3, 1/6, 1/6."""
    channel = np.array([[5, 1], [1, 5]]) / 6

    found = linear([831, 2435 - 831], scores(channel, [1, 0]), channel)

    assert found.estimate == pytest.approx(0.261910, abs=1e-6)
    assert found.population_margin.standard_error == pytest.approx(0.014413, abs=1e-6)


def test_the_minarets_survey_gives_its_published_figures() -> None:
    """Heck and Moshagen 2018 (JSS 85(2), 4.1): the stochastic lie detector in two groups.

    P(yes in group j) = pi t + (1 - pi)(1 - p_j), so the two independent shares determine both:
    pi .870695 (SE .041118), t .635806 (SE .017344), there with n - 1 in the errors, and without
    the half report on either side, which changes them by less than 1e-5.
    """
    p = np.array([2, 10]) / 12
    n, yes = np.array([564, 692]), np.array([373, 398])
    shares = [linear([y, m - y], [1, 0], np.eye(2)) for y, m in zip(yes, n, strict=True)]
    share = np.array([s.estimate for s in shares])
    error = np.array([s.population_margin.standard_error for s in shares]) * np.sqrt(n / (n - 1))

    spread = (share[1] - share[0]) + (p[1] - p[0])
    pi = spread / (p[1] - p[0])
    t = (share[1] * (1 - p[0]) - share[0] * (1 - p[1])) / spread
    pi_slope = np.array([-1, 1]) / (p[1] - p[0])
    t_slope = np.array([t - (1 - p[1]), (1 - p[0]) - t]) / spread

    assert pi == pytest.approx(0.870695, abs=1e-6)
    assert t == pytest.approx(0.635806, abs=1e-6)
    assert np.hypot(*(pi_slope * error)) == pytest.approx(0.041118, abs=1e-5)
    assert np.hypot(*(t_slope * error)) == pytest.approx(0.017344, abs=1e-5)


@given(st.integers(1, 300), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_a_share_has_the_intervals_of_its_count(
    n: int, data: st.DataObject, confidence: float
) -> None:
    count = data.draw(st.integers(0, n))

    found = linear([count, n - count], scores(WARNER, [1, 0]), WARNER, confidence)

    for margin, interval in ((found.population_margin, population_interval),
                             (found.sample_margin, respondents_interval)):  # fmt: skip
        expected = interval(count, n, 0.75, 0.25, 1 - confidence)
        assert margin.missed == expected.missed
        if not margin.missed:
            assert margin.low == pytest.approx(float(expected.low), abs=1e-9)
            assert margin.high == pytest.approx(float(expected.high), abs=1e-9)
        assert margin.low < margin.high


@pytest.mark.parametrize(
    ("channel", "target", "least"),
    [(window(3, 1, eps), SCALE, (0.94, 0.939)) for eps in (0.5, 4)]
    + [(k_ary(3, eps), np.array([-1.0, 0, 1]), (0.94, 0.928)) for eps in (1, 4)]
    + [(k_ary(3, eps), np.array([1.0, 0, 0]), (0.93, 0.91)) for eps in (1, 4)],
)
def test_the_margins_cover_as_stated(
    channel: Floats, target: Floats, least: tuple[float, float]
) -> None:
    """Twenty respondents, nominal 95 %, exact coverage over all counts of three outputs."""
    n, inputs = 20, len(target)
    v, cells = scores(channel, target), outcomes(20)
    found = [linear(c, v, channel) for c in cells]
    ends = np.array(
        [(m.low, m.high) for f in found for m in (f.population_margin, f.sample_margin)]
    )
    low, high = ends.reshape(-1, 2, 2).T
    ends_only = [0.5, *[0.0] * (inputs - 2), 0.5]
    for share in ([1.0, *[0.0] * (inputs - 1)], [1 / inputs] * inputs, ends_only):
        answers = np.floor(np.array(share) * n + 1e-9).astype(np.int64)
        answers[-1] += n - answers.sum()
        laws = (stats.multinomial.pmf(cells, n, np.array(share) @ channel),
                law_of_respondents(channel, answers, n)[cells[:, 0], cells[:, 1]])  # fmt: skip
        truths = np.array(share) @ target, answers @ target / n
        for i, (law, truth) in enumerate(zip(laws, truths, strict=True)):
            inside = (low[i] <= truth + 1e-9) & (truth - 1e-9 <= high[i])
            assert law[inside].sum() >= least[i]


def shifted(margin: Margin, factor: float, start: float) -> tuple[float, ...]:
    return (factor * margin.standard_error, start + factor * margin.low,
            start + factor * margin.high)  # fmt: skip


@pytest.mark.parametrize("channel", [window(8, 3, 2.0, positions=6), k_ary(6, 8.0)])
@settings(deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=8, max_size=8),
    st.floats(0.01, 1000),
    st.floats(-3000, 3000),
)
def test_margins_move_with_the_scale(
    channel: Floats, counts: list[int], factor: float, start: float
) -> None:
    """Years since 1930 and years are one and the same, and so are metres and feet."""
    counts = counts[: channel.shape[1]]
    assume(any(counts))
    target = np.linspace(0, 5, 6)
    one = linear(counts, scores(channel, target), channel)
    other = linear(counts, scores(channel, start + factor * target), channel)

    slack = 1e-7 * (factor + abs(start) / 1000)
    assert other.estimate == pytest.approx(start + factor * one.estimate, abs=slack)
    for ours, theirs in (
        (one.population_margin, other.population_margin),
        (one.sample_margin, other.sample_margin),
    ):
        expected = shifted(ours, factor, start)
        assert (theirs.standard_error, theirs.low, theirs.high) == pytest.approx(
            expected, abs=slack, rel=1e-7
        )


@pytest.mark.parametrize(
    ("channel", "n"),
    [soak(k_ary(5, 1.0), 50), (k_ary(5, 8.0), 50), (k_ary(5, 8.0), 30), (window(40, 6, 6.0), 50)],
)
@pytest.mark.parametrize(
    "truth",
    [[0.98, 0, 0, 0, 0.02], soak([0.1, 0.2, 0.4, 0.2, 0.1]), soak([0.7, 0.2, 0.06, 0.03, 0.01])],
)
def test_the_mean_year_is_covered_wherever_years_start(
    channel: Floats, n: int, truth: list[float]
) -> None:
    """Coverage 0.92 of a mean from 1930 on: of 800 runs fewer than 698 have a chance of 1e-6."""
    year, rng, covered = 1930 + 20 * np.arange(5.0), np.random.default_rng(20_261_121), 0
    v, law = scores(channel, year), truth @ channel
    runs = rng.multinomial(n, law / law.sum(), size=800)
    for counts, times in zip(*np.unique(runs, axis=0, return_counts=True), strict=True):
        margin = linear(counts, v, channel).population_margin
        covered += times * (margin.low - 1e-9 <= truth @ year <= margin.high + 1e-9)

    assert covered >= 698


def test_a_rare_answer_that_nobody_gave_is_not_excluded() -> None:
    """Nobody of 50 is at the other end: Wilson's upper end for such a share, times the scale."""
    channel = k_ary(5, 12.0)

    found = linear([50, 0, 0, 0, 0], scores(channel, np.arange(5.0)), channel)

    assert found.population_margin.high == pytest.approx(4 * 0.08, abs=0.02)


def test_the_likeliest_law_with_a_mean_is_found() -> None:
    """Against every law of three points with this mean, on a fine line of them."""
    weights, position = np.array([5.0, 3.0, 2.0]), np.array([0.0, 1.0, 3.0])
    for mean in (0.2, 0.9, 1.4, 2.5):
        last = np.linspace(0, 1, 100_001)[1:-1]
        laws = np.stack([1 - (mean - 3 * last) - last, mean - 3 * last, last])
        laws = laws[:, (laws > 0).all(axis=0)]
        best = laws[:, (weights @ np.log(laws)).argmax()]

        likeliest = tilted(weights, position, np.eye(3))
        found = [likeliest(mean, kind) for kind in range(3)]

        np.testing.assert_allclose(found, best, atol=2e-3)


def test_the_textbook_margin_fails_where_ours_does_not() -> None:
    """All twenty at one end, epsilon 4: estimate +- 1.96 errors covers 51 %."""
    channel, cells = window(3, 1, 4.0), outcomes(20)
    law = stats.multinomial.pmf(cells, 20, channel[0])
    found = [linear(c, scores(channel, SCALE), channel) for c in cells]

    v = scores(channel, SCALE)
    errors = [np.sqrt(c @ (v - f.estimate) ** 2) / 20 for c, f in zip(cells, found, strict=True)]
    textbook = [abs(f.estimate + 1) <= 1.96 * e for f, e in zip(found, errors, strict=True)]

    assert law[np.array(textbook)].sum() < 0.52


def test_a_one_bit_report_hides_who_varies() -> None:
    """The variance among answers cannot be known from one bit: no narrower margin is claimed."""
    channel = window(2, 1, 2.0)

    found = linear([40, 60], scores(channel, SCALE), channel)

    assert found.sample_margin.low == pytest.approx(found.population_margin.low, abs=1e-3)
    assert found.sample_margin.standard_error == pytest.approx(
        found.population_margin.standard_error, 0.02
    )


@given(st.lists(st.integers(0, 200), min_size=8, max_size=8).filter(any), st.sampled_from([1, 4]))
def test_margins_stay_on_the_scale_and_around_the_estimate(
    counts: list[int], epsilon: float
) -> None:
    channel = window(8, 3, epsilon, positions=6)
    found = linear(counts, scores(channel, np.linspace(0, 5, 6)), channel)

    nearest = min(max(found.estimate, 0), 5)
    for margin in (found.population_margin, found.sample_margin):
        assert -1e-9 <= margin.low <= nearest + 1e-9
        assert nearest - 1e-9 <= margin.high <= 5 + 1e-9
        assert margin.standard_error >= 0


@pytest.mark.parametrize(
    ("counts", "confidence", "why"),
    [([0, 0], 0.95, "at least one"), ([1, 2, 3], 0.95, "one entry"), ([1, 2], 1.0, "confidence")],
)
def test_what_cannot_be_estimated_is_refused(
    counts: list[int], confidence: float, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        linear(counts, [1.5, -0.5], WARNER, confidence)


def test_a_reference_that_leaves_an_answer_out_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        scores(WARNER, [1, 0], [1, 0])


@pytest.mark.parametrize(("k", "epsilon"), [(3, 1.0), (5, 2.0)])
def test_the_expected_counts_give_the_truth(k: int, epsilon: float) -> None:
    channel, share = k_ary(k, epsilon), np.arange(1, k + 1) / (k * (k + 1) / 2)

    found = linear(10**6 * share @ channel, scores(channel, np.arange(k)), channel)

    assert found.estimate == pytest.approx(share @ np.arange(k), abs=1e-5)
