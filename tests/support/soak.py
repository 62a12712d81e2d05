"""What only ``make soak`` tries: long repetitions, whose worst case ``make test`` tries."""

from __future__ import annotations

from typing import Any

import pytest


def soak(*values: object) -> Any:
    """A case of a parametrised test that only ``make soak`` tries."""
    return pytest.param(*values, marks=pytest.mark.soak)


def all_but(kept: object, cases: list[Any]) -> list[Any]:
    """These cases; those that are not among the ``kept`` are for ``make soak``."""
    return [case if case in kept else soak(case) for case in cases]  # type: ignore[operator]
