"""The rooms of the web client: who imports whom is what their README says."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from conftest import TESTS, WEB
from support.cases import for_each

ROOM = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([\w, ]*)\|$", re.MULTILINE)
FILE = re.compile(r"""["'](\.{1,2}/[^"']+)["']""")
"""Whatever is imported, at once or late, code or type, is named by a path that starts so."""

ROOMS = {
    name: set(re.findall(r"\w+", allowed))
    for name, _, allowed in ROOM.findall((WEB / "README.md").read_text(encoding="utf-8"))
}
MODULES = sorted(path for path in WEB.rglob("*") if path.suffix in (".js", ".ts"))


def wrong(module: Path, text: str) -> list[str]:
    """The paths in a module's text that lead out of the rooms that it may import."""
    reached = [(path, (module.parent / path).resolve()) for path in FILE.findall(text)]
    allowed = ROOMS[module.parent.name] | {module.parent.name}
    return [path for path, file in reached if file.parent not in {WEB / each for each in allowed}]


def test_every_file_of_the_web_client_is_in_a_room_with_a_law() -> None:
    assert {path.name for path in WEB.iterdir()} == {*ROOMS, "README.md"}
    assert {path.parent for path in WEB.glob("*/*")} == {WEB / room for room in ROOMS}
    assert len(MODULES) > 50


@for_each("module", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_module_imports_only_what_its_room_may(module: Path) -> None:
    assert wrong(module, module.read_text(encoding="utf-8")) == []


def test_no_room_imports_one_above_it() -> None:
    order = list(ROOMS)

    for room, allowed in ROOMS.items():
        assert allowed <= set(order[: order.index(room)]), room


@pytest.mark.parametrize(
    "line",
    [
        'import { encode } from "../survey/questions.js";',
        'const late = () => import("../form/form.js");',
        '/** @import { Definition } from "../survey/types.js" */',
        'import a from "../../../elsewhere.js";',
    ],
)
def test_every_way_of_importing_is_seen(line: str) -> None:
    assert wrong(WEB / "mechanisms/ticks.js", line)


def test_a_module_is_found_by_its_name_alone() -> None:
    names = Counter(path.name for path in MODULES if path.suffix == ".js")

    assert max(names.values()) == 1


EXPORT = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)", re.MULTILINE)


@cache
def importers() -> dict[Path, str]:
    """Whatever may import a module, with its text."""
    return {
        path: path.read_text(encoding="utf-8")
        for folder in (WEB, TESTS)
        for path in folder.rglob("*")
        if path.suffix in (".js", ".mjs", ".ts", ".py")
    }


@for_each("module", [path for path in MODULES if path.suffix == ".js"], ids=lambda path: path.name)
def test_a_module_exports_only_what_somebody_imports(module: Path) -> None:
    others = [
        set(re.findall(r"\w+", text))
        for path, text in importers().items()
        if path != module and f"/{module.name}" in text
    ]
    exported = set(EXPORT.findall(module.read_text(encoding="utf-8")))

    assert exported <= set().union(*others)
