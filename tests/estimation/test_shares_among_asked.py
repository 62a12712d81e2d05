"""Shares of those who were asked: they cover, and both questions tell more than one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import deniably as dn
from deniably.estimation.shares_among_asked import (
    FollowUpCounts,
    ShareAmong,
    among_asked,
    counts_alone,
    expected_margin,
    follow_ups,
)
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Supporting
from deniably.survey.survey import Survey
from support.followed import counted, drawn, follow_up, followed, tallied
from support.soak import soak


def first(survey: Survey, counts: FollowUpCounts) -> ShareAmong:
    found = among_asked(follow_up(survey), counts)
    assert found is not None
    return found.shares[0]


def expected(survey: Survey, cells: dict[tuple[int, int], float], n: int) -> FollowUpCounts:
    """The counts of n people with these shares of true pairs, as the laws have them; of questions
    whose reports name one choice."""
    laws = [question.mechanism.law for question in survey.questions]
    rows, times = [], []
    for reports in product(*(range(law.k) for law in laws)):  # type: ignore[union-attr]
        chance = sum(
            share
            * float(np.prod([law.probability(answer, (report,)) for law, answer, report
                             in zip(laws, pair, reports, strict=True)]))
            for pair, share in cells.items()
        )  # fmt: skip
        rows.append([[report] for report in reports])
        times.append(round(n * chance))
    return counted_times(survey, rows, times)


def counted_times(survey: Survey, rows: list[list[list[int]]], times: list[int]) -> FollowUpCounts:
    every = [row for row, count in zip(rows, times, strict=True) for _ in range(count)]
    return counted(survey, ([row[0] for row in every], [row[1] for row in every]))


def test_expected_reports_give_the_shares_of_those_who_were_asked() -> None:
    """20 of 100 were asked; of these, 30 of 100 gave the first answer, and 70 the second."""
    survey = followed(2, 2)
    counts = expected(survey, {(1, 2): 0.8, (0, 0): 0.06, (0, 1): 0.14}, 100_000)

    found = among_asked(follow_up(survey), counts)

    assert found is not None
    assert not found.alone
    assert found.asked.estimate == pytest.approx(0.2, abs=1e-3)
    assert [one.estimate for one in found.shares] == pytest.approx([0.3, 0.7], abs=2e-3)
    assert all(
        one.low < share < one.high for one, share in zip(found.shares, (0.3, 0.7), strict=True)
    )


def test_where_nobody_was_asked_nothing_is_told() -> None:
    survey = followed(2, 2)

    found = first(survey, expected(survey, {(1, 2): 1.0}, 2000))

    assert found.estimate is None
    assert found.standard_error is None
    assert (found.low, found.high) == (0.0, 1.0)


def test_where_everybody_was_asked_it_is_the_share_of_all() -> None:
    survey = followed(2, 2)

    found = first(survey, expected(survey, {(0, 0): 0.4, (0, 1): 0.6}, 20_000))

    assert found.estimate == pytest.approx(0.4, abs=0.01)
    assert found.high - found.low < 0.05


def test_where_all_answered_alike_the_interval_holds_all_of_them() -> None:
    """At epsilon 8 a single report that chance moved decides over the score interval."""
    survey = followed(8, 3)
    counts = expected(survey, {(1, 3): 0.9, (0, 0): 0.1}, 200)
    moved = counts_alone(follow_up(survey), Tally(200, np.array([19, 1, 0, 180])))

    assert first(survey, counts).high == 1.0
    assert first(survey, moved).high == 1.0


COVERED = [
    # epsilon, answers, n, asked, share, widest median width with both questions
    (1, 2, 5000, 0.2, 0.3, 0.225),
    (2, 2, 2000, 0.05, 0.5, 0.360),
    (2, 3, 500, 0.3, 0.1, 0.211),
    (4, 2, 100, 0.3, 0.05, 0.198),
    (3, 2, 200, 0.2, 0.5, 0.342),
    (1, 2, 1000, 0.6, 0.3, 0.217),
    (8, 3, 200, 0.1, 1.0, 0.2),
    (8, 2, 30, 1.0, 0.5, 0.4),
    (2, 20, 2000, 0.4, 0.3, 0.17),
    (4, 20, 300, 0.4, 0.0, 0.1),
    (4, 2, 30, 0.5, 1.0, 0.4),
    (1, 2, 500, 0.0, 0.5, 1.0),
    (2, 2, 500, 1.0, 0.3, 0.13),
]


@pytest.mark.soak
@pytest.mark.parametrize(("epsilon", "answers", "n", "asked", "share", "widest"), COVERED)
def test_shares_of_those_asked_are_covered(
    epsilon: float, answers: int, n: int, asked: float, share: float, widest: float
) -> None:
    """300 surveys of a fixed seed at nominal 95 %, from both questions and from this one alone."""
    survey = followed(epsilon, answers)
    shares = [share, *[(1 - share) / (answers - 1)] * (answers - 1)]
    held, widths = np.zeros(2), []
    generator = np.random.default_rng(1954)
    for _ in range(300):
        reports = drawn(survey, n, asked, shares, generator)
        both = first(survey, counted(survey, reports))
        alone = first(survey, counts_alone(follow_up(survey), tallied(survey, reports[1])))
        held += [one.low - 1e-4 <= share <= one.high + 1e-4 for one in (both, alone)]
        widths.append(both.high - both.low)

    assert held[0] / 300 >= 0.93
    assert held[1] / 300 >= 0.91
    assert np.median(widths) <= 1.03 * widest


@pytest.mark.parametrize(
    ("survey", "shares"),
    [
        (followed(2, 3, choices=5, lead=2), [0.5, 0.3, 0.2]),
        (followed(2, 3, mechanism="oue"), [0.5, 0.3, 0.2]),
        (followed(2, 4, kind="select_multiple"), [0.4, 0.3, 0.2, 0.1]),
        soak(followed(2, 4, kind="select_multiple", mechanism="oue"), [0.4, 0.3, 0.2, 0.1]),
        (followed(3, 4, kind="select_multiple", mechanism="sampled_ticks"), [0.4, 0.3, 0.2, 0.1]),
        (followed(2, 4, kind="scale"), [0.4, 0.3, 0.2, 0.1]),
        (followed(2, 3, choices=5, lead=2, decides="scale"), [0.5, 0.3, 0.2]),
        soak(followed(0.5, 12), [0.3, 0.2, *[0.05] * 10]),
    ],
)
def test_every_mechanism_tells_who_was_asked_and_what_they_answered(
    survey: Survey, shares: list[float]
) -> None:
    """One survey of 20,000 of whom 30 of 100 are asked: all answers within 4 standard errors."""
    reports = drawn(survey, 20_000, 0.3, shares, np.random.default_rng(7))
    one = follow_up(survey)

    for counts in (counted(survey, reports), counts_alone(one, tallied(survey, reports[1]))):
        found = among_asked(one, counts)

        assert found is not None
        asked = found.asked
        assert abs(asked.estimate - 0.3) < 4 * asked.population_margin.standard_error
        for share, true in zip(found.shares, shares, strict=True):
            assert share.estimate is not None
            assert share.standard_error is not None
            assert abs(share.estimate - true) < 4 * share.standard_error


def test_both_questions_tell_more_than_one() -> None:
    """5 of 100 were asked: the interval is half as wide."""
    survey = followed(2, 2)
    cells = {(1, 2): 0.95, (0, 0): 0.025, (0, 1): 0.025}
    counts = expected(survey, cells, 2000)
    law = survey.questions[1].mechanism.law
    assert isinstance(law, Supporting)
    shares = np.array([0.025, 0.025, 0.95])
    seen = np.rint(2000 * (float(law.q) + float(law.p - law.q) * shares)).astype(np.int64)

    both, alone = (
        first(survey, counts),
        first(survey, counts_alone(follow_up(survey), Tally(2000, seen))),
    )

    assert both.high - both.low < 0.65 * (alone.high - alone.low)


def test_a_question_that_decides_may_be_a_follow_up_itself() -> None:
    condition = {"show_if": {"question": "again", "is": ["a0"]}}
    written = {
        "name": "why", "type": "select_one", "label": "Why?", "epsilon": 2,
        "choices": ["Need", "Fun"], **condition,
    }  # fmt: skip
    import deniably as dn

    survey = dn.load_survey(
        {
            "name": "late",
            "title": "Late",
            "questions": [
                {"name": "stolen", "type": "yes_no", "label": "Stolen?", "epsilon": 2},
                {
                    "name": "again", "type": "select_one", "label": "Again?", "epsilon": 2,
                    "choices": ["A0", "A1"], "show_if": {"question": "stolen", "is": "yes"},
                },
                written,
            ],
        }
    )  # fmt: skip

    found = follow_ups(survey)

    assert [*found] == ["again", "why"]
    assert found["why"].decides.name == "again"
    assert found["why"].among == (0,)


def test_without_a_report_there_is_no_estimate() -> None:
    survey = followed()

    with pytest.raises(ValueError, match="at least one report"):
        among_asked(follow_up(survey), counted(survey, ([], [])))


@pytest.mark.parametrize(
    ("epsilon", "n", "asked", "share"),
    [(1, 2000, 0.6, 0.3), (2, 1000, 0.3, 0.5), (4, 500, 0.2, 0.5)],
)
def test_the_planned_margin_is_that_of_surveys(
    epsilon: float, n: int, asked: float, share: float
) -> None:
    """Of 8 surveys each; the margin of shares of everybody is narrower."""
    survey, generator = followed(epsilon), np.random.default_rng(1)
    one = follow_up(survey)
    halves = list[float]()
    for _ in range(8):
        reports = drawn(survey, n, asked, [share, 1 - share], generator)
        found = among_asked(one, counted(survey, reports))
        assert found is not None
        halves.append((found.shares[0].high - found.shares[0].low) / 2)

    planned = expected_margin(one, n, asked, share)

    assert planned == pytest.approx(np.mean(halves), rel=0.06)
    (row,) = [r for r in dn.plan_survey(survey, n=n, asked=asked, share=share).rows
              if r["question"] == "again"]  # fmt: skip
    assert f"{n:,} people tell a share to within {100 * planned:.1f} points" in str(row["note"])
    assert planned > 1.2 * float(str(row["margin"]))
