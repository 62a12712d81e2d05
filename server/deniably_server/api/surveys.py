"""Serves survey definitions: devices fetch them, authors publish and close them."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, cast

import msgspec
from flask import Blueprint, Response, current_app, request

from deniably.authoring import compiling
from deniably.core.counting import counted
from deniably.core.errors import BadSignature
from deniably.survey.mixer import Mixer
from deniably.survey.strata import query_of, stratum_text
from deniably.survey.survey import Survey
from deniably.trust.signing import check_form
from deniably_server.api.cached_views import compiled
from deniably_server.api.mixed import refuse_own_mixer
from deniably_server.errors import Closed, Forbidden, TooFew, Unsigned
from deniably_server.guard.app_state import current_store
from deniably_server.guard.auth import require, require_scope
from deniably_server.guard.ownership import SIGNATURE, is_owner, request_signature
from deniably_server.storage.tables.owners import Quotas
from deniably_server.storage.tables.tokens import Token
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, YAML, decoded, read_body
from deniably_server.web.operation import BODY, TOKEN, Operation

surveys = Blueprint("surveys", __name__)

_SCHEMA = "application/schema+json"


class SurveyAnswer(TypedDict):
    """A survey's name, version and addresses."""

    name: str
    digest: str
    links: dict[str, str]
    state: str


class ChangedAnswer(SurveyAnswer):
    """A survey after a change. If the survey is now closed, ``reports`` is its final number of
    reports, or null if there are too few for results. ``mixer`` says who runs the survey's mixer,
    where that passes on the answers now; ``reports`` is null until then."""

    reports: NotRequired[int | None]
    mixer: NotRequired[str]


class SurveyChange(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to change a survey."""

    state: Literal["open", "closed"]
    only_with_results: bool = False
    """Refuse to close a survey whose results would stay hidden for ever."""


_CHANGE = msgspec.json.Decoder(SurveyChange)


@surveys.get("/api/surveys/<name>")
@Operation(
    {200: {JSON: dict[str, Any]}, 304: {}}, ("not-found",), headers=("ETag", "Deniably-State")
)
def definition(name: str) -> Response:
    """Returns the canonical definition. The definition never changes, but the header
    Deniably-State, which says whether the survey is open, does."""
    store = current_store()
    survey = store.survey(name)
    response = Response(survey.canonical, mimetype=JSON)
    response.headers["Deniably-State"] = store.state(name)
    return _tagged(response, survey.digest)


@surveys.post("/api/surveys")
@Operation(
    {201: {JSON: SurveyAnswer}, 200: {JSON: SurveyAnswer}},
    (*BODY, *TOKEN, "conflict", "bad-survey", "unsigned", "quota", "too-much", "busy"),
    "author",
    body=dict.fromkeys((JSON, *YAML), dict[str, Any]),
    headers=("Location",),
    required_headers=SIGNATURE,
)
def publish() -> Response:
    """Publishes an author's signed definition for good."""
    token = require("author")
    text = read_body(JSON, *YAML)
    try:
        signature = request_signature()
        check_form(signature)
    except BadSignature as error:  # before anything is computed
        raise Unsigned(str(error)) from None
    survey = compiled(text)
    require_scope(token, survey.name)  # only now the name is known
    refuse_own_mixer(survey)
    try:
        new = current_store().publish(survey, signature, token.id, quotas())
    except BadSignature as error:
        raise Unsigned(f"{error}; the digest to be signed is {survey.digest}") from None
    card = _card(survey) | {"state": current_store().state(survey.name)}
    response = json_answer(card, 201 if new else 200)
    response.headers["Location"] = f"/api/surveys/{survey.name}"
    return response


@surveys.patch("/api/surveys/<name>")
@Operation(
    {200: {JSON: ChangedAnswer}},
    (*BODY, *TOKEN, "not-found", "closed", "too-few"),
    "author",
    body={JSON: SurveyChange},
)
def change(name: str) -> Response:
    """Closes a survey for good: reports sent after the results were seen could mislead."""
    token = require("author", name, or_role="operator")
    store = current_store()
    survey = store.survey(name)
    _require_owner(survey, token)
    form = 'the body is {"state": "closed"}; nothing else can be changed'
    wanted = decoded(_CHANGE, read_body(JSON), form)
    if wanted.state == "closed":
        if wanted.only_with_results:
            require_results(survey)
        store.close_survey(name, token.id)
    elif store.state(name) == "closed":
        raise Closed(
            "a closed survey is not opened again, because its results may have been seen; publish"
            " a new one under another name"
        )
    card = _card(survey) | {"state": wanted.state}
    if wanted.state == "closed":
        card["reports"] = final_count(survey)
        if isinstance(survey.mixer, Mixer) and store.mixed.is_awaited(name):
            card["mixer"] = survey.mixer.by
    return json_answer(card)


@surveys.get("/schema/survey.json")
@Operation({200: {_SCHEMA: dict[str, Any]}})
def schema() -> Response:
    """Returns the JSON Schema of an author's definition."""
    return json_answer(compiling.schema(), mimetype=_SCHEMA)


def _require_owner(survey: Survey, token: Token) -> None:
    """Raise Forbidden unless the token is an operator's or of the survey's owner."""
    if token.role == "operator" or is_owner(survey, token):
        return
    raise Forbidden(
        f"{survey.name} was published with another token, and is closed with that one, with the"
        " author's key (deniably close --key FILE), or by an operator"
    )


def quotas() -> Quotas:
    """Returns the quotas that the server's settings give every author's token."""
    surveys, room = (cast(int, current_app.config[key]) for key in ("SURVEYS", "ROOM"))
    return Quotas(surveys, room * 1_000_000)


def require_results(survey: Survey) -> None:
    """Raises TooFew if an open survey has fewer reports than its results need. Where a mixer has
    them, nobody here knows how many there are.

    The refusal does not give the count: repeated requests would show when each report comes.
    """
    least = survey.results.minimum
    if survey.mixer:
        return
    if current_store().state(survey.name) == "open" and final_count(survey) is None:
        raise TooFew(
            f"the survey {survey.name} has fewer than {counted(least, 'report')} so far, and its"
            f" results are shown from {least:,} on: if you close it now, it will never show any"
        )


def final_count(survey: Survey) -> int | None:
    """Returns the number of reports of a survey; None while they are too few for its results."""
    counts = [tally.n for tally in current_store().tally(survey.name).values()]
    # By question: a report may answer only some of them.
    if min(counts) < survey.results.minimum:
        return None
    return current_store().reports(survey.name)


def _card(survey: Survey) -> dict[str, object]:
    """A survey's name, version and addresses; of its form one for each stratum."""
    forms = {
        f"form, {stratum_text(one)}" if one else "form": f"/s/{survey.name}{query_of(one)}"
        for one in survey.every_stratum
    }
    return {
        "name": survey.name,
        "digest": survey.digest,
        "links": {
            **forms,
            "dashboard": f"/surveys/{survey.name}",
            "definition": f"/api/surveys/{survey.name}",
            "results": f"/api/surveys/{survey.name}/results",
        },
    }


def _tagged(response: Response, tag: str) -> Response:
    """Add an ETag; answer 304 without a body if the client has this version."""
    response.set_etag(tag)
    response.headers["Cache-Control"] = "no-cache"  # keep it, but ask each time
    response.make_conditional(request)
    return response
