"""The shipped audit has to catch every planted fault, and to accuse nothing that is right.

The faults of single questions are in ``planted``, those between the questions of a report in
``whole_faults`` (``test_whole_reports``, in both languages); the score is printed by
``PYTHONPATH=tests python tests/audit/test_corpus.py``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniably.audit.blackbox import certify, lower_bound
from deniably.audit.enumeration import explore, worst_odds
from deniably.audit.question_audit import Verdict, audit, audit_question
from deniably.audit.walking import fault_of
from deniably.audit.whole_reports import walk_reports, waves_of
from deniably.core.coins import Coins
from deniably.mechanisms import SubsetSelection, Unary
from deniably.survey.survey import Survey, as_survey
from deniably_server.commands.audit import audit as command
from support.every_type import survey_of_everything
from support.exact_laws import distribution
from support.planted import (
    CLASSICS,
    DEFINITIONS,
    FAULTS,
    OTHER,
    OWN_E,
    Faulty,
    Planted,
    asked,
    document,
    every_type,
    kept,
    number,
)
from support.seeded import seeded_coins
from support.soak import all_but, soak
from support.whole_faults import PLANTED as BETWEEN
from support.whole_faults import send_with
from support.whole_surveys import SURVEYS

TRIALS = 1000
FEW = 50
# What is wrong with few reports, or with two of them together, takes more of them.
MORE = {
    **{one.name: TRIALS for one in FAULTS if one.name.startswith("another_generator_beside")},
    "a_new_memo_in_each_wave_select_one": 200,
    "a_new_memo_now_and_then_select_one": 4000,
    "a_new_memo_now_and_then_ticks": 4000,
}


def verdict_on(fault: Planted) -> Verdict:
    coins = seeded_coins()
    return audit_question(
        fault.question,
        fault.randomise,
        MORE.get(fault.name, FEW),
        coins=lambda: coins,
        reports_over_waves=fault.reports_over_waves,
    )


# --- the score: all of them ---------------------------------------------------------------------

ANY_QUESTION = ("another_generator", "seeded_by")
"""Faults of the coins, which are planted in each type of question; ``make soak`` tries all."""
EXAMPLES = ("stolen", "fines", "home")
"""The least of them, one with noise, and the one with the most answers."""
TRIED = [
    fault
    for fault in FAULTS
    if not fault.name.startswith(ANY_QUESTION) or fault.name.endswith(EXAMPLES)
]


@pytest.mark.parametrize("fault", all_but(TRIED, FAULTS), ids=lambda fault: fault.name)
def test_the_audit_catches_a_planted_randomiser(fault: Planted) -> None:
    verdict = verdict_on(fault)

    assert verdict.outcome == "failed"
    assert verdict.fault
    if fault.realises is not None:
        assert verdict.walk.realised == pytest.approx(fault.realises, abs=5e-5)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_command_refuses_a_planted_definition(name: str, tmp_path: Path) -> None:
    """Weights that do not keep the claim: found before anything is run."""
    assert refused(name, tmp_path)


def refused(name: str, folder: Path) -> bool:
    file = folder / "planted.json"
    file.write_text(json.dumps(document(DEFINITIONS[name])), encoding="utf-8")
    done = CliRunner().invoke(command, [str(file), "--trials", "10", "--seconds", "0"])
    return (done.exit_code == 1 and "than the claim allows" in done.output) or (
        done.exit_code == 1 and "sigma2 is too small" in done.output
    )


def test_an_honest_definition_of_the_same_shape_is_audited(tmp_path: Path) -> None:
    """What refuses the planted ones is their weights: with others the same file is audited."""
    file = tmp_path / "honest.json"
    honest = number({"epsilon": "1"}, name="window", k=11, m=2, w=1, own=OWN_E, other=OTHER)
    file.write_text(json.dumps(document(honest)), encoding="utf-8")

    done = CliRunner().invoke(command, [str(file), "--trials", "1000", "--seconds", "0"])

    assert done.exit_code == 3, done.output
    assert "every branch walked" in done.output


def twice(answer: int, coins: Coins) -> tuple[int, int]:
    """Fresh noise on retry: two reports of one answer, where a device sends one."""
    return kept(answer, coins), kept(answer, coins)


def test_fresh_noise_on_retry_proves_more_than_the_claim() -> None:
    """No fault of one question, whose every report is right: what both reports give away together
    is walked and certified by the same engines. (That a device sends one report again is
    tests/client's.)"""
    coins = seeded_coins()
    odds = worst_odds([distribution(lambda c, a=a: twice(a, c)) for a in range(4)])
    found = certify(lambda c: twice(0, c), lambda c: twice(3, c), 4000, coins=lambda: coins)

    assert odds == 9
    assert math.log(3) < found.epsilon < math.log(9)


# --- nothing that is right is accused -----------------------------------------------------------


@pytest.mark.parametrize("survey", [every_type, soak(survey_of_everything)])
def test_no_type_of_question_is_accused(survey: Callable[[], Survey]) -> None:
    """On a fixed tape; live, each question is wrongly accused with a chance below 1e-6."""
    coins = seeded_coins()
    verdicts = audit(survey(), 2000, coins=lambda: coins)

    assert [(one.question, one.fault) for one in verdicts if one.fault] == []
    for one in verdicts:
        assert one.certified.epsilon <= one.exact.epsilon
        if one.question not in ("fines", "caught"):  # Gaussian; a channel below its claim
            assert one.certified.epsilon > 1.2, one.question
        # Noise has no end of branches, and a map has too many: there reports are counted.
        assert one.walk.complete == (one.question not in ("sick", "fines", "home"))
        if one.walk.complete:
            assert one.walk.realised == pytest.approx(one.exact.epsilon, abs=1e-12)


@pytest.mark.parametrize("name", CLASSICS)
def test_no_classic_is_accused(name: str) -> None:
    question, coins = CLASSICS[name], seeded_coins(10**6)
    verdict = audit_question(question, question.mechanism.randomise, 200, coins=lambda: coins)

    assert verdict.fault is None
    assert verdict.certified.epsilon <= verdict.exact.epsilon


# --- published figures --------------------------------------------------------------------------


def one_time_rappor(answer: tuple[int, ...], coins: Coins, bits: int = 6) -> tuple[int, ...]:
    """A permanent response with f = .95: the bit itself, or with probability f a fair one."""
    return tuple(
        bit
        for bit in range(bits)
        if (coins.below(2) == 0 if coins.choose((19, 1)) == 0 else bit in answer)
    )


def rappor(answer: tuple[int, ...], coins: Coins, bits: int = 6) -> tuple[int, ...]:
    """A permanent response with f = .75, then 1 with p = .45 for a bit of 0 and q = .55 for 1."""
    sent = []
    for bit in range(bits):
        permanent = coins.below(2) == 0 if coins.choose((3, 1)) == 0 else bit in answer
        if coins.choose((11, 9) if permanent else (9, 11)) == 0:
            sent.append(bit)
    return tuple(sent)


@pytest.mark.parametrize("bits", [2, soak(6)])
@pytest.mark.parametrize(
    ("randomise", "own", "other", "total"),
    [(one_time_rappor, 21, 19, 40), (rappor, 41, 39, 80)],
)
def test_the_two_rounds_of_rappor_are_one_unary_encoding(
    randomise: Faulty, own: int, other: int, total: int, bits: int
) -> None:
    """RAPPOR as in Bichsel et al. 2021 (S&P), every branch walked: each bit by itself."""
    encoding, half = Unary(bits, bits // 2, own, other, total), tuple(range(bits // 2))
    answers = (half, tuple(bit + bits // 2 for bit in half))
    followed = [explore(lambda c, a=a: randomise(a, c, bits), 50_000) for a in answers]  # type: ignore

    assert [found.unexplored_mass for found in followed] == [0, 0]
    for answer, found in zip(answers, followed, strict=True):
        assert fault_of(encoding, answer, found) is None
    odds = worst_odds([found.law for found in followed])
    assert odds == encoding.loss.odds == Fraction(own, other) ** bits


@pytest.mark.parametrize(
    ("own", "other", "total", "whole", "one"),
    [(21, 19, 40, 0.60050, 0.100083), (41, 39, 80, 0.30006, 0.050010)],
)
def test_the_published_figures_of_dp_sniper_come_out(
    own: int, other: int, total: int, whole: float, one: float
) -> None:
    """Between two inputs that differ in six bits they found .5998 and .2951 by search: the audit
    of the definition walks to the figures."""
    six_bits, coins = Unary(6, 3, own, other, total), seeded_coins()

    verdict = audit_question(
        asked(six_bits, epsilon="1"), six_bits.randomise, TRIALS, coins=lambda: coins
    )

    odds = Fraction(own, other) ** 6
    assert six_bits.loss.odds == odds
    assert verdict.outcome == "proved"
    assert verdict.walk.complete
    assert verdict.walk.realised == pytest.approx(math.log(odds), abs=1e-12)
    assert verdict.exact.epsilon == pytest.approx(whole, abs=1e-5)
    assert verdict.exact.epsilon / 6 == pytest.approx(one, abs=1e-6)


def test_the_published_maxima_of_dp_sniper_come_out() -> None:
    """Four hashes into 20 bits: two values differ in at most eight of them."""
    assert Unary(20, 4, 21, 19, 40).loss.epsilon == pytest.approx(0.8007, abs=5e-5)
    assert Unary(20, 4, 41, 39, 80).loss.epsilon == pytest.approx(0.4001, abs=5e-5)


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
    coins = seeded_coins()

    found = certify(
        lambda c: m.randomise(0, c), lambda c: m.randomise(5, c), 20_000, coins=lambda: coins
    )

    assert 0.9 < found.epsilon < math.log(3)


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        missed = [fault.name for fault in FAULTS if not verdict_on(fault).fault]
        missed += [name for name in DEFINITIONS if not refused(name, Path(folder))]
    between = [one for one in BETWEEN if one.python]
    for one in between:
        surveys = waves_of(as_survey(SURVEYS[one.survey]))
        sends = send_with(one.python or ("nowhere",))
        missed += [one.name for send in sends if not walk_reports(surveys, send).fault][:1]
    planted = len(FAULTS) + len(DEFINITIONS) + len(between)
    print(f"{planted - len(missed)} of {planted} planted faults caught by the shipped audit")
    print("missed:", ", ".join(missed) or "none")
