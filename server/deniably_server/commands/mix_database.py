"""The commands that maintain a mixer's database: backup, restore, migrate, delete."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniably.core.counting import counted
from deniably_server.commands.database import engine_of, open_mixer_store, settings_options
from deniably_server.settings import MIXER_SETTINGS

if TYPE_CHECKING:
    from deniably_server.storage.mixer_store import MixerStore

_database = settings_options("mixer_database", of=MIXER_SETTINGS)


def mixer_store_of(address: str) -> MixerStore:
    """Opens an existing mixer's store. Raises ClickException where the file is missing, as by a
    misspelt name."""
    from deniably_server.storage.engines.database_urls import file_at

    file = file_at(address)
    if file is not None and not file.exists():
        raise click.ClickException(f"there is no database {file}; begin with: deniably mix offer")
    return open_mixer_store(address)


@click.command()
@_database
@click.argument("file", type=click.Path(path_type=Path))
def backup(mixer_database: str, file: Path) -> None:
    """Copy everything into FILE, as of one moment.

    The mixer may run meanwhile. FILE has the private keys and the envelopes. What the mixer deletes
    later stays in it: delete it when the survey is over. Only its owner may read it.
    """
    if file.exists():
        raise click.ClickException(f"{file} is there already; a backup replaces nothing")
    try:
        moved = _move(mixer_database, str(file))
    except BaseException:  # no half of a backup stays, even after Ctrl+C
        for suffix in ("", "-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        raise
    click.echo(f"{counted(moved, 'envelope')} copied into {file}")


@click.command()
@_database
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(mixer_database: str, file: Path, yes: bool) -> None:
    """Copy everything from the backup FILE into an empty database.

    Do it only if the old database is lost, and had passed on no batch that is missing in the
    backup. The mixer would make that batch again, with other blanks, and two batches of the same
    people protect them less.
    """
    with closing(mixer_store_of(str(file))) as store:
        names = [
            store.accepted(digest).source.name
            for state in ("open", "closed")
            for digest in store.in_state(state)
        ]
    if names and not yes:
        click.confirm(
            f"The backup has no batch of {', '.join(names)}. Is it sure that the lost mixer made"
            " none?",
            abort=True,
        )
    click.echo(f"{counted(_move(str(file), mixer_database), 'envelope')} copied back")


@click.command()
@click.argument("source")
@click.argument("target")
def migrate(source: str, target: str) -> None:
    """Copy everything from SOURCE into the empty TARGET.

    Each is a mixer's database: a file, or postgresql://... Stop the mixer first: this refuses while
    one runs on SOURCE. Then delete SOURCE, as two mixers with the same envelopes would make two
    batches.
    """
    from deniably_server.errors import Conflict

    try:
        with engine_of(mixer_store_of(source)).alone():
            moved = _move(source, target)
    except Conflict as error:
        raise click.ClickException(f"{error.why}. Stop it first") from None
    click.echo(
        f"{counted(moved, 'envelope')} copied; serve with --database and the new address, and"
        " delete the old one"
    )


@click.command()
@click.argument("survey")
@_database
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(survey: str, mixer_database: str, yes: bool) -> None:
    """Delete a batch that its server does not take.

    SURVEY is its name or its digest. All its envelopes and keys are deleted, too. This is for a
    server that refused the batch, or is gone for good. A mixer deletes by itself what was taken.
    """
    from deniably_server.errors import Refusal

    with closing(mixer_store_of(mixer_database)) as store:
        try:
            digest = store.digest_of(survey)
            if not yes:
                click.confirm("The answers will be gone for good. Delete them?", abort=True)
            store.give_up(digest)
        except Refusal as error:
            raise click.ClickException(error.why) from None
        store.erase_order()
    click.echo("deleted")


def _move(source: str, target: str) -> int:
    from deniably_server.errors import Conflict
    from deniably_server.storage.maintenance.migrate_mixer import move_mixer

    try:
        return move_mixer(engine_of(mixer_store_of(source)), engine_of(open_mixer_store(target)))
    except Conflict as error:
        raise click.ClickException(error.why) from None
