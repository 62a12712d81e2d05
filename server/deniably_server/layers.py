"""The order of the layers around every view: WSGI middleware, then Flask's hooks.

A request passes them from the outermost to the innermost, and its answer passes them back. The view
then asks ``guard.auth`` whether the token allows the request, and ``api.visibility`` whether the
results may be seen. A view that computes waits for its turn in ``api.cached_views``.

Reports in the form in which devices send them take a shorter way, as ``server_layers`` says:
``api.quick_reports`` does what these layers do for a report. Reports in any other form pass the
layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from flask import Flask

from deniably_server.api import query_parameters
from deniably_server.api.batches import is_batch
from deniably_server.api.quick_reports import QuickReports
from deniably_server.api.report_fast_path import ReportFastPath
from deniably_server.guard.asker import asker_of
from deniably_server.guard.headers import ResponseHeaders
from deniably_server.guard.host_names import HostCheck, host_names
from deniably_server.guard.rate_limits import ServerLimits
from deniably_server.guard.read_limit import ReadLimit
from deniably_server.storage.store import Store
from deniably_server.watching import request_facts
from deniably_server.watching.request_facts import AnsweredRequest
from deniably_server.watching.watch import Watch
from deniably_server.web.compression import compress
from deniably_server.web.problems import handle_problems
from deniably_server.wire.bridge import Bridge
from deniably_server.wire.patience import protocol
from deniably_server.wire.tls import secured
from deniably_server.wire.uvicorn_server import ServerLayers

if TYPE_CHECKING:
    from ssl import SSLContext

    from _typeshed.wsgi import WSGIApplication


QUICK_REPORTS = "deniably_quick_reports"
"""The key of ``app.extensions`` with the ``QuickReports``, which takes reports without a thread."""


class LayerContext(NamedTuple):
    """All that the layers need: the settings by their names in capitals, the store, the rate
    limits, and ``observers``, which are called with every answered request."""

    settings: Mapping[str, object]
    store: Store
    limits: ServerLimits
    observers: tuple[Callable[[AnsweredRequest], None], ...] = ()

    def number(self, key: str) -> int:
        """Returns the integer setting ``key``."""
        return cast(int, self.settings[key])

    @property
    def names(self) -> frozenset[str]:
        """The host names that the server answers to; empty if it answers to any."""
        return host_names(str(self.settings["HOSTS"]))


class Layer(NamedTuple):
    """WSGI middleware around Flask. ``name`` is the name of its class; ``does`` says what it is
    for and why it has this place in the order."""

    name: str
    does: str
    wrap: Callable[[WSGIApplication, LayerContext], WSGIApplication]


class Hook(NamedTuple):
    """A layer inside Flask, installed as hooks of the application."""

    name: str
    does: str
    install: Callable[[Flask], object]


def server_layers(
    app: Flask, threads: int, seconds: float, connections: int, tls: SSLContext | None = None
) -> ServerLayers:
    """Returns the two outermost layers, which only ``deniably serve`` has.

    ``http`` is uvicorn's protocol class. It holds at most ``connections`` connections, and closes
    those of clients that take more than ``seconds`` to send a part of a request or to read a part
    of the answer. It comes first, because a slow sender has no complete request yet.

    ``app`` is the bridge, which reads the body and then runs the Flask application in one of
    ``threads`` threads, so that no thread waits for the network. Reports in the form in which
    devices send them take no thread, because threads that wait for the disk would all wake up at
    once. Such a report passes the layers of the Flask application only if it is refused. With
    ``tls``, every connection except those from this machine begins with a TLS handshake.
    """
    quick = cast(QuickReports, app.extensions[QUICK_REPORTS])
    http = protocol(seconds, connections)
    if tls is not None:
        http = secured(http, tls, seconds)
    return ServerLayers(http, Bridge(app, threads, is_batch, quick))


def _watch(app: WSGIApplication, context: LayerContext) -> WSGIApplication:
    return Watch(app, *context.observers)


def _response_headers(app: WSGIApplication, context: LayerContext) -> WSGIApplication:
    return ResponseHeaders(app)


def _host_check(app: WSGIApplication, context: LayerContext) -> WSGIApplication:
    return HostCheck(app, context.names)


def _read_limit(app: WSGIApplication, context: LayerContext) -> WSGIApplication:
    whose = partial(asker_of, store=context.store, proxies=context.limits.proxies)
    # Half of the threads: reads that wait for their turn leave the others to reports.
    return ReadLimit(app, max(1, context.number("THREADS") // 2), whose)


def _report_fast_path(app: WSGIApplication, context: LayerContext) -> WSGIApplication:
    return ReportFastPath(app, context.store, context.limits)


def _compression(app: Flask) -> None:
    app.after_request(compress)


WSGI_LAYERS = (
    Layer(
        "Watch",
        "Gives every request an id and reports every answer to log and metrics. Outermost, so that"
        " the refusals of other layers are counted.",
        _watch,
    ),
    Layer(
        "ResponseHeaders",
        "Adds the security headers to every answer, refusals of the inner layers included. Inside"
        " the watch, which reads Cache-Control.",
        _response_headers,
    ),
    Layer(
        "HostCheck",
        "Refuses unknown host names, and requests without one Host header, before a request is"
        " counted, queued or read.",
        _host_check,
    ),
    Layer(
        "ReadLimit",
        "Limits how many requests read results and lists at the same time, so that reports do not"
        " wait for the interpreter's lock.",
        _read_limit,
    ),
    Layer(
        "ReportFastPath",
        "Counts every report against the limits, and handles reports in the usual form without"
        " Flask.",
        _report_fast_path,
    ),
)
"""Around Flask; the outermost first."""

FLASK_HOOKS = (
    Hook(
        "compression",
        "Compresses the final answer. Outermost, so that problems are compressed, too.",
        _compression,
    ),
    Hook(
        "problems",
        "Turns every exception of the later hooks and the view into a problem (RFC 9457).",
        handle_problems,
    ),
    Hook(
        "routes",
        "Notes the route template for the log, before a parameter is refused.",
        request_facts.record_route,
    ),
    Hook(
        "parameters",
        "Refuses unknown query parameters before a view reads any.",
        query_parameters.refuse_unknown,
    ),
)
"""Inside Flask; the outermost first. The view comes after the last."""


def add_layers(app: Flask, context: LayerContext) -> None:
    """Installs every layer in and around ``app``."""
    for hook in FLASK_HOOKS:
        hook.install(app)
    app.extensions[QUICK_REPORTS] = QuickReports(
        context.store, context.limits, context.names, context.observers
    )
    outer: WSGIApplication = app.wsgi_app
    # The first to be wrapped is the innermost.
    for layer in reversed(WSGI_LAYERS):
        outer = layer.wrap(outer, context)
    app.wsgi_app = outer  # type: ignore[assignment, method-assign]
