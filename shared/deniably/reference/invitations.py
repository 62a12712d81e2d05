"""Blind signatures of RFC 9474 in plain integers, slow and with few shortcuts (SPEC 11.2 and
11.3)."""

from __future__ import annotations

import hashlib
import re

from deniably.reference.refusal import require
from deniably.reference.values import Json

E = 65537
"""The public exponent of every key."""


def sha384(*parts: bytearray | bytes) -> bytes:
    """Returns the SHA-384 of the parts, joined together."""
    return hashlib.sha384(b"".join(parts)).digest()


def stream(seed: bytes, length: int) -> bytes:
    """Returns ``length`` bytes of the mask generation function MGF1 with SHA-384 (RFC 8017,
    appendix B.2.1)."""
    blocks = (sha384(seed, count.to_bytes(4, "big")) for count in range(-(-length // 48)))
    return b"".join(blocks)[:length]


def encoded(message: bytes, salt: bytes, bits: int) -> int:
    """Returns EMSA-PSS-ENCODE of a message with SHA-384 (RFC 8017, section 9.1.1), as an integer of
    ``bits`` bits at most."""
    length = -(-bits // 8)
    hashed = sha384(bytes(8), sha384(message), salt)
    # 50 bytes are not padding or salt: 48 of the hash, the 01 before the salt and the last byte,
    # bc.
    block = bytes(length - len(salt) - 50) + b"\x01" + salt
    mask = stream(hashed, len(block))
    masked = bytes(a ^ b for a, b in zip(block, mask, strict=True))
    return int.from_bytes(masked + hashed + b"\xbc", "big") % 2**bits


def read_modulus(text: Json) -> int:
    """Returns the modulus of a key from its hexadecimal text. Raises Invalid for another spelling
    than that of SPEC 11.2."""
    fits = type(text) is str and re.fullmatch("[0-9a-f]*", text) and len(text) % 2 == 0
    require(fits and 512 <= len(text) <= 1024, "a key has 2048 to 4096 bits, in whole bytes")
    modulus = int(text, 16)
    require(modulus.bit_length() == 4 * len(text), "the first bit of a key is set")
    require(modulus % 2 == 1, "a key is odd")
    return modulus


def written(number: int, modulus: int) -> str:
    """Returns a number in hexadecimal, with as many digits as the modulus has."""
    return f"{number:0{len(f'{modulus:x}')}x}"


def blind(modulus: int, message: bytes, salt: bytes, inverse: int) -> int:
    """Returns the blinded message, for a prepared message, a salt and the ``inverse`` of the
    blinding factor (RFC 9474, section 4.2)."""
    # One bit less than the modulus, so that the number is below it.
    m = encoded(message, salt, modulus.bit_length() - 1)
    return m * pow(pow(inverse, -1, modulus), E, modulus) % modulus


def sign(p: int, q: int, blinded: int) -> int:
    """Returns the blind signature by the key with the primes ``p`` and ``q`` (RFC 9474,
    section 4.3). Raises Invalid unless ``blinded`` is below the modulus."""
    modulus = p * q
    require(blinded < modulus, "the blinded message is too large")
    # Modulo each prime alone (RFC 8017, section 5.1.2), which is four times as quick.
    of_p, of_q = (pow(blinded, pow(E, -1, prime - 1), prime) for prime in (p, q))
    return of_q + q * ((of_p - of_q) * pow(q, -1, p) % p)


def check(modulus: int, message: bytes, signature: int, salt_length: int) -> None:
    """Raises Invalid unless ``signature`` is a valid signature of ``message``.

    This is RSASSA-PSS-VERIFY, step by step (RFC 8017, sections 8.1.2 and 9.1.2).
    """
    require(signature < modulus, "the signature is too large")
    bits = modulus.bit_length() - 1
    length = -(-bits // 8)
    number = pow(signature, E, modulus)
    require(number < 2**bits, "the leftmost bits are not zero")
    block = number.to_bytes(length, "big")
    require(block[-1] == 0xBC, "another last byte")
    masked, hashed = block[:-49], block[-49:-1]
    mask = stream(hashed, len(masked))
    opened = bytearray(a ^ b for a, b in zip(masked, mask, strict=True))
    # The bits that `encoded` cleared say nothing.
    opened[0] &= 0xFF >> (8 * length - bits)
    start = len(opened) - salt_length - 1
    require(opened[:start] == bytes(start) and opened[start] == 1, "another padding")
    require(sha384(bytes(8), sha384(message), opened[start + 1 :]) == hashed, "another message")


def finalise(
    modulus: int, message: bytes, blind_signature: int, inverse: int, salt_length: int
) -> int:
    """Returns the signature of ``message``, with the blinding removed (RFC 9474, section 4.4).
    Raises Invalid unless the signature is valid."""
    require(blind_signature < modulus, "the blind signature is too large")
    signature = blind_signature * inverse % modulus
    check(modulus, message, signature, salt_length)
    return signature
