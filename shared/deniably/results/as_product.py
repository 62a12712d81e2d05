"""Computes how precise two questions of a cross-table would be if asked as one product question.

A product question sends one report for a pair of answers, with the epsilon of both questions
together. In a cross-table, two reports are combined, and their noise multiplies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist, median

from deniably.estimation.scores import of_choice
from deniably.estimation.variances import marginal_variance
from deniably.mechanisms.law import Randomiser, Supporting
from deniably.mechanisms.subset_selection import MOST_CHOICES, subset_selection
from deniably.results.crosstabs import CrosstabResult
from deniably.results.drawing import rounding
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Question, SelectOne, YesNo
from deniably.survey.survey import Survey

_PRECISE, _WORTH = 0.03, 0.75
"""A product is suggested only where the half-width of a typical pair's interval is above the first
number (a share), and a product would reduce it to at most the second number times that."""
_HIGHEST = 12.0  # epsilon; reports are then nearly answers, and no interval is wide
_PLACES = 10**6  # decimals of the product's epsilon


@dataclass(frozen=True)
class AsProduct:
    """Half-widths of typical (median) intervals, as shares from 0 to 1: of the two questions as
    they were asked, and of one product question (one report for both answers) to as many people.

    ``pair`` is (as asked, as a product) for the share of a pair of answers, ``alone`` the same for
    an answer to one question. ``epsilon`` is the total epsilon, the same in both cases.
    """

    epsilon: str
    pair: tuple[float, float]
    alone: tuple[float, float]

    @property
    def sentence(self) -> str:
        """The sentence that states how precise one product question would have been."""
        (pair, pair_then), (alone, then) = (
            [rounding.half(half_width) for half_width in both] for both in (self.pair, self.alone)
        )
        loses = self.alone[1] > self.alone[0] and then != alone
        return (
            f"Asked as one product question with the same epsilon in all ({self.epsilon}), as many"
            f" people would tell the share of a pair to about ±{pair_then} points instead of"
            f" ±{pair}, {'but' if loses else 'and'} each answer alone to ±{then}"
            f"{f' instead of ±{alone}' if then != alone else ', as now'}."
        )


def as_product(survey: Survey, chosen: Sequence[int], table: CrosstabResult) -> AsProduct | None:
    """Returns how precise two questions, given by their indices, would have been as one product
    question, beside the precision of their cross-table ``table``. Returns None where the questions
    cannot be asked as a product, or where too little would be gained."""
    questions = [survey.questions[index] for index in chosen]
    joint = _joint(survey, questions)
    if joint is None:
        return None
    z, n = NormalDist().inv_cdf((1 + table["confidence"]) / 2), table["n"]
    cells = [cell for line in table["cells"] for cell in line]
    margins = [*table["row_margins"], *table["column_margins"]]
    score = of_choice(joint)
    # The variance of one report's score for a pair; the product has a cell for every pair.
    of_pair = [score.at(cell.consistent) for cell in cells]
    # An answer's share is the sum of the pairs it is in, so other cells' noise adds up in it.
    of_one = [
        marginal_variance(joint, len(table[key]), min(max(margin.estimate, 0.0), 1.0))
        for key in ("row_margins", "column_margins")
        for margin in table[key]
    ]
    pair = (
        z * median(cell.standard_error for cell in cells),
        z * median(sqrt(variance / n) for variance in of_pair),
    )
    alone = (
        z * median(margin.standard_error for margin in margins),
        z * median(sqrt(variance / n) for variance in of_one),
    )
    # Precise enough already, or too little to be gained.
    if pair[0] <= _PRECISE or pair[1] > _WORTH * pair[0]:
        return None
    both = questions[0].mechanism.loss + questions[1].mechanism.loss
    return AsProduct(both.epsilon_text(), pair, alone)


def _joint(survey: Survey, questions: Sequence[Question]) -> Randomiser[Supporting] | None:
    """The mechanism of the product question; None where there could be none.

    In one report nobody can be asked the one question and not the other, nor keep an answer for
    later waves, so the comparison would not be of like with like.
    """
    if survey.waves or survey.asked < len(survey.questions):
        return None
    sizes: list[int] = []
    for question in questions:
        if not isinstance(question, YesNo | SelectOne) or question.mechanism.loss.delta:
            return None
        if isinstance(question, SelectOne) and question.show_if:
            return None
        sizes.append(len(question.choices))
    both = questions[0].mechanism.loss + questions[1].mechanism.loss
    if sizes[0] * sizes[1] > MOST_CHOICES or both.epsilon > _HIGHEST:
        return None
    # Rounded down, so that the product never spends more than both questions do.
    epsilon = Fraction(int(both.epsilon * _PLACES), _PLACES)
    return subset_selection(sizes[0] * sizes[1], *Privacy(epsilon=epsilon).weights())
