"""How far the shown cells of cross-tables are from the truth, over designs and shapes of the truth:
against those of the nearest point of the simplex."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniably.estimation.crosstab import count_pairs, joint_score
from deniably.estimation.estimate import project
from deniably.estimation.shrinkage_table import shrunken_table
from support.designs import Design, support_bits, true_shares

Floats = npt.NDArray[np.float64]

SHAPES = ("mixed", "independent", "diagonal", "flat", "sparse", "two cells")


class TableDesign(NamedTuple):
    """A cross-table of two single choices with k1 and k2 choices, both at epsilon."""

    k1: int
    k2: int
    epsilon: float
    n: int


class TableCell(NamedTuple):
    """The squared distance of the shown table from the respondents' shares, over that of the
    nearest point of the simplex to the unbiased cells."""

    design: TableDesign
    shape: str
    ratio: float


def true_table(shape: str, k1: int, k2: int) -> Floats:
    """Joint shares; on the "diagonal" each category of the longer side has one of the other."""
    rows, columns = true_shares("zipf1", k1), true_shares("zipf1", k2)
    independent: Floats = np.outer(rows, columns)
    most = max(k1, k2)
    along = np.arange(most) * k1 // most, np.arange(most) * k2 // most
    diagonal, even = np.zeros((k1, k2)), np.zeros((k1, k2))
    np.add.at(diagonal, along, true_shares("zipf1", most))
    np.add.at(even, along, 1 / most)
    some = np.random.default_rng(3).permutation(k1 * k2)[: k1 + k2]
    two = np.zeros((k1, k2))
    two[0, 0], two[1, 1] = 0.7, 0.3
    return {
        "mixed": 0.7 * independent + 0.3 * diagonal,
        "independent": independent,
        "diagonal": diagonal,
        "flat": 0.5 / (k1 * k2) + 0.5 * even,
        "sparse": np.bincount(some, minlength=k1 * k2).reshape(k1, k2) / (k1 + k2),
        "two cells": two,
    }[shape]


def table_sweep(
    designs: Iterable[TableDesign], shapes: Iterable[str], repeats: int, seed: int
) -> Iterator[TableCell]:
    """Every design with every shape of the truth."""
    generator = np.random.default_rng(seed)
    for design, shape in product(designs, shapes):
        k1, k2, epsilon, n = design
        one, other = (Design(k, epsilon, n).mechanism for k in (k1, k2))
        rates = (float(one.p), float(one.q)), (float(other.p), float(other.q))
        errors = np.zeros(2)
        for _ in range(repeats):
            cells = generator.choice(k1 * k2, n, p=true_table(shape, k1, k2).ravel())
            here = np.bincount(cells, minlength=k1 * k2).reshape(k1, k2) / n
            pairs = count_pairs(
                support_bits(one, cells // k2, generator),
                support_bits(other, cells % k2, generator),
            )
            raw = pairs.kinds @ joint_score(*rates) / n
            nearest = project(raw.ravel()).reshape(k1, k2)
            shown = shrunken_table(pairs.kinds, rates)
            errors += ((shown - here) ** 2).sum(), ((nearest - here) ** 2).sum()
        yield TableCell(design, shape, float(errors[0] / errors[1]))
