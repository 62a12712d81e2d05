"""What many answers of one person give away together, added up in three ways.

Devices count the plain sum of epsilons, which holds with certainty. The exact composition and zCDP
are for information: they are smaller where there are many answers, and hold but for a small delta.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, nextafter, sqrt
from typing import Any

from deniably.core.loss import Loss, largest
from deniably.core.table import Cell, Table
from deniably.design.composition import (
    AnswerPair,
    basic_composition,
    composed_epsilon,
    rho_of_gaussian,
    rho_of_pure,
    zcdp_epsilon,
)
from deniably.mechanisms import Mechanism, Memoised
from deniably.mechanisms.law import Law, Noise, Several
from deniably.survey.privacy import to_decimal_text
from deniably.survey.survey import Survey, Waves

DELTA = Fraction(1, 1_000_000)
"""The delta of the exact composition and of zCDP."""

_HEADING = ("", "answers", "sum", "exact", "zCDP")


@dataclass(frozen=True)
class Total:
    """The privacy loss of ``answers`` answers of one person together.

    ``loss`` is the sum of the losses of the answers. Together the answers keep the epsilon
    ``exact`` with the delta ``exact_delta``, and the epsilon ``zcdp`` with ``DELTA``. Both epsilons
    are rounded up. For few answers ``zcdp`` is above the sum.
    """

    answers: int
    loss: Loss
    exact: float
    exact_delta: Fraction
    zcdp: float


def exact_epsilon(losses: Iterable[Loss], delta: Fraction = DELTA) -> float:
    """Returns the smallest epsilon that randomisers with these ``losses`` keep together.

    The delta that goes with it is ``delta`` plus the sum of the randomisers' own deltas. Source:
    Kairouz, Oh and Viswanath 2015 (ICML), theorem 3.3; the answers may be adaptive. For different
    epsilons the result is the upper bound of ``composition.composed_epsilon``.
    """
    each = [loss for loss in losses if loss.odds_bound > 1]
    if not each:
        return 0.0
    return composed_epsilon([AnswerPair(_up(loss)) for loss in each], float(delta))


def total_of(mechanisms: Sequence[Mechanism | Memoised[Any]], count: int, times: int = 1) -> Total:
    """Returns the total privacy loss of one person over several answers.

    The person answers ``count`` questions, ``times`` times each. ``mechanisms`` are those of all
    questions of the survey; the ``count`` with the largest losses are taken.
    """
    losses = [mechanism.loss for mechanism in mechanisms]
    some = sorted(losses, reverse=True)[:count] * times
    loss = largest(losses * times, count * times)
    # By rho other questions may be the worst than by epsilon.
    rhos = sorted(map(rho, mechanisms), reverse=True)[:count]
    return Total(
        len(some),
        loss,
        exact_epsilon(some),
        DELTA + loss.delta,
        zcdp_epsilon(basic_composition(rhos * times), float(DELTA)),
    )


def rho(mechanism: Mechanism | Memoised[Any]) -> float:
    """Returns the rho of one answer's zero-concentrated differential privacy (zCDP).

    A mechanism with a delta is Gaussian noise on one number or several, each of which one person
    changes by at most its whole range. For other mechanisms the rho follows from the epsilon.
    """
    if not mechanism.loss.delta:
        return rho_of_pure(_up(mechanism.loss))
    law: Law = mechanism.law
    parts = law.parts if isinstance(law, Several) else (law,)
    return basic_composition(rho_of_gaussian(part.k - 1, _sigma(part)) for part in parts)


def _sigma(law: Law) -> float:
    assert isinstance(law, Noise)
    return sqrt(law.variance)


def exact_totals(survey: Survey) -> Table:
    """Returns a table with a row for one wave and, in a panel, one for all waves.

    Each row has the number of ``answers``, and the epsilon of their ``sum``, of ``exact``
    composition and of ``zcdp``, with the deltas.
    """
    mechanisms = [question.mechanism for question in survey.questions]
    totals = [(_together(survey), total_of(mechanisms, survey.asked))]
    if isinstance(survey.waves, Waves):
        memos = [each.memo if isinstance(each, Memoised) else each for each in mechanisms]
        totals.append(("all waves", total_of(memos, survey.asked, survey.count or 1)))
    return Table(
        f"{survey.name}: {survey.title}",
        [_cells(*row) for row in totals],
        [_HEADING, *(_line(*row) for row in totals)],
        1,
        list(_notes([total for _, total in totals])),
    )


def _together(survey: Survey) -> str:
    return "all together" if survey.asked == len(survey.questions) else "what is asked"


def _cells(name: str, total: Total) -> dict[str, Cell]:
    return {
        "what": name,
        "answers": total.answers,
        "sum": total.loss.epsilon,
        "delta": float(total.loss.delta),
        "exact": total.exact,
        "exact_delta": float(total.exact_delta),
        "zcdp": total.zcdp,
        "zcdp_delta": float(DELTA),
    }


def _line(name: str, total: Total) -> tuple[str, ...]:
    return (
        name,
        f"{total.answers:,}",
        total.loss.epsilon_text(),
        rounded_up(total.exact),
        rounded_up(total.zcdp),
    )


def _notes(totals: Sequence[Total]) -> Iterable[str]:
    delta = to_decimal_text(DELTA)
    own = max(total.loss.delta for total in totals)
    besides = f", and the questions' own delta of {to_decimal_text(own)}" if own else ""
    yield (
        f"Exact: the composition of Kairouz, Oh and Viswanath (2015), which holds but for a chance"
        f" of {delta}{besides}. zCDP (Bun and Steinke 2016) holds but for {delta}. The sum holds"
        f" {'but for the own delta' if own else 'always'}, and devices count the sum."
    )
    last = totals[-1]
    if last.exact > _WORTH * last.loss.epsilon:
        yield (
            f"For {'one answer' if last.answers == 1 else f'{last.answers:,} answers'} the sum is"
            " nearly exact: with a delta of one in a million the exact composition saves a tenth"
            " from 19 answers on at epsilon 0.1, and from 68 at epsilon 1."
        )


_WORTH = 0.9


def rounded_up(epsilon: float) -> str:
    """Returns an epsilon as text with two decimals, rounded up.

    An excess of up to 10^-8, which guards against rounding of floats, does not raise the last
    digit.
    """
    return f"{ceil(epsilon * 100 - 1e-6) / 100:.2f}"


def _up(loss: Loss) -> float:
    """Epsilon as a float that is never too small."""
    # ``epsilon`` is rounded to the nearest float, which may be below it.
    return nextafter(loss.epsilon, inf)
