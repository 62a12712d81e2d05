"""Caches documents that several views show, while all pages of a survey are written at once.

A server has no use for it: its answers are cached whole (``cached_view``), and its tallies change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from flask import Flask, current_app

_KEY = "deniably_documents"
_Found = TypeVar("_Found")


def cache_documents(app: Flask) -> None:
    """Makes the views of ``app`` cache their documents until ``app`` is gone."""
    app.extensions[_KEY] = {}


def caches_documents() -> bool:
    """Returns whether the current application caches documents."""
    return _KEY in current_app.extensions


def cached_document(key: Hashable, compute: Callable[[], _Found]) -> _Found:
    """Returns the document under ``key``: from the cache if the application has one, else what
    ``compute`` returns."""
    documents: dict[Hashable, Any] | None = current_app.extensions.get(_KEY)
    if documents is None:
        return compute()
    if key not in documents:
        documents[key] = compute()
    document: _Found = documents[key]
    return document
