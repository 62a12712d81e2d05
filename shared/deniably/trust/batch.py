"""A batch: all envelopes that a mixer passes on to a survey's server, sorted, with its signature
(SPEC 14.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from deniably.trust.signing import Key, Signature, verify_text

DIGEST = r"^[0-9a-f]{64}\Z"
"""A SHA-256 in hexadecimal."""
LARGEST_BATCH = 1 << 29
"""The most bytes of a batch that a server takes."""


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a mixer signs of a batch.

    ``blanks`` are those of each question, ``envelopes`` all envelopes, ``senders`` the people who
    sent. ``sha256`` is the digest of all envelopes one after the other, ``survey`` that of the
    definition.
    """

    blanks: int
    envelopes: int
    senders: int
    sha256: Annotated[str, msgspec.Meta(pattern=DIGEST)]
    survey: Annotated[str, msgspec.Meta(pattern=DIGEST)]

    @property
    def too_few(self) -> bool:
        """Whether there is no batch, because fewer people sent than the survey's results need."""
        return self.envelopes == 0

    @property
    def canonical(self) -> bytes:
        """The bytes that are sent and stored: canonical JSON."""
        return msgspec.json.encode(self, order="sorted")

    @property
    def message(self) -> bytes:
        """The bytes that are signed."""
        return b"deniably batch 1\n" + self.canonical


@dataclass(frozen=True)
class Batch:
    """Envelopes of one length, ``ascending`` by their bytes, and the mixer's signed manifest."""

    manifest: Manifest
    signature: str
    ascending: Sequence[bytes]

    @property
    def envelopes(self) -> bytes:
        """All envelopes, one after the other: a copy of the whole batch."""
        return b"".join(self.ascending)

    def check(self, signing: str) -> None:
        """Raises BadSignature unless the mixer with this public key signed the manifest."""
        verify_text(self.manifest.message, Signature(signing, self.signature))


def batch_of(
    survey: str, envelopes: Iterable[bytes], *, blanks: int, senders: int, key: Key
) -> Batch:
    """Returns the batch of these envelopes, signed by a mixer's ``key``.

    Sorted, it shows nothing of where they came from: an envelope begins with a random public key,
    so their order is random, and a reader of the batch can check it.
    """
    ascending = sorted(envelopes)
    body = hashlib.sha256()  # fed one by one, as a large batch should be in memory once
    for each in ascending:
        body.update(each)
    manifest = Manifest(blanks, len(ascending), senders, body.hexdigest(), survey)
    return Batch(manifest, key.sign_text(manifest.message).value, ascending)


def no_batch(survey: str, *, blanks: int, key: Key) -> Batch:
    """Returns what a mixer signs where fewer people sent than a survey's results need: a batch of
    nobody, without envelopes. ``blanks`` is the number that it would have added."""
    return batch_of(survey, [], blanks=blanks, senders=0, key=key)
