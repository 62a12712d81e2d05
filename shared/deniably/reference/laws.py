"""Computes the exact distribution of reports for small mechanisms by formula, without coins."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from deniably.reference.losses import NOTHING
from deniably.reference.values import Json, Law, Mechanism


def rounded(x: int, k: int, knots: int) -> dict[int, Fraction]:
    """Returns {knot: probability} of the random rounding of position ``x`` (``knot`` in SPEC
    2.5)."""
    low, rest = divmod(x * (knots - 1), k - 1)
    law = {low: Fraction(k - 1 - rest, k - 1)}
    if rest:
        law[low + 1] = Fraction(rest, k - 1)
    return law


def law(m: Mechanism, answer: Json) -> Law:
    """Returns the distribution {report as a tuple: probability} of a mechanism's reports to
    ``answer``.

    ``m`` is a window, channel, set_response, sampled_ticks, unary or vector. For subset selection
    use ``subsets.channel``; noise has too many outputs to list.
    """
    name = m["name"]
    probabilities: Law = {}

    def add(key: tuple[int, ...], probability: Fraction) -> None:
        if probability:
            probabilities[key] = probabilities.get(key, NOTHING) + probability

    if name in ("window", "channel"):
        rows: list[list[int]] = m.get("weights") or [
            [m["own"] if s <= y < s + m["w"] else m["other"] for y in range(m["m"])]
            for s in range(m["m"] - m["w"] + 1)
        ]
        for row, probability in rounded(answer, m["k"], len(rows)).items():
            for y, weight in enumerate(rows[row]):
                add((y,), probability * Fraction(weight, sum(rows[row])))
    elif name == "set_response":
        # Padding fills up the ticks, so that every answer has `most` numbers (SPEC 2.7).
        t = set(answer) | set(range(m["k"], m["k"] + m["most"] - len(answer)))
        subsets = list(itertools.combinations(range(m["k"] + m["most"]), m["size"]))
        weights = [m["own"] if t & set(subset) else m["other"] for subset in subsets]
        for subset, weight in zip(subsets, weights, strict=True):
            add(subset, Fraction(weight, sum(weights)))
    elif name == "sampled_ticks":
        subsets = list(itertools.combinations(range(m["k"]), m["s"]))
        total = m["own"] + m["other"]
        for subset in subsets:
            for flips in itertools.product((0, 1), repeat=m["s"]):
                probability = Fraction(1, len(subsets))
                yes_options: list[int] = []
                for option, flip in zip(subset, flips, strict=True):
                    probability *= Fraction(m["other"] if flip else m["own"], total)
                    yes_options.append(2 * option + ((option in answer) ^ flip))
                add(tuple(yes_options), probability)
    elif name == "unary":
        for bits in itertools.product((0, 1), repeat=m["k"]):
            probability = Fraction(1)
            for option, bit in enumerate(bits):
                own = Fraction(m["own"] if option in answer else m["other"], m["total"])
                probability *= own if bit else 1 - own
            add(tuple(option for option, bit in enumerate(bits) if bit), probability)
    else:
        d = len(m["parts"])
        subsets = list(itertools.combinations(range(d), m["s"]))
        for subset in subsets:
            laws = [law(m["parts"][c], answer[c]) for c in subset]
            for ys in itertools.product(*laws):
                key = tuple(y[0] * d + c for y, c in zip(ys, subset, strict=True))
                share = math.prod(
                    (part[y] for part, y in zip(laws, ys, strict=True)), start=Fraction(1)
                )
                add(key, share / len(subsets))
    return probabilities
