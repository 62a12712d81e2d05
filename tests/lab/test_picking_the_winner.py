"""Picking the winner: chances by all tables of a small sample, and a price that sells nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import exp, factorial, inf
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from deniably import lab
from deniably.design.best_mechanisms import k_ary
from deniably.lab.catalogue import entries
from deniably.lab.curator import LaplaceNoise, selection_law
from deniably.lab.experiment import Experiment
from deniably.lab.leaders import chosen, most_named
from deniably.lab.picture import value
from deniably.mechanisms.law import Supporting
from deniably.simulation.bulk import single_choice
from deniably.survey.privacy import Privacy
from support.every_type import survey_of_everything
from support.experiments import as_it_comes


@pytest.fixture(scope="module")
def default() -> Experiment:
    return as_it_comes("picking-the-winner")


SHARES = [0.3, 0.25, 0.2, 0.15, 0.1]
WAYS = ["asked directly", "chosen by a trusted curator", "from reports"]


def found_at(found: Experiment, n: int) -> list[float]:
    return [value(row, "exact") for row in found.rows if row.get("n") == n]


def tables(n: int, shares: list[float]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every way in which n people divide among the choices, with its probability."""
    for counts in product(range(n + 1), repeat=len(shares)):
        if sum(counts) == n:
            chance = float(factorial(n))
            for count, share in zip(counts, shares, strict=True):
                chance *= share**count / factorial(count)
            yield counts, chance


def test_500_people_find_the_leader_of_five_directly_but_hardly_from_reports(
    default: Experiment,
) -> None:
    assert [f"{one:.3f}" for one in found_at(default, 500)] == ["0.934", "0.930", "0.575"]
    assert [row["way"] for row in default.rows if row.get("n") == 500] == WAYS


def test_what_is_nearly_certain_is_not_told_as_certain() -> None:
    answer = lab.picking_the_winner(n=[1000], k=2).answer

    assert "found nearly 100 times of 100 if they are asked directly" in answer
    assert "and 99.83 times from their reports" in answer


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("shares", [SHARES, [0.6, 0.4], [0.5, 0.3, 0.2]])
def test_chances_are_those_of_all_tables(n: int, shares: list[float]) -> None:
    most = share_of_leader = 0.0
    for counts, chance in tables(n, shares):
        most += chance * (counts[0] == max(counts)) / counts.count(max(counts))
        share_of_leader += chance * float(selection_law(counts, 1.4)[0])

    assert most_named(n, shares) == pytest.approx(most, abs=1e-12)
    assert chosen(n, shares, 0.7) == pytest.approx(share_of_leader, abs=1e-12)


def test_chances_from_reports_are_those_of_all_people_and_all_their_reports() -> None:
    mechanism = k_ary(3, Privacy(epsilon=1))  # type: ignore[arg-type]
    law, shares = mechanism.law, [4 / 9, 3 / 9, 2 / 9]
    chance = 0.0
    for answers in product(range(3), repeat=3):
        for reports in product(range(3), repeat=3):
            counts = [reports.count(choice) for choice in range(3)]
            if counts[0] == max(counts):
                likely = np.prod([
                    shares[answer] * float(law.probability(answer, (report,)))
                    for answer, report in zip(answers, reports, strict=True)
                ])  # fmt: skip
                chance += float(likely) / counts.count(max(counts))

    found = found_at(lab.picking_the_winner(n=[3], k=3), 3)
    assert found[2] == pytest.approx(chance, abs=1e-9)


@pytest.mark.parametrize("k", [2, 5, 8])
def test_a_curator_is_between_asking_directly_and_reports(k: int) -> None:
    last = [0.0, 0.0, 0.0]
    for n in (10, 100, 1000):
        found = found_at(lab.picking_the_winner(n=[n], k=k, epsilon="1"), n)
        assert found == sorted(found, reverse=True)
        assert all(one >= before for one, before in zip(found, last, strict=True))
        last = found


def test_a_noisy_price_sells_nothing_half_of_the_time(default: Experiment) -> None:
    best, by_what_it_brings, noisy = (
        value(row, "exact") for row in default.rows if row["what"] == "price"
    )
    noise = LaplaceNoise(1.0).noise(5.0)
    mean, _ = integrate.quad(lambda x: 100 * (3.01 + x) * float(noise.density(x)), -3.01, 0)
    weights = {cents / 100: exp((cents if cents <= 301 else 0) / 10) for cents in range(1, 501)}
    total = sum(weights.values())

    assert best == pytest.approx(301)
    assert noisy == pytest.approx(mean)
    assert noise.beyond(0) == 0.5
    assert by_what_it_brings == pytest.approx(
        sum(100 * price * weight for price, weight in weights.items() if price <= 3.01) / total
    )
    assert noisy < best / 8 < by_what_it_brings < inf


def test_a_survey_shows_its_own_questions_with_few_choices() -> None:
    survey = survey_of_everything()
    cases = list(entries()["picking-the-winner"].cases(survey))
    named = {case.about for case in cases}

    assert "Have you ever stolen from work?" in named
    assert "Where do you live, roughly?" not in named, "reports name several of 64 areas"
    for case in cases:
        law = case.given["mechanism"].law
        assert isinstance(law, Supporting)
        weights = [law.k + 1 - choice for choice in range(law.k)]
        seen = [float(law.q + (law.p - law.q) * one / sum(weights)) for one in weights]
        found = lab.picking_the_winner(n=[50], **case.given)
        assert found_at(found, 50)[2] == pytest.approx(most_named(50, seen))


def test_a_fault_in_the_shipped_sampler_moves_the_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    (kind,) = [one for one in single_choice.SAMPLERS if one.__name__ == "SubsetSelection"]
    shipped = single_choice.SAMPLERS[kind]

    def all_last(mechanism: Any, given: Any) -> Any:
        return shipped(mechanism, given * 0 + mechanism.k - 1)

    monkeypatch.setitem(single_choice.SAMPLERS, kind, all_last)
    after = {str(row["way"]): row for row in lab.picking_the_winner(n=[500]).rows}

    row = after["from reports"]
    assert abs(value(row, "drawn") - value(row, "exact")) > 4 * value(row, "standard_error")
    other = after["asked directly"]
    assert abs(value(other, "drawn") - value(other, "exact")) < 4 * value(other, "standard_error")
