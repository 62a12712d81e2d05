"""``deniably invite``: issues and withdraws invitations, which nobody can link to reports."""

from __future__ import annotations

import csv
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

import click

from deniably_server.commands.database import open_store, settings_options

if TYPE_CHECKING:
    from deniably_server.storage.store import Store

_MOST = 1_000_000


@click.command()
@click.argument("name")
@settings_options("database")
@click.option("--count", type=click.IntRange(1, _MOST), help="Number of invitations to make.")
@click.option(
    "--for",
    "strata",
    multiple=True,
    metavar="KEY=VALUE",
    help="For whom, in a survey with strata: --for site=north. Once for each key.",
)
@click.option(
    "--server",
    envvar="DENIABLY_SERVER",
    help="Address of the server; then the codes are links to it. [DENIABLY_SERVER]",
)
@click.option("--csv", "as_table", is_flag=True, help="A table with a heading, for a mail merge.")
@click.option(
    "--revoke",
    type=click.File(encoding="utf-8"),
    help="Take back the invitations in this file, a code or link a line; - reads the input.",
)
def invite(
    name: str,
    database: str,
    count: int | None,
    strata: tuple[str, ...],
    server: str | None,
    as_table: bool,
    revoke: TextIO | None,
) -> None:
    """Invite people to the survey NAME; without --count, say how many were invited.

    Each invitation is good for one report. It is shown only once: the database has only a keyed
    hash of it. The command uses the database directly; the server may run meanwhile.
    """
    if count is not None and revoke is not None:
        raise click.UsageError("make invitations or take some back, one at a time")
    with closing(open_store(database)) as store, _explained():
        if count is not None:
            number, query = _stratum(store, name, strata)
            codes = store.invite(name, count, number)
            _show(codes, name, server, query, as_table=as_table)
        elif revoke is not None:
            _revoke(store, name, revoke)
        counts = store.invitations(name)
        groups = list(_by_stratum(store, name))
    click.echo(f"{name}: {counts.issued:,} issued, {counts.used:,} used", err=count is not None)
    for line in groups:
        click.echo(line, err=count is not None)


def _stratum(store: Store, name: str, strata: Sequence[str]) -> tuple[int, str]:
    """The number of the stratum that the options name, and the end of its link."""
    from deniably.core.errors import BadLink
    from deniably.survey.strata import query_of, stratum_in

    survey = store.survey(name)
    known = survey.strata or {}
    if unknown := [option for option in strata if option.partition("=")[0] not in known]:
        keys = f"has the keys {', '.join(known)}" if known else "has no strata"
        raise click.UsageError(f"--for {unknown[0]}: the survey {name} {keys}")
    try:
        stratum = stratum_in("&".join(strata), known)
    except BadLink as error:
        values = ", ".join(known[error.key])
        raise click.UsageError(
            f"say once for whom the invitations are: --for {error.key}=..., one of {values}"
        ) from None
    return survey.stratum_number(stratum), query_of(stratum)


def _by_stratum(store: Store, name: str) -> Iterator[str]:
    from deniably.survey.strata import stratum_text

    survey = store.survey(name)
    for number, stratum in enumerate(survey.every_stratum if survey.strata else ()):
        yield f"  {stratum_text(stratum)}: {store.issued(name, [number]):,} issued"


def _show(codes: list[str], name: str, server: str | None, query: str, *, as_table: bool) -> None:
    from deniably.trust.invitation_codes import code_in_groups

    base = None if server is None else f"{server.rstrip('/')}/s/{quote(name, safe='')}{query}"
    written = [code_in_groups(code) for code in codes]
    links = [] if base is None else [f"{base}#{code}" for code in written]
    if not as_table:
        click.echo("\n".join(links or written))
        return
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(("code", "link") if links else ("code",))
    table.writerows(zip(written, links, strict=True) if links else ((code,) for code in written))


def _revoke(store: Store, name: str, file: TextIO) -> None:
    from deniably.core.errors import BadInvitation
    from deniably.trust.invitation_codes import read_code

    codes: list[str] = []
    for number, line in enumerate(file, start=1):
        try:
            if line.strip():
                codes.append(read_code(line))
        except BadInvitation as error:
            raise click.ClickException(f"line {number}: {error}; nothing was taken back") from None
    taken = store.revoke_invitations(name, codes)
    click.echo(f"{taken:,} taken back; of those that are used none can be")


@contextmanager
def _explained() -> Generator[None]:
    from deniably_server.errors import Refusal

    try:
        yield
    except Refusal as error:
        raise click.ClickException(error.why) from None
