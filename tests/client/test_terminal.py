"""Answering in a terminal: the odds before each answer, a receipt afterwards, no trace."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deniably.authoring import publish_text
from every_type import QUESTIONS, survey_of_everything
from server.material import Server, contents, signed

SURVEY = publish_text(
    """
name: w
title: At work
intro: Two questions.
questions:
  - {name: stolen, type: yes_no, label: Ever stolen, odds: 3}
  - {name: often, type: select_one, label: How often, choices: [Never, Once, Often], epsilon: 1}
"""
)


@pytest.fixture
def url(tmp_path: Path):  # type: ignore[no-untyped-def]
    server = Server(tmp_path / "deniably.db")
    server.publish(SURVEY)
    yield f"{server.url}/s/w"
    server.kill()


def answer(url: str, keys: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deniably_client", "answer", url, *options]
    return subprocess.run(command, input=keys, capture_output=True, text=True, timeout=60)


def test_the_odds_come_before_each_answer_and_the_receipt_at_the_end(url: str) -> None:
    done = answer(url, "1\n3\ny\n")

    assert done.returncode == 0, done.stderr
    shown = done.stdout
    assert shown.index("75 of 100 times") < shown.index("Your answer")
    assert shown.index("How often") < shown.rindex("of 100 times") < shown.rindex("Your answer")
    receipt = shown[shown.index("Sent.") :]
    assert re.search(r"Digest of what was sent: [0-9a-f]{64}", receipt)
    assert SURVEY.digest in receipt
    assert "Yes" not in receipt
    assert "Often" not in receipt


def test_one_valid_report_reaches_the_server(url: str, tmp_path: Path) -> None:
    answer(url, "2\n1\ny\n")

    stored = contents(tmp_path / "deniably.db")["reports"]
    assert len(stored) == 1


def test_a_no_at_the_end_sends_nothing(url: str, tmp_path: Path) -> None:
    done = answer(url, "1\n1\nn\n")

    assert "Nothing was sent" in done.stdout
    assert contents(tmp_path / "deniably.db")["reports"] == []


def test_a_number_that_is_no_choice_is_asked_again(url: str) -> None:
    done = answer(url, "7\nx\n1\n1\nn\n")

    assert done.returncode == 0
    assert done.stdout.count("Write a number from 1 to 2.") == 2


def test_the_screen_is_cleared_after_sending(url: str) -> None:
    """On a real terminal: the answers leave the screen and its scrollback."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "deniably_client", "answer", url],
        stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, b"1\n1\ny\n")
    shown = b""
    while True:
        try:
            if not (piece := os.read(ours, 4096)):
                break
        except OSError:  # the terminal closes with its last user
            break
        shown += piece
    assert process.wait(30) == 0
    os.close(ours)

    before, wiped, after = shown.rpartition(b"\x1b[3J")
    assert wiped
    assert b"Your answer" in before
    assert b"Your answer" not in after
    assert b"receipt" in after


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
    assert done.stderr.startswith("Error: the questions together allow epsilon 2.10")
    assert "Traceback" not in done.stderr


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


def test_another_author_than_the_one_that_is_named_is_refused(url: str, tmp_path: Path) -> None:
    """The fingerprint may come from paper, and is written as there."""
    own = signed(SURVEY).fingerprint.upper()

    refused = answer(url, "1\n3\ny\n", "--author", "0123 4567")
    taken = answer(url, "1\n3\ny\n", "--author", own)

    assert refused.returncode == 1
    assert f"has the fingerprint {own.lower()}, not 0123 4567" in refused.stderr
    assert taken.returncode == 0
    assert f"Author’s fingerprint: {own.lower()}" in taken.stdout
    assert len(contents(tmp_path / "deniably.db")["reports"]) == 1
