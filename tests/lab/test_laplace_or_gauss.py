"""Laplace or Gauss: where they cross, by calibrated noise, and margins that ``check`` says."""

from __future__ import annotations

from math import sqrt
from typing import Any

import mpmath
import pytest

import deniably as dn
from deniably import lab
from deniably.core.bisection import smallest
from deniably.design.alternatives import alternatives
from deniably.lab.catalogue import entries
from deniably.lab.curator import ClassicalGaussNoise, GaussNoise, LaplaceNoise
from deniably.lab.experiment import Experiment
from deniably.lab.experiments.laplace_or_gauss import laplace_or_gauss
from deniably.lab.picture import DrawnRow
from deniably.simulation.bulk import numbers as sampled
from support.experiments import as_it_comes


@pytest.fixture(scope="module")
def default() -> Experiment:
    return as_it_comes("laplace-or-gauss")


TEXTBOOK = "Gauss of the textbook"


def rows(found: Experiment, what: str, noise: str) -> list[DrawnRow]:
    return [row for row in found.rows if row["what"] == what and row.get("noise") == noise]


def by_numbers(found: Experiment, what: str, noise: str) -> dict[int, float]:
    return {int(row["numbers"] or 0): float(row["exact"] or 0) for row in rows(found, what, noise)}


def first(found: Experiment, noise: str) -> int:
    (row,) = rows(found, "numbers from which on it beats Laplace", noise)
    return int(row["numbers"] or 0)


@pytest.mark.parametrize(
    ("delta", "gauss", "textbook"), [("1e-5", "3.731", "4.845"), ("1e-4", "3.186", "4.344")]
)
def test_the_deviations_of_one_number_at_epsilon_1(delta: str, gauss: str, textbook: str) -> None:
    found = lab.laplace_or_gauss(delta=delta, d=2)

    told = [by_numbers(found, "deviation with a curator", name)[1]
            for name in ("Laplace", "Gauss", TEXTBOOK)]  # fmt: skip
    assert [f"{one:.3f}" for one in told] == ["1.414", gauss, textbook]


@pytest.mark.parametrize(("delta", "gauss", "textbook"), [(1e-5, 6.96, 11.7), (1e-4, 5.07, 9.43)])
def test_they_cross_where_calibrated_noise_does(
    delta: float, gauss: float, textbook: float
) -> None:
    """Between two numbers, with noise that scales as its calibration does for whole ones."""
    found = lab.laplace_or_gauss(delta=repr(delta), d=2)
    laplace = LaplaceNoise(1.0).noise(1.0).deviation

    for name, promise, at in (
        ("Gauss", GaussNoise(1.0, delta), gauss),
        (TEXTBOOK, ClassicalGaussNoise(1.0, delta), textbook),
    ):
        crossing = smallest(
            lambda d, promise=promise: promise.noise(sqrt(d)).deviation <= d * laplace, 1.0
        )  # type: ignore[misc]
        assert crossing == pytest.approx(at, abs=0.05)
        assert first(found, name) == int(crossing) + 1


def test_the_textbooks_sigma_breaks_its_promise_above_epsilon_8_42(default: Experiment) -> None:
    """Against the exact delta in fifty digits, just below the limit and just above."""
    (row,) = (row for row in default.rows if row["what"].endswith("is false above epsilon"))  # type: ignore[union-attr]
    limit = float(row["exact"] or 0)

    assert f"{limit:.2f}" == "8.42"
    for epsilon, holds in ((limit * 0.999, True), (limit * 1.001, False)):
        with mpmath.workdps(50):
            sigma = mpmath.sqrt(2 * mpmath.log(mpmath.mpf("1.25e5"))) / epsilon
            low, high = (epsilon * sigma + side / (2 * sigma) for side in (-1, 1))
            delta = mpmath.ncdf(-low) - mpmath.exp(epsilon) * mpmath.ncdf(-high)
        assert (delta <= mpmath.mpf("1e-5")) == holds


def test_it_is_drawn_as_false_there(default: Experiment) -> None:
    def words(found: Experiment) -> set[str]:
        return {str(point["mark"]) for picture in found.pictures for point in picture.points}

    labels = {TEXTBOOK, f"{TEXTBOOK}, false here"}
    assert words(default) & labels == {TEXTBOOK}
    assert words(lab.laplace_or_gauss(epsilon=9, d=2)) & labels == {f"{TEXTBOOK}, false here"}


@pytest.mark.parametrize("numbers", [6, 7])
def test_without_a_curator_the_margins_are_those_that_check_says(numbers: int) -> None:
    parts = [{"name": one, "label": one, "minimum": 0, "maximum": 10} for one in "abcdefg"]
    asked = {"name": "q", "label": "Q?", "epsilon": 1, "type": "vector", "parts": parts[:numbers]}
    survey = dn.load_survey({"name": "s", "title": "T", "questions": [asked]})
    said = {one.title: one.margin for one in alternatives(survey.questions[0], 1000)}

    found = lab.laplace_or_gauss(d=numbers)
    told = {name: by_numbers(found, "margin without one", name)[numbers]
            for name in ("Laplace", "Gauss", "one part a person")}  # fmt: skip
    assert told == {
        "Laplace": said["Laplace"],
        "Gauss": said["Gaussian with delta 0.00001"],
        "one part a person": said["one part a person"],
    }
    (case,) = entries()["laplace-or-gauss"].cases(survey)
    of_survey = laplace_or_gauss(**case.given)
    assert {str(row["noise"]): row["exact"] for row in of_survey.rows
            if row["what"] == "margin without one"} == said  # fmt: skip
    if numbers == 7:
        rounded = [f"{100 * told[name]:.1f}" for name in told]
        assert rounded == ["61.4", "61.3", "18.3"]


def test_densities_are_those_of_what_devices_add_and_sum_to_nearly_1(default: Experiment) -> None:
    for name in ("Laplace", "Gauss"):
        found = rows(default, "density", name)
        wide = float(found[1]["noise_of_one"] or 0) - float(found[0]["noise_of_one"] or 0)
        assert 0.98 < wide * sum(float(row["exact"] or 0) for row in found) <= 1


def test_a_fault_in_the_shipped_noise_moves_the_dots(
    default: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the noise."""
    (kind,) = (one for one in sampled.SAMPLERS if one.__name__ == "Laplace")
    shipped: Any = sampled.SAMPLERS[kind]

    def louder(mechanism: Any, given: Any) -> Any:
        return given + 2 * (shipped(mechanism, given) - given)

    monkeypatch.setitem(sampled.SAMPLERS, kind, louder)

    before, after = (rows(found, "density", "Laplace")
                     for found in (default, lab.laplace_or_gauss(d=2)))  # fmt: skip
    assert [row["exact"] for row in after] == [row["exact"] for row in before]
    off = [abs(float(row["drawn"] or 0) - float(row["exact"] or 0))
           - 4 * float(row["standard_error"] or 0) for row in after]  # fmt: skip
    assert max(off) > 0
