"""The demonstration of a mixer: the same people and questions once more, through a second party.

Without a mixer the survey's server sees each report, so that local odds alone protect an answer.
Through a mixer the server learns less of a person, and the results are more precise.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click
import msgspec
import requests

from deniably.authoring.documents import load
from deniably.survey.guessing_rates import rate_text
from deniably.survey.mixer import Mixer
from deniably.survey.odds import surest
from deniably.survey.survey import Survey, read_survey
from deniably_client.demo.processes import deniably, free_port, running

_BY = "a mixer of the demonstration"
_ODDS = 3
"""What the survey's server alone may learn of all answers of a person together."""
_PRIVACY = ("coins", "odds", "epsilon")
_LONGEST = 180.0
"""Seconds until the mixer has to have passed on: it asks the server every minute."""


@dataclass(frozen=True)
class Party:
    """The party that runs the mixer, with the ``offer`` that it made for one survey."""

    offer: str
    database: str

    def accept(self, url: str) -> None:
        """Accepts the survey at a URL, once it was published with the offer."""
        deniably("mix", "accept", url, "--database", self.database, "--yes")

    def wait(self, url: str) -> None:
        """Waits until the results at a URL are there, because the mixer has passed on. Raises
        ClickException where it does not."""
        click.echo(
            "Closed. The mixer asks the server every minute, and then passes the answers on."
        )
        last = time.monotonic() + _LONGEST
        while requests.get(url, timeout=30).status_code != 200:
            if time.monotonic() > last:
                raise click.ClickException("the mixer did not pass on the answers")
            time.sleep(0.5)


@contextmanager
def through_mixer(folder: Path) -> Generator[Party]:
    """Runs a mixer with a database in a folder, and yields its party."""
    database, port = str(folder / "mixer.db"), free_port()
    own = ("--database", database)
    offer = deniably("mix", "offer", "--address", f"http://127.0.0.1:{port}", "--by", _BY, *own)
    with running(folder / "mixer-server.log", port, "mix", "serve", *own) as url:
        click.echo(f"\nMixer on {url}. Another party would run it, on another machine.")
        yield Party(offer, database)


def mixed_survey(text: str, offer: str) -> str:
    """Returns an author's survey as one that goes through the mixer which made an offer, as JSON.

    The questions have the usual local odds of such surveys instead of their own protection.
    """
    written = cast(dict[str, Any], load(text.encode()))
    results = {key: written["results"][key] for key in written["results"] if key != "while_open"}
    questions = [
        {key: question[key] for key in question if key not in _PRIVACY}
        for question in written["questions"]
    ]
    mixed = written | {
        "name": f"{written['name']}-mixed",
        "results": results,
        "mixer": {"offer": json.loads(offer), "odds": _ODDS},
        "questions": questions,
    }
    return msgspec.json.encode(mixed).decode()


def compared(url: str, people: Sequence[Mapping[str, str]], alone: str, mixed: str) -> str:
    """Returns a table with the truth, the estimate with local odds alone and that with the mixer,
    of two surveys of the same people on the server at a URL."""
    local, through = (_results(url, name) for name in (alone, mixed))
    lines: list[str] = []
    for one, other in zip(local["questions"], through["questions"], strict=True):
        truth = Counter(person[one["name"]] for person in people)
        lines += [
            "",
            one["label"],
            f"  {'':<12}{'truth':>9}{'local odds alone':>22}{'with the mixer':>22}",
        ]
        lines += [
            f"  {choice['label']:<12}{truth[choice['name']] / len(people):>8.1%} "
            f"{_figure(choice):>22}{_figure(same):>22}"
            for choice, same in zip(one["choices"], other["choices"], strict=True)
        ]
    return "\n".join([*lines, "", *_protection(_survey(url, alone), _survey(url, mixed))])


def _figure(choice: Mapping[str, Any]) -> str:
    low, high = choice["interval"]
    return f"{choice['estimate']:.1%} ± {100 * (high - low) / 2:.1f}"


def _protection(alone: Survey, mixed: Survey) -> list[str]:
    """What each party can guess of all answers of a person, of 100 times."""
    assert isinstance(mixed.mixer, Mixer)
    losses = (alone.total, mixed.server_loss, mixed.total)
    local, server, both = (str(rate_text(surest(loss.odds_bound))) for loss in losses)
    return [
        "A guess between two lists of all answers of a person is right of 100 times at most",
        f"  {local:>5}  by the server, with local odds alone",
        f"  {server:>5}  by the server, with the mixer, which adds {mixed.mixer.blanks} made-up"
        " answers to each question",
        f"  {both:>5}  by server and mixer, if they work together",
    ]


def _results(url: str, name: str) -> dict[str, Any]:
    return dict(requests.get(f"{url}/api/surveys/{name}/results", timeout=30).json())


def _survey(url: str, name: str) -> Survey:
    return read_survey(requests.get(f"{url}/api/surveys/{name}", timeout=30).content)
