"""Subsets in bulk where they are many: each step has exactly its law, and so has the whole.

Splits of a count: the words of their tables are counted, and where the second draw's intervals end
is compared as fractions. Subsets of a lane: all words are fed in. Then all steps are walked branch
by branch and compared with the law that the mechanism publishes. Many reports at once have matched
halves: ``test_bulk_matched.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, combinations
from math import comb

import numpy as np
import pytest

from deniably.core.coins import Coins
from deniably.mechanisms import SubsetSelection
from deniably.simulation.bulk import single_choice, subsets, uniform
from deniably.simulation.bulk.uniform import Integers, UnsignedInts
from support.bulk_law import drawing
from support.cases import for_each
from support.exact_laws import distribution

SPLITS = [
    (subsets.Halves(1023, 512), 275),
    (subsets.Halves(66, 64), 3),
    (subsets.Halves(66, 64), 66),
    (subsets.Halves(100, 64), 50),
    (subsets.Lanes([16, 16, 16, 15]), 17),
    (subsets.Lanes([16, 16, 16, 16]), 0),
    (subsets.Lanes([16, 5, 0, 0]), 6),
]


def test_a_half_has_the_hypergeometric_law() -> None:
    law = subsets.Halves(10, 6).weights(4)
    assert law == {h + 1: comb(6, h) * comb(4, 4 - h) for h in range(5)}


def test_a_split_between_lanes_counts_the_subsets_of_each_lane() -> None:
    lanes = subsets.Lanes([3, 2])
    for count in range(6):
        ways = lanes.ways[lanes.first[count] :]
        law = lanes.weights(count)
        for number, weight in law.items():
            assert weight == comb(3, ways[number - 1][0]) * comb(2, ways[number - 1][1])
        assert sum(law.values()) == comb(5, count)


@for_each(("split", "count"), SPLITS, ids=lambda case: getattr(case, "n", ""))
def test_both_draws_of_a_split_together_have_exactly_its_law(
    split: subsets.Split, count: int
) -> None:
    rest = made(split, count)
    table = split.table[count << split.bits : (count + 1) << split.bits]
    at_once = np.bincount(table, minlength=1 << 16)
    again = Fraction(int(at_once[0]), len(table))
    law = split.weights(count)
    whole = sum(law.values())
    left = sum(rest.values())
    for value, weight in law.items():
        second = Fraction(rest.get(value, 0), left) if left else 0
        assert Fraction(int(at_once[value]), len(table)) + again * second == Fraction(weight, whole)
    assert {value for value in np.unique(table).tolist() if value} <= law.keys()


def made(split: subsets.Split, count: int) -> dict[int, int]:
    """What the table of a count leaves over; the first draw makes it."""
    split.draw(np.full(1, count))
    return dict(split.remainders[count])


def test_the_second_draw_goes_by_all_of_its_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers on both sides of each end, and on the 52 bits in which it lies."""
    split, count = subsets.Lanes([16, 16, 16, 15]), 17
    rest = made(split, count)
    ends, values = list(accumulate(rest.values())), list(rest)
    for value, after, end in list(zip(values, values[1:], ends, strict=False))[::40]:
        fine = (end << 52) // ends[-1]
        assert second(split, count, [fine - 1, fine + 1], monkeypatch) == [value, after]
        exact = (end << 84) // ends[-1] - (fine << 32)  # the next 32 bits of the end
        for more, expected in [(exact - 1, value), (exact + 1, after)]:
            if 0 <= more < 1 << 32:
                monkeypatch.setattr(subsets, "coins", lambda more=more: Given(more))
                assert second(split, count, [fine], monkeypatch) == [expected]


class Given(Coins):
    """Coins that give one number."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def below(self, n: int) -> int:
        assert self._number < n == 1 << 32
        return self._number


def second(
    split: subsets.Split, count: int, fine: list[int], monkeypatch: pytest.MonkeyPatch
) -> list[int]:
    words = np.array([number << 12 | 0xFFF for number in fine], dtype=np.uint64)
    monkeypatch.setattr(subsets, "words", lambda size, word: words)
    return split._second(np.full(len(fine), count)).tolist()


def test_only_what_the_table_leaves_open_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    split, count = subsets.Halves(100, 64), 40
    made(split, count)
    table = split.table[count << split.bits : (count + 1) << split.bits]
    drawn = np.arange(1 << 16, dtype=np.uint16)
    monkeypatch.setattr(subsets, "words", lambda size, word: drawn)
    monkeypatch.setattr(split, "_second", lambda counts: np.full(len(counts), 65535))
    expected = np.where(table == 0, 65535, table).repeat(1 << 16 - split.bits)
    assert np.array_equal(split.draw(np.full(1 << 16, count)), expected)


@for_each("n", [64, 63, 50, 17, 16, 5])
def test_each_way_names_all_subsets_of_each_lane(n: int) -> None:
    lanes, (starts, lengths, refused) = subsets.four_lanes(n)
    table = subsets.subsets_by_size()
    for lane, size in enumerate(lanes.sizes):
        for count in range(size + 1):
            ways = lanes.ways[:, lane] == count
            (start,) = set(starts[ways, lane].tolist())
            (length,) = set(lengths[ways, lane].tolist())
            assert set(refused[ways, lane].tolist()) == {(1 << 16) % length}
            masks = table[start >> 16 : (start >> 16) + length].tolist()
            expected = combinations(range(size), count)
            assert sorted(masks) == sorted(sum(1 << v for v in subset) for subset in expected)


@for_each(("size", "count"), [(16, 0), (16, 3), (16, 8), (15, 7), (5, 5), (5, 2), (16, 16)])
def test_over_all_words_each_subset_of_a_lane_comes_equally_often(
    size: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    length = comb(size, count)
    refused = (1 << 16) % length
    start = sum(comb(16, fewer) for fewer in range(count))
    # The refused are drawn again: first they are refused again, then each becomes the first subset.
    bad = next(
        word for word in range(1 << 16) if word * length % (1 << 16) < refused or not refused
    )
    good = next(word for word in range(1 << 16) if word * length % (1 << 16) >= refused)
    pieces = iter([np.arange(1 << 16), np.full(refused, bad), np.full(refused, good)])
    monkeypatch.setattr(subsets, "words", lambda size, word: next(pieces).astype(np.uint16))
    each = (np.full(1 << 16, number) for number in (start << 16, length, refused))
    drawn = subsets.uniform_subsets(*(column.astype(np.uint32) for column in each))
    masks, often = np.unique(drawn, return_counts=True)
    assert [int(mask).bit_count() for mask in masks] == [count] * length
    assert masks.max() < 1 << size
    first = int(subsets.subsets_by_size()[start + (good * length >> 16)])
    often[masks == first] -= refused
    assert set(often.tolist()) == {(1 << 16) // length}
    assert len(list(pieces)) == (0 if refused else 2)


@for_each(
    ("mechanism", "answer"),
    [
        (SubsetSelection(21, 2, 3, 1), 4),
        (SubsetSelection(65, 1, 7, 2), 64),
        (SubsetSelection(67, 2, 3, 1), 64),
        (SubsetSelection(34, 33, 5, 4), 0),
    ],
    ids=repr,
)
def test_all_steps_together_have_the_published_law(
    mechanism: SubsetSelection, answer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked: list[Coins] = []

    @lru_cache
    def law_of(split: subsets.Split, count: int) -> Mapping[int, int]:
        return split.weights(count)

    def split(self: subsets.Split, counts: Integers) -> UnsignedInts:
        laws = [law_of(self, count) for count in counts.tolist()]
        return np.array([list(law)[walked[-1].choose([*law.values()])] for law in laws], np.uint16)

    def one_each(
        starts: UnsignedInts, lengths: UnsignedInts, refused: UnsignedInts
    ) -> UnsignedInts:
        places = [
            (start >> 16) + walked[-1].below(length)
            for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
        ]
        return subsets.subsets_by_size()[places]

    def report(coins: Coins) -> tuple[int, ...]:
        walked.append(coins)
        with drawing(coins):
            packed = single_choice.where_many(mechanism, np.array([answer]))
        (bits,) = np.unpackbits(packed, axis=1, bitorder="little")
        return tuple(np.flatnonzero(bits).tolist())

    monkeypatch.setattr(subsets.Split, "draw", split)
    monkeypatch.setattr(subsets, "uniform_subsets", one_each)
    k, omega, own, other = mechanism.k, mechanism.omega, mechanism.own, mechanism.other
    total = comb(k - 1, omega - 1) * own + comb(k - 1, omega) * other
    law = distribution(report)
    assert law.keys() == set(combinations(range(k), omega))
    for cells, probability in law.items():
        assert probability == Fraction(own if answer in cells else other, total)


def test_the_stream_has_the_asked_length_and_never_repeats() -> None:
    first, again = uniform.stream(1 << 14), uniform.stream(1 << 14)
    assert len(first) == len(again) == 1 << 14
    assert first != again
    assert abs(int.from_bytes(first).bit_count() - (1 << 16)) < 6 * (1 << 8) / 2 * 2**0.5


@for_each("count", [1, uniform._SHORT - 1, uniform._SHORT])
def test_a_given_source_is_the_only_one(count: int) -> None:
    with uniform.drawn_from(lambda size: b"\7" * size):
        assert uniform.words(count, np.uint8).tolist() == [7] * count
