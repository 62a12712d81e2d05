"""Builds the Flask application of a mixer, with the layers of a server that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from flask import Flask, Response, request

from deniably_server.api import query_parameters
from deniably_server.api.health import health
from deniably_server.guard.app_state import attach_state
from deniably_server.guard.headers import ResponseHeaders
from deniably_server.guard.host_names import HostCheck, host_names
from deniably_server.guard.rate_limits import limits_of
from deniably_server.mixing.capacity import MB
from deniably_server.mixing.cross_origin import CrossOrigin
from deniably_server.mixing.views import attach_mixer, blueprint
from deniably_server.storage.mixer_store import MixerStore
from deniably_server.watching import request_facts
from deniably_server.watching.request_facts import AnsweredRequest
from deniably_server.watching.watch import Watch
from deniably_server.web.body import READ_AT_MOST
from deniably_server.web.problems import problems, refuse

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def create_mixer(
    config: Mapping[str, object],
    store: MixerStore,
    *observers: Callable[[AnsweredRequest], None],
) -> Flask:
    """Returns the WSGI application of a mixer.

    ``config`` has the settings HOSTS, RATE, FAILURES, PROXIES and MIXER_ROOM. Each of the
    ``observers`` is called with every answered request.
    """
    app = Flask("deniably_server.mixing", static_folder=None, template_folder=None)
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False  # a layer answers them
    app.config.from_mapping(config, MAX_CONTENT_LENGTH=READ_AT_MOST)
    app.url_map.merge_slashes = False
    rate, failures, proxies, room = (
        cast(int, config[key]) for key in ("RATE", "FAILURES", "PROXIES", "MIXER_ROOM")
    )
    limits = limits_of(rate, failures, proxies, room * MB)
    attach_state(app, store, limits)
    attach_mixer(app, store)
    app.register_error_handler(Exception, _refusal)
    request_facts.record_route(app)
    query_parameters.refuse_unknown(app)
    app.register_blueprint(problems)
    app.register_blueprint(health)
    app.register_blueprint(blueprint)
    inner: WSGIApplication = app.wsgi_app
    # As around a server's views; whatever refuses is within what lets pages read the refusal.
    checked = HostCheck(inner, host_names(str(config["HOSTS"])))
    app.wsgi_app = Watch(  # type: ignore[method-assign]
        ResponseHeaders(CrossOrigin(checked)), *observers
    )
    return app


def _refusal(error: Exception) -> Response:
    return refuse(error, request.environ)
