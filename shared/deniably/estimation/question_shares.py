"""Shares of a question's answers, estimated from its tally.

The mechanism's law chooses the estimator: counts of supported choices where reports support some,
else maximum likelihood on the whole tally. A margin for the population holds if the respondents are
a random sample of it. A margin for the sample is about these respondents alone.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats, tail_with
from deniably.estimation import blank_laws
from deniably.estimation.blanks import Saved, saved_weight
from deniably.estimation.channels import matrix
from deniably.estimation.estimate import (
    Estimate,
    Pure,
    estimate,
    estimate_through,
    of_means,
    project,
    supports,
)
from deniably.estimation.intervals import Interval, group_interval
from deniably.estimation.inversion import Mean, Uncertain, as_mean, is_share, least_step, tilted
from deniably.estimation.scores import noise_of_sum
from deniably.estimation.shrinkage import shrunken, within
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Supporting
from deniably.survey.questions import (
    OfChoices,
    Point,
    Product,
    SelectMultiple,
)

CONFIDENCE = 0.95
UNSCORED = frozenset({"dont_know", "prefer_not_to_say", "not_applicable"})
"""Names of choices that have no score on a scale."""


def shares(
    question: OfChoices,
    tally: Tally,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Estimates the shares of a question's choices.

    Raises ValueError as ``estimate`` does, and where the mechanism does not determine the shares: a
    window over many choices has fewer outputs than choices.
    """
    law = question.mechanism.law
    if isinstance(law, Supporting):
        single = not isinstance(question, SelectMultiple)
        return estimate(tally, law, confidence, single=single)
    return estimate_through(tally, matrix(law), confidence)


def display_shares(
    question: OfChoices | Product | Point,
    tally: Tally,
    estimates: Estimate,
) -> Floats:
    """Returns the shares to draw in pictures, shape (k,), each within its interval in
    ``estimates``.

    ``estimates`` come from ``shares`` or ``cell_shares``. Where people give one answer and reports
    name choices, the shares are those of ``shrinkage.shrunken``, which are nearer to the truth than
    the nearest point of the simplex. Other channels give the maximum-likelihood shares. Where
    people tick several options, the shares need not sum to 1 and one option's noise says nothing
    about another. So each option keeps its own estimate, moved within 0 to 1.
    """
    if isinstance(question, SelectMultiple):
        return np.clip(estimates.consistent, estimates.low, estimates.high)
    law, shares = question.mechanism.law, estimates.consistent
    if isinstance(law, Supporting):
        p, q = map(float, blank_laws.rates(law, tally))
        shares = shrunken(supports(tally, law).counts, tally.reports, p, q)
    return within(shares, estimates.low, estimates.high)


def part_shares(
    question: Product, axis: int, tally: Tally, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimates the shares of the choices of one small question in a product.

    A product question asks several small questions, its parts, in one joint report; ``axis`` is the
    index of the part.
    """
    cells = np.arange(question.mechanism.law.k).reshape(question.shape)
    size = question.shape[axis]
    groups = [np.take(cells, choice, axis=axis).ravel() for choice in range(size)]
    return _grouped(tally, question.report_mechanism.law, groups, confidence)


def cell_shares(
    question: Product | Point, tally: Tally, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimates the shares of all combinations of a product's choices, or of all areas of a map.

    They are in the order of the cells of the tally.
    """
    return estimate(tally, question.report_mechanism, confidence)


def standing_out(
    mechanism: Pure, tally: Tally, *, single: bool, risk: float = 1 - CONFIDENCE
) -> npt.NDArray[np.bool_]:
    """Returns which choices somebody must have given, since noise does not explain their reports.

    The result has shape (k,). The chance that it marks any choice that nobody has is at most
    ``risk``, whatever the other shares. The support of such a choice is exactly Binomial(n, q), and
    blanks add their own to it, which gives exact p-values. Holm's rule compares them (1979, Scand.
    J. Stat. 6:65). ``single`` says that each person has one choice. Then not all choices can be
    empty, which allows Shaffer's first step (1986, JASA 81:826).
    """
    law = mechanism.law
    seen, k = supports(tally, law), law.k
    p_values = np.empty(k)
    for n in np.unique(seen.n).tolist():
        alike = seen.n == n
        p_values[alike] = tail_with(seen.counts[alike], n, seen.q, seen.coins)
    order = np.argsort(p_values, kind="stable")
    empty = np.arange(k, 0, -1)  # how many can be nobody's, of those not yet passed
    if single:
        empty[0] = k - 1
    passed = np.logical_and.accumulate(p_values[order] <= risk / empty)
    stands_out = np.zeros(k, dtype=np.bool_)
    stands_out[order] = passed
    return stands_out


def _grouped(
    tally: Tally,
    law: Supporting,
    groups: list[npt.NDArray[np.int64]],
    confidence: float,
) -> Estimate:
    """Shares of groups of cells; each cell is in one group."""
    inside = np.zeros((len(groups), law.k))
    for row, cells in zip(inside, groups, strict=True):
        row[cells] = 1.0
    every = [weighted_mean(tally, law, row, confidence) for row in inside]
    risk = (1 - confidence) / len(groups)
    joint = [_group_interval(tally, law, row, risk) for row in inside]
    consistent = project([one.estimate for one in every])
    noisy = np.array([one.population_margin.standard_error**2 for one in every])
    return of_means(every, joint, consistent, noisy)


def _group_interval(tally: Tally, law: Supporting, inside: Floats, risk: float) -> Interval:
    """The exact interval of the share of the choices that are ``inside``, (k,)."""
    size = int(inside.sum())
    own, other = _group_laws(law, size)
    part = size / law.k  # of the blanks, whose answers are uniform
    blanks = (part * own + (1 - part) * other, tally.blanks) if tally.blanks else None
    total = int(tally.counts @ inside.astype(np.int64))
    return group_interval(total, tally.n, own, other, risk, blanks)


def _group_laws(law: Supporting, size: int) -> tuple[Floats, Floats]:
    """The law of how many of a group of ``size`` choices a report names.

    First if the answer is in the group, then if it is not.
    """
    k, omega, p = law.k, law.most, float(law.p)

    def among(rest: int, named: int) -> Floats:
        """P(j of ``named`` draws are in the group), j up to ``size``; ``rest`` of k - 1 are."""
        ways = [comb(rest, j) * comb(k - 1 - rest, named - j) if j <= named else 0
                for j in range(size + 1)]  # fmt: skip
        return np.array([float(Fraction(way, comb(k - 1, named))) for way in ways])

    # Subset selection: the answer is in the set with probability p, and the others are a uniform
    # sample of the k - 1 other choices, so hypergeometric.
    own = p * np.append(0.0, among(size - 1, omega - 1)[:-1]) + (1 - p) * among(size - 1, omega)
    return own, p * among(size, omega - 1) + (1 - p) * among(size, omega)


def weighted_mean(
    tally: Tally, mechanism: Pure, values: npt.ArrayLike, confidence: float = CONFIDENCE
) -> Mean:
    """Estimates the mean over people of ``values``, shape (k,), where reports name choices.

    The score of a report is the sum of the values of its choices. Its variance depends on how often
    two choices are reported together, which the mechanism says exactly. Intervals are score
    intervals as in ``linear``; the variance at each mean is that of the consistent shares, tilted
    to this mean. Where values are 0 and 1 and a report has one choice, the intervals are those of
    ``intervals`` for the group's count, except that unbiased shares below 0 may change the half
    step. Coverage at a nominal 0.95, simulated for epsilon 0.5 to 8 and n 50 to 1000: about 0.93 or
    more for shares, and 0.92 for means of five values with 2 % of people at the far end.
    Raises ValueError where there is no report.
    """
    return as_mean(tally.n, weighted_sums(tally, mechanism, values), confidence)


def weighted_sums(
    tally: Tally, mechanism: Pure, values: npt.ArrayLike
) -> tuple[Uncertain, Uncertain]:
    """Returns the uncertain means for the population and for these respondents alone.

    ``weighted_mean`` makes its margins from them. Raises ValueError where there is no report.
    """
    tally.enough_for("an estimate")
    law, value = blank_laws.blended(mechanism, tally), np.asarray(values, dtype=np.float64)
    raw = supported_shares(law, tally.counts / tally.reports)
    step = least_step(value) / (float(law.p) - float(law.q)) / tally.reports
    return weighted_sums_of(law, tally, raw, project(raw), value, step)


def weighted_sums_of(
    law: Supporting, tally: Tally, raw: Floats, answered: Floats, value: Floats, step: float
) -> tuple[Uncertain, Uncertain]:
    """Returns what ``weighted_sums`` does, from shares instead of a tally.

    ``raw`` (k,) are unbiased shares and ``answered`` (k,) consistent ones, ``value`` (k,) has a
    number for each choice, and one report moves the mean by at least ``step``. ``law`` is that of a
    report drawn from the ``tally`` (``blank_laws.blended``).
    """
    p, q, n = float(law.p), float(law.q), tally.reports
    saved = Saved(saved_weight(tally.n, tally.blanks), value.mean())
    estimate = float(raw @ value)
    apart = value - estimate
    noise = noise_of_sum(law, apart)  # of one report, by the true choice
    here = noise - n * saved.at(value)
    spread = float(answered @ apart**2 - (answered @ apart) ** 2)
    within = float(answered @ noise)
    # values[0] are mean squares of the score, values[1] the noise in them.
    likeliest = tilted(answered, value, np.stack([noise + apart**2, here]))
    ends = float(value.min()), float(value.max())

    def variance_at(mu: npt.ArrayLike) -> Floats:
        at = np.asarray(mu, dtype=np.float64)
        variance: Floats = (likeliest(mu, 0) - (at - estimate) ** 2) / n - saved.at(at)
        return variance

    inside = float(answered @ value)
    seems = (within + spread) / n - float(saved.at(np.array(inside)))
    error = seems**0.5
    if is_share(value):  # half a report, see standard_error
        half = (n * estimate + (0.5 - q) / (p - q)) / (n + 1)
        error = float(np.sqrt(variance_at(np.clip(half, *ends))))
    within = float(answered @ here) / n
    return (
        Uncertain(estimate, seems, variance_at, step, ends, error),
        Uncertain(estimate, within, lambda mu: likeliest(mu, 1) / n, step, ends, within**0.5),
    )


def supported_shares(law: Supporting, seen: Floats) -> Floats:
    """Returns the unbiased shares of the choices, shape (k,).

    ``seen`` (k,) has for each choice the fraction of reports that support it.
    """
    shares: Floats = (seen - float(law.q)) / float(law.p - law.q)
    return shares
