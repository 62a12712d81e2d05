"""The cases of signatures.json and registers.json."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from deniably.reference.canonical import digest
from deniably.reference.definition import check_definition
from deniably.reference.ledger import is_date
from deniably.reference.refusal import Invalid
from deniably.reference.values import Definition, Document, Json
from spec.cases.invitations import KEYS, modulus
from spec.cases.mixers import EIGHT, MIXER, SIGNING, mixed
from spec.cases.questions import GAUSS, LAPLACE, ONE, SCALE, YES_NO, survey
from spec.cases.waves import TYPES, WAVE, panel
from spec.ed25519 import L, P, check_point, check_signature, public
from spec.ed25519 import sign as sign_with
from spec.register import NOTHING, OtherAuthor, check_author, check_register, fingerprint, published
from spec.register import message as signed_text
from spec.vector_types import Case, Made

# --- signatures ---

SIGNATURE_NOTES = {
    "Published": "RFC 8032, section 7.1",
    "Length": "keys have 32 bytes and signatures 64, and no other number of them",
    "Point": "RFC 8032, section 5.1.3: not every 32 bytes are a point, or its only encoding",
    "Malleable": "S is too large by the order of the group: the same equation holds",
    "Spelling": "hexadecimal digits are small letters, and exactly so many",
}

RFC8032 = (
    (
        "TEST 1",
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b4"
        "6bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "TEST 2",
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d"
        "8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "TEST 3",
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6"
        "594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "TEST SHA(abc)",
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feeb"
        "bd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0"
        "303dca179c138ac17ad9bef1177331a704",
    ),
)

ANN, BEN = bytes(range(32)), bytes(32)
VERSION = digest(survey(YES_NO))


def signatures() -> Made:
    return SIGNATURE_NOTES, [
        {"type": "ed25519", "tests": [_ed25519(*case) for case in (*_published(), *_made())]},
        {"type": "point", "tests": [_point(*case) for case in _points()]},
        {"type": "survey", "tests": [_survey(*case) for case in _signed()]},
    ]


def _published() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, key, message, signature)"""
    for name, seed, key, message, signature in RFC8032:
        assert public(bytes.fromhex(seed)).hex() == key, name
        assert sign_with(bytes.fromhex(seed), bytes.fromhex(message)).hex() == signature, name
        yield name, ["Published"], key, message, signature
        yield f"{name}, of a longer message", [], key, message + "00", signature
        s = int.from_bytes(bytes.fromhex(signature)[32:], "little") + L
        larger = signature[:64] + s.to_bytes(32, "little").hex()
        yield f"{name}, S too large", ["Malleable"], key, message, larger
        yield f"{name}, the halves exchanged", [], key, message, signature[64:] + signature[:64]
        for byte in (0, 31, 32, 62):
            broken = bytearray(bytes.fromhex(signature))
            broken[byte] ^= 1
            yield f"{name}, a bit of byte {byte} flipped", [], key, message, broken.hex()
        yield f"{name}, another key", [], public(ANN).hex(), message, signature


def _made() -> Iterator[tuple[Any, ...]]:
    """What an author of bad will, or somebody on the way, could make."""
    message = b"deniably"
    key, own = public(ANN), sign_with(ANN, message)
    for comment, place, bit in (
        ("the sign of R turned", 31, 0x80),
        ("the highest bit of S set", 63, 0x80),
        ("a bit of S above the group's order set", 63, 0x10),
    ):
        broken = bytearray(own)
        broken[place] ^= bit
        yield comment, [], key.hex(), message.hex(), broken.hex()
    turned = bytearray(key)
    turned[31] ^= 0x80
    yield "the sign of the key turned", [], turned.hex(), message.hex(), own.hex()
    yield "a key that is no point", ["Point"], _number(2), message.hex(), own.hex()
    # With the key of all points that are none: 0 = S B - k A holds for S = 0, and for S = L.
    nought = _number(1)
    yield "S is the order", ["Malleable"], nought, message.hex(), nought + _number(L)
    yield "a signature of 65 bytes", ["Length"], key.hex(), message.hex(), own.hex() + "00"
    yield "a signature of 63 bytes", ["Length"], key.hex(), message.hex(), own.hex()[:-2]
    yield "no signature", ["Length"], key.hex(), message.hex(), ""
    shifted = sign_with(ANN, b"\0" + message)
    yield (
        "a byte of the message in the key",
        ["Length"],
        key.hex() + "00",
        message.hex(),
        shifted.hex(),
    )
    yield "a key of 31 bytes", ["Length"], key.hex()[:-2], key.hex()[-2:], own.hex()
    yield "no key", ["Length"], "", message.hex(), own.hex()


def _number(value: int) -> str:
    return value.to_bytes(32, "little").hex()


def _points() -> Iterator[tuple[Any, ...]]:
    """(comment, key)"""
    for seed in (ANN, BEN, *(bytes([i]) * 32 for i in range(1, 7))):
        yield "the key of a seed", public(seed).hex()
    sign, p = 2**255, P
    yield "the neutral point", _number(1)
    yield "of order two", _number(p - 1)
    yield "of order four", _number(0)
    yield "of order four, the other", _number(sign)
    yield "the neutral point with a sign", _number(sign + 1)
    yield "of order two with a sign", _number(sign + p - 1)
    for y in range(2, 8):
        yield f"y is {y}", _number(y)
    for y in range(19):
        yield f"y is P + {y}", _number(p + y)
        yield f"y is P + {y}, with a sign", _number(sign + p + y)


def _point(comment: str, key: str) -> dict[str, Any]:
    case: Case = {"comment": comment, "flags": ["Point"], "key": key}
    try:
        x, y = check_point(bytes.fromhex(key))
    except Invalid:
        return case | {"result": "invalid"}
    return case | {"x": str(x), "y": str(y), "result": "valid"}


def _ed25519(
    comment: str, flags: list[str], key: str, message: str, signature: str
) -> dict[str, Any]:
    given = {"key": key, "message": message, "signature": signature}
    parts = (bytes.fromhex(key), bytes.fromhex(signature), bytes.fromhex(message))
    return _judged({"comment": comment, "flags": flags} | given, check_signature, *parts)


def _signed() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, digest, author, signature)"""
    ann, ben = (public(seed).hex() for seed in (ANN, BEN))
    own = sign_with(ANN, signed_text(VERSION)).hex()
    bare = sign_with(ANN, VERSION.encode()).hex()
    yield "the author's", [], VERSION, ann, own
    yield "another author's", [], VERSION, ben, sign_with(BEN, signed_text(VERSION)).hex()
    yield "of another definition", [], "0" * 64, ann, own
    yield "under another's name", [], VERSION, ben, own
    yield "of the digest alone", [], VERSION, ann, bare
    yield "nothing", [], VERSION, ann, "0" * 128
    yield "capital letters", ["Spelling"], VERSION, ann, own.upper()
    yield "capital letters in the key", ["Spelling"], VERSION, ann.upper(), own
    yield "too short", ["Spelling"], VERSION, ann, own[:-2]
    yield "too long", ["Spelling"], VERSION, ann, own + "00"
    yield "a line break", ["Spelling"], VERSION, ann, own + "\n"
    yield "a line break before it", ["Spelling"], VERSION, ann, "\n" + own
    yield "a line break after the key", ["Spelling"], VERSION, ann + "\n", own
    yield "a line break before the key", ["Spelling"], VERSION, "\n" + ann, own
    yield "no key", ["Spelling"], VERSION, "", own


def _survey(
    comment: str, flags: list[str], version: str, author: str, signature: str
) -> dict[str, Any]:
    case: Case = {"comment": comment, "flags": flags, "digest": version, "author": author}
    case["signature"] = signature
    judged = _judged(case, check_author, version, author, signature)
    if judged["result"] == "valid":
        judged["fingerprint"] = fingerprint(author)
    return judged


def _judged(case: dict[str, Any], check: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    try:
        check(*arguments)
    except Invalid:
        return case | {"result": "invalid"}
    return case | {"result": "valid"}


# --- the register ---

REGISTER_NOTES = {
    "Chain": "the chain of hashes does not hold",
    "Past": "the register is right in itself, and another than this device saw before",
    "Listed": "the survey is not listed, or not once",
    "Waves": "the epsilon of all waves, which the entry of a survey with waves has, and no other",
    "Key": "the key of the invitations: in the entry of a survey by invitation, and no other",
    "Mixer": "what a survey with a mixer gives away against its server alone, and its mixer",
    "Otherwise": "others are told something else of the survey",
    "Signature": "the author did not sign it",
    "Author": "only the author is not one that the device knows at this server",
    "Unknown": "an event that is not known has its place in the chain and means nothing",
}

FIRST, LAST = survey(YES_NO, name="first"), survey(ONE, name="last")
SURVEYS = (
    survey(YES_NO, ONE, name="pair"),
    survey(LAPLACE, GAUSS, SCALE, name="noisy"),
    survey(YES_NO, ONE, LAPLACE, GAUSS, name="some", ask=2),
    panel(WAVE, *TYPES[1:4], name="wave-1"),
)
MAIN, WAVES = SURVEYS[0], SURVEYS[-1]
INVITED = survey(YES_NO, name="invited", invited=True)
KEY, ANOTHER_KEY = modulus(KEYS[1]), modulus(KEYS[2])


def entries(
    *definitions: Any, seed: bytes = ANN, day: str = "2026-11-21", key: str = KEY
) -> list[dict[str, Any]]:
    return [
        published(
            definition,
            public(seed).hex(),
            sign_with(seed, signed_text(digest(definition))).hex(),
            day, 0, "", key,
        )
        for definition in definitions
    ]  # fmt: skip


def chained(found: Any) -> dict[str, Any]:
    """The register of these entries, with numbers, hashes and head."""
    head = NOTHING
    for number, entry in enumerate(found, start=1):
        entry |= {"number": number, "previous": head}
        head = digest(entry)
    return {"entries": found, "head": head}


def closed(definition: Definition, day: str = "2026-12-24") -> dict[str, Any]:
    version = digest(definition)
    return {"event": "closed", "day": day, "survey": definition["name"], "digest": version}


def registers() -> Made:
    groups = []
    for definition in SURVEYS:
        check_definition(definition)
        groups.append(_group(definition, _true(definition)))
    groups.append(_group(MAIN, _lies()))
    groups.append(_group(WAVES, _lies_about_waves()))
    groups.append(_group(COUNTED, _lies_about_counts()))
    check_definition(INVITED)
    groups.append(_group(INVITED, [*_true(INVITED), *_lies_about_keys()]))
    groups.append(_group(MAIN, _days()))
    check_definition(THROUGH)
    groups.append(_group(THROUGH, [*_true(THROUGH), *_lies_about_mixers()]))
    groups.append(_group(MAIN, _no_mixer()))
    return REGISTER_NOTES, groups


def _group(definition: Definition, cases: Any) -> dict[str, Any]:
    tests = [_case(definition, *case) for case in cases]
    return {"type": "register", "definition": json.dumps(definition), "tests": tests}


def _true(definition: Definition) -> Iterator[tuple[Any, ...]]:
    """(comment, flags, document, seen, known, accepted)"""
    alone = chained(entries(definition))
    yield "alone", [], alone
    among = chained(entries(FIRST, definition, LAST))
    yield "among others", [], among
    for count in range(4):
        yield f"after {count} were seen", [], among, _seen(among, count)
    end = chained([*entries(definition), closed(definition)])
    yield "and closed", [], end, _seen(end, 1)


def _days() -> Iterator[tuple[Any, ...]]:
    """The device keeps the day of the last entry, whatever that is, where it is a date."""
    for day in ("2026-12-01", "2000-01-01", "2300-01-01", "2026-02-30", "tomorrow", "", 20261121):
        last: Json = {"event": "blessed", "day": day}
        yield f"the last day is {day!r}", ["Unknown"], chained([*entries(MAIN), last])
    yield "the last entry has no day", ["Unknown"], chained([*entries(MAIN), {"event": "blessed"}])
    again = chained(entries(FIRST, MAIN))
    yield "no day was seen before", [], again, _seen(again, 2)
    yield "another day was seen before", [], again, _seen(again, 2) | {"day": "2020-02-20"}


def _seen(document: Document, count: int) -> dict[str, Any]:
    head = document["entries"][count - 1] if count else None
    return {"count": count, "head": digest(head) if head else NOTHING}


def _changed(**changes: Any) -> dict[str, Any]:
    """A register in which the entry in the middle is another."""
    found = entries(FIRST, MAIN, LAST)
    found[1] |= changes
    return chained(found)


def _lies() -> Iterator[tuple[Any, ...]]:
    ann, ben = (public(seed).hex() for seed in (ANN, BEN))
    honest = chained(entries(FIRST, MAIN, LAST))
    yield from _chains(honest)
    yield from _pasts(honest)
    yield "not listed", ["Listed"], chained(entries(FIRST, LAST))
    yield "an empty register", ["Listed"], chained([])
    yield "listed twice", ["Listed"], chained(entries(MAIN, MAIN))
    yield "only closed", ["Listed"], chained([*entries(FIRST), closed(MAIN)])
    other = survey(YES_NO, ONE, name="pair", title="Another title")
    yield "another version", ["Listed"], chained(entries(other))
    yield "another version besides", ["Listed"], chained(entries(MAIN, other))
    (own,) = entries(MAIN)
    for comment, changes in _otherwise(own):
        yield comment, ["Otherwise"], _changed(**changes)
    signed_by_ben = entries(MAIN, seed=BEN)[0]["signature"]
    yield "a wrong signature", ["Signature"], _changed(signature=signed_by_ben)
    yield "no signature", ["Signature"], _changed(signature="")
    yield "a wrong author", ["Signature"], _changed(author=ben)
    yield "no key", ["Signature"], _changed(author=1)
    yield "a key in a list", ["Signature"], _changed(author=[ann])
    yield "a signature in a list", ["Signature"], _changed(signature=[own["signature"]])
    yield "an event of another time", ["Unknown"], chained([{"event": "blessed"}, *entries(MAIN)])
    yield (
        "an unknown event of this name",
        ["Unknown"],
        chained([{"event": "blessed", "survey": "pair", "digest": "x"}, *entries(MAIN)]),
    )
    nothing = _seen(honest, 0)
    for comment, known, accepted in (
        ("the author is known", [ann], None),
        ("the author is one of two", [ben, ann], None),
        ("another author is known", [ben], None),
        ("another was known, and this one is accepted", [ben], fingerprint(ann)),
        ("another was accepted", [ben], fingerprint(ben)),
    ):
        yield comment, ["Author"], honest, nothing, known, accepted


def _chains(honest: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    def broken(change: Callable[..., Any]) -> dict[str, Any]:
        document = copy.deepcopy(honest)
        change(document)
        return document

    for comment, change in (
        ("the first entry is missing", lambda d: d["entries"].pop(0)),
        ("the last entry is missing", lambda d: d["entries"].pop()),
        ("another head", lambda d: d.update(head="0" * 64)),
        ("no head", lambda d: d.pop("head")),
        ("no entries", lambda d: d.pop("entries")),
        ("entries exchanged", lambda d: d["entries"].reverse()),
        ("an entry changed", lambda d: d["entries"][0].update(day="2020-02-20")),
        ("another number", lambda d: d["entries"][0].update(number=2)),
        ("a number as a text", lambda d: d["entries"][0].update(number="1")),
        ("the last entry changed", lambda d: d["entries"][2].update(day="2020-02-20")),
        ("an entry that is none", lambda d: d["entries"].append([])),
        ("an entry that has no canonical form", lambda d: d["entries"][0].update(note=None)),
    ):
        yield comment, ["Chain"], broken(change)
    yield "a list", ["Chain"], []
    (first,) = entries(MAIN)
    for number in (True, "1", [1], 0, 2):
        yield f"the number {number!r}, and the right hashes", ["Chain"], _alone(first, number)
    yield "something before the first", ["Chain"], _alone(first, previous="ab" * 32)


def _alone(entry: dict[str, Any], number: Json = 1, previous: str = NOTHING) -> dict[str, Any]:
    found = entry | {"number": number, "previous": previous}
    return {"entries": [found], "head": digest(found)}


def _pasts(honest: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    rewritten = chained(entries(FIRST, MAIN, LAST, day="2026-11-22"))
    forked = chained(entries(FIRST, MAIN, FIRST | {"name": "else"}))
    cut = chained(entries(FIRST, MAIN))
    yield "rewritten", ["Past"], rewritten, _seen(honest, 1)
    yield "rewritten, all seen", ["Past"], rewritten, _seen(honest, 3)
    yield "forked", ["Past"], forked, _seen(honest, 3)
    yield "forked after what was seen", [], forked, _seen(honest, 2)
    yield "cut", ["Past"], cut, _seen(honest, 3)
    yield "as it was", [], cut, _seen(honest, 2)


def _otherwise(own: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    questions = own["questions"]
    yield "a smaller epsilon", {"epsilon": "0.10"}
    yield "a larger epsilon", {"epsilon": "9.99"}
    yield "an epsilon of one digit", {"epsilon": own["epsilon"][:-1]}
    yield "a delta", {"delta": "0.00001"}
    yield "a history", {"history": "5.00"}
    yield "a history that is the epsilon", {"history": own["epsilon"]}
    yield "a day that is none", {"day": "tomorrow"}
    yield "a day and more", {"day": own["day"] + "T10"}
    yield "a day and a line break", {"day": own["day"] + "\n"}
    yield "a day and something before", {"day": "x" + own["day"]}
    yield "a day that is a list", {"day": [own["day"]]}
    yield "a day in other digits", {"day": "２０２６-11-21"}
    yield "a key of invitations", {"invitations": KEY}
    yield "a member more", {"note": "only for you"}
    yield "another digest", {"digest": "0" * 64}
    yield "a question less", {"questions": questions[:1]}
    yield "questions exchanged", {"questions": questions[::-1]}
    yield "another mechanism", {"questions": [questions[0] | {"mechanism": "unary"}, questions[1]]}
    yield (
        "another epsilon of a question",
        {"questions": [questions[0] | {"epsilon": "0.01"}, questions[1]]},
    )


def _lies_about_waves() -> Iterator[tuple[Any, ...]]:
    (own,) = entries(WAVES)
    yield (
        "an earlier wave before it",
        ["Waves"],
        chained(entries(panel(WAVE, name="wave-0"), WAVES)),
    )
    for comment, history in (
        ("a smaller history", "0.10"),
        ("a larger history", "9.99"),
        ("the history is one wave's", own["epsilon"]),
        ("a hundredth less", f"{float(own['history']) - 0.01:.2f}"),
        ("a history of one digit", own["history"][:-1]),
        ("a history that is a number", 5),
        ("a history of nothing", ""),
    ):
        yield comment, ["Waves"], chained([own | {"history": history}])
    yield "no history", ["Waves"], chained([_without(own, "history")])
    all_waves = own | {"epsilon": own["history"]}
    yield "one wave's epsilon is the history's", ["Waves"], chained([all_waves])
    once = [each | {"mechanism": "subset_selection"} for each in own["questions"]]
    yield "the names of the memos' mechanisms", ["Waves"], chained([own | {"questions": once}])


COUNTED = panel(YES_NO, waves={"panel": "workplace", "count": 3})


def _lies_about_counts() -> Iterator[tuple[Any, ...]]:
    (own,) = entries(COUNTED)
    yield "as it is", ["Waves"], chained([own])
    yield "the history is one wave's", ["Waves"], chained([own | {"history": own["epsilon"]}])
    yield "no history", ["Waves"], chained([_without(own, "history")])


def _lies_about_keys() -> Iterator[tuple[Any, ...]]:
    (own,) = entries(INVITED)
    for comment, key in (
        ("another key", ANOTHER_KEY),
        ("no digits", "x" * 512),
        ("an even key", KEY[:-1] + "0"),
        ("a short key", KEY[:-2]),
        ("capitals", KEY.upper()),
        ("a list of the key", [KEY]),
        ("a number", 5),
        ("nothing", ""),
    ):
        yield comment, ["Key"], chained([own | {"invitations": key}])
    yield "no key", ["Key"], chained([_without(own, "invitations")])
    honest, other = chained(entries(INVITED)), chained(entries(INVITED, key=ANOTHER_KEY))
    yield "another key than before", ["Key", "Past"], other, _seen(honest, 1)


THROUGH = mixed(YES_NO, EIGHT, name="through")


def _lies_about_mixers() -> Iterator[tuple[Any, ...]]:
    (own,) = entries(THROUGH)
    claim = MIXER["claim"]
    for comment, changes in (
        ("a smaller claim", {"mixed": claim | {"epsilon": "1.0985"}}),
        ("a larger claim", {"mixed": claim | {"epsilon": "1.0987"}}),
        ("a claim in hundredths", {"mixed": claim | {"epsilon": "1.10"}}),
        ("another delta", {"mixed": claim | {"delta": "0.00001"}}),
        ("a claim without delta", {"mixed": _without(claim, "delta")}),
        ("a claim with more", {"mixed": claim | {"blanks": 220}}),
        ("a claim that is a text", {"mixed": claim["epsilon"]}),
        ("another mixer", {"mixer": "5f" * 32}),
        ("a fingerprint for a key", {"mixer": fingerprint(SIGNING)}),
        ("the whole mixer", {"mixer": MIXER}),
        ("the claim for the total", {"epsilon": "1.10"}),
        ("the claim's delta for the total's", {"delta": claim["delta"]}),
    ):
        yield comment, ["Mixer"], chained([own | changes])
    for member in ("mixed", "mixer"):
        yield f"no {member}", ["Mixer"], chained([_without(own, member)])


def _no_mixer() -> Iterator[tuple[Any, ...]]:
    (own,) = entries(MAIN)
    claim = MIXER["claim"]
    yield "a claim without a mixer", ["Mixer"], chained([own | {"mixed": claim}])
    yield "a mixer that is not there", ["Mixer"], chained([own | {"mixer": SIGNING}])
    both = own | {"mixed": claim, "mixer": SIGNING}
    yield "a claim and a mixer that is not there", ["Mixer"], chained([both])


def _without(entry: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != key}


def _case(
    definition: Definition,
    comment: str,
    flags: list[str],
    document: Document,
    seen: dict[str, Any] | None = None,
    known: Any = (),
    accepted: str | None = None,
) -> dict[str, Any]:
    seen = seen or {"count": 0, "head": NOTHING}
    case: Case = {"comment": comment, "flags": flags, "document": document, "seen": seen}
    case["known"] = list(known)
    if accepted:
        case["accepted"] = accepted
    try:
        author, head, key = check_register(document, definition, seen, known, accepted)
    except OtherAuthor:
        return case | {"result": "invalid", "other_author": True}
    except Invalid:
        return case | {"result": "invalid"}
    if key is not None:
        case["invitations"] = key
    last = document["entries"][-1].get("day")
    if is_date(last):
        case["day"] = last
    return case | {"result": "valid", "author": author, "head": head}
