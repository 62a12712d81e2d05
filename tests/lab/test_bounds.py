"""How wide a range: clipping against noise, its best maximum, and what simulations say."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, pi, sqrt

import numpy as np
import pytest
from scipy import integrate

from deniably import lab
from deniably.authoring.survey_files import load_survey
from deniably.design.planning import mean_goal
from deniably.estimation.channels import matrix, position_scores
from deniably.lab.draws import Draws
from deniably.lab.example_questions import question
from deniably.lab.experiment import Experiment
from deniably.lab.inputs import privacy_text
from deniably.lab.picture import DrawnRow, column, value
from deniably.mechanisms import Channel
from deniably.simulation.bulk import randomise_many, tally_many
from deniably.simulation.people import read_people
from deniably.simulation.runs import compare
from deniably.survey.privacy import Privacy
from support.experiments import as_it_comes


@pytest.fixture(scope="module")
def incomes() -> Experiment:
    return as_it_comes("bounds")


def row(found: Experiment, what: str) -> DrawnRow:
    (one,) = (row for row in found.rows if row["what"] == what)
    return one


@pytest.mark.parametrize(
    ("n", "maximum", "off", "clipped"),
    [(500, 103_841, 6_728, "6.0"), (5_000, 167_282, 3_290, "2.1"), (50_000, 253_037, 1_531, "0.7")],
)
def test_the_best_maximum_grows_with_the_people(
    incomes: Experiment, n: int, maximum: int, off: int, clipped: str
) -> None:
    best = row(incomes if n == 5000 else lab.bounds(n=n), "best maximum")

    assert value(best, "maximum") == pytest.approx(maximum, abs=0.6)
    assert round(value(best, "planned")) == off
    assert f"{100 * value(best, 'clipped'):.1f}" == clipped


def test_a_curator_can_ask_for_a_wider_range(incomes: Experiment) -> None:
    best = row(incomes, "curator's best maximum")

    assert (round(value(best, "maximum")), round(value(best, "curator"))) == (598_748, 197)


def test_a_maximum_below_most_numbers_is_off_whatever_the_number_of_people() -> None:
    few, many = (row(lab.bounds(n=n), "maximum that was given") for n in (5_000, 100_000))

    assert round(value(few, "planned")) == 20_595
    assert value(many, "planned") == pytest.approx(20_592, abs=1), "more people do not help"
    assert value(few, "clipping") == value(many, "clipping")


def test_the_noise_is_what_the_planner_expects(incomes: Experiment) -> None:
    variance = mean_goal(1001).variance(1.0)

    assert variance == pytest.approx(1.248, abs=5e-4)
    for one in incomes.rows:
        assert value(one, "noise") == pytest.approx(value(one, "maximum") * sqrt(variance / 5000))


@pytest.mark.parametrize("maximum", [9_000, 167_282])
def test_clipping_is_the_integral_over_the_numbers_beyond(maximum: int) -> None:
    def density(x: float) -> float:
        return exp(-((log(x) - 10) ** 2) / 2) / (x * sqrt(2 * pi))

    found = row(lab.bounds(maximum=maximum, n=10), "maximum that was given")
    lost, _ = integrate.quad(lambda z: (exp(z) - maximum) * density(exp(z)) * exp(z),
                             log(maximum), 22, epsabs=1e-6)  # fmt: skip
    assert value(found, "clipping") == pytest.approx(lost, rel=1e-7)


def test_no_other_maximum_is_better(incomes: Experiment) -> None:
    best = value(row(incomes, "best maximum"), "planned")

    assert best == min(column(incomes.rows, "planned"))
    near = row(lab.bounds(maximum=165_000, n=5000), "maximum that was given")
    assert best < value(near, "planned") < 1.001 * best


def test_a_simulation_of_the_same_people_clips_as_much_and_is_as_noisy() -> None:
    """Fifty runs of ``simulate`` on 2,000 people whose numbers are known."""
    people, runs, draws = 2_000, 50, Draws(1, "people")
    numbers = np.random.default_rng(1).lognormal(10, 1, people).round()
    survey = load_survey(
        {"name": "s", "title": "S", "questions": [
            {"name": "income", "label": "What do you earn?", "type": "number", "minimum": 0,
             "maximum": 60_000, "step": 60, "epsilon": 1},
        ]}
    )  # fmt: skip
    known = read_people(survey, [["income"], *([str(int(one))] for one in numbers)])
    mechanism = survey.questions[0].report_mechanism
    encoded = known.answers[0].inputs(slice(None))
    with draws.bulk():
        tallies = [tally_many(mechanism, randomise_many(mechanism, encoded)) for _ in range(runs)]
    (mean,) = (one for one in compare(known, [{"income": one} for one in tallies])
               if one.truth.name == "mean")  # fmt: skip
    told = row(lab.bounds(values=numbers, n=people, maximum=60_000), "maximum that was given")

    assert -mean.clipping == pytest.approx(value(told, "clipping"), abs=30), "half a step"
    variance = value(told, "exact") ** 2 - value(told, "clipping") ** 2
    spread = np.minimum(numbers, 60_000).var() / people  # these people are not drawn anew
    noise = sqrt(variance - spread)
    assert abs(mean.noise - noise) < 4 * noise / sqrt(2 * runs) + 30
    assert value(told, "clipped") == pytest.approx(mean.truth.outside)


def test_the_exact_error_is_that_of_the_reports_law() -> None:
    """Everybody has one number: only the noise of its reports is left."""
    told = row(lab.bounds(values=[20_000.0], maximum=40_000, n=100), "maximum that was given")
    mechanism = question(type="number", minimum=0, maximum=1000, step=1, epsilon=1).report_mechanism
    assert isinstance(mechanism, Channel)
    chances, scores = matrix(mechanism)[500], position_scores(mechanism)
    noise = float(chances @ scores**2 - (chances @ scores) ** 2)

    assert value(told, "exact") == pytest.approx(sqrt(noise / 100) * 40, rel=1e-6)


def test_numbers_of_a_table_are_clipped_as_they_are() -> None:
    found = lab.bounds(values=[1, 2, 3, 10], maximum=4, n=10)

    told = row(found, "maximum that was given")
    assert (told["clipped"], told["clipping"]) == (0.25, 1.5)
    for wrong in ([], [[1.0]], [-1.0], [float("nan")], [0.0]):
        with pytest.raises(ValueError, match="values are"):
            lab.bounds(values=wrong)


def test_clipping_is_unknown_where_nothing_is_known_of_the_answers() -> None:
    asked = question(type="number", minimum=0, maximum=40, step=1, unit="hours", epsilon=1)
    found = lab.bounds(question=asked, n=1000)

    assert {one["known"] for one in found.rows} == {"unknown"}
    assert column(found.rows, "clipping") == []
    assert "unknown" in found.answer
    here = row(found, "this range")
    planned = 40 * sqrt(mean_goal(41).variance(1.0) / 1000)
    assert value(here, "noise") == pytest.approx(planned)


def test_a_fault_in_the_shipped_sampler_moves_the_dots(
    incomes: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report that always is the last output: the mean is far above, its exact error stays."""
    monkeypatch.setattr(
        "deniably.lab.draws.randomise_many",
        lambda mechanism, answers: np.full(len(answers), mechanism.law.outputs - 1),
    )
    moved = row(lab.bounds(), "best maximum")

    assert moved["exact"] == row(incomes, "best maximum")["exact"]
    assert isinstance(question(type="number", minimum=0, maximum=1000, step=1,
                               epsilon=1).report_mechanism, Channel)  # fmt: skip
    off = abs(value(moved, "drawn") - value(moved, "exact"))
    assert off > 4 * value(moved, "standard_error"), "the generic test would fail"


def test_an_epsilon_that_is_no_decimal_is_written_as_a_fraction() -> None:
    assert privacy_text(Privacy(epsilon=Fraction(1, 3))) == "1/3"
    assert privacy_text(Privacy(epsilon=Fraction(1, 8))) == "0.125"
