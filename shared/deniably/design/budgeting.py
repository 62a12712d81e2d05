"""Spends one epsilon on a whole survey in the best of three ways (needs the extra ``author``).

``split`` divides the epsilon among all questions. ``sample`` lets each device answer some
questions, drawn at random, with a larger epsilon each. ``in_one_report`` asks several small
questions in one joint report. RS+FD (Arcolezi et al. 2021) is not offered: the odds of its whole
report exceed its claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from deniably.estimation.variances import marginal_variance
from deniably.mechanisms.subset_selection import MOST_CHOICES, subset_selection
from deniably.survey.parts import SMALLEST_EPSILON
from deniably.survey.privacy import Privacy, to_decimal_text
from deniably.survey.questions import MOST_PARTS

SHARE = 0.3
"""The share at which the ways to spend a budget are compared."""

_PLACES = 10**6
_PATIENCE = 2  # larger variances in a row before the search ends


@dataclass(frozen=True)
class Spending:
    """A plan to spend an epsilon: each person answers ``ask`` questions (None: all), with
    ``epsilon`` each.

    With ``product``, all questions are answered in one joint report, which keeps ``epsilon``.
    ``variance`` is n times the variance of an estimate from n people: of a share of 30 %, or of a
    mean on 0 to 1, averaged over the questions. ``note`` says in a sentence what respondents
    answer.
    """

    epsilon: Fraction
    ask: int | None
    product: bool
    variance: float
    note: str


def part(epsilon: Fraction, parts: int) -> Fraction:
    """Returns ``epsilon / parts``, the epsilon of one of several questions, rounded down to six
    decimals.

    Raises ValueError where the result is below 0.01.
    """
    # Rounded down: the parts never add up to more than the whole.
    each = Fraction(int(epsilon / parts * _PLACES), _PLACES)
    if each < SMALLEST_EPSILON:
        raise ValueError(
            f"the budget leaves epsilon {to_decimal_text(each)} to each question; 0.01 is the"
            " least: spend more, ask fewer questions, or write spend: sample"
        )
    return each


def split(epsilon: Fraction, count: int, variance: Callable[[Privacy], float]) -> Spending:
    """Returns the plan by which everybody answers all ``count`` questions.

    ``variance(privacy)`` returns n times the variance of a question's estimate at a level of
    privacy. Raises ValueError where less than 0.01 is left to each question.
    """
    each = part(epsilon, count)
    return Spending(
        each,
        None,
        False,
        variance(Privacy(epsilon=each)),
        f"Everybody answers all {count} questions with epsilon {to_decimal_text(each)} each."
        if count > 1
        else f"Everybody answers the one question with epsilon {to_decimal_text(each)}.",
    )


def sample(
    epsilon: Fraction, count: int, variance: Callable[[Privacy], float], ask: int | None = None
) -> Spending:
    """Returns the plan by which everybody answers ``ask`` questions out of ``count``.

    By default ``ask`` is the number with the smallest variance. ``variance(privacy)`` returns n
    times the variance of a question's estimate at a level of privacy. Raises ValueError where the
    epsilon is too small even for one question.
    """
    plans: list[Spending] = []
    for s in range(1, count) if ask is None else [ask]:
        try:
            each = part(epsilon, s)
            each_variance = variance(Privacy(epsilon=each))
        except ValueError:
            if plans:  # more questions leave even less epsilon to each
                break
            raise
        plans.append(
            Spending(
                each,
                s,
                False,
                # A question is answered by s of ``count`` people.
                each_variance * count / s,
                f"Everybody answers {s} of the {count} questions, picked by chance on the device,"
                f" with epsilon {to_decimal_text(each)} each.",
            )
        )
        # After two numbers in a row that are no better, further ones are not tried.
        if min(plans, key=lambda plan: plan.variance) not in plans[-_PATIENCE - 1 :]:
            break
    return min(plans, key=lambda plan: plan.variance)


def in_one_report(epsilon: Fraction, sizes: Sequence[int]) -> Spending | None:
    """Returns the plan by which everybody answers all questions in one joint report.

    ``sizes`` are the numbers of choices of the questions.

    Returns None where there are fewer than 2 or more than 8 questions, or more than 1024
    combinations.
    """
    k = prod(sizes)
    if len(sizes) < 2 or len(sizes) > MOST_PARTS or k > MOST_CHOICES:
        return None
    joint = subset_selection(k, *Privacy(epsilon=epsilon).weights())
    variances = [marginal_variance(joint, size, SHARE) for size in sizes]
    return Spending(
        epsilon,
        None,
        True,
        sum(variances) / len(variances),
        f"Everybody answers all {len(sizes)} questions in one joint report with epsilon"
        f" {to_decimal_text(epsilon)}, which also tells how the answers go together.",
    )


def best(plans: Sequence[Spending]) -> Spending:
    """Returns the plan with the smallest variance, with a note that compares it with the others."""
    ranked = sorted(plans, key=lambda plan: plan.variance)
    first = ranked[0]
    others = ", ".join(f"{plan.variance:.3g}/n if {_briefly(plan)}" for plan in ranked[1:])
    note = f"{first.note} The variance of a share of 30 % is then {first.variance:.3g}/n"
    note += f", against {others}." if others else "."
    return Spending(first.epsilon, first.ask, first.product, first.variance, note)


def _briefly(plan: Spending) -> str:
    if plan.product:
        return "all are answered in one joint report"
    return "all are answered" if plan.ask is None else f"{plan.ask} of them are answered"
