"""The exact law of bulk randomisation: the same code, on draws that are walked branch by branch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pytest

from deniably.core.coins import Coins
from deniably.mechanisms import Cells, Mechanism, SetResponse, SubsetSelection, Unary
from deniably.simulation.bulk import (
    noise,
    ordered,
    picks,
    randomise_many,
    several_choices,
    single_choice,
    uniform,
)

MODULES = (noise, ordered, picks, several_choices, single_choice)


def all_bytes_from(monkeypatch: pytest.MonkeyPatch, source: Callable[[int], bytes]) -> None:
    """Bulk code takes few bytes and many from ``source``."""
    monkeypatch.setattr(uniform, "urandom", source)
    monkeypatch.setattr(uniform, "stream", source)


@contextmanager
def drawing(coins: Coins) -> Iterator[None]:
    """Bulk code draws from ``coins``, one element after the other."""

    def below(n: int, size: int) -> npt.NDArray[np.uint64]:
        return np.array([coins.below(n) for _ in range(size)], dtype=np.uint64)

    def signed_below(n: int, size: int) -> npt.NDArray[np.int64]:
        return below(n, size).astype(np.int64)

    def heads(weight: int, total: int, size: int) -> npt.NDArray[np.bool_]:
        flips = [coins.choose((weight, total - weight)) == 0 for _ in range(size)]
        return np.array(flips, dtype=np.bool_)

    def chance(numerators: npt.NDArray[np.int64], d: int) -> npt.NDArray[np.bool_]:
        return np.array([coins.chance(n, d) for n in numerators.tolist()], dtype=np.bool_)

    given: dict[str, Callable[..., object]] = {
        function.__name__: function for function in (below, signed_below, heads, chance)
    }
    before = [
        (module, name, getattr(module, name))
        for module in MODULES
        for name in given
        if hasattr(module, name)
    ]
    try:
        for module, name, _ in before:
            setattr(module, name, given[name])
        yield
    finally:
        for module, name, function in before:
            setattr(module, name, function)


def one_report(mechanism: Mechanism, answer: object, coins: Coins) -> Cells:
    """The report that bulk code makes of one answer with these coins."""
    with drawing(coins):
        return listed(mechanism, randomise_many(mechanism, np.array([answer])))[0]


def listed(mechanism: Mechanism, reports: npt.NDArray[np.generic]) -> list[Cells]:
    """Reports in bulk as devices write them."""
    if not isinstance(mechanism, SubsetSelection | SetResponse | Unary):
        return [tuple(np.ravel(row).tolist()) for row in reports]
    bits = np.unpackbits(np.asarray(reports, dtype=np.uint8), axis=1, bitorder="little")
    assert not bits[:, mechanism.law.cell_count :].any()
    return [tuple(np.flatnonzero(row).tolist()) for row in bits]
