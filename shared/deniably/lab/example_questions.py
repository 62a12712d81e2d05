"""Makes the questions that experiments use if no survey is given, from the keys that authors
write."""

from __future__ import annotations

import json
from functools import lru_cache

from deniably.authoring.survey_files import load_survey
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Question


def question(**written: object) -> Question:
    """Returns the question that ``deniably publish`` would make from ``written``, the keys of one
    question in a survey's file. The keys may leave out name and label.

    >>> question(type="yes_no", coins={"truth": "1/2", "yes": "1/2"}).mechanism
    SubsetSelection(k=2, omega=1, own=3, other=1)
    """
    return _question(json.dumps({"name": "answer", "label": "Have you?"} | written))


def stated(privacy: Privacy) -> dict[str, object]:
    """Returns {"epsilon": ...} or {"odds": ...}: a level of privacy as a survey's file states
    it."""
    if privacy.epsilon is not None:
        return {"epsilon": float(privacy.epsilon)}
    return {"odds": str(privacy.odds)}


@lru_cache(maxsize=64)
def _question(written: str) -> Question:
    survey = load_survey({"name": "lab", "title": "The lab", "questions": [json.loads(written)]})
    return survey.questions[0]
