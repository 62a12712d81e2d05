"""How fine a map may be: suggested by how many people report, and checked on simulated maps."""

from __future__ import annotations

import numpy as np
import pytest

from deniably.authoring.compiling import compile_survey, publish_text
from deniably.core.binomial import Floats
from deniably.design import gridding
from deniably.design.gridding import (
    best_grid,
    even_grid,
    grid_note,
    map_error,
    suggested,
    uneven_note,
)
from deniably.design.planning import plan_figures
from deniably.estimation.shrinkage import shrunken
from deniably.mechanisms.subset_selection import subset_selection
from deniably.survey.questions import Point

E = 2.718281828459045
FINE = 240
"""Cells of a side of the true maps; a multiple of every grid that is tried."""


def town(east: float, north: float, spread: float) -> Floats:
    """The density of people around a place, over the unit square."""
    at = (np.arange(FINE) + 0.5) / FINE
    away = (at[:, None] - east) ** 2 + (at[None, :] - north) ** 2
    density: Floats = np.exp(-away / (2 * spread**2))
    return density / density.mean()


TOWNS = {
    "one": town(0.4, 0.55, 0.1),
    "two": (town(0.3, 0.3, 0.08) + town(0.7, 0.6, 0.08)) / 2,
    "a region": town(0.5, 0.45, 0.2),
    "a town and its land": 0.4 + 0.6 * town(0.35, 0.6, 0.08),
}


def error(density: Floats, grid: int, epsilon: float, n: int) -> float:
    """The integrated squared error of the map that is shown, the mean of three."""
    cells = density.reshape(grid, FINE // grid, grid, FINE // grid).mean((1, 3)).ravel()
    shares = cells / grid**2
    mechanism = subset_selection(grid**2, round(E**epsilon * 1000), 1000)
    p, q = float(mechanism.p), float(mechanism.q)
    random, found = np.random.default_rng(5), 0.0
    for _ in range(3):
        own = random.multinomial(n, shares)
        counts = random.binomial(own, p) + random.binomial(n - own, q)
        found += float(((shrunken(counts, n, p, q) - shares) ** 2).sum())
    return float((density**2).mean() - (cells**2).mean()) + grid**2 * found / 3


@pytest.mark.parametrize(("epsilon", "n"), [(1, 500), (1, 2000), (2, 2000)])
def test_the_suggested_grid_is_near_the_best_and_far_better_than_a_fine_one(
    epsilon: float, n: int
) -> None:
    """Over four maps; each alone has a best grid of its own."""
    own = round(E**epsilon * 1000)
    pick = best_grid(own, 1000, n)
    grids = (3, 4, 6, 8, 12)
    tried = min(grids, key=lambda grid: (abs(grid - pick), grid))
    found = {
        grid: np.array([error(density, grid, epsilon, n) for density in TOWNS.values()])
        for grid in grids
    }

    def times(grid: int, other: int) -> float:
        """The geometric mean over the maps."""
        return float(np.exp(np.log(found[grid] / found[other]).mean()))

    assert min(times(grid, tried) for grid in grids) > 0.75
    assert times(12, tried) > 1.5


@pytest.mark.parametrize("areas", [4, 36, 256])
@pytest.mark.parametrize("noise", [1e-4, 0.02, 3.0])
def test_the_shift_is_that_of_halving_alone(areas: int, noise: float) -> None:
    """To the last bit, though most of the halves are told by a few of Newton's steps."""
    random = np.random.default_rng(areas)
    shares, deviations = random.dirichlet(np.ones(areas)), noise * random.uniform(1, 2, areas)
    low, high = -float(deviations.max()), 8 * float(deviations.max()) + 1
    for _ in range(40):
        middle = (low + high) / 2
        mean, *_ = gridding._positive_part(shares - middle, deviations)
        low, high = (middle, high) if mean.sum() > 1 else (low, middle)

    assert gridding._shift(shares, deviations) == high


@pytest.mark.parametrize("epsilon", [0.5, 2, 6])
@pytest.mark.parametrize("n", [30, 3000])
def test_more_people_and_weaker_protection_never_make_a_map_coarser(epsilon: float, n: int) -> None:
    own = round(E**epsilon * 1000)

    assert best_grid(own, 1000, 10 * n, 16) >= best_grid(own, 1000, n, 16) >= 2
    assert best_grid(2 * own, 1000, n, 16) >= best_grid(own, 1000, n, 16)
    assert map_error(own, 1000, 12, 10 * n) < map_error(own, 1000, 12, n)


def map_of(more: str = "", reach: int = 100) -> Point:
    survey = publish_text(
        "name: s\ntitle: S\nquestions:\n"
        f"  - {{name: home, type: point, label: Home, epsilon: 1{more}, parts: ["
        f" {{name: x, label: X, minimum: 0, maximum: {reach}}},"
        f" {{name: y, label: Y, minimum: 0, maximum: 100}}]}}"
    )
    (question,) = survey.questions
    assert isinstance(question, Point)
    return question


def test_a_note_says_which_grid_errs_less_and_how_much() -> None:
    question = map_of(", grid: 12")
    best = suggested(question, 2000)

    note = grid_note(question, [2000])

    assert 3 <= best.grid <= 6
    assert best.times > 2
    assert note == (
        f"with 2,000 respondents grid: {best.grid} errs least, and grid: 12 {best.times:.1f}"
        " times as much"
    )
    assert grid_note(map_of(f", grid: {best.grid}"), [2000]) == ""
    assert grid_note(question, [8000], 0.25) == note.replace("2,000", "8,000")


def test_no_grid_is_suggested_that_a_part_cannot_have() -> None:
    question = map_of(", grid: 2", reach=3)

    assert suggested(question, 10**6).grid <= 4
    assert "grid: 4 errs least" in grid_note(question, [10**6])


def test_the_plan_of_a_map_tells_which_grid_suits_its_respondents() -> None:
    text = (
        "name: s\ntitle: S\nquestions:\n  - {name: home, type: point, label: Home, epsilon: 1,"
        " grid: 12, parts: [{name: x, label: X, minimum: 0, maximum: 99},"
        " {name: y, label: Y, minimum: 0, maximum: 99}]}"
    )
    survey = publish_text(text)

    (by_n,) = plan_figures(survey, n=2000)
    (by_margin,) = plan_figures(survey, margin=0.04)

    assert "with 2,000 respondents grid: " in by_n.note
    assert f"with {by_margin.plan.n:,} respondents grid: " in by_margin.note


@pytest.mark.parametrize(
    ("usual", "sides", "grid"),
    [
        (8, [21, 21], 7), (8, [16, 24], 8), (8, [101, 101], 8), (8, [100, 100], 8),
        (12, [10, 100], 10), (16, [20, 40], 16), (4, [6, 6], 3), (2, [3, 3], 2),
    ],
)  # fmt: skip
def test_areas_are_alike_where_a_grid_near_the_usual_makes_them_so(
    usual: int, sides: list[int], grid: int
) -> None:
    assert even_grid(usual, sides) == grid


def test_unequal_areas_are_told_with_what_makes_them_alike() -> None:
    assert uneven_note(asked(-5, 5, 4)) == (
        "along east and north some areas hold 2 numbers and others 3, and are drawn so; alike they"
        " are with east up to 6 and north up to 6"
    )
    assert uneven_note(asked(-5, 6, 4)) == ""
    assert uneven_note(asked(0, 99, 8)) == "", "twelve or thirteen"
    assert uneven_note(asked(0, 14, 4)).endswith(
        "alike they are with grid: 3, or with east up to 15 and north up to 15"
    )


def asked(low: int, high: int, grid: int) -> Point:
    """A map of whole numbers."""
    side = {"minimum": low, "maximum": high}
    question = {
        "name": "home", "type": "point", "label": "H", "epsilon": 1, "grid": grid,
        "parts": [{"name": name, "label": name, **side} for name in ("east", "north")],
    }  # fmt: skip
    (found,) = compile_survey({"name": "s", "title": "T", "questions": [question]}).questions
    assert isinstance(found, Point)
    return found
