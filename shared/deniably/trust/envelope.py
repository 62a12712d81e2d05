"""Seals reports into envelopes, and opens them (SPEC 14.1): HPKE, RFC 9180.

An inner envelope holds the report to one question, for the survey's server. An outer one holds a
person's inner envelopes, for the mixer. All envelopes of a survey have the same length, so a length
tells nothing. Every seal draws a new ephemeral key from the operating system.

>>> key = new_opening_key()
>>> sealed = seal_inner(key.public, "0" * 64, b'{"id":"..."}', length=192)
>>> len(sealed), open_inner(key, "0" * 64, sealed, length=192)
(273, b'{"id":"..."}')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from deniably.core.errors import BadEnvelope, BadInvitation, BadKey
from deniably.survey.mixer import CODE_BYTES, LONGEST_TEXT, OVERHEAD, PREFIX_BYTES
from deniably.trust.invitation_codes import read_code

# What every browser's WebCrypto has.
_SUITE = Suite(KEM.P256, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
_CURVE = ec.SECP256R1
_NO_CODE = " " * CODE_BYTES


@dataclass(frozen=True)
class OpeningKey:
    """A private key that opens envelopes. Its representation shows the public half alone."""

    _secret: ec.EllipticCurvePrivateKey

    def __repr__(self) -> str:
        return f"OpeningKey(public={self.public!r})"

    @property
    def public(self) -> str:
        """The public half, which seals: an uncompressed point of P-256, 130 hexadecimal digits."""
        raw = serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        return self._secret.public_key().public_bytes(*raw).hex()

    @property
    def text(self) -> bytes:
        """The key as the text of a file: PKCS #8 in PEM."""
        return self._secret.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def open(self, sealed: bytes, info: bytes) -> bytes:
        """Returns the plain text of an envelope. Raises BadEnvelope for any fault."""
        try:
            return _SUITE.decrypt(sealed, self._secret, info)
        except (InvalidTag, ValueError):
            raise _fault() from None


@dataclass(frozen=True)
class OpenedOuter:
    """What an outer envelope held: the ``code`` of an invitation, empty where there was none, and
    the inner envelopes (``inner``), one for each question."""

    code: str
    inner: tuple[bytes, ...]


def new_opening_key() -> OpeningKey:
    """Returns a new key, made with the operating system's generator."""
    return OpeningKey(ec.generate_private_key(_CURVE()))


def read_opening_key(text: bytes) -> OpeningKey:
    """Returns the key in the text of a file. Raises BadKey where the text is no P-256 key in PEM
    without a password."""
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, _CURVE):
        raise BadKey("this is no P-256 key in PEM without a password")
    return OpeningKey(key)


def inner_size(length: int) -> int:
    """Returns the bytes of an inner envelope whose padded report has ``length`` bytes.

    >>> inner_size(192)
    273
    """
    return length + OVERHEAD


def outer_size(length: int, questions: int) -> int:
    """Returns the bytes of an outer envelope with an inner one for each question.

    >>> outer_size(192, questions=6)
    1739
    """
    return PREFIX_BYTES + CODE_BYTES + questions * inner_size(length) + OVERHEAD


def seal_inner(public: str, digest: str, report: bytes, length: int) -> bytes:
    """Returns the envelope of one question's ``report`` to the survey's server.

    ``digest`` is the survey's. Raises BadEnvelope if the report does not fit into ``length`` bytes,
    and BadKey unless ``public`` is a public key.
    """
    return _sealed(public, _info("report", digest), _padded(report, length))


def open_inner(key: OpeningKey, digest: str, sealed: bytes, length: int) -> bytes:
    """Returns the report in an inner envelope to the survey with this ``digest``.

    Raises BadEnvelope for every fault alike.
    """
    if len(sealed) != inner_size(length):
        raise _fault()
    return _unpadded(key.open(sealed, _info("report", digest)))


def seal_outer(public: str, digest: str, inner: Sequence[bytes], code: str = "") -> bytes:
    """Returns the envelope of a person's ``inner`` envelopes to the mixer.

    ``code`` is that of the person's invitation, 18 characters; empty where the survey has none.
    Raises BadEnvelope if they do not fit, and BadKey unless ``public`` is a public key.
    """
    text = (code or _NO_CODE).encode() + b"".join(inner)
    return _sealed(public, _info("mix", digest), _padded(text, PREFIX_BYTES + len(text)))


def open_outer(
    key: OpeningKey, digest: str, sealed: bytes, length: int, questions: int
) -> OpenedOuter:
    """Returns what an outer envelope holds, of a survey with so many ``questions``.

    Raises BadEnvelope for every fault alike.
    """
    if len(sealed) != outer_size(length, questions):
        raise _fault()
    text = _unpadded(key.open(sealed, _info("mix", digest)))
    size = inner_size(length)
    if len(text) != CODE_BYTES + questions * size:
        raise _fault()
    code = "" if text[:CODE_BYTES] == _NO_CODE.encode() else _read_code(text[:CODE_BYTES])
    return OpenedOuter(
        code, tuple(text[start : start + size] for start in range(CODE_BYTES, len(text), size))
    )


def _padded(text: bytes, length: int) -> bytes:
    """Returns ``length`` bytes: how long the text is, the text, and zeros.

    Raises BadEnvelope if the text does not fit.
    """
    if len(text) > min(length - PREFIX_BYTES, LONGEST_TEXT):
        raise BadEnvelope(
            f"a text of {len(text):,} bytes does not fit into an envelope for"
            f" {min(length - PREFIX_BYTES, LONGEST_TEXT):,}"
        )
    return (len(text).to_bytes(PREFIX_BYTES) + text).ljust(length, b"\0")


def _unpadded(data: bytes) -> bytes:
    """Returns the text of padded bytes. Raises BadEnvelope where the padding is not zeros."""
    end = PREFIX_BYTES + int.from_bytes(data[:PREFIX_BYTES])
    if not PREFIX_BYTES <= end <= len(data) or any(data[end:]):
        raise _fault()
    return data[PREFIX_BYTES:end]


def _sealed(public: str, info: bytes, plain: bytes) -> bytes:
    return _SUITE.encrypt(plain, _read_public(public), info)


@lru_cache(maxsize=16)  # a person's envelopes go to two keys, and a batch's blanks to one
def _read_public(text: str) -> ec.EllipticCurvePublicKey:
    try:
        point = bytes.fromhex(text)
        if point.hex() != text or point[:1] != b"\x04":
            raise ValueError
        return ec.EllipticCurvePublicKey.from_encoded_point(_CURVE(), point)
    except ValueError:
        raise BadKey(
            "a key of envelopes is a point of P-256 in 130 lower-case hexadecimal digits, and"
            " begins with 04"
        ) from None


def _read_code(field: bytes) -> str:
    try:
        code = read_code(field.decode())
    except (BadInvitation, UnicodeDecodeError):
        raise _fault() from None
    if code.encode() != field:  # one spelling a code: another one would mark the sender
        raise _fault()
    return code


def _info(kind: str, digest: str) -> bytes:
    """Binds an envelope to its kind and to its survey."""
    return f"deniably {kind} 1\n{digest}\n".encode()


def _fault() -> BadEnvelope:
    return BadEnvelope("this is no envelope to this survey")
