"""Which subgroups have results: none of which, or of whose remainders, are too few people."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.results.subgroups import all_shown, every_subgroup, shown_subgroups
from deniably.survey.strata import members

SITES = {"site": ["north", "south"]}
THREE = {"site": ["east", "north", "south"]}
BOTH = {"site": ["north", "south"], "shift": ["day", "night"]}
CUBE = {key: ["x", "y"] for key in "abc"}


def texts(found: list[dict[str, str]]) -> list[str]:
    return [",".join(one.values()) for one in found]


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ((500, 500), ["north", "south"]),
        ((100, 100), ["north", "south"]),
        ((500, 3), []),
        ((500, 99), []),
        ((500, 0), ["north"]),
        ((0, 500), ["south"]),
    ],
)
def test_of_two_sites_one_with_few_reports_hides_the_other(
    counts: tuple[int, int], shown: list[str]
) -> None:
    assert texts(shown_subgroups(SITES, [[n] for n in counts], 100)) == shown


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ((500, 300, 3), ["east"]),
        ((500, 60, 60), ["east"]),
        ((500, 300, 200), ["east", "north", "south"]),
        ((300, 500, 3), ["north"]),
        ((40, 40, 40), []),
    ],
)
def test_of_three_sites_the_smallest_others_hide_with_it(
    counts: tuple[int, int, int], shown: list[str]
) -> None:
    assert texts(shown_subgroups(THREE, [[n] for n in counts], 100)) == shown


def test_a_cell_of_two_keys_is_not_given_away_by_their_margins() -> None:
    counts = [[500], [500], [500], [3]]  # day north, day south, night north, night south

    shown = shown_subgroups(BOTH, counts, 100)

    assert sorted(texts(shown)) == ["day", "night", "north", "south"], "and no cell at all"


def test_every_question_needs_enough_reports() -> None:
    assert shown_subgroups(SITES, [[500, 99], [500, 500]], 100) == []
    assert len(shown_subgroups(SITES, [[500, 100], [500, 500]], 100)) == 2


def test_subgroups_are_made_of_the_strata_that_they_name() -> None:
    assert len(every_subgroup(CUBE)) == 3**3 - 1
    assert members(BOTH, {}) == [0, 1, 2, 3]
    assert members(BOTH, {"shift": "night"}) == [2, 3]
    assert members(BOTH, {"shift": "night", "site": "south"}) == [3]


def can_be_worked_out(rows: list[list[int]], part: tuple[int, ...]) -> bool:
    """By least squares in floating point, which shares nothing with the code under test."""
    matrix = np.array(rows, dtype=float).T
    found = np.linalg.lstsq(matrix, np.array(part, dtype=float), rcond=None)[0]
    return bool(np.allclose(matrix @ found, part, atol=1e-9))


@given(
    st.sampled_from([SITES, THREE, BOTH, CUBE, {"year": [f"y{i}" for i in range(8)]}]), st.data()
)
def test_nothing_small_can_be_worked_out_from_all_that_is_shown(
    strata: dict[str, list[str]], data: st.DataObject
) -> None:
    size = len(members(strata, {}))
    counts = data.draw(st.lists(st.integers(0, 30), min_size=size, max_size=size))
    minimum = data.draw(st.integers(1, 40))

    shown = shown_subgroups(strata, [[n] for n in counts], minimum)

    rows = [[1] * size]
    rows += [[int(i in members(strata, one)) for i in range(size)] for one in shown]
    if sum(counts) >= minimum:
        for part in product((0, 1), repeat=size):
            people = sum(n for n, inside in zip(counts, part, strict=True) if inside)
            if 0 < people < minimum:
                assert not can_be_worked_out(rows, part), (counts, minimum, shown, part)


@given(st.sampled_from([SITES, THREE, BOTH]), st.data(), st.integers(1, 9))
def test_whole_reports_have_their_strata_exactly_if_each_has_enough_for_every_question(
    strata: dict[str, list[str]], data: st.DataObject, minimum: int
) -> None:
    size = len(members(strata, {}))
    of_one = st.lists(st.integers(0, 12), min_size=2, max_size=2)
    counts = data.draw(st.lists(of_one, min_size=size, max_size=size))

    assert all_shown(strata, counts, minimum) is all(min(one) >= minimum for one in counts)
