"""The security headers of every response."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from deniably_server.web.file_part import FilePart

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
_PAGES_THAT_ASK = ("/surveys/", "/lab/")
"""Pages of results and of the lab have forms that choose what to show; a respondent's form submits
nothing."""
_CHOOSING = dict(SECURITY_HEADERS) | {
    "Content-Security-Policy": _POLICY.replace("form-action 'none'", "form-action 'self'")
}
NO_STORE = ("Cache-Control", "no-store")


class ResponseHeaders:
    """WSGI middleware: adds the security headers and joins the body into one list.

    It is around Flask, so that no response can miss the headers. A response without Cache-Control
    gets no-store. The date is the server's to add, and is taken out where Werkzeug wrote one for a
    conditional answer, because a response has one (RFC 9110, section 5.3). One list saves the
    server a call into Python for each piece of the body. A body without a length is made as it is
    sent, and stays as it is, and so does a file.
    """

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        has_length = False
        chooses = str(environ.get("PATH_INFO", "")).startswith(_PAGES_THAT_ASK)

        def start(
            status: str, headers: list[tuple[str, str]], *exc_info: object
        ) -> Callable[[bytes], object]:
            nonlocal has_length
            has_length = any(name.lower() == "content-length" for name, _ in headers)
            cached = any(name == "Cache-Control" for name, _ in headers)
            security = _CHOOSING.items() if chooses else SECURITY_HEADERS
            own = [header for header in headers if header[0].lower() != "date"]
            return start_response(status, [*own, *security, *([] if cached else [NO_STORE])])

        body: Iterable[bytes] = self._app(environ, start)
        if not has_length or isinstance(body, FilePart):
            return body
        try:
            return list(body)
        finally:
            if close := getattr(body, "close", None):
                close()
