"""Runs scenarios in Node, with the JavaScript modules of browsers, and records what they did."""

from __future__ import annotations

import json
import re
import select
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deniably.audit.replay.expected import Observed
from deniably.audit.replay.invitation_key import EXPONENT, TEXT
from deniably.audit.replay.scenarios import Scenario, Study
from deniably.reference.canonical import canonical

LEAST_NODE = 20
"""The oldest major version of Node that an audit takes."""
_RUN = Path(__file__).with_name("run.mjs")


class NoNode(Exception):
    """Raised where the JavaScript modules cannot be run here. The message says why, as the end of a
    sentence."""


class NodeFailed(Exception):
    """Raised where Node ended, or where the JavaScript modules do not load or refuse the survey.

    The message says how.
    """


def shipped_modules() -> Path | None:
    """Returns the folder of the JavaScript modules that this installation serves; None if there is
    none."""
    package = find_spec("deniably_client")  # by name: it is a package of its own
    if package is None or not package.submodule_search_locations:
        return None
    folder = Path(package.submodule_search_locations[0]) / "web"
    return folder if folder.is_dir() else None


def find_node() -> str:
    """Returns the path of Node. Raises NoNode where Node is missing or older than version 20."""
    path = shutil.which("node")
    if path is None:
        raise NoNode("there is no node here")
    text = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v([0-9]+)\.", text)
    if version is None or int(version[1]) < LEAST_NODE:
        raise NoNode(f"node here is {text.strip() or 'broken'}, and {LEAST_NODE} is the least")
    return path


class Node:
    """A process of Node that runs the JavaScript modules, as a context manager.

    Raises NoNode where Node is missing or too old.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [find_node(), str(_RUN)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, encoding="utf-8",
        )  # fmt: skip
        self.used = 0.0
        """Seconds of processor time that it has used."""

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def send(self, **task: Any) -> None:
        """Sends a task to Node. Raises NodeFailed where its process has ended."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise NodeFailed(self._last_words()) from None

    def receive(self) -> Any:
        """Returns Node's answer to the last task. Raises NodeFailed where the task failed, or the
        process has ended."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise NodeFailed(self._last_words())
        answered = json.loads(line)
        if "broken" in answered:
            raise NodeFailed(answered["broken"])
        self.used = (answered["used"]["user"] + answered["used"]["system"]) / 1e6
        return answered["found"]

    def is_ready(self) -> bool:
        """Returns whether ``receive`` would return at once."""
        assert self._process.stdout
        # Never more than one answer is under way, so none waits in the buffer of `_process.stdout`.
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def _last_words(self) -> str:
        self._process.kill()
        _, errors = self._process.communicate()
        # The last lines of Node's stack trace say nothing; the one with the error's name does.
        error_line = re.search(r"^\w*Error.*$", errors or "", re.MULTILINE)
        return error_line[0][:300] if error_line else "it ends without a word"


class JavaScriptDevice:
    """Runs JavaScript devices on the surveys of one study, as a context manager.

    ``folder`` has the modules, by default the shipped ones; ``node`` is the process of Node, by
    default a new one. Raises NoNode where Node or the modules are missing.
    """

    language = "JavaScript"

    def __init__(self, study: Study, folder: Path | None = None, node: Node | None = None) -> None:
        self.study = study
        modules = folder or shipped_modules()
        if modules is None:
            raise NoNode("the modules of deniably_client are not installed here")
        self._modules, self._given = modules, node
        self.version = ""

    def __enter__(self) -> JavaScriptDevice:
        self._stack = ExitStack()
        self._node = self._given or self._stack.enter_context(Node())
        copy = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="deniably-audit-"))
        self._folder = Path(copy) / "web"
        # Node takes a .js file for a module where a package says so.
        styles = shutil.ignore_patterns("*.css", "*.svg")
        shutil.copytree(self._modules, self._folder, ignore=styles)
        (self._folder / "package.json").write_text('{"type": "module"}')
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def used(self) -> float:
        """Seconds of processor time that Node has used."""
        return self._node.used

    def verify(self) -> None:
        """Lets the modules verify the surveys. Call it before anything else.

        Raises NodeFailed where they refuse a survey or end in an error.
        """
        surveys = [
            {"definition": definition, "digest": digest}
            for definition, digest in zip(self.study.waves, self.study.digests, strict=True)
        ]
        key = {"modulus": TEXT, "exponent": f"{EXPONENT:x}"}
        self._node.send(
            task="study",
            folder=str(self._folder),
            surveys=surveys,
            limits=self.study.limits,
            key=key,
        )
        self.version = str(self._node.receive()["node"])

    def run(
        self, scenarios: Sequence[Scenario], fed: Sequence[Sequence[bytes]] = ()
    ) -> list[list[Observed]]:
        """Runs each scenario, and returns what a device did in each of its steps.

        ``fed`` has the random bytes for each step; by default they come from the operating system.
        """
        self.begin(scenarios, fed)
        return self.end()

    def begin(self, scenarios: Sequence[Scenario], fed: Sequence[Sequence[bytes]] = ()) -> None:
        """Sends scenarios to Node without waiting; ``end`` returns what the devices did."""
        texts = [[block.hex() for block in blocks] for blocks in fed]
        prepared: list[dict[str, Any]] = []
        for scenario in scenarios:
            document = scenario["document"]
            # The device must not see the answers in the form of SPEC 4.1: making that form is its
            # task.
            steps = [
                {key: value for key, value in step.items() if key != "plain"}
                for step in scenario["steps"]
            ]
            text = canonical(document) if document else None
            prepared.append({"document": text, "steps": steps, "fed": texts})
        self._node.send(task="replay", scenarios=prepared)

    def is_ready(self) -> bool:
        """Returns whether ``end`` would return at once."""
        return self._node.is_ready()

    def end(self) -> list[list[Observed]]:
        """Returns what devices did in the scenarios that ``begin`` sent."""
        return [[_observed(step) for step in steps] for steps in self._node.receive()]

    def walk(self, mechanism: Mapping[str, Any], inputs: Sequence[Any]) -> list[dict[str, str]]:
        """Walks all branches of a mechanism; returns for each input {report: probability}.

        A report is the text of its cells, joined by commas; a probability is a text, too.
        """
        self._node.send(task="walk", mechanism=mechanism, inputs=inputs)
        return [dict(law) for law in self._node.receive()]

    def below(self, draws: Sequence[tuple[int, bytes]]) -> list[tuple[int, int]]:
        """Draws below each bound from its tape of random bytes.

        Returns for each draw the number, and how many bytes of the tape were used.
        """
        bounds_and_tapes = [{"n": n, "bytes": tape.hex()} for n, tape in draws]
        self._node.send(task="below", draws=bounds_and_tapes)
        return [(drawn["value"], drawn["at"]) for drawn in self._node.receive()]

    def stream(self, bounds: Sequence[int]) -> tuple[list[int], list[bytes]]:
        """Draws below all ``bounds`` in turn with one coins object.

        Returns the numbers, and the blocks of random bytes that were used.
        """
        self._node.send(task="stream", bounds=bounds)
        received = self._node.receive()
        return received["values"], [bytes.fromhex(block) for block in received["blocks"]]


def _observed(step: Mapping[str, Any]) -> Observed:
    blocks = [bytes.fromhex(block) for block in step["blocks"]]
    return Observed(
        step["document"],
        blocks,
        step.get("digest"),
        step.get("refused", False),
        step.get("broken"),
        step.get("trade"),
    )
