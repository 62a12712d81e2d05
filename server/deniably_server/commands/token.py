"""``deniably token``: creates, lists and revokes the tokens of a server, for its operator."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, cast

import click

from deniably.core.table import aligned
from deniably_server.commands.database import open_store, settings_options, store_of

if TYPE_CHECKING:
    from deniably_server.storage.tables.tokens import Role


@click.group()
def token() -> None:
    """Make, list and revoke the tokens of authors, analysts, monitors and operators.

    This works on the database itself, so you need no token. A running server follows a change at
    once.
    """


@token.command()
@settings_options("database")
@click.option(
    "--role",
    type=click.Choice(["author", "analyst", "monitor", "operator"]),
    default="author",
    show_default=True,
    help="An author publishes and closes surveys, an analyst reads results that are for analysts,"
    " a monitor (such as Prometheus) reads the metrics, an operator looks after tokens, too.",
)
@click.option("--survey", metavar="NAME", help="Only for this survey, published or not yet.")
@click.option("--days", default=365, show_default=True, help="Days until the token expires.")
@click.option("--note", default="", help="Your reminder of whose it is; operators see it.")
def new(database: str, role: str, survey: str | None, days: int, note: str) -> None:
    """Make a token and show it, once.

    The token alone goes to standard output: export DENIABLY_TOKEN=$(deniably token new)
    """
    from deniably_server.storage.tables.tokens import make

    try:
        made, text = make(cast("Role", role), survey, days, note)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    with closing(open_store(database)) as store:
        store.add_token(made)
    scope = f" for {survey}" if survey else ""
    article = "An" if role[0] in "ao" else "A"
    click.echo(
        f"{article} {role}'s token{scope}, valid until {made.until}, shown only now:", err=True
    )
    click.echo(text)


@token.command(name="list")
@settings_options("database")
def show(database: str) -> None:
    """List every token: its id, role, survey, last day, state and note."""
    with closing(store_of(database)) as store:
        tokens = store.tokens()
    rows: list[tuple[str, ...]] = [("id", "role", "survey", "until", "state", "note")]
    rows += [tuple(str(token.document[name] or "") for name in rows[0]) for token in tokens]
    for line in aligned(rows, texts=len(rows[0])):
        click.echo(line)


@token.command()
@settings_options("database")
@click.argument("name", metavar="ID")
def revoke(database: str, name: str) -> None:
    """Revoke the token ID, for good."""
    with closing(store_of(database)) as store:
        if not store.revoke_token(name):
            raise click.ClickException(f"there is no token {name}; see deniably token list")
    click.echo(f"{name} is revoked")
