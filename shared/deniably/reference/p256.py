"""The curve P-256 (FIPS 186-5, SP 800-186 section 3.2.1.3) in affine coordinates (SPEC 14.1)."""

from __future__ import annotations

from functools import cache

from deniably.reference.refusal import require

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The number of points."""
A = P - 3
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
CurvePoint = tuple[int, int] | None
"""A point (x, y); None is the neutral element."""
BASE: CurvePoint = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


def added(one: CurvePoint, two: CurvePoint) -> CurvePoint:
    """Returns the sum of two points."""
    if one is None or two is None:
        return one or two
    (x, y), (u, v) = one, two
    if x == u and (y + v) % P == 0:
        return None
    if one == two:
        slope = (3 * x * x + A) * pow(2 * y, -1, P) % P
    else:
        slope = (v - y) * pow(u - x, -1, P) % P
    third = (slope * slope - x - u) % P
    return third, (slope * (x - third) - y) % P


def times(scalar: int, point: CurvePoint) -> CurvePoint:
    """Returns a multiple of a point."""
    result: CurvePoint = None
    for bit in bin(scalar)[2:]:
        result = added(result, result)
        if bit == "1":
            result = added(result, point)
    return result


def encoded(point: CurvePoint) -> bytes:
    """Returns a point as 65 bytes: 4, x, y (SEC 1, section 2.3.3, uncompressed)."""
    assert point is not None
    x, y = point
    return b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")


def read_point(data: bytes) -> CurvePoint:
    """Returns the point of 65 bytes. Raises Invalid where they are none of the curve."""
    require(len(data) == 65 and data[0] == 4, "a point is 65 bytes, and the first is 4")
    x, y = int.from_bytes(data[1:33], "big"), int.from_bytes(data[33:], "big")
    require(x < P and y < P, "a coordinate is too large")
    require((y * y - x * x * x - A * x - B) % P == 0, "the point is not on the curve")
    return x, y


@cache
def public(secret: int) -> bytes:
    """Returns the public key of a private one, which is from 1 to N - 1."""
    assert 1 <= secret < N
    return encoded(times(secret, BASE))


def shared(secret: int, other: bytes) -> bytes:
    """Returns the x coordinate that the holders of two keys share (ECDH). Raises Invalid where
    ``other`` is no point."""
    point = times(secret, read_point(other))
    assert point is not None  # the curve has a prime number of points
    return point[0].to_bytes(32, "big")
