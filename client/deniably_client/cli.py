"""The command ``deniably``, with the sub-commands of client and server."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

import click

from deniably.core.errors import DeniablyError
from deniably.core.extras import install_command
from deniably.core.steering import printable

_WHOLE = 1000  # characters, so that no short help is cut


class _Commands(click.Group):
    """Loads sub-commands from entry points on demand: neither half imports the other."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_entries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = _entries().get(cmd_name)
        if not found:
            return None
        command = found.load()
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List each command with its whole first sentence, which click would cut."""
        listed = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(_WHOLE)) for name, each in listed if each]
            )


@cache  # to look through what is installed takes longer than most commands
def _entries() -> Mapping[str, EntryPoint]:
    return {each.name: each for each in entry_points(group="deniably.commands")}


@click.group(cls=_Commands)
@click.version_option(package_name="deniably")
def deniably() -> None:
    """Surveys whose answers nobody can pin on you."""


def main() -> None:
    """Run the command line. A DeniablyError becomes one sentence and exit status 1."""
    try:
        deniably()
        return
    except DeniablyError as error:
        why = str(error)
    except ModuleNotFoundError as error:
        # The base install is small; authors and operators need the extra.
        why = f"{error.name} is not installed here; get it with: {install_command('server')}"
    click.echo(f"Error: {printable(why)}", err=True)
    sys.exit(1)
