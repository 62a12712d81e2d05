"""What many answers of one person give away together."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from deniably.design.composition import (
    AnswerPair,
    basic_composition,
    binomial_window,
    composed_delta,
    composed_epsilon,
    kairouz_closed_form,
    kairouz_delta,
    kairouz_epsilon,
    kairouz_list,
    rho_of_gaussian,
    rho_of_pure,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from deniably.mechanisms.gaussian_delta import analytic_delta
from support.cases import for_each

EPSILONS = st.floats(0.05, 4)
DELTA = 1e-6


def dwork_rothblum_vadhan(k: int, epsilon: float) -> float:
    """Dwork, Rothblum and Vadhan 2010, theorem III.3."""
    return k * epsilon * math.expm1(epsilon) + epsilon * math.sqrt(2 * k * math.log(1 / DELTA))


def textbook(k: int, epsilon: float) -> float:
    """Dwork and Roth 2014, corollary 3.21, read backwards: true only where the result is < 1."""
    return 2 * epsilon * math.sqrt(2 * k * math.log(1 / DELTA))


def rule(printed: str, value: float) -> bool:
    """Whether a value is the printed one, to the digits printed."""
    places = len(printed.partition(".")[2])
    return abs(value - float(printed)) <= 0.5000001 * 10**-places


# --- published figures ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "epsilon", "plain", "exact", "closed", "advanced", "halved", "zcdp"),
    [
        (20, 0.1, "2.0", "1.789", "2.0", "2.56", "4.70", "2.14"),
        (50, 0.1, "5", "3.173", "3.92", "4.24", "7.43", "3.54"),
        (100, 0.1, "10", "4.775", "5.76", "6.31", "10.5", "5.22"),
        (20, 0.5, "10", "9.987", "10", "18.2", "23.5", "13.2"),
        (100, 0.5, "50", "33.32", "38.5", "58.7", "52.6", "36.9"),
        (20, 1, "20", "20.0", "20", "57.9", "47.0", "30.6"),
        (100, 1, "100", "83.53", "98.8", "224", "105", "94.9"),
        (1000, 1, "1000", "591.1", "628", "1885", "332", "619"),
    ],
)
def test_six_ways_to_add_up_answers_with_delta_one_in_a_million(
    k: int, epsilon: float, plain: str, exact: str, closed: str, advanced: str, halved: str,
    zcdp: str,
) -> None:  # fmt: skip
    assert rule(plain, basic_composition([epsilon] * k))
    assert rule(exact, kairouz_epsilon(k, epsilon, DELTA))
    assert rule(closed, kairouz_closed_form(k, epsilon, DELTA))
    assert rule(advanced, dwork_rothblum_vadhan(k, epsilon))
    assert rule(halved, textbook(k, epsilon))
    assert rule(zcdp, zcdp_epsilon(basic_composition([rho_of_pure(epsilon)] * k), DELTA))


@pytest.mark.parametrize(
    ("k", "epsilon"), [(1000, 1), (400, 1), (400, 2), (1000, 0.5), (5000, 0.3)]
)
def test_the_textbook_rule_is_false_for_many_answers(k: int, epsilon: float) -> None:
    """It promises less than the exact composition, with a delta that is nearly 1."""
    claim = textbook(k, epsilon)

    assert claim < kairouz_epsilon(k, epsilon, DELTA)
    assert kairouz_delta(k, epsilon, claim) > 1000 * DELTA


def test_how_false_the_textbook_rule_is_for_a_thousand_answers() -> None:
    claim = textbook(1000, 1)

    assert f"{claim:.1f}" == "332.5"
    assert f"{kairouz_delta(1000, 1, claim):.6f}" == "0.999996"
    assert f"{1000 * rho_of_pure(1):.0f}" == "462"  # the mean loss alone
    assert f"{kairouz_epsilon(1000, 1, DELTA):.1f}" == "591.1"


@pytest.mark.parametrize(
    ("epsilon", "first"), [(0.1, 19), (0.25, 27), (0.5, 35), (1, 68), (2, 394)]
)
def test_from_how_many_answers_on_a_tenth_is_saved(epsilon: float, first: int) -> None:
    assert kairouz_epsilon(first - 1, epsilon, DELTA) > 0.9 * (first - 1) * epsilon
    assert kairouz_epsilon(first, epsilon, DELTA) <= 0.9 * first * epsilon


@pytest.mark.parametrize(("k", "printed"), [(2, "9.987"), (5, "7.449"), (10, "5.657")])
def test_twenty_k_ary_answers_give_away_less_than_twenty_binary_ones(k: int, printed: str) -> None:
    pairs = [AnswerPair.subset_selection(k, 1, 0.5)] * 20

    assert rule(printed, composed_epsilon(pairs, DELTA))


def test_the_conversions_of_zcdp_are_those_of_its_authors() -> None:
    """Figures printed by the code that Canonne, Kamath and Steinke published."""
    assert f"{zcdp_delta(0.025, 1):.5e}" == "1.33613e-06"
    assert f"{zcdp_epsilon(0.025, 1e-6):.6f}" == "1.014074"
    assert f"{zcdp_rho(1, 1e-6):.8f}" == "0.02435597"


# --- the exact composition --------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 7), EPSILONS, st.floats(0, 1))
def test_the_exact_delta_is_that_of_all_products_of_reports(
    k: int, epsilon: float, part: float
) -> None:
    """From the definition, over all 2^k reports of binary randomised response."""
    whole = part * k * epsilon
    with mpmath.workprec(200):
        odds = mpmath.exp(mpmath.mpf(epsilon))
        surplus = mpmath.mpf(0)
        for reports in product((True, False), repeat=k):
            own = mpmath.fprod((odds if true else 1) / (1 + odds) for true in reports)
            other = mpmath.fprod((1 if true else odds) / (1 + odds) for true in reports)
            surplus += max(mpmath.mpf(0), own - mpmath.exp(mpmath.mpf(whole)) * other)
    delta = kairouz_delta(k, epsilon, whole)

    assert surplus <= delta + mpmath.mpf(10) ** -15
    assert delta <= surplus * (1 + 1e-8) + mpmath.mpf(10) ** -14


@pytest.mark.parametrize(("k", "odds"), [(1, 3), (4, 3), (7, 2), (30, 2)])
def test_the_published_list_is_what_the_profile_gives(k: int, odds: int) -> None:
    """The deltas of the theorem, in fractions, where e^epsilon is a whole number."""
    published = [
        sum(
            Fraction(math.comb(k, j) * (odds ** (k - j) - Fraction(odds) ** (k - 2 * i + j)))
            for j in range(i)
        )
        / (1 + odds) ** k
        for i in range(k // 2 + 1)
    ]

    pairs = kairouz_list(k, math.log(odds))
    assert [whole for whole, _ in pairs] == pytest.approx(
        [(k - 2 * i) * math.log(odds) for i in range(k // 2 + 1)]
    )
    assert [delta for _, delta in pairs] == pytest.approx([float(d) for d in published], rel=1e-8)
    assert pairs[0][1] == 0


@given(st.integers(1, 300), EPSILONS, st.floats(1e-12, 0.5))
@settings(deadline=None)
def test_epsilon_is_the_smallest_that_keeps_delta(k: int, epsilon: float, delta: float) -> None:
    whole = kairouz_epsilon(k, epsilon, delta)

    assert kairouz_delta(k, epsilon, whole) <= delta
    assert whole <= kairouz_closed_form(k, epsilon, delta) <= basic_composition([epsilon] * k)
    if whole > 1e-9:
        assert kairouz_delta(k, epsilon, whole * (1 - 1e-6)) > delta


def test_without_delta_the_sum_is_all_there_is() -> None:
    assert (
        kairouz_epsilon(10, 0.1, 0)
        == basic_composition([0.1] * 10)
        == kairouz_closed_form(10, 0.1, 0)
    )
    assert composed_epsilon([AnswerPair(0.1)] * 10, 0) == basic_composition([0.1] * 10)
    assert kairouz_delta(10, 0.1, basic_composition([0.1] * 10)) == 0
    assert composed_delta([AnswerPair(0.1)] * 10, basic_composition([0.1] * 10)) == 0


def test_large_epsilons_lose_no_digits() -> None:
    """One answer at epsilon 40: delta(0) is tanh(20), delta(39) is (1 - 1/e)/(1 + e^-40)."""
    assert kairouz_delta(1, 40, 0) == pytest.approx(1, rel=1e-8)
    assert kairouz_delta(1, 40, 39) == pytest.approx(1 - 1 / math.e, rel=1e-8)


@given(st.lists(st.fractions(0, 5, max_denominator=1000), max_size=20))
def test_a_sum_is_never_too_small(charges: list[Fraction]) -> None:
    exact = sum(charges, Fraction(0))

    assert exact <= basic_composition(charges) <= float(exact) * (1 + 1e-15)


# --- different questions ----------------------------------------------------------------------


def brute_force(pairs: list[AnswerPair], whole: float) -> float:
    surplus = []
    for kinds in product((1, 0, -1), repeat=len(pairs)):
        own = math.prod(
            (q.q, 1 - q.apart, q.p)[kind + 1] for q, kind in zip(pairs, kinds, strict=True)
        )
        loss = math.fsum(q.epsilon * kind for q, kind in zip(pairs, kinds, strict=True))
        surplus.append(own * max(0.0, -math.expm1(whole - loss)))
    return math.fsum(surplus)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.builds(AnswerPair, EPSILONS, st.floats(0.05, 1)), min_size=1, max_size=5),
    st.floats(0, 0.95),
)
@example([AnswerPair(2.0), AnswerPair(2.75)], 0.0)
def test_different_questions_are_composed_on_the_safe_side(
    pairs: list[AnswerPair], part: float
) -> None:
    everything = math.fsum(pair.epsilon for pair in pairs)
    mean = everything / len(pairs)
    whole = part * everything

    delta = composed_delta(pairs, whole)
    assert brute_force(pairs, whole) <= delta + 1e-15
    # Each epsilon was raised by at most a 500th of the mean.
    raised = [AnswerPair(pair.epsilon + mean / 499, pair.apart) for pair in pairs]
    assert delta <= brute_force(raised, whole) * (1 + 1e-8) + 1e-14


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), EPSILONS, st.floats(1e-10, 0.3))
def test_equal_questions_are_composed_exactly(k: int, epsilon: float, delta: float) -> None:
    assert composed_epsilon([AnswerPair(epsilon)] * k, delta) == pytest.approx(
        kairouz_epsilon(k, epsilon, delta), rel=1e-6, abs=1e-9
    )


def test_a_mixture_lies_between_its_parts() -> None:
    mixed = composed_epsilon([AnswerPair(0.5)] * 50 + [AnswerPair(0.3)] * 50, DELTA)

    assert kairouz_epsilon(100, 0.3, DELTA) < mixed < kairouz_epsilon(100, 0.5, DELTA)


@pytest.mark.parametrize(("k", "omega"), [(2, 1), (5, 1), (5, 2), (6, 3)])
def test_subset_selection_tells_two_answers_apart_as_often_as_its_sets_do(
    k: int, omega: int
) -> None:
    """Counted over all sets, with weight 3 for those that hold the answer."""
    sets = [set(bits) for bits in _subsets(k, omega)]
    weight = sum(3 if 0 in chosen else 1 for chosen in sets)
    p = Fraction(sum(3 for chosen in sets if 0 in chosen and 1 not in chosen), weight)
    q = Fraction(sum(1 for chosen in sets if 1 in chosen and 0 not in chosen), weight)

    pair = AnswerPair.subset_selection(k, omega, math.log(3))
    assert (pair.p, pair.q) == pytest.approx((float(p), float(q)))


def _subsets(k: int, size: int) -> list[list[int]]:
    return [
        [i for i in range(k) if bits >> i & 1] for bits in range(1 << k) if bits.bit_count() == size
    ]


# --- zCDP -------------------------------------------------------------------------------------


@given(EPSILONS, st.floats(1.0001, 50))
def test_the_rho_of_pure_epsilon_bounds_every_renyi_divergence(
    epsilon: float, alpha: float
) -> None:
    """Of binary randomised response, the worst case; attained as alpha goes to 1."""
    p, q = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    divergence = math.log(p**alpha * q ** (1 - alpha) + q**alpha * p ** (1 - alpha)) / (alpha - 1)

    assert divergence <= alpha * rho_of_pure(epsilon) * (1 + 1e-9) + 1e-10
    assert rho_of_pure(epsilon) <= epsilon**2 / 2 * (1 + 2e-9)


@given(st.floats(0.3, 30), st.floats(0.05, 5))
def test_zcdp_of_gaussian_noise_is_above_its_exact_delta(sigma: float, epsilon: float) -> None:
    assert zcdp_delta(rho_of_gaussian(1, sigma), epsilon) >= analytic_delta(1, sigma, epsilon) * (
        1 - 1e-6
    )


@given(st.floats(0.001, 5), st.floats(1e-10, 0.1))
def test_epsilon_delta_and_rho_are_inverse_to_each_other(rho: float, delta: float) -> None:
    epsilon = zcdp_epsilon(rho, delta)

    assert zcdp_delta(rho, epsilon) <= delta
    if epsilon > 1e-3:
        assert zcdp_rho(epsilon, delta) == pytest.approx(rho, rel=1e-6)
        assert zcdp_delta(zcdp_rho(epsilon, delta), epsilon) <= delta


@given(st.floats(0.1, 3), st.floats(0.1, 10))
def test_the_best_alpha_is_found(rho: float, epsilon: float) -> None:
    alphas = 1 + np.geomspace(1e-6, 1e6, 2000)
    exponents = (alphas - 1) * (alphas * rho - epsilon) + alphas * np.log1p(-1 / alphas)
    tried = np.exp(np.minimum(0, exponents - np.log(alphas - 1)).min())

    assert zcdp_delta(rho, epsilon) <= tried * (1 + 1e-8)
    assert zcdp_delta(rho, epsilon) >= tried * 0.99


# --- parts and refusals -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "share"), [(0, 0.3), (1, 0.5), (50, 1e-3), (1000, 0.3), (10**6, 0.7)]
)
def test_the_window_holds_the_binomial_law(n: int, share: float) -> None:
    first, weights = binomial_window(n, share)
    counts = np.arange(first, first + weights.size)

    assert weights.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(weights, stats.binom.pmf(counts, n, share), rtol=1e-8, atol=1e-250)
    outside = stats.binom.sf(counts[-1], n, share) + stats.binom.cdf(first - 1, n, share)
    assert outside < 1e-250


@for_each(
    "wrong",
    [
        lambda: kairouz_delta(0, 1, 1),
        lambda: kairouz_delta(1, 0, 1),
        lambda: kairouz_epsilon(1, 1, 1),
        lambda: kairouz_epsilon(1, 1, -0.1),
        lambda: kairouz_list(1, math.inf),
        lambda: kairouz_closed_form(1, -1, 0.1),
        lambda: AnswerPair(1, 0),
        lambda: AnswerPair(1, 1.1),
        lambda: AnswerPair(math.nan),
        lambda: AnswerPair.subset_selection(3, 3, 1),
        lambda: composed_delta([], 1),
        lambda: rho_of_pure(-1),
        lambda: rho_of_gaussian(1, 0),
        lambda: zcdp_delta(0, 1),
        lambda: zcdp_epsilon(1, 0),
        lambda: zcdp_rho(1, 0),
        lambda: zcdp_rho(0, 0.1),
    ],
)
def test_questions_without_meaning_are_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"number|probability|keep|at least"):
        wrong()
