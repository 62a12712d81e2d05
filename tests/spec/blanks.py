"""Section 13, blanks: what they hide, every outcome counted out in fractions, and estimates."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from deniably.reference.refusal import require
from deniably.reference.subsets import channel, support

Law = dict[tuple[int, ...], Fraction]
Selection = tuple[int, int, int, int]
"""k, omega, own and other of a subset selection."""


def batch_law(selection: Selection, answer: int, blanks: int) -> Law:
    """{how often each report is in the batch: probability} for one person's report and blanks."""
    rows = channel(*selection)
    reports = sorted(rows[0])
    own: list[Fraction] = [rows[answer][report] for report in reports]
    blank: list[Fraction] = [
        sum((row[report] for row in rows), Fraction(0)) / len(rows) for report in reports
    ]
    law: Law = {(0,) * len(reports): Fraction(1)}
    for row in (own, *[blank] * blanks):
        longer: Law = {}
        for counts, mass in law.items():
            for place, probability in enumerate(row):
                more = (*counts[:place], counts[place] + 1, *counts[place + 1 :])
                longer[more] = longer.get(more, Fraction(0)) + mass * probability
        law = longer
    return law


def exact_delta(selections: Sequence[Selection], blanks: int, odds: Fraction) -> Fraction:
    """The smallest delta with which the batches of all questions keep ``odds`` for one person.

    Any two answers to a question become any other two by renaming choices, so one pair is enough.
    """
    pairs = [
        Counter((first[batch], second[batch]) for batch in first)
        for first, second in (
            (batch_law(selection, 0, blanks), batch_law(selection, 1, blanks))
            for selection in selections
        )
    ]
    whole = Fraction(0)
    for several in itertools.product(*(pair.items() for pair in pairs)):
        true = math.prod((p for (p, _), _ in several), start=Fraction(1))
        false = math.prod((q for (_, q), _ in several), start=Fraction(1))
        times = math.prod(count for _, count in several)
        whole += times * max(Fraction(0), true - odds * false)
    return whole


# --- 13.2: the estimate ---


def estimate(selection: Selection, n: int, blanks: int, counts: Sequence[int]) -> list[Fraction]:
    require(n >= 1, "an estimate needs a person's report")
    k = selection[0]
    p, q = support(*selection)
    blank = (p + (k - 1) * q) / k
    return [((count - blanks * blank) / n - q) / (p - q) for count in counts]
