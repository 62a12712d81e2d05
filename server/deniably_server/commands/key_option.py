"""Defines the options that name the author's key, and reads the six words that open a copy of
it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from deniably.core.bounded_files import open_file
from deniably_server.commands.private_file import check_private

_Command = TypeVar("_Command", bound=Callable[..., object])
_FILE = f"{__name__}.words_file"  # where click keeps it while the command runs
_VARIABLE = "DENIABLY_WORDS"
_LARGEST = 4096


def _remember(context: click.Context, _: click.Parameter, path: Path | None) -> None:
    context.meta[_FILE] = path


_key = click.option(
    "--key",
    "path",
    envvar="DENIABLY_KEY",
    type=click.Path(path_type=Path),
    help="File of the author's key, or a copy of it. By default author.key in DENIABLY_HOME or"
    " your configuration folder; it is made if it is missing. [DENIABLY_KEY]",
)
words_option = click.option(
    "--words-file",
    type=click.Path(path_type=Path),
    expose_value=False,
    callback=_remember,
    help="File with the six words of a copy. Without it they come from DENIABLY_WORDS, or you are"
    " asked for them.",
)


def key_option(command: _Command) -> _Command:
    """Gives a command the options --key, as its parameter ``path``, and --words-file, which
    ``given_words`` reads."""
    return _key(words_option(command))


def given_words() -> str | None:
    """Returns the six words that open a copy of the author's key, as one text, from the file of
    --words-file or from DENIABLY_WORDS; None where neither is given. Raises ClickException for a
    file that cannot be read, or that others can read."""
    context = click.get_current_context(silent=True)
    path: Path | None = context.meta.get(_FILE) if context else None
    if path is None:
        return os.environ.get(_VARIABLE)
    try:
        with open_file(path) as file:
            check_private(file, path, "the file of words")
            return file.read(_LARGEST).decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise click.ClickException(f"cannot read the words in {path}: {error.strerror}") from None


def ask_words() -> str:
    """Asks in the terminal for the six words that open a copy of the author's key, without showing
    what is typed, and returns them as one text. Raises ClickException where there is no
    terminal."""
    if not sys.stdin.isatty():
        raise click.ClickException(
            "this key is a copy, and six words open it: name a file with them by --words-file, or"
            f" put them into {_VARIABLE}"
        )
    return str(click.prompt("The six words of the copy", hide_input=True, err=True))
