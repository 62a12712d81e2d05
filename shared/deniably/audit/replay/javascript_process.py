"""Replays JavaScript in a second process: with two cores an audit takes half the time.

Node and the comparison of what it sends with the reference take about as long as Python's.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, cast

from deniably.audit.replay.replaying import Replays, Tally, replay
from deniably.audit.replay.scenarios import Definition


class JavaScriptProcess:
    """A separate process that replays JavaScript devices, as a context manager.

    It starts when the object is made, and is killed at the end of the context.
    """

    def __init__(
        self,
        definition: Definition,
        seconds: float,
        *,
        until_enough: bool,
        modules: Path | None,
        walks: Sequence[tuple[str, Sequence[Any]]],
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin is not None
        # Where it has ended already, ``joined`` says so.
        with suppress(BrokenPipeError), self._process.stdin as stdin:
            pickle.dump((definition, seconds, until_enough, modules, walks), stdin)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def joined(self, replays: Replays) -> Replays:
        """Waits for the process; returns ``replays`` with the process's results for JavaScript."""
        assert self._process.stdout is not None
        output = self._process.stdout.read()
        if status := self._process.wait():
            why = f"its process ended with status {status}"
            return replace(replays, javascript=Tally("JavaScript", not_run=why))
        # What this very package wrote a moment ago.
        return replace(replays, javascript=cast(Tally, pickle.loads(output)))  # noqa: S301


def _main() -> None:
    task = pickle.load(sys.stdin.buffer)  # noqa: S301  # from the process that started this one
    definition, seconds, until_enough, modules, walks = task
    replays = replay(
        definition, seconds, until_enough=until_enough, modules=modules,
        languages=["JavaScript"], walks=walks,
    )  # fmt: skip
    pickle.dump(replays.javascript, sys.stdout.buffer)


if __name__ == "__main__":
    _main()
