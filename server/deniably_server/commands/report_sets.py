"""Makes and counts report sets that are larger than one server: ``deniably gather`` and ``deniably
tally``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import reduce
from operator import add as plus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniably.core.counting import counted, people
from deniably.core.errors import BadReport, DeniablyError
from deniably.core.steering import one_line
from deniably_server.commands.audit import show_progress
from deniably_server.commands.plan import read_definition

if TYPE_CHECKING:
    from deniably.results.remote import Remote
    from deniably.survey.survey import Survey
    from deniably.workbench.engines.counting_engine import CountingEngine
    from deniably.workbench.engines.tallying import TalliedSet
    from deniably.workbench.files.file_places import Place
    from deniably.workbench.files.parquet_parts import Parts
    from deniably.workbench.packing import Layout, Rows

PART_ROWS = 10_000_000
"""Reports in one Parquet file of a report set, unless --rows says otherwise."""

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _Place(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """A path that is there, an address in a store, or that of a survey on a server."""

    name = "place"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Place | Remote:
        """Returns the path or the address in a text. Fails for one that names no store or survey,
        or has a key."""
        from deniably.results.remote import remote_at
        from deniably.workbench.files.optional_libraries import NoExport
        from deniably.workbench.files.store_addresses import address_of, is_address

        if str(value).startswith(("http://", "https://")):
            try:
                return remote_at(str(value))
            except ValueError as error:
                self.fail(one_line(str(error)), param, ctx)
        if not is_address(str(value)):
            return Path(str(click.Path(exists=True).convert(value, param, ctx)))
        try:
            return address_of(str(value))
        except NoExport as error:
            self.fail(one_line(str(error)), param, ctx)


@click.command()
@click.argument("survey", type=_FILE)
@click.argument("lines", nargs=-1, required=True, type=_FILE, metavar="LINES")
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    required=True,
    help="The folder to write, which must not be there yet.",
)
@click.option(
    "--rows",
    type=click.IntRange(1),
    default=PART_ROWS,
    show_default=True,
    help="Reports in a part.",
)
def gather(survey: Path, lines: tuple[Path, ...], to: Path, rows: int) -> None:
    """Write a report set from LINES, files of reports to SURVEY, for `deniably tally`.

    SURVEY is the published definition. LINES are NDJSON: reports as devices send them, or an
    export's reports.ndjson. The folder that is written has the definition, the design, and the
    reports as Parquet in parts. The reports are sorted by content, so nothing shows when they
    came. A report that no device can have made is an error that names its file and line; then
    nothing is written.
    """
    from deniably.workbench.engines.gathering import sorted_lines
    from deniably.workbench.files.parquet_parts import write_parts, write_sorted_parts

    definition = read_definition(survey)
    try:
        with sorted_lines(definition, lines) as ordered:
            if ordered:
                written = write_sorted_parts(to, *ordered, rows)
            else:
                written = write_parts(to, *_packed(definition, lines), rows)
    except (DeniablyError, ValueError) as error:
        raise click.ClickException(one_line(str(error))) from None
    finally:
        show_progress("")
    n = sum(count for _, count in written)
    click.echo(f"{n:,} randomised reports in {to}: {counted(len(written), 'part')}")


def _packed(survey: Survey, files: tuple[Path, ...]) -> tuple[Layout, Iterator[Rows]]:
    """Returns the layout of the first file, in which all are packed, and the packed reports of all
    files."""
    places = next(_blocks(survey, files[0]))[0]

    def all_blocks() -> Iterator[Rows]:
        done = 0
        for file in files:
            for layout, block in _blocks(survey, file):
                if layout.stratified is not places.stratified:
                    raise BadReport(f"{file}: some files have strata, and others none", "$")
                done += len(block)
                show_progress(f"{done:,} reports read")
                yield block

    return places, all_blocks()


def _blocks(survey: Survey, file: Path) -> Iterator[tuple[Layout, Rows]]:
    """Yields the reports of a file. Raises BadReport, which names the file and the line."""
    from deniably.core.bounded_files import file_lines
    from deniably.workbench.files.report_lines import packed_lines

    try:
        places, blocks = packed_lines(survey, file_lines(file))
        for block in blocks:
            yield places, block
    except BadReport as error:
        raise BadReport(f"{file}, {error.why}", "$") from None


@click.command()
@click.argument(
    "reports",
    nargs=-1,
    required=True,
    type=_Place(),
    metavar="REPORTS",
)
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The tally file to write, which must not be there yet.",
)
@click.option(
    "--add",
    type=_FILE,
    metavar="TALLY",
    help="Add the counts of this tally file, such as yesterday's. It must have the same pairs.",
)
@click.option(
    "--design",
    type=_FILE,
    metavar="SURVEY",
    help="The published definition, where something else wrote the Parquet files in REPORTS.",
)
@click.option(
    "--merge", is_flag=True, help="REPORTS are tally files, which are added up; nothing is counted."
)
@click.option(
    "--engine",
    "name",
    type=click.Choice(["duckdb", "spark"]),
    default="duckdb",
    show_default=True,
    help="The engine that counts: duckdb in this process, or spark.",
)
@click.option(
    "--master",
    help="Spark's master: spark://host:7077, sc://host of Spark Connect; else this machine.",
)
@click.option(
    "--pair",
    "pairs",
    nargs=2,
    multiple=True,
    metavar="QUESTION QUESTION",
    help="Also count the pairs of reported values of two questions, for their cross-table.",
)
@click.option("--memory", default="400MB", show_default=True, help="Memory for duckdb.")
@click.option(
    "--token",
    envvar="DENIABLY_TOKEN",
    help="An analyst's token, for a survey on a server; better given as DENIABLY_TOKEN.",
)
def tally(
    reports: tuple[Place | Remote, ...], to: Path, add: Path | None, design: Path | None,
    merge: bool, name: str, master: str | None, pairs: tuple[tuple[str, str], ...], memory: str,
    token: str | None,
) -> None:  # fmt: skip
    """Count the report set in the folder REPORTS and write a tally file.

    REPORTS is a folder of `deniably gather`, or an export with parquet or parts. For a folder in a
    store, give its address, such as s3://bucket/reports, gs://, abfss:// or hdfs://. Several
    folders, such as those of several servers with the same survey, are counted as one. The tally
    file has the definition and, for every question, the same integers as a server's tally. The same
    reports give the same bytes with both engines. Strata are counted separately if every stratum
    has the reports that results need. `deniably results --tally` makes estimates of the file.
    Reports that no device can have made are left out, and their number is printed for each
    question. A file that is cut short, or written again meanwhile, is an error. With spark, every
    machine must reach the folder under the same path or address.

    With `--design` every Parquet file in REPORTS and its folders is counted, such as those of a
    partition `day=2026-11-23`. For a table of Delta or Iceberg, the files of its newest commit are
    counted. Columns have the names and integers of a report set; another column is an error.

    For a survey with a mixer, give its address on the server: nobody has its reports, and the
    server gives out the counts of each question. Such files do not add up.

    Keys to a store are read where its own tools look for them, such as AWS_ACCESS_KEY_ID and
    AWS_SECRET_ACCESS_KEY or ~/.aws, never from an address. AWS_ENDPOINT_URL names an S3 of your
    own.

    A file beside the tally file, whose name ends in .files.json, has the digests of the files that
    were counted. Only you can read it. With it, `--add` and `--merge` refuse a file that was
    counted already. Do not pass the digests on: the digest of a small file gives its reports away.
    """
    from deniably.results.remote import Remote

    if master and name != "spark":
        raise click.UsageError("--master is for --engine spark")
    if merge and (add or design or pairs):
        raise click.UsageError(
            "--merge adds tally files up, and takes no --add, --design or --pair"
        )
    served = [place for place in reports if isinstance(place, Remote)]
    if served and (len(reports) > 1 or merge or add or design or pairs):
        raise click.UsageError(
            "a survey with a mixer has one batch: give its address alone, without --merge, --add,"
            " --design or --pair"
        )
    files = [place for place in reports if isinstance(place, Path)]
    if merge and len(files) < len(reports):
        raise click.UsageError("--merge adds tally files of this machine: copy them here first")
    try:
        if merge:
            _merge(files, to)
        elif served:
            _fetch(replace(served[0], token=token), to)
        else:
            places = [place for place in reports if not isinstance(place, Remote)]
            _count(_sets(places, design), to, add, pairs, lambda: _engine(name, master, memory))
    except (DeniablyError, ValueError, OSError) as error:
        raise click.ClickException(one_line(str(error))) from None


def _fetch(remote: Remote, to: Path) -> None:
    """Writes the counts of a survey with a mixer, which its server gives out."""
    from deniably.workbench.fetching import fetch_survey, fetch_tally

    survey, _ = fetch_survey(remote)
    tallied = fetch_tally(remote, survey)
    _write(to, tallied, [])
    click.echo(f"answers of {people(tallied.n)} counted: {to}")


def _count(
    sets: Sequence[tuple[str, Parts]], to: Path, add: Path | None, pairs: Sequence[tuple[str, str]],
    open_engine: Callable[[], AbstractContextManager[CountingEngine]],
) -> None:  # fmt: skip
    from deniably.workbench.engines.counted_files import check_disjoint, digests_of, read_digests
    from deniably.workbench.engines.tallying import tally_set
    from deniably.workbench.files.parquet_parts import together

    parts = together([parts_of for _, parts_of in sets])
    before, counted_before = None, list[tuple[str, list[str]]]()
    if add:
        before, counted_before = _read_tally(add), [(str(add), read_digests(add))]
        # Only counts of the same pairs can be added.
        pairs = pairs or [*before.pairs]
    digests = check_disjoint([*counted_before, *((name, digests_of(part)) for name, part in sets)])
    with open_engine() as engine:
        tallied = tally_set(parts, engine, pairs)
    _write(to, before + tallied if before else tallied, digests)
    click.echo(f"{tallied.n:,} reports in {counted(len(parts.files), 'file')} counted: {to}")
    if before:
        click.echo(f"With those of {add}: {before.n + tallied.n:,} reports")
    if parts.columns.strata and not tallied.stratified:
        click.echo(_of_all(tallied))
    _say_what_is_left_out(tallied)


def _sets(folders: Sequence[Place], design: Path | None) -> list[tuple[str, Parts]]:
    """Returns the sets in some folders, with their names."""
    from deniably.workbench.files.parquet_parts import open_parts, open_table

    survey = read_definition(design) if design else None
    return [
        (str(folder), open_table(folder, survey) if survey else open_parts(folder))
        for folder in folders
    ]


def _merge(tallies: Sequence[Path], to: Path) -> None:
    from deniably.workbench.engines.counted_files import check_disjoint, read_digests

    digests = check_disjoint([(str(tally), read_digests(tally)) for tally in tallies])
    tallied = reduce(plus, map(_read_tally, tallies))
    _write(to, tallied, digests)
    click.echo(f"{tallied.n:,} reports in {counted(len(tallies), 'tally file')}: {to}")
    _say_what_is_left_out(tallied)


def _read_tally(file: Path) -> TalliedSet:
    """Returns the counts in a tally file. Raises NoExport, which names it."""
    from deniably.core.bounded_files import read_file
    from deniably.workbench.engines.tally_file import read_tally
    from deniably.workbench.files.optional_libraries import NoExport

    try:
        return read_tally(read_file(file))
    except NoExport as error:
        raise NoExport(f"{file}: {error}") from None


def _write(to: Path, tallied: TalliedSet, digests: Sequence[str]) -> None:
    from deniably.workbench.engines.counted_files import write_tally
    from deniably.workbench.engines.tally_file import tally_text

    write_tally(to, tally_text(tallied), digests)


def _of_all(tallied: TalliedSet) -> str:
    """Says why strata were not counted by themselves."""
    keys = ", ".join(sorted(tallied.survey.strata or {}))
    least = counted(tallied.survey.results.minimum, "report")
    return (
        f"Only all together, and not by {keys}: each stratum needs {least} to every question, and"
        " one has fewer"
    )


def _say_what_is_left_out(tallied: TalliedSet) -> None:
    if tallied.left_out:
        why = ", ".join(f"{name} in {count:,}" for name, count in tallied.unfit.items())
        click.echo(
            f"{counted(tallied.left_out, 'report')} left out, which no device can have made: {why}"
        )


def _engine(name: str, master: str | None, memory: str) -> AbstractContextManager[CountingEngine]:
    if name == "spark":
        from deniably.workbench.engines.spark import LOCAL, spark

        return spark(master or LOCAL)
    from deniably.workbench.engines.duck import duckdb

    return duckdb(memory)
