"""Memos for repeated surveys: one report, and all reports together, on the running code.

Nothing here is sampled: laws are exact fractions, compared with ==.
"""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, combinations, product
from math import comb, exp, lcm, log, prod
from typing import Any

import pytest
from msgspec.structs import replace

from deniably.audit.enumeration import worst_odds
from deniably.core.coins import Coins
from deniably.core.errors import BadAnswer, BadMechanism, BadReport
from deniably.design.reidentification import recognised
from deniably.mechanisms import Channel, Memoised, SetResponse, SubsetSelection, Window
from deniably.mechanisms.memoised import Family, memoised, widest
from deniably.mechanisms.subset_selection import subset_selection
from deniably.survey.privacy import Privacy
from support.cases import for_each
from support.exact_laws import distribution

ONCE: list[Family] = [
    SubsetSelection(2, 1, 3, 1),
    SubsetSelection(3, 1, 3, 1),
    SubsetSelection(4, 2, 13, 7),
    SubsetSelection(6, 2, 3, 1),
    SubsetSelection(5, 3, 2, 1),
    Window(3, 2, 1, 3, 1),
    Window(3, 4, 2, 3, 2),
    Window(5, 3, 2, 5, 2),
    Window(4, 6, 3, 3, 2),
    Channel(2, ((5, 1), (2, 4))),
    Channel(3, ((6, 2, 2), (3, 4, 3), (2, 2, 6))),
    SetResponse(2, 1, 1, 3, 1),
    SetResponse(3, 2, 1, 3, 1),
]
HISTORY = Fraction(9)


def inputs(mechanism: Family) -> list[Any]:
    if isinstance(mechanism, SetResponse):
        ticks = range(mechanism.most + 1)
        return list(chain.from_iterable(combinations(range(mechanism.k), n) for n in ticks))
    return list(range(mechanism.k))


def walked(run: Callable[[Coins], Any]) -> dict[Any, Fraction]:
    return dict(distribution(run))


def histories(mechanism: Memoised[Any], waves: int) -> list[dict[Any, Fraction]]:
    """For each answer the law of what a device sends in so many waves, all together.

    The memo is drawn once; each wave has coins of its own, so given the memo its reports are
    independent: the law is a sum over the memos of products, of laws that were walked. The sums
    are of whole numbers of one common part, which is a tenth of the work.
    """
    memos = [
        walked(lambda c, a=a: mechanism.draw_memo(a, c))
        for a in inputs(mechanism.single_report_mechanism)
    ]
    waves_of = {
        memo: walked(lambda c, m=memo: mechanism.report_from_memo(m, c)) for memo in memos[0]
    }
    part = lcm(*(share.denominator for law in waves_of.values() for share in law.values()))
    kept = lcm(*(share.denominator for law in memos for share in law.values()))
    sent = {
        memo: {
            tuple(report for report, _ in reports): prod(int(part * share) for _, share in reports)
            for reports in product(law.items(), repeat=waves)
        }
        for memo, law in waves_of.items()
    }
    laws: list[dict[Any, Fraction]] = []
    for law in memos:
        found: Counter[Any] = Counter()
        for memo, share in law.items():
            times = int(kept * share)
            for reports, count in sent[memo].items():
                found[reports] += times * count
        laws.append({reports: Fraction(n, kept * part**waves) for reports, n in found.items()})
    return laws


@for_each("once", ONCE, ids=str)
def test_one_report_is_exactly_one_of_the_mechanism_that_keeps_nothing(once: Family) -> None:
    mechanism = memoised(once, HISTORY)

    for answer, law in zip(inputs(once), histories(mechanism, 1), strict=True):
        alone = {report: chance for (report,), chance in law.items()}
        assert alone == walked(lambda coins, a=answer: once.randomise(a, coins))
        for report in alone:
            mechanism.check(report)
    assert mechanism.loss == mechanism.single_report_mechanism.loss == once.loss


@pytest.mark.parametrize("once", [ONCE[0], ONCE[5], ONCE[9], ONCE[11]], ids=str)
def test_the_first_report_draws_a_memo_and_makes_a_report_of_it(once: Family) -> None:
    """The whole of ``randomise`` and of ``reports_over_waves``, walked as it is called."""
    mechanism = memoised(once, HISTORY)

    for answer in inputs(once):
        law = walked(lambda coins, a=answer: once.randomise(a, coins))
        assert walked(lambda coins, a=answer: mechanism.randomise(a, coins)) == law
        assert walked(lambda coins, a=answer: mechanism.reports_over_waves(a, 1, coins)) == {
            (report,): chance for report, chance in law.items()
        }


@pytest.mark.parametrize("once", ONCE, ids=str)
def test_all_waves_together_stay_within_the_history(once: Family) -> None:
    """And come nearer to it with every wave: what is promised is not far too much."""
    mechanism = memoised(once, HISTORY)

    found = [worst_odds(histories(mechanism, waves)) for waves in (1, 2, 3)]

    one, two, three = (odds for odds in found if odds is not None)
    assert one == once.loss.odds < two < three < mechanism.history.odds <= HISTORY


def test_fifty_waves_stay_within_the_history() -> None:
    """Of two choices how often each was sent says all: counts instead of sequences."""
    mechanism = memoised(SubsetSelection(2, 1, 3, 1), HISTORY)
    assert mechanism.fresh is not None
    same, other = mechanism.fresh.p, mechanism.fresh.q
    waves, own = 50, Fraction(9, 10)

    def chance(memo: Fraction, times: int) -> Fraction:
        return memo * same**times * other ** (waves - times) + (1 - memo) * other**times * same ** (
            waves - times
        )

    worst = max(chance(own, times) / chance(1 - own, times) for times in range(waves + 1))
    assert 8.999999 < worst < 9


@for_each("once", ONCE, ids=str)
def test_the_same_draws_are_made_for_every_memo_and_every_report(once: Family) -> None:
    mechanism = memoised(once, HISTORY)

    bounds = {
        draws_of(lambda coins, memo=memo: mechanism.report_from_memo((memo,), coins))  # type: ignore[misc]
        for memo in range(mechanism.memo.law.cell_count)
        for _ in range(10)
    }

    assert len(bounds) == 1


def draws_of(run: Callable[[Coins], Any]) -> tuple[int, ...]:
    class Noted(Coins):
        def below(self, n: int) -> int:
            bounds.append(n)
            return super().below(n)

    bounds: list[int] = []
    run(Noted())
    return tuple(bounds)


# --- the constructor ------------------------------------------------------------------------------


@for_each("once", ONCE, ids=str)
@for_each("history", [Fraction(9), Fraction(27), Fraction(20, 3), Fraction(1000)])
def test_the_odds_of_the_history_are_exactly_those_wanted(once: Family, history: Fraction) -> None:
    if once.loss.odds >= history:
        with pytest.raises(BadMechanism, match="above those of one report"):
            memoised(once, history)
        return

    mechanism = memoised(once, history)

    assert mechanism.single_report_mechanism.loss == once.loss
    assert mechanism.history.odds == history


@for_each("epsilon", ["0.1", "0.5", "1", "2", "4"])
@for_each("times", ["1.5", "2", "2.5"])
@for_each("k", [2, 5, 100, 1024])
def test_an_epsilon_is_kept_and_nearly_used(epsilon: str, times: str, k: int) -> None:
    one = Privacy(epsilon=Fraction(epsilon))
    whole = one.times(Fraction(times))
    once = subset_selection(k, *one.weights(bits=24))
    once = replace(once, omega=min(once.omega, widest(once.odds, Fraction(*whole.weights()))))

    mechanism = memoised(once, Fraction(*whole.weights()))

    assert mechanism.loss == once.loss
    assert whole.covers(mechanism.history)
    assert mechanism.history.epsilon == pytest.approx(float(whole.epsilon or 0), rel=1e-3)


def test_the_formula_for_subset_selection() -> None:
    """G = (F (H + k - 1 - w) - (k - w)) / (H + w - 1 - F w)."""
    for k, omega in ((2, 1), (5, 1), (5, 2), (16, 4)):
        for odds, history in ((Fraction(3), Fraction(15)), (Fraction(13, 7), Fraction(5))):
            once = SubsetSelection(k, omega, odds.numerator, odds.denominator)
            sent = memoised(once, history).fresh
            assert sent is not None
            low = history + omega - 1 - odds * omega
            assert sent.odds == (odds * (history + k - 1 - omega) - (k - omega)) / low


@pytest.mark.parametrize("odds", [Fraction(2), Fraction(3), Fraction(13, 7)])
@pytest.mark.parametrize("times", [2, 3])
def test_a_memo_can_stand_before_so_many_choices_and_no_more(odds: Fraction, times: int) -> None:
    """Exactly while omega (F - 1) < H - 1; for a window's width, too."""
    history = odds**times
    most = widest(odds, history)
    assert most * (odds - 1) < history - 1 <= (most + 1) * (odds - 1)
    weights = odds.numerator, odds.denominator

    memoised(SubsetSelection(40, most, *weights), history)
    memoised(Window(40, 39 + most, most, *weights), history)
    with pytest.raises(BadMechanism, match="the history is too small"):
        memoised(SubsetSelection(40, most + 1, *weights), history)
    with pytest.raises(BadMechanism, match="the history is too small"):
        memoised(Window(40, 40 + most, most + 1, *weights), history)


@pytest.mark.parametrize(
    ("once", "own", "other", "why"),
    [
        (SubsetSelection(2, 1, 3, 1), 1, 1, "own and other make no memo"),
        (SubsetSelection(2, 1, 3, 1), 9, 0, "own and other make no memo"),
        (SubsetSelection(2, 1, 3, 1), 3, 1, "the history is too small"),
        (SubsetSelection(2, 1, 3, 1), 36 * 10**14, 4 * 10**14, "at most 2\\*\\*53"),
        (SetResponse(3, 2, 2, 3, 1), 9, 1, "once.size is 2; a memo is one number"),
    ],
)
def test_weights_that_make_no_memo_are_refused(
    once: Family, own: int, other: int, why: str
) -> None:
    with pytest.raises(BadMechanism, match=why):
        Memoised(once, own, other)


# --- being recognised ---


def test_two_reports_of_one_memo_look_less_alike_than_a_report_that_is_kept() -> None:
    """Ten questions of ten choices at epsilon 1 and a history of twice that, what a report
    says unchanged: a kept report is recognised in 615 of 1,000 cases, a kept answer in 77 where
    answers are spread evenly."""
    odds = Fraction(*Privacy(epsilon=Fraction(1)).weights())
    once = subset_selection(10, odds.numerator, odds.denominator)
    mechanism = memoised(once, odds**2)

    assert once.omega == 3
    assert mechanism.single_report_mechanism == once
    assert recognised([mechanism] * 10, 1000, spreads=[0]) == pytest.approx(0.077, abs=0.004)


# --- what a device keeps --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("once", "memo"),
    [
        (ONCE[2], (0, 1)), (ONCE[2], (4,)), (ONCE[2], ()), (ONCE[5], (2,)), (ONCE[5], ()),
        (ONCE[10], (-1,)), (ONCE[12], (5,)), (ONCE[12], (1, 1)),
    ],
)  # fmt: skip
def test_what_is_no_memo_is_refused_before_any_draw(once: Family, memo: tuple[int, ...]) -> None:
    def no_coins(_: int) -> bytes:
        raise AssertionError("a byte was drawn")

    with pytest.raises(BadReport):
        memoised(once, HISTORY).report_from_memo(memo, Coins(no_coins))


@for_each("once", ONCE, ids=str)
def test_what_is_no_answer_is_refused_before_any_draw(once: Family) -> None:
    def no_coins(_: int) -> bytes:
        raise AssertionError("a byte was drawn")

    wrong = (once.k,) if isinstance(once, SetResponse) else once.k
    with pytest.raises(BadAnswer):
        memoised(once, HISTORY).randomise(wrong, Coins(no_coins))


# --- why -----------------------------------------------------------------------------------------


def averaging_attack(own: float, waves: int) -> float:
    """P(the adversary is right) who hears ``waves`` Warner responses, each true with probability
    ``own``, and takes the majority; a fair coin decides where there is none."""
    shares = [comb(waves, n) * own**n * (1 - own) ** (waves - n) for n in range(waves + 1)]
    return sum(shares[waves // 2 + 1 :]) + (shares[waves // 2] / 2 if waves % 2 == 0 else 0)


def against_a_memo(epsilon: float, waves: int) -> float:
    """P(the adversary is right) about one memo at twice the epsilon, with ``epsilon`` a report."""
    odds, history = exp(epsilon), exp(2 * epsilon)
    ratio = (odds - 1) * (history + 1) / (2 * (history - odds))
    kept = ratio / (1 + ratio)
    heard = averaging_attack((1 + kept) / 2, waves)  # of the memo
    memo = history / (history + 1)
    return memo * heard + (1 - memo) * (1 - heard)


@pytest.mark.parametrize(
    ("epsilon", "table"), [(0.5, (0.62, 0.75, 0.92, 0.994)), (1.0, (0.73, 0.91, 0.997, 1.0))]
)
def test_fresh_noise_can_be_averaged_away_and_a_memo_cannot(
    epsilon: float, table: tuple[float, ...]
) -> None:
    """The table of mechanisms.md 6, after 1, 7, 31 and 101 waves."""
    waves = (1, 7, 31, 101)

    fresh = [averaging_attack(exp(epsilon) / (exp(epsilon) + 1), count) for count in waves]
    memo = [against_a_memo(epsilon, count) for count in (*waves, 1001)]

    assert fresh == pytest.approx(table, abs=0.005)
    assert memo[0] == pytest.approx(fresh[0]), "one report is the same"
    assert memo == sorted(memo)
    assert max(memo) <= exp(2 * epsilon) / (exp(2 * epsilon) + 1) + 1e-12, "that of the history"


@pytest.mark.parametrize(
    ("k", "whole", "one", "realised"),
    [(2, 2.0, 1.0, 1.0), (5, 2.0, 1.0, 0.860), (10, 1.0, 0.5, 0.245)],
)
def test_the_published_second_round_is_exact_for_two_choices_only(
    k: int, whole: float, one: float, realised: float
) -> None:
    """The second round of L-GRR (Arcolezi et al. 2022, multi-freq-ldpy) and LOLOHA (2023) has
    p2 = (E F - 1) / (E F - 1 + (k - 1) E - (k - 1) F). For k > 2 a report has less than the epsilon
    of F; with the odds (F (E + k - 2) - (k - 1)) / (E - F) it has just that."""

    def realises(second: float) -> float:
        """The epsilon of two rounds of k-ary response, with the odds E and ``second``."""
        p1, p2 = big / (big + k - 1), second / (second + k - 1)
        q1, q2 = (1 - p1) / (k - 1), (1 - p2) / (k - 1)
        own = p1 * p2 + (k - 1) * q1 * q2
        return log(own / ((1 - own) / (k - 1)))

    big, small = exp(whole), exp(one)
    kept = (big * small - 1) / (big * small - 1 + (k - 1) * (big - small))
    published = kept / ((1 - kept) / (k - 1))
    ours = (small * (big + k - 2) - (k - 1)) / (big - small)

    assert realises(ours) == pytest.approx(one, abs=1e-12)
    assert realises(published) == pytest.approx(realised, abs=5e-4)
