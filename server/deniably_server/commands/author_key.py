"""The author's key in a file that nobody else can read; made when it is first needed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import NamedTemporaryFile

import click

from deniably.core.errors import BadKey
from deniably.core.home import home, settings
from deniably.trust.signing import Key, new_key, read_key

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def author_key(path: Path | None) -> Key:
    """The key in the file at ``path``, or else in DENIABLY_HOME or the configuration folder.

    Only there a new one is made, and that is said: a misspelt path must not make a stranger of
    the author, because what is published stays under its key. Raises ClickException.
    """
    if path is not None:
        return _read(path)
    path = default_path()
    if not path.exists():
        _make(path)
    return _read(path)


def default_path() -> Path:
    """Where the key is unless the author says otherwise."""
    return home() / "author.key"


def _read(path: Path) -> Key:
    try:
        with path.open("rb") as file:
            # On Windows the folder protects it, and there are no such bits.
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & _OTHERS:
                raise click.ClickException(
                    f"the author's key {path} can be read by others; if nobody has, make it yours"
                    f" alone with: chmod 600 {path}"
                )
            return read_key(file.read())
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
            os.link(file.name, path)  # whole, and never in the place of another
    except FileExistsError:
        return  # another process was first: its key is the one
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
