"""Answering in a terminal: ``deniably answer URL``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from deniably import explain
from deniably.errors import BadAnswer
from deniably.parts import Choice, Range
from deniably.questions import (
    Number,
    Point,
    Product,
    Question,
    SelectMultiple,
    VectorOfNumbers,
)
from deniably.report import is_shown
from deniably.survey import EPSILON_LIMIT, Survey
from deniably_client.device import Device


@click.command()
@click.argument("url")
@click.option(
    "--limit",
    default=EPSILON_LIMIT,
    show_default=True,
    help="Refuse a survey whose questions together allow a larger epsilon.",
)
@click.option("--digest", help="Refuse any other version of the survey than this.")
def answer(url: str, limit: str, digest: str | None) -> None:
    """Answer the survey at URL here in the terminal.

    Your device mixes chance into every answer before anything is sent; the answers themselves
    are not sent and not kept. The screen is cleared afterwards.
    """
    try:
        device = Device(url, epsilon_limit=limit, digest=digest)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    _introduce(device.survey)
    answers = _ask_all(device.questions)
    if not click.confirm("\nSend now? What is sent cannot be changed afterwards"):
        _wipe()
        click.echo("Nothing was sent.")
        return
    receipt = device.answer(answers)
    _wipe()
    click.echo("Sent. Your receipt, without any answer in it:\n")
    click.echo(receipt)


def _introduce(survey: Survey) -> None:
    click.secho(f"\n{survey.title}", bold=True)
    for text in (survey.intro, survey.contact):
        if isinstance(text, str):
            click.echo(f"\n{text}")
    click.echo(
        "\nNobody can tell from what is sent what you answered. Answer truthfully: your device"
        "\ndoes the mixing. That you took part, and your network address, stay visible to the"
        "\nserver's network."
    )
    click.echo(f"\n{explain.total(survey)}")
    if survey.asked < len(survey.questions):
        click.echo(
            f"\nYou are asked {survey.asked} of {len(survey.questions)} questions, picked by chance"
            " on this device."
        )


def _ask_all(questions: Sequence[Question]) -> dict[str, object]:
    """The answers to the questions that are shown."""
    answers: dict[str, object] = {}
    hidden: set[str] = set()
    for question in questions:
        if not is_shown(question, answers, hidden):
            hidden.add(question.name)
            continue
        click.secho(f"\n{question.label}", bold=True)
        if isinstance(question.hint, str):
            click.echo(question.hint)
        click.echo(f"{explain.forward(question)}\n{explain.reverse(question)}")
        if bounds := explain.clipped(question):
            click.echo(bounds)
        answers[question.name] = _ask(question)
    return answers


def _ask(question: Question) -> object:
    """One answer, by the numbers of choices or as numbers."""
    match question:
        case SelectMultiple():
            return _ticks(question)
        case Number():
            return _number("Your answer", question.range)
        case VectorOfNumbers() | Point():
            return {part.name: _number(part.label, part.range) for part in question.parts}
        case Product():
            return {part.name: _choice(part.choices, part.label) for part in question.parts}
        case _:
            return _choice(question.choices)


def _choice(choices: Sequence[Choice], label: str = "") -> str:
    """The name of the choice that the respondent picks by its number."""
    if label:
        click.echo(f"\n{label}")
    _list(choices)
    number = click.prompt("Your answer", type=click.IntRange(1, len(choices)))
    return choices[number - 1].name


def _ticks(question: SelectMultiple) -> list[str]:
    """The names of the choices that the respondent lists by their numbers."""
    _list(question.choices)

    def parse(text: str) -> list[str]:
        written = [part for part in text.replace(",", " ").split() if part != "0"]
        if not all(part.isdecimal() for part in written):
            raise click.UsageError("write the numbers of the choices, such as 1,3, or 0 for none")
        numbers = {int(part) for part in written}
        if not numbers <= set(range(1, len(question.choices) + 1)):
            raise click.UsageError(f"the choices have the numbers 1 to {len(question.choices)}")
        if len(numbers) > question.most:
            raise click.UsageError(f"choose up to {question.most}")
        return [question.choices[number - 1].name for number in sorted(numbers)]

    most = f"up to {question.most}" if question.most < len(question.choices) else "all that apply"
    found: list[str] = click.prompt(
        f"Your answer ({most}, such as 1,3; 0 for none)", value_proc=parse
    )
    return found


def _number(label: str, grid: Range) -> str:
    """A number as it was written."""
    unit = f" ({grid.unit})" if isinstance(grid.unit, str) else ""

    def parse(text: str) -> str:
        plain = text.strip().replace(",", ".") if text.count(",") == 1 else text.strip()
        try:
            grid.position(plain)
        except BadAnswer:
            raise click.UsageError("write a number, such as 12") from None
        return plain

    found: str = click.prompt(f"{label}{unit}", value_proc=parse)
    return found


def _list(choices: Sequence[Choice]) -> None:
    click.echo()
    for number, choice in enumerate(choices, start=1):
        click.echo(f"  {number:>3}  {choice.label}")


def _wipe() -> None:
    """Take the answers off the screen and out of the terminal's scrollback."""
    if sys.stdout.isatty():
        click.echo("\x1b[H\x1b[2J\x1b[3J", nl=False)
