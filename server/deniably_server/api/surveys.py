"""Definitions: for devices to fetch, for authors to publish and close."""

from __future__ import annotations

from typing import Literal

import msgspec
from flask import Blueprint, Response, request

from deniably import authoring
from deniably.errors import BadSignature, BadSurvey
from deniably.signing import Signature
from deniably.survey import Survey
from deniably_server.errors import Closed, Malformed, TooFew, Unsigned
from deniably_server.guard.auth import require, require_scope
from deniably_server.guard.current import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, YAML, read_body

surveys = Blueprint("surveys", __name__)


class Change(msgspec.Struct, forbid_unknown_fields=True):
    """What of a survey may be changed."""

    state: Literal["open", "closed"]
    only_with_results: bool = False
    """Refuse to close a survey whose results would stay hidden for ever."""


_CHANGE = msgspec.json.Decoder(Change)


@surveys.get("/api/surveys/<name>")
def definition(name: str) -> Response:
    """The canonical definition. It never changes, but the state beside it does."""
    store = current_store()
    survey = store.survey(name)
    response = Response(survey.canonical, mimetype=JSON)
    response.headers["Deniably-State"] = store.state(name)
    return _tagged(response, survey.digest)


@surveys.post("/api/surveys")
def publish() -> Response:
    """Publish an author's signed definition, for good."""
    token = require("author")
    survey = _compiled(read_body(JSON, *YAML))
    require_scope(token, survey.name)
    try:
        new = current_store().publish(survey, _signature())
    except BadSignature as error:
        raise Unsigned(f"{error}; the digest to be signed is {survey.digest}") from None
    card = _card(survey) | {"state": current_store().state(survey.name)}
    response = json_answer(card, 201 if new else 200)
    response.headers["Location"] = f"/api/surveys/{survey.name}"
    return response


@surveys.patch("/api/surveys/<name>")
def change(name: str) -> Response:
    """Close a survey. There is no way back: once results were seen, more reports would mislead."""
    require("author", name)
    store = current_store()
    survey = store.survey(name)
    try:
        wanted = _CHANGE.decode(read_body(JSON))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Malformed('the body is {"state": "closed"}; nothing else can be changed') from None
    if wanted.state == "closed":
        if wanted.only_with_results:
            _require_results(survey)
        store.close_survey(name)
    elif store.state(name) == "closed":
        raise Closed(
            "a closed survey is not opened again, because its results may have been seen; publish"
            " a new one under another name"
        )
    card = _card(survey) | {"state": wanted.state}
    if wanted.state == "closed":
        card["reports"] = final_count(survey)
    return json_answer(card)


@surveys.get("/schema/survey.json")
def schema() -> Response:
    """The JSON Schema of what an author writes."""
    return json_answer(authoring.schema(), mimetype="application/schema+json")


def _require_results(survey: Survey) -> None:
    """Raise TooFew where an open survey has fewer reports than its results need. How many it has
    is not said: who asks again and again would learn when each report comes."""
    least = survey.results.minimum
    if current_store().state(survey.name) == "open" and final_count(survey) is None:
        raise TooFew(
            f"{survey.name} has fewer than {least:,} reports so far, and its results are shown from"
            f" {least:,} on: closed now, it will never show any"
        )


def final_count(survey: Survey) -> int | None:
    """How many reports a survey has; None while they are too few for its results."""
    counts = [tally.n for tally in current_store().tally(survey.name).values()]
    if min(counts) < survey.results.minimum:
        return None
    return sum(counts) // survey.asked


def _signature() -> Signature:
    """What the headers say; not verified."""
    found = [request.headers.get(name) for name in ("Deniably-Author", "Deniably-Signature")]
    if None in found:
        raise BadSignature("the headers Deniably-Author and Deniably-Signature are needed")
    return Signature(*map(str, found))


def _compiled(text: bytes) -> Survey:
    try:
        document = authoring.load(text)
    except BadSurvey as error:  # no YAML and no JSON: a definition was not even found
        raise Malformed("; ".join(each.why for each in error.problems)) from None
    return authoring.compile_survey(document)


def _card(survey: Survey) -> dict[str, object]:
    """A survey's name, version and addresses."""
    return {
        "name": survey.name,
        "digest": survey.digest,
        "links": {
            "form": f"/s/{survey.name}",
            "dashboard": f"/surveys/{survey.name}",
            "definition": f"/api/surveys/{survey.name}",
            "results": f"/api/surveys/{survey.name}/results",
        },
    }


def _tagged(response: Response, tag: str) -> Response:
    """With an ETag, and 304 without a body where the client has this version."""
    response.set_etag(tag)
    response.headers["Cache-Control"] = "no-cache"  # keep it, but ask each time
    response.make_conditional(request)
    return response
