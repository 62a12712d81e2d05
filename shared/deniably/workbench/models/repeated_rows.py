"""Rows of a regression that are alike, which an estimator takes once, with their number."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from deniably.core.binomial import Floats
from deniably.workbench.models.fit import Ints

_TRIED = 2_000
_FEW = 0.5


class Alike(NamedTuple):
    """The first row of each kind, and how many rows are of that kind; both (kinds,)."""

    first: Ints
    times: Floats


def alike(*columns: Floats, apart: bool = False) -> Alike:
    """Groups equal rows of these columns, each (n,) or a number that all rows share.

    With ``apart``, and where most rows differ, as the first 2,000 show, each row is a kind of its
    own.
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
    """The number of each row's kind, in order of appearance."""
    from pandas import factorize

    kinds = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, distinct = factorize(column)
        if len(distinct) > 1:
            kinds = factorize(kinds * len(distinct) + values)[0]
    return cast(Ints, kinds)
