"""The random bytes that the tests' own process is given: the same in every run.

What the software promises of chance is tested against bounds; with thousands of tests, some bound
would be missed now and then all the same. So the two places through
which Python asks the operating system answer here from a stream that begins anew, by its name, with
every module, fixture and test. Whatever is drawn in another process (a command, a browser) is
chance. ``make soak`` leaves the system alone.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

systems_own = os.urandom
"""For names that two runs side by side must not share."""

_drawn = random.Random("before any test")


def _same(size: int, /) -> bytes:
    return _drawn.randbytes(size)


def _install() -> None:
    """From now on this process, and what it forks, draws from the stream."""
    os.urandom = _same
    setattr(import_module("random"), "_urandom", _same)  # noqa: B010
    # A child goes another way than its parent and every other child, as with the system's bytes.
    os.register_at_fork(
        before=lambda: _same(8) and None, after_in_child=lambda: _begin(_same(8).hex())
    )


def _begin(name: str) -> None:
    global _drawn
    _drawn = random.Random(name)


@contextmanager
def same_bytes(name: str) -> Iterator[None]:
    """Within it the stream of this name is drawn from; afterwards the one of before goes on."""
    global _drawn
    before = _drawn
    _begin(name)
    yield
    _drawn = before


def drawn_once(function: Callable[P, T]) -> Callable[P, T]:
    """``functools.cache`` whose values do not depend on the test that asked for them first.

    Arguments that are neither text nor whole numbers (a folder of this run) do not name a stream.
    """

    @cache
    @wraps(function)
    def drawn(*arguments: Any, **named: Any) -> T:
        told = [given for given in (*arguments, *named.values()) if isinstance(given, str | int)]
        with same_bytes(f"{function.__module__}.{function.__qualname__} {told}"):
            return function(*arguments, **named)

    return drawn  # type: ignore[return-value]


if os.environ.get("HYPOTHESIS_PROFILE") != "soak":
    _install()
