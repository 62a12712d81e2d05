"""Surveys with a question that is asked only of some, and reports to them from a fixed seed."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

import deniably as dn
from deniably.estimation.channels import matrix
from deniably.estimation.shares_among_asked import (
    FollowUp,
    FollowUpCounts,
    counts_of_pairs,
    follow_ups,
)
from deniably.estimation.tally import Tally, tally
from deniably.mechanisms import SampledTicks, SetResponse, SubsetSelection, Unary
from deniably.survey.survey import Survey
from support.designs import support_bits


def followed(
    epsilon: float = 1,
    answers: int = 2,
    *,
    choices: int = 2,
    lead: int = 1,
    kind: str = "select_one",
    mechanism: str = "",
    decides: str = "select_one",
) -> Survey:
    """``again`` is asked of those who gave one of the first ``lead`` of ``choices`` to
    ``stolen``."""
    first: dict[str, Any] = {"name": "stolen", "label": "Stolen?", "epsilon": epsilon}
    first |= (
        {"type": "yes_no"}
        if choices == 2
        else {"type": decides, "choices": [f"C{n}" for n in range(choices)]}
    )
    first |= {"aim": "mean"} if decides == "scale" else {}
    names = ["yes"] if choices == 2 else [f"c{n}" for n in range(lead)]
    second: dict[str, Any] = {
        "name": "again", "type": kind, "label": "Again?", "epsilon": epsilon,
        "choices": [f"A{n}" for n in range(answers)],
        "show_if": {"question": "stolen", "is": names},
    }  # fmt: skip
    second |= {"mechanism": mechanism} if mechanism else {}
    second |= {"aim": "distribution"} if kind == "scale" else {}
    second |= {"most": 2} if kind == "select_multiple" else {}
    return dn.load_survey({"name": "late", "title": "Late", "questions": [first, second]})


def follow_up(survey: Survey) -> FollowUp:
    return follow_ups(survey)["again"]


def drawn(
    survey: Survey, n: int, asked: float, shares: npt.ArrayLike, generator: np.random.Generator
) -> tuple[list[list[int]], list[list[int]]]:
    """Reports of n people of a population where a share is asked, and of these ``shares`` give each
    answer."""
    one = follow_up(survey)
    sees = generator.random(n) < asked
    rest = [v for v in range(len(one.choices_that_lead)) if v not in one.among]
    first = np.where(sees, generator.choice(one.among, n), generator.choice(rest, n))
    second = np.where(sees, generator.choice(one.answers, n, p=np.asarray(shares)), one.hidden)
    return _reports(one.decides, first, generator), _reports(one.question, second, generator)


def counted(survey: Survey, reports: tuple[list[list[int]], list[list[int]]]) -> FollowUpCounts:
    """The counts of pairs of these reports."""
    rows = [[one, other] for one, other in zip(*reports, strict=True)]
    return counts_of_pairs(follow_up(survey), [rows])


def tallied(survey: Survey, reports: list[list[int]]) -> Tally:
    """The tally of the reports to ``again``."""
    return tally(reports, survey.questions[1].mechanism.law.cell_count)


def _reports(
    question: Any, answers: npt.NDArray[np.int64], generator: np.random.Generator
) -> list[list[int]]:
    """By the law of the question's mechanism."""
    mechanism, n = question.report_mechanism, len(answers)
    match mechanism:
        case SubsetSelection():
            bits = support_bits(mechanism, answers, generator)
            return [np.flatnonzero(row).tolist() for row in bits]
        case Unary():
            own = np.eye(mechanism.k, dtype=np.bool_)[answers]
            chances = np.where(own, float(mechanism.p), float(mechanism.q))
            return [np.flatnonzero(row).tolist() for row in generator.random(own.shape) < chances]
        case SetResponse():
            return [_set_response(mechanism, answer, generator) for answer in answers.tolist()]
        case SampledTicks():
            order = generator.random((n, mechanism.k)).argsort(axis=1)[:, : mechanism.s]
            kept = generator.random(order.shape) < float(mechanism.p)
            ticks = (order == answers[:, None]) == kept
            return np.sort(2 * order + ticks, axis=1).tolist()
        case _:
            reached = matrix(mechanism).cumsum(axis=1)[answers]
            places = (reached < generator.random((n, 1))).sum(axis=1)
            return [[place] for place in places.tolist()]


def _set_response(mechanism: SetResponse, answer: int, generator: np.random.Generator) -> list[int]:
    padded = [answer, *range(mechanism.k, mechanism.domain - 1)]
    rest = [cell for cell in range(mechanism.domain) if cell not in padded]
    weights = [
        comb(len(padded), shared)
        * comb(len(rest), mechanism.size - shared)
        * (mechanism.own if shared else mechanism.other)
        for shared in range(min(len(padded), mechanism.size) + 1)
    ]
    shared = generator.choice(len(weights), p=np.array(weights) / sum(weights))
    inside = generator.choice(padded, shared, replace=False)
    outside = generator.choice(rest, mechanism.size - shared, replace=False)
    return sorted([*inside.tolist(), *outside.tolist()])
