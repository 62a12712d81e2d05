"""A survey's server and a mixer, both real, and forms whose answers travel through the mixer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import requests
from playwright.sync_api import Page

from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey, as_survey
from deniably.trust.envelope import OpeningKey, new_opening_key, open_inner, open_outer
from deniably.trust.mixed_survey import MixedSurvey, mixed_survey
from deniably.trust.signing import new_key
from deniably_server.mixing.batches import finish
from deniably_server.storage.mixer_store import MixerKeys, MixerStore
from deniably_server.storage.store import Store
from spec.cases.mixers import mixed
from spec.cases.questions import ask, choices, condition, subset
from support.material import Server, signed
from support.mixing import OCTETS, UNTIL, MixerServer, Parties, kept_batch
from support.passing_on import TOKEN

BY = "Works council of Example Ltd"
WHO = "University of Northfield"
LENGTH = 192


def yes_no(name: str, label: str) -> dict[str, Any]:
    """A yes/no question at odds 8."""
    eight = subset(2, own=8)
    return ask(name, "yes_no", eight, choices=choices("yes", "no"), claim={"odds": "8"}) | {
        "label": label
    }


def which(name: str, *names: str, **more: Any) -> dict[str, Any]:
    """A question with several choices at odds 8."""
    of = subset(len(names), own=8)
    return ask(name, "select_one", of, choices=choices(*names), claim={"odds": "8"}) | more


SIX = [yes_no(f"q{number}", f"Question number {number}?") for number in range(1, 7)]
CONDITIONAL = [
    yes_no("smoker", "Do you smoke?"),
    which("much", "little", "much", "not_applicable", show_if=condition("smoker", "yes")),
]


@dataclass(frozen=True)
class Through:
    """A published survey, and the private keys of both parties."""

    survey: Survey
    mixer: MixerKeys
    server: OpeningKey

    @property
    def digest(self) -> str:
        return self.survey.digest

    def terms(self, *, invited: bool = False) -> MixedSurvey:
        """What the mixer agrees to."""
        return mixed_survey(self.survey, invited=invited)

    def opened(self, sealed: bytes) -> tuple[str, list[dict[str, Any]], list[str]]:
        """The code in an outer envelope, the reports, and the hash of each inner envelope."""
        assert isinstance(self.survey.mixer, Mixer)
        length, count = self.survey.mixer.length, len(self.survey.questions)
        outer = open_outer(self.mixer.opening, self.digest, sealed, length, count)
        reports = [
            json.loads(open_inner(self.server, self.digest, each, length)) for each in outer.inner
        ]
        return outer.code, reports, [hashlib.sha256(each).hexdigest() for each in outer.inner]


class TwoParties:
    """A server and a mixer. Surveys are put straight into the server's store."""

    def __init__(self, folder: Path) -> None:
        self.server = Server(folder / "deniably.db")
        self.mixer = MixerServer(folder / "mixer.db")
        self.url = self.server.url

    def publish(
        self,
        name: str,
        questions: list[dict[str, Any]],
        *,
        accept: bool = True,
        invited: bool = False,
        **more: Any,
    ) -> Through:
        """A survey that the mixer has agreed to, unless ``accept`` is false."""
        server, keys = new_opening_key(), MixerKeys(new_opening_key(), new_key())
        mixer = {
            "address": self.mixer.url,
            "by": BY,
            "key": keys.opening.public,
            "signing": keys.signing.author,
            "open": server.public,
            "length": LENGTH,
        } | more.pop("mixer", {})
        written = {"title": "Honesty at work", "contact": WHO} | more
        definition = mixed(*questions, name=name, mixer=mixer, **written)
        through = Through(as_survey(definition), keys, server)
        with closing(Store(str(self.server.database))) as store:
            store.mixed.add_key(server, TOKEN)
            store.publish(through.survey, signed(through.survey), TOKEN)
        if accept:
            self.accept(through, invited=invited)
        return through

    def accept(self, through: Through, *, invited: bool = False, until: str = UNTIL) -> None:
        with closing(self.mixer_store()) as store:
            Parties(through.terms(invited=invited), through.mixer, through.server).accept(
                store, until
            )

    def invite(self, through: Through) -> str:
        with closing(self.mixer_store()) as store:
            return store.invite(through.digest, 1)[0]

    def held(self, through: Through) -> int:
        """How many envelopes the mixer holds."""
        with closing(self.mixer_store()) as store:
            return store.senders(through.digest)

    def close_at_mixer(self, through: Through) -> None:
        with closing(self.mixer_store()) as store:
            store.close_survey(through.digest)

    def close(self, through: Through) -> None:
        with closing(Store(str(self.server.database))) as store:
            store.close_survey(through.survey.name)

    def pass_on(self, through: Through) -> int:
        """Close at both, and pass the batch on; how many envelopes it has."""
        self.close(through)
        self.close_at_mixer(through)
        with closing(self.mixer_store()) as store:
            finish(store, through.digest)
            batch = kept_batch(store, through.digest)
        address = f"{self.url}/api/surveys/{through.survey.name}/mixed"
        told = {"manifest": msgspec.to_builtins(batch.manifest), "signature": batch.signature}
        assert requests.put(address, json=told, timeout=60).json()["bytes"] == 0
        headers = OCTETS | {"Deniably-Signature": batch.signature}
        sent = requests.patch(f"{address}?from=0", batch.envelopes, headers=headers, timeout=60)
        assert sent.json()["state"] == "taken"
        return batch.manifest.envelopes

    def mixer_store(self) -> MixerStore:
        return MixerStore(str(self.mixer.database))

    def kill(self) -> None:
        self.server.kill()
        self.mixer.kill()


def mixed_states(page: Page, two: TwoParties, name: str = "walked") -> Iterator[str]:
    """Leads through what the form shows with a mixer alone, and names each state. The survey is
    published under ``name``."""
    through = two.publish(name, SIX[:1], invited=True)
    url = f"{two.url}/s/{name}"
    page.goto(f"{url}#{two.invite(through)}")
    page.wait_for_selector("#survey[data-kept]")
    yield "start with a mixer"
    page.fill("#code", "0" * 18)
    page.click("[form=invitation]")
    page.wait_for_selector("[data-step=question]:not([hidden])")
    page.locator("form:visible summary, [data-step=question] summary").first.click()
    yield "question with a mixer"
    page.locator("[data-step=question]:visible label").first.click()
    page.locator("form:visible button:not([type])").click()
    page.click("#send")
    page.wait_for_selector("#other-invitation:not([hidden])")
    yield "asked for another code"
    page.fill("#other-invitation input", two.invite(through))
    page.locator("#other-invitation button").first.click()
    page.wait_for_selector("[data-step=receipt]:not([hidden])")
    yield "receipt of a mixer"
    page.goto(url)
    page.wait_for_selector("[data-before]:not([hidden])")
    yield "sealed before"
    two.pass_on(through)
    page.goto(url)
    page.wait_for_selector("#arrived:not(:empty)")
    yield "arrived"
