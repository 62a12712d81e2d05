"""Planted faults: the auditor has to catch every one, and to accuse no correct mechanism.

Each fault is a randomiser under the claim of odds 3 (unless it says otherwise), as somebody might
write it. ``python tests/audit/test_corpus.py`` prints the score.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from deniably.audit import INFINITE, distribution, worst_odds
from deniably.auditing import audit, audit_question
from deniably.blackbox import certify, lower_bound
from deniably.coins import Coins
from deniably.errors import BadMechanism
from deniably.gaussian_noise import classical_sigma
from deniably.mechanisms import Gaussian, Laplace, SetResponse, SubsetSelection, Window
from deniably.mechanisms.noise import discrete_laplace
from deniably.parts import Claim
from every_type import survey_of_everything

OWN_E, OTHER = 11674931554, 1 << 32


def tape() -> Coins:
    """Bytes that look random and are the same on every run."""
    counter = itertools.count()
    blocks = (hashlib.sha256(str(i).encode()).digest()[:28] for i in counter)
    stream = (block[i : i + 7] for block in blocks for i in range(0, 28, 7))
    return Coins(lambda _: next(stream))


ONE_TAPE = tape()


def odds_of(randomise: Callable[[Any, Coins], Hashable], answers: Any) -> Fraction | None:
    """The worst odds of the running code."""
    return worst_odds([distribution(lambda c, a=a: randomise(a, c)) for a in answers])


def exceeds(randomise: Callable[[Any, Coins], Hashable], answers: Any, claim: int = 3) -> bool:
    worst = odds_of(randomise, answers)
    return worst is INFINITE or worst > claim


def kept(answer: int, coins: Coins, own: int = 3, k: int = 4) -> int:
    """Correct k-ary response with odds ``own``."""
    return SubsetSelection(k, 1, own, 1).randomise(answer, coins)[0]


# --- the faults -------------------------------------------------------------------------------


def truth_first() -> bool:
    m = SubsetSelection(5, 2, 3, 1)

    def faulty(answer: int, coins: Coins) -> Hashable:
        report = m.randomise(answer, coins)
        return (answer, *(c for c in report if c != answer)) if answer in report else report

    return exceeds(faulty, range(5))


def unary_without_reset() -> bool:
    """pure-LDP up to 1.1.2: the true bit keeps its noise. Realises 1.5514 at epsilon 1."""

    def faulty(answer: int, coins: Coins) -> Hashable:
        bits = [coins.choose((OTHER, OWN_E)) == 0 for _ in range(2)]
        bits[answer] = coins.choose((1, 1)) == 0 or bits[answer]
        return tuple(bits)

    worst = odds_of(faulty, range(2))
    assert worst is not None
    assert math.log(worst) == pytest.approx(1.5514, abs=5e-5)
    return not Claim(epsilon="1").covers(worst)


def symmetric_unary_without_reset() -> bool:
    """The same for the symmetric encoding: 1.6803 at epsilon 1."""
    half = round(math.exp(0.5) * OTHER)

    def faulty(answer: int, coins: Coins) -> Hashable:
        bits = [coins.choose((OTHER, half)) == 0 for _ in range(2)]
        bits[answer] = coins.choose((half, OTHER)) == 0 or bits[answer]
        return tuple(bits)

    worst = odds_of(faulty, range(2))
    assert worst is not None
    assert math.log(worst) == pytest.approx(1.6803, abs=5e-5)
    return not Claim(epsilon="1").covers(worst)


def truncated_laplace_in_the_central_calibration() -> bool:
    """Scale sensitivity / epsilon on a range 100 times the sensitivity: 1.490 instead of 1
    between neighbours, and far more between the ends."""
    k, b = 20_001, 200.0  # neighbours are 200 of 20,000 steps apart
    decay = math.exp(-1 / b)

    def normaliser(x: int) -> float:
        return math.fsum(decay ** abs(y - x) for y in range(k))

    neighbours = 1 + math.log(normaliser(200) / normaliser(0))
    assert neighbours == pytest.approx(1.490, abs=0.003)
    mechanism = Laplace(k, "200")
    return not Claim(epsilon="1").covers(mechanism.loss)


def float_laplace() -> bool:
    """x + scale * log(u) in doubles: one answer gives what the other cannot (Mironov 2012)."""

    def faulty(answer: int, coins: Coins) -> Hashable:
        u = (coins.below(512) + 0.5) / 512
        sign = 1 if coins.below(2) else -1
        return float(answer) + sign * 3.7 * math.log(u)

    return odds_of(faulty, (0, 1)) is INFINITE


def catastrophe() -> bool:
    """The truth with probability delta: 'epsilon, delta' may allow it, no promise here does."""

    def faulty(answer: int, coins: Coins) -> Hashable:
        return ("truth", answer) if coins.choose((1, 999)) == 0 else kept(answer, coins)

    return odds_of(faulty, range(4)) is INFINITE


def textbook_gaussian() -> bool:
    """sqrt(2 ln(1.25/delta)) / epsilon at epsilon 10, where it does not hold."""
    sigma2 = classical_sigma(100, 10, 1e-5) ** 2
    with pytest.raises(BadMechanism, match="too small"):
        Gaussian(101, 1, str(int(sigma2)), "10", "0.00001")
    return True


def unpadded_sets() -> bool:
    def faulty(answer: tuple[int, ...], coins: Coins) -> Hashable:
        return coins.choose([3 if v in answer else 1 for v in range(4)])

    return exceeds(faulty, [(0,), (1, 2), (0, 1, 2)])


def another_generator() -> bool:
    """`random` instead of the coins (Math.random in a browser): the walk has no branch to take."""
    other = Random(1)

    def faulty(answer: int, coins: Coins) -> Hashable:
        return answer if other.random() < 0.5 else other.randrange(4)

    laws = [distribution(lambda c, a=a: faulty(a, c)) for a in range(4)]
    return all(len(law) == 1 for law in laws) or worst_odds(laws) is INFINITE


def swapped_p_and_q() -> bool:
    def faulty(answer: int, coins: Coins) -> Hashable:
        if coins.choose((3, 3)) == 0:  # weights of keeping and of all others changed places
            return answer
        return (answer + 1 + coins.below(4)) % 5

    worst = odds_of(faulty, range(5))
    return worst is INFINITE or worst > 3


def off_by_one_bound() -> bool:
    def faulty(answer: int, coins: Coins) -> Hashable:
        u = coins.below(5)  # of 3 + 3 * 1 weights, the last is never drawn
        return answer if u < 3 else (answer + u - 2) % 4

    return exceeds(faulty, range(4))


def fresh_noise_on_retry() -> bool:
    def faulty(answer: int, coins: Coins) -> Hashable:
        return kept(answer, coins), kept(answer, coins)

    return exceeds(faulty, range(4))


def random_sampling_plus_fake_data() -> bool:
    """RS+FD: one of d answers at epsilon' = ln(d (e^epsilon - 1) + 1), the others made up. The
    whole report realises epsilon', not epsilon: 1.4899 for d = 2, 1.8172 for d = 3. (Arcolezi et
    al. 2021 state it for neighbours that differ in one answer only.) So it is not offered."""
    for d, expected in ((2, 1.4899), (3, 1.8172)):
        own = round((d * (math.e - 1) + 1) * OTHER)

        def faulty(answers: tuple[int, ...], coins: Coins, own: int = own, d: int = d) -> Hashable:
            real = coins.below(d)
            flip = coins.choose((own, OTHER))
            return tuple(answers[i] ^ flip if i == real else coins.below(2) for i in range(d))

        worst = odds_of(faulty, [(0,) * d, (1,) * d])
        assert worst is not None
        assert math.log(worst) == pytest.approx(expected, abs=5e-5)
        if Claim(epsilon="1").covers(worst):
            return False
    return True


def no_rejection() -> bool:
    """A draw of three bits modulo 5: the first three values come up twice as often."""

    def faulty(answer: int, coins: Coins) -> Hashable:
        u = coins.below(8) % 5  # 3 for keeping, 1 for each of the two others
        return answer if u < 3 else (answer + u - 2) % 3

    return exceeds(faulty, range(3))


def window_clipped_at_the_ends() -> bool:
    """A window that is cut off instead of starting further in has fewer outputs."""

    def faulty(answer: int, coins: Coins) -> Hashable:
        weights = [3 if abs(y - answer) <= 1 else 1 for y in range(6)]
        return coins.choose(weights)

    return exceeds(faulty, range(6))


def epsilon_rounded_up() -> bool:
    return not Claim(epsilon="1").covers(Fraction(OWN_E + 1, OTHER))


def never_lies() -> bool:
    def faulty(answer: int, coins: Coins) -> Hashable:
        return answer if coins.choose((3, 1)) == 0 else "no answer"

    return odds_of(faulty, range(2)) is INFINITE


def asks_about_ticks_only() -> bool:
    """Sampling an option among the ticked ones instead of among all."""

    def faulty(answer: tuple[int, ...], coins: Coins) -> Hashable:
        option = answer[coins.below(len(answer))]
        return option, coins.choose((3, 1))

    return odds_of(faulty, [(0,), (1, 2)]) is INFINITE


def order_of_insertion() -> bool:
    def faulty(answer: int, coins: Coins) -> Hashable:
        others = [c for c in range(4) if c != answer]
        first = answer if coins.choose((6, 2)) == 0 else others.pop(coins.below(3))
        rest = [c for c in others if c != first]
        return first, rest[coins.below(len(rest))]

    return exceeds(faulty, range(4))


def hidden_question_sends_nothing() -> bool:
    def faulty(answer: str, coins: Coins) -> Hashable:
        return None if answer == "not applicable" else kept(0 if answer == "yes" else 1, coins)

    return odds_of(faulty, ["yes", "no", "not applicable"]) is INFINITE


def whole_epsilon_for_each_part() -> bool:
    def faulty(answer: tuple[int, int], coins: Coins) -> Hashable:
        return tuple(kept(part, coins, k=2) for part in answer)

    return exceeds(faulty, itertools.product(range(2), range(2)))


def scale_for_a_shorter_range() -> bool:
    """(k - 2) / epsilon: one step was forgotten."""
    return not Claim(epsilon="1").covers(Laplace(11, "9").loss)


def gaussian_for_one_step() -> bool:
    with pytest.raises(BadMechanism, match="too small"):
        Gaussian(101, 1, "14", "1", "0.00001")
    return True


def seeded_by_the_answer() -> bool:
    def faulty(answer: int, coins: Coins) -> Hashable:
        return Random(answer).randrange(1000)

    return odds_of(faulty, range(3)) is INFINITE


def noise_of_half_the_scale() -> bool:
    """Only reports show it: the definition and the formula are right, the code is not."""
    (question,) = [q for q in survey_of_everything().questions if q.name == "sick"]

    def faulty(answer: int, coins: Coins) -> Hashable:
        return (answer + discrete_laplace(Fraction(5), coins),)

    return not audit_question(question, faulty, 4000, coins=lambda: ONE_TAPE).passed


def a_window_that_forgets_its_rounding() -> bool:
    """A large survey question, where no walk is possible: outside is drawn inside too."""
    (question,) = [q for q in survey_of_everything().questions if q.name == "income"]
    m = question.mechanism
    assert isinstance(m, Window)

    def faulty(answer: int, coins: Coins) -> Hashable:
        return (answer + coins.below(m.w),) if coins.below(20) else m.randomise(answer, coins)

    return not audit_question(question, faulty, 4000, coins=lambda: ONE_TAPE).passed


def ticks_that_tell_how_many() -> bool:
    m = SetResponse(3, 2, 1, 3, 1)

    def faulty(answer: tuple[int, ...], coins: Coins) -> Hashable:
        return m.randomise(answer, coins), len(answer)

    return odds_of(faulty, [(0,), (0, 1)]) is INFINITE


FAULTS = [
    truth_first, unary_without_reset, truncated_laplace_in_the_central_calibration, float_laplace,
    catastrophe, textbook_gaussian, unpadded_sets, another_generator, swapped_p_and_q,
    off_by_one_bound, fresh_noise_on_retry, random_sampling_plus_fake_data,
    # and of our own
    symmetric_unary_without_reset, no_rejection, window_clipped_at_the_ends, epsilon_rounded_up,
    never_lies, asks_about_ticks_only, order_of_insertion, hidden_question_sends_nothing,
    whole_epsilon_for_each_part, scale_for_a_shorter_range, gaussian_for_one_step,
    seeded_by_the_answer, noise_of_half_the_scale, a_window_that_forgets_its_rounding,
    ticks_that_tell_how_many,
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_auditor_catches_a_planted_fault(fault: Callable[[], bool]) -> None:
    assert fault()


def test_no_correct_mechanism_is_accused() -> None:
    """On a fixed tape; live, each question is wrongly accused with a chance below 1e-6."""
    coins = tape()
    verdicts = audit(survey_of_everything(), 3000, coins=lambda: coins)

    assert [one.question for one in verdicts if not one.passed] == []
    for one in verdicts:
        assert one.certified.epsilon <= one.exact.epsilon
        if one.question not in ("fines", "caught"):  # Gaussian; a channel below its claim
            assert one.certified.epsilon > 1.2, one.question


# --- what reports can prove -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "k", "expected"),
    [(0.5, 2, 0.495), (1, 2, 0.994), (2, 2, 1.992), (4, 2, 3.981),
     (0.5, 25, 0.491), (1, 25, 0.990), (2, 25, 1.987), (4, 25, 3.976)],
)  # fmt: skip
def test_a_million_reports_prove_nearly_all_of_epsilon(
    epsilon: float, k: int, expected: float
) -> None:
    """The event 'v1 in the report and v2 not', at its expected counts, alpha .01."""
    a = math.exp(epsilon)
    omega = min(
        range(1, k),
        key=lambda w: (w * a + k - w) ** 2 / (w * (k - w)),
    )
    total = omega * a + k - omega
    # Of the sets with v1 and without v2: C(k-2, w-1), each of weight a or 1.
    share = omega * (k - omega) / (k - 1) / total
    seen, against = (round(1_000_000 * share * weight) for weight in (a, 1.0))

    assert lower_bound(seen, against, 1_000_000, 0, 0.01) == pytest.approx(expected, abs=2e-3)


def test_an_event_is_learnt_where_none_is_known() -> None:
    m = SubsetSelection(6, 2, 3, 1)
    coins = tape()

    found = certify(
        lambda c: m.randomise(0, c), lambda c: m.randomise(5, c), 20_000, coins=lambda: coins
    )

    assert 0.9 < found.epsilon < math.log(3)


@pytest.mark.parametrize(
    ("f", "p", "q", "bits", "whole", "one"),
    [(0.95, 1.0, 0.0, 6, 0.60050, 0.100083), (0.75, 0.45, 0.55, 6, 0.30006, 0.050010)],
)
def test_the_published_figures_of_dp_sniper_come_out(
    f: float, p: float, q: float, bits: int, whole: float, one: float
) -> None:
    """RAPPOR as in Bichsel et al. 2021 (S&P): permanent response with f, then p or q a bit; six
    bits differ between the two inputs. Exactly, by the odds of one bit."""
    permanent_1, permanent_0 = 1 - f / 2, f / 2
    send_1 = permanent_1 * max(p, q) + (1 - permanent_1) * min(p, q)
    send_0 = permanent_0 * max(p, q) + (1 - permanent_0) * min(p, q)
    loss = math.log(max(send_1 / send_0, (1 - send_0) / (1 - send_1)))

    assert loss == pytest.approx(one, abs=1e-6)
    assert bits * loss == pytest.approx(whole, abs=1e-5)


if __name__ == "__main__":
    caught = [fault.__name__ for fault in FAULTS if fault()]
    print(f"{len(caught)} of {len(FAULTS)} planted faults caught")
    print("missed:", ", ".join(f.__name__ for f in FAULTS if f.__name__ not in caught) or "none")
