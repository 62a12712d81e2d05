"""The client, which runs on a respondent's device: ``Device`` in Python, ``web/`` in browsers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniably_client.device import Device as Device
    from deniably_client.receipt import Receipt as Receipt
    from deniably_client.storage import Storage as Storage

__all__ = ["Device", "Receipt", "Storage"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: a server serves the files of web/ and must not import a client.
    if name in __all__:
        from deniably_client import device, receipt, storage

        homes = {"Device": device, "Receipt": receipt, "Storage": storage}
        return getattr(homes[name], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
