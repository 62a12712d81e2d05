"""The commands that maintain a server's database: doctor, backup, restore, migrate."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from deniably.core.steering import one_line
from deniably_server.commands.database import engine_of, open_store, settings_options, store_of

if TYPE_CHECKING:
    from deniably_server.storage.maintenance.traces import Trace
    from deniably_server.storage.store import Store


@click.command()
@settings_options("database")
@click.option(
    "--repair",
    is_flag=True,
    help="Mend wrong tallies and interrupted closings.",
)
@click.option("--privacy", is_flag=True, help="Look for traces of people instead.")
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.pass_context
def doctor(
    context: click.Context, database: str, repair: bool, privacy: bool, files: tuple[Path, ...]
) -> None:
    """Check that everything stored is intact; the server may run meanwhile.

    This checks the database itself and its schema, every tally against a recount of all reports,
    and the register's chain.

    With --privacy it looks for traces of people instead: network addresses, names of browsers,
    times of day, and the order in which the reports of a closed survey came. It looks in the
    database, its log and the FILES, such as server logs and backups. In a folder that deniably
    export wrote, every byte must follow from the set of its reports: no id, no receipt, no time, no
    order. If the server's database is on another machine, name only the FILES.
    """
    from contextlib import closing

    from deniably_server.storage.maintenance import doctor as doctors

    if files and not privacy:
        raise click.UsageError("FILES are for --privacy")
    if repair and privacy:
        raise click.UsageError("--repair is not for --privacy")
    named = context.get_parameter_source("database") != ParameterSource.DEFAULT
    if files and not named and not Path(database).exists():
        _tell_traces(_in_files(files))
        click.echo(f"there is no database {database} here: only what you named was looked at")
        return
    with closing(store_of(database)) as store:
        if privacy:
            _look_for_traces(store, files)
            return
        wrong = doctors.examine(store)
        for finding in wrong:
            click.echo(one_line(finding.what))
        if repair:
            for done in doctors.repair(store, wrong):
                click.echo(one_line(done))
            wrong = doctors.examine(store)
        if wrong:
            raise click.ClickException(f"{len(wrong)} found; see above" + ("" if repair else _HINT))
        surveys = store.names()
        room = store.register_room()
        reports = sum(max(tally.n for tally in store.tally(name).values()) for name in surveys)
    if room < _ROOM:
        click.echo(f"room left in the register: {100 * room:.1f} %")
    click.echo(f"whole: {_number(len(surveys), 'survey')}, {_number(reports, 'report')}")


def _look_for_traces(store: Store, files: tuple[Path, ...]) -> None:
    from deniably_server.storage.engines.database_urls import file_at
    from deniably_server.storage.maintenance.traces import traces

    _tell_traces([*traces(store), *_in_files(files)])
    if file_at(store.engine.address) is None:
        click.echo("the log of PostgreSQL is not looked at, unless you name it")
    waiting = [name for name in store.names() if store.state(name) == "open"]
    if waiting:
        click.echo(
            f"{', '.join(waiting)}: still open; until closing the disk may tell in which order"
            " reports came"
        )


def _in_files(files: Sequence[Path]) -> list[Trace]:
    """The traces in files, and in folders that ``deniably export`` wrote."""
    from deniably_server.storage.maintenance.traces import in_file

    return [
        *(trace for file in files if file.is_file() for trace in in_file(file)),
        *(trace for folder in files if folder.is_dir() for trace in _in_export(folder)),
    ]


def _tell_traces(traces: Sequence[Trace]) -> None:
    for trace in traces:
        click.echo(one_line(f"{trace.where}: {trace.what}"))
    if traces:
        raise click.ClickException(f"{len(traces)} found; see above")
    click.echo("no traces of people")


def _in_export(folder: Path) -> list[Trace]:
    """What an exported folder has beside what follows from its reports."""
    from deniably.workbench.files.leftovers import is_export, leftovers
    from deniably.workbench.files.optional_libraries import NoExport
    from deniably_server.storage.maintenance.traces import Trace, in_file

    if not is_export(folder):
        raise click.UsageError(f"{folder} is no folder that deniably export wrote")
    try:
        extras = leftovers(folder)
    except NoExport as error:
        raise click.ClickException(one_line(str(error))) from None
    odd = {extra.file for extra in extras if extra.file.is_file()}
    return [
        *(Trace(str(extra.file), extra.what) for extra in extras),
        *(trace for file in sorted(odd) for trace in in_file(file)),
    ]


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


_ROOM = 0.5
"""Below this share of free room in the register, the doctor mentions it."""
_HINT = ". With --repair wrong tallies are counted again, and closings finished"


@click.command()
@settings_options("database")
@click.argument("file", type=click.Path(path_type=Path))
def backup(database: str, file: Path) -> None:
    """Copy everything, as of one moment, into FILE; the server may run meanwhile.

    FILE is an SQLite database, even if the server uses PostgreSQL. It holds the surveys and the
    randomised reports. Only its owner may read it.
    """
    if file.exists():
        raise click.ClickException(f"{file} is there already; a backup replaces nothing")
    try:
        moved = _move(database, str(file))
    except BaseException:  # no half of a backup stays, even after Ctrl+C
        for suffix in ("", "-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        raise
    click.echo(f"{_number(moved, 'report')} copied into {file}")


@click.command()
@settings_options("database")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def restore(database: str, file: Path) -> None:
    """Copy everything from the backup FILE into an empty database."""
    moved = _move(str(file), database)
    click.echo(f"{_number(moved, 'report')} copied back")


@click.command()
@click.argument("source")
@click.argument("target")
@click.option("--anyway", is_flag=True, help="Copy even if a server runs on SOURCE.")
def migrate(source: str, target: str, anyway: bool) -> None:
    """Copy everything from the database SOURCE into the empty database TARGET.

    Each is a file or postgresql://... Stop the server first, so that no report is left behind.
    This refuses while a server runs on SOURCE, and no server can start until it is done.
    """
    from deniably_server.errors import Conflict

    try:
        with nullcontext() if anyway else engine_of(store_of(source)).alone():
            moved = _move(source, target)
    except Conflict as error:
        raise click.ClickException(f"{error.why}. Stop it first") from None
    click.echo(f"{_number(moved, 'report')} copied; serve with --database and the new address")


def _move(source: str, target: str) -> int:
    from deniably_server.errors import Conflict
    from deniably_server.storage.maintenance.migrate_engine import move

    try:
        return move(engine_of(store_of(source)), engine_of(open_store(target)))
    except Conflict as error:
        raise click.ClickException(error.why) from None
