"""A study with weights: tables, differences and distributions, from ``weights=``."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import deniably as dn
from deniably.core.binomial import Floats
from deniably.estimation.weighted_tally import Weighing
from deniably.workbench import comparing, weighted_figures
from deniably.workbench.models.report_weights import StratumWeights
from support.soak import soak


def survey_of(strata: Any) -> dn.Survey:
    return dn.load_survey(
        {
            "name": "work", "title": "Work", "strata": strata,
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


@cache
def survey() -> dn.Survey:
    return survey_of({"site": ["north", "south"]})


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
NORTH = ("north", "no", "never", "c0", "1", "10", "")
SOUTH = ("south", "yes", "often", "c7", "8", "90", "money;time")
ALIKE = {"north": 7.0, "south": 7.0}


def people() -> Any:
    """In the north nobody steals and all are never late; in the south all do, and are often."""
    head = ("site", *(question.name for question in survey().questions))
    return dn.read_people(survey(), [head, *[NORTH] * (N * 2 // 3), *[SOUTH] * (N // 3)])


@pytest.fixture(scope="module")
def study() -> dn.Study:
    return dn.open((survey(), dn.randomise(people())))


@pytest.fixture(scope="module")
def weights(study: dn.Study) -> StratumWeights:
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


def test_a_weighted_cross_table_is_of_the_population(
    study: dn.Study, weights: StratumWeights
) -> None:
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
    assert re.search(r"Weights cost 1\.1[23] times the respondents \(Kish\)", str(found)), "9/8"
    assert "Rao and Scott" in found.estimator
    assert "<svg" in found._repr_html_()


@pytest.mark.parametrize(("rows", "columns"), [("often", "stolen"), ("which", "often")])
def test_weights_that_are_alike_leave_a_cross_table_as_it_is(
    study: dn.Study, rows: str, columns: str
) -> None:
    """But for standard errors, which are R's: over n - 1, and from the spread of the reports."""
    same(study.crosstab(rows, columns, weights=ALIKE).rows, study.crosstab(rows, columns).rows)


def test_each_group_has_a_weighted_table_of_its_own(study: dn.Study) -> None:
    weights = {"north": 0.5, "south": 1.7}
    found = study.crosstab("stolen", "often", by="site", weights=weights)
    alone = dn.open((study.survey, study.reports.among({"site": "south"})))

    expected = alone.crosstab("stolen", "often", weights={"south": 1.7}).rows
    rows = [row for row in found.rows if row["strata"] == "site south"]
    assert [{**row, "strata": ""} for row in rows] == [dict(row) for row in expected]


def test_weights_are_those_of_people_who_were_asked_both() -> None:
    study = dn.open((SAMPLED, dn.randomise(dn.simulate_people(SAMPLED, 600))))
    asked = study.reports.answered("stolen").asked & study.reports.answered("late").asked
    plain = study.crosstab("stolen", "late")

    def crossed(weights: Floats) -> dn.Findings:
        collected = study._collected
        own = weighted_figures.weights_among(collected, Weighing(weights), "stolen", "late")
        return comparing.crossed(collected, collected.pairs(0, 1), [0, 1], 0.95, weighed=own)

    found = crossed(np.where(asked, 1.0, 50.0))

    assert 0 < asked.sum() < 600
    assert found.rows[0]["n"] == plain.rows[0]["n"] == asked.sum()
    estimates = ([row["estimate"] for row in one.rows] for one in (found, plain))
    assert next(estimates) == pytest.approx(next(estimates), abs=1.1e-6)
    with pytest.raises(dn.BadModel, match="all weights are 0"):
        crossed(np.where(asked, 0.0, 1.0))


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
        found = study.difference(question, weights=ALIKE, **options)
        same(found.rows, study.difference(question, **options).rows)


def test_groups_differ_as_their_weighted_estimates_do(
    study: dn.Study, weights: StratumWeights
) -> None:
    """Weights that are alike within each group leave the groups as they are."""
    raked = study.difference("stolen", by="site", weights=weights)
    same(raked.rows, study.difference("stolen", by="site").rows)
    assert re.search(r"Weights cost 1\.1[23] times", str(raked)), "9/8"
    assert "Korn and Graubard" in raked.estimator
    assert "<svg" in raked._repr_html_()

    own = {"north": 0.2, "south": 1.1}
    (*places, apart) = study.difference("stolen", by="site", weights=own).rows
    found = study.estimate("stolen", by="site", weights=own).rows[::2]
    for place, one in zip(places, found, strict=True):
        assert place["estimate"] == pytest.approx(one["estimate"], abs=1.1e-6)
    errors = [float(one["standard_error"] or 0) for one in found]
    assert apart["standard_error"] == pytest.approx(np.hypot(*errors), abs=1.1e-6)


def test_two_studies_differ_by_what_each_weighs(
    study: dn.Study, later: dn.Study, weights: StratumWeights
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


@pytest.fixture(scope="module")
def lonely() -> dn.Study:
    """Of each site one person is in a stratum alone."""
    own = survey_of({"site": ["north", "south"], "with": ["nobody", "others"]})
    head = ("site", "with", *(question.name for question in own.questions))
    rows = [(row[0], who, *row[1:]) for row, n in ((NORTH, N * 2 // 3), (SOUTH, N // 3))
            for who in ("nobody", *["others"] * (n - 1))]  # fmt: skip
    return dn.open((own, dn.randomise(dn.read_people(own, [head, *rows]))))


def test_one_huge_weight_shows_no_difference(lonely: dn.Study) -> None:
    ones, huge = dict.fromkeys((("north", "others"), ("south", "others")), 1.0), 1e9
    weights = {**ones, ("north", "nobody"): huge, ("south", "nobody"): huge}
    for question in ("stolen", "drinks", "what"):
        every = lonely.difference(question, by="site", weights=weights).rows
        assert all(one["p_value"] is None or one["p_value"] > 0.05 for one in every)


# --- distributions --------------------------------------------------------------------------------


def test_quantiles_and_ranges_are_of_the_population(
    study: dn.Study, weights: StratumWeights
) -> None:
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
    heavy = {"north": 1.0, "south": 20.0}
    assert study.quantile("drinks", weights=heavy).rows[0]["low"] > 4
    light = {"north": 20.0, "south": 1.0}
    assert study.quantile("drinks", weights=light).rows[0]["high"] < 5
    by = study.quantile("drinks", by="site", weights=heavy)
    assert [row["strata"] for row in by.rows] == ["site north", "site south"]
    assert by.rows[0]["n"] == N * 2 // 3
    assert "Weights cost" in str(by)
    assert "Korn and Graubard" in by.estimator


def test_weights_that_are_alike_leave_distributions_as_they_are(study: dn.Study) -> None:
    for by in (None, "site"):
        for ask in (study.quantile, study.distribution):
            same(ask("drinks", weights=ALIKE, by=by).rows, ask("drinks", by=by).rows)


def test_one_huge_weight_leaves_what_one_person_tells(lonely: dn.Study) -> None:
    strata = [(site, who) for site in ("north", "south") for who in ("nobody", "others")]
    huge = {**dict.fromkeys(strata, 1.0), strata[0]: 1e12}
    (found,) = lonely.quantile("drinks", weights=huge).rows
    assert (found["low"], found["high"]) == (0, 9)
    for question in ("stolen", "often", "which", "drinks", "what"):
        for row in lonely.estimate(question, weights=huge).rows:
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
    found = one.estimate("q", by="site", weights=ALIKE).rows

    assert [row["strata"] for row in found] == ["site north"] * 2 + ["site south"] * 2
    assert all(row["standard_error"] > 0 and row["low"] < row["high"] for row in found)
    assert {row["figure"] for row in one.reports.shares("q").rows} == {"share"}


# --- what is refused ------------------------------------------------------------------------------


ONE_A_PERSON = "sorted by content, so no list of weights is in their order: give one for each str"
NOBODY = {"north": 0.0, "south": 1.0}


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda s, w: s.difference("stolen", by="site", other_weights=w), "give other=, too"),
        (lambda s, w: s.difference("often", strata="site"), "give weights=, too"),
        (lambda s, w: s.distribution("pay", weights=w), "pay is a number and has no distribution"),
        (lambda s, w: s.difference("stolen", by="site", weights=NOBODY), "weights are 0"),
        (
            lambda s, w: s.crosstab("stolen", "often", weights={"north": -1, "south": 1}),
            "'north' has a",
        ),
        (lambda s, w: s.crosstab("stolen", "often", strata="site"), "give weights=, too"),
        (lambda s, w: s.estimate("stolen", strata="site"), "give weights=, too"),
        (lambda s, w: s.mean("pay", strata="site"), "give weights=, too"),
        (lambda s, w: s.estimate("stolen", weights={"north": "a", "south": 1}), "has values that"),
        (lambda s, w: s.estimate("stolen", weights={"north": np.nan, "south": 1}), "not finite"),
        (lambda s, w: s.estimate("often", weights=NOBODY, by="site"), "site north: all w"),
        (lambda s, w: s.crosstab("stolen", "often", weights=NOBODY, by="site"), "site north:"),
        (lambda s, w: s.quantile("drinks", weights=NOBODY, by="site"), "site north: all w"),
        (lambda s, w: s.crosstab("stolen", "often", weights=w, strata="age"), "no stratum age"),
        (lambda s, w: s.estimate("stolen", weights={"north": 1}), "no weight of the stratum 'sou"),
        (lambda s, w: s.estimate("stolen", weights={**w, "west": 1}), "no stratum 'west'; there"),
        (lambda s, w: s.estimate("stolen", weights=[1.0] * N), ONE_A_PERSON),
        (lambda s, w: s.estimate("stolen", weights=np.ones(N)), ONE_A_PERSON),
        (lambda s, w: s.mean("pay", weights=np.ones(N)), ONE_A_PERSON),
        (lambda s, w: s.distribution("drinks", weights=np.ones(N)), ONE_A_PERSON),
        (lambda s, w: s.quantile("drinks", weights=np.ones(N)), ONE_A_PERSON),
        (lambda s, w: s.crosstab("stolen", "often", weights=np.ones(N)), ONE_A_PERSON),
        (lambda s, w: s.difference("often", by="site", weights=np.ones(N)), ONE_A_PERSON),
        (lambda s, w: s.difference("often", other=s, other_weights=[1.0] * N), ONE_A_PERSON),
        (lambda s, w: s.regress("stolen ~ 1", weights=np.ones(N)), ONE_A_PERSON),
        (lambda s, w: s.reports.shares("stolen", weights=np.arange(N) + 1.0), ONE_A_PERSON),
        (lambda s, w: s.reports.regress("stolen ~ 1", weights=np.arange(N) + 1.0), ONE_A_PERSON),
        (lambda s, w: s.reports.shares("stolen", weights=[1.0] * 9), "9 weights for 900 reports"),
        (lambda s, w: s.reports.shares("stolen", weights=np.ones((N, 1))), "900 weights for 900"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    study: dn.Study, weights: Floats, ask: Any, why: str
) -> None:
    with pytest.raises((dn.NoFigure, dn.BadModel), match=why):
        ask(study, weights)


def test_weights_in_the_order_of_people_are_refused_and_by_stratum_give_the_share() -> None:
    """As reported: .55 of the population say yes. Before, a list of people's weights gave .404."""
    rows = [("north", "yes" if i < 90 else "no") for i in range(300)]
    rows += [("south", "yes" if i < 160 else "no") for i in range(200)]
    truth = (0.5 * 90 + 1.75 * 160) / 500
    for order in (rows[::7] + [row for i, row in enumerate(rows) if i % 7], rows[::-1]):
        people_weights = [0.5 if site == "north" else 1.75 for site, _ in order]
        own = dn.load_survey({
            "name": "s", "title": "S", "strata": {"site": ["north", "south"]}, "questions": [
                {"name": "q", "type": "yes_no", "label": "Q?", "odds": 1000}]})  # fmt: skip
        one = dn.open((own, dn.randomise(dn.read_people(own, [("site", "q"), *order]))))
        for ask in (one, one.reports):
            with pytest.raises(dn.BadModel, match="sorted by content"):
                ask.regress("q ~ 1", weights=people_weights)  # type: ignore[arg-type]
        by_stratum = {"north": 0.5, "south": 1.75}
        share = one.estimate("q", weights=by_stratum).rows[0]
        assert abs(share["estimate"] - truth) < 0.02
        assert one.reports.shares("q", weights=by_stratum).rows[1]["estimate"] == pytest.approx(
            share["estimate"], abs=1e-6
        )
        assert one.regress("q ~ 1", weights=by_stratum).n == 500


def test_a_survey_without_strata_has_nothing_to_weigh_by() -> None:
    definition = {"name": "s", "title": "S", "questions": [
        {"name": "q", "type": "yes_no", "label": "Q?", "odds": 3}]}  # fmt: skip
    own = dn.load_survey(definition)
    one = dn.open((own, dn.randomise(dn.simulate_people(own, 100))))
    wanted: Any
    for wanted in ([1.0] * 100, {"north": 1.0}):
        with pytest.raises(dn.BadModel, match=r"survey has no strata"):
            one.estimate("q", weights=wanted)


def test_strata_of_several_keys_are_tuples_and_an_empty_one_needs_no_weight() -> None:
    own = dn.load_survey({
        "name": "s", "title": "S", "strata": {"site": ["n", "s"], "age": ["old", "young"]},
        "questions": [{"name": "q", "type": "yes_no", "label": "Q?", "odds": 9}],
    })  # fmt: skip
    rows = [("site", "age", "q"), *[("n", "old", "no")] * 300, *[("s", "old", "yes")] * 100,
            *[("n", "young", "yes")] * 100]  # fmt: skip
    one = dn.open((own, dn.randomise(dn.read_people(own, rows))))
    raked = one.rake({"site": {"n": 0.5, "s": 0.5}, "age": {"old": 0.7, "young": 0.3}})

    assert set(raked) == {("old", "n"), ("old", "s"), ("young", "n")}
    people = {("old", "n"): 300, ("old", "s"): 100, ("young", "n"): 100}
    assert sum(people[key] * raked[key] for key in people) == pytest.approx(500)  # type: ignore[index]
    assert sum(people[key] * raked[key] for key in people if key[1] == "s") == pytest.approx(250)  # type: ignore[index]
    share = one.estimate("q", weights=raked).rows[0]
    assert abs(share["estimate"] - 0.8) < 5 * share["standard_error"]
    with pytest.raises(TypeError):
        raked["old", "n"] = 2  # type: ignore[index]
