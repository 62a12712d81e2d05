"""Smooths the displayed distribution of a number, if you know the truth to be smooth.

It is a choice of display, made after the reports are in. Shares up to a number, means and all
intervals stay as they are. So does the definition that respondents answered.
"""

from __future__ import annotations

from dataclasses import replace

from deniably.estimation.blank_laws import blanks_of
from deniably.estimation.blanks import blended_channel
from deniably.estimation.channels import matrix
from deniably.estimation.distribution import SMALL, density, placed
from deniably.estimation.question_distributions import Distribution
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Finite
from deniably.survey.questions import Number


def helps(question: Number, n: int) -> bool:
    """Returns whether smoothing may help with n reports: for a square wave, up to ``SMALL``
    reports."""
    law = question.mechanism.law
    return isinstance(law, Finite) and law.evenly and n <= SMALL


def smoothed(question: Number, tally: Tally, distribution: Distribution) -> Distribution:
    """Returns the distribution with shares that are fitted by EM with smoothing (EMS).

    Where smoothing does not help (``helps``), the distribution is returned as it is. Quantiles move
    with the new shares, within the intervals that they had.
    Source: Li et al. 2020 (SIGMOD, "Estimating numerical distributions under local differential
    privacy"), 5.5.
    """
    if not helps(question, tally.n):
        return distribution
    law = question.report_mechanism.law
    assert isinstance(law, Finite)  # see above
    channel = blended_channel(matrix(law), tally.n, blanks_of(law, tally))
    shares = density(tally.counts, channel, smooth=True).shares
    previous = distribution.quantiles
    quantiles = placed(shares, [q.share for q in previous], [(q.low, q.high) for q in previous])
    return replace(distribution, shares=shares, quantiles=quantiles)
