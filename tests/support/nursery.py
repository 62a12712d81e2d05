"""Server processes in a moment: a process that has imported what they use, and forks.

What runs in the fork is the command ``deniably`` with its arguments, whole and unchanged, or a
program of a test's own; only what imports, templates and routes cost, seconds of CPU, is spent
once, for all workers of a run. A start takes a tenth of the time so, and a suite can afford
hundreds of kills.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, TextIO

CLOSED = Path("closed")
"""Where errors go that go nowhere, as their descriptor was closed."""


class Nursery:
    """Begins processes, with this one's environment as it was. Those that still run at the end are
    killed."""

    def __init__(self) -> None:
        # What those that are killed leave behind.
        self._litter = tempfile.TemporaryDirectory(prefix="deniably-test-")
        env = {key: value for key, value in os.environ.items() if "DENIABLY" not in key}
        self._env = env | {"TMPDIR": self._litter.name}
        self._line = _line_to_it().makefile("rw", encoding="utf-8")
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
        self._begun.append(Forked(self, self.ask(order | {"env": self._env})))
        return self._begun[-1]

    def ask(self, order: dict[str, object]) -> int:
        """What became of an order, as a number."""
        with self._asking:
            self._line.write(json.dumps(order) + "\n")
            self._line.flush()
            return int(self._line.readline())

    def close(self) -> None:
        """End all that it began."""
        for each in self._begun:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait(30)
        self._line.close()
        self._litter.cleanup()


def _line_to_it() -> socket.socket:
    """A connection to the process that forks: whoever needs it first begins it."""
    from support.kept import make_room

    room = make_room()
    with (room / "nursery").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        line = socket.socket(socket.AF_UNIX)
        try:
            line.connect(_name_of(room))
        except ConnectionRefusedError:
            _begin_it(room)
            line.connect(_name_of(room))
    return line


def _name_of(room: Path) -> str:
    return f"\0{room.name}"  # of no file


def _begin_it(room: Path) -> None:
    begun = subprocess.Popen(
        [sys.executable, __file__, str(room), os.environ["DENIABLY_TEST_RUN"]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert begun.stdout
    with begun.stdout as said:
        assert said.readline(), "it has imported all, and listens"
    begun.returncode = 0  # it ends with the run: nobody waits for it here


@cache
def the_nursery() -> Nursery:
    """The one of this process, which ends with it."""
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


def _serve(door: socket.socket, run: int) -> None:
    """Take orders, one a line, and answer each with a number, until the run ends."""
    lines: dict[socket.socket, TextIO] = {}
    while run not in (ready := select.select([run, door, *lines], [], [])[0]):
        for each in ready:
            if each is door:
                line = door.accept()[0]
                lines[line] = line.makefile("rw", encoding="utf-8")
                continue
            try:
                asked = lines[each].readline()
                if asked:
                    lines[each].write(f"{_done(json.loads(asked), [door, *lines])}\n")
                    lines[each].flush()
            except OSError:
                asked = ""
            if not asked:
                del lines[each]
                each.close()


def _done(order: dict[str, Any], lines: Iterable[socket.socket]) -> int:
    if "reap" in order:
        return os.waitstatus_to_exitcode(os.waitpid(order["reap"], 0)[1])
    if child := os.fork():
        return child
    for each in lines:
        os.close(each.fileno())
    os.environ.clear()
    os.environ.update(order["env"])
    tempfile.tempdir = None
    if order["changes"].pop("jumping", False):
        jump()
    for name, value in order["changes"].items():
        module, constant = re.split(r"(?<=[a-z])_(?=_?[A-Z])", name)
        (found_in,) = (each for each in _modules() if each.__name__.endswith(f".{module}"))
        setattr(found_in, constant, value)
    _be(order)


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
    # Every fork pays for all that is there, so only what most of them use is. sqlite-utils imports
    # pandas where that is installed, which it is not with a server.
    sys.modules["pandas"] = None  # type: ignore[assignment]
    import scipy.optimize  # noqa: F401
    import uvicorn.protocols.http.httptools_impl  # noqa: F401
    from compiled import compile_all, compile_once
    from jumping import jump

    import deniably_client
    import deniably_server

    for package in (deniably_client, deniably_server):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not each.name.endswith(".__main__"):
                importlib.import_module(each.name)
    del sys.modules["pandas"]
    compile_once()
    compile_all()
    gc.collect()
    gc.freeze()  # or each fork would copy what it shares, only to count it
    door = socket.socket(socket.AF_UNIX)
    door.bind(_name_of(Path(sys.argv[1])))
    door.listen()
    run = os.pidfd_open(int(sys.argv[2]))
    print("open", flush=True)
    _serve(door, run)
