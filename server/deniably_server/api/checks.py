"""Checks on whole reports: do the choices that they name go together as chance would have them?

A tally does not show it, so every report is read; hence on a page of its own, computed when asked
for. Who crafts reports to push some choices names these together far more often than chance does.
"""

from __future__ import annotations

from typing import TypedDict

from flask import Blueprint, Response, render_template

from deniably.estimation.figures import Shares, groups
from deniably.mechanisms.law import Supporting
from deniably.robustness.plausibility import RISK, Pair, PairCounts, odd_pairs, says_pairs
from deniably.survey.questions import Point, Product, Scale, SelectOne, YesNo
from deniably.survey.survey import Survey
from deniably_server.api.analysts import or_ask_for_a_token
from deniably_server.api.costly import costly
from deniably_server.api.visibility import RESULTS, closed_survey
from deniably_server.guard.current import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import PAGE, Operation

blueprint = Blueprint("checks", __name__)

_Paired = YesNo | SelectOne | Scale | Product | Point
_MOST_PAIRS = 20


class PairResult(TypedDict):
    """Two choices: in how many reports they are together, and in how many by chance."""

    names: list[str]
    together: int
    expected: float


class CheckedResult(TypedDict):
    """One question: how many reports and pairs of choices were looked at, and the odd pairs, the
    oddest first, at most 20."""

    name: str
    label: str
    n: int
    pairs: int
    odd: list[PairResult]


class ChecksResult(TypedDict):
    """All questions whose reports name several choices. With honest reports, any pair at all is
    odd with a chance of ``risk`` at most."""

    survey: str
    risk: float
    questions: list[CheckedResult]


@blueprint.get("/api/surveys/<name>/checks")
@Operation({200: {JSON: ChecksResult}}, RESULTS)
@costly("reports")
def checks_as_json(name: str) -> Response:
    """The pairs of choices that chance does not explain."""
    return json_answer(current_checks(name))


@blueprint.get("/surveys/<name>/checks")
@Operation(PAGE, RESULTS)
@or_ask_for_a_token
@costly("reports")
def checks_page(name: str) -> str:
    """The same for people."""
    title = current_store().survey(name).title
    return render_template("checks.html", checks=current_checks(name), title=title)


def current_checks(name: str) -> ChecksResult:
    """The checks of a survey. Raises NotFound, and Hidden as long as its results are."""
    chosen = checkable(closed_survey(name))
    counts = [PairCounts(law.k) for _, _, law in chosen]
    for block in current_store().values(name, *(index for index, _, _ in chosen)) if chosen else ():
        for count, column in zip(counts, zip(*block, strict=True), strict=True):
            count.add(one for one in column if one is not None)
    found: list[CheckedResult] = []
    for (_, question, law), count in zip(chosen, counts, strict=True):
        pairs = odd_pairs(law, count.n, count.both, RISK / len(chosen))
        found.append(_checked(question, count.n, law.k, pairs))
    return {"survey": name, "risk": RISK, "questions": found}


def checkable(survey: Survey) -> list[tuple[int, _Paired, Supporting]]:
    """The questions whose reports name several choices for one answer, with their indices before
    them and their laws."""
    return [
        (index, question, law)
        for index, question in enumerate(survey.questions)
        if isinstance(question, _Paired)
        if isinstance(law := question.once.law, Supporting) and says_pairs(law)
    ]


def _checked(question: _Paired, n: int, k: int, pairs: list[Pair]) -> CheckedResult:
    names = _names(question)
    return {
        "name": question.name,
        "label": question.label,
        "n": n,
        "pairs": k * (k - 1) // 2,
        "odd": [
            {
                "names": [names[pair.first], names[pair.second]],
                "together": pair.together,
                "expected": round(pair.expected, 1),
            }
            for pair in pairs[:_MOST_PAIRS]
        ],
    }


def _names(question: _Paired) -> list[str]:
    """What each cell is called."""
    if not isinstance(question, Product | Point):
        return [choice.label for choice in question.choices]
    (cells,) = [one for one in groups(question) if isinstance(one, Shares) and one.part is None]
    return [share.label for share in cells.figures]
