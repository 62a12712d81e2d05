"""Takes single reports: the one request that every respondent's device makes."""

from __future__ import annotations

from typing import TypedDict

from flask import Blueprint, Response, request

from deniably.survey.report import Report, read_report
from deniably_server.api.admission import HEADER, admit
from deniably_server.api.lines import NDJSON
from deniably_server.errors import Closed, Conflict, NotFound, UnsupportedMediaType, WrongDigest
from deniably_server.guard.app_state import current_store
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import Outcome
from deniably_server.web.answer import encode
from deniably_server.web.body import JSON, read_body
from deniably_server.web.operation import BODY, Operation

reports = Blueprint("reports", __name__)


class ReceiptAnswer(TypedDict):
    """The receipt of a report that is on disk."""

    status: str
    receipt: str


@reports.post("/api/surveys/<name>/reports")
@Operation(
    {201: {JSON: ReceiptAnswer}, 200: {JSON: ReceiptAnswer}},
    (
        *BODY,
        "not-found",
        "conflict",
        "closed",
        "wrong-digest",
        "bad-report",
        "uninvited",
        "too-many",
    ),
    body={JSON: Report},
    optional_headers=(HEADER,),
)
def add(name: str) -> Response:
    """Store one report."""
    # Reports in the usual form do not come here: ``report_fast_path`` takes them.
    if request.mimetype == NDJSON:
        raise UnsupportedMediaType(
            f"send many reports as lines to /api/surveys/{name}/batches, with an author's token"
        )
    ticket = request.headers.get(HEADER, "")
    status, body = take_report(current_store(), name, read_body(JSON), ticket)
    return Response(body, status, mimetype=JSON)


def take_report(store: Store, name: str, body: bytes, ticket: str) -> tuple[int, bytes]:
    """Store the report in ``body``; returns the answer's status and body once it is on disk.

    The status is 201 for a new report and 200 for one that was stored before. ``ticket`` is needed
    for a survey by invitation, and is not stored. Raises BadReport, WrongDigest, Uninvited,
    Conflict, Closed, NotFound and NotStored.
    """
    survey = store.survey(name)
    report = read_report(body)
    if report.survey != survey.digest:
        raise WrongDigest(
            "the report answers another version of this survey, or another survey; load the"
            " survey again"
        )
    report.check(survey)
    admit(store, survey, report, ticket)
    match store.add(survey, report):
        case Outcome.STORED:
            return 201, encode({"status": "stored", "receipt": report.receipt})
        case Outcome.REPLAYED:
            return 200, encode({"status": "stored before", "receipt": report.receipt})
        case Outcome.CONFLICT:
            raise Conflict("another report was stored under this id; every report draws its own")
        case Outcome.CLOSED:
            raise Closed("the survey is closed and takes no more reports")
        case Outcome.UNKNOWN:
            raise NotFound("there is no survey of this name")
