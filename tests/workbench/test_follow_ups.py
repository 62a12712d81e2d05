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


def test_weighted_figures_and_differences_say_that_they_are_of_everybody(study: dn.Study) -> None:
    weights = {"north": 1.2, "south": 0.8}
    every = (
        study.estimate("again", weights=weights),
        study.difference("again", by="site"),
        study.difference("again"),
    )

    for found in every:
        assert found.notes[0].startswith(OF_EVERYBODY)
    assert not study.difference("stolen", by="site").notes[0].startswith(OF_EVERYBODY)


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
        assert "again: the shares of those who were asked" in text
        assert "here are shares of everybody" in text
