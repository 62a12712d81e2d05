"""Makes the response to every exception, as problem details (RFC 9457), from a table of
problems."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING

from flask import Blueprint, Flask, Response, render_template, request, url_for
from werkzeug import exceptions as http

from deniably.core.errors import (
    BadBatch,
    BadEnvelope,
    BadInvitation,
    BadReport,
    BadSurvey,
    TravelledApart,
)
from deniably.core.steering import one_line
from deniably.survey.report import MalformedReport
from deniably.wording.words import ENGLISH
from deniably_server import errors
from deniably_server.watching import request_facts
from deniably_server.web import language
from deniably_server.web.answer import json_answer
from deniably_server.web.operation import TEXT, Operation, current_operation

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

MEDIA_TYPE = "application/problem+json"
_HTML = "text/html"

_FOR_RESPONDENTS = ("pages.form",)
_OF_THE_LAB = ("lab.page", "lab.index")
_MISSING = ("missing.title", "missing.heading", "missing.text", "missing.link")
_ADDRESS = ("address.title", "address.heading", "address.text", "address.link")
_TROUBLE = ("trouble.title", "trouble.heading", "trouble.text", "trouble.link")

# Between the words of a class name, as in NotFound.
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")

problems = Blueprint("problems", __name__)
log = logging.getLogger("deniably")


@dataclass(frozen=True)
class Kind:
    """A type of problem (RFC 9457): ``name`` is the last part of its URI, ``when`` a sentence that
    says when it occurs.

    The name is empty if the HTTP status says everything.
    """

    name: str
    title: str
    status: int
    when: str

    @property
    def uri(self) -> str:
        """The member ``type`` of problem documents of this type: the address of a page of this
        server that explains the problem, or ``about:blank`` if the type has no name."""
        return f"/problems/{self.name}" if self.name else "about:blank"


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "bad-parameter",
            "The address is not right",
            400,
            "A parameter of the address, behind its question mark, is unknown, wrong or missing.",
        ),
        Kind(
            "malformed",
            "The request cannot be read",
            400,
            "The body is not JSON (or YAML, where that is allowed), or the request does not have"
            " exactly one Host header.",
        ),
        Kind(
            "bad-envelope",
            "The envelope cannot be opened",
            400,
            "What came is no envelope to this survey, or was damaged on the way.",
        ),
        Kind(
            "bad-batch",
            "The mixer's batch cannot be right",
            400,
            "The manifest of the batch is of another survey, its numbers cannot be, or more bytes"
            " came than it says.",
        ),
        Kind(
            "unauthorised",
            "A token is needed",
            401,
            "The bearer token is missing, wrong, expired or revoked.",
        ),
        Kind(
            "forbidden",
            "The token does not allow this",
            403,
            "The bearer token is of another role, or for another survey.",
        ),
        Kind(
            "uninvited",
            "An invitation is needed",
            403,
            "The survey is by invitation. The code is not one of its invitations, or the report"
            " lacks the ticket that an invitation is traded for.",
        ),
        Kind("hidden", "The results are hidden", 403, "The results are not shown yet."),
        Kind("not-found", "Not found", 404, "There is no such survey or page."),
        Kind(
            "travelled-apart",
            "Answers that travelled apart",
            404,
            "This needs several answers of one person, and the survey has a mixer. Each answer came"
            " in an envelope of its own.",
        ),
        Kind(
            "method-not-allowed",
            "Method not allowed",
            405,
            "The address exists, but not for this method; the header Allow names those it has.",
        ),
        Kind(
            "conflict",
            "Taken by something else",
            409,
            "The report's id was used with other content, or the survey's name with another"
            " definition, or another batch of the survey's mixer is known.",
        ),
        Kind(
            "closed",
            "The survey is closed",
            409,
            "The survey takes no more reports, and is not opened again.",
        ),
        Kind(
            "not-closed",
            "The survey is open",
            409,
            "The mixer passes on the answers once the survey is closed.",
        ),
        Kind(
            "wrong-place",
            "The batch goes on elsewhere",
            409,
            "Another number of bytes of the batch is stored than the request says; bytes is that"
            " number.",
        ),
        Kind(
            "too-few",
            "Too few reports for results",
            409,
            "The survey has fewer reports than its results need. If you close it without"
            " only_with_results, its results stay hidden for ever.",
        ),
        Kind(
            "used",
            "The invitation is used",
            409,
            "The invitation was used before: by another device, or by this one before its memory"
            " was deleted.",
        ),
        Kind(
            "nobody-invited",
            "There are no invitations yet",
            409,
            "The survey is by the mixer's invitation, and the mixer has given out none yet.",
        ),
        Kind(
            "gone",
            "The mixer takes no more envelopes",
            410,
            "The survey is closed, or its mixer has passed on all envelopes and deleted them.",
        ),
        Kind(
            "too-large",
            "The body is too large",
            413,
            "The body is over 1 MiB, or that of a draft over 256 kB.",
        ),
        Kind(
            "unsupported-media-type",
            "Unsupported media type",
            415,
            "The server does not read this Content-Type.",
        ),
        Kind(
            "range-not-satisfiable",
            "The file is shorter",
            416,
            "The range begins behind the end of the file; Content-Range says its length.",
        ),
        Kind(
            "misdirected",
            "Not the name of this server",
            421,
            "The request is for a host name that this server does not answer to.",
        ),
        Kind(
            "wrong-digest",
            "Another version of the survey",
            422,
            "The report answers another version of the survey, or another survey. Load the"
            " survey again.",
        ),
        Kind(
            "bad-report",
            "The report is not valid",
            422,
            "No device that follows the specification and this survey makes such a report.",
        ),
        Kind(
            "bad-survey",
            "The definition is not valid",
            422,
            "The author's definition is not valid; errors lists every problem with its path.",
        ),
        Kind(
            "unsigned",
            "A signature is needed",
            422,
            "The author's signature of the definition is missing or wrong, which deniably publish"
            " makes, or the mixer's of its batch is.",
        ),
        Kind(
            "too-much",
            "More than the server computes",
            422,
            "The results that you ask for have too many cells, or take too much processor time or"
            " memory. The detail says the limit, and what to ask for instead.",
        ),
        Kind(
            "too-many",
            "Too many requests",
            429,
            "Too many requests come from one network address. The header Retry-After says in how"
            " many seconds you may try again.",
        ),
        Kind(
            "quota",
            "No more surveys for now",
            429,
            "The token has published as many surveys as it may in a day, or as much of the register"
            " as it may fill; or the register is full; or it has too many unused keys of envelopes."
            " The detail says which, and what to do.",
        ),
        Kind(
            "busy",
            "Too many results at once",
            429,
            "The server is computing as many results as it can. The header Retry-After says in how"
            " many seconds you may try again.",
        ),
        Kind(
            "internal",
            "A fault of the server",
            500,
            "The fault is the server's. Nothing was stored. You may send the same request again"
            " later.",
        ),
        Kind(
            "too-slow",
            "Too long to work out here",
            503,
            "This takes too long to work out here. It can still be published.",
        ),
        Kind(
            "unavailable",
            "Temporarily unavailable",
            503,
            "The server's database does not answer, or cannot store anything now. Try again later;"
            " nothing is counted twice.",
        ),
    )
}

BY_EXCEPTION: dict[type[Exception], str] = {
    **{one: _WORDS.sub("-", one.__name__).lower() for one in errors.Refusal.__subclasses__()},
    BadBatch: "bad-batch",
    BadEnvelope: "bad-envelope",
    BadInvitation: "uninvited",
    BadReport: "bad-report",
    BadSurvey: "bad-survey",
    MalformedReport: "malformed",
    TravelledApart: "travelled-apart",
    errors.TooSlow: "too-slow",
    errors.Unavailable: "unavailable",
    http.BadRequest: "malformed",
    http.MethodNotAllowed: "method-not-allowed",
    http.NotFound: "not-found",
    http.RequestedRangeNotSatisfiable: "range-not-satisfiable",
    http.RequestEntityTooLarge: "too-large",
    http.UnsupportedMediaType: "unsupported-media-type",
    Exception: "internal",
}
"""The name of the problem for each exception; a refusal's follows from its class."""


def members(error: Exception) -> dict[str, object]:
    """Returns {name: value} of the members of the problem document for an exception. Leaves out
    ``instance``, which has the id of the request."""
    kind = kind_of(error)
    document: dict[str, object] = {"type": kind.uri, "title": kind.title, "status": kind.status}
    match error:
        case BadReport():
            place = {} if error.path == "$" else {"path": one_line(error.path)}
            return document | {"detail": sentence(error.why)} | place
        case BadSurvey():
            listed = [
                {"path": one_line(each.path), "why": one_line(each.why)} for each in error.problems
            ]
            return document | {
                "detail": "The definition has problems; see errors.",
                "errors": listed,
            }
        case BadInvitation() | BadBatch() | TravelledApart():
            return document | {"detail": sentence(str(error))}
        case errors.WrongPlace():
            return document | {"detail": sentence(error.why), "bytes": error.held}
        case errors.Refusal():
            return document | {"detail": sentence(error.why)}
        case _:
            return document | {"detail": kind.when}


def refuse(error: Exception, environ: WSGIEnvironment) -> Response:
    """Returns the response to any exception, as JSON. Logs faults of the server, without their
    messages.

    ``environ`` is the WSGI environment of the request.
    """
    kind, request_id = kind_of(error), request_facts.request_id(environ)
    if kind.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        # A message, an address or a body may hold data, so it is never logged.
        method, route = request_facts.method(environ), request_facts.route(environ)
        log.error("%s %s %d %s %s", method, route, kind.status, error_location(error), request_id)
    document = members(error) | {"instance": f"/requests/{request_id}"}
    response = json_answer(document, kind.status, MEDIA_TYPE)
    if isinstance(error, errors.Unauthorised):
        # RFC 6750, section 3, as below for a token of another role.
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, errors.TooMany | errors.Busy):
        response.headers["Retry-After"] = str(error.wait)
    if isinstance(error, errors.Forbidden):
        response.headers["WWW-Authenticate"] = 'Bearer error="insufficient_scope"'
    if isinstance(error, http.RequestedRangeNotSatisfiable):
        response.headers["Content-Range"] = f"bytes */{error.length}"
    if isinstance(error, http.MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response


def kind_of(error: Exception) -> Kind:
    """Returns the type of problem for an exception. ``BY_EXCEPTION`` has it for the exception's
    class, or else for its nearest base class."""
    name = next(BY_EXCEPTION[each] for each in type(error).__mro__ if each in BY_EXCEPTION)
    # An HTTP error that the table does not name is no fault of the server.
    if name == "internal" and isinstance(error, http.HTTPException):
        return _plain(error)
    return KINDS[name]


def _plain(error: http.HTTPException) -> Kind:
    """Returns the kind of an HTTP error that has no name in the table, such as 416."""
    status = HTTPStatus(error.code or 500)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return KINDS["internal"]
    return Kind("", status.phrase, status.value, f"{status.description or status.phrase}.")


@problems.get("/problems/<name>")
@Operation({200: {TEXT: None}}, ("not-found",))
def explain(name: str) -> Response:
    """Shows as text what a type of problem means, and when it occurs."""
    kind = KINDS.get(name)
    if kind is None:
        raise errors.NotFound("there is no such type of problem")
    return Response(f"{kind.title} (status {kind.status})\n\n{kind.when}\n", mimetype="text/plain")


def handle_problems(app: Flask) -> None:
    """Makes ``app`` answer every exception as a problem: with a page for browsers, with JSON for
    programs."""

    def answer(error: Exception) -> Response:
        response = refuse(error, request.environ)
        if _for_people():
            response.mimetype = _HTML
            response.set_data(_page(error))
        return response

    app.register_error_handler(Exception, answer)
    app.register_blueprint(problems)


def _for_people() -> bool:
    """Returns whether the answer is shown as a page. Scripts that fetch a page with an analyst's
    token show the problem themselves."""
    accepted = request.accept_mimetypes
    if request.headers.get("Authorization", "").lower().startswith("bearer"):
        return False
    operation = current_operation()
    if operation is None:  # no view has this address
        return accepted.best_match([MEDIA_TYPE, "application/json", _HTML]) == _HTML
    return operation.is_page and accepted.best_match([_HTML, MEDIA_TYPE], _HTML) == _HTML


def _page(error: Exception) -> str:
    """Returns the page for a problem: a general text for respondents in their language, else the
    detail."""
    kind, name = kind_of(error), (request.view_args or {}).get("name")
    missing = kind.name == "not-found"
    if missing and request.endpoint in (None, *_FOR_RESPONDENTS, "pages.dashboard"):
        return _message(_MISSING, "/")
    if request.endpoint in _FOR_RESPONDENTS:
        return _message(_ADDRESS if kind.name == "bad-parameter" else _TROUBLE, request.path)
    link = ("/", ENGLISH("missing.link"))
    if request.endpoint in _OF_THE_LAB:
        link = ("/lab", "All experiments") if missing else (request.path, "As it comes")
    elif name is not None and not missing:
        link = (url_for("pages.dashboard", name=name), "All results")
    return render_template(
        "message.html", title=kind.title, heading=kind.title, text=members(error)["detail"],
        link=link,
    )  # fmt: skip


def _message(texts: tuple[str, str, str, str], to: str) -> str:
    words = language.asked_for()
    title, heading, text, link = map(words, texts)
    return render_template(
        "message.html", words=words, title=title, heading=heading, text=text, link=(to, link)
    )


def error_location(error: BaseException) -> str:
    """Returns the types of an exception and its causes, with the lines of code that raised them.

    Logs have this instead of the messages, which may hold data.
    """
    location = f"{type(error).__name__} at {_place(error.__traceback__)}"
    return f"{location} from {error_location(error.__cause__)}" if error.__cause__ else location


def _place(traceback: TracebackType | None) -> str:
    place = "unknown"
    while traceback:
        place = f"{traceback.tb_frame.f_globals.get('__name__')}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def sentence(why: str) -> str:
    """Returns a reason as a sentence, with a capital and a full stop. It is on one line, because
    it may quote the request and be printed by programs."""
    why = one_line(why)
    return why[:1].upper() + why[1:] + ("" if why.endswith((".", "?", "!")) else ".")
