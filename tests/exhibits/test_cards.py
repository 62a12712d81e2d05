"""What a card says below its picture, of results that were written by hand."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np
import pytest

from deniably.authoring.compiling import compile_survey
from deniably.estimation.tally import Tally
from deniably.exhibits.cards import cards
from deniably.results.document import SelectMultipleResult, SurveyResult
from deniably.results.result import result

SURVEY = compile_survey(
    {
        "name": "s",
        "title": "T",
        "questions": [
            {"name": "who", "type": "select_multiple", "label": "Who?", "most": 2, "epsilon": 3,
             "choices": ["Anna", "Bert", "Cleo"], "also": ["dont_know"]},
        ],
    }
)  # fmt: skip
UNCERTAIN = "The order is not certain."


def with_joint(*ends: tuple[float, float]) -> SurveyResult:
    """Results whose choices, from the largest estimate on, have these joint intervals."""
    (question,) = SURVEY.questions
    cells = question.report_mechanism.law.cell_count
    counts = Tally(1000, np.linspace(900, 100, cells).astype(np.int64))
    found = result(SURVEY, "closed", {"who": counts})
    (asked,) = found.questions
    assert isinstance(asked, SelectMultipleResult)
    assert all(one.estimate > other.estimate for one, other in pairwise(asked.choices))
    choices = [
        msgspec.structs.replace(choice, joint_interval=list(joint))
        for choice, joint in zip(asked.choices, ends, strict=True)
    ]
    return msgspec.structs.replace(
        found, questions=[msgspec.structs.replace(asked, choices=choices)]
    )


@pytest.mark.parametrize(
    ("joint", "certain"),
    [
        ([(0.7, 0.8), (0.5, 0.6), (0.3, 0.4), (0.0, 0.1)], True),
        ([(0.6, 0.8), (0.5, 0.6), (0.3, 0.4), (0.0, 0.1)], False),
        ([(0.7, 0.8), (0.35, 0.6), (0.3, 0.4), (0.0, 0.1)], False),
        ([(0.7, 0.8), (0.3, 0.9), (0.1, 0.2), (0.0, 0.1)], False),
        ([(0.7, 0.8), (0.5, 0.6), (0.3, 0.4), (0.2, 0.9)], True),
    ],
    ids=["all apart", "they touch", "two overlap", "one over another", "not an answer proper"],
)
def test_the_order_is_certain_only_if_every_answer_is_clear_of_the_next(
    joint: list[tuple[float, float]], certain: bool
) -> None:
    """ "Don't know" stands last whatever its size: it is no part of the order."""
    (card,) = cards(with_joint(*joint))
    assert (UNCERTAIN not in card.exhibit.notes()) == certain


def test_the_scale_of_a_number_is_the_questions_also_where_answers_count_in_ranges() -> None:
    """0 and 1 are asked together and count as 0.5; nobody was asked on a scale from 0.5."""
    survey = compile_survey(
        {
            "name": "s", "title": "T",
            "questions": [
                {"name": "days", "type": "number", "label": "Days?", "odds": 3,
                 "minimum": 0, "maximum": 60, "aim": "distribution"},
            ],
        }
    )  # fmt: skip
    (question,) = survey.questions
    counts = Tally(1000, np.arange(1, question.report_mechanism.law.cell_count + 1) * 5)

    (card,) = cards(result(survey, "closed", {"days": counts}))

    assert card.line.note == "mean, on a scale from 0 to 60"
