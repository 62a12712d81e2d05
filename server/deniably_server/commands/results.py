"""``deniably results``: the estimates of a tally file, or of a server, without a browser."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniably.core.steering import one_line

if TYPE_CHECKING:
    from deniably.results.results import Results


@click.command()
@click.argument("address", required=False)
@click.option(
    "--tally",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of `deniably tally`, in place of an address.",
)
@click.option(
    "--token",
    envvar="DENIABLY_TOKEN",
    help="An analyst's token, unless results are public; better given as DENIABLY_TOKEN.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.999),
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
@click.option("--json", "form", flag_value="json", help="Print the document as JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print the rows as CSV.")
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help="Write results.html, results.json, results.csv and a figure a question into this new"
    " folder instead.",
)
def results(
    address: str | None,
    tally: Path | None,
    token: str | None,
    confidence: float,
    form: str | None,
    to: Path | None,
) -> None:
    """Show the estimates of a survey, with their margins, as a table.

    ADDRESS is that of a survey on a server, such as https://example.org/surveys/workplace. With
    --tally the estimates are those of a tally file, and no server is asked: the same numbers as of
    a server that stored these reports.
    """
    from deniably.core.errors import DeniablyError

    if (address is None) is (tally is None):
        raise click.UsageError("give the address of a survey, or --tally FILE")
    try:
        if tally is not None:
            found = _of_tally(tally, confidence)
        else:
            found = _of_server(str(address), token, confidence)
        if to is not None:
            click.echo(f"{', '.join(_written(found, to))} in {to}")
            return
    except (DeniablyError, ValueError, OSError) as error:
        raise click.ClickException(one_line(str(error))) from None
    if form == "json":
        click.echo(found.to_json())
    elif form == "csv":
        click.echo(_csv(found), nl=False)
    else:
        click.echo(str(found))


def _of_tally(file: Path, confidence: float) -> Results:
    from deniably.results.results import estimate
    from deniably.workbench.engines.tally_file import read_tally

    found = read_tally(file.read_bytes())
    return estimate(found.survey, found.tallies, confidence=confidence)


def _of_server(address: str, token: str | None, confidence: float) -> Results:
    from deniably.results.remote import fetch_results, remote_at
    from deniably.results.results import as_results

    return as_results(fetch_results(remote_at(address, token), confidence=confidence))


def _csv(found: Results) -> str:
    from deniably.results.spreadsheet import spreadsheet

    return spreadsheet(found.document)


def _written(found: Results, to: Path) -> list[str]:
    """The files of a folder that shows the results offline; their names. Raises NoExport."""
    from deniably.workbench.files.whole import whole_folder

    with whole_folder(to) as folder:
        files = {"results.html": _page(found), "results.json": found.to_json()}
        files["results.csv"] = _csv(found)
        for question in found.document.questions:
            files[f"{question.name}.svg"] = found.figure(question.name)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="")
    return list(files)


def _page(found: Results) -> str:
    from deniably.results.notebook import html

    title = escape(found.document.title)
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}'
    )
    return f"<!doctype html><head>{head}</title></head><body>{html(found.document)}</body>\n"
