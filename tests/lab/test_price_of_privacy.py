"""The price of privacy: the planner's own numbers, and surveys that scatter as it says."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

from deniably import lab
from deniably.design.planning import mean_goal, respondents_for, share_goal
from deniably.lab.catalogue import entries
from deniably.lab.experiment import Experiment
from deniably.simulation.bulk import single_choice
from support.every_type import QUESTIONS, survey_of_everything
from support.experiments import as_it_comes


@pytest.fixture(scope="module")
def default() -> Experiment:
    return as_it_comes("price-of-privacy")


SHARE = "randomised response"


def people(found: Experiment, way: str) -> dict[float, float]:
    return {
        float(row["epsilon"] or 0): float(row["exact"] or 0)
        for row in found.rows
        if row["way"] == way
    }


def test_five_points_take_1799_people_where_385_and_392_would_do(default: Experiment) -> None:
    at_ln_3 = people(lab.price_of_privacy(epsilon="ln 3"), SHARE)

    assert people(default, SHARE)[1.0] == 1799
    assert people(default, "asked directly")[1.0] == 385
    assert people(default, "a trusted curator")[1.0] == 392
    assert at_ln_3[max(set(at_ln_3) - set(people(default, SHARE)))] == 1537
    assert log(3) in at_ln_3


@pytest.mark.parametrize(
    ("kind", "k", "way"),
    [("share", 2, SHARE), ("share", 12, "subset selection, the default"),
     ("mean", 5, "the best channel")],
)  # fmt: skip
def test_every_point_is_the_planners(kind: str, k: int, way: str) -> None:
    goal = share_goal(k) if kind == "share" else mean_goal(k)
    found = lab.price_of_privacy(kind=kind, k=k, margin="0.03")

    for epsilon, n in people(found, way).items():
        plan = respondents_for(goal, epsilon, 0.03)
        assert n == plan.n
        assert people(found, "a trusted curator")[epsilon] == plan.curator
        assert people(found, "asked directly")[epsilon] == plan.direct


@pytest.mark.parametrize(("kind", "k"), [("share", 2), ("share", 20), ("mean", 5)])
def test_more_privacy_takes_more_people_and_never_fewer_than_a_curator(kind: str, k: int) -> None:
    found = lab.price_of_privacy(kind=kind, k=k)
    curator, direct = people(found, "a trusted curator"), people(found, "asked directly")

    for way in {str(row["way"]) for row in found.rows} - {"a trusted curator", "asked directly"}:
        curve = people(found, way)
        needed = [curve[epsilon] for epsilon in sorted(curve)]
        assert needed == sorted(needed, reverse=True)
        assert all(n >= curator[epsilon] >= direct[epsilon] for epsilon, n in curve.items())


def test_a_survey_shows_what_its_own_question_takes() -> None:
    """One question with the best coins for its epsilon, and one whose second coin is biased."""
    claim = {"epsilon": "2"}
    asked = [QUESTIONS[place] | {"claim": claim} for place in (0, 2)]
    cases = entries()["price-of-privacy"].cases(survey_of_everything(questions=asked))
    stolen, biased = (lab.price_of_privacy(**case.given) for case in cases)

    (own,) = people(stolen, "as it is asked").values()
    assert own == respondents_for(share_goal(2), 2.0, 0.05).n
    ((epsilon, crooked),) = people(biased, "as it is asked").items()
    assert epsilon == pytest.approx(log(4), abs=1e-6)
    assert crooked > people(biased, "this question")[epsilon]


def test_a_fault_in_the_shipped_sampler_moves_the_dots(
    default: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [row for row in default.rows if "drawn" in row]
    (kind,) = [one for one in single_choice.SAMPLERS if one.__name__ == "SubsetSelection"]
    shipped = single_choice.SAMPLERS[kind]

    def all_yes(mechanism: Any, given: Any) -> Any:
        return shipped(mechanism, given * 0)

    monkeypatch.setitem(single_choice.SAMPLERS, kind, all_yes)
    after = [row for row in lab.price_of_privacy().rows if "drawn" in row]

    assert [row["exact"] for row in after] == [row["exact"] for row in before]
    for row in after:
        off = abs(float(row["drawn"] or 0) - float(row["exact"] or 0))
        assert off > 4 * float(row["standard_error"] or 0), "everybody says yes"
