"""Section 11, blind signatures: RFC 9474 in plain integers, slow and without a shortcut."""

from __future__ import annotations

import hashlib
import re

from deniably.reference.refusal import require
from deniably.reference.values import Json

E = 65537


def sha384(*parts: bytearray | bytes) -> bytes:
    return hashlib.sha384(b"".join(parts)).digest()


def stream(seed: bytes, length: int) -> bytes:
    """MGF1 of RFC 8017, appendix B.2.1."""
    blocks = (sha384(seed, count.to_bytes(4, "big")) for count in range(-(-length // 48)))
    return b"".join(blocks)[:length]


def encoded(message: bytes, salt: bytes, bits: int) -> int:
    """EMSA-PSS-ENCODE of RFC 8017, section 9.1.1, as a number."""
    length = -(-bits // 8)
    hashed = sha384(bytes(8), sha384(message), salt)
    block = bytes(length - len(salt) - 50) + b"\x01" + salt
    mask = stream(hashed, len(block))
    masked = bytes(a ^ b for a, b in zip(block, mask, strict=True))
    return int.from_bytes(masked + hashed + b"\xbc", "big") % 2**bits


def read_modulus(text: Json) -> int:
    fits = type(text) is str and re.fullmatch("[0-9a-f]*", text) and len(text) % 2 == 0
    require(fits and 512 <= len(text) <= 1024, "a key has 2048 to 4096 bits, in whole bytes")
    modulus = int(text, 16)
    require(modulus.bit_length() == 4 * len(text), "the first bit of a key is set")
    require(modulus % 2 == 1, "a key is odd")
    return modulus


def written(number: int, modulus: int) -> str:
    return f"{number:0{len(f'{modulus:x}')}x}"


def blind(modulus: int, message: bytes, salt: bytes, inverse: int) -> int:
    """RFC 9474, section 4.2, of a prepared message."""
    m = encoded(message, salt, modulus.bit_length() - 1)
    return m * pow(pow(inverse, -1, modulus), E, modulus) % modulus


def sign(p: int, q: int, blinded: int) -> int:
    """Section 4.3."""
    modulus = p * q
    require(blinded < modulus, "the blinded message is too large")
    # Modulo each prime alone (RFC 8017, section 5.1.2), which is four times as quick.
    of_p, of_q = (pow(blinded, pow(E, -1, prime - 1), prime) for prime in (p, q))
    return of_q + q * ((of_p - of_q) * pow(q, -1, p) % p)


def check(modulus: int, message: bytes, signature: int, salt_length: int) -> None:
    """RSASSA-PSS-VERIFY of RFC 8017, section 8.1.2, by its own steps."""
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
    opened[0] &= 0xFF >> (8 * length - bits)
    start = len(opened) - salt_length - 1
    require(opened[:start] == bytes(start) and opened[start] == 1, "another padding")
    require(sha384(bytes(8), sha384(message), opened[start + 1 :]) == hashed, "another message")


def finalise(
    modulus: int, message: bytes, blind_signature: int, inverse: int, salt_length: int
) -> int:
    """RFC 9474, section 4.4."""
    require(blind_signature < modulus, "the blind signature is too large")
    signature = blind_signature * inverse % modulus
    check(modulus, message, signature, salt_length)
    return signature
