"""Keeps the store and the limits of an application, for views to find them."""

from __future__ import annotations

from typing import cast

from flask import Flask, current_app, request

from deniably_server.guard.asker import Asker, asker_of
from deniably_server.guard.rate_limits import ServerLimits
from deniably_server.storage.base_store import BaseStore
from deniably_server.storage.store import Store

_KEY, _LIMITS = "deniably", "deniably_limits"


def current_store() -> Store:
    """Returns the store of the current application."""
    return cast(Store, current_app.extensions[_KEY])


def current_base_store() -> BaseStore:
    """Returns the store of the current application, of a server or of a mixer."""
    return cast(BaseStore, current_app.extensions[_KEY])


def current_limits() -> ServerLimits:
    """Returns the limits of the current application."""
    return cast(ServerLimits, current_app.extensions[_LIMITS])


def current_asker() -> Asker:
    """Returns the account that the current request is charged to: that of its token, or of its
    network address."""
    return asker_of(request.environ, current_store(), current_limits().proxies)


def store_of(app: Flask) -> Store:
    """Returns the store of an application."""
    return cast(Store, app.extensions[_KEY])


def attach_state(app: Flask, store: BaseStore, limits: ServerLimits) -> None:
    """Keeps the store and the limits with ``app``, where ``current_store`` and ``current_limits``
    read them."""
    app.extensions[_KEY] = store
    app.extensions[_LIMITS] = limits
