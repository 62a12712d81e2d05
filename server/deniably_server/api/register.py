"""Serves the public register: as JSON for devices, as a page for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from flask import Blueprint, Response, render_template, request

from deniably.core.canonical import canonical
from deniably.trust.register import RegisterEntry, signature_of
from deniably.trust.signing import fingerprint
from deniably_server.errors import BadParameter, NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.storage.store import Store
from deniably_server.web import paging
from deniably_server.web.body import JSON
from deniably_server.web.operation import HTML, Operation

blueprint = Blueprint("register", __name__)

_MOST_DIGITS = 12
"""Digits of a number that is read: ``int`` takes long over a long text."""


class RegisterAnswer(TypedDict):
    """Entries of the register, and the hash of its last entry (SPEC 10)."""

    entries: list[dict[str, Any]]
    head: str


@blueprint.get("/register")
@Operation(
    {200: {JSON: RegisterAnswer, HTML: None}, 304: {}},
    query={"after": {"type": "integer", "minimum": 0}, **paging.PARAMETERS},
    headers=("ETag", "Vary"),
)
def register() -> Response:
    """Returns every survey that was ever published here (SPEC 10).

    The answer names surveys, so browsers must not store it.
    """
    store, page, after = current_store(), paging.wanted(), _after()
    if request.accept_mimetypes.best_match([JSON, HTML]) == HTML:
        response = Response(_page(store, page), mimetype=HTML)
    else:
        entries, head = store.register(after)
        body = f'{{"entries":[{",".join(entries)}],"head":"{head}"}}'
        response = Response(body, mimetype=JSON)
    response.vary.add("Accept")
    response.add_etag()
    response.make_conditional(request)
    return response


class HeadAnswer(TypedDict):
    """The signed head of the register, which commits to every entry: the number of entries, the
    hash and day of the last entry, the root hashes of the log and of the map of names, the
    server's key, and its signature."""

    count: int
    head: str
    log: str
    map: str
    key: str
    signature: str
    day: NotRequired[str]


class ListingAnswer(TypedDict):
    """A survey's register entry, the signed head of the register, and the hashes that prove that
    the head commits to this entry (SPEC 10)."""

    entry: dict[str, Any]
    head: HeadAnswer
    blocks: list[str]
    recent: list[str]
    log_path: list[str]
    map_path: list[str]


class HashesAnswer(TypedDict):
    """Hashes of entries of the register."""

    hashes: list[str]


@blueprint.get("/register/<name>")
@Operation({200: {JSON: ListingAnswer}}, ("not-found",))
def listing(name: str) -> Response:
    """Returns a survey's listing in the register, for devices (SPEC 10).

    The listing has the survey's entry, the signed head of the whole register, and the hashes that
    prove that the head commits to this entry. Every device gets the same listing.
    """
    return Response(current_store().listing(name).text, mimetype=JSON)


@blueprint.get("/register/hashes/<volume>")
@Operation({200: {JSON: HashesAnswer}}, ("not-found",))
def hashes(volume: str) -> Response:
    """Returns the hashes of up to 1024 entries of the register, from number 1024 * volume + 1 on
    (SPEC 10).

    A device needs them if one of these entries was the last when it saw the register before.
    """
    number = _number(volume)
    entry_hashes = [] if number is None else current_store().register_hashes(number)
    if not entry_hashes:
        raise NotFound("the register has no such entries")
    return Response(canonical({"hashes": entry_hashes}), mimetype=JSON)


def _after() -> int:
    number = _number(request.args.get("after", "0"))
    if number is None:
        raise BadParameter("“after” is the number of an entry, or 0 for all of them")
    return number


def _number(text: str) -> int | None:
    """Returns the number of entries in a text; None where it is no such number."""
    fits = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if fits else None


@dataclass(frozen=True)
class _Row:
    """A survey in the page's list."""

    title: str
    entry: RegisterEntry
    fingerprint: str
    invitations: str | None
    closed: str | None
    questions: list[tuple[str, str, str]]


def _page(store: Store, page: paging.RequestedPage) -> str:
    listed, head = store.register_page(page.start, paging.SIZE), store.register_head()
    rows = [_row(store, entry, listed.closed) for entry in listed.published]
    pages = page.of(listed.surveys)
    return render_template(
        "register.html", rows=rows, seal=head.seal, count=head.count, pages=pages
    )


def _row(store: Store, entry: RegisterEntry, closed: dict[str, str]) -> _Row:
    name = entry["survey"]
    survey = store.survey(name)
    questions = [
        (question.label, question.mechanism.described, listed["epsilon"])
        for question, listed in zip(survey.questions, entry["questions"], strict=True)
    ]
    key = entry.get("invitations")
    return _Row(
        survey.title,
        entry,
        signature_of(entry).fingerprint,
        None if key is None else fingerprint(key),
        closed.get(name),
        questions,
    )
