"""A study of a question that is asked only of some: whose shares its figures are."""

from __future__ import annotations

import pytest

import deniably as dn
from deniably.results.among_asked import OF_EVERYBODY
from deniably.results.crosstabs import own_filter
from deniably.workbench.files.scripts import scripts_of
from deniably.workbench.report_set import of_simulation
from deniably.workbench.scripted import script_of
from support.followed import followed

SITES = ["north", "south"]
WEIGHTS = {"north": 1.2, "south": 0.8}


@pytest.fixture(scope="module")
def study() -> dn.Study:
    survey = dn.load_survey({
        "name": "late", "title": "Late", "strata": {"site": SITES},
        "questions": [
            {"name": "stolen", "type": "yes_no", "label": "Ever stolen?", "epsilon": 3},
            {"name": "again", "type": "yes_no", "label": "Again?", "epsilon": 3,
             "show_if": {"question": "stolen", "is": "yes"}},
        ],
    })  # fmt: skip
    return dn.open((survey, dn.randomise(dn.simulate_people(survey, 600))))


def test_weighted_shares_are_of_those_who_were_asked(study: dn.Study) -> None:
    """With all weights alike they are those without weights."""
    plain = study.estimate("again").rows
    alike = study.estimate("again", weights=dict.fromkeys(SITES, 2.0)).rows

    of_asked = [row for row in plain if row["figure"] in ("share of those asked", "share asked")]
    assert [row["figure"] for row in of_asked] == [*["share of those asked"] * 2, "share asked"]
    for one, other in zip(of_asked, alike, strict=False):
        for key in ("figure", "choice", "estimate", "low", "high", "standard_error", "n"):
            assert one[key] == pytest.approx(other[key]), key


def test_a_stratum_without_weight_does_not_count(study: dn.Study) -> None:
    north = study.estimate("again", weights={"north": 1.0, "south": 0.0}).rows[0]

    alone = study.estimate("again", by="site").parts["north"].rows[0]

    assert north["estimate"] == alone["estimate"]
    assert north["low"] == pytest.approx(alone["low"], abs=1e-3)
    assert study.estimate("again", weights=WEIGHTS).rows[0]["estimate"] != alone["estimate"]


def test_weighted_subgroups_and_distributions_are_of_those_who_were_asked(study: dn.Study) -> None:
    by_site = study.estimate("again", weights=WEIGHTS, by="site")
    spread = study.distribution("again", weights=WEIGHTS)

    assert [row["strata"] for row in by_site.rows[:3]] == ["site north"] * 3
    assert by_site.rows[0]["figure"] == spread.rows[0]["figure"] == "share of those asked"
    assert "of those asked: Yes" in str(by_site)


def test_strata_differ_in_shares_of_those_who_were_asked(study: dn.Study) -> None:
    for weights in (None, WEIGHTS):
        found = study.difference("again", by="site", weights=weights)  # type: ignore[arg-type]

        (north, south, apart) = found.rows
        assert [north["figure"], south["figure"]] == ["share of those asked"] * 2
        assert north["estimate"] - south["estimate"] == pytest.approx(apart["estimate"], abs=1e-5)
        assert found.notes[0] == "Shares of those who were asked."
        assert found.to_dict()["figures"][0]["of"] == "those asked"
    assert "of" not in study.difference("stolen", by="site").to_dict()["figures"][0]


def test_studies_and_waves_differ_in_shares_of_those_who_were_asked(study: dn.Study) -> None:
    apart = study.difference("again", other=study, other_weights=WEIGHTS)
    change = study.trend("again", [study, study])

    for found in (apart, change):
        assert found.notes[0] == "Shares of those who were asked."
    assert apart.rows[0]["standard_error"] == pytest.approx(change.rows[2]["standard_error"], rel=1)
    assert change.rows[2]["change"] == 0
    assert change.rows[2]["trend_p_value"] is None


def test_two_answers_differ_among_those_who_were_asked_exactly_if_they_do_among_all(
    study: dn.Study,
) -> None:
    found = study.difference("again")

    assert len(found.rows) == 1, "not applicable is no answer to compare"
    assert found.notes[0].startswith(OF_EVERYBODY)
    assert "the tests are of both" in found.notes[0]


def test_a_question_is_not_crossed_with_the_one_that_decides_about_it(study: dn.Study) -> None:
    for pair in (("stolen", "again"), ("again", "stolen")):
        with pytest.raises(dn.NoFigure, match="stolen decides who is asked again"):
            study.crosstab(*pair)


def test_only_the_question_that_decides_is_refused() -> None:
    first, second = followed().questions

    assert own_filter(first, second)
    assert own_filter(second, first)
    assert own_filter(first, first) == ""


def test_an_estimate_from_tallies_says_that_whole_reports_tell_more() -> None:
    survey = followed(2)
    reports = dn.randomise(dn.simulate_people(survey, 500))

    from_tallies = dn.estimate(survey, dn.tally(reports))
    from_reports = dn.open((survey, reports)).estimate()

    assert any("this question alone" in note for note in from_tallies.notes)
    assert not any("this question alone" in note for note in from_reports.notes)


def test_scripts_name_the_shares_of_those_who_were_asked() -> None:
    reports = of_simulation(dn.randomise(dn.simulate_people(followed(2), 200)))

    for _, text in scripts_of(reports, script_of(reports)):
        assert "again: the shares of those who were asked from the reports to both" in text
        assert "with the error of a ratio (delta" in text
        assert "A0, of those asked" in text


def test_scripts_without_a_column_for_each_answer_say_so() -> None:
    survey = followed(3, 4, kind="select_multiple", mechanism="sampled_ticks")
    reports = of_simulation(dn.randomise(dn.simulate_people(survey, 200)))

    every = dict(scripts_of(reports, script_of(reports)))
    assert "here are shares of everybody" in every["analyse.R"]
    assert "among <-" not in every["analyse.R"], "no program that nothing calls"
