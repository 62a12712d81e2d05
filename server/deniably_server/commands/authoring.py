"""The commands of a survey's author: check, publish, status, close.

Flask, uvicorn and numpy are imported inside the commands, so that ``deniably --help`` is quick.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from textwrap import fill
from time import process_time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from deniably.core.steering import one_line, printable
from deniably.core.table import aligned
from deniably_server.commands.key_option import key_option
from deniably_server.commands.server_calls import ServerRefused, base, call, fetch

if TYPE_CHECKING:
    from deniably.authoring.checking import Checked
    from deniably.survey.survey import Survey

_LONG = 10  # seconds
_WIDTH = 100  # characters

_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
server_option = click.option(
    "--server",
    envvar="DENIABLY_SERVER",
    default="http://127.0.0.1:8000",
    show_default=True,
    help="Address of the server. [DENIABLY_SERVER]",
)
_token = click.option(
    "--token",
    envvar="DENIABLY_TOKEN",
    required=True,
    help="The author's token; better given as DENIABLY_TOKEN, which other users cannot see.",
)


@click.command()
@_file
@click.option("--exact", is_flag=True, help="Also add up epsilon by exact composition and by zCDP.")
@click.option(
    "--server",
    envvar="DENIABLY_SERVER",
    help="Also look up what you published on this server in the last 365 days, and say how much"
    " budget people who answered all of it have left. [DENIABLY_SERVER]",
)
@key_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object instead: what the survey spends of 100, its guessing rates and"
    " margins, other ways to ask it, and mends if devices refuse it. The exit status is 1 if the"
    " file has mistakes.",
)
@click.option(
    "--n",
    type=click.IntRange(1),
    help="With --json, the number of respondents that margins are for.  [default: 1000]",
)
def check(
    file: Path, exact: bool, server: str | None, path: Path | None, as_json: bool, n: int | None
) -> None:  # fmt: skip
    """Check a survey and show what its questions protect, and how accurate they are.

    If a question could use other mechanisms, their margins are listed, too.
    """
    from deniably.authoring.checking import MARGIN_AT

    if as_json:
        return _print_view(file, n or MARGIN_AT)
    if n is not None:
        raise click.UsageError("--n goes with --json; without it, margins are for 1,000")
    return _print_check(file, server, path, exact=exact)


def _print_check(file: Path, server: str | None, path: Path | None, *, exact: bool) -> None:
    """Print the table of a check, with its notes and what respondents read first."""
    from deniably.authoring.checking import check_survey

    began = process_time()
    with sentences(str(file)):
        found = check_survey(file)
    notes = list(found.notes)
    if found.refused:
        notes += _dearest_line(found.survey, file.read_bytes(), str(file))
    if (took := process_time() - began) > _LONG:
        notes.append(
            f"compiling this took {took:.0f} seconds, and a server gives it 30 unless its operator"
            " sets more (--longest); most of it goes into the designs of means (number, scale,"
            " vector): ask for fewer of different ranges and epsilons, or publish two surveys"
        )
    if exact:
        notes += found.exact.notes
    show_check(found, [*notes, *_of_others(found.survey, server, path)], exact=exact)


def show_check(found: Checked, notes: Sequence[str], *, exact: bool = False) -> None:
    """Prints the result of a check for the survey's author, with the ``notes`` below its
    tables."""
    from deniably.authoring.checking import MARGIN_AT, fake_text
    from deniably.authoring.mixers import has_key

    click.echo(one_line(found.caption))
    if has_key(found.survey):  # else the digest is not the one that will be published
        click.echo(f"digest {found.survey.digest}")
    click.echo()
    for line in aligned(found.lines, found.texts):
        click.echo(line)
    click.echo(
        f"\nmargin: of {MARGIN_AT:,} respondents, 95 % either way, in points for a share of 30 %,"
        " in percent of the range for a mean; the widest where a question has several"
    )
    named = [one for one in found.rows if one["alternatives"]]
    if named:
        click.echo("\nalternatives: that margin with each mechanism, at the same epsilon")
    for row in named:
        click.echo(one_line(f"{row['question']}: {row['alternatives']}"))
    click.echo(
        "\nfake reports: how many honest people one weighs as much as, and how far 5 % of fake"
        " reports can move a figure, in points or in percent of the range"
    )
    for row in found.rows:
        click.echo(one_line(f"{row['question']}: {fake_text(row)}"))
    if exact:
        click.echo("\nepsilon of all answers of one person, added up in three ways:\n")
        for line in aligned(found.exact.lines, found.exact.texts):
            click.echo(line)
    for note in notes:
        click.echo(f"\n{printable(note)}")
    click.echo(f"\n{'-' * _WIDTH}\nWhat respondents read first:\n")
    for paragraph in found.first_page:
        click.echo(fill(printable(paragraph), _WIDTH, subsequent_indent="  "))


def _print_view(file: Path, n: int) -> None:
    """Print the view of a check as JSON. Exits with 1 where the file has mistakes."""
    import msgspec

    from deniably.authoring.quick_check import quick_check
    from deniably.authoring.survey_files import read_document

    try:
        with sentences(str(file)):
            view = quick_check(lambda: read_document(file), n)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo(msgspec.json.format(view.json, indent=2))
    if view.problems:
        raise SystemExit(1)


@click.command()
@_file
@server_option
@_token
@key_option
@click.option(
    "--signature",
    "signed",
    type=click.Path(path_type=Path),
    help="File that deniably sign wrote on another computer; no key is needed then.",
)
@click.option("--anyway", is_flag=True, help="Publish even a survey that devices refuse.")
def publish(
    file: Path, server: str, token: str, path: Path | None, signed: Path | None, anyway: bool
) -> None:
    """Sign a survey with the author's key and publish it on a server, for good.

    Devices refuse a survey that gives away too much. --anyway publishes it nevertheless. With
    --signature you publish a survey that was signed on another computer, which has the key.
    """
    from deniably.authoring.survey_files import with_named_files
    from deniably.core.bounded_files import SMALL, read_file

    kind = "application/json" if file.suffix == ".json" else "application/yaml"
    with sentences(str(file)):
        text = with_named_files(read_file(file, SMALL), file.parent)
    publish_definition(
        text, str(file), server, token, path, kind=kind, anyway=anyway, signed=signed
    )


def publish_definition(
    text: bytes, whence: str, server: str, token: str, path: Path | None, *,
    kind: str = "application/yaml", anyway: bool = False, signed: Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Publishes an author's text and prints the links; returns the server's answer.

    ``whence`` names the text in errors. The signature is read from ``signed``, or made with the
    key at ``path``. Raises ClickException where the text is no valid survey, where the signature
    is not of this text, and where the server refuses; also where devices refuse the survey, except
    with ``anyway``.
    """
    from deniably.authoring.checking import refusals
    from deniably.authoring.compiling import language_note, publish_text
    from deniably.authoring.mixers import has_key, require_key
    from deniably_server.commands.author_key import author_key
    from deniably_server.commands.mixer_key import mixer_lines, with_server_key
    from deniably_server.commands.signature_file import signature_in

    sent = text
    with sentences(whence):
        survey = publish_text(text)
        if not has_key(survey) and not signed:
            sent, kind = with_server_key(text, survey, base(server), token), "application/json"
            survey = publish_text(sent)
        require_key(survey)
    if (refused := refusals(survey)) and not anyway:
        raise click.ClickException(
            "\n".join([
                *refused, *_dearest_line(survey, text, whence),
                "Nothing was published. To publish it all the same: --anyway",
            ])
        )  # fmt: skip
    signature = signature_in(signed, survey) if signed else author_key(path).sign(survey.digest)
    for line in mixer_lines(survey):
        click.echo(line)
    others = _on_server(survey, server, signature.author)
    published = call(
        "POST",
        f"{base(server)}/api/surveys",
        {
            "Authorization": f"Bearer {token}",
            "Content-Type": kind,
            "Deniably-Author": signature.author,
            "Deniably-Signature": signature.value,
        },
        sent,
    )
    if published.get("state") == "closed":
        click.echo(
            f"{survey.name} was published before and is closed: it takes no more reports, and is"
            f" not opened again. To ask once more, publish it under another name.\n\n"
            f"digest {survey.digest}"
        )
    else:
        click.echo(f"{survey.name} is published, digest {survey.digest}")
    click.echo(f"{'author':<10}  {signature.fingerprint}")
    for title, link in published.get("links", {}).items():
        click.echo(one_line(f"{title:<10}  {base(server)}{link}"))
    for note in [*_next_step(survey, base(server)), *language_note(survey.language), *others]:
        click.echo(f"\n{printable(note)}")
    return published


def _next_step(survey: Survey, server: str) -> list[str]:
    """What somebody else has to do before anybody can answer."""
    from deniably.survey.mixer import Mixer

    if not isinstance(survey.mixer, Mixer):
        return []
    return [
        f"Nobody can answer before the mixer takes the survey on. Ask {survey.mixer.by} to run:"
        f" deniably mix accept {server}/s/{survey.name}"
    ]


def _dearest_line(survey: Survey, text: bytes, whence: str) -> list[str]:
    """Where in the file the question stands that gives away most."""
    from deniably.authoring.checking import dearest
    from deniably.authoring.documents import line_of

    question = dearest(survey)
    line = line_of(text, "questions", survey.questions.index(question))
    where = f"{whence}, line {line}: " if line else ""
    spent = question.mechanism.loss.epsilon_text()
    return [f"{where}{question.name} gives away most, epsilon {spent}"]


def _of_others(survey: Survey, server: str | None, path: Path | None) -> list[str]:
    """What the author's other surveys leave to respondents, or why that was not looked at."""
    from deniably_server.commands.author_key import author_key, default_path

    if not server:
        return [
            "What your other surveys of the last 365 days leave to people who answered them was not"
            " looked at: add --server with the address of your server."
        ]
    if path is None and not default_path().exists():
        return ["There is no author's key here yet, so no survey on the server is yours."]
    return _on_server(survey, server, author_key(path).author) or [
        f"You published no other survey on {server} in the last 365 days, with this key."
    ]


def _on_server(survey: Survey, server: str, author: str) -> list[str]:
    """What an author's other surveys on a server leave to those who answered all of them."""
    from deniably.authoring.other_surveys import sentences as of_others
    from deniably.core.errors import BadRegister

    today = datetime.now(UTC).date().isoformat()
    try:
        return of_others(survey, author, lambda path: fetch(f"{base(server)}{path}"), today)
    except BadRegister as error:
        return [f"What your other surveys leave to respondents could not be looked at: {error}."]


def _ask_where_a_mixer_counts(address: str) -> None:
    """Ask before a survey with a mixer is closed: with too few senders the mixer deletes all."""
    # The definition is public; the status is for the token that published, and others may close.
    definition = call("GET", address, {}, b"")
    if not (mixer := definition.get("mixer")):
        return
    least = definition["results"]["minimum"]
    told = (
        f"This server does not know how many people have sent; the mixer of {mixer['by']} says so,"
        f" in tens. If fewer than {least:,} have, the mixer deletes all that came."
    )
    click.echo(one_line(told), err=True)
    click.confirm("Close it now, for good?", abort=True, err=True)


@click.command()
@click.argument("name")
@server_option
@_token
@key_option
@click.option("--yes", is_flag=True, help="Do not ask, even if the results stay hidden.")
def close(name: str, server: str, token: str, path: Path | None, yes: bool) -> None:
    """Close a survey: it takes no more reports, for good.

    You need the token that published it, or any author's token and the author's key. If it has
    fewer reports than its minimum, its results stay hidden for ever; the command asks you first.
    The server does not know how many answers a mixer holds, so of a survey with one it always asks.
    """
    address = f"{base(server)}/api/surveys/{quote(name, safe='')}"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    headers |= _signed_to_close(address, path)
    if not yes:
        _ask_where_a_mixer_counts(address)
    try:
        # The server refuses first where results would stay hidden, so that nobody loses them by
        # accident.
        closed = call("PATCH", address, headers, b'{"state":"closed","only_with_results":true}')
    except ServerRefused as refused:
        if refused.kind != "/problems/too-few":
            raise
        click.echo(refused.message, err=True)
        counted = call("GET", f"{address}/status", headers, b"")
        for sentence in counted.get("sentences", ())[:2]:  # how many, in whole tens
            click.echo(one_line(str(sentence)), err=True)
        if not yes:
            click.confirm("Close it now, for good?", abort=True, err=True)
        closed = call("PATCH", address, headers, b'{"state":"closed"}')
    count = closed.get("reports")
    if by := closed.get("mixer"):
        click.echo(one_line(f"{name} is closed; the mixer of {by} passes on the answers now"))
        click.echo(f"{'results':<10}  {base(server)}/surveys/{quote(name, safe='')}")
        return
    if not isinstance(count, int):
        click.echo(f"{name} is closed, with fewer reports than its results need")
        return
    click.echo(f"{name} is closed, with {count:,} report{'' if count == 1 else 's'}")
    click.echo(f"{'results':<10}  {base(server)}/surveys/{quote(name, safe='')}")


@click.command()
@click.argument("name")
@server_option
@_token
def status(name: str, server: str, token: str) -> None:
    """Show whether a survey is open, about how many have answered, and when results are shown.

    For an open survey, the number is rounded to whole tens and at most five minutes old. An
    operator's token works too.
    """
    address = f"{base(server)}/api/surveys/{quote(name, safe='')}/status"
    found = call("GET", address, {"Authorization": f"Bearer {token}"}, b"")
    click.echo(one_line(f"{name}: {found.get('title')}"))
    for sentence in found.get("sentences", ()):
        click.echo(one_line(str(sentence)))
    click.echo(f"{'results':<10}  {base(server)}/surveys/{quote(name, safe='')}")


def _signed_to_close(address: str, path: Path | None) -> dict[str, str]:
    """The author's signature for a closing, as headers; empty if there is no key here."""
    from deniably.core.errors import DeniablyError
    from deniably.survey.survey import read_survey
    from deniably.trust.register import closing_digest
    from deniably_server.commands.author_key import author_key, default_path

    if path is None and not default_path().exists():
        return {}
    try:
        survey = read_survey(fetch(address))
    except DeniablyError:  # the server reports what is wrong
        return {}
    signature = author_key(path).sign(closing_digest(survey.digest))
    return {"Deniably-Author": signature.author, "Deniably-Signature": signature.value}


@contextmanager
def sentences(whence: str) -> Generator[None]:
    """Turns BadSurvey and OSError within the block into ClickException. Its text begins with
    ``whence`` and lists every problem of the survey, or says why the file cannot be read."""
    from deniably.core.errors import BadSurvey

    try:
        yield
    except OSError as error:
        raise click.ClickException(one_line(f"{whence}: {error.strerror}")) from None
    except BadSurvey as error:
        found = "\n".join(f"  {one_line(str(problem))}" for problem in error.problems)
        raise click.ClickException(f"{whence} is no valid survey:\n{found}") from None
