"""Makes JSON responses."""

from __future__ import annotations

import msgspec
from flask import Response

encode = msgspec.json.Encoder().encode


def json_answer(value: object, status: int = 200, mimetype: str = "application/json") -> Response:
    """Returns a response with ``value`` as JSON."""
    return Response(encode(value), status, mimetype=mimetype)
