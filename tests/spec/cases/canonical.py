"""The cases of canonical.json."""

from __future__ import annotations

from typing import Any

from deniably.reference.canonical import canonical, digest, parse
from deniably.reference.refusal import Invalid
from spec.vector_types import Case, Made

CANONICAL_NOTES = {
    "KeyOrder": "keys are sorted by UTF-16 code units: U+10000 and up before U+E000 to U+FFFF",
    "Escape": "the one spelling of each character",
    "Spacing": "white space outside strings goes away",
    "Number": "integers of magnitude at most 2^53 - 1 only",
    "RepeatedKey": "a common parser keeps one of the values and does not tell",
    "RoundedNumber": "a parser that reads doubles sees an integer that may be allowed",
}


def cases() -> Made:
    groups = [("valid", CANONICAL_VALID), ("invalid", CANONICAL_INVALID)]
    return CANONICAL_NOTES, [
        {"type": result, "tests": [_canonical(result, *case) for case in cases]}
        for result, cases in groups
    ]


def _canonical(result: str, flag: str, text: str) -> dict[str, Any]:
    case: Case = {"comment": "", "flags": [flag] if flag else [], "json": text}
    try:
        value = parse(text)
        case |= {"canonical": canonical(value), "digest": digest(value)}
    except Invalid as reason:
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
