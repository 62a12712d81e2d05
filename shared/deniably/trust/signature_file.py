"""Reads and writes the file that ``deniably sign`` makes: an author's signature of one version of a
survey (SPEC 9.2)."""

from __future__ import annotations

import json

import msgspec

from deniably.core.errors import BadSignature
from deniably.trust.signing import Signature, verify

LONGEST = 4096
"""The maximum of bytes that is read of such a file; it has some 400."""


class SignatureFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An author's signature of a survey, with the survey's name and the digest of the signed
    version."""

    survey: str
    digest: str
    author: str
    signature: str

    @property
    def text(self) -> str:
        """The text of the file: a JSON object with a line for each member."""
        return json.dumps(msgspec.to_builtins(self), indent=1) + "\n"

    def of(self, name: str, digest: str) -> Signature:
        """Returns the signature. Raises BadSignature where it is not valid, or is of another survey
        than ``name`` or another version than ``digest``."""
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
    """Returns the content of a signature file. Raises BadSignature where the text is something
    else."""
    try:
        return msgspec.json.decode(text, type=SignatureFile)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise BadSignature("this is no file that deniably sign wrote") from None
