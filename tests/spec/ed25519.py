"""Ed25519 of RFC 8032, section 5.1: slow, in affine coordinates but for the many additions of a
multiple, which are those of section 5.1.4."""

from __future__ import annotations

import hashlib
from functools import cache

from deniably.reference.refusal import require

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Extended = tuple[int, int, int, int]
"""(X, Y, Z, T) of the point (X / Z, Y / Z), with T = X Y / Z."""


def plus(one: tuple[int, int], two: tuple[int, int]) -> tuple[int, int]:
    (x, y), (u, v) = one, two
    t = D * x * y * u * v
    return (x * v + u * y) * pow(1 + t, -1, P) % P, (y * v + x * u) * pow(1 - t, -1, P) % P


def added(one: Extended, two: Extended) -> Extended:
    (x, y, z, t), (u, v, w, s) = one, two
    a, b = (y - x) * (v - u) % P, (y + x) * (v + u) % P
    c, d = 2 * t * s * D % P, 2 * z * w % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


@cache
def times(scalar: int, point: tuple[int, int]) -> tuple[int, int]:
    result, (u, v) = (0, 1, 1, 0), point
    for bit in bin(scalar)[2:]:
        result = added(result, result)
        if bit == "1":
            result = added(result, (u, v, 1, u * v % P))
    x, y, z, _ = result
    return x * pow(z, -1, P) % P, y * pow(z, -1, P) % P


def point(encoded: bytes) -> tuple[int, int]:
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number % 2**255
    require(y < P, "not canonical")
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    require(x * x % P == square and not (x == 0 and sign), "no point")
    return (x if x % 2 == sign else P - x), y


def encoded(found: tuple[int, int]) -> bytes:
    x, y = found
    return (y + (x % 2 << 255)).to_bytes(32, "little")


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def sha512(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


def secret(seed: bytes) -> tuple[int, bytes]:
    hashed = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(hashed[:32], "little")
    return scalar & (2**254 - 8) | 2**254, hashed[32:]


def public(seed: bytes) -> bytes:
    return encoded(times(secret(seed)[0], BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    scalar, prefix = secret(seed)
    r = sha512(prefix, message) % L
    commitment = encoded(times(r, BASE))
    s = (r + sha512(commitment, public(seed), message) * scalar) % L
    return commitment + s.to_bytes(32, "little")


def check_point(data: bytes) -> tuple[int, int]:
    """(x, y) of 32 bytes, by section 5.1.3 alone."""
    require(len(data) == 32, "another length")
    x, y = point(data)
    assert (y * y - x * x - 1 - D * x * x * y * y) % P == 0, "not on the curve"
    return x % P, y


def check_signature(key: bytes, signature: bytes, message: bytes) -> None:
    require(len(key) == 32 and len(signature) == 64, "another length")
    commitment, s = signature[:32], int.from_bytes(signature[32:], "little")
    require(s < L, "S is too large")
    k = sha512(commitment, key, message)
    right = plus(point(commitment), times(k, point(key)))
    require(times(s, BASE) == right, "not the key's signature")
