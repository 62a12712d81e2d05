"""Serves drafts to the pages of the studio: begins, edits and deletes them, and gives them as
YAML."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypedDict

import msgspec
from flask import Blueprint, Response

from deniably.authoring.documents import load
from deniably.authoring.drafts import drafted, operation_of, to_json, written
from deniably.authoring.yaml_writing import to_yaml
from deniably.survey.parts import SURVEY_NAME
from deniably_server.errors import NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.guard.session import require_member, require_own_page
from deniably_server.storage.studio import Draft, DraftClash
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, Operation

blueprint = Blueprint("studio_drafts", __name__, url_prefix="/studio")

_SIGNED = ("unauthorised", "forbidden")
_Name = Annotated[str, msgspec.Meta(pattern=r"^[\w-]{1,64}$")]


class BeganAnswer(TypedDict):
    """The id and the first revision of a new draft."""

    id: str
    revision: int


class EditedAnswer(TypedDict):
    """The newest revision of a draft with its ``document``. ``undo`` is the operation that takes
    this edit back, or null if the same edit was sent before."""

    revision: int
    undo: Any
    document: Any


class ClashAnswer(TypedDict):
    """The answer to an edit that clashes with another person's edit: ``theirs`` is what the edited
    place of the draft holds now, and ``revision`` the newest revision."""

    theirs: Any
    revision: int


class Begun(msgspec.Struct, forbid_unknown_fields=True):
    """What a draft begins with: an author's ``document`` as JSON, or the ``text`` of a file in YAML
    or JSON."""

    document: dict[str, Any] | None = None
    text: str | None = None


class Edit(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to edit a draft: an operation, the revision that its author saw, and a
    random name (``edit``), so that an edit that is sent twice counts once."""

    edit: _Name
    revision: Annotated[int, msgspec.Meta(ge=1, le=1 << 53)]
    operation: Any


class Gone(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request: ``gone`` is true to delete a draft, and false to bring it back."""

    gone: bool


_BEGUN = msgspec.json.Decoder(Begun)
_EDIT, _GONE = msgspec.json.Decoder(Edit), msgspec.json.Decoder(Gone)


@blueprint.post("/drafts")
@Operation(
    {201: {JSON: BeganAnswer}},
    (*BODY, *_SIGNED, "bad-survey", "quota"),
    body={JSON: Begun},
)
def begin() -> Response:
    """Begins a draft with an author's document, which may have no questions yet."""
    require_own_page()
    member = require_member()
    form = 'the body is {"document": {...}} or {"text": "..."}'
    wanted = decoded(_BEGUN, read_body(JSON), form)
    # Read again as authors' documents are: numbers with a point stay exact.
    text = to_json(wanted.document or {}) if wanted.text is None else wanted.text
    document = drafted(load(text))
    draft = current_store().studio.begin_draft(member.doer, document, "begun")
    return json_answer({"id": draft.id, "revision": draft.revision}, 201)


@blueprint.post("/drafts/<name>/edits")
@Operation(
    {200: {JSON: EditedAnswer}, 409: {JSON: ClashAnswer}},
    (*BODY, *_SIGNED, "not-found", "bad-survey"),
    body={JSON: Edit},
)
def edit(name: str) -> Response:
    """Applies an edit to the newest revision; answers 409 where somebody else changed the same
    thing since the revision that its author saw."""
    require_own_page()
    member = require_member()
    form = 'the body is {"edit": "...", "revision": 1, "operation": {"do": "put", ...}}'
    wanted = decoded(_EDIT, read_body(JSON), form)
    result = current_store().studio.edit_draft(
        member.team.id, known(name), wanted.revision, wanted.edit, operation_of(wanted.operation)
    )
    if isinstance(result, DraftClash):
        # Raw: the encoder of answers writes decimals as texts, to_json as numbers.
        theirs = msgspec.Raw(to_json(result.theirs).encode())
        return json_answer({"theirs": theirs, "revision": result.revision}, 409)
    return json_answer(
        {
            "revision": result.revision,
            "undo": msgspec.Raw(to_json(result.undo).encode()),
            "document": msgspec.Raw(to_json(result.document).encode()),
        }
    )


@blueprint.post("/drafts/<name>/gone")
@Operation({204: {}}, (*BODY, *_SIGNED, "not-found", "quota"), body={JSON: Gone})
def delete(name: str) -> Response:
    """Deletes a draft, or brings it back."""
    require_own_page()
    member = require_member()
    wanted = decoded(_GONE, read_body(JSON), 'the body is {"gone": true} or {"gone": false}')
    current_store().studio.delete_draft(member.doer, known(name), gone=wanted.gone)
    return Response(status=204)


@blueprint.get("/drafts/<name>.yaml")
@Operation({200: {"application/yaml": None}}, (*_SIGNED, "not-found"),
           headers=("Content-Disposition",))  # fmt: skip
def as_yaml(name: str) -> Response:
    """Returns the draft as a YAML file, as authors write it for the terminal."""
    draft = current_store().studio.draft(require_member().team.id, known(name))
    answer = Response(to_yaml(written(draft.document)), mimetype="application/yaml")
    answer.headers["Content-Disposition"] = f'attachment; filename="{_file(draft)}.yaml"'
    return answer


def known(name: str) -> str:
    """Returns ``name``, the part of an address that names a draft. Raises NotFound unless it has
    only ASCII letters and digits, as every id has."""
    if not (name.isascii() and name.isalnum()):  # a database may refuse other characters
        raise NotFound("there is no such draft")
    return name


def _file(draft: Draft) -> str:
    name = draft.document.get("name")
    return name if isinstance(name, str) and re.match(SURVEY_NAME, name) else f"draft-{draft.id}"
