"""A question that is asked only of some, wherever its results and its choices are shown."""

from __future__ import annotations

import csv
import secrets
from typing import Any

import msgspec
import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient

import deniably as dn
from deniably.core.errors import BadAnswer
from deniably.estimation.tally import tally
from deniably.exhibits.cards import cards
from deniably.exhibits.paper import paper
from deniably.exhibits.question_exhibit import exhibit
from deniably.results.document import SurveyResult
from deniably.results.result import result
from deniably.results.writing.question_sentences import sentence
from deniably.simulation.people import read_people
from deniably.survey.questions import offered
from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably_server.storage.store import Store
from support.followed import drawn, tallied
from support.material import signed

RESULTS = "/api/surveys/late/results"
N = 1200


def survey_of_some(**rules: Any) -> Survey:
    also = {"results": {"minimum": 50, **rules}}
    asked = {"show_if": {"question": "stolen", "is": "yes"}, "epsilon": 2}
    return dn.load_survey({
        "name": "late", "title": "Late", **also,
        "questions": [
            {"name": "stolen", "type": "yes_no", "label": "Ever stolen?", "epsilon": 2},
            {"name": "again", "type": "yes_no", "label": "Again?", **asked},
        ],
    })  # fmt: skip


def collected(store: Store, survey: Survey, asked: float, share: float) -> list[list[list[int]]]:
    """Stores reports of N people of whom so many were asked, and so many of these said yes."""
    store.publish(survey, signed(survey))
    reports = drawn(survey, N, asked, [share, 1 - share], np.random.default_rng(13))
    for first, second in zip(*reports, strict=True):
        values = {"stolen": first, "again": second}
        store.add(survey, Report(secrets.token_hex(16), survey.digest, values))
    return [list(one) for one in reports]


@pytest.fixture
def closed(app: Flask) -> Survey:
    """15 of 100 were asked, of whom 40 of 100 said yes."""
    survey, store = survey_of_some(), app.extensions["deniably"]
    collected(store, survey, 0.15, 0.4)
    store.close_survey("late")
    return survey


def test_the_headline_is_about_those_who_were_asked(closed: Survey, client: FlaskClient) -> None:
    """'Not applicable' is the answer of most, and no headline, no line and no bar."""
    again = client.get(RESULTS).get_json()["questions"][1]
    page = client.get("/surveys/late").text

    among = again["among_asked"]
    assert max(again["choices"], key=lambda one: one["estimate"])["name"] == "not_applicable"
    assert again["sentence"].startswith("Of those who were asked, about ")
    assert "answered “Yes”" in again["sentence"]
    assert again["notes"][0].endswith("were asked: those who answered “Yes” to"
                                      " “Ever stolen?”.")  # fmt: skip
    assert [one["name"] for one in among["choices"]] == ["yes", "no"]
    assert (among["question"], among["answers"]) == ("stolen", ["yes"])
    assert among["reports"] == "both questions"
    low, high = among["choices"][0]["interval"]
    assert low <= 0.4 <= high
    assert among["asked"]["interval"][0] <= 0.15 <= among["asked"]["interval"][1]
    glance, _, rest = page.partition('id="again"')
    assert "Not applicable" not in glance
    pictures, _, folded = rest.partition("Numbers<span")
    assert "Not applicable" not in pictures
    assert folded


def test_the_spreadsheet_and_the_figure_say_the_same(closed: Survey, client: FlaskClient) -> None:
    among = client.get(RESULTS).get_json()["questions"][1]["among_asked"]
    sheet = client.get(f"{RESULTS}.csv").text.splitlines()

    rows = [row for row in csv.DictReader(sheet) if row["figure"] == "share of those asked"]
    assert [row["choice"] for row in rows] == ["yes", "no"]
    for row, one in zip(rows, among["choices"], strict=True):
        assert float(row["estimate"]) == one["estimate"]
        assert [float(row["low"]), float(row["high"])] == one["interval"]
    (asked,) = [row for row in csv.DictReader(sheet) if row["figure"] == "share asked"]
    assert float(asked["estimate"]) == among["asked"]["estimate"]
    figure = client.get("/api/surveys/late/figures/again.svg").text
    assert "Of those who were asked" in figure
    assert "Not applicable" not in figure


def test_both_questions_tell_more_than_the_open_survey_shows(
    app: Flask, client: FlaskClient
) -> None:
    """Results of an open survey change by batches, so they rest on the tally of this question."""
    survey, store = survey_of_some(while_open=True), app.extensions["deniably"]
    collected(store, survey, 0.15, 0.4)

    before = client.get(RESULTS).get_json()["questions"][1]["among_asked"]
    store.close_survey("late")
    after = client.get(RESULTS).get_json()["questions"][1]["among_asked"]

    assert (before["reports"], after["reports"]) == ("this question", "both questions")
    widths = [one["choices"][0]["interval"] for one in (before, after)]
    assert widths[1][1] - widths[1][0] < 0.9 * (widths[0][1] - widths[0][0])


def test_pages_that_compare_say_whose_shares_they_are(app: Flask, client: FlaskClient) -> None:
    rows = [
        {"name": "stolen", "type": "yes_no", "label": "Ever stolen?", "epsilon": 4},
        {"name": "again", "type": "select_one", "label": "What?", "choices": ["Money", "Goods"],
         "show_if": {"question": "stolen", "is": "yes"}, "epsilon": 4},
    ]  # fmt: skip
    strata = {"site": ["north", "south"]}
    survey = dn.load_survey({"name": "late", "title": "Late", "results": {"minimum": 50},
                             "strata": strata, "questions": rows})  # fmt: skip
    store = app.extensions["deniably"]
    store.publish(survey, signed(survey))
    reports = drawn(survey, 400, 0.5, [0.9, 0.1], np.random.default_rng(3))
    for number, (first, second) in enumerate(zip(*reports, strict=True)):
        site = {"site": strata["site"][number % 2]}
        values = {"stolen": first, "again": second}
        store.add(survey, Report(secrets.token_hex(16), survey.digest, values, site))
    store.close_survey("late")

    differ = client.get("/surveys/late/differences?question=again").text
    sites = client.get("/surveys/late/strata?question=again&by=site").text

    assert "“Money” is more frequent than every other answer." in differ
    assert "Shares of everybody: “Not applicable” is of those who were not asked." in differ
    assert "“Money” and “Goods”" in differ
    assert "and “Not applicable”" not in differ
    assert "Shares of those who were asked." in sites
    assert "Not applicable" not in sites
    asked = "/api/surveys/late/difference?question=again&choice=money"
    assert "“Money” of those asked" in client.get(f"{asked}&share=0.5").text
    by_site = client.get(f"{asked}&by=site").get_json()
    assert by_site["compared"].startswith("“Money” of those asked in")
    sheet = client.get("/api/surveys/late/strata.csv?question=again&by=site").text
    figures = {row["figure"] for row in csv.DictReader(sheet.splitlines())}
    assert figures == {"share of those asked", "difference"}
    usual = client.get("/surveys/late/strata?question=stolen&by=site").text
    assert "Shares of everybody" not in usual


def test_how_many_would_help_counts_everybody() -> None:
    """Those who were not asked send reports to the question, too."""
    survey = survey_of_some()
    pairs = drawn(survey, 300, 0.3, [0.4, 0.6], np.random.default_rng(5))
    tallies = {"stolen": tally(pairs[0], 2), "again": tallied(survey, pairs[1])}

    (more,) = [one for one in result(survey, "closed", tallies).questions[1].notes if "±" in one]

    assert more.startswith("About ")
    assert more.endswith(
        " respondents, asked or not, would bring each of these shares within ±10 points."
    )


def test_where_nobody_was_asked_the_sentence_says_that_it_cannot_be_told() -> None:
    survey = survey_of_some()
    stolen, again_reports = drawn(survey, N, 0.0, [1, 0], np.random.default_rng(5))
    tallies = {"stolen": tally(stolen, 2), "again": tallied(survey, again_reports)}

    document = result(survey, "closed", tallies)

    again = document.questions[1]
    assert again.sentence == "What those who were asked answered cannot be told from these reports."
    card = cards(document)[1]
    assert card.line.note == "of those who were asked: cannot be told"
    assert not card.line.drawn
    assert not any("Again?" in picture.html().source for picture in card.exhibit.unfolded), (
        "no picture of them"
    )
    assert "too few to say what those answered who were asked" in sentence(document, "again")
    assert paper(exhibit(document, "again"))


def test_a_paper_says_of_whom_a_share_is(closed: Survey, client: FlaskClient) -> None:
    document = msgspec.json.decode(client.get(RESULTS).data, type=SurveyResult)

    said = sentence(document, "again")
    rows = [row.label for part in paper(exhibit(document, "again")).parts for row in part.rows]  # type: ignore[union-attr]

    assert said.startswith("Of those who were asked, an estimated ")
    assert "of all respondents were asked" in said
    assert rows == ["Yes", "No", "Were asked"]


# --- what is offered ------------------------------------------------------------------------------


def test_the_form_does_not_offer_it_to_those_who_are_asked(app: Flask, client: FlaskClient) -> None:
    survey, store = survey_of_some(), app.extensions["deniably"]
    store.publish(survey, signed(survey))

    page = client.get("/s/late").text

    assert 'value="yes"' in page
    assert 'value="not_applicable"' not in page


def test_a_device_refuses_it_from_those_who_are_asked() -> None:
    survey = survey_of_some()

    with pytest.raises(BadAnswer, match="was shown, and needs an answer") as refused:
        dn.randomise_answers(survey, {"stolen": "yes", "again": "not_applicable"})
    assert "Not applicable" not in str(refused.value)
    with pytest.raises(BadAnswer, match="was shown"):
        dn.randomise_answers(survey, {"stolen": "yes", "again": "Not applicable"})
    for answers in ({"stolen": "no"}, {"stolen": "no", "again": "not_applicable"}):
        assert dn.randomise_answers(survey, answers).values.keys() == {"stolen", "again"}


def test_a_table_of_people_has_it_only_for_those_who_are_not_asked() -> None:
    survey = survey_of_some()

    read_people(survey, [["stolen", "again"], ["no", "not_applicable"], ["no", ""]])
    with pytest.raises(BadAnswer, match="row 3: again was shown, and needs an answer"):
        read_people(survey, [["stolen", "again"], ["yes", "no"], ["yes", "not_applicable"]])


def test_ordinary_questions_offer_all_their_choices() -> None:
    survey = dn.load_survey({
        "name": "late", "title": "Late",
        "questions": [{"name": "stolen", "type": "yes_no", "label": "Ever stolen?", "odds": 3,
                       "also": ["not_applicable"]}],
    })  # fmt: skip

    (question,) = survey.questions

    assert [one.name for one in offered(question)] == ["yes", "no", "not_applicable"]  # type: ignore[arg-type]
    assert dn.randomise_answers(survey, {"stolen": "not_applicable"})


def test_a_question_is_not_crossed_with_the_one_that_decides(
    closed: Survey, client: FlaskClient
) -> None:
    address = f"/surveys/{closed.name}/crosstab"

    refused = client.get(f"/api{address}?rows=stolen&columns=again")

    assert refused.status_code == 400
    assert "decides who is asked again" in refused.text
    assert "rows=stolen" not in client.get(address).text
    assert "crosstab?rows" not in client.get(f"/surveys/{closed.name}").text
