"""Defines what an author's key signs to sign in, in the browser or on another computer (SPEC 9.2
and 9.3)."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec
from msgspec import Meta


class SignInRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A server's request to prove who you are: its origin, and a nonce that your key has to
    sign."""

    origin: Annotated[str, Meta(pattern=r"^https?://[a-z0-9.:\[\]-]{1,255}\Z")]
    nonce: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{16,128}\Z")]


class SignInFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file that ``deniably sign`` writes for a sign-in."""

    origin: str
    nonce: str
    author: str
    signature: str

    @property
    def text(self) -> str:
        """The text of the file: a JSON object with a line for each member."""
        return json.dumps(msgspec.to_builtins(self), indent=1) + "\n"


def sign_in_message(origin: str, nonce: str) -> bytes:
    """Returns the bytes that are signed to sign in at the server at ``origin``.

    The first line differs from that of a signed survey, so neither signature can be used as the
    other. The origin is in the text, so that no other server can use the signature.
    """
    return f"deniably sign-in 1\n{origin}\n{nonce}\n".encode()
