"""The file that ``deniably sign`` writes: an author's signature of one version of a survey (SPEC
9.2)."""

from __future__ import annotations

import json

import msgspec

from deniably.core.errors import BadSignature
from deniably.trust.signing import Signature, verify

LONGEST = 4096
"""Bytes of such a file that are read; it has some 400."""


class SignatureFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a survey, the digest of the version that was signed, and the signature."""

    survey: str
    digest: str
    author: str
    signature: str

    @property
    def text(self) -> str:
        """The file: an object of JSON with a line for each member."""
        return json.dumps(msgspec.to_builtins(self), indent=1) + "\n"

    def of(self, name: str, digest: str) -> Signature:
        """The signature, if it is valid and of this survey in this version. Raises BadSignature."""
        if self.survey != name:
            raise BadSignature(f"this is the signature of {self.survey}, and not of {name}")
        if self.digest != digest:
            raise BadSignature(
                f"this is the signature of another version of {name}: of digest {self.digest},"
                f" and now it is {digest}; sign this version, too"
            )
        signature = Signature(self.author, self.signature)
        verify(digest, signature)
        return signature


def read_signature_file(text: bytes) -> SignatureFile:
    """The signature in a file. Raises BadSignature where it is something else."""
    try:
        return msgspec.json.decode(text, type=SignatureFile)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise BadSignature("this is no file that deniably sign wrote") from None
