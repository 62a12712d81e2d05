"""The copy of an author's signature: six words open it, here and in OpenSSL, and no others do."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from deniably.core.errors import BadKey, BadWords
from deniably.trust.recovery import (
    LETTERS,
    draw_words,
    is_copy,
    read_copy,
    read_words,
    word_list,
    write_copy,
)
from deniably.trust.signing import fingerprint
from support.cases import for_each
from support.keys import key_of

KEY = key_of(bytes(range(32)))
WORDS = ("amber", "lantern", "orbit", "velvet", "pocket", "river")
GROUP = "Bäcker & Söhne"
COPY = write_copy(KEY, GROUP, "2026-11-21", WORDS)


# --- the words ----------------------------------------------------------------------------------


def test_the_list_has_2048_words_that_four_letters_tell_apart() -> None:
    words = word_list()

    assert len({word[:LETTERS] for word in words}) == len(words) == 2048
    assert list(words) == sorted(words)
    assert all(re.fullmatch("[a-z]{4,8}", word) for word in words)


def test_words_are_drawn_anew_from_the_whole_list() -> None:
    drawn = [word for _ in range(400) for word in draw_words()]

    assert set(drawn) <= set(word_list())
    assert len(set(drawn)) > 1200  # of 2,400 draws from 2,048 words some 1,410 are different


def test_words_are_read_however_they_are_typed() -> None:
    for typed in ("AMBER lantern\nOrbit, velvet - pocket river\n", "ambe lant orbi velv pock rive"):
        assert read_words(typed) == WORDS


@for_each(
    ("typed", "sentence"),
    [
        ("amber lantern orbit velvet pocket", "A copy opens with six words, and this is 5."),
        ("", "A copy opens with six words, and this is none."),
        ("amber lantern orbit xylem pocket river", "Word 4 is not on the list"),
        ("amber lan orbit velvet pocket river", "Word 2 is not on the list"),
    ],
)  # fmt: skip
def test_what_is_no_six_words_is_a_sentence_without_them(typed: str, sentence: str) -> None:
    with pytest.raises(BadWords) as refused:
        read_words(typed)

    assert sentence in str(refused.value)
    assert "amber" not in str(refused.value)


# --- the file -----------------------------------------------------------------------------------


def test_a_copy_names_its_group_number_and_day_and_opens_with_its_words() -> None:
    found = read_copy(COPY.text.encode())

    assert found == COPY
    assert (found.group, found.day) == (GROUP, "2026-11-21")
    assert found.number == fingerprint(KEY.author)
    assert found.open(WORDS).author == KEY.author


def test_openssl_and_cryptography_open_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "copy.pem"
    path.write_text(COPY.text, encoding="utf-8")
    password = " ".join(WORDS)

    loaded = load_pem_private_key(path.read_bytes(), password.encode())
    command = ["openssl", "pkey", "-in", path, "-passin", f"pass:{password}", "-pubout"]
    done = subprocess.run([*command, "-outform", "DER"], capture_output=True, check=True)

    assert isinstance(loaded, Ed25519PrivateKey)
    assert loaded.private_bytes_raw() == KEY.secret
    assert done.stdout[-32:].hex() == KEY.author


def test_a_file_that_another_program_saved_again_still_opens() -> None:
    saved = "\ufeff" + COPY.text.replace("\n", "  \r\n")

    assert read_copy(saved.encode()) == COPY


def test_other_words_do_not_open_a_copy() -> None:
    with pytest.raises(BadWords, match=r"^These are not the words of this copy\.$"):
        COPY.open(WORDS[::-1])


def test_a_copy_says_nothing_of_the_key_and_is_another_each_time() -> None:
    assert KEY.secret.hex() not in repr(COPY)
    assert "sealed" not in repr(COPY)
    assert write_copy(KEY, GROUP, "2026-11-21", WORDS).text != COPY.text


def test_a_changed_number_or_key_shows() -> None:
    other = fingerprint(key_of(bytes(32)).author)
    renamed = read_copy(COPY.text.replace(COPY.number, other).encode())
    # In CBC, a changed block is chance when it is opened, here in the secret.
    sealed = bytes([*COPY._sealed[:31], COPY._sealed[31] ^ 1, *COPY._sealed[32:]])
    changed = replace(COPY, _sealed=sealed)

    for one in (renamed, changed):
        with pytest.raises(BadKey, match="this copy was changed: it names the number"):
            one.open(WORDS)


LINES = COPY.text.splitlines(keepends=True)
CUT = "this copy is cut or damaged"


@for_each(
    "text",
    ["".join(LINES[:count]) for count in range(1, len(LINES))]
    + ["".join(LINES[count:]) for count in range(1, 7)]
    + [COPY.text.replace(LINES[8], ""), COPY.text.replace("Day: 2026-11-21", "Day: 2026-13-21")],
)
def test_a_cut_copy_is_a_sentence(text: str) -> None:
    with pytest.raises(BadKey, match=CUT):
        read_copy(text.encode())


def test_a_key_with_a_password_of_somebody_elses_is_no_copy() -> None:
    secret = Ed25519PrivateKey.from_private_bytes(bytes(32))
    text = secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))

    assert is_copy(text)
    for theirs in (text, "".join(LINES[:6]).encode() + text):
        with pytest.raises(BadKey, match="a key with a password, and no copy"):
            read_copy(theirs)


@for_each("text", [b"", b"dear diary", KEY.text, b"\xff" * 99])
def test_something_else_is_no_copy(text: bytes) -> None:
    assert not is_copy(text)
    with pytest.raises(BadKey, match="this is no copy of a signature"):
        read_copy(text)


@for_each("group", ["", " x", "a\nb", "-----BEGIN x-----", "x" * 101, "a\u202eb"])
def test_a_group_is_one_line_that_cannot_be_taken_for_the_key(group: str) -> None:
    with pytest.raises(BadKey, match="the name of a group"):
        write_copy(KEY, group, "2026-11-21", WORDS)
