"""Strata in a set of reports: subgroups, weights to known margins, and covariates of models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deniably as dn
from deniably.core.errors import BadAnswer
from deniably.workbench.models.of_reports import regress_reports
from deniably.workbench.models.weighted_shares import weighted_shares
from deniably.workbench.packing import layout
from deniably.workbench.report_set import ReportSet, of_rows, of_simulation

SURVEY = dn.load_survey(
    {
        "name": "work", "title": "Work", "results": {"minimum": 100},
        "strata": {"site": ["north", "south"], "shift": ["day", "night", "none"]},
        "questions": [
            {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 9},
            {"name": "often", "type": "select_one", "label": "How often?", "odds": 9,
             "choices": ["Never", "Once", "Often"]},
        ],
    }
)  # fmt: skip
SAMPLED = dn.load_survey(
    {
        "name": "some", "title": "Some", "strata": {"site": ["north", "south"]},
        "budget": {"epsilon": 2, "spend": "sample", "ask": 1},
        "questions": [
            {"name": name, "type": "yes_no", "label": name} for name in ("stolen", "late")
        ],
    }
)  # fmt: skip
N = 3_000
STOLEN = dn.Design.pair("9/10", "1/10")


def people(n: int = N) -> dict[str, list[Any]]:
    """In the south 0.5 steal, in the north 0.2; the south has a third of them."""
    south = [i % 3 == 0 for i in range(n)]
    return {
        "shift": [("day", "night", "none")[i // 7 % 3] for i in range(n)],
        "site": ["south" if one else "north" for one in south],
        "stolen": [
            "yes" if (i // 3) % 10 < (5 if one else 2) else "no" for i, one in enumerate(south)
        ],
        "often": [("never", "once", "often")[i // 11 % 3] for i in range(n)],
    }


@pytest.fixture(scope="module")
def simulated() -> dn.Reports:
    import pandas as pd

    return dn.randomise(dn.read_people(SURVEY, pd.DataFrame(people())))


@pytest.fixture(scope="module")
def reports(simulated: dn.Reports) -> ReportSet:
    return of_simulation(simulated)


def own_data(reports: ReportSet) -> dict[str, Any]:
    """The reports as somebody has them who knows nothing of surveys."""
    yes = reports.column("stolen__yes").values
    return {"stolen": yes.tolist(), **reports.strata}


# --- people, and their subgroups ------------------------------------------------------------------


def test_people_come_with_their_strata_and_so_do_their_reports(simulated: dn.Reports) -> None:
    asked = people()
    rows = list(simulated.rows())

    assert [row["site"] for row in rows] == asked["site"]
    assert [row["shift"] for row in rows] == asked["shift"]
    frame = dn.simulate_people(SURVEY, 60).to_frame()
    assert frame.groupby(["shift", "site"]).size().tolist() == [10] * 6
    again = dn.read_people(SURVEY, frame)
    assert again.to_frame().equals(frame)


def test_the_people_of_a_subgroup_are_those_whose_links_say_so() -> None:
    import pandas as pd

    everybody = dn.read_people(SURVEY, pd.DataFrame(people(300)))
    south = everybody.among({"site": "south"})

    kept = [row for row in everybody.to_frame().to_dict("records") if row["site"] == "south"]
    assert south.to_frame().to_dict("records") == kept
    assert south.n == 100
    with pytest.raises(ValueError, match="nobody of shift night, site south"):
        dn.read_people(SURVEY, pd.DataFrame(people(5))).among({"site": "south", "shift": "night"})
    with pytest.raises(ValueError, match="site is one of north, south"):
        everybody.among({"site": "west"})


@pytest.mark.parametrize(
    ("column", "why"),
    [({"site": "South"}, "row 3: site is one of north, south"), ({}, "the column site is missing")],
)
def test_a_table_of_people_needs_a_stratum_for_everybody(column: Any, why: str) -> None:
    given = people(3)
    given |= {key: [given[key][0], value, given[key][2]] for key, value in column.items()}
    if not column:
        del given["site"]

    with pytest.raises(BadAnswer, match=why):
        dn.read_people(SURVEY, [list(given), *zip(*given.values(), strict=True)])


def test_the_tallies_of_subgroups_add_up(simulated: dn.Reports, reports: ReportSet) -> None:
    whole = dn.tally(simulated)
    sites = [dn.tally(simulated, strata={"site": site}) for site in ("north", "south")]

    assert reports.tally() == whole
    assert [reports.among({"site": site}).tally() for site in ("north", "south")] == sites
    assert {name: sites[0][name] + sites[1][name] for name in whole} == whole
    by = reports.by("shift")
    assert list(by) == ["day", "night", "none"]
    assert sum(map(len, by.values())) == N
    assert by["day"].strata["shift"] == ["day"] * len(by["day"])
    assert dn.estimate(SURVEY, by["day"].tally()).rows[0]["n"] == len(by["day"])


def test_in_every_block_of_people_each_keeps_the_own_stratum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With odds of 20,000 four lies of 150 have a chance below 1e-9."""
    monkeypatch.setattr("deniably.simulation.people.BLOCK", 7)
    question = {"name": "q", "type": "yes_no", "label": "Q", "odds": 20_000}
    sure = dn.load_survey(
        {"name": "s", "title": "S", "strata": {"site": ["a", "b"]}, "questions": [question]}
    )
    rows = [("a", "yes") if i < 100 else ("b", "no") for i in range(150)]
    simulated = dn.randomise(dn.read_people(sure, [("site", "q"), *rows]))

    for found in (
        [dn.tally(simulated, strata={"site": site})["q"] for site in "ab"],
        [of_simulation(simulated).among({"site": site}).tally()["q"] for site in "ab"],
    ):
        assert [one.n for one in found] == [100, 50]
        assert found[0].counts[0] > 96
        assert found[1].counts[1] > 46


def test_estimates_of_a_subgroup_are_called_so(simulated: dn.Reports) -> None:
    night = {"shift": "night"}
    found = dn.estimate(SURVEY, dn.tally(simulated, strata=night), strata=night)

    assert found.caption == "Work (shift night)"
    assert found.document.strata == night
    for wrong, why in (({"shift": "noon"}, "shift is one of"), ({"age": "old"}, "no stratum age")):
        with pytest.raises(ValueError, match=why):
            dn.estimate(SURVEY, dn.tally(simulated), strata=wrong)
        with pytest.raises(ValueError, match=why):
            dn.tally(simulated, strata=wrong)


def test_of_a_sample_of_questions_a_subgroup_has_its_own_reports() -> None:
    simulated = dn.randomise(dn.simulate_people(SAMPLED, 400))
    found = dn.tally(simulated, strata={"site": "north"})

    assert sum(one.n for one in found.values()) == 200
    assert of_simulation(simulated).among({"site": "north"}).tally() == found


# --- weights and models ---------------------------------------------------------------------------


def test_raked_weights_meet_the_known_margins_of_strata(reports: ReportSet) -> None:
    margins = {
        "site": {"north": 0.5, "south": 0.5},
        "shift": {"day": 0.2, "night": 0.3, "none": 0.5},
    }
    weights = reports.rake(margins)

    assert weights.mean() == pytest.approx(1)
    for key, shares in margins.items():
        for value, share in shares.items():
            inside = np.array(reports.strata[key]) == value
            assert weights[inside].sum() / N == pytest.approx(share, abs=1e-9)


def test_weighted_shares_are_those_of_the_same_columns_as_own_data(reports: ReportSet) -> None:
    weights = reports.rake({"site": {"north": 0.5, "south": 0.5}})
    own = weighted_shares(
        "stolen", own_data(reports), design=STOLEN, weights=weights, strata="site"
    ).rows
    found = reports.shares("stolen", weights=weights, strata="site").rows

    assert [row["answer"] for row in found] == ["no", "yes"]
    for row, expected in zip(found, own, strict=True):
        for name in ("estimate", "standard_error", "low", "high", "design_effect"):
            assert row[name] == pytest.approx(expected[name], abs=1e-12)
    # Half of 0.5 and half of 0.2; six standard errors
    assert abs(found[1]["estimate"] - 0.35) < 6 * found[1]["standard_error"]


def test_each_value_of_a_key_has_shares_of_its_own(reports: ReportSet) -> None:
    weights = reports.rake({"shift": {"day": 0.2, "night": 0.3, "none": 0.5}})
    found = reports.shares("often", weights=weights, by="site")

    assert [row["site"] for row in found.rows] == ["north"] * 3 + ["south"] * 3
    inside = np.array(reports.strata["site"]) == "south"
    alone = reports.among({"site": "south"}).shares("often", weights=weights[inside].tolist())
    assert [dict(row, site="south") for row in alone.rows] == [dict(row) for row in found.rows[3:]]
    assert found.lines[0][0] == "site"
    assert str(found).startswith("often, by site")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("link", ["logit", "identity"])
def test_strata_are_covariates_under_their_own_names(
    reports: ReportSet, weighted: bool, link: Any
) -> None:
    options: dict[str, Any] = {"link": link}
    if weighted:
        options |= {"weights": reports.rake({"site": {"north": 0.4, "south": 0.6}})}
    found = reports.regress("stolen ~ C(site) + C(shift)", strata="shift" if weighted else None,
                            **options)  # fmt: skip
    own = dn.regress(
        "stolen ~ C(site) + C(shift)", own_data(reports), designs={"stolen": STOLEN},
        strata="shift" if weighted else None, **options,
    )  # fmt: skip

    assert [one.term for one in found.coefficients] == [one.term for one in own.coefficients]
    for one, expected in zip(found.coefficients, own.coefficients, strict=True):
        assert one.estimate == pytest.approx(expected.estimate, abs=1e-8)
        assert one.standard_error == pytest.approx(expected.standard_error, abs=1e-8)
    south = next(one for one in found.coefficients if one.term == "C(site)[T.south]")
    assert south.estimate > 0, "more steal in the south: the chance of the contrary is below 1e-20"


def test_errors_may_be_taken_within_strata_of_all_keys(reports: ReportSet) -> None:
    both = [f"{a}{b}" for a, b in zip(*reports.strata.values(), strict=True)]
    found = reports.regress("stolen ~ C(site)", strata=["site", "shift"])
    own = dn.regress(
        "stolen ~ C(site)", {**own_data(reports), "both": both}, designs={"stolen": STOLEN},
        strata="both",
    )  # fmt: skip

    assert found.coefficients[1].standard_error == pytest.approx(
        own.coefficients[1].standard_error, abs=1e-10
    )


def test_who_was_not_asked_is_left_out_with_weight_and_stratum() -> None:
    found = of_simulation(dn.randomise(dn.simulate_people(SAMPLED, 600)))
    weights = np.where(np.array(found.strata["site"]) == "north", 1.0, 2.0)
    asked = found.answered("late").asked
    model = found.regress("late ~ C(site)", weights=weights.tolist(), strata="site")
    law: Any = SAMPLED.questions[1].mechanism.law
    own = dn.regress(
        "late ~ C(site)",
        {"late": found.column("late__yes").values[asked].tolist(),
         "site": np.array(found.strata["site"])[asked].tolist()},
        designs={"late": (law.p, law.q)}, weights=weights[asked].tolist(), strata="site",
    )  # fmt: skip

    assert model.n == asked.sum() == own.n
    assert model.coefficients[1].estimate == pytest.approx(own.coefficients[1].estimate, abs=1e-8)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda one: one.rake({"stolen": {"yes": 1}}), "stolen is a question, and randomised"),
        (
            lambda one: one.rake({"age": {"old": 1}}),
            "margins has no column 'age'; there are shift, s",
        ),
        (lambda one: one.rake({"site": {"north": 1}}), "no known share of south"),
        (lambda one: one.rake({}), "at least one column"),
        (lambda one: one.among({"site": "west"}), "site is one of north, south"),
        (lambda one: one.by("age"), "no stratum age"),
        (lambda one: one.shares("site"), "site is a stratum"),
        (lambda one: one.shares("stolen", by="sit"), "no stratum sit; did you mean site"),
        (lambda one: one.shares("stolen", weights=[0.0] * N), "all weights are 0"),
        (lambda one: one.shares("stolen", confidence=95), "confidence is 95"),
        (lambda one: one.regress("stolen ~ C(age)"), "no question age"),
        (lambda one: one.regress("stolen ~ 1", strata="age"), "no stratum age"),
        (lambda one: one.among({"site": "north"}).regress("stolen ~ C(site)"), "site is the same"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(reports: ReportSet, ask: Any, why: str) -> None:
    with pytest.raises(dn.BadModel, match=why):
        ask(reports)


@pytest.mark.parametrize(
    "ask",
    [
        lambda one: one.rake({"site": {"north": 0.5, "south": 0.5}}),
        lambda one: one.by("site"),
        lambda one: one.shares("stolen", by="site"),
        lambda one: one.shares("stolen", strata="site"),
        lambda one: one.regress("stolen ~ C(site)"),
        lambda one: regress_reports(one, "stolen ~ 1", strata="site"),
    ],
)
def test_strata_that_were_left_out_are_refused_with_the_reason(
    reports: ReportSet, ask: Any
) -> None:
    bare = of_rows(layout(SURVEY), [reports.rows[:, 1:]])

    with pytest.raises(dn.BadModel, match="each stratum needs 100 reports to every question"):
        ask(bare)
