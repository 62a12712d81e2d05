"""A type of question is a class, what its author writes, its results, and SPEC in two languages.

One that the package does not have is planted in a copy, in the files that CONTRIBUTING names, and
goes through everything as it stands.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import planted_question
from support.planted_question import ROOMS, TARGETS, plant


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("copy")
    plant(folder)
    paths = os.pathsep.join(str(folder / Path(room).parent) for room in ROOMS)
    done = subprocess.run(
        [sys.executable, planted_question.__file__],
        cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("target", TARGETS)
def test_every_format_shows_it(shown: dict[str, str], target: str) -> None:
    name = "Disagree" if "METHODS" not in target else "Do you agree?"

    assert name in shown[target], shown[target][:500]


def test_it_is_of_its_own_type(shown: dict[str, str]) -> None:
    document = json.loads(shown["/api/surveys/new/results"])

    assert [one["type"] for one in document["questions"]] == ["agreement", "yes_no"]


def test_a_notebook_and_a_plan_take_it(shown: dict[str, str]) -> None:
    for what in ("estimate", "difference", "simulated"):
        assert "Agree" in shown[what]
    assert shown["planned"] == "a"


def test_devices_of_both_languages_pass_the_audit(shown: dict[str, str]) -> None:
    assert shown["fault"] == "None"
    assert all(int(reports) > 0 for reports in shown["reports"].split())
