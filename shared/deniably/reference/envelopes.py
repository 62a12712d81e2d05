"""Envelopes: HPKE of RFC 9180, base mode, and what stands in them (SPEC 14.1)."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import NamedTuple

from deniably.reference.aes_gcm import TAG, decrypt, encrypt
from deniably.reference.codes import read_code
from deniably.reference.p256 import public, read_point, shared
from deniably.reference.refusal import require

ENC = 65
"""Bytes of the ephemeral public key, with which an envelope begins."""
CODE = 18
"""Characters of an invitation's code."""
KEM = b"KEM" + (0x10).to_bytes(2, "big")
HPKE = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (0x10, 1, 1))


def extract(suite: bytes, salt: bytes, label: str, secret: bytes) -> bytes:
    """LabeledExtract (RFC 9180, section 4); no salt is one of zeros (RFC 5869, section 2.2)."""
    labelled = b"HPKE-v1" + suite + label.encode() + secret
    return hmac.digest(salt or bytes(32), labelled, "sha256")


def expand(suite: bytes, secret: bytes, label: str, info: bytes, length: int) -> bytes:
    """LabeledExpand (RFC 9180, section 4), for at most the 32 bytes of one block."""
    labelled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label.encode() + info
    return hmac.digest(secret, labelled + b"\x01", "sha256")[:length]


class Context(NamedTuple):
    """What both sides of an envelope know: its ``key`` and its ``nonce``."""

    key: bytes
    nonce: bytes


def context(exchanged: bytes, enc: bytes, receiver: bytes, info: bytes) -> Context:
    """ExtractAndExpand and KeySchedule of base mode (RFC 9180, sections 4.1 and 5.1)."""
    prk = extract(KEM, b"", "eae_prk", exchanged)
    secret = expand(KEM, prk, "shared_secret", enc + receiver, 32)
    hashes = extract(HPKE, b"", "psk_id_hash", b""), extract(HPKE, b"", "info_hash", info)
    schedule = b"\x00" + b"".join(hashes)
    whole = extract(HPKE, secret, "secret", b"")
    key = expand(HPKE, whole, "key", schedule, 16)
    return Context(key, expand(HPKE, whole, "base_nonce", schedule, 12))


def sender_context(ephemeral: int, receiver: bytes, info: bytes) -> Context:
    """The context of the one who seals with a given ephemeral key."""
    return context(shared(ephemeral, receiver), public(ephemeral), receiver, info)


def receiver_context(secret: int, enc: bytes, info: bytes) -> Context:
    """The context of the one who opens. Raises Invalid where ``enc`` is no point."""
    return context(shared(secret, enc), enc, public(secret), info)


def _sealed(ephemeral: int, receiver: bytes, info: bytes, plain: bytes) -> bytes:
    found = sender_context(ephemeral, receiver, info)
    return public(ephemeral) + encrypt(found.key, found.nonce, plain)


def _opened(secret: int, info: bytes, sealed: bytes) -> bytes:
    enc, ciphertext = sealed[:ENC], sealed[ENC:]
    read_point(enc)
    found = receiver_context(secret, enc, info)
    return decrypt(found.key, found.nonce, ciphertext)


def padded(text: bytes, length: int) -> bytes:
    """Returns the text with its length before it and zeros behind it. Raises Invalid where it does
    not fit."""
    require(len(text) < 2**16 and len(text) + 2 <= length, "the text does not fit")
    return len(text).to_bytes(2, "big") + text + bytes(length - 2 - len(text))


def unpadded(data: bytes) -> bytes:
    """Returns the text. Raises Invalid where length or zeros are wrong."""
    require(len(data) >= 2, "no length")
    length = int.from_bytes(data[:2], "big")
    require(length + 2 <= len(data), "the text is longer than its padding")
    require(not any(data[2 + length :]), "the padding is not zero")
    return data[2 : 2 + length]


def info_of(what: str, digest: str) -> bytes:
    """Returns the info of an envelope: ``what`` is "report" or "mix"."""
    return f"deniably {what} 1\n{digest}\n".encode()


def seal_inner(ephemeral: int, key: bytes, digest: str, text: bytes, length: int) -> bytes:
    """Returns the envelope of a report to the survey's server, whose public key is ``key``."""
    return _sealed(ephemeral, key, info_of("report", digest), padded(text, length))


def open_inner(secret: int, digest: str, sealed: bytes, length: int) -> bytes:
    """Returns the text of an inner envelope. Raises Invalid for any fault."""
    require(len(sealed) == ENC + length + TAG, "another length")
    return unpadded(_opened(secret, info_of("report", digest), sealed))


def seal_outer(
    ephemeral: int, key: bytes, digest: str, code: str, envelopes: Sequence[bytes]
) -> bytes:
    """Returns the envelope to the mixer; ``code`` is empty where the survey has no invitations."""
    text = (code or " " * CODE).encode() + b"".join(envelopes)
    return _sealed(ephemeral, key, info_of("mix", digest), padded(text, 2 + len(text)))


def open_outer(
    secret: int, digest: str, sealed: bytes, length: int, questions: int
) -> tuple[str, list[bytes]]:
    """Returns (code, inner envelopes) of an outer envelope. Raises Invalid for any fault."""
    each = ENC + length + TAG
    require(len(sealed) == ENC + 2 + CODE + questions * each + TAG, "another length")
    text = unpadded(_opened(secret, info_of("mix", digest), sealed))
    require(len(text) == CODE + questions * each, "another length inside")
    code, rest = text[:CODE], text[CODE:]
    if code == b" " * CODE:
        code = b""
    else:
        require(code.isascii() and read_code(code.decode()) == code.decode(), "no code")
    return code.decode(), [rest[at : at + each] for at in range(0, len(rest), each)]
