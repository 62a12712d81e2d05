"""What one transaction stores: single reports that waited together, or many of one survey.

Both go by the same rules. An id counts once; the same report again is told so, and another under
its id is a conflict. The state of a survey is read inside the transaction: a report that was
acknowledged is in every result computed after the closing, and none comes later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import compress, islice, repeat
from threading import Lock

import msgspec

from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably_server.errors import NotStored, Unavailable
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.settings import enter_setting, remove_setting
from deniably_server.storage.tables.snapshots import batch_of, renew
from deniably_server.storage.tables.surveys import State, states_of
from deniably_server.storage.tables.tallies import AddedCounts, add_counts

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[int]).decode
_AT_ONCE = 10_000
"""Marks for parameters that a statement may have, with room to spare."""

ReportRow = tuple[bytes, str, str]
"""A report's id, its survey's name and its text."""


class Outcome(Enum):
    """What became of a report."""

    STORED = "stored"
    REPLAYED = "replayed"
    CONFLICT = "conflict"
    CLOSED = "closed"
    UNKNOWN = "unknown"


_OF_NEW: Mapping[State | None, Outcome] = {
    "open": Outcome.STORED,
    "closed": Outcome.CLOSED,
    None: Outcome.UNKNOWN,
}
"""What becomes of a new report, by its survey's state."""


class Waiting:
    """Somebody waits for what becomes of reports."""

    __slots__ = ("_done", "_failure", "_kind", "_outcomes")

    def __init__(self) -> None:
        self._outcomes: list[Outcome] = []
        self._failure: Exception | None = None
        self._kind: type[NotStored | Unavailable] = NotStored
        # A bare lock, taken here and released by the writer, is the cheapest way to wait.
        self._done = Lock()
        self._done.acquire()

    def wait(self) -> list[Outcome]:
        """The outcome of each report, once they are on disk.

        Raises Unavailable where the disk, a lock or the network refused (which may break off in
        the middle of a commit), NotStored where anything else failed, and nothing is kept. To be
        called once.
        """
        self._done.acquire()
        if self._failure is not None:
            raise self._kind("what was sent could not be stored") from self._failure
        return self._outcomes

    def tell(self, outcomes: list[Outcome]) -> None:
        """They are on disk."""
        self._outcomes = outcomes
        self._done.release()

    def fail(self, failure: Exception, kind: type[NotStored | Unavailable]) -> None:
        """None of them is, as far as can be known."""
        self._failure, self._kind = failure, kind
        self._done.release()


class Entry(Waiting):
    """A report on its way to the disk: its row, the cells it counts in, and who waits for it.

    ``cells`` holds (question, cell) pairs; ``answered`` the questions that it has, where a survey
    asks only some; ``batch`` how many reports renew its results, see ``snapshots``.
    """

    __slots__ = ("answered", "batch", "cells", "row")

    def __init__(
        self,
        row: ReportRow,
        cells: Sequence[tuple[str, int]],
        answered: Sequence[str] = (),
        batch: int = 0,
    ) -> None:
        super().__init__()
        self.batch = batch
        self.row = row
        self.cells = cells
        self.answered = answered

    def __len__(self) -> int:
        return 1


class Trial(Waiting):
    """Nothing to store: whether it could be is the question."""

    __slots__ = ()

    def __len__(self) -> int:
        return 0


class Bulk(Waiting):
    """Many reports of one survey, by column.

    ``values`` has for each question of the survey, in its order, the text of every report's value;
    ``NULL`` where a report has none.
    """

    __slots__ = ("keys", "survey", "values")

    def __init__(self, survey: Survey) -> None:
        super().__init__()
        self.survey = survey
        self.keys: list[bytes] = []
        self.values: list[list[str]] = [[] for _ in survey.questions]

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, report: Report) -> None:
        """One more, that was checked against the survey."""
        self.keys.append(bytes.fromhex(report.id))
        for question, texts in zip(self.survey.questions, self.values, strict=True):
            value = report.values.get(question.name)
            texts.append(NULL if value is None else _encode(value).decode())

    @property
    def rows(self) -> Iterator[ReportRow]:
        """The row of each report."""
        texts = (f"[{','.join(values)}]" for values in zip(*self.values, strict=True))
        return zip(self.keys, repeat(self.survey.name), texts, strict=False)


NULL = "null"


def entry_of(survey: Survey, report: Report) -> Entry:
    """A report that was checked against the survey, on its way."""
    values = [report.values.get(question.name) for question in survey.questions]
    return Entry(
        (bytes.fromhex(report.id), survey.name, _encode(values).decode()),
        [(name, cell) for name, value in report.values.items() for cell in value],
        list(report.values) if survey.asked < len(survey.questions) else [],
        batch_of(survey),
    )


def commit_entries(database: Connection, entries: Sequence[Entry]) -> list[Outcome]:
    """Store single reports."""

    def counted(stored: Sequence[bool]) -> AddedCounts:
        cells: Counter[tuple[str, str, int]] = Counter()
        answered: Counter[tuple[str, str]] = Counter()
        for each in compress(entries, stored):
            survey = each.row[1]
            cells.update((survey, question, cell) for question, cell in each.cells)
            answered.update((survey, question) for question in each.answered)
        return AddedCounts(cells, answered)

    batches = {each.row[1]: each.batch for each in entries}
    return _commit(database, [each.row for each in entries], counted, batches)


def commit_bulk(database: Connection, bulk: Bulk) -> list[Outcome]:
    """Store many."""
    survey = bulk.survey
    some = survey.asked < len(survey.questions)

    def counted(stored: Sequence[bool]) -> AddedCounts:
        found = AddedCounts(Counter(), Counter())
        for question, texts in zip(survey.questions, bulk.values, strict=True):
            by_text = Counter(compress(texts, stored))
            nothing = by_text.pop(NULL, 0)
            if some:
                found.answered[survey.name, question.name] = sum(stored) - nothing
            for text, more in by_text.items():
                for cell in _decode(text):
                    found.cells[survey.name, question.name, cell] += more
        return found

    return _commit(database, list(bulk.rows), counted, {survey.name: batch_of(survey)})


def commit_trial(database: Connection) -> list[Outcome]:
    """Write as a report would be written, and leave nothing."""
    database.begin_writing()
    enter_setting(database, "trial", "")
    remove_setting(database, "trial")
    database.commit()
    return []


def _commit(
    database: Connection,
    rows: Sequence[ReportRow],
    counted: Callable[[Sequence[bool]], AddedCounts],
    batches: Mapping[str, int],
) -> list[Outcome]:
    """One transaction. ``counted`` gives what those add that are stored, ``batches`` for each
    survey how many reports renew its results."""
    database.begin_writing()
    outcomes = _outcomes(database, rows)
    stored = [outcome is Outcome.STORED for outcome in outcomes]
    # Neighbours on the disk, whatever the order of arrival.
    fresh = sorted(compress(rows, stored))
    if fresh:
        database.fill("reports", ("id", "survey", "report"), fresh)
        totals = Counter(survey for _, survey, _ in fresh)
        add_counts(database, totals, counted(stored))
        for survey in filter(batches.get, totals):
            renew(database, survey, batches[survey])
    database.commit()
    return outcomes


def _outcomes(database: Connection, rows: Sequence[ReportRow]) -> list[Outcome]:
    known = _stored(database, (key for key, _, _ in rows))
    states = states_of(database, {survey for _, survey, _ in rows})
    outcomes: list[Outcome] = []
    for row in rows:
        key, survey, _ = row
        if key in known:
            outcome = Outcome.REPLAYED if known[key] == row else Outcome.CONFLICT
        else:
            outcome = _OF_NEW[states.get(survey)]
            if outcome is Outcome.STORED:
                known[key] = row  # a twin may come after it
        outcomes.append(outcome)
    return outcomes


def _stored(database: Connection, keys: Iterable[bytes]) -> dict[bytes, ReportRow]:
    rest, found = iter(keys), dict[bytes, ReportRow]()
    while some := list(islice(rest, _AT_ONCE)):
        marks = ", ".join("?" * len(some))
        sql = f"SELECT id, survey, report FROM reports WHERE id IN ({marks})"  # noqa: S608  # marks only
        found |= {row[0]: (row[0], row[1], row[2]) for row in database.execute(sql, some)}
    return found
