"""What crafted reports can do: people who do not answer, but send whatever serves them best.

Every figure is the mean of scores, one a report, so that a report can do no more than the largest
or the smallest score that a report can have. Strict checks (a report is one that the mechanism can
make) bound these; what is left is the price of a server that cannot know who lies. Sources: Cao,
Jia and Gong 2021 (USENIX Security), "Data poisoning attacks to local differential privacy
protocols", the maximal gain attack; Cheu, Smith and Ullman 2021 (IEEE S&P), by whom no local
protocol can do without such a price.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation.analysis import bucket_middles
from deniably.estimation.channels import matrix, position_scores
from deniably.estimation.estimate import Pure
from deniably.estimation.inversion import scores
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.survey.questions import Number, Question, Scale, VectorOfNumbers

Positional = Window | Channel | BoundedLaplace | Laplace | Gaussian
"""Mechanisms of one position on a scale."""


@dataclass(frozen=True)
class Leverage:
    """The smallest and the largest score that one report can give a figure, in units in which an
    honest person contributes from 0 to 1; and the share of the reports that count in it.

    ``rivals`` is how far a report can move two choices apart, the second up and the first down; 0
    where there is nothing to overtake.
    """

    low: float
    high: float
    rivals: float = 0.0
    heard: float = 1.0

    @property
    def exchange(self) -> float:
        """One crafted report raises the figure by as much as that many honest people who are all
        at the top of it: (1 - q) / (p - q) for the share of a choice."""
        return self.high

    def weight(self, crafted: float) -> float:
        """What share of the reports that count in the figure is crafted, where ``crafted`` of all
        are: whoever crafts them sees to it that each one counts."""
        return crafted / (crafted + (1 - crafted) * self.heard)

    def shift(self, crafted: float) -> float:
        """How far that share of crafted reports can move the figure at most, whatever people
        answered: from 0 upwards or from 1 downwards."""
        return self.weight(crafted) * max(self.high, 1 - self.low)

    def flip(self, gap: float) -> float | None:
        """The share of crafted reports that closes a ``gap`` between the two leading choices;
        with two half gaps to close by different reports it may take up to twice as many. None
        where there are no rivals."""
        if not self.rivals:
            return None
        inside = gap / (gap + self.rivals)
        return inside * self.heard / (1 - inside + inside * self.heard)


def gain(mechanism: Pure, crafted: float, targets: int, share: float) -> float:
    """How far ``crafted`` (a share of all reports) raise the summed estimates of ``targets``
    choices that people gave with a summed ``share``.

    Cao, Jia and Gong 2021, theorems 1 to 3 in one: crafted [(m - r q) / (p - q) - f], where a
    report supports up to m of r targets.
    """
    p, q = float(mechanism.p), float(mechanism.q)
    supported = min(most_supported(mechanism), targets)
    inside = of_choices(mechanism).weight(crafted)
    return inside * ((supported - targets * q) / (p - q) - share)


def most_supported(mechanism: Pure) -> int:
    """How many choices one report can support."""
    match mechanism:
        case SubsetSelection():
            return mechanism.omega
        case SetResponse():
            return mechanism.size
        case SampledTicks():
            return mechanism.s
        case Unary():
            return mechanism.k


def of_choices(mechanism: Pure | Window | Channel | BoundedLaplace) -> Leverage:
    """Leverage over the share of any choice.

    Raises ValueError where the mechanism cannot tell the choices apart.
    """
    if isinstance(mechanism, SubsetSelection | SetResponse | SampledTicks | Unary):
        p, q = float(mechanism.p), float(mechanism.q)
        heard = mechanism.s / mechanism.k if isinstance(mechanism, SampledTicks) else 1.0
        return Leverage(-q / (p - q), (1 - q) / (p - q), 1 / (p - q), heard)
    every = share_scores(matrix(mechanism))
    apart = every[:, None] - every
    return Leverage(float(every.min()), float(every.max()), float(apart.max()))


def of_mean(mechanism: Positional) -> Leverage:
    """Leverage over the mean position on the scale, whose ends are 0 and 1."""
    last = mechanism.k - 1
    if isinstance(mechanism, Laplace | Gaussian):
        return Leverage(-mechanism.reach / last, 1 + mechanism.reach / last)
    score = position_scores(mechanism) / last
    return Leverage(float(score.min()), float(score.max()))


def of_buckets(mechanism: Window | Channel | BoundedLaplace, places: npt.ArrayLike) -> Leverage:
    """The same where positions are buckets at ``places`` in 0 .. 1, shape (k,)."""
    score = scores(matrix(mechanism), places)
    return Leverage(float(score.min()), float(score.max()))


def of_weighted(mechanism: SubsetSelection, places: npt.ArrayLike) -> Leverage:
    """The same through subset selection, of whose choices a report names omega."""
    place = np.sort(np.asarray(places, dtype=np.float64))
    p, q, omega = float(mechanism.p), float(mechanism.q), mechanism.omega
    low, high = (float(some.sum()) for some in (place[:omega], place[-omega:]))
    everywhere = q * float(place.sum())
    return Leverage((low - everywhere) / (p - q), (high - everywhere) / (p - q))


def of_question(question: Question) -> Leverage | None:
    """Leverage over the figures of a question: its shares, or where it is about a mean, the mean.

    None for several numbers at once, of which each has its own (``of_part``), and for Laplace or
    Gaussian noise over buckets, whose scores depend on what was reported.
    """
    mechanism = question.once
    if isinstance(question, VectorOfNumbers):
        return None
    if isinstance(question, Number):
        return _of_number(question)
    if isinstance(question, Scale) and question.aim == "mean" and isinstance(mechanism, Positional):
        return of_mean(mechanism)
    assert not isinstance(mechanism, Vector | Laplace | Gaussian)
    return of_choices(mechanism)


def of_part(question: VectorOfNumbers, index: int) -> Leverage:
    """Leverage over the mean of one of several numbers."""
    mechanism = question.once
    if isinstance(mechanism, Gaussian):
        return of_mean(mechanism)
    heard = mechanism.s / len(mechanism.parts)
    return replace(of_mean(mechanism.parts[index]), heard=heard)


def places(question: Number) -> Floats:
    """The middles of a number's buckets, from 0 for the first to 1 for the last, shape (k,)."""
    middles = np.array([float(middle) for middle in bucket_middles(question)])
    spread: Floats = (middles - middles[0]) / np.ptp(middles)
    return spread


def _of_number(question: Number) -> Leverage | None:
    mechanism = question.once
    if isinstance(mechanism, SubsetSelection):
        return of_weighted(mechanism, places(question))
    if mechanism.k == question.range.positions:
        return of_mean(mechanism)
    if isinstance(mechanism, Laplace | Gaussian):
        return None
    return of_buckets(mechanism, places(question))


def share_scores(channel: Floats) -> Floats:
    """The score that each output gives each choice, shape (choices, outputs)."""
    return np.array([scores(channel, row) for row in np.eye(len(channel))])
