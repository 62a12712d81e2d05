"""The benchmark itself runs; what it measures gates nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")


# How many sections each part prints.
PARTS = {
    "speed": 5, "accuracy": 1, "shares": 1, "means": 3, "lab": 1, "service": 3, "phone": 1,
    "hammered": 1,
}  # fmt: skip


def quick(*arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, RUN, "--quick", *arguments],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "goals met" in run.stdout
    return run.stdout


def sections(shown: str) -> list[str]:
    return [line[:3] for line in shown.splitlines() if line[1:3] == ". "]


def expected(count: int) -> list[str]:
    return [f"{letter}. " for letter in "abcdefghijklmnop"[:count]]


@pytest.mark.slow
def test_a_quick_run_prints_every_section() -> None:
    shown = quick()

    assert sections(shown) == expected(sum(PARTS.values()))
    assert "not measured: Chromium" not in shown
    assert len(re.findall(r"one and the same: .*[\d,]+ times 200", shown)) == 1
    assert len(re.findall(r"all different: .*[\d,]+ times 200", shown)) == 1


@pytest.mark.slow
def test_a_part_that_is_named_is_measured_alone() -> None:
    shown = quick("--only", "shares")

    assert sections(shown) == expected(PARTS["shares"])
    assert "Squared error of shares for display" in shown


def test_no_part_of_the_benchmark_is_forgotten() -> None:
    shown = subprocess.run([sys.executable, RUN, "--help"], capture_output=True, text=True)

    assert f"{{{','.join(PARTS)}}}" in "".join(shown.stdout.split())


@pytest.mark.slow
def test_a_steady_load_of_seconds_says_what_it_is_for() -> None:
    steady = RUN.with_name("steady.py")
    run = subprocess.run(
        [sys.executable, steady, "--minutes", "0.01", "--rate", "40"],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    for figure in ("99 of 100 within, against the bare route", "memory at the end", "growth"):
        assert figure in run.stdout
