"""Draws many exact uniform integers and coins. All randomness of ``simulation`` enters here."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from os import urandom
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniably.core.coins import Coins

Integers = npt.NDArray[np.integer[Any]]
UnsignedInts = npt.NDArray[np.unsignedinteger[Any]]
Int64 = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

WORD = 16
"""The bits of the random words that lookup tables and coins take first."""

_SHORT = 1 << 13  # bytes; making a key takes as long as these from the operating system

_ZEROS = memoryview(bytes(1 << 20))

RandomSource = Callable[[int], bytes]
# A context variable, so that threads with sources of their own do not meet.
_given: ContextVar[RandomSource | None] = ContextVar("given", default=None)


@contextmanager
def drawn_from(source: RandomSource) -> Generator[None]:
    """Within the block, all random bytes of this package come from ``source(count)``, which
    returns ``count`` bytes, so that an experiment can be repeated. Outside the block they come
    from the operating system."""
    before = _given.set(source)
    try:
        yield
    finally:
        _given.reset(before)


def coins() -> Coins:
    """Returns a ``Coins`` object, as devices use it, that draws from the source of ``drawn_from``,
    or outside such a block from the operating system."""
    return Coins(_given.get())


def below(n: int, size: int) -> UnsignedInts:
    """Returns ``size`` integers below n, each value with probability exactly 1/n, for 1 <= n <
    2**63."""
    if n == 1:
        return np.zeros(size, dtype=np.uint16)
    # A 16-bit draw is repeated with a probability below n / 2**16, at most 1/64 here.
    word = np.uint16 if n <= 1 << 10 else np.uint64
    largest = int(np.iinfo(word).max)
    last = largest - (largest + 1) % n
    drawn = words(size, word)
    # Up to `last` every residue modulo n occurs equally often; words above are drawn again.
    while (late := np.flatnonzero(drawn > last)).size:
        drawn[late] = words(late.size, word)
    return drawn - drawn // n * n  # numpy divides faster than it takes remainders


def signed_below(n: int, size: int) -> Int64:
    """Returns the same as ``below``, but as signed integers: numpy turns sums of unsigned and
    signed 64-bit integers into floats."""
    return below(n, size).astype(np.int64)


def heads(weight: int, total: int, size: int) -> Booleans:
    """Returns ``size`` coins, each True with probability exactly weight / total, for 0 <= weight <
    total.

    With cut, rest = divmod(2**16 weight, total), a 16-bit word below cut gives True, and a word
    above gives False. If the word is equal to cut, a second draw gives True with probability rest
    / total. So 2**16 P(True) = cut + rest / total = 2**16 weight / total.
    """
    # Words below ``cut`` are heads; the word ``cut`` is so with probability rest / total.
    cut, rest = divmod(weight << WORD, total)
    drawn = words(size, np.uint16)
    shown = drawn < cut
    edge = np.flatnonzero(drawn == cut)
    shown[edge] = below(total, edge.size) < rest
    return shown


def words(size: int, word: type[np.unsignedinteger[Any]]) -> UnsignedInts:
    """Returns ``size`` random words of the integer type ``word``."""
    count = size * np.dtype(word).itemsize
    source = _given.get() or (urandom if count < _SHORT else stream)
    random_words = source(count)
    # A bytearray is writable, bytes are not: callers change their draws in place.
    return np.frombuffer(
        random_words if isinstance(random_words, memoryview) else bytearray(random_words),
        dtype=word,
    )


def stream(count: int) -> memoryview:
    """Returns ``count`` bytes of AES-256 in counter mode under a fresh key from the operating
    system.

    This is about twenty times as fast as the operating system's generator. Each call has its own
    key, so processes and threads cannot get the same bytes.
    """
    key, nonce = urandom(32), urandom(16)
    plain = _ZEROS[:count] if count <= len(_ZEROS) else bytes(count)
    room = np.empty(count + 15, np.uint8)  # update_into asks for a block less one byte more
    Cipher(algorithms.AES256(key), modes.CTR(nonce)).encryptor().update_into(plain, room.data)
    return room.data[:count]
