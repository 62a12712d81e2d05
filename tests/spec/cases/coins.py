"""The cases of coins.json."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from deniably.reference.coins import Tape, pick
from spec.cases.tapes import LIMIT, draw_bytes, strings, tape_bytes
from spec.vector_types import Case, Made

COIN_NOTES = {
    "Reject": "draws at or above 2^53 - (2^53 mod bound) come first and must be thrown away",
    "DropBits": "the top 3 bits of the 7 bytes are set and must be dropped",
    "Remainder": "bytes are left over and must not be taken",
    "NotADouble": "the number is not an IEEE 754 double: a double rounds it to an allowed one",
}


def cases() -> Made:
    groups = [_below(bound) for bound in BOUNDS]
    invalid = [("0", []), ("-1", []), (str(LIMIT + 1), ["NotADouble"]), (str(LIMIT + 2), [])]
    tests = [
        {
            "comment": "a bound that is refused before any byte is taken",
            "flags": flags,
            "bound": bound,
            "bytes": tape_bytes(f"bound {bound}", 2).hex(),
            "consumed": 0,
            "result": "invalid",
        }
        for bound, flags in invalid
    ]
    groups.append({"type": "below", "tests": tests})
    groups.append({"type": "choose", "tests": list(_choose())})
    groups.append({"type": "pick", "tests": list(_pick())})
    return COIN_NOTES, groups


BOUNDS: tuple[int, ...] = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    255,
    256,
    257,
    1000,
    65537,
    2**32,
    2**32 + 1,
    3 * 2**51 - 1,
)
BOUNDS += (2**40 + 1, 2**52, 2**52 + 1, LIMIT - 2, LIMIT - 1, LIMIT)


def _below(bound: int) -> dict[str, Any]:
    limit = LIMIT - LIMIT % bound
    tapes = [
        ("nothing but zeros", [], [0]),
        ("the last draw that is kept", [], [limit - 1]),
        ("the same with the top bits set", ["DropBits"], [limit - 1 + 7 * LIMIT]),
        ("the bound itself, if there is room", [], [bound % limit]),
    ]
    if limit < LIMIT:
        tapes += [
            ("the first draw that is thrown away", ["Reject"], [limit, 1]),
            (
                "the largest draw is thrown away",
                ["Reject", "DropBits"],
                [8 * LIMIT - 1, bound % limit],
            ),
            (
                "several in a row are thrown away",
                ["Reject", "DropBits"],
                [limit, LIMIT - 1, limit + 5 * LIMIT, LIMIT - 1 + 2 * LIMIT, limit - 1],
            ),
        ]
    blocks = [(comment, flags, draw_bytes(*numbers)) for comment, flags, numbers in tapes]
    blocks += [("any bytes", ["Remainder"], tape_bytes(f"below {bound} {i}", 12)) for i in range(3)]
    tests = []
    for comment, flags, data in blocks:
        tape = Tape(data)
        case: Case = {"comment": comment, "flags": flags, "bound": str(bound), "bytes": data.hex()}
        case |= {"value": str(tape.below(bound)), "consumed": tape.consumed, "result": "valid"}
        tests.append(case)
    return {"type": "below", "tests": tests}


def _choose() -> Iterator[Case]:
    lists = (
        *([1], [3, 1], [1, 3], [1, 1, 1], [0, 5], [0, 3, 0, 0, 4], [5, 0], [2**32, 2**32 - 1]),
        *([LIMIT], [LIMIT - 1, 1], [1, LIMIT - 1], [11674931554, 12884901888]),
    )
    for weights in lists:
        edges = sorted({edge for edge in itertools.accumulate(weights) if edge > 0})
        draws = {0, *(edge - 1 for edge in edges), *(edge % sum(weights) for edge in edges)}
        rejected = [LIMIT - LIMIT % sum(weights)] if LIMIT % sum(weights) else []
        tapes = [(["Reject"] if rejected else [], draw_bytes(*rejected, u)) for u in sorted(draws)]
        tapes += [(["Remainder"], tape_bytes(f"choose {weights} {i}", 12)) for i in range(2)]
        for flags, data in tapes:
            tape = Tape(data)
            case: Case = {"comment": "", "flags": flags, "weights": strings(weights)}
            case |= {"bytes": data.hex(), "index": tape.choose(weights)}
            yield case | {"consumed": tape.consumed, "result": "valid"}
    refused: tuple[tuple[str, list[int], list[str]], ...] = (
        ("no weights", [], []),
        ("only zeros", [0, 0], []),
        ("a negative weight", [3, -1], []),
        ("the sum passes 2^53", [LIMIT, 2], []),
        ("the sum passes 2^53 by one", [LIMIT, 1], ["NotADouble"]),
        ("the sum passes 2^53 in steps that a double loses", [LIMIT, 1, 1], ["NotADouble"]),
    )
    for comment, weights, flags in refused:
        case = {"comment": comment, "flags": flags, "weights": strings(weights)}
        yield case | {"bytes": tape_bytes(comment, 2).hex(), "consumed": 0, "result": "invalid"}


def _pick() -> Iterator[Case]:
    for n, size in ((1, 0), (1, 1), (2, 1), (2, 2), (5, 3), (5, 5), (100, 7), (1024, 20)):
        tapes = [tape_bytes(f"pick {n} {size} {i}", size + 2) for i in range(3)]
        tapes += [draw_bytes(*[0] * size), draw_bytes(*(n - i - 1 for i in range(size)))]
        for data in tapes:
            tape = Tape(data)
            value = pick(tape, n, size)
            case: Case = {"comment": "", "flags": [], "n": n, "size": size, "bytes": data.hex()}
            yield case | {"value": value, "consumed": tape.consumed, "result": "valid"}
    for n, size in ((2, 3), (2, -1)):
        case = {"comment": "more or fewer than there are", "flags": [], "n": n, "size": size}
        yield case | {"bytes": tape_bytes("pick", 3).hex(), "consumed": 0, "result": "invalid"}
