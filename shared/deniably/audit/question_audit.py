"""Audits each question of a survey: its claimed epsilon against what its code realises.

A question is audited in two ways. ``walking`` compares its code, branch by branch, with the exact
probabilities of its mechanism, which is a proof where all branches can be walked. ``blackbox``
certifies a lower bound of epsilon from many reports of two answers, and ``report_checker`` checks
each report. In a survey with waves, ``memoised_waves`` audits two waves together. ``whole_reports``
checks that several questions together give away no more than each alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import log
from typing import Any, Literal

from deniably.audit.blackbox import ALPHA, Certified, Event, certify
from deniably.audit.memoised_waves import InWaves, fault_in_waves
from deniably.audit.report_checker import Randomise, ReportChecker, checked
from deniably.audit.walking import Walk, walk
from deniably.core.coins import Coins
from deniably.core.errors import BadReport
from deniably.core.loss import Loss
from deniably.mechanisms import Cells, Memoised
from deniably.mechanisms.law import Law, Noise, Randomiser, Supporting
from deniably.survey.parts import Claim
from deniably.survey.questions import Question
from deniably.survey.survey import Survey

TRIALS = 5_000
"""How many reports of each of two answers are counted."""


@dataclass(frozen=True)
class Verdict:
    """The audit of one question.

    ``claimed`` is the stated epsilon, and ``exact`` the privacy loss that follows from the
    published integers. ``walk`` is the outcome of walking the branches of its code, ``certified``
    the lower bound from its counted reports. ``fault`` is the first fault found, in words.
    ``history`` is the loss of all waves together, for a question with memos.
    """

    question: str
    claimed: float
    exact: Loss
    walk: Walk
    certified: Certified
    fault: str | None
    history: Loss | None = None

    @property
    def outcome(self) -> Literal["failed", "proved", "counted"]:
        """The outcome: "failed", "proved" or "counted".

        It is "proved" if every branch was walked without a fault. "counted" is no proof of the
        claim: counted reports certify a lower bound of epsilon, and the larger that is, the worse.
        """
        if self.fault:
            return "failed"
        return "proved" if self.walk.complete else "counted"


def audit(
    survey: Survey,
    trials: int = TRIALS,
    alpha: float = ALPHA,
    coins: Callable[[], Coins] = Coins,
) -> list[Verdict]:
    """Returns the verdict on every question, by running the code that devices run.

    ``trials``, ``alpha`` and ``coins`` are those of ``audit_question``.
    """
    return list(verdicts(survey, trials, alpha, coins))


def verdicts(
    survey: Survey,
    trials: int = TRIALS,
    alpha: float = ALPHA,
    coins: Callable[[], Coins] = Coins,
) -> Iterator[Verdict]:
    """Yields each question's verdict as soon as it is known. ``trials``, ``alpha`` and ``coins``
    are those of ``audit_question``."""
    for question in survey.questions:
        yield audit_question(question, question.mechanism.randomise, trials, alpha, coins)


def audit_question(
    question: Question,
    randomise: Randomise,
    trials: int = TRIALS,
    alpha: float = ALPHA,
    coins: Callable[[], Coins] = Coins,
    reports_over_waves: InWaves | None = None,
) -> Verdict:
    """Returns the verdict on a question whose answers ``randomise(answer, coins)`` randomises.

    For a question with memos, ``reports_over_waves(answer, waves, coins)`` makes the reports of
    several waves; by default the mechanism does. ``trials`` reports of each of two answers are
    drawn. A correct randomiser is accused with probability at most ``alpha``, and only by counted
    reports: walking its branches makes no error.
    """
    keeping = question.mechanism if isinstance(question.mechanism, Memoised) else None
    if keeping:
        # Single reports and pairs of waves can each accuse, with half of the probability.
        alpha /= 2
    mechanism, claim = question.report_mechanism, question.claim
    exact, claimed = mechanism.loss, _epsilon(claim)
    walked = walk(mechanism, randomise)
    # After a complete walk the counts of reports have nothing to add.
    share = alpha if walked.complete else alpha / 2
    first, second = (
        ReportChecker(mechanism, randomise, answer) for answer in mechanism.law.extremes
    )
    certified = certify(
        first,
        second,
        trials,
        event=maximal_event(mechanism, first.answer, second.answer),
        delta=float(exact.delta),
        alpha=share,
        coins=coins,
    )
    fault = walked.fault or first.fault or second.fault
    if not fault and not walked.complete:
        # Two answers are tested; each has half.
        fault = first.misfit(share / 2) or second.misfit(share / 2)
    if keeping and not fault:
        fault = fault_in_waves(
            keeping, reports_over_waves or keeping.reports_over_waves, trials, alpha, coins
        )
    # Last, since the faults above say more plainly what is wrong.
    if not fault and certified.epsilon > claimed:
        fault = "its reports prove a larger epsilon than is claimed"
    if not fault and not claim.covers(exact):
        fault = "its weights give a larger epsilon than is claimed"
    history = keeping.history if keeping else None
    return Verdict(question.name, claimed, exact, walked, certified, fault, history)


def _epsilon(claim: Claim) -> float:
    if isinstance(claim.epsilon, str):
        return float(claim.epsilon)
    assert isinstance(claim.odds, str)
    return log(Fraction(claim.odds))


def maximal_event(mechanism: Randomiser[Law], first: Any, second: Any) -> Event | None:
    """Returns the event that contains the reports with the largest ratio of probabilities between
    two answers; None where the mechanism's law does not say which these are."""
    event = _maximal(mechanism, first, second)

    def among_reports(report: Hashable) -> bool:
        try:
            return event is not None and event(checked(mechanism, report))
        except BadReport:
            return False

    return event and among_reports


def _maximal(mechanism: Randomiser[Law], first: Any, second: Any) -> Callable[[Cells], bool] | None:
    law = mechanism.law
    if isinstance(law, Supporting):
        ours, theirs = law.own(first), law.own(second)
        return partial(law.joint.telling, ours, theirs)
    if isinstance(law, Noise):
        # With a delta the loss is unbounded, and largest where little mass is left: one standard
        # deviation below.
        reach = law.variance**0.5 if mechanism.loss.delta else 0.0
        return lambda report: report[0] <= -reach
    return None
