"""The folder in which the programs of one user keep their things."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """DENIABLY_HOME, or the user's folder for settings: a device's memory, an author's key."""
    return Path(found) if (found := os.environ.get("DENIABLY_HOME")) else settings()


def settings() -> Path:
    """The user's folder for settings, whatever DENIABLY_HOME says."""
    import click

    return Path(click.get_app_dir("deniably"))
