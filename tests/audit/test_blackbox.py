"""What counting proves: the event that is counted is the one that proves most."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable

import pytest

from deniably.audit.blackbox import certify, lower_bound
from deniably.core.coins import Coins
from deniably.mechanisms import SubsetSelection, Unary
from support.seeded import seeded_coins

TRIALS = 20_000


def in_turn(*reports: Hashable) -> Callable[[Coins], Hashable]:
    """A randomiser that makes these reports in turn, so that counts are known."""
    turns = itertools.cycle(reports)
    return lambda _: next(turns)


@pytest.mark.parametrize(
    ("seen", "against", "proved"),
    [(200, 0, 2.26), (15_000, 5_000, 1.02), (400, 0, 3.06), (2_000, 0, 4.82), (14, 0, 0.0)],
)
def test_counts_prove_as_much_as_exact_intervals_say(
    seen: int, against: int, proved: float
) -> None:
    assert lower_bound(seen, against, TRIALS, 0, 1e-6) == pytest.approx(proved, abs=0.005)


CAUGHT = ("caught", *["yes"] * 74, *["no"] * 25)
"""One report in a hundred gives the answer away, among others with the odds of 3."""
HIDDEN = (*["yes"] * 25, *["no"] * 75)


@pytest.mark.parametrize("event", [None, lambda report: report == "yes"], ids=["learnt", "given"])
def test_200_against_0_proves_more_than_15000_against_5000(
    event: Callable[[Hashable], bool] | None,
) -> None:
    """Also where the law of the mechanism, which the code does not keep, names another event."""
    found = certify(in_turn(*CAUGHT), in_turn(*HIDDEN), TRIALS, event=event)

    assert (found.seen, found.against) == (200, 0)
    assert found.epsilon == pytest.approx(2.26, abs=0.005)


def test_an_event_that_is_given_is_counted_where_none_promises_more() -> None:
    """Of 64 options no report comes twice: nothing can be learnt there."""
    mechanism, coins = SubsetSelection(64, 20, 3, 1), seeded_coins()

    def first(report: Hashable) -> bool:
        return 0 in report and 63 not in report  # type: ignore[operator]

    found = certify(
        lambda c: mechanism.randomise(0, c),
        lambda c: mechanism.randomise(63, c),
        TRIALS,
        event=first,
        coins=lambda: coins,
    )

    assert 0.9 < found.epsilon < math.log(3)


def test_rare_reports_do_not_promise_what_they_cannot_keep() -> None:
    """1,000 reports, each of them seldom: what came twice in 1,000 by chance proves nothing."""
    coins = seeded_coins()
    found = certify(
        lambda c: (c.choose((3, 1)), c.below(1000)),
        lambda c: (c.choose((1, 3)), c.below(1000)),
        TRIALS,
        event=lambda report: report[0] == 0,  # type: ignore[index]
        coins=lambda: coins,
    )

    assert found.epsilon == pytest.approx(1.02, abs=0.05)


def test_several_ticks_prove_more_than_one() -> None:
    """One tick alone has odds of 3, which is 1.1; it is learnt that several tell more."""
    mechanism, coins = Unary(4, 4, 3, 1, 6), seeded_coins()

    found = certify(
        lambda c: mechanism.randomise((0, 1, 2, 3), c),
        lambda c: mechanism.randomise((), c),
        TRIALS,
        coins=lambda: coins,
    )

    assert 2.6 < found.epsilon < math.log(81)


def test_what_is_the_same_for_both_answers_proves_nothing() -> None:
    coins = seeded_coins()
    found = certify(lambda c: c.below(50), lambda c: c.below(50), TRIALS, coins=lambda: coins)

    assert found.epsilon < 0.05


def test_ten_trials_are_enough_to_be_counted() -> None:
    found = certify(in_turn(1), in_turn(0), 10)

    assert (found.seen, found.trials) == (10, 10)
    with pytest.raises(ValueError, match="at least 10 trials"):
        certify(in_turn(1), in_turn(0), 9)
