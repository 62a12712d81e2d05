"""Where the programs of one user keep their files: a device's memory, an author's key."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """Returns the folder that the environment variable DENIABLY_HOME names; ``settings()`` if the
    variable is not set or empty."""
    return Path(folder) if (folder := os.environ.get("DENIABLY_HOME")) else settings()


def settings() -> Path:
    """Returns the folder of the user's settings for Deniably, whatever DENIABLY_HOME says."""
    import click

    return Path(click.get_app_dir("deniably"))
