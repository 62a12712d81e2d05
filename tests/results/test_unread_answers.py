"""How results say that some sealed answers of a mixer's batch could not be read."""

from __future__ import annotations

import numpy as np

from deniably.estimation.tally import Tally
from deniably.results.result import result
from deniably.results.unread_answers import unread_answers
from deniably.results.writing.disclosures import disclosures
from deniably.results.writing.publication import Publication
from deniably.survey.survey import as_survey
from spec.cases.mixers import EIGHT, mixed


def test_nothing_is_said_where_all_could_be_read() -> None:
    assert unread_answers(0, 100) == []


def test_up_to_one_in_a_hundred_there_is_no_warning() -> None:
    assert unread_answers(2, 200) == [
        "2 of 200 sealed answers could not be read and are not counted."
    ]


def test_above_that_results_say_what_it_may_mean() -> None:
    said, warning = unread_answers(3, 299)
    assert said == "3 of 299 sealed answers could not be read and are not counted."
    assert warning == (
        "That is more than 1 in 100. Either somebody sent made-up ones, or the mixer left out"
        " blanks. If it left out blanks, the figures are off."
    )


def test_a_document_counts_what_is_missing_to_each_question() -> None:
    survey = as_survey(mixed(EIGHT))
    tallies = {"e": Tally(57, np.array([130, 147]), blanks=220)}

    document = result(survey, "closed", tallies, reports=60)

    assert document.mixed
    assert document.mixed.refused == 3
    assert document.mixed.sentences == unread_answers(3, 280)
    methods = " ".join(Publication(document, survey).methods_file().split())
    assert " ".join(document.mixed.sentences) in methods


def test_nobody_is_told_that_there_are_no_signs_where_answers_could_not_be_read() -> None:
    survey = as_survey(mixed(EIGHT))
    tallies = {"e": Tally(57, np.array([130, 147]), blanks=220)}
    document = result(survey, "closed", tallies, reports=60)

    (processed,) = [
        each.known for each in disclosures(document, survey, ()) if "processed" in each.item
    ]

    assert document.mixed
    assert processed.endswith(document.mixed.sentences[-1])
    assert "no signs" not in processed
