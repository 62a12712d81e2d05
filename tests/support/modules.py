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


class Modules:
    """One process for many questions."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process, self._folder = process, folder.resolve()
        self._changed = 0

    def run(self, body: str, given: object = None) -> Any:
        """The value of an async function of ``given``, or the error's name and text."""
        return self._ask(folder=str(self._folder), body=body, given=given)

    def compute(self, body: str, given: object = None) -> Any:
        """Like ``run``, but quicker, in a shared thread: for a body that changes nothing."""
        return self._ask(folder=str(self._folder), body=body, given=given, computes=True)

    def vectors(
        self, path: Path, folder: Path | None = None, most: int | None = None, first: int = 0
    ) -> Any:
        """[how many cases ran, what failed]; stops at ``most`` failures. The case of the id
        ``first`` then runs before the others."""
        limit = {} if most is None else {"most": most, "first": first}
        return self._ask(folder=str(folder or self._folder), vectors=str(path), **limit)

    @contextmanager
    def planted(self, module: str, text: str, replacement: str) -> Iterator[Path]:
        """A folder of the same modules with a mistake in one of them.

        Those that do not import it, nor what imports it, are links: Node has them already.
        """
        self._changed += 1
        folder = self._folder.with_name(f"changed{self._changed}")
        (changed,) = self._folder.glob(f"*/{module}")
        source = changed.read_text(encoding="utf-8")
        assert source.count(text) == 1, f"not exactly once in {module}"
        anew = importers(self._imports, changed)
        for old in self._imports:
            new = folder / old.relative_to(self._folder)
            new.parent.mkdir(parents=True, exist_ok=True)
            if old == changed:
                new.write_text(source.replace(text, replacement), encoding="utf-8")
            elif old in anew:
                new.hardlink_to(old)
            else:
                new.symlink_to(old)
        (folder / PACKAGE).hardlink_to(self._folder / PACKAGE)
        yield folder
        shutil.rmtree(folder)

    @cached_property
    def _imports(self) -> dict[Path, set[Path]]:
        """Each module, and what it imports, at once or when it is needed."""
        return {
            module: {(module.parent / found).resolve() for found in _IMPORTED.findall(text)}
            for module in self._folder.rglob("*.js")
            for text in [_COMMENT.sub("", module.read_text(encoding="utf-8"))]
        }

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
