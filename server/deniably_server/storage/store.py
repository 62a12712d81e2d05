"""The store: surveys, perturbed reports and their tallies in one database."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from itertools import islice
from threading import Event, Lock
from typing import Any, NamedTuple, TypeVar

import msgspec

from deniably.core.canonical import parse
from deniably.estimation.tally import Tally
from deniably.survey.parts import SURVEY_NAME
from deniably.survey.report import Report
from deniably.survey.survey import Survey, as_survey
from deniably.trust.blind_rsa import PrivateKey, PublicKey, new_key
from deniably.trust.codes import new_code
from deniably.trust.signing import Signature, verify
from deniably_server.errors import Closed, Conflict, NotFound, Unavailable
from deniably_server.storage.engines.addresses import engine_at
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.engines.readers import Readers
from deniably_server.storage.tables.invitations import (
    InvitationCounts,
    count_invitations,
    enter_invitations,
    enter_key,
    find_key,
    is_spent,
    issued,
    revoke_invitations,
    spend,
)
from deniably_server.storage.tables.owners import Quotas, enter_owner, owner_of, register_size
from deniably_server.storage.tables.register import (
    Card,
    RegisterPage,
    author_of,
    cards,
    enter_closed,
    enter_published,
    entries,
    entry_size,
    last,
    register_page,
)
from deniably_server.storage.tables.settings import (
    enter_setting,
    find_setting,
    remove_setting,
    take_setting,
)
from deniably_server.storage.tables.snapshots import current, forget, shown_reports, shown_snapshot
from deniably_server.storage.tables.surveys import (
    State,
    count_surveys,
    digests,
    enter_survey,
    find_definition,
    find_digest,
    find_state,
    mark_closed,
    survey_names,
)
from deniably_server.storage.tables.tallies import (
    begin_tallies,
    find_total,
    recounted,
    replace_tallies,
    report_texts,
    tallies_of,
)
from deniably_server.storage.tables.tokens import (
    Token,
    enter_token,
    every_token,
    find_token,
    revoke_token,
)
from deniably_server.storage.writing.commit import BatchWrite, Outcome, ReportWrite, report_write
from deniably_server.storage.writing.order_erasure import erase_order, mark, marked
from deniably_server.storage.writing.writer import Observer, Writer

_INVITATIONS = "invitations_hmac_sha256"
"""The setting that has the key under which codes are hashed."""
_REPAIRS = "repairs"
"""The setting that counts how often tallies were counted anew: what was made of them before is
worth nothing then."""
_Found = TypeVar("_Found")


class ShownCounts(NamedTuple):
    """How many reports a survey's results are made of, how many the question with the fewest has,
    and which repair the tallies have behind them."""

    reports: int
    fewest: int
    repairs: str


_NAME = re.compile(SURVEY_NAME)

_MOST_SURVEYS = 256
"""Definitions that are kept in memory."""
_BLOCK = 10_000
"""Reports that are in memory at once."""


class Store:
    """One database: the path of an SQLite file, or ``postgresql://...``. Threads may share a store;
    processes share the database, each by a store of its own. Whatever is asked of it raises
    Unavailable where the disk, a lock or the network refuses.

    Nothing stays open and no thread runs before it is needed, so a store may be made before a
    fork and used after it (but not before and after). ``observer`` is told of every commit.
    """

    def __init__(self, address: str, observer: Observer | None = None) -> None:
        self.engine = engine_at(address)
        self._observer = observer
        self._lock = Lock()
        self.survey = lru_cache(_MOST_SURVEYS)(self._survey)
        """The definition of a published survey. Raises NotFound."""
        self._keys: dict[str, PrivateKey] = {}
        self._readers = Readers(self.engine)
        self._writer: Writer | None = None
        self.engine.migrate()
        self.needs_rewrite = Event()
        """That there may be something to ``erase_order``: after a closing, and in the beginning."""
        self.needs_rewrite.set()

    # --- surveys ----------------------------------------------------------------------------

    def publish(
        self,
        survey: Survey,
        signature: Signature,
        token: str | None = None,
        quotas: Quotas = Quotas(),  # noqa: B008  # frozen
    ) -> bool:
        """Store a definition and enter it into the register, for good. False where this very
        definition was there already. ``token`` is the id of the one that it is published with, to
        which the quotas apply.

        Raises BadSignature, Conflict where the name has another definition or author, and Quota.
        """
        verify(survey.digest, signature)
        key = new_key() if survey.invited else None  # which takes long; not within a transaction
        with self._transaction() as database:
            if _is_published(database, survey, signature.author):
                return False
            enter_survey(database, survey)
            begin_tallies(database, survey.name)
            if key:
                enter_key(database, survey.name, key)
            enter_published(database, survey, signature, key.public.text if key else None)
            if token is not None:
                enter_owner(database, survey.name, token, entry_size(database, survey.name), quotas)
        if key:
            self._keys[survey.name] = key
        return True

    def owner(self, name: str) -> str | None:
        """The id of the token that published a survey; None where that is not known."""
        with self._reading() as database:
            return owner_of(database, name)

    def author(self, name: str) -> str:
        """The public key that signed a survey."""
        with self._reading() as database:
            return author_of(database, name)

    def register_size(self) -> int:
        """About how many bytes the register has."""
        with self._reading() as database:
            return register_size(database)

    def _survey(self, name: str) -> Survey:
        # A definition never changes, so what was read once stays right.
        text = self._of_survey(find_definition, name)
        # It was verified as a whole when it was published.
        return as_survey(parse(text))

    def state(self, name: str) -> State:
        """Whether a survey is open or closed, as of now. Raises NotFound."""
        return self._of_survey(find_state, name)

    def cards(self, start: int, count: int) -> tuple[list[Card], int]:
        """What lists say of surveys, in alphabetical order, and how many there are in all. Reads
        no whole definition."""
        with self._reading() as database, _one_state(database):
            return cards(database, start, count), count_surveys(database)

    def names(self) -> list[str]:
        """The names of all surveys, in alphabetical order."""
        with self._reading() as database:
            return survey_names(database)

    def digests(self) -> dict[str, str]:
        """The digest of every survey's definition, by name."""
        with self._reading() as database:
            return digests(database)

    def close_survey(self, name: str) -> None:
        """Take no more reports, for good; and let ``needs_rewrite`` know. Raises NotFound."""
        if self.state(name) == "open":
            with self._transaction() as database:
                mark_closed(database, name)
                enter_closed(database, name)
                forget(database, name)
                mark(database, name)
        self.needs_rewrite.set()

    def telling_order(self) -> list[str]:
        """The closed surveys of which something may tell in which order their reports came. Reads
        all that is stored."""
        with self._connection() as database, _one_state(database):
            unfinished = marked(database)
            return [
                name
                for name in survey_names(database, "closed")
                if name in unfinished or database.tells_order(name)
            ]

    def erase_order(self, *names: str) -> None:
        """See to it that nothing does; of the closed surveys ``names``, too.

        Others write meanwhile, or wait for a moment (see ``Connection.clean``).
        """
        if names:
            with self._transaction() as database:
                for name in names:
                    mark(database, name)
        with self._connection() as database:
            erase_order(database)

    def register(self, after: int = 0) -> tuple[list[str], str]:
        """The entries from number ``after + 1`` on, as canonical JSON, and the head of all."""
        with self._reading() as database, _one_state(database):
            return entries(database, after), last(database).head

    def register_page(self, start: int, count: int) -> RegisterPage:
        """The surveys of the register, the newest first, some of them."""
        with self._reading() as database, _one_state(database):
            return register_page(database, start, count)

    # --- reports ----------------------------------------------------------------------------

    def add(self, survey: Survey, report: Report) -> Outcome:
        """Store a report that was checked against ``survey``; returns once it is on disk.

        Raises NotStored where the transaction failed; nothing of the report is kept then.
        """
        write = report_write(survey, report)
        self.begin(write)
        (outcome,) = write.wait()
        return outcome

    def begin(self, work: ReportWrite | BatchWrite) -> None:
        """Begin to store reports that were checked; ``work.wait()`` waits for the disk, and raises
        as ``add`` does; nothing of them is kept then."""
        self._get_writer().begin(work)

    def reports(self, name: str) -> int:
        """How many reports a survey has, to the last one: for nobody's eyes. Raises NotFound."""
        self.survey(name)
        with self._reading() as database:
            return find_total(database, name)

    def tally(self, name: str) -> dict[str, Tally]:
        """The tally of every question, kept current by each commit. Raises NotFound.

        Costs the number of cells that are not empty, not of reports.
        """
        self.survey(name)  # read, and kept, before the connection is taken
        with self._reading() as database, _one_state(database):
            return self._kept(database, name)

    def shown_tally(self, name: str) -> dict[str, Tally]:
        """The tallies that results are made of: of an open survey those of the last full batch
        (``snapshots``). Raises NotFound."""
        survey = self.survey(name)
        with self._reading() as database, _one_state(database):
            found = shown_snapshot(database, name) or current(database, name)
            return tallies_of(survey, found)

    def shown_counts(self, name: str) -> ShownCounts:
        """Of how many reports ``shown_tally`` is; costs little. Raises NotFound."""
        survey = self.survey(name)
        with self._reading() as database, _one_state(database):
            found = dict(shown_reports(database, name))
            repairs = find_setting(database, _REPAIRS) or "0"
        everybody = found.get(None, 0)
        if survey.asked == len(survey.questions):
            return ShownCounts(everybody, everybody, repairs)
        fewest = min(found.get(question.name, 0) for question in survey.questions)
        return ShownCounts(everybody, fewest, repairs)

    def recount(self, name: str) -> dict[str, Tally]:
        """The same tallies from the stored reports themselves. Reads all. Raises NotFound."""
        self.survey(name)  # read, and kept, before the connection is taken
        with self._reading() as database, _one_state(database):
            return self._counted(database, name)

    def tally_and_recount(self, name: str) -> tuple[dict[str, Tally], dict[str, Tally]]:
        """Both, as of one moment, on a connection of their own. Raises NotFound."""
        self.survey(name)
        with self._connection() as database, _one_state(database):
            return self._kept(database, name), self._counted(database, name)

    def rebuild_tallies(self, name: str) -> None:
        """Put the recount in the place of the tallies. Raises NotFound."""
        survey = self.survey(name)
        with self._transaction() as database:
            counted = self._counted(database, name)
            repairs = int(find_setting(database, _REPAIRS) or 0) + 1
            remove_setting(database, _REPAIRS)
            enter_setting(database, _REPAIRS, str(repairs))
            forget(database, name)
            replace_tallies(database, survey, counted)

    def problems(self) -> list[str]:
        """What the database says is wrong with itself."""
        with self._connection() as database:
            return database.problems()

    def check(self) -> None:
        """Raises Unavailable where the database cannot be read, or stores nothing at present."""
        self.names()
        self._get_writer().check()

    def values(self, name: str, *questions: int) -> Iterator[list[Sequence[list[int] | None]]]:
        """Of every stored report the values of these questions, by their indices and in the order
        of the survey, None where one was not asked: in blocks, so that few are in memory.

        In the order of random ids. For what tallies cannot tell: how answers go together, and
        maximum likelihood. Raises NotFound.
        """
        size = len(self.survey(name).questions)
        wanted = sorted(set(questions))
        # What is not wanted is passed over, which takes a tenth of reading it.
        one: Any = msgspec.json.Decoder(
            tuple[tuple(list[int] | None if i in wanted else msgspec.Raw for i in range(size))]  # type: ignore[misc]
        ).decode
        with self._connection() as database, _one_state(database):
            texts = report_texts(database, name)
            while block := [one(text) for text in islice(texts, _BLOCK)]:
                yield [[row[index] for index in wanted] for row in block]

    # --- invitations ------------------------------------------------------------------------

    def invite(self, name: str, count: int) -> list[str]:
        """New invitations to a survey, which are nowhere else from then on. Raises NotFound where
        there is no such survey by invitation, and Closed."""
        self.invitation_key(name)
        self._refuse_closed(name)
        secret = self._invitation_secret()
        codes = [new_code() for _ in range(count)]
        with self._transaction() as database:
            enter_invitations(database, name, secret, codes)
        return codes

    def revoke_invitations(self, name: str, codes: Sequence[str]) -> int:
        """Take invitations back that are not used yet; how many there were.

        Raises NotFound, and Closed: of a closed survey none can be used any more, and the share of
        those who answered stays what it was.
        """
        self.invitation_key(name)
        self._refuse_closed(name)
        secret = self._invitation_secret()
        with self._transaction() as database:
            return revoke_invitations(database, name, secret, codes)

    def _refuse_closed(self, name: str) -> None:
        if self.state(name) == "closed":
            raise Closed("the survey is closed and takes no more reports")

    def issued(self, name: str) -> int:
        """How many invitations to a survey stand, used or not; 0 where it is open to all."""
        with self._reading() as database:
            return issued(database, name)

    def invitations(self, name: str) -> InvitationCounts:
        """How many invitations were issued and used. Raises NotFound."""
        self.invitation_key(name)
        with self._reading() as database:
            return count_invitations(database, name)

    def trade(self, name: str, code: str, blinded: bytes) -> bytes:
        """The blind signature for an invitation; the same again for the same blinded message.

        Raises NotFound, Closed, Uninvited, Used, and BadSignature for what nobody blinded.
        """
        key, secret = self._key(name), self._invitation_secret()
        key.public.number(blinded)  # an invitation is not spent for what cannot be signed
        with self._reading() as database:  # whoever guesses keeps no writer waiting
            spent = is_spent(database, name, secret, code, blinded)
        if not spent:
            with self._transaction() as database:
                if find_state(database, name) == "closed":
                    raise Closed("the survey is closed and takes no more reports")
                spend(database, name, secret, code, blinded)
        return key.sign(blinded)

    def invitation_key(self, name: str) -> PublicKey:
        """The public key of a survey's invitations. Raises NotFound where it is open to all."""
        return self._key(name).public

    def _key(self, name: str) -> PrivateKey:
        found = self._keys.get(name)  # it never changes
        if found is None:
            self.survey(name)
            with self._reading() as database:
                found = find_key(database, name)
            if found is None:
                raise NotFound("this survey has no invitations: anybody may answer it")
            self._keys[name] = found
        return found

    def _invitation_secret(self) -> bytes:
        """What the hashes of invitations are keyed with; the same for all processes."""
        while (found := self.setting(_INVITATIONS)) is None:
            self.set_setting(_INVITATIONS, secrets.token_hex(32), replace=False)
        return bytes.fromhex(found)

    # --- settings ---------------------------------------------------------------------------

    def setting(self, key: str) -> str | None:
        """The value under ``key``, if there is one."""
        with self._reading() as database:
            return find_setting(database, key)

    def set_setting(self, key: str, value: str, *, replace: bool) -> bool:
        """Put ``value`` under ``key``. False where another is there and may not be replaced."""
        with self._transaction() as database:
            if replace:
                remove_setting(database, key)
            return enter_setting(database, key, value)

    # --- tokens -----------------------------------------------------------------------------

    def token(self, name: str) -> Token | None:
        """The token of an id, as it is now."""
        with self._reading() as database:
            return find_token(database, name)

    def tokens(self) -> list[Token]:
        """Every token, by role and last day."""
        with self._reading() as database:
            return every_token(database)

    def add_token(self, token: Token) -> None:
        """Keep a token."""
        with self._transaction() as database:
            enter_token(database, token)

    def exchange(self, key: str, value: str, tokens: list[Token]) -> bool:
        """Keep tokens in the place of a setting. False, and nothing is changed, where it has
        another value: of several who do this at once, one does it."""
        with self._transaction() as database:
            taken = take_setting(database, key, value)
            for token in tokens if taken else ():
                enter_token(database, token)
            return taken

    def revoke_token(self, name: str) -> bool:
        """Make a token worth nothing, for good. False where there is none of this id."""
        with self._transaction() as database:
            return revoke_token(database, name)

    # --- connections ------------------------------------------------------------------------

    def close(self) -> None:
        """Store what was accepted and let go of the file."""
        with self._lock:
            writer, self._writer = self._writer, None
        if writer:
            writer.close()
        self._readers.close()

    def _get_writer(self) -> Writer:
        if self._writer is None:
            with self._lock:
                if self._writer is None:
                    self._writer = Writer(self.engine, self._observer)
                return self._writer
        return self._writer

    @contextmanager
    def _reading(self) -> Generator[Connection]:
        with self._answering(), self._readers.reading() as database:
            yield database

    @contextmanager
    def _transaction(self) -> Generator[Connection]:
        """An author's change: rare, and beside the writer."""
        with self._connection() as database:
            database.begin_writing()
            yield database
            database.commit()

    @contextmanager
    def _connection(self) -> Generator[Connection]:
        """One that ends with the block, which rolls back what was not committed."""
        with self._answering(), closing(self.engine.connect()) as database:
            yield database

    @contextmanager
    def _answering(self) -> Generator[None]:
        """Tell refusals of the disk, a lock or the network from faults."""
        try:
            yield
        except Exception as error:
            if not self.engine.refuses(error):
                raise
            raise Unavailable(f"the database refuses: {str(error).strip()}") from error

    def _of_survey(self, find: Callable[[Connection, str], _Found | None], name: str) -> _Found:
        if not _NAME.match(name):  # PostgreSQL takes no text with a NUL, not even to look for it
            raise _no_such_survey()
        with self._reading() as database:
            found = find(database, name)
        if found is None:
            raise _no_such_survey()
        return found

    def _kept(self, database: Connection, name: str) -> dict[str, Tally]:
        return tallies_of(self.survey(name), current(database, name))

    def _counted(self, database: Connection, name: str) -> dict[str, Tally]:
        answered = database.execute(self.engine.answered, [name]).fetchall()
        cells = database.execute(self.engine.cells, [name]).fetchall()
        return recounted(self.survey(name), answered, cells)


@contextmanager
def _one_state(database: Connection) -> Generator[None]:
    """All statements inside see one state of the database."""
    database.begin_reading()
    try:
        yield
    finally:
        database.rollback()


def _is_published(database: Connection, survey: Survey, author: str) -> bool:
    """Whether this very definition is there. Raises Conflict where its name is another's."""
    found = find_digest(database, survey.name)
    if found is None:
        return False
    if found != survey.digest:
        raise Conflict(
            "a survey of this name has another definition, and a published definition never"
            " changes; choose another name"
        )
    if author_of(database, survey.name) != author:
        raise Conflict("this survey was published under another author's key")
    return True


def _no_such_survey() -> NotFound:
    return NotFound("there is no survey of this name")
