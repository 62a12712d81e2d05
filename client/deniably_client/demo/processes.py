"""Runs the commands of the demonstration, and its servers, each as a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click
import requests

_DENIABLY = (sys.executable, "-m", "deniably_client")
_PATIENCE = 30.0
"""Seconds until a server has to answer."""


def deniably(*arguments: str, token: str = "") -> str:
    """Runs a command of deniably, and returns what it printed. Raises ClickException where it
    fails."""
    # In a process of its own: the client may not import the server.
    environment = os.environ | ({"DENIABLY_TOKEN": token} if token else {})
    done = subprocess.run(
        [*_DENIABLY, *arguments], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise click.ClickException(f"deniably {arguments[0]} failed:\n{done.stderr}")
    return done.stdout


@contextmanager
def running(log: Path, port: int, *arguments: str) -> Generator[str]:
    """Runs a server of deniably on a port of this machine, and yields its URL. Raises
    ClickException where it does not start."""
    url = f"http://127.0.0.1:{port}"
    with log.open("w+", encoding="utf-8") as file:
        # A session of its own: Ctrl-C is for the demonstration, which then stops the server.
        process = subprocess.Popen(
            [*_DENIABLY, *arguments, "--port", str(port)],
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
        try:
            if not _answers(url, process):
                file.seek(0)
                raise click.ClickException(f"the server did not start:\n{file.read()}")
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            requests.get(url, timeout=1)
            return True
        except requests.RequestException:
            time.sleep(0.1)
    return False


def free_port(preferred: int = 0) -> int:
    """Returns a port that is free, the preferred one if it is. Raises ClickException where none
    is."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            # As the server opens it: a port that was closed just now counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise click.ClickException("no port is free on 127.0.0.1")
