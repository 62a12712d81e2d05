"""The cases of shared/vectors: what is asked. The answers come from the reference."""

from __future__ import annotations

import hashlib
import itertools
import json
from fractions import Fraction

import reference
from definition_cases import definitions
from invitation_cases import blind_rsa, codes
from ledger_cases import ledger
from mechanism_cases import mechanisms
from question_cases import answers, totals
from reference_mechanisms import pick
from register_cases import registers, signatures
from wave_cases import waves

LIMIT = 2**53


def files():
    """{file name: text} of every vector file."""
    makers = (coins, subset_selection, channels, mechanisms, canonical, claims, omega)
    makers += (definitions, answers, totals, estimates, ledger, waves)
    makers += (signatures, registers, blind_rsa, codes)
    return {f"{make.__name__}.json": _file(make.__name__, *make()) for make in makers}


# --- coins ---

COIN_NOTES = {
    "Reject": "draws at or above 2^53 - (2^53 mod bound) come first and must be thrown away",
    "DropBits": "the top 3 bits of the 7 bytes are set and must be dropped",
    "Remainder": "bytes are left over and must not be taken",
    "NotADouble": "the number is not an IEEE 754 double: a double rounds it to an allowed one",
}


def coins():
    groups = [_below(bound) for bound in BOUNDS]
    invalid = [("0", []), ("-1", []), (str(LIMIT + 1), ["NotADouble"]), (str(LIMIT + 2), [])]
    tests = [
        {
            "comment": "a bound that is refused before any byte is taken",
            "flags": flags,
            "bound": bound,
            "bytes": _tape(f"bound {bound}", 2).hex(),
            "consumed": 0,
            "result": "invalid",
        }
        for bound, flags in invalid
    ]
    groups.append({"type": "below", "tests": tests})
    groups.append({"type": "choose", "tests": list(_choose())})
    groups.append({"type": "pick", "tests": list(_pick())})
    return COIN_NOTES, groups


BOUNDS = (1, 2, 3, 4, 5, 6, 7, 255, 256, 257, 1000, 65537, 2**32, 2**32 + 1, 3 * 2**51 - 1)
BOUNDS += (2**40 + 1, 2**52, 2**52 + 1, LIMIT - 2, LIMIT - 1, LIMIT)


def _below(bound):
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
    blocks = [(comment, flags, _blocks(*numbers)) for comment, flags, numbers in tapes]
    blocks += [("any bytes", ["Remainder"], _tape(f"below {bound} {i}", 12)) for i in range(3)]
    tests = []
    for comment, flags, data in blocks:
        tape = reference.Tape(data)
        case = {"comment": comment, "flags": flags, "bound": str(bound), "bytes": data.hex()}
        case |= {"value": str(tape.below(bound)), "consumed": tape.consumed, "result": "valid"}
        tests.append(case)
    return {"type": "below", "tests": tests}


def _choose():
    lists = (
        *([1], [3, 1], [1, 3], [1, 1, 1], [0, 5], [0, 3, 0, 0, 4], [5, 0], [2**32, 2**32 - 1]),
        *([LIMIT], [LIMIT - 1, 1], [1, LIMIT - 1], [11674931554, 12884901888]),
    )
    for weights in lists:
        edges = sorted({edge for edge in itertools.accumulate(weights) if edge > 0})
        draws = {0, *(edge - 1 for edge in edges), *(edge % sum(weights) for edge in edges)}
        rejected = [LIMIT - LIMIT % sum(weights)] if LIMIT % sum(weights) else []
        tapes = [(["Reject"] if rejected else [], _blocks(*rejected, u)) for u in sorted(draws)]
        tapes += [(["Remainder"], _tape(f"choose {weights} {i}", 12)) for i in range(2)]
        for flags, data in tapes:
            tape = reference.Tape(data)
            case = {"comment": "", "flags": flags, "weights": _strings(weights)}
            case |= {"bytes": data.hex(), "index": tape.choose(weights)}
            yield case | {"consumed": tape.consumed, "result": "valid"}
    refused = (
        ("no weights", [], []),
        ("only zeros", [0, 0], []),
        ("a negative weight", [3, -1], []),
        ("the sum passes 2^53", [LIMIT, 2], []),
        ("the sum passes 2^53 by one", [LIMIT, 1], ["NotADouble"]),
        ("the sum passes 2^53 in steps that a double loses", [LIMIT, 1, 1], ["NotADouble"]),
    )
    for comment, weights, flags in refused:
        case = {"comment": comment, "flags": flags, "weights": _strings(weights)}
        yield case | {"bytes": _tape(comment, 2).hex(), "consumed": 0, "result": "invalid"}


def _pick():
    for n, size in ((1, 0), (1, 1), (2, 1), (2, 2), (5, 3), (5, 5), (100, 7), (1024, 20)):
        tapes = [_tape(f"pick {n} {size} {i}", size + 2) for i in range(3)]
        tapes += [_blocks(*[0] * size), _blocks(*(n - i - 1 for i in range(size)))]
        for data in tapes:
            tape = reference.Tape(data)
            value = pick(tape, n, size)
            case = {"comment": "", "flags": [], "n": n, "size": size, "bytes": data.hex()}
            yield case | {"value": value, "consumed": tape.consumed, "result": "valid"}
    for n, size in ((2, 3), (2, -1)):
        case = {"comment": "more or fewer than there are", "flags": [], "n": n, "size": size}
        yield case | {"bytes": _tape("pick", 3).hex(), "consumed": 0, "result": "invalid"}


# --- subset selection ---

SELECTION_NOTES = {
    "Kept": "the answer is in the report; the first of the omega draws is left out",
    "Reject": "at least one draw is thrown away",
    "Remainder": "bytes are left over and must not be taken",
    "NotADouble": "arithmetic in doubles rounds Z, or the parameter, to an allowed one",
}
OWN_E = 11674931554  # floor(2^32 e), checked where it is used
SHAPES = (
    *((k, omega, 3, 1) for k in (2, 3, 4) for omega in range(1, k)),
    *((k, omega, 13, 7) for k in (2, 3, 4) for omega in range(1, k)),
    *((6, omega, 2, 1) for omega in range(1, 6)),
    (5, 1, 3, 1), (5, 4, 3, 1), (10, 2, 5, 1), (16, 4, OWN_E, 2**32), (16, 1, OWN_E, 2**32),
    (2, 1, LIMIT - 1, 1), (2, 1, LIMIT // 2 + 1, LIMIT // 2 - 1), (128, 34, OWN_E, 2**32),
    (1024, 1, 3, 1), (1024, 275, OWN_E, 2**32), (1024, 1023, 3, 1), (7, 3, 2**40 + 1, 2**40 - 1),
)  # fmt: skip


def subset_selection():
    assert reference.floor_exp(Fraction(1), 32) == OWN_E
    groups = [_selection(*shape) for shape in SHAPES]
    groups.append({"type": "parameters", "tests": list(_parameters())})
    return SELECTION_NOTES, groups


def _selection(k, omega, own, other):
    shape = (k, omega, own, other)
    p, q = reference.support(*shape)
    answers = range(k) if k <= 6 else [0, k // 2, k - 1]
    tests = [_report(shape, answer, *tape) for answer in answers for tape in _tapes(shape)]
    outside = "an answer outside the choices"
    tests += [_report(shape, answer, outside, _tape(outside, 2)) for answer in (k, k + 1, -1)]
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


def _tapes(shape):
    """(comment, bytes): the edges of keeping, of rejection and of Floyd's draws, and any bytes."""
    k, omega, own, other = shape
    z, bounds = omega * own + (k - omega) * other, range(k - omega, k)
    first, last = [0 for _ in bounds], [bound - 1 for bound in bounds]
    if omega <= 64:
        yield "the largest draw that keeps the answer, then zeros", _blocks(omega * own - 1, *first)
        yield "the smallest draw that leaves it out, then zeros", _blocks(omega * own, *first)
        yield "kept, every further draw is the last", _blocks(0, *last)
        yield "left out, every further draw is the last", _blocks(z - 1, *last)
        worst = [n for bound in (z, *bounds) for n in (LIMIT - 1, 0) if n == 0 or LIMIT % bound]
        yield "every draw that can be thrown away is, once", _blocks(*worst)
    yield "any bytes, some to spare", _tape(f"{shape} spare", omega + 12)
    for i in range(3 if k <= 16 else 1):
        data = _tape(f"{shape} {i}", 2 * omega + 12)
        coins = reference.Tape(data)
        reference.randomise(*shape, 0, coins)
        yield "any bytes, none to spare", data[: coins.consumed]


def _report(shape, answer, comment, data):
    coins = reference.Tape(data)
    case = {"comment": comment, "flags": [], "answer": answer, "bytes": data.hex()}
    try:
        report = reference.randomise(*shape, answer, coins)
    except reference.Invalid as reason:
        return case | {"consumed": coins.consumed, "reason": str(reason), "result": "invalid"}
    happened = {
        "Kept": answer in report,
        "Reject": coins.consumed > 7 * (shape[1] + 1),
        "Remainder": coins.consumed < len(data),
    }
    case["flags"] = [flag for flag, true in happened.items() if true]
    return case | {"report": report, "consumed": coins.consumed, "result": "valid"}


def _parameters():
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
        case = {"comment": comment, "flags": ["NotADouble"] if rounded else []}
        case |= {"k": k, "omega": omega, "own": str(own), "other": str(other)}
        try:
            reference.check_mechanism(*shape)
            yield case | {"result": "valid"}
        except reference.Invalid as reason:
            yield case | {"reason": str(reason), "result": "invalid"}


def channels():
    groups = []
    for odds in (Fraction(3), Fraction(2), Fraction(13, 7)):
        own, other = odds.as_integer_ratio()
        shapes = [(k, omega, own, other) for k in range(2, 7) for omega in range(1, k)]
        groups.append({"type": "channel", "odds": str(odds), "tests": list(map(_channel, shapes))})
    return {}, groups


def _channel(shape):
    k, omega, own, other = shape
    p, q = reference.support(*shape)
    rows = [
        {",".join(map(str, report)): str(probability) for report, probability in row.items()}
        for row in reference.channel(*shape)
    ]
    case = {"comment": "", "flags": [], "k": k, "omega": omega, "own": str(own)}
    case |= {"other": str(other), "p": str(p), "q": str(q)}
    return case | {"channel": rows, "result": "valid"}


# --- canonical JSON ---

CANONICAL_NOTES = {
    "KeyOrder": "keys are sorted by UTF-16 code units: U+10000 and up before U+E000 to U+FFFF",
    "Escape": "the one spelling of each character",
    "Spacing": "white space outside strings goes away",
    "Number": "integers of magnitude at most 2^53 - 1 only",
    "RepeatedKey": "a common parser keeps one of the values and does not tell",
    "RoundedNumber": "a parser that reads doubles sees an integer that may be allowed",
}


def canonical():
    groups = [("valid", CANONICAL_VALID), ("invalid", CANONICAL_INVALID)]
    return CANONICAL_NOTES, [
        {"type": result, "tests": [_canonical(result, *case) for case in cases]}
        for result, cases in groups
    ]


def _canonical(result, flag, text):
    case = {"comment": "", "flags": [flag] if flag else [], "json": text}
    try:
        value = reference.parse(text)
        case |= {"canonical": reference.canonical(value), "digest": reference.digest(value)}
    except reference.Invalid as reason:
        case["reason"] = str(reason)
    assert ("digest" in case) == (result == "valid"), text
    return case | {"result": result}


CANONICAL_VALID = (
    ("", "{}"),
    ("", "[]"),
    ("", '""'),
    ("", "true"),
    ("", "[true,false]"),
    ("Number", "0"),
    ("Number", "-0"),
    ("Number", "-1"),
    ("Number", "[1,10,100,1000000,1000000000000000]"),
    ("Number", "9007199254740991"),
    ("Number", "-9007199254740991"),
    ("Spacing", ' {\n\t"a" : [ 1 ,\r\n 2 ] } '),
    ("Spacing", '{"a b":" c  d "}'),
    ("KeyOrder", '{"b":1,"a":2,"":3,"aa":4,"A":5,"1":6,"10":7,"2":8}'),
    ("KeyOrder", '{"\ufb33":1,"\U0001f600":2,"z":3}'),
    ("KeyOrder", r'{"\ud83d\ude00":1,"\uffff":2,"\ue000":3,"\ud7ff":4,"\u0080":5}'),
    ("KeyOrder", '{"\u20ac":1,"\\r":2,"\ufb33":3,"1":4,"\U0001f602":5,"\u0080":6,"\u00f6":7}'),
    ("KeyOrder", '{"o":{"d":1,"c":[{"b":1,"a":2}]},"n":{}}'),
    ("KeyOrder", '{"e\\u0301":1,"\u00e9":2,"e":3}'),
    ("KeyOrder", '{"__proto__":1,"constructor":2,"toString":{"__proto__":[]}}'),
    ("Escape", r'"\u0022\u005c\u002f\/\b\f\n\r\t"'),
    ("Escape", r'"\u0000\u0001\u0007\u0008\u0009\u000a\u000b\u000c\u000d\u000e\u001f\u0020"'),
    ("Escape", r'"\u007f\u0080\u009f\u00a0\u2028\u2029\ufeff\uffff"'),
    ("Escape", r'"\u00E4\u00e4\u20AC\uD83D\uDE00"'),
    ("Escape", '"\u00e4\u20ac\U0001f600\u2028</script>&\'"'),
    ("Escape", '{"\\u006eame":"\\u0041","q\\"":"\\\\"}'),
    ("", '{"name":"workplace","label":"H\u00e4ufig?","k":2,"open":false,"list":[[],{}]}'),
    ("", '{"survey":"00","id":"ff","values":{"b":[1,2],"a":[0]}}'),
    ("", "[" * 30 + "]" * 30),
)
CANONICAL_INVALID = (
    *((("Number", text)) for text in ("1.5", "0.1", "1e-2", "-0.5", "[1.25]", '{"a":{"b":0.5}}')),
    *((("RoundedNumber", text)) for text in ("1.0", "1e3", "1E3", "10e-1", "[2.0]", "-0.0", "0e0")),
    *((("Number", text)) for text in ("9007199254740992", "-9007199254740992", "1" + "0" * 30)),
    ("RoundedNumber", "9007199254740991.0"),
    ("RoundedNumber", "9007199254740991.3"),
    *(("", text) for text in ("null", "[null]", '{"a":null}')),
    *(("Escape", rf'"{text}"') for text in (r"\ud800", r"\udfff", r"a\ud83d b", r"\ude00\ud83d")),
    ("Escape", r'{"\ud800":1}'),
    ("Escape", r'["\ud83d\ud83d\ude00"]'),
    ("RepeatedKey", '{"a":1,"a":1}'),
    ("RepeatedKey", '{"a":1,"b":2,"a":3}'),
    ("RepeatedKey", r'{"a":1,"\u0061":2}'),
    ("RepeatedKey", '[{"o":{"x":[{"y":1}],"x":2}}]'),
    ("RepeatedKey", '{"__proto__":1,"__proto__":2}'),
    ("RepeatedKey", r'{"a\"":1,"b":"}{","a\u0022" : 2}'),
)


# --- claims ---

CLAIM_NOTES = {
    "Honest": "the weights that a publisher takes: other = 2^32, own = floor(2^32 e^epsilon)",
    "Broken": "own/other is larger than claimed",
    "Boundary": "as large or as near to it as it gets",
    "Malformed": "not the one spelling of a claim",
    "Range": "outside 0.01 <= epsilon <= 10",
    "Doubles": "arithmetic in doubles decides wrongly or by luck",
}
EPSILONS = ("0.01", "0.05", "0.1", "0.2", "0.25", "0.5", "0.6931471805599453", "0.75", "0.9", "1")
EPSILONS += (
    "1.0986122886681098",
    "1.2345678901234567",
    "1.5",
    "2",
    "2.302585092994046",
    "2.5",
    "3",
)
EPSILONS += ("3.1415926535897932384626433832795", "4", "5", "6.907755278982137", "8", "9.99", "10")
LN_3 = "1.098612288668109691395"  # 24523692...


def claims():
    groups = [
        ("epsilon", _epsilon_claims()),
        ("odds", _odds_claims()),
        ("malformed", _malformed_claims()),
    ]
    return CLAIM_NOTES, [
        {"type": name, "tests": [_claim(*case) for case in cases]} for name, cases in groups
    ]


def _claim(flags, claim, own, other):
    case = {"comment": "", "flags": flags, "claim": claim, "own": str(own), "other": str(other)}
    assert own + other <= LIMIT
    try:
        reference.check_claim(claim, own, other)
        assert not {"Broken", "Malformed", "Range"} & set(flags), case
    except reference.Invalid as reason:
        assert {"Broken", "Malformed", "Range"} & set(flags), case
        return case | {"reason": str(reason), "result": "invalid"}
    return case | {"result": "valid"}


def _epsilon_claims():
    for text in EPSILONS:
        claim, own = {"epsilon": text}, reference.floor_exp(Fraction(text), 32)
        yield ["Honest", "Boundary"], claim, own, 2**32
        yield ["Broken", "Boundary"], claim, own + 1, 2**32
        yield [], claim, own - 1, 2**32
        bits = 51 if own < 2**33 else 37
        own = reference.floor_exp(Fraction(text), bits)
        yield ["Boundary"], claim, own, 2**bits
        yield ["Broken", "Boundary"], claim, own + 1, 2**bits
    yield [], {"epsilon": "0.7"}, 2, 1
    yield ["Broken"], {"epsilon": "0.69"}, 2, 1
    yield ["Boundary"], {"epsilon": "10"}, 22026, 1
    yield ["Boundary", "Broken"], {"epsilon": "10"}, 22027, 1
    for digits, step in ((7, 1), (16, 1), (19, 1)):  # ln 3 cut off, and the next number
        cut = Fraction(LN_3[: digits + 2])
        below, above = (_decimal(cut + Fraction(i * step, 10**digits), digits) for i in (0, 1))
        flags = ["Boundary", "Doubles"] if digits > 15 else ["Boundary"]
        yield ["Broken", *flags], {"epsilon": below}, 3, 1
        yield flags, {"epsilon": above}, 3, 1
        yield flags, {"epsilon": above}, 3 * 10**14, 10**14


def _odds_claims():
    for text in ("3", "2", "13/7", "1011/1000", "22026", "10/9", "4503599627370496/1111111111111"):
        claim, odds = {"odds": text}, Fraction(text)
        own, other = odds.as_integer_ratio()
        factor = max(1, LIMIT // (own + other) - 1)
        yield ["Boundary"], claim, own, other
        yield ["Boundary", "Doubles"], claim, own * factor, other * factor
        yield ["Broken", "Boundary", "Doubles"], claim, own * factor + 1, other * factor
        yield [], claim, own * factor - 1, other * factor
        yield ["Broken"], claim, own + 1, other
    yield [], {"odds": "3"}, 2, 1
    yield [], {"odds": "3"}, 6, 2
    yield ["Broken"], {"odds": "2"}, 3, 1
    low = (Fraction(reference.floor_exp(Fraction(1, 100), 40) + i, 2**40) for i in (0, 1))
    high = (Fraction(reference.floor_exp(Fraction(10), 20) + i, 2**20) for i in (0, 1))
    for flags, odds in zip((["Range"], []), low, strict=True):
        yield [*flags, "Boundary"], {"odds": str(odds)}, *odds.as_integer_ratio()
    for flags, odds in zip(([], ["Range"]), high, strict=True):
        yield [*flags, "Boundary"], {"odds": str(odds)}, *odds.as_integer_ratio()
    for text in ("1", "101/100", "1/3", "22027", "44053/2", "1" + "0" * 30):
        yield ["Range"], {"odds": text}, 1000001, 1000000


def _malformed_claims():
    out_of_range = ("0", "0.009", "0.00999999999999999999", "10.01", "10.000000000000000001", "50")
    for text in out_of_range:
        yield ["Range"], {"epsilon": text}, 1000001, 1000000
    epsilons = ("", "1.50", "1.0", ".5", "1.", "01", "1e0", "1E-1", "+1", "-1", " 1", "1 ", "1\n")
    epsilons += ("1,5", "1/2", "0x1", "1_0", "NaN", "Infinity", "one", "\u0661", "\uff11")
    for text in epsilons:
        yield ["Malformed"], {"epsilon": text}, 1000001, 1000000
    odds = ("", "0", "03", "3.0", "1.5", "+3", "-3", " 3", "3 ", "3\n", "3/", "/3", "3/0", "3/02")
    odds += ("6/2", "26/14", "3/1", "3 / 2", "3e0", "3:1", "7/2/1", "three", "\u0663", "\uff13")
    for text in odds:
        yield ["Malformed"], {"odds": text}, 1000001, 1000000
    for claim in ({}, {"epsilon": "1", "odds": "3"}, {"epsilon": 1}, {"odds": 3}, {"odds": ["3"]}):
        yield ["Malformed"], claim, 1000001, 1000000
    for claim in ({"ln": "1"}, {"odds": True}, {"Epsilon": "1"}, {"odds": "3", "note": "x"}):
        yield ["Malformed"], claim, 1000001, 1000000
    for claim in ([], ["odds", "3"], "3", 3, True):
        yield ["Malformed"], claim, 1000001, 1000000


# --- the best omega ---

OMEGA_NOTES = {"Tie": "two omegas are equally good; the smaller is taken"}


def omega():
    sizes = (*range(2, 13), 16, 20, 32, 50, 64, 100, 128)
    some = ("0.01", "0.1", "0.25", "0.5", "1", "1.5", "2", "3", "4", "5", "10")
    shapes = [(k, reference.floor_exp(Fraction(e), 32), 2**32) for k in sizes for e in some]
    shapes += [(k, 3, 1) for k in sizes] + [(k, 13, 7) for k in sizes]
    for k, e in itertools.product((256, 1023, 1024), ("0.01", "0.5", "1", "2", "4", "10")):
        shapes.append((k, reference.floor_exp(Fraction(e), 32), 2**32))
    groups = [{"type": "omega", "tests": [_omega([], *shape) for shape in shapes]}]
    ties = ((10, 6, 1), (27, 10, 1), (51, 35, 1), (245, 99, 1))
    groups.append({"type": "omega", "tests": [_omega(["Tie"], *shape) for shape in ties]})
    return OMEGA_NOTES, groups


def _omega(flags, k, own, other):
    case = {"comment": "", "flags": flags, "k": k, "own": str(own), "other": str(other)}
    return case | {"omega": reference.best_omega(k, own, other), "result": "valid"}


# --- estimates ---


def estimates():
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


def _counted(shape, n):
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


def _estimates(shape, reports):
    k, omega, own, other = shape
    tests = []
    for comment, n, counts in reports:
        case = {"comment": comment, "flags": [], "n": n, "counts": counts}
        try:
            shares = reference.estimate(*shape, n, counts)
            case |= {"estimate": _strings(shares), "result": "valid"}
        except reference.Invalid as reason:
            case |= {"reason": str(reason), "result": "invalid"}
        tests.append(case)
    parameters = {"k": k, "omega": omega, "own": str(own), "other": str(other)}
    p, q = reference.support(*shape)
    return {
        "type": "estimate",
        "parameters": parameters,
        "p": str(p),
        "q": str(q),
        "tests": tests,
    }


# --- bytes and files ---


def _blocks(*numbers):
    """The 7 bytes of each draw (of 56 bits; the top 3 are to be dropped)."""
    return b"".join(number.to_bytes(7, "big") for number in numbers)


def _tape(label, draws):
    """SHA-256 in counter mode over a label."""
    size = 7 * draws
    blocks = (hashlib.sha256(f"{label} {i}".encode()).digest() for i in range(size // 32 + 1))
    return b"".join(blocks)[:size]


def _strings(numbers):
    return [str(number) for number in numbers]


def _decimal(value, digits):
    """A claim's spelling of a rational number with at most so many decimals."""
    scaled = value * 10**digits
    assert scaled.denominator == 1
    whole, rest = divmod(int(scaled), 10**digits)
    return f"{whole}.{rest:0{digits}}".rstrip("0").rstrip(".")


def _file(name, notes, groups):
    """One vector file: a line a test, so that a difference can be read."""
    identifier = itertools.count(1)
    for group in groups:
        group["tests"] = [{"id": next(identifier)} | test for test in group["tests"]]
    head = {"spec": 1, "name": name, "notes": notes, "numberOfTests": next(identifier) - 1}
    lines = [f" {_json(key)}: {_json(value)}," for key, value in head.items()]
    blocks = []
    for group in groups:
        rest = {key: value for key, value in group.items() if key != "tests"}
        tests = ",\n".join(f"   {_json(test)}" for test in group["tests"])
        blocks.append(f'  {_json(rest)[:-1]}, "tests": [\n{tests}\n  ]}}')
    return "\n".join(["{", *lines, ' "groups": [', ",\n".join(blocks), " ]", "}", ""])


def _json(value):
    return json.dumps(value)
