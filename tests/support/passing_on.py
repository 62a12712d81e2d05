"""What the tests of a survey's server are made of where answers come through a mixer: the survey,
batches as an honest mixer makes them and as others do, and how they are sent."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from deniably.survey.report import separate_reports
from deniably.survey.survey import Survey, as_survey
from deniably.trust.batch import Batch, batch_of
from deniably.trust.envelope import OpeningKey, new_opening_key, seal_inner
from deniably.trust.mixed_survey import mixed_survey
from deniably.trust.sealed_report import make_blank
from deniably.trust.signing import Key, new_key
from deniably_server.storage.store import Store
from spec.cases.mixers import CLOSED, mixed
from spec.cases.questions import ask, choices, subset
from support.material import signed

OCTETS = "application/octet-stream"
TOKEN = "0" * 12
"""The id of the token that publishes."""
BLANKS, MINIMUM = 10, 3


def yes_no(name: str, odds: int = 8) -> dict[str, Any]:
    """A question with large local odds."""
    made = subset(2, own=odds)
    return ask(name, "yes_no", made, choices=choices("yes", "no"), claim={"odds": str(odds)})


def of_five(name: str) -> dict[str, Any]:
    """One with five choices."""
    made = subset(5, own=8)
    return ask(name, "select_one", made, choices=choices(*"abcde"), claim={"odds": "8"})


@dataclass(frozen=True)
class PassedOn:
    """A survey with a mixer, the mixer's key of signatures, and the server's key of envelopes."""

    survey: Survey
    signing: Key
    opening: OpeningKey

    @property
    def address(self) -> str:
        return f"/api/surveys/{self.survey.name}/mixed"

    def publish(self, store: Store, *, close: bool = True) -> PassedOn:
        """Publish the survey with its key, and close it."""
        store.mixed.add_key(self.opening, TOKEN)
        store.publish(self.survey, signed(self.survey), TOKEN)
        if close:
            store.close_survey(self.survey.name)
        return self

    def person(self, **answers: str) -> list[bytes]:
        """A person's inner envelopes; what is not given is answered by the first choice."""
        rest = {each.name: each.choices[0].name for each in self.survey.questions}  # type: ignore[union-attr]
        reports = separate_reports(self.survey, rest | answers)
        return [self.seal(report.canonical) for report in reports]

    def seal(self, text: bytes) -> bytes:
        """Any text, sealed for the server."""
        mixer: Any = self.survey.mixer
        return seal_inner(mixer.open, self.survey.digest, text, mixer.length)

    def report(self, question: str, value: Sequence[int] = (0,), **more: Any) -> bytes:
        """A sealed report that says exactly this."""
        whole = {
            "id": secrets.token_hex(16),
            "survey": self.survey.digest,
            "values": {question: list(value)},
        }
        return self.seal(msgspec.json.encode(whole | more))

    def blanks(self) -> list[bytes]:
        """What an honest mixer adds."""
        terms = mixed_survey(self.survey)
        return [make_blank(terms, each) for each in terms.questions for _ in range(terms.blanks)]

    def envelopes(self, people: int = 5) -> list[bytes]:
        """People's envelopes and blanks, in the order in which they came."""
        return [inner for _ in range(people) for inner in self.person()] + self.blanks()

    def batch(self, envelopes: Sequence[bytes] | None = None, people: int = 5) -> Batch:
        """The batch of these envelopes as an honest mixer makes it."""
        mixer: Any = self.survey.mixer
        return batch_of(
            self.survey.digest,
            self.envelopes(people) if envelopes is None else envelopes,
            blanks=mixer.blanks,
            senders=people,
            key=self.signing,
        )

    def signed_as(self, envelopes: Sequence[bytes], /, **changes: Any) -> Batch:
        """What a mixer signs that does not sort, or counts otherwise."""
        honest = self.batch(envelopes).manifest
        body = b"".join(envelopes)
        as_it_is = {"sha256": hashlib.sha256(body).hexdigest()}
        manifest = msgspec.structs.replace(honest, **(as_it_is | changes))
        return Batch(manifest, self.signing.sign_text(manifest.message).value, envelopes)


def passed_on(*questions: dict[str, Any], blanks: int = BLANKS, **more: Any) -> PassedOn:
    """A survey of two questions with ten blanks each, whose results need three people."""
    opening, signing = new_opening_key(), new_key()
    mixer = {"open": opening.public, "signing": signing.author, "blanks": blanks}
    terms = {"name": "council", "results": CLOSED | {"minimum": MINIMUM}} | more
    definition = mixed(*(questions or (yes_no("a"), of_five("b"))), mixer=mixer, **terms)
    return PassedOn(as_survey(definition), signing, opening)


class Client(Protocol):
    """What sends: a client of the application, or of a real server."""

    def put(self, address: str, *, json: Any) -> Any: ...

    def patch(self, address: str, *, data: bytes, headers: dict[str, str]) -> Any: ...


def announced(client: Client, some: PassedOn, batch: Batch, **changes: Any) -> Any:
    """The answer to a manifest."""
    manifest = msgspec.to_builtins(batch.manifest) | changes
    return client.put(some.address, json={"manifest": manifest, "signature": batch.signature})


def added(client: Client, some: PassedOn, batch: Batch, data: bytes, start: int) -> Any:
    """The answer to some bytes of a batch."""
    headers = {"Content-Type": OCTETS, "Deniably-Signature": batch.signature}
    return client.patch(f"{some.address}?from={start}", data=data, headers=headers)


def send(client: Client, some: PassedOn, batch: Batch, step: int = 4_000) -> dict[str, Any]:
    """Pass a whole batch on, as a mixer does; the last answer."""
    now = announced(client, some, batch).json
    while now["state"] == "open" and now["bytes"] < now["of"]:
        start = now["bytes"]
        now = added(client, some, batch, batch.envelopes[start : start + step], start).json
    return dict(now)
