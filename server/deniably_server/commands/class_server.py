"""Runs a server for one class, which ends with the command that began it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from select import select
from typing import TextIO

import click

from deniably_server.commands.database import open_store

_LISTENS = "Deniably listens on "
_NOTE = "deniably lab class"
_TICK = 0.5
"""Seconds between two looks whether the server still runs."""


def class_token(database: str) -> str:
    """Makes and stores an author's token for today and tomorrow; returns its text."""
    from deniably_server.storage.tables.tokens import make

    token, text = make("author", days=1, note=_NOTE)
    with closing(open_store(database)) as store:
        store.add_token(token)
    return text


class ClassServer:
    """A running server for a class. ``address`` is its address on this machine."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self._process, self.address = process, address

    def keep(self, close: Callable[[], None]) -> None:
        """Waits until the server ends. When the user types the first line, calls ``close``, which
        closes the survey.

        Raises ClickException where the server ends with an error.
        """
        keys: list[TextIO] = [sys.stdin] if sys.stdin else []
        while self._process.poll() is None:
            ready, _, _ = select(keys, [], [], _TICK)
            if ready:
                if sys.stdin.readline():
                    close()
                keys = []  # once is enough, and an input that ended stays so
        if status := self._process.wait():
            raise click.ClickException(f"the server has ended with status {status}")


@contextmanager
def class_server(public: str, database: str, port: int) -> Generator[ClassServer]:
    """Starts ``deniably serve --public`` in another process; the server ends when the block does,
    or by Ctrl+C.

    Raises ClickException where the server does not start, after it has said why.
    """
    call = ["serve", f"--public={public}", "--database", database, "--port", str(port)]
    signal.signal(signal.SIGTERM, _leave)  # as an exception, so that the block ends the server
    with subprocess.Popen(
        [sys.executable, "-m", "deniably_client", *call, "--log", "off"],
        # Unbuffered, so that the first line, with the address, comes through the pipe at once.
        env=os.environ | {"PYTHONUNBUFFERED": "1"}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            running = ClassServer(process, _address(process))
            with suppress(KeyboardInterrupt):  # the server has got it, too
                yield running
        finally:
            process.terminate()


def _address(process: subprocess.Popen[str]) -> str:
    """Returns the address in the server's first line, and passes its other lines on. Raises
    ClickException where it did not start."""
    assert process.stdout
    first = process.stdout.readline()
    click.echo(first, nl=False)
    if not first.startswith(_LISTENS):
        raise click.ClickException("the server did not start")
    threading.Thread(target=_pass_on, args=(process.stdout,), daemon=True).start()
    return first.removeprefix(_LISTENS).strip()


def _pass_on(lines: TextIO) -> None:
    for line in lines:
        click.echo(line, nl=False)


def _leave(number: int, frame: object) -> None:
    raise SystemExit(0)
