"""The store: one database with surveys, randomised reports and their tallies."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import msgspec

from deniably.core.canonical import parse
from deniably.estimation.tally import Repeated, Tally
from deniably.survey.mixer import Mixer
from deniably.survey.parts import SURVEY_NAME
from deniably.survey.report import Report
from deniably.survey.survey import Survey, Waves, stored_survey
from deniably.trust.blind_rsa import PrivateKey, PublicKey, new_key
from deniably.trust.heads import Head
from deniably.trust.invitation_codes import new_code
from deniably.trust.listing import Listing
from deniably.trust.register import RegisterEntry
from deniably.trust.signing import Key, Signature, read_key, verify
from deniably.trust.signing import new_key as new_signing_key
from deniably_server.errors import Closed, Conflict, NotFound
from deniably_server.storage.base_store import BaseStore, one_state
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.mixed import MixedStore
from deniably_server.storage.studio import DraftSource, StudioStore, publish_draft
from deniably_server.storage.tables.deeds import Doer, What, enter_deed
from deniably_server.storage.tables.designs import enter_design, find_design
from deniably_server.storage.tables.envelope_keys import use_envelope_key
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
from deniably_server.storage.tables.owners import (
    Quotas,
    enter_owner,
    owner_of,
    register_room,
)
from deniably_server.storage.tables.register import (
    ListedSurvey,
    RegisterPage,
    author_of,
    closing_day,
    enter_closed,
    enter_published,
    entries,
    entry_size,
    last,
    listed_surveys,
    newest_surveys,
    possible_waves,
    publication_day,
    published_by,
    register_page,
)
from deniably_server.storage.tables.register_listings import RegisterTrees
from deniably_server.storage.tables.snapshots import (
    batch_of,
    current,
    forget,
    renew,
    reports_now,
    shown_reports,
    shown_snapshot,
)
from deniably_server.storage.tables.stored_settings import (
    enter_setting,
    find_setting,
    remove_setting,
    take_setting,
)
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
    blanks_among,
    find_total,
    merge_shards,
    merged,
    recounted,
    replace_tallies,
    report_texts,
    tallies_of,
    unordered_texts,
)
from deniably_server.storage.tables.teams import team_of_survey
from deniably_server.storage.tables.tokens import (
    Token,
    enter_token,
    every_token,
    find_token,
    revoke_token,
)
from deniably_server.storage.writing.commit import BatchWrite, Outcome, ReportWrite, report_write
from deniably_server.storage.writing.order_erasure import mark, marked
from deniably_server.storage.writing.writer import Observer

_INVITATIONS = "invitations_hmac_sha256"
"""The setting with the key of the hashes of invitation codes."""
_REGISTER_KEY = "register_key"
"""The setting with the private key that signs the register's heads, in PEM."""
_REPAIRS = "repairs"
"""The setting that counts how often tallies were rebuilt; results computed before are stale."""
_Found = TypeVar("_Found")


class ShownCounts(NamedTuple):
    """The numbers of reports behind a survey's shown results.

    ``reports`` is the number of all reports, ``fewest`` the number of reports to the question with
    the fewest, and ``repairs`` how often tallies were rebuilt.
    """

    reports: int
    fewest: int
    repairs: str


_NAME = re.compile(SURVEY_NAME)

_MOST_SURVEYS = 256
"""The number of definitions kept in memory."""
_BLOCK = 2_000
"""The number of reports in memory at once."""
_MOST_HELD, _KEY_BYTES = 1 << 26, 200
"""Bytes of distinct values that are counted at once, and what each takes besides its text."""


class Store(BaseStore):
    """A database of surveys, randomised reports and their tallies, at ``address``: the path of an
    SQLite file, or ``postgresql://...``. ``observer`` counts commits.

    The class is long because every view asks one object: each method is a few lines that open a
    transaction for the statements of the tables.
    """

    def __init__(self, address: str, observer: Observer | None = None) -> None:
        super().__init__(engine_at(address), observer)
        self._surveys: dict[str, Survey] = {}
        self._keys: dict[str, PrivateKey] = {}
        self._trees = RegisterTrees(self._register_key)
        self.studio = StudioStore(
            self._reading, self._transaction, partial(self._transaction, alone=False)
        )
        """The studio's part of the database: groups, sessions and drafts of surveys."""
        self.mixed = MixedStore(
            self._reading,
            self._connection,
            self._transaction,
            partial(self._transaction, alone=False),
            self.needs_rewrite,
        )
        """The part of the database for what mixers pass on."""

    whole_reports = True
    """Whether each report can be read, and not only counts."""

    # --- surveys ----------------------------------------------------------------------------

    def publish(
        self,
        survey: Survey,
        signature: Signature,
        token: str | None = None,
        quotas: Quotas = Quotas(),  # noqa: B008  # frozen
        source: DraftSource | None = None,
    ) -> bool:
        """Stores a definition and enters it into the register, for good.

        ``token`` is the id of the token that publishes the survey; the quotas apply to this token.
        ``source`` is the draft from which the definition was compiled; it is removed from the
        drafts. A survey with a mixer takes the key of envelopes that it names, which was issued to
        the same token. Returns False if this definition is stored already.

        Raises BadSignature where the signature is not of this definition, Quota where the token or
        the register has no room for it, BadSurvey where the survey names another key of envelopes,
        and Conflict where the name has another definition or author, or the draft was edited since
        it was compiled.
        """
        verify(survey.digest, signature)
        key = new_key() if survey.invited else None  # slow, so outside the transaction
        with self._transaction() as database:
            if _is_published(database, survey, signature.author):
                return False
            enter_survey(database, survey)
            begin_tallies(database, survey)
            if key:
                enter_key(database, survey.name, key)
            enter_published(database, survey, signature, key.public.text if key else None)
            # Only the first publication stores this key; later ones leave it as it is.
            enter_setting(database, _REGISTER_KEY, new_signing_key().text.decode())
            if token is not None:
                enter_owner(database, survey.name, token, entry_size(database, survey.name), quotas)
                if isinstance(survey.mixer, Mixer):
                    use_envelope_key(database, survey.mixer.open, survey.name, token)
            if source is not None:
                publish_draft(database, source, survey.name)
        if key:
            self._keys[survey.name] = key
        return True

    def owner(self, name: str) -> str | None:
        """Returns the id of the token that published a survey; None if the server published it
        without a token."""
        with self._reading() as database:
            return owner_of(database, name)

    def author(self, name: str) -> str:
        """Returns the public key that signed a survey."""
        with self._reading() as database:
            return author_of(database, name)

    def published_by(self, author: str) -> list[RegisterEntry]:
        """Returns the register's entries of what an author published, in the order of
        publication."""
        with self._reading() as database:
            return published_by(database, author)

    def waves(self, name: str) -> list[str]:
        """Returns the names of the surveys in a survey's panel, in the order of publication; empty
        for a survey without a panel.

        All are by one author: another author's panel of the same name is another panel. Raises
        NotFound where there is no such survey.
        """
        panel = self.survey(name).waves
        if not isinstance(panel, Waves):
            return []
        with self._reading() as database:
            # A search in the text of definitions, which may find too many; the definitions
            # themselves decide.
            possible = possible_waves(database, author_of(database, name), panel.panel)
        surveys = [self.survey(survey_name) for survey_name in possible]
        return [
            survey.name
            for survey in surveys
            if isinstance(survey.waves, Waves) and survey.waves.panel == panel.panel
        ]

    def register_room(self) -> float:
        """Returns the share of the register that is left, from 0 (full) to 1."""
        with self._reading() as database:
            return register_room(database)

    def survey(self, name: str) -> Survey:
        """Returns the definition of a published survey. Raises NotFound where there is no such
        survey."""
        survey = self._surveys.get(name)
        if survey is None:
            text = self._of_survey(find_definition, name)
            survey = stored_survey(parse(text))  # ``publish`` verified it
            # A definition never changes, so what is kept stays right.
            with self._lock:
                if len(self._surveys) >= _MOST_SURVEYS:
                    del self._surveys[next(iter(self._surveys))]
                self._surveys[name] = survey
        return survey

    def has_at_hand(self, name: str) -> bool:
        """Returns whether a report to this survey can be checked without reading the database and
        without a signature: the definition is in memory, and the survey is not by invitation."""
        survey = self._surveys.get(name)
        return survey is not None and not survey.invited

    def state(self, name: str) -> State:
        """Returns whether a survey is "open" or "closed" now. Raises NotFound where there is no
        such survey."""
        return self._of_survey(find_state, name)

    def publication_day(self, name: str) -> str:
        """Returns the date on which a survey was published, such as 2026-11-21."""
        with self._reading() as database:
            return publication_day(database, name)

    def closing_day(self, name: str) -> str:
        """Returns the date of a survey's closing, such as 2026-11-21; empty while it is open."""
        with self._reading() as database:
            return closing_day(database, name)

    def listed_surveys(self, start: int, count: int) -> tuple[list[ListedSurvey], int]:
        """Returns (surveys, total). ``surveys`` are ``count`` surveys in alphabetical order, from
        number ``start`` on, with the facts that lists show. ``total`` is the number of all
        surveys. Reads no whole definition."""
        with self._reading() as database, one_state(database):
            return listed_surveys(database, start, count), count_surveys(database)

    def newest_surveys(self, count: int) -> list[ListedSurvey]:
        """Returns at most ``count`` surveys without their definitions, the last published first."""
        with self._reading() as database:
            return newest_surveys(database, count)

    def names(self) -> list[str]:
        """Returns the names of all surveys, in alphabetical order."""
        with self._reading() as database:
            return survey_names(database)

    def digests(self) -> dict[str, str]:
        """Returns the digest of every survey's definition, by name."""
        with self._reading() as database:
            return digests(database)

    def close_survey(
        self, name: str, token: str | None = None, what: What = "closed outside"
    ) -> None:
        """Closes a survey for good, so that it accepts no more reports, and sets ``needs_rewrite``.

        The group that published it in the studio reads ``what`` was done, and by the ``token`` with
        this id. Raises NotFound where there is no such survey.
        """
        if self.state(name) == "open":
            with self._transaction() as database:
                mark_closed(database, name)
                enter_closed(database, name)
                forget(database, name)  # results show all reports from now on
                merge_shards(database, name)
                mark(database, name)  # here, so that a crash cannot lose the rewrite
                if token is not None and (team := team_of_survey(database, name)):
                    enter_deed(database, Doer(team, token), what, name)
        self.needs_rewrite.set()

    def revealing_order(self) -> list[str]:
        """Returns the closed surveys whose places on the disk may reveal in which order reports
        came. Reads all reports."""
        with self._connection() as database, one_state(database):
            unfinished = marked(database)
            return [
                name
                for name in survey_names(database, "closed")
                if name in unfinished or database.reveals_order(name)
            ]

    def register(self, after: int = 0) -> tuple[list[str], str]:
        """Returns the register's entries after number ``after``, each as canonical JSON, and the
        hash of the last entry, which is the head of their chain."""
        with self._reading() as database, one_state(database):
            return entries(database, after), last(database).head

    def listing(self, name: str) -> Listing:
        """Returns a survey's listing: its register entry with proofs that it is in the register,
        for devices. Raises NotFound where there is no such survey."""
        return self._of_survey(self._trees.listing, name)

    def register_head(self) -> Head:
        """Returns the head of the register as it is now."""
        with self._reading() as database:
            return self._trees.head(database)

    def register_hashes(self, volume: int) -> list[str]:
        """Returns the hashes of the register's entries from number ``1024 * volume + 1`` on, at
        most 1,024."""
        with self._reading() as database:
            return self._trees.volume(database, volume)

    def _register_key(self) -> Key:
        """The key that signs the register's heads. The first publication made it, or this does in a
        database from before."""
        while (found := self.setting(_REGISTER_KEY)) is None:
            self.set_setting(_REGISTER_KEY, new_signing_key().text.decode(), replace=False)
        return read_key(found.encode())

    def register_page(self, start: int, count: int) -> RegisterPage:
        """Returns ``count`` surveys of the register from number ``start`` on, the newest first."""
        with self._reading() as database, one_state(database):
            return register_page(database, start, count)

    # --- reports ----------------------------------------------------------------------------

    def add(self, survey: Survey, report: Report) -> Outcome:
        """Stores a report that was checked against ``survey``. Waits until the report is on disk,
        and returns the outcome, such as that it was stored before.

        Raises NotStored where the transaction failed; then nothing of the report is stored.
        """
        write = report_write(survey, report)
        self.begin(write)
        return write.outcome()

    def begin(self, work: ReportWrite | BatchWrite) -> None:
        """Queues checked reports. ``work.wait()`` waits for the disk, and raises as ``add``
        does."""
        self._get_writer().begin(work)

    def reports(self, name: str, strata: Collection[int] | None = None) -> int:
        """Returns the exact number of a survey's reports now: of those in ``strata``, by default
        of all. Where a mixer passed them on, it is the number of people who sent.

        The number must not be shown where results are hidden. Raises NotFound where there is no
        such survey.
        """
        if self.survey(name).mixer:
            return self.mixed.senders(name)
        with self._reading() as database:
            if strata is None:
                return find_total(database, name)
            return dict(reports_now(database, name, strata))[None] or 0

    def tally(self, name: str) -> dict[str, Tally]:
        """Returns the tally of every question, by name, as of the last commit.

        The cost grows with the number of different cells that reports name, not with the number of
        reports. Raises NotFound where there is no such survey.
        """
        self.survey(name)  # read, and kept, before the connection is taken
        with self._reading() as database, one_state(database):
            return self._kept(database, name)

    def shown_tally(self, name: str, strata: Collection[int] | None = None) -> dict[str, Tally]:
        """Returns the tallies that results show, by question.

        For an open survey they are as of an earlier moment, so that two looks never differ by a few
        reports (``tables.snapshots``). With ``strata`` they are of these strata alone, as of now.
        Raises NotFound where there is no such survey.
        """
        survey = self.survey(name)
        with self._reading() as database, one_state(database):
            if strata is None:
                return tallies_of(survey, shown_snapshot(database, survey))
            return tallies_of(survey, current(database, name, strata))

    def shown_reports(self, name: str, strata: Collection[int] | None = None) -> int:
        """Returns the number of reports behind ``shown_tally`` of these strata, or of people who
        sent to a mixer. Raises NotFound where there is no such survey."""
        survey = self.survey(name)
        if survey.mixer:
            return self.mixed.senders(name)
        with self._reading() as database, one_state(database):
            if strata is None:
                reports = shown_reports(database, survey)
            else:
                reports = reports_now(database, name, strata)
        return dict(reports).get(None, 0)

    def counts_by_stratum(self, name: str) -> list[list[int]]:
        """Returns a list for each stratum, by its number: the number of reports to each question
        now, in the survey's order.

        Where everybody is asked every question, the list has one number, for all of them. Raises
        NotFound where there is no such survey.
        """
        survey = self.survey(name)
        with self._reading() as database, one_state(database):
            rows = [
                dict(reports_now(database, name, [number]))
                for number in range(len(survey.every_stratum))
            ]
        if survey.complete:
            return [[row.get(None, 0)] for row in rows]
        return [[row.get(question.name, 0) for question in survey.questions] for row in rows]

    def shown_counts(self, name: str) -> ShownCounts:
        """Returns the numbers of reports that ``shown_tally`` is made of, without blanks. Does not
        read the tallies. Raises NotFound where there is no such survey."""
        survey = self.survey(name)
        senders = self.mixed.senders(name) if survey.mixer else None
        with self._reading() as database, one_state(database):
            reports = dict(shown_reports(database, survey))
            repairs = find_setting(database, _REPAIRS) or "0"
        everybody = reports.get(None, 0)
        if survey.complete:
            return ShownCounts(everybody, everybody, repairs)
        fewest = min(reports.get(question.name, 0) for question in survey.questions)
        fewest -= blanks_among(survey, fewest)
        return ShownCounts(everybody if senders is None else senders, fewest, repairs)

    def recount(self, name: str) -> dict[str, Tally]:
        """Returns the tallies as counted again from all stored reports, by question. Raises
        NotFound where there is no such survey."""
        self.survey(name)  # read, and kept, before the connection is taken
        with self._reading() as database, one_state(database):
            return merged(self._counted(database, name))

    def tallies_and_recounts(self, name: str) -> list[tuple[dict[str, Tally], dict[str, Tally]]]:
        """Returns (tallies, recount) for each stratum, both by question and as of one moment.
        Raises NotFound where there is no such survey."""
        survey = self.survey(name)
        with self._connection() as database, one_state(database):
            counted = self._counted(database, name)
            kept = [
                tallies_of(survey, current(database, name, [number]))
                for number in range(len(counted))
            ]
        return list(zip(kept, counted, strict=True))

    def rebuild_tallies(self, name: str) -> None:
        """Replaces a survey's tallies by their recount. Raises NotFound where there is no such
        survey."""
        survey = self.survey(name)
        with self._transaction() as database:
            counted = self._counted(database, name)
            repairs = int(find_setting(database, _REPAIRS) or 0) + 1
            remove_setting(database, _REPAIRS)
            enter_setting(database, _REPAIRS, str(repairs))
            forget(database, name)
            replace_tallies(database, survey, counted)
            # All reports so far are then held back, as one batch: the results of an open survey are
            # shown again with its next full batch.
            if (batch := batch_of(survey)).size and find_state(database, name) == "open":
                renew(database, name, batch)

    def values(
        self, name: str, *questions: int, strata: Collection[int] | None = None
    ) -> Iterator[list[Sequence[list[int] | None]]]:
        """Yields blocks of stored reports. A block is a list with one entry for each report, which
        has the report's values of the wanted questions.

        Parameters, order and errors are those of ``values_and_strata``.
        """
        blocks = self.values_and_strata(name, *questions, strata=strata)
        return (values for values, _ in blocks)

    def values_and_strata(
        self, name: str, *questions: int, strata: Collection[int] | None = None
    ) -> Iterator[tuple[list[Sequence[list[int] | None]], list[int]]]:
        """Yields blocks of stored reports as (values, strata). Both lists have one entry for each
        report: its values of the wanted questions, and the number of its stratum.

        ``questions`` are indices; the values come in the survey's order, None where a question was
        not asked. Reports are those of ``strata``, by default of all strata, in the order of their
        random ids. Cross-tables and maximum likelihood need whole reports, because tallies do not
        say which values came together. Raises NotFound where there is no such survey.
        """
        size = len(self.survey(name).questions)
        wanted = sorted(set(questions))
        # Raw skips a value that is not wanted, which is ten times as fast as decoding it.
        decode: Any = msgspec.json.Decoder(
            tuple[tuple(list[int] | None if i in wanted else msgspec.Raw for i in range(size))]  # type: ignore[misc]
        ).decode
        # A connection of its own: the pool's are for short reads, and this one is the caller's for
        # as long as blocks are taken.
        with self._connection() as database, one_state(database):
            texts = report_texts(database, name, strata)
            while block := list(islice(texts, _BLOCK)):
                rows = (decode(text) for text, _ in block)
                values: list[Sequence[list[int] | None]] = [
                    [row[index] for index in wanted] for row in rows
                ]
                yield values, [stratum for _, stratum in block]

    def distinct_values(
        self, name: str, *groups: Sequence[int], strata: Collection[int] | None = None
    ) -> Iterator[tuple[int, Repeated]]:
        """Yields (number of a group, distinct combinations of values in this group), each
        combination with how many reports have it.

        A group has the indices of some questions; the values come in the survey's order, None
        where a question was not asked. Where there are very many combinations, a combination may
        be yielded again, and its counts are to be added up. Raises NotFound where there is no such
        survey.

        Equal texts are counted before they are decoded, and reports are read in the order of
        storage. That takes a fourth of the time of decoding every report in the order of the ids.
        """
        size = len(self.survey(name).questions)
        wanted = [sorted(set(group)) for group in groups]
        split: Any = msgspec.json.Decoder(
            tuple[tuple(msgspec.Raw for _ in range(size))]  # type: ignore[misc]
        ).decode
        counts = [Counter[tuple[bytes, ...]]() for _ in wanted]
        held = 0
        with self._connection() as database, one_state(database):
            for (text,) in unordered_texts(database, name, strata):
                cells = split(text)
                for count, indices in zip(counts, wanted, strict=True):
                    key = tuple(bytes(cells[index]) for index in indices)
                    held += 0 if key in count else sum(map(len, key)) + _KEY_BYTES
                    count[key] += 1
                # Bounds the memory, however many different values there are.
                if held > _MOST_HELD:
                    yield from _repeated(counts)
                    held = 0
            yield from _repeated(counts)

    def crosses(self, name: str, first: str, second: str) -> bool:
        """Returns whether a cross-table of the two questions can be made. This is true wherever
        whole reports are stored, as here."""
        return self.whole_reports

    def asked_together(self, name: str, *questions: int) -> list[int]:
        """Returns, for each stratum, the number of reports that answer all of the given questions,
        which are indices.

        Reads every report. Raises NotFound where there is no such survey.
        """
        counts = [0] * len(self.survey(name).every_stratum)
        for values, strata in self.values_and_strata(name, *questions):
            for row, stratum in zip(values, strata, strict=True):
                counts[stratum] += None not in row
        return counts

    # --- invitations ------------------------------------------------------------------------

    def invite(self, name: str, count: int, stratum: int = 0) -> list[str]:
        """Issues ``count`` new invitation codes for a stratum and returns them; only their hashes
        are stored.

        Raises Closed where the survey is closed, and NotFound where no survey of this name needs
        invitations.
        """
        self.invitation_key(name)
        self._refuse_closed(name)
        secret = self._invitation_secret()
        codes = [new_code() for _ in range(count)]
        with self._transaction() as database:
            enter_invitations(database, name, secret, codes, stratum)
        return codes

    def revoke_invitations(self, name: str, codes: Sequence[str]) -> int:
        """Withdraws those invitations among ``codes`` that are unused; returns their number.

        Raises Closed where the survey is closed, since its response rate must not change, and
        NotFound where no survey of this name needs invitations.
        """
        self.invitation_key(name)
        self._refuse_closed(name)
        secret = self._invitation_secret()
        with self._transaction() as database:
            return revoke_invitations(database, name, secret, codes)

    def _refuse_closed(self, name: str) -> None:
        if self.state(name) == "closed":
            raise Closed("the survey is closed and takes no more reports")

    def issued(self, name: str, strata: Collection[int] | None = None) -> int:
        """Returns the number of invitations for ``strata``, by default for all strata, that were
        issued and not revoked; 0 for a survey open to all."""
        with self._reading() as database:
            counts = issued(database, name)
        return sum(count for number, count in counts.items() if strata is None or number in strata)

    def invitations(self, name: str) -> InvitationCounts:
        """Returns the numbers of invitations issued and used. Raises NotFound where no survey of
        this name needs invitations."""
        self.invitation_key(name)
        with self._reading() as database:
            return count_invitations(database, name)

    def trade(self, name: str, code: str, blinded: bytes) -> bytes:
        """Exchanges an invitation code for a blind signature of the message ``blinded``.

        A repeated request with the same blinded message gets the same signature. Raises NotFound
        where no survey of this name needs invitations, Closed where the survey is closed,
        Uninvited for an unknown code, Used for a code that was used for another message, and
        BadSignature where ``blinded`` cannot be signed.
        """
        key, secret = self._key(name), self._invitation_secret()
        key.public.number(blinded)  # checked first, so that bad input spends no invitation
        with self._reading() as database:  # guessed codes must not hold up the writers
            spent = is_spent(database, name, secret, code, blinded)
        if not spent:
            with self._transaction(alone=False) as database:
                if find_state(database, name) == "closed":
                    raise Closed("the survey is closed and takes no more reports")
                spend(database, name, secret, code, blinded)
        return key.sign(blinded)

    def invitation_key(self, name: str) -> PublicKey:
        """Returns the public key of a survey's invitations. Raises NotFound for a survey open to
        all."""
        return self._key(name).public

    def _key(self, name: str) -> PrivateKey:
        key = self._keys.get(name)  # it never changes
        if key is None:
            mixed = self.survey(name).mixer
            with self._reading() as database:
                key = find_key(database, name)
            if key is None:
                raise NotFound(
                    f"the survey {name} has a mixer, and invitations are the mixer's: whoever runs"
                    " it makes them with deniably mix invite"
                    if mixed
                    else f"the survey {name} has no invitations: anybody may answer it"
                )
            self._keys[name] = key
        return key

    def _invitation_secret(self) -> bytes:
        """The key of the hashes of invitation codes, shared by all processes."""
        while (secret := self.setting(_INVITATIONS)) is None:
            self.set_setting(_INVITATIONS, secrets.token_hex(32), replace=False)
        return bytes.fromhex(secret)

    # --- designs ----------------------------------------------------------------------------

    def design(self, positions: int, own: int, other: int) -> str | None:
        """Returns the best mechanism for a mean of ``positions`` positions at the odds ``own /
        other``, as JSON; None if it is not stored."""
        with self._reading() as database:
            return find_design(database, positions, own, other)

    def add_design(self, positions: int, own: int, other: int, mechanism: str) -> None:
        """Stores the best mechanism for a mean, as JSON, if none is stored for these parameters."""
        with self._transaction() as database:
            enter_design(database, positions, own, other, mechanism)

    # --- tokens -----------------------------------------------------------------------------

    def token(self, name: str) -> Token | None:
        """Returns the token with this id; None if there is none."""
        with self._reading() as database:
            return find_token(database, name)

    def tokens(self) -> list[Token]:
        """Returns every token, sorted by role and last day."""
        with self._reading() as database:
            return every_token(database)

    def add_token(self, token: Token) -> None:
        """Store a token."""
        with self._transaction() as database:
            enter_token(database, token)

    def exchange(self, key: str, value: str, tokens: list[Token]) -> bool:
        """Stores tokens and removes the setting ``key``, in one transaction.

        Returns False and changes nothing where the setting has another value than ``value``, so
        only one of several simultaneous calls succeeds.
        """
        with self._transaction() as database:
            taken = take_setting(database, key, value)
            for token in tokens if taken else ():
                enter_token(database, token)
            return taken

    def revoke_token(self, name: str) -> bool:
        """Revoke a token, for good. Returns False where no token has this id."""
        with self._transaction() as database:
            return revoke_token(database, name)

    # --- below ------------------------------------------------------------------------------

    def _of_survey(self, find: Callable[[Connection, str], _Found | None], name: str) -> _Found:
        if not _NAME.match(name):  # PostgreSQL refuses text with a NUL, even in a query
            raise _no_such_survey()
        with self._reading() as database:
            row = find(database, name)
        if row is None:
            raise _no_such_survey()
        return row

    def _kept(self, database: Connection, name: str) -> dict[str, Tally]:
        return tallies_of(self.survey(name), current(database, name))

    def _counted(self, database: Connection, name: str) -> list[dict[str, Tally]]:
        answered = database.execute(self.engine.answered, [name]).fetchall()
        cells = database.execute(self.engine.cells, [name]).fetchall()
        return recounted(self.survey(name), answered, cells)


def _repeated(counts: Sequence[Counter[tuple[bytes, ...]]]) -> Iterator[tuple[int, Repeated]]:
    """What was counted so far; the counts begin again."""
    for number, count in enumerate(counts):
        rest = iter(count.items())
        while some := list(islice(rest, _BLOCK)):
            rows = [[_one_value(text) for text in key] for key, _ in some]
            yield number, Repeated(rows, [times for _, times in some])
        count.clear()


_one_value = msgspec.json.Decoder(list[int] | None).decode


def _is_published(database: Connection, survey: Survey, author: str) -> bool:
    """Whether this definition is stored. Raises Conflict where the name has another one."""
    digest = find_digest(database, survey.name)
    if digest is None:
        return False
    if digest != survey.digest:
        raise Conflict(
            f"the survey {survey.name} is published with another definition, and a published"
            " definition never changes; choose another name"
        )
    if author_of(database, survey.name) != author:
        raise Conflict(
            f"the survey {survey.name} was published with another author's key; sign with that key"
            " or choose another name"
        )
    return True


def _no_such_survey() -> NotFound:
    return NotFound("there is no survey of this name")
