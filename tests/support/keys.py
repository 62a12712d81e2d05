"""Keys that are the same each time."""

from __future__ import annotations

import math
from functools import lru_cache

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniably.trust.blind_rsa import EXPONENT, PrivateKey
from deniably.trust.signing import Key


def key_of(seed: bytes) -> Key:
    """The author's key of RFC 8032 with these 32 secret bytes."""
    return Key(Ed25519PrivateKey.from_private_bytes(seed))


@lru_cache  # to check that they are primes takes longest
def blind_key_of(p: int, q: int) -> PrivateKey:
    """The key of two primes, which signs blindly."""
    d = pow(EXPONENT, -1, math.lcm(p - 1, q - 1))
    rest = (rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q))
    public = rsa.RSAPublicNumbers(EXPONENT, p * q)
    return PrivateKey(rsa.RSAPrivateNumbers(p, q, d, *rest, public).private_key())
