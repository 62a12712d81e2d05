"""The vectors are what the reference says today, and the reference is nobody's copy."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from spec.files import MAKERS, text
from support.cases import for_each
from support.thorough import thorough

TESTS = Path(__file__).parents[1]
VECTORS = TESTS.parent / "shared/vectors"
SHIPPED = TESTS.parent / "shared/deniably/reference"
REFERENCE = sorted([*SHIPPED.glob("*.py"), *(TESTS / "spec").rglob("*.py")])
COSTLY = ("blanks", "envelopes")
"""Files that take the longest to make."""


def test_every_vector_file_is_made_by_the_reference() -> None:
    assert sorted(MAKERS) == sorted(path.stem for path in VECTORS.glob("*.json"))


@pytest.mark.parametrize("name", [thorough(name) if name in COSTLY else name for name in MAKERS])
def test_a_vector_file_is_what_the_reference_generates_today(name: str) -> None:
    assert text(name) == (VECTORS / f"{name}.json").read_text("utf-8")


@for_each("path", REFERENCE, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_reference_shares_no_code_with_what_it_judges(path: Path) -> None:
    imported = {
        module if module.startswith("deniably") else module.partition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for module in _modules(node)
    }
    own = {f"deniably.reference.{one.stem}" for one in SHIPPED.glob("*.py")}
    spec = {"spec"} if path.parent != SHIPPED else set()

    assert imported <= {"mpmath", *own, *spec, *sys.stdlib_module_names}


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
