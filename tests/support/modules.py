"""The JavaScript modules as Node runs them, without a page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
WEB = TESTS.parent / "client/deniably_client/web"


class Modules:
    """One process for many questions."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process, self._folder = process, folder
        self._changed = 0

    def run(self, body: str, given: object = None) -> Any:
        """The value of an async function of ``given``, or the error's name and text."""
        return self._ask(folder=str(self._folder), body=body, given=given)

    def compute(self, body: str, given: object = None) -> Any:
        """The same of what only computes: without a thread of its own, which takes longer."""
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
        """A folder of the same modules with a mistake in one of them."""
        self._changed += 1
        folder = self._folder.with_name(f"changed{self._changed}")
        shutil.copytree(self._folder, folder, copy_function=os.link)
        (changed,) = folder.glob(f"*/{module}")
        source = changed.read_text(encoding="utf-8")
        assert source.count(text) == 1, f"not exactly once in {module}"
        changed.unlink()  # it is a link to what the other folders have
        changed.write_text(source.replace(text, replacement), encoding="utf-8")
        yield folder
        shutil.rmtree(folder)

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
    (shipped / "package.json").write_text('{"type": "module"}')
    command = [node, str(Path(__file__).with_suffix(".mjs"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield Modules(process, shipped)
        assert process.stdin
        process.stdin.close()
