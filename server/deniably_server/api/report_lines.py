"""Parses batches of reports: lines of JSON, read as they arrive, each with its own outcome.

Parsing a batch is mostly Python's time. One regular expression therefore takes all lines of a
chunk apart, if they have the canonical form of this survey's reports, as devices write it. Each
distinct value is checked once and then known by its text. If a line has another form, its chunk is
parsed line by line like single reports, with the same refusals. A request of any length takes two
chunks of memory, and a byte for each line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from threading import Lock

import msgspec

from deniably.core.errors import BadReport
from deniably.survey.report import LARGEST_BODY, read_report
from deniably.survey.survey import Survey
from deniably_server.api.admission import admit
from deniably_server.errors import Refusal, TooLarge, WrongDigest
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import NULL, BatchWrite, Outcome
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
"""The number of distinct values of a question that are remembered as checked."""

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
    """What became of each line of a batch of reports."""

    codes: bytearray = field(default_factory=bytearray)
    """For each line, the index of its outcome in ``_WORDS``."""
    refusals: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    """For each refused line its number and the members of a problem (RFC 9457)."""
    empty: int = 0
    """The number of empty lines."""

    @property
    def ended(self) -> bool:
        """Whether the rest of the batch is left unread."""
        lost = len(self.refusals) + self.empty
        return lost >= _MOST_REFUSED or len(self.codes) >= _MOST_LINES

    @property
    def counts(self) -> dict[str, int]:
        """The number of lines by outcome; outcomes without lines are left out."""
        counts = {word: self.codes.count(code) for code, word in enumerate(_WORDS)}
        return {word: count for word, count in counts.items() if count}

    @property
    def document(self) -> dict[str, object]:
        """The body of the answer: the numbers of lines by outcome, the refusals, and runs of
        consecutive lines with equal outcomes, as (first line, last line, outcome)."""
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
    """Stores the reports in a body of lines; returns the outcome of each line. When this returns,
    the reports are on disk.

    Raises NotStored where a transaction failed. Reports that were committed before stay, and count
    once if they are sent again.
    """
    reader = _Reader(store, survey)
    outcomes = Outcomes()
    begun: list[_Part] = []
    for chunk in _chunks(body):
        with _TURN:
            part = reader.read(chunk, outcomes)
        while begun:
            _settle(outcomes, begun.pop())  # written while this one was read
        if part.waiting:
            store.begin(part.batch)
            begun.append(part)
        if outcomes.ended:
            break
    for part in begun:
        _settle(outcomes, part)
    return outcomes


@dataclass
class _Part:
    """The reports of a chunk, with the indices of their lines."""

    batch: BatchWrite
    waiting: Sequence[int]


def _settle(outcomes: Outcomes, part: _Part) -> None:
    codes = map(_CODES.__getitem__, part.batch.wait())
    for index, code in zip(part.waiting, codes, strict=True):
        outcomes.codes[index] = code


class _Reader:
    """Parses the lines of one survey's batch."""

    def __init__(self, store: Store, survey: Survey) -> None:
        self._store = store
        self._survey = survey
        order = [question.name for question in survey.questions]
        names = sorted(order)
        # Of the parts of a line: what is before it, the id, then the values by name.
        self._places = [2 + names.index(name) for name in order]
        self._checks = [question.mechanism.check for question in survey.questions]
        self._known: list[set[str]] = [set() for _ in names]
        # Reports with a ticket or a stratum are parsed one by one.
        self._plain = not (survey.invited or survey.strata)
        self._apart = re.compile(line_pattern(survey.digest, names, some=not survey.complete)).split

    def read(self, chunk: bytes, outcomes: Outcomes) -> _Part:
        """Returns the reports in these lines. Other lines are noted in ``outcomes``; the codes of
        reports are set later by ``_settle``. Stops when ``outcomes`` has ended."""
        batch = BatchWrite(self._survey)
        start = len(outcomes.codes)
        if self._plain and self._all_plain(batch, chunk):
            outcomes.codes += bytes(len(batch))
            return _Part(batch, range(start, start + len(batch)))
        waiting: list[int] = []
        for index, line in enumerate(_lines(chunk), start):
            code = _EMPTY
            try:
                if self._one(batch, line):
                    waiting.append(index)
                else:
                    outcomes.empty += 1
            except (BadReport, Refusal) as error:
                code = _REFUSED
                outcomes.refusals.append({"line": index + 1, **members(error)})
            outcomes.codes.append(code)
            if outcomes.ended:
                break
        return _Part(batch, waiting)

    def _all_plain(self, batch: BatchWrite, chunk: bytes) -> bool:
        """Fills the batch if every line is a report in canonical form; returns whether it is."""
        # latin-1 gives every byte a character.
        text = chunk.decode("latin-1")
        parts = self._apart(text if text.endswith("\n") else f"{text}\n")
        width = 2 + len(self._places)
        if any(parts[::width]):  # what is between the reports
            return False
        columns = [parts[place::width] for place in range(width)]
        try:
            keys = list(map(bytes.fromhex, columns[1]))
        except ValueError:
            return False
        if b"".join(keys).hex() != "".join(columns[1]):  # capitals, or spaces
            return False
        values = [columns[place] for place in self._places]
        if not self._survey.complete:
            if not all(map(self._are_enough, zip(*values, strict=True))):
                return False
            values = [[text or NULL for text in texts] for texts in values]
        if not all(map(self._are_valid, self._checks, self._known, values)):
            return False
        batch.keys, batch.strata, batch.values = keys, [0] * len(keys), values
        return True

    def _are_enough(self, texts: Sequence[str | None]) -> bool:
        """Returns whether a report may have so many values; None stands for a question without
        one."""
        count = len(texts) - texts.count(None)
        return self._survey.least_asked <= count <= self._survey.asked

    def _one(self, batch: BatchWrite, line: bytes) -> bool:
        """Adds the report of a line to the batch; returns False if the line is empty."""
        if len(line) > LARGEST_BODY:
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
        """Returns whether each text is the canonical form of a value that a device can send."""
        fresh = set(texts) - known - {NULL}
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


def line_pattern(digest: str, names: list[str], *, some: bool = False) -> str:
    """Returns a regular expression for one line: a report in canonical form to the survey with
    this ``digest``.

    The groups are the report's id and its values, in the order of ``names``, which must be
    alphabetical. If ``some`` is true, a report may lack values, and the group of a missing value
    is None.
    """
    fields = [f'"{name}":[]' for name in names]
    fixed = f'{{"id":"{digest[:32]}","survey":"{digest}","values":{{{",".join(fields)}}}}}'
    # So that no line is longer than a report may be. Nothing is tried twice: within a value no
    # other report begins, from where the rest of it would be tried again.
    value = rf"(\[[-,0-9]{{0,{max(0, LARGEST_BODY - len(fixed)) // len(names)}}}+\])"
    if some:  # a comma stands before another question, none before the end
        values = r"(?!\})" + "".join(rf'(?:"{name}":{value}(?:,(?=")|(?=\}})))?' for name in names)
    else:
        values = ",".join(f'"{name}":{value}' for name in names)
    return rf'\{{"id":"(.{{32}})","survey":"{digest}","values":\{{{values}\}}\}}\n'


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    report: msgspec.Raw
    ticket: str


_OPEN = msgspec.json.Decoder(_Envelope)


def _opened(line: bytes) -> tuple[bytes, str]:
    """Returns the report and the ticket in a line for a survey by invitation."""
    form = 'in a survey by invitation a line is {"report": {...}, "ticket": "..."}'
    envelope = decoded(_OPEN, line, form)
    return bytes(envelope.report), envelope.ticket


def _chunks(body: Body) -> Generator[bytes]:
    """Yields the lines of a body, a chunk at a time. Of a line that is too long for a report, the
    end may be missing."""
    rest = b""
    while chunk := body.read(_CHUNK):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield rest + chunk[:cut]
            rest = b""
        rest = (rest + chunk[cut:])[: LARGEST_BODY + 1]
    if rest:
        yield rest


def _lines(chunk: bytes) -> list[bytes]:
    lines = chunk.split(b"\n")
    return lines if lines[-1] else lines[:-1]
