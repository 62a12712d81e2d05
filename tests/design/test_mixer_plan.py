"""How many blanks a mixer adds, and what it is worth, for an author."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniably.authoring.survey_files import load_survey
from deniably.design.blanks import HiddenPair, blanks_law, mixed_delta
from deniably.design.mixer_plan import DELTA, MixerPlan, plan_mixer
from deniably.estimation.estimate import unbiased
from deniably.estimation.scores import of_choice
from deniably.mechanisms import SubsetSelection
from deniably.simulation.bulk import randomise_many, tally_many
from deniably.survey.questions import Question
from support.blanks import made_up, mixed
from support.cases import for_each
from support.every_type import survey_of_everything

THREE, TWENTY = Fraction(3), Fraction(20)
FIVE = {"type": "select_one", "choices": ["a", "b", "c", "d", "e"]}


def questions(count: int, **written: Any) -> Sequence[Question]:
    one: dict[str, Any] = {"type": "yes_no", "label": "Stolen?", "odds": 3} | written
    many = [one | {"name": f"q{index}"} for index in range(count)]
    return load_survey({"name": "work", "title": "Work", "questions": many}).questions


def points(plan: MixerPlan) -> tuple[float, float, float]:
    """Without a mixer, with one, and asking directly."""
    first, *others = plan.rows
    assert all((row.mixed, row.alone) == (first.mixed, first.alone) for row in others)
    alone, mixed_margin, direct = (
        round(100 * margin, 1) for margin in (first.alone, first.mixed, first.direct)
    )
    return alone, mixed_margin, direct


# --- the published table ----------------------------------------------------------------------

COUNTS = (1, 3, 6, 12)
TABLE = {
    # n: (today, mixer at local odds 8, at 20) for 1, 3, 6 and 12 questions; directly
    100: ((19.2, 14.4, 12.9), (54.0, 17.8, 16.7), (107, 22.2, 21.2), (214, 29.0, 28.2), 9.0),
    300: ((11.1, 7.4, 6.4), (31.2, 8.2, 7.3), (61.9, 9.3, 8.5), (124, 11.2, 10.5), 5.2),
    1_000: ((6.1, 3.9, 3.3), (17.1, 4.0, 3.5), (33.9, 4.2, 3.7), (67.7, 4.6, 4.1), 2.8),
    3_000: ((3.5, 2.2, 1.9), (9.9, 2.2, 1.9), (19.6, 2.3, 1.9), (39.1, 2.4, 2.0), 1.6),
    10_000: ((1.9, 1.2, 1.0), (5.4, 1.2, 1.0), (10.7, 1.2, 1.0), (21.4, 1.2, 1.0), 0.9),
}


@pytest.mark.parametrize("n", TABLE)
def test_the_margins_of_a_share_of_30_percent(n: int) -> None:
    """The table was made with up to 1 blank in 100 more, which is up to 0.1 points here."""
    *rows, direct = TABLE[n]
    for count, (today, at_eight, at_twenty) in zip(COUNTS, rows, strict=True):
        asked = questions(count)
        eight = points(plan_mixer(asked, odds=THREE, n=n, share=0.3))
        twenty = points(plan_mixer(asked, odds=THREE, n=n, share=0.3, local_odds=TWENTY))

        assert eight[0] == twenty[0] == pytest.approx(today, abs=0.5 if today > 100 else 0.01)
        assert at_eight - 0.11 < eight[1] <= at_eight
        assert at_twenty - 0.11 < twenty[1] <= at_twenty
        assert eight[2] == direct


@for_each(("count", "today", "k_ary", "mixer"), [(1, 8.7, 8.7, 4.4), (6, 54.4, 64.2, 4.9)])
def test_the_margins_of_five_choices(count: int, today: float, k_ary: float, mixer: float) -> None:
    """The published margins without a mixer are those of k-ary response; sets are better there."""
    each = SubsetSelection(k=5, omega=1, own=round(10**9 * 3 ** (1 / count)), other=10**9)
    assert round(196 * math.sqrt(of_choice(each).at(0.2) / 1_000), 1) == k_ary
    plan = plan_mixer(questions(count, **FIVE), odds=THREE, n=1_000, share=0.2)

    assert points(plan) == (today, mixer, 2.5)


def test_what_respondents_are_told_of_six_questions() -> None:
    """Against the server 61 for one answer and 75 for all, with both parties 89 for one."""

    def guess(epsilon: float) -> int:
        return math.ceil(100 / (1 + math.exp(-epsilon)))

    plan = plan_mixer(questions(6), odds=THREE, n=1_000)

    assert plan.delta == DELTA == 1e-6
    assert (guess(plan.one_epsilon), guess(plan.epsilon)) == (61, 75)
    assert guess(plan.local.epsilon) == 89
    assert plan.together.odds == 8**6
    assert plan.epsilon <= math.log(3)


# --- laws -------------------------------------------------------------------------------------


def test_the_blanks_keep_the_target_and_one_fewer_does_not() -> None:
    asked = [*questions(2), *questions(2, **FIVE)]
    plan = plan_mixer(asked, odds=Fraction(5, 2), n=500, delta=1e-5)
    pairs = [HiddenPair.k_ary(k, odds=8) for k in (2, 2, 5, 5)]

    kept, missed = (
        mixed_delta([blanks_law(blanks, pair) for pair in pairs], math.log(2.5))
        for blanks in (plan.blanks, plan.blanks - 1)
    )
    assert kept <= 1e-5 < missed


def test_an_author_may_keep_the_local_odds_of_each_question() -> None:
    asked = [*questions(1, odds=12), *questions(1, odds=5)]
    plan = plan_mixer(asked, odds=THREE, n=500, local_odds=None)

    assert plan.together.odds == 60
    assert plan.local.odds == 12
    first, second = plan.rows
    assert first.mixed < second.mixed
    assert first.alone == second.alone, "without a mixer both get half of the epsilon"


def test_every_type_of_question_without_a_delta_is_planned() -> None:
    survey = survey_of_everything()
    asked = [one for one in survey.questions if not one.mechanism.loss.delta]
    plan = plan_mixer(asked, odds=THREE, n=2_000)

    assert {row.question for row in plan.rows} == {one.name for one in asked}
    assert plan.epsilon <= math.log(3)
    for row in plan.rows:
        assert row.direct < row.mixed < row.alone


def test_the_margin_is_what_estimates_vary_by() -> None:
    """Three hundred batches of 300 people, through the mechanism that was planned."""
    asked = questions(3, **FIVE)
    plan = plan_mixer(asked, odds=THREE, n=300, share=0.4, local_odds=None)
    mechanism, group = asked[0].report_mechanism, plan.rows[0]
    raw: list[float] = []
    for seed in range(300):
        answers = np.random.default_rng(seed).choice(5, 300, p=[0.4, 0.3, 0.2, 0.1, 0])
        batch = mixed(
            tally_many(mechanism, randomise_many(mechanism, answers)),
            made_up(mechanism, plan.blanks, seed),
        )
        raw.append(float(unbiased(batch, mechanism)[0]))
    assert np.mean(raw) == pytest.approx(0.4, abs=0.02)
    assert 1.96 * np.std(raw) == pytest.approx(group.mixed, rel=0.1)


def test_a_plan_takes_a_moment() -> None:
    asked = questions(6)
    start = time.process_time()
    plan_mixer(asked, odds=THREE, n=1_000)

    assert time.process_time() - start < 2, "it takes 0.03 s"


@for_each(
    ("wrong", "why"),
    [
        (lambda: plan_mixer([], odds=THREE, n=100), "one question or more"),
        (lambda: plan_mixer(questions(1), odds=Fraction(1), n=100), "odds above 1"),
        (lambda: plan_mixer(questions(1), odds=THREE, n=0), "1 person or more"),
        (lambda: plan_mixer(questions(1), odds=Fraction(1001, 1000), n=9), "accept larger odds"),
        (lambda: plan_mixer(with_delta(), odds=THREE, n=9, local_odds=None), "without a delta"),
    ],
)
def test_plans_without_meaning_are_refused(wrong: Callable[[], object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        wrong()


def with_delta() -> list[Question]:
    return [one for one in survey_of_everything().questions if one.mechanism.loss.delta]
