"""Envelopes: what is sealed is opened by one key alone, and no envelope tells by its looks what is
in it. The vectors say what every byte is."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.core.errors import BadEnvelope, BadKey
from deniably.trust.envelope import (
    OpeningKey,
    inner_size,
    new_opening_key,
    open_inner,
    open_outer,
    outer_size,
    read_opening_key,
    seal_inner,
    seal_outer,
)
from deniably.trust.invitation_codes import new_code
from deniably.trust.signing import new_key

DIGEST = "5" * 64
LENGTH = 192
SERVER, MIXER = new_opening_key(), new_opening_key()
REPORT = b'{"id":"00000000000000000000000000000000","survey":"...","values":{"stolen":[1]}}'
INNER = seal_inner(SERVER.public, DIGEST, REPORT, LENGTH)
OUTER = seal_outer(MIXER.public, DIGEST, [INNER, INNER])


def opened(sealed: bytes) -> bytes:
    return open_inner(SERVER, DIGEST, sealed, LENGTH)


@given(st.binary(max_size=LENGTH - 2))
def test_what_was_sealed_is_opened_and_every_report_makes_an_envelope_of_the_same_length(
    report: bytes,
) -> None:
    sealed = seal_inner(SERVER.public, DIGEST, report, LENGTH)

    assert opened(sealed) == report
    assert len(sealed) == inner_size(LENGTH) == 273


@pytest.mark.parametrize("questions", [1, 2, 6, 100])
def test_a_mixer_gets_the_code_and_the_inner_envelopes_as_they_are(questions: int) -> None:
    inner = tuple(os.urandom(inner_size(LENGTH)) for _ in range(questions))
    code = new_code()

    for sent in ("", code):
        sealed = seal_outer(MIXER.public, DIGEST, inner, sent)
        got = open_outer(MIXER, DIGEST, sealed, LENGTH, questions)
        assert (got.code, got.inner) == (sent, inner)
        assert len(sealed) == outer_size(LENGTH, questions), "with a code and without"


def test_the_same_report_is_sealed_anew_each_time() -> None:
    """With a key of its own: an envelope begins with it, so batches in the order of their bytes are
    in a random order."""
    many = [seal_inner(SERVER.public, DIGEST, REPORT, LENGTH) for _ in range(100)]

    assert len({sealed[:65] for sealed in many}) == 100
    assert len({sealed[65:] for sealed in many}) == 100


@given(st.integers(0, len(INNER) - 1), st.integers(1, 255))
def test_every_changed_byte_is_refused(place: int, change: int) -> None:
    damaged = bytearray(INNER)
    damaged[place] ^= change

    with pytest.raises(BadEnvelope, match=r"^this is no envelope to this survey$"):
        opened(bytes(damaged))


@pytest.mark.parametrize(
    "sealed",
    [
        b"",
        INNER[:-1],
        INNER + b"\0",
        b"\4" + bytes(64) + INNER[65:],
        seal_inner(SERVER.public, "6" * 64, REPORT, LENGTH),
        seal_inner(MIXER.public, DIGEST, REPORT, LENGTH),
        seal_inner(SERVER.public, DIGEST, REPORT, LENGTH + 1),
        seal_outer(SERVER.public, DIGEST, [bytes(LENGTH - 20)]),
    ],
    ids=["nothing", "shorter", "longer", "point", "survey", "key", "length", "kind"],
)
def test_all_faults_look_alike(sealed: bytes) -> None:
    with pytest.raises(BadEnvelope, match=r"^this is no envelope to this survey$") as refused:
        opened(sealed)

    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("length", "questions"), [(LENGTH, 1), (LENGTH, 3), (LENGTH - 1, 2), (LENGTH + 1, 2)]
)
def test_an_outer_envelope_of_another_shape_is_refused(length: int, questions: int) -> None:
    with pytest.raises(BadEnvelope):
        open_outer(MIXER, DIGEST, OUTER, length, questions)


def test_a_report_that_does_not_fit_is_never_cut() -> None:
    with pytest.raises(BadEnvelope, match="191 bytes does not fit into an envelope for 190"):
        seal_inner(SERVER.public, DIGEST, b"x" * 191, LENGTH)


@pytest.mark.parametrize(
    "public",
    [
        "",
        "no key",
        SERVER.public.upper(),
        SERVER.public[2:],
        SERVER.public + "\n",
        "02" + SERVER.public[2:66],
        SERVER.public[:-1] + ("0" if SERVER.public[-1] != "0" else "1"),
        new_key().author,
    ],
    ids=["empty", "words", "capitals", "no_04", "line", "compressed", "off", "ed25519"],
)
def test_a_key_has_one_spelling(public: str) -> None:
    with pytest.raises(BadKey, match="130 lower-case hexadecimal digits"):
        seal_inner(public, DIGEST, REPORT, LENGTH)


def test_a_key_is_kept_as_a_text_and_does_not_show_itself() -> None:
    again = read_opening_key(SERVER.text)

    assert again.public == SERVER.public
    assert opened(INNER) == open_inner(again, DIGEST, INNER, LENGTH)
    secret = f"{SERVER._secret.private_numbers().private_value:064x}"
    assert secret not in repr(SERVER)
    assert repr(SERVER) == f"OpeningKey(public='{SERVER.public}')"


@pytest.mark.parametrize(
    "text", [b"", b"no key", new_key().text], ids=["empty", "words", "ed25519"]
)
def test_another_text_is_no_key(text: bytes) -> None:
    with pytest.raises(BadKey, match="no P-256 key"):
        read_opening_key(text)


def test_a_key_of_another_curve_is_none() -> None:
    from cryptography.hazmat.primitives.asymmetric import ec

    other = OpeningKey(ec.generate_private_key(ec.SECP384R1()))

    with pytest.raises(BadKey, match="no P-256 key"):
        read_opening_key(other.text)
