"""The vectors are what the reference says today, and the reference is nobody's copy."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
VECTORS = TESTS.parent / "shared/vectors"
REFERENCE = (
    *("reference.py", "reference_definition.py", "reference_ledger.py", "reference_waves.py"),
    *("vector_cases.py", "definition_cases.py", "ledger_cases.py", "wave_cases.py"),
    *("reference_register.py", "register_cases.py"),
)


def test_the_vector_files_are_what_the_reference_generates_today() -> None:
    import vector_cases

    generated = vector_cases.files()

    assert sorted(generated) == sorted(path.name for path in VECTORS.glob("*.json"))
    stale = [
        name for name, text in generated.items() if text != (VECTORS / name).read_text("utf-8")
    ]
    assert stale == []


@pytest.mark.parametrize("name", REFERENCE)
def test_the_reference_shares_no_code_with_what_it_judges(name: str) -> None:
    imported = {
        module.partition(".")[0]
        for node in ast.walk(ast.parse((TESTS / name).read_text(encoding="utf-8")))
        for module in _modules(node)
    }
    assert not {module for module in imported if module.startswith("deniably")}


@pytest.mark.parametrize("path", sorted(VECTORS.glob("*.json")), ids=lambda path: path.stem)
def test_a_vector_file_has_the_promised_envelope(path: Path) -> None:
    file = json.loads(path.read_text(encoding="utf-8"))
    tests = [test for group in file["groups"] for test in group["tests"]]
    assert (file["spec"], file["name"]) == (1, path.stem)
    assert [test["id"] for test in tests] == list(range(1, file["numberOfTests"] + 1))
    assert {test["result"] for test in tests} <= {"valid", "invalid"}
    assert {flag for test in tests for flag in test["flags"]} <= set(file["notes"])
    assert path.stem in ("channels", "omega", "totals") or {test["result"] for test in tests} == {
        "valid",
        "invalid",
    }


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []
