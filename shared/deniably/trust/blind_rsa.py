"""Blind RSA signatures (RFC 9474): the signer learns neither the message nor the signature.

    prepared = prepare(message)
    blinded, inverse = blind(key, prepared)        # blinded goes to the signer
    signature = finalise(key, prepared, private_key.sign(blinded), inverse)

The variant is RSABSSA-SHA384-PSS-Randomized; the exponent is 65537. A blinded message is uniformly
random whatever the message is, so it fits every message and signature equally well. No amount of
computing can link the two sides.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
from dataclasses import dataclass, field
from functools import cached_property

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from deniably.core.errors import BadKey, BadSignature

EXPONENT = 65537
KEY_PATTERN = r"[89a-f]([0-9a-f]{2}){255,511}[13579bdf]"
"""A modulus of 2048 to 4096 bits, in whole bytes: odd, and its first bit is set."""

_BITS = 2048
_PREFIX = 32  # bytes, of RFC 9474, section 4.1
_HASH = 48  # bytes of SHA-384
_SALT = 48  # bytes; as long as the hash, as the variant says


@dataclass(frozen=True)
class PublicKey:
    """A public key, given as its modulus in hexadecimal (``text``). Raises BadKey for any other
    text."""

    text: str

    def __post_init__(self) -> None:
        # One spelling a key: other texts of the same number would be other entries of the register.
        if not re.fullmatch(KEY_PATTERN, self.text):
            raise BadKey(
                "a key of invitations is an odd number of 2048 to 4096 bits, in lower-case"
                f" hexadecimal digits; this text has {len(self.text)} characters"
            )

    @cached_property
    def modulus(self) -> int:
        """The product of the key's two primes."""
        return int(self.text, 16)

    @property
    def size(self) -> int:
        """The number of bytes of the modulus; blinded messages and signatures have as many."""
        return len(self.text) // 2

    @cached_property
    def _key(self) -> rsa.RSAPublicKey:
        return rsa.RSAPublicNumbers(EXPONENT, self.modulus).public_key()

    def number(self, data: bytes) -> int:
        """Returns ``data`` as a big-endian integer. Raises BadSignature unless ``data`` has as many
        bytes as the modulus and the integer is below the modulus."""
        number = int.from_bytes(data, "big")
        # A number from the modulus on would be signed as its remainder, another message.
        if len(data) != self.size or number >= self.modulus:
            raise BadSignature(
                f"a blinded message has {len(data)} bytes; it must be a number of {self.size} bytes"
                " below the key"
            )
        return number

    def verify(self, prepared: bytes, signature: bytes, salt_length: int = _SALT) -> None:
        """Raises BadSignature unless ``signature`` is this key's signature of the ``prepared``
        message, by ordinary RSASSA-PSS."""
        scheme = padding.PSS(padding.MGF1(hashes.SHA384()), salt_length)
        try:
            self._key.verify(signature, prepared, scheme, hashes.SHA384())
        except InvalidSignature:
            raise BadSignature("the signature is not this key's, of this message") from None


@dataclass(frozen=True)
class PrivateKey:
    """A key that signs blindly. Its ``repr`` shows no secret."""

    _secret: rsa.RSAPrivateKey = field(repr=False)

    @cached_property
    def public(self) -> PublicKey:
        """The public half of the key."""
        return PublicKey(f"{self._secret.public_key().public_numbers().n:x}")

    @cached_property
    def _numbers(self) -> rsa.RSAPrivateNumbers:
        return self._secret.private_numbers()

    @property
    def text(self) -> str:
        """The key as the text of a file: PKCS #8 in PEM."""
        return self._secret.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()

    def sign(self, blinded: bytes) -> bytes:
        """Returns the blind signature of a blinded message (RFC 9474, section 4.3).

        The signature is the same every time. Inside, the message is blinded once more with a random
        factor, so that the time taken says nothing about the key. Raises BadSignature for bytes
        that are no blinded message.
        """
        modulus, number = self.public.modulus, self.public.number(blinded)
        cover, inverse = _invertible(modulus)
        # Two powers of half the length are about four times as fast as one of the whole length.
        covered = self._power(number * pow(cover, EXPONENT, modulus) % modulus)
        signed = covered * inverse % modulus
        # A signature that is wrong modulo one prime alone would give the key away (Boneh, DeMillo
        # and Lipton 1997).
        if pow(signed, EXPONENT, modulus) != number:  # a fault of the machine would betray the key
            raise ArithmeticError("the signature came out wrong")
        return signed.to_bytes(self.public.size, "big")

    def _power(self, number: int) -> int:
        """``number`` to the private exponent, by the Chinese remainder theorem."""
        of = self._numbers
        by_p, by_q = pow(number, of.dmp1, of.p), pow(number, of.dmq1, of.q)
        return by_q + of.q * ((by_p - by_q) * of.iqmp % of.p)


def new_key() -> PrivateKey:
    """Returns a new key of 2048 bits, made with the operating system's generator."""
    return PrivateKey(rsa.generate_private_key(EXPONENT, _BITS))


def read_private_key(text: str) -> PrivateKey:
    """Returns the private key in a PEM text. Raises BadKey where the text has no key that
    ``new_key`` could have made, or its numbers do not fit each other."""
    try:
        # To check that two numbers are primes takes a thousand times as long as to read them: each
        # time that an invitation is traded, for a key that ``new_key`` made.
        loaded = serialization.load_pem_private_key(
            text.encode(), password=None, unsafe_skip_rsa_key_validation=True
        )
    except (ValueError, TypeError, UnsupportedAlgorithm):
        loaded = None
    key = loaded if isinstance(loaded, rsa.RSAPrivateKey) else None
    if key is None or not _are_of_one_key(key.private_numbers()):
        raise BadKey("this is no RSA key of ours in PEM without a password")
    return PrivateKey(key)


def _are_of_one_key(of: rsa.RSAPrivateNumbers) -> bool:
    p, q, e = of.p, of.q, of.public_numbers.e
    if e != EXPONENT or min(p, q) < 3 or p * q != of.public_numbers.n:
        return False
    # The exponents are inverses of e modulo the orders of the groups; cheaper than primality tests.
    powers = (of.d, math.lcm(p - 1, q - 1)), (of.dmp1, p - 1), (of.dmq1, q - 1)
    return of.iqmp * q % p == 1 and all(power * e % order == 1 for power, order in powers)


def prepare(message: bytes) -> bytes:
    """Returns a random prefix followed by the message, so that nobody can guess the result.

    Source: RFC 9474, section 4.1.
    """
    return secrets.token_bytes(_PREFIX) + message


def blind(
    key: PublicKey, prepared: bytes, salt: bytes | None = None, inverse: int | None = None
) -> tuple[bytes, int]:
    """Returns the blinded message, and the inverse that removes the blinding (RFC 9474, section
    4.2).

    ``salt`` and ``inverse`` are for known-answer tests; by default they are random. Raises BadKey
    where the modulus shares a factor with the message.
    """
    modulus = key.modulus
    salt = secrets.token_bytes(_SALT) if salt is None else salt
    number = _encoded(prepared, salt, modulus.bit_length() - 1)
    if math.gcd(number, modulus) != 1:  # never, with a key that is the product of two large primes
        raise BadKey("the key is not the product of two large primes")
    if inverse is None:
        inverse = _invertible(modulus)[1]
    # The signer raises to the private exponent, which turns r**e into r; the inverse takes it off.
    factor = pow(pow(inverse, -1, modulus), EXPONENT, modulus)
    return (number * factor % modulus).to_bytes(key.size, "big"), inverse


def finalise(
    key: PublicKey, prepared: bytes, blind_signature: bytes, inverse: int, salt_length: int = _SALT
) -> bytes:
    """Removes the blinding; returns the signature of the ``prepared`` message (RFC 9474,
    section 4.4).

    Raises BadSignature unless the result is a valid signature.
    """
    number = key.number(blind_signature)
    signature = (number * inverse % key.modulus).to_bytes(key.size, "big")
    # Without this check a server could mark people by signatures that it alone recognises as bad.
    key.verify(prepared, signature, salt_length)
    return signature


def _invertible(modulus: int) -> tuple[int, int]:
    """A uniformly random number that has an inverse, and the inverse."""
    while True:
        number = 1 + secrets.randbelow(modulus - 1)
        if math.gcd(number, modulus) == 1:  # nearly always: all but the multiples of two primes
            return number, pow(number, -1, modulus)


def _encoded(message: bytes, salt: bytes, bits: int) -> int:
    """EMSA-PSS-ENCODE with SHA-384, as a number (RFC 8017, section 9.1.1)."""
    length = -(-bits // 8)
    hashed = _sha384(bytes(8), _sha384(message), salt)
    block = b"\x01" + salt
    block = bytes(length - _HASH - 1 - len(block)) + block
    masked = int.from_bytes(block, "big") ^ int.from_bytes(_stream(hashed, len(block)), "big")
    # 0xbc is the trailer field that the standard fixes.
    whole = masked.to_bytes(len(block), "big") + hashed + b"\xbc"
    # The top bits are cleared so that the number is below the modulus.
    return int.from_bytes(whole, "big") & ((1 << bits) - 1)


def _stream(seed: bytes, length: int) -> bytes:
    """MGF1 with SHA-384 (RFC 8017, appendix B.2.1)."""
    blocks = (_sha384(seed, count.to_bytes(4, "big")) for count in range(-(-length // _HASH)))
    return b"".join(blocks)[:length]


def _sha384(*parts: bytes) -> bytes:
    return hashlib.sha384(b"".join(parts)).digest()
