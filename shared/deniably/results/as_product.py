"""Two questions of a cross-table as the one product question that they could have been.

One joint report with the epsilon of both gives each pair of answers its own chance to be sent; two
reports have to be multiplied, and so does their noise.
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
"""A product is mentioned where half an interval of a pair is wider than the first of these, and a
product's would be at most the second part of it."""
_HIGHEST = 12.0  # epsilon; reports are then nearly answers, and no interval is wide
_PLACES = 10**6


@dataclass(frozen=True)
class AsProduct:
    """Half the width of a typical interval (the median), in shares from 0 to 1.

    ``pair`` is that of a pair of answers, and ``alone`` that of an answer to one question: as the
    two were asked, and as one product question with the same ``epsilon`` in all would have given it
    of as many people.
    """

    epsilon: str
    pair: tuple[float, float]
    alone: tuple[float, float]

    @property
    def sentence(self) -> str:
        """Says what asking both questions as one product would have given."""
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
    """Returns what two questions, given by their indices, would give as one product; None where
    they could not be asked so, or where it would not be worth it."""
    questions = [survey.questions[index] for index in chosen]
    joint = _joint(survey, questions)
    if joint is None:
        return None
    z, n = NormalDist().inv_cdf((1 + table["confidence"]) / 2), table["n"]
    cells = [cell for line in table["cells"] for cell in line]
    margins = [*table["row_margins"], *table["column_margins"]]
    score = of_choice(joint)
    of_pair = [score.at(cell.consistent) for cell in cells]
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
    epsilon = Fraction(int(both.epsilon * _PLACES), _PLACES)
    return subset_selection(sizes[0] * sizes[1], *Privacy(epsilon=epsilon).weights())
