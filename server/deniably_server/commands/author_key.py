"""Reads the author's signing key from a file or a copy, and creates it when first needed."""

from __future__ import annotations

from pathlib import Path

import click

from deniably.core.bounded_files import open_file
from deniably.core.errors import BadKey, BadWords
from deniably.core.user_folder import home, settings
from deniably.trust.recovery import KeyCopy, is_copy, read_copy, read_words
from deniably.trust.signing import Key, new_key, read_key
from deniably_server.commands.key_option import ask_words, given_words
from deniably_server.commands.private_file import check_private, write_private

_LARGEST = 1 << 16
"""Bytes of a key's file that are read; a key has some 120."""
_TRIES = 3  # what one types does not show
"""How often the words of a copy are asked for."""


def author_key(path: Path | None) -> Key:
    """Returns the author's key in the file at ``path``, by default in DENIABLY_HOME or the
    configuration folder.

    If the file is a copy of the key, the copy's six words are read or asked for to open it. A
    missing key is created, with a message, only at the default path: with a misspelt path it would
    publish surveys under a key that devices do not know. Raises ClickException where there is no
    key, or none that can be used.
    """
    if path is not None:
        return _read(path)
    path = default_path()
    if not path.exists():
        _make(path)
    return _read(path)


def default_path() -> Path:
    """Returns the path of the author's key where the author does not give a path."""
    return home() / "author.key"


def key_or_copy(path: Path) -> Key | KeyCopy:
    """Returns the key in a file; or the ``KeyCopy``, still encrypted, if the file is a copy of a
    key. Raises ClickException where the file is neither, or where others may read the key."""
    try:
        with open_file(path) as file:
            text = file.read(_LARGEST)
            if is_copy(text):
                return read_copy(text)
            check_private(file, path, "the author's key")
            return read_key(text)
    except FileNotFoundError:
        raise click.ClickException(
            f"there is no author's key at {path}; publish without a path and one is made in"
            f" {default_path().parent}, or make it: openssl genpkey -algorithm ed25519 -out {path}"
        ) from None
    except OSError as error:
        raise click.ClickException(f"cannot read the author's key {path}: {error}") from None
    except BadKey as error:
        raise click.ClickException(f"cannot use {path} as the author's key: {error}") from None


def keep_key(key: Key, path: Path) -> None:
    """Writes a key for its owner alone. Raises FileExistsError where there is a file already, and
    ClickException where it cannot be written."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, key.text)
    except FileExistsError:
        raise
    except OSError as error:
        raise click.ClickException(f"cannot keep an author's key at {path}: {error}") from None


def _read(path: Path) -> Key:
    found = key_or_copy(path)
    if isinstance(found, Key):
        return found
    try:
        return _opened(found, _TRIES)
    except BadKey as error:
        raise click.ClickException(f"cannot use {path} as the author's key: {error}") from None


def _opened(copy: KeyCopy, tries: int) -> Key:
    """The key in a copy. Asks for the words again where they are others, so many times in all."""
    given = given_words()
    try:
        return copy.open(read_words(ask_words() if given is None else given))
    except BadWords as error:
        if given is not None or tries == 1:
            raise click.ClickException(str(error)) from None
        click.echo(str(error), err=True)
        return _opened(copy, tries - 1)


def _make(path: Path) -> None:
    try:
        keep_key(new_key(), path)
    except FileExistsError:
        return  # another process was first: use its key
    click.echo(
        f"A new author's key was made: {path}\nKeep a copy in a safe place: deniably author-key"
        " copy. Devices know you by it and warn when a survey comes from another.",
        err=True,
    )
    if (other := settings() / "author.key") != path and other.exists():
        click.echo(
            f"There is another one of yours: {other}\nIf devices know you by that, publish with"
            f" --key {other}",
            err=True,
        )
