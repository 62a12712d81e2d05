"""Choosing an epsilon: its four pictures say the same, and the table of others is complete."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from math import exp, log

import pytest

from deniably import lab
from deniably.core.coins import Coins
from deniably.design.planning import respondents_for, share_goal
from deniably.lab.deployments import deployments
from deniably.lab.experiment import Experiment
from deniably.lab.picture import DrawnRow, value
from deniably.mechanisms import SubsetSelection

FAIR = lab.choosing_epsilon()


def rows(found: Experiment, what: str) -> list[DrawnRow]:
    return [row for row in found.rows if row["what"] == what]


@pytest.mark.parametrize("epsilon", ["0.1", "ln 3", "1", "8"])
def test_every_picture_is_about_the_same_epsilon(epsilon: str) -> None:
    found = lab.choosing_epsilon(epsilon=epsilon)
    odds = 3.0 if epsilon == "ln 3" else exp(float(epsilon))

    having, others = (value(row, "exact") for row in rows(found, "frequency"))
    assert having == pytest.approx(odds / (odds + 1), rel=1e-6)
    assert others == pytest.approx(1 / (odds + 1), rel=1e-6)
    for row in rows(found, "belief"):
        prior = value(row, "prior")
        bayes = prior * having / (prior * having + (1 - prior) * others)
        assert value(row, "after") == pytest.approx(bayes)
        other = prior * (1 - having) / (prior * (1 - having) + (1 - prior) * (1 - others))
        assert value(row, "against") == pytest.approx(other)
    (ours,) = (row for row in rows(found, "deployment") if row["who"] == "this epsilon")
    assert exp(value(ours, "epsilon")) == pytest.approx(odds)
    for row in rows(found, "respondents"):
        plan = respondents_for(share_goal(2), value(row, "epsilon"), 0.05)
        assert (row["n"], row["curator"], row["direct"]) == (plan.n, plan.curator, plan.direct)
    assert log(odds) in [pytest.approx(row["epsilon"]) for row in rows(found, "respondents")]


def test_two_coins_in_frequencies_in_beliefs_and_in_people() -> None:
    assert "75 of 100 people who have it report it, and 25 of 100" in FAIR.answer
    assert "10\u202f% likely thinks it 25\u202f% likely at most" in FAIR.answer
    assert "1,537 people" in FAIR.answer
    surest = rows(lab.choosing_epsilon(epsilon=8), "belief")
    assert {f"{100 * value(row, 'after'):.4g}" for row in surest} >= {"99.7", "99.97"}


def test_every_deployment_has_a_unit_a_model_a_source_and_a_day() -> None:
    table = deployments()

    assert len(table) > 8
    for one in table:
        assert one.epsilon > 0
        assert 0 <= one.delta < Fraction(1, 10_000)
        assert one.unit
        assert one.model in ("local", "central")
        assert "desfontain.es" in one.source or "OpenDP" in one.source
        assert 2014 < one.year <= one.read.year
        assert date(2025, 1, 1) < one.read
    assert list(table) == sorted(table, key=lambda one: one.epsilon)
    assert len({(one.who, one.what) for one in table}) == len(table)
    assert {one.model for one in table} == {"local", "central"}


@pytest.mark.parametrize(
    ("who", "what", "epsilon", "unit", "model"),
    [
        ("Apple", "emoji", "4", "user-day", "local"),
        ("Apple", "health types", "2", "user-day", "local"),
        ("Apple", "QuickType words", "16", "user-day", "local"),
        ("Microsoft", "assistive AI", "4", "user", "central"),
        ("LinkedIn", "engagement", "34.9", "user-month", "central"),
        ("Israel", "live births of 2014", "9.98", "birth", "central"),
    ],
)
def test_the_table_says_what_its_sources_say(
    who: str, what: str, epsilon: str, unit: str, model: str
) -> None:
    (one,) = (one for one in deployments() if (one.who, one.what) == (who, what))

    assert (one.epsilon, one.unit, one.model) == (Fraction(epsilon), unit, model)
    (row,) = (row for row in rows(FAIR, "deployment") if row["who"] == f"{who}: {what}")
    assert row["source"] == one.source
    assert row["read"] == one.read.isoformat()


def test_other_surveys_stand_among_them() -> None:
    found = lab.choosing_epsilon(register=[("commuting", 2.5), ("health", 40.0)])

    order = [row["who"] for row in rows(found, "deployment")]
    assert (
        order.index("Meta: movement range maps") < order.index("commuting") < order.index("health")
    )
    assert order[-1] == "health"
    labels = {str(point["mark"]) for point in found.pictures[-1].points}
    assert not any(label.endswith("…") for label in labels)
    assert {"commuting, person", "health, person", "this epsilon, answer"} <= labels


def test_a_fault_in_the_shipped_mechanism_moves_the_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(self: SubsetSelection, answer: int, coins: Coins) -> tuple[int, ...]:
        return (0,)

    monkeypatch.setattr(SubsetSelection, "randomise", always)
    for row, before in zip(
        rows(lab.choosing_epsilon(), "frequency"), rows(FAIR, "frequency"), strict=True
    ):
        assert row["exact"] == before["exact"]
        assert abs(value(row, "drawn") - value(row, "exact")) > 4 * value(row, "standard_error")
