"""Gives commands the options for the server's settings, and opens the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deniably.core.extras import install_command
from deniably_server.settings import SETTINGS, Setting

if TYPE_CHECKING:
    from deniably_server.storage.base_store import BaseStore
    from deniably_server.storage.engines.engine import Engine
    from deniably_server.storage.mixer_store import MixerStore
    from deniably_server.storage.store import Store

_Store = TypeVar("_Store")
_Command = TypeVar("_Command", bound=Callable[..., Any])


def settings_options(
    *names: str, of: Sequence[Setting] = SETTINGS
) -> Callable[[_Command], _Command]:
    """Returns a decorator that adds a click option for each named setting, or for all."""

    def decorate(command: _Command) -> _Command:
        for setting in reversed(of):
            if setting.name in names or not names:
                command = click.option(
                    f"--{setting.option}",
                    setting.name,
                    envvar=setting.variable,
                    type=_type_of(setting),
                    default=setting.default,
                    show_default=True,
                    help=f"{setting.help} [{setting.variable}]",
                    **_without_value(setting),
                )(command)
        return command

    return decorate


def _without_value(setting: Setting) -> dict[str, Any]:
    """What click needs for an option that may stand alone."""
    if setting.alone is None:
        return {}
    return {"is_flag": False, "flag_value": setting.alone, "metavar": "[ADDRESS]"}


def _type_of(setting: Setting) -> click.IntRange | click.Choice[str] | click.types.StringParamType:
    if isinstance(setting.default, int):
        return click.IntRange(setting.least, setting.most)
    return click.Choice(setting.choices) if setting.choices else click.STRING


def open_store(address: str, *, wait: bool = False) -> Store:
    """Opens the store at a database's address; creates the database if it is missing.

    With ``wait``, waits up to a minute for a PostgreSQL that is not up yet. Raises ClickException
    with the reason where the database cannot be used.
    """
    from deniably_server.storage.store import Store

    return _opened(address, Store, wait=wait)


def open_mixer_store(address: str, *, wait: bool = False) -> MixerStore:
    """Opens a mixer's store, as ``open_store`` does a server's."""
    from deniably_server.storage.mixer_store import MixerStore

    return _opened(address, MixerStore, wait=wait)


def _opened(address: str, store: Callable[[str], _Store], *, wait: bool) -> _Store:
    from deniably_server.storage.engines.database_urls import (
        await_database,
        engine_at,
        without_credentials,
    )

    try:
        errors: tuple[type[Exception], ...] = (OSError, *engine_at(address).errors)
    except ImportError:
        raise click.ClickException(
            f"PostgreSQL needs its driver; get it with: {install_command('postgres')}"
        ) from None
    if wait:
        line = f"Waiting for {without_credentials(address)}, which does not answer yet."
        await_database(address, lambda: click.echo(line, err=True))
    try:
        return store(address)
    except errors as error:
        raise click.ClickException(
            f"cannot use {without_credentials(address)} as the database: {str(error).strip()}"
        ) from None


def engine_of(store: BaseStore) -> Engine:
    """Returns the engine of a store that was opened only to report errors in a sentence, and closes
    the store."""
    store.close()
    return store.engine


def store_of(address: str) -> Store:
    """Opens an existing store. Raises ClickException where the file is missing, as by a misspelt
    name."""
    from deniably_server.storage.engines.database_urls import file_at

    file = file_at(address)
    if file is not None and not file.exists():
        raise click.ClickException(f"there is no database {file}")
    return open_store(address)
