"""Whole reports have the product law: every branch of all questions together, every answer, in
exact fractions; and what is planted between the questions is found."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.whole_faults import PLANTED, Planted, send_with
from audit.whole_surveys import SURVEYS
from deniably.audit import IDS, drawn_ids, follow
from deniably.canonical import canonical
from deniably.sayings import saying
from deniably.survey import Survey, Waves, as_survey
from deniably.walking import answers
from deniably.whole import (
    Send,
    device,
    inputs,
    law,
    reduced,
    reports,
    walk_whole,
    waves_of,
    whole_reports,
)
from every_type import survey_of_everything

SENDS = {"make_report": reports(), "a device": device()}


def few_ids(survey: Survey, send: Send) -> Sequence[str] | None:
    """Devices write a memory each time: where there is much to be walked, one id has to do."""
    many = isinstance(survey.waves, Waves) or len(survey.questions) > 2
    return IDS[-1:] if many and send is not SENDS["make_report"] else None


# An id of an invitation comes out of the memory. What a device adds is the same for all kinds.
WALKED = [(name, "make_report") for name in SURVEYS if name != "by invitation"]
KEPT = ("two questions", "one of two", "a hidden question", "by invitation", "two waves")


@pytest.mark.parametrize(("name", "how"), WALKED + [(name, "a device") for name in KEPT])
def test_a_whole_report_has_the_product_of_the_laws_of_its_questions(name: str, how: str) -> None:
    """Every answer, every branch; with both waves of a panel, and what a device sends again."""
    survey, send = as_survey(SURVEYS[name]), SENDS[how]

    found = walk_whole(waves_of(survey), send, ids=few_ids(survey, send))

    assert found.fault is None
    assert found.complete, found
    assert found.questions == tuple(question.name for question in survey.questions)


def test_nothing_is_missing_from_the_law() -> None:
    """The walk and the law are equal as fractions, report by report, and sum to 1."""
    survey = as_survey(SURVEYS["two of three"])
    said = {"first": "yes", "second": "c1", "third": "no"}
    given = inputs(survey, (0, 1, 1))

    walked = follow(lambda c: (tuple(reports()([survey], said, c)), drawn_ids(c)), 1 << 14, IDS)

    assert walked.rest == 0
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

    ids = few_ids(surveys[0], SENDS["a device"])
    faults = [walk_whole(surveys, send, ids=ids).fault for send in send_with(planted.python)]

    assert all(faults), faults


def test_what_is_planted_nowhere_is_not_found() -> None:
    """The copies of the modules, with nothing changed in them."""
    for name in ("two questions", "two waves"):
        for send in send_with(("nowhere",)):
            surveys = waves_of(as_survey(SURVEYS[name]))
            assert walk_whole(surveys, send, ids=few_ids(surveys[0], send)).complete


# --- surveys that are too large to be walked ------------------------------------------------------


def test_of_a_large_survey_all_pairs_are_walked_as_far_as_that_goes() -> None:
    survey = survey_of_everything()

    together, *pairs = whole_reports(survey, paths=1 << 12)

    assert len(together.questions) == len(survey.questions)
    assert not together.complete
    assert together.fault is None
    assert pairs[0].questions == ("stolen", "what")
    assert pairs[0].complete
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

    walked = whole_reports(survey_of_everything(), send_with(planted.python)[0], 1 << 10)

    assert any(one.fault for one in walked)


def test_a_pair_keeps_what_decides_whether_it_is_shown() -> None:
    survey = as_survey(SURVEYS["hidden ticks, and what they hide"])

    assert [one.name for one in reduced(survey, (1, 2)).questions] == ["first", "second", "third"]
    assert [one.name for one in reduced(survey, (0, 1)).questions] == ["first", "second"]
    assert reduced(as_survey(SURVEYS["two of three"]), (0, 1)).asked == 2


# --- what respondents say, and what no device may send --------------------------------------------


@given(st.data())
def test_a_saying_is_what_the_question_takes_as_its_input(data: st.DataObject) -> None:
    question = data.draw(st.sampled_from(survey_of_everything().questions))
    some = [one for one, _ in zip(answers(question.once), range(200), strict=False)]
    meant = data.draw(st.sampled_from(some))

    assert question.encode(saying(question, meant)) == meant


def test_the_probability_of_reports_is_that_of_two_apart() -> None:
    survey = as_survey(SURVEYS["two questions"])
    body = {"survey": survey.digest, "id": IDS[3], "values": {"first": [0], "second": [0]}}
    sent = [canonical(body)]

    agreeing = law([survey], inputs(survey, (0, 0)), sent, [IDS[3]], 4)
    differing = law([survey], inputs(survey, (0, 1)), sent, [IDS[3]], 4)

    assert agreeing == Fraction(3, 4) * Fraction(3, 4) / 4
    assert differing == Fraction(3, 4) * Fraction(1, 4) / 4


if __name__ == "__main__":
    missed = [
        one.name
        for one in PLANTED
        if one.python
        and not all(
            walk_whole(waves_of(as_survey(SURVEYS[one.survey])), send).fault
            for send in send_with(one.python)
        )
    ]
    print(f"{len(PLANTED) - len(missed)} of {len(PLANTED)} faults between questions caught")
    print("missed:", ", ".join(missed) or "none")
