"""Computes what a report may give away: its odds, exponent and delta (SPEC 2)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from deniably.reference.claims import at_most_exp
from deniably.reference.parameters import decimal, ratio
from deniably.reference.values import Loss, Mechanism

NOTHING = Fraction(0)


def loss(m: Mechanism) -> Loss:
    """Returns the loss of one report of a mechanism, by the formula of the mechanism's section."""
    name = m["name"]
    if name in ("subset_selection", "window", "set_response"):
        return Fraction(m["own"], m["other"]), NOTHING, NOTHING
    if name == "channel":
        worst = max(
            Fraction(max(column), min(column)) for column in zip(*m["weights"], strict=True)
        )
        return worst, NOTHING, NOTHING
    if name == "sampled_ticks":
        return Fraction(m["own"], m["other"]) ** m["s"], NOTHING, NOTHING
    if name == "unary":
        c = Fraction(m["own"], m["other"])
        d = Fraction(m["total"] - m["other"], m["total"] - m["own"])
        i, j = m["most"], min(m["most"], m["k"] - m["most"])
        return max(c, d) ** i * min(c, d) ** j, NOTHING, NOTHING
    if name in ("laplace", "bounded_laplace"):
        return Fraction(1), (m["k"] - 1) / ratio(m["scale"]), NOTHING
    if name == "gaussian":
        return Fraction(1), decimal(m["epsilon"]), decimal(m["delta"])
    return largest([loss(part) for part in m["parts"]], m["s"])


def added(losses: list[Loss]) -> Loss:
    """Returns the loss of several reports together, by sequential composition: the odds multiply,
    the exponents and the deltas add up."""
    odds = math.prod((part[0] for part in losses), start=Fraction(1))
    exponents, deltas = ([part[at] for part in losses if part[at]] for at in (1, 2))
    return odds, sum(exponents, NOTHING), sum(deltas, NOTHING)


def largest(losses: list[Loss], count: int) -> Loss:
    """Returns the sum of the ``count`` losses with the largest odds * e^exponent.

    Its delta is the sum of the ``count`` largest deltas, even if other losses have these. Of equal
    losses the earlier ones are taken.
    """
    deltas = sorted((delta for _, _, delta in losses), reverse=True)
    rest, taken = list(losses), []
    for _ in range(count):
        worst = rest[0]
        for part in rest[1:]:
            if _above(part, worst):
                worst = part
        rest.remove(worst)
        taken.append(worst)
    odds, exponent, _ = added(taken)
    return odds, exponent, sum(deltas[:count], NOTHING)


def _above(first: Loss, other: Loss) -> bool:
    """Whether one's odds * e^exponent is strictly the larger."""
    (odds, exponent, _), (others, theirs, _) = first, other
    if exponent == theirs:
        return odds > others
    # odds / others > e^(theirs - exponent)?
    if theirs > exponent:
        return not at_most_exp(odds / others, theirs - exponent)
    return at_most_exp(others / odds, exponent - theirs)


def loss_texts(total: Loss) -> dict[str, Any]:
    """Returns a loss as {"odds": ..., "exponent": ..., "delta": ...}, each a fraction as a text."""
    return dict(zip(("odds", "exponent", "delta"), map(str, total), strict=True))
