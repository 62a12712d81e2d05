"""The store of the application that handles the current request."""

from __future__ import annotations

from typing import cast

from flask import Flask, current_app

from deniably_server.store import Store

_KEY = "deniably"


def current_store() -> Store:
    """The store of the current application."""
    return cast(Store, current_app.extensions[_KEY])


def attach(app: Flask, store: Store) -> None:
    """Make ``store`` the one of ``app``."""
    app.extensions[_KEY] = store
