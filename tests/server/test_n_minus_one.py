"""The n-1 attack: a server that knows every report but one, and guesses the answer behind that one.

It may have sent all others itself. With blanks it is right no more often than the survey's claim
says; where a mixer adds none, it is right as often as without a mixer. The envelopes and blanks
are those of devices and mixers. The tests' random bytes are the same in every run.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from deniably.core.coins import Coins
from deniably.design.blanks import HiddenPair, blanks_law, mixed_epsilon
from deniably.survey.odds import odds_at, surest
from deniably.trust.mixed_survey import MixedQuestion
from deniably.trust.sealed_report import seal_value
from deniably_server.mixing.batches import make_batch
from support.mixing import YES_NO, Parties, parties

YES, NO = 0, 1
DELTA = 1e-6
ONE, SIX = 41, 220
"""Blanks for odds of 3 against the server: of one question, and of six."""
TRIALS, FAKES = 400, 3
PAIR = HiddenPair.of(YES_NO)


def stated(questions: int, blanks: int) -> Fraction:
    """How often a guess is right at most, of what so many questions keep with the blanks."""
    epsilon = mixed_epsilon([blanks_law(blanks, PAIR)] * questions, DELTA)
    return surest(odds_at(epsilon))


def batch_of(some: Parties, truth: int, others: list[bytes]) -> list[str]:
    """The ids and values that the server opens: of one person, and of what it sent itself."""
    question, coins = some.survey.questions[0], Coins()
    own = seal_value(some.survey, question.name, YES_NO.randomise(truth, coins), coins)
    batch = make_batch(some.survey, some.mixer, [(each,) for each in (own, *others)])
    known = set(others)
    unknown = [each for each in some.envelopes(batch.envelopes) if each not in known]
    return [str(report["values"][question.name][0]) for report in some.reports(b"".join(unknown))]


def guess(values: list[str], blanks: int) -> int:
    """The likelier answer, of what is left: blanks, and the report of one person."""
    yes = Counter(values)[str(YES)]
    # P(yes | truth is yes) / P(yes | truth is no) grows with the number of "yes".
    return YES if 2 * yes > blanks + 1 else NO


def right(blanks: int) -> float:
    some = parties(questions=(MixedQuestion("q", YES_NO),), blanks=blanks)
    random, hits = Random(1), 0
    for _ in range(TRIALS):
        truth = random.choice((YES, NO))
        others = [
            seal_value(
                some.survey, "q", YES_NO.randomise(random.choice((YES, NO)), Coins()), Coins()
            )
            for _ in range(FAKES)
        ]
        values = batch_of(some, truth, others)
        assert len(values) == blanks + 1
        hits += guess(values, blanks) == truth
    return hits / TRIALS


@pytest.mark.thorough
def test_with_blanks_it_is_right_no_more_often_than_stated() -> None:
    assert stated(1, ONE) <= Fraction(3, 4)
    assert right(ONE) <= stated(1, ONE)


def test_without_blanks_it_is_right_far_more_often() -> None:
    assert right(0) > Fraction(8, 10) > stated(1, ONE)


@pytest.mark.parametrize(("blanks", "holds"), [(SIX, True), (0, False)])
def test_all_six_answers_are_guessed_no_more_often_than_claimed(blanks: int, holds: bool) -> None:
    """Between two complete stories, from the number of "yes" to each question: 200,000 people."""
    people, questions, p = 200_000, 6, 8 / 9
    draw = np.random.Generator(np.random.PCG64(1))
    truth = draw.integers(0, 2, people)  # of every question, or of none: two stories
    own = draw.random((people, questions)) < np.where(truth, p, 1 - p)[:, None]
    yes = own + draw.binomial(blanks, 0.5, (people, questions))
    # With c times "yes" among D + 1 the odds of "yes" are (p c + q (D+1-c)) / (q c + p (D+1-c)).
    other = blanks + 1 - yes
    odds = np.log((p * yes + (1 - p) * other) / ((1 - p) * yes + p * other)).sum(axis=1)
    hits = float(np.mean((odds > 0) == truth))

    assert (hits <= stated(questions, SIX)) == holds
    assert stated(questions, SIX) <= Fraction(3, 4)
