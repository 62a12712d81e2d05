"""An author's key as a copy that six words open, and signing on a computer without a network."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import requests
from click.testing import CliRunner, Result

from deniably.authoring.compiling import publish_text
from deniably.core.errors import BadSignature
from deniably.trust.recovery import read_words, write_copy
from deniably.trust.register import closing_digest
from deniably.trust.signature_file import read_signature_file
from deniably.trust.signing import Signature, fingerprint, new_key, read_key, verify_text
from deniably_server.commands import author_key_cli, authoring
from deniably_server.commands.sign import sign
from support.cases import for_each
from support.material import AUTHOR, Server

WORDS = ("amber", "lantern", "orbit", "velvet", "pocket", "river")
NUMBER = fingerprint(AUTHOR.author)
COPY = write_copy(AUTHOR, "Harbour Workers' Union", "2026-11-21", WORDS).text
SURVEY = """
name: spring
title: Spring
questions:
  - {name: smokes, type: yes_no, label: "Do you smoke?", odds: 3}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the key is kept; nothing is there yet."""
    folder = tmp_path / "home"
    monkeypatch.setenv("DENIABLY_HOME", str(folder))
    monkeypatch.delenv("DENIABLY_WORDS", raising=False)
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the author's key, as a browser saves it: others may read it."""
    path = tmp_path / "copy.pem"
    path.write_text(COPY, encoding="utf-8")
    path.chmod(0o644)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "survey.yaml"
    path.write_text(SURVEY, encoding="utf-8")
    return path


def run(command: click.Command, *arguments: object, words: str | None = None) -> Result:
    env = {"DENIABLY_WORDS": words, "DENIABLY_KEY": None}
    return CliRunner().invoke(command, [str(each) for each in arguments], env=env)


def words_file(folder: Path, text: str = " ".join(WORDS), mode: int = 0o600) -> Path:
    path = folder / "words"
    path.write_text(text)
    path.chmod(mode)
    return path


# --- the copy -----------------------------------------------------------------------------------


def test_a_copy_is_made_its_words_are_shown_once_and_it_becomes_the_key_elsewhere(
    tmp_path: Path, home: Path
) -> None:
    target = tmp_path / "copy.pem"
    made = run(author_key_cli.copy, target, "--group", "The Union")
    elsewhere = tmp_path / "elsewhere" / "author.key"
    opened = run(author_key_cli.open_copy, target, "--to", elsewhere, words=made.stdout)

    key = read_key((home / "author.key").read_bytes())
    assert len(read_words(made.stdout)) == 6
    assert made.stdout.strip() not in target.read_text() + made.stderr
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(elsewhere.stat().st_mode) == 0o600
    assert opened.exit_code == 0, opened.output
    assert read_key(elsewhere.read_bytes()).author == key.author
    assert fingerprint(key.author) in opened.output


def test_the_number_is_shown_of_a_key_and_of_a_copy_without_its_words(copy: Path) -> None:
    missing = run(author_key_cli.show)
    shown = run(author_key_cli.show, "--key", copy)

    assert missing.exit_code == 1
    assert "there is no author's key" in missing.output
    assert NUMBER in shown.output
    assert "a copy for Harbour Workers' Union, made on 2026-11-21" in shown.output


def test_no_file_is_written_over(copy: Path, tmp_path: Path) -> None:
    again = run(author_key_cli.copy, copy, "--group", "The Union")
    over = run(author_key_cli.open_copy, copy, "--to", copy, words=" ".join(WORDS))
    named = run(author_key_cli.copy, tmp_path / "new.pem", "--group", "a\nb")

    assert again.exit_code == over.exit_code == named.exit_code == 1
    assert "already; it was left alone" in again.output
    assert "already; it was left alone" in over.output
    assert "the name of a group is a line" in named.output
    assert copy.read_text() == COPY
    assert not (tmp_path / "new.pem").exists()


def test_a_survey_is_published_and_closed_with_a_copy(
    server: Server, file: Path, copy: Path, tmp_path: Path
) -> None:
    to = ("--server", server.url, "--token", server.token, "--key", copy)
    by_variable = run(authoring.publish, file, *to, words="Amber lantern orbit velvet pocket river")
    by_file = run(authoring.close, "spring", "--yes", *to, "--words-file", words_file(tmp_path))

    assert by_variable.exit_code == 0, by_variable.output
    assert NUMBER in by_variable.output
    assert by_file.exit_code == 0, by_file.output
    register = requests.get(f"{server.url}/register", timeout=30).json()
    assert register["entries"][-2]["author"] == AUTHOR.author


@for_each(
    ("words", "sentence"),
    [
        (" ".join(WORDS[::-1]), "These are not the words of this copy."),
        ("amber", "A copy opens with six words, and this is 1."),
        (None, "six words open it: name a file with them by --words-file, or put them into"),
    ],
)
def test_a_copy_that_does_not_open_is_a_sentence_and_nothing_is_sent(
    file: Path, copy: Path, words: str | None, sentence: str
) -> None:
    to = ("--server", "http://127.0.0.1:9", "--token", "x", "--key", copy)
    done = run(authoring.publish, file, *to, words=words)

    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert sentence in done.output
    assert "amber" not in done.output


@for_each(
    ("text", "sentence"),
    [
        (COPY[:-50], "this copy is cut or damaged: take the whole file, with all its lines"),
        (COPY.replace(NUMBER[:4], "0000"), "this copy was changed: it names the number 0000"),
    ],
)
def test_a_copy_that_is_not_as_it_was_written_is_a_sentence(
    file: Path, copy: Path, text: str, sentence: str
) -> None:
    copy.write_text(text, encoding="utf-8")
    done = run(sign, file, "--yes", "--key", copy, words=" ".join(WORDS))

    assert done.exit_code == 1
    assert f"cannot use {copy} as the author's key: {sentence}" in done.output


def test_a_file_of_words_is_for_its_owner_alone(file: Path, copy: Path, tmp_path: Path) -> None:
    path = words_file(tmp_path, mode=0o644)
    open_to_all = run(sign, file, "--yes", "--key", copy, "--words-file", path)
    path.unlink()
    missing = run(sign, file, "--yes", "--key", copy, "--words-file", path)

    assert f"the file of words {path} can be read by others" in open_to_all.output
    assert f"cannot read the words in {path}" in missing.output
    assert open_to_all.exit_code == missing.exit_code == 1


def test_a_terminal_asks_for_the_words_up_to_three_times_and_does_not_show_them(
    file: Path, copy: Path
) -> None:
    typed = ["amber lantern", " ".join(WORDS[::-1]), " ".join(WORDS)]
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "deniably_client", "sign", str(file), "--yes", "--key"]
    process = subprocess.Popen(
        [*command, str(copy)], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    shown = ""
    for words in typed:
        shown += _until(ours, "The six words of the copy: ")
        os.write(ours, f"{words}\n".encode())
    shown += _until(ours, "publish it with")
    os.close(ours)

    assert process.wait(60) == 0
    assert shown.count("A copy opens with six words, and this is 2.") == 1
    assert shown.count("These are not the words of this copy.") == 1
    assert "lantern" not in shown
    assert NUMBER in shown


def _until(terminal: int, end: str) -> str:
    shown, until = "", time.monotonic() + 60
    while end not in shown:
        assert time.monotonic() < until, shown
        shown += os.read(terminal, 4096).decode()
    return shown


# --- signing elsewhere --------------------------------------------------------------------------


def test_a_survey_is_signed_without_a_network_and_published_without_a_key(
    server: Server, file: Path, copy: Path, tmp_path: Path, home: Path
) -> None:
    file.write_text(SURVEY.replace("name: spring", "name: summer"))
    checked = run(authoring.check, file).output.partition("What respondents read first")[0]
    signed = run(sign, file, "--yes", "--key", copy, words=" ".join(WORDS))
    to = ("--server", server.url, "--token", server.token)
    published = run(authoring.publish, file, *to, "--signature", tmp_path / "summer.signature")

    assert signed.exit_code == 0, signed.output
    tables = checked.partition("\nWhat your other surveys")[0]
    assert tables in signed.output
    assert NUMBER in signed.output
    assert published.exit_code == 0, published.output
    assert NUMBER in published.output
    assert not home.exists()


def test_nothing_is_signed_unless_the_author_says_so(file: Path, tmp_path: Path) -> None:
    for typed in ("n\n", ""):
        done = CliRunner().invoke(sign, [str(file)], input=typed)

        assert done.exit_code == 1
        assert "Sign spring, digest " in done.output
        assert [path.name for path in tmp_path.iterdir()] == ["survey.yaml"]


def test_a_key_in_both_forms_signs_alike(file: Path, copy: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.key"
    plain.touch(0o600)
    plain.write_bytes(AUTHOR.text)
    made = tmp_path / "spring.signature"

    run(sign, file, "--yes", "--key", plain)
    first = made.read_text()
    made.unlink()
    run(sign, file, "--yes", "--key", copy, words=" ".join(WORDS))

    assert made.read_text() == first


@for_each(
    ("before", "after", "sentence"),
    [
        ("odds: 3", "odds: 5", "this is the signature of another version of spring: of digest"),
        ("name: spring", "name: autumn", "this is the signature of spring, and not of autumn"),
    ],
)
def test_the_signature_of_another_version_is_refused_and_nothing_is_sent(
    file: Path, tmp_path: Path, before: str, after: str, sentence: str
) -> None:
    file.write_text(SURVEY)
    run(sign, file, "--yes")
    file.write_text(SURVEY.replace(before, after))
    to = ("--server", "http://127.0.0.1:9", "--token", "x")
    done = run(authoring.publish, file, *to, "--signature", tmp_path / "spring.signature")

    assert done.exit_code == 1
    assert f"{tmp_path / 'spring.signature'}: {sentence}" in done.output


@for_each("content", [b"", b"{}", None, new_key().text])
def test_what_is_no_signature_is_a_sentence(
    file: Path, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "other.signature"
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)
    done = run(authoring.publish, file, "--token", "x", "--signature", path)

    assert done.exit_code == 1
    why = "cannot read" if content is None else "this is no file that deniably sign wrote"
    assert why in done.output


# --- what the studio gives out ------------------------------------------------------------------

NONCE = "n" * 40
ORIGIN = "https://survey.example.org"


def given_out(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "given.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_definition_is_signed_as_it_will_be_published(tmp_path: Path, copy: Path) -> None:
    survey = publish_text(SURVEY)
    path = given_out(tmp_path, json.loads(survey.canonical))

    done = run(sign, path, "--yes", "--key", copy, words=" ".join(WORDS))

    assert done.exit_code == 0, done.output
    assert f"digest {survey.digest}" in done.output
    assert "What respondents read first" in done.output
    assert "choose spring.signature on the page that gave you given.json" in done.output
    made = read_signature_file((tmp_path / "spring.signature").read_bytes())
    assert made.of("spring", survey.digest) == AUTHOR.sign(survey.digest)


def test_a_closing_is_signed_and_is_no_publication(tmp_path: Path, copy: Path) -> None:
    survey = publish_text(SURVEY)
    path = given_out(tmp_path, {"close": json.loads(survey.canonical)})

    asked = CliRunner().invoke(sign, [str(path)], input="n\n")
    done = run(sign, path, "--yes", "--key", copy, words=" ".join(WORDS))

    assert "spring: Spring" in asked.output
    assert "Close spring for good?" in asked.output
    assert asked.exit_code == 1
    assert done.exit_code == 0, done.output
    made = read_signature_file((tmp_path / "spring-close.signature").read_bytes())
    assert made.of("spring", closing_digest(survey.digest)).author == AUTHOR.author
    with pytest.raises(BadSignature, match="another version"):
        made.of("spring", survey.digest)


def test_a_sign_in_is_signed_for_its_server_alone(tmp_path: Path, copy: Path) -> None:
    path = given_out(tmp_path, {"sign_in": {"origin": ORIGIN, "nonce": NONCE}})

    asked = CliRunner().invoke(sign, [str(path)], input="n\n")
    done = run(sign, path, "--yes", "--key", copy, words=" ".join(WORDS))

    assert f"Sign in to the studio of {ORIGIN}?" in asked.output
    assert done.exit_code == 0, done.output
    made = json.loads((tmp_path / "sign-in.signature").read_bytes())
    assert set(made) == {"origin", "nonce", "author", "signature"}
    text = f"deniably sign-in 1\n{ORIGIN}\n{NONCE}\n".encode()
    verify_text(text, Signature(AUTHOR.author, made["signature"]))


@for_each(
    ("content", "sentence"),
    [
        ({"sign_in": {"origin": "https://a.example/x", "nonce": NONCE}}, "is no sign-in"),
        ({"sign_in": {"origin": ORIGIN, "nonce": "n\ndeniably survey 1"}}, "is no sign-in"),
        ({"sign_in": {"origin": f"{ORIGIN}\n", "nonce": NONCE}}, "is no sign-in"),
        ({"sign_in": {"origin": ORIGIN, "nonce": f"{NONCE}\n"}}, "is no sign-in"),
        ({"sign_in": {"origin": ORIGIN}}, "is no sign-in"),
        ({"sign_in": []}, "is no sign-in"),
        ({"close": {"name": "spring"}}, "is no valid survey"),
        ({"close": None}, "is no valid survey"),
        ({"close": {}, "sign_in": {}}, "is no valid survey"),
        ("[1]", "is no valid survey"),
    ],
)
def test_what_is_nothing_to_sign_is_a_sentence(
    tmp_path: Path, copy: Path, content: object, sentence: str
) -> None:
    path = given_out(tmp_path, content)
    done = run(sign, path, "--yes", "--key", copy, words=" ".join(WORDS))

    assert done.exit_code == 1
    assert sentence in done.output
    assert not list(tmp_path.glob("*.signature"))
