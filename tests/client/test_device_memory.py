"""A device that remembers: one report however often it is asked, over processes and crashes."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from deniably.authoring.compiling import publish_text
from deniably.core.errors import BadAnswer, BadReport, BudgetSpent, WavesSent
from deniably.device.ledger import Limits, total_loss
from deniably.device.memory import Memory, Rounds, answer, memo_keys, read_memory
from deniably.survey.survey import as_survey
from deniably.wording.words import ENGLISH, LANGUAGES, Words
from deniably_client import Device
from deniably_client.device import session
from deniably_client.errors import MemoryUnusable, Unreachable
from deniably_client.storage import Storage
from support.material import Process, Server, contents
from support.nursery import the_nursery
from support.soak import soak

SURVEY = publish_text(
    """
name: w
title: At work
results: {minimum: 1, while_open: true}
questions:
  - {name: stolen, type: yes_no, label: Ever, odds: 3}
  - {name: often, type: select_one, label: How often, choices: [never, once, often], epsilon: 1}
"""
)
ANSWERS = {"stolen": "yes", "often": "never"}


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path / "device")


@pytest.fixture
def url(server: Server) -> str:
    return f"{server.url}/s/w"


def reports(server: Server) -> list[object]:
    return contents(server.database)["reports"]


HEAD = f"""
import os, signal, sys, time
from pathlib import Path

from deniably_client import Device
from deniably_client.storage import Storage

storage, ANSWERS = Storage(Path(sys.argv[1])), {ANSWERS!r}
device = Device(sys.argv[2], memory=storage)
"""


def python(code: str, url: str, storage: Storage) -> Process:
    """Another process with a ``device`` for the survey at ``url``. What it writes is beside the
    ``storage``."""
    given = [str(storage.folder), url]
    return the_nursery().begin_program(HEAD + code, given, storage.folder.with_name("out"))


@pytest.mark.slow
@pytest.mark.parametrize("times", [20, soak(1000)])
def test_many_repeats_are_one_report(
    times: int, url: str, server: Server, storage: Storage
) -> None:
    """The averaging attack: a thousand fresh reports of one person give the answer away."""
    bodies, receipts = set(), set()
    with session() as connections:
        for _ in range(times):
            device = Device(url, memory=storage, session=connections)
            receipts.add(device.answer(ANSWERS).digest)
            kept = device.kept
            assert kept
            bodies.add(kept.text)

    assert len(bodies) == len(receipts) == 1
    assert len(reports(server)) == 1
    assert [each.question for each in storage.read().ledger] == ["stolen", "often"]


def test_without_a_memory_the_averaging_attack_would_succeed(url: str, server: Server) -> None:
    """A hundred devices that forget: of the reports of "yes", 75 of 100 say so. An attacker who
    sees a majority knows the answer, but for a chance below 1e-6 (the binomial law)."""
    with session() as connections:
        for _ in range(100):
            Device(url, session=connections).answer(ANSWERS)

    said = [json.loads(report[2])[0] for report in reports(server)]  # type: ignore[index]
    assert len(said) == 100
    assert sum(value == [0] for value in said) > 50


def test_the_same_goes_out_again_whatever_is_said(
    url: str, server: Server, storage: Storage
) -> None:
    first = Device(url, memory=storage).answer(ANSWERS)

    again = Device(url, memory=storage).answer({"stolen": "no", "often": "often"})

    assert again == replace(first, again=True)
    assert len(reports(server)) == 1


def test_the_receipt_says_that_the_earlier_report_was_sent_again(
    url: str, storage: Storage
) -> None:
    device = Device(url, memory=storage)
    first = device.answer(ANSWERS)
    repeated = Device(url, memory=storage).answer({"stolen": "no", "often": "once"})
    changed = Device(url, memory=storage).answer({"often": "once"}, changed={"often"})

    said = "sent the report that it had made before"
    assert [each.again for each in (first, repeated, changed)] == [False, True, False]
    assert said in str(repeated)
    assert said in repeated.localised(device.survey, ENGLISH)
    assert said not in str(first) + str(changed) + first.localised(device.survey, ENGLISH)
    for language in LANGUAGES:
        assert repeated.localised(device.survey, Words(language)).startswith(
            Words(language)("receipt.again")
        )


def test_a_name_that_is_no_question_is_refused_also_where_the_earlier_report_would_do(
    url: str, server: Server, storage: Storage
) -> None:
    Device(url, memory=storage).answer(ANSWERS)

    with pytest.raises(BadAnswer, match=r"stollen: .* no such question; it has stolen, often"):
        Device(url, memory=storage).answer({"stollen": "yes", "often": "never"})

    assert len(reports(server)) == 1


def test_what_has_changed_is_a_new_report_and_is_charged(
    url: str, server: Server, storage: Storage
) -> None:
    Device(url, memory=storage).answer(ANSWERS)
    Device(url, memory=storage).answer({"often": "once"}, changed={"often"})

    assert len(reports(server)) == 2
    memory = storage.read()
    assert [each.question for each in memory.ledger] == ["stolen", "often", "often"]
    assert total_loss(memory.ledger).odds == 3 * Fraction(memory.ledger[1].odds) ** 2


def test_charges_say_when_and_where_and_nothing_of_the_answers(url: str, storage: Storage) -> None:
    day = datetime.now(UTC).date().isoformat()
    Device(url, memory=storage).answer(ANSWERS)

    first = storage.read().ledger[0]
    assert day <= first.day <= datetime.now(UTC).date().isoformat()
    assert (first.survey, first.version, first.question) == ("w", SURVEY.digest, "stolen")
    assert (first.odds, first.exponent, first.delta) == ("3", "0", "0")
    assert "never" not in storage.read().canonical.decode()


def test_above_a_limit_nothing_is_sent_and_the_sentence_says_why(
    url: str, server: Server, storage: Storage
) -> None:
    Device(url, memory=storage).answer(ANSWERS)
    limits = Limits.of("5", "5", "4")
    device = Device(url, memory=storage, limits=limits)

    with pytest.raises(BudgetSpent, match=r"2\.10 over all surveys, .* 2\.10: more than .* of 4\."):
        device.answer(ANSWERS, changed=ANSWERS)
    with pytest.raises(BudgetSpent):
        device.cost(ANSWERS)

    assert len(reports(server)) == 1
    assert len(storage.read().ledger) == 2
    device.answer(ANSWERS)  # what costs nothing is never refused


def test_the_cost_is_known_before_anything_is_asked(url: str, storage: Storage) -> None:
    device = Device(url, memory=storage)

    cost = device.cost()

    assert cost.before["overall"].odds == 1
    assert cost.after["survey"] == cost.after["overall"] == SURVEY.total
    device.answer(ANSWERS)
    assert device.cost().before == device.cost().after == cost.after


def test_what_did_not_get_through_is_sent_by_the_next_run(
    own_server: Server, storage: Storage
) -> None:
    with session(retries=0) as connections:
        device = Device(f"{own_server.url}/s/w", memory=storage, session=connections)
        assert device.survey == SURVEY
        own_server.kill()
        with pytest.raises(Unreachable):
            device.answer(ANSWERS)
    kept = storage.read().reports[SURVEY.digest]
    assert not kept.sent

    again = Server(own_server.database)
    try:
        Device(f"{again.url}/s/w", memory=Storage(storage.folder)).resend()
    finally:
        again.kill()

    assert len(reports(own_server)) == 1
    assert storage.read().reports[SURVEY.digest].text == kept.text
    assert storage.read().reports[SURVEY.digest].sent


def test_a_kill_between_the_commit_and_the_sending_is_made_good(
    url: str, server: Server, storage: Storage
) -> None:
    """The process dies by SIGKILL with the report on the disk and not a byte of it sent."""
    code = """
device._request_before = device._request
def die_before_sending(method, *rest, **options):
    if method == "POST":
        os.kill(os.getpid(), signal.SIGKILL)
    return device._request_before(method, *rest, **options)
device._request = die_before_sending
device.answer(ANSWERS)
"""
    assert python(code, url, storage).wait(60) == -signal.SIGKILL
    kept = storage.read().reports[SURVEY.digest]
    assert not kept.sent
    assert reports(server) == []

    receipt = Device(url, memory=storage).answer(ANSWERS)

    assert receipt.digest == Device(url, memory=storage).kept.report.receipt  # type: ignore[union-attr]
    assert storage.read().reports[SURVEY.digest].text == kept.text
    assert len(reports(server)) == 1
    assert len(storage.read().ledger) == 2


def test_a_kill_before_the_commit_has_spent_and_sent_nothing(
    url: str, server: Server, storage: Storage
) -> None:
    code = """
def die(self, connection, memory):
    os.kill(os.getpid(), signal.SIGKILL)
device.survey
Storage._seal = die
device.answer(ANSWERS)
"""
    assert python(code, url, storage).wait(60) == -signal.SIGKILL

    assert storage.read().ledger == ()
    assert reports(server) == []
    Device(url, memory=storage).answer(ANSWERS)
    assert len(reports(server)) == 1


def test_many_processes_that_answer_at_once_send_one_report(
    url: str, server: Server, storage: Storage
) -> None:
    code = """
device.survey
while not storage.folder.with_name("go").exists():
    time.sleep(0.001)
device.answer(ANSWERS)
"""
    others = [python(code, url, storage) for _ in range(4)]
    storage.folder.with_name("go").touch()
    ended = [each.wait(120) for each in others]
    assert not any(ended), storage.folder.with_name("out").read_text()

    assert len(reports(server)) == 1
    memory = storage.read()
    assert len(memory.ledger) == 2
    assert memory.reports[SURVEY.digest].sent


def test_a_memory_that_cannot_be_read_answers_nothing(
    url: str, server: Server, storage: Storage
) -> None:
    Device(url, memory=storage).answer(ANSWERS)
    (storage.folder / "memory.key").unlink()

    with pytest.raises(MemoryUnusable, match=r"its key is missing.*deniably forget"):
        Device(url, memory=storage).answer(ANSWERS)
    assert len(reports(server)) == 1


# --- waves --------------------------------------------------------------------------------------

WAVE = """
name: wave-%d
title: At work
waves: {panel: work, history: 2}
results: {minimum: 1, while_open: true}
questions:
  - {name: stolen, type: yes_no, label: Ever, epsilon: 0.5}
  - {name: often, type: select_one, label: How often, choices: [never, once, often], epsilon: 0.5}
"""
NEW = "  - {name: late, type: yes_no, label: Late, epsilon: 0.25}\n"


def test_all_waves_together_cost_what_one_memo_gives_away(
    own_server: Server, storage: Storage
) -> None:
    """Twelve waves: one charge of each question's history, and one memo, whatever is sent."""
    sent = set()
    memos: list[object] = []
    with session() as connections:
        for number in range(1, 13):
            survey = publish_text(WAVE % number)
            own_server.publish(survey)
            device = Device(
                f"{own_server.url}/s/wave-{number}", memory=storage, session=connections
            )
            assert [each.name for each in device.fresh()] == ([] if sent else ["stolen", "often"])
            device.answer({} if sent else ANSWERS)
            assert device.kept
            sent.add(device.kept.report.id)
            memos.append(storage.read().memos)

    assert len(sent) == 12
    assert all(each == memos[0] for each in memos)
    ledger = storage.read().ledger
    assert [(each.survey, each.question) for each in ledger] == [
        ("wave-1", "stolen"), ("wave-1", "often"),
    ]  # fmt: skip
    histories = [question.mechanism.history for question in survey.questions]  # type: ignore[union-attr]
    assert [each.loss for each in ledger] == histories


def test_in_a_later_wave_only_what_is_new_or_has_changed_is_asked_and_charged(
    own_server: Server, storage: Storage
) -> None:
    for number, text in enumerate((WAVE, WAVE, WAVE + NEW), start=1):
        own_server.publish(publish_text(text % number))
    Device(f"{own_server.url}/s/wave-1", memory=storage).answer(ANSWERS)

    second = Device(f"{own_server.url}/s/wave-2", memory=storage)
    second.answer({"often": "often"}, changed={"often"})
    third = Device(f"{own_server.url}/s/wave-3", memory=storage)
    assert [each.name for each in third.known] == ["stolen", "often"]
    third.answer({"late": "no"})

    assert [(each.survey, each.question) for each in storage.read().ledger] == [
        ("wave-1", "stolen"), ("wave-1", "often"), ("wave-2", "often"), ("wave-3", "late"),
    ]  # fmt: skip
    assert len(storage.read().memos) == 3


COUNTED = WAVE.replace("history: 2", "count: 3")


def test_no_more_waves_are_answered_than_were_stated(own_server: Server, storage: Storage) -> None:
    """Each is asked, drawn afresh and paid for; the fourth is refused before anything is drawn."""
    with session() as connections:
        for number in range(1, 5):
            own_server.publish(publish_text(COUNTED % number))
            device = Device(
                f"{own_server.url}/s/wave-{number}", memory=storage, session=connections
            )
            assert [each.name for each in device.fresh()] == ["stolen", "often"]
            if number < 4:
                receipt = device.answer(ANSWERS)
            else:
                with pytest.raises(WavesSent, match="answered 3 waves"):
                    device.cost()
                with pytest.raises(WavesSent, match="answered 3 waves"):
                    device.answer(ANSWERS)

    assert len(reports(own_server)) == 3
    memory = storage.read()
    assert not memory.memos, "nothing is kept of an answer"
    assert list((memory.waves or {}).values()) == [Rounds(3, 3)] * 2
    loss = total_loss(memory.ledger)
    assert receipt.history
    assert loss.odds == receipt.history.odds == receipt.total.odds**3


def test_a_changed_answer_is_one_of_the_stated_waves() -> None:
    memory = Memory()
    call = {"day": "2026-11-21", "limits": Limits()}
    survey = publish_text(COUNTED % 1)
    memory = answer(memory, survey, ANSWERS, **call)  # type: ignore[arg-type]
    for _ in range(2):
        memory = answer(memory, survey, ANSWERS, changed=["stolen"], **call)  # type: ignore[arg-type]

    with pytest.raises(WavesSent):
        answer(memory, survey, ANSWERS, changed=["stolen"], **call)  # type: ignore[arg-type]
    with pytest.raises(WavesSent):
        answer(memory, publish_text(COUNTED % 2), ANSWERS, **call)  # type: ignore[arg-type]
    assert answer(memory, survey, {}, **call) is memory, "what was sent is sent again"  # type: ignore[arg-type]


def test_stating_more_waves_later_gives_no_more_reports() -> None:
    call = {"day": "2026-11-21", "limits": Limits()}
    memory = answer(Memory(), publish_text((COUNTED % 1).replace("3}", "2}")), ANSWERS, **call)  # type: ignore[arg-type]
    memory = answer(memory, publish_text(COUNTED % 2), ANSWERS, **call)  # type: ignore[arg-type]

    with pytest.raises(WavesSent, match="answered 2 waves"):
        answer(memory, publish_text(COUNTED % 3), ANSWERS, **call)  # type: ignore[arg-type]


def test_a_memory_of_kept_reports_is_still_read_and_its_memos_are_not_used() -> None:
    """What earlier drafts of the format kept belongs to other questions: their digests differ."""
    survey = publish_text(WAVE % 1)
    key = next(iter(memo_keys(survey, "").values()))
    old = Memory(memos={key[:-64] + "0" * 64: [1, 2]})
    memory = read_memory(old.canonical)

    after = answer(memory, survey, ANSWERS, day="2026-11-21", limits=Limits())

    assert len(after.memos) == 3
    broken = Memory(memos={key: [0, 1]})
    with pytest.raises(BadReport, match=r"memos\.stolen"):
        answer(broken, survey, ANSWERS, day="2026-11-21", limits=Limits())


def test_what_waves_send_is_the_memo_or_chance_in_the_published_share() -> None:
    survey = publish_text(WAVE % 1)
    document = json.loads(survey.canonical)
    mechanism = survey.questions[0].mechanism
    memory = answer(Memory(), survey, ANSWERS, day="2026-11-21", limits=Limits())
    memo = tuple(memory.memos[memo_keys(survey, "")["stolen"]])
    same = 0
    for number in range(2, 402):
        wave = as_survey(document | {"name": f"wave-{number}"})
        report = answer(memory, wave, {}, day="2026-11-21", limits=Limits()).report(wave.digest)
        assert report
        same += tuple(report.values["stolen"]) == memo
    expected = float(mechanism.fresh.p)  # type: ignore[union-attr]
    # Hoeffding: further off than this with a chance below 1e-6.
    assert abs(same / 400 - expected) < 0.135
