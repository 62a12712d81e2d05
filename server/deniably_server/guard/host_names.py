"""The host names that a server answers to, which prevents DNS rebinding.

A foreign page whose name resolves to this server sends its own name as Host, and is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deniably_server.errors import Misdirected
from deniably_server.web.problems import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")
"""A host's name or number, in small letters."""
_BY_NUMBER = {"/healthz", "/readyz", "/metrics"}
"""Paths that supervisors and Prometheus request by IP address."""


class HostCheck:
    """WSGI middleware: refuses requests for other host names with Misdirected."""

    def __init__(self, app: WSGIApplication, names: frozenset[str]) -> None:
        self._app = app
        self._names = names

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        host = without_port(str(environ.get("HTTP_HOST", "")).lower())
        if host in self._names or environ["PATH_INFO"] in _BY_NUMBER:
            return self._app(environ, start_response)
        error = Misdirected("this server does not answer to this name; its operator sets the names")
        return refuse(error, environ)(environ, start_response)


def host_names(setting: str) -> frozenset[str]:
    """The host names in a setting such as ``one.example.org, two.example.org``.

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
    """The name in a Host header, without a port or the dot at the end of a full name."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].removesuffix(".")
