"""One door for randomness: exact, and it throws away what would bend the odds."""

import os
from collections import Counter
from fractions import Fraction
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.core.coins import LARGEST, Coins
from deniably.mechanisms.subset_selection import subset_selection
from deniably.reference.coins import Blocks, pick
from support.exact_laws import distribution


def tape(data: bytes) -> tuple[Coins, list[int]]:
    """Coins that read ``data``, and the list of how many bytes each draw took."""
    position = 0
    taken: list[int] = []

    def take(count: int) -> bytes:
        nonlocal position
        position += count
        taken.append(count)
        assert position <= len(data), "the tape has run out"
        return data[position - count : position]

    return Coins(take), taken


@given(st.integers(1, LARGEST), st.integers(0, LARGEST - 1))
def test_a_draw_is_the_residue_or_is_rejected(n: int, u: int) -> None:
    coins, taken = tape(u.to_bytes(7, "big") + bytes(7))

    value = coins.below(n)

    accepted = u < LARGEST // n * n
    assert value == (u % n if accepted else 0)
    assert sum(taken) == (7 if accepted else 14)


@given(st.integers(1, LARGEST))
def test_every_residue_has_equally_many_accepted_words(n: int) -> None:
    limit = LARGEST - LARGEST % n

    assert limit % n == 0
    assert limit > LARGEST // 2 - 1, "at least half of all words are accepted"


def test_the_top_three_bits_are_dropped() -> None:
    coins, _ = tape(b"\xe0" + bytes(5) + b"\x01")

    assert coins.below(LARGEST) == 1


def test_an_id_is_128_bits_that_are_drawn_for_it_alone() -> None:
    """Four draws of 32 bits, each of 7 bytes; every one of their bits is in it, once."""
    words = [0x01234567, 0x89ABCDEF, 0xFFFFFFFF, 0x00000000]
    coins, taken = tape(b"".join(word.to_bytes(7, "big") for word in words))

    assert coins.draw_id() == "0123456789abcdefffffffff00000000"
    assert sum(taken) == 28
    with pytest.raises(AssertionError, match="run out"):
        coins.draw_id()


def test_a_bound_of_one_takes_bytes_too() -> None:
    coins, taken = tape(bytes(7))

    assert coins.below(1) == 0
    assert taken == [7]


@pytest.mark.parametrize("n", [0, -1, LARGEST + 1])
def test_a_bound_out_of_range_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match=r"from 1 to 2\*\*53"):
        Coins().below(n)


@pytest.mark.parametrize("weights", [[], [1, -1], [-1]])
def test_weights_that_are_none_are_refused(weights: list[int]) -> None:
    with pytest.raises(ValueError, match="weights"):
        Coins().choose(weights)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any))
def test_choose_gives_every_index_exactly_its_weight(weights: list[int]) -> None:
    law = distribution(lambda coins: Coins.choose(coins, weights))

    assert law == {i: Fraction(w, sum(weights)) for i, w in enumerate(weights) if w}


def test_shipped_coins_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("os.urandom", lambda n: asked.append(n) or bytes(n))

    assert Coins().below(1000) == 0
    assert asked, "the bytes are drawn through os.urandom"


@pytest.mark.parametrize("k", [2, 16, 128, 1024])
def test_a_report_to_one_question_takes_few_system_calls(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, asked = os.urandom, list[int]()
    monkeypatch.setattr("os.urandom", lambda n: asked.append(n) or system(n))

    subset_selection(k, 3, 1).randomise(0, Coins())

    assert len(asked) <= 2


def test_no_byte_of_the_system_is_left_out_or_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    system, blocks = os.urandom, list[bytes]()

    def watched(count: int) -> bytes:
        blocks.append(system(count))
        return blocks[-1]

    monkeypatch.setattr("os.urandom", watched)
    coins = Coins()
    drawn = [coins.below(9), *coins.below_each(range(4, 64)), coins.below(3), *coins.pick(20, 9)]
    reference = Blocks(blocks)

    bounds = [9, *range(4, 64), 3]
    assert drawn == [*map(reference.below, bounds), *pick(reference, 20, 9)]


@given(
    st.lists(st.sampled_from([b"\xff" * 7, bytes(7), b"\x1f" + bytes(6)]), min_size=40),
    st.integers(1, LARGEST - 40),
    st.integers(0, 40),
    st.sampled_from([1, -1]),
)
def test_many_draws_at_once_are_those_one_by_one(
    words: list[bytes], start: int, count: int, step: int
) -> None:
    bounds = range(start, start + count)[::step]
    tape = b"".join(words) + bytes(7 * count)
    at_once, in_turn = BytesIO(tape), BytesIO(tape)

    drawn = Coins(at_once.read).below_each(bounds)

    in_turn_coins = Coins(in_turn.read)
    assert drawn == [in_turn_coins.below(n) for n in bounds]
    assert at_once.tell() == in_turn.tell(), "as many bytes are taken"


def test_draws_at_once_are_seen_one_by_one_where_below_is_watched() -> None:
    class Watched(Coins):
        def below(self, n: int) -> int:
            seen.append(n)
            return 0

    seen: list[int] = []
    assert Watched().below_each(range(5, 25)) == [0] * 20
    assert seen == list(range(5, 25))


@pytest.mark.parametrize("bounds", [range(20), range(LARGEST - 9, LARGEST + 2), range(3, -20, -1)])
def test_bounds_out_of_range_are_refused(bounds: range) -> None:
    with pytest.raises(ValueError, match="2"):
        Coins().below_each(bounds)


def test_a_source_that_ends_is_an_error_and_no_zero() -> None:
    for draw in (lambda c: c.below(5), lambda c: c.below_each(range(5, 25)), Coins.draw_id):
        with pytest.raises(ValueError, match="no random bytes"):
            draw(Coins(BytesIO(bytes(14)[:7] if draw is Coins.draw_id else b"").read))


def test_coins_are_uniform_to_the_eye() -> None:
    """64,000 draws in 16 cells; chi-square with 15 degrees of freedom passes 70 with
    probability 4e-9."""
    coins = Coins()

    counts = Counter(coins.below(16) for _ in range(64_000))

    assert sum((counts[i] - 4000) ** 2 / 4000 for i in range(16)) < 70
