"""The commands of whoever writes surveys: check, publish, close.

Flask, granian and numpy are imported inside the commands, so that ``deniably --help`` is quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import click

if TYPE_CHECKING:
    from requests import PreparedRequest

    from deniably.loss import Loss
    from deniably.survey import Survey

_MARGIN_AT = 1000  # respondents

_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_server = click.option(
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
def check(file: Path) -> None:
    """Check a survey and show what its questions protect, and how accurate they are."""
    from deniably.budgeting import SHARE
    from deniably.explain import describe
    from deniably.planning import plan_survey
    from deniably.survey import Waves
    from deniably_server.results.odds import odds_text

    survey, notes = _compile_with_notes(file)
    click.echo(f"{survey.name}: {survey.title}")
    click.echo(f"digest {survey.digest}\n")
    margins: dict[str, float] = {}
    for planned in plan_survey(survey, n=_MARGIN_AT, share=SHARE):
        margins[planned.question] = max(margins.get(planned.question, 0), planned.plan.margin)
    rows: list[tuple[str, ...]] = [
        ("question", "type", "mechanism", "odds", "epsilon", "delta", "margin")
    ]
    for question in survey.questions:
        loss = question.mechanism.loss
        rows.append(
            (
                question.name,
                question.type,
                describe(question.mechanism),
                odds_text(loss.bound),
                loss.epsilon_text(),
                _delta_text(loss),
                _margin_text(margins[question.name]),
            )
        )
    total = survey.total
    together = "all together" if survey.asked == len(survey.questions) else "what is asked"
    odds = odds_text(total.bound)
    rows.append((together, "", "", odds, total.epsilon_text(), _delta_text(total), ""))
    if isinstance(survey.waves, Waves):
        history = survey.history
        odds = odds_text(history.bound)
        rows.append(("all waves", "", "", odds, history.epsilon_text(), _delta_text(history), ""))
    if not total.delta:  # nor has any question
        rows = [(*row[:5], row[6]) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if index < 3 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())
    click.echo(
        f"\nmargin: of {_MARGIN_AT:,} respondents, 95 % either way, in points for a share of 30 %,"
        " in percent of the range for a mean; the widest where a question has several"
    )
    for note in [*notes, *_refusals(survey, together)]:
        click.echo(f"\n{note}")


def _margin_text(margin: float) -> str:
    return f"{100 * margin:.1f}" if margin <= 1 else "> 100"


def _delta_text(loss: Loss) -> str:
    from deniably.privacy import plain

    return plain(loss.delta) if loss.delta else "0"


def _refusals(survey: Survey, together: str) -> list[str]:
    """A sentence where devices refuse the survey, for its epsilon, and one for its delta."""
    from fractions import Fraction

    from deniably.ledger import DELTA_LIMIT
    from deniably.survey import EPSILON_LIMIT

    refused: list[str] = []
    limit = Fraction(EPSILON_LIMIT)
    if not survey.history.within(limit):
        above = [one for one in survey.questions if not one.mechanism.loss.within(limit)]
        found = [f"{one.name} alone {one.mechanism.loss.epsilon_text()}" for one in above]
        found.append(f"{together} {survey.total.epsilon_text()}")
        if survey.history != survey.total:
            found.append(f"all waves {survey.history.epsilon_text()}")
        refused.append(
            f"epsilon above {EPSILON_LIMIT}: {', '.join(found)}. Devices refuse this"
            " survey; in a terminal and in Python a respondent can set a higher limit, in a"
            " browser nobody can."
        )
    if survey.total.delta > DELTA_LIMIT:
        refused.append(
            f"delta above {float(DELTA_LIMIT):g}: {together} {_delta_text(survey.total)}. Devices"
            " refuse this survey."
        )
    return refused


@click.command()
@_file
@_server
@_token
@click.option(
    "--key",
    "path",
    envvar="DENIABLY_KEY",
    type=click.Path(path_type=Path),
    help="File of the author's key; without it author.key in DENIABLY_HOME or your configuration"
    " folder, made if need be. [DENIABLY_KEY]",
)
def publish(file: Path, server: str, token: str, path: Path | None) -> None:
    """Sign a survey with the author's key and publish it on a server, for good."""
    from deniably_server.commands.author_key import author_key

    survey = _compile(file)
    signature = author_key(path).sign(survey.digest)
    published = _call(
        "POST",
        f"{_base(server)}/api/surveys",
        {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json" if file.suffix == ".json" else "application/yaml",
            "Deniably-Author": signature.author,
            "Deniably-Signature": signature.value,
        },
        file.read_bytes(),
    )
    click.echo(f"{survey.name} is published, digest {survey.digest}")
    click.echo(f"{'author':<10}  {signature.fingerprint}")
    for title, link in published.get("links", {}).items():
        click.echo(f"{title:<10}  {_base(server)}{link}")


@click.command()
@click.argument("name")
@_server
@_token
def close(name: str, server: str, token: str) -> None:
    """Close a survey: it takes no more reports, for good."""
    body = b'{"state":"closed"}'
    address = f"{_base(server)}/api/surveys/{quote(name, safe='')}"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    _call("PATCH", address, headers, body)
    click.echo(f"{name} is closed")


def _compile(file: Path) -> Survey:
    """The definition in an author's file, or every problem of it."""
    return _compile_with_notes(file)[0]


def _compile_with_notes(file: Path) -> tuple[Survey, list[str]]:
    from deniably.authoring import compile_with_notes, load
    from deniably.errors import BadSurvey

    try:
        return compile_with_notes(load(file.read_bytes()))
    except BadSurvey as error:
        found = "\n".join(f"  {problem}" for problem in error.problems)
        raise click.ClickException(f"{file} is no valid survey:\n{found}") from None


def _base(server: str) -> str:
    return server.rstrip("/")


def _call(method: str, address: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """What the server answers, or the sentence in its problem."""
    import requests

    try:
        response = requests.request(
            method, address, data=body, headers=headers, timeout=30, allow_redirects=False,
            auth=_as_it_is,
        )  # fmt: skip
        answer: object = response.json()
    except requests.exceptions.JSONDecodeError:
        raise click.ClickException(f"no Deniably server answers at {address}") from None
    except requests.RequestException as error:
        why = type(error).__name__
        raise click.ClickException(f"cannot reach {address} ({why})") from None
    if not isinstance(answer, dict):
        raise click.ClickException(f"no Deniably server answers at {address}")
    document = cast("dict[str, Any]", answer)
    if not response.ok:
        raise click.ClickException(_refusal(document))
    return document


def _as_it_is(request: PreparedRequest) -> PreparedRequest:
    """With the author's token. Without this, requests puts what ~/.netrc has in its place."""
    return request


def _refusal(problem: dict[str, Any]) -> str:
    lines = [str(problem.get("detail") or problem.get("title") or "the server refused")]
    lines += [f"  {error['path']}: {error['why']}" for error in problem.get("errors", ())]
    return "\n".join(lines)
