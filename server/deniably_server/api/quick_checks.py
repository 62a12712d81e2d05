"""Checks drafts while authors write them: what a survey would spend and show (``quick_check``).

``deniably serve`` checks in a lasting process beside the one that computes results. A design, the
best mechanism for a mean, takes too long there. Where one is not known yet, the best window
mechanism, which is found at once, takes its place, and what the check shows is only ``about``
right. The missing designs are computed in the queue, so that the same check is exact a little
later. Publishing compiles by itself, and always exactly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any, Literal, cast

import msgspec
from flask import Blueprint, Flask, Response, current_app, request

from deniably.authoring.checking import MARGIN_AT
from deniably.authoring.compiling import compile_survey, load
from deniably.authoring.quick_check import LARGEST_N, QuickCheck, quick_check
from deniably.core.errors import BadSurvey, Problem
from deniably.design.stand_ins import StandIns, standing_in
from deniably.survey.survey import Survey, read_survey
from deniably_server.api.cached_views import find_later
from deniably_server.api.designs import KnownDesigns, StoredDesign, stored_designs
from deniably_server.errors import BadParameter, Busy, TooLarge, TooMany, TooSlow, Uncomputed
from deniably_server.guard.app_state import current_limits, current_store
from deniably_server.guard.auth import require
from deniably_server.web.body import JSON, YAML, read_body
from deniably_server.web.operation import BODY, TOKEN, Operation
from deniably_server.web.problems import error_location
from deniably_server.web.worker_process import (
    Answerer,
    Starved,
    TookTooLong,
    TookTooMuchMemory,
    WorkerFailed,
)

blueprint = Blueprint("quick_checks", __name__)
log = logging.getLogger("deniably")

LARGEST_DRAFT = 256_000
"""Bytes of a draft."""
_KEY = "deniably_checks"
_KEPT = 128
"""How many answers the process keeps. Who drags a slider comes back to the same stops, and a page
that is loaded again asks again."""
_ROUNDS = 4
"""How often a check is repeated with designs that were found in the database."""
_PATIENCE = 5.0
"""Seconds that a check waits for those of others."""


_FIRST: dict[str, object] = {
    "name": "first",
    "title": "First",
    "budget": {"epsilon": 6, "spend": "split"},
    "questions": [
        {"name": "one", "type": "yes_no", "label": "One?"},
        {"name": "two", "type": "yes_no", "label": "Two?"},
        {"name": "three", "type": "scale", "label": "Three?", "choices": ["a", "b", "c"]},
        {"name": "four", "type": "number", "label": "Four?", "minimum": 0, "maximum": 60},
    ],
}
"""A draft that needs what most drafts do, to fill the caches of a new process."""


Wanted = Literal["view", "figures", "definition"]
"""What is wanted of a draft: "view", all that a check shows; "figures", that without other ways to
ask the questions; or "definition"."""


class CheckJob(msgspec.Struct, frozen=True):
    """A draft to check: its ``text`` as the author sent it, the number of respondents ``n`` for
    which margins are computed, what is ``wanted``, and stored ``designs`` (best mechanisms for
    means) for the process to use. A mixer's ``offer``, as JSON, may be looked at, too."""

    text: bytes
    n: int = MARGIN_AT
    designs: list[StoredDesign] = []
    wanted: Wanted = "view"
    offer: bytes = b""


class Checked(msgspec.Struct, frozen=True):
    """The answer to a ``CheckJob``. ``view`` is the result of the check as JSON, or the canonical
    definition if that was wanted. ``missing`` has the keys of those best mechanisms for means that
    were not known, so that simpler ones took their place. ``problems`` has a (path, sentence) for
    each mistake if there is no definition."""

    view: bytes
    missing: list[tuple[int, int, int]]
    problems: list[tuple[str, str]] = []


def checker() -> Answerer:
    """Returns the function that answers encoded ``CheckJob`` messages, for a process that does
    nothing else. It keeps the last answers, and gives them again to the same questions.

    One draft is checked before the function is returned, so that workers that are forked later
    have all modules loaded and the common caches filled. The function opens no database: each job
    brings the stored best mechanisms for means that it needs.
    """
    known, kept = KnownDesigns(), dict[bytes, bytes]()
    with standing_in(lambda _: None):
        quick_check(lambda: _FIRST)

    def answer(question: bytes) -> bytes:
        if (checked := kept.get(question)) is not None:
            return checked
        job = msgspec.msgpack.decode(question, type=CheckJob)
        known.add(job.designs)
        try:
            with standing_in(known.find) as stand_ins:
                view, problems = _looked_at(job, stand_ins)
        except MemoryError:
            raise
        except Exception as error:
            log.error("a check failed: %s", error_location(error))
            raise
        missing = [(key.positions, key.own, key.other) for key in stand_ins.missing]
        checked = msgspec.msgpack.encode(Checked(view, missing, problems))
        if not missing:  # exact, and so the same for ever
            kept[question] = checked
            if len(kept) > _KEPT:
                del kept[next(iter(kept))]
        return checked

    return answer


def _looked_at(job: CheckJob, stand_ins: StandIns) -> tuple[bytes, list[tuple[str, str]]]:
    """The view of a check; or the definition, or why there is none."""
    if job.wanted != "definition":
        compares = job.wanted == "view"
        offer = msgspec.json.decode(job.offer) if job.offer else None
        view = quick_check(lambda: load(job.text), job.n, stand_ins, compares=compares, offer=offer)
        return view.json, []
    try:
        return compile_survey(load(job.text)).canonical, []
    except BadSurvey as error:
        return b"", [(each.path, each.why) for each in error.problems]


Stored = Callable[[Sequence[tuple[int, int, int]]], list[StoredDesign]]
"""Returns those of the designs with these keys that are stored."""


class CheckTurns:
    """Sends drafts to the process that checks them, one at a time, and lets each account have one
    check at a time.

    ``ask`` sends a message to the process and returns the answer. At most ``most`` checks wait or
    run at once.
    """

    def __init__(self, ask: Callable[[bytes], bytes], most: int) -> None:
        self._ask, self._most = ask, most
        self._there, self._entry = set[str](), Lock()
        self._process = Lock()

    def check(self, asker: str, job: CheckJob, stored: Stored) -> Checked:
        """Returns the result of a check, computed with the best mechanisms for means that
        ``stored`` returns. ``missing`` in the result has the keys of those that are not stored.

        Raises TooMany while another check of this ``asker`` waits or runs, Busy while too many of
        others do, TooSlow where the check takes too much, and Uncomputed where the process fails.
        """
        self._enter(asker)
        try:
            if not self._process.acquire(timeout=_PATIENCE):
                raise Busy("many drafts are checked now", 1)
            try:
                return self._checked(job, stored)
            finally:
                self._process.release()
        finally:
            self._there.discard(asker)

    def _checked(self, job: CheckJob, stored: Stored) -> Checked:
        """Asks again with stored designs that the process did not know. They may change how a
        budget is spent, which needs others."""
        found = self._answered(job)
        for _ in range(_ROUNDS):
            if not (designs := stored(found.missing)):
                break
            found = self._answered(msgspec.structs.replace(job, designs=designs))
        return found

    def _answered(self, job: CheckJob) -> Checked:
        answer = self._asked(msgspec.msgpack.encode(job))
        return msgspec.msgpack.decode(answer, type=Checked)

    def _enter(self, asker: str) -> None:
        with self._entry:
            if asker in self._there:
                raise TooMany("another draft is checked with this token; ask for one at a time")
            if len(self._there) >= self._most:
                raise Busy("many drafts are checked now", 1)
            self._there.add(asker)

    def _asked(self, question: bytes) -> bytes:
        """The answer; a process that was killed is asked once again, and is a new one then."""
        try:
            try:
                return self._ask(question)
            except WorkerFailed:
                return self._ask(question)
        except (TookTooLong, TookTooMuchMemory, Starved):
            raise TooSlow from None
        except WorkerFailed:
            raise Uncomputed("the process that checks is gone") from None


def use_checks(app: Flask, turns: CheckTurns) -> None:
    """Makes ``app`` check drafts in the separate process of ``turns``. Without this, ``app``
    checks them while the request waits."""
    app.extensions[_KEY] = turns


@blueprint.post("/api/check")
@Operation(
    {200: {JSON: QuickCheck}},
    (*BODY, *TOKEN, "bad-parameter", "busy", "too-slow"),
    "author",
    query={"n": {"type": "integer", "minimum": 1, "maximum": LARGEST_N, "default": MARGIN_AT}},
    body=dict.fromkeys((JSON, *YAML), dict[str, Any]),
)
def check() -> Response:
    """Checks a draft of a survey: what it would spend, show and tell people. Nothing is stored.

    The body is a definition as authors write it, at most 256 kB. A draft with mistakes is also
    answered with 200, and its problems are listed. Margins are those of n respondents. While about
    is true, the figures of means are approximate; ask again in a second for the exact ones. Each
    token has one check at a time, and 240 a minute. The answer is the object that deniably check
    --json prints.
    """
    token = require("author")
    current_limits().count_check(token.id)
    text = read_body(JSON, *YAML)
    if len(text) > LARGEST_DRAFT:
        raise TooLarge(
            f"a draft has at most {LARGEST_DRAFT // 1000} kB, and this one has"
            f" {-(-len(text) // 1000):,} kB"
        )
    return Response(checked_view(token.id, text, _respondents()), mimetype=JSON)


def checked_view(
    asker: str, text: bytes, n: int, *, compares: bool = True, offer: bytes = b""
) -> bytes:
    """Returns the result of a check of an author's draft, as JSON, with the margins of ``n``
    respondents. If ``compares`` is false, the other ways to ask each question are left out, which
    saves half of the time. One of these is through the mixer that made an ``offer``, given as JSON.

    Raises TooMany while another check of this ``asker`` waits or runs, Busy while too many of
    others do, TooSlow where the check takes too much, and Uncomputed where the process fails.
    """
    if (turns := _turns()) is None:
        parsed = msgspec.json.decode(offer) if offer else None
        return quick_check(lambda: load(text), n, compares=compares, offer=parsed).json
    wanted: Wanted = "view" if compares else "figures"
    return _checked(turns, asker, CheckJob(text, n, wanted=wanted, offer=offer)).view


def drafted_survey(asker: str, text: bytes) -> Survey:
    """Returns an author's draft as a survey to look at, never to publish: where the best mechanism
    for a mean is not known yet, a simpler one takes its place.

    Raises BadSurvey where the draft has mistakes, and otherwise as ``checked_view`` does.
    """
    if (turns := _turns()) is None:
        return compile_survey(load(text))
    checked = _checked(turns, asker, CheckJob(text, wanted="definition"))
    if checked.problems:
        raise BadSurvey([Problem(*each) for each in checked.problems])
    return read_survey(checked.view)


def _turns() -> CheckTurns | None:
    return cast("CheckTurns | None", current_app.extensions.get(_KEY))


def _checked(turns: CheckTurns, asker: str, job: CheckJob) -> Checked:
    """What the process found; the designs that it missed are computed later."""
    found = turns.check(asker, job, partial(stored_designs, current_store()))
    find_later(found.missing)
    return found


def _respondents() -> int:
    text = request.args.get("n", str(MARGIN_AT))
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= LARGEST_N):
        raise BadParameter(f"n is the number of respondents, from 1 to {LARGEST_N:,}")
    return int(text)
