"""The 365 days for which a charge counts against an author's limit, and against that over all.

Days are whole numbers here, counted from some day, until they are written as dates.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.core.errors import BudgetSpent
from deniably.core.loss import Loss
from deniably.device.ledger import (
    CountedSince,
    LedgerEntry,
    Limits,
    charge,
    first_counted_day,
    ledger_entry,
    spent,
)
from deniably.device.memory import Memory, RegisterCheckpoint, charge_day, counted_since, replace

ANN, BEN = "a1" * 32, "b2" * 32
HERE, THERE = "https://example.org", "https://example.net"
YEAR = 365
FIRST = date(2026, 11, 21)
STEPS = st.lists(st.tuples(st.integers(0, 250), st.integers(1, 5)), max_size=15)
"""Of each survey: the days since the one before, and its epsilon."""
DAYS = st.integers(-2000, 2000)
ALL_ALIKE = Limits(Fraction(64), Fraction(10), Fraction(20))


def written(day: int) -> str:
    return (FIRST + timedelta(days=day)).isoformat()


def known(**days: int | None) -> Memory:
    """A device that knows Ann's server and Ben's, and the newest day that each has shown."""
    origins = {"ann": (HERE, ANN), "ben": (THERE, BEN)}
    return Memory(
        authors={origins[who][0]: [origins[who][1]] for who in days},
        registers={
            origins[who][0]: RegisterCheckpoint(
                1, "e" * 64, *([] if day is None else [written(day)])
            )
            for who, day in days.items()
        },
    )


@dataclass(frozen=True)
class Made:
    """A charge that a device made, and the true day on which it did."""

    day: int
    epsilon: int


@dataclass
class Phone:
    """Answers surveys of an author: each is another survey, of a whole epsilon."""

    memory: Memory
    made: list[Made]

    def answers(self, day: int, clock: int, register: int, epsilon: int, who: str = "ann") -> None:
        seen = known(**{who: register})
        self.memory = replace(
            self.memory,
            authors=self.memory.authors | seen.authors,
            registers=self.memory.registers | seen.registers,
        )
        author, today = {"ann": ANN, "ben": BEN}[who], written(clock)
        each = entry(charge_day(self.memory, author, today), epsilon, author, len(self.made))
        try:
            ledger = charge(
                self.memory.ledger, [each], ALL_ALIKE, counted_since(self.memory, author, today)
            )
        except BudgetSpent:
            return
        self.memory = replace(self.memory, ledger=ledger)
        self.made.append(Made(day, epsilon))

    def most(self) -> int:
        """The largest sum of epsilons over 365 true days in a row."""
        return max(
            (
                sum(other.epsilon for other in self.made if 0 <= other.day - each.day < YEAR)
                for each in self.made
            ),
            default=0,
        )


def entry(day: str, epsilon: int = 1, author: str = ANN, number: int = 0) -> LedgerEntry:
    loss = Loss(exponent=Fraction(epsilon))
    return ledger_entry(day, author, "pair", f"{number:064x}", "a", loss)


def test_a_charge_counts_on_its_day_and_364_more() -> None:
    ledger = (entry(written(0), 9),)
    for day, counted in ((0, 9), (364, 9), (365, 0), (9999, 0)):
        memory = known(ann=day)
        found = spent(ledger, "0" * 64, ANN, counted_since(memory, ANN, written(day)))
        assert [float(loss.exponent) for loss in found.values()] == [9, counted, counted]


def test_a_third_survey_is_answered_once_the_first_is_a_year_old() -> None:
    for day, counts in ((364, True), (365, False)):
        phone = Phone(Memory(), [])
        phone.answers(0, 0, 0, 5)
        phone.answers(100, 100, 100, 5)
        phone.answers(day, day, day, 5)
        assert len(phone.made) == (2 if counts else 3)


@pytest.mark.parametrize(
    ("day", "seen", "first"),
    [
        (written(365), [written(365)], written(1)),
        (written(365), [written(300)], written(-64)),
        (written(300), [written(365)], written(-64)),
        (written(365), [written(365), written(0), written(90)], written(-364)),
        (written(365), [written(365), None], ""),
        (written(365), [None], ""),
        (written(365), [], ""),
    ],
)
def test_the_days_start_where_the_clock_and_all_registers_agree(
    day: str, seen: list[str | None], first: str
) -> None:
    assert first_counted_day(day, seen) == first


def test_registers_of_before_have_no_day_so_nothing_leaves() -> None:
    assert counted_since(known(ann=None), ANN, written(9999)) == CountedSince()


def test_no_register_gives_back_what_other_authors_hold() -> None:
    """Ben's own server writes the year 2300; the phone's clock is set forwards, too."""
    memory = known(ann=10, ben=99_999)

    found = counted_since(memory, ANN, written(99_999))

    assert found == CountedSince(author=written(10 - 364), overall=written(10 - 364))
    assert counted_since(memory, BEN, written(99_999)).overall == written(10 - 364)


def test_what_another_server_copies_of_an_author_gives_nothing_back() -> None:
    """Signatures are public: Ben's server can list Ann's surveys, with any day."""
    memory = replace(known(ann=10, ben=99_999), authors={HERE: [ANN], THERE: [BEN, ANN]})

    assert counted_since(memory, ANN, written(99_999)).author == written(10 - 364)


def test_a_charge_gets_the_day_of_the_register_where_the_clock_is_behind() -> None:
    assert charge_day(known(ann=10), ANN, written(3)) == written(10)
    assert charge_day(known(ann=10), ANN, written(30)) == written(30)
    assert charge_day(known(ann=10), BEN, written(3)) == written(3)
    assert charge_day(known(ann=None), ANN, written(3)) == written(3)


def test_a_charge_dated_in_the_future_counts_whatever_the_clock_says() -> None:
    ledger = (entry(written(5000), 9),)
    for clock in (-900, 0, 4000, 5364):
        found = spent(ledger, "0" * 64, ANN, counted_since(known(ann=5364), ANN, written(clock)))
        assert found["overall"].exponent == 9


@given(STEPS)
def test_no_365_days_exceed_the_limit_when_clock_and_register_are_right(
    steps: list[tuple[int, int]],
) -> None:
    phone, day = Phone(Memory(), []), 0
    for gap, epsilon in steps:
        day += gap
        phone.answers(day, day, day, epsilon)
    assert phone.most() <= 10


@given(STEPS, st.lists(DAYS, min_size=15, max_size=15))
def test_no_sequence_of_clocks_exceeds_the_limit_of_365_days_of_the_register(
    steps: list[tuple[int, int]], clocks: list[int]
) -> None:
    phone, day = Phone(Memory(), []), 0
    for (gap, epsilon), clock in zip(steps, clocks, strict=False):
        day += gap
        phone.answers(day, clock, day, epsilon)
    assert phone.most() <= 10


@given(STEPS, st.lists(DAYS, min_size=15, max_size=15))
def test_no_register_exceeds_the_limit_of_365_days_of_the_clock(
    steps: list[tuple[int, int]], registers: list[int]
) -> None:
    phone, day = Phone(Memory(), []), 0
    for (gap, epsilon), register in zip(steps, registers, strict=False):
        day += gap
        phone.answers(day, day, register, epsilon)
    assert phone.most() <= 10


@given(STEPS, st.lists(st.tuples(DAYS, DAYS), min_size=15, max_size=15), st.data())
def test_neither_any_clock_nor_a_register_ahead_exceeds_the_limit_over_all(
    steps: list[tuple[int, int]], lies: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Ann's server is honest and is visited now and then; Ben's writes days of the future."""
    phone, day = Phone(Memory(), []), 0
    phone.answers(0, 0, 0, 1)
    for (gap, epsilon), (clock, register) in zip(steps, lies, strict=False):
        day += gap
        who = data.draw(st.sampled_from(["ann", "ben"]))
        phone.answers(day, clock, day if who == "ann" else day + abs(register), epsilon, who)
    assert phone.most() <= 20


@given(DAYS, DAYS, DAYS, st.lists(DAYS, max_size=5))
def test_a_clock_set_back_makes_more_count(
    clock: int, later: int, register: int, days: list[int]
) -> None:
    clock, later = sorted((clock, later))
    ledger = tuple(entry(written(day)) for day in days)
    memory = known(ann=register)
    back, on = (
        spent(ledger, "0" * 64, ANN, counted_since(memory, ANN, written(each)))["overall"].exponent
        for each in (clock, later)
    )
    assert back >= on
