"""Stores what the server has of surveys with a mixer: its keys of envelopes, and the batches.

The keys and the bytes of a batch are deleted in the transaction that stores its reports, and the
same transaction marks the survey for the rewrite that erases order. The rewrite removes what is
left of them on the disk. So a process that is killed between any two steps leaves nothing behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from threading import Event

import msgspec

from deniably.core.errors import BadBatch
from deniably.survey.survey import Survey
from deniably.trust.batch import Manifest
from deniably.trust.envelope import OpeningKey, new_opening_key, read_opening_key
from deniably.trust.opened_batch import OpenedBatch, OpenedReport, check_reports
from deniably_server.errors import Conflict, NotClosed, WrongPlace
from deniably_server.storage.engines.engine import Connection, ReportRow
from deniably_server.storage.tables.envelope_keys import (
    enter_envelope_key,
    find_envelope_key,
    is_unused_key,
    remove_envelope_key,
)
from deniably_server.storage.tables.mixed import (
    StoredManifest,
    batch_state,
    enter_hashes,
    enter_manifest,
    enter_piece,
    find_manifest,
    hash_block,
    held_bytes,
    open_batches,
    piece_at,
    remove_pieces,
    settle,
)
from deniably_server.storage.tables.surveys import find_state
from deniably_server.storage.tables.tallies import AddedCounts, add_counts
from deniably_server.storage.writing.order_erasure import mark

Opened = Callable[[], AbstractContextManager[Connection]]

HASH = 32
"""Bytes of a SHA-256, in the list of received envelopes."""
_AT_ONCE = 10_000
"""Reports that are inserted by one statement."""


class MixedStore:
    """The tables of surveys with a mixer in the store's database.

    ``reading`` opens a connection to read, and ``connection`` one without a transaction.
    ``writing`` and ``adding`` open one in a transaction, as the store's other parts do.
    ``needs_rewrite`` is set when something was deleted that must leave the disk, too. Every method
    raises Unavailable where the database does not answer.
    """

    def __init__(
        self, reading: Opened, connection: Opened, writing: Opened, adding: Opened,
        needs_rewrite: Event,
    ) -> None:  # fmt: skip
        self._reading, self._connection = reading, connection
        self._writing, self._adding, self._needs_rewrite = writing, adding, needs_rewrite

    # --- keys of envelopes ------------------------------------------------------------------

    def issue_key(self, token: str) -> str:
        """Makes a key of envelopes for a survey that the token with this id will publish; returns
        its public half.

        Raises Quota where the token has too many keys that no survey uses.
        """
        key = new_opening_key()
        self.add_key(key, token)
        return key.public

    def add_key(self, key: OpeningKey, token: str) -> None:
        """Stores a key of envelopes. Raises as ``issue_key`` does."""
        with self._writing() as database:
            enter_envelope_key(database, key.public, key.text.decode(), token)

    def is_unused_key(self, open_: str, token: str) -> bool:
        """Returns whether a survey can be published with the key of envelopes whose public half is
        ``open_`` by the token with this id."""
        with self._reading() as database:
            return is_unused_key(database, open_, token)

    def key(self, name: str) -> OpeningKey | None:
        """Returns the key of a survey; None where it has none, or it was deleted."""
        with self._reading() as database:
            text = find_envelope_key(database, name)
        return None if text is None else read_opening_key(text.encode())

    # --- manifests --------------------------------------------------------------------------

    def manifest(self, name: str) -> StoredManifest | None:
        """Returns what is known of a survey's batch; None before its mixer passed on a manifest."""
        with self._reading() as database:
            return find_manifest(database, name)

    def senders(self, name: str) -> int:
        """Returns how many people sent answers to a survey; 0 before its batch is taken."""
        stored = self.manifest(name)
        if stored is None or stored.state != "taken":
            return 0
        return read_manifest(stored).senders

    def is_awaited(self, name: str) -> bool:
        """Returns whether the batch of a survey is still to come, or to be checked."""
        stored = self.manifest(name)
        return stored is None or stored.state == "open"

    def open_batches(self) -> list[str]:
        """Returns the names of the surveys whose batches are open."""
        # A reader would stay open, and then nobody could make the disk of an idle server read-only.
        with self._connection() as database:
            return open_batches(database)

    def begin_batch(self, name: str, manifest: Manifest, signature: str) -> None:
        """Stores a verified manifest of a closed survey's batch; does nothing where it is stored.

        Raises NotClosed where the survey is open, and Conflict where another manifest is known: a
        survey has one batch, for ever.
        """
        text = manifest.canonical.decode()
        with self._writing() as database:
            if find_state(database, name) != "closed":
                raise NotClosed(
                    "the survey is open, and its mixer passes on the answers once it is closed"
                )
            known = find_manifest(database, name)
            if known is None:
                enter_manifest(database, name, text, signature)
            elif known.manifest != text:
                raise Conflict(
                    "another batch of this survey is known, and there is one for ever: in two, the"
                    " blanks would average out"
                )

    # --- bytes ------------------------------------------------------------------------------

    def held(self, name: str) -> int:
        """Returns how many bytes of an open batch are stored."""
        with self._reading() as database:
            return held_bytes(database, name)

    def add_piece(self, name: str, start: int, data: bytes, size: int) -> None:
        """Stores bytes of an open batch of ``size`` bytes, which begin at ``start``; once this
        returns, they are on disk. Does nothing where the batch is not open any more.

        Raises WrongPlace where another number of bytes is stored, and BadBatch where more came than
        the batch has.
        """
        with self._adding() as database:
            database.takes_turn(name, wait=True)  # of two that send, one comes too late
            if batch_state(database, name) != "open":
                return
            if (held := held_bytes(database, name)) != start:
                why = f"{held:,} bytes of the batch are stored; go on from there"
                raise WrongPlace(why, held)
            if start + len(data) > size:
                raise BadBatch(f"the batch has {size:,} bytes, and more came")
            if data:
                enter_piece(database, name, start, data)

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yields the stored bytes of an open batch in their order.

        Each piece is read for itself: to open all envelopes takes long, and a transaction that
        lasts so long holds up the cleaning of the disk.
        """
        start = 0
        while True:
            with self._reading() as database:
                piece = piece_at(database, name, start)
            if not piece:
                return
            yield piece
            start += len(piece)

    def begin_again(self, name: str) -> None:
        """Deletes the bytes of an open batch, because they are not those that the mixer signed."""
        with self._adding() as database:
            database.takes_turn(name, wait=True)
            if batch_state(database, name) == "open":
                remove_pieces(database, name)

    # --- the end of a batch -----------------------------------------------------------------

    def refuse(self, name: str, why: str) -> None:
        """Refuses an open batch as a whole, for good. Deletes its bytes and the survey's key."""
        with self._adding() as database:
            database.takes_turn(name, wait=True)
            if batch_state(database, name) == "open":
                settle(database, name, "refused", why=why)
                _delete(database, name)
        self._needs_rewrite.set()

    def take(self, survey: Survey, opened: OpenedBatch) -> bool:
        """Stores all reports of an open batch, in one transaction. Deletes its bytes and the
        survey's key. Returns False, and stores nothing, where the batch is not open any more.

        A report whose id another survey's report has is refused. Raises BadBatch where too few
        reports are left for results.
        """
        reports = sorted(opened.reports)
        known = self._take(survey, opened, reports)
        while known:
            reports = [each for number, each in enumerate(reports) if number not in known]
            check_reports(survey, reports)
            known = self._take(survey, opened, reports)
        if known is None:
            return False
        self._needs_rewrite.set()
        return True

    def _take(
        self, survey: Survey, opened: OpenedBatch, reports: list[OpenedReport]
    ) -> set[int] | None:
        """Store reports; returns the indices of those whose ids are stored already, and stores
        nothing if there are any. Returns None where the batch is not open any more."""
        # Before the transaction, for which writers may have to wait.
        rows, counts = _rows(survey, reports), _counts(survey, reports)
        with self._connection() as database:
            database.begin_taking()
            if batch_state(database, survey.name) != "open":
                return None
            known: set[int] = set()
            for start in range(0, len(rows), _AT_ONCE):
                stored = database.insert_new(rows[start : start + _AT_ONCE])
                known.update(start + index for index in stored)
            if not known:
                add_counts(database, {(survey.name, 0): len(reports)}, counts)
                enter_hashes(database, survey.name, opened.hashes)
                refused = opened.refused + len(opened.reports) - len(reports)
                settle(database, survey.name, "taken", refused=refused)
                _delete(database, survey.name)
                database.commit()
            return known

    def hashes(self, name: str) -> Iterator[bytes]:
        """Yields the list of received envelopes in blocks: the SHA-256 of each, ascending."""
        number = 0
        while True:
            with self._reading() as database:
                block = hash_block(database, name, number)
            if not block:
                return
            yield block
            number += 1


def read_manifest(stored: StoredManifest) -> Manifest:
    """Returns the manifest that is stored."""
    return msgspec.json.decode(stored.manifest, type=Manifest)


def _delete(database: Connection, name: str) -> None:
    """Deletes what nobody needs once a batch is taken or refused, and sees to it that it leaves the
    disk, too."""
    remove_pieces(database, name)
    remove_envelope_key(database, name)
    mark(database, name)


def _rows(survey: Survey, reports: list[OpenedReport]) -> list[ReportRow]:
    """The rows of the table of reports: each report has a value of one question."""
    texts: dict[tuple[int, tuple[int, ...]], str] = {}

    def text(question: int, value: tuple[int, ...]) -> str:
        cells = ["null"] * len(survey.questions)
        cells[question] = msgspec.json.encode(value).decode()
        return texts.setdefault((question, value), f"[{','.join(cells)}]")

    return [(each.id, survey.name, texts.get(each[1:]) or text(*each[1:]), 0) for each in reports]


def _counts(survey: Survey, reports: list[OpenedReport]) -> AddedCounts:
    """What the reports add to the tallies."""
    names = [question.name for question in survey.questions]
    added = AddedCounts(Counter(), Counter())
    for (question, value), count in Counter(each[1:] for each in reports).items():
        added.answered[survey.name, 0, names[question]] += count
        for cell in value:
            added.cells[survey.name, 0, names[question], cell] += count
    return added
