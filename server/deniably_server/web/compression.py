"""Compresses text responses with gzip for clients that accept it.

Responses that are already packed, as the form's scripts are with Brotli (``static_files``), are
left as they are. Browsers accept Brotli over HTTPS and on localhost alone.

Compressing a secret together with an attacker's text reveals the secret by its length (BREACH). No
compressed response holds both. There are no cookies, sessions or form tokens, answers that hold a
new token are marked no-transform, and true answers never reach the server. Flask-Compress ignores
no-transform.
"""

from __future__ import annotations

import gzip
import zlib
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
"""Bytes from which on bodies are compressed; smaller ones do not shrink, because of gzip's
header."""
_GZIP = 16 + zlib.MAX_WBITS
"""What asks zlib for gzip's header, which has no time in it then. With more memory than
``gzip.compress`` takes, a form is 40 bytes smaller."""
_KEPT = 1 << 16
"""Bytes; bodies up to this size, such as forms, are compressed once and cached. Files of a build
are whatever their size: they never change."""


def compress(response: Response) -> Response:
    """Compresses the body of a response if that makes it smaller, and returns the response. Use it
    with Flask's ``after_request``.

    HEAD has the headers of GET. An ETag becomes weak, because the bytes differ by encoding and the
    text does not. If-None-Match compares weakly anyway (RFC 9110, 13.1.2).
    """
    if response.status_code == 304:
        return _varied(response)
    if not (response.mimetype or "").startswith(_KINDS) or response.is_streamed:
        return response
    # It holds a new token: see the module's docstring.
    if response.cache_control.no_transform:
        return response
    _varied(response)
    if response.content_encoding:  # it is already
        return response
    body = response.get_data()
    if _taken() and len(body) >= _LEAST:
        # What is not cached is packed for speed: level 6 instead of 9.
        cached = len(body) <= _KEPT or response.cache_control.immutable
        response.set_data(_kept(body) if cached else gzip.compress(body, 6))
        response.headers["Content-Encoding"] = "gzip"
    return response


def prefers_brotli() -> bool:
    """Returns whether the client accepts Brotli and does not prefer gzip."""
    accepted = request.accept_encodings
    return accepted["br"] > 0 and accepted["br"] >= accepted["gzip"]


def _varied(response: Response) -> Response:
    response.vary.add("Accept-Encoding")
    tag, weak = response.get_etag()
    if tag is not None and not weak and (_taken() or prefers_brotli()):
        response.set_etag(tag, weak=True)
    return response


def _taken() -> bool:
    return request.accept_encodings["gzip"] > 0


@lru_cache(maxsize=256)
def _kept(body: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP, zlib.DEF_MEM_LEVEL + 1)
    return packer.compress(body) + packer.flush()
