"""``deniably ledger`` shows this device's privacy losses; ``deniably forget`` destroys them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from importlib.util import find_spec
from typing import Any

import click
import msgspec

from deniably.core.loss import Loss
from deniably.core.table import aligned
from deniably.device.ledger import (
    ENDING_SCOPES,
    Account,
    Leaving,
    Ledger,
    LedgerEntry,
    Limits,
    MixedLoss,
    Scope,
    accounts,
    counted_entries,
    first_to_leave,
    share,
    total_loss,
)
from deniably.device.memory import Memory, counted_since
from deniably.trust.signing import fingerprint
from deniably.wording import explain
from deniably_client.errors import MemoryUnusable
from deniably_client.storage import Storage


def with_limits(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of the privacy limits to a command, which gets them as its argument
    ``limits``.

    The command ends with a usage error where a limit is not a decimal that a ledger allows.
    """

    @click.option(
        "--limit",
        envvar="DENIABLY_LIMIT",
        default="5",
        show_default=True,
        help="The largest epsilon for one survey.",
    )
    @click.option(
        "--limit-author",
        envvar="DENIABLY_LIMIT_AUTHOR",
        default="",
        help="The largest epsilon for all surveys of one author.  [default: 10]",
    )
    @click.option(
        "--limit-overall", envvar="DENIABLY_LIMIT_OVERALL", default="",
        help="The largest epsilon for all surveys together.  [default: 20]",
    )  # fmt: skip
    @wraps(command)
    def wrapped(limit: str, limit_author: str, limit_overall: str, **options: Any) -> None:
        try:
            limits = Limits.of(limit, limit_author, limit_overall)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        command(limits=limits, **options)

    return wrapped


@click.command()
@with_limits
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the exact charges.")
def ledger(limits: Limits, as_json: bool) -> None:
    """Show what this device has given away about you, survey by survey.

    Every line is a question that was randomised. It shows by which factor, at most, the report can
    shift the odds between two answers. Answers are not kept, so none are shown.

    The answers to some surveys went through a mixer. Totals count what the servers of surveys learn
    alone. Totals "together" count what they learn if mixers work together with them.

    The limits for one author and for all surveys count the charges of the last 365 days, by this
    device's clock and by the register of the server. "In all" also adds up older charges.
    """
    memory = Storage().read()
    click.echo(json.dumps(_plain(memory, limits)) if as_json else _table(memory, limits))


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(yes: bool) -> None:
    """Destroy what this device remembers: the ledger, what was sent, whom it trusts."""
    storage = Storage()
    click.echo(f"{storage.folder}: {_held(storage)}")
    click.echo(
        "Once it is forgotten, this device can no longer count what was given away. A server"
        "\nthat received a report still has it. Surveys that are answered again give away more."
        "\nInvitations that were traded, and not answered by yet, are lost."
    )
    if not yes:
        click.confirm("Forget it now?", abort=True)
    storage.forget()
    click.echo("Forgotten.")


def _held(storage: Storage) -> str:
    try:
        memory = storage.read()
    except MemoryUnusable:
        return "something that cannot be read any more."
    count = len(memory.reports)
    reports = f"the report{'' if count == 1 else 's'} of {count} survey{'' if count == 1 else 's'}"
    return f"{reports}, encrypted, and a count of what was given away."


# --- the table --------------------------------------------------------------------------------


def _table(memory: Memory, limits: Limits) -> str:
    if not memory.ledger:
        return "Nothing was given away by this device, as far as it remembers."
    rows: list[tuple[str, ...]] = [("day", "survey", "question", "author", "given away", "mixer")]
    rows += [_row(entry) for entry in memory.ledger]
    if not any(entry.mixed for entry in memory.ledger):
        rows = [row[:-1] for row in rows]
    totals = [_line(total) for total in _totals(memory, limits)]
    return "\n".join([*aligned(rows, texts=len(rows[0])), "", *totals, *_exactly(memory.ledger)])


def _exactly(ledger: Ledger) -> list[str]:
    """Returns lines with the epsilon of all entries by exact composition, where that is less than
    the sum.

    It takes numpy, which few devices have.
    """
    if find_spec("numpy") is None:
        return []
    from deniably.design.exact_totals import DELTA, exact_epsilon, rounded_up

    total = total_loss(ledger)
    exact = rounded_up(exact_epsilon(entry.counts("server") for entry in ledger))
    if float(exact) >= float(total.epsilon_text()):
        return []
    return [
        "",
        f"These are sums, which the limits count. Exactly, all together has epsilon {exact},"
        f" but for a chance of {float(DELTA + total.delta):g} (Kairouz, Oh and Viswanath 2015).",
    ]


def _row(entry: LedgerEntry) -> tuple[str, ...]:
    mixer = fingerprint(entry.mixed.mixer) if isinstance(entry.mixed, MixedLoss) else ""
    author, odds = _author(entry.author), _at_most(entry.loss)
    return (entry.day, entry.survey, entry.question, author, odds, mixer)


def _at_most(loss: Loss) -> str:
    return explain.odds_text(loss)


def _author(key: str) -> str:
    return fingerprint(key) if key else "not known"


@dataclass(frozen=True)
class _Total:
    """What counts in one total of an account, and everything that ever did; ``percent`` is of the
    limit."""

    account: Account
    scope: Scope
    name: str
    counted: Loss
    percent: int
    in_all: Loss
    leaving: Leaving | None


def _totals(memory: Memory, limits: Limits) -> list[_Total]:
    """The total of each survey, of each author, and over all, in each account that can refuse."""
    ledger, today = memory.ledger, datetime.now(UTC).date().isoformat()

    def total(
        account: Account, scope: Scope, name: str, version: str = "", author: str = ""
    ) -> _Total:
        since = counted_since(memory, author, today)
        counted = counted_entries(ledger, version, author, since)[scope]
        loss = total_loss(counted, account)
        percent = share(loss, scope, limits, account)
        ever = total_loss(counted_entries(ledger, version, author)[scope], account)
        leaving = first_to_leave(counted, account) if scope in ENDING_SCOPES else None
        return _Total(account, scope, name, loss, percent, ever, leaving)

    # In the order of their first charges.
    versions = {entry.version: entry.survey for entry in ledger}
    authors = dict.fromkeys(entry.author for entry in ledger)
    return [
        each
        for account in accounts(ledger)
        for each in (
            *(total(account, "survey", name, version=key) for key, name in versions.items()),
            *(total(account, "author", author, author=author) for author in authors),
            total(account, "overall", ""),
        )
    ]


def _line(total: _Total) -> str:
    names = {"survey": f"survey {total.name}", "author": f"author {_author(total.name)}"}
    together = ", together" if total.account == "together" else ""
    line = (
        f"{names.get(total.scope, 'all')}{together}: {_at_most(total.counted)}, epsilon"
        f" {total.counted.epsilon_text()}, {total.percent} % of what this device allows"
    )
    if total.leaving:
        line += f"; epsilon {total.leaving.loss.epsilon_text()} of it until {total.leaving.day}"
    if total.scope in ENDING_SCOPES:
        line += f"; in all epsilon {total.in_all.epsilon_text()}"
    return line


def _plain(memory: Memory, limits: Limits) -> dict[str, object]:
    totals = [
        {
            "scope": total.scope,
            "name": total.name,
            "epsilon": total.counted.epsilon_text(),
            "percent": total.percent,
            "in_all": total.in_all.epsilon_text(),
        }
        | ({"account": total.account} if total.account != "server" else {})
        | (
            {"until": total.leaving.day, "leaving": total.leaving.loss.epsilon_text()}
            if total.leaving
            else {}
        )
        for total in _totals(memory, limits)
    ]
    return {"entries": [msgspec.to_builtins(entry) for entry in memory.ledger], "totals": totals}
