"""Bounds the harm of data poisoning: people who send fake reports instead of answers.

Every figure is the mean of scores, one for each report. So a report can do no more than the largest
or the smallest possible score. Strict checks (the mechanism can make this report) bound the scores.
The rest cannot be prevented, because the server cannot know who lies. Sources: Cao, Jia and Gong
2021 (USENIX Security), "Data poisoning attacks to local differential privacy protocols", the
maximal gain attack; Cheu, Smith and Ullman 2021 (IEEE S&P): every local protocol pays this price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.channels import matrix
from deniably.estimation.figures import Shares, SingleMean
from deniably.estimation.inversion import scores
from deniably.estimation.scores import Score, of_choice
from deniably.mechanisms.law import HasLaw, Law, Supporting


@dataclass(frozen=True)
class Leverage:
    """How far one report can move a figure: its smallest and largest score, in units in which an
    honest person contributes from 0 to 1, and the share of reports that count in the figure.

    ``rivals`` is how far a report can move two choices apart, the second up and the first down; 0
    where there is nothing to overtake.
    """

    low: float
    high: float
    rivals: float = 0.0
    sampled_fraction: float = 1.0

    @property
    def exchange(self) -> float:
        """How many honest people raise the figure as much as one fake report does.

        All of them are at the top of the figure. For the share of a choice it is (1 - q) / (p - q).
        """
        return self.high

    def weight(self, fake: float) -> float:
        """The share of fake reports among those that count in the figure.

        ``fake`` is their share among all reports. An attacker makes sure that each one counts.
        """
        return fake / (fake + (1 - fake) * self.sampled_fraction)

    def shift(self, fake: float) -> float:
        """The most that this share of fake reports can move the figure, whatever people
        answered: from 0 upwards or from 1 downwards."""
        return self.weight(fake) * max(self.high, 1 - self.low)

    def flip(self, gap: float) -> float | None:
        """The share of fake reports that closes a ``gap`` between the two leading choices.

        It may take up to twice as many if different reports each close half of it. None if there
        are no rivals.
        """
        if not self.rivals:
            return None
        inside = gap / (gap + self.rivals)
        return inside * self.sampled_fraction / (1 - inside + inside * self.sampled_fraction)


def of_score(score: Score, rivals: float = 0.0) -> Leverage | None:
    """Leverage over the mean of a score; None if the score has no upper end."""
    if np.isinf(score.high):
        return None
    return Leverage(score.low, score.high, rivals, score.sampled_fraction)


def of_choices(mechanism: HasLaw[Law]) -> Leverage:
    """Leverage over the share of any choice.

    Raises ValueError where the mechanism cannot tell the choices apart.
    """
    law = mechanism.law
    if isinstance(law, Supporting):
        score = of_choice(law)
        return Leverage(score.low, score.high, 1 / float(law.p - law.q), score.sampled_fraction)
    scores = share_scores(matrix(law))
    apart = scores[:, None] - scores
    return Leverage(float(scores.min()), float(scores.max()), float(apart.max()))


def of_group(mechanism: HasLaw[Law], group: Shares | SingleMean) -> Leverage | None:
    """Leverage over any of the shares of a group, or over its mean; None for noise over buckets,
    whose scores depend on what was reported."""
    if isinstance(group, Shares):
        return of_choices(mechanism)
    return of_score(group.figure.score(mechanism))


def share_scores(channel: Floats) -> Floats:
    """The score that each output gives each choice, shape (choices, outputs)."""
    return np.array([scores(channel, row) for row in np.eye(len(channel))])
