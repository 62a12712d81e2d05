"""Reads the author's signing key from a private file, and creates it when first needed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import NamedTemporaryFile

import click

from deniably.core.bounded_files import open_file
from deniably.core.errors import BadKey
from deniably.core.user_folder import home, settings
from deniably.trust.signing import Key, new_key, read_key

_LARGEST = 1 << 16
"""Bytes of a key's file that are read; a key has some 120."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def author_key(path: Path | None) -> Key:
    """Read the key at ``path``, by default in DENIABLY_HOME or the configuration folder.

    A missing key is created, with a message, only at the default path. With a misspelt path it
    would publish surveys under a key that devices do not know. Raises ClickException.
    """
    if path is not None:
        return _read(path)
    path = default_path()
    if not path.exists():
        _make(path)
    return _read(path)


def default_path() -> Path:
    """Returns the path of the key unless the author gives another."""
    return home() / "author.key"


def _read(path: Path) -> Key:
    try:
        with open_file(path) as file:
            # Windows has no such mode bits; there the folder protects the key.
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & _OTHERS:
                raise click.ClickException(
                    f"the author's key {path} can be read by others; if nobody has, make it yours"
                    f" alone with: chmod 600 {path}"
                )
            return read_key(file.read(_LARGEST))
    except FileNotFoundError:
        raise click.ClickException(
            f"there is no author's key at {path}; publish without a path and one is made in"
            f" {default_path().parent}, or make it: openssl genpkey -algorithm ed25519 -out {path}"
        ) from None
    except OSError as error:
        raise click.ClickException(f"cannot read the author's key {path}: {error}") from None
    except BadKey as error:
        raise click.ClickException(f"cannot use {path} as the author's key: {error}") from None


def _make(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent) as file:  # its mode is 0600
            file.write(new_key().text)
            file.flush()
            os.fsync(file.fileno())
            os.link(file.name, path)  # atomic, and never replaces a key
    except FileExistsError:
        return  # another process was first: use its key
    except OSError as error:
        raise click.ClickException(f"cannot keep an author's key at {path}: {error}") from None
    click.echo(
        f"A new author's key was made: {path}\nKeep a copy in a safe place. Devices know you by it"
        " and warn when a survey comes from another.",
        err=True,
    )
    if (other := settings() / "author.key") != path and other.exists():
        click.echo(
            f"There is another one of yours: {other}\nIf devices know you by that, publish with"
            f" --key {other}",
            err=True,
        )
