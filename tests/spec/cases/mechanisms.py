"""Every mechanism but subset selection: the cases of mechanisms.json."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from deniably.reference.coins import Tape, chance
from deniably.reference.coins import fall as draw_fall
from deniably.reference.coins import gaussian as draw_gaussian
from deniably.reference.coins import laplace as draw_laplace
from deniably.reference.laws import law
from deniably.reference.losses import loss as loss_of
from deniably.reference.losses import loss_texts
from deniably.reference.mechanisms import check_answer, check_report, report
from deniably.reference.parameters import check, ratio, reach
from deniably.reference.refusal import Invalid
from deniably.reference.values import Json, Mechanism
from spec.cases.tapes import LIMIT, OWN_E, tape_bytes
from spec.vector_types import Case, Made

OTHER = 2**32

NOTES = {
    "Boundary": "the smallest or the largest that is allowed, or the first that is not",
    "Draws": "the same draws are made for every answer, in the same order",
}


def window(k: int, m: int, w: int, own: int = 3, other: int = 1) -> dict[str, Any]:
    return {"name": "window", "k": k, "m": m, "w": w, "own": own, "other": other}


def channel(k: int, *weights: Any) -> dict[str, Any]:
    return {"name": "channel", "k": k, "weights": [list(row) for row in weights]}


def set_response(k: int, most: int, size: int, own: int = 3, other: int = 1) -> dict[str, Any]:
    name = {"name": "set_response", "k": k, "most": most}
    return name | {"size": size, "own": own, "other": other}


def sampled_ticks(k: int, s: int, own: int = 3, other: int = 1) -> dict[str, Any]:
    return {"name": "sampled_ticks", "k": k, "s": s, "own": own, "other": other}


def unary(k: int, most: int, own: int, other: int, total: int) -> dict[str, Any]:
    name = {"name": "unary", "k": k, "most": most}
    return name | {"own": own, "other": other, "total": total}


def laplace(k: int, scale: int | str) -> dict[str, Any]:
    return {"name": "laplace", "k": k, "scale": scale}


def bounded(k: int, scale: str, beyond: str) -> dict[str, Any]:
    return {"name": "bounded_laplace", "k": k, "scale": scale, "beyond": beyond}


def gaussian(
    k: int, d: int, sigma2: str, epsilon: str = "1", delta: str = "0.00001"
) -> dict[str, Any]:
    name = {"name": "gaussian", "k": k, "d": d, "sigma2": sigma2}
    return name | {"epsilon": epsilon, "delta": delta}


def vector(s: int, *parts: Any) -> dict[str, Any]:
    return {"name": "vector", "s": s, "parts": list(parts)}


def cases() -> Made:
    groups = [_reports(m) for m in FINITE + ENDLESS]
    groups += [_wide(laplace(2, "1"), 0, 1), _wide(laplace(3, "1/2"), 2)]
    groups += [_wide(gaussian(2, 1, "60"), [0])]
    groups += [_laws(m) for m in SMALL]
    groups += list(_noise())
    groups.append({"type": "parameters", "tests": [_parameters(*case) for case in _bad()]})
    groups += [_checks(m, *reports) for m, *reports in CHECKS]
    return NOTES, groups


SMALL = [
    window(5, 5, 2), window(3, 2, 1), window(4, 7, 4, 13, 7), window(2, 5, 1, 3, 2),
    channel(2, (5, 1), (2, 4)), channel(5, (4, 2, 1, 1), (2, 4, 1, 1), (1, 1, 2, 4)),
    set_response(3, 2, 1), set_response(3, 2, 2), set_response(4, 2, 3, 13, 7),
    set_response(3, 3, 2), set_response(3, 1, 3),
    sampled_ticks(3, 1), sampled_ticks(3, 2, 13, 7),
    unary(3, 1, 4, 2, 8), unary(3, 2, 3, 1, 4),
    vector(1, window(3, 2, 1), window(2, 3, 1, 2, 1)),
    vector(2, channel(2, (5, 1), (2, 4)), window(3, 2, 1)),
]  # fmt: skip
FINITE = [
    *SMALL, window(1001, 40, 6, OWN_E, OTHER), window(2**20 + 1, 4096, 4095, 2**41, 1),
    window(32, 46, 15, OWN_E, OTHER), window(33, 64, 32), window(9, 9, 1),
    channel(101, (OWN_E, OTHER), (OTHER, OWN_E)), channel(3, (LIMIT - 1, 1), (1, LIMIT - 1)),
    # The worst column is neither the first nor the last.
    channel(3, (3, 8, 2, 3), (4, 2, 6, 4), (4, 4, 4, 4)),
    set_response(10, 3, 2, OWN_E, OTHER), set_response(20, 5, 4, 3, 1), set_response(6, 6, 6),
    set_response(1024, 2, 1, OWN_E, OTHER),
    sampled_ticks(20, 3, OWN_E, OTHER), sampled_ticks(7, 7), sampled_ticks(12, 11),
    unary(12, 3, OWN_E + OTHER, 2 * OTHER, 2 * (OWN_E + OTHER)), unary(5, 4, 7, 2, 8),
    unary(4, 4, 5, 4, 9), unary(6, 2, 8, 7, 10),
    vector(2, window(11, 3, 1), window(101, 7, 2), window(5, 5, 3)),
    vector(12, *(window(11, 3, 1, 3 + i, 1) for i in range(12))),
]  # fmt: skip
ENDLESS = [
    laplace(2, "1"), laplace(11, "10"), laplace(1001, "2001/2"), laplace(5, "7/3"),
    laplace(5, "1/3"), bounded(5, "2", "clamp"), bounded(5, "2", "resample"),
    bounded(21, "41/3", "clamp"), bounded(3, "5", "resample"),
    gaussian(2, 1, "73/4"), gaussian(11, 1, "1600"), gaussian(2, 3, "60"),
    gaussian(11, 2, "3200", "1", "0.00001"), gaussian(1001, 1, "16000000"),
    vector(1, laplace(11, "20"), laplace(11, "10")), vector(2, laplace(3, "4"), window(3, 2, 1)),
    vector(1, laplace(11, "100"), window(3, 2, 1, 3, 2), laplace(5, "3")),
]  # fmt: skip


def _answers(m: Mechanism) -> list[Any]:
    name = m["name"]
    if name == "vector":
        parts = [_answers(part) for part in m["parts"]]
        return [[one[i % len(one)] for one in parts] for i in range(4)]
    if name == "gaussian":
        return [[0] * m["d"], [m["k"] - 1] * m["d"], [(7 * c) % m["k"] for c in range(m["d"])]]
    if name in ("set_response", "sampled_ticks", "unary"):
        most = m["k"] if name == "sampled_ticks" else m["most"]
        k = m["k"]
        ticks: tuple[list[int], ...] = (
            [],
            [0],
            [k - 1],
            [0, k - 1],
            list(range(most)),
            list(range(k - most, k)),
        )
        return [one for one in ticks if len(set(one)) == len(one) <= most]
    last = m["k"] - 1
    return sorted({0, 1, last // 2, last - 1, last})


def _wrong(m: Mechanism) -> list[Any]:
    name = m["name"]
    if name == "vector":
        first = [_answers(part)[0] for part in m["parts"]]
        return [first[:-1], [*first[:-1], m["parts"][-1]["k"]], [-1, *first[1:]]]
    if name == "gaussian":
        return [[0] * (m["d"] + 1), [m["k"]] * m["d"]]
    if name in ("set_response", "sampled_ticks", "unary"):
        most = m["k"] if name == "sampled_ticks" else m["most"]
        long = [list(range(most + 1))] if most < m["k"] else []
        pairs = [[1, 0], [0, 0]] if most > 1 else []
        return [*long, *pairs, [m["k"]], [-1]]
    return [-1, m["k"]]


def _draws(m: Mechanism) -> int:
    if m["name"] == "vector":
        return len(m["parts"]) + sum(_draws(part) for part in m["parts"])
    if m["name"] in ("laplace", "bounded_laplace"):
        return 300
    if m["name"] == "gaussian":
        return 200 * m["d"]
    return 24 + 2 * m["k"] + m.get("size", 0) if m["k"] < 2000 else 16


def _reports(m: Mechanism) -> dict[str, Any]:
    check(m)
    tests = []
    labels = [f"{m} {answer} {i}" for answer in _answers(m) for i in range(3)]
    for label, answer in zip(labels, [a for a in _answers(m) for _ in range(3)], strict=True):
        coins = Tape(tape_bytes(label, _draws(m)))
        found = report(m, answer, coins)
        check_report(m, found)
        data = coins.data[: coins.consumed + 7]
        case: Case = {"comment": "", "flags": ["Draws"], "answer": answer, "bytes": data.hex()}
        case |= {"report": found, "consumed": coins.consumed, "result": "valid"}
        tests.append(case)
    for answer in _wrong(m):
        case = {"comment": "refused before any byte is taken", "flags": ["Boundary"]}
        case |= {"answer": answer, "bytes": tape_bytes("wrong", 2).hex(), "consumed": 0}
        try:
            check_answer(m, answer)
            raise AssertionError(("not refused", m, answer))
        except Invalid as reason:
            tests.append(case | {"reason": str(reason), "result": "invalid"})
    loss = loss_texts(loss_of(m))
    return {"type": "report", "mechanism": m, "loss": loss, "tests": tests}


def _far(m: Mechanism, answer: Json, sign: int) -> dict[str, Any]:
    """A report whose noise goes beyond what may be reported; the draws are made up for it."""
    wide = reach(m)
    scale = 1 if m["name"] == "laplace" else wide // 12
    finer = ratio(m.get("scale", "1")).denominator
    times = (wide // scale + 2) * finer
    yes, no = [0, 0, 0, 0, 0, 1], [0, 0, 0, 1]  # of chance(1, 1)
    draws = [0, 0, 0, *yes * times, *no, sign]
    if m["name"] == "gaussian":
        p = int(m["sigma2"])
        fall = Fraction((times * scale**2 - p) ** 2, 2 * p * scale**2)
        draws += [*yes * (fall.numerator // fall.denominator), fall.denominator - 1, 0]
    coins = Tape(b"".join(draw.to_bytes(7, "big") for draw in [*draws, 0]))
    found = report(m, answer, coins)
    check_report(m, found)
    end = -wide if sign else m["k"] - 1 + wide
    assert found == [end], (found, end)
    comment = "noise that goes too far is brought back to the end"
    case: Case = {
        "comment": comment,
        "flags": ["Boundary"],
        "answer": answer,
        "bytes": coins.data.hex(),
    }
    return case | {"report": found, "consumed": coins.consumed, "result": "valid"}


def _wide(m: Mechanism, *answers: Any) -> dict[str, Any]:
    loss = loss_texts(loss_of(m))
    tests = [_far(m, answer, sign) for answer in answers for sign in (0, 1)]
    return {"type": "report", "mechanism": m, "loss": loss, "tests": tests}


def _laws(m: Mechanism) -> dict[str, Any]:
    answers = _answers(m)
    if m["name"] == "vector":
        answers = [list(one) for one in itertools.product(*(range(p["k"]) for p in m["parts"]))]
    tests = []
    for answer in answers:
        found = law(m, answer)
        assert sum(found.values()) == 1
        text = {",".join(map(str, key)): str(found[key]) for key in sorted(found)}
        case: Case = {"comment": "", "flags": [], "answer": answer, "law": text, "result": "valid"}
        tests.append(case)
    return {"type": "channel", "mechanism": m, "tests": tests}


SAMPLERS: dict[str, Callable[..., int]] = {
    "chance": chance,
    "fall": draw_fall,
    "laplace": draw_laplace,
    "gaussian": draw_gaussian,
}


def _noise() -> Iterator[Case]:
    samplers = (
        *(("chance", {"n": n, "d": d}) for n, d in ((0, 1), (1, 1), (1, 2), (2, 3), (1, 2**40))),
        *(("fall", {"n": n, "d": d}) for n, d in ((0, 5), (2, 4), (7, 2), (3, 1), (2**60, 2**58))),
        *(("laplace", {"t": t, "s": s}) for t, s in ((1, 1), (3, 1), (3, 2), (2, 5), (1000, 3))),
        *(
            ("gaussian", {"p": p, "q": q})
            for p, q in ((1, 1), (1, 3), (7, 3), (100, 1), (60_000_001, 1), (10**6, 1))
        ),
    )
    for name, arguments in samplers:
        labels = [f"{name} {arguments} {i}" for i in range(6)]
        if arguments.get("p", 0) > 10**7:
            labels = [label for label in _seeds(arguments) if _doubles_differ(label, **arguments)]
            assert labels
        tests = []
        for label in labels:
            coins = Tape(tape_bytes(label, 400))
            found = SAMPLERS[name](coins, *arguments.values())
            value = found if isinstance(found, int) else bool(found)
            data = coins.data[: coins.consumed + 7]
            case: Case = {"comment": "", "flags": [], "bytes": data.hex(), "value": value}
            tests.append(case | {"consumed": coins.consumed, "result": "valid"})
        texts = {key: str(value) for key, value in arguments.items()}
        yield {"type": "noise", "sampler": name, **texts, "tests": tests}


def _seeds(arguments: dict[str, Any]) -> Iterator[Any]:
    return (f"gaussian {arguments} {i}" for i in range(3000))


def _doubles_differ(label: str, p: int, q: int) -> bool:
    """Whether arithmetic in doubles, which rounds a square above 2^53, takes another way."""
    data = tape_bytes(label, 200)
    exact, rounded = Tape(data), Tape(data)
    t = math.isqrt(p // q) + 1
    found = draw_gaussian(exact, p, q)
    while True:
        y = draw_laplace(rounded, t, 1)
        if draw_fall(rounded, int(float(abs(y) * q * t - p) ** 2), 2 * p * q * t**2):
            break
    return (found, exact.consumed) != (y, rounded.consumed)


def _parameters(comment: str, m: Mechanism) -> dict[str, Any]:
    case: Case = {"comment": comment, "flags": ["Boundary"], "mechanism": m}
    try:
        check(m)
        return case | {"result": "valid"}
    except Invalid as reason:
        return case | {"reason": str(reason), "result": "invalid"}


def _bad() -> Iterator[tuple[Any, ...]]:
    """Allowed and refused parameters, next to each other."""
    big = LIMIT
    for k in (1, 2, 2**20 + 1, 2**20 + 2):
        yield "positions", window(k, 2, 1)
        yield "positions", laplace(k, "5")
    for m, w in ((1, 1), (2, 0), (2, 2), (4096, 4095), (4097, 1)):
        yield "outputs and width", window(5, m, w)
    for own, other in ((1, 1), (1, 0), (2, 1), (big - 1, 1), (big, 1), (big - 2, 2)):
        yield "weights", window(5, 2, 1, own, other)
        yield "weights", sampled_ticks(2, 1, own, other)
    rows = ((1, 2), (2, 1))
    yield "rows", channel(2, *rows)
    yield "more rows than positions", channel(2, *rows, (1, 2))
    yield "one row", channel(2, (1, 2))
    yield "equal rows", channel(2, (1, 2), (1, 2))
    yield "a zero, and equal sums", channel(2, (0, 3), (2, 1))
    yield "a negative weight", channel(2, (-1, 4), (2, 1))
    yield "unequal sums", channel(2, (1, 2), (2, 2))
    yield "rows of unequal length", channel(2, (1, 2), (1, 1, 1))
    yield "one column", channel(2, (1,), (1,))
    yield "no rows", channel(2)
    yield "a sum of 2^53", channel(2, (big - 1, 1), (1, big - 1))
    yield "a sum above 2^53", channel(2, (big, 1), (1, big))
    for k, most, size in ((1, 1, 1), (2, 0, 1), (2, 2, 2), (2, 3, 1), (3, 1, 0), (3, 1, 4)):
        yield "options, ticks and size", set_response(k, most, size)
    yield "1024 options", set_response(1024, 1, 1)
    yield "1025 options", set_response(1025, 1, 1)
    yield "too many sets", set_response(1000, 3, 9)
    for s in (0, 1, 3, 4):
        yield "sampled options", sampled_ticks(3, s)
    for own, other, total in ((2, 1, 3), (2, 1, 2), (1, 1, 3), (2, 0, 3), (2, 1, big - 1)):
        yield "unary weights", unary(3, 1, own, other, total)
    for scale in ("0", "1", "01", "4/2", "1/3", "2147483648", "2147483649", "1.5", "", "-1", "1/0"):
        yield "scale", laplace(5, scale)
        yield "sigma2", gaussian(2, 1, scale)
    yield "scale as a number", laplace(5, 5)
    for k in (16, 17):
        yield "numbers that can be reported", laplace(k, "209715")
    for beyond in ("clamp", "resample", "Clamp", ""):
        yield "beyond", bounded(5, "2", beyond)
    for sigma2 in ("10", "13", "55/4", "14", "73/4"):
        yield "sigma2 of one number", gaussian(2, 1, sigma2)
    for sigma2 in ("14", "18", "27", "28", "29", "30", "41", "42", "43", "60"):
        yield "sigma2 of two and three numbers", gaussian(2, 2, sigma2)
        yield "sigma2 of two and three numbers", gaussian(2, 3, sigma2)
    yield "sigma2 below 9 for two numbers", gaussian(2, 2, "35/4", "10", "0.0001")
    yield "sigma2 of 9 for two numbers", gaussian(2, 2, "9", "10", "0.0001")
    for epsilon in ("10", "0.5", "1.0", "0"):
        yield "epsilon", gaussian(2, 1, "60", epsilon)
    for delta in ("0", "0.0001", "0.00011", "0.00001", "1e-5"):
        yield "delta", gaussian(2, 1, "60", "1", delta)
    for d in (0, 64, 65):
        yield "numbers", gaussian(2, d, "2000")
    yield "sigma2 too large for 2^53", gaussian(20001, 1, "400000000")
    part = window(3, 2, 1)
    for s in (0, 1, 2, 3):
        yield "parts in a report", vector(s, part, part)
    yield "one part", vector(1, part)
    yield "65 parts", vector(1, *[part] * 65)
    yield "a part that is none", vector(1, part, unary(3, 1, 2, 1, 3))
    yield "a bad part", vector(1, part, window(3, 2, 2))
    yield "no name", {"k": 2}
    yield "an unknown name", {"name": "shuffle", "k": 2}
    yield "a key too many", window(5, 2, 1) | {"x": 1}
    yield "a key too few", {"name": "window", "k": 5, "m": 2, "w": 1, "own": 3}
    yield "a boolean", window(5, 2, True)


CHECKS: list[Any] = [
    (window(5, 5, 2), [0], [4], [5], [-1], [], [0, 1]),
    (set_response(3, 2, 2), [0, 4], [0, 5], [4, 0], [0], [0, 0], [0, 1, 2]),
    (sampled_ticks(3, 2), [0, 2], [0, 1], [5, 2], [2, 5], [0, 6], [0]),
    (unary(4, 1, 4, 2, 8), [], [0, 1, 2, 3], [4], [1, 0], [-1]),
    (laplace(5, "2"), [-80], [84], [-81], [85], [LIMIT - 1], [1 - LIMIT], [], [1, 2]),
    (laplace(5, "7/3"), [-120], [124], [-121], [125]),
    (bounded(5, "2", "clamp"), [0], [4], [5], [-1]),
    (gaussian(2, 3, "60"), [-3, 1, 2], [0, 1], [1, 0, 2], [3, 4, 5], [0, 1, 2, 3],
     [-288, -287, 293], [-291, 1, 2], [0, 1, 296]),
    (vector(2, window(3, 2, 1), window(3, 2, 1), window(3, 2, 1)), [0, 1], [3, 5], [1, 0], [0, 3],
     [0], [6, 1], [-3, 1]),
]  # fmt: skip


def _checks(m: Mechanism, *reports: Any) -> dict[str, Any]:
    tests = []
    for found in reports:
        case: Case = {"comment": "", "flags": [], "report": found}
        try:
            check_report(m, found)
            tests.append(case | {"result": "valid"})
        except Invalid as reason:
            tests.append(case | {"reason": str(reason), "result": "invalid"})
    return {"type": "check", "mechanism": m, "tests": tests}
