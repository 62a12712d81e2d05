"""The ledger by itself: what it refuses, what it rounds, and where exactly a limit begins."""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniably.core.errors import BudgetSpent
from deniably.core.loss import Loss
from deniably.device.ledger import (
    COUNTED_DAYS,
    CountedSince,
    Leaving,
    LedgerEntry,
    Limits,
    charge,
    check_limits,
    first_counted_day,
    first_to_leave,
    is_date,
    ledger_entry,
    percent,
    share,
    spent,
    total_loss,
)

AUTHOR, OTHER = "a" * 64, "b" * 64
VERSION, LATER = "1" * 64, "2" * 64


def entry(day: str = "2026-03-01", author: str = AUTHOR, version: str = VERSION,
          odds: str = "3", exponent: str = "0", delta: str = "0") -> LedgerEntry:  # fmt: skip
    return LedgerEntry(day, author, "work", version, "stolen", odds, exponent, delta)


# --- limits -------------------------------------------------------------------------------------


def test_limits_that_are_left_out_are_no_narrower_than_those_before() -> None:
    assert Limits.of() == Limits(Fraction(5), Fraction(10), Fraction(20), Fraction(1, 1000))
    assert Limits.of("12") == Limits(Fraction(12), Fraction(12), Fraction(20))
    assert Limits.of("30") == Limits(Fraction(30), Fraction(30), Fraction(30))
    assert Limits.of("1", "0.5", "0.25") == Limits(Fraction(1), Fraction(1, 2), Fraction(1, 4))
    assert Limits.of("1", "30") == Limits(Fraction(1), Fraction(30), Fraction(30))
    scoped = Limits.of("1", "2", "3")
    assert [scoped.of_scope(each) for each in ("survey", "author", "overall")] == [1, 2, 3]


@pytest.mark.parametrize("text", ["64", "0.001", "5", "6.4e1"])
def test_a_limit_is_a_decimal_above_0_and_at_most_64(text: str) -> None:
    assert Limits.of(text).survey == Fraction(text)


@pytest.mark.parametrize("text", ["0", "-1", "64.001", "65", "inf", "nan", "five"])
def test_any_other_limit_is_refused_in_a_sentence(text: str) -> None:
    why = rf"^the limit of epsilon is '{text}'; use a number above 0 and at most 64$"
    for wrong in ((text,), ("5", text), ("5", "10", text)):
        with pytest.raises(ValueError, match=why):
            Limits.of(*wrong)
    with pytest.raises(ValueError, match=f"is '{'9' * 40}';"):
        Limits.of("9" * 41)


def test_a_limit_itself_may_be_spent_and_not_a_hair_more() -> None:
    limits = Limits.of("1", "1", "1")
    for scope in ("survey", "author", "overall"):
        check_limits(scope, Loss(exponent=Fraction(1, 2)), Loss(exponent=Fraction(1, 2)), limits)
        over = Loss(exponent=Fraction(1, 2) + Fraction(1, 10**30))
        with pytest.raises(BudgetSpent) as refused:
            check_limits(scope, Loss(exponent=Fraction(1, 2)), over, limits)
        assert (
            refused.value.args
            == BudgetSpent(scope, Loss(exponent=Fraction(1, 2)), over, Fraction(1)).args
        )


def test_the_limit_of_delta_is_one_of_its_own() -> None:
    limits, most = Limits(), Fraction(1, 1000)
    hair = Fraction(1, 10**30)
    check_limits("survey", Loss(delta=most / 2), Loss(delta=most / 2), limits)
    check_limits("survey", Loss(delta=most * 2), Loss(Fraction(3)), limits)  # asks for none of it

    with pytest.raises(BudgetSpent) as refused:
        check_limits("survey", Loss(delta=most / 2), Loss(delta=most / 2 + hair), limits)

    assert (
        refused.value.args
        == BudgetSpent(
            "survey", Loss(delta=most / 2), Loss(delta=most / 2 + hair), most, of_delta=True
        ).args
    )


# --- charges ------------------------------------------------------------------------------------


def test_each_scope_counts_its_own_charges() -> None:
    ledger = (
        entry(odds="3"),
        entry(odds="5", version=LATER),
        entry(odds="7", author=OTHER, version=LATER),
        entry("2025-01-01", odds="11"),
    )

    every = spent(ledger, VERSION, AUTHOR)
    since = spent(ledger, VERSION, AUTHOR, CountedSince("2026-03-01", "2026-03-02"))

    assert {scope: loss.odds for scope, loss in every.items()} == {
        "survey": 33, "author": 165, "overall": 1155,
    }  # fmt: skip
    assert {scope: loss.odds for scope, loss in since.items()} == {
        "survey": 33, "author": 15, "overall": 1,
    }  # fmt: skip
    assert total_loss(ledger).odds == 1155
    assert total_loss([]) == Loss()


def test_a_report_that_costs_nothing_is_charged_whatever_was_spent() -> None:
    ledger = (entry(exponent="64"),)

    assert charge(ledger, [], Limits()) is ledger


def test_a_charge_is_added_or_refused_until_the_oldest_that_hinder_it_are_gone() -> None:
    limits = Limits.of("4", "4", "4")
    ledger = tuple(
        entry(day, version=LATER, odds="1", exponent=cost)
        for day, cost in (("2026-01-01", "1"), ("2026-02-01", "2"), ("2026-03-01", "1"))
    )
    wanted = [entry("2026-04-01", exponent="2", odds="1")]

    assert charge(ledger[2:], wanted, limits) == (*ledger[2:], *wanted)
    with pytest.raises(BudgetSpent) as refused:
        charge(ledger, wanted, limits)
    assert refused.value.until == "2027-02-01", "365 days after the second, which is in its way"
    free = CountedSince("2026-02-02", "2026-02-02")
    assert charge(ledger, wanted, limits, free) == (*ledger, *wanted)
    with pytest.raises(BudgetSpent) as refused:
        charge((entry(odds="1", exponent="3"),), wanted, limits)
    assert refused.value.until is None, "in a survey every day counts"
    assert refused.value.scope == "survey"


def test_a_charge_of_a_day_that_is_none_never_stops_counting() -> None:
    limits = Limits.of("1", "1", "1")
    ledger = (entry("2026-13-45", version=LATER, odds="1", exponent="1"),)

    with pytest.raises(BudgetSpent) as refused:
        charge(ledger, [entry(odds="1", exponent="1")], limits)

    assert refused.value.until is None


def test_what_leaves_first_are_the_charges_of_the_oldest_day() -> None:
    counted = [
        entry("2026-03-01", odds="5"), entry("2026-02-01", odds="3"),
        entry("0999-13-99", odds="13"), entry("2026-02-01", odds="7"),
    ]  # fmt: skip

    assert first_to_leave(counted) == Leaving("2027-02-01", Loss(Fraction(21)))
    assert first_to_leave([]) is None
    assert first_to_leave([entry("0999-13-99")]) is None


def test_the_counted_days_are_365_and_end_on_the_earliest_newest_day() -> None:
    assert COUNTED_DAYS == 365
    assert first_counted_day("2026-12-31", ["2026-12-31"]) == "2026-01-01"
    assert first_counted_day("2026-12-31", ["2026-11-30", "2027-05-05"]) == "2025-12-01"
    assert first_counted_day("2026-12-31", ["2027-05-05"]) == "2026-01-01"
    assert first_counted_day("2026-12-31", [""]) == "2026-01-01"
    assert first_counted_day("2026-12-31", ["2026-11-30", None]) == ""
    assert first_counted_day("2026-12-31", []) == ""


def test_a_day_counts_from_the_first_on() -> None:
    since = CountedSince("2026-02-01", "2026-03-01")

    assert [since.counts("author", day) for day in ("2026-01-31", "2026-02-01")] == [False, True]
    assert [since.counts("overall", day) for day in ("2026-02-28", "2026-03-01")] == [False, True]
    assert since.counts("survey", "1999-01-01")
    assert CountedSince().counts("author", "0000-00-00")


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("2026-11-21", True), ("1000-01-01", True), ("2999-12-31", True), ("2024-02-29", True),
        ("3000-01-01", False), ("0999-12-31", False), ("2026-02-29", False), ("2026-11-31", False),
        ("20261121", False), ("2026-W01-1", False), ("", False), ("soon", False),
    ],
)  # fmt: skip
def test_a_date_is_a_day_of_the_calendar(text: str, is_one: bool) -> None:
    assert is_date(text) is is_one


# --- texts and percentages ----------------------------------------------------------------------


def test_a_loss_is_written_as_fractions_and_comes_back() -> None:
    loss = Loss(Fraction(7, 3), Fraction(1, 10), Fraction(1, 10**6))

    made = ledger_entry("2026-01-02", AUTHOR, "work", VERSION, "stolen", loss)

    assert made == LedgerEntry(
        "2026-01-02", AUTHOR, "work", VERSION, "stolen", "7/3", "1/10", "1/1000000"
    )
    assert made.loss == loss


@pytest.mark.parametrize("longest", [10**400 - 1, 10**400])
def test_fractions_of_more_than_400_digits_are_rounded_up_a_little(longest: int) -> None:
    short = longest < 10**400
    for value in (Fraction(longest, 10**399 + 1), Fraction(longest + 1 - 1, longest - 1)):
        made = ledger_entry("2026-01-02", "", "work", VERSION, "q", Loss(value, value))
        for text in (made.odds, made.exponent):
            over = Fraction(text) - value
            assert over == 0 if short else 0 < over < Fraction(1, 1 << 64)
            assert len(text) <= 801


@pytest.mark.parametrize(
    "wrong",
    [
        {"odds": "1/2"}, {"odds": "0"}, {"delta": "1"}, {"delta": "3/2"},
    ],
)  # fmt: skip
def test_what_is_no_loss_is_refused(wrong: dict[str, str]) -> None:
    odds, delta = wrong.get("odds", "3"), wrong.get("delta", "0")
    why = rf"^odds are {odds} and delta is {delta}; odds are at least 1, and delta is below 1$"
    with pytest.raises(ValueError, match=why):
        entry(**wrong)


@pytest.mark.parametrize(
    "text", ["2/4", "3/1", "03", "-1", "1.5", "1/0", "", " 1", "1\n", "\u0661", "1e3", "9" * 401]
)
def test_what_is_no_fraction_in_lowest_terms_is_refused(text: str) -> None:
    shown = repr(text[:40])
    for name in ("odds", "exponent", "delta"):
        with pytest.raises(ValueError, match="write n or n/d in lowest terms") as refused:
            entry(**{name: text})
        assert str(refused.value) == f"the fraction is {shown}; write n or n/d in lowest terms"
    assert entry(odds="1", delta="999/1000").loss == Loss(Fraction(1), delta=Fraction(999, 1000))


def test_a_percentage_is_rounded_up_and_that_of_epsilon_or_delta_whichever_is_more() -> None:
    limits = Limits()  # 5, 10, 20 and 1/1000
    half = Loss(exponent=Fraction(5, 2))

    assert [share(half, scope, limits) for scope in ("survey", "author", "overall")] == [50, 25, 13]
    assert percent(half, Fraction(5)) == 50
    assert percent(Loss(exponent=Fraction(26, 1000)), Fraction(5)) == 1
    assert percent(Loss(exponent=Fraction(51, 1000)), Fraction(5)) == 2
    assert percent(Loss(), Fraction(5)) == 0
    assert percent(Loss(delta=Fraction(1, 4000)), Fraction(1, 1000), of_delta=True) == 25
    assert percent(Loss(delta=Fraction(1, 3000)), Fraction(1, 1000), of_delta=True) == 34
    assert share(Loss(delta=Fraction(1, 2000)), "survey", limits) == 50
    assert share(Loss(Fraction(3), delta=Fraction(1, 2000)), "survey", limits) == 50
