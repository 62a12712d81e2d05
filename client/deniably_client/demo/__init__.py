"""``deniably demo``: runs a whole survey in a minute, with the answers of a real one.

It starts a server on a temporary database and publishes ``fair1978.yaml``. Every respondent of
``fair1978.csv`` answers over HTTP from a device of their own. Then it prints the true shares beside
the server's estimates. With ``--mixer`` the same people answer the same questions once more,
through a mixer (``with_mixer.py``).
"""

from __future__ import annotations

import csv
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import requests

from deniably.trust.signing import new_key
from deniably_client.demo.processes import deniably, free_port, running
from deniably_client.demo.with_mixer import compared, mixed_survey, through_mixer
from deniably_client.rehearsal import answer_all

HERE = files("deniably_client") / "demo"
_Answers = dict[str, str]
_NAME = "marriage"


@click.command()
@click.option(
    "--port",
    default=8000,
    show_default=True,
    help="Port; if taken, a free one.",
)
@click.option(
    "--mixer",
    is_flag=True,
    help="Ask the same once more through a mixer, and compare.",
)
@click.option(
    "--exit",
    "leave",
    is_flag=True,
    help="Stop the server after the figures.",
)
def demo(port: int, mixer: bool, leave: bool) -> None:
    """Run a survey of 6,366 people on this machine and show truth beside estimate.

    With --mixer, it also runs a mixer, which another party would run on another machine. The same
    people answer the same questions through it.
    """
    with tempfile.TemporaryDirectory() as name, _server(Path(name), port) as (url, token):
        folder = Path(name)
        click.echo(f"Server on {url}, database in {folder}")
        text = (HERE / "fair1978.yaml").read_text(encoding="utf-8")
        click.echo(_publish(folder, "survey.yaml", text, url, token).rstrip())
        people = respondents()
        started = time.perf_counter()
        _answer(f"{url}/s/{_NAME}", people, "Respondents answering")
        seconds = time.perf_counter() - started
        results = _results(url, _NAME)
        if mixer:
            with through_mixer(folder) as party:
                written = mixed_survey(text, party.offer)
                click.echo(_publish(folder, "mixed.json", written, url, token).rstrip())
                party.accept(f"{url}/s/{_NAME}-mixed")
                _answer(f"{url}/s/{_NAME}-mixed", people, "The same people, through the mixer")
                deniably("close", f"{_NAME}-mixed", "--server", url, "--yes",
                         "--key", str(folder / "author.key"), token=token)  # fmt: skip
                party.wait(f"{url}/api/surveys/{_NAME}-mixed/results")
            click.echo(compared(url, people, _NAME, f"{_NAME}-mixed"))
        else:
            click.echo(_table(results, people))
        click.echo(f"\n{len(people)} people answered in {seconds:.0f} seconds.")
        click.echo(f"Form       {url}/s/{_NAME}")
        click.echo(f"Dashboard  {url}/surveys/{_NAME}")
        if mixer:
            click.echo(f"           {url}/surveys/{_NAME}-mixed")
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


def _answer(link: str, people: Sequence[_Answers], label: str) -> None:
    with click.progressbar(length=len(people), label=label) as bar:
        for done in answer_all([link], people):
            bar.update(done)


def _results(url: str, name: str) -> dict[str, Any]:
    return dict(requests.get(f"{url}/api/surveys/{name}/results", timeout=30).json())


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
    token = deniably("token", "new", "--database", database).split()[-1]
    with running(folder / "server.log", free_port(port), "serve", "--database", database) as url:
        yield url, token


def _publish(folder: Path, file: str, text: str, url: str, token: str) -> str:
    """Publishes a survey that is written in a file of this name; returns what the command says."""
    path = folder / file
    path.write_text(text, encoding="utf-8")
    key = folder / "author.key"  # an author of this demonstration, who is deleted with it
    if not key.exists():
        key.touch(0o600)
        key.write_bytes(new_key().text)
    return deniably("publish", str(path), "--server", url, "--key", str(key), token=token)


def _wait_for_interrupt() -> None:
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("\nStopped.")
