"""Groups on a map, from shares of areas alone, with their uncertainty."""

from __future__ import annotations

import numpy as np
import pytest

from deniably.clusters import clusters
from deniably.questions import Point
from deniably.tally import Tally
from every_type import survey_of_everything

(HOME,) = [question for question in survey_of_everything().questions if isinstance(question, Point)]


def tally_of(shares: dict[tuple[int, int], float], n: int) -> Tally:
    """The tally that n people in these areas (column, row) would have without chance."""
    truth = np.zeros((HOME.grid, HOME.grid))
    for area, share in shares.items():
        truth[area] = share
    p, q = float(HOME.mechanism.p), float(HOME.mechanism.q)
    return Tally(n, np.rint(n * (q + (p - q) * truth.ravel())).astype(np.int64))


TWO_TOWNS = {(1, 5): 0.3, (2, 5): 0.3, (6, 2): 0.4}


def test_two_towns_are_found_where_they_are() -> None:
    """41 kilometres of 8 areas: area 1 to 2 in the west, 6 in the east."""
    found = clusters(HOME, tally_of(TWO_TOWNS, 100_000), 2, seed=1)

    west, east = found.groups
    assert west.centre == pytest.approx((-20.5 + 41 * 2 / 8, -20.5 + 41 * 5.5 / 8), abs=0.1)
    assert east.centre == pytest.approx((-20.5 + 41 * 6.5 / 8, -20.5 + 41 * 2.5 / 8), abs=0.1)
    assert west.share == pytest.approx(0.6, abs=1e-3)
    assert found.spread == pytest.approx(0.6 * 0.0625**2, abs=1e-3), "half an area either way"


def test_more_people_make_the_groups_surer() -> None:
    few, many = (
        clusters(HOME, tally_of(TWO_TOWNS, n), 2, seed=1).groups[0] for n in (2_000, 200_000)
    )

    assert 0 < many.centre_error < few.centre_error / 3
    assert 0 < many.share_error < few.share_error / 3


def test_what_cannot_be_grouped_is_refused() -> None:
    with pytest.raises(ValueError, match="from 1 to 64"):
        clusters(HOME, tally_of(TWO_TOWNS, 100), 0)
    with pytest.raises(ValueError, match="at least one report"):
        clusters(HOME, Tally(0, np.zeros(64, dtype=np.int64)), 2)
