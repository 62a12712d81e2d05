"""Makes the batch of a closed survey: once, from what people sent and from blanks.

Blanks are drawn here and forgotten here. A mixer that could make them again could take them out
again, and of two batches with the same people the blanks would average out. So a batch is on disk
before its first byte leaves, and what leaves is read from the disk.

A batch is in memory once, without the outer envelopes: these are read and opened one by one, and
the batch is written in pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deniably.trust.batch import Batch, batch_of, no_batch
from deniably.trust.envelope import open_outer
from deniably.trust.mixed_survey import MixedSurvey
from deniably.trust.sealed_report import make_blank
from deniably_server.storage.mixer_store import MixerKeys, MixerStore


def finish(store: MixerStore, digest: str) -> None:
    """Makes the batch of a closed survey, if it has none. Where fewer people sent than the survey
    needs, deletes all that they sent instead, and keeps a signed word of it for the server."""
    if store.state(digest) != "closed":
        return
    survey, keys = store.accepted(digest).survey, store.keys(digest)
    people = _without_copies(_opened(survey, keys, store.each_sealed(digest)))
    if len(people) < survey.minimum:
        store.too_few(no_batch(digest, blanks=survey.blanks, key=keys.signing))
    else:
        # Where another process was first, its batch counts, and nobody ever sees this one.
        store.keep_batch(make_batch(survey, keys, people))


def make_batch(survey: MixedSurvey, keys: MixerKeys, people: Iterable[tuple[bytes, ...]]) -> Batch:
    """Returns a batch of people's inner envelopes and as many blanks of each question as the survey
    says. Each call draws other blanks."""
    senders, envelopes = 0, list[bytes]()
    for inner in people:
        senders += 1
        envelopes += inner
    envelopes += (
        make_blank(survey, question) for question in survey.questions for _ in range(survey.blanks)
    )
    return batch_of(
        survey.digest, envelopes, blanks=survey.blanks, senders=senders, key=keys.signing
    )


def _opened(
    survey: MixedSurvey, keys: MixerKeys, sealed: Iterable[bytes]
) -> Iterator[tuple[bytes, ...]]:
    """The inner envelopes of each person."""
    for each in sealed:
        yield open_outer(
            keys.opening, survey.digest, each, survey.length, len(survey.questions)
        ).inner


def _without_copies(people: Iterable[tuple[bytes, ...]]) -> list[tuple[bytes, ...]]:
    """All people but those who send an inner envelope that another one sent, too.

    Nobody else has seen it, so they agreed on it. A server refuses a batch with one envelope twice,
    so two of them could spoil the answers of all.
    """
    seen = set[bytes]()
    kept: list[tuple[bytes, ...]] = []
    for inner in people:
        if seen.isdisjoint(inner):
            kept.append(inner)
        seen.update(inner)
    return kept
