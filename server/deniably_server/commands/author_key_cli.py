"""``deniably author-key``: shows the author's key, and writes and opens copies of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from deniably.core.errors import BadKey
from deniably.core.steering import one_line
from deniably_server.commands.key_option import key_option, words_option

_TAKEN = "there is a file at {} already; it was left alone"


@click.group(name="author-key")
def author_key() -> None:
    """Show the key that signs your surveys, and make and open copies of it.

    Devices know you by this key. Receipts show its number; print this number on your letters. A
    copy is a file that opens with six words, here, in the studio, and in OpenSSL.
    """


@author_key.command()
@key_option
def show(path: Path | None) -> None:
    """Show where the key is, and its number. A copy shows its number without its words."""
    from deniably.trust.recovery import KeyCopy
    from deniably.trust.signing import fingerprint
    from deniably_server.commands.author_key import default_path, key_or_copy

    found = key_or_copy(path or default_path())
    click.echo(f"{'file':<6}  {path or default_path()}")
    if isinstance(found, KeyCopy):
        click.echo(f"{'number':<6}  {found.number}")
        click.echo(one_line(f"a copy for {found.group}, made on {found.day}"))
    else:
        click.echo(f"{'number':<6}  {fingerprint(found.author)}")


@author_key.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--group", required=True, help="Who signs with the key, such as your group's name.")
@key_option
def copy(file: Path, group: str, path: Path | None) -> None:
    """Write a copy into FILE, and show its six words, once.

    Write the words on paper, and keep them apart from the file. Nobody can open it without them.
    The words alone go to standard output. FILE must not be there yet.
    """
    from deniably.trust.recovery import draw_words, write_copy
    from deniably_server.commands.author_key import author_key as read_author_key
    from deniably_server.commands.private_file import write_private

    key, words = read_author_key(path), draw_words()
    try:
        made = write_copy(key, group, datetime.now(UTC).date().isoformat(), words)
        write_private(file, made.text.encode())
    except BadKey as error:
        raise click.ClickException(str(error)) from None
    except FileExistsError:
        raise click.ClickException(_TAKEN.format(file)) from None
    except OSError as error:
        raise click.ClickException(f"cannot write {file}: {error.strerror}") from None
    click.echo(f"{file} is a copy of {made.number}. Its six words, shown only now:", err=True)
    click.echo(" ".join(words))


@author_key.command(name="open")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help="Where to write the key; without it author.key in DENIABLY_HOME or your configuration"
    " folder. A file that is there is left alone.",
)
@words_option
def open_copy(file: Path, to: Path | None) -> None:
    """Open the copy in FILE, and keep its key on this machine.

    You are asked for the six words of the copy. The key on this machine needs no words: it is a
    file that only you may read.
    """
    from deniably.trust.signing import fingerprint
    from deniably_server.commands.author_key import author_key as read_author_key
    from deniably_server.commands.author_key import default_path, keep_key

    path = to or default_path()
    key = read_author_key(file)
    try:
        keep_key(key, path)
    except FileExistsError:
        raise click.ClickException(_TAKEN.format(path)) from None
    click.echo(f"{path} is the key {fingerprint(key.author)}")
