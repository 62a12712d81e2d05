"""Several ticks at once: PrivSet, sampled ticks and unary encoding (SPEC 2.7-2.9)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from deniably.core.coins import LARGEST, Coins
from deniably.core.errors import BadAnswer, BadMechanism, BadReport
from deniably.core.loss import Loss
from deniably.mechanisms.cells import Cells, check_subset
from deniably.mechanisms.law import CoinEach, CoinForSome, Supporting, Ticks, TwoLevel
from deniably.mechanisms.parameters import Parameters, kept

MOST_OPTIONS = 1024


class SetResponse(Parameters, frozen=True, tag="set_response"):
    """A mechanism for ticks that reports a set of ``size`` numbers, out of ``k`` options and
    ``most`` numbers of padding.

    An answer has at most ``most`` ticks. The padding, numbers from ``k`` on, brings the answer
    to exactly ``most`` numbers; otherwise the sum of the weights would reveal the number of ticks.
    Sets that share a number with the padded answer have the weight ``own``, all others ``other``.
    Source: PrivSet, Wang et al. 2018 (INFOCOM, "PrivSet: set-valued data analyses with local
    differential privacy"). Raises BadMechanism where the integers break SPEC 2.7.
    """

    k: int
    most: int
    size: int
    own: int
    other: int

    def __post_init__(self) -> None:
        _check_ticks(self.k, self.most)
        if not 1 <= self.size <= self.k:
            raise BadMechanism(f"size is {self.size}; a report has from 1 to k options")
        if not 1 <= self.other < self.own:
            raise BadMechanism(f"own is {self.own} and other {self.other}; use 1 <= other < own")
        if self.total > LARGEST:
            raise BadMechanism(
                f"the weights of all reports sum to {self.total}; they must to at most 2**53"
            )

    @property
    def domain(self) -> int:
        """The number of options and of padding together."""
        return self.k + self.most

    @property
    def total(self) -> int:
        """Z, the sum of the weights of all reports, the same for every answer."""
        return sum(self._weights())

    @property
    def loss(self) -> Loss:
        """Privacy loss of one report: the odds are own / other."""
        return Loss(Fraction(self.own, self.other))

    @property
    def p(self) -> Fraction:
        """P(the report has a ticked option)."""
        return Fraction(self.own * comb(self.domain - 1, self.size - 1), self.total)

    @property
    def q(self) -> Fraction:
        """P(the report has an option that is not ticked)."""
        # Sets with this option and another element of the answer weigh ``own``, without one
        # ``other``.
        alone = comb(self.k - 1, self.size - 1)  # with this option and without any padded tick
        together = comb(self.domain - 1, self.size - 1) - alone
        return Fraction(self.own * together + self.other * alone, self.total)

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        return f"set response, {self.size} of {self.k} and {self.most} blanks"

    @kept
    def law(self) -> Supporting:
        """The law of a report, which supports the options that it has.

        The padding stands for the ticks that an answer lacks.
        """
        joint = TwoLevel(self.domain, self.size, self.own, self.other, self.most)
        ticks = Ticks(self.k, self.most)
        return Supporting(ticks, self.p, self.q, joint, self.size, padding=self.most)

    def _weights(self) -> list[int]:
        """The total weight of the reports with 0, 1, 2, ... of the padded ticks."""
        most, size = self.most, self.size
        return [
            # SPEC 2.7, step 2: of the ``most`` padded ticks and of the k other elements.
            comb(most, shared) * comb(self.k, size - shared) * (self.own if shared else self.other)
            for shared in range(min(most, size) + 1)
        ]

    def randomise(self, answer: Sequence[int], coins: Coins) -> Cells:
        """Returns the report for the ticked options: distinct indices below k, ascending.

        The draws are the same for every answer. Raises BadAnswer before any draw.
        """
        _check_answer(answer, self.k, self.most)
        padded = [*answer, *range(self.k, self.domain - len(answer))]
        rest = [option for option in range(self.domain) if option not in set(padded)]
        weights = self._weights()
        shared = coins.choose(weights)
        # As many are picked whatever ``shared`` is; the first are a uniform sample of that size.
        inside = coins.pick(self.most, len(weights) - 1)[:shared]
        outside = coins.pick(self.k, self.size)[: self.size - shared]
        return tuple(sorted([padded[i] for i in inside] + [rest[i] for i in outside]))

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        check_subset(report, self.size, self.domain, path)


class SampledTicks(Parameters, frozen=True, tag="sampled_ticks"):
    """A mechanism that reports ``s`` of ``k`` options, picked at random, with randomised ticks.

    The sampled options do not depend on the answer. For each of them, whether it is ticked is
    randomised by Warner's response (1965) with the weights ``own`` and ``other``. Any number of
    ticks is allowed. Raises BadMechanism where the integers break SPEC 2.8.
    """

    k: int
    s: int
    own: int
    other: int

    def __post_init__(self) -> None:
        _check_ticks(self.k, self.k)
        if not 1 <= self.s <= self.k:
            raise BadMechanism(f"s is {self.s}; a report has from 1 to k options")
        if not 1 <= self.other < self.own or self.own + self.other > LARGEST:
            raise BadMechanism(
                f"own is {self.own} and other {self.other}; use 1 <= other < own and a sum up to"
                " 2**53"
            )

    @property
    def loss(self) -> Loss:
        """Privacy loss of one report: the odds are (own / other)**s, as two answers can differ in s
        ticks."""
        return Loss(Fraction(self.own, self.other) ** self.s)

    @property
    def p(self) -> Fraction:
        """P(a tick is reported | the option is asked about and ticked)."""
        return Fraction(self.own, self.own + self.other)

    @property
    def q(self) -> Fraction:
        """P(a tick is reported | the option is asked about and not ticked)."""
        return 1 - self.p

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        return f"sampled ticks, {self.s} of {self.k}"

    @kept
    def law(self) -> Supporting:
        """The law of a report, which has one of two cells, ticked or not, for each sampled
        option."""
        joint = CoinForSome(self.p, self.q, comb(self.k, self.s))
        sampled_fraction = Fraction(self.s, self.k)
        return Supporting(Ticks(self.k), self.p, self.q, joint, self.s, sampled_fraction, both=True)

    def randomise(self, answer: Sequence[int], coins: Coins) -> Cells:
        """Returns the report for the ticked options: ``2 * option + tick``, ascending.

        Raises BadAnswer before any draw.
        """
        _check_answer(answer, self.k, self.k)
        ticked = set(answer)
        return tuple(
            # ``choose`` gives 1, a flip, with probability other / (own + other).
            2 * option + ((option in ticked) ^ coins.choose((self.own, self.other)))
            for option in sorted(coins.pick(self.k, self.s))
        )

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        check_subset(report, self.s, 2 * self.k, path)
        if len({item // 2 for item in report}) < self.s:
            raise BadReport("an option is reported both with a tick and without one", path)


class Unary(Parameters, frozen=True, tag="unary"):
    """A mechanism that reports each option independently, more often if it is ticked.

    A ticked option is reported with probability ``own / total``, another with ``other / total``.

    Optimised unary encoding (OUE; Wang et al. 2017, USENIX Security, 4.3) has own / total = 1/2.
    Symmetric unary encoding (SUE; basic RAPPOR, Erlingsson et al. 2014) has own + other = total. An
    answer has at most ``most`` ticks. Two answers can differ in ``2 * most`` options, so the odds
    of a report are far above those of one option. Raises BadMechanism where the integers break SPEC
    2.9.
    """

    k: int
    most: int
    own: int
    other: int
    total: int

    def __post_init__(self) -> None:
        _check_ticks(self.k, self.most)
        if not 1 <= self.other < self.own < self.total <= LARGEST:
            raise BadMechanism(
                f"own is {self.own}, other {self.other} and total {self.total};"
                " use 1 <= other < own < total <= 2**53"
            )

    @property
    def loss(self) -> Loss:
        """Privacy loss of one report, for the two answers with as few ticks in common as
        possible."""
        # The most that an option ticked in x alone adds to P(report | x) / P(report | y), by being
        # reported; one ticked in y alone adds the second, by not being reported. Both x and y have
        # up to ``most``.
        ticked = Fraction(self.own, self.other)
        unticked = Fraction(self.total - self.other, self.total - self.own)
        # With exactly one tick each, as single choice has, one option differs each way.
        first = min(self.most, self.k)
        second = min(self.most, self.k - first)
        high, low = max(ticked, unticked), min(ticked, unticked)
        return Loss(high**first * low**second)

    @property
    def p(self) -> Fraction:
        """P(the report has a ticked option)."""
        return Fraction(self.own, self.total)

    @property
    def q(self) -> Fraction:
        """P(the report has an option that is not ticked)."""
        return Fraction(self.other, self.total)

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        return f"unary encoding of {self.k}"

    @kept
    def law(self) -> Supporting:
        """The law of a report, which supports the options that it has, any number of them."""
        joint = CoinEach(self.p, self.q, self.k)
        return Supporting(Ticks(self.k, self.most), self.p, self.q, joint)

    def randomise(self, answer: Sequence[int], coins: Coins) -> Cells:
        """Returns the reported options, ascending. Raises BadAnswer before any draw."""
        _check_answer(answer, self.k, self.most)
        ticked = set(answer)
        weights = [self.other, self.own]
        return tuple(
            option
            for option in range(self.k)
            if coins.choose((weights[option in ticked], self.total - weights[option in ticked]))
            == 0
        )

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        check_subset(report, None, self.k, path)


def _check_ticks(k: int, most: int) -> None:
    if not 2 <= k <= MOST_OPTIONS:
        raise BadMechanism(f"k is {k}; from 2 to {MOST_OPTIONS} options are allowed")
    if not 1 <= most <= k:
        raise BadMechanism(f"most is {most}; from 1 to k ticks can be allowed")


def _check_answer(answer: Sequence[int], k: int, most: int) -> None:
    if len(answer) > most:
        raise BadAnswer(f"an answer has at most {most} ticks")
    try:
        check_subset(answer, None, k, "$")
    except BadReport:
        raise BadAnswer(f"ticks are distinct indices from 0 to {k - 1}, ascending") from None
