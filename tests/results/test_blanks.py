"""Results of a survey whose reports came through a mixer, among its blanks."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import msgspec
import numpy as np
import pytest

from deniably.core.errors import NoFigure
from deniably.estimation.estimate import unbiased
from deniably.estimation.scores import of_choice
from deniably.estimation.tally import Tally
from deniably.exhibits.results_table import estimate
from deniably.mechanisms import SubsetSelection
from deniably.mechanisms.law import Supporting
from deniably.results import differences, narrative, poisoning
from deniably.results.differences import Side
from deniably.results.document import SurveyResult, YesNoResult
from deniably.results.result import result
from deniably.simulation.reports import simulate_people
from deniably.survey.survey import Survey
from deniably.workbench.engines.rebuilt import reports_of
from deniably.workbench.engines.tally_file import read_tally, tally_text
from deniably.workbench.engines.tallying import Counts, TalliedSet
from deniably.workbench.files.optional_libraries import NoExport
from support.blanks import PEOPLE, expected_batch, made_up, mixed, tally_of
from support.every_type import survey_of_everything

BLANKS = 22_000
"""Few enough that nothing is too uncertain to be told."""


@pytest.fixture(scope="module")
def survey() -> Survey:
    return survey_of_everything()


@pytest.fixture(scope="module")
def batches(survey: Survey) -> dict[str, tuple[Tally, Tally]]:
    """The expected tallies of everybody, without blanks and with them."""
    return {
        answers.question.name: (expected_batch(answers, 0), expected_batch(answers, BLANKS))
        for answers in simulate_people(survey, 400).answers
    }


@pytest.fixture(scope="module")
def documents(
    survey: Survey, batches: dict[str, tuple[Tally, Tally]]
) -> tuple[SurveyResult, SurveyResult]:
    alone, mixed_result = (
        result(survey, "closed", {name: batch[place] for name, batch in batches.items()})
        for place in (0, 1)
    )
    return alone, mixed_result


def test_results_count_people_and_no_blanks(documents: tuple[SurveyResult, SurveyResult]) -> None:
    _, found = documents

    assert found.n == PEOPLE
    assert {question.n for question in found.questions} == {PEOPLE}


def test_results_say_the_same_of_people_with_wider_intervals(
    documents: tuple[SurveyResult, SurveyResult],
) -> None:
    alone, found = documents
    for before, question in zip(alone.questions, found.questions, strict=True):
        assert not question.flags, "honest blanks raise no alarm"
        for name in ("choices", "cells"):
            for first, second in zip(
                getattr(before, name, None) or [], getattr(question, name, None) or [], strict=True
            ):
                assert second.estimate == pytest.approx(first.estimate, abs=2e-3)
                assert second.consistent == pytest.approx(first.consistent, abs=0.02)
                wide, narrow = (one.interval[1] - one.interval[0] for one in (second, first))
                assert wide >= narrow - 1e-6
        if (first := getattr(before, "mean", None)) is not None:
            mean = question.mean  # type: ignore[union-attr]
            width = first.extent[1] - first.extent[0]
            assert mean.estimate == pytest.approx(first.estimate, abs=2e-3 * width)
            assert mean.standard_error > first.standard_error * 1.01
    assert msgspec.json.encode(found)


def test_fake_reports_do_no_more_harm_among_blanks(
    documents: tuple[SurveyResult, SurveyResult],
) -> None:
    """The bound is about the share of fake reports among those of people."""
    alone, found = documents
    for before, question in zip(alone.questions, found.questions, strict=True):
        assert getattr(before, "poisoning", None) is None or (
            before.poisoning.shift == question.poisoning.shift  # type: ignore[union-attr]
        )

    mechanism = SubsetSelection(k=2, omega=1, own=8, other=1)
    fakes, honest, blanks = 50, 950, 220
    p, q = float(mechanism.law.p), float(mechanism.law.q)
    counts = np.array([honest * q + fakes + blanks / 2, honest * p + blanks / 2])
    batch = Tally(1000, counts, blanks=blanks)
    moved = float(unbiased(batch, mechanism)[0])
    assert moved == pytest.approx(poisoning.of_choices(mechanism).shift(0.05))


@pytest.mark.thorough
def test_the_library_estimates_from_a_batch(
    survey: Survey, batches: dict[str, tuple[Tally, Tally]]
) -> None:
    table = estimate(survey, {name: batch for name, (_, batch) in batches.items()})

    assert f"{PEOPLE:,}" in repr(table)


def test_comparisons_take_blanks_out(
    survey: Survey, batches: dict[str, tuple[Tally, Tally]]
) -> None:
    """Every comparison of every question, here with blanks and there without, finds no gap."""
    compared = 0
    for question in survey.questions:
        alone, batch = batches[question.name]
        here, there = Side(survey, question, batch), Side(survey, question, alone)
        for part in [None, *(one.name for one in getattr(question, "parts", ()))]:
            first, second = replace(here, part=part), replace(there, part=part)
            try:
                difference = differences.mean_apart(first, second).difference
            except differences.Incomparable:
                continue
            assert difference.p_value > 0.5
            compared += 1
        if isinstance(question.mechanism.law, Supporting) and hasattr(question, "choices"):
            names = question.names
            difference = differences.choice_apart(here, there, names[0]).difference
            assert difference.p_value > 0.5
            if question.mechanism.law.single:
                pair = [differences.choices(side, *names[:2]) for side in (here, there)]
                gaps = [one.difference for one in pair]
                assert gaps[0].estimate == pytest.approx(gaps[1].estimate, abs=1e-3)
                assert gaps[0].standard_error > gaps[1].standard_error
            compared += 1
    assert compared > 12


def test_so_many_people_as_are_said_to_be_enough_are() -> None:
    mechanism, blanks = SubsetSelection(k=2, omega=1, own=8, other=1), 220
    enough = narrative.enough(mechanism, 0.1, blanks=blanks)

    def half(n: int) -> float:
        return NormalDist().inv_cdf(0.975) * math.sqrt(of_choice(mechanism).at(0.5, blanks / n) / n)

    assert half(enough) <= 0.1 < half(round(0.95 * enough))
    assert narrative.enough(mechanism, 0.1) == 160 < enough == 290


def test_what_counts_cannot_tell_is_refused_by_name(
    survey: Survey, batches: dict[str, tuple[Tally, Tally]]
) -> None:
    question = survey.questions[0]
    mechanism = question.report_mechanism
    people = tally_of(mechanism.law, 40, {0: 10, 1: 30})
    batch = mixed(people, made_up(mechanism, 20, seed=1))
    tallies = {name: tally for name, (tally, _) in batches.items()}
    counts = Counts(PEOPLE, tallies | {question.name: batch}, {})
    tallied = TalliedSet(survey, (counts,))

    with pytest.raises(NoFigure, match="blanks from people's reports"):
        reports_of(tallied, question)
    with pytest.raises(NoExport, match="have 20 blanks, and the survey has no blanks"):
        read_tally(tally_text(tallied))


def test_a_yes_no_question_reads_as_before(documents: tuple[SurveyResult, SurveyResult]) -> None:
    alone, found = documents
    sentences = [one.questions[0].sentence for one in (alone, found)]

    assert isinstance(found.questions[0], YesNoResult)
    assert sentences[0][:20] == sentences[1][:20]
