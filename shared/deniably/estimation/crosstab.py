"""Cross-tabulates two questions that were randomised independently.

Both reports must come from the same respondent. Two reports are correlated less than the answers
are, by the factor (p1 - q1)(p2 - q2), so reports are never tabulated as they are. The joint channel
is the product of the two channels, and so is its inverse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats, clopper_pearson
from deniably.estimation.inversion import Uncertain, uncertain
from deniably.estimation.likelihood import Fit, maximum_likelihood

_NEAR = 0.1  # units of log-likelihood; half a unit is one standard error of one share
_WORK = 200_000_000  # cells of the channel times steps
_BLOCK = 10_000  # respondents in memory once more, as numbers of four bytes
_FEWEST_STEPS, _MOST_STEPS = 50, 5_000
_CLEAR = 0.5  # (p1 - q1)(p2 - q2) from which a rare pair is mostly seen in its own reports
_FEW_REPORTS = 2.0  # standard error, in reports, below which a cell counts as rare

SupportRates = tuple[float, float]
"""p and q of a question: P(support | own answer) and P(support | other answer)."""

Kinds = npt.NDArray[np.int32]
"""A number for each report, from 0 on: equal reports, which are of one kind, have the same one."""


@dataclass(frozen=True, eq=False)
class PairTally:
    """The counts of the reports of ``n`` respondents to two questions.

    ``first`` (k1,) and ``second`` (k2,) count the reports to each question that support each of its
    choices. ``both`` (k1, k2) counts the respondents whose first report supports choice a and whose
    second report supports choice b.
    """

    n: int
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    both: npt.NDArray[np.int64]

    @property
    def kinds(self) -> Floats:
        """The numbers of respondents whose reports support a and b, a alone, b alone, and neither;
        shape (k1, k2, 4)."""
        return pair_kinds(self.n, self.first, self.second, self.both)


@dataclass(frozen=True, eq=False)
class Crosstab:
    """The estimated joint shares f_ab of the population, arrays of shape (k1, k2).

    f_ab is the share of people who gave answer a to the first question and b to the second.

    ``raw`` is unbiased and may leave [0, 1]; ``low .. high`` covers each cell with ``confidence``.
    """

    confidence: float
    raw: Floats
    standard_error: Floats
    low: Floats
    high: Floats


def count_pairs(first: npt.ArrayLike, second: npt.ArrayLike) -> PairTally:
    """Returns the counts of the reports of n respondents to two questions.

    ``first`` (n, k1) and ``second`` (n, k2) have a row for each respondent, with 1 for each choice
    that the report supports, else 0. Raises ValueError unless both have n rows.
    """
    a, b = np.asarray(first), np.asarray(second)
    if len(a) != len(b):
        raise ValueError("a cross-table needs both reports of every respondent")
    both = supported_together(a, b)
    return PairTally(len(a), a.sum(axis=0, dtype=np.int64), b.sum(axis=0, dtype=np.int64), both)


def supported_together(
    first: npt.NDArray[Any],
    second: npt.NDArray[Any],
    deal: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None,
) -> npt.NDArray[np.int64]:
    """Returns how many respondents' two reports support choice a and choice b, shape (k1, k2).

    ``first`` and ``second`` are as in ``count_pairs``. Without a ``deal``, row i of one belongs to
    row i of the other. ``deal`` holds indices of rows of ``first`` and of ``second``, which are
    then paired in that order. Its second array may have the shape (deals, n), for many pairings at
    once; the result then has the shape (deals, k1, k2).
    """
    many = () if deal is None else deal[1].shape[:-1]
    both = np.zeros((*many, first.shape[1], second.shape[1]), dtype=np.int64)
    for start in range(0, len(first), _BLOCK):  # whole numbers far below 2^24 are exact
        block = slice(start, start + _BLOCK)
        rows = (block, block) if deal is None else (deal[0][block], deal[1][..., block])
        left, right = first[rows[0]].astype(np.float32), second[rows[1]].astype(np.float32)
        both += (left.T @ right).astype(np.int64)
    return both


def kinds(bits: npt.NDArray[np.bool_]) -> Kinds:
    """Numbers the distinct rows of ``bits`` (n, k) from 0; returns the number of each row, shape
    (n,).

    The rows are sorted by 64 columns at a time, which is ten times faster than by all at once.
    """
    numbers: Kinds | None = None
    for start in range(0, max(bits.shape[1], 1), 64):
        packed = np.zeros((len(bits), 8), dtype=np.uint8)
        some = np.packbits(bits[:, start : start + 64], axis=1)
        packed[:, : some.shape[1]] = some
        # As ranks, numbers stay below n, so that those of two parts fit 64 bits together.
        words = _ranks(packed.view(np.uint64)[:, 0])
        numbers = words if numbers is None else _ranks(_paired(numbers, words))
    assert numbers is not None
    return numbers


def _ranks(values: npt.NDArray[Any]) -> Kinds:
    """The number of each value among the different ones, as ``np.unique`` gives it, in a third of
    its memory."""
    # Neither the inverse nor the different values are needed, of which np.unique makes copies.
    order = np.argsort(values)
    fresh = np.zeros(len(values), dtype=np.bool_)
    np.not_equal(values[order[1:]], values[order[:-1]], out=fresh[1:])
    ranks = np.empty(len(values), dtype=np.int32)
    ranks[order] = np.cumsum(fresh, dtype=np.int32)
    return ranks


def one_of_each(numbers: Kinds) -> Kinds:
    """Returns for each number in ``numbers`` the index of the first report that has it.

    ``numbers`` are what ``kinds`` returns: equal reports have equal numbers.
    """
    some = np.empty(int(numbers.max(initial=-1)) + 1, dtype=np.int32)
    # Backwards: of several rows of a kind, the one assigned last stays, and it is to be the first.
    some[numbers[::-1]] = np.arange(len(numbers), dtype=np.int32)[::-1]
    return some


def _paired(first: Kinds, second: Kinds) -> npt.NDArray[np.int64]:
    """A number for each pair of kinds."""
    pairs: npt.NDArray[np.int64] = first * (second.max(initial=0) + np.int64(1)) + second
    return pairs


def pair_kinds(
    total: float, first: npt.ArrayLike, second: npt.ArrayLike, both: npt.ArrayLike
) -> Floats:
    """Returns how many people's reports support both choices of a pair, one of them, or neither.

    The shape is (k1, k2, 4): both, the first alone, the second alone, neither. ``total`` is the
    number of people; ``first`` (k1,), ``second`` (k2,) and ``both`` (k1, k2) are as in
    ``PairTally``. With weights, all four are sums of weights.
    """
    a, b = np.asarray(first, np.float64)[:, None], np.asarray(second, np.float64)
    ab = np.asarray(both, np.float64)
    kinds = np.stack([ab, a - ab, b - ab, total - a - b + ab], axis=-1)
    return np.maximum(kinds, 0.0)  # sums of weights round, and a variance would be below 0


def joint_score(first: SupportRates, second: SupportRates) -> Floats:
    """Returns the scores of a pair of reports, shape (4,), whose mean is the joint share of two
    answers.

    They are for pairs that support both answers, the first alone, the second alone, and neither.
    """
    (p1, q1), (p2, q2) = first, second
    score = np.kron(np.array([1 - q1, -q1]), np.array([1 - q2, -q2]))
    joint: Floats = score / ((p1 - q1) * (p2 - q2))
    return joint


def crosstab(
    kinds: npt.ArrayLike, first: SupportRates, second: SupportRates, confidence: float = 0.95
) -> Crosstab:
    """Estimates the joint shares of two questions with the rates (p1, q1) and (p2, q2).

    ``kinds`` (k1, k2, 4) are those of a ``PairTally``, or those of a weighted tally, in which each
    cell may have its own effective number of people.
    With N_ab, N_a and N_b the numbers of reports that support a and b, a, and b, f_ab = (N_ab/n -
    q2 N_a/n - q1 N_b/n + q1 q2) / ((p1-q1)(p2-q2)), the Kronecker product of the two inverse
    channels. Each cell is the mean of a score with four values (is a supported? is b?), seen
    through a channel of four answers. So its interval is that of ``inversion.linear``, except that
    an estimate below 0 is tested as 0. For a rare cell the interval is the union with that of
    ``_rare_cells``.

    Coverage of a cell at a nominal 0.95, epsilon 2 to 8, n 30 to 1000, shares of 0.0025 to 0.04 in
    rows and columns of 0.02 to 0.5: at least 0.93; without the union 0.85.
    """
    counts, score, channel = np.asarray(kinds), joint_score(first, second), _joint(first, second)
    means = [uncertain(kind, score, channel)[0] for kind in counts.reshape(-1, 4)]
    margins = [(mean.estimate, _possible(mean).margin(confidence)) for mean in means]
    cells = np.array([(share, at.standard_error, at.low, at.high) for share, at in margins])
    raw, error, low, high = cells.T.reshape(4, *counts.shape[:-1])
    rare, floor, roof = _rare_cells(counts, first, second, confidence)
    low, high = np.where(rare, np.fmin(low, floor), low), np.where(rare, np.fmax(high, roof), high)
    return Crosstab(confidence, raw, error, low, high)


def _possible(cell: Uncertain) -> Uncertain:
    """The nearest share that is not below 0.

    The further noise moves an estimate below it, the shorter the interval would be (Mandelkern
    2002, Stat. Sci. 17:149), however little the reports say. It contains the former one.
    """
    return replace(cell, estimate=max(cell.estimate, 0.0))


def _rare_cells(
    kinds: Floats, first: SupportRates, second: SupportRates, confidence: float
) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
    """Which cells are rare, and the ends of an interval for the share of each.

    In a rare cell a report or two decide, and the score interval moves too far with the first. The
    number of reports that support a and b is binomial. So the exact interval of its chance
    (Clopper and Pearson 1934), at the margins' estimates kept within 0 to 1, is one for the share.
    Cells are rare where the standard error is below two reports, in designs where such a report is
    mostly a true one. With more noise the score interval covers, and this one would be too wide.
    """
    (p1, q1), (p2, q2) = first, second
    scale, score, n = (p1 - q1) * (p2 - q2), joint_score(first, second), kinds.sum(axis=-1)
    mean = kinds @ score / n
    variance = (kinds @ score**2 / n - mean**2) / n
    rare = (scale >= _CLEAR) & (variance * (n * scale) ** 2 < _FEW_REPORTS**2)
    both, alone, other = kinds[..., 0], kinds[..., 1], kinds[..., 2]
    row = np.clip(((both + alone) / n - q1) / (p1 - q1), 0, 1)
    column = np.clip(((both + other) / n - q2) / (p2 - q2), 0, 1)
    by_chance = q1 * q2 + q2 * (p1 - q1) * row + q1 * (p2 - q2) * column
    # Sums of weights round, and more hits than trials have no interval.
    ends = clopper_pearson(np.minimum(both, n), n, 1 - confidence)
    low, high = (np.clip((end - by_chance) / scale, 0, 1) for end in ends)
    return rare, low, high


def _joint(first: SupportRates, second: SupportRates) -> Floats:
    """How likely each kind is, by whether the first answer is a, and the second b."""
    (p1, q1), (p2, q2) = first, second
    a, b = np.array([[p1, 1 - p1], [q1, 1 - q1]]), np.array([[p2, 1 - p2], [q2, 1 - q2]])
    channel: Any = np.kron(a, b)
    return cast(Floats, channel)


def joint_likelihood(
    counts: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    shortfall: float = 1e-4,
    most_steps: int = 50_000,
) -> tuple[Floats, Fit]:
    """Returns the maximum-likelihood joint shares of two answers, shape (k1, k2), and their
    ``Fit``.

    ``counts`` (r,) says how often each of r distinct pairs of reports was seen. ``first`` (k1, r)
    has the probability of the first report of each pair given each answer, ``second`` (k2, r) that
    of the second report; a column may be multiplied by any constant. The fit stops, and raises
    ValueError, as ``likelihood.maximum_likelihood`` does.
    """
    q1, q2 = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    pairs = (q1[:, None] * q2).reshape(len(q1) * len(q2), -1)
    fit = maximum_likelihood(counts, pairs, shortfall, most_steps)
    return fit.shares.reshape(len(q1), len(q2)), fit


def likeliest(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    odds: tuple[float, float],
    weights: Floats | None = None,
) -> Floats | None:
    """Fits the joint shares of two single choices by maximum likelihood, for display; shape (k1,
    k2).

    Reports are 0/1 supports, shapes (n, k1) and (n, k2), with ``weights`` (n,), by default 1 each.
    ``odds`` has for each question how many times likelier a report is from an answer that it
    supports than from another answer. For subset selection and unary encoding, that is all that a
    report says. Returns None if the fit would take more than about a second, or does not come
    within ``_NEAR`` of the largest log-likelihood. For 2 to 4 choices a question, epsilon 1 to 3
    and 300 to 2,000 people, its squared error was 0.4 to 1 times that of the nearest point of the
    simplex to the unbiased shares. Where each answer to one question went with a single answer to
    the other, it was up to 1.3 times. Raises ValueError if there is no respondent.
    """
    a, b = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    pairs = _ranks(_paired(kinds(a), kinds(b)))
    # Equal pairs of reports are equally likely, so the fit takes one of each with its number.
    some, counts = one_of_each(pairs), np.bincount(pairs, weights)
    most_steps = min(_WORK // (a.shape[1] * b.shape[1] * len(some)), _MOST_STEPS)
    if most_steps < _FEWEST_STEPS:
        return None
    likely = [np.where(bits[some], ratio, 1.0).T for bits, ratio in zip((a, b), odds, strict=True)]
    shares, fit = joint_likelihood(counts, *likely, shortfall=_NEAR / 10, most_steps=most_steps)
    return shares if fit.shortfall <= _NEAR else None
