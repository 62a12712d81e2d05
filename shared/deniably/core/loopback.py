"""Loopback addresses: URLs whose server is this machine."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_here(url: str) -> bool:
    """Returns whether the URL's host is this machine: localhost or a loopback address. No host
    name is looked up. What is no URL, such as https://[::::], is not here."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
