"""Which choices stand out from the noise: how often one that nobody has does, and how many do."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from scipy import stats

from deniably.estimation.question_shares import standing_out
from deniably.estimation.tally import Tally
from deniably.mechanisms import SampledTicks, SubsetSelection, Unary
from support.designs import Design, surveys, true_shares

# The designs at which a normal threshold raised false alarms in .11 to .58 of surveys, and others.
DESIGNS = [
    Design(5, 6, 50), Design(20, 4, 50), Design(20, 4, 100), Design(20, 4, 300),
    Design(20, 4, 1000), Design(20, 6, 100), Design(50, 4, 100), Design(200, 4, 100),
    Design(200, 4, 1000), Design(5, 1, 100), Design(20, 2, 300), Design(2, 6, 50),
    Design(1024, 5, 50),
]  # fmt: skip


def least_count(design: Design, empty: int) -> int:
    """How often a choice has to be supported to stand out when ``empty`` choices are nobody's and
    all others do: nobody's comes in no easier way."""
    k, _, n = design
    for count in range(n + 1):
        counts = np.zeros(k, dtype=np.int64)
        counts[empty:], counts[0] = n, count
        if standing_out(design.mechanism, Tally(n, counts), single=True)[0]:
            return count
    return n + 1


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_what_nobody_has_stands_out_in_one_survey_of_20_at_most(design: Design) -> None:
    """Exactly: each empty choice's support is Binomial(n, q), and together by Bonferroni."""
    q = float(design.mechanism.q)
    for empty in {design.k - 1, design.k // 2, 1}:
        needed = least_count(design, empty)
        assert empty * stats.binom.sf(needed - 1, design.n, q) <= 0.05


def test_what_nobody_has_stands_out_as_seldom_whatever_the_others_have() -> None:
    """Every tally of 12 people, three choices and four; the risk over all empty choices."""
    for k, own in product((3, 4), (2, 10, 200)):
        mechanism = SubsetSelection(k, 1, own, 1)
        p, q = float(mechanism.p), float(mechanism.q)
        n = 12
        tallies = [t for t in product(range(n + 1), repeat=k) if sum(t) == n]
        out = [standing_out(mechanism, Tally(n, np.array(t)), single=True) for t in tallies]
        for taken in ((1.0,), (0.5, 0.5), (0.9, 0.1)):
            shares = np.array([*taken, *[0.0] * (k - len(taken))])
            law = q + (p - q) * shares
            chances = [
                factorial(n) / prod(map(factorial, t)) * float(np.prod(law**t)) for t in tallies
            ]
            assert sum(chances) == pytest.approx(1)
            alarm = [c for c, o in zip(chances, out, strict=True) if o[shares == 0].any()]
            assert sum(alarm) <= 0.05


def test_ticks_may_all_be_nobodys() -> None:
    """Of four options that nobody ticks, the risk is as small: no first step is saved."""
    mechanism, n = Unary(4, 4, 3, 1, 4), 60
    q = float(mechanism.q)
    single, several = (
        next(
            count
            for count in range(n + 1)
            if standing_out(mechanism, Tally(n, np.array([count, 0, 0, 0])), single=one)[0]
        )
        for one in (True, False)
    )

    assert 4 * stats.binom.sf(several - 1, n, q) <= 0.05 < 4 * stats.binom.sf(several - 2, n, q)
    assert single <= several


def test_an_option_that_few_devices_drew_needs_more_to_stand_out() -> None:
    mechanism = SampledTicks(2, 1, 3, 1)
    seen = Tally(10_100, np.array([68, 32, 6800, 3200]))  # of each option: unticked, ticked

    assert standing_out(mechanism, seen, single=False).tolist() == [False, True]


@pytest.mark.parametrize(
    ("design", "found"),
    [
        (Design(5, 6, 50), 5.0), (Design(20, 4, 50), 2.5), (Design(20, 4, 100), 4.8),
        (Design(20, 4, 300), 9.1), (Design(20, 4, 1000), 17.1), (Design(20, 6, 100), 11.0),
        (Design(50, 4, 100), 2.58), (Design(200, 4, 100), 1.2), (Design(200, 4, 1000), 5.9),
        (Design(5, 1, 100), 1.13), (Design(20, 2, 300), 2.11),
    ],
)  # fmt: skip
def test_what_people_have_is_found(design: Design, found: float) -> None:
    """How many choices of a Zipf distribution stand out, on average over surveys of a fixed seed:
    no fewer than thousands of other simulated surveys found, but for a twentieth."""
    repeats = 200 if design.k * design.n < 10**5 else 60  # of many choices and people, long ones
    shares = true_shares("zipf1.1", design.k)
    seen = [
        standing_out(design.mechanism, tally, single=True).sum()
        for _, tally in surveys(design, shares, repeats, seed=20, drawn=False)
    ]

    assert np.mean(seen) >= 0.95 * found
