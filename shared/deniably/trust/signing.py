"""Signs and verifies definitions with the author's key (SPEC 9): Ed25519, RFC 8032.

A signature says who asks. Without it an operator could publish surveys in an author's name.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from deniably.core.errors import BadKey, BadSignature

_AUTHOR = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")


@dataclass(frozen=True)
class Signature:
    """A signature with the public key that made it.

    ``value`` is the signature, 128 lower-case hexadecimal digits; ``author`` is the author's public
    key, 64 digits.
    """

    author: str
    value: str

    @property
    def fingerprint(self) -> str:
        """A short form of the author's key, for people to compare."""
        return fingerprint(self.author)


@dataclass(frozen=True)
class Key:
    """An author's private key. Its ``repr`` shows only the public half."""

    _secret: Ed25519PrivateKey

    def __repr__(self) -> str:
        return f"Key(author={self.author!r})"

    @property
    def author(self) -> str:
        """The public half of the key, in hexadecimal, by which devices know the author."""
        return self._secret.public_key().public_bytes_raw().hex()

    @property
    def text(self) -> bytes:
        """The key as the text of a file: PKCS #8 in PEM, as ``openssl genpkey`` writes it too."""
        return self._secret.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    @property
    def secret(self) -> bytes:
        """The 32 secret bytes of RFC 8032."""
        return self._secret.private_bytes_raw()

    def sign(self, digest: str) -> Signature:
        """Returns the signature of the definition with this ``digest``. It is deterministic."""
        return self.sign_text(message(digest))

    def sign_text(self, text: bytes) -> Signature:
        """Returns the signature of these bytes, whose first line has to say what kind of text they
        are (SPEC 9.3)."""
        return Signature(self.author, self._secret.sign(text).hex())


def new_key() -> Key:
    """Returns a new key, made with the operating system's generator."""
    return Key(Ed25519PrivateKey.generate())


def key_of(secret: bytes) -> Key:
    """Returns the key with these 32 secret bytes."""
    return Key(Ed25519PrivateKey.from_private_bytes(secret))


def read_key(text: bytes) -> Key:
    """Returns the key in the text of a file. Raises BadKey where the text is no Ed25519 key in PEM,
    or has a password."""
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadKey("this is no Ed25519 key in PEM without a password")
    return Key(key)


def message(digest: str) -> bytes:
    """Returns the bytes that are signed for the definition with this ``digest``."""
    # Each use of the key signs another first line, so that no signature can pass for another
    # (SPEC 9.3).
    return f"deniably survey 1\n{digest}\n".encode()


def check_form(signature: Signature) -> None:
    """Raises BadSignature unless ``author`` has the form of a key and ``value`` that of a
    signature."""
    if not _AUTHOR.fullmatch(signature.author):
        raise BadSignature(
            "an author's key is 64 lower-case hexadecimal digits; this text has"
            f" {len(signature.author)} characters"
        )
    if not _SIGNATURE.fullmatch(signature.value):
        raise BadSignature(
            "a signature is 128 lower-case hexadecimal digits; this text has"
            f" {len(signature.value)} characters"
        )


def verify(digest: str, signature: Signature) -> None:
    """Raises BadSignature unless ``signature`` is valid for the definition with this ``digest``."""
    verify_text(message(digest), signature)


def verify_text(text: bytes, signature: Signature) -> None:
    """Raises BadSignature unless ``signature`` is valid for these bytes."""
    check_form(signature)
    try:
        author = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature.author))
        author.verify(bytes.fromhex(signature.value), text)
    # ValueError: the author's key is no point of the curve.
    except (InvalidSignature, ValueError):
        raise BadSignature("the signature is not this author's, of this definition") from None


def fingerprint(author: str) -> str:
    """Returns a short form of an author's key, for people to compare: 128 bits of the key's
    SHA-256, in groups of four hexadecimal digits."""
    short = hashlib.sha256(author.encode()).hexdigest()[:32]
    return " ".join(short[start : start + 4] for start in range(0, 32, 4))
