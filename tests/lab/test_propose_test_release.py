"""Propose, test, release: the closed form, every way a small table is unstable, and its total."""

from __future__ import annotations

from itertools import combinations, product
from math import exp, log

import pytest

from deniably import lab
from deniably.lab import curator
from deniably.lab.catalogue import entries
from deniably.lab.curator import Added
from deniably.lab.experiment import Experiment
from deniably.lab.picture import DrawnRow, value
from deniably.mechanisms import Window
from support.every_type import survey_of_everything
from support.experiments import as_it_comes


@pytest.fixture(scope="module")
def default() -> Experiment:
    return as_it_comes("propose-test-release")


def rows(found: Experiment, what: str) -> list[DrawnRow]:
    return [row for row in found.rows if row["what"] == what]


def test_half_of_the_tables_at_distance_10_82_are_released(default: Experiment) -> None:
    (threshold,) = rows(default, "threshold")

    assert f"{value(threshold, 'distance'):.2f}" == "10.82"
    assert value(threshold, "distance") == pytest.approx(log(1 / 2e-5))
    assert value(threshold, "exact") == pytest.approx(0.5)


def test_test_and_release_spend_twice_epsilon(default: Experiment) -> None:
    (here,) = rows(default, "these people")

    assert (here["total"], here["delta"]) == (2, 1e-5)
    assert "epsilon 2 together, with delta 0.00001" in default.answer
    assert [value(row, "epsilon") for row in rows(default, "median")] == [pytest.approx(2)] * 3


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.3, 0.01), (2.0, 0.1)])
def test_releases_by_distance_are_the_tail_of_laplace_noise(epsilon: float, delta: float) -> None:
    for row in rows(lab.propose_test_release(epsilon=epsilon, delta=delta), "distance"):
        short = log(1 / (2 * delta)) / epsilon - value(row, "distance")
        tail = exp(-epsilon * short) / 2 if short >= 0 else 1 - exp(epsilon * short) / 2
        assert value(row, "exact") == pytest.approx(tail)


def test_the_distance_of_five_people_is_that_of_every_change() -> None:
    """Changing fewer of them leaves a median that no one person can move so far."""
    table, grid, proposed = (1, 2, 2, 2, 3), range(5), 1

    def moves(given: tuple[int, ...]) -> bool:
        here = sorted(given)[2]
        return any(
            abs(sorted((*given[:place], other, *given[place + 1 :]))[2] - here) > proposed
            for place in range(5)
            for other in grid
        )

    def changed(people: int) -> bool:
        for places in combinations(range(5), people):
            for others in product(grid, repeat=people):
                given = list(table)
                for place, other in zip(places, others, strict=True):
                    given[place] = other
                if moves(tuple(given)):
                    return True
        return False

    nearest = next(people for people in range(6) if changed(people))
    assert curator.median_distance(table, 0, 4, proposed) == nearest == 2


def test_people_who_are_closer_together_are_further_from_an_unstable_table() -> None:
    distances = [
        value(rows(lab.propose_test_release(n=n), "these people")[0], "distance")
        for n in (20, 200, 1000)
    ]

    assert distances == sorted(distances)
    assert distances[0] == 0, "one of 20 people moves the median by more than was proposed"
    refused = rows(lab.propose_test_release(n=20), "these people")[0]
    assert value(refused, "exact") == pytest.approx(1e-5)


def test_little_noise_is_a_hundredth_of_that_for_the_whole_range(default: Experiment) -> None:
    little, whole, local = (value(row, "half") for row in rows(default, "median"))

    assert little == pytest.approx(log(20)), "95 of 100 draws of Laplace noise of scale 1"
    assert whole == pytest.approx(50 * log(20)), "at epsilon 2, without a test"
    assert little < local < whole


def test_a_survey_shows_its_own_numbers_with_a_median() -> None:
    cases = list(entries()["propose-test-release"].cases(survey_of_everything()))

    assert [case.about for case in cases] == ["What do you earn in a month?"]
    little, *_ = rows(lab.propose_test_release(**cases[0].given), "median")
    assert value(little, "half") / value(little, "part") == 8000


def test_faults_move_what_is_drawn(default: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Window, "randomise", lambda *_: (0,))
    (*_, local) = rows(lab.propose_test_release(), "median")
    assert value(local, "half") != value(rows(default, "median")[-1], "half")

    monkeypatch.setattr(Added, "draw", lambda self, draws, size: draws.uniform(size) - 30)
    released = [row for row in lab.propose_test_release().rows if "drawn" in row]
    assert any(
        abs(value(row, "drawn") - value(row, "exact")) > 4 * value(row, "standard_error")
        for row in released
    )
