"""The command that installs an extra, for errors about a library that is missing."""

from __future__ import annotations

import shlex
import sys


def install_command(extra: str) -> str:
    """Returns the command that adds an extra's libraries to the environment that runs this.

    Its pip finds Deniably installed there, from a checkout or a wheel. So it asks the package index
    for the libraries alone: Deniably itself is on none.

    >>> install_command("server").endswith("-m pip install 'deniably[server]'")
    True
    """
    return f"{shlex.quote(sys.executable)} -m pip install 'deniably[{extra}]'"
