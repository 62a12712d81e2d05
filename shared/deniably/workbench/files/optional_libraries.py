"""Why an export cannot be written or read, and the libraries that some formats need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deniably.core.errors import DeniablyError
from deniably.core.extras import install_command


class NoExport(DeniablyError, ValueError):
    """The files cannot be written or read; the message says why. Nothing is half-written."""


def library(name: str, extra: str = "export") -> Any:
    """Returns the module ``name``, which an extra installs. Raises NoExport where it is missing."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise NoExport(f"this needs {package}; get it with: {install_command(extra)}") from None
