"""Builds the Flask application: settings, store, a blueprint for each concern, and layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from flask import Flask

from deniably.core.steering import printable
from deniably_server.api import (
    access,
    by_stratum,
    checks,
    classroom,
    crosstabs,
    differences,
    groups,
    handbook,
    home,
    how,
    lab,
    mixed,
    openapi,
    paper_texts,
    question_figures,
    quick_checks,
    register,
    report_files,
    reports,
    results,
    status,
    surveys,
    tally_files,
    waves,
)
from deniably_server.api import metrics as metrics_page
from deniably_server.api.batches import batches
from deniably_server.api.health import health
from deniably_server.api.pages import pages
from deniably_server.api.report_file_making import keep_report_files
from deniably_server.api.tickets import tickets
from deniably_server.guard.app_state import attach_state
from deniably_server.guard.rate_limits import limits_of
from deniably_server.layers import LayerContext, add_layers
from deniably_server.settings import configuration
from deniably_server.storage.store import Store
from deniably_server.studio import drafts, editor, follow, privacy, publish, sign_in, start, trial
from deniably_server.studio import home as studio_home
from deniably_server.watching.journal import Journal
from deniably_server.watching.metrics import Metrics
from deniably_server.web import static_files
from deniably_server.web.body import READ_AT_MOST


def create_app(
    config: Mapping[str, object] | None = None,
    journal: Journal | None = None,
    metrics: Metrics | None = None,
    store: Store | None = None,
    files: Path | None = None,
) -> Flask:
    """Returns the WSGI application of a server.

    Each setting comes from ``config``, else from the environment, else from its default in
    ``settings.SETTINGS``. ``config`` may also have keys of Flask, and ``OFFLINE``, which is true
    where the pages are saved as files to be read without a server. ``journal`` logs every answer;
    without one, only faults are logged. ``metrics`` and ``store`` are made by default, the store
    for the setting DATABASE. ``files`` is the folder for files of reports, by default a temporary
    one. Raises ValueError for a bad setting, Unavailable if the database does not answer.
    """
    app = Flask("deniably_server", static_folder=None)  # `files` serves them
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False  # no page of another origin has to ask
    settings = configuration(config)
    app.config.from_mapping({"OFFLINE": False, **settings}, MAX_CONTENT_LENGTH=READ_AT_MOST)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True  # a page has to be light
    app.jinja_env.finalize = _shown
    app.url_map.merge_slashes = False  # an address is right or wrong, never redirected
    metrics = metrics or Metrics()
    store = store or Store(str(settings["DATABASE"]), metrics)
    limits = limits_of(*(cast(int, settings[key]) for key in ("RATE", "FAILURES", "PROXIES")))
    attach_state(app, store, limits)
    keep_report_files(app, files)
    app.register_blueprint(surveys.surveys)
    app.register_blueprint(quick_checks.blueprint)
    app.register_blueprint(register.blueprint)
    app.register_blueprint(reports.reports)
    app.register_blueprint(batches)
    app.register_blueprint(mixed.blueprint)
    app.register_blueprint(tickets)
    app.register_blueprint(results.blueprint)
    app.register_blueprint(report_files.blueprint)
    app.register_blueprint(tally_files.blueprint)
    app.register_blueprint(crosstabs.blueprint)
    app.register_blueprint(question_figures.blueprint)
    app.register_blueprint(paper_texts.blueprint)
    app.register_blueprint(groups.blueprint)
    app.register_blueprint(differences.blueprint)
    app.register_blueprint(by_stratum.blueprint)
    app.register_blueprint(waves.blueprint)
    app.register_blueprint(access.blueprint)
    app.register_blueprint(checks.blueprint)
    app.register_blueprint(health)
    app.register_blueprint(pages)
    app.register_blueprint(handbook.blueprint)
    app.register_blueprint(home.blueprint)
    app.register_blueprint(how.blueprint)
    app.register_blueprint(lab.blueprint)
    app.register_blueprint(classroom.blueprint)
    app.register_blueprint(static_files.web)
    metrics_page.attach_metrics(app, metrics)
    app.register_blueprint(status.blueprint)
    app.register_blueprint(openapi.blueprint)
    # The rooms under /studio, whose pages alone know the session's cookie.
    for room in (start, sign_in, studio_home, drafts, editor, privacy, trial, publish, follow):
        app.register_blueprint(room.blueprint)
    observers = (metrics.add, journal.add) if journal else (metrics.add,)
    # Last: the layers wrap the application that exists so far, and hooks run in the order in which
    # they are added.
    add_layers(app, LayerContext(settings, store, limits, observers))
    return app


def _shown(value: object) -> object:
    """Returns what a template writes for a value: a text is made printable, as Html.text does it,
    before Jinja escapes it."""
    return printable(value) if type(value) is str else value
