"""Answering in a terminal: the odds before each answer, a receipt afterwards, no trace."""

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec import convert

from deniably.authoring.compiling import compile_survey, publish_text
from deniably.core.errors import BudgetSpent
from deniably.core.loss import Loss
from deniably.device.ledger import LedgerEntry, ledger_entry
from deniably.device.memory import Memory, StoredReport, charges, replace
from deniably.survey.survey import Survey, as_survey
from deniably.trust.signing import fingerprint
from deniably.wording.words import LANGUAGES, Words
from deniably_client import ledger_cli, refusals
from deniably_client.device import Device, session
from deniably_client.errors import Rejected
from deniably_client.storage import Storage
from deniably_client.terminal import Talk, _deliver
from deniably_server.storage.store import Store
from spec.cases.mixers import EIGHT, SIGNING, mixed
from spec.cases.questions import YES_NO
from support.commands import Done, call, in_a_process
from support.every_type import QUESTIONS, survey_of_everything
from support.intercepting_proxy import intercepting_proxy
from support.material import AUTHOR, Server, contents, signed
from support.register_attacks import STRANGER

SURVEY_TEXT = """
name: w
title: At work
intro: Two questions.
part: false
questions:
  - {name: stolen, type: yes_no, label: Ever stolen, odds: 3}
  - {name: often, type: select_one, label: How often, choices: [Never, Once, Often], epsilon: 1}
"""
SURVEY = publish_text(SURVEY_TEXT)


@pytest.fixture
def url(server: Server) -> str:
    return f"{server.url}/s/w"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the device of this test remembers."""
    monkeypatch.setenv("DENIABLY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def answer(url: str, keys: str, *options: str) -> Done:
    return call("answer", url, *options, keys=keys)


def test_the_odds_come_before_each_answer_and_the_receipt_at_the_end(url: str) -> None:
    done = answer(url, "1\n3\ny\n")

    assert done.returncode == 0, done.stderr
    shown = done.stdout
    assert shown.index("75 of 100 times") < shown.index("Your answer")
    asked, _, receipt = shown.partition("Sent.")
    assert asked.index("How often") < asked.rindex("of 100 times") < asked.rindex("Your answer")
    assert re.search(r"Code of what was sent: [0-9a-f]{64}", receipt)
    assert "A guess from “often”: right 69 of 100 times" in receipt
    assert "A guess from all 2 answers: right 75 of 100 times" in receipt, (
        "the first page's figures"
    )
    assert SURVEY.digest in receipt
    assert "Yes" not in receipt
    assert "Often" not in receipt


def test_one_valid_report_reaches_the_server(url: str, server: Server) -> None:
    in_a_process("answer", url, keys="2\n1\ny\n")

    stored = contents(server.database)["reports"]
    assert len(stored) == 1


def test_a_no_at_the_end_sends_nothing(url: str, server: Server) -> None:
    done = answer(url, "1\n1\nn\n")

    assert "Nothing was sent" in done.stdout
    assert contents(server.database)["reports"] == []


def test_a_number_that_is_no_choice_is_asked_again(url: str) -> None:
    done = answer(url, "7\nx\n1\n1\nn\n")

    assert done.returncode == 0
    assert done.stdout.count("Write a number from 1 to 2.") == 2


def on_a_terminal(url: str, keys: bytes) -> tuple[int, bytes]:
    """The exit status, and all that was written to a real terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "deniably_client", "answer", url],
        stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, keys)
    shown = b""
    while True:
        try:
            if not (piece := os.read(ours, 4096)):
                break
        except OSError:  # the terminal closes with its last user
            break
        shown += piece
    status = process.wait(30)
    os.close(ours)
    return status, shown


def test_the_screen_is_cleared_after_sending(url: str) -> None:
    """On a real terminal: the answers leave the screen and its scrollback."""
    status, shown = on_a_terminal(url, b"1\n1\ny\n")

    before, wiped, after = shown.rpartition(b"\x1b[3J")
    assert status == 0
    assert wiped
    assert b"Your answer" in before
    assert b"Your answer" not in after
    assert b"receipt" in after


@pytest.mark.parametrize(("keys", "why"), [(b"1\n1\ny\n", b"closed"), (b"1\n\x04", b"Aborted")])
def test_the_screen_is_cleared_also_where_nothing_could_be_sent(
    own_server: Server, keys: bytes, why: bytes
) -> None:
    with closing(Store(str(own_server.database))) as store:
        store.close_survey("w")

    status, shown = on_a_terminal(f"{own_server.url}/s/w", keys)

    before, wiped, after = shown.rpartition(b"\x1b[3J")
    assert status == 1
    assert wiped
    assert b"Your answer" in before
    assert b"Your answer" not in after
    assert why in after


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(("http://h/",), "looks like"), (("http://127.0.0.1:1/s/w", "--limit", "x"), "limit")],
)
def test_a_wrong_call_is_explained(arguments: tuple[str, ...], why: str) -> None:
    done = answer(arguments[0], "", *arguments[1:])

    assert done.returncode == 2
    assert why in done.stderr


def test_a_survey_above_the_limit_is_refused_in_a_sentence(url: str) -> None:
    done = answer(url, "", "--limit", "1")

    assert done.returncode == 1
    assert done.stderr == (
        "In this survey this device has used 0\u00a0% of what it allows to give away about you, and"
        " this would add 210\u00a0%. So it does not answer.\n"
    )
    assert "Traceback" not in done.stderr


def test_a_survey_that_would_steer_the_terminal_is_refused(tmp_path: Path) -> None:
    server = Server(tmp_path / "deniably.db")
    document = json.loads(SURVEY.canonical)
    document["questions"][0]["label"] = "Ever\x1b[8m"
    document["intro"] = "Nothing \u202ewrong"
    server.publish(convert(document, Survey))  # which our own servers refuse authors

    done = answer(f"{server.url}/s/w", "1\ny\n")

    server.kill()
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        said("en", "script.untrusted"),
        "this survey's definition cannot be trusted: $.intro: character 9 is U+202E (right-to-left"
        " override), which nobody sees and which changes how the rest is shown; leave it out;"
        r' found "Nothing \u202ewrong"',
        "$.questions[0].label: character 5 is U+001B (a control character), which nobody sees and"
        r' which changes how the rest is shown; leave it out; found "Ever\u001b[8m"',
    ]
    assert "Ever" not in done.stdout


def test_every_type_can_be_answered_by_keys(tmp_path: Path) -> None:
    """Hidden questions are skipped, slips are asked again, and the report is valid."""
    survey = survey_of_everything()
    server = Server(tmp_path / "deniably.db")
    server.publish(survey)
    keys = [
        "2",  # not stolen: "what" is skipped
        "1",
        "1,9", "1,2,3,4", "1 3",  # a choice that is none, too many, and two ticks
        "0",
        "2", "3",
        "many", "7",
        "2500,5",
        "3", "1",
        "35", "10",
        "-7.5", "3",
        "1", "2",
        "y",
    ]  # fmt: skip
    try:
        done = answer(f"{server.url}/s/everything", "\n".join(keys) + "\n", "--limit", "64")
    finally:
        server.kill()

    assert done.returncode == 0, done.stderr
    assert "What was it?" not in done.stdout
    assert "The choices have the numbers 1 to 5" in done.stdout
    assert "Choose up to 3 answers." in done.stdout
    assert "Write a number, such as 12" in done.stdout
    assert "Numbers below 0 count as 0, numbers above 50 as 50." in done.stdout
    assert len(contents(tmp_path / "deniably.db")["reports"]) == 1


def test_only_drawn_questions_are_asked(tmp_path: Path) -> None:
    questions = [q for q in QUESTIONS if q["name"] in ("stolen", "caught")]
    survey = survey_of_everything(
        questions=[{"claim": {"epsilon": "2"}} | q for q in questions], ask=1
    )
    server = Server(tmp_path / "deniably.db")
    server.publish(survey)
    try:
        done = answer(f"{server.url}/s/everything", "1\ny\n")
    finally:
        server.kill()

    assert done.returncode == 0, done.stderr
    assert "You are asked 1 of 2 questions, picked by chance" in done.stdout
    (report,) = contents(tmp_path / "deniably.db")["reports"]
    assert report[2].count("null") == 1


def test_another_author_than_the_one_that_is_named_is_refused(url: str, server: Server) -> None:
    """The fingerprint may come from paper, and is written as there."""
    own = signed(SURVEY).fingerprint.upper()

    refused = answer(url, "1\n3\ny\n", "--author", "0123 4567")
    taken = answer(url, "1\n3\ny\n", "--author", own)

    assert refused.returncode == 1
    assert f"has the fingerprint {own.lower()}, not 0123 4567" in refused.stderr
    assert taken.returncode == 0
    assert f"Key of the author: {own.lower()}" in taken.stdout
    assert len(contents(server.database)["reports"]) == 1


# --- what the device remembers ------------------------------------------------------------------


def test_the_cost_is_shown_before_anything_is_asked(url: str) -> None:
    shown = answer(url, "1\n1\ny\n").stdout

    spending = shown.index("How much of this device’s limits is used:")
    assert spending < shown.index("Your answer")
    assert "This survey: so far 0\u00a0%, after this 42\u00a0%" in shown
    assert "All surveys by its author: so far 0\u00a0%, after this 21\u00a0%" in shown
    assert "All surveys: so far 0\u00a0%, after this 11\u00a0%" in shown
    assert "any guess about you at most 8.2 times as likely." in shown


def test_a_survey_answered_before_can_be_sent_again_as_it_was(url: str, server: Server) -> None:
    first = answer(url, "1\n1\ny\n").stdout
    again = answer(url, "1\n")

    assert again.returncode == 0, again.stderr
    assert "This device has answered this survey before." in again.stdout
    assert "Your answer" not in again.stdout
    said_again = said("en", "receipt.again") + "\n"
    assert said_again in again.stdout
    assert receipt(again.stdout).replace(said_again, "") == receipt(first)
    assert len(contents(server.database)["reports"]) == 1


def receipt(shown: str) -> str:
    return shown[shown.index("Sent. Your receipt") :]


def test_of_answers_that_have_changed_only_those_are_asked(url: str, server: Server) -> None:
    answer(url, "1\n1\ny\n")
    again = answer(url, "2\n7\n2\n3\ny\n")

    assert again.returncode == 0, again.stderr
    assert "The choices have the numbers 1 to 2" in again.stdout
    assert "How often" in again.stdout[again.stdout.index("How much of this device") :]
    assert "Ever stolen" not in again.stdout[again.stdout.index("How much of this device") :]
    assert "so far 42\u00a0%, after this 62\u00a0%" in again.stdout
    assert len(contents(server.database)["reports"]) == 2


def test_saying_that_nothing_has_changed_sends_the_same(url: str, server: Server) -> None:
    answer(url, "1\n1\ny\n")
    assert "Sent." in answer(url, "2\n0\n").stdout
    assert "Nothing was sent." in answer(url, "3\n").stdout

    assert len(contents(server.database)["reports"]) == 1


def test_above_a_limit_nobody_is_asked_and_it_says_why(url: str, server: Server) -> None:
    done = answer(url, "", "--limit-overall", "2")

    assert done.returncode == 1
    assert "Over all surveys this device has used 0\u00a0%" in done.stderr
    assert "this would add 105\u00a0%" in done.stderr
    assert "Your answer" not in done.stdout
    assert contents(server.database)["reports"] == []


def test_a_report_that_did_not_get_through_is_sent_next_time(url: str, server: Server) -> None:
    assert answer(url, "1\n1\ny\n").returncode == 0
    storage = Storage()
    storage.update(unsent)

    done = answer(url, "")

    assert "did not get through. It is sending it now, unchanged." in done.stdout
    assert "Sent. Your receipt" in done.stdout
    assert storage.read().reports[SURVEY.digest].sent
    assert len(contents(server.database)["reports"]) == 1


def unsent(memory: Memory) -> Memory:
    kept = memory.reports[SURVEY.digest]
    return replace(memory, reports={SURVEY.digest: StoredReport(sent=False, text=kept.text)})


def test_without_a_memory_nothing_is_kept(url: str, home: Path) -> None:
    answer(url, "1\n1\ny\n", "--no-memory")

    assert not home.exists()


def test_the_ledger_shows_what_was_given_away(url: str) -> None:
    assert "Nothing was given away" in call("ledger").stdout
    answer(url, "1\n1\ny\n")

    lines = call("ledger").stdout.splitlines()

    assert lines[0].split() == ["day", "survey", "question", "author", "given", "away"]
    author = signed(SURVEY).fingerprint
    first = rf"\d{{4}}-\d\d-\d\d  w       stolen    {author}  at most 3 times"
    assert re.fullmatch(first, lines[1])
    assert lines[2].endswith(f"often     {author}  at most 2.8 times")
    assert lines[4:] == [
        "survey w: at most 8.2 times, epsilon 2.10, 42 % of what this device allows",
        f"author {author}: at most 8.2 times, epsilon 2.10, 21 % of what this device allows;"
        f" epsilon 2.10 of it until {in_days(365)}; in all epsilon 2.10",
        "all: at most 8.2 times, epsilon 2.10, 11 % of what this device allows;"
        f" epsilon 2.10 of it until {in_days(365)}; in all epsilon 2.10",
    ]
    assert "20 % of what this device allows" in call("ledger", "--limit-overall", "10.5").stdout


def in_days(days: int) -> str:
    return (datetime.now(UTC).date() + timedelta(days=days)).isoformat()


def charged(days_ago: int, epsilon: int, author: str = signed(SURVEY).author) -> LedgerEntry:
    loss = Loss(exponent=Fraction(epsilon))
    return ledger_entry(in_days(-days_ago), author, "older", "0" * 64, "q", loss)


def charged_before(url: str, *entries: LedgerEntry) -> None:
    """A memory that has met the server, with these charges alone."""
    answer(url, "1\n1\nn\n")
    Storage().update(lambda memory: replace(memory, ledger=entries))


def test_what_is_a_year_old_is_listed_and_counts_in_all_alone(url: str) -> None:
    charged_before(url, charged(365, 4), charged(364, 3), charged(1, 2))

    lines = call("ledger").stdout.splitlines()

    assert [line.split()[0] for line in lines[1:4]] == [in_days(-each) for each in (365, 364, 1)]
    assert lines[-1] == (
        "all: at most 149 times, epsilon 5.00, 25 % of what this device allows;"
        f" epsilon 3.00 of it until {in_days(1)}; in all epsilon 9.00"
    )
    shown = json.loads(in_a_process("ledger", "--json").stdout)
    assert shown["totals"][-1] == {
        "scope": "overall", "name": "", "epsilon": "5.00", "percent": 25, "in_all": "9.00",
        "until": in_days(1), "leaving": "3.00",
    }  # fmt: skip


def test_before_a_survey_it_says_what_stops_counting_and_when(url: str) -> None:
    charged_before(url, charged(200, 4), charged(100, 2))

    said = answer(url, "1\n1\nn\n").stdout

    day = Words().day(in_days(165))
    assert f"All surveys by its author: so far 60\u00a0% (of which 40\u00a0% until {day})" in said
    assert f"All surveys: so far 30\u00a0% (of which 20\u00a0% until {day})" in said


def test_above_the_limit_of_an_author_it_says_until_when(url: str) -> None:
    charged_before(url, charged(200, 4), charged(100, 5))

    done = answer(url, "")

    assert done.returncode == 1
    assert f"You can answer from {Words().day(in_days(165))} on." in done.stderr
    Storage().update(lambda memory: replace(memory, ledger=(charged(365, 4), charged(100, 5))))
    assert "so far 50\u00a0%" in answer(url, "1\n1\nn\n").stdout


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_day_is_written_as_the_language_does(language: str) -> None:
    written = {
        "en": "3 March 2027", "de": "3. März 2027", "fr": "3 mars 2027", "it": "3 marzo 2027",
        "es": "3 de marzo de 2027", "pt": "3 de março de 2027", "pl": "3 marca 2027",
        "tr": "3 Mart 2027", "uk": "3 березня 2027 р.", "ar": "3 مارس 2027",
        "zh": "2027年3月3日",
    }  # fmt: skip
    assert Words(language).day("2027-03-03") == written[language]


@pytest.mark.parametrize("numpy", [True, False])
def test_the_ledger_adds_up_exactly_where_that_saves_something_and_numpy_is_there(
    numpy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not numpy:
        monkeypatch.setattr(ledger_cli, "find_spec", lambda name: None)
    loss = Loss(exponent=Fraction(1, 10))
    one = ledger_entry("2026-01-01", "", "s", "0" * 64, "q", loss)
    Storage().update(lambda memory: replace(memory, ledger=(one,) * 100))

    said = call("ledger").stdout.splitlines()

    assert said[-1 if not numpy else -3].startswith("all: at most 22,027 times")
    exactly = [line for line in said if "Kairouz" in line]
    assert [("epsilon 4.78" in line, "chance of 1e-06" in line) for line in exactly] == [
        (True, True)
    ] * numpy


def test_the_ledger_for_programs_is_exact(url: str) -> None:
    answer(url, "1\n1\ny\n")

    shown = json.loads(call("ledger", "--json").stdout)

    assert [each["odds"] for each in shown["entries"]] == [
        str(question.mechanism.loss.odds) for question in SURVEY.questions
    ]
    assert shown["totals"][-1] == {
        "scope": "overall", "name": "", "epsilon": "2.10", "percent": 11, "in_all": "2.10",
        "until": in_days(365), "leaving": "2.10",
    }  # fmt: skip


THROUGH_MIXER = as_survey(mixed(YES_NO, EIGHT, name="through"))


def charged_through_mixer() -> None:
    def charge(memory: Memory) -> Memory:
        author = signed(SURVEY).author
        mine = charges(THROUGH_MIXER, THROUGH_MIXER.questions, author, in_days(0))
        return replace(memory, ledger=(charged(0, 2), *mine))

    Storage().update(charge)


def test_the_ledger_has_totals_against_servers_and_if_mixers_help_them() -> None:
    charged_through_mixer()

    lines = call("ledger").stdout.splitlines()

    assert [line.split("  ")[-1].strip() for line in lines[:4]] == [
        "mixer", "at most 7.4 times", fingerprint(SIGNING), fingerprint(SIGNING),
    ]  # fmt: skip
    chance = ", except with a chance of at most 1 in 1,000,000"
    totals = [line.partition(" %")[0] for line in lines if line.startswith(("survey", "all"))]
    assert totals == [
        "survey older: at most 7.4 times, epsilon 2.00, 40",
        f"survey through: at most 3 times{chance}, epsilon 1.10, 22",
        f"all: at most 23 times{chance}, epsilon 3.10, 16",
        "survey older, together: at most 7.4 times, epsilon 2.00, 8",
        "survey through, together: at most 24 times, epsilon 3.18, 13",
        "all, together: at most 178 times, epsilon 5.18, 9",
    ]
    assert not any("Kairouz" in line for line in lines)


def test_the_ledger_for_programs_has_both_accounts() -> None:
    charged_through_mixer()

    shown = json.loads(call("ledger", "--json").stdout)

    assert [each.get("mixed", {}).get("epsilon") for each in shown["entries"]] == [
        None, "5493/5000", "0",
    ]  # fmt: skip
    totals = [(each.get("account"), each["scope"], each["epsilon"]) for each in shown["totals"]]
    assert totals == [
        (None, "survey", "2.00"),
        (None, "survey", "1.10"),
        (None, "author", "3.10"),
        (None, "overall", "3.10"),
        ("together", "survey", "2.00"),
        ("together", "survey", "3.18"),
        ("together", "author", "5.18"),
        ("together", "overall", "5.18"),
    ]


def test_to_forget_is_asked_once_more_and_its_consequence_said(url: str, home: Path) -> None:
    answer(url, "1\n1\ny\n")

    kept = call("forget", keys="n\n")
    assert kept.returncode == 1
    assert f"{home}: the report of 1 survey, encrypted" in kept.stdout
    assert "can no longer count what was given away" in kept.stdout
    assert Storage().read().ledger

    assert "Forgotten." in in_a_process("forget", keys="y\n").stdout
    assert not Storage().read().ledger


def test_a_memory_that_cannot_be_read_is_refused_until_it_is_forgotten(
    url: str, home: Path, tmp_path: Path
) -> None:
    answer(url, "1\n1\ny\n")
    (home / "memory.db").unlink()

    for refused in (answer(url, ""), call("ledger")):
        assert refused.returncode == 1
        assert "deniably forget" in refused.stderr
        assert "Traceback" not in refused.stderr
    assert "cannot be read any more" in call("forget", "--yes").stdout
    assert answer(url, "1\n1\ny\n").returncode == 0


def test_a_limit_that_is_none_is_explained() -> None:
    for option in ("--limit", "--limit-author", "--limit-overall"):
        assert "above 0 and at most 64" in call("ledger", option, "65").stderr


def test_in_a_later_wave_nothing_is_asked_unless_it_has_changed(tmp_path: Path) -> None:
    server = Server(tmp_path / "waves.db")
    text = "name: wave-%d\ntitle: Waves\nwaves: {panel: work}\nquestions:\n"
    text += "  - {name: stolen, type: yes_no, label: Ever stolen, epsilon: 0.5}\n"
    text += "  - {name: late, type: yes_no, label: Ever late, epsilon: 0.5}\n"
    for number in (1, 2, 3):
        server.publish(publish_text(text % number))
    try:
        first = answer(f"{server.url}/s/wave-1", "1\n1\ny\n")
        second = answer(f"{server.url}/s/wave-2", "0\ny\n")
        third = answer(f"{server.url}/s/wave-3", "2\n1\ny\n")
    finally:
        server.kill()

    assert first.stdout.count("Your answer") == 2, first.stderr
    assert "in an earlier wave" in second.stdout, second.stderr
    assert "Your answer" not in second.stdout
    until = f"(of which 20\u00a0% until {Words().day(in_days(365))})"
    assert f"so far 20\u00a0% {until}, after this 20\u00a0%" in second.stdout
    assert third.stdout.count("Your answer") == 1, third.stderr
    assert f"so far 20\u00a0% {until}, after this 30\u00a0%" in third.stdout
    assert [row[2].count("null") for row in contents(tmp_path / "waves.db")["reports"]] == [0, 0, 0]


# --- another author -----------------------------------------------------------------------------

FIRST, LATER_ATTACKS = (
    publish_text(SURVEY_TEXT.replace("name: w", f"name: {name}")) for name in ("first", "later")
)


@pytest.fixture
def strangers(tmp_path: Path):  # type: ignore[no-untyped-def]
    """A server whose author this device has answered; the survey w there is a stranger's."""
    server = Server(tmp_path / "strangers.db")
    server.publish(FIRST)
    assert answer(f"{server.url}/s/first", "1\n1\ny\n").returncode == 0
    server.publish(SURVEY, STRANGER)
    server.publish(LATER_ATTACKS, STRANGER)
    yield server
    server.kill()


@pytest.mark.parametrize("no", ["n\n", "\n", "nein\n"])
def test_where_another_author_asks_a_no_sends_and_keeps_nothing(strangers: Server, no: str) -> None:
    before = Storage().read()

    done = answer(f"{strangers.url}/s/w", no + "1\n1\ny\n")

    assert done.returncode == 0, done.stderr
    assert f"Another author than before asks at {strangers.url}." in done.stdout
    assert f"known so far: {signed(FIRST).fingerprint}" in done.stdout
    assert f"asks now: {signed(SURVEY, STRANGER).fingerprint}" in done.stdout
    assert done.stdout.endswith("Nothing was sent.\n")
    assert "Your answer" not in done.stdout
    assert Storage().read() == before
    assert len(contents(strangers.database)["reports"]) == 1


def test_where_nobody_is_there_to_be_asked_about_the_author_nothing_is_sent(
    strangers: Server,
) -> None:
    before = Storage().read()

    assert answer(f"{strangers.url}/s/w", "").returncode == 1
    assert Storage().read() == before
    assert len(contents(strangers.database)["reports"]) == 1


def test_another_author_who_is_accepted_is_remembered(strangers: Server) -> None:
    first = answer(f"{strangers.url}/s/w", "y\n1\n3\ny\n")
    later = answer(f"{strangers.url}/s/later", "1\n3\ny\n")

    assert "Another author" in first.stdout
    assert "Sent. Your receipt" in first.stdout, first.stderr
    assert Storage().read().authors == {strangers.url: [AUTHOR.author, STRANGER.author]}
    assert "Another author" not in later.stdout
    assert "Sent. Your receipt" in later.stdout, later.stderr


def test_another_author_whose_fingerprint_is_given_is_not_asked_about(strangers: Server) -> None:
    print_ = signed(SURVEY, STRANGER).fingerprint

    done = answer(f"{strangers.url}/s/w", "1\n3\ny\n", "--author", print_)

    assert "Another author" not in done.stdout
    assert f"Key of the author: {print_}" in done.stdout, done.stderr
    assert Storage().read().authors == {strangers.url: [AUTHOR.author, STRANGER.author]}


# --- refusals, in the respondent's language -----------------------------------------------------


def said(language: str, key: str, **values: object) -> str:
    """The lines of a text, as a terminal shows them."""
    return Words(language)(key, **values)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_limit_is_explained_in_the_language_of_the_respondent(url: str, language: str) -> None:
    done = answer(url, "", "--language", language, "--limit-author", "2", "--limit", "4")

    assert done.returncode == 1
    assert done.stderr == said(language, "script.author_spent", before=0, more=105) + "\n"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_limit_of_chance_is_explained_in_the_language_of_the_respondent(language: str) -> None:
    rare = Loss(delta=Fraction(1, 2000))
    error = BudgetSpent("overall", rare, rare + rare, Fraction(1, 1000), of_delta=True)

    assert refusals.refusal_text(error, Words(language)) == " ".join(
        [
            said(language, "script.overall_spent", before=50, more=100),
            said(language, "script.chance_spent"),
        ]
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_limit_of_mixers_and_servers_is_explained_so(language: str) -> None:
    large, limit = Loss(exponent=Fraction(40)), Fraction(50)
    error = BudgetSpent("author", large, large, limit, together=True)

    assert refusals.refusal_text(error, Words(language)) == " ".join(
        [
            said(language, "script.author_spent", before=80, more=80),
            said(language, "terminal.together"),
        ]
    )


def test_a_survey_in_german_refuses_in_german(tmp_path: Path) -> None:
    server = Server(tmp_path / "german.db")
    server.publish(publish_text(SURVEY_TEXT.replace("title:", "language: de\ntitle:")))
    try:
        done = answer(f"{server.url}/s/w", "", "--limit", "1")
    finally:
        server.kill()

    assert done.stderr.startswith("In dieser Umfrage hat dieses Gerät 0\u00a0% dessen verbraucht")


@pytest.mark.parametrize("language", ["de", "zh"])
def test_a_damaged_memory_is_explained_in_the_language_of_the_respondent(
    url: str, home: Path, language: str
) -> None:
    answer(url, "1\n1\ny\n")
    (home / "memory.key").unlink()

    done = answer(url, "", "--language", language)

    assert done.returncode == 1
    told, mend, why = done.stderr.splitlines()
    assert told == said(language, "script.damaged")
    assert mend == said(language, "terminal.forget", command="deniably forget")
    assert why == f"{home}: its key is missing"


def test_a_survey_that_is_not_trusted_is_refused_in_the_language_and_with_the_reason(
    url: str, server: Server
) -> None:
    with intercepting_proxy(url.removesuffix("/s/w")) as proxy:
        proxy.register(lambda entries: entries.clear())
        done = answer(f"{proxy.url}/s/w", "1\n1\ny\n", "--language", "fr")

    assert done.returncode == 1
    told, why = done.stderr.splitlines()
    assert told == said("fr", "script.untrusted")
    assert why == "this survey cannot be trusted: the register has no entry of the number 1"
    assert done.stdout == ""
    assert contents(server.database)["reports"] == []


def test_free_text_is_refused_before_anything_is_asked(url: str) -> None:
    with intercepting_proxy(url.removesuffix("/s/w")) as proxy:
        proxy.changes["/api/surveys/w"] = lambda body: body.replace(b'"yes_no"', b'"text"')
        done = answer(f"{proxy.url}/s/w", "1\n1\ny\n")

    assert done.returncode == 1
    assert "free text cannot be asked: a sentence that a person writes" in done.stderr
    assert done.stdout == ""
    assert not proxy.posted


def test_a_survey_that_changes_meanwhile_is_explained_in_the_language(url: str) -> None:
    """At the second time that the device looks, once everything was answered."""
    with intercepting_proxy(url.removesuffix("/s/w")) as proxy:
        looks = iter((False, True))

        def second(body: bytes) -> bytes:
            return body.replace(b"At work", b"Elsewhere") if next(looks) else body

        proxy.changes["/api/surveys/w"] = second
        done = answer(f"{proxy.url}/s/w", "1\n1\nsì\n", "--language", "it")

    assert done.returncode == 1
    assert done.stderr == said("it", "terminal.changed") + "\n"
    assert not proxy.posted
    assert not Storage().read().reports


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_does_not_get_through_waits_and_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str
) -> None:
    server = Server(tmp_path / "gone.db")
    server.publish(SURVEY)
    storage = Storage()
    with session(retries=0) as connections:
        device = Device(f"{server.url}/s/w", memory=storage, session=connections)
        assert device.survey == SURVEY
        server.kill()
        answers = {"stolen": "yes", "often": "never"}
        with pytest.raises(SystemExit) as ended:
            _deliver(device, Talk(Words(language)), lambda: device.answer(answers))

    assert ended.value.code == 1
    assert capsys.readouterr().err == said(language, "terminal.queued") + "\n"
    assert not storage.read().reports[SURVEY.digest].sent


@pytest.mark.parametrize("sentence", ["No\x1b[2J.", "No\r\x9b8m."])
def test_what_a_server_says_is_shown_and_not_obeyed(sentence: str) -> None:
    told = refusals.refusal_text(Rejected(422, {"detail": sentence}), Words("fr"))

    assert told.startswith(said("fr", "script.rejected") + "\nNo")
    assert not set(told) & set("\x1b\r\x9b")
    assert "\u00a0" in told, "the spaces of French stay"


def test_a_closed_survey_is_explained_in_the_language(tmp_path: Path) -> None:
    server = Server(tmp_path / "closed.db")
    server.publish(SURVEY)
    with closing(Store(str(server.database))) as store:
        store.close_survey("w")
    try:
        done = answer(f"{server.url}/s/w", "1\n1\noui\n", "--language", "fr")
    finally:
        server.kill()

    assert (done.returncode, done.stderr) == (1, "L’enquête est terminée.\n")


def test_who_sees_a_question_is_not_offered_not_applicable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three choices two are listed, and the third number is none of them."""
    survey = compile_survey(
        {
            "name": "w",
            "title": "W",
            "questions": [
                {"name": "a", "type": "yes_no", "label": "A", "odds": 3},
                {
                    "name": "b", "type": "yes_no", "label": "B", "odds": 3,
                    "show_if": {"question": "a", "is": "yes"},
                },
            ],
        }
    )  # fmt: skip
    keys = iter(["1", "3", "2"])
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda *_: next(keys))

    found = Talk(Words("en")).ask_all(survey.questions)

    assert found == {"a": "yes", "b": "no"}
    shown = capsys.readouterr().out
    assert "Not applicable" not in shown
