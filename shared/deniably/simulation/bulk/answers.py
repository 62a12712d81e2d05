"""Checks the shape, type and range of many answers before any draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniably.core.errors import BadAnswer
from deniably.simulation.bulk.uniform import Booleans, Int64

AnswerArray = npt.NDArray[Any]


def choices(answers: AnswerArray, k: int) -> Int64:
    """Returns ``answers``, each the index of one of k choices, as int64, shape (n,). Raises
    BadAnswer unless all are whole numbers from 0 to k - 1."""
    _check_whole(answers, (), "one row of whole numbers")
    _check_range(answers, k, "the index of a choice")
    return answers.astype(np.int64, copy=False)


def positions(answers: AnswerArray, sizes: Sequence[int]) -> Int64:
    """Returns ``answers``, which are positions on the grids of d numbers, as int64. Their shape is
    (n, d), or (n,) where d is 1; ``sizes`` has the number of positions of each grid. Raises
    BadAnswer unless each answer is a whole number within its grid."""
    d = len(sizes)
    if d == 1:
        _check_whole(answers, (), "one row of whole numbers")
    else:
        _check_whole(answers, (d,), f"rows of {d} whole numbers")
    for column, k in zip(answers.reshape(-1, d).T, sizes, strict=True):
        _check_range(column, k, "a position")
    return answers.astype(np.int64, copy=False)


def ticks(answers: AnswerArray, k: int, maximum: int) -> Booleans:
    """Returns ``answers`` unchanged: which of k options each of n people ticked, booleans of shape
    (n, k). Raises BadAnswer for another shape or type, or if an answer has more than ``maximum``
    ticks."""
    if answers.ndim != 2 or answers.dtype != np.bool_ or answers.shape[1] != k:
        raise BadAnswer(f"many answers are rows of {k} booleans")
    if maximum < k and np.count_nonzero(answers, axis=1).max(initial=0) > maximum:
        raise BadAnswer(f"an answer has at most {maximum} ticks")
    return answers


def _check_whole(answers: AnswerArray, each: tuple[int, ...], what: str) -> None:
    if answers.ndim < 1 or answers.shape[1:] != each or answers.dtype.kind not in "iu":
        raise BadAnswer(f"many answers are {what}")


def _check_range(answers: AnswerArray, k: int, what: str) -> None:
    if answers.size and not 0 <= answers.min() <= answers.max() < k:
        raise BadAnswer(f"an answer is {what}, from 0 to {k - 1}")
