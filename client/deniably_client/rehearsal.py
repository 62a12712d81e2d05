"""``deniably rehearse``: simulated respondents answer a survey, so that its author sees results.

Each answers over HTTP from a device of their own, as real respondents do.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import cycle
from urllib.parse import urlsplit

import click

from deniably.core.loopback import is_here
from deniably.core.steering import one_line
from deniably.simulation.made_up import Answers, choices_of, make_up
from deniably.survey.parts import Choice
from deniably.survey.questions import (
    Number,
    Point,
    Product,
    VectorOfNumbers,
)
from deniably.survey.strata import query_of
from deniably.survey.survey import Survey
from deniably_client.device import Device, session

MOST = 100_000

_WORKERS = 4


def _no_table(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Refuses ``--people-from``, and says which command takes a table."""
    if value is not None:
        raise click.UsageError(
            "rehearse makes people up: --people 1000 says how many. For the answers in a table, use"
            f" deniably simulate SURVEY.yaml --truth {one_line(value)}, which needs no server"
        )


@click.command()
@click.argument("url")
@click.option(
    "--people",
    type=click.IntRange(1, MOST),
    default=1000,
    show_default=True,
    help="Number of people.",
)
@click.option("--people-from", "table", hidden=True, expose_value=False, callback=_no_table)
@click.option("--yes", is_flag=True, help="Do not ask, even if the server is on another machine.")
def rehearse(url: str, people: int, yes: bool) -> None:
    """Let made-up people answer the survey at URL, to see what its results look like.

    Each made-up person answers from a separate device, as real people do. In a survey with strata
    the made-up people are spread evenly over the strata. At the end you see their true answers, to
    compare with the results. Their reports stay in the survey for good: ask real people in another
    survey, under another name.
    """
    try:
        device = Device(url)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    survey = device.survey
    if survey.invited:
        raise click.ClickException(
            "this survey is by invitation, and made-up people have none; rehearse with a copy of"
            " it that has another name and no invited: true"
        )
    device.cost()  # fail before the first answer is sent
    if not (yes or is_here(url)):
        click.confirm(
            f"{one_line(survey.title)} is on {urlsplit(url).netloc}, which is not this machine. The"
            f" reports of {people:,} made-up people would stay in it for good. Send them?",
            abort=True,
        )
    crowd = make_up(survey, people)
    links = links_of(url, survey)
    with click.progressbar(length=people, label="made-up people answer", file=sys.stderr) as bar:
        for done in answer_all(links, crowd):
            bar.update(done)
    for line in _truth(survey, crowd):
        click.echo(line)
    click.echo(
        f"\nThese are the true answers of {people:,} made-up people to {survey.name}. Compare them"
        f" with the results, once they are shown: {_results(url)}"
    )


def links_of(url: str, survey: Survey) -> list[str]:
    """Returns the links to a survey, one for each stratum in order; without strata only ``url``.

    A query or fragment of ``url`` is left out.
    """
    address = url.partition("#")[0].partition("?")[0]
    return [f"{address}{query_of(stratum)}" for stratum in survey.every_stratum]


def answer_all(links: Sequence[str], people: Iterable[Mapping[str, object]]) -> Iterator[int]:
    """Lets each person answer with a separate device. Yields 1 for each report sent.

    Each of ``people`` maps the name of a question to the true answer. The first person opens the
    first of the ``links``, the next person the next, and so on in turn. Raises what
    ``Device.answer`` raises.
    """
    local = threading.local()

    def answer(link: str, answers: Mapping[str, object]) -> None:
        if not hasattr(local, "session"):
            local.session = session()  # shares connections, never randomness or reports
        Device(link, session=local.session).answer(answers)

    with ThreadPoolExecutor(_WORKERS) as pool:
        for _ in pool.map(answer, cycle(links), people):
            yield 1


# --- what they answered -------------------------------------------------------------------------


def _truth(survey: Survey, crowd: Sequence[Answers]) -> Iterator[str]:
    for question in survey.questions:
        answers = [person[question.name] for person in crowd if question.name in person]
        shown = "" if len(answers) == len(crowd) else f"  (shown to {len(answers):,} of them)"
        yield f"\n{one_line(question.label)}{shown}"
        if isinstance(question, Number):
            yield _line("mean", _mean(answers))
        elif isinstance(question, VectorOfNumbers | Point):
            for part in question.parts:
                yield _line(f"{part.label}: mean", _mean(_part(answers, part.name)))
        elif isinstance(question, Product):
            for choice_part in question.parts:
                yield from _shares(
                    choice_part.choices, _part(answers, choice_part.name), f"{choice_part.label}: "
                )
        else:
            ((_, choices),) = choices_of(question)
            yield from _shares(choices, answers)


def _part(answers: Sequence[object], name: str) -> list[object]:
    return [answer[name] for answer in answers if isinstance(answer, dict)]


def _shares(
    choices: Sequence[Choice], answers: Sequence[object], before: str = ""
) -> Iterator[str]:
    for choice in choices:
        count = sum(answer == choice.name or _ticked(choice.name, answer) for answer in answers)
        yield _line(before + choice.label, f"{count / len(answers):.1%}" if answers else "nobody")


def _line(label: str, figure: str) -> str:
    return f"  {one_line(label):<40} {figure:>8}"


def _ticked(name: str, answer: object) -> bool:
    return isinstance(answer, list) and name in answer


def _mean(answers: Sequence[object]) -> str:
    numbers = [Fraction(str(answer)) for answer in answers]
    return f"{float(sum(numbers) / len(numbers)):.4g}" if numbers else "nobody"


def _results(url: str) -> str:
    return url.partition("#")[0].partition("?")[0].rstrip("/").replace("/s/", "/surveys/")
