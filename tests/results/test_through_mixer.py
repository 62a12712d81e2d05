"""The results document of a survey with a mixer, from the counts that the mixer passes on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest

from deniably.core.binomial import AddedCoins
from deniably.core.errors import TravelledApart
from deniably.design.power import plan_power
from deniably.estimation.shares_among_asked import expected_alone, follow_ups
from deniably.estimation.tally import Tally
from deniably.exhibits import cards, question_exhibit
from deniably.exhibits.paper import paper
from deniably.results import among_asked, narrative
from deniably.results.among_asked import FollowUpReports
from deniably.results.differences import Side, choice_and_share
from deniably.results.document import OfChoicesResult, SelectOneResult, SurveyResult
from deniably.results.drawing.paper_figure import svg
from deniably.results.result import result
from deniably.results.spreadsheet import spreadsheet
from deniably.results.writing.publication import Publication
from deniably.simulation.reports import simulate_people
from deniably.survey.survey import Survey, as_survey
from deniably.workbench.engines.tallying import TalliedSet
from spec.cases.mixers import EIGHT, mixed
from spec.cases.questions import ask, choices, subset, survey
from support.blanks import expected_batch
from support.cases import for_each
from support.mixed_results import BLANKS, passed_on, through_mixer
from support.two_binomials import Floats, rates, sum_of

FIVE = ask("five", "select_one", subset(5, own=8), choices=choices(*"abcde"), claim={"odds": "8"})
PEOPLE = 50
SHARES = sorted({0.0, 0.01, 0.05, 1.0, *np.linspace(0, 1, 41)})


def document_of(survey: Survey, counts: list[int], people: int = PEOPLE) -> SurveyResult:
    (question,) = survey.questions
    tally = Tally(people, np.array(counts), blanks=BLANKS)
    return result(survey, "closed", {question.name: tally})


def choice(document: SurveyResult, place: int = 0) -> Any:
    (question,) = document.questions
    assert isinstance(question, OfChoicesResult)
    return question.choices[place]


# --- intervals, all the way ---------------------------------------------------------------------


def intervals(k: int) -> Iterator[list[float]]:
    """The interval of the first choice, by its count among 50 people and the blanks."""
    asked = as_survey(mixed(EIGHT if k == 2 else FIVE))
    for count in range(PEOPLE + BLANKS + 1):
        others = PEOPLE + BLANKS - count
        rest = [others // (k - 1) + (place < others % (k - 1)) for place in range(k - 1)]
        yield choice(document_of(asked, [count, *rest])).interval


@for_each("k", [2, 5])
def test_intervals_in_the_document_hold_their_promise_among_220_blanks(k: int) -> None:
    """By enumeration of every count: at least 92 of 100 intervals hold the true share, whatever it
    is. What an interval holds is read from the document, with its rounded numbers."""
    p, q = rates(k, 8)
    low, high = np.array([*intervals(k)]).T
    for share in SHARES:
        law = sum_of(PEOPLE, q + (p - q) * share, AddedCoins(BLANKS, 1 / k))
        held = law[(low - 1e-6 <= share) & (share <= high + 1e-6)].sum()
        assert held >= 0.92, share


def test_that_test_finds_a_document_that_forgets_the_blanks() -> None:
    p, q = rates(2, 8)
    asked = as_survey(survey(EIGHT))
    reports = PEOPLE + BLANKS
    counts = np.arange(reports + 1)
    found = [
        result(asked, "closed", {"e": Tally(reports, np.array([count, reports - count]))})
        for count in counts
    ]
    low, high = np.array([choice(document).interval for document in found]).T
    law = sum_of(PEOPLE, q + (p - q) * 0.05, AddedCoins(BLANKS, 0.5))
    assert law[(low <= 0.05) & (high >= 0.05)].sum() < 0.01


def test_the_count_gives_the_estimate_by_the_formula_of_the_document() -> None:
    for asked, counts in ((EIGHT, [130, 140]), (FIVE, [70, 60, 50, 50, 40])):
        (question,) = (document := document_of(as_survey(mixed(asked)), counts)).questions
        own = choice(document)
        assert question.blanks == BLANKS
        less = own.count - question.blanks * question.m  # type: ignore[operator]
        share = (less / question.n - question.q) / (question.p - question.q)  # type: ignore[operator]
        assert own.estimate == pytest.approx(share, abs=1e-6)


# --- the document -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked() -> Survey:
    return through_mixer()


@pytest.fixture(scope="module")
def batch(asked: Survey) -> TalliedSet:
    return passed_on(asked, 60)


@pytest.fixture(scope="module")
def found(asked: Survey, batch: TalliedSet) -> SurveyResult:
    return result(asked, "closed", batch.tallies, reports=batch.n)


def test_the_document_says_how_many_sent_how_many_blanks_came_and_what_that_protects(
    found: SurveyResult, asked: Survey
) -> None:
    assert (found.n, found.senders, found.blanks) == (60, 60, BLANKS)
    assert {question.n for question in found.questions} == {60}
    assert {question.blanks for question in found.questions} == {BLANKS}
    assert found.mixed
    assert (found.mixed.by, found.mixed.epsilon) == ("Works council of Example Ltd", "1.10")
    assert (found.mixed.odds, found.mixed.delta) == ("3.00", "0.000001")
    assert found.total["epsilon"] == asked.total.epsilon_text()


def test_a_survey_without_a_mixer_has_none_of_this() -> None:
    tally = Tally(3, np.array([1, 2]))
    text = msgspec.json.encode(result(as_survey(survey(EIGHT)), "closed", {"e": tally})).decode()
    for key in ("senders", "blanks", "mixed", "m"):
        assert f'"{key}":' not in text


def test_people_are_those_who_sent_where_some_envelopes_held_no_report(
    asked: Survey, batch: TalliedSet
) -> None:
    """One in a hundred may be refused: that question has one report less, and as many blanks."""
    whole = batch.tallies["stolen"]
    fewer = Tally(whole.n - 1, whole.counts - np.array([1, 0]), blanks=BLANKS)
    tallies = batch.tallies | {"stolen": fewer}
    for senders in (60, None):
        found = result(asked, "closed", tallies, reports=senders)
        assert (found.n, found.senders) == (60, 60)
        assert found.question("stolen").n == 59


@for_each("blanks", [0, BLANKS - 1, BLANKS + 1])
def test_a_tally_with_other_blanks_than_the_definition_says_gives_no_results(blanks: int) -> None:
    tally = Tally(20, np.array([150, 90 - BLANKS + blanks]), blanks=blanks)
    with pytest.raises(ValueError, match="e: the mixer adds 220 blanks, and the tally has"):
        result(as_survey(mixed(EIGHT)), "closed", {"e": tally})


def test_a_spreadsheet_has_the_blanks_and_says_what_is_counted(found: SurveyResult) -> None:
    (first, *_) = rows = list(csv.DictReader(io.StringIO(spreadsheet(found))))
    assert {row["blanks"] for row in rows} == {"220"}
    assert (first["m"], first["n"]) == ("0.5", "60")
    assert first["count_of"] == "reports that support the choice, blanks among them, not people"


# --- how many people would help -----------------------------------------------------------------


def test_what_blanks_add_to_a_variance_falls_with_the_square_of_the_number_of_people() -> None:
    for part in (0.0, 0.3, 1.0):
        many = narrative.people_for(50, 2, part)
        left = (1 - part) * 50 / many + part * (50 / many) ** 2
        assert left == pytest.approx(1 / 4)


def halves_of(asked: Survey, people: int) -> dict[str, float]:
    """Half the interval of each mean that the survey of everything has, of its expected counts."""
    tallies = at_size(asked, people)
    found = result(asked, "closed", tallies)
    return {
        name: (mean.interval[1] - mean.interval[0]) / 2 / (mean.extent[1] - mean.extent[0])
        for name in ("trust", "drinks", "sick")
        for mean in [found.question(name).mean]  # type: ignore[union-attr]
    }


@cache
def _expected(asked_blanks: int) -> dict[str, tuple[Tally, Tally]]:
    people = simulate_people(through_mixer(), 400)
    return {
        answers.question.name: (expected_batch(answers, 0), expected_batch(answers, asked_blanks))
        for answers in people.answers
    }


def at_size(asked: Survey, people: int) -> dict[str, Tally]:
    """The expected tally of so many people, and of the survey's blanks."""
    tallies = dict[str, Tally]()
    for name, (alone, both) in _expected(100_000).items():
        first = min(alone.start, both.start)
        end = max(alone.start + len(alone.counts), both.start + len(both.counts))
        own, every = np.zeros(end - first), np.zeros(end - first)
        own[alone.start - first :][: len(alone.counts)] = alone.counts
        every[both.start - first :][: len(both.counts)] = both.counts
        counts = own * people / 100_000 + (every - own) * BLANKS / 100_000
        whole = np.rint(counts).astype(np.int64)
        tallies[name] = Tally(people, whole, first, alone.endless, BLANKS)
    return tallies


def said(notes: list[str]) -> int:
    (note,) = [note for note in notes if "would bring" in note]
    return int(note.partition("About ")[2].partition(" ")[0].replace(",", ""))


@for_each(("name", "people"), [("trust", 60), ("drinks", 60), ("sick", 60)])
def test_so_many_people_as_a_mean_asks_for_are_enough_and_not_too_many(
    asked: Survey, name: str, people: int
) -> None:
    before = result(asked, "closed", at_size(asked, people)).question(name)
    enough = said(before.notes)

    assert enough < people * (halves_of(asked, people)[name] / 0.1) ** 2 / 1.1, "blanks count"
    assert halves_of(asked, enough)[name] <= 0.104
    assert halves_of(asked, round(0.85 * enough))[name] > 0.1


def test_so_many_people_as_shares_of_those_asked_need_are_enough_and_not_too_many(
    asked: Survey,
) -> None:
    people = 150
    document = result(asked, "closed", tallies := at_size(asked, people)).question("what")
    enough, follow_up = said(document.notes), follow_ups(asked)["what"]

    def half(n: int) -> float:
        counts = expected_alone(follow_up, tallies["what"], n)
        found = FollowUpReports(follow_up, counts).result(tallies["what"], 0.95)
        assert found is not None
        return max(choice.interval[1] - choice.interval[0] for choice in found.choices) / 2

    assert half(enough) <= 0.1 < half(round(0.93 * enough))
    assert half(people) == pytest.approx(
        max(one.interval[1] - one.interval[0] for one in document.among_asked.choices) / 2,  # type: ignore[union-attr]
        abs=0.01,
    )
    assert enough < 0.9 * narrative.people_for(people, half(people) / 0.1)


def test_so_it_does_where_reports_do_not_name_choices(asked: Survey) -> None:
    """A channel's reports are no choices: by the law of what was asked, blanks count as well."""
    people = 150
    document = result(asked, "closed", at_size(asked, people), only="caught")
    told = cards.precision(document, cards.cards(document), asked)
    assert told is not None

    def half(n: int) -> float:
        shares = result(asked, "closed", at_size(asked, n)).question("caught").choices  # type: ignore[union-attr]
        return max(one.interval[1] - one.interval[0] for one in shares) / 2

    assert told.for_half < 3.6 * people
    assert half(told.for_half) == pytest.approx(half(people) / 2, rel=0.05)


def test_the_page_asks_for_fewer_than_four_times_as_many_people_to_halve_its_margins() -> None:
    document = document_of(as_survey(mixed(EIGHT)), [130, 140])
    told = cards.precision(document, cards.cards(document), as_survey(mixed(EIGHT)))
    assert told is not None

    def error(people: int) -> float:
        counts = [round(people / 2) + 110] * 2
        found: float = choice(document_of(as_survey(mixed(EIGHT)), counts, people)).standard_error
        return found

    assert told.for_half < 4 * PEOPLE
    assert error(told.for_half) <= error(PEOPLE) / 2 < error(round(0.9 * told.for_half))


# --- words --------------------------------------------------------------------------------------


def test_shares_of_those_asked_say_why_they_rest_on_one_question(found: SurveyResult) -> None:
    question = found.question("what")
    assert isinstance(question, SelectOneResult)
    assert question.among_asked
    assert question.among_asked.reports == "this question"
    assert any(str(TravelledApart()) in note for note in question.notes)
    assert not any("Whole reports" in note for note in question.notes)
    follow_up = follow_ups(through_mixer())["what"]
    (note,) = among_asked.known_alone(question.among_asked, follow_up)
    assert "Whole reports" in note, "as without a mixer"


def test_methods_give_the_formula_with_blanks_and_both_epsilons(
    found: SurveyResult, asked: Survey
) -> None:
    told = Publication(found, asked)
    text = told.methods_file()
    for part in (
        "((c − D m) / n − q) / (p − q)",
        "D is 220",
        "run by Works council of Example Ltd",
        "keep epsilon 1.10 and delta 0.000001 in all",
        "even if the mixer works together with the survey's server",
        "whether it took an invitation is not in the survey's definition",
        "if 1\N{NO-BREAK SPACE}% of people's reports were fake",
        "n = 60; less 220 blanks of a mixer",
        "Prochlo",
    ):
        assert part in text, part
    assert "Anybody who had the link" not in text
    assert "anonym" not in text.casefold()
    checklist = told.checklist_file()
    assert "among 220 blanks for each question" in checklist
    assert "60 people." in checklist
    assert "whether the mixer gave out invitations" in checklist


def test_methods_without_a_mixer_have_the_formula_without_blanks() -> None:
    alone = as_survey(survey(EIGHT))
    document = result(alone, "closed", {"e": Tally(30, np.array([10, 20]))})
    text = Publication(document, alone).methods_file()
    assert "(c / n − q) / (p − q): c of n reports" in text
    for word in ("mixer", "blank", "D m"):
        assert word not in text


def test_a_figure_for_a_paper_has_what_holds_against_the_server_alone(found: SurveyResult) -> None:
    drawing = svg(paper(question_exhibit.exhibit(found, "stolen")), 180)
    assert "1.10 (delta 0.000001)" in drawing.replace("</tspan>", "")


def test_the_numbers_of_a_question_are_of_people_and_blanks_apart(found: SurveyResult) -> None:
    exhibit = question_exhibit.exhibit(found, "stolen")
    text = " ".join(exhibit.method())
    assert "Reports of 60 people, among 220 blanks" in text
    assert "of people's reports were fake" in text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def people_alone(document: SurveyResult) -> Floats:
    """The estimates of a document."""
    return np.array([choice(document, place).estimate for place in (0, 1)])


def test_an_estimate_among_blanks_is_that_of_the_people_alone() -> None:
    alone = result(as_survey(survey(EIGHT)), "closed", {"e": Tally(50, np.array([20, 30]))})
    both = document_of(as_survey(mixed(EIGHT)), [130, 140])
    assert people_alone(both) == pytest.approx(people_alone(alone), abs=1e-6)


# --- power --------------------------------------------------------------------------------------


@for_each(("share", "people"), [(0.1, 50), (0.5, 300)])
def test_the_power_against_a_value_is_that_of_the_test_on_the_results_page(
    share: float, people: int
) -> None:
    """The probability of the counts at which that test rejects, by enumeration of every count."""
    asked = as_survey(mixed(EIGHT))
    p, q = rates(2, 8)
    rejected = [
        choice_and_share(
            Side(asked, asked.questions[0], Tally(people, np.array([count, 0]), blanks=BLANKS)),
            "yes",
            f"{share}",
        ).difference.p_value
        < 0.05
        for count in range(people + BLANKS + 1)
    ]
    law = sum_of(people, q + (p - q) * (share + 0.2), AddedCoins(BLANKS, 0.5))

    planned = plan_power(asked, difference=0.2, n=people, test="value", share=share)

    assert planned.rows[0]["power"] == pytest.approx(law[rejected].sum(), abs=1e-9)
    assert planned.rows[0]["method"] == "exact"
    alone = plan_power(
        as_survey(survey(EIGHT)), difference=0.2, n=people, test="value", share=share
    )
    assert planned.rows[0]["power"] < alone.rows[0]["power"]  # type: ignore[operator]


def test_as_many_respondents_as_are_planned_have_the_power_and_fewer_have_not(
    asked: Survey,
) -> None:
    """Of shares and of means, of every type of question."""
    planned = plan_power(asked, difference=0.2, power=0.8, test="value")
    assert {row["method"] for row in planned.rows} == {"exact", "normal"}
    for row in planned.rows:
        name, n = str(row["question"]), int(str(row["n"]))

        def power(people: int, name: str = name, figure: object = row["figure"]) -> float:
            rows = plan_power(asked, difference=0.2, n=people, question=name, test="value").rows
            return float(str(next(r["power"] for r in rows if r["figure"] == figure)))

        assert power(n) >= 0.8 > power(round(0.85 * n)), row


@for_each("test", ["groups", "waves", "slope"])
def test_power_between_groups_is_not_planned_where_nobody_can_tell_them_apart(test: Any) -> None:
    with pytest.raises(TravelledApart):
        plan_power(as_survey(mixed(EIGHT)), difference=0.2, power=0.8, test=test)
