"""Runs scenarios with the Python code that devices run, and records what it did."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from types import TracebackType
from typing import Any, cast

from deniably.audit.replay.expected import Observed
from deniably.audit.replay.invitation_key import TEXT, P, Q
from deniably.audit.replay.scenarios import Json, Scenario, Study
from deniably.audit.replay.tap import tapped
from deniably.core.coins import Coins
from deniably.core.errors import DeniablyError
from deniably.device import memory as device
from deniably.device.ledger import Limits
from deniably.device.memory import Memory
from deniably.device.question_subset import ordered_questions, part_of, with_order
from deniably.device.through_mixer import Envelopes, answer_through_mixer
from deniably.device.tickets import begin_trade, finish_trade
from deniably.reference.canonical import canonical
from deniably.reference.invitations import sign, written
from deniably.survey.report import Report, draw_questions
from deniably.survey.survey import Survey, as_survey


class PythonDevice:
    """Runs Python devices on the surveys of one study, as a context manager.

    Within the context, random bytes are recorded.
    """

    language = "Python"

    @property
    def used(self) -> float:
        """Seconds of processor time that this process has used."""
        return time.process_time()

    def __init__(self, study: Study) -> None:
        self.study = study
        self._surveys = [as_survey(dict(survey)) for survey in study.waves]

    def __enter__(self) -> PythonDevice:
        self._tapping = tapped()
        self._tap = self._tapping.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tapping.__exit__(kind, error, trace)

    def run(
        self, scenarios: Sequence[Scenario], fed: Sequence[Sequence[bytes]] = ()
    ) -> list[list[Observed]]:
        """Runs each scenario, and returns what a device did in each of its steps.

        ``fed`` has the random bytes for each step; by default they come from the operating system.
        """
        return [self._run(scenario, fed) for scenario in scenarios]

    def stream(self, bounds: Sequence[int]) -> tuple[list[int], list[bytes]]:
        """Draws below all ``bounds`` in turn with one coins object.

        Returns the numbers, and the blocks of random bytes that were used.
        """
        self._tap.begin()
        coins = Coins()
        values = [coins.below(n) for n in bounds]
        return values, self._tap.blocks

    def _run(self, scenario: Scenario, fed: Sequence[Sequence[bytes]]) -> list[Observed]:
        text = scenario["document"]
        memory = device.read_memory(canonical(text).encode()) if text else Memory()
        observed: list[Observed] = []
        for number, step in enumerate(scenario["steps"]):
            after, seen = self._step(memory, step, fed[number] if number < len(fed) else ())
            memory = after
            observed.append(seen)
        return observed

    def _step(
        self, memory: Memory, step: Mapping[str, Any], fed: Sequence[bytes]
    ) -> tuple[Memory, Observed]:
        survey = self._surveys[int(step["survey"])]
        refused, broken, trade = False, None, None
        self._tap.begin(fed)
        try:
            if step["do"] == "trade":
                after, trade = _trade(memory, survey, step["code"])
            elif step["do"] == "sent":
                kept, version = memory.reports.get(survey.digest), survey.digest
                after = device.mark_sent(memory, version, kept.body) if kept else memory
            elif step["do"] == "order":
                after = with_order(memory, survey)
            else:
                after = self._answer(memory, survey, step)
        # A refusal is an outcome to compare; any other exception is a fault of the device.
        except DeniablyError:
            after, refused = memory, True
        except Exception as error:
            after, broken = memory, f"{type(error).__name__} in {_place(error)}"
        blocks = self._tap.blocks
        # What follows reads the memory for the comparison, and is no part of the step.
        self._tap.begin()
        report = after.report(survey.digest)
        digest = report.receipt if report else None
        document = after.canonical.decode()
        return after, Observed(document, blocks, digest, refused, broken, trade)

    def _answer(self, memory: Memory, survey: Survey, step: Mapping[str, Any]) -> Memory:
        limit_texts = step["limits"] or self.study.limits
        limits = Limits(*(Fraction(limit_texts[name]) for name in ("survey", "author", "overall")))
        typed = {name: of_python(answer) for name, answer in step["typed"].items()}
        author, day, changed = step["author"], step["day"], step.get("changed", ())
        if survey.mixer:
            device.fresh_questions(memory, survey, survey.questions, changed)
            return answer_through_mixer(
                memory, survey, typed, left_open, day=day, limits=limits, author=author
            )
        if step.get("part"):
            part = part_of(memory, survey, step["author"], step["day"], limits)
            drawn = part or ordered_questions(memory, survey)
        else:
            drawn = draw_questions(survey)
        return device.answer(
            memory,
            survey,
            typed,
            day=day,
            limits=limits,
            author=author,
            drawn=drawn,
            changed=changed,
            strata=step["stratum"],
        )


def left_open(reports: Sequence[Report]) -> Envelopes:
    """Returns envelopes for a mixer that stay open: their reports, one a line.

    A sealed one cannot be compared, because nobody can make its ephemeral key again.
    """
    inner = [report.canonical for report in reports]
    return Envelopes(b"\n".join(inner), inner)


def _trade(memory: Memory, survey: Survey, code: str) -> tuple[Memory, Mapping[str, str]]:
    """The memory with a ticket, and the trade for it; the server's part is the reference's."""
    begun = begin_trade(memory, survey.digest, TEXT, code)
    trade = begun.trade(survey.digest)
    if trade is None:
        return begun, {}
    signed = written(sign(P, Q, int(trade.blinded, 16)), P * Q)
    after = finish_trade(begun, survey.digest, TEXT, trade, signed)
    names = ("blinded", "code", "id", "inverse", "prefix")
    return after, {name: getattr(trade, name) for name in names}


def of_python(typed: Json) -> object:
    """Returns a typed answer as a Python program would pass it, with a Decimal for {"$decimal":
    ...}."""
    if isinstance(typed, dict):
        parts = cast(dict[str, Json], typed)
        if set(parts) == {"$decimal"}:
            return Decimal(parts["$decimal"])
        return {name: of_python(part) for name, part in parts.items()}
    if isinstance(typed, list):
        several = cast(Sequence[Json], typed)
        return [of_python(item) for item in several]
    return cast(object, typed)


def _place(error: BaseException) -> str:
    """Where an error was raised; never its text, which may hold an answer."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "nowhere"
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}, line {trace.tb_lineno}"
