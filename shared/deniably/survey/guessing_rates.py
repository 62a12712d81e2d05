"""The guessing rates of a survey: how often, of 100 times, a guess from all that is sent is right.

50 is knowing nothing, 100 an ordinary survey. The rates hold for every guesser, whatever else he
knows, who is torn between two answers to one question, or between two sets of answers that differ
in every question.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from deniably.mechanisms import Memoised
from deniably.mechanisms.guessing import (
    Distance,
    LikelihoodPair,
    bounded_odds,
    distance,
    luck,
    pairs_of,
    together,
    worst_sample,
)
from deniably.survey.odds import surest
from deniably.survey.survey import Survey, Waves

Rate = int | Decimal
"""A guessing rate of 100, as people read it; see ``rate_text``."""
OFTEN = Fraction(9, 10)
"""Above this rate a guesser of all answers is right so often that the promise has to say so."""


@dataclass(frozen=True)
class Guessing:
    """The guessing rates of a survey: probabilities, from 1/2 to 1, that a guess at true answers
    is right.

    ``one`` has the rate of each question, for a guess between two answers. ``together`` is the
    rate of a guess between two sets of answers that differ in every question, and ``waves`` that
    rate from the reports of all waves of a panel; None without waves. ``worst`` is the probability
    that the luckiest guesser is right: L / (L + 1), where L is the largest likelihood ratio of
    everything that a person sends. ``luck`` is the probability that the ratio is that large, or an
    upper bound of this probability. ``exact`` is false where ``together`` or ``waves`` is an upper
    bound.
    """

    one: tuple[Fraction, ...]
    together: Fraction
    waves: Fraction | None
    worst: Fraction
    luck: Fraction
    exact: bool

    @property
    def everything(self) -> Fraction:
        """The rate of a guess that uses everything one person ever sends to this survey, or to all
        waves of its panel."""
        return max(self.together, self.waves or self.together)

    @property
    def often(self) -> bool:
        """Whether a guess that uses everything one person sends is right more than 9 times of
        10."""
        return self.everything > OFTEN

    @property
    def lowest(self) -> Fraction:
        """The smallest rate in ``one``, that of the question with the strongest protection."""
        return min(self.one)

    @property
    def highest(self) -> Fraction:
        """The largest rate in ``one``, that of the question with the weakest protection."""
        return max(self.one)


def guessing(survey: Survey) -> Guessing:
    """Returns the guessing rates of a survey, computed from its mechanisms.

    If a device draws some of the questions, the rates are for the questions that reveal most. If
    devices keep memos, the rate over all waves is at most that of a guesser who sees the memos
    themselves.
    """
    mechanisms = tuple(question.mechanism for question in survey.questions)
    # Without waves, what is sent once is all that is ever sent.
    all_waves, ever = None, _luck(mechanisms, survey.asked, 1)
    if isinstance(survey.waves, Waves):
        # All reports of all waves come from the memo: who knew the memo could guess no worse.
        memos = tuple(each.memo if isinstance(each, Memoised) else each for each in mechanisms)
        ever = _luck(memos, survey.asked, survey.count or 1)
        all_waves = _together(memos, survey.asked, survey.count or 1)
    at_once = _together(mechanisms, survey.asked, 1)
    return Guessing(
        tuple(distance(mechanism).rate for mechanism in mechanisms),
        at_once.rate,
        all_waves.rate if all_waves else None,
        surest(survey.history.odds_bound),
        ever,
        at_once.exact and (all_waves is None or all_waves.exact),
    )


def rate_text(rate: Fraction) -> Rate:
    """Returns a guessing rate as a number out of 100, rounded up so that the protection is not
    overstated.

    Above 99 the number has one or two decimals, because 100 would stand for no protection. It is
    100 only if two decimals round up to that.

    >>> rate_text(Fraction(9, 14)), rate_text(Fraction(113, 114))
    (65, Decimal('99.2'))
    """
    if rate <= Fraction(99, 100):
        return math.ceil(100 * rate)
    for places in (1, 2):
        scaled = math.ceil(100 * rate * 10**places)
        if scaled < 100 * 10**places:
            return Decimal(scaled).scaleb(-places)
    return 100


@lru_cache(maxsize=256)
def _together(mechanisms: tuple[Any, ...], count: int, times: int) -> Distance:
    return together(_pairs(mechanisms, count, times))


@lru_cache(maxsize=256)
def _luck(mechanisms: tuple[Any, ...], count: int, times: int) -> Fraction:
    return luck(_pairs(mechanisms, count, times))


def _pairs(mechanisms: tuple[Any, ...], count: int, times: int) -> dict[LikelihoodPair, int]:
    each: list[Counter[LikelihoodPair]] = [pairs_of(part) for part in mechanisms]
    if count < len(each):
        each = [worst_sample(each, [bounded_odds(part.loss) for part in mechanisms], count)]
    # Questions are randomised independently, so that their pairs are put side by side.
    pairs = sum(each, Counter[LikelihoodPair]())
    return {pair: number * times for pair, number in pairs.items()}
