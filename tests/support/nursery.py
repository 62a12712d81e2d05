"""Server processes in a moment: a process that has imported everything, and forks.

What runs in the fork is the command ``deniably`` with its arguments, whole and unchanged, or a
program of a test's own; only what imports, templates and routes cost, more than a second of CPU, is
spent once. A start takes a tenth of the time so, and a suite can afford hundreds of kills.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

CLOSED = Path("closed")
"""Where errors go that go nowhere, as their descriptor was closed."""


class Nursery:
    """Begins processes. Those that still run at the end are killed."""

    def __init__(self) -> None:
        # What those that are killed leave behind.
        self._litter = tempfile.TemporaryDirectory(prefix="deniably-test-")
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={key: value for key, value in os.environ.items() if "DENIABLY" not in key}
            | {"TMPDIR": self._litter.name},
        )
        self._begun: list[Forked] = []
        self._asking = threading.Lock()

    @property
    def litter(self) -> Path:
        """Their folder for temporary files."""
        return Path(self._litter.name)

    def begin(
        self, arguments: list[str], out: Path, errors: Path | None = None, **changes: object
    ) -> Forked:
        """The command with its arguments, in a session of its own, which writes into ``out``, and
        its ``errors`` there or elsewhere, or nowhere: ``CLOSED``.

        ``changes`` are constants of deniably_server, such as ``sqlite__BUSY_SECONDS=1``; with
        ``jumping=True`` its clock jumps.
        """
        return self._begin(arguments, out, errors=str(errors or out), changes=changes)

    def begin_program(self, program: str, arguments: list[str], out: Path) -> Forked:
        """The text of a program of Python with its arguments. Of what it imports everything is
        there, and nothing was used."""
        return self._begin(arguments, out, program=program)

    def _begin(self, arguments: list[str], out: Path, **more: object) -> Forked:
        order = {"arguments": arguments, "out": str(out), "errors": str(out), "changes": {}} | more
        self._begun.append(Forked(self, self.ask(order)))
        return self._begun[-1]

    def ask(self, order: dict[str, object]) -> int:
        """What became of an order, as a number."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._asking:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())

    def close(self) -> None:
        """End all that it began, and itself."""
        for each in self._begun:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait(30)
        self._process.communicate(timeout=30)
        self._litter.cleanup()


@cache
def the_nursery() -> Nursery:
    """The one of this run, which ends with it."""
    nursery = Nursery()
    atexit.register(nursery.close)
    return nursery


class Forked:
    """A process of a nursery, in the words of subprocess.Popen."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.pid = pid
        self._nursery = nursery
        self._watch = os.pidfd_open(pid)
        self._status: int | None = None

    def poll(self) -> int | None:
        """The exit status; None as long as it runs."""
        return self._status if self._ended(0) else None

    def wait(self, timeout: float) -> int:
        """The exit status, once it has ended."""
        if not self._ended(timeout):
            raise subprocess.TimeoutExpired("deniably", timeout)
        assert self._status is not None
        return self._status

    def terminate(self) -> None:
        """Ask it to stop."""
        os.kill(self.pid, signal.SIGTERM)

    def _ended(self, timeout: float) -> bool:
        if self._status is None and select.select([self._watch], [], [], timeout)[0]:
            os.close(self._watch)
            self._status = self._nursery.ask({"reap": self.pid})
        return self._status is not None


def _modules() -> list[ModuleType]:
    return [each for name, each in sys.modules.items() if name.startswith("deniably_server.")]


def _serve() -> None:
    """Take orders, one a line, and answer each with a number."""
    while line := sys.stdin.readline():
        order = json.loads(line)
        if "reap" in order:
            found = os.waitstatus_to_exitcode(os.waitpid(order["reap"], 0)[1])
        elif not (found := os.fork()):
            if order["changes"].pop("jumping", False):
                jump()
            for name, value in order["changes"].items():
                module, constant = re.split(r"(?<=[a-z])_(?=_?[A-Z])", name)
                (found_in,) = (each for each in _modules() if each.__name__.endswith(f".{module}"))
                setattr(found_in, constant, value)
            _be(order)
        print(found, flush=True)


def _be(order: dict[str, Any]) -> NoReturn:
    """Be what was ordered from now on.

    What an interpreter promises at its end is done: threads are waited for, what was left to the
    end is called, what was written is written. That each module is then taken apart, in memory that
    is shared with all the others, would cost more than all that a server does before.
    """
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    appended = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    out = os.open(order["out"], appended, 0o600)
    closed = order["errors"] == str(CLOSED)
    errors = out if closed else os.open(order["errors"], appended, 0o600)
    for old, new in ((nothing, 0), (out, 1), (errors, 2)):
        os.dup2(old, new)
    if closed:
        os.close(2)
        sys.stderr = sys.__stderr__ = None  # as an interpreter that starts so has it
    status = 1
    try:
        _run(order.get("program"), order["arguments"])
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        if sys.stderr:
            sys.stderr.flush()
        os._exit(status)


def _run(program: str | None, arguments: list[str]) -> None:
    if program:
        sys.argv = ["-c", *arguments]
        exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
    else:
        from deniably_client.cli import deniably

        deniably(arguments, prog_name="deniably")


if __name__ == "__main__":
    import uvicorn.protocols.http.httptools_impl  # noqa: F401
    from compiled import compile_all, compile_once
    from jumping import jump

    import deniably_client
    import deniably_server

    for package in (deniably_client, deniably_server):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not each.name.endswith(".__main__"):
                importlib.import_module(each.name)
    compile_once()
    compile_all()
    gc.collect()
    gc.freeze()  # or each fork would copy what it shares, only to count it
    _serve()
