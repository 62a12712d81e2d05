"""Finds the address by which phones reach a server on somebody's own machine: ``--public``.

It begins with https, since browsers allow the cryptography of the form nowhere else. Either this
machine speaks TLS at an address of its own, with a certificate that it makes; or something in front
does, such as a tunnel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from shutil import which
from urllib.parse import urlsplit

from deniably_server.guard.host_names import NAME, host_names
from deniably_server.guard.machine_addresses import addresses, is_own, usual_address

AUTO = "auto"
"""The value of the setting that stands for this machine's usual address."""
LOOPBACK = "127.0.0.1"
_HERE = ("localhost", LOOPBACK, "[::1]")
_PLACE = re.compile(rf"({NAME.pattern})(:[1-9][0-9]{{0,4}})?")
_TUNNELS = {
    "cloudflared": "cloudflared tunnel --url http://127.0.0.1:{port}",
    "tailscale": "tailscale funnel {port}",
}
"""Programs that give a machine an address with a certificate, and how they are called."""


class NoPublicAddress(Exception):
    """The setting names no address by which phones could reach this machine; the text says what to
    set."""


@dataclass(frozen=True)
class PublicAddress:
    """The address at which phones reach the server by https.

    ``own`` is the IP address at which this machine speaks TLS itself; None where a tunnel or a
    proxy in front of it does. ``place`` is the host in the URL: ``own``, in brackets if it is
    IPv6, or the name of the tunnel or proxy, with its port if it needs one.
    """

    place: str
    own: str | None = None

    def url(self, port: int) -> str:
        """Returns the base URL, such as https://192.168.1.7:8000, of a server that listens on
        ``port``."""
        return f"https://{self.place}:{port}" if self.own else f"https://{self.place}"

    def hosts(self, named: str, *others: str | None) -> str:
        """Returns a value for the setting of host names: the name of this address, the names in
        ``named`` (the operator's setting), ``others``, and the names of this machine itself.

        The server answers to no other name, so that no foreign page gets in.
        """
        place = _PLACE.fullmatch(self.place)
        assert place
        wanted = [*host_names(named), place[1], *filter(None, others), *_HERE]
        return ", ".join(dict.fromkeys(wanted))


def public_address(setting: str) -> PublicAddress:
    """Returns the address that the setting ``--public`` means: ``AUTO``, an IP address of this
    machine, or the https address of a tunnel or proxy in front of it.

    Raises NoPublicAddress where phones could not reach that address.

    >>> public_address("https://Quiet-river.example.org/").url(8000)
    'https://quiet-river.example.org'
    """
    if "://" in setting:
        return PublicAddress(_in_front(setting))
    if setting == AUTO:
        return _of_number(ip_address(_usual()))
    try:
        number = ip_address(setting.strip("[]"))
    except ValueError:
        raise NoPublicAddress(
            f"{setting!r} is no address: --public is one of this machine's numbers, such as"
            " --public=192.168.1.7, the https address of a tunnel, or nothing, to find the number"
        ) from None
    if number.is_loopback or number.is_unspecified:
        raise NoPublicAddress(
            f"phones cannot reach {number}: --public alone finds this machine's number, which is"
            f" {_listed()}"
        )
    if not is_own(str(number)):
        raise NoPublicAddress(
            f"{number} is no address of this machine, which has {_listed()}; --public alone takes"
            " the usual one"
        )
    return _of_number(number)


def tunnels(port: int) -> list[str]:
    """Returns the commands of installed programs that give this server an https address."""
    return [call.format(port=port) for name, call in _TUNNELS.items() if which(name)]


def _of_number(number: IPv4Address | IPv6Address) -> PublicAddress:
    return PublicAddress(f"[{number}]" if number.version == 6 else str(number), str(number))


def _in_front(setting: str) -> str:
    parts = urlsplit(setting.lower())
    if parts.scheme != "https":
        raise NoPublicAddress(
            f"{setting!r} does not begin with https://, and phones refuse the form elsewhere"
        )
    if not _PLACE.fullmatch(parts.netloc) or parts.path not in ("", "/") or parts.query:
        raise NoPublicAddress(
            f"{setting!r} is no address of a server, such as https://survey.example.org"
        )
    return parts.netloc.removesuffix(":443")


def _usual() -> str:
    if (address := usual_address()) is not None:
        return address
    if addresses():
        raise NoPublicAddress(
            f"this machine has {_listed()}; say which of them phones reach, as --public=ADDRESS"
        )
    raise NoPublicAddress(
        "this machine is in no network: it has no address but its own loopback address; connect it"
        " to the network of the phones"
    )


def _listed() -> str:
    listed = [f"{address} ({name})" for address, name in addresses().items()]
    return ", ".join(listed) or "none in any network"
