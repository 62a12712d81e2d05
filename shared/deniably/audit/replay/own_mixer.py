"""A mixer of the audit's own: it has the private keys, so the audit can look into what devices
seal."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, cast

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from deniably.audit.replay.scenarios import Definition
from deniably.core.errors import BadEnvelope
from deniably.reference import envelopes as reference
from deniably.reference.canonical import canonical, parse
from deniably.reference.device import left_open
from deniably.reference.refusal import Invalid
from deniably.trust.envelope import OpeningKey, new_opening_key, open_inner, open_outer
from deniably.trust.mixer_statement import MixerStatement
from deniably.trust.signing import new_key

_BY_REFERENCE = 3
"""Of so many people the reference opens the envelopes, which takes its time; servers' code opens
all others."""
_UNTIL = "2999-12-31"


class OwnMixer:
    """The keys of a mixer and of a survey's server, for one audit."""

    def __init__(self) -> None:
        self._mixer, self._server = new_opening_key(), new_opening_key()
        self._signing = new_key()
        self._opened = dict[str, list[str] | None]()

    def definition(self, definition: Definition, address: str) -> Definition:
        """Returns a survey with this mixer, at ``address``, in place of its own."""
        keys = {"key": self._mixer.public, "signing": self._signing.author}
        keys |= {"open": self._server.public, "address": address}
        return definition | {"mixer": definition["mixer"] | keys}

    def statement(self, digest: str, by: str) -> bytes:
        """Returns what the mixer states about the survey with this digest: nobody is invited."""
        return MixerStatement(by, 0, 0, digest, _UNTIL).signed(self._signing).canonical

    def left_open(self, document: str, definition: Definition, digest: str) -> str:
        """Returns a device's memory with the envelope to this mixer opened, as the reference has
        it. A memory whose envelope is not as specified stays as it is."""
        memory: Any = parse(document)
        kept = memory["reports"].get(digest)
        if not kept or "sealed" not in kept:
            return document
        sealed = str(kept["sealed"])
        if sealed not in self._opened:
            self._opened[sealed] = self._texts(kept, definition, digest)
        texts = self._opened[sealed]
        if texts is None:
            return document
        memory["reports"][digest] = left_open(texts) | {"sent": kept["sent"]}
        return canonical(memory)

    def _texts(
        self, kept: Mapping[str, Any], definition: Definition, digest: str
    ) -> list[str] | None:
        """The texts in an envelope; None where it is not as specified."""
        sealed, length = bytes.fromhex(kept["sealed"]), int(definition["mixer"]["length"])
        count = len(definition["questions"])
        by_reference = len(self._opened) < _BY_REFERENCE
        try:
            if by_reference:
                secret = _number(self._mixer)
                code, inner = reference.open_outer(secret, digest, sealed, length, count)
            else:
                opened = open_outer(self._mixer, digest, sealed, length, count)
                code, inner = opened.code, list(opened.inner)
            hashes = sorted(hashlib.sha256(each).hexdigest() for each in inner)
            if code or kept["inner"] != hashes:
                return None
            return [self._text(each, digest, length, by_reference) for each in inner]
        except (BadEnvelope, Invalid, UnicodeDecodeError):
            return None

    def _text(self, inner: bytes, digest: str, length: int, by_reference: bool) -> str:
        if by_reference:
            text = reference.open_inner(_number(self._server), digest, inner, length)
        else:
            text = open_inner(self._server, digest, inner, length)
        return text.decode()


def _number(key: OpeningKey) -> int:
    """The private half, as the reference takes it."""
    private = cast(EllipticCurvePrivateKey, load_pem_private_key(key.text, None))
    return private.private_numbers().private_value
