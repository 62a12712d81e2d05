"""The command ``deniably`` as a user calls it: in this process, or in one of its own.

A process of its own spends half a second of CPU on imports alone, so most tests call in this one;
each command has a test or two that does not.
"""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from deniably_client import cli


@dataclass(frozen=True)
class Done:
    """What became of a call."""

    returncode: int
    stdout: str
    stderr: str


def in_a_process(*arguments: str | Path, keys: str = "") -> Done:
    """Call the command ``deniably`` in a process of its own."""
    command = [sys.executable, "-m", "deniably_client", *arguments]
    done = subprocess.run(command, input=keys, capture_output=True, text=True, timeout=60)
    return Done(done.returncode, done.stdout, done.stderr)


def call(*arguments: str | Path, keys: str = "") -> Done:
    """Call the command ``deniably`` here; ``keys`` is all that is ever typed."""
    stdin, stdout, stderr = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(3))
    stdin.write(keys)
    stdin.seek(0)
    status: object = 0
    with (
        mock.patch.object(sys, "argv", ["deniably", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", stdin),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            cli.main()
        except SystemExit as ended:
            status = ended.code or 0
    assert isinstance(status, int)
    return Done(status, _written(stdout), _written(stderr))


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
