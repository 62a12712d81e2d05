"""The generated pages say what the code says today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import reference
from support.pages import GENERATED, PAGES, ROOT


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return reference.pages()


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_page_is_fresh(made: dict[str, str], name: str) -> None:
    assert PAGES[name] == made[name], f"{name} is out of date: run `{reference.COMMAND}`"


def test_the_command_that_renews_them_is_there_and_writes_them(
    made: dict[str, str], tmp_path: Path
) -> None:
    target, name = reference.COMMAND.split()
    recipe = re.search(rf"^{name}:.*\n\t(.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert target == "make"
    assert recipe
    assert recipe[1].endswith(f"-m {reference.__name__}")

    reference.write(tmp_path)

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == made
    assert set(made) == set(GENERATED)
