"""Whole reports have the product law: every branch of all questions together, every answer, in
exact fractions; and what is planted between the questions is found."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.audit.enumeration import IDS, drawn_ids, explore
from deniably.audit.walking import answers
from deniably.audit.whole_reports import (
    Send,
    inputs,
    law,
    reduced,
    reports,
    walk_reports,
    waves_of,
    whole_reports,
)
from deniably.core.canonical import canonical
from deniably.survey.survey import Survey, Waves, as_survey
from support.every_type import survey_of_everything
from support.whole_faults import PLANTED, Planted, device, send_with
from support.whole_surveys import MANY_BRANCHES, SURVEYS

SENDS = {"make_report": reports(), "a device": device()}


def few_ids(name: str, survey: Survey, send: Send) -> Sequence[str] | None:
    """Devices write a memory each time: where there is much to be walked, one id has to do."""
    if send is SENDS["make_report"]:
        return IDS[-2:] if name in MANY_BRANCHES else None
    many = isinstance(survey.waves, Waves) or len(survey.questions) > 2
    return IDS[-1:] if many else IDS[-3:]


# An id of an invitation comes out of the memory. What a device adds is the same for all kinds.
WALKED = [(name, "make_report") for name in SURVEYS if name != "by invitation"]
KEPT = ("two questions", "one of two", "a hidden question", "by invitation", "by site", "two waves")


@pytest.mark.parametrize(("name", "how"), WALKED + [(name, "a device") for name in KEPT])
def test_a_whole_report_has_the_product_of_the_laws_of_its_questions(name: str, how: str) -> None:
    """Every answer, every branch; with both waves of a panel, and what a device sends again."""
    survey, send = as_survey(SURVEYS[name]), SENDS[how]

    found = walk_reports(waves_of(survey), send, ids=few_ids(name, survey, send))

    assert found.fault is None
    assert found.complete, found
    assert found.questions == tuple(question.name for question in survey.questions)


def test_nothing_is_missing_from_the_law() -> None:
    """The walk and the law are equal as fractions, report by report, and sum to 1."""
    survey = as_survey(SURVEYS["two of three"])
    said = {"first": "yes", "second": "c1", "third": "no"}
    given = inputs(survey, (0, 1, 1))

    walked = explore(lambda c: (tuple(reports()([survey], said, c)), drawn_ids(c)), 1 << 14, IDS)

    assert walked.unexplored_mass == 0
    assert sum(walked.law.values()) == 1
    for (sent, drawn), share in walked.law.items():
        assert share == law([survey], given, sent, drawn)
    assert len({drawn for _, drawn in walked.law}) == len(IDS)


@pytest.mark.parametrize(
    "planted", [one for one in PLANTED if one.python], ids=lambda one: one.name
)
def test_what_is_planted_between_the_questions_is_found(planted: Planted) -> None:
    assert planted.python
    surveys = waves_of(as_survey(SURVEYS[planted.survey]))

    many = len(surveys) > 1 or planted.python[0] == "memory"
    ids = IDS[-1:] if many else None
    faults = [walk_reports(surveys, send, ids=ids).fault for send in send_with(planted.python)]

    assert all(faults), faults


def test_what_is_planted_nowhere_is_not_found() -> None:
    """The copies of the modules, with nothing changed in them."""
    for name in ("two questions", "two waves"):
        for send in send_with(("nowhere",)):
            surveys = waves_of(as_survey(SURVEYS[name]))
            assert walk_reports(surveys, send, ids=few_ids(name, surveys[0], send)).complete


# --- surveys that are too large to be walked ------------------------------------------------------


LARGE = ("stolen", "what", "caught", "drugs", "happy", "fines")


def large() -> Survey:
    """Six questions of many kinds: far too many branches for all of them together."""
    every = survey_of_everything()
    some = [question for question in every.questions if question.name in LARGE]
    return msgspec.structs.replace(every, questions=some)


def test_of_a_large_survey_all_pairs_are_walked_as_far_as_that_goes() -> None:
    together, *pairs = whole_reports(large(), paths=1 << 13)

    assert together.questions == LARGE
    assert not together.complete
    assert together.fault is None
    assert len(pairs) == 15
    assert any(pair.complete for pair in pairs)
    assert not any(pair.fault for pair in pairs)
    assert sum(pair.paths for pair in pairs) < 1 << 14


@pytest.mark.parametrize(
    "name",
    [
        "one question copies another's report where the answers agree",
        "the last digit of the id carries an answer",
    ],
)
def test_a_fault_shows_in_a_survey_that_is_too_large(name: str) -> None:
    planted = next(one for one in PLANTED if one.name == name)
    assert planted.python

    walked = whole_reports(large(), send_with(planted.python)[0], 1 << 13)

    assert any(one.fault for one in walked)


def test_a_pair_keeps_what_decides_whether_it_is_shown() -> None:
    survey = as_survey(SURVEYS["hidden ticks, and what they hide"])

    assert [one.name for one in reduced(survey, (1, 2)).questions] == ["first", "second", "third"]
    assert [one.name for one in reduced(survey, (0, 1)).questions] == ["first", "second"]
    assert reduced(as_survey(SURVEYS["two of three"]), (0, 1)).asked == 2


# --- what respondents say, and what no device may send --------------------------------------------


@given(st.data())
def test_an_input_is_decoded_to_an_answer_that_is_encoded_so(data: st.DataObject) -> None:
    question = data.draw(st.sampled_from(survey_of_everything().questions))
    some = [one for one, _ in zip(answers(question.mechanism.law), range(200), strict=False)]
    meant = data.draw(st.sampled_from(some))

    assert question.encode(question.decode(meant)) == meant


def test_the_probability_of_reports_is_that_of_two_apart() -> None:
    survey = as_survey(SURVEYS["two questions"])
    body = {"survey": survey.digest, "id": IDS[3], "values": {"first": [0], "second": [0]}}
    sent = [canonical(body)]

    agreeing = law([survey], inputs(survey, (0, 0)), sent, [IDS[3]], 4)
    differing = law([survey], inputs(survey, (0, 1)), sent, [IDS[3]], 4)

    assert agreeing == Fraction(3, 4) * Fraction(3, 4) / 4
    assert differing == Fraction(3, 4) * Fraction(1, 4) / 4


def test_nobody_is_said_to_tick_more_than_may_be_ticked() -> None:
    """The mechanism takes any number of ticks, and the question two of four."""
    asked = {
        "name": "worries", "type": "select_multiple", "label": "?", "most": 2,
        "claim": {"odds": "3"}, "choices": [{"name": c, "label": c} for c in "abcd"],
        "mechanism": {"name": "sampled_ticks", "k": 4, "s": 1, "own": 3, "other": 1},
    }  # fmt: skip
    found = next(whole_reports(as_survey(SURVEYS["two questions"] | {"questions": [asked]})))

    assert found.fault is None
    assert (found.answers, found.of) == (11, 11)
    assert found.complete
