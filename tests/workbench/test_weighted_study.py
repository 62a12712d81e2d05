"""A study with weights: tables, differences and distributions, from ``weights=``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import deniably as dn
from deniably.core.binomial import Floats

SURVEY = dn.load_survey(
    {
        "name": "work", "title": "Work", "strata": {"site": ["north", "south"]},
        "questions": [
            {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 9},
            {"name": "often", "type": "scale", "label": "How often?", "odds": 9,
             "choices": ["Never", "Once", "Often"]},
            {"name": "which", "type": "select_one", "label": "Which?", "epsilon": 0.5,
             "choices": [f"c{number}" for number in range(8)]},
        ],
    }
)  # fmt: skip
SAMPLED = dn.load_survey(
    {
        "name": "some", "title": "Some", "strata": {"site": ["north", "south"]},
        "budget": {"epsilon": 4, "spend": "sample", "ask": 2},
        "questions": [
            {"name": name, "type": "yes_no", "label": name} for name in ("stolen", "late", "drunk")
        ],
    }
)  # fmt: skip
N = 900


def people() -> Any:
    """In the north nobody steals and all are never late; in the south all do, and are often."""
    rows = [("north", "no", "never", "c0")] * (N * 2 // 3) + [("south", "yes", "often", "c7")] * (
        N // 3
    )
    return dn.read_people(SURVEY, [("site", "stolen", "often", "which"), *rows])


@pytest.fixture(scope="module")
def study() -> dn.Study:
    return dn.open((SURVEY, dn.randomise(people())))


@pytest.fixture(scope="module")
def weights(study: dn.Study) -> Floats:
    """Two thirds of the respondents are of the north, and half of the population."""
    return study.rake({"site": {"north": 0.5, "south": 0.5}})


def cell(found: Any, row: str, column: str) -> Any:
    """The share of everybody who gave these two answers."""
    (one,) = (
        line
        for line in found.rows
        if (line["figure"], line["row"], line["column"]) == ("share of all", row, column)
    )
    return one


def same(weighted: Any, plain: Any) -> None:
    """Figures of weights that are alike are those without, but for errors from the reports."""
    for one, other in zip(weighted, plain, strict=True):
        for key in one:
            if key in ("standard_error", "covariance"):
                continue
            if isinstance(one[key], float):
                assert one[key] == pytest.approx(other[key], abs=1.1e-6), key
            else:
                assert one[key] == other[key], key


# --- cross-tables ---------------------------------------------------------------------------------


def test_a_weighted_cross_table_is_of_the_population(study: dn.Study, weights: Floats) -> None:
    plain = cell(study.crosstab("stolen", "often"), "yes", "often")
    found = study.crosstab("stolen", "often", weights=weights, strata="site")
    one = cell(found, "yes", "often")

    assert abs(plain["estimate"] - 1 / 3) < 6 * plain["standard_error"]
    assert abs(one["estimate"] - 1 / 2) < 6 * one["standard_error"]
    assert one["low"] < one["estimate"] < one["high"]
    alone = cell(study.crosstab("stolen", "often", weights=weights), "yes", "often")
    assert one["standard_error"] < alone["standard_error"], "within sites all are alike"
    assert one["n"] == N
    assert one["independence"] < 1e-6
    assert "Weights cost 1.12 times the respondents (Kish)" in str(found)
    assert "Rao and Scott" in found.estimator
    assert "<svg" in found._repr_html_()


@pytest.mark.parametrize(("rows", "columns"), [("often", "stolen"), ("which", "often")])
def test_weights_that_are_alike_leave_a_cross_table_as_it_is(
    study: dn.Study, rows: str, columns: str
) -> None:
    """But for standard errors, which are R's: over n - 1, and from the spread of the reports."""
    same(study.crosstab(rows, columns, weights=[7.0] * N).rows, study.crosstab(rows, columns).rows)


def test_each_group_has_a_weighted_table_of_its_own(study: dn.Study) -> None:
    generator = np.random.default_rng(3)
    weights = 0.5 + generator.random(N)
    south = np.array(study.reports.strata["site"]) == "south"
    found = study.crosstab("stolen", "often", by="site", weights=weights)
    alone = replace(study, _reports=study.reports.among({"site": "south"}))

    expected = alone.crosstab("stolen", "often", weights=weights[south]).rows
    rows = [row for row in found.rows if row["strata"] == "site south"]
    assert [{**row, "strata": ""} for row in rows] == [dict(row) for row in expected]


def test_weights_are_those_of_people_who_were_asked_both() -> None:
    study = dn.open((SAMPLED, dn.randomise(dn.simulate_people(SAMPLED, 600))))
    asked = study.reports.answered("stolen").asked & study.reports.answered("late").asked
    weights = np.where(asked, 1.0, 50.0)
    plain, found = (
        study.crosstab("stolen", "late"),
        study.crosstab("stolen", "late", weights=weights),
    )

    assert 0 < asked.sum() < 600
    assert found.rows[0]["n"] == plain.rows[0]["n"] == asked.sum()
    estimates = ([row["estimate"] for row in one.rows] for one in (found, plain))
    assert next(estimates) == pytest.approx(next(estimates), abs=1.1e-6)
    with pytest.raises(dn.BadModel, match="all weights are 0"):
        study.crosstab("stolen", "late", weights=np.where(asked, 0.0, 1.0))


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda s, w: s.crosstab("stolen", "often", weights=w[:9]), "9 weights for 900 reports"),
        (lambda s, w: s.crosstab("stolen", "often", weights=-w), "negative weight"),
        (lambda s, w: s.crosstab("stolen", "often", strata="site"), "give weights=, too"),
        (lambda s, w: s.crosstab("stolen", "often", weights=w, strata="age"), "no stratum age"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    study: dn.Study, weights: Floats, ask: Any, why: str
) -> None:
    with pytest.raises((dn.NoFigure, dn.BadModel), match=why):
        ask(study, weights)
