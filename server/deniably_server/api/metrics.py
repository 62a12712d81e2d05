"""Serves the server's metrics to Prometheus."""

from __future__ import annotations

from typing import cast

from flask import Blueprint, Flask, Response, current_app

from deniably_server.guard.app_state import current_store
from deniably_server.guard.auth import require
from deniably_server.watching.metrics import Metrics
from deniably_server.watching.prometheus import MEDIA_TYPE
from deniably_server.web.operation import TOKEN, Operation

blueprint = Blueprint("metrics", __name__)

_KEY = "deniably.metrics"


def attach_metrics(app: Flask, metrics: Metrics) -> None:
    """Keeps ``metrics`` with ``app`` and serves them at ``/metrics``."""
    app.extensions[_KEY] = metrics
    app.register_blueprint(blueprint)


def current_metrics() -> Metrics:
    """Returns the metrics of the current application."""
    return cast(Metrics, current_app.extensions[_KEY])


@blueprint.get("/metrics")
@Operation({200: {MEDIA_TYPE: None}}, TOKEN, "monitor")
def page() -> Response:
    """Returns the metrics, for a monitor's or an operator's token."""
    require("monitor", or_role="operator")
    page = current_metrics().page(current_store().register_room)
    return Response(page, content_type=MEDIA_TYPE)
