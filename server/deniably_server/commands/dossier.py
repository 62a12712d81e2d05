"""``deniably dossier``: the document about a survey for an ethics board."""

from __future__ import annotations

from pathlib import Path

import click

from deniably.core.steering import one_line, printable
from deniably.wording.words import LANGUAGES
from deniably_server.commands.audit import show_progress
from deniably_server.commands.plan import read_definition


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--n", "n", type=click.IntRange(1), required=True, help="Number of respondents expected."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=1,
    show_default=True,
    help="Seed of the example reports.",
)
@click.option(
    "--trials",
    type=click.IntRange(10),
    default=5_000,
    show_default=True,
    help="For the audit: reports of each of two answers, for every question.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, 86_400),
    help="For the audit: seconds of replays.  [default: 10, or fewer where that is plenty]",
)
@click.option(
    "--language",
    type=click.Choice(LANGUAGES),
    help="The language of its first page, a summary.  [default: the survey's]",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write one HTML page that needs nothing else and prints on A4.",
)
def dossier(
    file: Path,
    n: int,
    seed: int,
    trials: int,
    seconds: float | None,
    language: str | None,
    output: Path | None,
) -> None:
    """Write the dossier of the survey FILE for an ethics board.

    A summary of one page comes first, in the language of the board. It states who is responsible,
    the legal basis, retention and consent. These come from keys of FILE; for a missing key there is
    a line to fill in. Then follow the questions word by word, example reports, who sees what, what
    reports give away, what somebody could conclude, what a court order yields, margins,
    alternatives, fake reports, the verdict of the audit, and what is not protected. Each part names
    the commands that print its numbers. Without --output the text is printed.
    """
    from deniably.core.errors import BadSurvey
    from deniably.lab.dossier_document import dossier as make
    from deniably.lab.dossier_page import as_text
    from deniably_server.web.static_files import text_of

    read_definition(file)
    show_progress("planning and auditing")
    try:
        document = make(file, n=n, seed=seed, trials=trials, seconds=seconds, language=language)
    except BadSurvey as error:
        problems = "\n".join(one_line(str(problem)) for problem in error.problems)
        raise click.ClickException(f"{file} is no valid survey:\n{problems}") from None
    except (OSError, ValueError) as error:
        raise click.ClickException(printable(str(error))) from None
    finally:
        show_progress("")
    if output is None:
        click.echo(printable(as_text(document.signed, document.summary, document.parts)))
        return
    try:
        output.write_text(document.html(text_of("style/dossier-page.css")), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{output}: {error.strerror}") from None
    click.echo(f"wrote {output}", err=True)
