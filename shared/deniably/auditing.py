"""An audit of a survey: what every question claims, what it realises, what reports prove.

The realised epsilon comes from the published integers, the certified one from running the code;
small channels are walked branch by branch as well. A question fails where either is above its
claim.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, log
from typing import Any

from deniably.audit import distribution, worst_odds
from deniably.blackbox import ALPHA, Certified, Event, certify
from deniably.coins import Coins
from deniably.loss import Loss
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.questions import Question
from deniably.survey import Survey

TRIALS = 20_000
_WALKABLE = 3_000  # paths a channel may have to be walked here


@dataclass(frozen=True)
class Verdict:
    """One question: the ``claimed`` epsilon, the ``exact`` one (with its ``delta``), whether every
    branch was ``walked``, and what was ``certified`` by running it."""

    question: str
    claimed: float
    exact: Loss
    walked: bool
    certified: Certified
    passed: bool


def audit(
    survey: Survey,
    trials: int = TRIALS,
    alpha: float = ALPHA,
    coins: Callable[[], Coins] = Coins,
) -> list[Verdict]:
    """The verdict on every question, by the code that devices run."""
    return [
        audit_question(question, question.mechanism.randomise, trials, alpha, coins)
        for question in survey.questions
    ]


def audit_question(
    question: Question,
    randomise: Callable[..., Hashable],
    trials: int = TRIALS,
    alpha: float = ALPHA,
    coins: Callable[[], Coins] = Coins,
) -> Verdict:
    """The verdict on a question whose answers are randomised by ``randomise(answer, coins)``."""
    mechanism, claim = question.mechanism, question.claim
    exact = mechanism.loss
    odds = walked(mechanism, randomise)
    within = claim.covers(exact)
    if odds is not None:
        within = within and odds.finite and odds.value <= exact.odds
    first, second = extremes(mechanism)
    found = certify(
        lambda c: randomise(first, c),
        lambda c: randomise(second, c),
        trials,
        event=maximal_event(mechanism, first, second),
        delta=float(exact.delta),
        alpha=alpha,
        coins=coins,
    )
    if isinstance(claim.epsilon, str):
        claimed = float(claim.epsilon)
    else:
        assert isinstance(claim.odds, str)
        claimed = log(Fraction(claim.odds))
    passed = within and found.epsilon <= claimed
    return Verdict(question.name, claimed, exact, odds is not None, found, passed)


@dataclass(frozen=True)
class Walked:
    """The worst odds over all branches; not ``finite`` where one answer rules a report out."""

    finite: bool
    value: Fraction


def walked(mechanism: Mechanism, randomise: Callable[..., Hashable]) -> Walked | None:
    """The odds of the running code, branch by branch; None where there are too many branches."""
    answers = _answers(mechanism)
    if answers is None:
        return None
    laws = [_law(randomise, answer) for answer in answers]
    worst = worst_odds(laws)
    return Walked(worst is not None, worst or Fraction(0))


def _law(randomise: Callable[..., Hashable], answer: Any) -> dict[Hashable, Fraction]:
    return distribution(lambda coins: randomise(answer, coins))


def extremes(mechanism: Mechanism) -> tuple[Any, Any]:
    """Two answers that differ as much as any two do."""
    match mechanism:
        case SubsetSelection():
            return 0, mechanism.k - 1
        case Unary() | SetResponse():
            most = min(mechanism.most, mechanism.k // 2) or 1
            k = mechanism.k
            return tuple(range(most)), tuple(range(k - most, k))
        case SampledTicks():
            return (), tuple(range(mechanism.k))
        case Vector():
            return (
                tuple(0 for _ in mechanism.parts),
                tuple(part.k - 1 for part in mechanism.parts),
            )
        case Gaussian():
            return (0,) * mechanism.d, (mechanism.k - 1,) * mechanism.d
        case Window() | Channel() | Laplace() | BoundedLaplace():
            return 0, mechanism.k - 1


def maximal_event(mechanism: Mechanism, first: Any, second: Any) -> Event | None:
    """The reports with the largest ratio, where they are known; else None: to be learnt."""
    match mechanism:
        case SubsetSelection():
            return lambda report: first in report and second not in report  # type: ignore[operator]
        case SetResponse():
            ours = {*first, *range(mechanism.k, mechanism.domain - len(first))}
            theirs = {*second, *range(mechanism.k, mechanism.domain - len(second))}
            return lambda report: bool(ours & set(report)) and not theirs & set(report)  # type: ignore[call-overload]
        case Unary() if len(first) == 1:
            return lambda report: first[0] in report and second[0] not in report  # type: ignore[operator]
        case Laplace():
            return lambda report: report[0] <= 0  # type: ignore[index]
        case Gaussian(d=1):
            # Where the loss is largest a little mass is left: one standard deviation below.
            from deniably.mechanisms.noise import ratio

            reach = float(ratio(mechanism.sigma2, "sigma2")) ** 0.5
            return lambda report: report[0] <= -reach  # type: ignore[index]
        case _:
            return None


def _answers(mechanism: Mechanism) -> Sequence[Any] | None:
    """All answers, where walking them all is quick."""
    match mechanism:
        case SubsetSelection(k=k, omega=omega) if k * comb(k, omega) * k**omega <= _WALKABLE:
            return range(k)
        case Window(k=k, m=m, w=w) if k * 4 * w * (m - w) <= _WALKABLE:
            return range(k)
        case Channel(k=k, weights=weights) if k * len(weights[0]) * 2 <= _WALKABLE:
            return range(k)
        case Unary(k=k, most=most) if k <= 6:
            return _ticks(k, most)
        case SampledTicks(k=k, s=s) if k <= 5 and s <= 2:
            return _ticks(k, k)
        case SetResponse(k=k, most=most, size=size) if k <= 5 and most <= 2 and size <= 2:
            return _ticks(k, most)
        case _:
            return None


def _ticks(k: int, most: int) -> list[tuple[int, ...]]:
    return [ticks for count in range(most + 1) for ticks in combinations(range(k), count)]
