"""Smaller responses: gzip for texts, where the client takes it.

Compressing a secret together with an attacker's text would tell the secret by its length (BREACH).
No response that is compressed holds both: there is no cookie, session or form token, the answer to
who makes a token says no-transform, and nobody's true answer is here at all. (Flask-Compress does
not heed no-transform.)
"""

from __future__ import annotations

import gzip
from functools import lru_cache

from flask import Response, request

_KINDS = (
    "text/",
    "image/svg+xml",
    "application/json",
    "application/problem+json",
    "application/schema+json",
)

_LEAST = 300
"""Bytes; below, the frame of gzip takes what compressing gains."""
_KEPT = 1 << 16
"""Bytes; what is no larger (files, forms, definitions) is compressed once and kept."""


def compress(response: Response) -> Response:
    """The response, compressed where that is of use; to be run after each request.

    HEAD says what GET would. An ETag becomes a weak one, as the bytes differ by encoding while the
    text does not; it is compared weakly anyway (RFC 9110, 13.1.2).
    """
    if response.status_code == 304:
        return _varied(response)
    if not (response.mimetype or "").startswith(_KINDS) or response.is_streamed:
        return response
    if response.cache_control.no_transform:
        return response
    _varied(response)
    if response.content_encoding:  # it is already
        return response
    body = response.get_data()
    if _taken() and len(body) >= _LEAST:
        response.set_data(_kept(body) if len(body) <= _KEPT else gzip.compress(body, 6))
        response.headers["Content-Encoding"] = "gzip"
    return response


def _varied(response: Response) -> Response:
    response.vary.add("Accept-Encoding")
    tag, weak = response.get_etag()
    if tag is not None and not weak and _taken():
        response.set_etag(tag, weak=True)
    return response


def _taken() -> bool:
    return request.accept_encodings["gzip"] > 0


@lru_cache(maxsize=256)
def _kept(body: bytes) -> bytes:
    return gzip.compress(body, 9, mtime=0)
