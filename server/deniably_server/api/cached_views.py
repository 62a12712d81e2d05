"""Answers views that compute, in ``deniably serve`` from a cache or in a worker process.

A closed survey never changes, and an open one changes only with its next batch. An answer is cached
under all that it depends on: the versions of the surveys and the query. Permission to see the
results is checked for each request, before the cache.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from time import monotonic
from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

import msgspec
from flask import Flask, Response, current_app, request

from deniably.authoring import compiling
from deniably.core.errors import BadSurvey, Problem
from deniably.survey.survey import Survey, read_survey, show_if
from deniably_server.api import report_file_making
from deniably_server.api.analysts import View
from deniably_server.api.computation_queue import (
    ComputationQueue,
    Computed,
    Job,
    Reads,
    RefusedJob,
    refused,
)
from deniably_server.api.designs import MOST_AT_ONCE, find_designs
from deniably_server.api.fine_parameters import FINE, settle_level
from deniably_server.api.visibility import visible_survey
from deniably_server.deferred import GONE
from deniably_server.errors import Malformed, Refusal, Unavailable, Uncomputed
from deniably_server.guard.app_state import current_asker, current_store, store_of
from deniably_server.guard.read_limit import let_others_read
from deniably_server.watching import request_facts
from deniably_server.web.problems import refuse
from deniably_server.web.worker_process import Answerer

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

_KEY, _FILES = "deniably_computations", "deniably_files_made"
_NOT_SENT_ON = {"content-length"}
_GZIP = "gzip"
_FRESH_SECONDS = 600
"""How long a page of ``computed_before`` is shown before it is computed again."""
_PATIENCE_SECONDS = 3.0
"""How long a reader waits for such a page before a cheap one is shown."""
_OF_HUNDREDS: dict[Reads, Reads] = {"tallies": "variants", "reports": "report variants"}
"""Answers that depend on a parameter of many values (``fine_parameters``) have a lane and a cache
of their own, so that whoever asks for all of them neither pushes other results out nor keeps them
waiting."""
_PROBLEMS = b"problems"
"""The prefix of the problems of an invalid definition; a valid one begins with {."""
_FEWER = (
    "most of it goes into the designs of means (number, scale, vector): ask for fewer of different"
    " ranges and epsilons, or publish two surveys"
)
_ON_THE_MACHINE = "take it with deniably export on the server's own machine"
_SMALLER = "ask for fewer people or numbers"


def use_queue(app: Flask, queue: ComputationQueue) -> None:
    """Makes the cached views of ``app`` compute in this queue. Without a queue the views compute
    while the request waits."""
    app.extensions[_KEY] = queue


def use_file_queue(app: Flask, queue: ComputationQueue) -> None:
    """Makes this queue write the files of reports for ``app``. Without a queue they are written
    while the request waits."""
    app.extensions[_FILES] = queue


def cached_view(
    reads: Reads,
    others: Callable[[str], tuple[Hashable, ...]] | None = None,
    settle: Callable[[str], None] | None = None,
) -> Callable[[View], View]:
    """Decorates a view of a survey that computes from its tallies or from every report: the
    answers of the view are computed in the queue and cached.

    ``reads`` says what the view computes from. ``others(name)`` returns what the answer depends on
    in other surveys, by default the version of the survey that the query names; it raises as
    ``visible_survey`` does. ``settle(name)`` normalises those parameters of the query that only
    this view has, so that equal values share a cache entry, or raises BadParameter. The confidence
    level is normalised for every view.

    If a survey's results are hidden, the view is called at once, and refuses by itself.
    """

    def around(view: View) -> View:
        @wraps(view)
        def answered(name: str, **part: str) -> ResponseReturnValue:
            queue = cast("ComputationQueue | None", current_app.extensions.get(_KEY))
            if queue is None:
                return view(name, **part)
            try:
                versions = visible_survey(name).version, *(others or _asked)(name)
            except Refusal:
                return view(name, **part)
            settle_level()
            if settle is not None:
                settle(name)
            query = tuple(sorted(request.args.items(multi=True)))
            key = (request.endpoint, name, *part.values(), *versions, query)
            charged = of_closed(name, reads)
            if not FINE.isdisjoint(request.args):
                charged = _OF_HUNDREDS.get(charged, charged)
            return _response(_computed_for(queue, key, _job(), charged))

        return answered

    return around


def of_closed(name: str, reads: Reads) -> Reads:
    """Returns what a view of the survey ``name`` really reads. This is ``reads``, except that
    "tallies" of a closed survey with ``show_if`` become "reports": the joint counts of
    ``Respondents.together`` need every report."""
    store = current_store()
    if reads != "tallies" or store.state(name) == "open":
        return reads
    return "reports" if any(map(show_if, store.survey(name).questions)) else reads


def cached_experiment(
    key: Hashable, view: Callable[[], ResponseReturnValue]
) -> ResponseReturnValue:
    """Returns the answer of a view that reads no data, from the cache or the queue. Equal keys must
    mean equal answers."""
    queue = cast("ComputationQueue | None", current_app.extensions.get(_KEY))
    if queue is None:
        return view()
    job = msgspec.structs.replace(_job(), instead=_SMALLER)
    return _response(_computed_for(queue, (request.endpoint, key), job, "nothing"))


def cached_part(key: Hashable, target: str, reads: Reads) -> bytes | None:
    """Returns the body of the answer of the view at ``target``, for another page that contains it;
    None where there is no queue.

    If ``key`` is the cache key of that view, the view and the page share one cache entry. The
    caller must have checked that the request may see the answer.
    """
    queue = cast("ComputationQueue | None", current_app.extensions.get(_KEY))
    if queue is None:
        return None
    job = msgspec.structs.replace(_job(), target=target)
    computed = _computed_for(queue, key, job, reads)
    packed = ("content-encoding", _GZIP) in [(name.lower(), is_) for name, is_ in computed.headers]
    return gzip.decompress(computed.body) if packed else computed.body


def made_apart(key: str, name: str, ending: str) -> bool:
    """Writes a file of a survey's reports in the process for files; returns False where there is
    no such process.

    Equal keys must mean equal files. Raises as ``ComputationQueue.answer`` does.
    """
    queue = cast("ComputationQueue | None", current_app.extensions.get(_FILES))
    if queue is None:
        return False
    job = Job(
        "", "", request_facts.request_id(request.environ), b"", _ON_THE_MACHINE, (name, ending)
    )
    _computed_for(queue, key, job, "file")
    return True


def computed_before(
    about: tuple[Hashable, ...],
    *,
    now: Callable[[], ResponseReturnValue],
    meanwhile: Callable[[], ResponseReturnValue],
) -> ResponseReturnValue:
    """Returns a page that everybody may see, from the cache or computed now. A cached page is
    renewed every ten minutes; while that takes long, the previous page is shown.

    ``now`` computes the page, in the worker process. ``meanwhile`` makes a cheaper page, which is
    shown if there is no previous page while the computation takes longer than a reader waits, or
    where it fails. ``about`` has all that the page depends on except the reports. As new reports
    do not renew the page, its content does not show when they came.
    """
    queue = cast("ComputationQueue | None", current_app.extensions.get(_KEY))
    if queue is None:
        return now()
    # A part of the key, so that every ten minutes the page is computed again.
    age = int(monotonic() // _FRESH_SECONDS)
    target = f"{request.path}?{urlencode(list(request.args.items()))}"
    job = Job(target, "", request_facts.request_id(request.environ))
    with let_others_read(request.environ):
        computed = queue.soon((*about, age), job, "tallies", _PATIENCE_SECONDS, current_asker())
    # Else the page of the ten minutes before, if it is still there.
    computed = computed or queue.kept((*about, age - 1))
    return meanwhile() if computed is None else _response(computed)


def _made(app: Flask, name: str, ending: str) -> Computed | RefusedJob:
    with app.app_context():
        try:
            report_file_making.make(name, ending)
        except (Refusal, Unavailable) as error:
            return refused(error)
        return Computed([], b"")


def answerer(app: Flask) -> Answerer:
    """Returns the function that answers encoded jobs with the views of ``app``, in the worker
    process.

    That function raises MemoryError, which the process reports as a job that took too much memory.
    """

    def answer(question: bytes) -> bytes:
        job = msgspec.msgpack.decode(question, type=Job)
        if job.file:
            return msgspec.msgpack.encode(_made(app, *job.file))
        if job.designs:
            return msgspec.msgpack.encode(_designed(app, job.designs))
        outcome = _compiled(job.definition) if job.definition else _computed(app, job)
        return msgspec.msgpack.encode(outcome)

    return answer


def find_later(keys: Sequence[tuple[int, int, int]]) -> None:
    """Queues a job that computes and stores the best mechanism for a mean for each of ``keys``;
    returns at once. A key is (number of positions, own, other) for the odds own / other."""
    queue = cast("ComputationQueue | None", current_app.extensions.get(_KEY))
    if queue is None or not keys:
        return
    asker = current_asker()
    job = Job("", "", request_facts.request_id(request.environ), designs=(*keys[:MOST_AT_ONCE],))
    queue.begin(("designs", asker.name), job, "designs", asker)


def _designed(app: Flask, keys: Sequence[tuple[int, int, int]]) -> Computed | RefusedJob:
    try:
        find_designs(store_of(app), keys)
    except Unavailable as error:
        return refused(error)
    return Computed([], b"")


def compiled(text: bytes) -> Survey:
    """Returns the published definition of an author's text. It is compiled in the queue, because
    to compute the best mechanisms for many means takes minutes.

    Raises BadSurvey where the definition has mistakes, Malformed if the text is neither YAML nor
    JSON, TooMuch where it takes too long, and Busy where too many wait.
    """
    queue = cast("ComputationQueue | None", current_app.extensions.get(_KEY))
    if queue is None:
        return _compile(text)
    key = ("definition", hashlib.sha256(text).digest())
    job = Job("", "", request_facts.request_id(request.environ), text, _FEWER)
    answer = _computed_for(queue, key, job, "definition").body
    if answer.startswith(_PROBLEMS):
        problems = msgspec.json.decode(answer.removeprefix(_PROBLEMS), type=list[tuple[str, str]])
        raise BadSurvey([Problem(*each) for each in problems])
    return read_survey(answer)


def _compiled(text: bytes) -> Computed | RefusedJob:
    try:
        return Computed([], _compile(text).canonical)
    except BadSurvey as error:
        problems = [(each.path, each.why) for each in error.problems]
        return Computed([], _PROBLEMS + msgspec.json.encode(problems))
    except Refusal as error:
        return refused(error)


def _compile(text: bytes) -> Survey:
    try:
        document = compiling.load(text)
    except BadSurvey as error:  # neither YAML nor JSON
        raise Malformed("; ".join(each.why for each in error.problems)) from None
    return compiling.compile_survey(document)


def _computed_for(queue: ComputationQueue, key: Hashable, job: Job, reads: Reads) -> Computed:
    """Returns the answer to a job, charged to the request's account, for as long as its client
    waits."""
    with let_others_read(request.environ):
        return queue.answer(key, job, reads, current_asker(), request.environ.get(GONE))


def _asked(_: str) -> tuple[Hashable, ...]:
    """Returns the version of the survey in the query, as a tuple of one; () where the query names
    none."""
    return tuple(visible_survey(name).version for name in request.args.getlist("survey")[:1])


def _job() -> Job:
    target = f"{request.path}?{urlencode(list(request.args.items()))}"
    authorization = request.headers.get("Authorization", "")
    return Job(target, authorization, request_facts.request_id(request.environ))


def _computed(app: Flask, job: Job) -> Computed | RefusedJob:
    """Returns the view's answer. Log and metrics are left to the process that sends it."""
    headers = {"Authorization": job.authorization, "Accept-Encoding": _GZIP}
    with app.test_request_context(job.target, headers=headers):
        request_facts.name_again(request.environ, job.request)
        request_facts.set_route(request.environ, request.url_rule.rule if request.url_rule else "")
        try:
            response = app.process_response(app.make_response(app.dispatch_request()))
        except (Refusal, Unavailable) as error:
            return refused(error)
        except MemoryError:  # the worker process says that the job is too large
            raise
        except Exception as error:
            refuse(error, request.environ)  # logs it
            return RefusedJob(Uncomputed.__name__, "the computation failed")
        return Computed(list(response.headers), response.get_data())


def _response(computed: Computed) -> Response:
    """Returns the response to a request; decompressed for a client that does not accept gzip."""
    headers = [each for each in computed.headers if each[0].lower() not in _NOT_SENT_ON]
    response = Response(computed.body, headers=headers)
    if response.content_encoding == _GZIP and not request.accept_encodings[_GZIP]:
        response.set_data(gzip.decompress(computed.body))
        del response.headers["Content-Encoding"]
    return response
