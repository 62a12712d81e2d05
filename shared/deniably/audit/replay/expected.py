"""Computes what the independent reference makes of a scenario, and finds where a device did
something else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deniably.audit.replay.input_classes import answers_in
from deniably.audit.replay.invitation_key import MODULUS, TEXT, P, Q
from deniably.audit.replay.scenarios import PART, Scenario, Study
from deniably.reference.canonical import canonical, parse
from deniably.reference.coins import Blocks, TooFewBytes
from deniably.reference.device import (
    EMPTY,
    answer,
    check_trade,
    draw_order,
    draw_questions,
    mark_sent,
    published,
    receipt,
)
from deniably.reference.invitations import check, finalise, sign
from deniably.reference.ledger import part as part_left
from deniably.reference.refusal import Invalid
from deniably.reference.values import Document

_SALT = 48


@dataclass(frozen=True)
class Observed:
    """What a device did in one step.

    ``document`` is the memory that it stored, and ``blocks`` are the random bytes that it got from
    the operating system in this step. ``digest`` is that of the receipt. ``refused`` is true if the
    device refused the answers; ``broken`` is the error, in words, if the step ended in one.
    ``trade`` is what the device stored to exchange an invitation for a ticket, before the server
    signed the ticket.
    """

    document: str
    blocks: Sequence[bytes]
    digest: str | None = None
    refused: bool = False
    broken: str | None = None
    trade: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Difference:
    """A step in which a device departs from the specification.

    ``step`` is its number in the scenario, from 0. ``kept`` is what the device stored, and
    ``right`` what the reference makes of the same random bytes: a report, another part of the
    memory, or all of it. Where there is nothing to compare, ``right`` is empty, and ``kept`` may
    be. ``why`` says what is wrong; it is empty if ``kept`` and ``right`` are two different reports,
    or if ``kept`` is "no report".
    """

    step: int
    why: str
    kept: str = ""
    right: str = ""


@dataclass
class Reached:
    """Counts what a scenario covered.

    ``reports`` is the number of reports made, and ``answers`` has the (question, answer) pairs that
    were reported. ``states`` are the states of the device, and ``kinds`` the (question, class of
    input) pairs that came up.
    """

    reports: int = 0
    answers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    states: set[str] = field(default_factory=set[str])
    kinds: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


class Reference:
    """The independent reference implementation, for the surveys of one study."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._surveys = [published(dict(survey)) for survey in study.waves]
        self._by_name = {question["name"]: question for question in self._surveys[0]["questions"]}

    def compare(
        self, scenario: Scenario, observed: Sequence[Observed]
    ) -> tuple[Difference | None, Reached]:
        """Compares what a device did in a scenario with the reference.

        Returns the first difference, or None, and what the scenario covered up to there.
        """
        document: Document = scenario["document"] or EMPTY
        reached = Reached()
        for number, (step, seen) in enumerate(zip(scenario["steps"], observed, strict=True)):
            if seen.broken:
                return Difference(number, f"it ends in an error: {seen.broken}"), reached
            try:
                after = self._after(scenario, step, document, seen, reached)
            except Invalid as error:
                if not seen.refused:
                    why = f"it must refuse this ({error}), and did not"
                    return Difference(number, why, seen.document), reached
                # A refusal changes nothing, and must not depend on chance: only the questions are
                # drawn before it.
                after = document
                if len(seen.blocks) > self._drawn_first(step, seen):
                    return Difference(number, "it refuses, but took random bytes first"), reached
                # Later steps may refuse for other reasons than these answers.
                if number == 0 and scenario["state"] == "answers to refuse":
                    reached.kinds |= set(scenario["kinds"].items())
            except _OtherBytes as error:
                return Difference(number, str(error), _sent(seen.document, document)), reached
            else:
                if seen.refused:
                    return Difference(number, "it refuses what it must answer"), reached
            if difference := _difference(number, seen, document, after):
                return difference, reached
            document = after
        return None, reached

    def _after(
        self, scenario: Scenario, step: Mapping[str, Any], document: Document, seen: Observed,
        reached: Reached,
    ) -> Document:  # fmt: skip
        place = int(step["survey"])
        survey, version = self._surveys[place], self.study.digests[place]
        if step["do"] == "sent":
            return mark_sent(document, version) if version in document["reports"] else document
        if step["do"] == "trade":
            return _traded(step, document, seen, version)
        coins, noted = Blocks(seen.blocks), dict[str, Any]()
        limits = step["limits"] or self.study.limits
        try:
            if step["do"] == "order":
                after = draw_order(document, survey, coins)
                return _all_taken(after, coins, seen)
            if step.get("part"):
                some = part_left(document, survey, step["author"], step["day"], dict(limits))
                drawn = some or document["orders"][version]
                if 0 < len(some) < len(document["orders"][version]):
                    reached.states.add(PART)
            else:
                drawn = draw_questions(survey, coins)
            after = answer(
                document, survey, step["plain"], coins, drawn=drawn,
                changed=step.get("changed", ()), stratum=step["stratum"], author=step["author"],
                day=step["day"], limits=limits, noted=noted,
            )  # fmt: skip
        except TooFewBytes:
            raise _OtherBytes(
                "it takes fewer random bytes of the operating system than the specification says"
            ) from None
        _all_taken(after, coins, seen)
        if after is document:
            reached.states.add("a second sending")
        else:
            self._note(noted, drawn, reached)
            if step is scenario["steps"][0] or step["plain"] == scenario["steps"][0].get("plain"):
                shown = set(noted["given"]) - set(noted["hidden"])
                reached.kinds |= {kind for kind in scenario["kinds"].items() if kind[0] in shown}
        return after

    def _drawn_first(self, step: Mapping[str, Any], seen: Observed) -> int:
        """How many blocks the draw of the questions takes, which comes before everything."""
        if step.get("part"):
            return 0
        coins = Blocks(seen.blocks)
        draw_questions(self._surveys[int(step["survey"])], coins)
        return coins.used

    def _note(self, noted: Mapping[str, Any], drawn: Sequence[str], reached: Reached) -> None:
        """Which answers this report was made of."""
        reached.reports += 1
        reached.states |= {"hidden questions"} if noted["hidden"] else set()
        for name, value in noted["given"].items():
            reached.answers += [(name, cell) for cell in answers_in(self._by_name[name], value)]
        if len(drawn) < len(self._by_name):
            reached.states |= {f"asked: {name}" for name in drawn}
        if not noted["given"]:
            reached.states.add("a report from memos alone")


class _OtherBytes(Exception):
    """Other random bytes were taken."""


def _all_taken(after: Document, coins: Blocks, seen: Observed) -> Document:
    """The document after a step that took all bytes that a device took."""
    if coins.used < len(seen.blocks):
        raise _OtherBytes("it takes random bytes that the specification does not")
    return after


def _traded(step: Mapping[str, Any], document: Document, seen: Observed, version: str) -> Document:
    """The document with the ticket of this trade, whose numbers are checked one by one."""
    if version in document.get("tickets", {}):
        if seen.blocks:
            raise _OtherBytes("it takes random bytes for an invitation that was traded")
        return document
    trade = seen.trade or {}
    ticket = parse(seen.document).get("tickets", {}).get(version)
    # Every object of coins fetches its own block; prefix, salt and blinding are not coins.
    first, rest = seen.blocks[:1], seen.blocks[1:]
    try:
        check_trade(MODULUS, trade, step["code"], Blocks(first), rest)
        signed = sign(P, Q, int(trade["blinded"], 16))
        message = bytes.fromhex(trade["prefix"] + trade["id"])
        signature = finalise(MODULUS, message, signed, int(trade["inverse"], 16), _SALT)
        check(MODULUS, message, signature, _SALT)
    except (Invalid, TooFewBytes, KeyError, ValueError) as error:
        raise _OtherBytes(f"its trade of an invitation is not as specified: {error}") from None
    right = {"id": trade["id"], "ticket": trade["prefix"] + f"{signature:0{len(TEXT)}x}"}
    if ticket != right:
        raise _OtherBytes("its ticket is not the signature of its report's id")
    return document | {"tickets": document.get("tickets", {}) | {version: right}}


def _difference(
    number: int, seen: Observed, before: Document, after: Document
) -> Difference | None:
    kept = seen.document
    # Quicker, and canonical as well where all texts are ASCII; what differs is looked at again.
    if kept == json.dumps(after, sort_keys=True, separators=(",", ":")):
        right = kept
    else:
        right = canonical(after)
    if kept != right:
        return Difference(number, *_first_difference(kept, right, before, after))
    if seen.digest is not None:
        texts = [text_of(report) for report in after["reports"].values()]
        if seen.digest not in map(receipt, texts):
            return Difference(number, "the receipt is not the digest of what is sent")
    return None


def _first_difference(
    kept: str, right: str, before: Document, after: Document
) -> tuple[str, str, str]:
    """(why, what is kept, what is right)"""
    try:
        parsed = parse(kept)
    except ValueError:
        return "what it keeps is not JSON", kept, right
    for version, report in after["reports"].items():
        other: Any = parsed.get("reports", {}).get(version)
        if other != report:
            return "", text_of(other) if other else "no report", text_of(report)
    for part in sorted({*parsed, *after}):
        if parsed.get(part) != after.get(part):
            return (
                f"what it keeps as {part} is not what the specification says",
                canonical(parsed.get(part, "nothing")),
                canonical(after.get(part, "nothing")),
            )
    return "what it keeps is not canonical", kept, right


def _sent(text: str, before: Document) -> str:
    """The text of a report in a document that was not there before."""
    try:
        reports = parse(text)["reports"]
    except (ValueError, KeyError, TypeError):
        return ""
    new = [report for v, report in reports.items() if before["reports"].get(v) != report]
    return text_of(new[0]) if new else ""


def text_of(report: Mapping[str, Any]) -> str:
    """Returns the text of a report in a memory; of those in an envelope that was left open, a line
    each."""
    if "text" in report:
        return str(report["text"])
    try:
        return bytes.fromhex(report["sealed"]).decode()
    except (KeyError, TypeError, ValueError):
        return str(report)
