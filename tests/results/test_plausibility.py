"""Alarms: honest reports raise none but by the stated risk, and plain forgery raises them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest

from deniably.core.binomial import AddedCoins, upper_tail
from deniably.estimation.channels import matrix
from deniably.estimation.scores import of_target
from deniably.estimation.tally import Tally, from_cells, support_rows
from deniably.mechanisms import (
    Gaussian,
    Laplace,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Window,
)
from deniably.results.plausibility import (
    PairCounts,
    Spread,
    beyond_noise,
    deviation,
    implausible_pairs,
    impossible,
    impossible_shares,
    of_score,
    pair_score,
    says_pairs,
    too_far,
)
from deniably.simulation.bulk import randomise_many, tally_many
from support.blanks import made_up, mixed
from support.textbook import k_ary
from support.two_binomials import sum_of

SUBSETS = SubsetSelection(6, 3, 3, 1)
BITS = Unary(6, 1, 5, 2, 10)


# --- among a mixer's blanks ---------------------------------------------------------------------


def test_a_count_among_blanks_alarms_where_its_exact_tail_is_small_enough() -> None:
    """Both tails, of the sum of the people's coins at p or q and of the blanks'."""
    yes_no, n, blanks, risk = k_ary(2, 8, 1), 40, 60, 1e-3
    for count in range(n + blanks + 1):
        batch = Tally(n, np.array([count, n + blanks - count]), blanks=blanks)
        tails = [
            float(sum_of(n, share, AddedCoins(blanks, 0.5))[some].sum())
            for share, some in ((8 / 9, slice(count, None)), (1 / 9, slice(count + 1)))
        ]
        assert impossible(yes_no, batch, risk)[0] == (min(tails) < risk / 4)


def test_honest_batches_raise_no_alarm_and_stuffed_ones_do() -> None:
    three = k_ary(3, 8, 1)
    for seed in range(50):
        alike = tally_many(three, randomise_many(three, np.zeros(40, dtype=np.int64)))
        batch = mixed(alike, made_up(three, 220, seed))
        assert not impossible(three, batch, 1e-4).any()
        stuffed = replace(batch, counts=batch.counts + np.array([60, -30, -30]))
        assert impossible(three, stuffed, 1e-4)[0]


def test_the_spread_of_a_score_gains_that_of_its_blanks() -> None:
    score = of_target(k_ary(4, 8, 1))
    alone, among = of_score(score), of_score(score, 0.5)

    assert among.variance == pytest.approx(alone.variance + score.blank_variance / 2)
    assert among.farthest == alone.farthest
    sampled = replace(score, sampled_fraction=0.5)
    assert of_score(sampled) == alone
    # Then a third of the reports are expected to be blanks, whose mean is half the range away.
    drawn = of_score(sampled, 0.5)
    assert drawn.variance == pytest.approx(among.variance + 0.25 / 3)
    assert drawn.farthest == pytest.approx(alone.farthest + 0.5)


def test_shares_among_blanks_are_impossible_farther_out() -> None:
    scores = [of_target(k_ary(2, 8, 1))] * 2
    estimates = [1.3, 0.5]
    assert impossible_shares(scores, estimates, 200, 1e-3).tolist() == [True, False]
    assert impossible_shares(scores, estimates, 200, 1e-3, 3.0).tolist() == [False, False]


def test_blanks_count_among_the_numbers_that_noise_moves() -> None:
    """A number just beyond where 10 reports put any is likelier among 10,000."""
    noise, risk = Laplace(11, "3"), 1e-3
    law = noise.law
    first = next(y for y in range(law.reach) if law.tail(y) <= risk / 20)
    alone = from_cells(10, {5: 9, 10 + first: 1}, None)
    batch = from_cells(10_000, {5: 9_999, 10 + first: 1}, None).with_blanks(9_990)

    assert beyond_noise(noise, alone, risk) == 1
    assert beyond_noise(noise, batch, risk) == 0


# --- single counts ------------------------------------------------------------------------------


def pair_counts(reports: Iterable[Sequence[int]], k: int) -> tuple[int, npt.NDArray[np.int64]]:
    """``n`` and ``both`` of ``PairCounts``."""
    counts = PairCounts(k)
    counts.add(reports)
    return counts.n, counts.both


def test_reports_count_as_often_as_they_came() -> None:
    reports = [[0, 1], [1, 2], [0, 1], [2], [0, 1]]
    distinct = PairCounts(3)
    distinct.add([[0, 1], [1, 2], [2]], [3, 1, 1])

    n, both = pair_counts(reports, 3)
    assert (distinct.n, distinct.both.tolist()) == (n, both.tolist())


@pytest.mark.parametrize("n", [1, 7, 40, 300])
@pytest.mark.parametrize("risk", [0.05, 1e-4])
def test_a_count_is_called_impossible_by_chance_no_more_often_than_stated(
    n: int, risk: float
) -> None:
    """Every count of every share of the people, by the exact law of what is reported."""
    mechanism = k_ary(2, 3, 1)
    p, q = float(mechanism.p), float(mechanism.q)
    alarms = np.array(
        [impossible(mechanism, Tally(n, np.array([c, n - c])), risk).any() for c in range(n + 1)]
    )

    for ones in sorted({0, 1, n // 2, n}):
        law = np.convolve(binomial(ones, p), binomial(n - ones, q))
        assert law @ alarms <= risk


def binomial(n: int, p: float) -> np.ndarray:
    return np.array([math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)])


@pytest.mark.parametrize("mechanism", [k_ary(2, 3, 1), k_ary(5, 3, 1), SUBSETS, BITS])
@pytest.mark.parametrize("risk", [0.05, 1e-4])
def test_each_choice_has_its_part_of_the_risk_on_either_side_and_no_less(
    mechanism: SubsetSelection | Unary, risk: float
) -> None:
    """Every count that a choice can have, against exact tails: risk / (2 k) each."""
    n = 60
    p, q = Fraction(mechanism.p), Fraction(mechanism.q)
    each = Fraction(risk) / (2 * mechanism.k)
    above, below = exact_tails(n, p), exact_tails(n, 1 - q)
    others = [round(n * q)] * (mechanism.law.cell_count - 1)

    for count in range(n + 1):
        odd = impossible(mechanism, Tally(n, np.array([count, *others])), risk)
        assert odd[0] == (above[count] < each or below[n - count] < each), count


def test_a_chance_as_large_as_the_risk_is_no_alarm() -> None:
    mechanism, tally = k_ary(2, 3, 1), Tally(30, np.array([30, 0]))
    risk = 4 * float(upper_tail(30, 30, 0.75))

    assert not impossible(mechanism, tally, risk).any()
    odd = impossible(mechanism, tally, math.nextafter(risk, 1))
    assert odd.dtype == np.bool_
    assert odd.tolist() == [True, True]


def exact_tails(n: int, share: Fraction) -> list[Fraction]:
    """P(X >= c) of X ~ Binomial(n, share) for each c from 0 to n."""
    law = [math.comb(n, c) * share**c * (1 - share) ** (n - c) for c in range(n + 1)]
    return [sum(law[c:], Fraction(0)) for c in range(n + 1)]


@pytest.mark.parametrize(
    ("mechanism", "counts"),
    [
        (k_ary(3, 3, 1), [900, 50, 50]),
        (SUBSETS, [1000, 1000, 1000, 0, 0, 0]),
        (SetResponse(3, 1, 2, 3, 1), [1000, 1000, 0, 0]),
        (SampledTicks(2, 1, 3, 1), [0, 500, 250, 250]),
        (BITS, [1000, 0, 0, 0, 0, 0]),
    ],
)
def test_more_reports_than_even_all_the_people_would_give_are_impossible(
    mechanism: SubsetSelection, counts: list[int]
) -> None:
    odd = impossible(mechanism, Tally(1000, np.array(counts)), 1e-4)

    assert odd.any()
    assert not impossible(mechanism, even(mechanism), 1e-4).any()


def even(mechanism: SubsetSelection) -> Tally:
    """What is expected of people who all give the first answer."""
    p, q = float(mechanism.p), float(mechanism.q)
    if isinstance(mechanism, SampledTicks):
        counts = [round(500 * (1 - p)), round(500 * p), round(500 * (1 - q)), round(500 * q)]
    else:
        counts = [round(1000 * p)] + [round(1000 * q)] * (mechanism.k - 1)
        counts += [round(1000 * q)] * (mechanism.law.cell_count - mechanism.k)
    return Tally(1000, np.array(counts))


# --- means --------------------------------------------------------------------------------------


def test_a_deviation_has_at_most_the_stated_chance() -> None:
    """Against the exact law of a mean of coins, for every number of them and every bias."""
    for n in (1, 5, 50, 500):
        for p in (0.01, 0.3, 0.5, 0.99):
            spread = Spread(p * (1 - p), max(p, 1 - p))
            for risk in (0.1, 1e-3, 1e-6):
                least = n * (p + deviation(n, spread, risk))
                assert upper_tail([math.floor(least) + 1], n, p)[0] <= risk


def test_a_deviation_is_where_bernsteins_bound_is_the_risk() -> None:
    """exp(-n t^2 / (2 (v + b t / 3))): Boucheron, Lugosi and Massart 2013, eq. 2.10."""
    for n, spread in product((1, 30, 10_000), (Spread(0.2, 3.0), Spread(40.0, 0.5))):
        for risk in (0.3, 1e-4):
            t = deviation(n, spread, risk)
            bound = math.exp(-n * t**2 / (2 * (spread.variance + spread.farthest * t / 3)))
            assert bound == pytest.approx(risk, rel=1e-9)


@pytest.mark.parametrize("risk", [0.05, 1e-4])
def test_a_mean_is_too_far_beyond_the_deviation_of_half_the_risk(risk: float) -> None:
    """One half for each side; the distance itself is still explained."""
    spread, n = Spread(3.0, 2.0), 400
    reach = deviation(n, spread, risk / 2)

    for end, outwards in ((1 + reach, math.inf), (-reach, -math.inf)):
        assert not too_far(end, n, spread, risk)
        assert too_far(math.nextafter(end, outwards), n, spread, risk)


def test_shares_divide_the_risk_among_themselves() -> None:
    each = [of_target(Window(3, 3, 1, 3, 1), share) for share in np.eye(3)]
    n, risk = 2000, 0.01
    ends = [1 + deviation(n, of_score(score), risk / 6) for score in each]

    for beyond, flagged in ((-1e-9, [False] * 3), (1e-9, [True] * 3)):
        odd = impossible_shares(each, [end + beyond for end in ends], n, risk)
        assert odd.tolist() == flagged
    assert impossible_shares([], [], n, risk).dtype == np.bool_
    with pytest.raises(ValueError, match="shorter"):
        impossible_shares(each, [0.1, 0.2, 0.3, 0.4], n, risk)


@pytest.mark.parametrize("mechanism", [Window(11, 3, 1, 3, 1), Window(5, 5, 2, 7, 2)])
def test_only_a_mean_that_no_answers_have_is_too_far(mechanism: Window) -> None:
    spread = of_score(of_target(mechanism))

    assert not too_far(1.0, 1000, spread, 1e-4)
    assert not too_far(-0.01, 1000, spread, 1e-4)
    assert too_far(1.5, 1000, spread, 1e-4)
    assert too_far(-0.5, 1000, spread, 1e-4)
    assert not too_far(1.5, 3, spread, 1e-4), "few reports say little"


def test_the_spread_of_a_score_is_that_of_its_law() -> None:
    mechanism = k_ary(3, 3, 1)
    direct = of_score(of_target(mechanism, [0.0, 0.5, 1.0]))
    q = matrix(mechanism)
    p, other = float(mechanism.p), float(mechanism.q)
    score = (np.array([0, 0.5, 1.0]) - other * 1.5) / (p - other)

    target = q @ score
    assert direct.variance == pytest.approx((q @ score**2 - target**2).max())
    assert direct.farthest == pytest.approx(np.abs(score - target[:, None]).max())


def test_shares_through_a_channel_are_impossible_when_far_out_of_range() -> None:
    each = [of_target(Window(3, 3, 1, 3, 1), share) for share in np.eye(3)]

    odd = impossible_shares(each, [1.6, -0.3, -0.3], 2000, 1e-4)
    fine = impossible_shares(each, [1.01, 0.0, -0.01], 2000, 1e-4)

    assert odd[0]
    assert not fine.any()


@pytest.mark.parametrize(
    "mechanism",
    [Laplace(11, "10"), Gaussian(2, 1, "73/4", "1", "0.0001")],
    ids=["laplace", "gaussian"],
)
def test_a_number_that_noise_does_not_explain_is_counted(mechanism: Laplace | Gaussian) -> None:
    near, far = mechanism.k + 5, mechanism.k - 1 + mechanism.reach
    honest = from_cells(1000, {0: 500, 1: 400, near: 100}, None)
    forged = from_cells(1003, {0: 500, 1: 400, near: 100, far: 2, -mechanism.reach: 1}, None)

    assert beyond_noise(mechanism, honest, 1e-4) == 0
    assert beyond_noise(mechanism, forged, 1e-4) == 3


@pytest.mark.parametrize("n", [1, 30, 1000])
@pytest.mark.parametrize("risk", [0.05, 1e-4])
def test_noise_is_called_too_far_from_the_first_distance_that_the_risk_allows(
    n: int, risk: float
) -> None:
    """n reports, two sides, and for each the bound exp(-away / scale) of P(noise >= away)."""
    mechanism = Laplace(11, "10")
    first = math.ceil(10 * math.log(2 * n / risk))

    exact = math.exp(-first / 10) / (1 + math.exp(-1 / 10))  # of an answer at the end
    assert 2 * n * exact <= risk
    for end, outwards in ((0, -1), (10, 1)):
        for away in (first - 1, first):
            far = from_cells(n, {end + outwards * away: n}, None)
            assert beyond_noise(mechanism, far, risk) == (n if away == first else 0)


def test_the_farthest_number_that_can_be_reported_is_judged_like_any_other() -> None:
    mechanism = Laplace(11, "10")
    chance = mechanism.law.tail(mechanism.reach)

    for end in (-mechanism.reach, 10 + mechanism.reach):
        farthest = from_cells(1, {end: 1}, None)
        assert beyond_noise(mechanism, farthest, 2 * chance) == 1
        assert beyond_noise(mechanism, farthest, 1.9 * chance) == 0


# --- pairs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [SUBSETS, BITS, SubsetSelection(9, 2, 11, 2)])
def test_what_a_report_says_of_a_pair_has_no_expectation_whatever_the_answer(
    mechanism: SubsetSelection | Unary,
) -> None:
    alone, offset, spread = pair_score(mechanism)
    variance = farthest = 0.0
    for answer in range(mechanism.k):
        law = reports(mechanism, answer)
        assert sum(chance for _, chance in law) == pytest.approx(1)
        for u, v in combinations(range(mechanism.k), 2):
            scored = [
                ((u in one and v in one) - alone * ((u in one) + (v in one)) - offset, chance)
                for one, chance in law
            ]
            assert sum(score * chance for score, chance in scored) == pytest.approx(0, abs=1e-12)
            variance = max(variance, sum(s * s * chance for s, chance in scored))
            farthest = max(farthest, *(abs(score) for score, _ in scored))
    assert spread.variance == pytest.approx(variance)
    assert spread.farthest == pytest.approx(farthest)


def reports(mechanism: SubsetSelection | Unary, answer: int) -> list[tuple[Sequence[int], float]]:
    """Every report with its probability."""
    k = mechanism.k
    if isinstance(mechanism, SubsetSelection):
        sets = list(combinations(range(k), mechanism.omega))
        weights = [mechanism.own if answer in one else mechanism.other for one in sets]
        return [(one, weight / sum(weights)) for one, weight in zip(sets, weights, strict=True)]
    p, q = float(mechanism.p), float(mechanism.q)
    sets = [one for size in range(k + 1) for one in combinations(range(k), size)]
    chance = [p if v == answer else q for v in range(k)]
    return [
        (one, math.prod(c if v in one else 1 - c for v, c in enumerate(chance))) for one in sets
    ]


@pytest.mark.parametrize("mechanism", [SUBSETS, BITS])
def test_honest_reports_raise_no_alarm(mechanism: SubsetSelection | Unary) -> None:
    """The chance that this fails is the risk that is asked for: 1e-7."""
    found = pair_counts(drawn(mechanism, 20_000), mechanism.k)

    assert implausible_pairs(mechanism, *found, 1e-7) == []


@pytest.mark.parametrize("mechanism", [SUBSETS, BITS])
def test_reports_that_push_some_choices_give_themselves_away(
    mechanism: SubsetSelection | Unary,
) -> None:
    """5 % of fake reports for three choices: these are together too often. That one of the three
    pairs is not found, or another one is, has a chance below 1e-6 (Bernstein's inequality)."""
    honest, fake = 60_000, 3150
    everybody = [*drawn(mechanism, honest), *[[3, 4, 5]] * fake]
    n, both = pair_counts(everybody, mechanism.k)

    found = implausible_pairs(mechanism, n, both, 1e-7)

    each, offset, spread = pair_score(mechanism)
    sure = fake * (1 - 2 * each - offset) - honest * deviation(honest, spread, 1e-7)
    assert sure > n * deviation(n, spread, 1e-7 / (mechanism.k * (mechanism.k - 1)))
    assert n == honest + fake
    pushed = [pair for pair in found if pair.first >= 3]
    assert {(pair.first, pair.second) for pair in pushed} == {(3, 4), (3, 5), (4, 5)}
    assert all(pair.together > pair.expected for pair in pushed)


def counted(
    mechanism: SubsetSelection | Unary, n: int, more: dict[tuple[int, int], float]
) -> npt.NDArray[np.float64]:
    """``both`` as it is expected where each choice is named a little more often than the one
    before, and at some pairs so much more."""
    alone, offset, _ = pair_score(mechanism)
    single = n * np.linspace(0.4, 0.6, mechanism.k)
    both = n * offset + alone * (single[:, None] + single)
    both[np.diag_indices(mechanism.k)] = single
    for (a, b), excess in more.items():
        both[a, b] += excess
        both[b, a] += excess
    return both


@pytest.mark.parametrize("mechanism", [SUBSETS, BITS])
def test_pairs_divide_the_risk_among_themselves(mechanism: SubsetSelection | Unary) -> None:
    """k (k - 1) / 2 pairs, and two sides for each."""
    n, risk = 50_000, 0.01
    _, _, spread = pair_score(mechanism)
    reach = n * deviation(n, spread, risk / (6 * 5))

    for side in (1, -1):
        inside = counted(mechanism, n, {(1, 4): side * 0.9999 * reach})
        outside = counted(mechanism, n, {(1, 4): side * 1.0001 * reach})
        assert implausible_pairs(mechanism, n, inside, risk) == []
        (pair,) = implausible_pairs(mechanism, n, outside, risk)
        assert (pair.first, pair.second) == (1, 4)
        assert pair.expected == pytest.approx(outside[1, 4] - side * 1.0001 * reach)
        assert pair.together == int(outside[1, 4])


def test_the_pair_that_is_farthest_off_comes_first() -> None:
    n = 50_000
    more = {(0, 1): 5000.0, (1, 4): -6000.0, (2, 3): 9000.0}

    found = implausible_pairs(SUBSETS, n, counted(SUBSETS, n, more), 1e-4)

    assert [(pair.first, pair.second) for pair in found] == [(2, 3), (1, 4), (0, 1)]


def test_where_pairs_differ_there_is_no_score_for_them() -> None:
    with pytest.raises(ValueError, match=r"^how often two .* together depends on which they are$"):
        pair_score(SampledTicks(4, 2, 3, 1))


def drawn(mechanism: SubsetSelection | Unary, n: int) -> list[list[int]]:
    answers = np.arange(n) % mechanism.k
    given = np.arange(mechanism.k) == answers[:, None] if isinstance(mechanism, Unary) else answers
    packed = randomise_many(mechanism, given)
    assert tally_many(mechanism, packed).n == n
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    return [np.flatnonzero(row).tolist() for row in bits]


def test_where_reports_name_one_choice_there_is_nothing_to_compare() -> None:
    assert not says_pairs(k_ary(5, 3, 1))
    assert not says_pairs(Window(5, 3, 1, 3, 1))
    assert says_pairs(SUBSETS)
    assert implausible_pairs(k_ary(5, 3, 1), 100, np.zeros((5, 5)), 1e-4) == []
    assert implausible_pairs(SUBSETS, 0, np.zeros((6, 6)), 1e-4) == []


def test_pairs_are_counted_in_blocks_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    some = drawn(SUBSETS, 50)
    n, both = pair_counts(some, 6)
    assert both.dtype == np.int64
    blocks: list[int] = []

    def rows(block: list[list[int]], k: int) -> npt.NDArray[np.bool_]:
        blocks.append(len(block))
        return support_rows(block, k)

    monkeypatch.setattr("deniably.results.plausibility._BLOCK", 7)
    monkeypatch.setattr("deniably.results.plausibility.support_rows", rows)

    again = pair_counts(some, 6)

    assert blocks == [7] * 7 + [1], "no more are in memory at once"
    assert n == again[0] == 50
    assert (both == again[1]).all()
    assert both[0, 1] == sum(0 in one and 1 in one for one in some)
