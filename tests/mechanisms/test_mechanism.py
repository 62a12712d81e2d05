"""Which mechanism a question gets, and what it refuses."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.core.coins import Coins
from deniably.core.errors import BadAnswer, BadMechanism, BadReport
from deniably.estimation.estimate import variance
from deniably.mechanisms.subset_selection import (
    SubsetSelection,
    best_omega,
    subset_selection,
    two_coin_odds,
)
from support.cases import for_each
from support.textbook import k_ary, warner, weights_for_epsilon, weights_for_odds

ODDS = st.fractions(min_value="1.01", max_value=22026, max_denominator=10**6)


@given(st.integers(2, 1024), ODDS)
def test_the_best_omega_obeys_the_exact_switching_rule(k: int, odds: Fraction) -> None:
    """w is optimal iff (k-w)(k-w-1)/(w(w+1)) <= odds^2 <= (k-w)(k-w+1)/(w(w-1))."""
    w = best_omega(k, odds)

    assert 1 <= w <= k - 1
    if w < k - 1:
        assert Fraction((k - w) * (k - w - 1), w * (w + 1)) <= odds**2
    if w > 1:
        assert odds**2 <= Fraction((k - w) * (k - w + 1), w * (w - 1))


@pytest.mark.parametrize(
    ("k", "epsilon"),
    [(4, 0.549), (5, 0.896), (10, 1.792), (16, 2.327), (128, 4.494), (1024, 6.583)],
)
def test_k_ary_response_takes_over_where_theory_says(k: int, epsilon: float) -> None:
    """One choice is sent from odds sqrt((k-1)(k-2)/2) on, and not below."""
    assert math.log(math.sqrt((k - 1) * (k - 2) / 2)) == pytest.approx(epsilon, abs=6e-4)

    assert best_omega(k, Fraction(math.exp(epsilon + 0.002))) == 1
    assert best_omega(k, Fraction(math.exp(epsilon - 0.002))) == 2


def test_rounding_and_the_ceiling_are_both_wrong_somewhere() -> None:
    rounded = ceiled = 0
    for k in range(2, 60):
        for tenths in range(1, 60):
            odds = Fraction(math.exp(tenths / 10))
            best = best_omega(k, odds)
            rounded += best != max(1, round(k / (odds + 1)))
            ceiled += best != max(1, math.ceil(k / (odds + 1)))

    assert rounded > 0
    assert ceiled > 500


@for_each(
    ("k", "epsilon", "omega", "bound"),
    [
        (2, "0.5", 1, 8.335), (4, "0.5", 1, 37.51), (16, "0.5", 6, 220.4), (128, "0.5", 48, 1975),
        (2, "1", 1, 2.341), (4, "1", 1, 8.306), (16, "1", 4, 51.91), (128, "1", 34, 464.1),
        (1024, "1", 275, 3764), (16, "2", 2, 10.19), (128, "2", 15, 91.25), (16, "4", 1, 1.581),
        (128, "4", 2, 9.628), (1024, "4", 18, 77.70),
    ],
)  # fmt: skip
def test_the_noise_equals_the_lower_bound_of_ye_and_barg(
    k: int, epsilon: str, omega: int, bound: float
) -> None:
    """M(k, eps) of Ye and Barg 2018: no mechanism of this epsilon has a smaller worst case.

    (Of the table's k = 4, eps = 0.5 the optimum is omega = 2; see the switching rule.)
    """
    m = subset_selection(k, *weights_for_epsilon(Fraction(epsilon)))

    p, q = float(m.p), float(m.q)
    noise = ((k - 1) * q * (1 - q) + p * (1 - p)) / (p - q) ** 2 + 1 - 1 / k
    a = math.exp(float(epsilon))
    lower = min((d * a + k - d) ** 2 / (d * (k - d)) for d in range(1, k))
    assert noise == pytest.approx((k - 1) ** 2 / (k * (a - 1) ** 2) * lower, rel=1e-8)
    if (k, epsilon) != (4, "0.5"):
        assert m.omega == omega
        assert noise == pytest.approx(bound, rel=5e-4)


def test_warner_and_k_ary_are_the_same_value_by_other_names() -> None:
    assert warner(3, 1) == k_ary(2, 3, 1) == subset_selection(2, 3, 1)
    assert warner(3, 1).p == Fraction(3, 4)
    assert k_ary(5, 3, 1).q == Fraction(1, 7)


@pytest.mark.parametrize("p", [0.6, 0.7, 0.8, 0.9])
def test_warners_variance_is_that_of_his_paper(p: float) -> None:
    """Warner 1965, eq. 5: pi(1-pi)/n + p(1-p) / (n (2p-1)^2)."""
    odds = Fraction(p).limit_denominator(10) / (1 - Fraction(p).limit_denominator(10))
    m = warner(*weights_for_odds(odds))

    for share in (0.1, 0.3, 0.5):
        expected = share * (1 - share) + p * (1 - p) / (2 * p - 1) ** 2
        assert float(variance(m, share)) == pytest.approx(expected, rel=1e-12)


def test_the_two_coin_design_has_odds_of_three() -> None:
    assert two_coin_odds(Fraction(1, 2), 2) == 3
    assert two_coin_odds(Fraction(3, 10), 2) == Fraction(13, 7)
    assert warner(*weights_for_odds(two_coin_odds(Fraction(1, 2), 2))).p == Fraction(3, 4)


@given(st.fractions("0.001", "0.999", max_denominator=10**6), st.integers(2, 20))
def test_two_coins_say_the_truth_as_often_as_the_design(truth: Fraction, k: int) -> None:
    m = k_ary(k, *weights_for_odds(two_coin_odds(truth, k)))

    assert m.p == truth + (1 - truth) / k
    assert m.q == (1 - truth) / k


@pytest.mark.parametrize("truth", [Fraction(0), Fraction(1), Fraction(-1), Fraction(3, 2)])
def test_a_coin_that_is_none_is_refused(truth: Fraction) -> None:
    with pytest.raises(BadMechanism, match="between 0 and 1"):
        two_coin_odds(truth, 2)


@given(st.decimals("0.01", "10", places=4).map(Fraction))
def test_the_realised_epsilon_is_never_above_the_stated_one(epsilon: Fraction) -> None:
    own, other = weights_for_epsilon(epsilon)

    assert math.log(own / other) <= float(epsilon) + 1e-15
    assert math.log((own + 1) / other) > float(epsilon) - 1e-12


@pytest.mark.parametrize(
    "parameters",
    [(1, 1, 3, 1), (1025, 1, 3, 1), (4, 0, 3, 1), (4, 4, 3, 1), (4, 1, 1, 1), (4, 1, 1, 3),
     (4, 1, 3, 0), (4, 1, -3, -5), (2, 1, 1 << 53, 1)],
)  # fmt: skip
def test_parameters_that_make_no_mechanism_are_refused(parameters: tuple[int, ...]) -> None:
    with pytest.raises(BadMechanism):
        SubsetSelection(*parameters)


@pytest.mark.parametrize("answer", [-1, 5, 10**9])
def test_an_answer_outside_the_choices_is_refused_before_any_draw(answer: int) -> None:
    """... and the message names the domain, never the answer."""
    untouched = Coins(lambda _: pytest.fail("a byte was drawn"))

    with pytest.raises(BadAnswer, match="from 0 to 4") as refused:
        k_ary(5, 3, 1).randomise(answer, untouched)

    assert str(answer) not in str(refused.value)


@given(st.integers(2, 40), st.data())
def test_every_report_is_one_that_the_server_accepts(k: int, data: st.DataObject) -> None:
    omega = data.draw(st.integers(1, k - 1))
    m = SubsetSelection(k, omega, 3, 1)

    m.check(m.randomise(data.draw(st.integers(0, k - 1)), Coins()))


@given(st.integers(2, 12), st.data())
def test_what_is_drawn_does_not_depend_on_keeping_the_truth(k: int, data: st.DataObject) -> None:
    """The draws have equal bounds in an equal order for every answer, kept or not."""
    omega = data.draw(st.integers(1, k - 1))
    m = SubsetSelection(k, omega, 3, 1)

    class Watched(Coins):
        def below(self, n: int) -> int:
            bounds.append(n)
            return super().below(n)

    seen: set[tuple[int, ...]] = set()
    for answer in range(k):
        for _ in range(8):
            bounds: list[int] = []
            m.randomise(answer, Watched())
            seen.add(tuple(bounds))

    assert seen == {(m.total, *range(k - omega, k))}


@pytest.mark.parametrize(
    ("report", "why"),
    [([], "exactly 2"), ([1], "exactly 2"), ([0, 1, 2], "exactly 2"), ([1, 1], "ascending"),
     ([2, 1], "ascending"), ([-1, 2], "from 0 to 4"), ([0, 5], "from 0 to 4")],
)  # fmt: skip
def test_a_report_that_no_device_makes_is_refused(report: list[int], why: str) -> None:
    with pytest.raises(BadReport, match=why):
        SubsetSelection(5, 2, 3, 1).check(report)
