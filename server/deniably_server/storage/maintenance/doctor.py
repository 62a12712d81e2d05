"""Checks that everything stored is intact: the database file, every tally and the register."""

from __future__ import annotations

import json
from dataclasses import dataclass

from deniably.core import counting
from deniably.core.errors import BadKey, BadRegister
from deniably.estimation.tally import Tally
from deniably.survey.mixer import Mixer
from deniably.trust.heads import differences, head_of
from deniably.trust.register import read_register
from deniably_server.errors import NotFound, Unavailable
from deniably_server.storage.mixed import HASH, read_manifest
from deniably_server.storage.store import Store

_DAMAGE = (LookupError, TypeError, ValueError)
"""What reading raises where the database holds something that the server did not write."""


@dataclass(frozen=True)
class Finding:
    """One problem of a database, in a sentence (``what``), and what ``repair`` needs to solve it.

    ``survey`` names a survey whose tallies are wrong, and can be counted again from its reports.
    ``needs_rewrite`` names a closed survey whose order of reports was not erased. Where both are
    None, only a backup helps.
    """

    what: str
    survey: str | None = None
    needs_rewrite: str | None = None


def examine(store: Store) -> list[Finding]:
    """Returns every problem of a database. Reads all reports; the server may run meanwhile.

    Each survey is read in one transaction, so reports that arrive meanwhile cause no finding.
    """
    try:
        findings = [Finding(problem) for problem in store.problems()]
        findings += _register(store)
        findings += _keys(store)
        findings += _mixed(store)
        for name in store.names():
            findings += _tallies(store, name)
        findings += _closings(store)
    except Unavailable as error:
        return [Finding(str(error))]
    except store.engine.errors as error:
        return [Finding(f"the database cannot be read: {str(error).strip()}")]
    return findings


def repair(store: Store, findings: list[Finding]) -> list[str]:
    """Counts wrong tallies again, and rewrites closed surveys whose places on the disk still
    reveal in which order reports came. Returns what was done, in sentences."""
    wrong = sorted({finding.survey for finding in findings if finding.survey is not None})
    marked = sorted({each.needs_rewrite for each in findings if each.needs_rewrite is not None})
    for name in wrong:
        store.rebuild_tallies(name)
    if marked:
        store.erase_order(*marked)
    return [f"{name}: counted again" for name in wrong] + [
        f"{name}: nothing tells the order of its reports any more" for name in marked
    ]


def _closings(store: Store) -> list[Finding]:
    """Closed surveys whose disk pages still reveal the order of their reports."""
    what = "is closed, and the disk may still tell in which order its reports came"
    return [Finding(f"{name}: {what}", needs_rewrite=name) for name in store.revealing_order()]


def _tallies(store: Store, name: str) -> list[Finding]:
    try:
        store.recount(name)
    except _DAMAGE:
        return [Finding(f"{name}: its definition or a report cannot be read; restore a backup")]
    except store.engine.errors:  # what is no JSON, the database itself does not read
        return [Finding(f"{name}: a report cannot be read; restore a backup")]
    try:
        both = store.tallies_and_recounts(name)
    except _DAMAGE:
        return [Finding(f"{name}: the tallies count what its questions do not have", name)]
    return [
        Finding(_difference(name, question, tally[question], counted), name)
        for tally, recount in both
        for question, counted in recount.items()
        if tally[question] != counted
    ]


def _register(store: Store) -> list[Finding]:
    texts, head = store.register()
    try:
        register = read_register(f'{{"entries":[{",".join(texts)}],"head":"{head}"}}')
    except BadRegister as error:
        return [Finding(f"the register: {error}")]
    made, shown = head_of(register), store.register_head()
    if wrong := differences(shown, made):
        text = " and ".join(wrong)
        return [Finding(f"the register: the head for devices differs from its entries in {text}")]
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
    """Surveys that sign invitations with another key than the register publishes."""
    entries = [json.loads(text) for text in store.register()[0]]
    wrong: list[Finding] = []
    for entry in entries:
        if (shown := entry.get("invitations")) is None:
            continue
        name = entry["survey"]
        try:
            own = store.invitation_key(name).text
        except (BadKey, NotFound):
            wrong.append(Finding(f"{name}: the key of its invitations is gone; restore a backup"))
            continue
        if own != shown:
            what = "the register shows another key of its invitations than the one that signs"
            wrong.append(Finding(f"{name}: {what}"))
    return wrong


def _mixed(store: Store) -> list[Finding]:
    """Surveys with a mixer whose answers nobody could read, or whose list of received envelopes is
    not whole."""
    wrong: list[Finding] = []
    for name in store.names():
        try:
            mixer = store.survey(name).mixer
        except _DAMAGE:  # ``_tallies`` says so
            continue
        if not isinstance(mixer, Mixer):
            continue
        stored = store.mixed.manifest(name)
        if stored is None or stored.state == "open":
            if not _opens(store, name, mixer):
                what = "the key that opens its answers is gone; restore a backup"
                wrong.append(Finding(f"{name}: {what}"))
        elif stored.state == "taken":
            listed = sum(map(len, store.mixed.hashes(name))) // HASH
            if listed != read_manifest(stored).envelopes:
                what = "the list of received envelopes is not whole; restore a backup"
                wrong.append(Finding(f"{name}: {what}"))
    return wrong


def _opens(store: Store, name: str, mixer: Mixer) -> bool:
    """Whether the server has the key that opens what a mixer will pass on."""
    try:
        key = store.mixed.key(name)
    except BadKey:
        return False
    return key is not None and key.public == mixer.open


def _difference(name: str, question: str, tally: Tally, counted: Tally) -> str:
    kept, right = f"{counting.counted(tally.reports, 'report')}", f"{counted.reports:,}"
    if tally.reports == counted.reports:
        kept, right = "other counts", f"those of its {counting.counted(counted.reports, 'report')}"
    return f"{name}, {question}: the tally has {kept}, and not {right}"
