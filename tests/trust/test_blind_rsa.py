"""Blind signatures beyond the vectors: any message, what a signer can learn, and what is hidden."""

from __future__ import annotations

import base64
import math
import secrets
from itertools import product

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.core.errors import BadKey, BadSignature
from deniably.trust.blind_rsa import (
    EXPONENT,
    PrivateKey,
    PublicKey,
    blind,
    finalise,
    new_key,
    prepare,
    read_private_key,
)
from deniably.trust.blind_rsa import _encoded as encoded  # pyright: ignore[reportPrivateUsage]

KEY = new_key()
PUBLIC = KEY.public
SIZE = 256


def traded(message: bytes) -> tuple[bytes, bytes, bytes]:
    """A prepared message, what the signer saw of it, and its signature."""
    prepared = prepare(message)
    blinded, inverse = blind(PUBLIC, prepared)
    return prepared, blinded, finalise(PUBLIC, prepared, KEY.sign(blinded), inverse)


@settings(max_examples=20, deadline=None)
@given(st.binary(max_size=64))
def test_any_message_is_signed_and_the_signature_is_an_ordinary_one(message: bytes) -> None:
    prepared, _, signature = traded(message)

    # Another implementation, which knows nothing of blinding.
    public = rsa.RSAPublicNumbers(EXPONENT, PUBLIC.modulus).public_key()
    scheme = padding.PSS(padding.MGF1(hashes.SHA384()), 48)
    public.verify(signature, prepared, scheme, hashes.SHA384())
    assert prepared[32:] == message


def test_the_signer_cannot_link_a_signature_to_a_trade() -> None:
    """For every pair of a trade and a signature there is just one blinding that explains it, and
    all blindings are equally likely: to the signer each pairing looks like every other."""
    trades = [traded(secrets.token_bytes(16)) for _ in range(4)]
    modulus = PUBLIC.modulus

    for (_, blinded, _), (prepared, _, signature) in product(trades, trades):
        blind_signature = KEY.sign(blinded)
        inverse = _number(signature) * pow(_number(blind_signature), -1, modulus) % modulus
        assert math.gcd(inverse, modulus) == 1
        assert finalise(PUBLIC, prepared, blind_signature, inverse) == signature
        # The device that has this message and this blinding sends just what the signer saw.
        encoded = pow(_number(signature), EXPONENT, modulus)
        factor = pow(pow(inverse, -1, modulus), EXPONENT, modulus)
        assert encoded * factor % modulus == _number(blinded)


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def test_the_same_message_is_blinded_otherwise_each_time() -> None:
    prepared = prepare(bytes(16))

    assert len({blind(PUBLIC, prepared)[0] for _ in range(20)}) == 20
    assert len({prepare(bytes(16)) for _ in range(20)}) == 20


def test_a_blind_signature_is_the_same_each_time() -> None:
    blinded, _ = blind(PUBLIC, prepare(b""))

    assert KEY.sign(blinded) == KEY.sign(blinded)


def test_a_signature_of_another_key_is_refused() -> None:
    prepared = prepare(b"")
    blinded, inverse = blind(PUBLIC, prepared)
    other = new_key()
    while other.public.modulus <= _number(blinded):
        other = new_key()
    signed = _number(other.sign(blinded)) % PUBLIC.modulus

    with pytest.raises(BadSignature):
        finalise(PUBLIC, prepared, signed.to_bytes(SIZE, "big"), inverse)


@pytest.mark.parametrize("length", [0, 255, 257])
def test_only_a_number_of_the_keys_length_is_signed(length: int) -> None:
    with pytest.raises(BadSignature, match="256 bytes"):
        KEY.sign(bytes(length))


def test_a_key_with_a_factor_that_everybody_knows_is_refused_where_it_shows() -> None:
    """A power of three: one message in three has a divisor in common with it."""
    modulus = 3**1291
    while modulus.bit_length() % 8:
        modulus *= 3
    assert 2048 <= modulus.bit_length() <= 4096
    prepared = next(each for each in iter(lambda: prepare(b""), b"") if _shares(each, modulus))

    with pytest.raises(BadKey, match="two large primes"):
        blind(PublicKey(f"{modulus:x}"), prepared, bytes(48))


def _shares(prepared: bytes, modulus: int) -> bool:
    return math.gcd(encoded(prepared, bytes(48), modulus.bit_length() - 1), modulus) > 1


def test_a_key_is_kept_as_a_text_and_read_again() -> None:
    assert read_private_key(KEY.text).public == PUBLIC


@pytest.mark.parametrize("text", ["", "no key", KEY.text[:200]])
def test_what_is_no_key_is_not_read(text: str) -> None:
    with pytest.raises(BadKey) as refused:
        read_private_key(text)
    assert "BEGIN" not in str(refused.value)


def test_a_key_that_was_damaged_anywhere_is_not_read() -> None:
    begin, *lines, end = KEY.text.splitlines()
    whole = base64.b64decode("".join(lines))
    for place in range(0, len(whole), 11):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        text = "\n".join([begin, base64.b64encode(damaged).decode(), end])
        with pytest.raises(BadKey):
            read_private_key(text)


def test_a_private_key_never_prints_what_is_secret() -> None:
    assert repr(KEY) == "PrivateKey()"
    assert isinstance(KEY, PrivateKey)
