"""Plans a survey with a mixer: blanks for each question, and margins with and without the mixer.

Without a mixer, the odds that all answers together give away are the product of the local odds of
the questions. A mixer hides each answer among blanks (``blanks``). So the same odds against the
survey's server allow far larger local odds, which still hold if both parties conspire.

    plan = plan_mixer(survey.questions, odds=Fraction(3), n=1_000)
    plan.blanks, plan.rows
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from deniably.core.loss import Loss
from deniably.design.at_privacy import mechanism_at
from deniably.design.blanks import HiddenPair, blanks_law, least_blanks, mixed_epsilon
from deniably.design.budgeting import part
from deniably.design.planning import variance_at
from deniably.estimation.figures import Group, groups
from deniably.mechanisms import Mechanism
from deniably.survey.mixer import Mixer
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Question
from deniably.survey.survey import Survey

LOCAL_ODDS = Fraction(8)
"""The local odds of each question where the author states none."""
DELTA = 1e-6
"""The probability with which the promise against the server need not hold."""

_PLACES = 10**12
_STEPS = 10**6
"""Of the epsilon of one answer, from 0 to 1."""


@dataclass(frozen=True)
class MixerRow:
    """The margins of a group of figures, as fractions of 1 for a share, of the range for a mean.

    ``mixed`` is the margin with the mixer, ``alone`` without one at the same odds against the
    server, which then are local (inf where no mechanism keeps so little). ``direct`` is that of
    direct questions.
    """

    question: str
    figure: str
    mixed: float
    alone: float
    direct: float


@dataclass(frozen=True)
class MixerPlan:
    """What a mixer adds, promises and is worth.

    ``blanks`` are those for each question. Against the server alone, all answers together keep
    ``(epsilon, delta)``, and one answer keeps ``(one_epsilon, delta)``. If server and mixer
    conspire, all answers together keep ``together``, and one answer ``local``: sums of local
    losses without a delta. Each is the largest where questions differ, and rounded up.
    """

    blanks: int
    epsilon: float
    one_epsilon: float
    delta: float
    together: Loss
    local: Loss
    rows: tuple[MixerRow, ...]


def plan_mixer(
    questions: Sequence[Question],
    *,
    odds: Fraction,
    n: int,
    local_odds: Fraction | None = LOCAL_ODDS,
    delta: float = DELTA,
    share: float | None = None,
    confidence: float = 0.95,
) -> MixerPlan:
    """Plans the blanks and the margins of n people, for ``odds`` against the server in all.

    Every question gets the best mechanism at ``local_odds``; None takes each as it is. ``share`` is
    the expected share, by default the worst. Raises ValueError without a question, for odds of at
    most 1, for n below 1, where no mechanism keeps the local odds, for a mechanism with a delta,
    and as ``least_blanks`` does.
    """
    if not questions:
        raise ValueError("a mixer is planned for one question or more")
    if odds <= 1 or n < 1:
        raise ValueError(f"odds are {odds} and n is {n:,}; use odds above 1 and 1 person or more")
    target = math.nextafter(Loss(odds).epsilon, 0)  # never above the logarithm
    mechanisms = [
        question.report_mechanism if local_odds is None else _at(question, local_odds)
        for question in questions
    ]
    pairs = [HiddenPair.of(mechanism) for mechanism in mechanisms]
    blanks = least_blanks(pairs, target, delta)
    laws = {pair: blanks_law(blanks, pair) for pair in pairs}
    losses = [mechanism.loss for mechanism in mechanisms]
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rows = [
        MixerRow(
            question.name,
            group.name,
            z * math.sqrt(group.variance(mechanism, share, blanks / n) / n),
            z * math.sqrt(_alone(question, group, share, target, len(questions)) / n),
            z * math.sqrt(group.spread(share) / n),
        )
        for question, mechanism in zip(questions, mechanisms, strict=True)
        for group in groups(question)
        if group.variance(mechanism, share) < math.inf
    ]
    return MixerPlan(
        blanks,
        mixed_epsilon([laws[pair] for pair in pairs], delta),
        max(mixed_epsilon([law], delta) for law in laws.values()),
        delta,
        sum(losses, Loss()),
        max(losses),
        tuple(rows),
    )


def answer_losses(survey: Survey) -> dict[str, Loss]:
    """Returns {question: privacy loss of one answer to it} of a survey with a mixer.

    The loss is that against the survey's server alone, rounded up. It is no part of the claim for
    all answers: never add losses up. The result is empty without a mixer.
    """
    if not isinstance(survey.mixer, Mixer):
        return {}
    blanks, delta = survey.mixer.blanks, survey.mixer.claim.loss.delta
    pairs = {each.name: HiddenPair.of(each.report_mechanism) for each in survey.questions}
    epsilons = {
        pair: mixed_epsilon([blanks_law(blanks, pair)], float(delta)) for pair in pairs.values()
    }
    return {
        name: Loss(exponent=Fraction(math.ceil(epsilons[pair] * _STEPS), _STEPS), delta=delta)
        for name, pair in pairs.items()
    }


def _at(question: Question, odds: Fraction) -> Mechanism:
    """The best mechanism of a question at these odds, or at their epsilon rounded down."""
    try:
        return mechanism_at(question, Privacy(odds=odds))
    except ValueError:
        epsilon = Fraction(int(Loss(odds).epsilon * _PLACES), _PLACES)
        return mechanism_at(question, Privacy(epsilon=epsilon))


def _alone(
    question: Question, group: Group, share: float | None, target: float, count: int
) -> float:
    """n times the variance where a ``count``-th of the epsilon ``target`` is spent on the question,
    and no mixer hides it."""
    try:
        epsilon = part(Fraction(target), count)
    except ValueError:  # less than any mechanism takes
        return math.inf
    return variance_at(question, group, share, float(epsilon))
