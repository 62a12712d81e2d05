"""Takes single reports: the one request that every respondent's device makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypedDict

from flask import Blueprint, Response, request

from deniably.survey.report import Report, read_report
from deniably_server.api.admission import HEADER, admit, require_no_mixer
from deniably_server.api.report_lines import NDJSON
from deniably_server.errors import Closed, Conflict, NotFound, UnsupportedMediaType, WrongDigest
from deniably_server.guard.app_state import current_store
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import Outcome, ReportWrite, report_write
from deniably_server.web.answer import encode
from deniably_server.web.body import JSON, read_body
from deniably_server.web.operation import BODY, Operation

reports = Blueprint("reports", __name__)


class ReceiptAnswer(TypedDict):
    """The receipt of a report that is stored: ``status`` is "stored" or "stored before"."""

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
    """Stores one report."""
    # Reports in the usual form do not come here: ``report_fast_path`` takes them.
    if request.mimetype == NDJSON:
        raise UnsupportedMediaType(
            f"send many reports as lines to /api/surveys/{name}/batches, with an author's token"
        )
    ticket = request.headers.get(HEADER, "")
    status, body = begin_report(current_store(), name, read_body(JSON), ticket).answer()
    return Response(body, status, mimetype=JSON)


class BegunReport(NamedTuple):
    """A report that was checked and waits to be on disk."""

    report: Report
    write: ReportWrite

    def answer(self) -> tuple[int, bytes]:
        """Returns the answer's status and body; waits until the report is on disk.

        The status is 201 for a new report and 200 for one that was stored before. Raises Conflict
        where another report has the same id, Closed where the survey is closed, NotFound where
        there is no such survey, and NotStored where the transaction failed.
        """
        match self.write.outcome():
            case Outcome.STORED:
                return 201, encode({"status": "stored", "receipt": self.report.receipt})
            case Outcome.REPLAYED:
                return 200, encode({"status": "stored before", "receipt": self.report.receipt})
            case Outcome.CONFLICT:
                raise Conflict(
                    "another report was stored under this id; every report draws its own"
                )
            case Outcome.CLOSED:
                raise Closed("the survey is closed and takes no more reports")
            case Outcome.UNKNOWN:
                raise NotFound("there is no survey of this name")


def begin_report(
    store: Store,
    name: str,
    body: bytes,
    ticket: str,
    notify: Callable[[], object] | None = None,
) -> BegunReport:
    """Checks the report in ``body``, and begins to store it. ``notify`` is called once the report
    is on disk, or could not be stored.

    ``ticket`` is needed for a survey by invitation, and is not stored. Raises BadReport where the
    report is malformed or the survey has a mixer, WrongDigest where it is to another definition of
    the survey, Uninvited without a valid ticket, NotFound where there is no such survey, and
    Unavailable while the server stops.
    """
    survey = store.survey(name)
    require_no_mixer(survey)
    report = read_report(body)
    if report.survey != survey.digest:
        raise WrongDigest(
            "the report answers another version of this survey, or another survey; load the"
            " survey again"
        )
    report.check(survey)
    admit(store, survey, report, ticket)
    write = report_write(survey, report, notify)
    store.begin(write)
    return BegunReport(report, write)
