"""The ladder of trust: its distances, and what the published count gives away by itself."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, inf, pi, sqrt

import numpy as np
import pytest
from scipy import integrate

from deniably import lab
from deniably.design.blanks import HiddenPair, least_blanks
from deniably.lab.curator import ClassicalGaussNoise, GaussNoise, LaplaceNoise
from deniably.lab.example_questions import question
from deniably.lab.experiment import Experiment
from deniably.lab.picture import DrawnRow, value
from deniably.mechanisms import SubsetSelection
from support.experiments import as_it_comes


@pytest.fixture(scope="module")
def nlsy() -> Experiment:
    return as_it_comes("ladder-of-trust")


CURATORS = [LaplaceNoise(0.1), GaussNoise(0.1, 1e-4), ClassicalGaussNoise(0.1, 1e-4)]


def rows(found: Experiment, what: str) -> list[DrawnRow]:
    return [row for row in found.rows if row["what"] == what]


def test_two_coins_are_off_as_much_as_the_textbooks_curator(nlsy: Experiment) -> None:
    off = [f"{value(row, 'exact'):.1f}" for row in rows(nlsy, "distance")]

    assert off[:5] == ["10.0", "19.6", "34.7", "35.1", "405.5"], "of 882 people among 2,584"
    assert f"{value(rows(nlsy, 'distance')[1], 'exact'):.2f}" == "19.55"
    assert f"{value(rows(nlsy, 'distance')[2], 'exact'):.2f}" == "34.66"


def test_ten_counts_of_a_curator_are_shown_as_they_come(nlsy: Experiment) -> None:
    raw = rows(nlsy, "draw")
    off = [value(row, "drawn") - 882 for row in raw]

    assert [row["number"] for row in raw] == list(range(1, 11))
    assert {row["exact"] for row in raw} == {882}
    assert len(set(off)) == 10
    assert max(map(abs, off)) < 10 * 16, "ten times, each less often than once in 8 million"
    (note,) = (one for one in nlsy.notes if "Ten times" in one)
    assert f"{882 + off[0]:.1f}, {882 + off[1]:.1f}, " in note


def test_the_draws_of_an_introduction_are_no_further_than_chance(nlsy: Experiment) -> None:
    (told,) = rows(nlsy, "introduction")

    assert told["drawn"] == 35.29
    assert value(told, "standard_error") == pytest.approx(0.83, abs=0.005)
    assert rows(lab.ladder_of_trust(epsilon="0.2"), "introduction") == []


def test_who_sees_the_count_alone_learns_less_than_from_that_curator(nlsy: Experiment) -> None:
    _, count, unordered, _, server = (value(row, "epsilon") for row in rows(nlsy, "protection"))

    assert (f"{count:.3f}", f"{unordered:.3f}", f"{server:.4f}") == ("0.084", "0.101", "1.0986")
    assert "0.0838" in nlsy.answer
    assert any("1.0987" in note for note in nlsy.notes), "but not against the server"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_curators_distance_is_that_of_the_density(nlsy: Experiment, place: int) -> None:
    noise = CURATORS[place].noise(1.0)
    found, _ = integrate.quad(lambda x: 2 * x * float(noise.density(x)), 0, inf)

    assert value(rows(nlsy, "distance")[place], "exact") == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("having", [0, 2, 5])
def test_the_distance_of_the_coins_is_that_of_every_combination_of_reports(having: int) -> None:
    n, mechanism = 5, question(type="yes_no", coins={"truth": "1/2", "yes": "1/2"}).report_mechanism
    distance = Fraction(0)
    for reports in product((0, 1), repeat=n):
        chance = Fraction(1)
        for person, report in enumerate(reports):
            chance *= mechanism.law.probability(int(person >= having), (report,))
        estimate = (reports.count(0) - Fraction(n, 4)) * 2
        distance += chance * abs(estimate - having)

    found = lab.ladder_of_trust(n=n, share=Fraction(having, n))
    assert value(rows(found, "distance")[3], "exact") == pytest.approx(float(distance), rel=1e-12)


@pytest.mark.parametrize("n", [2, 12])
def test_the_protection_of_the_count_is_that_of_its_law(n: int) -> None:
    """Whatever the others say: enumerated, and with less epsilon one of their answers breaks it."""
    delta = 0.01
    found = lab.ladder_of_trust(n=n, hidden=delta)
    epsilon = value(rows(found, "protection")[1], "epsilon")

    def needed(at: float) -> float:
        return max(_delta(n, yes, at) for yes in range(n))

    assert needed(epsilon) <= delta < needed(epsilon * (1 - 1e-5))


def _delta(n: int, yes: int, epsilon: float) -> float:
    """Of the number of "yes" among n reports, where ``yes`` of the others have that answer."""
    others = np.ones(1)
    for person in range(n - 1):
        others = np.convolve(others, [0.25, 0.75] if person < yes else [0.75, 0.25])
    mine, not_mine = (np.convolve(others, one) for one in ([0.25, 0.75], [0.75, 0.25]))
    both = (mine - exp(epsilon) * not_mine, not_mine - exp(epsilon) * mine)
    return max(float(np.maximum(one, 0).sum()) for one in both)


@pytest.mark.thorough
def test_more_people_hide_better_and_a_larger_epsilon_is_less_off() -> None:
    crowds = [lab.ladder_of_trust(n=n) for n in (1200, 2584, 20_000)]
    hidden = [value(rows(one, "protection")[1], "epsilon") for one in crowds]
    finer = [rows(lab.ladder_of_trust(epsilon=e), "distance") for e in ("0.1", "0.5", "2")]

    assert hidden == sorted(hidden, reverse=True)
    for rung in (0, 1, 2, 4):
        off = [value(one[rung], "exact") for one in finer]
        assert off == sorted(off, reverse=True)


def test_a_formula_beyond_its_proof_is_called_false(nlsy: Experiment) -> None:
    assert not any("breaks" in note for note in nlsy.notes)
    assert any("breaks" in note for note in lab.ladder_of_trust(epsilon=10, delta="1e-4").notes)


def test_a_fault_in_the_shipped_sampler_moves_the_dots(
    nlsy: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody says yes: the count of the coins is far off, and its exact law stays."""
    from deniably.simulation.bulk import single_choice

    monkeypatch.setattr(
        single_choice, "rotated", lambda masks, answers, k: (answers * 0 + 1).astype("u1")[:, None]
    )
    moved = rows(lab.ladder_of_trust(), "distance")[3]

    assert moved["exact"] == rows(nlsy, "distance")[3]["exact"]
    off = abs(value(moved, "drawn") - value(moved, "exact"))
    assert off > 4 * value(moved, "standard_error"), "the generic test would fail"


def test_a_survey_lends_its_own_weights(nlsy: Experiment) -> None:
    sharp = question(type="yes_no", odds=9)
    assert isinstance(sharp.report_mechanism, SubsetSelection)
    found = lab.ladder_of_trust(question=sharp)

    ours, server = rows(found, "distance")[3], rows(found, "protection")[-1]
    assert value(server, "epsilon") == pytest.approx(sharp.mechanism.loss.epsilon)
    assert value(ours, "exact") < value(rows(nlsy, "distance")[3], "exact")
    assert "this survey" in found.answer


# --- the rung of a mixer --------------------------------------------------------------------------


def test_behind_a_mixer_the_same_epsilon_costs_a_tenth_of_the_distance(nlsy: Experiment) -> None:
    *_, alone, mixer = rows(nlsy, "distance")
    blanks = least_blanks([HiddenPair.k_ary(2, 8)], 0.1, 1e-6)
    people, made_up = 2584 * (8 / 9) * (1 / 9), blanks / 4
    deviation = 9 / 7 * sqrt(people + made_up)  # of a report's score: (8 + 1) / (8 - 1)

    assert mixer["who"] == "mixer, same epsilon for the server"
    assert value(mixer, "exact") == pytest.approx(deviation * sqrt(2 / pi), rel=1e-3)
    assert value(mixer, "exact") < value(alone, "exact") / 9
    assert value(mixer, "epsilon") == pytest.approx(value(alone, "epsilon"))
    assert mixer["delta"] == 1e-6
    (note,) = (one for one in nlsy.notes if "Behind a mixer" in one)
    assert f"adds {blanks:,} blanks" in note
    assert "what epsilon 2.0795 allows" in note


def test_the_server_behind_a_mixer_learns_the_curators_epsilon(nlsy: Experiment) -> None:
    behind, server = rows(nlsy, "protection")[-2:]

    assert behind["who"] == "the server behind a mixer"
    assert value(behind, "epsilon") == pytest.approx(0.1)
    assert value(server, "epsilon") == pytest.approx(1.0986, 1e-4)


@pytest.mark.parametrize("epsilon", ["0.01", "3"])
def test_there_is_no_such_rung_where_no_number_of_blanks_does(epsilon: str) -> None:
    """Too many would be needed, or none."""
    found = lab.ladder_of_trust(epsilon=epsilon)

    assert len(rows(found, "distance")) == 5
    assert not any("mixer" in note for note in found.notes)
