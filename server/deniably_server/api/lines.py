"""Parses batches of reports: lines of JSON, read as they arrive, each with its own outcome.

Parsing a batch is mostly Python's time. One regular expression therefore matches all lines of a
chunk against the canonical form of this survey's reports, as devices write it. Each distinct value
is checked once and then known by its text. If a line does not match, its chunk is parsed line by
line like single reports, with the same refusals. A request of any length takes two chunks of
memory, and a byte for each line.
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
"""After so many refused or empty lines the rest is left unread: it is for another survey."""
_TURN = Lock()
"""Parsing needs the memory, so one request of a process parses at a time."""
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
    """The outcome of each line."""

    codes: bytearray = field(default_factory=bytearray)
    """An index of _WORDS for each line."""
    refusals: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    """For each refused line its number and the members of a problem."""
    empty: int = 0
    """The number of empty lines."""

    @property
    def ended(self) -> bool:
        """Whether the rest is left unread."""
        lost = len(self.refusals) + self.empty
        return lost >= _MOST_REFUSED or len(self.codes) >= _MOST_LINES

    @property
    def counts(self) -> dict[str, int]:
        """The number of lines of each outcome; outcomes without lines are left out."""
        counts = {word: self.codes.count(code) for code, word in enumerate(_WORDS)}
        return {word: count for word, count in counts.items() if count}

    @property
    def document(self) -> dict[str, object]:
        """The answer's document: the counts, and runs of lines with equal outcomes, each with its
        first and last line."""
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
    """Store the reports in a body of lines. When this returns, they are on disk.

    Raises NotStored. Reports committed by then stay, and count once if they are sent again.
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
    """The reports of a chunk, with the indices of their lines."""

    batch: BatchWrite
    waiting: Sequence[int]


def _settle(found: Outcomes, part: _Part) -> None:
    for index, outcome in zip(part.waiting, part.batch.wait(), strict=True):
        found.codes[index] = _CODES[outcome]


class _Reader:
    """Parses the lines of one survey's batch."""

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
        # Reports with a ticket, a stratum, or only some of the questions are parsed one by one.
        self._plain = survey.asked == len(order) and not (survey.invited or survey.strata)
        self._find = re.compile(pattern, re.MULTILINE).findall

    def read(self, lines: list[bytes | None], found: Outcomes) -> _Part:
        """The reports in these lines. Other lines are noted in ``found``; the codes of reports are
        set later by ``_settle``. Stops when ``found`` has ended."""
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
        """Fill the batch if every line is a report in canonical form; returns whether it is."""
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
        batch.strata = [0] * len(lines)
        batch.values = values
        return True

    def _one(self, batch: BatchWrite, line: bytes | None) -> bool:
        """Add the report of a line to the batch; False if the line is empty."""
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
        """Whether each text is the canonical form of a value that a device can send."""
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
    """The report and the ticket in a line for a survey by invitation."""
    form = 'in a survey by invitation a line is {"report": {...}, "ticket": "..."}'
    envelope = decoded(_OPEN, line, form)
    return bytes(envelope.report), envelope.ticket


def _chunks(body: Body) -> Generator[list[bytes | None]]:
    """The lines of a body, a chunk at a time; None for a line that is too long for a report."""
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
