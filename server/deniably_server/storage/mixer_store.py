"""The mixer's store: one database with envelopes that nobody there can read, and their batches."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event

import msgspec

from deniably.core.counting import people
from deniably.trust.batch import Batch
from deniably.trust.envelope import OpeningKey, read_opening_key
from deniably.trust.invitation_codes import new_code
from deniably.trust.mixed_survey import MixedSurvey, read_mixed_survey
from deniably.trust.mixer_offer import MixerOffer
from deniably.trust.register import ChainHead
from deniably.trust.signing import Key, read_key
from deniably_server.errors import Closed, Conflict, Gone, NotFound
from deniably_server.storage.base_store import BaseStore, one_state
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.tables.envelopes import (
    count_envelopes,
    holds,
    remove_envelopes,
    sealed_after,
)
from deniably_server.storage.tables.invitations import (
    InvitationCounts,
    count_invitations,
    enter_invitations,
    is_spent,
    issued,
    remove_invitations,
)
from deniably_server.storage.tables.mixes import (
    Mix,
    MixState,
    all_mixes,
    enter_manifest,
    enter_mix,
    enter_mixer_keys,
    enter_reason,
    find_manifest,
    find_mix,
    find_mixer_keys,
    find_reason,
    mixes_in,
    remove_mixer_keys,
    set_state,
    state_of,
)
from deniably_server.storage.tables.offers import (
    OfferRow,
    count_offers,
    enter_offer,
    find_offer,
    remove_offer,
)
from deniably_server.storage.tables.pieces import enter_pieces, piece_from, remove_pieces
from deniably_server.storage.writing.envelopes import EnvelopeWrite, EnvelopeWriter
from deniably_server.storage.writing.order_erasure import mark, marked
from deniably_server.storage.writing.writer import Observer, Writer

_DIGEST = re.compile("[0-9a-f]{64}")
_INVITATIONS = "invitations_hmac_sha256"
"""The setting with the key of the hashes of invitation codes."""
_CLOSED: tuple[MixState, ...] = (
    "closed",
    "made",
    "passed",
    "too few",
    "told",
    "refused",
    "given up",
)
_DELETED: tuple[MixState, ...] = ("passed", "too few", "told", "given up")
_FIRST = b""
_PORTION = 100
"""The envelopes that are read at once."""


@dataclass(frozen=True)
class MixerKeys:
    """A mixer's private keys for one survey: what opens envelopes, and what signs."""

    opening: OpeningKey
    signing: Key


class SurveySource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a survey is published: the address of its ``server``, without a slash at its end, and
    its ``name`` there. ``register`` is the end of the server's register when the mixer accepted the
    survey: a later one has to continue it."""

    server: str
    name: str
    register: ChainHead = ChainHead()


@dataclass(frozen=True)
class AcceptedSurvey:
    """A survey that a mixer takes envelopes for, up to the day ``until`` (UTC)."""

    survey: MixedSurvey
    until: str
    source: SurveySource


@dataclass(frozen=True)
class Offered:
    """An offer that no survey uses yet, and its private keys."""

    offer: MixerOffer
    keys: MixerKeys


@dataclass(frozen=True)
class StoredBatch:
    """What is sent before a batch: its manifest as canonical JSON, and the signature."""

    manifest: str
    signature: str


class MixerStore(BaseStore):
    """A mixer's database at ``address``: the path of an SQLite file, or ``postgresql://...``.
    ``observer`` counts commits."""

    def __init__(self, address: str, observer: Observer | None = None) -> None:
        super().__init__(engine_at(address, mixer=True), observer)
        self._accepted: dict[str, AcceptedSurvey] = {}
        self._keys: dict[str, MixerKeys] = {}
        self.needs_batch = Event()
        """Set after a closing and at the start, when a batch may have to be made."""
        self.needs_batch.set()
        self.needs_server = Event()
        """Set once a batch is made, and at the start, when one may have to be passed on."""
        self.needs_server.set()

    def _new_writer(self) -> Writer:
        return EnvelopeWriter(self.engine, self._observer)

    # --- offers -----------------------------------------------------------------------------

    def keep_offer(self, offered: Offered) -> None:
        """Stores an offer with its private keys, for the survey that will use it."""
        keys = offered.keys
        row = OfferRow(
            keys.opening.text.decode(),
            keys.signing.text.decode(),
            msgspec.json.encode(offered.offer).decode(),
        )
        with self._transaction() as database:
            enter_offer(database, offered.offer.key, row)

    def offered(self, key: str) -> Offered:
        """Returns the offer with this public key of envelopes. Raises NotFound where this mixer
        made none, or another survey uses it."""
        with self._reading() as database:
            row = find_offer(database, key)
        if row is None:
            raise NotFound(
                "this mixer made no such offer, or another survey uses it: an offer is for one"
                " survey"
            )
        offer = msgspec.json.decode(row.offer, type=MixerOffer)
        return Offered(
            offer, MixerKeys(read_opening_key(row.opening.encode()), read_key(row.signing.encode()))
        )

    def offers(self) -> int:
        """Returns the number of offers that no survey uses yet."""
        with self._reading() as database:
            return count_offers(database)

    # --- surveys ----------------------------------------------------------------------------

    def accept(
        self, survey: MixedSurvey, keys: MixerKeys, until: str, source: SurveySource
    ) -> bool:
        """Begins to take envelopes for a survey, up to the day ``until``; its offer is used up.
        Returns False if it was accepted before.

        Raises Conflict where it was accepted on other terms, or where the survey names other keys.
        """
        if (keys.opening.public, keys.signing.author) != (survey.key, survey.signing):
            raise Conflict("the survey names other keys of the mixer than these")
        with self._transaction() as database:
            if (known := find_mix(database, survey.digest)) is not None:
                if (known.terms, known.until) != (survey.text, until):
                    raise Conflict("this survey was accepted on other terms, and they never change")
                return False
            where = msgspec.json.encode(source).decode()
            enter_mix(database, survey.digest, survey.text, until, where)
            opening, signing = keys.opening.text.decode(), keys.signing.text.decode()
            enter_mixer_keys(database, survey.digest, opening, signing)
            remove_offer(database, survey.key)
        return True

    def accepted(self, digest: str) -> AcceptedSurvey:
        """Returns the survey whose definition has this digest. Raises NotFound for others."""
        if (known := self._accepted.get(digest)) is None:
            mix = self._mix(digest)
            source = msgspec.json.decode(mix.source, type=SurveySource)
            known = AcceptedSurvey(read_mixed_survey(mix.terms), mix.until, source)
            self._accepted[digest] = known  # it never changes
        return known

    def keys(self, digest: str) -> MixerKeys:
        """Returns the private keys of a survey. Raises NotFound for an unknown one, and Gone once
        they are deleted, be it by another process."""
        if self.state(digest) in _DELETED:
            self._keys.pop(digest, None)
            raise Gone(self._gone(digest))
        if (known := self._keys.get(digest)) is None:
            self.accepted(digest)
            with self._reading() as database:
                found = find_mixer_keys(database, digest)
            if found is None:
                raise Gone(self._gone(digest))
            opening, signing = (text.encode() for text in found)
            known = self._keys[digest] = MixerKeys(read_opening_key(opening), read_key(signing))
        return known

    def state(self, digest: str) -> MixState:
        """Returns the state of a survey. Raises NotFound for an unknown one."""
        return self._mix(digest).state

    def in_state(self, state: MixState) -> list[str]:
        """Returns the digests of all surveys in a state."""
        with self._reading() as database:
            return mixes_in(database, state)

    def digests(self) -> list[str]:
        """Returns the digests of all surveys that were ever accepted."""
        with self._reading() as database:
            return all_mixes(database)

    def digest_of(self, name: str) -> str:
        """Returns the digest of the survey with this ``name``, or with this digest.

        Raises NotFound where there is none, and Conflict where surveys of two servers have the
        name.
        """
        if _DIGEST.fullmatch(name):
            self.accepted(name)
            return name
        found = [each for each in self.digests() if self.accepted(each).source.name == name]
        if not found:
            raise NotFound(_UNKNOWN)
        if len(found) > 1:
            raise Conflict(f"{len(found)} surveys have this name; write the digest instead")
        return found[0]

    # --- envelopes --------------------------------------------------------------------------

    def begin(self, write: EnvelopeWrite) -> None:
        """Queues an envelope that was opened once. ``write.outcome()`` waits for the disk."""
        self._get_writer().begin(write)

    def holds(self, digest: str, key: bytes) -> bool:
        """Returns whether the envelope with this SHA-256 is stored."""
        with self._reading() as database:
            return holds(database, digest, key)

    def senders(self, digest: str) -> int:
        """Returns how many people have sent to a survey; 0 after all was deleted."""
        with self._reading() as database:
            return count_envelopes(database, digest)

    def sealed(self, digest: str) -> list[bytes]:
        """Returns the envelopes of a survey, in the order of their hashes."""
        return list(self.each_sealed(digest))

    def each_sealed(self, digest: str) -> Iterator[bytes]:
        """Yields the envelopes of a survey, in the order of their hashes, with few in memory at a
        time. No transaction lasts: of a closed survey they stay the same."""
        key = _FIRST
        while True:
            with self._reading() as database:
                portion = sealed_after(database, digest, key, _PORTION)
            if not portion:
                return
            yield from (sealed for _, sealed in portion)
            key = portion[-1][0]

    # --- invitations ------------------------------------------------------------------------

    def invite(self, digest: str, count: int) -> list[str]:
        """Issues ``count`` codes, each good for one envelope, and returns them; only their hashes
        are stored.

        Raises NotFound for a survey that takes envelopes without a code, Closed after its closing,
        and Conflict where more people would be invited than the survey's server takes answers from.
        """
        survey = self.accepted(digest).survey
        if not survey.invited:
            raise NotFound("anybody may answer this survey: it has no invitations")
        secret = self._invitation_secret()
        codes = [new_code() for _ in range(count)]
        with self._transaction() as database:
            if state_of(database, digest) != "open":
                raise Closed("the survey is closed and takes no more envelopes")
            before = sum(issued(database, digest).values())
            if before + count > survey.most_senders:
                raise Conflict(
                    f"{before:,} were invited, and the survey's server takes the answers of at most"
                    f" {people(survey.most_senders)}"
                )
            enter_invitations(database, digest, secret, codes, 0)
        return codes

    def invitation(self, digest: str, code: str, sealed: bytes) -> tuple[bytes, str]:
        """Returns what spends an invitation, once it is known to be good for this envelope.

        Raises Uninvited for an unknown code, and Used for one that brought another envelope.
        """
        secret = self._invitation_secret()
        with self._reading() as database:  # guessed codes must not hold up the writer
            is_spent(database, digest, secret, code, sealed)
        return secret, code

    def issued(self, digest: str) -> int:
        """Returns how many codes of a survey were issued."""
        with self._reading() as database:
            return sum(issued(database, digest).values())

    def invitations(self, digest: str) -> InvitationCounts:
        """Returns the numbers of a survey's invitations, issued and used."""
        with self._reading() as database:
            return count_invitations(database, digest)

    def _invitation_secret(self) -> bytes:
        while (secret := self.setting(_INVITATIONS)) is None:
            self.set_setting(_INVITATIONS, secrets.token_hex(32), replace=False)
        return bytes.fromhex(secret)

    # --- batches ----------------------------------------------------------------------------

    def close_survey(self, digest: str) -> None:
        """Closes a survey for good, so that it takes no more envelopes. Sets ``needs_batch`` and
        ``needs_rewrite``. Raises NotFound for an unknown survey."""
        if self.state(digest) == "open":
            with self._transaction() as database:
                if state_of(database, digest) == "open":
                    set_state(database, digest, "closed")
                    mark(database, digest)  # here, so that a crash cannot lose the rewrite
        self.needs_batch.set()
        self.needs_rewrite.set()

    def keep_batch(self, batch: Batch) -> bool:
        """Stores the batch of a closed survey, and deletes what came from people and the private
        keys, which nobody needs any more. Returns False, and keeps nothing of it, where there is
        one already: a batch is made once.

        Once this returns, it is on disk, and may be passed on.
        """
        digest = batch.manifest.survey
        with self._connection() as database:
            database.begin_rewriting()  # as in ``_delete``
            if state_of(database, digest) != "closed":
                database.rollback()
                return False
            enter_pieces(database, digest, batch.ascending)
            enter_manifest(database, digest, batch.manifest.canonical.decode(), batch.signature)
            # With them a thief could tell who sent which of the answers that the server opens.
            remove_envelopes(database, digest)
            remove_mixer_keys(database, digest)
            set_state(database, digest, "made")
            mark(database, digest)
            database.commit()
        self._keys.pop(digest, None)
        self.needs_rewrite.set()
        self.needs_server.set()
        return True

    def batch(self, digest: str) -> StoredBatch:
        """Returns the signed manifest of a survey's batch, or of the batch of nobody where too few
        sent. Raises NotFound before it is made."""
        self.accepted(digest)
        with self._reading() as database:
            found = find_manifest(database, digest)
        if found is None:
            raise NotFound("the batch of this survey is not made")
        return StoredBatch(*found)

    def batch_from(self, digest: str, start: int) -> bytes:
        """Returns some bytes of a batch, from byte ``start`` on; empty at its end."""
        with self._reading() as database:
            return piece_from(database, digest, start)

    def too_few(self, batch: Batch) -> None:
        """Deletes all that came to a closed survey, because too few people sent. ``batch`` is the
        signed batch of nobody; it is stored for the survey's server."""
        self._delete(batch.manifest.survey, "closed", "too few", batch)
        self.needs_server.set()

    def told(self, digest: str) -> None:
        """Records that the survey's server knows that too few people sent."""
        with self._transaction() as database:
            if state_of(database, digest) == "too few":
                set_state(database, digest, "told")

    def passed_on(self, digest: str) -> None:
        """Deletes a survey's envelopes, codes, batch and keys, once the batch was taken. Its
        manifest stays."""
        self._delete(digest, "made", "passed")

    def refused(self, digest: str, reason: str) -> None:
        """Records that the survey's server refused the batch for good, and why. Nothing is deleted
        before ``give_up``."""
        with self._transaction() as database:
            if state_of(database, digest) == "made":
                set_state(database, digest, "refused")
                enter_reason(database, digest, reason)

    def reason(self, digest: str) -> str:
        """Returns why the survey's server refused the batch; empty where it did not."""
        with self._reading() as database:
            return find_reason(database, digest)

    def give_up(self, digest: str) -> None:
        """Deletes all that came to a survey whose batch no server takes.

        Raises NotFound for an unknown survey, and Conflict unless its batch is made and was not
        taken.
        """
        state = self.state(digest)
        if state not in ("made", "refused"):
            raise Conflict(
                "only a batch that its server does not take can be deleted; this survey has none"
            )
        self._delete(digest, state, "given up")

    def _delete(
        self, digest: str, before: MixState, after: MixState, batch: Batch | None = None
    ) -> None:
        """Deletes all that came to a survey in one transaction, and then what is left on disk. The
        same transaction stores the manifest of ``batch``, if there is one."""
        with self._connection() as database:
            # As a rewrite does: it stores the survey's rows anew, which a deletion beside it would
            # not see.
            database.begin_rewriting()
            if state_of(database, digest) == before:
                remove_envelopes(database, digest)
                remove_invitations(database, digest)
                remove_pieces(database, digest)
                remove_mixer_keys(database, digest)
                if batch is not None:
                    enter_manifest(
                        database, digest, batch.manifest.canonical.decode(), batch.signature
                    )
                set_state(database, digest, after)
                mark(database, digest)
            database.commit()
        self._keys.pop(digest, None)
        self.needs_rewrite.set()

    def revealing_order(self) -> list[str]:
        """Returns the closed surveys whose places on the disk may reveal in which order envelopes
        came. Reads all envelopes."""
        with self._connection() as database, one_state(database):
            unfinished = marked(database)
            closed = [survey for state in _CLOSED for survey in mixes_in(database, state)]
            return [
                survey
                for survey in sorted(closed)
                if survey in unfinished or database.reveals_order(survey)
            ]

    # --- below ------------------------------------------------------------------------------

    def _mix(self, digest: str) -> Mix:
        mix = None
        if _DIGEST.fullmatch(digest):  # PostgreSQL refuses text with a NUL, even in a query
            with self._reading() as database:
                mix = find_mix(database, digest)
        if mix is None:
            raise NotFound(_UNKNOWN)
        return mix

    def _gone(self, digest: str) -> str:
        return WHY_GONE[self.state(digest)]


_UNKNOWN = "this mixer takes no envelopes for such a survey"
_TOO_FEW = (
    "the survey is closed; fewer people sent than it needs, so the mixer deleted all envelopes"
)
WHY_GONE: dict[MixState, str] = {
    "open": "the mixer takes no more envelopes for this survey",
    "closed": "the survey is closed",
    "made": "the survey is closed",
    "passed": "the survey is closed; the mixer passed all envelopes on and deleted them",
    "too few": _TOO_FEW,
    "told": _TOO_FEW,
    "refused": "the survey is closed",
    "given up": "the survey is closed; its server did not take the envelopes, so the mixer deleted"
    " them",
}
"""Why a mixer takes no envelopes, by the state of the survey."""
