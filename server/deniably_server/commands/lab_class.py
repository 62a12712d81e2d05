"""``deniably lab class``: a survey of one question that a class asks itself, with its page."""

from __future__ import annotations

import secrets
from functools import partial
from pathlib import Path
from urllib.parse import quote

import click
from click.core import ParameterSource

from deniably.core.loopback import is_here
from deniably.core.steering import one_line
from deniably_server.commands.authoring import (
    close,
    publish_definition,
    sentences,
    server_option,
)
from deniably_server.commands.class_server import class_server, class_token
from deniably_server.commands.database import settings_options
from deniably_server.commands.key_option import key_option
from deniably_server.commands.server_calls import base

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""The letters of a name that is typed from a wall: no two look alike."""
_LENGTH = 5
_LEAST_STEP, _STEPS = 5, 5
_USUAL = 30
_WHENCE = "what you ask for"


@click.command("class")
@click.option("--question", required=True, help="What the class is asked.")
@click.option(
    "--choices",
    metavar="A,B,C",
    help="The answers, with commas between; without them it is yes or no.",
)
@click.option(
    "--coins",
    metavar="TRUTH",
    help="How often the first coin says: answer with the truth. [default: 1/2]",
)
@click.option(
    "--odds",
    help="The odds of two answers, instead of coins. The two coins are odds of 3; 9 shows more"
    " and protects less.",
)
@click.option("--name", help="The name in the address. [default: class- and five letters]")
@click.option(
    "--title",
    default="A question to the class",
    show_default=True,
    help="The line above the question.",
)
@click.option(
    "--language", default="en", show_default=True, help="Language of the form and of the page."
)
@click.option(
    "--people",
    type=click.IntRange(2, 1000),
    default=_USUAL,
    show_default=True,
    help="Number of people in the class. It says how precise that will be.",
)
@click.option(
    "--minimum",
    type=click.IntRange(2),
    help="The page renews its figures after so many reports. [default: a fifth of the people, at"
    " least 5]",
)
@click.option("--closed", is_flag=True, help="Show nothing before you close the survey.")
@click.option("--dry-run", is_flag=True, help="Print the survey's file, and publish nothing.")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the survey's file, and publish nothing.",
)
@click.option(
    "--public",
    is_flag=False,
    flag_value="auto",
    metavar="[ADDRESS]",
    help="Start a server that the phones reach, until you press Ctrl+C. It needs no token. ADDRESS"
    " is as for deniably serve.",
)
@settings_options("database", "port")
@server_option
@click.option(
    "--token",
    envvar="DENIABLY_TOKEN",
    help="The author's token; better given as DENIABLY_TOKEN, which other users cannot see.",
)
@key_option
@click.option("--anyway", is_flag=True, help="Publish even a survey that devices refuse.")
@click.pass_context
def in_class(
    context: click.Context, /, question: str, choices: str | None, coins: str | None,
    odds: str | None, name: str | None, title: str, language: str, people: int,
    minimum: int | None, closed: bool, dry_run: bool, output: Path | None, public: str | None,
    database: str, port: int, server: str, token: str | None, path: Path | None, anyway: bool,
) -> None:  # fmt: skip
    """Ask a class one question.

    It makes a survey of this question, publishes it and prints the address of its page for the
    projector. The page has the QR code of the form, the number of reports so far in rounded steps,
    and the result, which you can reveal. With --public it also starts a server on this machine.
    The phones must be in the same network.
    """
    import yaml

    if coins is not None and odds is not None:
        raise click.UsageError("state the privacy once: --coins or --odds")
    _check_where(context, public)
    written_question: dict[str, object] = {"name": "answer", "label": question}
    written_question |= {"type": "yes_no"} if choices is None else {
        "type": "select_one", "choices": [choice.strip() for choice in choices.split(",")]
    }  # fmt: skip
    written_question |= {"odds": _number(odds)} if odds is not None else {
        "coins": {"truth": _number(coins or "1/2")}
    }  # fmt: skip
    # While a survey is open, the newest step is held back: the first figures take two steps.
    largest_minimum = people if closed else people // 2
    if minimum is not None and minimum > largest_minimum:
        raise click.UsageError(
            f"--minimum {minimum} is more than {largest_minimum}: of {people} people nothing would"
            " be shown"
            + (" at all" if closed else ", as the newest step is held back; or add --closed")
        )
    document = {
        "name": name or f"class-{''.join(secrets.choice(_LETTERS) for _ in range(_LENGTH))}",
        "title": title,
        "language": language,
        "results": {
            "minimum": minimum or max(1, min(largest_minimum, max(_LEAST_STEP, people // _STEPS))),
            "while_open": not closed,
        },
        "questions": [written_question],
    }
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    _say_how_precise(text, people, to_stderr=dry_run or output is not None)
    if output is not None:
        _write(output, text)
    elif dry_run:
        click.echo(text, nl=False)
    elif public:
        token = token or class_token(database)
        with class_server(public, database, port) as running:
            server_address = running.address
            publish_definition(text.encode(), _WHENCE, server_address, token, path, anyway=anyway)
            survey_name = str(document["name"])
            click.echo(_page_of(survey_name, server_address, people))
            click.echo("\nOpen that page here, on the projector. Press Enter to close the survey,")
            click.echo("which shows all reports, and Ctrl+C to end the server.")
            running.keep(partial(_close, context, survey_name, server_address, token, path))
    elif not token:
        raise click.UsageError(
            "to publish it takes --token or DENIABLY_TOKEN; --dry-run shows the file without, and"
            " --public starts a server for this class"
        )
    else:
        publish_definition(text.encode(), _WHENCE, server, token, path, anyway=anyway)
        _say_where(str(document["name"]), server, people)


def _number(text: str) -> object:
    """Returns a number as a survey's file has it: fractions are texts there."""
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _say_how_precise(text: str, people: int, *, to_stderr: bool) -> None:
    """Prints the precision before anything is published; ``to_stderr`` where standard output has
    the file.

    Raises ClickException where it is no valid survey.
    """
    from deniably.authoring.compiling import publish_text
    from deniably.lab import classroom
    from deniably.wording.words import ENGLISH

    with sentences(_WHENCE):
        survey = publish_text(text)
    (question,) = survey.questions
    if (target := classroom.target(survey, question)) is not None:
        for sentence in classroom.precision(survey, question, target, people, ENGLISH):
            click.echo(one_line(sentence), err=to_stderr)
        click.echo(err=to_stderr)


def _check_where(context: click.Context, public: str | None) -> None:
    """Raises UsageError where options name two servers, or the database of none."""

    def is_given(name: str) -> bool:
        return context.get_parameter_source(name) is ParameterSource.COMMANDLINE

    if public and is_given("server"):
        raise click.UsageError("--public starts a server of its own: leave --server out")
    if not public and (is_given("database") or is_given("port")):
        raise click.UsageError("--database and --port are for the server that --public starts")


def _close(context: click.Context, name: str, server: str, token: str, path: Path | None) -> None:
    """Closes the survey as its author; prints what keeps it open."""
    try:
        context.invoke(close, name=name, server=server, token=token, path=path, yes=False)
    except click.ClickException as error:
        error.show()
    except click.Abort:
        click.echo("It stays open.", err=True)


def _page_of(name: str, server: str, people: int) -> str:
    results_address = f"{base(server)}/surveys/{quote(name, safe='')}"
    class_address = f"{results_address}/class" + (f"?people={people}" if people != _USUAL else "")
    return one_line(f"{'class':<10}  {class_address}")


def _say_where(name: str, server: str, people: int) -> None:
    click.echo(_page_of(name, server, people))
    click.echo()
    close = f"deniably close {name} --server {base(server)}"
    click.echo(one_line(f"To close it, which shows all reports: {close}"))
    if is_here(server):
        click.echo(
            "Phones cannot reach this address, which is this machine's own. If the server does not"
            " run with --public, start it so, or use deniably lab class --public."
        )
    elif not server.startswith("https:"):
        click.echo("Phones refuse a form whose address does not begin with https.")


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from None
    click.echo(f"wrote {file}", err=True)
