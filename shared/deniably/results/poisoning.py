"""Bounds the harm of data poisoning: people who send fake reports instead of answers.

Every figure is the mean of scores, one for each report. So a fake report can do no more than the
largest or the smallest possible score. The server refuses reports that the mechanism cannot make,
which bounds the scores. The rest cannot be prevented, because the server cannot know who lies.
Sources: Cao, Jia and Gong 2021 (USENIX Security), "Data poisoning attacks to local differential
privacy protocols", the maximal gain attack; Cheu, Smith and Ullman 2021 (IEEE S&P), who show that
every local protocol pays this price.
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
    """How far one fake report can move a figure: the smallest (``low``) and largest (``high``)
    score of a report, in units in which an honest person contributes from 0 to 1.

    ``rivals`` is how far a report can change the difference of two choices, by raising the second
    and lowering the first; 0 if the figure has no choices to compare. ``sampled_fraction`` is the
    share of honest reports that count in the figure.
    """

    low: float
    high: float
    rivals: float = 0.0
    sampled_fraction: float = 1.0

    @property
    def exchange(self) -> float:
        """The number of honest people who together raise the figure as much as one fake report
        does.

        Each of these people gives the answer that raises the figure most. For the share of a choice
        the number is (1 - q) / (p - q).
        """
        return self.high

    def weight(self, fake: float) -> float:
        """Returns the fraction of fake reports among the reports that count in the figure, where
        ``fake`` is their fraction among all reports. All fake reports are assumed to count, since
        an attacker can choose that."""
        return fake / (fake + (1 - fake) * self.sampled_fraction)

    def shift(self, fake: float) -> float:
        """Returns the largest distance that a figure can be moved, whatever people answered, if
        the fraction ``fake`` of all reports is fake."""
        # Upwards from a true value of 0, or downwards from 1: the two worst cases.
        return self.weight(fake) * max(self.high, 1 - self.low)

    def flip(self, gap: float) -> float | None:
        """Returns the fraction of fake reports, among all reports, that closes a ``gap`` between
        the two leading choices. None if ``rivals`` is 0.

        If no single report can both raise the second choice and lower the first, up to twice as
        many are needed.
        """
        if not self.rivals:
            return None
        # inside * rivals = (1 - inside) * gap, where ``inside`` is the fake share of the reports
        # that count. Next, ``weight`` is solved for the share of all reports.
        inside = gap / (gap + self.rivals)
        return inside * self.sampled_fraction / (1 - inside + inside * self.sampled_fraction)


def of_score(score: Score, rivals: float = 0.0) -> Leverage | None:
    """Returns how far one fake report can move the mean of a score; None if the score has no
    largest value."""
    if np.isinf(score.high):
        return None
    return Leverage(score.low, score.high, rivals, score.sampled_fraction)


def of_choices(mechanism: HasLaw[Law]) -> Leverage:
    """Returns how far one fake report can move the estimated share of any choice.

    Raises ValueError where the mechanism cannot tell the choices apart.
    """
    law = mechanism.law
    if isinstance(law, Supporting):
        score = of_choice(law)
        return Leverage(score.low, score.high, 1 / float(law.p - law.q), score.sampled_fraction)
    scores = share_scores(matrix(law))
    # For every two choices and every output: (k, k, outputs).
    apart = scores[:, None] - scores
    return Leverage(float(scores.min()), float(scores.max()), float(apart.max()))


def of_group(mechanism: HasLaw[Law], group: Shares | SingleMean) -> Leverage | None:
    """Returns how far one fake report can move any share, or the mean, of ``group``. None where
    the scores of reports have no largest value, as with noise that is added to a number's
    bucket."""
    if isinstance(group, Shares):
        return of_choices(mechanism)
    return of_score(group.figure.score(mechanism))


def share_scores(channel: Floats) -> Floats:
    """Returns the score of each output of a channel for each choice, shape (choices, outputs). The
    mean score of a choice over all reports is the unbiased estimate of its share. ``channel`` is
    the matrix of P(output | choice), in this shape."""
    # The score of a choice has expectation 1 for people with the choice and 0 for others.
    return np.array([scores(channel, row) for row in np.eye(len(channel))])
