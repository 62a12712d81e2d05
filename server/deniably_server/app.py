"""The application: settings, store, one blueprint a concern, refusals, headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from flask import Flask

from deniably_server import (
    access,
    checks,
    differences,
    openapi,
    register_page,
    reports,
    results,
    surveys,
    together,
    told,
    web,
)
from deniably_server.body import READ_AT_MOST
from deniably_server.compression import compress
from deniably_server.current import attach
from deniably_server.headers import Headers
from deniably_server.health import health
from deniably_server.hosts import Hosts, names_in
from deniably_server.intake import Intake
from deniably_server.journal import Journal
from deniably_server.limits import limits_of
from deniably_server.metrics import Metrics
from deniably_server.metrics import attach as attach_metrics
from deniably_server.pages import pages
from deniably_server.problems import handle_problems
from deniably_server.settings import configuration
from deniably_server.store import Store
from deniably_server.tickets import tickets
from deniably_server.watch import Watch

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
    app = Flask("deniably_server", static_folder=None)  # `web` serves the files
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
    app.register_blueprint(register_page.blueprint)
    app.register_blueprint(reports.reports)
    app.register_blueprint(tickets)
    app.register_blueprint(results.blueprint)
    app.register_blueprint(together.blueprint)
    app.register_blueprint(differences.blueprint)
    app.register_blueprint(access.blueprint)
    app.register_blueprint(checks.blueprint)
    app.register_blueprint(health)
    app.register_blueprint(pages)
    app.register_blueprint(web.web)
    attach_metrics(app, metrics)
    app.register_blueprint(openapi.blueprint)
    handle_problems(app)
    told.tell_routes(app)
    app.after_request(compress)
    inner: WSGIApplication = Intake(app.wsgi_app, store, metrics, limits)
    if names := names_in(str(settings["HOSTS"])):
        inner = Hosts(inner, names)
    inner = Headers(inner)
    tell = (metrics.add, journal.add) if journal else (metrics.add,)
    app.wsgi_app = Watch(inner, *tell)  # type: ignore[method-assign]
    return app
