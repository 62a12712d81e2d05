"""Bulk randomisation has exactly the law of the device: proved by enumeration, then measured.

The proof has one step for each line that handles chance. Uniform integers: every word is fed in.
The table: its words are counted, and the second draw's intervals are read off, as fractions.
The rotation: every case is compared with the randomiser that ships. Where there are too many
subsets for a table, ``test_bulk_subsets.py`` and ``test_bulk_matched.py`` have the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniably.core.errors import BadAnswer
from deniably.mechanisms.subset_selection import Cells, SubsetSelection, subset_selection
from deniably.simulation.bulk import randomise_many, uniform
from deniably.simulation.bulk import single_choice as bulk
from deniably.simulation.bulk.blocks import BLOCK
from support.bulk_law import all_bytes_from
from support.cases import for_each
from support.exact_laws import distribution
from support.soak import all_but, soak
from support.textbook import k_ary, warner, weights_for_epsilon

ONE = weights_for_epsilon(Fraction(1))
SMALL = [
    SubsetSelection(k, omega, own, other)
    for k in range(2, 7)
    for omega in range(1, k)
    for own, other in [(3, 1), (7, 3), ONE]
]
TABLES = [
    *SMALL,
    subset_selection(16, *ONE),
    SubsetSelection(16, 8, *ONE),
    SubsetSelection(8, 3, 1 << 50, 1),
    k_ary(32, *weights_for_epsilon(Fraction(10))),
    SubsetSelection(24, 3, *weights_for_epsilon(Fraction(1, 100))),
]


def unpacked(packed: npt.NDArray[np.uint8], k: int) -> list[Cells]:
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    assert not bits[:, k:].any()
    return [tuple(np.flatnonzero(row).tolist()) for row in bits]


def choices(mask: int, k: int) -> Cells:
    return tuple(choice for choice in range(k) if mask >> choice & 1)


def tape(*pieces: npt.NDArray[np.unsignedinteger]) -> Callable[[int], bytes]:
    """A generator that gives the bytes of each piece in turn and refuses any other amount."""
    left = iter(pieces)

    def urandom(count: int) -> bytes:
        piece = next(left).tobytes()
        assert len(piece) == count
        return piece

    return urandom


# Uniform integers ------------------------------------------------------------------------------


@for_each("n", [*range(1, 131), 255, 256, 257, 511, 512, 513, 1000, 1023, 1024])
def test_over_all_words_every_integer_below_n_occurs_equally_often(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = np.arange(1 << 16, dtype=np.uint16)
    refused = (1 << 16) % n
    # Refused words are drawn again: twice all of them are refused, then each becomes a 0.
    again = [] if not refused else [words[-refused:], words[-refused:], words[:1].repeat(refused)]
    all_bytes_from(monkeypatch, tape(words, *again))
    counts = np.bincount(uniform.below(n, 1 << 16), minlength=n)
    counts[0] -= refused
    assert counts.tolist() == [(1 << 16) // n] * n


@pytest.mark.parametrize("n", [1025, 3 << 20, ONE[0] + ONE[1], (1 << 53) - 1, (1 << 63) - 1])
def test_with_long_words_exactly_the_incomplete_last_run_is_refused(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_refused = (1 << 64) - (1 << 64) % n
    words = [0, n - 1, n, n + 1, first_refused - 1, first_refused, (1 << 64) - 1]
    again = np.array([first_refused, 5], dtype=np.uint64)
    all_bytes_from(
        monkeypatch, tape(np.array(words, dtype=np.uint64), again, np.array([6], np.uint64))
    )
    assert uniform.below(n, len(words)).tolist() == [0, n - 1, 0, 1, n - 1, 6, 5]


@pytest.mark.parametrize("n", [2, 1 << 10, 1 << 11, 1 << 62])
def test_a_power_of_two_refuses_no_word(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    word = np.uint16 if n <= 1 << 10 else np.uint64
    words = np.array([0, 1, np.iinfo(word).max], dtype=word)
    all_bytes_from(monkeypatch, tape(words))
    assert uniform.below(n, 3).tolist() == [0, 1, n - 1]


# The table ---------------------------------------------------------------------------------------


def law_of_table(law: bulk.CondensedTable) -> dict[int, Fraction]:
    """The exact law of ``law.draw``: words counted, and the second draw's intervals measured."""
    masks, words = np.unique(law.table, return_counts=True)
    first = dict(zip(masks.tolist(), words.tolist(), strict=True))
    again = first.pop(0, 0)
    ends = [0, *law.ends.tolist()]
    probabilities = {}
    for mask, low, high in zip(law.values.tolist(), ends, ends[1:], strict=False):
        # `second` never decreases from one value to the next, so its ends say all about it.
        edges = np.array([low, high - 1] if high > low else [], dtype=np.uint64)
        assert set(law.second(edges).tolist()) <= {mask}
        probabilities[mask] = Fraction(first.pop(mask, 0), 1 << 16)
        if again:
            probabilities[mask] += Fraction(again, 1 << 16) * Fraction(high - low, ends[-1])
    assert not first
    return probabilities


@for_each("mechanism", TABLES, ids=repr)
def test_the_table_gives_each_report_to_answer_0_exactly_its_probability(
    mechanism: SubsetSelection,
) -> None:
    k, omega = mechanism.k, mechanism.omega
    law = bulk.masks(mechanism)
    assert law is not None
    total = comb(k - 1, omega - 1) * mechanism.own + comb(k - 1, omega) * mechanism.other
    expected = {
        mask * ((1 << k) + 1): Fraction(mechanism.own if mask & 1 else mechanism.other, total)
        for mask in (sum(1 << v for v in subset) for subset in combinations(range(k), omega))
    }
    # Not all of the law: to print two of ten thousand reports may take longer than a test has.
    found = law_of_table(law)
    wrong = sorted(dict(expected.items() ^ found.items()))
    assert [(mask, expected.get(mask), found.get(mask)) for mask in wrong[:5]] == []


def test_a_draw_reads_the_table_and_draws_again_only_where_it_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    law = bulk.masks(subset_selection(16, *ONE))
    assert law is not None
    words = np.arange(1 << 16, dtype=np.uint16)
    again = np.flatnonzero(law.table == 0)
    assert 0 < len(again) < 1820
    end = int(law.ends[-1])
    second = np.array([end - 1 - i * (end // len(again)) for i in range(len(again))], np.uint64)
    # The last word is one turn of the bound too large, so a wrong bound would be seen.
    all_bytes_from(monkeypatch, tape(words, np.append(second[:-1], second[-1:] + end)))
    drawn = law.draw(1 << 16)
    expected = law.table.copy()
    expected[again] = law.second(second)
    assert np.array_equal(drawn, expected)
    assert drawn.all()


@pytest.mark.parametrize("k", [2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32])
def test_the_rotation_adds_the_answer_to_every_choice(k: int) -> None:
    word = np.uint32 if k <= 16 else np.uint64
    for mask in [*(1 << v for v in range(k)), 3, (1 << k) - 2, 0x5A5A5A5A & ((1 << k) - 1)]:
        twice = np.full(k, mask * ((1 << k) + 1), dtype=word)
        turned = bulk.rotated(twice, np.arange(k), k)
        assert unpacked(turned, k) == [
            tuple(sorted((v + x) % k for v in choices(mask, k))) for x in range(k)
        ]


@pytest.mark.parametrize(
    "mechanism",
    all_but([one for one in SMALL if one.k < 5 or (one.own, one.other) == ONE], SMALL),
    ids=repr,
)
def test_table_and_rotation_have_the_law_of_the_shipped_randomiser(
    mechanism: SubsetSelection,
) -> None:
    law = bulk.masks(mechanism)
    assert law is not None
    probabilities = law_of_table(law)
    masks = np.array(list(probabilities), dtype=law.values.dtype)
    for answer in range(mechanism.k):
        rotated = bulk.rotated(masks, np.full(len(masks), answer), mechanism.k)
        reports = unpacked(rotated, mechanism.k)
        assert dict(zip(reports, probabilities.values(), strict=True)) == exact(mechanism, answer)


def exact(mechanism: SubsetSelection, answer: int) -> dict[Cells, Fraction]:
    return distribution(lambda coins: mechanism.randomise(answer, coins))


@pytest.mark.parametrize(
    ("mechanism", "tabled"),
    [
        (subset_selection(16, *ONE), True),
        (k_ary(32, *ONE), True),
        (k_ary(33, *ONE), False),
        (SubsetSelection(32, 4, *ONE), False),
        # The second draw has at most 63 bits: 12870 outcomes, 6435 of them with either weight.
        (SubsetSelection(16, 8, (1 << 63) // (12870 * 6435) - 1, 1), True),
        (SubsetSelection(16, 8, (1 << 63) // (12870 * 6435), 1), False),
    ],
    ids=repr,
)
def test_the_table_is_used_where_it_is_short(mechanism: SubsetSelection, tabled: bool) -> None:
    assert (bulk.masks(mechanism) is not None) == tabled


# The whole, measured -------------------------------------------------------------------------

# Each of these tests fails by chance with probability 1e-8 at most (Bonferroni within a test), and
# there are fewer than 20: together less than once in a million runs.
FALSE_ALARM = 1e-8


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [
        (warner(3, 1), 100_000),
        soak(warner(3, 1), 1_000_000),
        soak(warner(*ONE), 1_000_000),
        soak(subset_selection(16, *ONE), 2_000_000),
        *(
            case
            for one in (
                SubsetSelection(11, 3, 7, 5),
                SubsetSelection(24, 2, *ONE),
                SubsetSelection(8, 2, 1 << 40, 1 << 37),
                k_ary(40, *ONE),
            )
            for case in ((one, 100_000), soak(one, 500_000))
        ),
        soak(SubsetSelection(40, 2, *ONE), 1_000_000),
        soak(k_ary(200, *weights_for_epsilon(Fraction(7))), 300_000),
    ],
    ids=repr,
)
def test_reports_follow_the_exact_channel(mechanism: SubsetSelection, n: int) -> None:
    """Pearson's test over every possible report, for one answer."""
    k, omega = mechanism.k, mechanism.omega
    answer = k // 3
    packed = randomise_many(mechanism, np.full(n, answer))
    found, counts = np.unique(packed, axis=0, return_counts=True)
    observed = dict(zip(unpacked(found, k), counts.tolist(), strict=True))
    total = comb(k - 1, omega - 1) * mechanism.own + comb(k - 1, omega) * mechanism.other
    expected = {
        subset: n * (mechanism.own if answer in subset else mechanism.other) / total
        for subset in combinations(range(k), omega)
    }
    assert observed.keys() <= expected.keys()
    assert min(expected.values()) > 100
    distance = chi_square(observed, expected)
    assert distance < stats.chi2.isf(FALSE_ALARM, len(expected) - 1)


def chi_square(observed: Mapping[Cells, int], expected: Mapping[Cells, float]) -> float:
    return sum((observed.get(r, 0) - count) ** 2 / count for r, count in expected.items())


@pytest.mark.parametrize("k", [33, 128, 1024])
def test_each_choice_is_supported_as_often_as_p_and_q_say(k: int) -> None:
    """Where there are too many reports to count: the exact binomial law of each choice."""
    mechanism = subset_selection(k, *ONE)
    n, answer = 40_000, k - 2
    packed = randomise_many(mechanism, np.full(n, answer))
    counts = np.unpackbits(packed, axis=1, bitorder="little").sum(axis=0)[:k]
    shares = np.where(np.arange(k) == answer, float(mechanism.p), float(mechanism.q))
    law = stats.binom(n, shares)
    # Discrete, so a two-sided level of 2 * min(tail) is kept, not exceeded.
    surprise = 2 * np.minimum(law.cdf(counts), law.sf(counts - 1))
    assert surprise.min() > FALSE_ALARM / k


# Shapes and refusals -----------------------------------------------------------------------------


@st.composite
def mechanisms(draw: st.DrawFn) -> SubsetSelection:
    k = draw(st.integers(2, 70) | st.sampled_from([127, 128, 129, 1023, 1024]))
    omega = draw(st.integers(1, min(k - 1, 40)))
    other = draw(st.integers(1, 1 << 20))
    return SubsetSelection(k, omega, draw(st.integers(other + 1, 1 << 40)), other)


@given(st.data())
def test_every_report_has_omega_choices_in_range(data: st.DataObject) -> None:
    mechanism = data.draw(mechanisms())
    answers = data.draw(st.lists(st.integers(0, mechanism.k - 1), max_size=40))
    kind = data.draw(st.sampled_from([np.int16, np.uint16, np.int64, np.uint64]))
    packed = randomise_many(mechanism, np.array(answers, dtype=kind))
    assert packed.dtype == np.uint8
    assert packed.shape == (len(answers), -(-mechanism.k // 8))
    for report in unpacked(packed, mechanism.k):
        mechanism.check(report)


@pytest.mark.parametrize("n", [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 1])
@pytest.mark.parametrize("k", [4, 40])
def test_every_answer_gets_its_own_report(k: int, n: int) -> None:
    """With huge odds a report is the answer, but for once in a million million times."""
    mechanism = k_ary(k, 1 << 52, 1)
    answers = np.arange(n) % k
    bits = np.unpackbits(randomise_many(mechanism, answers), axis=1, bitorder="little")
    assert np.array_equal(bits.argmax(axis=1) if n else answers, answers)


@pytest.mark.parametrize("k", [16, 40, 200])
def test_reports_are_a_function_of_the_operating_systems_bytes(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = subset_selection(k, *ONE)
    answers = np.arange(10_000) % k

    def run() -> npt.NDArray[np.uint8]:
        source = np.random.default_rng(1)
        all_bytes_from(monkeypatch, source.bytes)
        return randomise_many(mechanism, answers)

    assert np.array_equal(run(), run())


@pytest.mark.parametrize("k", [5, 40])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_an_answer_out_of_range_is_refused_before_any_draw_and_not_named(
    k: int, kind: type[np.integer], monkeypatch: pytest.MonkeyPatch
) -> None:
    all_bytes_from(monkeypatch, tape())
    limits = np.iinfo(kind)
    for wrong in {k, limits.max, max(-1, limits.min), limits.min} - {0}:
        with pytest.raises(BadAnswer) as refusal:
            randomise_many(subset_selection(k, *ONE), np.array([0, wrong, 1], dtype=kind))
        assert str(wrong) not in str(refusal.value)


@pytest.mark.parametrize(
    "answers",
    [np.array([[0, 1]]), np.array([0.0, 1.0]), np.array([True]), np.array(["1"]), np.array(1)],
    ids=["two dimensions", "floats", "booleans", "text", "no dimension"],
)
def test_only_a_row_of_whole_numbers_is_taken(
    answers: npt.NDArray[np.int64], monkeypatch: pytest.MonkeyPatch
) -> None:
    all_bytes_from(monkeypatch, tape())
    with pytest.raises(BadAnswer, match="one row of whole numbers"):
        randomise_many(subset_selection(5, *ONE), answers)
