"""The examples in docstrings run, with the results that they show."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("shared/deniably", "client/deniably_client", "server/deniably_server")


def modules() -> Iterator[tuple[str, str]]:
    """The name and the text of every module."""
    for package in PACKAGES:
        folder = ROOT / package
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder.parent).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name, text in modules() if ">>> " in text])
def test_examples_in_docstrings_run(name: str) -> None:
    failed, tried = doctest.testmod(import_module(name))

    assert tried > 0
    assert failed == 0


def test_an_example_with_another_result_fails() -> None:
    def half(number: int) -> float:
        """Half of it.

        >>> half(3)
        1.0
        """
        return number / 2

    (example,) = doctest.DocTestFinder().find(half, globs={"half": half})

    assert doctest.DocTestRunner(verbose=False).run(example, out=lambda _: None).failed == 1
