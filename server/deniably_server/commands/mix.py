"""``deniably mix``: runs a mixer, which takes sealed reports for the survey of another party."""

from __future__ import annotations

from contextlib import ExitStack, closing

import click

from deniably_server.commands.database import open_mixer_store, settings_options
from deniably_server.commands.serve import hold_standard_streams
from deniably_server.settings import MIXER_SETTINGS

_MOST = 1_000_000


@click.group()
def mix() -> None:
    """Try a mixer: it takes sealed reports, and passes them on without showing who sent which.

    A mixer is run by another party than the survey's server, on another machine. It is not
    finished: no server takes a survey with a mixer yet.
    """


@mix.command()
@settings_options(of=MIXER_SETTINGS)
def serve(**options: str | int) -> None:
    """Run a mixer, for the surveys that it has accepted."""
    from deniably_server.errors import Conflict
    from deniably_server.guard.host_names import host_names
    from deniably_server.mixing.serving import serve_mixer
    from deniably_server.wire.listening import AddressTaken, claim

    hold_standard_streams()
    try:
        host_names(str(options["hosts"]))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    with ExitStack() as stack:
        try:
            held = stack.enter_context(claim(str(options["host"]), int(options["port"])))
        except AddressTaken as error:
            raise click.ClickException(str(error)) from None
        store = open_mixer_store(str(options["mixer_database"]), wait=True)
        try:
            stack.enter_context(store.engine.serving())
        except Conflict as error:
            raise click.ClickException(error.why) from None
        # Before a process is forked: it must not share a connection.
        store.close()
        host, port = held.getsockname()[:2]
        where = f"[{host}]" if ":" in host else host
        click.echo(f"The mixer listens on http://{where}:{port}")
        config = {name.upper(): value for name, value in options.items()}
        serve_mixer(config | {"DATABASE": options["mixer_database"]}, [held])


@mix.command()
@click.argument("survey", metavar="DIGEST")
@settings_options("mixer_database", of=MIXER_SETTINGS)
@click.option("--count", type=click.IntRange(1, _MOST), help="Number of invitations to make.")
def invite(survey: str, mixer_database: str, count: int | None) -> None:
    """Invite people to the survey with this DIGEST; without --count, say how many were invited.

    Each code is good for one person. It is shown only once: the database has only a keyed hash of
    it. The mixer may run meanwhile.
    """
    from deniably.trust.invitation_codes import code_in_groups
    from deniably_server.errors import Refusal

    with closing(open_mixer_store(mixer_database)) as store:
        try:
            codes = store.invite(survey, count) if count is not None else []
            store.accepted(survey)
        except Refusal as error:
            raise click.ClickException(error.why) from None
        for code in codes:
            click.echo(code_in_groups(code))
        counts = store.invitations(survey)
    click.echo(f"{counts.issued:,} issued, {counts.used:,} used", err=count is not None)
