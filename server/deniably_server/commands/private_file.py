"""Reads and writes the files of a user that nobody else may read."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

import click

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_private(file: BinaryIO, path: Path, what: str) -> None:
    """Raises ClickException where others may read an open file. The text of the exception calls
    the file ``what``."""
    # Windows has no such mode bits; there the folder protects the file.
    if os.name == "posix" and os.fstat(file.fileno()).st_mode & _OTHERS:
        raise click.ClickException(
            f"{what} {path} can be read by others; if nobody has, make it yours alone with:"
            f" chmod 600 {path}"
        )


def write_private(path: Path, content: bytes) -> None:
    """Writes a new file for its owner alone, whole or not at all. Raises FileExistsError where
    there is one already, and OSError where it cannot be written."""
    with NamedTemporaryFile(dir=path.parent) as file:  # its mode is 0600
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        os.link(file.name, path)  # atomic, and never replaces a file
