"""Answering in a terminal: ``deniably answer URL``."""

from __future__ import annotations

import sys

import click

from deniably import explain
from deniably.questions import Question
from deniably.survey import Survey
from deniably_client.device import EPSILON_LIMIT, Device


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
    answers = {question.name: _ask(question) for question in device.survey.questions}
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


def _ask(question: Question) -> str:
    """The name of the choice that the respondent picks by its number."""
    click.secho(f"\n{question.label}", bold=True)
    if isinstance(question.hint, str):
        click.echo(question.hint)
    click.echo(f"{explain.forward(question)}\n{explain.reverse(question)}\n")
    for number, choice in enumerate(question.choices, start=1):
        click.echo(f"  {number:>3}  {choice.label}")
    number = click.prompt("Your answer", type=click.IntRange(1, len(question.choices)))
    return question.choices[number - 1].name


def _wipe() -> None:
    """Take the answers off the screen and out of the terminal's scrollback."""
    if sys.stdout.isatty():
        click.echo("\x1b[H\x1b[2J\x1b[3J", nl=False)
