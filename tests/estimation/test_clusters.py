"""Groups on a map, from shares of areas alone, with their uncertainty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from deniably.estimation.clusters import clusters
from deniably.estimation.tally import Tally
from deniably.survey.questions import Point
from support.every_type import survey_of_everything

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
    found = clusters(HOME, tally_of(TWO_TOWNS, 100_000), 2, resamples=0)

    west, east = found.groups
    assert west.centre == pytest.approx((-20.5 + 41 * 2 / 8, -20.5 + 41 * 5.5 / 8), abs=0.1)
    assert east.centre == pytest.approx((-20.5 + 41 * 6.5 / 8, -20.5 + 41 * 2.5 / 8), abs=0.1)
    assert west.share == pytest.approx(0.6, abs=1e-3)
    assert found.spread == pytest.approx(0.6 * 0.0625**2, abs=1e-3), "half an area either way"


def test_more_people_make_the_groups_surer() -> None:
    few, many = (
        clusters(HOME, tally_of(TWO_TOWNS, n), 2, resamples=12, seed=1).groups[0]
        for n in (2_000, 200_000)
    )

    assert 0 < many.centre_error < few.centre_error / 3
    assert 0 < many.share_error < few.share_error / 3


def test_clustering_keeps_to_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the process allows: here two, and as many again afterwards."""
    from sklearn.cluster import KMeans  # half a second, which no other test needs

    seen = list[int]()

    class Watched(KMeans):  # type: ignore[misc]
        def fit(self, *given: Any, **named: Any) -> Any:
            seen.extend(threads())
            return super().fit(*given, **named)

        def predict(self, *given: Any) -> Any:
            seen.extend(threads())
            return super().predict(*given)

    monkeypatch.setattr("sklearn.cluster.KMeans", Watched)
    with threadpool_limits(2):
        clusters(HOME, tally_of(TWO_TOWNS, 1000), 2, resamples=1)
        assert set(threads()) == {2}

    assert len(seen) >= 4
    assert set(seen) == {1}


def threads() -> list[int]:
    """How many threads each pool of OpenMP may use; scikit-learn has one."""
    found = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]
    assert found
    return found


def test_what_cannot_be_grouped_is_refused() -> None:
    with pytest.raises(ValueError, match="from 1 to 64"):
        clusters(HOME, tally_of(TWO_TOWNS, 100), 0)
    with pytest.raises(ValueError, match="at least one report"):
        clusters(HOME, Tally(0, np.zeros(64, dtype=np.int64)), 2)


def a_survey(shares: dict[tuple[int, int], float], n: int, random: np.random.Generator) -> Tally:
    """The tally of a survey of n people as devices make it: whole subsets, drawn from fixed seeds.

    A report has its own area with probability p, and the rest of it are others, all alike.
    """
    mechanism = HOME.mechanism
    areas = [column * HOME.grid + row for column, row in shares]
    answers = random.choice(areas, size=n, p=list(shares.values()))
    keys = random.random((n, mechanism.k))
    own = random.random(n) < float(mechanism.p)
    keys[np.arange(n), answers] = np.where(own, -1.0, 2.0)
    reports = np.argpartition(keys, mechanism.omega - 1, axis=1)[:, : mechanism.omega]
    return Tally(n, np.bincount(reports.ravel(), minlength=mechanism.k).astype(np.int64))


def test_the_stated_errors_are_those_of_surveys_made_again() -> None:
    """40 surveys of 1,500 people, all made by the devices' law. What is stated is an estimate
    itself, so within a third; without the noise of privacy it would be a third of it."""
    n, random = 1500, np.random.default_rng(2016)
    stated = clusters(HOME, tally_of(TWO_TOWNS, n), 2, resamples=40, seed=1).groups

    found = [
        clusters(HOME, a_survey(TWO_TOWNS, n, random), 2, resamples=0).groups for _ in range(40)
    ]

    for group in stated:
        places = np.array(
            [
                min(
                    ((*other.centre, other.share) for other in one),
                    key=lambda at: float(np.hypot(*np.subtract(at[:2], group.centre))),
                )
                for one in found
            ]
        )
        moved = np.hypot(*(places[:, :2] - group.centre).T)
        centre = float(np.sqrt((moved**2).mean()))
        share = float(np.sqrt(((places[:, 2] - group.share) ** 2).mean()))
        assert 2 / 3 < group.centre_error / centre < 3 / 2
        assert 2 / 3 < group.share_error / share < 3 / 2


def test_the_same_reports_always_give_the_same_figures() -> None:
    first, again, other = (
        [one.share_error for one in clusters(HOME, tally_of(TWO_TOWNS, n), 2, resamples=9).groups]
        for n in (3_000, 3_000, 3_001)
    )

    assert first == pytest.approx(again, rel=1e-9)
    assert first != pytest.approx(other, rel=1e-9)
