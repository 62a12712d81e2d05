"""The application: settings, store, one blueprint a concern, refusals, headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from flask import Flask

from deniably_server.api import (
    access,
    checks,
    differences,
    openapi,
    parameters,
    register,
    reports,
    results,
    status,
    surveys,
    together,
)
from deniably_server.api import metrics as metrics_page
from deniably_server.api.batches import batches
from deniably_server.api.health import health
from deniably_server.api.intake import Intake
from deniably_server.api.pages import pages
from deniably_server.api.tickets import tickets
from deniably_server.guard.current import attach
from deniably_server.guard.door import Door
from deniably_server.guard.headers import Headers
from deniably_server.guard.hosts import Hosts, names_in
from deniably_server.guard.limits import limits_of
from deniably_server.settings import configuration
from deniably_server.storage.store import Store
from deniably_server.watching import told
from deniably_server.watching.journal import Journal
from deniably_server.watching.metrics import Metrics
from deniably_server.watching.watch import Watch
from deniably_server.web import files
from deniably_server.web.body import READ_AT_MOST
from deniably_server.web.compression import compress
from deniably_server.web.problems import handle_problems

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def create_app(
    config: Mapping[str, object] | None = None,
    journal: Journal | None = None,
    metrics: Metrics | None = None,
) -> Flask:
    """The WSGI application. ``config`` comes before the environment, which comes before the
    defaults (``settings.SETTINGS``); its further keys are Flask's. Without a ``journal`` nothing is
    logged but faults."""
    app = Flask("deniably_server", static_folder=None)  # `files` serves them
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False  # no page of another origin has to ask
    settings = configuration(config)
    app.config.from_mapping(settings, MAX_CONTENT_LENGTH=READ_AT_MOST)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True  # a page has to be light
    app.url_map.merge_slashes = False  # an address is right or wrong, never redirected
    metrics = metrics or Metrics()
    store = Store(str(settings["DATABASE"]), metrics)
    limits = limits_of(*(cast(int, settings[key]) for key in ("RATE", "FAILURES", "PROXIES")))
    attach(app, store, limits)
    app.register_blueprint(surveys.surveys)
    app.register_blueprint(register.blueprint)
    app.register_blueprint(reports.reports)
    app.register_blueprint(batches)
    app.register_blueprint(tickets)
    app.register_blueprint(results.blueprint)
    app.register_blueprint(together.blueprint)
    app.register_blueprint(differences.blueprint)
    app.register_blueprint(access.blueprint)
    app.register_blueprint(checks.blueprint)
    app.register_blueprint(health)
    app.register_blueprint(pages)
    app.register_blueprint(files.web)
    metrics_page.attach(app, metrics)
    app.register_blueprint(status.blueprint)
    app.register_blueprint(openapi.blueprint)
    handle_problems(app, openapi.is_page)
    told.tell_routes(app)
    parameters.refuse_unknown(app)
    app.after_request(compress)
    inner: WSGIApplication = Intake(app.wsgi_app, store, limits)
    inner = Door(inner, most=max(1, cast(int, settings["THREADS"]) // 2))
    if names := names_in(str(settings["HOSTS"])):
        inner = Hosts(inner, names)
    inner = Headers(inner)
    tell = (metrics.add, journal.add) if journal else (metrics.add,)
    app.wsgi_app = Watch(inner, *tell)  # type: ignore[method-assign]
    return app
