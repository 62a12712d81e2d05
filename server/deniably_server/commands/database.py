"""What several commands share: an option for each setting, and the database that one names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deniably_server.settings import SETTINGS, Setting

if TYPE_CHECKING:
    from deniably_server.storage.store import Store

_Command = TypeVar("_Command", bound=Callable[..., Any])


def settings_options(*names: str) -> Callable[[_Command], _Command]:
    """An option for each setting, from the one table of settings."""

    def decorate(command: _Command) -> _Command:
        for setting in reversed(SETTINGS):
            if setting.name in names or not names:
                command = click.option(
                    f"--{setting.name}",
                    envvar=setting.variable,
                    type=_type_of(setting),
                    default=setting.default,
                    show_default=True,
                    help=f"{setting.help} [{setting.variable}]",
                )(command)
        return command

    return decorate


def _type_of(setting: Setting) -> click.IntRange | click.Choice[str] | click.types.StringParamType:
    if isinstance(setting.default, int):
        return click.IntRange(setting.least, setting.most)
    return click.Choice(setting.choices) if setting.choices else click.STRING


def open_store(address: str, *, wait: bool = False) -> Store:
    """The store, or a sentence on why there can be none at the address. With ``wait`` a PostgreSQL
    that is not up yet gets a minute."""
    from deniably_server.storage.engines.addresses import (
        await_database,
        engine_at,
        without_credentials,
    )
    from deniably_server.storage.store import Store

    try:
        errors: tuple[type[Exception], ...] = (OSError, *engine_at(address).errors)
    except ImportError:
        raise click.ClickException(
            "PostgreSQL needs its driver: pip install 'deniably[server,postgres]'"
        ) from None
    if wait:
        line = f"Waiting for {without_credentials(address)}, which does not answer yet."
        await_database(address, lambda: click.echo(line, err=True))
    try:
        return Store(address)
    except errors as error:
        raise click.ClickException(
            f"cannot use {without_credentials(address)} as the database: {str(error).strip()}"
        ) from None


def store_of(address: str) -> Store:
    """The store that is there already: of a name that was misspelt nothing is made."""
    from deniably_server.storage.engines.addresses import file_at

    file = file_at(address)
    if file is not None and not file.exists():
        raise click.ClickException(f"there is no database {file}")
    return open_store(address)
