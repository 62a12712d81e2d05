"""``deniably demo``: runs a whole survey in a minute, with the answers of a real one.

It starts a server on a temporary database and publishes ``fair1978.yaml``. Every respondent of
``fair1978.csv`` answers over HTTP from a device of their own. Then it prints the true shares beside
the server's estimates.
"""

from __future__ import annotations

import csv
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import requests

from deniably.trust.signing import new_key
from deniably_client.rehearsal import answer_all

HERE = files("deniably_client") / "demo"
_Answers = dict[str, str]

_PATIENCE = 30.0
"""Seconds until the server has to answer."""


@click.command()
@click.option(
    "--port",
    default=8000,
    show_default=True,
    help="Port; if taken, a free one.",
)
@click.option(
    "--exit",
    "leave",
    is_flag=True,
    help="Stop the server after the figures.",
)
def demo(port: int, leave: bool) -> None:
    """Run a survey of 6,366 people on this machine and show truth beside estimate."""
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder), port) as (url, token):
        click.echo(f"Server on {url}, database in {folder}")
        survey = _publish(Path(folder), url, token)
        people = respondents()
        with click.progressbar(length=len(people), label="Respondents answering") as bar:
            started = time.perf_counter()
            for done in answer_all([f"{url}/s/{survey}"], people):
                bar.update(done)
        seconds = time.perf_counter() - started
        results = requests.get(f"{url}/api/surveys/{survey}/results", timeout=30).json()
        click.echo(_table(results, people))
        click.echo(f"\n{len(people)} people answered in {seconds:.0f} seconds.")
        click.echo(f"Form       {url}/s/{survey}")
        click.echo(f"Dashboard  {url}/surveys/{survey}")
        if not leave:
            click.echo("Ctrl-C ends the demonstration and deletes its database.")
            _wait_for_interrupt()


def respondents() -> list[_Answers]:
    """Returns the true answers of the 6,366 respondents of the survey of 1978, one dict for each:
    question name -> choice name."""
    people: list[_Answers] = []
    with (HERE / "fair1978.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            # A row of the table stands for `count` people who answered alike; they share its dict.
            people += [row] * int(row.pop("count"))
    return people


def _table(results: dict[str, Any], people: list[_Answers]) -> str:
    lines: list[str] = []
    for question in results["questions"]:
        truth = Counter(person[question["name"]] for person in people)
        lines += [
            "",
            f"{question['label']}  (epsilon {question['epsilon']}, n {question['n']})",
            f"  {'':<12}{'truth':>9}{'estimate':>11}   {'95 % interval':<19}",
        ]
        for choice in question["choices"]:
            share = truth[choice["name"]] / len(people)
            low, high = choice["interval"]
            inside = "holds the truth" if low <= share <= high else "misses the truth"
            lines.append(
                f"  {choice['label']:<12}{share:>8.1%} {choice['estimate']:>10.1%}   "
                f"{low:>6.1%} to {high:<6.1%}   {inside}"
            )
    return "\n".join(lines)


# --- the server, run and asked as an operator and an author would ----------------------------


@contextmanager
def _server(folder: Path, port: int) -> Generator[tuple[str, str]]:
    """Yields a running server's address and author token."""
    database = str(folder / "demo.db")
    token = _deniably("token", "new", "--database", database).split()[-1]
    port = _free_port(port)
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "deniably_client", "serve"]
    command += ["--database", database, "--port", str(port)]
    log = (folder / "server.log").open("w+", encoding="utf-8")
    # A session of its own: Ctrl-C is for the demonstration, which then stops the server.
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        if not _answers(url, process):
            log.seek(0)
            raise click.ClickException(f"the server did not start:\n{log.read()}")
        yield url, token
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def _publish(folder: Path, url: str, token: str) -> str:
    path = folder / "survey.yaml"
    path.write_text((HERE / "fair1978.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    key = folder / "author.key"  # an author of this demonstration, who is deleted with it
    key.touch(0o600)
    key.write_bytes(new_key().text)
    output = _deniably("publish", str(path), "--server", url, "--key", str(key), token=token)
    click.echo(output.rstrip())
    return "marriage"


def _deniably(*arguments: str, token: str = "") -> str:
    # In a process of its own: the client may not import the server.
    command = [sys.executable, "-m", "deniably_client", *arguments]
    environment = os.environ | ({"DENIABLY_TOKEN": token} if token else {})
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise click.ClickException(f"deniably {arguments[0]} failed:\n{done.stderr}")
    return done.stdout


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            requests.get(url, timeout=1)
            return True
        except requests.RequestException:
            time.sleep(0.1)
    return False


def _free_port(preferred: int) -> int:
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


def _wait_for_interrupt() -> None:
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("\nStopped.")
