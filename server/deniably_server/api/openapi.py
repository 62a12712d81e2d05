"""Describes the server by an OpenAPI 3.1 document, at ``/api/openapi.json``.

Addresses and methods are collected from the application, summaries from the views' docstrings.
Parameters, bodies and problems come from each view's declaration (``web.operation``), and the
schemas of answers from their types. Tests compare real answers with the document.
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec
from flask import Blueprint, Flask, Response, current_app, request
from werkzeug.routing import Rule

from deniably.survey.parts import SURVEY_NAME
from deniably.survey.strata import MOST_KEYS
from deniably_server.watching.request_facts import HEADER
from deniably_server.web.answer import encode
from deniably_server.web.body import JSON
from deniably_server.web.operation import HTML, Operation, operation_of
from deniably_server.web.problems import KINDS, Kind
from deniably_server.web.problems import MEDIA_TYPE as PROBLEM

blueprint = Blueprint("openapi", __name__)

VERSION = "3.1.1"
_PART = re.compile(r"<(\w+)>")

_OWN_PAGES = "/studio"
"""What the studio's own pages ask for changes with them, so no program should."""
_READS = ("bad-parameter",)
"""Problems of every GET, which may have an unknown parameter."""
_ALWAYS = ("internal", "misdirected", "unavailable")
_ELSEWHERE = ("method-not-allowed", "bad-envelope", "gone", "nobody-invited")
"""Problems of an address that has no view for the method, and those that only a mixer has."""


@blueprint.get("/api/openapi.json")
@Operation({200: {JSON: Any}, 304: {}}, headers=("ETag",))
def document() -> Response:
    """Returns this document, the description of the whole API."""
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


def described(app: Flask) -> dict[str, Any]:
    """Returns the OpenAPI document of an application.

    Raises AttributeError for a view without a declaration.
    """
    views = app.view_functions
    problems = _Problems()
    public = [rule for rule in app.url_map.iter_rules() if not rule.rule.startswith(_OWN_PAGES)]
    endpoints = sorted({rule.endpoint for rule in public})
    schemas = _Schemas(_types([operation_of(views[endpoint]) for endpoint in endpoints]))
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for rule in sorted(public, key=lambda rule: rule.rule):
        for method in sorted((rule.methods or set()) - {"OPTIONS"}):
            operation = _operation(rule, method, views[rule.endpoint], schemas, problems)
            paths[_PART.sub(r"{\1}", rule.rule)][method.lower()] = operation
    elsewhere = {name: _refusal([KINDS[name]], problems) for name in (*_ELSEWHERE, *_ALWAYS)}
    return {
        "openapi": VERSION,
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Deniably server",
            "version": "1",
            "summary": "Surveys by local differential privacy.",
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.components | problems.components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "headers": {name: _header(text) for name, text in _HEADERS.items()},
            "responses": elsewhere,
        },
    }


_HEADERS = {
    HEADER: "The random id of the request, which the log has, too.",
    "Accept-Ranges": "bytes: parts of the file may be asked for.",
    "Allow": "The methods that the address has.",
    "Content-Disposition": "A name for the file.",
    "Deniably-Author": "The author's public key.",
    "Deniably-Signature": "The author's signature of the definition's digest; the mixer's of"
    " its batch's manifest.",
    "Deniably-Reports": "How many reports the whole file has.",
    "Deniably-State": "open or closed.",
    "Deniably-Strata": "In a survey with strata, whether they have columns, and why not.",
    "ETag": "The version; sent back in If-None-Match, the answer is 304 while it is right.",
    "Location": "The definition.",
    "Service-Worker-Allowed": "Of sw.js alone: the addresses that it may serve.",
    "Retry-After": "Seconds until the same may be sent again.",
    "Vary": "Accept, and Accept-Encoding.",
    "WWW-Authenticate": "Bearer.",
}


_STRATA: Mapping[str, object] = {
    "name": "strata",
    "in": "query",
    "required": False,
    "style": "form",
    "explode": True,  # each key is a parameter of its own, and none is called strata
    "schema": {
        "type": "object",
        "propertyNames": {"pattern": SURVEY_NAME},
        "additionalProperties": {"type": "string", "pattern": SURVEY_NAME},
        "maxProperties": MOST_KEYS,
    },
    "example": {"site": "north"},
    "description": (
        "Values of keys of the survey's strata, each key as a parameter, such as ?site=north. All"
        " results are then of this subgroup alone. It has results once the survey is closed, if it"
        " has enough reports and no part with too few could be worked out with it; else the problem"
        " is hidden. The form needs a value of every key."
    ),
}


def _operation(
    rule: Rule, method: str, view: Callable[..., Any], schemas: _Schemas, problems: _Problems
) -> dict[str, Any]:
    declared = operation_of(view)
    summary, _, rest = (inspect.getdoc(view) or "").partition("\n\n")
    operation: dict[str, Any] = {
        "operationId": rule.endpoint + (".head" if method == "HEAD" else ""),
        "tags": ["pages" if declared.is_page else rule.endpoint.partition(".")[0]],
        "summary": " ".join(summary.split()),
        "responses": _responses(declared, method, schemas, problems),
    }
    if rest:
        operation["description"] = " ".join(rest.split())
    parameters: list[Mapping[str, object]] = [
        _parameter(name, "path", {"type": "string"}) for name in _PART.findall(rule.rule)
    ]
    parameters += [
        _parameter(key.rstrip("!"), "query", schema, needed=key.endswith("!"))
        for key, schema in (declared.query or {}).items()
    ]
    if declared.strata:
        parameters.append(_STRATA)
    for names, needed in ((declared.required_headers, True), (declared.optional_headers, False)):
        header = {"type": "string"}
        parameters += [_parameter(name, "header", header, needed=needed) for name in names]
    if parameters:
        operation["parameters"] = parameters
    if declared.role is not None:
        operation |= {"security": [{"token": []}], "x-role": declared.role}
    elif "forbidden" in declared.problems:
        operation |= {"security": [{}, {"token": []}], "x-role": "analyst"}
    if declared.body is not None:
        content = {kind: schemas.content(type_) for kind, type_ in declared.body.items()}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameter(
    name: str, place: str, schema: Mapping[str, object], *, needed: bool = True
) -> dict[str, Any]:
    return {"name": name, "in": place, "required": needed, "schema": schema}


def _responses(
    declared: Operation, method: str, schemas: _Schemas, problems: _Problems
) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, kinds in declared.answers.items():
        answer: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        if kinds and method != "HEAD":
            answer["content"] = {kind: schemas.content(type_) for kind, type_ in kinds.items()}
        names = (*declared.headers, HEADER)
        answer["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
        responses[str(status)] = answer
    by_status: dict[int, list[Kind]] = defaultdict(list)
    reads = _READS if method in ("GET", "HEAD") else ()
    for name in (*reads, *declared.problems, *_ALWAYS):
        by_status[KINDS[name].status].append(KINDS[name])
    for status, kinds_ in sorted(by_status.items()):
        responses[str(status)] = _refusal(
            kinds_, problems, with_body=method != "HEAD", page=declared.is_page
        )
    return responses


def _refusal(
    kinds: Sequence[Kind], problems: _Problems, *, with_body: bool = True, page: bool = False
) -> dict[str, Any]:
    """The response for problems that share a status; a page also answers with HTML."""
    names = [HEADER]
    if any(kind.status in (401, 403) for kind in kinds):
        names.append("WWW-Authenticate")
    if any(kind.status == 405 for kind in kinds):
        names.append("Allow")
    if any(kind.status == 429 for kind in kinds):
        names.append("Retry-After")
    response: dict[str, Any] = {
        "description": " Or: ".join(kind.when for kind in kinds),
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
    }
    if with_body:
        response["content"] = {PROBLEM: {"schema": problems.schema(kinds)}}
        if page:
            response["content"][HTML] = {"schema": {"type": "string"}}
    return response


class _Problems:
    """The schemas of problems, one for each set of kinds that share a status.

    They are named, so that a generator of clients makes a type of each and not one an answer.
    """

    def __init__(self) -> None:
        text = {"type": "string"}
        wrong = {"required": ["path", "why"], "properties": {"path": text, "why": text}}
        self.components: dict[str, dict[str, Any]] = {
            "Problem": _problem(KINDS.values()),
            "ProblemError": {"type": "object"} | wrong,
        }

    def schema(self, kinds: Sequence[Kind]) -> dict[str, str]:
        """Returns a reference to the schema of these kinds."""
        listed = sorted(kinds, key=lambda kind: kind.name)
        parts = [kind.name.title().replace("-", "") for kind in listed]
        name = "Or".join(parts) + "Problem"
        self.components[name] = _problem(listed)
        return {"$ref": f"#/components/schemas/{name}"}


def _problem(kinds: Iterable[Kind]) -> dict[str, Any]:
    """The schema of a problem of one of these kinds (RFC 9457)."""
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
            "errors": {"type": "array", "items": {"$ref": "#/components/schemas/ProblemError"}},
        },
        "additionalProperties": False,
    }


def _header(text: str) -> dict[str, Any]:
    return {"description": text, "schema": {"type": "string"}}


def _types(operations: Iterable[Operation]) -> list[Any]:
    """The distinct types of all bodies."""
    distinct: dict[str, Any] = {}
    for declared in operations:
        for kinds in (*declared.answers.values(), declared.body or {}):
            for type_ in kinds.values():
                if type_ is not None:
                    distinct[repr(type_)] = type_
    return list(distinct.values())


class _Schemas:
    """The JSON Schemas that msgspec makes of types."""

    def __init__(self, types: Sequence[Any]) -> None:
        references, components = msgspec.json.schema_components(
            types,
            schema_hook=lambda _: {"title": "Anything"},
            ref_template="#/components/schemas/{name}",
        )
        self.components = _without_false(components)
        self._shown = {repr(type_): schema for type_, schema in zip(types, references, strict=True)}

    def content(self, type_: Any) -> dict[str, Any]:
        """Returns the OpenAPI content of a body of this type; None means text."""
        return {"schema": {"type": "string"} if type_ is None else self._shown[repr(type_)]}


def _without_false(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema whose tuples have no ``items: false``: their ``maxItems`` says it, and generators
    of clients (openapi-python-client) take no schema that is a boolean."""
    text = msgspec.json.encode(schema).replace(b',"items":false', b"")
    cleaned: dict[str, Any] = msgspec.json.decode(text)
    return cleaned
