"""AES-128 in Galois/counter mode (FIPS 197, SP 800-38D), byte by byte (SPEC 14.1)."""

from __future__ import annotations

from deniably.reference.refusal import require

TAG = 16
"""Bytes of a tag."""


def _doubled(byte: int) -> int:
    return (byte << 1 ^ (0x1B if byte & 0x80 else 0)) & 0xFF


def _product(one: int, two: int) -> int:
    """Of two bytes, as polynomials modulo x^8 + x^4 + x^3 + x + 1."""
    result = 0
    for place in range(8):
        if two >> place & 1:
            result ^= one
        one = _doubled(one)
    return result


def _substituted(byte: int) -> int:
    """The S-box (FIPS 197, section 5.1.1): the inverse, and an affine map of its bits."""
    inverse = next((other for other in range(256) if _product(byte, other) == 1), 0)
    rotations = [inverse << turn | inverse >> (8 - turn) for turn in range(5)]
    mixed = 0x63
    for each in rotations:
        mixed ^= each & 0xFF
    return mixed


SBOX = [_substituted(byte) for byte in range(256)]
TWICE = [_doubled(byte) for byte in range(256)]
THRICE = [_doubled(byte) ^ byte for byte in range(256)]


def _round_keys(key: bytes) -> list[bytes]:
    words = [key[at : at + 4] for at in range(0, 16, 4)]
    constant = 1
    for number in range(4, 44):
        word = words[-1]
        if number % 4 == 0:
            word = bytes(SBOX[byte] for byte in word[1:] + word[:1])
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = _doubled(constant)
        words.append(_xor(word, words[-4]))
    return [b"".join(words[at : at + 4]) for at in range(0, 44, 4)]


def _block(keys: list[bytes], block: bytes) -> bytes:
    """Encrypts 16 bytes, column by column."""
    state = _xor(block, keys[0])
    for number, key in enumerate(keys[1:], start=1):
        state = bytes(SBOX[byte] for byte in state)
        state = bytes(state[(place + 4 * (place % 4)) % 16] for place in range(16))  # ShiftRows
        if number < 10:
            state = b"".join(_mixed(state[at : at + 4]) for at in range(0, 16, 4))
        state = _xor(state, key)
    return state


def _mixed(column: bytes) -> bytes:
    """MixColumns (FIPS 197, section 5.1.3) of one column."""
    a, b, c, d = column
    return bytes(
        (
            TWICE[a] ^ THRICE[b] ^ c ^ d,
            a ^ TWICE[b] ^ THRICE[c] ^ d,
            a ^ b ^ TWICE[c] ^ THRICE[d],
            THRICE[a] ^ b ^ c ^ TWICE[d],
        )
    )


def _xor(one: bytes, two: bytes) -> bytes:
    assert len(one) == len(two)
    return (int.from_bytes(one, "big") ^ int.from_bytes(two, "big")).to_bytes(len(one), "big")


def _of_blocks(one: int, two: int) -> int:
    """The product of two blocks (SP 800-38D, algorithm 1), whose first bit is the highest."""
    result = 0
    for place in range(127, -1, -1):
        if two >> place & 1:
            result ^= one
        one = one >> 1 ^ (0xE1 << 120 if one & 1 else 0)
    return result


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 16)


def _hash(secret: int, data: bytes) -> bytes:
    """GHASH (SP 800-38D, algorithm 2)."""
    state = 0
    for at in range(0, len(data), 16):
        state = _of_blocks(state ^ int.from_bytes(data[at : at + 16], "big"), secret)
    return state.to_bytes(16, "big")


def _counted(keys: list[bytes], nonce: bytes, data: bytes) -> bytes:
    """Encrypts, or decrypts, by the counters from 2 on."""
    blocks = range(-(-len(data) // 16))
    stream = b"".join(_block(keys, nonce + (2 + number).to_bytes(4, "big")) for number in blocks)
    return _xor(data, stream[: len(data)])


def _tag(keys: list[bytes], nonce: bytes, aad: bytes, ciphertext: bytes) -> bytes:
    secret = int.from_bytes(_block(keys, bytes(16)), "big")
    lengths = (8 * len(aad)).to_bytes(8, "big") + (8 * len(ciphertext)).to_bytes(8, "big")
    hashed = _hash(secret, _padded(aad) + _padded(ciphertext) + lengths)
    return _xor(hashed, _block(keys, nonce + (1).to_bytes(4, "big")))


def encrypt(key: bytes, nonce: bytes, plain: bytes, aad: bytes = b"") -> bytes:
    """Returns the ciphertext and its tag, for a nonce of 12 bytes."""
    keys = _round_keys(key)
    ciphertext = _counted(keys, nonce, plain)
    return ciphertext + _tag(keys, nonce, aad, ciphertext)


def decrypt(key: bytes, nonce: bytes, sealed: bytes, aad: bytes = b"") -> bytes:
    """Returns the plain text. Raises Invalid where the tag is another."""
    require(len(sealed) >= TAG, "too short for a tag")
    keys = _round_keys(key)
    ciphertext, tag = sealed[:-TAG], sealed[-TAG:]
    require(_tag(keys, nonce, aad, ciphertext) == tag, "another tag")
    return _counted(keys, nonce, ciphertext)
