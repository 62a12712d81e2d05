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


_USERS = {
    "See what it does": "demo lab",
    "Respondents": "answer ledger forget register",
    "Authors": "check plan simulate audit dossier sign publish rehearse invite status close"
    " author-key",
    "Analysts": "results export gather tally",
    "Operators": "serve mix token backup restore migrate doctor",
}
"""Who uses which commands, in the order of their work."""


class _Commands(click.Group):
    """Loads sub-commands from entry points on demand: neither half imports the other."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_entries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # Loaded here and not when the list is made: to load a command imports all that it needs.
        entry = _entries().get(cmd_name)
        if not entry:
            return None
        command = entry.load()
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands by who uses them, each with its whole first sentence, which click
        would cut."""
        installed = _entries()
        listed = {users: names.split() for users, names in _USERS.items()}
        assigned = {name for names in listed.values() for name in names}
        listed["Others"] = sorted(installed.keys() - assigned)
        width = max(map(len, installed), default=0)
        for users, names in listed.items():
            commands = [(name, self.get_command(ctx, name)) for name in names if name in installed]
            if commands:
                with formatter.section(users):
                    formatter.write_dl([
                        (name.ljust(width), command.get_short_help_str(_WHOLE))
                        for name, command in commands if command
                    ])  # fmt: skip


@cache  # to look through what is installed takes longer than most commands
def _entries() -> Mapping[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="deniably.commands")}


@click.group(cls=_Commands)
@click.version_option(package_name="deniably")
def deniably() -> None:
    """Surveys whose answers nobody can pin on you."""


def main() -> None:
    """Runs the command line. A DeniablyError becomes one sentence and exit status 1."""
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
