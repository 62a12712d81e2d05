"""The JavaScript modules as Node runs them, without a page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
WEB = TESTS.parent / "client/deniably_client/web"


PACKAGE = "package.json"
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_IMPORTED = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']+)["']""")


def importers(imports: Mapping[Path, Set[Path]], module: Path) -> set[Path]:
    """A module, and all that import it, or what imports it."""
    found, new = set[Path](), {module}
    while new:
        found |= new
        new = {each for each, those in imports.items() if those & new} - found
    return found


class ModuleFolder:
    """A folder of modules, and beside it others with a mistake."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._changed = 0

    @contextmanager
    def planted(self, module: str, *changes: tuple[str, str]) -> Iterator[Path]:
        """A folder of the same modules, one of them with changes: (a text, its replacement).

        Those that do not import it, nor what imports it, are links: Node has them already.
        """
        self._changed += 1
        folder = self.folder.with_name(f"changed{self._changed}")
        (changed,) = self.folder.glob(f"*/{module}")
        source = changed.read_text(encoding="utf-8")
        for text, replacement in changes:
            assert source.count(text) == 1, f"not exactly once in {module}: {text}"
            source = source.replace(text, replacement)
        anew = importers(self._imports, changed)
        for old in self._imports:
            new = folder / old.relative_to(self.folder)
            new.parent.mkdir(parents=True, exist_ok=True)
            if old == changed:
                new.write_text(source, encoding="utf-8")
            elif old in anew:
                new.hardlink_to(old)
            else:
                new.symlink_to(old)
        (folder / PACKAGE).hardlink_to(self.folder / PACKAGE)
        yield folder
        shutil.rmtree(folder)

    @cached_property
    def _imports(self) -> dict[Path, set[Path]]:
        """Each module, and what it imports, at once or when it is needed."""
        return {
            module: {(module.parent / found).resolve() for found in _IMPORTED.findall(text)}
            for module in self.folder.rglob("*.js")
            for text in [_COMMENT.sub("", module.read_text(encoding="utf-8"))]
        }


class Modules(ModuleFolder):
    """One process for many questions."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        super().__init__(folder)
        self._process = process

    def run(self, body: str, given: object = None) -> Any:
        """The value of an async function of ``given``, or the error's name and text."""
        return self._ask(folder=str(self.folder), body=body, given=given)

    def compute(self, body: str, given: object = None) -> Any:
        """Like ``run``, but quicker, in a shared thread: for a body that changes nothing."""
        return self._ask(folder=str(self.folder), body=body, given=given, computes=True)

    def vectors(
        self, path: Path, folder: Path | None = None, most: int | None = None, first: int = 0
    ) -> Any:
        """[how many cases ran, what failed]; stops at ``most`` failures. The case of the id
        ``first`` then runs before the others."""
        limit = {} if most is None else {"most": most, "first": first}
        return self._ask(folder=str(folder or self.folder), vectors=str(path), **limit)

    def _ask(self, **question: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        assert "broken" not in found, found["broken"]
        return found.get("value")


@contextmanager
def the_modules(folder: Path) -> Iterator[Modules]:
    """The modules as they are shipped, the consumer of the vectors, and the faults that tests of
    the auditor plant, in ``folder``."""
    node = shutil.which("node")
    assert node, "The tests of the modules need Node.js."
    shipped = folder / "shipped"
    for module in WEB.glob("*/*.js"):
        (shipped / module.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module, shipped / module.parent.name / module.name)
    shutil.copyfile(TESTS / "audit/faults.js", shipped / "audit/faults.js")
    consumer = (TESTS / "vectors/consume.js").read_text(encoding="utf-8")
    (shipped / "consume.js").write_text(consumer.replace('from "/', 'from "./'), encoding="utf-8")
    (shipped / PACKAGE).write_text('{"type": "module"}')
    command = [node, str(Path(__file__).with_suffix(".mjs"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield Modules(process, shipped)
        assert process.stdin
        process.stdin.close()
