"""How long the experiments of the lab take, each by itself, and the handout of all."""

from __future__ import annotations

from time import perf_counter

from sheet import Sheet, duration

from deniably.lab.catalogue import entries
from deniably.lab.experiment import handout

EACH, ALL = 2.0, 20.0
"""Seconds that are promised for one experiment, and for all of them."""


def measure(sheet: Sheet) -> None:
    """One experiment after the other with its defaults, then the page of all."""
    sheet.section("The lab's experiments, as they come")
    began = perf_counter()
    made = []
    for entry in list(entries().values())[: 3 if sheet.quick else None]:
        start = perf_counter()
        made.append(entry.run())
        _figure(sheet, entry.name, perf_counter() - start, EACH)
    handout("The lab", made, "")
    _figure(sheet, "the handout of all", perf_counter() - began, ALL)


def _figure(sheet: Sheet, name: str, took: float, goal: float) -> None:
    sheet.figure(name, duration(took), f"below {goal:g} s", took < goal)
