"""What the tests of a mixer are made of: surveys that go through one, and people who send."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import msgspec
import requests

from deniably.core.coins import Coins
from deniably.mechanisms import SubsetSelection
from deniably.trust.batch import Batch, Manifest
from deniably.trust.envelope import OpeningKey, new_opening_key, open_inner, seal_outer
from deniably.trust.mixed_survey import MixedQuestion, MixedSurvey
from deniably.trust.sealed_report import seal_value
from deniably.trust.signing import new_key
from deniably_server.mixing.envelopes import begin_envelope
from deniably_server.storage.mixer_store import MixerKeys, MixerStore, SurveySource
from support.material import Server

OCTETS = {"Content-Type": "application/octet-stream"}
QUICK = {
    "batch_thread_AGAIN_SECONDS": 0.05,
    "server_thread_AGAIN_SECONDS": 0.05,
    "pauses_FIRST_SECONDS": 0.05,
    "pauses_LONGEST_SECONDS": 0.2,
    "pieces_PIECE": 1 << 11,
}
"""A mixer that waits less, and sends a batch in more pieces."""
YES_NO = SubsetSelection(k=2, omega=1, own=8, other=1)
FIVE = SubsetSelection(k=5, omega=1, own=8, other=1)
UNTIL = "2999-12-31"
NOWHERE = SurveySource("http://127.0.0.1:9", "workplace")
"""Of a survey whose server never answers."""


def questions(count: int = 2) -> tuple[MixedQuestion, ...]:
    """A yes/no question, one with five choices, and so on."""
    kinds = (YES_NO, FIVE)
    return tuple(MixedQuestion(f"q{n}", kinds[n % len(kinds)]) for n in range(count))


@dataclass(frozen=True)
class Parties:
    """A survey that goes through a mixer, and the private keys of the mixer and of the server."""

    survey: MixedSurvey
    mixer: MixerKeys
    server: OpeningKey

    def accept(self, store: MixerStore, until: str = UNTIL) -> Parties:
        """The mixer accepts the survey."""
        store.accept(self.survey, self.mixer, until, NOWHERE)
        return self

    def outer(self, value: int = 0, code: str = "") -> bytes:
        """What one person sends, who answers alike everywhere. Each call draws other coins."""
        return self.outer_of(self.inner(value), code)

    def inner(self, value: int = 0) -> list[bytes]:
        """A person's inner envelopes, with what the mechanisms drew."""
        return [
            seal_value(self.survey, question.name, [value], Coins())
            for question in self.survey.questions
        ]

    def outer_of(self, inner: Sequence[bytes], code: str = "") -> bytes:
        """The envelope of some inner ones to the mixer."""
        return seal_outer(self.survey.key, self.survey.digest, inner, code)

    def send(self, store: MixerStore, *sealed: bytes) -> list[int]:
        """The statuses of envelopes that come together."""
        begun = [begin_envelope(store, self.survey.digest, each) for each in sealed]
        return [each.answer()[0] for each in begun]

    def envelopes(self, body: bytes) -> list[bytes]:
        """The inner envelopes of a batch."""
        size = self.survey.inner_size
        assert len(body) % size == 0
        return [body[start : start + size] for start in range(0, len(body), size)]

    def reports(self, body: bytes) -> list[dict[str, Any]]:
        """The reports in a batch, as the survey's server opens them."""
        survey = self.survey
        return [
            json.loads(open_inner(self.server, survey.digest, each, survey.length))
            for each in self.envelopes(body)
        ]

    def counts(self, body: bytes) -> Mapping[str, Counter[int]]:
        """How often a question has each value in a batch."""
        counts: dict[str, Counter[int]] = {each.name: Counter() for each in self.survey.questions}
        for report in self.reports(body):
            ((name, (value,)),) = report["values"].items()
            counts[name][value] += 1
        return counts


def parties(**changes: Any) -> Parties:
    """A survey of two questions with ten blanks each; ``changes`` are of its terms."""
    server, mixer = new_opening_key(), MixerKeys(new_opening_key(), new_key())
    terms: dict[str, Any] = {
        "digest": hashlib.sha256(server.public.encode()).hexdigest(),
        "questions": questions(),
        "by": "Works council of Example Ltd",
        "length": 192,
        "blanks": 10,
    }
    keys = {"key": mixer.opening.public, "signing": mixer.signing.author, "open": server.public}
    return Parties(MixedSurvey(**(terms | keys | changes)), mixer, server)


def whole(store: MixerStore, digest: str) -> bytes:
    """The bytes of a stored batch, as they are passed on."""
    body = b""
    while piece := store.batch_from(digest, len(body)):
        body += piece
    return body


def kept_batch(store: MixerStore, digest: str) -> Batch:
    """A stored batch, whose signature and digest are right."""
    found = store.batch(digest)
    manifest = msgspec.json.decode(found.manifest, type=Manifest)
    batch = Batch(manifest, found.signature, [whole(store, digest)])
    batch.check(store.accepted(digest).survey.signing)
    assert hashlib.sha256(batch.envelopes).hexdigest() == manifest.sha256
    return batch


class MixerServer(Server):
    """A real mixer process on a free port."""

    command = ("mix", "serve")

    def send(self, digest: str, sealed: bytes, **more: Any) -> requests.Response:
        """One envelope."""
        address = f"{self.url}/mix/{digest}"
        return requests.post(address, sealed, headers=OCTETS, timeout=30, **more)

    def accept(self, some: Parties, until: str = UNTIL) -> Parties:
        """Accept a survey, as who has the machine does."""
        with closing(MixerStore(str(self.database))) as store:
            return some.accept(store, until)
