"""Bytes for the coins of a case."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import Any

LIMIT = 2**53
OWN_E = 11674931554  # floor(2^32 e), checked where it is used


def draw_bytes(*numbers: Any) -> bytes:
    """The 7 bytes of each draw (of 56 bits; the top 3 are to be dropped)."""
    return b"".join(number.to_bytes(7, "big") for number in numbers)


def tape_bytes(label: str, draws: int) -> bytes:
    """The bytes of so many draws."""
    return label_bytes(label, 7 * draws)


def label_bytes(label: str, length: int) -> bytes:
    """Any bytes: SHA-256 in counter mode over a label."""
    blocks = (hashlib.sha256(f"{label} {number}".encode()).digest() for number in count())
    return b"".join(next(blocks) for _ in range(-(-length // 32)))[:length]


def strings(numbers: Any) -> list[str]:
    return [str(number) for number in numbers]
