"""Raking: rare combinations, agreement with iterative fitting, and truthful refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import deniably as dn
from deniably.core.errors import BadModel, NoEstimate
from deniably.workbench.models.raking import rake

Codes = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]


def table(*cells: tuple[str, str, int]) -> dict[str, list[str]]:
    """Rows of two columns, so many of each kind."""
    return {
        name: [cell[place] for cell in cells for _ in range(cell[2])]
        for place, name in ((0, "site"), (1, "sex"))
    }


def fitted_in_rounds(codes: list[Codes], wanted: list[Shares], rounds: int) -> Shares | None:
    """Iterative proportional fitting (Deming and Stephan 1940); None where it does not end."""
    n = len(codes[0])
    weights = np.ones(n)
    for _ in range(rounds):
        worst = 0.0
        for column, shares in zip(codes, wanted, strict=True):
            now = np.bincount(column, weights, len(shares)) / n
            worst = max(worst, float(abs(now - shares).max()))
            weights = weights * (shares / now)[column]
        if worst < 1e-12:
            return weights
    return None


def test_a_combination_of_two_rows_in_two_thousand_is_no_hindrance() -> None:
    """North and m can make up for 1e-6; a thousand rounds of fitting end too early."""
    frame = table(("north", "f", 1000), ("south", "m", 1000), ("north", "m", 2))
    shares = {"north": 0.500001, "south": 0.499999}
    weights = rake(frame, {"site": shares, "sex": {"f": 0.5, "m": 0.5}})

    site, sex = np.array(frame["site"]), np.array(frame["sex"])
    assert weights[site == "north"].sum() / 2002 == pytest.approx(0.500001, rel=1e-12)
    assert weights[sex == "m"].sum() / 2002 == pytest.approx(0.5, rel=1e-12)
    assert weights[(site == "north") & (sex == "m")].sum() / 2002 == pytest.approx(1e-6, rel=1e-6)


def tables(count: int) -> list[tuple[list[Codes], list[Shares]]]:
    """Random tables of 3 by 4 values, sparse and uneven."""
    generator, found = np.random.default_rng(8), list[tuple[list[Codes], list[Shares]]]()
    for _ in range(count):
        n = int(generator.integers(20, 300))
        first, second = (
            np.r_[
                np.arange(k),
                generator.choice(k, n - k, p=generator.dirichlet(np.full(k, 0.4))),
            ]
            for k in (3, 4)
        )
        shares = [generator.dirichlet(np.full(k, 2)).clip(0.005) for k in (3, 4)]
        found.append(([first, generator.permutation(second)], [one / one.sum() for one in shares]))
    return found


def agrees_with_fitting_in_rounds(count: int, rounds: int) -> tuple[int, int]:
    met = refused = 0
    for codes, wanted in tables(count):
        expected = fitted_in_rounds(codes, wanted, rounds)
        names = [("first", codes[0], wanted[0]), ("second", codes[1], wanted[1])]
        frame = {name: column for name, column, _ in names}
        margins = {name: dict(enumerate(shares.tolist())) for name, _, shares in names}
        try:
            weights = rake(frame, margins)
        except NoEstimate:
            assert expected is None
            refused += 1
            continue
        met += 1
        for _, column, shares in names:
            assert np.bincount(column, weights) / len(column) == pytest.approx(shares, rel=1e-9)
        if expected is not None:
            assert weights == pytest.approx(expected, rel=1e-6)
        else:  # the rounds were too few
            assert rounds < 20_000
    return met, refused


@pytest.mark.filterwarnings("ignore:the largest weight")
def test_weights_are_those_of_many_rounds_of_fitting() -> None:
    met, refused = agrees_with_fitting_in_rounds(12, 3_000)
    assert met >= 3
    assert refused >= 3


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:the largest weight")
def test_three_hundred_tables_have_the_weights_of_many_rounds() -> None:
    met, refused = agrees_with_fitting_in_rounds(300, 20_000)
    assert met >= 100
    assert refused >= 100


def test_what_no_weights_meet_is_told_from_what_only_weights_of_0_meet() -> None:
    apart = table(("north", "f", 50), ("south", "m", 50))
    halves = {"site": {"north": 0.5, "south": 0.5}, "sex": {"f": 0.5, "m": 0.5}}
    off = {"site": {"north": 0.5, "south": 0.5}, "sex": {"f": 0.5 + 1e-9, "m": 0.5 - 1e-9}}
    with pytest.raises(NoEstimate, match="no weights meet all margins"):
        rake(apart, off)
    assert rake(apart, halves) == pytest.approx(np.ones(100))

    mixed = table(("north", "f", 50), ("south", "m", 50), ("north", "m", 5))
    with pytest.raises(NoEstimate, match="only by giving some rows no weight, such as those with"
                       " site north and sex m"):  # fmt: skip
        rake(mixed, halves)


def test_uneven_weights_warn() -> None:
    frame = table(("north", "f", 990), ("south", "f", 10))
    with pytest.warns(UserWarning, match="1,000 rows say as much as 12 without weights"):
        rake(frame, {"site": {"north": 0.1, "south": 0.9}})


@pytest.mark.parametrize(
    ("shares", "why"),
    [
        ({"north": 0.5, "south": 0.6}, "here they sum to 1.1"),
        ({"north": 1.0, "south": 0.0}, "some are not above 0"),
        ({"north": float("nan"), "south": 0.5}, "some are not above 0"),
        ({"north": "many", "south": 0.5}, "shares are numbers"),
        ({"north": None, "south": 0.5}, "shares are numbers"),
    ],
)
def test_shares_that_are_none_are_refused(shares: Any, why: str) -> None:
    with pytest.raises(BadModel, match=why):
        rake(table(("north", "f", 5), ("south", "m", 5)), {"site": shares})


def test_missing_values_are_refused_by_their_row() -> None:
    with pytest.raises(dn.BadModel, match="missing or not finite in 1 of 3 rows, first in row 2"):
        rake({"age": [1.0, np.nan, 2.0]}, {"age": {1.0: 0.5, 2.0: 0.5}})


def test_margins_that_sum_to_1_but_for_rounding_are_met() -> None:
    """Published shares sum to 1 within 1e-9, and not to the same number."""
    frame = table(("north", "f", 3), ("south", "m", 4), ("north", "m", 5), ("south", "f", 6))
    weights = rake(
        frame, {"site": {"north": 0.4 + 4e-10, "south": 0.6}, "sex": {"f": 0.3 - 4e-10, "m": 0.7}}
    )
    assert weights.mean() == pytest.approx(1, abs=1e-12)


def test_many_margins_do_not_overflow() -> None:
    """25 margins of 6 values have 2.8e19 combinations: more than a whole number of 64 bits."""
    generator = np.random.default_rng(3)
    frame = {f"v{i}": np.r_[np.arange(6), generator.integers(0, 6, 994)] for i in range(25)}
    weights = rake(frame, {name: dict.fromkeys(range(6), 1 / 6) for name in frame})

    for name, column in frame.items():
        shares = np.bincount(column, weights, 6) / 1_000
        assert shares == pytest.approx(np.full(6, 1 / 6), rel=1e-9), name
