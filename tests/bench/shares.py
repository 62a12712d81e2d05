"""Shares for display against the nearest point of the simplex, over 280 cells of 40 designs.

The simulated respondents are the same in every survey of a cell, and errors are those against
their own shares. Seeds are fixed, so a run can be repeated.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sheet import Sheet, duration, seconds_of

from deniably.estimation.shrinkage import shrunken

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.designs import Design, surveys, true_shares
from support.share_sweep import DESIGNS, SHAPES, Cell, summary, sweep

LINE = {0.5: 1.9, 1.0: 0.75, 2.0: 0.24, 4.0: 0.045}
"""At 128 choices, 10,000 people and Zipf 1.1: the goal for the mean squared error (x 1e-4)."""


def measure(sheet: Sheet) -> None:
    sheet.section("Squared error of shares for display / nearest point of the simplex")
    designs = DESIGNS[::18] if sheet.quick else DESIGNS
    cells: list[Cell] = []
    for design in designs:
        sheet.progress(f"shares for display, {design}")
        large = design.k * design.n > 100_000
        cells += sweep([design], SHAPES, 1 if sheet.quick else 6 if large else 20, seed=1)
    found = summary(cells)
    of = f"of {len(cells)} cells"
    sheet.figure(f"geometric mean {of}", f"{found.geometric:.3f}", "<= 0.5", found.geometric <= 0.5)
    sheet.figure(f"part {of} below 1.3", f"{found.below:.3f}", ">= 0.97", found.below >= 0.97)
    worst = found.worst_design
    sheet.figure("worst design, all shapes together", f"{worst:.2f}", "<= 1", worst <= 1)
    lost = sorted((cell for cell in cells if cell.ratio > 1.05), key=lambda cell: -cell.ratio)
    sheet.note(f"It loses by more than 5 % in {len(lost)} {of}:")
    for cell in lost:
        sheet.note(f"   {cell.ratio:.2f}  {cell.shape:<10} {named(cell.design)}")
    for epsilon, most in list(LINE.items())[:: 4 if sheet.quick else 1]:
        design = Design(128, epsilon, 10_000)
        (cell,) = sweep([design], ["zipf1.1"], 1 if sheet.quick else 16, seed=2)
        error, nearest = (1e4 / design.k * each for each in (cell.shrunken, cell.projected))
        name = f"{named(design)}, Zipf 1.1 (x 1e-4)"
        sheet.figure(name, f"{error:.3f} ({nearest:.3f})", f"<= {most:g}", error <= most)
    design = Design(128, 1.0, 10_000)
    ((_, tally),) = surveys(design, true_shares("zipf1.1", design.k), 1, seed=2)
    p, q = float(design.mechanism.p), float(design.mechanism.q)
    took = seconds_of(lambda: shrunken(tally.counts, tally.n, p, q), 5)
    sheet.figure(f"{named(design)}, once", duration(took))


def named(design: Design) -> str:
    return f"k = {design.k}, epsilon {design.epsilon:g}, n = {design.n:,}"
