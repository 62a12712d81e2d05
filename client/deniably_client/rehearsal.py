"""``deniably rehearse``: made-up people answer a survey, so that its author sees results.

Each answers from a device of their own, over HTTP, as real people do.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address
from urllib.parse import urlsplit

import click

from deniably.core.coins import Coins
from deniably.survey.parts import Choice, Range
from deniably.survey.questions import (
    NOT_APPLICABLE,
    Number,
    Point,
    Product,
    Question,
    SelectMultiple,
    VectorOfNumbers,
)
from deniably.survey.report import is_shown
from deniably.survey.steering import one_line
from deniably.survey.survey import Survey
from deniably_client.device import Device, session

MOST = 100_000
Answers = dict[str, object]
Weights = Mapping[str, Sequence[int]]

_WORKERS = 4
_LARGEST_WEIGHT = 9


@click.command()
@click.argument("url")
@click.option(
    "--people",
    type=click.IntRange(1, MOST),
    default=1000,
    show_default=True,
    help="So many answer.",
)
@click.option("--yes", is_flag=True, help="Do not ask, also where the server is elsewhere.")
def rehearse(url: str, people: int, yes: bool) -> None:
    """Let made-up people answer the survey at URL, to see what its results look like.

    Each answers from a device of their own, just as real people do. What they answered is shown
    at the end, to be compared with the results. Their reports stay in the survey for good: ask
    real people in another one, under another name.
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
    device.cost()  # refused before anybody answers
    if not (yes or _is_here(url)):
        click.confirm(
            f"{one_line(survey.title)} is on {urlsplit(url).netloc}, which is not this machine. The"
            f" reports of {people:,} made-up people would stay in it for good. Send them?",
            abort=True,
        )
    crowd = made_up(survey, people)
    with click.progressbar(length=people, label="made-up people answer", file=sys.stderr) as bar:
        for done in answer_all(url, crowd):
            bar.update(done)
    for line in _truth(survey, crowd):
        click.echo(line)
    click.echo(
        f"\n{people:,} made-up people have answered {survey.name} so. Compare it with what the"
        f" results say, once they are shown: {_results(url)}"
    )


def answer_all(url: str, people: Iterable[Mapping[str, object]]) -> Iterator[int]:
    """Each person answers with a device of their own; yields how many have, in steps."""
    local = threading.local()

    def answer(answers: Mapping[str, object]) -> None:
        if not hasattr(local, "session"):
            local.session = session()  # connections are shared, coins and reports are not
        Device(url, session=local.session).answer(answers)

    with ThreadPoolExecutor(_WORKERS) as pool:
        for _ in pool.map(answer, people):
            yield 1


def made_up(survey: Survey, people: int, coins: Coins | None = None) -> list[Answers]:
    """The answers of so many people, by the name of the question; "not applicable" is left out.

    How popular each answer is among them is drawn once; numbers have one hump.
    """
    coins = coins or Coins()
    weights = {
        name: [1 + coins.below(_LARGEST_WEIGHT) for _ in choices]
        for question in survey.questions
        for name, choices in _choices(question)
    }
    return [_person(survey, weights, coins) for _ in range(people)]


def _person(survey: Survey, weights: Weights, coins: Coins) -> Answers:
    answers: Answers = {}
    hidden: set[str] = set()
    for question in survey.questions:
        if is_shown(question, answers, hidden):
            answers[question.name] = _answer(question, weights, coins)
        else:
            hidden.add(question.name)
    return answers


def _answer(question: Question, weights: Weights, coins: Coins) -> object:
    picked = {
        name: choices[coins.choose(weights[name])].name for name, choices in _choices(question)
    }
    match question:
        case SelectMultiple():
            return _ticks(question, weights[question.name], coins)
        case Number():
            return _number(question.range, coins)
        case VectorOfNumbers() | Point():
            return {part.name: _number(part.range, coins) for part in question.parts}
        case Product():
            return {part.name: picked[f"{question.name}.{part.name}"] for part in question.parts}
        case _:
            return picked[question.name]


def _choices(question: Question) -> list[tuple[str, list[Choice]]]:
    """What is chosen from, by the name of the question or ``question.part``."""
    match question:
        case Number() | VectorOfNumbers() | Point():
            return []
        case Product():
            return [(f"{question.name}.{part.name}", part.choices) for part in question.parts]
        case _:
            shown = [choice for choice in question.choices if choice.name != NOT_APPLICABLE]
            return [(question.name, shown)]


def _ticks(question: SelectMultiple, weights: Sequence[int], coins: Coins) -> list[str]:
    ((_, choices),) = _choices(question)
    ticked = [
        choice.name
        for choice, weight in zip(choices, weights, strict=True)
        if coins.below(2 * _LARGEST_WEIGHT) < weight
    ]
    return [ticked[place] for place in coins.pick(len(ticked), min(len(ticked), question.most))]


def _number(grid: Range, coins: Coins) -> str:
    position = sum(coins.below(grid.positions) for _ in range(3)) // 3
    value = grid.value(position)
    return f"{Decimal(value.numerator) / value.denominator:f}"


# --- what they answered -------------------------------------------------------------------------


def _truth(survey: Survey, crowd: Sequence[Answers]) -> Iterator[str]:
    for question in survey.questions:
        given = [person[question.name] for person in crowd if question.name in person]
        shown = "" if len(given) == len(crowd) else f"  (shown to {len(given):,} of them)"
        yield f"\n{one_line(question.label)}{shown}"
        if isinstance(question, Number):
            yield _line("mean", _mean(given))
        elif isinstance(question, VectorOfNumbers | Point):
            for part in question.parts:
                yield _line(f"{part.label}: mean", _mean(_part(given, part.name)))
        elif isinstance(question, Product):
            for one in question.parts:
                yield from _shares(one.choices, _part(given, one.name), f"{one.label}: ")
        else:
            ((_, choices),) = _choices(question)
            yield from _shares(choices, given)


def _part(given: Sequence[object], name: str) -> list[object]:
    return [one[name] for one in given if isinstance(one, dict)]


def _shares(choices: Sequence[Choice], given: Sequence[object], before: str = "") -> Iterator[str]:
    for choice in choices:
        count = sum(one == choice.name or _ticked(choice.name, one) for one in given)
        yield _line(before + choice.label, f"{count / len(given):.1%}" if given else "nobody")


def _line(what: str, figure: str) -> str:
    return f"  {one_line(what):<40} {figure:>8}"


def _ticked(name: str, given: object) -> bool:
    return isinstance(given, list) and name in given


def _mean(given: Sequence[object]) -> str:
    numbers = [Fraction(str(one)) for one in given]
    return f"{float(sum(numbers) / len(numbers)):.4g}" if numbers else "nobody"


# --- where --------------------------------------------------------------------------------------


def _is_here(url: str) -> bool:
    """Whether the server is on this machine, by its name."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _results(url: str) -> str:
    return url.partition("#")[0].rstrip("/").replace("/s/", "/surveys/")
