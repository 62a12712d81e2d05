"""The command ``deniably``: sub-commands of client and server behind one name."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points

import click

from deniably.core.errors import DeniablyError
from deniably_client.errors import printable

_WHOLE = 1000  # characters


class _Commands(click.Group):
    """Sub-commands by entry point, loaded when they are called: neither half imports the other."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(entry_points(group="deniably.commands").names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = entry_points(group="deniably.commands", name=cmd_name)
        if not found:
            return None
        command = next(iter(found)).load()
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with its whole first sentence; click would cut it off at the end of the line."""
        listed = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(_WHOLE)) for name, each in listed if each]
            )


@click.group(cls=_Commands)
@click.version_option(package_name="deniably")
def deniably() -> None:
    """Surveys whose answers nobody can pin on you."""


def main() -> None:
    """Run the command line; whatever is refused on purpose is one sentence and exit status 1."""
    try:
        deniably()
        return
    except DeniablyError as error:
        why = str(error)
    except ModuleNotFoundError as error:
        # A device carries little; what authors and operators need comes with the extra.
        why = f"{error.name} is not installed here; get it with: pip install 'deniably[server]'"
    click.echo(f"Error: {printable(why)}", err=True)
    sys.exit(1)
