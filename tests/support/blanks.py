"""Blanks of a mixer, as they are expected and as chance draws them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from deniably.estimation.tally import Tally, from_cells
from deniably.mechanisms.law import Each, Law, Randomiser, Ticks
from deniably.simulation.bulk import randomise_many, tally_many
from deniably.simulation.expected_tally import SO_MANY, _expected, expected_tally
from deniably.simulation.people import QuestionAnswers

PEOPLE = 10**5
"""Of an expected batch: so many that rounding to whole reports does not matter much."""


def every_answer(law: Law) -> npt.NDArray[Any]:
    """Every possible answer once, as ``randomise_many`` takes them."""
    match law.domain:
        case Ticks(k=k, most=most):
            sets = np.array(list(product((False, True), repeat=k)))
            return sets[sets.sum(axis=1) <= most]
        case Each(sizes=sizes):
            return np.array(list(product(*map(range, sizes))))
        case one:
            return np.arange(one.count)


def made_up(mechanism: Randomiser[Law], blanks: int, seed: int) -> Tally:
    """The tally of so many blanks."""
    answers = every_answer(mechanism.law)
    drawn = np.random.default_rng(seed).integers(0, len(answers), blanks)
    return tally_many(mechanism, randomise_many(mechanism, answers[drawn]))


def expected_batch(answers: QuestionAnswers, blanks: int) -> Tally:
    """The expected tally of ``PEOPLE`` and so many blanks."""
    people, law = expected_tally(answers), answers.question.mechanism.law
    every = every_answer(law)
    start, cells = _expected(law, every)
    parts = (
        (people.counts * (PEOPLE / SO_MANY), people.start),
        (cells * (blanks / len(every)), start),
    )
    first = min(start for _, start in parts)
    counts = np.zeros(max(start + len(cells) for cells, start in parts) - first)
    for cells, start in parts:
        counts[start - first : start - first + len(cells)] += cells
    whole = np.rint(counts).astype(np.int64)
    endless = law.cell_count is None
    return Tally(PEOPLE + blanks, whole, first, endless=endless).with_blanks(blanks)


def mixed(people: Tally, blanks: Tally) -> Tally:
    """The tally of people and blanks in one batch."""
    return (people + blanks).with_blanks(blanks.n)


def tally_of(law: Law, n: int, cells: dict[int, int], blanks: int = 0) -> Tally:
    """A tally of n people and so many blanks, from the counts of its cells."""
    return from_cells(n + blanks, cells, law.cell_count).with_blanks(blanks)
