"""Subset selection: the cases of subset_selection, channels, omega and estimates.json."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from deniably.reference.claims import floor_exp
from deniably.reference.coins import Tape
from deniably.reference.refusal import Invalid
from deniably.reference.subsets import (
    best_omega,
    channel,
    check_subset,
    estimate,
    randomise,
    support,
)
from deniably.reference.values import Json
from spec.cases.tapes import LIMIT, OWN_E, draw_bytes, strings, tape_bytes
from spec.vector_types import Case, Made

# --- subset selection ---

SELECTION_NOTES = {
    "Kept": "the answer is in the report; the first of the omega draws is left out",
    "Reject": "at least one draw is thrown away",
    "Remainder": "bytes are left over and must not be taken",
    "NotADouble": "arithmetic in doubles rounds Z, or the parameter, to an allowed one",
}
SHAPES = (
    *((k, omega, 3, 1) for k in (2, 3, 4) for omega in range(1, k)),
    *((k, omega, 13, 7) for k in (2, 3, 4) for omega in range(1, k)),
    *((6, omega, 2, 1) for omega in range(1, 6)),
    (5, 1, 3, 1), (5, 4, 3, 1), (10, 2, 5, 1), (16, 4, OWN_E, 2**32), (16, 1, OWN_E, 2**32),
    (2, 1, LIMIT - 1, 1), (2, 1, LIMIT // 2 + 1, LIMIT // 2 - 1), (128, 34, OWN_E, 2**32),
    (1024, 1, 3, 1), (1024, 275, OWN_E, 2**32), (1024, 1023, 3, 1), (7, 3, 2**40 + 1, 2**40 - 1),
)  # fmt: skip


Shape = tuple[int, int, int, int]


def subset_selection() -> Made:
    assert floor_exp(Fraction(1), 32) == OWN_E
    groups = [_selection(*shape) for shape in SHAPES]
    groups.append({"type": "parameters", "tests": list(_parameters())})
    return SELECTION_NOTES, groups


def _selection(k: int, omega: int, own: int, other: int) -> dict[str, Any]:
    shape = (k, omega, own, other)
    p, q = support(*shape)
    answers = range(k) if k <= 6 else [0, k // 2, k - 1]
    tests = [_report(shape, answer, *tape) for answer in answers for tape in _tapes(shape)]
    outside = "an answer outside the choices"
    tests += [_report(shape, answer, outside, tape_bytes(outside, 2)) for answer in (k, k + 1, -1)]
    parameters = {"k": k, "omega": omega, "own": str(own), "other": str(other)}
    odds = str(Fraction(own, other))
    return {
        "type": "report",
        "parameters": parameters,
        "odds": odds,
        "p": str(p),
        "q": str(q),
        "tests": tests,
    }


def _tapes(shape: Shape) -> Iterator[tuple[Any, ...]]:
    """(comment, bytes): the edges of keeping, of rejection and of Floyd's draws, and any bytes."""
    k, omega, own, other = shape
    z, bounds = omega * own + (k - omega) * other, range(k - omega, k)
    first, last = [0 for _ in bounds], [bound - 1 for bound in bounds]
    if omega <= 64:
        yield (
            "the largest draw that keeps the answer, then zeros",
            draw_bytes(omega * own - 1, *first),
        )
        yield "the smallest draw that leaves it out, then zeros", draw_bytes(omega * own, *first)
        yield "kept, every further draw is the last", draw_bytes(0, *last)
        yield "left out, every further draw is the last", draw_bytes(z - 1, *last)
        worst = [n for bound in (z, *bounds) for n in (LIMIT - 1, 0) if n == 0 or LIMIT % bound]
        yield "every draw that can be thrown away is, once", draw_bytes(*worst)
    yield "any bytes, some to spare", tape_bytes(f"{shape} spare", omega + 12)
    for i in range(3 if k <= 16 else 1):
        data = tape_bytes(f"{shape} {i}", 2 * omega + 12)
        coins = Tape(data)
        randomise(*shape, 0, coins)
        yield "any bytes, none to spare", data[: coins.consumed]


def _report(shape: Shape, answer: Json, comment: str, data: bytes) -> dict[str, Any]:
    coins = Tape(data)
    case: Case = {"comment": comment, "flags": [], "answer": answer, "bytes": data.hex()}
    try:
        report = randomise(*shape, answer, coins)
    except Invalid as reason:
        return case | {"consumed": coins.consumed, "reason": str(reason), "result": "invalid"}
    happened = {
        "Kept": answer in report,
        "Reject": coins.consumed > 7 * (shape[1] + 1),
        "Remainder": coins.consumed < len(data),
    }
    case["flags"] = [flag for flag, true in happened.items() if true]
    return case | {"report": report, "consumed": coins.consumed, "result": "valid"}


def _parameters() -> Iterator[Case]:
    tried = (
        ("the smallest mechanism", (2, 1, 2, 1)),
        ("Z is exactly 2^53", (2, 1, LIMIT - 1, 1)),
        ("Z is exactly 2^53 with many choices", (4, 1, LIMIT - 3 * 2**50, 2**50)),
        ("the largest mechanism", (1024, 1023, 2, 1)),
        ("one choice", (1, 1, 3, 1)),
        ("no choice", (0, 0, 3, 1)),
        ("too many choices", (1025, 1, 3, 1)),
        ("an empty report", (4, 0, 3, 1)),
        ("every choice reported", (4, 4, 3, 1)),
        ("a negative omega", (4, -1, 3, 1)),
        ("equal weights", (4, 1, 3, 3)),
        ("swapped weights", (4, 1, 1, 3)),
        ("other is zero", (4, 1, 3, 0)),
        ("other is negative", (4, 1, 3, -1)),
        ("both weights negative", (4, 1, -1, -3)),
        ("Z is 2^53 + 1", (2, 1, LIMIT - 2, 3)),
        ("Z is 2^53 + 2; omega*own is 2^53 + 1", (4, 3, (LIMIT + 1) // 3, 1)),
        ("Z is far past 2^53", (1024, 512, LIMIT - 1, 1)),
    )
    for comment, shape in tried:
        k, omega, own, other = shape
        doubles = int(float(float(omega * own) + (k - omega) * other)) == LIMIT
        rounded = doubles and omega * own + (k - omega) * other > LIMIT
        case: Case = {"comment": comment, "flags": ["NotADouble"] if rounded else []}
        case |= {"k": k, "omega": omega, "own": str(own), "other": str(other)}
        try:
            check_subset(*shape)
            yield case | {"result": "valid"}
        except Invalid as reason:
            yield case | {"reason": str(reason), "result": "invalid"}


def channels() -> Made:
    groups = []
    for odds in (Fraction(3), Fraction(2), Fraction(13, 7)):
        own, other = odds.as_integer_ratio()
        shapes = [(k, omega, own, other) for k in range(2, 7) for omega in range(1, k)]
        groups.append({"type": "channel", "odds": str(odds), "tests": list(map(_channel, shapes))})
    return {}, groups


def _channel(shape: Shape) -> dict[str, Any]:
    k, omega, own, other = shape
    p, q = support(*shape)
    rows = [
        {",".join(map(str, report)): str(probability) for report, probability in row.items()}
        for row in channel(*shape)
    ]
    case: Case = {"comment": "", "flags": [], "k": k, "omega": omega, "own": str(own)}
    case |= {"other": str(other), "p": str(p), "q": str(q)}
    return case | {"channel": rows, "result": "valid"}


# --- the best omega ---

OMEGA_NOTES = {"Tie": "two omegas are equally good; the smaller is taken"}


def omega() -> Made:
    sizes = (*range(2, 13), 16, 20, 32, 50, 64, 100, 128)
    some = ("0.01", "0.1", "0.25", "0.5", "1", "1.5", "2", "3", "4", "5", "10")
    shapes = [(k, floor_exp(Fraction(e), 32), 2**32) for k in sizes for e in some]
    shapes += [(k, 3, 1) for k in sizes] + [(k, 13, 7) for k in sizes]
    for k, e in itertools.product((256, 1023, 1024), ("0.01", "0.5", "1", "2", "4", "10")):
        shapes.append((k, floor_exp(Fraction(e), 32), 2**32))
    groups = [{"type": "omega", "tests": [_omega([], *shape) for shape in shapes]}]
    ties = ((10, 6, 1), (27, 10, 1), (51, 35, 1), (245, 99, 1))
    groups.append({"type": "omega", "tests": [_omega(["Tie"], *shape) for shape in ties]})
    return OMEGA_NOTES, groups


def _omega(flags: list[str], k: int, own: int, other: int) -> dict[str, Any]:
    case: Case = {"comment": "", "flags": flags, "k": k, "own": str(own), "other": str(other)}
    return case | {"omega": best_omega(k, own, other), "result": "valid"}


# --- estimates ---


def estimates() -> Made:
    shapes = ((2, 1, 3, 1), (3, 1, 2, 1), (5, 2, 13, 7), (6, 3, 3, 1), (16, 4, OWN_E, 2**32))
    groups = []
    for shape in shapes:
        reports = [_counted(shape, n) for n in (1, 2, 7, 1000, 123457)]
        groups.append(_estimates(shape, reports))
    groups.append(_estimates((2, 1, 3, 1), [("everybody says yes", 100, [100, 0])]))
    groups.append(_estimates((4, 3, 3, 1), [("nobody supports choice 3", 9, [9, 9, 9, 0])]))
    nigeria = (
        "Blair, Imai and Zhou 2015 (JASA 110:1304), forced response with 2/3, 1/6, 1/6: 0.2619"
    )
    groups.append(_estimates((2, 1, 5, 1), [(nigeria, 2435, [831, 1604])]))
    groups.append(_estimates((2, 1, 3, 1), [("no report, no estimate", 0, [0, 0])]))
    return {}, groups


def _counted(shape: Shape, n: int) -> tuple[str, int, list[int]]:
    """Supports that add up: n reports of omega choices each, spread by a hash."""
    k, omega, *_ = shape
    counts = [0] * k
    for start in range(min(n, 97)):
        weight = n // 97 + (start < n % 97) if n > 97 else 1
        first = hashlib.sha256(f"{shape} {n} {start}".encode()).digest()[0] % k
        for i in range(omega):
            counts[(first + i) % k] += weight
    assert sum(counts) == n * omega
    return "", n, counts


def _estimates(shape: Shape, reports: Any) -> dict[str, Any]:
    k, omega, own, other = shape
    tests = []
    for comment, n, counts in reports:
        case: Case = {"comment": comment, "flags": [], "n": n, "counts": counts}
        try:
            shares = estimate(*shape, n, counts)
            case |= {"estimate": strings(shares), "result": "valid"}
        except Invalid as reason:
            case |= {"reason": str(reason), "result": "invalid"}
        tests.append(case)
    parameters = {"k": k, "omega": omega, "own": str(own), "other": str(other)}
    p, q = support(*shape)
    return {
        "type": "estimate",
        "parameters": parameters,
        "p": str(p),
        "q": str(q),
        "tests": tests,
    }
