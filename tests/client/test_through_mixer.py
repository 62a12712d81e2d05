"""Answering a survey with a mixer, from Python and in a terminal: sealed once, sent until taken."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest

from client.test_terminal import answer as in_terminal
from deniably.core.errors import (
    BadAnswer,
    BadInvitation,
    BudgetSpent,
    Refused,
    Uninvited,
)
from deniably.device.ledger import Limits
from deniably.device.through_mixer import Arrival
from deniably.survey.survey import Survey, as_survey
from deniably.trust.envelope import new_opening_key, open_outer
from deniably.trust.invitation_codes import code_in_groups, new_code
from deniably.trust.mixed_survey import mixed_survey
from deniably.trust.mixer_statement import MixerStatement
from deniably.trust.signing import new_key
from deniably.wording.words import LANGUAGES, Words
from deniably_client import Device, Storage
from deniably_client.errors import (
    InvitationUnknown,
    InvitationUsed,
    NobodyInvited,
    SurveyClosed,
    Unreachable,
)
from deniably_client.mixer_exchange import MixerExchange
from deniably_server.storage.mixer_store import MixerKeys, MixerStore
from spec.cases.mixers import EIGHT, mixed
from spec.cases.questions import YES_NO, changed
from support.intercepting_proxy import InterceptingProxy, intercepting_proxy
from support.material import Server
from support.mixing import MixerServer, Parties

ANSWERS = {"a": "yes", "e": "no"}
KEYS = "1\n2\ny\n"
BY = "Works council of Example Ltd"


@dataclass(frozen=True)
class Study:
    """A survey that a server has published and a mixer has accepted."""

    survey: Survey
    parties: Parties
    server: Server
    mixer: MixerServer

    @property
    def url(self) -> str:
        return f"{self.server.url}/s/{self.survey.name}"

    @property
    def received(self) -> list[bytes]:
        """What the mixer keeps."""
        with closing(MixerStore(str(self.mixer.database))) as store:
            return sorted(store.sealed(self.survey.digest))

    def invite(self) -> str:
        """The code of a new invitation of the mixer's."""
        with closing(MixerStore(str(self.mixer.database))) as store:
            return store.invite(self.survey.digest, 1)[0]

    def close(self) -> None:
        with closing(MixerStore(str(self.mixer.database))) as store:
            store.close_survey(self.survey.digest)

    def report_values(self, outer: bytes) -> list[dict[str, list[int]]]:
        """The values in what one person sent, as the survey's server opens them."""
        some = self.parties.survey
        opened = open_outer(
            self.parties.mixer.opening, some.digest, outer, some.length, len(some.questions)
        )
        return [each["values"] for each in self.parties.reports(b"".join(opened.inner))]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, MixerServer]]:
    folder = tmp_path_factory.mktemp("through")
    server, mixer = Server(folder / "server.db"), MixerServer(folder / "mixer.db")
    yield server, mixer
    server.kill()
    mixer.kill()


Begin = Callable[..., Study]


@pytest.fixture
def begin(servers: tuple[Server, MixerServer], request: pytest.FixtureRequest) -> Begin:
    """Publishes a survey and lets the mixer accept it, in a name of this test's own."""
    name = hashlib.sha256(request.node.name.encode()).hexdigest()[:12]

    def begun(*questions: Any, invited: bool = False, accepted: bool = True, **more: Any) -> Study:
        server, mixer = servers
        keys, own = MixerKeys(new_opening_key(), new_key()), new_opening_key()
        members = {"address": mixer.url, "key": keys.opening.public, "open": own.public}
        members |= {"signing": keys.signing.author} | more
        survey = as_survey(mixed(*(questions or (YES_NO, EIGHT)), name=name, mixer=members))
        server.publish(survey)
        parties = Parties(mixed_survey(survey, invited=invited), keys, own)
        if accepted:
            mixer.accept(parties)
        return Study(survey, parties, server, mixer)

    return begun


@pytest.fixture
def study(begin: Begin) -> Study:
    return begin()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DENIABLY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


# --- the envelope -------------------------------------------------------------------------------


def test_one_envelope_reaches_the_mixer_with_a_report_for_each_question(study: Study) -> None:
    device = Device(study.url, memory=Storage())

    receipt = device.answer(ANSWERS)

    (outer,) = study.received
    assert hashlib.sha256(outer).hexdigest() == receipt.digest
    assert [list(values) for values in study.report_values(outer)] == [["a"], ["e"]]
    kept = device.kept
    assert kept
    assert (kept.body, kept.sent) == (outer, True)
    assert receipt.mixer
    assert receipt.mixer.by == "Works council of Example Ltd"
    assert list(receipt.mixer.sealed) == kept.inner
    assert receipt.mixer.server_loss == study.survey.server_loss


def test_what_is_sealed_has_the_law_of_the_mechanisms(begin: Begin) -> None:
    """A yes becomes a yes in 8 of 9 cases: of 60 people, fewer than 42 happens once in 7,000."""
    study = begin(EIGHT)
    for _ in range(60):
        Device(study.url).answer({"e": "yes"})

    values = [values["e"] for outer in study.received for values in study.report_values(outer)]
    assert len(values) == 60
    assert 42 <= values.count([0]) < 60


def test_the_surveys_server_does_not_see_when_a_person_answers(
    study: Study, proxy: InterceptingProxy
) -> None:
    device = Device(f"{proxy.url}/s/{study.survey.name}", memory=Storage())
    assert device.survey
    proxy.asked.clear()

    device.answer(ANSWERS)

    assert proxy.asked == []
    assert len(study.received) == 1


def test_it_is_sent_again_as_it_is_and_counts_once(study: Study) -> None:
    device = Device(study.url, memory=Storage())
    first = device.answer(ANSWERS)
    ledger = Storage().read().ledger

    assert device.answer({"a": "no", "e": "yes"}) == replace(first, again=True)
    assert Device(study.url, memory=Storage()).resend() == replace(first, again=True)
    assert Storage().read().ledger == ledger
    assert len(study.received) == 1


def test_an_answer_cannot_change_once_it_is_sealed(study: Study) -> None:
    device = Device(study.url, memory=Storage())
    device.answer(ANSWERS)

    with pytest.raises(BadAnswer, match="what was sealed for a mixer stays as it is"):
        device.answer({"a": "no"}, changed=["a"])
    assert device.fresh() == []
    assert len(study.received) == 1


def test_what_did_not_get_through_is_kept_and_sent_later(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device(study.url, memory=Storage())
    request, down = device._request, [True]

    def broken(method: str, url: str, *rest: Any, **more: Any) -> Any:
        if method == "POST" and down:
            raise Unreachable("the mixer is down")
        return request(method, url, *rest, **more)

    monkeypatch.setattr(device, "_request", broken)
    with pytest.raises(Unreachable):
        device.answer(ANSWERS)
    assert device.kept
    assert not device.kept.sent
    body = device.kept.body

    again = Device(study.url, memory=Storage())
    assert not again.resend().again
    assert study.received == [body]


# --- the mixer's statement ----------------------------------------------------------------------


def no_statement(device: Device, error: type[Exception], why: str) -> None:
    """The device refuses, and has drawn, charged and sent nothing."""
    with pytest.raises(error, match=why):
        device.answer(ANSWERS)
    assert Storage().read().reports == {}
    assert Storage().read().ledger == ()


def test_without_a_mixer_that_has_accepted_the_survey_nothing_is_sealed(begin: Begin) -> None:
    study = begin(accepted=False)

    no_statement(Device(study.url, memory=Storage()), Exception, "the server refused")


def test_after_the_closing_nothing_is_sealed(study: Study) -> None:
    study.close()

    no_statement(Device(study.url, memory=Storage()), SurveyClosed, "status 410")
    assert "The survey is closed" in in_terminal(study.url, KEYS).stderr


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"by": "Somebody else"}, "another name"),
        ({"survey": "0" * 64}, "about another survey"),
        ({"signature": "0" * 128}, "cannot be trusted"),
    ],
)
def test_a_statement_that_is_not_the_mixers_is_refused(
    study: Study, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], why: str
) -> None:
    device = Device(study.url, memory=Storage())
    survey, request = study.survey, device._request
    usual = MixerStatement(study.parties.survey.by, 0, 0, survey.digest, "2999-12-31")
    signed = msgspec.structs.replace(usual, **change).signed(study.parties.mixer.signing)
    told = msgspec.structs.replace(signed, **change)

    def lying(method: str, url: str, *rest: Any, **more: Any) -> Any:
        answer = request(method, url, *rest, **more)
        return replace(answer, body=told.canonical) if "/mix/" in url else answer

    monkeypatch.setattr(device, "_request", lying)
    no_statement(device, Refused, why)
    assert study.received == []


# --- both accounts --------------------------------------------------------------------------------


def test_both_accounts_are_counted_and_each_can_refuse(begin: Begin) -> None:
    study = begin()
    device = Device(study.url, memory=Storage())

    alone, together = device.cost(), device.cost(account="together")

    assert alone.after["survey"] == study.survey.server_loss
    assert together.after["survey"] == study.survey.total
    with pytest.raises(BudgetSpent) as refused:
        Device(study.url, limits=Limits.of("1")).answer(ANSWERS)
    assert not refused.value.together


def test_too_much_for_both_together_is_refused_before_a_coin_is_thrown(begin: Begin) -> None:
    questions = [changed(EIGHT, name=f"q{i}") for i in range(13)]
    study = begin(*questions)

    done = in_terminal(study.url, "1\n" * 13 + "y\n")

    assert done.returncode == 1
    assert "if mixers worked together with servers" in done.stderr
    with pytest.raises(BudgetSpent) as refused:
        Device(study.url).answer({f"q{i}": "yes" for i in range(13)})
    assert refused.value.together
    assert study.received == []


# --- invitations ----------------------------------------------------------------------------------


def test_a_code_of_the_mixers_is_sealed_in_the_envelope(begin: Begin) -> None:
    study = begin(invited=True)
    code = study.invite()
    device = Device(f"{study.url}#{code_in_groups(code)}", memory=Storage())
    assert device.needs_invitation

    device.answer(ANSWERS)

    (outer,) = study.received
    some = study.parties.survey
    opened = open_outer(study.parties.mixer.opening, some.digest, outer, some.length, 2)
    assert opened.code == code
    assert code not in Storage().read().canonical.decode()
    assert not device.needs_invitation


def test_who_needs_no_code_sends_none(study: Study) -> None:
    Device(f"{study.url}#{code_in_groups(new_code())}").answer(ANSWERS)

    assert len(study.received) == 1


@pytest.mark.parametrize(("invitation", "error"), [(None, Uninvited), ("ABC", BadInvitation)])
def test_without_a_code_nothing_is_sealed(
    begin: Begin, invitation: str | None, error: type[Exception]
) -> None:
    study = begin(invited=True)
    study.invite()

    no_statement(Device(study.url, memory=Storage(), invitation=invitation), error, "invitation")


def test_nothing_is_sealed_before_the_mixer_has_invited_anybody(begin: Begin) -> None:
    """Nobody is asked to answer without a code, which the mixer would then refuse."""
    study = begin(invited=True)

    no_statement(Device(study.url, memory=Storage()), NobodyInvited, "no invitations yet")
    done = in_terminal(study.url, KEYS)
    assert done.returncode == 1
    assert "has given out no invitations to this survey yet" in done.stderr

    code = study.invite()
    Device(study.url, invitation=code).answer(ANSWERS)
    assert len(study.received) == 1


def test_another_code_goes_with_the_very_same_answers(begin: Begin) -> None:
    study = begin(invited=True)
    used, fresh = study.invite(), study.invite()
    Device(study.url, invitation=used).answer(ANSWERS)
    device = Device(study.url, memory=Storage(), invitation=new_code())
    with pytest.raises(InvitationUnknown):
        device.answer(ANSWERS)
    assert device.kept
    sealed, ledger = device.kept.inner, Storage().read().ledger

    device.invitation = used
    with pytest.raises(InvitationUsed):
        device.resend()
    device.invitation = fresh
    device.resend()

    assert device.kept.inner == sealed
    assert device.kept.sent
    assert Storage().read().ledger == ledger
    assert len(study.received) == 2
    assert not device.can_change_code


# --- whether they arrived -------------------------------------------------------------------------


@pytest.fixture
def proxy(study: Study) -> Iterator[InterceptingProxy]:
    with intercepting_proxy(study.server.url) as proxy:
        yield proxy


def listed(proxy: InterceptingProxy, study: Study, *hashes: str) -> None:
    """The server's list of what it received has these and a hundred others."""
    others = [hashlib.sha256(bytes([i])).digest() for i in range(100)]
    text = b"".join(sorted([*map(bytes.fromhex, hashes), *others]))
    proxy.changes[f"/api/surveys/{study.survey.name}/mixed/envelopes"] = lambda _: text


def test_nothing_is_known_before_the_mixer_has_passed_on_the_answers(study: Study) -> None:
    device = Device(study.url, memory=Storage())
    assert device.arrival is None
    device.answer(ANSWERS)

    assert device.arrival is None


def test_the_device_finds_its_envelopes_in_the_list_of_all(
    study: Study, proxy: InterceptingProxy
) -> None:
    device = Device(f"{proxy.url}/s/{study.survey.name}", memory=Storage())
    device.answer(ANSWERS)
    assert device.kept
    first, second = device.kept.inner or []

    listed(proxy, study, first, second)
    assert device.arrival == Arrival(2, 2)
    listed(proxy, study, first)
    assert device.arrival == Arrival(1, 2)
    assert not device.arrival.complete


@pytest.mark.parametrize("text", [b"x", b"\1" * 32 + b"\0" * 32, b"\1" * 64])
def test_a_list_that_is_none_is_refused(
    study: Study, proxy: InterceptingProxy, text: bytes
) -> None:
    device = Device(f"{proxy.url}/s/{study.survey.name}", memory=Storage())
    device.answer(ANSWERS)
    proxy.changes[f"/api/surveys/{study.survey.name}/mixed/envelopes"] = lambda _: text

    with pytest.raises(Refused, match="cannot be read"):
        device.arrival  # noqa: B018


# --- in a terminal --------------------------------------------------------------------------------


def test_both_numbers_come_before_the_first_question_and_are_on_the_receipt(study: Study) -> None:
    done = in_terminal(study.url, KEYS)

    assert done.returncode == 0, done.stderr
    before, _, rest = done.stdout.partition("Your answer")
    assert "go to a second party, Works council of Example Ltd, which cannot open" in before
    assert "adds 220 made-up answers to every question" in before
    assert "in all 2 answers, it is right at most 75 of 100 times" in before
    assert "This can fail once in 1,000,000" in before
    assert "cheats, one answer is guessed right at most 89 of 100 times" in before
    assert "your network address reaches Works council of Example Ltd" in before
    assert "If both work together: Nobody who sees" in before
    assert "The same, if mixers worked together with servers:" in before
    assert "anonym" not in done.stdout.lower()
    receipt = rest.partition("Sent.")[2]
    assert "Sent through the mixer of: Works council of Example Ltd" in receipt
    assert "The server alone: all 2: right 75 of 100 times" in receipt
    assert receipt.index("If both work together") < receipt.index("A guess from “e”: right 89")
    assert receipt.count("Codes of your sealed answers: ") == 2
    assert len(study.received) == 1


def test_a_second_call_says_that_nothing_changes_and_sends_the_same(study: Study) -> None:
    in_terminal(study.url, KEYS)

    done = in_terminal(study.url, "")

    assert done.returncode == 0, done.stderr
    assert "What was sealed stays as it is, and counts once." in done.stdout
    assert len(study.received) == 1


def test_once_the_answers_are_passed_on_it_says_whether_they_arrived(
    study: Study, proxy: InterceptingProxy
) -> None:
    url = f"{proxy.url}/s/{study.survey.name}"
    in_terminal(url, KEYS)
    kept = Device(url, memory=Storage()).kept
    assert kept
    inner = list(kept.inner or [])

    listed(proxy, study, *inner)
    arrived = in_terminal(url, "")
    listed(proxy, study, inner[0])
    lost = in_terminal(url, "")

    assert arrived.returncode == 0
    assert "have arrived at the survey’s server: 2 of 2" in arrived.stdout
    assert lost.returncode == 1
    assert "Not all sealed answers of this device" in lost.stderr
    assert ": 1 of 2. Works council of Example Ltd has dropped the others" in lost.stderr


def test_what_did_not_get_through_before_the_closing_does_not_count(study: Study) -> None:
    device = Device(study.url, memory=Storage())
    with (
        mock.patch.object(MixerExchange, "send", side_effect=Unreachable("the mixer is down")),
        pytest.raises(Unreachable),
    ):
        device.answer(ANSWERS)
    study.close()

    done = in_terminal(study.url, "")

    assert done.returncode == 1
    assert "did not get through before the survey closed, and does not count" in done.stderr


def test_a_code_is_asked_for_and_asked_for_again(begin: Begin) -> None:
    study = begin(invited=True)
    used, fresh = study.invite(), study.invite()
    Device(study.url, invitation=used).answer(ANSWERS)

    done = in_terminal(study.url, f"oops\n{used}\n{KEYS}{fresh}\n")

    assert done.returncode == 0, done.stderr
    assert "You need an invitation from Works council of Example Ltd" in done.stdout
    assert "Check the code" in done.stderr
    assert "This invitation was used already" in done.stderr
    assert len(study.received) == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_names_who_runs_the_mixer_and_both_numbers(
    study: Study, language: str
) -> None:
    done = in_terminal(study.url, "", "--language", language)

    shown = done.stdout
    assert BY in shown
    for number in ("75", "89", "220", Words(language).number(1_000_000)):
        assert number in shown
    visible = [
        Words(language)(f"{place}.visible", by=BY) in shown for place in ("terminal", "mixer")
    ]
    assert visible == [True, False], "no page is shown here"
