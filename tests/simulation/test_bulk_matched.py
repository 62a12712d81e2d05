"""Halves that are matched by size: exactly uniform given their sizes, proved step by step.

The bits: all digits are fed in. The match: it sees sizes only, and no row serves twice. Then both
together, over every supply that can be drawn. Last, large halves are measured.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniably.simulation.bulk import matched, subsets
from support.cases import for_each

FALSE_ALARM = 1e-8  # of each of fewer than 20 tests


@for_each(("odd", "depth"), [(1, 1), (1, 2), (3, 2), (17, 6), (63, 6), (1, 8), (137, 8), (255, 8)])
def test_over_all_digits_a_bit_is_set_as_often_as_the_probability_says(
    odd: int, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 256 bits has its own digits; all that there are come equally often."""
    numbers = np.arange(256)
    digits = np.array([numbers >> place & 1 for place in range(depth)], dtype=np.uint8)
    drawn = np.packbits(digits, axis=1, bitorder="little").view("<u8").ravel()
    monkeypatch.setattr(matched, "words", lambda size, word: drawn)
    bits = np.empty(4, dtype="<u8")
    matched.Supply(256, odd, depth, 100).set_bits(bits)
    assert Fraction(int(np.bitwise_count(bits).sum()), 256) == Fraction(odd, 1 << depth)


def test_words_are_drawn_for_every_digit_and_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Counter[int]()
    true_words = matched.words

    def words(size: int, word: type[np.unsignedinteger]) -> npt.NDArray[np.unsignedinteger]:
        drawn[0] += size
        return true_words(size, word)

    monkeypatch.setattr(matched, "words", words)
    rows = matched.Supply(500, 17, 6, 100).rows(3000)
    assert rows.shape == (3000, 8)
    assert drawn[0] == 6 * 8 * 3000
    assert len(np.unique(rows)) == rows.size


@for_each("n", [64, 65, 127, 128, 130])
def test_a_row_has_no_bit_beyond_its_choices(n: int) -> None:
    rows = matched.Supply(n, 3, 2, 100).rows(400)
    bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")
    assert not bits[:, n:].any()
    assert bits[:, :n].any(axis=0).all()
    assert np.array_equal(matched.sizes_of(rows), bits.sum(axis=1))


sizes = st.lists(st.integers(0, 6), max_size=40)


@given(sizes, sizes)
def test_each_size_gets_a_row_of_its_own_while_there_is_one(
    wanted: list[int], there: list[int]
) -> None:
    place, left = matched.pairs(np.array(wanted, np.uint16), np.array(there, np.uint16), 6)
    served = np.setdiff1d(np.arange(len(wanted)), left)
    assert len(set(place[served].tolist())) == len(served)
    assert [there[row] for row in place[served]] == [wanted[at] for at in served]
    assert Counter(wanted[at] for at in left) == Counter(wanted) - Counter(there)


def test_over_every_supply_all_subsets_of_the_sizes_are_equally_likely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three rows of three choices, each bit set once in two or three times in four."""
    for odd, depth in [(1, 1), (3, 2)]:
        law: dict[tuple[tuple[int, ...], tuple[int, ...]], Fraction] = Counter()  # type: ignore[assignment]
        p = Fraction(odd, 1 << depth)
        for rows in product(range(8), repeat=3):
            drawn = np.array(rows, dtype="<u8").reshape(3, 1)
            monkeypatch.setattr(matched.Supply, "rows", lambda self, size, drawn=drawn: drawn)
            found, left = matched.Supply(3, odd, depth, 100).matched(np.array([1, 2, 2]))
            served = [at for at in range(3) if at not in left.tolist()]
            key = (tuple(left.tolist()), tuple(found.ravel()[served].tolist()))
            ones = sum(row.bit_count() for row in rows)
            law[key] += p**ones * (1 - p) ** (9 - ones)
        assert sum(law.values()) == 1
        for unserved in {left for left, _ in law}:
            chances = [chance for (left, _), chance in law.items() if left == unserved]
            assert len(chances) == 3 ** (3 - len(unserved))
            assert len(set(chances)) == 1


def test_sizes_that_no_row_has_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    few = matched.Supply(512, 17, 6, 50)
    wanted = np.full(2000, 137)
    drawn = np.zeros((2000, 8), dtype="<u8")
    subsets._match(few, wanted, drawn)
    assert matched.sizes_of(drawn).tolist() == wanted.tolist()
    assert len(np.unique(drawn, axis=0)) == 2000


@for_each(
    ("n", "left", "omega"),
    [(66, 64, 18), (1023, 512, 1), (1023, 512, 1022)],
    ids=["unlike halves", "one choice", "all but one"],
)
def test_halves_are_not_matched_where_few_rows_would_serve(n: int, left: int, omega: int) -> None:
    assert matched.supplies(n, left, omega) is None


@for_each(
    ("n", "omega"), [(127, 34), (128, 64), (191, 50), (255, 69), (999, 900), (1023, 275)], ids=repr
)
def test_most_sizes_are_matched(n: int, omega: int) -> None:
    left = subsets._left(n)
    sides = matched.supplies(n, left, omega)
    assert sides is not None
    wanted = np.full(1 << 13, omega)
    first = subsets.halves(n, left).draw(wanted).astype(np.int64) - 1
    for supply, sizes in zip(sides, (first, wanted - first), strict=True):
        _, unmatched = supply.matched(sizes)
        assert len(unmatched) < len(wanted) // 10


@for_each(
    ("n", "omega", "first", "last"),
    [(127, 34, 60, 100), (255, 69, 0, 128), (1023, 275, 0, 256), (1023, 275, 400, 1023)],
    ids=repr,
)
def test_a_run_of_choices_has_as_many_as_the_hypergeometric_law_says(
    n: int, omega: int, first: int, last: int
) -> None:
    rows = 20_000
    drawn = np.empty((rows, -(-n // 64)), dtype="<u8")
    subsets._draw(n, omega, np.full(rows, omega), drawn)
    bits = np.unpackbits(drawn.view(np.uint8), axis=1, bitorder="little")
    assert set(bits.sum(axis=1).tolist()) == {omega}
    law = stats.hypergeom(n, omega, last - first)
    often = np.bincount(bits[:, first:last].sum(axis=1), minlength=n + 1)
    expected = rows * law.pmf(np.arange(n + 1))
    usual = expected > 50
    observed = np.append(often[usual], often[~usual].sum())
    wanted = np.append(expected[usual], expected[~usual].sum())
    distance = ((observed - wanted) ** 2 / wanted).sum()
    assert distance < stats.chi2.isf(FALSE_ALARM, len(wanted) - 1)
