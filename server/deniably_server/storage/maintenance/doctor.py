"""Whether what is stored is whole: the database itself, every tally, the register."""

from __future__ import annotations

import json
from dataclasses import dataclass

from deniably.core.errors import BadKey, BadRegister
from deniably.estimation.tally import Tally
from deniably.trust.register import read_register
from deniably_server.errors import NotFound, Unavailable
from deniably_server.storage.store import Store

_DAMAGE = (LookupError, TypeError, ValueError)
"""What reading raises where what is stored is nothing that the server wrote."""


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be. ``survey`` is the one whose tallies are wrong, and
    can be counted anew from its reports, ``untidy`` the one whose closing was not finished; of what
    cannot be repaired here both are None."""

    what: str
    survey: str | None = None
    untidy: str | None = None


def examine(store: Store) -> list[Finding]:
    """Everything that is wrong; reads all reports, while the server may go on.

    What a server stores meanwhile disturbs nothing: each survey is read as of one moment.
    """
    try:
        found = [Finding(problem) for problem in store.problems()]
        found += _register(store)
        found += _keys(store)
        for name in store.names():
            found += _tallies(store, name)
        found += _closings(store)
    except Unavailable as error:
        return [Finding(str(error))]
    except store.engine.errors as error:
        return [Finding(f"the database cannot be read: {str(error).strip()}")]
    return found


def repair(store: Store, found: list[Finding]) -> list[str]:
    """Count the tallies that are wrong anew, and finish closings; what was done, in sentences."""
    wrong = sorted({finding.survey for finding in found if finding.survey is not None})
    untidy = sorted({finding.untidy for finding in found if finding.untidy is not None})
    for name in wrong:
        store.count_anew(name)
    if untidy:
        store.tidy(*untidy)
    return [f"{name}: counted anew" for name in wrong] + [
        f"{name}: nothing tells the order of its reports any more" for name in untidy
    ]


def _closings(store: Store) -> list[Finding]:
    """Of a closed survey nothing may tell in which order its reports came."""
    what = "is closed, and the disk may still tell in which order its reports came"
    return [Finding(f"{name}: {what}", untidy=name) for name in store.telling_order()]


def _tallies(store: Store, name: str) -> list[Finding]:
    try:
        store.recount(name)
    except _DAMAGE:
        return [Finding(f"{name}: its definition or a report cannot be read; restore a backup")]
    except store.engine.errors:  # what is no JSON, the database itself does not read
        return [Finding(f"{name}: a report cannot be read; restore a backup")]
    try:
        tally, recount = store.tally_and_recount(name)
    except _DAMAGE:
        return [Finding(f"{name}: the tallies count what its questions do not have", name)]
    return [
        Finding(_difference(name, question, tally[question], counted), name)
        for question, counted in recount.items()
        if tally[question] != counted
    ]


def _register(store: Store) -> list[Finding]:
    texts, head = store.register()
    try:
        register = read_register(f'{{"entries":[{",".join(texts)}],"head":"{head}"}}')
    except BadRegister as error:
        return [Finding(f"the register: {error}")]
    listed = {
        entry["survey"]: entry["digest"]
        for entry in register.entries
        if entry["event"] == "published"
    }
    return [
        Finding(
            f"{name}: the register has {'another' if name in listed else 'no'} definition of it"
        )
        for name, digest in store.digests().items()
        if listed.get(name) != digest
    ]


def _keys(store: Store) -> list[Finding]:
    """The key that signs for invitations is the one that the register shows to everybody."""
    entries = [json.loads(text) for text in store.register()[0]]
    found: list[Finding] = []
    for entry in entries:
        if (shown := entry.get("invitations")) is None:
            continue
        name = entry["survey"]
        try:
            own = store.invitation_key(name).text
        except (BadKey, NotFound):
            found.append(Finding(f"{name}: the key of its invitations is gone; restore a backup"))
            continue
        if own != shown:
            what = "the register shows another key of its invitations than the one that signs"
            found.append(Finding(f"{name}: {what}"))
    return found


def _difference(name: str, question: str, tally: Tally, counted: Tally) -> str:
    kept, right = f"{tally.n:,} reports", f"{counted.n:,}"
    if tally.n == counted.n:
        kept, right = "other counts", f"those of its {counted.n:,} reports"
    return f"{name}, {question}: the tally has {kept}, and not {right}"
