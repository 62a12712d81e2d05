"""Takes one envelope: opens it, looks at its code, and stores it as it came."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from deniably.core.errors import BadEnvelope
from deniably.trust.envelope import open_outer
from deniably_server.errors import Gone, Uninvited, Used
from deniably_server.storage.mixer_store import WHY_GONE, MixerStore
from deniably_server.storage.writing.commit import Outcome
from deniably_server.storage.writing.envelopes import EnvelopeWrite
from deniably_server.web.answer import encode


class BegunEnvelope(NamedTuple):
    """An envelope that was opened, and waits to be on disk."""

    write: EnvelopeWrite

    def answer(self) -> tuple[int, bytes]:
        """Returns the answer's status and body; waits until the envelope is on disk.

        The status is 201 for a new envelope, and 200 for one that was stored before. Raises Used
        where another one came with its code, Uninvited if the code was withdrawn meanwhile, Gone
        after the closing, and NotStored where the transaction failed.
        """
        match self.write.outcome():
            case Outcome.STORED:
                return 201, encode({"status": "stored"})
            case Outcome.REPLAYED:
                return 200, encode({"status": "stored before"})
            case Outcome.CONFLICT:
                raise Used("this code brought another envelope before; everybody needs their own")
            case Outcome.CLOSED:
                raise Gone(WHY_GONE["closed"])
            case Outcome.UNKNOWN:
                raise Uninvited("this is no code of an invitation to this survey")


def begin_envelope(
    store: MixerStore,
    digest: str,
    sealed: bytes,
    count: Callable[[int], object] = lambda size: None,
) -> BegunEnvelope:
    """Opens an envelope to the survey with this digest, and begins to store it as it came.

    What is opened is looked at, and not kept: an envelope that cannot be opened must not spoil the
    batch. ``count`` is called with the bytes of one that is new and needs no invitation, and may
    refuse it: codes bound how much is stored, and without them only the sender's network can.

    Raises BadEnvelope for any fault, Uninvited and Used for its code, NotFound for an
    unknown survey, Gone after the closing or the mixer's last day, and Unavailable while the mixer
    stops.
    """
    accepted = store.accepted(digest)
    survey = accepted.survey
    if len(sealed) != survey.outer_size:  # before any work
        raise BadEnvelope("this is no envelope to this survey")
    opening = store.keys(digest).opening
    opened = open_outer(opening, digest, sealed, survey.length, len(survey.questions))
    marked = bool(opened.code) and not survey.invited
    # Of two inner ones that are the same, only one could be in an ascending batch.
    if marked or len(set(opened.inner)) < len(opened.inner):
        raise BadEnvelope("this is no envelope to this survey")
    invitation = None
    if survey.invited:
        if not opened.code:
            raise Uninvited("this survey is by invitation, and the envelope has no code")
        invitation = store.invitation(digest, opened.code, sealed)
    write = EnvelopeWrite(digest, sealed, invitation)
    over = _today() > accepted.until
    if (over or invitation is None) and not store.holds(digest, write.key):
        if over:
            raise Gone(WHY_GONE["open"])
        count(len(sealed))
    store.begin(write)
    return BegunEnvelope(write)


def refuse_unless_open(store: MixerStore, digest: str) -> None:
    """Raises Gone if a survey is closed or the mixer's last day is over, and NotFound for an
    unknown survey."""
    state = store.state(digest)
    if state != "open" or _today() > store.accepted(digest).until:
        raise Gone(WHY_GONE[state])


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
