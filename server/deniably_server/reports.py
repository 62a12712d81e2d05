"""Taking reports: the one request that every respondent's device makes."""

from __future__ import annotations

from flask import Blueprint, Response

from deniably.report import read_report
from deniably_server.answer import json_answer
from deniably_server.body import JSON, read_body
from deniably_server.current import current_store
from deniably_server.errors import Closed, Conflict, NotFound, WrongDigest
from deniably_server.writer import Outcome

reports = Blueprint("reports", __name__)


@reports.post("/api/surveys/<name>/reports")
def add(name: str) -> Response:
    """Store one report: 201, or 200 where the same was stored before, once it is on disk."""
    store = current_store()
    survey = store.survey(name)
    report = read_report(read_body(JSON))
    if report.survey != survey.digest:
        raise WrongDigest(
            "the report answers another version of this survey, or another survey; load the"
            " survey again"
        )
    report.check(survey)
    match store.add(survey, report):
        case Outcome.STORED:
            return json_answer({"status": "stored", "receipt": report.receipt}, 201)
        case Outcome.REPLAYED:
            return json_answer({"status": "stored before", "receipt": report.receipt}, 200)
        case Outcome.CONFLICT:
            raise Conflict("another report was stored under this id; every report draws its own")
        case Outcome.CLOSED:
            raise Closed("the survey is closed and takes no more reports")
        case Outcome.UNKNOWN:
            raise NotFound("there is no survey of this name")
