"""Tests whether the answers to two questions are independent: a permutation test on reports.

Answers are independent exactly if their reports are: each channel can be inverted, and a device
draws the coins of each question separately. So the test takes reports and no channel. It needs
scipy (the extra ``author``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.chi_squared import chi_squared_tail
from deniably.estimation.crosstab import Kinds, kinds, one_of_each, supported_together

Ints = npt.NDArray[np.int64]

MOST_SHUFFLES, FEWEST_SHUFFLES = 999, 99
_WORK = 1e9  # nanoseconds for all shuffles of a table, roughly
_DRAWN_CELL, _DRAWN_REPORT, _READ_CELL = 150, 20, 10  # nanoseconds
_AT_ONCE = 1 << 21  # cells of shuffled tables in memory
_BLOCK = 4_000  # kinds of reports in memory as floats
_TIE = 1e-9  # rounding alone makes equally dependent tables differ


@dataclass(frozen=True)
class Independence:
    """The outcome of a test of independence.

    ``p_value`` comes from ``shuffles`` random permutations. If ``shuffles`` is None, it comes from
    the chi-squared distribution of ``statistic`` with ``degrees`` of freedom, or with weights from
    the F distribution.
    """

    statistic: float
    degrees: float
    p_value: float
    shuffles: int | None


def independence(first: npt.ArrayLike, second: npt.ArrayLike) -> Independence:
    """Tests whether two answers of the same people are independent.

    ``first`` (n, k1) and ``second`` (n, k2) are the 0/1 supports, a row a respondent. The statistic
    is n tr(S1^+ C S2^+ C'), where S1 and S2 are the covariance matrices of the supports of each
    question, C is the covariance matrix between the two, and ^+ is the pseudo-inverse. If a report
    names one choice, this is Pearson's statistic. If the answers are independent, every pairing of
    the two lists of reports is equally likely, so p = (1 + #{T* >= T}) / (shuffles + 1) never
    exceeds its level (Fisher 1935; Phipson and Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39). The
    chi-squared distribution does not fit where most reports agree: a test at level .05 rejected
    with probability .17 for 5 choices, epsilon 4, n = 100 and 98 % of answers alike.

    A shuffle takes only the counts of distinct reports: 10 ms for a million reports to two
    questions with 5 choices each. Where 99 shuffles would take more than about a second (thousands
    of respondents, and hundreds of distinct reports to both questions), p comes from the
    chi-squared distribution.

    The seed of the shuffles is a hash of the table, so the same reports always have the same
    p-value. That is as good as a fresh seed, because the hash has nothing to do with the size of
    the statistic.

    Raises ValueError unless both have one row for each respondent.
    """
    left, right = _Reports(first), _Reports(second)
    if len(left.kinds) != len(right.kinds):
        raise ValueError("a cross-table needs both reports of every respondent")
    degrees = left.rank * right.rank
    if not degrees:
        return Independence(0.0, 0, 1.0, MOST_SHUFFLES)  # all of them are alike
    tables, rows = _cost_of_tables(left, right), len(left.kinds) * degrees
    shuffles = int(min(_WORK // min(tables, rows), MOST_SHUFFLES))
    if left.saturated and right.saturated:  # one choice a report: chi-squared does not hold
        # However long that takes: of other reports chi-squared may stand in for shuffles.
        shuffles = max(shuffles, FEWEST_SHUFFLES)
    if shuffles < FEWEST_SHUFFLES:
        statistic = float(_of_pairs(left, right, supported_together(left.bits, right.bits)))
        return Independence(statistic, degrees, chi_squared_tail(statistic, degrees), None)
    shuffle = _by_tables if tables <= rows else _by_rows
    statistic, shuffled = shuffle(left, right, shuffles)
    # Ties count as beyond; the observed table is one of the permutations, hence 1 + beyond.
    beyond = int((shuffled >= statistic - _TIE * (1 + statistic)).sum())
    return Independence(statistic, degrees, (1 + beyond) / (shuffles + 1), shuffles)


def weighted_independence(
    first: npt.ArrayLike, second: npt.ArrayLike, weights: Floats
) -> Independence:
    """Tests whether two answers are independent in the population that ``weights`` (n,) stand for.

    ``first`` and ``second`` are as in ``independence``; the statistic is the same with weighted
    covariances. Its p-value comes from the F distribution as by Rao and Scott (1984, Ann. Stat.
    12:46) and Thomas and Rao (1987, JASA 82:630), with two changes that keep the level. The
    variances are those of independent answers. The degrees of freedom of the denominator are those
    of the numerator times one less than Kish's effective sample size. Where fewer than five
    effective people are expected for some pair of choices, p is at least that of a permutation
    test, which shuffles the second reports over people with their weights.

    A test at level .05 rejected with probability at most .055 in 1,000 simulated surveys each: n 50
    to 1,000, 2 and 3 choices, epsilon 1 to 4, and weights that reduce the effective sample size to
    as little as a fifth. Where shuffles were needed (5 choices, epsilon 4, 90 and 98 % of answers
    alike) it was at most .02. If all weights are equal, the result is that of ``independence``.
    """
    if (weights == weights[:1]).all():
        return independence(first, second)
    bits, others = np.asarray(first, np.bool_), np.asarray(second, np.bool_)
    p: Floats = weights / weights.sum()
    people = max(float(1 / (p @ p)), 1.0)
    left, right = _weighted_axes(bits, p), _weighted_axes(others, p)
    if not left.shape[1] * right.shape[1]:
        return Independence(0.0, 0, 1.0, None)  # all reports to one of them are alike
    together = (left * p[:, None]).T @ right
    scale = float(p**2 @ ((left**2).sum(axis=1) * (right**2).sum(axis=1)))
    degrees = _degrees(left, p) * _degrees(right, p)
    statistic = float((together**2).sum()) / scale
    p_value = _beyond(statistic, degrees, degrees * max(people - 1, 1e-9))
    if people * float((p @ bits).min(initial=1) * (p @ others).min(initial=1)) >= _FEWEST_EXPECTED:
        return Independence(statistic, degrees, p_value, None)
    shuffles, shuffled = _shuffled_weights(bits, others, left * p[:, None])
    return Independence(statistic, degrees, max(p_value, shuffled), shuffles)


_FEWEST_EXPECTED = 5.0


def _weighted_axes(bits: npt.NDArray[np.bool_], p: Floats) -> Floats:
    """The reports as columns (n, rank) with weighted means of 0 and the unit as covariance."""
    apart = bits - p @ bits
    size, axes = np.linalg.eigh((apart * p[:, None]).T @ apart)
    kept = size > 1e-12
    axes_of_reports: Floats = apart @ (axes[:, kept] / np.sqrt(size[kept]))
    return axes_of_reports


def _degrees(columns: Floats, p: Floats) -> float:
    """Satterthwaite's degrees of freedom of the sum of squares of weighted means of columns."""
    spread = (columns * (p**2)[:, None]).T @ columns
    return float(np.trace(spread) ** 2 / (spread**2).sum())


def _beyond(statistic: float, degrees: float, of_denominator: float) -> float:
    from scipy import special

    tail: Any = special.fdtrc
    return float(tail(degrees, of_denominator, statistic))


def _shuffled_weights(
    first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_], pulls: Floats
) -> tuple[int, float]:
    """How many shuffles, and the part of them in which answers seem to go together no less.

    ``pulls`` (n, r) are the first reports, centred and times their weights: so it does not matter
    where the second are centred, and one set of their axes serves every shuffle.
    """
    right = _weighted_axes(second, np.full(len(second), 1 / len(second)))
    order = np.lexsort((*pulls.T, kinds(second), kinds(first)))  # so that order does not matter
    pulls, right = pulls[order], right[order]
    generator = np.random.default_rng(np.packbits(np.hstack([first, second])[order]))
    work = len(first) * (20 + pulls.shape[1] * right.shape[1])
    shuffles = int(min(max(_WORK // work, FEWEST_SHUFFLES), MOST_SHUFFLES))
    statistics = [((pulls.T @ right) ** 2).sum()]
    statistics += [((pulls.T @ generator.permutation(right)) ** 2).sum() for _ in range(shuffles)]
    beyond = int((np.array(statistics[1:]) >= statistics[0] * (1 - _TIE)).sum())
    return shuffles, (1 + beyond) / (shuffles + 1)


class _Reports:
    """The reports to one question: ``bits`` (n, k), and as kinds: respondent i sent ``kinds[i]``.

    ``counts`` (d,) says how many sent each kind. Centred reports times ``axes`` (k, rank) are
    orthonormal columns. It is ``saturated`` where the supports tell any function of the kinds, as
    they do for one choice a report.
    """

    def __init__(self, supports: npt.ArrayLike) -> None:
        self.bits = np.asarray(supports).astype(np.bool_, copy=False)
        self.kinds = kinds(self.bits)
        self.counts, self._some = np.bincount(self.kinds), one_of_each(self.kinds)
        self.sums = self.bits.sum(axis=0, dtype=np.int64)
        _, size, axes = np.linalg.svd(self._triangle(), full_matrices=False)
        self.rank = int((size > 1e-9 * max(len(self.bits), 1) ** 0.5).sum())
        # Directions without variance (supports that sum to a constant) are left out.
        self.axes: Floats = axes[: self.rank].T / size[: self.rank]
        self.saturated = self.rank == len(self.counts) - 1

    def whitened(self) -> Floats:
        """Returns the orthonormal columns of the centred reports, a row for each kind, shape (d,
        rank)."""
        orthonormal: Floats = self._centred(self._some) @ self.axes
        return orthonormal

    def _triangle(self) -> Floats:
        """R of the QR decomposition of the centred reports, which has their singular values. It
        takes a block of kinds at a time: of hundreds of thousands, all as floats are 100 MB."""
        triangle: Floats = np.zeros((0, self.bits.shape[1]))
        for start in range(0, len(self._some), _BLOCK):
            block = slice(start, start + _BLOCK)
            rows = np.sqrt(self.counts[block])[:, None] * self._centred(self._some[block])
            triangle = cast(Floats, np.linalg.qr(np.vstack([triangle, rows]), mode="r"))
        return triangle

    def _centred(self, some: Kinds) -> Floats:
        centred: Floats = self.bits[some] - self.sums / max(len(self.bits), 1)
        return centred


def _cost_of_tables(first: _Reports, second: _Reports) -> float:
    """Nanoseconds to draw a table and take its statistic."""
    cells = len(first.counts) * len(second.counts)
    drawn = min(cells * _DRAWN_CELL, len(first.kinds) * _DRAWN_REPORT)
    # Saturated reports need no product: dividing by the roots of the counts whitens them.
    products = 0 if second.saturated else cells * second.rank
    products += 0 if first.saturated else len(first.counts) * second.rank * first.rank
    return drawn + cells * _READ_CELL + products


def _by_tables(first: _Reports, second: _Reports, shuffles: int) -> tuple[float, Floats]:
    """The statistic, and those of shuffled tables of kinds."""
    from scipy import stats

    random_table: Any = stats.random_table
    shape, n = (len(first.counts), len(second.counts)), len(first.kinds)
    table = np.bincount(_codes(first, second), minlength=shape[0] * shape[1]).reshape(shape)
    expected = np.outer(first.counts, second.counts) / n

    left, right = first.whitened().T, second.whitened()

    def statistics(tables: Ints) -> Floats:
        apart = tables - expected
        apart = apart / np.sqrt(second.counts) if second.saturated else apart @ right
        root = np.sqrt(first.counts)[:, None]
        apart = apart / root if first.saturated else left @ apart
        statistic: Floats = n * (apart**2).sum(axis=(-1, -2))
        return statistic

    generator, at_once = np.random.default_rng(table.ravel()), max(_AT_ONCE // table.size, 1)
    shuffled = [
        statistics(
            random_table.rvs(
                first.counts,
                second.counts,
                size=min(at_once, shuffles - done),
                random_state=generator,
            )
        )
        for done in range(0, shuffles, at_once)
    ]
    return float(statistics(table[None])[0]), np.concatenate(shuffled)


def _by_rows(first: _Reports, second: _Reports, shuffles: int) -> tuple[float, Floats]:
    """Shuffles respondents, where there are more pairs of kinds than respondents.

    Respondents are sorted by their reports first, so that storage order does not matter.
    """
    codes = _codes(first, second)
    order = np.argsort(codes, kind="stable")
    generator = np.random.default_rng(codes[order])
    n, at_once = len(order), max(_AT_ONCE // (4 * max(second.bits.size, 1)), 1)

    def statistics(deals: Ints) -> Floats:
        both = supported_together(first.bits, second.bits, (order, order[deals]))
        return _of_pairs(first, second, both)

    shuffled = [
        statistics(
            generator.permuted(np.tile(np.arange(n), (min(at_once, shuffles - done), 1)), axis=1)
        )
        for done in range(0, shuffles, at_once)
    ]
    return float(statistics(np.arange(n))), np.concatenate(shuffled)


def _of_pairs(first: _Reports, second: _Reports, both: Ints) -> Floats:
    """The statistic from counts of respondents whose reports support choice a and choice b.

    ``both`` is one table (k1, k2) or many. It keeps whole numbers as long as it can, so that ties
    stay ties.
    """
    n = len(first.bits)
    apart = (n * both - np.outer(first.sums, second.sums)) / n
    statistic: Floats = n * ((first.axes.T @ apart @ second.axes) ** 2).sum(axis=(-1, -2))
    return statistic


def _codes(first: _Reports, second: _Reports) -> Ints:
    """The number of the pair of kinds that each respondent sent."""
    codes: Ints = first.kinds.astype(np.int64) * len(second.counts) + second.kinds
    return codes
