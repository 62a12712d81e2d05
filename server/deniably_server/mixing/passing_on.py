"""Passes a batch on to the survey's server, piece by piece, from where the server left off.

What is sent is read from the disk, so it is the same bytes however often it is sent.
"""

from __future__ import annotations

from time import monotonic

from deniably_server.mixing.survey_server import NoAnswer, Progress, ServerRefused, SurveyServer
from deniably_server.storage.mixer_store import MixerStore

FINAL = frozenset({"conflict", "bad-batch", "unsigned"})
"""The problems of a batch that will not be taken later either: another one is known, its numbers or
envelopes are wrong, or its signature is."""
_TAKEN, _REFUSED = "taken", "refused"
_STEPS_BACK = 8
"""How often a server may have fewer bytes than it said before."""
LONGEST_SECONDS = 300.0
"""How long one attempt sends pieces. One thread asks the servers of all surveys, and a slow one
must not keep it from the others."""


def pass_on(store: MixerStore, digest: str) -> None:
    """Sends the batch of a survey until its server has taken it, and deletes it then. Where the
    server refuses it for good, records the reason. After ``LONGEST_SECONDS`` it stops; the next
    attempt goes on where the server left off.

    Raises ServerRefused where the server does not take it yet, such as while the survey is open,
    and NoAnswer where its answers cannot be used. Then try again later.
    """
    server = SurveyServer(store.accepted(digest).source)
    try:
        now = _sent(store, digest, server)
    except ServerRefused as error:
        if error.kind not in FINAL:
            raise
        store.refused(digest, error.why)
        return
    if now.state == _TAKEN:
        store.passed_on(digest)
    elif now.state == _REFUSED:
        store.refused(digest, server.why_refused())
    elif now.bytes >= now.of:
        raise NoAnswer("the survey's server has the whole batch and has not looked at it yet")


def tell_too_few(store: MixerStore, digest: str) -> None:
    """Tells the server of a survey that too few people sent, so that nobody waits for a batch.

    Raises as ``pass_on`` does where the server does not know it yet.
    """
    batch = store.batch(digest)
    try:
        now = SurveyServer(store.accepted(digest).source).announce(batch.manifest, batch.signature)
    except ServerRefused as error:
        if error.kind not in FINAL:
            raise
    else:
        if now.state != _REFUSED:
            raise NoAnswer("the survey's server does not know yet that too few people sent")
    store.told(digest)


def _sent(store: MixerStore, digest: str, server: SurveyServer) -> Progress:
    """Send what the server lacks, as far as the time of one attempt goes; returns how far it has
    the batch."""
    batch = store.batch(digest)
    until = monotonic() + LONGEST_SECONDS
    now = server.announce(batch.manifest, batch.signature)
    back = 0
    while now.state == "open" and now.bytes < now.of and monotonic() < until:
        piece = store.batch_from(digest, now.bytes)
        if not piece:
            raise NoAnswer("the survey's server asks for more than the batch has")
        after = _after(server, now, piece, batch.signature)
        if after.state == "open" and after.bytes != now.bytes + len(piece):
            # Else a server that takes a byte of each piece would get pieces for ever.
            if after.bytes > now.bytes:
                raise NoAnswer("the survey's server miscounts what it gets")
            back += 1
        if back > _STEPS_BACK:
            raise NoAnswer("the survey's server does not keep what it gets")
        now = after
    return now


def _after(server: SurveyServer, before: Progress, piece: bytes, signature: str) -> Progress:
    try:
        return server.send(before.bytes, piece, signature)
    except ServerRefused as error:
        if error.held is None:
            raise
        return Progress(error.held, before.of, "open")  # where the server wants to go on
