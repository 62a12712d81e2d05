"""The cases of listings.json."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from deniably.reference.canonical import digest
from deniably.reference.refusal import Invalid
from deniably.reference.values import Definition, Document, Json
from spec.cases.register import (
    ANN,
    ANOTHER_KEY,
    BEN,
    FIRST,
    INVITED,
    LAST,
    MAIN,
    chained,
    closed,
    entries,
)
from spec.ed25519 import public
from spec.listing import above, bits, check_listing, head_of, listing_of, log_of, signed
from spec.register import OtherAuthor, fingerprint
from spec.vector_types import Case, Made

NOTES = {
    "Form": "the listing has not the members that it must have",
    "Signature": "the server did not sign the head",
    "Log": "the hashes do not make the log, or the entry is not in it",
    "Map": "the entry is not in the map under the survey's name",
    "Past": "the register is another than this device saw before",
    "Key": "the head is signed by another key than this device knows",
    "Before": "the device remembers no signed head",
    "Otherwise": "others are told something else of the survey",
    "Author": "only the author is not one that the device knows at this server",
}

SERVER, OTHER_SERVER = b"server".ljust(32), b"another".ljust(32)
HASH = "ab" * 32


def cases() -> Made:
    groups = [
        _group(MAIN, [*_true(), *_forms(), *_signatures(), *_hashes(), *_places(), *_others()]),
        _group(MAIN, [*_long(), *_pasts(), *_long_ago(), *_keys()]),
        _group(INVITED, _invited()),
    ]
    return NOTES, groups


def _group(definition: Definition, found: Any) -> dict[str, Any]:
    tests = [_case(definition, *case) for case in found]
    return {"type": "listing", "definition": json.dumps(definition), "tests": tests}


def _register(before: int = 1, after: int = 1, day: str = "2026-11-21") -> list[dict[str, Any]]:
    """Entries with the main survey in the midst: so many before it and so many after."""
    first, main, last = entries(FIRST, MAIN, LAST, day=day)
    fill = [{"event": "blessed", "day": day, "note": str(i)} for i in range(before + after)]
    found = [first, *fill[: before - 1]] if before else []
    found += [main, *([last, *fill[before : before + after - 1]] if after else [])]
    return chained(found)["entries"]


def _listing(found: Sequence[Json], seed: bytes = SERVER) -> dict[str, Any]:
    return listing_of(found, "pair", seed)


def _head(found: Sequence[Json], seed: bytes = SERVER) -> dict[str, Any]:
    """What a device remembers that saw these."""
    return signed(head_of(found), seed)


SHORT = _register()
HONEST = _listing(SHORT)


def _true() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, document, seen, more, known, accepted)"""
    yield "among others", [], HONEST
    yield "alone", [], _listing(_register(0, 0))
    yield "the first", [], _listing(_register(0, 3))
    yield "the last", [], _listing(_register(3, 0))
    yield "closed", [], _listing(chained([*_register(0, 0), closed(MAIN)])["entries"])
    undated = chained([*_register(), {"event": "blessed", "day": "tomorrow"}])["entries"]
    yield "the last day is no date", [], _listing(undated)
    nothing = signed(head_of([]), SERVER)
    yield "nothing was there before", [], HONEST, nothing
    for count in range(1, 4):
        yield f"after {count} were seen", [], HONEST, _head(SHORT[:count])


def _broken(change: Callable[[Any], Any], listing: Json = HONEST) -> Any:
    document = copy.deepcopy(listing)
    change(document)
    return document


def _set(place: str, **values: Json) -> Callable[[Any], None]:
    return lambda document: (document[place] if place else document).update(values)


def _without(place: str, key: str) -> Callable[[Any], None]:
    return lambda document: (document[place] if place else document).pop(key)


def _forms() -> Iterator[tuple[Any, ...]]:
    for name in ("entry", "head", "blocks", "recent", "log_path", "map_path"):
        yield f"no {name}", ["Form"], _broken(_without("", name))
        yield f"{name} is a text", ["Form"], _broken(_set("", **{name: "x"}))
    for name in ("count", "head", "log", "map", "key", "signature"):
        yield f"no {name} of the head", ["Form"], _broken(_without("head", name))
        yield f"{name} of the head is a list", ["Form"], _broken(_set("head", **{name: [1]}))
    yield "a member more", ["Form"], _broken(_set("", note="x"))
    yield "a list", ["Form"], []
    yield "a hash in capitals", ["Form"], _broken(_set("", map_path=[HASH.upper()]))
    yield "a hash that is a list", ["Form"], _broken(_set("", map_path=[[HASH]]))
    yield "an entry that is a list", ["Form"], _broken(_set("", entry=[1]))
    yield "an entry without canonical form", ["Form"], _broken(_set("entry", note=None))
    yield "an empty entry", ["Form"], _broken(_set("", entry={}))


def _signatures() -> Iterator[tuple[Any, ...]]:
    other = signed(head_of(SHORT), OTHER_SERVER)
    yield "another server's head at first contact", [], HONEST | {"head": other}
    yield "another key", ["Signature"], _broken(_set("head", key=other["key"]))
    yield "another signature", ["Signature"], _broken(_set("head", signature=other["signature"]))
    yield "another day", ["Signature"], _broken(_set("head", day="2026-11-22"))
    yield "no day", ["Signature"], _broken(_without("head", "day"))
    yield "a day that is none, signed", ["Form"], _resigned(HONEST, day="tomorrow")
    yield "a day that is a number, signed", ["Form"], _resigned(HONEST, day=20261121)
    yield "a member more in the head, signed", ["Form"], _resigned(HONEST, note="x")
    old = _head(SHORT[:2])
    yield "an older head", ["Log"], HONEST | {"head": old}


def _resigned(listing: Json, seed: bytes = SERVER, **changes: Json) -> dict[str, Any]:
    """A listing with a changed head that the server signed."""
    head = {k: v for k, v in listing["head"].items() if k not in ("key", "signature")} | changes
    return listing | {"head": signed(head, seed)}


def _hashes() -> Iterator[tuple[Any, ...]]:
    recent = HONEST["recent"]
    yield "a count too small", ["Log"], _resigned(HONEST, count=2)
    yield "a count too large", ["Log"], _resigned(HONEST, count=4)
    yield "another log", ["Log"], _resigned(HONEST, log=HASH)
    yield "another last entry", ["Log"], _resigned(HONEST, head=HASH)
    yield "another map", ["Map"], _resigned(HONEST, map=HASH)
    yield "a hash less", ["Log"], _broken(_set("", recent=recent[1:]))
    yield "hashes exchanged", ["Log"], _broken(_set("", recent=recent[::-1]))
    yield "a block too many", ["Log"], _broken(_set("", blocks=[HONEST["head"]["log"]]))
    node = log_of(recent[:2])
    yield "a node for two entries", ["Log"], _broken(_set("", recent=[node, recent[2]]))
    as_leaf = _resigned(HONEST | {"recent": [node, recent[2]]}, count=2)
    yield "a node for an entry", ["Log"], as_leaf


def _places() -> Iterator[tuple[Any, ...]]:
    for number in (0, 1, 3, 4, -1, "2", True):
        found = copy.deepcopy(SHORT)
        found[1]["number"] = number
        yield f"the number {number!r}", ["Log"], _forced(found)
    yield "a path in the log", ["Log"], _broken(_set("", log_path=[HASH] * 6))
    hashes = [digest(one) for one in SHORT]
    hashes[1] = digest([hashes[1], HASH])
    beneath = _resigned(HONEST | {"recent": hashes, "log_path": [HASH]}, log=log_of(hashes))
    yield "an entry beneath an entry of the log", ["Log"], beneath
    path = HONEST["map_path"]
    yield "no path in the map", ["Map"], _broken(_set("", map_path=path[:-1]))
    yield "a path in the map and more", ["Map"], _broken(_set("", map_path=[*path, HASH]))
    yield "another path in the map", ["Map"], _broken(_set("", map_path=[HASH, *path[1:]]))
    other = listing_of(SHORT, FIRST["name"], SERVER)
    yield "another survey's entry", ["Map"], other
    yield "another survey's place", ["Map"], _broken(_set("", map_path=other["map_path"]))
    yield "left out of the map", ["Map"], _left_out()
    yield "only closed", ["Map"], _left_out(closed(MAIN))
    twice = chained([*_register(), entries(MAIN, seed=BEN)[0]])["entries"]
    first = [entry for entry in twice if entry["number"] != 4]
    doubled = _listing(first) | {"recent": [digest(entry) for entry in twice]}
    head = _of(twice, map=doubled["head"]["map"])
    yield "the log has another of the name: an auditor finds that", [], doubled | {"head": head}
    hidden = _forced([twice[0], twice[3], twice[2]], log=SHORT)
    yield "an entry that the log does not have", ["Log"], hidden


def _of(found: Sequence[Json], **changes: Json) -> dict[str, Any]:
    """The signed head of entries whose map is given, so that a name may be there twice."""
    hashes = [digest(entry) for entry in found]
    head = {"count": len(found), "day": found[-1]["day"], "head": hashes[-1]}
    return signed(head | {"log": log_of(hashes)} | changes, SERVER)


def _forced(found: Sequence[Json], log: Sequence[Json] = ()) -> dict[str, Any]:
    """The listing of these entries, in a log of these others."""
    made = listing_of([e | {"number": i} for i, e in enumerate(found, 1)], "pair", SERVER)
    own = listing_of(found, "pair", SERVER) if len(log) == 0 and _whole(found) else made
    entry = next(e for e in found if e.get("survey") == "pair")
    right = [digest(one) for one in log or found]
    mapped = head_of(found)["map"]
    head = _of(log or found, map=mapped)
    return own | {"entry": entry, "recent": right, "head": head, "log_path": []}


def _whole(found: Sequence[Json]) -> bool:
    return all(type(e["number"]) is int and 1 <= e["number"] <= len(found) for e in found)


def _left_out(entry: Json = None) -> dict[str, Any]:
    """The map has no entry of the survey, or one that does not publish it."""
    others = [SHORT[0], SHORT[2]]
    return HONEST | {"head": _of(SHORT, map=head_of(others)["map"])} | (
        {"entry": SHORT[1] if entry is None else entry | {"number": 2, "previous": HASH}}
    )  # fmt: skip


def _others() -> Iterator[tuple[Any, ...]]:
    """The entry is judged as in a register that is read whole; see registers.json."""
    ann, ben = (public(seed).hex() for seed in (ANN, BEN))
    for comment, changes in (
        ("a smaller epsilon", {"epsilon": "0.10"}),
        ("another digest", {"digest": "0" * 64}),
        ("a member more", {"note": "only for you"}),
        ("a wrong author", {"author": ben}),
        ("another event", {"event": "blessed"}),
        ("another previous hash: an auditor finds that", {"previous": "ab" * 32}),
        ("no day", {"day": "today"}),
    ):
        found = copy.deepcopy(SHORT)
        found[1] |= changes
        listing = _listing(found) if "event" not in changes else _as_event(found)
        yield comment, ["Otherwise"], listing
    bare = copy.deepcopy(SHORT)
    del bare[1]["previous"]
    yield "no previous hash", ["Otherwise"], _listing(bare)
    for comment, known, accepted in (
        ("the author is known", [ann], None),
        ("another author is known", [ben], None),
        ("another was known, and this one is accepted", [ben], fingerprint(ann)),
    ):
        yield comment, ["Author"], HONEST, None, {}, known, accepted


def _as_event(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The map has an entry of another event under the survey's name."""
    named = [e if e["number"] != 2 else e | {"event": "published"} for e in found]
    own = listing_of(named, "pair", SERVER)
    hashes = [digest(entry) for entry in found]
    (index,) = (i for i, entry in enumerate(found) if entry["number"] == 2)
    mapped = above(hashes[index], own["map_path"], bits("pair"))
    return own | {"entry": found[index], "recent": hashes, "head": _of(found, map=mapped)}


LONG = _register(5, 194)
LONG_LISTING = _listing(LONG)
"""200 entries: three complete blocks, of which the last is recent; the survey is the sixth."""


def _long() -> Iterator[tuple[Any, ...]]:
    for before, after in ((5, 58), (5, 121), (5, 122), (63, 64), (64, 63), (64, 70), (127, 5)):
        found = _register(before, after)
        yield f"entry {before + 1} of {len(found)}", ["Log"], _listing(found)
    path = LONG_LISTING["log_path"]
    yield "an old entry", ["Log"], LONG_LISTING
    for comment, changed in (
        ("no path", []),
        ("a short path", path[1:]),
        ("a long path", [*path, HASH]),
        ("another path", [HASH, *path[1:]]),
        ("a path turned", path[::-1]),
    ):
        yield comment, ["Log"], LONG_LISTING | {"log_path": changed}
    blocks = LONG_LISTING["blocks"]
    for comment, changed in (
        ("a block less", blocks[1:]),
        ("blocks exchanged", [blocks[1], blocks[0], blocks[2]]),
        ("another last block", [*blocks[:2], HASH]),
        ("no blocks", []),
    ):
        yield comment, ["Log"], LONG_LISTING | {"blocks": changed}
    recent = LONG_LISTING["recent"]
    rest = log_of([*blocks[:2], HASH, log_of(recent[64:])])
    other = _resigned(LONG_LISTING | {"blocks": [*blocks[:2], HASH]}, log=rest)
    yield "another last block, in the log, too", ["Log"], other


def _volume(found: Sequence[Json], volume: int = 0) -> dict[str, Any]:
    hashes = [digest(entry) for entry in found][1024 * volume : 1024 * (volume + 1)]
    return {f"/register/hashes/{volume}": {"hashes": hashes}}


def _fork(at: int, count: int = 200) -> list[dict[str, Any]]:
    """The long register with another entry at this number."""
    found = copy.deepcopy(LONG[:count])
    found[at - 1]["note"] = "forked"
    return chained(found)["entries"]


def _pasts() -> Iterator[tuple[Any, ...]]:
    """Where the listing is enough."""
    for count in (64, 128, 129, 140, 191, 192, 193, 199, 200):
        yield f"{count} were seen", ["Past"], LONG_LISTING, _head(LONG[:count])
    for at in (129, 160, 192, 193, 199):
        fork = _listing(_fork(at))
        yield f"forked at {at}, 199 were seen", ["Past"], fork, _head(LONG[:199])
        yield f"forked at {at}, {at - 1} were seen", ["Past"], fork, _head(LONG[: at - 1])
    yield "the last forked, 200 were seen", ["Past"], _listing(_fork(200)), _head(LONG)
    yield "an old one forked, 128 were seen", ["Past"], _listing(_fork(100)), _head(LONG[:128])
    yield "cut by one", ["Past"], _listing(LONG[:199]), _head(LONG)
    yield "an old head", ["Past"], _listing(LONG[:150]), _head(LONG[:190])
    joined = _listing(_fork(150)) | {}
    yield "two registers joined", ["Past"], joined, _head(_fork(151, 151))
    other_map = _head(SHORT) | {"map": HASH}
    yield "another map of the same entries", ["Past"], HONEST, other_map
    yield "another map of fewer entries", ["Past"], HONEST, _head(SHORT[:2]) | {"map": HASH}


def _long_ago() -> Iterator[tuple[Any, ...]]:
    """Where hashes of old entries are needed."""
    for count in (1, 63, 65, 127):
        yield f"{count} were seen", ["Past"], LONG_LISTING, _head(LONG[:count]), _volume(LONG)
    for at, count in ((1, 1), (30, 50), (70, 100), (100, 127)):
        fork = _fork(at)
        comment = f"forked at {at}, {count} were seen"
        yield comment, ["Past"], _listing(fork), _head(LONG[:count]), _volume(fork)
        yield (
            comment + ", hashes of before",
            ["Past"],
            _listing(fork),
            _head(LONG[:count]),
            _volume(LONG),
        )
    later = _fork(90)
    yield "forked at 90, 70 were seen", ["Past"], _listing(later), _head(LONG[:70]), _volume(later)
    seen = _head(LONG[:70])
    (hashes,) = (one["hashes"] for one in _volume(LONG).values())
    for comment, document in (
        ("no object", []),
        ("no hashes", {}),
        ("hashes that are none", {"hashes": [1] * 200}),
        ("too few hashes", {"hashes": hashes[:100]}),
        ("hashes of one block", {"hashes": hashes[64:128]}),
        ("a member more", {"hashes": hashes, "note": "x"}),
        ("a node for two hashes", {"hashes": [*hashes[:64], log_of(hashes[64:66]), *hashes[66:]]}),
    ):
        yield comment, ["Past"], LONG_LISTING, seen, {"/register/hashes/0": document}
    enough = {"hashes": hashes[:128]}
    yield "the block's hashes alone", ["Past"], LONG_LISTING, seen, {"/register/hashes/0": enough}


def _keys() -> Iterator[tuple[Any, ...]]:
    """Where the whole register is needed: once, of a device of before; and for another key."""
    whole = {"/register": chained(copy.deepcopy(SHORT))}
    for count in range(4):
        hash_ = digest(SHORT[count - 1]) if count else "0" * 64
        yield f"before: {count} were seen", ["Before"], HONEST, _before(count, hash_), whole
    yield "before: another past", ["Before"], HONEST, _before(2, HASH), whole
    yield "before: more were seen", ["Before"], HONEST, _before(4, HASH), whole
    dated = _before(1, digest(SHORT[0])) | {"day": "2026-11-20"}
    yield "before: with a day", ["Before"], HONEST, dated, whole
    for comment, found in (
        ("it has grown meanwhile", _register(1, 5)),
        ("it lacks an entry of the head", SHORT[:2]),
        ("its last entry is another", [*_register(1, 0), SHORT[2] | {"day": "2020-02-20"}]),
    ):
        other = {"/register": chained(copy.deepcopy(list(found)))}
        seen = _before(1, digest(SHORT[0]))
        yield f"before: {comment}", ["Before"], HONEST, seen, other
    broken = copy.deepcopy(whole)
    broken["/register"]["entries"][2]["previous"] = HASH
    yield "before: the chain is broken", ["Before"], HONEST, _before(1, digest(SHORT[0])), broken
    twice = chained([*copy.deepcopy(SHORT), entries(MAIN, seed=BEN)[0]])
    twice_whole = {"/register": twice}
    yield "before: listed twice", ["Before"], HONEST, _before(1, digest(SHORT[0])), twice_whole
    no_register: Json = {"/register": {}}
    yield "before: no register", ["Before"], HONEST, _before(1, digest(SHORT[0])), no_register
    moved = _listing(SHORT, OTHER_SERVER)
    yield "another key", ["Key"], moved, _head(SHORT[:2]), whole
    yield "another key, all were seen", ["Key"], moved, _head(SHORT), whole
    fork = chained(copy.deepcopy([SHORT[0] | {"day": "2020-02-20"}, *SHORT[1:]]))["entries"]
    forked = {"/register": chained(copy.deepcopy(fork))}
    yield "another key, forked", ["Key"], _listing(fork, OTHER_SERVER), _head(SHORT[:2]), forked
    yield (
        "another key, the old entries shown",
        ["Key"],
        _listing(fork, OTHER_SERVER),
        _head(SHORT[:2]),
        whole,
    )


def _before(count: int, head: str) -> dict[str, Any]:
    return {"count": count, "head": head}


def _invited() -> Iterator[tuple[Any, ...]]:
    found = chained(entries(FIRST, INVITED))["entries"]
    listing = listing_of(found, "invited", SERVER)
    yield "with its key", [], listing
    other = chained(entries(FIRST, INVITED, key=ANOTHER_KEY))["entries"]
    yield "another key than before", ["Past"], listing_of(other, "invited", SERVER), _head(found)
    bare = copy.deepcopy(found)
    del bare[1]["invitations"]
    yield "no key", ["Otherwise"], listing_of(chained(bare)["entries"], "invited", SERVER)


def _case(
    definition: Definition,
    comment: str,
    flags: list[str],
    document: Document,
    seen: dict[str, Any] | None = None,
    more: Any = None,
    known: Any = (),
    accepted: str | None = None,
) -> dict[str, Any]:
    case: Case = {"comment": comment, "flags": flags, "document": document}
    case |= {"more": more or {}, "known": list(known)}
    case |= {"seen": seen} if seen else {}
    case |= {"accepted": accepted} if accepted else {}
    given = (definition, seen, known, accepted, case["more"])
    try:
        author, seal, key, asked = check_listing(document, *given)
    except OtherAuthor:
        return case | {"result": "invalid", "other_author": True}
    except Invalid:
        return case | {"result": "invalid"}
    if key is not None:
        case["invitations"] = key
    return case | {"result": "valid", "author": author, "seal": seal, "asked": asked}
