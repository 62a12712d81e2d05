"""Estimates the shares of choices from a tally, with intervals.

Works for every pure mechanism: generalised randomised response (GRR, k-RR), subset selection,
unary encoding (SUE, OUE). Let p = P(support | own answer) and q = P(support | other answer). If a
share f_v of the population has choice v, then each of n reports supports it with probability
lambda_v = q + (p - q) f_v. So the count N_v is exactly Binomial(n, lambda_v), if the respondents
are a random sample of that population. Every formula below follows from this. A mixer's blanks are
``coins`` that are counted with the supports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import NO_COINS, AddedCoins, Floats
from deniably.estimation import blank_laws
from deniably.estimation.blanks import Blanks, blended_channel
from deniably.estimation.intervals import (
    Interval,
    IntervalEnds,
    population_interval,
    respondents_interval,
    scores_interval,
)
from deniably.estimation.inversion import Mean, linear_each, scores
from deniably.estimation.likelihood import maximum_likelihood
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import HasLaw, Supporting

_EXACT = partial(population_interval, exact=True)

Pure = HasLaw[Supporting]
"""Mechanisms whose reports support choices, each with p if it is the answer and q if not."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """De-biased shares of one question's choices; every array has shape (k,), shares are 0 to 1.

    ``raw`` is unbiased and may leave [0, 1]: use it for inference. ``consistent`` is the nearest
    point of the simplex where a person has one answer. Where several ticks are allowed, it is
    ``raw`` clipped to [0, 1]. For pictures take ``question_shares.display_shares``, which are
    nearer to the truth.

    Three intervals hold with ``confidence``. ``low .. high`` covers one share of the population.
    ``joint_low .. joint_high`` covers all of them at once. ``respondents_low ..
    respondents_high`` covers one share among these respondents alone.

    ``design_effect`` is the variance divided by that of asking n people directly. It is None where
    all respondents seem to agree. ``effective_n`` is n divided by the design effect. ``suspicious``
    marks choices with a count that no share within [0, 1] explains: a sign of a bug or of fake
    reports. ``interval_at(confidence)`` returns the intervals of the population's shares at any
    other confidence.
    """

    n: int
    confidence: float
    raw: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    joint_low: Floats
    joint_high: Floats
    respondents_low: Floats
    respondents_high: Floats
    consistent: Floats
    design_effect: float | None
    effective_n: float | None
    suspicious: npt.NDArray[np.bool_]
    interval_at: Callable[[float], IntervalEnds] = field(repr=False)


def estimate(
    tally: Tally, mechanism: Pure, confidence: float = 0.95, *, single: bool | None = None
) -> Estimate:
    """Estimates the shares of one question's choices from its tally.

    ``single`` says whether every person has exactly one choice; by default this follows from the
    mechanism. If each device reports only a sample of the options, the denominator of an option is
    the number of people whose devices reported on it.

    >>> from deniably.estimation.tally import tally
    >>> from deniably.mechanisms import SubsetSelection
    >>> warner = SubsetSelection(k=2, omega=1, own=3, other=1)  # the truth, 3 times out of 4
    >>> found = estimate(tally([[0]] * 40 + [[1]] * 60, cell_count=2), warner)
    >>> found.raw.round(3), found.standard_error.round(3)
    (array([0.3, 0.7]), array([0.098, 0.098]))

    Source: Wang, Blocki, Li and Jha 2017 (USENIX Security, eqs. 4-7), with the exact binomial
    variance; intervals as in ``intervals``. Each joint interval is exact (Clopper and Pearson 1934)
    at a k-th of the risk. By Bonferroni's inequality all of them together cover with at least
    ``confidence``. Where shares sum to 1, this sum narrows the joint intervals.

    Raises ValueError where there is no report, the tally has another number of cells than the
    mechanism, or ``confidence`` is not strictly between 0 and 1.
    """
    tally.enough_for("an estimate")
    law = mechanism.law
    if tally.counts.shape != (law.cell_count,):
        raise ValueError(
            f"the tally has {len(tally.counts)} cells but the mechanism has {law.cell_count}"
        )
    _check(confidence)
    single = law.single if single is None else single
    seen = supports(tally, law)
    p, q, coins = seen.p, seen.q, seen.coins
    raw = seen.shares
    consistent = project(raw) if single else np.clip(raw, 0, 1)
    alpha = 1 - confidence

    def population(confidence: float) -> Interval:
        return _each(population_interval, seen, 1 - confidence)

    intervals = population(confidence)
    # Bonferroni: k intervals, each with a k-th of the risk.
    joint = _each(_EXACT, seen, alpha / law.k)
    # Those whose devices drew an option are a random sample of these respondents, who are their
    # population here; its interval is a little wide for so small a one.
    sampled = law.sampled_fraction < 1
    here = intervals if sampled else _each(respondents_interval, seen, alpha)
    low, high = (joint.low, joint.high)
    support = q + (p - q) * consistent
    # Binomial variances at the consistent shares, for the design effect.
    noisy = support * (1 - support) / (seen.n * (p - q) ** 2)
    noisy += coins.variance / (seen.n * (p - q)) ** 2
    effect = _design_effect(noisy, consistent, tally.n)
    return Estimate(
        n=tally.n,
        confidence=confidence,
        raw=raw,
        standard_error=standard_error(seen.counts, seen.n, p, q, coins),
        low=intervals.low,
        high=intervals.high,
        joint_low=tightened(low, high)[0] if single else low,
        joint_high=tightened(low, high)[1] if single else high,
        respondents_low=here.low,
        respondents_high=here.high,
        consistent=consistent,
        design_effect=effect,
        effective_n=None if effect is None else tally.n / effect,
        suspicious=intervals.missed,
        interval_at=lambda confidence: population(confidence).ends,
    )


def estimate_through(tally: Tally, channel: npt.ArrayLike, confidence: float = 0.95) -> Estimate:
    """Estimates the shares of a single choice through any finite ``channel`` (k, outputs).

    The channel has a row for every possible answer. ``raw`` comes from channel inversion,
    ``consistent`` from maximum likelihood on whole reports. Joint intervals spend a k-th of the
    risk each. With two outputs they are Clopper and Pearson's, otherwise those of
    ``scores_interval``. Raises ValueError as ``estimate`` does, and where the reports do not
    determine the shares.
    """
    q = np.asarray(channel, dtype=np.float64)
    tally.enough_for("an estimate")
    if tally.counts.shape != q.shape[1:]:
        raise ValueError(
            f"the tally has {len(tally.counts)} cells but the channel has {q.shape[1]} outputs"
        )
    _check(confidence)
    weights = scores(q, np.eye(len(q)))
    blanks = Blanks(tally.blanks, q.mean(axis=0)) if tally.blanks else None
    means = linear_each(tally.counts, weights, q, confidence, blanks)
    risk = (1 - confidence) / len(q)
    joint = [_through(tally, q, choice, score, risk) for choice, score in enumerate(weights)]
    consistent = maximum_likelihood(tally.counts, blended_channel(q, tally.n, blanks)).shares
    noisy = np.array([consistent @ (q @ v**2) - (consistent @ q @ v) ** 2 for v in weights])
    return of_means(means, joint, consistent, noisy / tally.n)


def _through(tally: Tally, channel: Floats, choice: int, score: Floats, risk: float) -> Interval:
    """The exact interval of one choice's share."""
    blank = channel.mean(axis=0)
    if channel.shape == (2, 2):
        output = int(np.argmax(score))  # the one that speaks for the choice
        p, q = float(channel[choice, output]), float(channel[1 - choice, output])
        coins = AddedCoins(tally.blanks, float(blank[output]))
        return _EXACT(int(tally.counts[output]), tally.n, p, q, risk, coins=coins)
    others = np.delete(channel, choice, axis=0)
    blanks = (blank, tally.blanks) if tally.blanks else None
    mean = (float(tally.counts @ score) - tally.blanks * float(blank @ score)) / tally.n
    return scores_interval(mean, tally.n, score, channel[choice], others, risk, blanks)


def of_means(
    means: Sequence[Mean], joint: Sequence[Interval], consistent: Floats, noisy: Floats
) -> Estimate:
    """Returns the ``Estimate`` of shares that were estimated one by one, as means of scores.

    ``joint`` are intervals that cover all shares at once, ``noisy`` (k,) are variances of the
    estimates at the ``consistent`` shares (k,).
    """
    n = means[0].n
    low, high = tightened(
        np.array([each.low for each in joint]), np.array([each.high for each in joint])
    )

    def population(confidence: float) -> IntervalEnds:
        margins = [mean.margin_at(confidence) for mean in means]
        return np.array([each.low for each in margins]), np.array([each.high for each in margins])

    effect = _design_effect(noisy, consistent, n)
    return Estimate(
        n=n,
        confidence=means[0].confidence,
        raw=np.array([mean.estimate for mean in means]),
        standard_error=np.array([mean.population_margin.standard_error for mean in means]),
        low=np.array([mean.population_margin.low for mean in means]),
        high=np.array([mean.population_margin.high for mean in means]),
        joint_low=low,
        joint_high=high,
        respondents_low=np.array([mean.sample_margin.low for mean in means]),
        respondents_high=np.array([mean.sample_margin.high for mean in means]),
        consistent=consistent,
        design_effect=effect,
        effective_n=None if effect is None else n / effect,
        suspicious=np.array([mean.population_margin.missed for mean in means]),
        interval_at=population,
    )


def unbiased(tally: Tally, mechanism: Pure) -> Floats:
    """Returns the ``raw`` shares of ``estimate``, shape (k,), without computing its intervals.

    Raises ValueError where there is no report.
    """
    tally.enough_for("an estimate")
    return supports(tally, mechanism).shares


@dataclass(frozen=True, eq=False)
class Supports:
    """How many reports support each choice.

    ``counts`` (k,) of them do, of ``n`` (k,) that could have. Those of people support their own
    choice with probability ``p`` and any other with ``q``. Blanks among them are the ``coins``.
    """

    counts: npt.NDArray[np.int64]
    n: npt.NDArray[np.int64]
    p: float
    q: float
    coins: AddedCoins = NO_COINS

    @property
    def shares(self) -> Floats:
        """The unbiased share of each choice, shape (k,)."""
        shares: Floats = ((self.counts - self.coins.expected) / self.n - self.q) / (self.p - self.q)
        return shares


def supports(tally: Tally, mechanism: Pure) -> Supports:
    """Returns how many reports support each choice, and how many are about it.

    All reports are about every choice, unless each device reports only a sample of the options.
    Then chance decides how many blanks have one, so n counts these as well, and p and q are those
    of a report drawn from all.
    """
    law = mechanism.law
    if law.both:
        # Cells 2 * option and 2 * option + 1: reports without and with the tick.
        pairs = tally.counts.reshape(-1, 2)
        # At least 1: an option that no device drew must not divide by 0.
        p, q = map(float, blank_laws.rates(law, tally))
        return Supports(pairs[:, 1], np.maximum(pairs.sum(axis=1), 1), p, q)
    n = np.full(law.k, tally.n)
    coins = blank_laws.coins(law, tally)
    return Supports(tally.counts[: law.k], n, float(law.p), float(law.q), coins)


def project(raw: npt.ArrayLike) -> Floats:
    """Returns the nearest point of the simplex {f >= 0, sum f = 1} in Euclidean distance.

    Source: Held, Wolfe and Crowder 1974; the sort-based form of Duchi et al. 2008 (ICML), fig. 1.
    "Norm-Sub", which shifts all shares and sets negative ones to 0 in rounds, gives the same result
    only where the ``raw`` shares sum to 1.
    """
    values = np.asarray(raw, dtype=np.float64)
    ordered = np.sort(values)[::-1]
    # The shift that makes the largest i values sum to 1, for each i; the right i is the last that
    # leaves all of them above 0.
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(ordered) + 1)
    last = int(np.flatnonzero(ordered - excess > 0)[-1])
    projected: Floats = np.maximum(values - excess[last], 0.0)
    shares: Floats = projected / projected.sum()
    return shares


def variance(mechanism: Pure, share: npt.ArrayLike, n: int = 1) -> Floats:
    """Returns the exact variance of a raw estimate from n reports at the true ``share``.

    It has the shape of ``share``. Source: Warner 1965 (JASA 60:63); Wang, Blocki, Li and Jha
    2017 (USENIX Security), theorem 2.
    """
    p, q = float(mechanism.law.p), float(mechanism.law.q)
    support = q + (p - q) * np.asarray(share, dtype=np.float64)
    result: Floats = support * (1 - support) / (n * (p - q) ** 2)
    return result


def standard_error(
    count: npt.ArrayLike, n: npt.ArrayLike, p: float, q: float, coins: AddedCoins = NO_COINS
) -> Floats:
    """Returns the standard error to show for a share, where ``count`` of ``n`` reports support it.

    The plain formula, from count / n, is too small where noise moves few reports, and 0 where no
    report supports the choice. So half a report is added to either side, and the probability of a
    support is kept between q (nobody has the choice) and p (everybody has it). The mean of the
    result was enumerated for epsilon 1 to 8, k 2 to 20 and n 50 to 1000. It is 1.0 to 2.2 times the
    true standard deviation at a share of 0 or 1 (3.9 at epsilon 8, n = 100), and 1.0 to 1.12 times
    from a share of 2 % on. Where no report supports a choice, read the interval instead.
    ``coins`` are blanks in the count.
    """
    counts, reports = np.asarray(count, dtype=np.float64), np.asarray(n, dtype=np.float64)
    support = np.clip((counts - coins.expected + 0.5) / (reports + 1), q, p)
    variance = support * (1 - support) / reports + coins.variance / reports**2
    error: Floats = np.sqrt(variance) / (p - q)
    return error


def tightened(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Returns the tightest bounds of shares f with low <= f <= high and sum f = 1, all of shape
    (k,).

    If there are no such shares, ``low`` and ``high`` are returned as they are.
    """
    if not low.sum() <= 1 <= high.sum():
        return low, high
    return (
        # A share is at least what is left if all others are as large as they can be.
        np.maximum(low, 1 - (high.sum() - high)),
        np.minimum(high, 1 - (low.sum() - low)),
    )


def _design_effect(noisy: Floats, shares: Floats, n: int) -> float | None:
    # Summed over all choices; answers that all agree have no variance to compare with.
    direct = float((shares * (1 - shares)).sum()) / n
    return float(noisy.sum()) / direct if direct * n >= 1e-12 else None


def _each(interval: Callable[..., Interval], seen: Supports, alpha: float) -> Interval:
    """The interval of every choice, with its own number of reports where these differ."""
    p, q, coins = seen.p, seen.q, seen.coins
    if (seen.n == seen.n[0]).all():
        return interval(seen.counts, seen.n[0].item(), p, q, alpha, coins=coins)
    intervals = [
        interval(count, n.item(), p, q, alpha, coins=coins)
        for count, n in zip(seen.counts, seen.n, strict=True)
    ]
    return Interval(
        np.array([each.low for each in intervals]),
        np.array([each.high for each in intervals]),
        np.array([each.missed for each in intervals]),
    )


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence:g}; it is between 0 and 1, such as 0.95")
