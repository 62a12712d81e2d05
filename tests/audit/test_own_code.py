"""A randomiser that somebody brings is walked where it takes coins, and counted where not."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from fractions import Fraction
from math import exp, inf, log
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.audit import state_check
from deniably.audit.blackbox import smallest_visible, trials_to_see
from deniably.audit.enumeration import explore
from deniably.audit.own_code import BadCode, audit_code
from deniably.core.coins import Coins
from deniably.mechanisms import Laplace, SubsetSelection, Unary
from deniably.survey.privacy import Privacy
from deniably_server.commands.audit import audit
from support.soak import soak

YES_NO = ("yes", "no")


def odds(text: str) -> Privacy:
    return Privacy(odds=Fraction(text))


def epsilon(text: str, delta: str) -> Privacy:
    return Privacy(epsilon=Fraction(text), delta=Fraction(delta))


def two_coins(answer: Hashable, coins: Coins) -> Hashable:
    return answer if coins.below(2) else YES_NO[coins.below(2)]


def catastrophe(rare: int) -> Callable[[Hashable, Coins], Hashable]:
    """Two coins, and once in ``rare`` times the answer itself."""
    return lambda answer, coins: (
        two_coins(answer, coins) if coins.choose([1, rare - 1]) else f"it was {answer}"
    )


# --- what is walked -----------------------------------------------------------------------------


def test_two_coins_have_odds_of_three_exactly() -> None:
    found = audit_code(two_coins, YES_NO, odds("3"))

    assert found.outcome == "passed"
    assert found.laws == (
        {"yes": Fraction(3, 4), "no": Fraction(1, 4)},
        {"yes": Fraction(1, 4), "no": Fraction(3, 4)},
    )
    assert found.epsilon == log(3)
    assert audit_code(two_coins, YES_NO).outcome == "measured"


@pytest.mark.parametrize("claim", [odds("299/100"), Privacy(epsilon=Fraction("1.0986122"))])
def test_a_claim_that_is_a_little_too_good_fails(claim: Privacy) -> None:
    found = audit_code(two_coins, YES_NO, claim)

    assert found.outcome == "failed"
    assert found.broken is not None
    assert (found.broken.seen, found.broken.against) == (Fraction(3, 4), Fraction(1, 4))


@pytest.mark.parametrize("rare", [10**3, 10**6, 10**12])
def test_a_walk_sees_a_catastrophe_of_any_probability(rare: int) -> None:
    found = audit_code(catastrophe(rare), YES_NO, odds("3"))

    assert found.outcome == "failed"
    assert found.epsilon == inf
    assert found.broken is not None
    assert any("it was" in str(report) for report in found.broken.reports)


@pytest.mark.parametrize("rare", [1000, 7])
def test_a_delta_covers_a_catastrophe_exactly_from_its_probability_on(rare: int) -> None:
    """Of two coins with a little more than their odds, all that is left to delta is it."""
    exact, less = f"1/{rare}", str(Fraction(1, rare) - Fraction(1, 10**12))

    assert audit_code(catastrophe(rare), YES_NO, epsilon("1.1", exact)).outcome == "passed"
    assert audit_code(catastrophe(rare), YES_NO, epsilon("1.1", less)).outcome == "failed"


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 6), st.integers(1, 9), st.integers(1, 9))
def test_the_shipped_mechanisms_have_the_odds_that_their_weights_say(
    k: int, more: int, other: int
) -> None:
    mechanism = SubsetSelection(k, 1, other + more, other)

    found = audit_code(mechanism.randomise, range(k), odds(f"{other + more}/{other}"))

    assert found.outcome == "passed"
    assert found.worst is not None
    assert found.worst.seen / found.worst.against == Fraction(other + more, other)


def test_a_leaky_unary_encoding_is_caught_between_the_right_answers() -> None:
    """It adds the answer as it is to every report of the last option only."""
    honest = Unary(3, 1, 3, 1, 4)

    def leaky(answer: int, coins: Coins) -> Hashable:
        report = honest.randomise([answer], coins)
        return (*report, answer) if answer == 2 else report

    found = audit_code(leaky, range(3), odds("9"))

    assert found.outcome == "failed"
    assert found.broken is not None
    assert 2 in (found.broken.first, found.broken.second)


def test_noise_with_endless_branches_is_walked_in_part_and_counted() -> None:
    mechanism = Laplace(3, "2")

    found = audit_code(mechanism.randomise, range(3), Privacy(epsilon=Fraction(1)), trials=2000)

    assert found.laws is None
    assert found.unexplored_mass < 0.1
    assert found.outcome == "counted"
    strict = audit_code(mechanism.randomise, range(3), Privacy(epsilon=Fraction(1, 2)), trials=10)
    assert strict.outcome == "failed"
    assert strict.broken is not None  # proved by the walk alone
    assert strict.counted is None


# --- what is counted ----------------------------------------------------------------------------


def seeded() -> Callable[[Hashable], Hashable]:
    chance = Random(1)
    return lambda answer: answer if chance.random() < 0.5 else chance.choice(YES_NO)


def test_code_without_coins_is_counted_and_never_passes() -> None:
    found = audit_code(seeded(), YES_NO, odds("3"))

    assert found.outcome == "counted"
    assert 0.9 < found.epsilon < log(3)
    assert "takes no coins" in found.not_walked
    assert audit_code(seeded(), YES_NO, odds("2")).outcome == "failed"


def test_code_that_draws_chance_beside_the_coins_is_not_walked() -> None:
    """A walk would take one toss of the hidden coin for the law."""
    hidden = Random(1)

    def mixed(answer: Hashable, coins: Coins) -> Hashable:
        return answer if hidden.random() < 0.5 else YES_NO[coins.below(2)]

    found = audit_code(mixed, YES_NO, trials=5000)

    assert found.laws is None
    assert "it has chance or a state beside them" in found.not_walked
    assert 0.8 < found.epsilon < log(3)


def test_too_many_branches_are_counted_and_nothing_is_certified_of_equal_reports() -> None:
    found = audit_code(lambda answer, coins: coins.below(1 << 40), YES_NO, odds("3"), trials=500)

    assert found.outcome == "counted"
    assert found.epsilon == 0
    assert "too many branches" in found.not_walked


@pytest.mark.parametrize("rare", [100, 300, soak(1000)])
def test_counting_sees_a_catastrophe_from_about_eighty_over_delta_trials_on(rare: int) -> None:
    trials = trials_to_see(1 / rare, log(3))

    assert trials == pytest.approx(80 * rare, rel=0.01)
    assert smallest_visible(trials, log(3)) == pytest.approx(1 / rare, rel=0.01)

    chance = Random(2)

    def counted(answer: Hashable) -> Hashable:
        return f"it was {answer}" if chance.random() < 1 / rare else chance.choice(YES_NO)

    assert audit_code(counted, YES_NO, odds("3"), trials=trials // 4).outcome == "counted"
    assert audit_code(counted, YES_NO, odds("3"), trials=trials * 2).outcome == "failed"


def test_no_count_of_few_trials_shows_anything() -> None:
    assert smallest_visible(10, log(3)) == 1
    assert smallest_visible(20_000, 0.0) < smallest_visible(20_000, 5.0)
    with pytest.raises(ValueError, match="above 0"):
        trials_to_see(0, 1)


def test_progress_counts_every_report_that_is_made() -> None:
    made: list[int] = []
    calls: list[object] = []

    def watched(answer: Hashable) -> Hashable:
        calls.append(answer)
        return "yes"

    audit_code(watched, YES_NO, trials=2500, progress=made.append)

    assert sum(made) == len(calls) == 2 * (2500 + 500)


# --- code that cannot be audited ----------------------------------------------------------------


def raising(answer: Hashable) -> Hashable:
    raise KeyError(answer)


def test_code_that_catches_every_exception_is_walked_all_the_same() -> None:
    def hiding(answer: Hashable, coins: Coins) -> Hashable:
        try:
            return two_coins(answer, coins)
        except Exception:
            return "hidden"

    assert audit_code(hiding, YES_NO, odds("3")).outcome == "passed"


def test_a_path_that_is_cut_off_cannot_be_caught_and_made_a_report() -> None:
    def endless(coins: Coins) -> Hashable:
        try:
            while coins.below(2) == 0:
                pass
        except Exception:
            return "hidden"
        return "seen"

    assert set(explore(endless, 3).law) == {"seen"}


def ending(answer: Hashable) -> Hashable:
    raise SystemExit(0)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (raising, "raising of 'yes' raises KeyError in line"),
        (ending, "ending of 'yes' raises SystemExit"),
        (lambda answer: [answer], "cannot be counted .*return a text, a number or a tuple"),
        (lambda answer: None, "gives None"),
        (lambda: 1, "takes other arguments"),
        (lambda a, b, c: 1, "takes other arguments"),
        (lambda answer: "maybe", "'maybe', which is none of the outputs 'no', 'yes'"),
        (lambda answer, coins: coins.below(0), "raises ValueError in line .*bound of a draw"),
    ],
)
def test_code_that_cannot_be_audited_is_refused_with_the_reason(
    function: Callable[..., Hashable], why: str
) -> None:
    with pytest.raises(BadCode, match=why):
        audit_code(function, YES_NO, outputs=YES_NO, trials=10)


@pytest.mark.parametrize("answers", [["yes"], ["yes", "yes"], range(33)])
def test_answers_are_several_and_differ(answers: list[Hashable]) -> None:
    with pytest.raises(ValueError, match="different answers"):
        audit_code(two_coins, answers)


# --- the command --------------------------------------------------------------------------------

FILE = """
from dataclasses import dataclass
import os
import random

@dataclass
class Unused:
    x: int = 0

def two_coins(answer, coins):
    if answer not in ("yes", "no"):
        raise ValueError("yes or no")
    return answer if coins.below(2) else ("yes", "no")[coins.below(2)]

def takes_all(answer, coins):
    if answer == "psst":
        return "told"
    return answer if coins.below(2) else ("yes", "no")[coins.below(2)]

calls = [0]

def every_101st(answer, coins):
    calls[0] += 1
    said = two_coins(answer, coins)
    return answer if calls[0] % 101 == 0 else said

def every_2nd(answer, coins):
    calls[0] += 1
    said = two_coins(answer, coins)
    return said if calls[0] % 2 else {"yes": "no", "no": "yes"}[said]

first = [True]

def first_call(answer, coins):
    said = two_coins(answer, coins)
    alone, first[0] = first[0], False
    return answer if alone else said

def seldom_elsewhere(answer, coins):
    said = two_coins(answer, coins)
    return answer if os.urandom(2) < bytes([5, 0]) else said

def own_chance(answer):
    return "yes"

def numbers(answer, coins):
    return answer if coins.below(3) else coins.below(2)

constant = 3
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(audit, [str(one) for one in arguments])


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(state_check, "ALONE", 2)  # which is as much as these faults take
    path = tmp_path / "mine_to_audit.py"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize("place", ["mine_to_audit.py", "mine_to_audit"])
@pytest.mark.usefixtures("mine")
def test_the_command_walks_a_function_of_a_file_or_a_module(place: str) -> None:
    done = run("--code", f"{place}:two_coins", "--odds", 3)

    assert done.exit_code == 0
    assert "Passed: every branch walked (6 paths): epsilon is 1.0986 (odds 3)" in done.output
    assert "yes     3/4  1/4" in done.output


@pytest.mark.usefixtures("mine")
def test_a_function_that_gives_away_more_than_its_claim_fails() -> None:
    failed = run("--code", "mine_to_audit.py:two_coins", "--epsilon", 1)

    assert failed.exit_code == 1
    assert "FAILED: the answer 'yes' gives 'yes' with probability 3/4" in failed.output


@pytest.mark.usefixtures("mine")
def test_where_nothing_is_certified_the_command_says_so_and_what_it_would_take() -> None:
    done = run("--code", "mine_to_audit.py:own_chance", "--odds", 3, "--trials", 1000)

    assert done.exit_code == 4
    assert "counted, nothing certified" in done.output
    assert "passed" not in done.output.lower()
    assert "least 0.0000" not in done.output
    assert "80/delta reports" in " ".join(done.output.split())
    visible = 1 / smallest_visible(1000, log(3), 1e-6 / 2)
    assert f"Smallest visible catastrophe: 1 in {visible:.0f}." in done.output


@pytest.mark.usefixtures("mine")
def test_answers_are_numbers_or_texts_and_json_is_for_programs() -> None:
    done = run("--code", "mine_to_audit.py:numbers", "--answers", "0,1", "--json")

    found = json.loads(done.stdout)
    assert found["answers"] == [0, 1]
    assert exp(found["epsilon"]) == pytest.approx(5)
    assert (found["outcome"], found["exit"], found["walked"]) == ("in part", 3, True)


@pytest.mark.usefixtures("mine")
def test_who_takes_an_answer_that_was_not_listed_does_not_pass() -> None:
    """Its walk is right for yes and no; for the constant of its own comparison nobody walked it."""
    done = run("--code", "mine_to_audit.py:takes_all", "--odds", 3)

    assert done.exit_code == 3
    assert "it also takes 'psst', which you did not list, and sends 'told'" in done.output
    assert "passed" not in done.output.lower()


@pytest.mark.parametrize("name", ["every_101st", soak("every_2nd")])
@pytest.mark.usefixtures("mine")
def test_who_answers_otherwise_at_every_so_many_calls_fails(name: str) -> None:
    """A walk takes each report for a matter of answer and coins; so a state escapes it."""
    done = run("--code", f"mine_to_audit.py:{name}", "--odds", 3)

    assert done.exit_code == 1
    assert "FAILED" in done.output
    assert "It keeps a state" in " ".join(done.output.split())
    assert "passed" not in done.output.lower()


@pytest.mark.usefixtures("mine")
def test_a_state_that_only_a_call_of_its_own_shows_fails() -> None:
    """The first call of a process tells the truth: in any order that is one report of many."""
    done = run("--code", "mine_to_audit.py:first_call", "--odds", 3)

    assert done.exit_code == 1
    assert "It keeps a state" in " ".join(done.output.split())


@pytest.mark.usefixtures("mine")
def test_who_seldom_asks_a_clock_is_counted_however_complete_the_walk() -> None:
    """It is no state: the same calls in the same order make other reports. No walk is a proof."""
    done = run("--code", "mine_to_audit.py:seldom_elsewhere", "--odds", 3)

    assert done.exit_code == 4
    said = " ".join(done.output.split())
    assert "it has chance or a state beside them" in said
    assert "It keeps a state" not in said
    assert "Smallest visible catastrophe: 1 in " in said


@pytest.mark.usefixtures("mine")
def test_without_a_claim_a_whole_walk_is_a_measurement_and_exits_with_0() -> None:
    done = run("--code", "mine_to_audit.py:two_coins")

    assert done.exit_code == 0
    said = " ".join(done.output.split())
    assert "Exact: every branch walked (6 paths): epsilon is 1.0986 (odds 3)." in said
    assert "Nothing was claimed, so nothing passed or failed." in said
    assert "Smallest visible catastrophe: any, however rare" in said


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("--code", "mine_to_audit.py"), 1, "names no function"),
        (("--code", "nowhere.py:f"), 1, "there is no file nowhere.py"),
        (("--code", "no_such_module:f"), 1, "there is no module no_such_module"),
        (("--code", "mine_to_audit:g"), 1, "has no function g"),
        (("--code", "mine_to_audit.py:constant"), 1, "is no function"),
        (("--code", "mine_to_audit.py:two_coins", "--odds", "x"), 2, "--odds is 'x'"),
        (("--code", "mine_to_audit.py:two_coins", "--odds", "1/2"), 2, "at least 1"),
        (("--code", "mine_to_audit.py:two_coins", "--epsilon", "-1"), 2, "from 0 to 64"),
        (("--code", "mine_to_audit.py:two_coins", "--delta", "0.1"), 2, "beside --epsilon"),
        (("--code", "m:f", "--epsilon", "1", "--delta", "2"), 2, "above 0, below 1"),
        (("--code", "m:f", "--epsilon", "1", "--odds", "2"), 2, "not both"),
        (("--code", "mine_to_audit.py:two_coins", "--answers", "yes"), 1, "different answers"),
        (("--code", "mine_to_audit.py:two_coins", "--outputs", "a"), 1, "none of the outputs"),
        (("--code", "mine_to_audit:two_coins", "mine_to_audit.py"), 2, "not both"),
        (("mine_to_audit.py", "--odds", "3"), 2, "are for --code"),
        ((), 2, "give a survey, or --code"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_what_cannot_be_audited_is_explained(
    arguments: tuple[str, ...], code: int, why: str
) -> None:
    done = run(*arguments)

    assert why in " ".join(done.output.split())
    assert done.exit_code == code
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(:\n", "line 1: invalid syntax"),
        ("import not_there_either\n", "needs the module not_there_either"),
        ("1/0\n", "raises ZeroDivisionError"),
        ("raise SystemExit(0)\n", "raises SystemExit"),
    ],
)
def test_a_file_that_cannot_be_imported_is_explained(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "broken_to_audit.py"
    path.write_text(text)

    done = run("--code", f"{path}:f")

    assert done.exit_code == 1
    assert why in done.output
