"""A mixer's signed offer: its address, its owner and its keys for one survey (SPEC 9.4).

Authors get it from whoever runs the mixer. Its signature shows that address, name and keys belong
together, and that nobody changed them on the way.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from deniably.core.canonical import digest
from deniably.core.errors import BadSignature
from deniably.survey.mixer import ADDRESS, LONGEST_BY, EnvelopeKey
from deniably.trust.signing import Key, Signature, verify_text


class MixerOffer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An offer of a mixer for one survey.

    ``address`` is the mixer's origin, ``by`` says who runs it. ``key`` is its public key of
    envelopes and ``signing`` that of signatures. ``signature`` is of all else.
    """

    address: Annotated[str, msgspec.Meta(pattern=ADDRESS)]
    by: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_BY)]
    key: EnvelopeKey
    signing: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    signature: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{128}\Z")]

    def check(self) -> None:
        """Raises BadSignature unless the mixer signed the offer."""
        try:
            signed = _message(self.address, self.by, self.key, self.signing)
            verify_text(signed, Signature(self.signing, self.signature))
        except BadSignature:
            raise BadSignature(
                "the mixer did not sign this offer, or it was changed since; ask for it again"
            ) from None


def make_offer(signing: Key, address: str, by: str, key: str) -> MixerOffer:
    """Returns the offer of a mixer at ``address`` that is run ``by`` somebody, signed with its key
    ``signing``. ``key`` is its public key of envelopes."""
    public = signing.author
    signature = signing.sign_text(_message(address, by, key, public))
    return MixerOffer(address, by, key, public, signature.value)


def read_offer(value: object) -> MixerOffer:
    """Returns the offer in a parsed JSON value. Raises BadSignature where it is none, or the mixer
    did not sign it."""
    try:
        offer = msgspec.convert(value, MixerOffer, strict=True)
    except msgspec.ValidationError as error:
        raise BadSignature(f"this is no offer of a mixer: {error}") from None
    offer.check()
    return offer


def _message(address: str, by: str, key: str, signing: str) -> bytes:
    offered = {"address": address, "by": by, "key": key, "signing": signing}
    return f"deniably offer 1\n{digest(offered)}\n".encode()
