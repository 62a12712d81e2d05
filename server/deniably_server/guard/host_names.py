"""Refuses requests for host names that are not the server's own, which prevents DNS rebinding.

A foreign page whose name resolves to this server sends its own name as Host, and is refused. A
request with several hosts is refused, too: a proxy in front may have looked at another one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deniably_server.errors import Malformed, Misdirected, Refusal
from deniably_server.web.problems import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")
"""A host's name or number, in small letters."""
_HOST = re.compile(rf"({NAME.pattern})\.?(:[0-9]{{0,5}})?")
"""A Host header in small letters: a name, perhaps with a port."""
_BY_NUMBER = {"/healthz", "/readyz", "/metrics"}
"""Paths that supervisors and Prometheus request by IP address."""


class HostCheck:
    """WSGI middleware that answers a request only under the server's own host ``names``, or under
    any name if ``names`` is empty.

    Requests without one valid Host header are refused with Malformed (RFC 9112, section 3.2), and
    those for other names with Misdirected.
    """

    def __init__(self, app: WSGIApplication, names: frozenset[str]) -> None:
        self._app = app
        self._names = names

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        if error := self._refusal(environ):
            return refuse(error, environ)(environ, start_response)
        return self._app(environ, start_response)

    def _refusal(self, environ: WSGIEnvironment) -> Refusal | None:
        host = str(environ.get("HTTP_HOST", ""))
        if is_served(host, self._names):
            return None
        if not (is_host(host) or _needs_none(environ)):
            return Malformed("a request has one Host header, with the name of this server")
        if not self._names or environ["PATH_INFO"] in _BY_NUMBER:
            return None
        return Misdirected("this server does not answer to this name; its operator sets the names")


def is_host(host: str) -> bool:
    """Returns whether a Host header has one name, perhaps with a port."""
    return _HOST.fullmatch(host.lower()) is not None


def is_served(host: str, names: frozenset[str]) -> bool:
    """Returns whether a server with these ``names``, or with none, answers to a Host header.

    >>> is_served("A.example:80", frozenset({"a.example"}))
    True
    """
    return is_host(host) and (not names or without_port(host.lower()) in names)


def _needs_none(environ: WSGIEnvironment) -> bool:
    """Whether a request has no Host, and its version of HTTP knew none."""
    return environ["SERVER_PROTOCOL"] == "HTTP/1.0" and "HTTP_HOST" not in environ


def host_names(setting: str) -> frozenset[str]:
    """Returns the host names in a setting such as ``one.example.org, two.example.org``.

    An empty set means that any name is accepted. Raises ValueError for a URL or a port.

    >>> sorted(host_names("b.example, a.example."))
    ['a.example', 'b.example']
    """
    names = [name.strip().lower().removesuffix(".") for name in setting.split(",")]
    wrong = [name for name in names if name and not NAME.fullmatch(name)]
    if wrong:
        raise ValueError(
            f"{wrong[0]!r} is no host name; hosts are names without scheme and port, with commas"
            " between them"
        )
    return frozenset(filter(None, names))


def without_port(host: str) -> str:
    """Returns the name in a Host header, without a port or the dot at the end of a full name."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].removesuffix(".")
