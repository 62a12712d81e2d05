"""Quantiles from whole reports: short intervals that cover, and a search that misses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from deniably.authoring.compiling import compile_survey
from deniably.estimation.channels import matrix
from deniably.estimation.profile_likelihood import quantile_intervals
from deniably.estimation.question_distributions import QUANTILES, number_distribution, roots
from deniably.estimation.tally import Tally
from deniably.mechanisms import Window
from deniably.survey.questions import Number
from support.soak import all_but, soak

Floats = npt.NDArray[np.float64]

PLACE = np.arange(32)
SHAPES: dict[str, Floats] = {
    "hump": np.exp(-0.5 * ((PLACE - 9.6) / 3.2) ** 2),
    "two humps": np.exp(-0.5 * ((PLACE - 8) / 2) ** 2)
    + 0.7 * np.exp(-0.5 * ((PLACE - 24) / 2) ** 2),
    "spike at 0": np.append(3.0, np.full(31, 0.1)),
    "uniform": np.ones(32),
    "point": (PLACE == 12).astype(float),
}
RUNS, FEWEST = 40, 29  # at a coverage of 0.95, fewer have a chance below 1e-6


def asked(epsilon: float, **keys: Any) -> Number:
    question = {"name": "q", "label": "Q?", "type": "number", "aim": "distribution"}
    question |= {"minimum": 0, "maximum": 99, "epsilon": epsilon} | keys
    found = compile_survey({"name": "s", "title": "T", "questions": [question]}).questions[0]
    assert isinstance(found, Number)
    return found


def surveys(question: Number, truth: Floats, n: int, runs: int, seed: int = 4) -> list[Tally]:
    assert isinstance(question.report_mechanism, Window)
    law = truth / truth.sum() @ matrix(question.report_mechanism)
    return [Tally(n, row) for row in np.random.default_rng(seed).multinomial(n, law, size=runs)]


def within(question: Number, tally: Tally, shares: Sequence[float]) -> list[tuple[int, int]]:
    """The intervals that results have, without the rest of the results."""
    assert isinstance(question.report_mechanism, Window)
    times = roots(question.report_mechanism)
    assert times is not None
    return quantile_intervals(
        tally.counts, matrix(question.report_mechanism), shares, 1.959964 * times
    )


def exactly(truth: Floats, share: float) -> tuple[Floats, int]:
    """The truth bent so that the bucket of its quantile ends just there; and that bucket."""
    shares = truth / truth.sum()
    at = int(np.searchsorted(np.cumsum(shares), share))
    at = min(max(at, 1), len(shares) - 2)
    below = np.arange(len(shares)) <= at
    bent = np.where(below, shares * share / shares[below].sum(), 0)
    bent = np.where(below, bent, shares * (1 - share) / shares[~below].sum())
    return bent, at


@pytest.mark.parametrize("shape", all_but(("spike at 0", "point"), list(SHAPES)))
@pytest.mark.parametrize("epsilon", [soak(1.0), 2.0])
def test_intervals_of_quantiles_cover(shape: str, epsilon: float) -> None:
    assert stats.binom.cdf(FEWEST - 1, RUNS, 0.95) < 1e-6
    question, truth = asked(epsilon), SHAPES[shape]
    reached = np.cumsum(truth / truth.sum())
    shares = (0.25, 0.5)
    real = [int((reached < share - 1e-12).sum()) for share in shares]

    found = [within(question, tally, shares) for tally in surveys(question, truth, 1000, RUNS)]

    for at, bucket in enumerate(real):
        assert sum(f[at][0] <= bucket <= f[at][1] for f in found) >= FEWEST


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("shape", [soak("hump"), soak("two humps"), "spike at 0", soak("uniform")])
def test_intervals_cover_where_a_bucket_ends_just_at_the_quantile(shape: str, share: float) -> None:
    question = asked(1.0)
    truth, bucket = exactly(SHAPES[shape], share)

    found = [within(question, tally, [share])[0] for tally in surveys(question, truth, 500, RUNS)]

    assert sum(low <= bucket <= high for low, high in found) >= FEWEST


@pytest.mark.parametrize(("n", "widest"), [(200, 8), (1000, 4), (5000, 2)])
def test_the_interval_of_a_median_is_short(n: int, widest: int) -> None:
    """Of a hump, epsilon 1, the middle one of 11 surveys; the margins of the shares up to each
    bucket leave 31, 19 and 2.3 buckets."""
    question = asked(1.0)

    found = [within(question, tally, [0.5])[0]
             for tally in surveys(question, SHAPES["hump"], n, 11)]  # fmt: skip

    assert np.median([high - low for low, high in found]) <= widest


def test_results_have_these_intervals_and_the_fit_within_them() -> None:
    question = asked(1.0)
    (tally,) = surveys(question, SHAPES["hump"], 1000, 1)

    found = number_distribution(question, tally)

    assert [(q.low, q.high) for q in found.quantiles] == within(question, tally, QUANTILES)
    for quantile in found.quantiles:
        reached = int((np.cumsum(found.shares)[:-1] < quantile.share).sum())
        assert quantile.bucket == min(max(reached, quantile.low), quantile.high)


@pytest.mark.parametrize(("epsilon", "times"), [(0.5, 1), (1, 1), (1.5, 2.24 / 1.96), (2.5, None)])
def test_a_narrow_window_keeps_its_plain_intervals(epsilon: float, times: float | None) -> None:
    mechanism = asked(epsilon).report_mechanism

    assert isinstance(mechanism, Window)
    assert roots(mechanism) == times
    assert roots(Window(1024, 1300, 300, 3, 1)) is None  # would take minutes


def likelihood(counts: Floats, channel: Floats, t: int = 0, q: float | None = None) -> float:
    """The largest log-likelihood, by a general solver; where F(t) is q if that is given."""
    buckets = len(channel)
    rows = [np.ones(buckets), (np.arange(buckets) <= t).astype(float)]
    start, values = np.full(buckets, 1 / buckets), [1.0]
    if q is not None:
        start = np.where(rows[1] > 0, q / rows[1].sum(), (1 - q) / (1 - rows[1]).sum())
        values.append(q)
    found = optimize.minimize(
        lambda f: -counts @ np.log(np.maximum(f @ channel, 1e-12)),
        start,
        jac=lambda f: -channel @ (counts / np.maximum(f @ channel, 1e-12)),
        bounds=[(0, 1)] * buckets,
        constraints={
            "type": "eq",
            "fun": lambda f: np.array(rows[: len(values)]) @ f - values,
            "jac": lambda f: np.array(rows[: len(values)]),
        },
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return -float(found.fun)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=9, max_size=9), st.sampled_from([0.25, 0.5]))
def test_a_bucket_is_kept_exactly_where_the_deviance_is_small(
    counts: list[int], share: float
) -> None:
    """Six buckets, every one of them tried with a solver that knows nothing of EM."""
    question = asked(1.0, minimum=0, maximum=5, buckets=6)
    assert isinstance(question.report_mechanism, Window)
    channel = matrix(question.report_mechanism)
    seen = np.array(counts[: channel.shape[1]], dtype=float)
    cutoff = 1.96

    ((first, last),) = quantile_intervals(seen, channel, share, cutoff)

    free = likelihood(seen, channel)
    for t in range(5):
        over = 2 * (free - likelihood(seen, channel, t, share)) - cutoff**2
        if abs(over) < 0.05:
            continue  # too near to tell
        assert (over > 0) == (t < first or t >= last)


def test_there_is_no_quantile_of_nothing() -> None:
    channel = matrix(asked(1.0).report_mechanism)  # type: ignore[arg-type]

    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile_intervals(np.ones(channel.shape[1]), channel, 1.0, 1.96)
    with pytest.raises(ValueError, match="at least one report"):
        quantile_intervals(np.zeros(channel.shape[1]), channel, 0.5, 1.96)
