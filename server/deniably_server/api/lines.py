"""Many reports in one request: lines of JSON, read as they come, each with its own outcome.

What a batch costs is mostly Python, so lines are taken apart by one regular expression: that of a
report of this very survey in canonical form, as devices write it. Each distinct value is checked
once, and then known by its text. Where a line does not fit, its chunk goes line by line, the way of
single reports, with the same refusals. Of a request, however long it is, two chunks are in memory,
and a byte for each line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from threading import Lock
from typing import cast

import msgspec

from deniably.core.errors import BadReport
from deniably.survey.report import LARGEST_BODY, read_report
from deniably.survey.survey import Survey
from deniably_server.api.admission import admit
from deniably_server.errors import Refusal, TooLarge, WrongDigest
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite, Outcome
from deniably_server.web.answer import encode
from deniably_server.web.body import Body, decoded
from deniably_server.web.problems import members

NDJSON = "application/x-ndjson"

_CHUNK = 1 << 22
"""Bytes whose lines share a commit."""
_MOST_LINES = 10_000_000
_MOST_REFUSED = 1000
"""Lines that are refused or empty before the rest is left unread: it is not what this survey
takes."""
_TURN = Lock()
"""One request of a process at a time takes its lines apart, which is what needs the memory."""
_MOST_KNOWN = 1 << 16

_STATUS = {
    Outcome.STORED: "stored",
    Outcome.REPLAYED: "stored before",
    Outcome.CONFLICT: "conflict",
    Outcome.CLOSED: "closed",
    Outcome.UNKNOWN: "not found",
}
_WORDS = ("empty", "refused", *_STATUS.values())
_EMPTY, _REFUSED = 0, 1
_CODES = {outcome: code for code, outcome in enumerate(_STATUS, start=2)}

Check = Callable[[list[int]], None]
_decode = msgspec.json.Decoder(list[int]).decode


@dataclass
class Outcomes:
    """What became of each line."""

    codes: bytearray = field(default_factory=bytearray)
    """For each line an index of _WORDS."""
    refusals: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    """For each line that was refused its number, and the members of a problem."""
    empty: int = 0
    """Lines with nothing in them."""

    @property
    def ended(self) -> bool:
        """Whether the rest is left unread."""
        lost = len(self.refusals) + self.empty
        return lost >= _MOST_REFUSED or len(self.codes) >= _MOST_LINES

    @property
    def counts(self) -> dict[str, int]:
        """How many lines became what."""
        counts = {word: self.codes.count(code) for code, word in enumerate(_WORDS)}
        return {word: count for word, count in counts.items() if count}

    @property
    def document(self) -> dict[str, object]:
        """As it is answered: numbers, and the lines from first to last that became the same."""
        runs: list[tuple[int, int, str]] = []
        first = 1
        for code, run in groupby(self.codes):
            last = first + sum(1 for _ in run) - 1
            runs.append((first, last, _WORDS[code]))
            first = last + 1
        return {
            "read": len(self.codes),
            "ended": self.ended,
            **self.counts,
            "lines": runs,
            "refusals": self.refusals,
        }


def take_lines(store: Store, survey: Survey, body: Body) -> Outcomes:
    """Store the reports in a body of lines; once this returns they are on disk.

    Raises NotStored; what was committed by then stays, and counts once when it is sent again.
    """
    reader = _Reader(store, survey)
    found = Outcomes()
    begun: list[_Part] = []
    for lines in _chunks(body):
        with _TURN:
            part = reader.read(lines, found)
        while begun:
            _settle(found, begun.pop())  # written while this one was read
        if part.waiting:
            store.begin(part.batch)
            begun.append(part)
        if found.ended:
            break
    for part in begun:
        _settle(found, part)
    return found


@dataclass
class _Part:
    """The reports in a chunk, and the indices of their lines."""

    batch: BatchWrite
    waiting: Sequence[int]


def _settle(found: Outcomes, part: _Part) -> None:
    for index, outcome in zip(part.waiting, part.batch.wait(), strict=True):
        found.codes[index] = _CODES[outcome]


class _Reader:
    """Takes the lines of one survey apart."""

    def __init__(self, store: Store, survey: Survey) -> None:
        self._store = store
        self._survey = survey
        order = [question.name for question in survey.questions]
        names = sorted(order)
        self._places = [1 + names.index(name) for name in order]
        self._checks = [question.mechanism.check for question in survey.questions]
        self._known: list[set[str]] = [set() for _ in names]
        values = ",".join(rf'"{name}":(\[[-0-9,]*\])' for name in names)
        start = r'\{"id":"([0-9a-f]{32})","survey":"'
        pattern = rf'^{start}{survey.digest}","values":\{{{values}\}}\}}$'
        # With a ticket, or only some of the questions, each goes the way of a single one.
        self._plain = survey.asked == len(order) and not survey.invited
        self._find = re.compile(pattern, re.MULTILINE).findall

    def read(self, lines: list[bytes | None], found: Outcomes) -> _Part:
        """The reports in these lines. What is none is told in ``found``; of the others the codes
        are to be settled. Stops where ``found`` has ended."""
        batch = BatchWrite(self._survey)
        start = len(found.codes)
        if self._plain and None not in lines and self._all_plain(batch, cast("list[bytes]", lines)):
            found.codes += bytes(len(lines))
            return _Part(batch, range(start, start + len(lines)))
        waiting: list[int] = []
        for index, line in enumerate(lines, start):
            code = _EMPTY
            try:
                if self._one(batch, line):
                    waiting.append(index)
                else:
                    found.empty += 1
            except (BadReport, Refusal) as error:
                code = _REFUSED
                found.refusals.append({"line": index + 1, **members(error)})
            found.codes.append(code)
            if found.ended:
                break
        return _Part(batch, waiting)

    def _all_plain(self, batch: BatchWrite, lines: list[bytes]) -> bool:
        """Fill the batch, if every line is a report as devices write it."""
        # latin-1 gives every byte a character, so that no line becomes two.
        found = self._find(b"\n".join(lines).decode("latin-1"))
        if not found or len(found) != len(lines):
            return False
        columns = list(zip(*found, strict=True))
        values = [list(columns[place]) for place in self._places]
        if not all(map(self._are_valid, self._checks, self._known, values)):
            return False
        ids = bytes.fromhex("".join(columns[0]))
        batch.keys = [ids[at : at + 16] for at in range(0, len(ids), 16)]
        batch.values = values
        return True

    def _one(self, batch: BatchWrite, line: bytes | None) -> bool:
        """Whether there is a report in a line, which is in the batch then."""
        if line is None:
            raise TooLarge(f"a report has at most {LARGEST_BODY} bytes")
        if not line.strip():
            return False
        line, ticket = _opened(line) if self._survey.invited else (line, "")
        report = read_report(line)
        if report.survey != self._survey.digest:
            raise WrongDigest("the report answers another version of this survey, or another one")
        report.check(self._survey)
        admit(self._store, self._survey, report, ticket)
        batch.add(report)
        return True

    @staticmethod
    def _are_valid(check: Check, known: set[str], texts: list[str]) -> bool:
        """Whether each text is the canonical one of a value that a device could have sent."""
        fresh = set(texts) - known
        for text in fresh:
            try:
                value = _decode(text)
                check(value)
            except (BadReport, msgspec.DecodeError):
                return False
            if encode(value).decode() != text:
                return False
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known |= fresh
        return True


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    report: msgspec.Raw
    ticket: str


_OPEN = msgspec.json.Decoder(_Envelope)


def _opened(line: bytes) -> tuple[bytes, str]:
    """A report and its ticket, as lines of a survey by invitation have them."""
    form = 'in a survey by invitation a line is {"report": {...}, "ticket": "..."}'
    envelope = decoded(_OPEN, line, form)
    return bytes(envelope.report), envelope.ticket


def _chunks(body: Body) -> Generator[list[bytes | None]]:
    """The lines of a body, a chunk at a time; None for one that is too long to be a report."""
    rest, too_long = b"", False
    while chunk := body.read(_CHUNK):
        lines: list[bytes | None] = list((rest + chunk).split(b"\n"))
        rest = lines.pop() or b""
        if too_long and lines:
            lines[0], too_long = None, False
        if too_long or len(rest) > LARGEST_BODY:
            rest, too_long = b"", True
        yield [None if line and len(line) > LARGEST_BODY else line for line in lines]
    if rest or too_long:
        yield [None if too_long else rest]
