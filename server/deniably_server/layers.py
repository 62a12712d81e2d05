"""The layers that every request passes on its way to a view, and its answer on the way back: the
one place where their order is written down, the outermost first.

Behind the last of them stands a view. It asks ``guard.auth`` who may do this, ``api.visibility``
whether results may be seen, and where it computes, ``api.costly`` lets it take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from flask import Flask

from deniably_server.api import parameters
from deniably_server.api.batches import is_batch
from deniably_server.api.intake import Intake
from deniably_server.guard.door import Door
from deniably_server.guard.headers import Headers
from deniably_server.guard.hosts import Hosts, names_in
from deniably_server.guard.limits import Limits
from deniably_server.storage.store import Store
from deniably_server.watching import request_facts
from deniably_server.watching.request_facts import Answer
from deniably_server.watching.watch import Watch
from deniably_server.web.compression import compress
from deniably_server.web.problems import handle_problems
from deniably_server.wire.bridge import Bridge
from deniably_server.wire.patience import protocol

if TYPE_CHECKING:
    import asyncio

    from _typeshed.wsgi import WSGIApplication


class Parts(NamedTuple):
    """What layers are made of."""

    settings: Mapping[str, object]
    store: Store
    limits: Limits
    tell: tuple[Callable[[Answer], None], ...] = ()

    def number(self, key: str) -> int:
        """A setting that is a number."""
        return cast(int, self.settings[key])


class Layer(NamedTuple):
    """A layer around the application: ``put`` puts it there, ``does`` says what it is for and why
    it stands where it does."""

    name: str
    does: str
    put: Callable[[WSGIApplication, Parts], WSGIApplication]


class Hook(NamedTuple):
    """A layer within the application, as Flask has them."""

    name: str
    does: str
    put: Callable[[Flask], object]


class Wire(NamedTuple):
    """What uvicorn is given: ``http`` makes its connections, ``app`` answers their requests."""

    http: type[asyncio.Protocol]
    app: Bridge


def wire(app: WSGIApplication, threads: int, seconds: float, connections: int) -> Wire:
    """The two outermost layers, which only ``deniably serve`` has.

    patience: ends a connection that keeps us waiting; before a request is there to be counted.
    bridge: reads the body and takes a thread; so nobody beneath it waits for the other side.
    """
    return Wire(protocol(seconds, connections), Bridge(app, threads, is_batch))


def _watch(app: WSGIApplication, parts: Parts) -> WSGIApplication:
    return Watch(app, *parts.tell)


def _headers(app: WSGIApplication, parts: Parts) -> WSGIApplication:
    return Headers(app)


def _hosts(app: WSGIApplication, parts: Parts) -> WSGIApplication:
    names = names_in(str(parts.settings["HOSTS"]))
    return Hosts(app, names) if names else app


def _door(app: WSGIApplication, parts: Parts) -> WSGIApplication:
    return Door(app, most=max(1, parts.number("THREADS") // 2))


def _intake(app: WSGIApplication, parts: Parts) -> WSGIApplication:
    return Intake(app, parts.store, parts.limits)


def _compression(app: Flask) -> None:
    app.after_request(compress)


AROUND = (
    Layer(
        "watch",
        "Names every request, and tells log and metrics of every answer, whoever gave it.",
        _watch,
    ),
    Layer(
        "headers",
        "Puts the same headers on every answer, refusals of the layers beneath included; the watch"
        " around it sees by them what browsers keep.",
        _headers,
    ),
    Layer(
        "hosts",
        "Refuses names that are not ours before anything is counted, queued or read for them.",
        _hosts,
    ),
    Layer(
        "door",
        "Lets few at a time look at results and lists, before they take part of the interpreter.",
        _door,
    ),
    Layer(
        "intake",
        "Counts reports against the limits, however they are sent, and takes the plain ones past"
        " Flask. The door before it is for others.",
        _intake,
    ),
)
"""Around Flask; the outermost first."""

INSIDE = (
    Hook(
        "compression",
        "Compresses what has become the answer, be it a problem.",
        _compression,
    ),
    Hook(
        "problems",
        "Makes one answer of every exception of what comes after it.",
        handle_problems,
    ),
    Hook(
        "routes",
        "Tells the log the template of the address, before anybody can refuse the rest of it.",
        request_facts.record_route,
    ),
    Hook(
        "parameters",
        "Refuses what is no parameter of the address, before a view reads one.",
        parameters.refuse_unknown,
    ),
)
"""Within Flask; the outermost first, and the view behind the last."""


def layered(app: Flask, parts: Parts) -> None:
    """Put all layers in and around ``app``."""
    for hook in INSIDE:
        hook.put(app)
    outer: WSGIApplication = app.wsgi_app
    for layer in reversed(AROUND):
        outer = layer.put(outer, parts)
    app.wsgi_app = outer  # type: ignore[assignment, method-assign]
