"""Finds equal rows of a regression, which an estimator then computes once, with their number."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from deniably.core.binomial import Floats
from deniably.workbench.models.fit import Ints

_TRIED = 2_000  # the first rows, which tell whether grouping pays
_FEW = 0.5


class Alike(NamedTuple):
    """The distinct rows of a regression: ``first`` has the number of the first row of each, and
    ``times`` how many rows are equal to it."""

    first: Ints
    times: Floats


def alike(*columns: Floats, apart: bool = False) -> Alike:
    """Finds the distinct rows of n rows. Each of ``columns`` has shape (n,), or is a single number
    for all rows.

    Equal rows are not searched for, and every row counts as distinct, if ``apart`` is set, or if
    most of the first 2,000 rows differ.
    """
    varying = [column for column in columns if column.ndim]
    n = len(varying[0])
    some = _kinds([column[:_TRIED] for column in varying])
    if apart or some.max(initial=0) + 1 > _FEW * len(some):
        return Alike(np.arange(n), np.ones(n))
    kinds = _kinds(varying)
    first = np.empty(kinds.max() + 1, np.int64)
    first[kinds[::-1]] = np.arange(n)[::-1]
    return Alike(first, np.bincount(kinds).astype(np.float64))


def _kinds(columns: list[Floats]) -> Ints:
    """Returns the number of each row's distinct row, in order of appearance."""
    from pandas import factorize

    kinds = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, distinct = factorize(column)
        if len(distinct) > 1:
            # Numbered again after each column: the product of many would overflow.
            kinds = factorize(kinds * len(distinct) + values)[0]
    return cast(Ints, kinds)
