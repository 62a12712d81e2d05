"""Where the programs of one user keep their files: a device's memory, an author's key."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """Returns the folder named by the environment variable DENIABLY_HOME, or ``settings()`` without
    one."""
    return Path(folder) if (folder := os.environ.get("DENIABLY_HOME")) else settings()


def settings() -> Path:
    """Returns the folder of the user's settings for Deniably; ignores DENIABLY_HOME."""
    import click

    return Path(click.get_app_dir("deniably"))
