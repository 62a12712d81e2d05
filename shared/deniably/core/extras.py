"""The command that installs an extra, for errors about a library that is missing."""

from __future__ import annotations

import shlex
import sys


def install_command(extra: str) -> str:
    """Returns the shell command that installs the libraries of an extra (a group of optional
    dependencies) in the running environment.

    Deniably is on no package index. Since it is installed already, pip asks the index only for the
    libraries.

    >>> install_command("server").endswith("-m pip install 'deniably[server]'")
    True
    """
    return f"{shlex.quote(sys.executable)} -m pip install 'deniably[{extra}]'"
