"""What a blank reports: the report of a uniformly random answer, by the mechanism's law.

See ``blanks`` for what estimators do with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np

from deniably.core.binomial import NO_COINS, AddedCoins, Floats
from deniably.estimation.blanks import Blanks
from deniably.estimation.channels import matrix, rows
from deniably.estimation.tally import Tally
from deniably.mechanisms.cells import Cells
from deniably.mechanisms.law import Finite, HasLaw, Joint, Law, Noise, One, Supporting, Ticks


@lru_cache(maxsize=256)
def has_choice(domain: One | Ticks) -> Fraction:
    """Returns the probability that a uniformly random answer has a given choice.

    Of ticks, an answer is any set of options that the mechanism takes.
    """
    if isinstance(domain, One):
        return Fraction(1, domain.k)
    having = sum(comb(domain.k - 1, ticks - 1) for ticks in range(1, domain.most + 1))
    return Fraction(having, domain.count)


def support(mechanism: HasLaw[Supporting]) -> Fraction:
    """Returns the probability that a blank supports a given choice."""
    law = mechanism.law
    return law.q + (law.p - law.q) * has_choice(law.domain)


def support_of_both(mechanism: HasLaw[Supporting]) -> Fraction | None:
    """Returns the probability that a blank supports both of two choices, where an answer is one.

    None where that is not the same for every two.
    """
    law = mechanism.law
    if not law.single or (pairs := law.joint.pairs) is None:
        return None
    own, neither = pairs
    return neither + Fraction(2, law.k) * (own - neither)


def coins(mechanism: HasLaw[Supporting], tally: Tally) -> AddedCoins:
    """Returns the blanks in a count of supports."""
    return AddedCoins(tally.blanks, float(support(mechanism))) if tally.blanks else NO_COINS


def rates(mechanism: HasLaw[Supporting], tally: Tally) -> tuple[Fraction, Fraction]:
    """Returns p and q of a report drawn from the batch: P(it supports a person's own choice, and
    any other)."""
    law = mechanism.law
    if not tally.blanks:
        return law.p, law.q
    blank, part = support(law), Fraction(tally.blanks, tally.reports)
    return law.p + part * (blank - law.p), law.q + part * (blank - law.q)


def blended(mechanism: HasLaw[Supporting], tally: Tally) -> Supporting:
    """Returns the law of a report drawn from the batch, by a person's single choice."""
    law = mechanism.law
    if not tally.blanks:
        return law
    p, q = rates(law, tally)
    return replace(
        law, p=p, q=q, joint=_Blended(law.joint, law.k, Fraction(tally.blanks, tally.reports))
    )


def outputs(mechanism: HasLaw[Law]) -> Floats:
    """Returns the law of a blank over single outputs, shape (outputs,).

    Raises ValueError as ``channels.matrix`` does.
    """
    return _outputs(mechanism.law)


@lru_cache(maxsize=64)
def _outputs(law: Law) -> Floats:
    if not isinstance(law, Finite) or law.rows == law.k:
        mean: Floats = matrix(law).mean(axis=0)
        return mean
    place = np.arange(law.k) * (law.rows - 1)
    low, rest = place // (law.k - 1), place % (law.k - 1) / (law.k - 1)
    knots = np.bincount(low, 1 - rest, law.rows + 1) + np.bincount(low + 1, rest, law.rows + 1)
    blank: Floats = knots[: law.rows] / law.k @ rows(law)
    return blank


def blanks_of(mechanism: HasLaw[Law], tally: Tally, *, fixed: bool = True) -> Blanks | None:
    """Returns the blanks of a tally of single outputs; None where there are none."""
    return Blanks(tally.blanks, outputs(mechanism), fixed) if tally.blanks else None


def position(mechanism: HasLaw[Noise]) -> tuple[float, float]:
    """Returns mean and variance of the number that a blank reports, in steps of the grid."""
    law = mechanism.law
    return (law.k - 1) / 2, law.variance + (law.k**2 - 1) / 12


@dataclass(frozen=True)
class _Blended:
    """The joint probability of the cells of a report drawn from a batch: a person's, or with
    probability ``part`` that of a blank."""

    joint: Joint
    k: int
    part: Fraction

    def __call__(self, own: frozenset[int], report: Cells) -> Fraction:
        """P(report | answer)."""
        blank = sum((self.joint(frozenset((v,)), report) for v in range(self.k)), Fraction(0))
        return (1 - self.part) * self.joint(own, report) + self.part * blank / self.k

    def telling(self, ours: frozenset[int], theirs: frozenset[int], report: Cells) -> bool:
        """Returns whether no report favours the answer of ``ours`` over ``theirs`` more than this
        one."""
        return self.joint.telling(ours, theirs, report)

    @property
    def pairs(self) -> tuple[Fraction, Fraction] | None:
        """P(u and v are named) if u is the answer, and if neither is."""
        if (pairs := self.joint.pairs) is None:
            return None
        own, neither = pairs
        blank = neither + Fraction(2, self.k) * (own - neither)
        return own + self.part * (blank - own), neither + self.part * (blank - neither)

    @property
    def with_own(self) -> tuple[Fraction, Fraction] | None:
        """P(u and v are named) if u or v supports the answer, and if neither does."""
        return self.pairs
