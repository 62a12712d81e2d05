"""Every mechanism in bulk has exactly the law of the device: both are walked branch by branch."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniably.core.coins import Coins
from deniably.core.errors import BadAnswer
from deniably.estimation.channels import matrix
from deniably.estimation.tally import tally
from deniably.mechanisms import (
    BoundedLaplace,
    Cells,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.simulation.bulk import ordered, randomise_many, tally_many, uniform
from deniably.simulation.bulk.blocks import BLOCK, BLOCK_OF_ROWS
from deniably.simulation.bulk.picks import picked
from support.bulk_law import all_bytes_from, drawing, listed, one_report
from support.cases import for_each
from support.exact_laws import distribution
from support.soak import soak

AnswerArray = npt.NDArray[np.generic]

CHANNEL = Channel(6, ((5, 2, 1), (2, 3, 3), (1, 2, 5)))
VECTOR = Vector(2, (Window(3, 4, 2, 3, 1), Channel(2, ((3, 1), (1, 3))), Window(5, 2, 1, 2, 1)))
GAUSSIAN = Gaussian(11, 2, "1600", "1.5", "0.0001")

# A coin that shows a share ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "total"), [(0, 1), (1, 2), (1, 3), (2, 3), (1, 1 << 53), (11674931554, 24559833442)]
)
def test_a_coin_shows_heads_with_exactly_its_share(
    weight: int, total: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = np.arange(1 << 16, dtype=np.uint16)
    all_bytes_from(monkeypatch, lambda _: words.tobytes())

    def heads(second: int) -> int:
        """Over all words, with this second draw wherever one is made."""

        def below(n: int, size: int) -> npt.NDArray[np.uint64]:
            assert (n, size) == (total, 1)
            return np.array([second], dtype=np.uint64)

        monkeypatch.setattr(uniform, "below", below)
        return int(np.count_nonzero(uniform.heads(weight, total, 1 << 16)))

    cut, rest = heads(total - 1), (weight << 16) % total
    if rest:
        assert heads(rest - 1) == cut + 1
    assert heads(rest) == cut
    assert Fraction(cut, 1 << 16) + Fraction(rest, total << 16) == Fraction(weight, total)


# Picking some ------------------------------------------------------------------------------------


@for_each(("size", "n"), [(size, n) for n in range(1, 6) for size in range(n + 1)])
def test_every_subset_is_equally_likely(size: int, n: int) -> None:
    def run(coins: Coins) -> tuple[int, ...]:
        with drawing(coins):
            return tuple(np.flatnonzero(picked(np.array([size]), n)[0]).tolist())

    assert distribution(run) == {
        subset: Fraction(1, comb(n, size)) for subset in combinations(range(n), size)
    }


@given(st.lists(st.integers(0, 9), max_size=30))
def test_each_row_has_as_many_as_were_wanted(sizes: list[int]) -> None:
    chosen = picked(np.array(sizes, dtype=np.int64), 9 + 1)
    assert chosen.sum(axis=1).tolist() == sizes


# Bulk and device -----------------------------------------------------------------------------


def positions(*sizes: int) -> list[tuple[int, ...]]:
    return list(product(*map(range, sizes)))


def tick_lists(k: int, most: int) -> list[tuple[int, ...]]:
    return [ticks for size in range(most + 1) for ticks in combinations(range(k), size)]


@pytest.mark.parametrize(
    "mechanism",
    [
        Window(2, 2, 1, 3, 1),
        Window(7, 5, 2, 3, 1),
        Window(3, 5, 3, 7, 2),
        Window(9, 6, 1, 5, 2),
        CHANNEL,
        Channel(2, ((3, 1), (1, 3))),
        Channel(3, ((4, 2, 2, 1), (2, 4, 1, 2), (1, 1, 2, 5))),
    ],
    ids=repr,
)
def test_positions_are_reported_in_bulk_as_on_the_device(mechanism: Window | Channel) -> None:
    for answer in range(mechanism.k):
        assert distribution(
            lambda coins, answer=answer: one_report(mechanism, answer, coins)
        ) == distribution(lambda coins, answer=answer: mechanism.randomise(answer, coins))


@pytest.mark.parametrize(
    "mechanism",
    [
        SetResponse(3, 1, 1, 3, 1),
        SetResponse(3, 2, 2, 3, 1),
        SetResponse(3, 1, 2, 5, 2),
        soak(SetResponse(4, 2, 3, 5, 2)),
        SetResponse(2, 2, 1, 2, 1),
        SampledTicks(3, 1, 3, 1),
        SampledTicks(3, 2, 3, 1),
        SampledTicks(2, 2, 5, 2),
        soak(SampledTicks(3, 3, 5, 2)),
        Unary(3, 1, 3, 1, 4),
        Unary(3, 3, 2, 1, 4),
        Unary(2, 1, 5, 1, 7),
        soak(Unary(4, 2, 5, 1, 7)),
    ],
    ids=repr,
)
def test_ticks_are_reported_in_bulk_as_on_the_device(
    mechanism: SetResponse | SampledTicks | Unary,
) -> None:
    most = mechanism.k if isinstance(mechanism, SampledTicks) else mechanism.most
    for answer in tick_lists(mechanism.k, most):
        ticks = [option in answer for option in range(mechanism.k)]
        assert distribution(
            lambda coins, ticks=ticks: one_report(mechanism, ticks, coins)
        ) == distribution(lambda coins, answer=answer: mechanism.randomise(answer, coins))


@pytest.mark.parametrize("answer", positions(3, 2, 5)[::7])
def test_a_vector_is_reported_in_bulk_as_on_the_device(answer: tuple[int, ...]) -> None:
    assert distribution(lambda coins: one_report(VECTOR, answer, coins)) == distribution(
        lambda coins: VECTOR.randomise(answer, coins)
    )


@pytest.mark.parametrize(
    ("mechanism", "answers"),
    [
        (Window(3, 3, 1, 3, 1), [1, 2]),
        (Channel(3, ((3, 1), (1, 3))), [2, 1]),
        (SetResponse(2, 1, 1, 3, 1), [[False, False], [False, True]]),
        (SampledTicks(2, 1, 3, 1), [[True, False], [False, True]]),
        (Unary(2, 1, 3, 1, 4), [[True, False], [False, False]]),
        (Vector(1, (Window(2, 2, 1, 3, 1), Channel(2, ((3, 1), (1, 3))))), [[0, 1], [1, 1]]),
    ],
    ids=repr,
)
def test_two_reports_are_independent(mechanism: Mechanism, answers: list[object]) -> None:
    def both(coins: Coins) -> tuple[Cells, ...]:
        with drawing(coins):
            return tuple(listed(mechanism, randomise_many(mechanism, np.array(answers))))

    first, second = (
        distribution(lambda coins, answer=answer: one_report(mechanism, answer, coins))
        for answer in answers
    )
    assert distribution(both) == {
        (one, other): first[one] * second[other] for one in first for other in second
    }


def test_a_channel_as_large_as_allowed_is_searched_without_overflow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    total, k = 1 << 53, 2048
    weights = tuple((1 + row, total - 1 - row) for row in range(k))
    u = np.array([0, 1, 0, k - 1, k, total - 1], dtype=np.uint64)
    monkeypatch.setattr(ordered, "below", lambda n, size: u if n == total else None)
    found = randomise_many(Channel(k, weights), np.array([0, 0, k - 1, k - 1, k - 1, k - 1]))
    assert found.tolist() == [0, 1, 0, 0, 1, 1]


# The whole, on a fixed tape -------------------------------------------------------------------


@pytest.fixture
def tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed random bytes, so that a test of fit has one outcome in all runs."""
    all_bytes_from(monkeypatch, np.random.default_rng(20).bytes)


def fits(observed: AnswerArray, expected: npt.NDArray[np.float64]) -> bool:
    """Pearson's test of many rows of counts; cells that expect little are put together."""
    statistic, freedom = 0.0, 0
    for counts, means in zip(np.atleast_2d(observed), np.atleast_2d(expected), strict=True):
        rare = means < 20
        parts = [
            (np.append(row[~rare], row[rare].sum()) if rare.any() else row)
            for row in (counts, means)
        ]
        kept = parts[1] > 1
        statistic += float(((parts[0] - parts[1])[kept] ** 2 / parts[1][kept]).sum())
        freedom += int(kept.sum()) - 1
    return bool(stats.chi2.sf(statistic, freedom) > 1e-6)


@pytest.mark.usefixtures("tape")
@pytest.mark.parametrize(
    "mechanism",
    [
        Window(101, 24, 8, 31735754293, 4294967296),
        Window(32, 41, 10, 11674931554, 4294967296),
        Channel(101, ((7, 5, 3, 1), (5, 6, 3, 2), (3, 5, 6, 2), (1, 3, 5, 7))),
        BoundedLaplace(11, "10", "clamp"),
        BoundedLaplace(11, "10", "resample"),
        BoundedLaplace(41, "2", "resample"),
        BoundedLaplace(41, "3/2", "resample"),
    ],
    ids=repr,
)
def test_reports_of_every_position_follow_the_channel(
    mechanism: Window | Channel | BoundedLaplace,
) -> None:
    each = 3000
    answers = np.tile(np.arange(mechanism.k), each)
    reports = randomise_many(mechanism, answers)
    cells = answers * mechanism.law.cell_count + reports
    counts = np.bincount(cells, minlength=mechanism.k * mechanism.law.cell_count)
    assert fits(counts.reshape(mechanism.k, -1), matrix(mechanism) * each)


@pytest.mark.usefixtures("tape")
@pytest.mark.parametrize(
    "mechanism",
    [
        SetResponse(20, 3, 4, 11674931554, 4294967296),
        SampledTicks(20, 4, 5514816658, 4294967296),
        Unary(20, 3, 10289077019, 8589934592, 20578154038),
    ],
    ids=repr,
)
def test_every_option_is_supported_as_often_as_p_and_q_say(
    mechanism: SetResponse | SampledTicks | Unary,
) -> None:
    n = 60_000
    ticks = np.zeros((n, 20), dtype=np.bool_)
    ticks[:, [0, 7, 19]] = True
    counts = tally_many(mechanism, randomise_many(mechanism, ticks)).counts
    p, q = float(mechanism.p), float(mechanism.q)
    shares = np.where(ticks[0], p, q)
    if isinstance(mechanism, SampledTicks):
        shares *= mechanism.s / mechanism.k
        counts = counts[1::2]
    law = stats.binom(n, shares)
    found = counts[:20]
    assert (2 * np.minimum(law.cdf(found), law.sf(found - 1)) > 1e-7).all()


# Shapes and refusals -----------------------------------------------------------------------------

SOME: list[tuple[Mechanism, Callable[[int], AnswerArray]]] = [
    (SubsetSelection(9, 2, 3, 1), lambda n: np.arange(n) % 9),
    (Window(9, 5, 2, 3, 1), lambda n: np.arange(n) % 9),
    (CHANNEL, lambda n: np.arange(n) % 6),
    (Laplace(9, "9/2"), lambda n: np.arange(n) % 9),
    (BoundedLaplace(9, "9/2", "clamp"), lambda n: np.arange(n) % 9),
    (BoundedLaplace(9, "9/2", "resample"), lambda n: np.arange(n) % 9),
    (GAUSSIAN, lambda n: np.arange(2 * n).reshape(n, 2) % 11),
    (VECTOR, lambda n: np.arange(3 * n).reshape(n, 3) % [3, 2, 5]),
    (SetResponse(11, 2, 3, 3, 1), lambda n: np.arange(11) == np.arange(n)[:, None] % 11),
    (SampledTicks(11, 3, 3, 1), lambda n: np.arange(11) <= np.arange(n)[:, None] % 11),
    (Unary(11, 2, 3, 1, 4), lambda n: np.arange(11) == np.arange(n)[:, None] % 11),
]
every_mechanism = pytest.mark.parametrize(
    ("mechanism", "answers"), SOME, ids=[repr(mechanism)[:40] for mechanism, _ in SOME]
)


@every_mechanism
@for_each("n", [0, 1, 300])
def test_reports_are_valid_and_tallied_as_those_of_devices(
    mechanism: Mechanism, answers: Callable[[int], AnswerArray], n: int
) -> None:
    reports = randomise_many(mechanism, answers(n))
    lists = listed(mechanism, reports)
    assert len(reports) == len(lists) == n
    for report in lists:
        mechanism.check(report)
    assert tally_many(mechanism, reports) == tally(lists, mechanism.law.cell_count)


@every_mechanism
def test_reports_are_a_function_of_the_operating_systems_bytes(
    mechanism: Mechanism, answers: Callable[[int], AnswerArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> list[Cells]:
        all_bytes_from(monkeypatch, np.random.default_rng(1).bytes)
        return listed(mechanism, randomise_many(mechanism, answers(500)))

    assert run() == run()


@pytest.mark.parametrize("n", [BLOCK_OF_ROWS, BLOCK_OF_ROWS + 1, BLOCK, 2 * BLOCK + 1])
def test_every_answer_gets_its_own_report(n: int) -> None:
    """With huge odds a report is the answer, but for once in a million million times."""
    own = 1 << 46
    positions = np.arange(n) % 9
    assert np.array_equal(randomise_many(Window(9, 9, 1, own, 1), positions), positions)
    ticks = np.arange(9) <= positions[:, None]
    reported = randomise_many(Unary(9, 9, own, 1, own + 1), ticks)
    assert np.array_equal(np.unpackbits(reported, axis=1, bitorder="little")[:, :9], ticks)
    cells = randomise_many(SampledTicks(9, 9, own, 1), ticks)
    assert np.array_equal(cells, 2 * np.arange(9) + ticks)


@for_each(
    ("mechanism", "answers"),
    [
        (Window(9, 5, 2, 3, 1), np.array([0, 9])),
        (CHANNEL, np.array([-1, 0])),
        (Laplace(9, "4"), np.array([9], dtype=np.uint8)),
        (BoundedLaplace(9, "4", "clamp"), np.array([0.0])),
        (BoundedLaplace(9, "4", "clamp"), np.array([[1]])),
        (Window(9, 5, 2, 3, 1), np.array([True])),
        (Window(9, 5, 2, 3, 1), np.array(1)),
        (GAUSSIAN, np.array([1, 2])),
        (GAUSSIAN, np.array([[1, 11]])),
        (VECTOR, np.array([[1, 2, 0]])),
        (VECTOR, np.array([[1, 1]])),
        (SetResponse(3, 1, 1, 3, 1), np.array([[True, True, False]])),
        (Unary(3, 2, 3, 1, 4), np.array([[True, True, True]])),
        (Unary(3, 2, 3, 1, 4), np.array([[1, 0, 0]])),
        (SampledTicks(3, 2, 3, 1), np.array([[True, False]])),
        (SampledTicks(3, 2, 3, 1), np.array([True, False, False])),
    ],
    ids=repr,
)
def test_an_answer_that_nobody_can_give_is_refused_before_any_draw(
    mechanism: Mechanism, answers: AnswerArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: int) -> bytes:
        raise AssertionError("bytes were drawn")

    all_bytes_from(monkeypatch, none)
    with pytest.raises(BadAnswer):
        randomise_many(mechanism, answers)
