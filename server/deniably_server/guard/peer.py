"""Where a request comes from: asked by the limits alone, and neither kept nor told to anybody."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv6Address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment


def network_of(environ: WSGIEnvironment, proxies: int = 0) -> str | None:
    """The network address that a request counts for; of IPv6 the first 64 bits, which is what one
    household or one machine has. None where no limit can count: this machine itself, be it who
    runs the server or a proxy that nothing is known of.

    ``proxies`` is the number of trusted proxies on the way. Each of them appends to
    X-Forwarded-For who came to it, so what the first of them saw is that many from the end; what
    stands before it is anybody's invention. Of fewer entries than that, none is believed.
    """
    own = str(environ.get("REMOTE_ADDR", ""))
    if proxies:
        said = str(environ.get("HTTP_X_FORWARDED_FOR", "")).rsplit(",", proxies)
        if len(said) >= proxies and (client := said[-proxies].strip()):
            return _network(_without_port(client))
    found = _network(own)
    return None if not found or found.startswith("127.") or own == "::1" else found


def _network(address: str) -> str:
    if ":" not in address:
        return address
    try:
        parsed = IPv6Address(address.partition("%")[0])
    except AddressValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return parsed.packed[:8].hex()


def _without_port(address: str) -> str:
    """203.0.113.7:4711 and [2001:db8::7]:4711 as some proxies write them."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address
