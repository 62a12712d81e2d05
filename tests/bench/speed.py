"""Perturbing in bulk and on the device, tallying and estimating."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
from sheet import Sheet, duration, rate, seconds_of

import browser
from deniably.core.coins import Coins
from deniably.estimation.estimate import estimate
from deniably.estimation.tally import tally, tally_packed
from deniably.mechanisms.subset_selection import SubsetSelection, subset_selection
from deniably.simulation.bulk import randomise_many
from deniably.survey.privacy import Privacy

GOAL_BULK = 20e6
GOAL_DEVICE = 100e3
SIZES = (2, 16, 128)
# Up to 20 choices a table has all subsets; up to 65 a count is split between lanes of 16; beyond,
# two halves are matched by size where they are much alike.
BULK_SIZES = (2, 16, 21, 64, 128, 256, 1024)
GOALS_BULK = {16: GOAL_BULK, 64: 20e6, 1024: 2e6}


class Ours(NamedTuple):
    """Reports a second of the clock on the wall at epsilon 1, for each number of choices."""

    bulk: dict[int, float]
    device: dict[int, float]
    aggregate: dict[int, float]


def mechanism(k: int, epsilon: float = 1) -> SubsetSelection:
    return subset_selection(k, *Privacy(epsilon=Fraction(epsilon)).weights())


def measure(sheet: Sheet) -> Ours:
    ours = Ours(
        bulk={k: bulk_rate(k, sheet.quick, perf_counter) for k in SIZES},
        device={k: device_rate(k, sheet.quick) for k in SIZES},
        aggregate={k: aggregate_rate(k, sheet.quick) for k in SIZES},
    )
    sheet.section("Reports perturbed in bulk, one core, epsilon 1, processor time")
    for k in BULK_SIZES:
        per_second = bulk_rate(k, sheet.quick, process_time)
        name = f"k = {k}, omega = {mechanism(k).omega}"
        rate_figure(sheet, name, per_second, GOALS_BULK.get(k))
    sheet.section("Reports perturbed one by one on the device, epsilon 1, new coins each")
    for k, per_second in ours.device.items():
        rate_figure(sheet, f"Python, k = {k}", per_second, GOAL_DEVICE if k == 16 else None)
    try:
        for k, per_second in browser.rates({k: mechanism(k) for k in SIZES}, sheet.quick).items():
            rate_figure(sheet, f"Chromium, k = {k}", per_second, GOAL_DEVICE if k == 16 else None)
    except browser.Missing as missing:
        sheet.note(f"Chromium: not measured, {missing}")
    tallies(sheet)
    return ours


def rate_figure(sheet: Sheet, name: str, per_second: float, goal: float | None) -> None:
    if goal is None:
        sheet.figure(name, rate(per_second))
    else:
        sheet.figure(name, rate(per_second), rate(goal), per_second >= goal)


def bulk_rate(k: int, quick: bool, clock: Callable[[], float]) -> float:
    n = (8_000_000 if k < 128 else 1_000_000) // (200 if quick else 1)
    channel, answers = mechanism(k), np.arange(n) % k
    return n / seconds_of(lambda: randomise_many(channel, answers), 1 if quick else 9, clock)


def device_rate(k: int, quick: bool) -> float:
    n, channel = 300 if quick else 20_000, mechanism(k)
    answers = [index % k for index in range(n)]

    def one_by_one() -> None:
        for answer in answers:
            channel.randomise(answer, Coins())

    return n / seconds_of(one_by_one, 1 if quick else 7)


def aggregate_rate(k: int, quick: bool) -> float:
    """From Python lists, which is how the other libraries take their reports."""
    n, channel = 500 if quick else 50_000, mechanism(k)
    lists = listed(channel, n)
    return n / seconds_of(lambda: estimate(tally(lists, k), channel), 1 if quick else 7)


def listed(channel: SubsetSelection, n: int) -> list[list[int]]:
    packed = randomise_many(channel, np.arange(n) % channel.k)
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    reports: list[list[int]] = np.nonzero(bits)[1].reshape(n, channel.omega).tolist()
    return reports


def tallies(sheet: Sheet) -> None:
    n = 2_000 if sheet.quick else 1_000_000
    rounds = 1 if sheet.quick else 7
    sheet.section(f"Tally and estimate of {n:,} reports, k = 16, epsilon 1")
    channel = mechanism(16)
    packed = randomise_many(channel, np.arange(n) % 16)
    from_packed = seconds_of(lambda: estimate(tally_packed(packed, 16), channel), rounds)
    sheet.figure("from packed reports", duration(from_packed))
    reports = listed(channel, n)
    from_lists = seconds_of(lambda: estimate(tally(reports, 16), channel), rounds)
    sheet.figure("from Python lists", duration(from_lists))
    counted = tally_packed(packed, 16)
    rounds = 1 if sheet.quick else 99
    alone = seconds_of(lambda: estimate(counted, channel), rounds)
    sheet.figure("the estimate alone", duration(alone))
