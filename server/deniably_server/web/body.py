"""Reads the body of a request: of an allowed media type and a bounded size."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec
from flask import request
from werkzeug.exceptions import RequestEntityTooLarge

from deniably.survey.report import LARGEST_BODY
from deniably_server.errors import Malformed, UnsupportedMediaType

_T = TypeVar("_T")

JSON = "application/json"
YAML = ("application/yaml", "text/yaml")

READ_AT_MOST = LARGEST_BODY + 1
"""The most bytes that Flask reads of a body: one more than is allowed, which shows that a body is
too large without reading all of it."""


class Body(Protocol):
    """A source of bytes, such as ``wsgi.input``."""

    def read(self, size: int, /) -> bytes:
        """Returns at most ``size`` bytes; empty at the end."""
        ...


def read_body(*kinds: str) -> bytes:
    """Reads the body of the current request and returns its bytes.

    ``kinds`` are the media types that the view takes. Raises UnsupportedMediaType for any other,
    RequestEntityTooLarge above 1 MiB, and Malformed if the connection broke off before the end.
    """
    # The header as it is comes first: to parse it takes longer, and most reports need not.
    if request.environ.get("CONTENT_TYPE") not in kinds and request.mimetype not in kinds:
        raise UnsupportedMediaType(f"send the body as {' or '.join(kinds)}, in Content-Type")
    body = request.get_data(cache=False)
    if len(body) > LARGEST_BODY:
        raise RequestEntityTooLarge
    if (announced := request.environ.get("CONTENT_LENGTH")) and announced != str(len(body)):
        raise Malformed("the body is shorter than its Content-Length says")
    return body


def decoded(decoder: msgspec.json.Decoder[_T], body: bytes, form: str) -> _T:
    """Returns the value that ``decoder`` reads from a JSON body. Raises Malformed where the body
    is not as the decoder expects; the text of the exception is ``form``, which describes a valid
    body."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Malformed(form) from None
