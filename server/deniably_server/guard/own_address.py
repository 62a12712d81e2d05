"""Finds the address by which people reach this server, for links that leave the screen, such as a
QR code.

Anybody may send any name as Host, so not every name becomes a link. It has to be one that the
operator named, or one that no foreign name server can claim: an IP address, or a name within the
own network. A client that lies about ``https`` only gets a wrong link itself, as these pages are
never cached.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deniably.core.loopback import is_here
from deniably_server.guard.host_names import NAME, host_names, without_port

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_PORT = re.compile(r":[1-9][0-9]{0,4}")
_AT_HOME = (".local", ".lan", ".home.arpa", ".internal")
"""Names that are never given to anybody in the public DNS (RFC 6762, 8375; ICANN 2024),
and .lan, which routers use."""
_PORTS = {"http": 80, "https": 443}
"""The ports of addresses without one."""


def own_address(environ: WSGIEnvironment, hosts: str = "") -> str | None:
    """Returns the base URL of this server, such as https://survey.example.org, as the request
    reached it; None where the request's Host is not to be trusted. ``hosts`` is the setting of
    host names.

    >>> own_address({"HTTP_HOST": "192.168.1.7:8000"})
    'http://192.168.1.7:8000'
    >>> own_address({"HTTP_HOST": "a.example", "HTTP_SEC_FETCH_SITE": "none"}, "a.example")
    'https://a.example'
    >>> own_address({"HTTP_HOST": "evil.example"})
    """
    host = str(environ.get("HTTP_HOST", "")).lower()
    name = without_port(host)
    port = host[len(name) :].removeprefix(".")
    if not NAME.fullmatch(name) or (port and not _PORT.fullmatch(port)):
        return None
    if name not in host_names(hosts) and (hosts or not _is_at_home(name)):
        return None
    if _is_secure(environ) and not is_here(f"http://{name}"):
        return f"https://{name}{port.removesuffix(':443')}"
    return f"http://{name}{port}"


def named_address(hosts: str, port: int) -> str | None:
    """Returns the base URL of this server from the first name in the setting ``hosts``, for use
    before any request came; None where the setting has no name.

    A name of this machine or of the own network is reached at ``port``. Any other name is taken for
    that of a proxy with HTTPS.

    >>> named_address("survey.example.org, localhost", 8000)
    'https://survey.example.org'
    >>> named_address("localhost", 8000)
    'http://localhost:8000'
    >>> named_address("", 8000)
    """
    names = [name for name in hosts.split(",") if host_names(name)]
    if not names:
        return None
    (name,) = host_names(names[0])
    return f"http://{name}:{port}" if _is_at_home(name) else f"https://{name}"


def is_own_host(address: str, environ: WSGIEnvironment, hosts: str = "") -> bool:
    """Returns whether an origin is on this server's own host: the one that a request reached, or
    one in the setting ``hosts``. On this machine itself the port has to be the server's, too, so
    that several servers can be tried there.

    >>> is_own_host("https://a.example:8443", {"HTTP_HOST": "a.example"})
    True
    >>> is_own_host("http://localhost:8001", {"HTTP_HOST": "127.0.0.1:8000"})
    False
    """
    host = str(environ.get("HTTP_HOST", "")).lower()
    try:
        there, here = urlsplit(address), urlsplit(f"//{host}")
        ports = there.port or _PORTS[there.scheme], here.port or _PORTS["http"]
    except ValueError:  # a port that is none
        return False
    if is_here(address):
        return is_here(f"http://{host}") and ports[0] == ports[1]
    names = {name.strip("[]") for name in (*host_names(hosts), without_port(host))}
    return (there.hostname or "").removesuffix(".") in names


def is_refused_by_phones(address: str) -> bool:
    """Returns whether a phone's browser refuses cryptography to a page at this address, because
    the address is neither https nor on the phone itself."""
    return urlsplit(address).scheme != "https" and not is_here(address)


def _is_at_home(name: str) -> bool:
    """Whether a name is a number, this machine, or one within the own network."""
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return name[0] != "[" and ("." not in name or name.endswith(_AT_HOME))
    return True


def _is_secure(environ: WSGIEnvironment) -> bool:
    """Whether the browser speaks https, to this server or to a proxy in front.

    A proxy says so, or the browser itself: it sends Sec-Fetch-Site over safe connections alone.
    """
    return (
        environ.get("wsgi.url_scheme") == "https"
        or environ.get("HTTP_X_FORWARDED_PROTO") == "https"
        or "HTTP_SEC_FETCH_SITE" in environ
    )
