"""``deniably export``: the reports of a closed survey, and all that an analyst needs with them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniably.core.steering import one_line
from deniably_server.commands.audit import show_progress
from deniably_server.commands.database import store_of

if TYPE_CHECKING:
    from deniably.workbench.data_source import Provenance
    from deniably.workbench.report_set import ReportSet


_OF_WAVES = (
    "In a panel each wave has a file of its own: to link the reports of one person would need ids"
)


@click.command()
@click.argument("names", metavar="NAME", nargs=-1, required=True)
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    required=True,
    help="The folder to write, which must not be there yet.",
)
@click.option(
    "--format",
    "formats",
    default="csv",
    show_default=True,
    help="Formats of the reports, separated by commas: csv, ndjson, parquet, xlsx, sqlite, sav,"
    " dta.",
)
@click.option(
    "--server",
    envvar="DENIABLY_SERVER",
    default="http://127.0.0.1:8000",
    show_default=True,
    help="Address of the server. [DENIABLY_SERVER]",
)
@click.option(
    "--token",
    envvar="DENIABLY_TOKEN",
    help="An analyst's token, unless the reports are public; better given as DENIABLY_TOKEN.",
)
@click.option("--database", help="Read this database instead: a file or postgresql://...")
def export(
    names: tuple[str, ...],
    to: Path,
    formats: str,
    server: str,
    token: str | None,
    database: str | None,
) -> None:
    """Write the randomised reports of the closed survey NAME into a folder.

    The folder has the reports without ids, sorted by content; the definition; the design, with p
    and q of every column; codebooks, methods and the results. With csv it also has scripts for R,
    Python and Stata that compute the results again. Do not tabulate the columns as if they were
    answers: every value is randomised, and estimates need p and q.

    The survey states who may have its reports (results: reports): analysts with a token,
    everybody, or nobody. Its form also states this to respondents. You can export once the survey
    is closed and has as many reports as its results need. Without --database the reports come from
    the server.
    """
    from deniably.core.errors import DeniablyError
    from deniably.workbench.files.folder import write_folder
    from deniably.workbench.report_columns import note
    from deniably_server.errors import Refusal

    def tell(file: str) -> None:
        show_progress(f"writing {file}")

    name, *others = names
    if others:
        raise click.UsageError(f"name one survey. {_OF_WAVES}")

    try:
        with _bar() as show_read:
            reports, source = (
                _from_database(database, name, show_read)
                if database
                else _fetched(server, name, token, show_read)
            )
        files = write_folder(to, reports, source, formats.replace(" ", "").split(","), tell)
    except Refusal as error:
        raise click.ClickException(one_line(error.why)) from None
    except (DeniablyError, ValueError) as error:
        raise click.ClickException(one_line(str(error))) from None
    finally:
        show_progress("")
    click.echo(f"{len(reports):,} randomised reports in {to}: {', '.join(files)}")
    if strata_note := note(reports.layout):
        click.echo(one_line(strata_note))


def _fetched(
    server: str, name: str, token: str | None, show_read: Callable[[int, int], None]
) -> tuple[ReportSet, Provenance]:
    from deniably.results.remote import Remote
    from deniably.workbench.fetching import fetch_reports, fetch_survey

    remote = Remote(server, name, token)
    survey, source = fetch_survey(remote)
    return fetch_reports(remote, survey, show_read), source


def _from_database(
    address: str, name: str, show_read: Callable[[int, int], None]
) -> tuple[ReportSet, Provenance]:
    """Returns the reports in a database, under the same rules as a server's."""
    from contextlib import closing

    from deniably.trust.register import read_register
    from deniably.workbench.data_source import provenance
    from deniably.workbench.packing import WireBlock
    from deniably.workbench.report_set import report_set
    from deniably_server.api.visibility import check_given_out, layout_given_out

    with closing(store_of(address)) as store:
        survey = store.survey(name)
        check_given_out(store, survey)
        places, count = layout_given_out(store, survey), store.reports(name)

        def blocks() -> Iterator[WireBlock]:
            done = 0
            stored = store.values_and_strata(name, *range(len(survey.questions)))
            for values, strata in stored:
                done += len(values)
                show_read(done, count)
                yield WireBlock(values, strata if places.stratified else None)

        texts, head = store.register()
        register = read_register(f'{{"entries":[{",".join(texts)}],"head":"{head}"}}')
        return report_set(places, blocks()), provenance(register, survey)


@contextmanager
def _bar() -> Generator[Callable[[int, int], None]]:
    """Yields a function that shows on a terminal how many reports have come, and of how many."""
    with ExitStack() as stack:
        bars: list[Any] = []

        def show_read(done: int, of: int) -> None:
            if not sys.stderr.isatty():
                return
            if not bars:
                bar = click.progressbar(length=of, label="reading reports", file=sys.stderr)
                bars.append(stack.enter_context(bar))
            bars[0].update(done - bars[0].pos)

        yield show_read
