"""Crafted reports: what they could do to each figure, and whether there are signs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deniably.estimation.analysis import bucket_middles, tally_of_part
from deniably.estimation.channels import matrix
from deniably.estimation.estimate import Estimate
from deniably.estimation.inversion import Mean
from deniably.estimation.scores import Score, of_target
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Noise, Supporting
from deniably.robustness import plausibility, poisoning
from deniably.robustness.poisoning import Leverage
from deniably.survey.questions import Number, Question, Scale, VectorOfNumbers
from deniably_server.results.document import CraftedResult
from deniably_server.results.finding import quoted

FEW, MORE = 0.01, 0.05
"""The shares of crafted reports that results state the worst shift for."""

_DIGITS = 6
_ODD = "suspect a faulty device or crafted reports"


def crafted(
    leverage: Leverage | None, heard: float, length: float = 1.0, gap: float | None = None
) -> CraftedResult | None:
    """The figures of one question; None where reports have no largest score.

    ``heard`` is the share of the reports that have the question, ``length`` what the whole scale
    is in its unit, ``gap`` how far the second choice is behind the first.
    """
    if leverage is None:
        return None
    here = replace(leverage, heard=leverage.heard * heard)
    flip = None if gap is None else here.flip(gap)
    return CraftedResult(
        exchange=round(here.exchange, _DIGITS),
        shift=[round(length * here.shift(share), _DIGITS) for share in (FEW, MORE)],
        flip=None if flip is None else round(flip, _DIGITS),
    )


# --- signs ------------------------------------------------------------------------------------


def odd_choices(
    question: Question, tally: Tally, found: Estimate, labels: Sequence[str], risk: float
) -> list[str]:
    """A sentence where no answers explain the counts, which honest reports bring about with a
    chance of ``risk`` at most."""
    law = question.once.law
    if isinstance(law, Supporting):
        odd = plausibility.impossible(law, tally, risk)
    else:
        channel = matrix(law)
        each = poisoning.share_scores(channel)
        odd = plausibility.impossible_shares(channel, each, found.raw, tally.n, risk)
    names = [label for label, one in zip(labels, odd, strict=True) if one]
    if not names:
        return []
    return [f"No true answers explain how often {quoted(names)} was reported: {_ODD}."]


def odd_mean(
    question: Scale, tally: Tally, mean: Mean, ends: tuple[float, float], risk: float
) -> list[str]:
    """The same for the mean of a scale between ``ends``."""
    return _odd(mean, ends, of_target(question.once), risk)


def odd_number(question: Number, tally: Tally, mean: Mean, risk: float) -> list[str]:
    """The same for a number: its mean, and what noise does not explain."""
    law, grid = question.once.law, question.range
    if isinstance(law, Noise):
        return _off_the_grid(plausibility.beyond_noise(law, tally, risk))
    whole = not isinstance(law, Supporting) and law.domain.count == grid.positions
    score = of_target(law, None if whole else poisoning.places(question))
    middles = bucket_middles(question)
    ends = float(middles[0]), float(middles[-1])
    return _odd(mean, ends, score, risk)


def odd_part(
    question: VectorOfNumbers, index: int, tally: Tally, mean: Mean, risk: float
) -> list[str]:
    """The same for one of several numbers."""
    grid, label = question.parts[index].range, question.parts[index].label
    one = question.law.parts[index]
    if isinstance(one, Noise):
        own = tally_of_part(question, index, tally)
        return _off_the_grid(plausibility.beyond_noise(one, own, risk), label)
    ends = float(grid.minimum), float(grid.maximum)
    return _odd(mean, ends, of_target(one), risk, label)


def _odd(
    mean: Mean, ends: tuple[float, float], score: Score, risk: float, label: str = ""
) -> list[str]:
    place = (mean.estimate - ends[0]) / (ends[1] - ends[0])
    if not plausibility.too_far(place, mean.n, plausibility.of_score(score), risk):
        return []
    about = f"{label}: the" if label else "The"
    return [f"{about} mean lies outside what true answers can give: {_ODD}."]


def _off_the_grid(reports: int, label: str = "") -> list[str]:
    if not reports:
        return []
    about = f"{label}: " if label else ""
    some = "1 report lies" if reports == 1 else f"{reports:,} reports lie"
    return [f"{about}{some} farther off the scale than noise puts any: {_ODD}."]
