"""Checks that a device draws uniform integers from the system's random bytes, without statistics
(SPEC 1).

Words at the edges are fed, which no run ever meets; and the draws of one coins object must be those
of the bytes that the operating system gave it, each used once and in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO

from deniably.audit.replay.tap import tapped
from deniably.core.coins import Coins
from deniably.reference.coins import Blocks, Tape, TooFewBytes

BOUNDS = (1, 2, 3, 5, 7, 100, 255, 256, 2**32, 2**32 + 1, 2**52 - 1, 2**52 + 1, 2**53 - 1, 2**53)
"""Bounds at which rejection begins elsewhere: around powers of two, small primes, and the
largest."""
STREAM = [2, 3, 5, 7, 11, 100, 256, 1000, 3 * 2**20, 2**32] * 100
"""The bounds of 1,000 draws by one coins object."""

_LARGEST = 2**53
Below = Callable[[Sequence[tuple[int, bytes]]], Sequence[tuple[int, int]]]
"""Draws below each bound from the bytes given with it; returns each number, and how many bytes it
took."""
Stream = Callable[[Sequence[int]], tuple[Sequence[int], Sequence[bytes]]]
"""Draws below each bound with one coins object; returns the numbers, and the blocks of random bytes
that the operating system gave."""


def edge_draws() -> list[tuple[int, bytes]]:
    """Returns (bound, tape) pairs, to test how a device draws integers below a bound.

    A tape is the random bytes to draw from. It begins with a word at an edge, such as the first
    that must be rejected; then come words that are accepted.
    """
    draws: list[tuple[int, bytes]] = []
    for n in BOUNDS:
        limit = _LARGEST - _LARGEST % n
        for word in {0, 1, n - 1, n, limit - 1, limit, limit + 1, _LARGEST - 1}:
            if 0 <= word < _LARGEST:
                for top in (0, 0b10100000):  # three bits that are dropped
                    # The top three of the 56 bits; SPEC 1 drops them.
                    first = (word | top << 48).to_bytes(7, "big")
                    draws.append((n, first + (1).to_bytes(7, "big") * 2))
    return draws


def fault_of_coins(below: Below, stream: Stream) -> str | None:
    """Returns what is wrong with how a device draws integers, in words; None where nothing is."""
    draws = edge_draws()
    for (n, tape), (value, taken) in zip(draws, below(draws), strict=True):
        right = Tape(tape)
        if (right.below(n), right.consumed) != (value, taken):
            return f"of the bytes {tape[:7].hex()} below({n}) makes {value}, taking {taken} bytes"
    values, blocks = stream(STREAM)
    coins = Blocks(blocks)
    try:
        drawn = [coins.below(n) for n in STREAM]
    except TooFewBytes:
        return "1,000 draws take fewer random bytes of the operating system than they need"
    if drawn != list(values):
        place = next(i for i, (a, b) in enumerate(zip(drawn, values, strict=True)) if a != b)
        return f"draw {place + 1} of one object of coins is not of the operating system's bytes"
    return None if coins.used == len(blocks) else "it takes random bytes that it does not use"


def fault_of_draws_at_once() -> str | None:
    """Returns, in words, what is wrong with how the Python device makes many draws at once; None if
    nothing is."""
    for n, tape in edge_draws():
        for bounds in (range(n, n + 20), range(n, n - 20, -1)):
            if not 1 <= bounds[-1] <= _LARGEST:
                continue
            # At the first draw of the 20, and at the last.
            for before in (0, 19):
                data = (1).to_bytes(7, "big") * before + tape + (1).to_bytes(7, "big") * 40
                right, source = Tape(data), BytesIO(data)
                drawn = Coins(source.read).below_each(bounds)
                if ([right.below(each) for each in bounds], right.consumed) != (
                    drawn, source.tell()
                ):  # fmt: skip
                    return f"draws below {bounds[0]} to {bounds[-1]} at once are not those in turn"
    with tapped() as tap:
        coins = Coins()
        drawn = coins.below_each(range(2, 102)) + coins.below_each(range(102, 2, -1))
    seen = Blocks(tap.blocks)
    try:
        right_ones = [seen.below(n) for n in (*range(2, 102), *range(102, 2, -1))]
    except TooFewBytes:
        return "many draws at once take fewer random bytes of the operating system than they need"
    if drawn != right_ones:
        return "many draws at once are not of the operating system's bytes, in order"
    return None if seen.used == len(tap.blocks) else "it takes random bytes that it does not use"


def below_in_python(draws: Sequence[tuple[int, bytes]]) -> list[tuple[int, int]]:
    """Draws below each bound from its tape, with the code of the Python device.

    Returns for each draw the number, and how many bytes of the tape were used.
    """
    drawn: list[tuple[int, int]] = []
    for n, tape in draws:
        place = 0

        def take(count: int, tape: bytes = tape) -> bytes:
            nonlocal place
            place += count
            return tape[place - count : place]

        drawn.append((Coins(take).below(n), place))
    return drawn
