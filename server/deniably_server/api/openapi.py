"""What the server answers, as an OpenAPI 3.1 document at ``/api/openapi.json``.

Addresses, methods and summaries are those of the application itself, the shapes of answers come
from their types, and refusals from the one table of problems. What only a view knows (its
parameters, its body, which refusals it makes) stands in one table here, a line a view; a test
compares it with the application, and another holds the answers to the document.
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any, NotRequired, TypedDict

import msgspec
from flask import Blueprint, Flask, Response, current_app, request
from werkzeug.routing import Rule

from deniably.survey.report import Report
from deniably_server.api import access, surveys, tickets
from deniably_server.api.admission import HEADER as TICKET
from deniably_server.api.checks import ChecksResult
from deniably_server.api.differences import DifferenceResult, DifferencesResult
from deniably_server.api.lines import NDJSON
from deniably_server.api.results import LEAST_CONFIDENCE, MOST_CONFIDENCE
from deniably_server.api.status import StatusResult
from deniably_server.api.together import CrosstabResult, GroupsResult
from deniably_server.results.document import SurveyResult
from deniably_server.results.result import CONFIDENCE
from deniably_server.storage.tables.tokens import Role
from deniably_server.watching.exposition import MEDIA_TYPE as METRICS
from deniably_server.watching.told import HEADER
from deniably_server.web.answer import encode
from deniably_server.web.body import JSON, YAML
from deniably_server.web.problems import KINDS, Kind
from deniably_server.web.problems import MEDIA_TYPE as PROBLEM

blueprint = Blueprint("openapi", __name__)

VERSION = "3.1.1"
_PART = re.compile(r"<(\w+)>")
_HTML, _TEXT, _CSV = "text/html", "text/plain", "text/csv"
_WEB = ("text/javascript", "text/css", "image/svg+xml")
_SCHEMA = "application/schema+json"


class ReceiptAnswer(TypedDict):
    """A report is on disk."""

    status: str
    receipt: str


class LinesAnswer(TypedDict):
    """What became of each line (SPEC section 6), and how many became what."""

    read: int
    ended: bool
    lines: list[tuple[int, int, str]]
    refusals: list[dict[str, Any]]


class SurveyAnswer(TypedDict):
    """A survey's name, version and addresses."""

    name: str
    digest: str
    links: dict[str, str]
    state: str


class ChangedAnswer(SurveyAnswer):
    """A survey that was closed, and with how many reports; null where they are too few for
    results."""

    reports: NotRequired[int | None]


class TokenAnswer(TypedDict):
    """A token, without its secret."""

    id: str
    role: Role
    survey: str | None
    until: str
    note: str
    state: str


class NewTokenAnswer(TokenAnswer):
    """A token, with its secret."""

    token: str


class TokensAnswer(TypedDict):
    """Every token."""

    tokens: list[TokenAnswer]


class FirstTokensAnswer(TypedDict):
    """The first two."""

    operator: NewTokenAnswer
    author: NewTokenAnswer


class SignatureAnswer(TypedDict):
    """What a device makes its ticket of (RFC 9474)."""

    signature: str


class RegisterAnswer(TypedDict):
    """Entries of the register, and the hash of the last of all (SPEC section 10)."""

    entries: list[dict[str, Any]]
    head: str


@dataclass(frozen=True)
class Operation:
    """What only a view knows.

    ``answers``: status -> media type -> the type of the answer (None where it is a text).
    ``query``: the parameters, those that are needed with a ``!`` at their end. ``body``: media type
    -> its type.
    """

    answers: Mapping[int, Mapping[str, Any]]
    problems: Sequence[str] = ()
    role: Role | None = None
    query: Mapping[str, Mapping[str, object]] | None = None
    body: Mapping[str, Any] | None = None
    headers: Sequence[str] = ()
    """Of the answer."""
    needs: Sequence[str] = ()
    may: Sequence[str] = ()
    """Headers of the request that are needed, and that are not always."""


_PAGE = {200: {_HTML: None}}
_NAMED: Mapping[str, object] = {"type": "string", "maxLength": 64}
_LANGUAGE: Mapping[str, Mapping[str, object]] = {"language": {"type": "string"}}
_SMOOTH: Mapping[str, Mapping[str, object]] = {"smooth": {"enum": ["0", "1"]}}
_CONFIDENCE: Mapping[str, Mapping[str, object]] = {
    "confidence": {
        "type": "number",
        "minimum": LEAST_CONFIDENCE,
        "maximum": MOST_CONFIDENCE,
        "description": "Of the intervals; up to three decimals.",
        "default": CONFIDENCE,
    }
}
_SHOWN = {**_SMOOTH, **_CONFIDENCE}
_PAIR = {"rows!": _NAMED, "columns!": _NAMED, **_CONFIDENCE}
_PAGES: Mapping[str, Mapping[str, object]] = {"page": {"type": "integer", "minimum": 1}}
_GROUPS: Mapping[str, Mapping[str, object]] = {
    "question!": _NAMED,
    "count": {"type": "integer", "minimum": 1},
}
_BODY = ("malformed", "too-large", "unsupported-media-type")
_TOKEN = ("unauthorised", "forbidden", "too-many")
_RESULTS = ("hidden", "not-found", "too-much", "busy", *_TOKEN)
"""A survey may keep its results to analysts."""
_NEW_TOKEN = {201: {JSON: NewTokenAnswer}}
_FILES: Mapping[str, Any] = dict.fromkeys(_WEB)
_FILE: Mapping[int, Mapping[str, Any]] = {200: _FILES, 304: {}}

OPERATIONS: Mapping[str, Operation] = {
    "access.admin": Operation(_PAGE),
    "access.first_tokens": Operation(
        {200: {JSON: FirstTokensAnswer}},
        (*_BODY, "unauthorised", "too-many"),
        body={JSON: access.Secret},
    ),
    "access.new": Operation(_NEW_TOKEN, (*_BODY, *_TOKEN), "operator", body={JSON: access.Wanted}),
    "access.revoke": Operation({200: {JSON: TokenAnswer}}, (*_TOKEN, "not-found"), "operator"),
    "access.tokens": Operation({200: {JSON: TokensAnswer}}, _TOKEN, "operator"),
    "batches.add": Operation(
        {200: {JSON: LinesAnswer}},
        (*_TOKEN, "not-found", "unsupported-media-type"),
        "author",
        body={NDJSON: None},
    ),
    "checks.checks_as_json": Operation({200: {JSON: ChecksResult}}, _RESULTS),
    "checks.checks_page": Operation(_PAGE, _RESULTS),
    "differences.difference": Operation(
        {200: {JSON: DifferenceResult}},
        _RESULTS,
        query=dict.fromkeys(
            ("question!", "choice", "part", "share", "other", "value", "survey"), _NAMED
        ),
    ),
    "differences.differences": Operation(
        {200: {JSON: DifferencesResult}}, _RESULTS, query={"question!": _NAMED, "survey": _NAMED}
    ),
    "health.alive": Operation({200: {_TEXT: None}}),
    "health.ready": Operation({200: {_TEXT: None}}),
    "metrics.page": Operation({200: {METRICS: None}}, _TOKEN, "monitor"),
    "openapi.document": Operation({200: {JSON: Any}, 304: {}}, headers=("ETag",)),
    "pages.dashboard": Operation(_PAGE, ("not-found", "too-much", "busy", *_TOKEN), query=_SHOWN),
    "pages.form": Operation(_PAGE, ("not-found",), query=_LANGUAGE),
    "pages.home": Operation(_PAGE, query=_PAGES),
    "pages.measures": Operation(_PAGE),
    "problems.explain": Operation({200: {_TEXT: None}}, ("not-found",)),
    "register.register": Operation(
        {200: {JSON: RegisterAnswer, _HTML: None}, 304: {}},
        query={"after": {"type": "integer", "minimum": 0}, **_PAGES},
        headers=("ETag", "Vary"),
    ),
    "reports.add": Operation(
        {201: {JSON: ReceiptAnswer}, 200: {JSON: ReceiptAnswer}},
        (
            *_BODY,
            "not-found",
            "conflict",
            "closed",
            "wrong-digest",
            "bad-report",
            "uninvited",
            "too-many",
        ),
        body={JSON: Report},
        may=(TICKET,),
    ),
    "results.as_csv": Operation(
        {200: {_CSV: None}}, _RESULTS, query=_SHOWN, headers=("Content-Disposition",)
    ),
    "results.as_json": Operation({200: {JSON: SurveyResult}}, _RESULTS, query=_SHOWN),
    "status.as_json": Operation({200: {JSON: StatusResult}}, ("not-found", *_TOKEN), "author"),
    "status.page": Operation(_PAGE, ("not-found", *_TOKEN)),
    "surveys.change": Operation(
        {200: {JSON: ChangedAnswer}},
        (*_BODY, *_TOKEN, "not-found", "closed", "too-few"),
        "author",
        body={JSON: surveys.Change},
    ),
    "surveys.definition": Operation(
        {200: {JSON: dict[str, Any]}, 304: {}}, ("not-found",), headers=("ETag", "Deniably-State")
    ),
    "surveys.publish": Operation(
        {201: {JSON: SurveyAnswer}, 200: {JSON: SurveyAnswer}},
        (*_BODY, *_TOKEN, "conflict", "bad-survey", "unsigned", "quota", "too-much", "busy"),
        "author",
        body=dict.fromkeys((JSON, *YAML), dict[str, Any]),
        headers=("Location",),
        needs=("Deniably-Author", "Deniably-Signature"),
    ),
    "surveys.schema": Operation({200: {_SCHEMA: dict[str, Any]}}),
    "tickets.trade": Operation(
        {200: {JSON: SignatureAnswer}},
        (*_BODY, "not-found", "closed", "uninvited", "used", "too-many"),
        body={JSON: tickets.Offer},
    ),
    "together.crosstab_as_json": Operation({200: {JSON: CrosstabResult}}, _RESULTS, query=_PAIR),
    "together.crosstab_page": Operation(_PAGE, _RESULTS, query=_PAIR),
    "together.groups_as_json": Operation({200: {JSON: GroupsResult}}, _RESULTS, query=_GROUPS),
    "together.groups_page": Operation(_PAGE, _RESULTS, query=_GROUPS),
    "web.built": Operation({200: _FILES}, ("not-found",), headers=("Service-Worker-Allowed",)),
    "web.current": Operation(_FILE, ("not-found",), headers=("ETag",)),
}
"""Of every view, by Flask's name of it."""

_READS = ("bad-parameter",)
"""Of every view that only reads: it may be asked with a parameter that it has not."""
_ALWAYS = ("internal", "misdirected", "unavailable")
_ELSEWHERE = ("method-not-allowed",)
"""What belongs to no view: the address is there, the method is not."""


@blueprint.get("/api/openapi.json")
def document() -> Response:
    """This document."""
    text, tag = _text(current_app._get_current_object())  # type: ignore[attr-defined]
    response = Response(text, mimetype=JSON)
    response.set_etag(tag)
    response.headers["Cache-Control"] = "no-cache"
    response.make_conditional(request)
    return response


@cache
def _text(app: Flask) -> tuple[bytes, str]:
    import hashlib

    text = encode(described(app))
    return text, hashlib.sha256(text).hexdigest()


def is_page(endpoint: str) -> bool:
    """Whether a view answers with a page for people, and with nothing else."""
    known = OPERATIONS.get(endpoint)
    return known is not None and known.answers == _PAGE


def described(app: Flask) -> dict[str, Any]:
    """The document of an application."""
    schemas = _Schemas(_types())
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        view = app.view_functions[rule.endpoint]
        for method in sorted((rule.methods or set()) - {"OPTIONS"}):
            told = _operation(rule, method, inspect.getdoc(view) or "", schemas)
            paths[_PART.sub(r"{\1}", rule.rule)][method.lower()] = told
    return {
        "openapi": VERSION,
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Deniably",
            "version": "1",
            "summary": "Surveys by local differential privacy.",
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.found | {"Problem": _problem(KINDS.values())},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "headers": {name: _header(text) for name, text in _HEADERS.items()},
            "responses": {name: _refusal([KINDS[name]]) for name in (*_ELSEWHERE, *_ALWAYS)},
        },
    }


_HEADERS = {
    HEADER: "The random id of the request, which the log has, too.",
    "Allow": "The methods that the address has.",
    "Content-Disposition": "A name for the file.",
    "Deniably-Author": "The author's public key.",
    "Deniably-Signature": "The author's signature of the definition's digest.",
    "Deniably-State": "open or closed.",
    "ETag": "The version; sent back in If-None-Match, the answer is 304 while it is right.",
    "Location": "The definition.",
    "Service-Worker-Allowed": "Of sw.js alone: the addresses that it may serve.",
    "Retry-After": "Seconds until the same may be sent again.",
    "Vary": "Accept, and Accept-Encoding.",
    "WWW-Authenticate": "Bearer.",
}


def _operation(rule: Rule, method: str, text: str, schemas: _Schemas) -> dict[str, Any]:
    known = OPERATIONS[rule.endpoint]
    summary, _, more = text.partition("\n\n")
    told: dict[str, Any] = {
        "operationId": rule.endpoint + (".head" if method == "HEAD" else ""),
        "summary": " ".join(summary.split()),
        "responses": _responses(known, method, schemas),
    }
    if more:
        told["description"] = " ".join(more.split())
    parameters = [_parameter(name, "path", {"type": "string"}) for name in _PART.findall(rule.rule)]
    parameters += [
        _parameter(key.rstrip("!"), "query", schema, needed=key.endswith("!"))
        for key, schema in (known.query or {}).items()
    ]
    for names, needed in ((known.needs, True), (known.may, False)):
        header = {"type": "string"}
        parameters += [_parameter(name, "header", header, needed=needed) for name in names]
    if parameters:
        told["parameters"] = parameters
    if known.role is not None:
        told |= {"security": [{"token": []}], "x-role": known.role}
    elif "forbidden" in known.problems:
        told |= {"security": [{}, {"token": []}], "x-role": "analyst"}
    if known.body is not None:
        content = {kind: schemas.content(type_) for kind, type_ in known.body.items()}
        told["requestBody"] = {"required": True, "content": content}
    return told


def _parameter(
    name: str, place: str, schema: Mapping[str, object], *, needed: bool = True
) -> dict[str, Any]:
    return {"name": name, "in": place, "required": needed, "schema": schema}


def _responses(known: Operation, method: str, schemas: _Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, kinds in known.answers.items():
        answer: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        if kinds and method != "HEAD":
            answer["content"] = {kind: schemas.content(type_) for kind, type_ in kinds.items()}
        names = (*known.headers, HEADER)
        answer["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
        found[str(status)] = answer
    by_status: dict[int, list[Kind]] = defaultdict(list)
    reads = _READS if method in ("GET", "HEAD") else ()
    for name in (*reads, *known.problems, *_ALWAYS):
        by_status[KINDS[name].status].append(KINDS[name])
    for status, kinds_ in sorted(by_status.items()):
        found[str(status)] = _refusal(
            kinds_, with_body=method != "HEAD", page=known.answers == _PAGE
        )
    return found


def _refusal(
    kinds: Sequence[Kind], *, with_body: bool = True, page: bool = False
) -> dict[str, Any]:
    """The response to refusals that share a status; of a page, as one for people, too."""
    names = [HEADER]
    if any(kind.status in (401, 403) for kind in kinds):
        names.append("WWW-Authenticate")
    if any(kind.status == 405 for kind in kinds):
        names.append("Allow")
    if any(kind.status == 429 for kind in kinds):
        names.append("Retry-After")
    told: dict[str, Any] = {
        "description": " Or: ".join(kind.when for kind in kinds),
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
    }
    if with_body:
        told["content"] = {PROBLEM: {"schema": _problem(kinds)}}
        if page:
            told["content"][_HTML] = {"schema": {"type": "string"}}
    return told


def _problem(kinds: Iterable[Kind]) -> dict[str, Any]:
    """The shape of a refusal that is of one of these kinds (RFC 9457)."""
    listed = list(kinds)
    text = {"type": "string"}
    return {
        "type": "object",
        "required": ["type", "title", "status", "detail", "instance"],
        "properties": {
            "type": {"enum": [kind.uri for kind in listed]},
            "title": {"enum": [kind.title for kind in listed]},
            "status": {"enum": sorted({kind.status for kind in listed})},
            "detail": text,
            "instance": {"type": "string", "pattern": "^/requests/[0-9a-f]{16}$"},
            "path": text,
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["path", "why"],
                    "properties": {"path": text, "why": text},
                },
            },
        },
        "additionalProperties": False,
    }


def _header(text: str) -> dict[str, Any]:
    return {"description": text, "schema": {"type": "string"}}


def _types() -> list[Any]:
    """Every type of a body."""
    found: dict[str, Any] = {}
    for known in OPERATIONS.values():
        for kinds in (*known.answers.values(), known.body or {}):
            for type_ in kinds.values():
                if type_ is not None:
                    found[repr(type_)] = type_
    return list(found.values())


class _Schemas:
    """The JSON Schemas of types, as msgspec has them."""

    def __init__(self, types: Sequence[Any]) -> None:
        shown, self.found = msgspec.json.schema_components(
            types,
            schema_hook=lambda _: {"title": "Anything"},
            ref_template="#/components/schemas/{name}",
        )
        self._shown = {repr(type_): schema for type_, schema in zip(types, shown, strict=True)}

    def content(self, type_: Any) -> dict[str, Any]:
        """The content of a body of this type; of a text where it is None."""
        return {"schema": {"type": "string"} if type_ is None else self._shown[repr(type_)]}
