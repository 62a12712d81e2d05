"""What a mixer states about a survey, signed (SPEC 14.2). Devices send nothing without it."""

from __future__ import annotations

import msgspec

from deniably.core.errors import BadSignature
from deniably.trust.signing import Key, Signature, verify_text


class MixerStatement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """That a mixer takes envelopes to a survey.

    ``survey`` is the digest of the definition, ``by`` says who runs the mixer, ``until`` is its
    last day (UTC). ``invitations`` is how many codes it has issued, 0 where nobody needs one.
    ``senders`` is how many people have sent, in whole tens. ``signature`` is 128 hexadecimal
    digits.
    """

    by: str
    invitations: int
    senders: int
    survey: str
    until: str
    signature: str = ""

    @property
    def canonical(self) -> bytes:
        """The bytes that are sent: canonical JSON."""
        return msgspec.json.encode(self, order="sorted")

    @property
    def message(self) -> bytes:
        """The bytes that are signed: all but the signature."""
        unsigned = msgspec.to_builtins(self)
        del unsigned["signature"]
        return b"deniably mixer 1\n" + msgspec.json.encode(unsigned, order="sorted")

    def signed(self, key: Key) -> MixerStatement:
        """Returns the statement with the signature of a mixer's key."""
        return msgspec.structs.replace(self, signature=key.sign_text(self.message).value)


def read_statement(text: bytes, signing: str) -> MixerStatement:
    """Returns the statement in what a mixer answered. Raises BadSignature unless the mixer with the
    public key ``signing`` signed it."""
    try:
        statement = msgspec.json.decode(text, type=MixerStatement)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise BadSignature("this is no statement of a mixer") from None
    verify_text(statement.message, Signature(signing, statement.signature))
    return statement
