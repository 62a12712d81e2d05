"""``deniably serve``: runs a server on this machine."""

from __future__ import annotations

import os
from contextlib import ExitStack

import click

from deniably_server.commands.database import open_store, settings_options

_STDERR = 2


@click.command()
@settings_options()
def serve(**options: str | int) -> None:
    """Run a server. The first start prints a link for the first tokens, which works once."""
    from deniably_server.errors import Conflict
    from deniably_server.guard.admin_link import first_link
    from deniably_server.guard.host_names import host_names
    from deniably_server.guard.own_address import named_address
    from deniably_server.serving import AddressTaken, claim
    from deniably_server.serving import serve as run

    _hold_standard_streams()
    try:
        host_names(str(options["hosts"]))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        held = claim(str(options["host"]), int(options["port"]))
    except AddressTaken as error:
        raise click.ClickException(str(error)) from None
    with held, ExitStack() as stack:
        store = open_store(str(options["database"]), wait=True)
        try:
            stack.enter_context(store.engine.serving())
        except Conflict as error:
            raise click.ClickException(error.why) from None
        secret = first_link(store)
        store.close()
        host, port = held.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"Deniably listens on http://{shown}:{port}")
        if secret:
            own = named_address(str(options["hosts"]), port) or f"http://{shown}:{port}"
            link = f"{own}/admin#{secret}"
            click.echo(f"For the first tokens open this once, today or tomorrow: {link}")
        run({name.upper(): value for name, value in options.items()}, held)


def _hold_standard_streams() -> None:
    """Open closed standard streams on /dev/null.

    Otherwise the next file or connection would get the number of a closed stream, and output meant
    for that stream would go there.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(opened)
