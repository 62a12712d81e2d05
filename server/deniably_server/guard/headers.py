"""Sets the security headers of every response."""

from __future__ import annotations

import re
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

# No Strict-Transport-Security: a server in a lecture hall or on one's own machine has no https, and
# browsers would remember it for the name. A proxy with a certificate sets it.
SECURITY_HEADERS = (
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", ", ".join(f"{feature}=()" for feature in _UNUSED)),
)
CONTENT_POLICY = SECURITY_HEADERS[0][0]
_OF_DOCUMENTS = (
    "Content-Security-Policy",
    "X-Frame-Options",
    "Cross-Origin-Opener-Policy",
    "Permissions-Policy",
)
OF_FILES = tuple(each for each in SECURITY_HEADERS if each[0] not in _OF_DOCUMENTS)
"""The headers that browsers heed on scripts and stylesheets. The others are for what a browser
shows or runs by itself; they weigh half a kilobyte, which counts on slow lines."""
_FILES = ("text/css", "text/javascript")


def _with_policy(change: Callable[[str], str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, change(value) if name == "Content-Security-Policy" else value)
        for name, value in SECURITY_HEADERS
    )


def _submitting(policy: str) -> str:
    """Pages of results and of the lab have forms that choose what to show; a respondent's form
    submits nothing."""
    return policy.replace("form-action 'none'", "form-action 'self'")


def _without_raw_html(policy: str) -> str:
    """The studio's pages hold the author's signature. No script there makes HTML of a text, but by
    the one policy in ``web/studio/exchange.js``."""
    return f"{policy}; require-trusted-types-for 'script'; trusted-types studio"


def _sending_nothing(policy: str) -> str:
    """The trial of a draft can send nothing: the browser itself stops it."""
    return _without_raw_html(policy).replace("connect-src 'self'", "connect-src 'none'")


def _in_a_frame(policy: str) -> str:
    return _sending_nothing(policy).replace("frame-ancestors 'none'", "frame-ancestors 'self'")


def _with_a_frame(policy: str) -> str:
    return f"{_without_raw_html(policy)}; frame-src 'self'"


STUDIO_POLICY = _without_raw_html(_POLICY)


def policy_with(address: str, policy: str = _POLICY) -> str:
    """Returns the content policy of a page that may also send to the origin ``address``: that of
    the server's pages, or a ``policy`` of other ones."""
    return policy.replace("connect-src 'self'", f"connect-src 'self' {address}")


STUDIO_HEADERS = _with_policy(_without_raw_html)
TRIAL_HEADERS = _with_policy(_sending_nothing)
FRAMED_HEADERS = tuple(
    (name, "SAMEORIGIN" if name == "X-Frame-Options" else value)
    for name, value in _with_policy(_in_a_frame)
)
FRAMING_HEADERS = _with_policy(_with_a_frame)
_OF_PAGES = [
    (re.compile(pattern), headers)
    for pattern, headers in (
        (r"/(surveys|lab)/", _with_policy(_submitting)),
        (r"/studio/try/", TRIAL_HEADERS),
        (r"/studio/d/[^/]+/page\Z", FRAMED_HEADERS),
        (r"/studio/d/[^/]+(/try)?\Z", FRAMING_HEADERS),
        (r"/studio/", STUDIO_HEADERS),
    )
]
"""The headers of pages that need another policy, by their path; the first that fits. One page alone
may be in a frame, of this server's own pages: the trial beside the editor."""
_POLICY_NAME = CONTENT_POLICY.lower()
NO_STORE = ("Cache-Control", "no-store")


class ResponseHeaders:
    """WSGI middleware that adds the security headers to every response, and joins its body into
    one list.

    Scripts and stylesheets get only the headers that browsers heed on them, except a service
    worker, which gets all because it runs by itself. The policy of a view stands in the place of
    the usual one. A response without Cache-Control gets no-store. A Date header that Werkzeug wrote
    is removed: the server adds one, and a response has one Date (RFC 9110, section 5.3). One list
    saves the server a call into Python for each piece of the body; files, and bodies without a
    length, are passed on in pieces.
    """

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        has_length = False
        headers_here = _headers_of(str(environ.get("PATH_INFO", "")))

        def start(
            status: str, headers: list[tuple[str, str]], *exc_info: object
        ) -> Callable[[bytes], object]:
            nonlocal has_length
            has = {name.lower(): value for name, value in headers}
            has_length = "content-length" in has
            file = has.get("content-type", "").startswith(_FILES)
            stands_alone = not file or "service-worker-allowed" in has
            security = headers_here if stands_alone else OF_FILES
            if _POLICY_NAME in has:
                security = tuple(each for each in security if each[0] != CONTENT_POLICY)
            own = [header for header in headers if header[0].lower() != "date"]
            return start_response(
                status, [*own, *security, *([] if "cache-control" in has else [NO_STORE])]
            )

        body: Iterable[bytes] = self._app(environ, start)
        if not has_length or isinstance(body, FilePart):
            return body
        try:
            return list(body)
        finally:  # a body that was read is closed by its reader (PEP 3333)
            if close := getattr(body, "close", None):
                close()


def _headers_of(path: str) -> tuple[tuple[str, str], ...]:
    fitting = (headers for pattern, headers in _OF_PAGES if pattern.match(path))
    return next(fitting, SECURITY_HEADERS)
