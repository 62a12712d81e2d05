"""The modules that respondents load do what the shared vectors say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.modules import Modules

VECTORS = Path(__file__).parents[2] / "shared/vectors"
DEVICE = (
    *("coins", "subset_selection", "channels", "mechanisms"),
    *("canonical", "claims", "definitions", "answers", "totals", "ledger", "waves", "strata"),
    *("signatures", "registers", "listings", "blind_rsa", "codes", "envelopes"),
)
# A device neither chooses omega nor estimates: that is for authors and analysts, in Python.
# Report sets are for those who have the reports of many, in Python as well. What blanks hide is for
# authors and mixers. No device reads a mixer's statement yet.
NOT_ON_A_DEVICE = ("estimates", "omega", "report_sets", "blanks", "mixing")
# What they say hangs on the cryptography and the encodings of the browser itself.
OF_THE_BROWSER = (*("canonical", "signatures", "registers", "listings", "blind_rsa", "envelopes"),)


@pytest.mark.parametrize("name", DEVICE)
def test_every_case_of_a_vector_file_holds_in_javascript(name: str, modules: Modules) -> None:
    path = VECTORS / f"{name}.json"

    ran, failures = modules.vectors(path)

    assert failures == []
    assert ran == json.loads(path.read_text(encoding="utf-8"))["numberOfTests"] > 0


@pytest.mark.browser
@pytest.mark.parametrize("name", OF_THE_BROWSER)
def test_every_case_holds_in_chromium(
    name: str, web_url: str, failing_vectors: Callable[[str, str], list[str]]
) -> None:
    assert failing_vectors(web_url, name) == []


def test_no_vector_file_is_forgotten() -> None:
    assert sorted(DEVICE + NOT_ON_A_DEVICE) == sorted(path.stem for path in VECTORS.glob("*.json"))
