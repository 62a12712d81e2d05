"""Replays a study in each language for some seconds, and counts what was reached."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from deniably.audit.replay.coins_check import (
    below_in_python,
    fault_of_coins,
    fault_of_draws_at_once,
)
from deniably.audit.replay.expected import Difference, Observed, Reference
from deniably.audit.replay.input_classes import answers_to
from deniably.audit.replay.javascript_device import JavaScriptDevice, Node, NodeFailed, NoNode
from deniably.audit.replay.python_client import NoClient, PythonClient, fault_of_visit
from deniably.audit.replay.python_device import PythonDevice
from deniably.audit.replay.scenarios import (
    CHANGED,
    PART,
    SEALED,
    Definition,
    Scenario,
    Schedule,
    Study,
    waves_of,
)
from deniably.reference.canonical import digest
from deniably.reference.definition import check_definition
from deniably.reference.refusal import Invalid
from deniably.reference.waves import law_of

SECONDS = 10.0
"""Seconds of replays in each language, where the caller states none."""
EACH = 276
"""The replays of one answer of which it can be said: a departure in 1 of 20 would have been missed
once in a million audits, as (19/20)^276 = 7e-7."""
ALL = 13_800
"""The replays of which it can be said: a departure in 1 of 1,000 would have been missed as seldom,
as (999/1000)^13,800 = 1e-6."""
ALL_IN_NODE = 2_760
"""In JavaScript, which is slower by several times, a departure in 1 of 200 is enough."""

VISITS = 138
"""People who answer through the whole Python client: a departure in 1 of 10 of their visits would
have been missed once in two million audits."""

NOTHING: Scenario = {"state": "", "kinds": {}, "also": [], "document": None, "steps": []}
"""The scenario of a fault that shows without any."""

_LIMIT = "64"
_BATCH = 20
_LONGER = 2.0  # times as many seconds where a verdict needs them
_LONGER_BY_DEFAULT = 6.0  # so that surveys of many questions get their verdict
_PATIENCE = 20  # times as many by the clock on the wall


@dataclass(frozen=True)
class Fault:
    """A difference between a device and the reference, with what is needed to show it again.

    That is the scenario, and the random bytes of each step (``blocks``). ``question`` is the first
    question that differs, None where no single one does.
    """

    language: str
    question: str | None
    why: str
    scenario: Scenario
    blocks: Sequence[Sequence[bytes]]
    difference: Difference


@dataclass
class Tally:
    """Counts of what was replayed in one language, and of what in the survey was covered."""

    language: str
    reports: int = 0
    answers: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    questions: Counter[str] = field(default_factory=Counter[str])
    kinds: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    states: set[str] = field(default_factory=set[str])
    scenarios: int = 0
    classes_done: bool = False
    version: str = ""
    fault: Fault | None = None
    coins: str | None = None
    not_run: str | None = None
    visits: int = 0
    """How many people answered through the whole client, every request of whom was compared."""
    no_visits: str | None = None
    walked: set[str] = field(default_factory=set[str])
    """The questions whose every branch was walked in this language, and is right."""

    def least(self, question: Mapping[str, Any]) -> int:
        """Returns how often the rarest answer to a question was replayed; 0 if some answer never
        was."""
        name = question["name"]
        counts = [count for (of, _), count in self.answers.items() if of == name]
        return min(counts) if len(counts) >= answers_to(question) else 0

    def reached(self, question: Mapping[str, Any]) -> int:
        """Returns how many different answers to a question were replayed."""
        return sum(of == question["name"] for of, _ in self.answers)


@dataclass(frozen=True)
class Replays:
    """The replays of a study in both languages.

    ``kinds`` has for each question the classes of inputs that must come up in Python, and
    ``node_kinds`` those that must come up in JavaScript. ``states`` are the states of devices that
    must come up in both.
    """

    study: Study
    python: Tally
    javascript: Tally
    kinds: Mapping[str, Sequence[str]]
    node_kinds: Mapping[str, Sequence[str]]
    states: Sequence[str]
    foreign: bool = False
    """Whether the reference refuses the survey, so that there is nothing to compare with."""

    @property
    def fault(self) -> Fault | None:
        """The fault of Python if there is one, else that of JavaScript; None without a fault."""
        return self.python.fault or self.javascript.fault

    def missing_kinds(self, tally: Tally, question: str) -> list[str]:
        """Returns the classes of inputs to a question that have not come up in the tally's
        language."""
        wanted = (self.kinds if tally is self.python else self.node_kinds)[question]
        return [kind for kind in wanted if (question, kind) not in tally.kinds]

    def missing_states(self, tally: Tally) -> list[str]:
        """Returns the states of devices that have not come up in the tally's language."""
        return [state for state in self.states if state not in tally.states]


def study_of(definition: Definition) -> Study:
    """Returns the study of a published definition: the surveys that one person answers."""
    waves = waves_of(definition)
    limits: dict[str, str] = dict.fromkeys(("survey", "author", "overall"), _LIMIT)
    return Study(waves, [digest(wave) for wave in waves], limits)


def replay(
    definition: Definition,
    seconds: float = SECONDS,
    *,
    until_enough: bool = False,
    scenarios: int | None = None,
    modules: Path | None = None,
    node: Node | None = None,
    languages: Sequence[str] = ("Python", "JavaScript"),
    seed: int = 1,
    visits: int = 0,
    walked: Collection[str] = (),
    walks: Sequence[tuple[str, Sequence[Any]]] = (),
    progress: Callable[[str], object] = lambda text: None,
) -> Replays:
    """Replays devices that answer a survey, and compares them with the reference.

    In each language the replays end at the first fault, or after ``seconds``. ``until_enough`` ends
    them as soon as more would not improve a verdict. ``scenarios`` is a number of replays instead
    of a time; those that reach every class of inputs come first. ``modules`` is the folder of the
    JavaScript modules, by default the shipped ones, and ``node`` a process to run them. ``seed`` is
    for the made-up answers, not for the devices' coins. ``visits`` is how many people answer
    through the whole Python client. ``walked`` are the questions whose every branch was walked in
    Python. ``walks`` has the questions whose branches are to be walked in JavaScript, with all
    inputs of their mechanisms.
    """
    study = study_of(definition)
    # Of made-up answers, which are no secret: coins are never drawn from a seed.
    schedule, in_node = (
        Schedule(study, Random(seed), anywhere=anywhere)  # noqa: S311
        for anywhere in (False, True)
    )
    replays = Replays(
        study,
        Tally("Python"),
        Tally("JavaScript"),
        _kinds(schedule),
        _kinds(in_node),
        _states(study, schedule),
    )
    try:
        check_definition(dict(definition))
    except Invalid as error:
        replays.python.not_run = replays.javascript.not_run = f"the reference refuses it: {error}"
        return replace(replays, foreign=True)
    if seconds <= 0:
        replays.python.not_run = replays.javascript.not_run = "no time was given to replays"
        return replays
    with ExitStack() as stack:
        runs: list[_Run] = []
        if "Python" in languages:
            python = stack.enter_context(PythonDevice(study))
            replays.python.walked |= set(walked)
            runs.append(_Run(replays, replays.python, schedule, python))
            found = fault_of_coins(below_in_python, python.stream)
            replays.python.coins = found or fault_of_draws_at_once()
        else:
            replays.python.not_run = "it was not asked for"
        device = _in_node(stack, study, modules, node, languages, replays.javascript)
        if device:
            _walk(device, replays.javascript, study, walks)
            runs.append(_NodeRun(replays, replays.javascript, in_node, device))
        _take_turns(runs, seconds, scenarios, until_enough=until_enough, progress=progress)
    if "Python" in languages and visits and not (replays.python.fault or replays.python.coins):
        progress(f"visiting a server {visits:,} times")
        _visit(replays, schedule, visits, seconds)
    return replays


def _visit(replays: Replays, schedule: Schedule, visits: int, seconds: float) -> None:
    """Let people answer through the whole Python client, up to the first difference."""
    tally, began = replays.python, time.process_time()
    try:
        client = PythonClient(replays.study)
    except NoClient as error:
        tally.no_visits = str(error)
        return
    with client:
        reference = Reference(client.study)
        for scenario in islice(schedule.visits(), visits):
            if time.process_time() - began > seconds:
                return
            visit = client.visit(scenario)
            if difference := fault_of_visit(reference, visit):
                tally.fault = fault_of(tally.language, difference, visit.scenario, visit.seen)
                return
            tally.visits += 1


def fault_of(
    language: str, difference: Difference, scenario: Scenario, observed: Sequence[Observed]
) -> Fault:
    """Returns a fault, made of a difference and of the scenario and bytes that show it again."""
    blocks = [step.blocks for step in observed]
    why = difference.why or "it sends another report"
    return Fault(language, _question_of(difference), why, scenario, blocks, difference)


def _in_node(
    stack: ExitStack, study: Study, modules: Path | None, process: Node | None,
    languages: Sequence[str], tally: Tally,
) -> JavaScriptDevice | None:  # fmt: skip
    if "JavaScript" not in languages:
        tally.not_run = "it was not asked for"
        return None
    try:
        node = stack.enter_context(JavaScriptDevice(study, modules, process))
    except NoNode as error:
        tally.not_run = str(error)
        return None
    try:
        node.verify()
        tally.version = node.version
        tally.coins = fault_of_coins(node.below, node.stream)
    except NodeFailed as error:
        why = f"the modules do not take the survey: {error}"
        tally.fault = Fault(tally.language, None, why, NOTHING, (), Difference(0, why))
        return None
    return node


def _walk(
    node: JavaScriptDevice, tally: Tally, study: Study, walks: Sequence[tuple[str, Sequence[Any]]]
) -> None:
    """Walk questions in JavaScript, and compare their laws with those of the reference."""
    by_name = {question["name"]: question for question in study.questions}
    for name, inputs in walks:
        mechanism = by_name[name]["mechanism"]
        try:
            laws = node.walk(mechanism, inputs)
        except NodeFailed:
            return  # what is wrong, a replay shows
        for encoded, walked in zip(inputs, laws, strict=True):
            right = law_of(mechanism, encoded)
            seen = {_cells(cells): Fraction(share) for cells, share in walked.items()}
            if seen != {report: share for report, share in right.items() if share}:
                why = f"walked in JavaScript, {name} has another law than the published integers"
                tally.fault = Fault(tally.language, name, why, NOTHING, (), Difference(0, why))
                return
        tally.walked.add(name)


def _cells(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()


def _take_turns(
    runs: Sequence[_Run], seconds: float, scenarios: int | None, *, until_enough: bool,
    progress: Callable[[str], object],
) -> None:  # fmt: skip
    # Runs end by processor time. A device that waits uses none, so the clock ends it at last.
    latest = time.monotonic() + _PATIENCE * seconds
    longer = _LONGER_BY_DEFAULT if until_enough else _LONGER
    going = list(runs)
    while going:
        for run in list(going):
            if scenarios is None:
                over = run.is_over(seconds, longer) or time.monotonic() > latest
            else:
                over = run.tally.classes_done and run.tally.scenarios >= scenarios
            if run.tally.fault or run.tally.coins or over or (until_enough and run.plenty):
                going.remove(run)
                continue
            # While Node is busy, there is time for others.
            run.turn(patient=len(going) == 1)
        counts = ", ".join(f"{run.tally.reports:,} in {run.tally.language}" for run in runs)
        progress(f"replaying, {counts}")


class _Run:
    """One language's scenarios, one batch after the other."""

    def __init__(
        self,
        replays: Replays,
        tally: Tally,
        schedule: Schedule,
        device: PythonDevice | JavaScriptDevice,
    ) -> None:
        self.replays, self.tally, self.device = replays, tally, device
        self._schedule = schedule
        self._reference = Reference(replays.study)
        self._classes = schedule.classes()
        self._began = device.used

    @property
    def used(self) -> float:
        """Seconds of processor time that this run took."""
        return self.device.used - self._began

    def is_over(self, seconds: float, longer: float) -> bool:
        """Returns whether the run's time is over: ``seconds``, or ``longer`` times as long where a
        verdict needs more replays.

        It is processor time, so that a busy machine shortens no audit.
        """
        left = seconds - self.used
        return left <= 0 and (self.enough or left <= -(longer - 1) * seconds)

    @property
    def plenty(self) -> bool:
        """Whether the replays are enough, and as many as in any language."""
        return self.enough and self.tally.reports >= ALL

    @property
    def enough(self) -> bool:
        """Whether more replays would raise no verdict."""
        questions = self.replays.study.questions
        walked = self.tally.walked
        # What was walked takes no number of replays beside those of its classes.
        counted = [q for q in questions if q["name"] not in walked]
        return (
            self.tally.classes_done
            and self.tally.reports >= needed(self.tally)
            and all(self.tally.least(question) >= EACH for question in counted)
            and all(self.tally.questions[q["name"]] >= needed(self.tally) for q in counted)
            and not self.replays.missing_states(self.tally)
            and not any(self.replays.missing_kinds(self.tally, q["name"]) for q in questions)
        )

    def batch(self) -> list[Scenario]:
        """Returns the next scenarios: first those of the classes, then random ones."""
        batch = list(islice(self._classes, _BATCH))
        if len(batch) < _BATCH:
            self.tally.classes_done = True
        while len(batch) < _BATCH:
            batch.append(self._schedule.any())
        return batch

    def turn(self, *, patient: bool) -> None:
        """Runs a batch and compares it with the reference."""
        batch = self.batch()
        self.compare(batch, self.device.run(batch))

    def compare(self, batch: Sequence[Scenario], seen: Sequence[Sequence[Observed]]) -> None:
        """Compares what devices did with the reference, up to the first difference."""
        for scenario, observed in zip(batch, seen, strict=True):
            difference, reached = self._reference.compare(scenario, observed)
            self.tally.scenarios += 1
            self.tally.reports += reached.reports
            if difference:
                self.tally.fault = fault_of(self.tally.language, difference, scenario, observed)
                return
            self.tally.answers.update(reached.answers)
            self.tally.questions.update({name for name, _ in reached.answers})
            self.tally.kinds |= reached.kinds
            self.tally.states |= {scenario["state"], *scenario["also"], *reached.states}


def needed(tally: Tally) -> int:
    """Returns how many reports must be replayed in the tally's language for the verdict
    "replayed"."""
    return ALL_IN_NODE if tally.language == "JavaScript" else ALL


class _NodeRun(_Run):
    """A run that does not wait for Node while others have something to do."""

    device: JavaScriptDevice
    _given: list[Scenario] | None = None

    def turn(self, *, patient: bool) -> None:
        if self._given is None:
            self._given = self.batch()
            self.device.begin(self._given)
        if patient or self.device.is_ready():
            begun, self._given = self._given, None
            try:
                self.compare(begun, self.device.end())
            except NodeFailed as error:
                why = f"the modules end in an error: {error}"
                self.tally.fault = Fault(
                    self.tally.language, None, why, begun[0], (), Difference(0, why)
                )


def _question_of(difference: Difference) -> str | None:
    """The first question whose value differs, where both are reports."""
    try:
        kept, right = (json.loads(text)["values"] for text in (difference.kept, difference.right))
    except (ValueError, KeyError, TypeError):
        return None
    return next((name for name in right if kept.get(name) != right[name]), None)


def _kinds(schedule: Schedule) -> dict[str, list[str]]:
    return {name: sorted({each.kind for each in those}) for name, those in schedule.inputs.items()}


def _states(study: Study, schedule: Schedule) -> list[str]:
    names = {"an empty device", "a second sending", "every input", "answers to refuse", "no answer"}
    names |= {"a limit that refuses", *schedule.odd_states}
    survey = study.survey
    if "invited" in survey:
        names |= {"the trade of an invitation", "no ticket"}
    else:
        names.add(SEALED if "mixer" in survey else CHANGED)
    if "strata" in survey:
        names |= {"no stratum", *(f"stratum {json.dumps(stratum)}" for stratum in study.strata)}
    if "part" in survey:
        names |= {"little budget left", PART}
    if "ask" in survey:
        names |= {f"asked: {question['name']}" for question in study.questions}
    if any("show_if" in question for question in study.questions):
        names.add("hidden questions")
    if len(study.waves) > 1:
        names.add(f"{len(study.waves)} waves")
    if "waves" in survey and "count" not in survey["waves"]:
        names.add("a report from memos alone")
    if "waves" in survey and "invited" not in survey:
        names.add("a changed answer in a later wave")
    return sorted(names)
