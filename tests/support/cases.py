"""Many cases as one test: for enumerations, of which nobody reads each case by its name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def for_each(
    names: str | tuple[str, ...],
    cases: Iterable[Any],
    ids: Callable[[Any], object] | Iterable[object] = repr,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As ``pytest.mark.parametrize``, but all cases are one test, with the same fixtures.

    A test of its own costs some milliseconds, and its fixtures more. The failure names its case.
    """
    those, many = ((names,), False) if isinstance(names, str) else (names, True)
    found = list(cases)
    called = list(map(ids, found)) if callable(ids) else list(ids)
    assert found, "no cases"

    def of_all(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def tests(**fixtures: Any) -> None:
            for case, name in zip(found, called, strict=True):
                try:
                    test(**fixtures, **dict(zip(those, case if many else (case,), strict=True)))
                except BaseException as error:
                    error.add_note(f"in the case {name}")
                    raise

        whole = inspect.signature(test)
        rest = [one for name, one in whole.parameters.items() if name not in those]
        assert len(rest) == len(whole.parameters) - len(those), names
        tests.__signature__ = whole.replace(parameters=rest)  # type: ignore[attr-defined]
        return tests

    return of_all
