"""Tests of shares among those who were asked keep their level, however few were asked."""

from __future__ import annotations

import numpy as np
import pytest

from deniably.estimation.difference_among_asked import against_share, between_asked
from deniably.estimation.shares_among_asked import (
    FollowUpCounts,
    ShareAmong,
    counts_alone,
    share_among_asked,
    weighted_counts,
)
from deniably.estimation.weighted_tally import Weighing
from deniably.survey.survey import Survey
from support.followed import counted, drawn, follow_up, followed, tallied

People = tuple[int, float, float]
"""How many, the share that is asked, and the share of the first answer among these."""
TAPE = 1e-4
"""How near to the end of an interval its halvings come."""


def first(survey: Survey, counts: FollowUpCounts) -> ShareAmong:
    return share_among_asked(follow_up(survey), counts, 0)


def reported(
    survey: Survey, people: People, generator: np.random.Generator
) -> tuple[list[list[int]], list[list[int]]]:
    n, asked, share = people
    rest = len(follow_up(survey).answers) - 1
    return drawn(survey, n, asked, [share, *[(1 - share) / rest] * rest], generator)


COMPARED: list[tuple[int, int, People, People]] = [
    # epsilon, answers, the people here and there
    (1, 2, (1000, 0.2, 0.3), (1000, 0.6, 0.3)),
    (2, 2, (100, 0.1, 0.0), (100, 0.5, 0.5)),
    (4, 2, (30, 0.5, 1.0), (30, 0.5, 1.0)),
    (4, 2, (50, 0.1, 0.0), (300, 0.3, 0.0)),
    (8, 2, (30, 0.2, 0.0), (30, 1.0, 0.5)),
    (8, 3, (100, 0.05, 0.0), (100, 0.05, 1.0)),
    (8, 2, (50, 0.04, 0.02), (50, 0.04, 0.98)),
    (2, 20, (1000, 0.4, 0.3), (500, 0.4, 0.0)),
    (1, 2, (300, 0.0, 0.5), (300, 0.5, 0.3)),
    (3, 2, (200, 0.2, 0.5), (40, 0.2, 0.1)),
    (6, 4, (60, 0.1, 0.1), (60, 0.1, 0.1)),
]


@pytest.mark.soak
@pytest.mark.parametrize(("epsilon", "answers", "here", "there"), COMPARED)
def test_differences_among_those_asked_are_covered(
    epsilon: int, answers: int, here: People, there: People
) -> None:
    """300 surveys of a fixed seed at nominal 95 %, from both questions and from this one alone."""
    survey = followed(epsilon, answers)
    truth, held = here[2] - there[2], np.zeros(2)
    generator = np.random.default_rng(2012)
    for _ in range(300):
        sides = [reported(survey, people, generator) for people in (here, there)]
        both = [first(survey, counted(survey, side)) for side in sides]
        alone = [
            first(survey, counts_alone(follow_up(survey), tallied(survey, side[1])))
            for side in sides
        ]
        for place, (one, other) in enumerate((both, alone)):
            low, high = between_asked(one, other).interval(0.95)
            held[place] += low - TAPE <= truth <= high + TAPE

    assert held[0] / 300 >= 0.92
    assert held[1] / 300 >= 0.92


Stratum = tuple[int, float, float, float]
"""How many, the share asked, the share of the first answer among these, and the weight."""
WEIGHED: list[tuple[int, int, list[Stratum]]] = [
    # epsilon, answers, strata
    (2, 2, [(200, 0.2, 0.3, 1), (200, 0.6, 0.6, 3)]),
    (4, 2, [(50, 0.1, 0.0, 5), (50, 0.5, 0.0, 1)]),
    (2, 2, [(500, 0.05, 1.0, 1), (50, 0.3, 1.0, 10)]),
    (1, 2, [(1000, 0.3, 0.1, 0.5), (300, 0.1, 0.9, 4)]),
    (8, 2, [(30, 0.2, 0.0, 3), (30, 0.2, 0.05, 1)]),
    (8, 3, [(100, 0.05, 1.0, 1), (20, 0.05, 1.0, 20)]),
    (4, 5, [(100, 0.1, 0.2, 0.2), (100, 0.4, 0.0, 1), (30, 0.5, 0.0, 3)]),
    (3, 2, [(20, 0.5, 0.5, 1), (10, 0.5, 0.5, 10)]),
]


@pytest.mark.soak
@pytest.mark.parametrize(("epsilon", "answers", "strata"), WEIGHED)
def test_weighted_shares_of_those_asked_are_covered(
    epsilon: int, answers: int, strata: list[Stratum]
) -> None:
    """300 surveys of a fixed seed at nominal 95 %, with errors within strata and without."""
    survey = followed(epsilon, answers)
    asked = [n * weight * part for n, part, _, weight in strata]
    truth = sum(one * share for one, (_, _, share, _) in zip(asked, strata, strict=True))
    truth /= sum(asked)
    weights = np.repeat([weight for *_, weight in strata], [n for n, *_ in strata])
    within = np.repeat(np.arange(len(strata)), [n for n, *_ in strata])
    held, generator = np.zeros(3), np.random.default_rng(1998)
    for _ in range(300):
        rows = [
            [one, other]
            for *people, _ in strata
            for one, other in zip(*reported(survey, tuple(people), generator), strict=True)  # type: ignore[arg-type]
        ]
        for place, weighing in enumerate((Weighing(weights), Weighing(weights, within))):
            counts = weighted_counts(follow_up(survey), [rows], weighing)
            low, high = first(survey, counts).interval(0.95)
            held[place] += low - TAPE <= truth <= high + TAPE
        counts = weighted_counts(follow_up(survey), [rows], Weighing(weights), alone=True)
        low, high = first(survey, counts).interval(0.95)
        held[2] += low - TAPE <= truth <= high + TAPE

    assert (held / 300).min() >= 0.92


def test_a_few_surveys_keep_the_level_where_few_were_asked() -> None:
    """A few surveys of a fixed seed, where the share is 0 and hardly any were asked."""
    survey, generator = followed(4, 2), np.random.default_rng(2012)

    missed = 0
    for _ in range(16):
        one, other = (
            first(survey, counted(survey, reported(survey, people, generator)))
            for people in ((50, 0.1, 0.0), (50, 0.3, 0.0))
        )
        missed += between_asked(one, other).p_value < 0.05

    assert missed <= 1


def test_weights_that_are_alike_leave_everything_as_it_was() -> None:
    survey = followed(2, 3)
    reports = reported(survey, (200, 0.3, 0.4), np.random.default_rng(3))
    rows = [[one, other] for one, other in zip(*reports, strict=True)]
    weighing = Weighing(np.full(200, 3.5))

    plain = first(survey, counted(survey, reports))
    weighted = first(survey, weighted_counts(follow_up(survey), [rows], weighing))

    assert weighted.estimate == pytest.approx(plain.estimate)
    assert (weighted.low, weighted.high) == pytest.approx((plain.low, plain.high))


def test_people_without_weight_do_not_count() -> None:
    survey, generator = followed(2), np.random.default_rng(4)
    kept, left = (reported(survey, (150, part, 0.4), generator) for part in (0.5, 0.1))
    rows = [[one, other] for part in (kept, left) for one, other in zip(*part, strict=True)]
    weighing = Weighing(np.repeat([1.0, 0.0], 150))

    alone = first(survey, counted(survey, kept))
    beside = first(survey, weighted_counts(follow_up(survey), [rows], weighing))

    assert beside.estimate == pytest.approx(alone.estimate)
    assert (beside.low, beside.high) == pytest.approx((alone.low, alone.high), abs=2e-3)


def test_an_interval_leaves_out_no_difference_exactly_if_the_p_value_is_small() -> None:
    survey, generator = followed(3), np.random.default_rng(6)

    for apart in (0.0, 0.25, 0.4):
        one, other = (
            first(survey, counted(survey, reported(survey, (300, 0.5, share), generator)))
            for share in (0.5 - apart / 2, 0.5 + apart / 2)
        )
        found = between_asked(one, other)
        low, high = found.interval(0.95)
        assert (low <= 0 <= high) == (found.p_value >= 0.05)
        assert low <= found.estimate <= high
        back = between_asked(other, one)
        assert back.interval(0.95) == pytest.approx((-high, -low), abs=1e-6)


def test_where_nobody_was_asked_nothing_differs() -> None:
    survey, generator = followed(4), np.random.default_rng(5)
    nobody = first(survey, counted(survey, reported(survey, (300, 0.0, 0.5), generator)))
    many = first(survey, counted(survey, reported(survey, (300, 0.9, 0.9), generator)))

    found = between_asked(nobody, many)

    assert found.p_value > 0.05
    low, high = found.interval(0.95)
    assert low == pytest.approx(-1, abs=0.1)
    assert high >= 0.1


def test_a_share_is_tested_by_the_interval_of_the_headline() -> None:
    survey = followed(3)
    one = first(
        survey, counted(survey, reported(survey, (300, 0.5, 0.3), np.random.default_rng(8)))
    )

    for end, other in ((one.low, -1), (one.high, 1)):
        assert against_share(one, end + other * 0.01).p_value < 0.05
        assert against_share(one, end - other * 0.01).p_value > 0.05
