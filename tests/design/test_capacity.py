"""Plans of machines are arithmetic on what one of each costs."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.design.capacity import (
    CENSUS,
    FIELDWORK,
    TELEMETRY,
    Fieldwork,
    Machines,
    Prices,
    plan_machines,
    two_digits,
)
from deniably.design.unit_costs import MEASURED, UnitCosts

ROUND = UnitCosts(
    **{
        field.name: replace(getattr(MEASURED, field.name), value=value)
        for field, value in zip(
            fields(UnitCosts), (1, 8, 50, 2, 3, 1000, 1, 0.01, 50, 200, 1, 9, 1, 10), strict=True
        )
    }
)
"""One for a connection, 8 for a form of 50 kB, 1 for a report: 10 ms of a core in all."""
ONE_DAY = Fieldwork("A day", waves=1, days=1, peak=10, months=12)


def test_a_plan_is_what_a_pencil_finds() -> None:
    """8.64 million in a day are 100 a second, and 1,000 at the peak: 10 cores in use, 20 in all."""
    plan = Machines(8_640_000, ONE_DAY, ROUND, Prices(0.05, 0.10, 0.05))

    assert (plan.average, plan.peak, plan.cores) == pytest.approx((100, 1000, 20))
    assert plan.collectors == 10
    assert plan.sent == pytest.approx(432), "GB"
    assert plan.line == pytest.approx(400), "Mbit/s"
    assert plan.database == pytest.approx(0.432), "GB"
    assert plan.parquet == pytest.approx(0.02592), "GB"
    assert plan.closing == pytest.approx(8.64), "10 us for 864,000 reports"
    assert plan.tally == pytest.approx(0.1296), "10 ns for 25.92 million answers, by two cores"
    cores, disks, sent = plan.money
    assert (cores, sent) == pytest.approx((20 * 24 * 0.05, 432 * 0.05))
    assert disks == pytest.approx((5 * 0.432 * (1 / 30 + 1) + 0.02592 * 12) * 0.10)


def test_each_wave_makes_the_register_longer_for_all_who_read_it() -> None:
    plan = Machines(1_000_000, replace(ONE_DAY, waves=101, form=False), ROUND)

    assert plan.sent == pytest.approx(101 * (3 + 50)), "the 0 to 100 waves before, 1 kB each"
    assert plan.line == pytest.approx(plan.peak * 103_000 * 8 / 1e6), "all of them at the end"
    assert plan.reports == 101_000_000


def test_what_a_device_reads_of_the_register_has_an_end() -> None:
    """Of older entries it has a hash for each 64 of them."""
    long, longer = (
        Machines(1_000_000, replace(ONE_DAY, waves=waves, form=False), ROUND)
        for waves in (127, 10_000)
    )
    assert long.line / long.peak == pytest.approx(longer.line / longer.peak)


@given(st.integers(1, 10**10), st.sampled_from(sorted(FIELDWORK)))
def test_nothing_is_asked_of_a_collector_that_it_has_not(people: int, name: str) -> None:
    plan = Machines(people, FIELDWORK[name])

    assert plan.collectors >= 1
    assert max(plan.strain.values()) <= plan.collectors
    assert plan.collectors - 1 < max(1, *plan.strain.values())
    twice = Machines(2 * people, FIELDWORK[name])
    for times, before in zip(twice.strain.values(), plan.strain.values(), strict=True):
        assert times == pytest.approx(2 * before)


def test_a_table_has_a_column_for_each_number_of_people() -> None:
    plan = plan_machines(CENSUS, [1_000_000, 100_000_000])

    assert [row["people"] for row in plan.rows] == [1_000_000, 100_000_000]
    assert {len(line) for line in plan.lines} == {3}
    assert plan.rows[1]["collectors"] == Machines(100_000_000, CENSUS).collectors


def test_devices_read_no_form() -> None:
    with_form = Machines(1_000_000, replace(TELEMETRY, form=True))

    assert with_form.sent > 1.5 * Machines(1_000_000, TELEMETRY).sent


@pytest.mark.parametrize(
    ("value", "text"), [(99.6, "100"), (0.0996, "0.10"), (1_049, "1,000"), (0, "0"), (7, "7.0")]
)
def test_a_number_has_two_digits_that_say_something(value: float, text: str) -> None:
    assert two_digits(value) == text
