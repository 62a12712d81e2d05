"""Sections 10.1 to 10.3, the head of a register and a survey's listing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from deniably.reference.canonical import canonical, digest
from deniably.reference.invitations import read_modulus
from deniably.reference.ledger import is_date
from deniably.reference.refusal import Invalid, require
from deniably.reference.values import Definition, Document, Json
from spec.ed25519 import check_signature, public, sign
from spec.register import NOTHING, OtherAuthor, check_author, fingerprint, published

# --- 10.1: the head ---


def log_of(hashes: Sequence[str]) -> str:
    """The Merkle tree hash of RFC 9162, section 2.1.1, with nodes as here."""
    if len(hashes) <= 1:
        return hashes[0] if hashes else NOTHING
    k = 1
    while 2 * k < len(hashes):
        k *= 2
    return digest([log_of(hashes[:k]), log_of(hashes[k:])])


def map_of(leaves: Sequence[tuple[str, str]], depth: int = 0) -> str:
    """The map of pairs of bits and an entry's hash."""
    if len(leaves) <= 1:
        return leaves[0][1] if leaves else NOTHING
    require(depth < 256, "a name is published twice")
    return digest([map_of([one for one in leaves if one[0][depth] == side], depth + 1)
                   for side in "01"])  # fmt: skip


def bits(name: str) -> str:
    return "".join(f"{byte:08b}" for byte in bytes.fromhex(digest(name)))


def leaves_of(entries: Sequence[Json]) -> list[tuple[str, str]]:
    found = [entry for entry in entries if entry.get("event") == "published"]
    return [(bits(entry["survey"]), digest(entry)) for entry in found]


def head_of(entries: Sequence[Json]) -> dict[str, Any]:
    hashes = [digest(entry) for entry in entries]
    head = {"count": len(entries), "head": hashes[-1] if hashes else NOTHING}
    head |= {"log": log_of(hashes), "map": map_of(leaves_of(entries))}
    day = entries[-1].get("day") if entries else None
    return head | ({"day": day} if type(day) is str and is_date(day) else {})


def text_of(seal: str) -> bytes:
    return f"deniably register 1\n{seal}\n".encode()


def signed(head: dict[str, Any], seed: bytes) -> dict[str, Any]:
    signature = sign(seed, text_of(digest(head))).hex()
    return head | {"key": public(seed).hex(), "signature": signature}


# --- 10.2: the listing ---


def listing_of(entries: Sequence[Json], name: str, seed: bytes) -> dict[str, Any]:
    hashes = [digest(entry) for entry in entries]
    (entry,) = (e for e in entries if e.get("event") == "published" and e.get("survey") == name)
    complete = len(hashes) // 64
    block = (entry["number"] - 1) // 64
    return {
        "entry": entry,
        "head": signed(head_of(entries), seed),
        "blocks": [log_of(hashes[64 * i : 64 * i + 64]) for i in range(complete)],
        "recent": hashes[64 * max(0, complete - 1) :],
        "log_path": log_path(hashes[64 * block : 64 * block + 64], (entry["number"] - 1) % 64)
        if block < complete - 1
        else [],
        "map_path": map_path(leaves_of(entries), bits(name)),
    }


def log_path(hashes: Sequence[str], index: int) -> list[str]:
    if len(hashes) == 1:
        return []
    half = len(hashes) // 2
    halves = hashes[:half], hashes[half:]
    right = index >= half
    return [log_of(halves[not right]), *log_path(halves[right], index - half * right)]


def map_path(leaves: Sequence[tuple[str, str]], own: str, depth: int = 0) -> list[str]:
    if len(leaves) <= 1:
        return []
    sides = {side: [one for one in leaves if one[0][depth] == side] for side in "01"}
    other = "1" if own[depth] == "0" else "0"
    return [map_of(sides[other], depth + 1), *map_path(sides[own[depth]], own, depth + 1)]


def above(hash_: str, path: Sequence[str], sides: str) -> str:
    """The root that a path leads to."""
    if not path:
        return hash_
    under = above(hash_, path[1:], sides[1:])
    return digest([path[0], under] if sides[0] == "1" else [under, path[0]])


def check_listing(
    listing: Document,
    definition: Definition,
    seen: dict[str, Any] | None,
    known: Sequence[str],
    accepted: str | None,
    more: Mapping[str, Json],
) -> tuple[str, str, Json, str]:
    """(author, seal, key of its invitations, what more was asked for) of a survey to answer."""
    check_form(listing)
    entry, head = listing["entry"], listing["head"]
    plain = {key: value for key, value in head.items() if key not in ("key", "signature")}
    seal = digest(plain)
    key, signature = (bytes.fromhex(head[name]) for name in ("key", "signature"))
    check_signature(key, signature, text_of(seal))
    check_hashes(listing)
    number, hash_ = entry.get("number"), digest(entry)
    require(type(number) is int and 1 <= number <= head["count"], "no such number")
    block = (number - 1) // 64
    if block < len(listing["blocks"]) - 1:
        require(len(listing["log_path"]) == 6, "a path of six")
        root = above(hash_, listing["log_path"], f"{(number - 1) % 64:06b}")
        require(root == listing["blocks"][block], "not in its block")
    else:
        require(listing["log_path"] == [], "no path")
        first = 64 * max(0, len(listing["blocks"]) - 1)
        require(listing["recent"][number - 1 - first] == hash_, "not among the recent ones")
    root = above(hash_, listing["map_path"], bits(definition["name"]))
    require(root == head["map"], "not in the map under this name")
    asked = check_continues(listing, seen, more) if seen else ""
    author, invitations = check_entry(entry, definition)
    if known and author not in known and fingerprint(author) != accepted:
        raise OtherAuthor("another author than those that are known")
    return author, seal, invitations, asked


def check_form(listing: Json) -> None:
    def hashes(found: Json, most: int) -> None:
        require(type(found) is list and len(found) <= most, "a list")
        for one in found:
            require(type(one) is str and re.fullmatch("[0-9a-f]{64}", one), "a hash")

    lists = {"blocks": 2**53, "recent": 2**53, "log_path": 6, "map_path": 256}
    require(type(listing) is dict and set(listing) == {"entry", "head", *lists}, "the members")
    for name, most in lists.items():
        hashes(listing[name], most)
    head = listing["head"]
    needed = {"count", "head", "log", "map", "key", "signature"}
    require(type(head) is dict and set(head) - {"day"} == needed, "the members of a head")
    hashes([head[name] for name in ("head", "log", "map", "key")], 4)
    signature = head["signature"]
    require(type(signature) is str and re.fullmatch("[0-9a-f]{128}", signature), "a signature")
    require(type(head["count"]) is int and 0 <= head["count"] < 2**53, "a count")
    day = head.get("day", "2026-11-21")
    require(type(day) is str and is_date(day), "a day")
    require(type(listing["entry"]) is dict, "an entry")


def check_hashes(listing: Document) -> None:
    head, blocks, recent = (listing[key] for key in ("head", "blocks", "recent"))
    require(len(blocks) == head["count"] // 64, "so many complete blocks")
    before = 64 * max(0, len(blocks) - 1)
    require(before + len(recent) == head["count"], "so many recent entries")
    if blocks:
        require(log_of(recent[:64]) == blocks[-1], "the last complete block")
    rest = recent[64:] if blocks else recent
    require(log_of([*blocks, *([log_of(rest)] if rest else [])]) == head["log"], "the log")
    require((recent[-1] if recent else NOTHING) == head["head"], "the last entry")


def check_entry(entry: Document, definition: Definition) -> tuple[str, Json]:
    """(author, key of its invitations)"""
    day, author, signature = (entry.get(key) for key in ("day", "author", "signature"))
    require(type(day) is str and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", day), "no day")
    check_author(digest(definition), author, signature)
    rest: tuple[Json, ...] = (author, signature, day, entry["number"], entry.get("previous"))
    key = entry.get("invitations")
    if "invited" in definition:
        read_modulus(key)
        rest += (key,)
    require("previous" in entry, "no previous hash")
    require(canonical(published(definition, *rest)) == canonical(entry), "says something else")
    return str(author), key


# --- 10.3: what was seen before ---


def check_continues(listing: Document, seen: dict[str, Any], more: Mapping[str, Json]) -> str:
    """Which path was asked for."""
    head, blocks, count = listing["head"], listing["blocks"], seen["count"]
    require(head["count"] >= count, "cut")
    if "log" not in seen or seen.get("key") != head["key"]:
        check_whole(more["/register"], seen, head, listing["entry"].get("survey"))
        return "/register"
    b, r = divmod(count, 64)
    first, asked = 64 * max(0, len(blocks) - 1), ""
    after = listing["recent"][64 * b - first :][:r] if 64 * b >= first else []
    if r and 64 * b < first:
        asked = f"/register/hashes/{count // 1024}"
        volume = more[asked]
        require(type(volume) is dict and set(volume) == {"hashes"}, "the members")
        hashes = volume["hashes"]
        require(type(hashes) is list and len(hashes) <= 1024, "a list of hashes")
        for one in hashes:
            require(type(one) is str and re.fullmatch("[0-9a-f]{64}", one), "a hash")
        whole = hashes[64 * b % 1024 :][:64]
        require(log_of(whole) == blocks[b], "the hashes do not make the block")
        after = whole[:r]
    past = log_of([*blocks[:b], *([log_of(after)] if after else [])])
    require(past == seen["log"], "rewritten")
    require(count < head["count"] or seen.get("map") == head["map"], "another map")
    return asked


def check_whole(document: Json, seen: dict[str, Any], head: Document, name: Json) -> None:
    require(type(document) is dict, "no object")
    entries = document.get("entries")
    require(type(entries) is list and all(type(e) is dict for e in entries), "no list of objects")
    hashes = [NOTHING]
    for number, entry in enumerate(entries, start=1):
        require(type(entry.get("number")) is int and entry["number"] == number, "another number")
        require(entry.get("previous") == hashes[-1], "the chain is broken")
        hashes.append(digest(entry))
    require(document.get("head") == hashes[-1], "another head")
    require(seen["count"] < len(hashes) and hashes[seen["count"]] == seen["head"], "rewritten")
    named = [e for e in entries if e.get("event") == "published" and e.get("survey") == name]
    require(len(named) == 1, "not listed exactly once")
    require(head["count"] < len(hashes), "fewer entries than the head has")
    require(log_of(hashes[1 : head["count"] + 1]) == head["log"], "other entries than the log has")


__all__ = ["Invalid", "check_listing", "head_of", "listing_of", "log_of", "signed"]
