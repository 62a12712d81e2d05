"""Whether the blanks of a survey keep what it claims against its server alone (SPEC 4.8).

A publisher chooses the blanks by it, and a mixer works it out again before it accepts a survey:
devices rely on the mixer for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from deniably.design.blanks import HiddenPair, blanks_law, mixed_delta
from deniably.survey.mixer import MixedClaim


def keeps_claim(
    pairs: Sequence[HiddenPair], blanks: int, claim: MixedClaim, room: float = 1.0
) -> bool:
    """Returns whether so many ``blanks`` for each question keep the claim for all answers together.

    ``pairs`` has one pair for each question. With a ``room`` below 1, only that share of the
    claim's delta may be used.
    """
    laws = {pair: blanks_law(blanks, pair) for pair in set(pairs)}
    delta = mixed_delta([laws[pair] for pair in pairs], claimed_epsilon(claim))
    return Fraction(delta) <= Fraction(room) * claim.loss.delta


def claimed_epsilon(claim: MixedClaim) -> float:
    """Returns the epsilon of a claim as a float that is not above it."""
    exact = claim.loss.exponent
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, 0)
