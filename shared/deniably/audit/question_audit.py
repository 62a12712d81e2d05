"""An audit of a survey: what every question claims, what it realises, what reports prove.

Each question is audited in two ways. Its code is walked branch by branch and held to the exact law
of its mechanism (``walking``); that proves everything where all branches can be walked. And it is
run as a black box: many reports of two answers certify an epsilon (``blackbox``), while every one
of them is checked (``report_checker``). In a survey with waves two of them are audited together
(``histories``). A question fails where any of this is against its claim. That several questions
together give away no more than each apart is another walk, of whole reports (``whole``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import log
from typing import Any, Literal

from deniably.audit.blackbox import ALPHA, Certified, Event, certify
from deniably.audit.histories import InWaves, fault_in_waves
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

TRIALS = 20_000


@dataclass(frozen=True)
class Verdict:
    """One question: the ``claimed`` epsilon, the ``exact`` one of the published integers (with its
    ``delta``), the ``walk`` through its code, what was ``certified`` by running it, and the first
    ``fault`` that was found, in words. ``history`` is what all waves give away, where a memo is
    kept."""

    question: str
    claimed: float
    exact: Loss
    walk: Walk
    certified: Certified
    fault: str | None
    history: Loss | None = None

    @property
    def outcome(self) -> Literal["failed", "passed", "counted"]:
        """``counted`` where no fault was found, and nothing was shown either: not every branch was
        walked, and the reports certify no epsilon."""
        if self.fault:
            return "failed"
        return "passed" if self.walk.complete or self.certified.epsilon else "counted"


def audit(
    survey: Survey,
    trials: int = TRIALS,
    alpha: float = ALPHA,
    coins: Callable[[], Coins] = Coins,
) -> list[Verdict]:
    """The verdict on every question, by the code that devices run."""
    return list(verdicts(survey, trials, alpha, coins))


def verdicts(
    survey: Survey,
    trials: int = TRIALS,
    alpha: float = ALPHA,
    coins: Callable[[], Coins] = Coins,
) -> Iterator[Verdict]:
    """The same one by one, each as soon as it is there."""
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
    """The verdict on a question whose answers are randomised by ``randomise(answer, coins)``.

    ``reports_over_waves(answer, waves, coins)`` makes the reports of a panel, by default as the
    question's mechanism does.

    A right randomiser is accused with a probability of at most ``alpha``: of nothing that was
    walked, only by its reports.
    """
    keeping = question.mechanism if isinstance(question.mechanism, Memoised) else None
    if keeping:
        alpha /= 2
    mechanism, claim = question.report_mechanism, question.claim
    exact, claimed = mechanism.loss, _epsilon(claim)
    walked = walk(mechanism, randomise)
    # After a complete walk the counts of reports have nothing to add.
    share = alpha if walked.complete else alpha / 2
    first, second = (
        ReportChecker(mechanism, randomise, answer) for answer in mechanism.law.extremes
    )
    found = certify(
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
        fault = first.misfit(share / 2) or second.misfit(share / 2)
    if keeping and not fault:
        fault = fault_in_waves(
            keeping, reports_over_waves or keeping.reports_over_waves, trials, alpha, coins
        )
    if not fault and found.epsilon > claimed:
        fault = "its reports prove a larger epsilon than is claimed"
    if not fault and not claim.covers(exact):
        fault = "its weights give a larger epsilon than is claimed"
    history = keeping.history if keeping else None
    return Verdict(question.name, claimed, exact, walked, found, fault, history)


def _epsilon(claim: Claim) -> float:
    if isinstance(claim.epsilon, str):
        return float(claim.epsilon)
    assert isinstance(claim.odds, str)
    return log(Fraction(claim.odds))


def maximal_event(mechanism: Randomiser[Law], first: Any, second: Any) -> Event | None:
    """The reports with the largest ratio, where they are known; else None: to be learnt."""
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
        # Where the loss has no bound but for a delta a little mass is left where it is largest:
        # one standard deviation below.
        reach = law.variance**0.5 if mechanism.loss.delta else 0.0
        return lambda report: report[0] <= -reach
    return None
