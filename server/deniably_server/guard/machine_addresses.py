"""Lists the addresses of this machine in its networks, by which others reach it (Linux)."""

from __future__ import annotations

import fcntl
import socket
import struct
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from pathlib import Path

_SIOCGIFADDR = 0x8915
"""Asks for an interface's IPv4 address (netdevice(7))."""
# ``struct ifreq``: 16 bytes of the interface's name, then a ``sockaddr_in``, whose IPv4 address
# comes after family and port, two bytes each.
_NAME = struct.Struct("16s16x")
_ADDRESS = slice(20, 24)
_IPV6 = Path("/proc/net/if_inet6")
_ELSEWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses of nobody (RFC 5737, 3849). They are looked up in the routes; nothing is sent there."""


def addresses() -> dict[str, str]:
    """Returns {address: interface} for each address by which others may reach this machine.

    It leaves out loopback addresses and those that need an interface's name (fe80::).
    """
    return {
        address: name
        for address, name in [*_ipv4(), *_ipv6()]
        if not (ip_address(address).is_loopback or ip_address(address).is_link_local)
    }


def usual_address() -> str | None:
    """Returns the address from which this machine sends to other networks.

    Where it has no route to other networks, returns its only address, or None if it has no address
    or several.
    """
    known = addresses()
    for family, elsewhere in _ELSEWHERE.items():
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as line:
            line.connect((elsewhere, 9))  # of datagrams it sends nothing, but chooses the route
            address = line.getsockname()[0]
            if address in known:
                return str(address)
    return next(iter(known)) if len(known) == 1 else None


def is_own(address: str) -> bool:
    """Returns whether this machine has the address, and can listen there."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as line:
            line.bind((address, 0))
    except OSError:
        return False
    return True


def _ipv4() -> list[tuple[str, str]]:
    addresses_of: list[tuple[str, str]] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        for _, name in socket.if_nameindex():
            with suppress(OSError):  # it has none
                answer = fcntl.ioctl(line, _SIOCGIFADDR, _NAME.pack(name.encode()))
                addresses_of.append((socket.inet_ntoa(answer[_ADDRESS]), name))
    return addresses_of


def _ipv6() -> list[tuple[str, str]]:
    try:
        lines = _IPV6.read_text().splitlines()
    except OSError:  # a machine without IPv6
        return []
    fields = [line.split() for line in lines]
    return [(str(IPv6Address(bytes.fromhex(each[0]))), each[-1]) for each in fields]
