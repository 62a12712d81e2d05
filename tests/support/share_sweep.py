"""How far shares for display are from the truth, over designs and shapes of the truth: against
those of the nearest point of the simplex, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from deniably.estimation.estimate import estimate
from deniably.estimation.shrinkage import shrunken, within
from support.designs import Design, surveys, true_shares

SHAPES = ("flat", "zipf1.1", "halving", "three", "one", "five", "two levels")
DESIGNS = [
    Design(*each) for each in product((5, 10, 20, 50, 128), (0.5, 1.0, 2.0, 4.0), (200, 10_000))
]
"""40 designs: with the seven shapes 280 cells."""


class Cell(NamedTuple):
    """The mean squared distances from the respondents' shares, summed over the choices."""

    design: Design
    shape: str
    shrunken: float
    projected: float

    @property
    def ratio(self) -> float:
        return self.shrunken / self.projected


def sweep(
    designs: Iterable[Design], shapes: Iterable[str], repeats: int, seed: int
) -> Iterator[Cell]:
    """Every cell; raises AssertionError where a share is shown outside its own interval."""
    for design, shape in product(designs, shapes):
        mechanism, errors = design.mechanism, np.zeros(2)
        p, q = float(mechanism.p), float(mechanism.q)
        truth = true_shares(shape, design.k)
        for here, tally in surveys(design, truth, repeats, seed, drawn=False):
            found = estimate(tally, mechanism)
            ours = within(shrunken(tally.counts, tally.n, p, q), found.low, found.high)
            assert ((found.low <= ours) & (ours <= found.high)).all()
            errors += [((shown - here) ** 2).sum() for shown in (ours, found.consistent)]
        yield Cell(design, shape, *(errors / repeats).tolist())


class Summary(NamedTuple):
    """The geometric mean of the ratios, the share of the cells below 1.3, and the largest ratio of
    a design over all shapes together."""

    geometric: float
    below: float
    worst_design: float


def summary(cells: list[Cell]) -> Summary:
    ratios = np.array([cell.ratio for cell in cells])
    designs = {
        design: [cell for cell in cells if cell.design == design]
        for design in {cell.design for cell in cells}
    }
    worst = max(
        sum(cell.shrunken for cell in some) / sum(cell.projected for cell in some)
        for some in designs.values()
    )
    return Summary(float(np.exp(np.log(ratios).mean())), float((ratios < 1.3).mean()), worst)
