"""The benchmark itself runs; what it measures gates nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.nursery import the_nursery

pytestmark = pytest.mark.thorough

RUN = Path(__file__).with_name("run.py")
# In a process that has imported everything already, as have those of Python that it begins.
PROGRAM = f"""import os, runpy, subprocess, sys, traceback
del sys.argv[0]
sys.path.insert(0, {str(RUN.parent)!r})

class Forked(subprocess.Popen):
    def __init__(self, command, **more):
        command = list(map(str, command))
        if command[0] == sys.executable:
            sys.stdout.flush()
            more["preexec_fn"] = lambda: be(command[1:])
        super().__init__(command, **more)

def be(command):
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    status = 0
    try:
        if command[0] == "-c":
            sys.argv = ["-c", *command[2:]]
            exec(command[1], {{"__name__": "__main__"}})
        elif command[0] == "-m":
            sys.argv = command[1:]
            runpy.run_module(sys.argv[0], run_name="__main__")
        else:
            sys.argv = command
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        status = ended.code or 0
    except BaseException:
        status = 1
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)

subprocess.Popen = Forked
runpy.run_path(sys.argv[0], run_name="__main__")"""


# How many sections each part prints.
PARTS = {
    "speed": 5, "accuracy": 1, "shares": 1, "means": 3, "regressions": 1, "exports": 2,
    "report-sets": 1, "unit-costs": 1, "lab": 1, "service": 3, "authors": 1, "servers": 2,
    "phone": 1, "mixer": 1, "hammered": 1,
}  # fmt: skip


def shown_by(out: Path, *arguments: str | Path) -> str:
    process = the_nursery().begin_program(PROGRAM, list(map(str, arguments)), out)
    assert process.wait(timeout=280) == 0, out.read_text()
    return out.read_text()


def quick(out: Path, *arguments: str) -> str:
    shown = shown_by(out, RUN, "--quick", *arguments)
    assert "goals met" in shown
    return shown


def sections(shown: str) -> list[str]:
    return [line[:3] for line in shown.splitlines() if line[1:3] == ". "]


def expected(count: int) -> list[str]:
    return [f"{letter}. " for letter in "abcdefghijklmnopqrstuvwxyz"[:count]]


@pytest.mark.slow
def test_a_quick_run_prints_every_section(tmp_path: Path) -> None:
    shown = quick(tmp_path / "out")

    assert sections(shown) == expected(sum(PARTS.values()))
    assert "not measured: Chromium" not in shown
    assert len(re.findall(r"one and the same: .*[\d,]+ times 200", shown)) == 1
    assert len(re.findall(r"all different: .*[\d,]+ times 200", shown)) == 1


@pytest.mark.slow
def test_a_part_that_is_named_is_measured_alone(tmp_path: Path) -> None:
    shown = quick(tmp_path / "out", "--only", "shares")

    assert sections(shown) == expected(PARTS["shares"])
    assert "Squared error of shares for display" in shown


def test_no_part_of_the_benchmark_is_forgotten(tmp_path: Path) -> None:
    shown = shown_by(tmp_path / "out", RUN, "--help")

    assert f"{{{','.join(PARTS)}}}" in "".join(shown.split())


@pytest.mark.slow
def test_a_steady_load_of_seconds_says_what_it_is_for(tmp_path: Path) -> None:
    steady = RUN.with_name("steady.py")
    shown = shown_by(tmp_path / "out", steady, "--minutes", "0.01", "--rate", "40")

    for figure in ("99 of 100 within, against the bare route", "memory at the end", "growth"):
        assert figure in shown
