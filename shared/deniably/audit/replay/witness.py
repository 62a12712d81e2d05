"""Writes a difference to a file, and runs it again with the same answers and the same random
bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from deniably.audit.replay.expected import Difference, Observed, Reference
from deniably.audit.replay.javascript_device import JavaScriptDevice
from deniably.audit.replay.python_client import PythonClient, fault_of_visit
from deniably.audit.replay.python_device import PythonDevice
from deniably.audit.replay.replaying import Fault, fault_of, study_of
from deniably.audit.replay.scenarios import VISIT, Scenario, Study

_KEYS = {"language", "question", "survey", "scenario", "bytes"}


@dataclass(frozen=True)
class Witness:
    """A scenario whose replay shows a fault, with the random bytes of each step (``blocks``).

    The answers in it are made up. ``survey`` is the published definition, ``question`` the name of
    the question that differs, None where no single one does.
    """

    language: str
    question: str | None
    survey: Mapping[str, Any]
    scenario: Scenario
    blocks: Sequence[Sequence[bytes]]

    @property
    def text(self) -> str:
        """The witness as the text of a JSON file."""
        document = {
            "language": self.language,
            "question": self.question,
            "survey": self.survey,
            "scenario": self.scenario,
            "bytes": [[block.hex() for block in blocks] for blocks in self.blocks],
        }
        return json.dumps(document, indent=1) + "\n"


class BadWitness(ValueError):
    """Raised where a file is no witness; the message says why."""


def witness_of(study: Study, fault: Fault) -> Witness | None:
    """Returns the witness of a fault, with which it can be seen again; None if no scenario shows
    it."""
    if not fault.scenario["steps"]:
        return None
    return Witness(fault.language, fault.question, study.survey, fault.scenario, fault.blocks)


def read_witness(text: str) -> Witness:
    """Returns the witness in the text of a file. Raises BadWitness where the text is no witness."""
    try:
        read: Any = json.loads(text)
        if not isinstance(read, dict) or set(cast(dict[str, Any], read)) != _KEYS:
            raise BadWitness("it has other keys than a witness of an audit")
        parts = cast(dict[str, Any], read)
        blocks = [[bytes.fromhex(block) for block in step] for step in parts["bytes"]]
    except (ValueError, TypeError, RecursionError) as error:
        raise BadWitness(f"it is no witness of an audit: {error}") from None
    if parts["language"] not in ("Python", "JavaScript"):
        raise BadWitness(f"no language here is {parts['language']!r}")
    return Witness(parts["language"], parts["question"], parts["survey"], parts["scenario"], blocks)


def again(witness: Witness, modules: Path | None = None) -> Fault | None:
    """Replays a witness; returns its fault, or None if the fault no longer occurs.

    Raises BadWitness where the scenario cannot be run, and NoNode where it needs Node and Node is
    missing.
    """
    try:
        study = study_of(dict(witness.survey))
        if witness.scenario["state"] == VISIT:
            return _visited_again(study, witness)
        seen = _seen(study, witness, modules)
        difference, _ = Reference(study).compare(witness.scenario, seen)
    # A witness is a file from anywhere, so its scenario can have any shape.
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise BadWitness(f"its scenario cannot be run: {type(error).__name__}") from None
    if difference is None:
        return None
    return fault_of(witness.language, difference, witness.scenario, seen)


def _visited_again(study: Study, witness: Witness) -> Fault | None:
    with PythonClient(study) as client:
        visit = client.visit(witness.scenario, witness.blocks)
        difference = fault_of_visit(Reference(client.study), visit)
    if difference is None:
        return None
    return fault_of(witness.language, difference, visit.scenario, visit.seen)


def _seen(study: Study, witness: Witness, modules: Path | None) -> Sequence[Observed]:
    if witness.language == "Python":
        with PythonDevice(study) as python:
            return python.run([witness.scenario], witness.blocks)[0]
    with JavaScriptDevice(study, modules) as node:
        node.verify()
        return node.run([witness.scenario], witness.blocks)[0]


__all__ = ["BadWitness", "Difference", "Witness", "again", "read_witness", "witness_of"]
