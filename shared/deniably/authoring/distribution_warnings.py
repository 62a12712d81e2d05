"""Warns authors where noise on a number hides how the numbers are distributed.

The distribution of a number must be deconvolved from that of the number plus noise. Gaussian noise
wipes out detail faster than any number of reports can restore it. Its characteristic function
exp(-sigma^2 t^2 / 2) makes every estimate converge at a logarithmic rate (Fan 1991, Annals of
Statistics 19:1257), and below the accuracy of floating point there is no estimate at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from deniably.design.planning import price_of_width
from deniably.estimation.channels import sent
from deniably.estimation.inversion import scores
from deniably.mechanisms.law import Finite, HasLaw, Noise, OfNumber
from deniably.survey.questions import Number
from deniably.survey.survey import Survey

REPORTS = 1000
"""The number of reports for which errors are stated."""
USELESS = 0.25
"""The standard error of a share above which its 95 % interval is useless."""

_REACH = 6  # standard deviations of noise
_MOST_BUCKETS = 128  # with more, no noise of epsilon 10 or less leaves an error that is of use
_MOST_CELLS = 2_000_000  # of the channel; it is larger only where noise dwarfs many buckets


def middle_error(mechanism: HasLaw[OfNumber], n: int = REPORTS) -> float:
    """Returns the standard error, from n reports, of the share in the lower half of the buckets.

    It is that of the best unbiased estimate for evenly spread answers, as in ``inversion.scores``.
    It is infinite where no such estimate exists, or where the noise is too large to compute it.
    """
    law = mechanism.law
    k = law.k
    if isinstance(law, Finite):
        reported = np.arange(law.outputs)
    else:
        reach = int(_REACH * math.sqrt(law.variance)) + 1
        if k > _MOST_BUCKETS or k * (k + 2 * reach) > _MOST_CELLS:
            return math.inf
        reported = np.arange(-reach, k + reach)
    channel = sent(law, reported)
    try:
        v = scores(channel, np.arange(k) < k // 2)
    except ValueError:
        return math.inf
    likely = channel.mean(axis=0)
    # The variance of a report's score, where answers are evenly spread.
    return math.sqrt(float(likely @ v**2 - (likely @ v) ** 2) / n)


def distribution_warnings(survey: Survey) -> Iterator[str]:
    """Yields a sentence for each question whose noise hides the distribution that it asks for."""
    for question in survey.questions:
        mechanism = question.report_mechanism
        if not isinstance(question, Number) or question.aim != "distribution":
            continue
        law = mechanism.law
        if isinstance(law, Noise) and (error := middle_error(law)) > USELESS:
            yield _sentence(question, str(mechanism.__struct_config__.tag), error)


def width_notes(survey: Survey) -> Iterator[str]:
    """Yields a sentence for each number whose window is wider than the best for the distribution
    function.

    The sentence says how much wider intervals are for that.
    """
    for question in survey.questions:
        if isinstance(question, Number) and (price := price_of_width(question)):
            yield f"{question.name}: {price}."


def _sentence(question: Number, noise: str, error: float) -> str:
    return (
        f"{question.name}: {noise} noise hides how the numbers are distributed: {_within(error)},"
        " and the histogram is no more than a guess. The mean is not affected. Leave mechanism out"
        " for a square wave, take fewer buckets, or write aim: mean."
    )


def _within(error: float) -> str:
    if error < 1:
        points = math.ceil(100 * error)
        return (
            f"of {REPORTS:,} reports, the share below the middle has a standard error of"
            f" {points} points"
        )
    return "the results will have no shares up to a number and no quantiles worth reading"
