"""A study with weights: tables, differences and distributions, from ``weights=``."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import deniably as dn
from deniably.core.binomial import Floats
from support.soak import soak


@cache
def survey() -> dn.Survey:
    return dn.load_survey(
        {
            "name": "work", "title": "Work", "strata": {"site": ["north", "south"]},
            "questions": [
                {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 9},
                {"name": "often", "type": "scale", "label": "How often?", "odds": 9,
                 "choices": ["Never", "Once", "Often"]},
                {"name": "which", "type": "select_one", "label": "Which?", "epsilon": 0.5,
                 "choices": [f"c{number}" for number in range(8)]},
                {"name": "drinks", "type": "number", "label": "Drinks?", "minimum": 0, "maximum": 9,
                 "aim": "distribution", "epsilon": 3},
                {"name": "pay", "type": "number", "label": "Pay?", "minimum": 0, "maximum": 100,
                 "epsilon": 1},
                {"name": "what", "type": "select_multiple", "label": "What?", "epsilon": 1,
                 "choices": ["Money", "Time", "Tools"], "most": 2},
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
    north = ("north", "no", "never", "c0", "1", "10", "")
    south = ("south", "yes", "often", "c7", "8", "90", "money;time")
    head = ("site", *(question.name for question in survey().questions))
    return dn.read_people(survey(), [head, *[north] * (N * 2 // 3), *[south] * (N // 3)])


@pytest.fixture(scope="module")
def study() -> dn.Study:
    return dn.open((survey(), dn.randomise(people())))


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


# --- differences ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def later() -> dn.Study:
    """The next wave, of the same survey."""
    return dn.open((survey(), dn.randomise(people())))


@pytest.mark.parametrize("question", ["stolen", "often", "which", "drinks", "what"])
def test_weights_that_are_alike_leave_differences_as_they_are(
    study: dn.Study, later: dn.Study, question: str
) -> None:
    asked: list[dict[str, Any]] = [{"by": "site"}, {"other": later}]
    if question in ("often", "which"):
        asked.append({})
    for options in asked:
        found = study.difference(question, weights=[7.0] * N, **options)
        same(found.rows, study.difference(question, **options).rows)


def test_groups_differ_as_their_weighted_estimates_do(study: dn.Study, weights: Floats) -> None:
    """Weights that are alike within each group leave the groups as they are."""
    raked = study.difference("stolen", by="site", weights=weights)
    same(raked.rows, study.difference("stolen", by="site").rows)
    assert "Weights cost 1.12 times" in str(raked)
    assert "Korn and Graubard" in raked.estimator
    assert "<svg" in raked._repr_html_()

    own = 0.2 + np.random.default_rng(5).random(N)
    (*places, apart) = study.difference("stolen", by="site", weights=own).rows
    found = study.estimate("stolen", by="site", weights=own).rows[::2]
    for place, one in zip(places, found, strict=True):
        assert place["estimate"] == pytest.approx(one["estimate"], abs=1.1e-6)
    errors = [float(one["standard_error"] or 0) for one in found]
    assert apart["standard_error"] == pytest.approx(np.hypot(*errors), abs=1.1e-6)


def test_two_studies_differ_by_what_each_weighs(
    study: dn.Study, later: dn.Study, weights: Floats
) -> None:
    """Half of the population are of the south, and a third of the respondents."""
    of_later = later.rake({"site": {"north": 0.5, "south": 0.5}})
    both = study.difference("stolen", other=later, weights=weights, other_weights=of_later).rows[0]
    one = study.difference("stolen", other=later, weights=weights).rows[0]
    turned = study.difference("stolen", other=later, other_weights=of_later).rows[0]
    means = [study.mean("drinks", weights=weights), later.mean("drinks")]
    apart = study.difference("drinks", other=later, weights=weights)

    assert abs(both["estimate"]) < 6 * both["standard_error"]
    for found, true in ((one, 1 / 6), (turned, -1 / 6)):
        assert abs(found["estimate"] - true) < 6 * found["standard_error"]
    assert apart.estimate == pytest.approx(means[0].estimate - means[1].estimate, abs=1.1e-6)


def test_one_huge_weight_shows_no_difference(study: dn.Study) -> None:
    weights = np.ones(N)
    site = np.array(study.reports.strata["site"])
    weights[[np.argmax(site == value) for value in ("north", "south")]] = 1e9
    for question in ("stolen", "drinks", "what"):
        every = study.difference(question, by="site", weights=weights).rows
        assert all(one["p_value"] is None or one["p_value"] > 0.05 for one in every)


# --- distributions --------------------------------------------------------------------------------


def test_quantiles_and_ranges_are_of_the_population(study: dn.Study, weights: Floats) -> None:
    """One in the north and eight in the south: the share up to four is that of the north."""
    shares: dict[Any, Any] = {
        row["bucket_high"]: row
        for row in study.distribution("drinks", weights=weights, strata="site").rows
        if row["figure"] == "share at most"
    }
    plain = study.distribution("drinks").rows
    found, plain = shares["4"], study.distribution("drinks").rows
    width = float(found["high"] or 0) - float(found["low"] or 0)
    assert abs(float(found["estimate"] or 0) - 0.5) < 2 * width, "of half, and not of two thirds"
    assert width < 0.2
    (whole,) = (
        row for row in plain if (row["figure"], row["bucket_high"]) == ("share at most", "4")
    )
    assert float(found["estimate"] or 0) < float(whole["estimate"] or 0)
    heavy = np.where(np.array(study.reports.strata["site"]) == "south", 20.0, 1.0)
    assert study.quantile("drinks", weights=heavy).rows[0]["low"] > 4
    assert study.quantile("drinks", weights=1 / heavy).rows[0]["high"] < 5
    by = study.quantile("drinks", by="site", weights=heavy)
    assert [row["strata"] for row in by.rows] == ["site north", "site south"]
    assert by.rows[0]["n"] == N * 2 // 3
    assert "Weights cost" in str(by)
    assert "Korn and Graubard" in by.estimator


def test_weights_that_are_alike_leave_distributions_as_they_are(study: dn.Study) -> None:
    for by in (None, "site"):
        for ask in (study.quantile, study.distribution):
            same(ask("drinks", weights=[7.0] * N, by=by).rows, ask("drinks", by=by).rows)


def test_one_huge_weight_leaves_what_one_person_tells(study: dn.Study) -> None:
    huge = [1e12, *[1.0] * (N - 1)]
    (found,) = study.quantile("drinks", weights=huge).rows
    assert (found["low"], found["high"]) == (0, 9)
    for question in ("stolen", "often", "which", "drinks", "what"):
        for row in study.estimate(question, weights=huge).rows:
            assert float(row["high"] or 0) - float(row["low"] or 0) > 0.5, row["choice"]


@pytest.mark.parametrize(("runs", "epsilon"), [(15, 1), soak(300, 1), soak(300, 3)])
def test_the_weighted_median_is_within_its_interval(runs: int, epsilon: float) -> None:
    """At a nominal 0.95: of 300 runs, 0.88 is five standard errors below."""
    survey = dn.load_survey({
        "name": "s", "title": "S", "strata": {"site": ["north", "south"]}, "questions": [
            {"name": "q", "type": "number", "label": "Q?", "minimum": 0, "maximum": 7,
             "aim": "distribution", "epsilon": epsilon}]})  # fmt: skip
    rows = [("site", "q"), *[("north", str(i % 4)) for i in range(320)]]
    rows += [("south", str(4 + i % 4)) for i in range(80)]
    hits = 0
    for _ in range(runs):
        one = dn.open((survey, dn.randomise(dn.read_people(survey, rows))))
        weights = one.rake({"site": {"north": 0.3, "south": 0.7}})
        (found,) = one.quantile("q", weights=weights).rows
        hits += found["low"] <= 5 <= found["high"]  # 0.3 are below 4, and 0.475 below 5
    assert hits / runs > (0.5 if runs < 100 else 0.88)


def test_a_group_that_is_all_alike_has_figures_as_others_have() -> None:
    """Before, it refused the figures of every group."""
    rows = [("site", "q"), *[("north", "yes")] * 40, *[("south", "no")] * 2]
    survey = dn.load_survey({
        "name": "s", "title": "S", "strata": {"site": ["north", "south"]}, "questions": [
            {"name": "q", "type": "yes_no", "label": "Q?", "odds": 9}]})  # fmt: skip
    while True:
        one = dn.open((survey, dn.randomise(dn.read_people(survey, rows))))
        if len(set(one.reports.among({"site": "south"}).answered("q").cells[:, 0].tolist())) == 1:
            break
    found = one.estimate("q", by="site", weights=[1.0] * 42).rows

    assert [row["strata"] for row in found] == ["site north"] * 2 + ["site south"] * 2
    assert all(row["standard_error"] > 0 and row["low"] < row["high"] for row in found)
    assert {row["figure"] for row in one.reports.shares("q").rows} == {"share"}


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda s, w: s.difference("stolen", by="site", weights=w[:9]), "9 weights for 900 rep"),
        (lambda s, w: s.difference("stolen", by="site", other_weights=w), "give other=, too"),
        (lambda s, w: s.difference("often", strata="site"), "give weights=, too"),
        (lambda s, w: s.distribution("pay", weights=w), "pay is a number and has no distribution"),
        (lambda s, w: s.difference("often", other=s, other_weights=w[:9]), "9 weights for 900"),
        (lambda s, w: s.difference("stolen", by="site", weights=w * (w > 1)), "weights are 0"),
        (lambda s, w: s.crosstab("stolen", "often", weights=w[:9]), "9 weights for 900 reports"),
        (lambda s, w: s.crosstab("stolen", "often", weights=-w), "negative weight"),
        (lambda s, w: s.crosstab("stolen", "often", strata="site"), "give weights=, too"),
        (lambda s, w: s.estimate("stolen", strata="site"), "give weights=, too"),
        (lambda s, w: s.mean("pay", strata="site"), "give weights=, too"),
        (lambda s, w: s.estimate("stolen", weights=["a"] * N), "weights has values that are no n"),
        (lambda s, w: s.mean("pay", weights=np.ones((N, 1))), "900 weights for 900 reports"),
        (lambda s, w: s.estimate("often", weights=w * (w > 1), by="site"), "site north: all w"),
        (lambda s, w: s.crosstab("stolen", "often", weights=w * (w > 1), by="site"), "site north:"),
        (lambda s, w: s.quantile("drinks", weights=w * (w > 1), by="site"), "site north: all w"),
        (lambda s, w: s.crosstab("stolen", "often", weights=w, strata="age"), "no stratum age"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    study: dn.Study, weights: Floats, ask: Any, why: str
) -> None:
    with pytest.raises((dn.NoFigure, dn.BadModel), match=why):
        ask(study, weights)
