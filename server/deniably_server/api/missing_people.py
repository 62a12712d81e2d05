"""Says on a results page that devices may have refused a survey, because the author's other surveys
had used up what a device gives to one author.

The people who take part most are then missing, and no interval shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from deniably.device.ledger import ACCOUNTS, Account, Limits, first_counted_day
from deniably_server.guard.app_state import current_store

_TOGETHER = " that holds if mixers work together with servers"


def missing_people(name: str) -> str:
    """Returns a sentence for the results page of the survey ``name`` if a device that answered all
    surveys of its author would have passed its limit for one author, and so may have refused this
    one; else an empty string.

    It adds up the epsilons of the register, rounded up, of the author's surveys that were
    published up to 364 days before this one, or while this one was open. Where surveys have mixers
    there are two sums, as in a device's ledger, and either may have passed its limit.
    """
    store = current_store()
    entries = store.published_by(store.author(name))
    own = next(entry for entry in entries if entry["survey"] == name)
    since = first_counted_day(own["day"], [own["day"]])
    until = store.closing_day(name) or "9999"  # open: after every date
    # A memo is a randomised answer that a device keeps: other waves with it cost nothing more.
    same_memos = store.waves(name) if _keeps_memos(own) else []
    counted = [
        entry
        for entry in entries
        if since <= entry["day"] <= until
        and (entry["survey"] == name or entry["survey"] not in same_memos)
    ]
    passed: list[Account] = [each for each in ACCOUNTS if _total(counted, each) > _limit(each)]
    if not passed:
        return ""
    account = passed[0]
    refuse = (
        "answer only a part of the questions, or refuse. The intervals cannot know of people whose"
        " devices refused."
        if store.survey(name).part
        else "refuse. The intervals cannot know of that."
    )
    return (
        "Some people may be missing. A device gives one author at most epsilon"
        f" {_limit(account)} in 365 days{_TOGETHER if account == 'together' else ''}, and with the"
        f" author’s other surveys of that time this one adds up to {_total(counted, account)}. So"
        f" the devices of those who take part in everything {refuse}"
    )


def _limit(account: Account) -> Decimal:
    limit = Limits().of_scope("author", account)
    return limit.numerator / Decimal(limit.denominator)


def _total(entries: Sequence[dict[str, Any]], account: Account) -> Decimal:
    return sum((_epsilon(entry, account) for entry in entries), Decimal(0))


def _keeps_memos(entry: dict[str, Any]) -> bool:
    """Returns whether devices answer from memos, which are paid for once, for all waves."""
    return any(question["mechanism"] == "memoised" for question in entry["questions"])


def _epsilon(entry: dict[str, Any], account: Account) -> Decimal:
    """Returns what the survey costs a person who never answered another wave of it: against its
    server alone, or if its mixer works together with the server."""
    if account == "server" and "mixed" in entry:
        return Decimal(entry["mixed"]["epsilon"])
    return Decimal(entry["history"] if _keeps_memos(entry) else entry["epsilon"])
