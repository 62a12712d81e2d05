"""Imports the libraries that some formats need, and defines the error of files."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deniably.core.errors import DeniablyError
from deniably.core.extras import install_command


class NoExport(DeniablyError, ValueError):
    """Files cannot be written or read; the message says why. No file is left half-written."""


def library(name: str, extra: str = "export") -> Any:
    """Imports the module ``name``. Raises NoExport, which says how to install ``extra``, where the
    module is missing."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise NoExport(f"this needs {package}; get it with: {install_command(extra)}") from None
