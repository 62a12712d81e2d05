"""make mutants tries every module that promises something, and tells what survived."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PROMISING = (
    "server/deniably_server/guard/*.py",
    "server/deniably_server/storage/writing/*.py",
    "shared/deniably/device/ledger.py",
    "shared/deniably/estimation/intervals.py",
    "shared/deniably/results/plausibility.py",
    "shared/deniably/results/poisoning.py",
)


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", ROOT / ".ci/mutants.py")
    assert spec
    assert spec.loader
    module = sys.modules["mutants"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_module_that_promises_something_is_tried(mutants: ModuleType) -> None:
    wanted = {path for pattern in PROMISING for path in ROOT.glob(pattern)}
    tried = [path for each in mutants.entries().values() for module in each.modules
             for path in ROOT.glob(module)]  # fmt: skip

    assert len(wanted) > 15
    assert len(tried) == len(set(tried)), "each once"
    assert wanted - set(tried) == {path for path in wanted if path.name == "__init__.py"} - set(
        tried
    )


def test_every_test_that_is_to_notice_is_there(mutants: ModuleType) -> None:
    for entry in mutants.entries().values():
        assert entry.tests
        for test in entry.tests:
            path, _, name = test.partition("::")
            assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
            assert (ROOT / path).is_file()


def test_every_exception_has_its_reason(mutants: ModuleType) -> None:
    for entry in mutants.entries().values():
        for each in entry.equivalent:
            assert re.fullmatch(r"[A-Z0-9].{10,}\.", each.why), each


def test_survivors_count_unless_an_exception_explains_them(mutants: ModuleType) -> None:
    equal = mutants.Equivalent(re.compile(r"\+ a >= b"), "They are never equal.")
    entry = mutants.Entry("some", (), (), equivalent=(equal,))
    changes = {"x_1": "- a > b\n+ a >= b", "x_2": "- a + b\n+ a - b"}

    result = mutants.judge(entry, 19, changes)

    assert (result.share, result.good) == (0.95, True)
    assert mutants.report(entry, result, 7.4) == (
        "x_2\n- a + b\n+ a - b\n\nsome: 19 of 20 killed, 95.0% (1 equivalent, 7 s)"
    )
    assert not mutants.judge(entry, 18, changes).good
    assert not mutants.judge(entry, 0, {}).good, "nothing was tried"


def test_an_exception_for_no_mutant_is_a_fault(mutants: ModuleType) -> None:
    old = mutants.Equivalent(re.compile("gone"), "It is not there any more.")
    entry = mutants.Entry("some", (), (), equivalent=(old,))

    result = mutants.judge(entry, 100, {})

    assert not result.good
    assert "no mutant needs the exception gone" in mutants.report(entry, result, 1)


@pytest.mark.skipif(
    not shutil.which("mutmut", path=Path(sys.executable).parent), reason="make mutants installs it"
)
@pytest.mark.slow
def test_a_change_that_no_test_notices_is_found(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packages of our layout, with a test that looks at one of two functions."""
    for package in mutants.PACKAGES:
        (tmp_path / package).mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
    body = "def seen(a, b):\n    return a + b\n\n\ndef missed(a, b):\n    return a < b\n"
    (tmp_path / "shared/deniably/sums.py").write_text(body)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_sums.py").write_text(
        "from deniably.sums import missed, seen\n\n"
        "def test_it():\n    assert seen(2, 3) == 5\n    assert missed(2, 3)\n"
    )
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\n'
    )
    config = tmp_path / "mutants.toml"
    config.write_text(
        '[sums]\nmodules = ["shared/deniably/sums.py"]\ntests = ["tests/test_sums.py"]\n'
    )
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "BUILD", tmp_path / "build")
    (entry,) = mutants.entries(config).values()

    result = mutants.measure(entry)

    assert (result.killed, result.good) == (1, False)
    assert list(result.survivors.values()) == ["- return a < b\n+ return a <= b"]
