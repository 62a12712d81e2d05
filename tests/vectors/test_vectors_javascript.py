"""The modules that respondents load, in Chromium, do what the shared vectors say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

VECTORS = Path(__file__).parents[2] / "shared/vectors"
DEVICE = (
    *("coins", "subset_selection", "channels", "mechanisms"),
    *("canonical", "claims", "definitions", "answers", "totals", "ledger", "waves"),
    *("signatures", "registers", "blind_rsa", "codes"),
)
# A device neither chooses omega nor estimates: that is for authors and analysts, in Python.
NOT_ON_A_DEVICE = ("estimates", "omega")


@pytest.mark.browser
@pytest.mark.parametrize("name", DEVICE)
def test_every_case_of_a_vector_file_holds_in_javascript(
    name: str, web_url: str, failing_vectors: Callable[[str, str], list[str]]
) -> None:
    assert failing_vectors(web_url, name) == []


def test_no_vector_file_is_forgotten() -> None:
    assert sorted(DEVICE + NOT_ON_A_DEVICE) == sorted(path.stem for path in VECTORS.glob("*.json"))
