"""Documents that several views show, worked out once: for pages that are all written at once.

A server has no use for it: its answers are cached whole (``cached_view``), and its tallies change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from flask import Flask, current_app

_KEY = "deniably_documents"
_Found = TypeVar("_Found")


def cache_documents(app: Flask) -> None:
    """Let the views of ``app`` keep their documents for as long as it is there."""
    app.extensions[_KEY] = {}


def caches_documents() -> bool:
    """Whether the current application keeps documents."""
    return _KEY in current_app.extensions


def cached_document(key: Hashable, compute: Callable[[], _Found]) -> _Found:
    """What ``compute`` returns, or returned before under this key where documents are kept."""
    documents: dict[Hashable, Any] | None = current_app.extensions.get(_KEY)
    if documents is None:
        return compute()
    if key not in documents:
        documents[key] = compute()
    document: _Found = documents[key]
    return document
