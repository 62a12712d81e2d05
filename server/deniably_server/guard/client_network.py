"""Finds the client's network address, for rate limits only. It is never stored or logged."""

from __future__ import annotations

from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_MAPPED = bytes(10) + b"\xff\xff"
"""The first bytes of an address of IPv4 that is written as one of IPv6."""


def network_of(environ: WSGIEnvironment, proxies: int = 0) -> str | None:
    """Returns the network address that a request counts for, as text; None for this machine itself.

    Of IPv6 it is the first 64 bits, which belong to one household or machine. ``proxies`` is the
    number of trusted proxies in front. Each appends its client to X-Forwarded-For, so the client
    is that many entries from the end; a client can forge the entries before it. If there are fewer
    entries, the header is ignored.

    >>> network_of({"REMOTE_ADDR": "10.0.0.2", "HTTP_X_FORWARDED_FOR": "forged, 203.0.113.7"}, 1)
    '203.0.113.7'
    """
    return network_behind(
        str(environ.get("REMOTE_ADDR", "")), str(environ.get("HTTP_X_FORWARDED_FOR", "")), proxies
    )


def network_behind(peer: str, forwarded: str, proxies: int) -> str | None:
    """Returns what ``network_of`` returns, without a WSGI environment: for ``peer``, the address of
    the connection's other end, and ``forwarded``, the text of X-Forwarded-For."""
    if proxies:
        clients = forwarded.rsplit(",", proxies)
        if len(clients) >= proxies and (client := clients[-proxies].strip()):
            return _network(_without_port(client))
    network = _network(peer)
    return None if not network or network.startswith("127.") or peer == "::1" else network


def _network(address: str) -> str:
    if ":" not in address:
        return address
    try:
        # Every report needs this; the module ipaddress takes thirty times as long.
        packed = inet_pton(AF_INET6, address.partition("%")[0])
    except (OSError, ValueError):
        return address
    return inet_ntop(AF_INET, packed[12:]) if packed[:12] == _MAPPED else packed[:8].hex()


def _without_port(address: str) -> str:
    """Some proxies write 203.0.113.7:4711 and [2001:db8::7]:4711."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address
