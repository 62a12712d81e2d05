"""Where the programs of one user keep their files: a device's memory, an author's key."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """Returns the folder DENIABLY_HOME if it is set, else the user's settings folder."""
    return Path(folder) if (folder := os.environ.get("DENIABLY_HOME")) else settings()


def settings() -> Path:
    """Returns the user's settings folder; ignores DENIABLY_HOME."""
    import click

    return Path(click.get_app_dir("deniably"))
