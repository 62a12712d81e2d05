"""Stores envelopes as reports are stored: those that wait together, in one transaction.

An invitation is good for one envelope. The survey's state is read inside the transaction, so every
acknowledged envelope is in the batch that is made after the closing, and no envelope follows it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from deniably_server.errors import Uninvited, Used
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.envelopes import EnvelopeRow, holds, insert_envelopes
from deniably_server.storage.tables.invitations import spend
from deniably_server.storage.tables.mixes import MixState, state_of
from deniably_server.storage.writing.commit import Outcome, SingleWrite
from deniably_server.storage.writing.writer import Writer


class EnvelopeWrite(SingleWrite):
    """One envelope to be stored, of a survey with this digest.

    ``invitation`` has the secret of hashes of codes and the code that the envelope brings; None
    where the survey has no invitations.
    """

    __slots__ = ("invitation", "key", "sealed", "survey")

    def __init__(
        self, survey: str, sealed: bytes, invitation: tuple[bytes, str] | None = None
    ) -> None:
        super().__init__()
        self.survey, self.sealed, self.invitation = survey, sealed, invitation
        self.key = hashlib.sha256(sealed).digest()

    @property
    def row(self) -> EnvelopeRow:
        """The row of the envelope."""
        return (self.key, self.survey, self.sealed)


class EnvelopeWriter(Writer):
    """The thread that stores envelopes."""

    def _commit(self, database: Connection, writes: Sequence[Any]) -> list[Outcome]:
        return commit_envelopes(database, writes)


def commit_envelopes(database: Connection, writes: Sequence[EnvelopeWrite]) -> list[Outcome]:
    """Stores envelopes in one transaction; returns their outcomes in order.

    One that is stored already is ``REPLAYED``, also after the closing. Another one with an
    invitation that was used is a ``CONFLICT``. One with an unknown invitation is ``UNKNOWN``.
    Where the transaction ran into another one, it begins again, alone.
    """
    database.begin_adding()
    try:
        return _added(database, writes)
    except database.collisions:
        database.rollback()
    database.begin_writing()
    return _added(database, writes)


def _added(database: Connection, writes: Sequence[EnvelopeWrite]) -> list[Outcome]:
    """Stores envelopes in the transaction that was begun, and commits it."""
    states: dict[str, MixState | None] = {
        survey: state_of(database, survey) for survey in {each.survey for each in writes}
    }
    outcomes: dict[bytes, Outcome] = {}
    # In the order of the hashes: their order on disk does not follow their order of arrival, and
    # transactions that insert the same envelopes do not deadlock.
    for write in sorted({each.key: each for each in writes}.values(), key=lambda each: each.key):
        outcomes[write.key] = _outcome(database, write, states[write.survey])
    wanted = {each.key: each for each in writes if outcomes[each.key] is Outcome.STORED}
    new = insert_envelopes(database, [wanted[key].row for key in sorted(wanted)])
    for key in wanted.keys() - new:  # another process stored it just now
        outcomes[key] = Outcome.REPLAYED
    database.commit()
    told: list[Outcome] = []
    for write in writes:
        told.append(outcomes[write.key])
        if outcomes[write.key] is Outcome.STORED:  # of equal ones the first is new
            outcomes[write.key] = Outcome.REPLAYED
    return told


def _outcome(database: Connection, write: EnvelopeWrite, state: MixState | None) -> Outcome:
    """What becomes of an envelope; spends its invitation where it is to be stored."""
    if holds(database, write.survey, write.key):
        return Outcome.REPLAYED
    if state != "open":
        return Outcome.UNKNOWN if state is None else Outcome.CLOSED
    if write.invitation is not None:
        secret, code = write.invitation
        try:
            spend(database, write.survey, secret, code, write.sealed)
        except Used:
            return Outcome.CONFLICT
        except Uninvited:
            return Outcome.UNKNOWN
    return Outcome.STORED
