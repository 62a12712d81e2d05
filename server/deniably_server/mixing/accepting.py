"""Examines a published survey before a mixer accepts it: signature, register, keys and claim.

Devices rely on the mixer for the claim (SPEC 4.8), so it works the claim out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from deniably.core.counting import people
from deniably.core.errors import BadSurvey, Refused
from deniably.core.loopback import is_here
from deniably.design.blanks import HiddenPair
from deniably.design.mixer_claim import keeps_claim
from deniably.device.memory import Memory
from deniably.device.verify_listing import verify_listing
from deniably.survey.mixer import Mixer, is_address
from deniably.survey.survey import Survey, read_survey
from deniably.trust.batch import LARGEST_BATCH
from deniably.trust.listing import read_listing
from deniably.trust.mixed_survey import MixedSurvey, mixed_survey
from deniably.trust.register import ChainHead
from deniably_server.errors import Conflict, NotFound
from deniably_server.mixing.survey_server import SurveyServer
from deniably_server.storage.mixer_store import MixerKeys, MixerStore, SurveySource


@dataclass(frozen=True)
class Examined:
    """A survey that a mixer may accept. ``author`` is its author's public key.

    ``until`` is the last day of a survey that was accepted before, else None.
    """

    survey: Survey
    mixer: Mixer
    mixed: MixedSurvey
    keys: MixerKeys
    source: SurveySource
    author: str
    until: str | None


def examine(store: MixerStore, source: SurveySource, *, invited: bool) -> Examined:
    """Returns the survey at ``source``, after all checks of a mixer. People are ``invited`` if each
    needs a code of the mixer's.

    Raises Refused where the survey cannot be trusted or does not keep its claim, Conflict where it
    is closed or has another mixer, NotFound where the mixer made no such offer, and what the
    server's answers raise.
    """
    server = SurveyServer(source)
    definition = server.definition()
    listing = server.listing()
    try:
        survey = read_survey(definition.text)
    except BadSurvey as error:
        raise Refused(f"this is no survey that devices answer: {error}") from None
    mixer = survey.mixer
    if not isinstance(mixer, Mixer):
        raise Refused(f"{survey.name} has no mixer: its answers go straight to its server")
    if survey.name != source.name:
        raise Refused(f"the survey at this address is {survey.name}, not {source.name}")
    _, verified = verify_listing(Memory(), _origin(source.server), survey, listing)
    _refuse_own_host(mixer, source)
    _refuse_weak_claim(survey, mixer)
    mixed = mixed_survey(survey, invited=invited)
    _refuse_too_large(mixed)
    known = _accepted(store, survey.digest)
    if definition.state != "open" and known is None:
        raise Conflict("the survey is closed, so there is nothing left to mix")
    keys = _own_keys(store, mixer) if known is None else store.keys(survey.digest)
    head = read_listing(listing).head
    return Examined(
        survey,
        mixer,
        mixed,
        keys,
        SurveySource(source.server, source.name, ChainHead(head.count, head.head)),
        verified.author,
        known,
    )


def _accepted(store: MixerStore, digest: str) -> str | None:
    """The last day of a survey that was accepted before."""
    with suppress(NotFound):
        return store.accepted(digest).until
    return None


def _own_keys(store: MixerStore, mixer: Mixer) -> MixerKeys:
    """The keys of the offer that the survey uses, unchanged."""
    offered = store.offered(mixer.key)
    for member in ("address", "by", "signing"):
        if getattr(mixer, member) != getattr(offered.offer, member):
            raise Conflict(f"the survey has another {member} than the offer that it uses")
    return offered.keys


def _refuse_own_host(mixer: Mixer, source: SurveySource) -> None:
    """Raise Refused where one host has both, and where the mixer's address is none. On this
    machine, to try it out, both may be at different ports."""
    if not is_address(mixer.address):
        raise Refused(f"nobody reaches the mixer of this survey: {mixer.address} is no address")
    there, here = urlsplit(source.server), urlsplit(mixer.address)
    host = _host(there)
    if is_here(source.server) and is_here(mixer.address):
        same = there.port == here.port
    else:
        same = host == _host(here)
    if same:
        raise Refused(
            f"the mixer and the survey's server have one host, {host}: whoever runs both could see"
            " who sent which answer. A mixer is run by another party, on another machine"
        )


def _refuse_weak_claim(survey: Survey, mixer: Mixer) -> None:
    claim, pairs = mixer.claim, _pairs(survey)
    if not keeps_claim(pairs, mixer.blanks, claim):
        raise Refused(
            f"{mixer.blanks:,} blanks for each question do not keep what the survey claims: epsilon"
            f" {claim.epsilon} with delta {claim.delta}. Do not mix it, and tell its author"
        )


def _refuse_too_large(mixed: MixedSurvey) -> None:
    """Raise Refused where the server would take no batch of as many people as results need."""
    if mixed.most_senders < mixed.minimum:
        raise Refused(
            f"a batch of {people(mixed.minimum)}, as many as the results need, and of"
            f" {mixed.blanks:,} blanks for each question would have more bytes than a server takes:"
            f" {LARGEST_BATCH:,}"
        )


def _pairs(survey: Survey) -> Sequence[HiddenPair]:
    return [HiddenPair.of(question.report_mechanism) for question in survey.questions]


def _host(url: SplitResult) -> str:
    """The host's name without the dot that may end it."""
    return (url.hostname or "").removesuffix(".")


def _origin(server: str) -> str:
    return urlsplit(server)._replace(path="").geturl()
