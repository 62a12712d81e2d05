"""The version of this software that runs."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version


@cache  # it reads and parses a file, and every page of results states it
def own_version() -> str:
    """Returns the installed version of Deniably, such as 1.2.0."""
    return version("deniably")
