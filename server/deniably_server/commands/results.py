"""``deniably results``: the estimates of a tally file, or of a server, without a browser."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from deniably.core.languages.json import json_text
from deniably.core.steering import one_line
from deniably_server.commands.audit import show_progress

if TYPE_CHECKING:
    from deniably.exhibits.results_table import Results
    from deniably.results.document import SurveyResult
    from deniably.workbench.findings import Subgroups


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
    help="Confidence level of the intervals.",
)
@click.option("--json", "form", flag_value="json", help="Print the document as JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print the rows as CSV.")
@click.option(
    "--for",
    "subgroup",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only one subgroup, in a survey with strata: --for site=north. Once for each key.",
)
@click.option("--by", metavar="KEY", help="A table for each value of this key of the strata.")
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help="Write a new folder instead: with --tally the pages that a server shows, as files; else"
    " results.html, results.json, results.csv and a figure for each question.",
)
def results(
    address: str | None,
    tally: Path | None,
    token: str | None,
    confidence: float,
    form: str | None,
    subgroup: tuple[str, ...],
    by: str | None,
    to: Path | None,
) -> None:
    """Show the estimates of a survey, with their margins, as a table.

    ADDRESS is the address of a survey on a server, such as https://example.org/surveys/workplace.
    With --tally the estimates come from a tally file, without a server. The numbers are the same as
    on a server with these reports.

    With --tally and --to you get the pages of everybody and of each subgroup, with comparisons,
    cross-tables of the pairs that were counted, figures, data and the texts for a paper. Open
    index.html, or put the folder on any web server.
    """
    from deniably.core.errors import DeniablyError

    if (address is None) is (tally is None):
        raise click.UsageError("give the address of a survey, or --tally FILE")
    if to is not None and (subgroup or by):
        raise click.UsageError("--to has all subgroups: leave out --for and --by")
    if subgroup and by:
        raise click.UsageError("give --for or --by, and not both")
    strata = {key: value for key, _, value in (option.partition("=") for option in subgroup)}
    try:
        if tally is not None and to is not None:
            _write_pages(tally, to, confidence)
        elif tally is not None:
            _show(_of_tally(tally, confidence, strata, by), form)
        else:
            shown = _of_server(str(address), token, confidence, strata, by)
            if to is None:
                _show(shown, form)
            else:
                click.echo(f"{', '.join(_written(cast('Results', shown), to))} in {to}")
    except (DeniablyError, ValueError, OSError) as error:
        raise click.ClickException(one_line(str(error))) from None


def _write_pages(file: Path, to: Path, confidence: float) -> None:
    from deniably.core.bounded_files import read_file
    from deniably.workbench.engines.tally_file import read_tally
    from deniably_server.offline.exported_pages import FIRST, write_pages

    def tell(count: int) -> None:
        show_progress(f"{count:,} files written")

    try:
        count = write_pages(to, read_tally(read_file(file)), confidence, tell)
    finally:
        show_progress("")
    click.echo(f"{count:,} files in {to}: open {to / FIRST}")


def _show(shown: Results | Subgroups, form: str | None) -> None:
    if form == "json":
        click.echo(json_text(shown.to_dict()))
    elif form == "csv":
        click.echo(_csv(shown), nl=False)
    else:
        click.echo(str(shown))


def _of_tally(
    file: Path, confidence: float, strata: Mapping[str, str], by: str | None
) -> Results | Subgroups:
    from deniably.core.bounded_files import read_file
    from deniably.estimation.shares_among_asked import joint_counts
    from deniably.exhibits.results_table import as_results
    from deniably.results.result import result
    from deniably.results.subgroups import shown_subgroups
    from deniably.survey.strata import members
    from deniably.workbench.engines.pair_counts import pairs_of
    from deniably.workbench.engines.tally_file import read_tally
    from deniably.workbench.findings import of_subgroups

    total = read_tally(read_file(file))
    survey, keys, least = total.survey, total.survey.strata or {}, total.survey.results.minimum

    def document(subgroup: Mapping[str, str]) -> SurveyResult:
        counts_of, shown = total.among(subgroup), None
        tallies = counts_of.tallies
        if unasked := [name for name, tally in tallies.items() if not tally.n]:
            raise ValueError(f"{unasked[0]} has no reports: there is nothing to estimate")
        if total.stratified and not subgroup:
            counts = [[tally.n for tally in part.tallies.values()] for part in total.strata]
            shown = shown_subgroups(keys, counts, least)
        return result(
            survey, "closed", tallies, confidence=confidence, strata=subgroup, subgroups=shown,
            reports=counts_of.n,
            together=joint_counts(survey, partial(pairs_of, survey, counts_of)),
        )  # fmt: skip

    if by is None:
        return as_results(document(strata))
    if by not in keys:
        members(keys, {by: ""})  # says which there are
    return of_subgroups(survey.title, {value: document({by: value}) for value in keys[by]})


def _of_server(
    address: str, token: str | None, confidence: float, strata: Mapping[str, str], by: str | None
) -> Results | Subgroups:
    from deniably.core.errors import NoResults
    from deniably.exhibits.results_table import as_results
    from deniably.results.remote import fetch_results, remote_at
    from deniably.workbench.findings import of_subgroups

    remote = remote_at(address, token)
    document = fetch_results(remote, confidence=confidence, strata=strata)
    if by is None:
        return as_results(document)
    shown = [part for part in document.subgroups or () if [*part] == [by]]
    if not shown:
        raise NoResults(f"{document.survey}: no value of {by} has results of its own")
    parts = {part[by]: fetch_results(remote, confidence=confidence, strata=part) for part in shown}
    return of_subgroups(document.title, parts)


def _csv(shown: Results | Subgroups) -> str:
    from deniably.core.languages.csv_text import csv_table
    from deniably.results.rows import COLUMNS

    return csv_table(COLUMNS, shown.rows)


def _written(shown: Results, to: Path) -> list[str]:
    """The files of a folder that shows the results offline; their names. Raises NoExport."""
    from deniably.workbench.files.whole_folder import whole_folder

    with whole_folder(to) as folder:
        files = {"results.html": _page(shown), "results.json": shown.to_json()}
        files["results.csv"] = _csv(shown)
        for question in shown.document.questions:
            files[f"{question.name}.svg"] = shown.figure(question.name)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="")
    return list(files)


def _page(shown: Results) -> str:
    from deniably.core.languages.html import Html
    from deniably.exhibits.notebook import html

    return Html.filled(
        '<!doctype html><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>{title}</title></head>'
        "<body>{shown}</body>\n",
        title=Html.text(shown.document.title), shown=html(shown.document),
    ).source  # fmt: skip
