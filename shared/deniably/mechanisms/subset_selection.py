"""Subset selection, with randomised response and k-RR (GRR) as special cases (SPEC 2.1).

A report is a subset of the choices. Subsets with the true answer have the integer weight ``own``,
all others ``other``. So epsilon is exactly ``ln(own / other)``, which anybody can check.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from deniably.core.coins import LARGEST, Coins
from deniably.core.errors import BadAnswer, BadMechanism
from deniably.core.loss import Loss
from deniably.mechanisms.cells import Cells, check_subset
from deniably.mechanisms.law import One, Supporting, TwoLevel
from deniably.mechanisms.parameters import Parameters, kept

MOST_CHOICES = 1024


class SubsetSelection(Parameters, frozen=True, tag="subset_selection"):
    """A mechanism that reports a set of ``omega`` of ``k`` choices; sets with the answer are
    likelier.

    A set with the answer has the weight ``own``, any other set the weight ``other``.

    >>> warner = SubsetSelection(k=2, omega=1, own=3, other=1)
    >>> warner.p, warner.loss.odds
    (Fraction(3, 4), Fraction(3, 1))

    Source: Ye and Barg 2018 (IEEE Trans. Inf. Theory 64:5662), scheme of section III; Wang et
    al. 2016, "Mutual information optimally local private discrete distribution estimation".
    Raises BadMechanism where the integers break SPEC 2.1.
    """

    k: int
    omega: int
    own: int
    other: int

    def __post_init__(self) -> None:
        if not 2 <= self.k <= MOST_CHOICES:
            raise BadMechanism(f"k is {self.k}; from 2 to {MOST_CHOICES} choices are allowed")
        if not 1 <= self.omega < self.k:
            raise BadMechanism(f"omega is {self.omega}; a report has from 1 to k - 1 choices")
        if not 1 <= self.other < self.own:
            raise BadMechanism(f"own is {self.own} and other {self.other}; use 1 <= other < own")
        if self.total > LARGEST:
            raise BadMechanism(
                f"omega * own + (k - omega) * other is {self.total}; it must be at most 2**53"
            )

    @property
    def total(self) -> int:
        """Z = omega * own + (k - omega) * other, the normaliser of the two weights."""
        return self.omega * self.own + (self.k - self.omega) * self.other

    @property
    def odds(self) -> Fraction:
        """own / other: one report changes the odds between two answers at most by this factor."""
        return Fraction(self.own, self.other)

    @property
    def loss(self) -> Loss:
        """Privacy loss of one report: epsilon is ln(own / other)."""
        return Loss(self.odds)

    @property
    def p(self) -> Fraction:
        """P(the report has the true choice)."""
        return Fraction(self.omega * self.own, self.total)

    @property
    def q(self) -> Fraction:
        """P(the report has a given choice other than the true one)."""
        k, omega = self.k, self.omega
        weight = omega * ((omega - 1) * self.own + (k - omega) * self.other)
        return Fraction(weight, (k - 1) * self.total)

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        return f"subset selection, {self.omega} of {self.k}"

    @kept
    def law(self) -> Supporting:
        """The law of a report, which supports the omega choices that it has."""
        joint = TwoLevel(self.k, self.omega, self.own, self.other)
        return Supporting(One(self.k), self.p, self.q, joint, self.omega)

    def randomise(self, answer: int, coins: Coins) -> Cells:
        """Returns the report for ``answer``, an index below k. Raises BadAnswer before any draw.

        The draws and their bounds are the same whether the answer is kept or not, so timing and
        random bytes say nothing about it.
        """
        if not 0 <= answer < self.k:
            raise BadAnswer(f"an answer is the index of a choice, from 0 to {self.k - 1}")
        k, omega = self.k, self.omega
        kept = coins.choose((omega * self.own, (k - omega) * self.other)) == 0
        # Floyd's algorithm below with one draw, written out for speed. The draw is made even if the
        # answer is kept.
        if omega == 1:
            other = coins.below(k - 1)
            return ((other + (other >= answer), answer)[kept],)
        draws = enumerate(coins.below_each(range(k - omega, k)), k - omega)
        if kept:
            next(draws)
        # Floyd's algorithm (Bentley and Floyd 1987): the draws pick omega of the k - 1 other
        # choices, and without the first draw omega - 1 of them.
        chosen: set[int] = set()
        for j, t in draws:
            chosen.add(t if t not in chosen else j - 1)
        # The other choices are numbered without the answer; from it on the numbers move up by one.
        report = [i + (i >= answer) for i in chosen]
        if kept:
            report.append(answer)
        report.sort()
        return tuple(report)

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        check_subset(report, self.omega, self.k, path)


@lru_cache(maxsize=512)  # a check of a draft compares dozens of designs of the same questions
def subset_selection(k: int, own: int, other: int) -> SubsetSelection:
    """Returns the most accurate subset selection for k choices at odds ``own / other``.

    It attains the lower bound of Ye and Barg 2018 for every epsilon and k.

    >>> subset_selection(k=16, own=3, other=1)
    SubsetSelection(k=16, omega=4, own=3, other=1)
    """
    return SubsetSelection(k, best_omega(k, Fraction(own, other)), own, other)


def two_coin_odds(truth: Fraction, k: int) -> Fraction:
    """Returns the odds of the two-coin design, which reports the truth or a fair pick of k choices.

    The truth is reported with probability ``truth``. With h for ``truth``, P(x|x) = h + (1-h)/k and
    P(y|x) = (1-h)/k: the odds are 1 + k h / (1-h). Raises BadMechanism unless 0 < truth < 1.

    >>> two_coin_odds(Fraction(1, 2), k=2)
    Fraction(3, 1)
    """
    if not 0 < truth < 1:
        raise BadMechanism(f"the probability of truth is {truth}; use one between 0 and 1")
    return 1 + k * truth / (1 - truth)


def best_omega(k: int, odds: Fraction) -> int:
    """Returns the omega with the smallest worst-case variance, by exact comparison.

    The variance has a single minimum at k / (odds + 1) (Ye and Barg 2018, eq. 12). The best integer
    is this number rounded down or rounded up; neither is always right, so both are compared.
    """
    floor = int(k / (odds + 1))
    candidates = {min(max(omega, 1), k - 1) for omega in (floor, floor + 1)}
    # Sorted, so that of two that are equally good the smaller one is taken (SPEC 2.3).
    return min(sorted(candidates), key=lambda omega: _noise(k, omega, odds))


def _noise(k: int, omega: int, odds: Fraction) -> Fraction:
    """[(k-1) q (1-q) + p (1-p)] / (p-q)^2: n times the summed noise variance."""
    a, b = odds.numerator, odds.denominator
    total = omega * a + (k - omega) * b
    p = Fraction(omega * a, total)
    q = Fraction(omega * ((omega - 1) * a + (k - omega) * b), (k - 1) * total)
    return ((k - 1) * q * (1 - q) + p * (1 - p)) / (p - q) ** 2
