"""The headers that every response carries, whoever made it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_UNUSED = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")

SECURITY_HEADERS = (
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", ", ".join(f"{feature}=()" for feature in _UNUSED)),
)
_CODE = ("text/javascript", "text/css")
CODE_HEADERS = tuple(
    (name, value)
    for name, value in SECURITY_HEADERS
    if name in ("X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy")
)
"""Those that mean something for what no window shows. A form has some thirty modules, and headers
are not compressed: all of them weigh as much as a third of the code."""


class Headers:
    """WSGI middleware: adds the headers, and hands the body over in one piece.

    Around the application instead of inside it, so that no response can miss them. What sets no
    Cache-Control is not stored anywhere. One list as the body saves the server a call back into
    Python for each piece; no response here is large.
    """

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        """Serve one request."""

        def start(
            status: str, headers: list[tuple[str, str]], *exc_info: object
        ) -> Callable[[bytes], object]:
            return start_response(status, headers + _more({n.lower(): v for n, v in headers}))

        body: Iterable[bytes] = self._app(environ, start)
        try:
            return list(body)
        finally:
            if close := getattr(body, "close", None):
                close()


def _more(given: Mapping[str, str]) -> list[tuple[str, str]]:
    # A worker's code is under the policy that comes with it, as a page is.
    worker = "service-worker-allowed" in given
    code = given.get("content-type", "").startswith(_CODE) and not worker
    more = list(CODE_HEADERS if code else SECURITY_HEADERS)
    return more if "cache-control" in given else [*more, ("Cache-Control", "no-store")]
