"""Planning: known sample sizes come out, and what is planned is what the results then show."""

from __future__ import annotations

import numpy as np
import pytest

from deniably import planning
from deniably.choosing import for_choice
from deniably.estimate import estimate
from deniably.mechanisms import SubsetSelection
from deniably.privacy import Privacy
from deniably.tally import Tally

# Binary, worst case, five points at 95 %, with z^2 = 3.84 instead of 3.8415.
BINARY = [(0.5, 6402), (1, 1798), (2, 662), (3, 469)]


@pytest.mark.parametrize(("epsilon", "n"), BINARY)
def test_known_sample_sizes_come_out(epsilon: float, n: int) -> None:
    found = planning.respondents(planning.share_goal(2), epsilon, 0.05)

    assert found.n == pytest.approx(n, rel=3e-3)
    assert found.direct == 385
    assert found.direct < found.curator < found.n
    assert found.design_effect == pytest.approx(n / 385, rel=3e-3)


def test_five_choices_need_fewer_with_subset_selection() -> None:
    """k-ary response at a share of .3: 4,104 at epsilon 1, 930 at 2."""
    for epsilon, k_ary in ((1, 4104), (2, 930)):
        mechanism = for_choice(5, Privacy(epsilon=planning.Fraction(epsilon)), "k_ary")
        assert isinstance(mechanism, SubsetSelection)
        goal = planning.mechanism_goal(mechanism, 0.3, 1.0)
        assert planning.respondents(goal, epsilon, 0.05).n == pytest.approx(k_ary, rel=3e-3)
        ours = planning.respondents(planning.share_goal(5, 0.3), epsilon, 0.05).n
        assert ours <= planning.respondents(goal, epsilon, 0.05).n


@pytest.mark.parametrize("goal", [planning.share_goal(2), planning.share_goal(5, 0.3)])
def test_any_of_the_three_follows_from_the_other_two(goal: planning.Goal) -> None:
    n = planning.respondents(goal, 1.5, 0.04).n

    assert planning.margin(goal, 1.5, n).margin <= 0.04
    assert planning.margin(goal, 1.5, n - 1).margin > 0.04
    assert planning.epsilon(goal, n, 0.04).epsilon == 1.5
    assert planning.margin(goal, 1.49, n).margin > 0.04


def test_what_is_planned_is_what_the_results_show() -> None:
    found = planning.respondents(planning.share_goal(2), 1, 0.05)
    mechanism = for_choice(2, Privacy(epsilon=planning.Fraction(1)))
    assert isinstance(mechanism, SubsetSelection)
    half = found.n // 2

    shown = estimate(Tally(found.n, np.array([half, found.n - half])), mechanism)

    assert (shown.high[0] - shown.low[0]) / 2 == pytest.approx(0.05, rel=0.01)


def test_sampled_questions_need_more_people() -> None:
    whole = planning.respondents(planning.share_goal(2), 1, 0.05).n
    third = planning.respondents(planning.share_goal(2, reports=1 / 3), 1, 0.05).n

    assert third == pytest.approx(3 * whole, abs=3)


def test_a_mean_is_planned_in_parts_of_its_range() -> None:
    found = planning.respondents(planning.mean_goal(101), 1, 0.05)

    assert found.n == pytest.approx(3.8415 * 4.0 / 4 / 0.05**2, rel=0.01)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: planning.respondents(planning.share_goal(2), 1, 0), "margin"),
        (lambda: planning.margin(planning.share_goal(2), 1, 0), "at least 1"),
        (lambda: planning.share_goal(2, 1.5), "between 0 and 1"),
        (lambda: planning.epsilon(planning.share_goal(2), 10, 0.01), "ask more people"),
        (lambda: planning.respondents(planning.share_goal(2), 1, 0.1, 1), "confidence"),
    ],
)
def test_what_cannot_be_planned_is_explained(call, why: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=why):
        call()
