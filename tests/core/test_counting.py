"""One of a thing is not several."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniably.core.counting import counted, people
from deniably.design.delta_rule import delta_warning
from deniably_server.commands.plan import plan


def test_one_is_singular_and_more_have_separators() -> None:
    assert [counted(n, "report") for n in (0, 1, 2, 1000)] == [
        "0 reports", "1 report", "2 reports", "1,000 reports"
    ]  # fmt: skip
    assert [people(n) for n in (0, 1, 2)] == ["0 people", "1 person", "2 people"]


def test_a_plan_that_takes_one_person_says_so(tmp_path: Path) -> None:
    question = {"name": "q", "type": "yes_no", "label": "Q?", "epsilon": 8}
    file = tmp_path / "s.json"
    file.write_text(json.dumps({"name": "s", "title": "T", "questions": [question]}))

    text = " ".join(CliRunner().invoke(plan, [str(file), "--margin", "0.99"]).output.split())

    assert "1 person asked directly" in text
    assert "1 people" not in text


@pytest.mark.parametrize("n", [1, 2])
def test_a_warning_of_delta_speaks_of_one_person(n: int) -> None:
    assert f"of {people(n)}," in delta_warning(Fraction(1, 2), n)
