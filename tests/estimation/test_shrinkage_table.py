"""Large cross-tables as pictures show them: on the simplex, and nearer to the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.estimation.crosstab import pair_kinds
from deniably.estimation.shrinkage_table import shrunken_table
from support.table_sweep import SHAPES, TableDesign, table_sweep

SMALL = [
    TableDesign(*each) for each in ((5, 5, 1.0, 10_000), (5, 5, 2.0, 1000), (10, 10, 1.0, 5000))
]
LARGE = [
    *SMALL,
    *(
        TableDesign(*each)
        for each in (
            (5, 5, 4.0, 300), (8, 8, 3.0, 500), (10, 10, 1.0, 10_000), (20, 20, 2.0, 5000),
            (7, 7, 0.5, 1000), (6, 6, 8.0, 200),
        )
    ),
]  # fmt: skip
RECTANGULAR = [
    TableDesign(*each)
    for each in (
        (4, 7, 2.0, 1000), (4, 25, 1.0, 5000), (5, 20, 2.0, 2000), (7, 4, 1.0, 2000),
        (20, 6, 3.0, 1000),
    )
]  # fmt: skip
THIN = [TableDesign(*each) for each in ((2, 13, 1.0, 2000), (3, 9, 1.0, 2000), (2, 30, 3.0, 1000))]


def geometric_and_worst(designs: list[TableDesign], repeats: int) -> tuple[float, float]:
    ratios = np.array([cell.ratio for cell in table_sweep(designs, SHAPES, repeats, seed=1973)])
    return float(np.exp(np.log(ratios).mean())), float(ratios.max())


def test_cells_are_nearer_to_the_truth_than_the_nearest_point_of_the_simplex() -> None:
    """A small part of the sweep of ``make soak``, of a fixed seed."""
    geometric, worst = geometric_and_worst(SMALL, 4)

    assert geometric <= 0.65
    assert worst <= 1.3


@pytest.mark.soak
@pytest.mark.parametrize(("designs", "most"), [(LARGE, 1.15), (RECTANGULAR, 1.2), (THIN, 1.4)])
def test_every_shape_and_design_is_shown_near_to_the_truth(
    designs: list[TableDesign], most: float
) -> None:
    geometric, worst = geometric_and_worst(designs, 40)

    assert geometric <= 0.65
    assert worst <= most


@given(st.integers(2, 7), st.integers(2, 7), st.integers(1, 60), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_cells_of_any_reports_sum_to_1(k1: int, k2: int, n: int, random: object) -> None:
    generator = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    first, second = generator.random((n, k1)) < 0.4, generator.random((n, k2)) < 0.6
    both = first.astype(int).T @ second.astype(int)
    kinds = pair_kinds(n, first.sum(axis=0), second.sum(axis=0), both)
    rates = (0.6, 0.2), (0.999, 0.001)

    shown = shrunken_table(kinds, rates)

    assert np.isfinite(shown).all()
    assert (shown >= 0).all()
    assert shown.sum() == pytest.approx(1)
    turned = shrunken_table(
        pair_kinds(n, second.sum(axis=0), first.sum(axis=0), both.T), rates[::-1]
    )
    np.testing.assert_allclose(shown, turned.T, atol=1e-9)
