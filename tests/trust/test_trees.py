"""The trees over a register say the same as the reference, which follows SPEC's words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deniably.core.canonical import digest
from deniably.core.errors import BadRegister
from deniably.trust.heads import head_of_trees, sign_head
from deniably.trust.listing import VOLUME, SeenRegister, make_listing, read_listing
from deniably.trust.register import ChainHead
from deniably.trust.trees import Trees
from spec.listing import head_of, listing_of
from support.keys import key_of

SEED = b"server".ljust(32)


def entry(number: int) -> dict[str, Any]:
    """An entry; every third one publishes nothing."""
    event = "closed" if number % 3 == 0 else "published"
    return {"number": number, "event": event, "survey": f"s{number}", "day": "2026-11-21"}


def trees_over(count: int) -> Trees:
    trees = Trees()
    for number in range(1, count + 1):
        one = entry(number)
        trees.add(digest(one), one["survey"] if one["event"] == "published" else None)
    return trees


@pytest.mark.parametrize("count", [1, 2, 7, 63, 64, 65, 127, 128, 129, 191, 300])
def test_a_register_of_any_length_has_the_head_and_listings_of_the_reference(count: int) -> None:
    entries, trees = [entry(number) for number in range(1, count + 1)], trees_over(count)
    signed = sign_head(head_of_trees(trees, "2026-11-21"), key_of(SEED))

    assert signed.head.document == head_of(entries)
    for number in {1, count // 2 + 1, count}:
        if number % 3:
            made = make_listing(trees, signed, entry(number))
            made.check(f"s{number}")
            assert made == read_listing(made.text)
            assert digest(listing_of(entries, f"s{number}", SEED)) == digest_of(made.text)


def digest_of(text: bytes) -> str:
    return digest(json.loads(text))


def test_a_name_is_published_once() -> None:
    trees = trees_over(10)
    before = trees.log, trees.map

    with pytest.raises(BadRegister, match="two surveys of one name"):
        trees.add("ab" * 32, "s7")
    assert (trees.log, trees.map) == before


def test_old_entries_of_a_long_register_come_in_volumes_of_1024() -> None:
    """Wherever a device was last, and hashes of another log are refused."""
    trees, forked = trees_over(2200), trees_over(2200)
    forked.hashes[1620] = "ab" * 32
    key = key_of(SEED)
    listing = make_listing(trees, sign_head(head_of_trees(trees, None), key), entry(1))
    for count, volume in ((1, 0), (1023, 0), (1025, 1), (1601, 1), (2047, 1), (2049, 2)):
        seen = SeenRegister(
            ChainHead(count, trees.hashes[count - 1]), trees_over(count).log, "", key.author
        )
        path = listing.further(seen)
        assert path == f"/register/hashes/{volume}"
        text = volume_of(trees, volume)
        assert listing.check_continues(seen, {path: text}) is None
        with pytest.raises(BadRegister, match="missing"):
            listing.check_continues(seen, {})
        if count == 1601:
            with pytest.raises(BadRegister, match="do not make its log"):
                listing.check_continues(seen, {path: volume_of(forked, volume)})


def volume_of(trees: Trees, volume: int) -> bytes:
    hashes = trees.hashes[VOLUME * volume : VOLUME * (volume + 1)]
    return ('{"hashes":["' + '","'.join(hashes) + '"]}').encode()
