"""What runs on a respondent's device: ``Device`` in Python, and ``web/`` for browsers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniably_client.device import Device as Device
    from deniably_client.device import Receipt as Receipt
    from deniably_client.storage import Storage as Storage

__all__ = ["Device", "Receipt", "Storage"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that a server can take the files of web/ from this package
    # without importing a client.
    if name in __all__:
        from deniably_client import device, storage

        return getattr(storage if name == "Storage" else device, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
