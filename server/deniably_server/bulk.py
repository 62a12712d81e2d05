"""Many reports of one survey on their way to the disk, in a commit of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import compress, islice, repeat
from threading import Lock

import msgspec

from deniably.report import Report
from deniably.survey import Survey
from deniably_server.engine import Connection

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[int]).decode
_AT_ONCE = 10_000
"""Marks for parameters that a statement may have, with room to spare."""


class Outcome(Enum):
    """What became of a report."""

    STORED = "stored"
    REPLAYED = "replayed"
    CONFLICT = "conflict"
    CLOSED = "closed"
    UNKNOWN = "unknown"


class Bulk:
    """The reports, who waits for them, and in the end the outcome of each.

    ``values`` has for each question of the survey, in its order, the text of every report's value;
    ``NULL`` where a report has none.
    """

    __slots__ = ("done", "failure", "keys", "outcomes", "survey", "values")

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.keys: list[bytes] = []
        self.values: list[list[str]] = [[] for _ in survey.questions]
        self.outcomes: list[Outcome] = []
        self.failure: Exception | None = None
        self.done = Lock()
        self.done.acquire()

    def add(self, report: Report) -> None:
        """One more, that was checked against the survey."""
        self.keys.append(bytes.fromhex(report.id))
        for question, texts in zip(self.survey.questions, self.values, strict=True):
            value = report.values.get(question.name)
            texts.append(NULL if value is None else _encode(value).decode())

    @property
    def rows(self) -> Iterator[str]:
        """The text of each report's row."""
        return (f"[{','.join(values)}]" for values in zip(*self.values, strict=True))

    def among(self, wanted: Sequence[bool]) -> Bulk:
        """Those that are wanted, alone."""
        found = Bulk(self.survey)
        found.keys = list(compress(self.keys, wanted))
        found.values = [list(compress(texts, wanted)) for texts in self.values]
        return found


NULL = "null"


def row_text(survey: Survey, report: Report) -> str:
    """A report as it is stored: its values in the survey's order, null where one was not asked."""
    return _encode([report.values.get(question.name) for question in survey.questions]).decode()


def commit_bulk(database: Connection, bulk: Bulk) -> list[Outcome]:
    """One transaction; all rules are those of single reports."""
    database.begin_writing()
    name = bulk.survey.name
    row = database.execute("SELECT state FROM surveys WHERE name = ?", [name]).fetchone()
    other = {None: Outcome.UNKNOWN, "open": Outcome.STORED, "closed": Outcome.CLOSED}
    outcomes = _outcomes(_stored(database, bulk.keys), bulk, other[row[0] if row else None])
    fresh = bulk.among([outcome is Outcome.STORED for outcome in outcomes])
    if fresh.keys:
        rows = sorted(zip(fresh.keys, repeat(name), fresh.rows, strict=False))
        database.fill("reports", ("id", "survey", "report"), rows)
        count(database, {name: len(rows)}, *_counts(fresh))
    database.commit()
    return outcomes


def _outcomes(known: dict[bytes, tuple[str, str]], bulk: Bulk, other: Outcome) -> list[Outcome]:
    """What each report becomes; ``other`` if it was never seen."""
    if not known and len(set(bulk.keys)) == len(bulk.keys):
        return [other] * len(bulk.keys)
    outcomes: list[Outcome] = []
    for key, row in zip(bulk.keys, bulk.rows, strict=True):
        report = (bulk.survey.name, row)
        if key in known:
            same = known[key] == report
            outcomes.append(Outcome.REPLAYED if same else Outcome.CONFLICT)
            continue
        outcomes.append(other)
        if other is Outcome.STORED:
            known[key] = report  # a twin may wait in the same bulk
    return outcomes


Cells = Counter[tuple[str, str, int]]
Answered = Counter[tuple[str, str]]


def count(database: Connection, totals: dict[str, int], cells: Cells, answered: Answered) -> None:
    """Add to the tallies: reports by survey, by (survey, question, cell), and, where a survey
    asks only some of its questions, by (survey, question)."""
    database.executemany(
        "UPDATE totals SET reports = reports + ? WHERE survey = ?",
        [(more, survey) for survey, more in totals.items()],
    )
    database.executemany(
        "INSERT INTO tallies (survey, question, choice, count) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (survey, question, choice)"
        " DO UPDATE SET count = tallies.count + excluded.count",
        [(*key, more) for key, more in cells.items()],
    )
    if answered:
        database.executemany(
            "INSERT INTO answered (survey, question, reports) VALUES (?, ?, ?)"
            " ON CONFLICT (survey, question)"
            " DO UPDATE SET reports = answered.reports + excluded.reports",
            [(*key, more) for key, more in answered.items()],
        )


def _stored(database: Connection, keys: Iterable[bytes]) -> dict[bytes, tuple[str, str]]:
    rest, found = iter(keys), dict[bytes, tuple[str, str]]()
    while some := list(islice(rest, _AT_ONCE)):
        marks = ", ".join("?" * len(some))
        sql = f"SELECT id, survey, report FROM reports WHERE id IN ({marks})"  # noqa: S608  # marks only
        found |= {key: (survey, report) for key, survey, report in database.execute(sql, some)}
    return found


def _counts(bulk: Bulk) -> tuple[Cells, Answered]:
    cells: Cells = Counter()
    answered: Answered = Counter()
    survey = bulk.survey
    for question, texts in zip(survey.questions, bulk.values, strict=True):
        for text, more in Counter(texts).items():
            if text == NULL:
                continue
            answered[survey.name, question.name] += more
            for cell in _decode(text):
                cells[survey.name, question.name, cell] += more
    some = survey.asked < len(survey.questions)
    return cells, answered if some else Counter()
