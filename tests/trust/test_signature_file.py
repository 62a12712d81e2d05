"""The file that ``deniably sign`` writes: of one survey in one version, and of nothing else."""

from __future__ import annotations

import json

import pytest

from deniably.core.errors import BadSignature
from deniably.trust.signature_file import SignatureFile, read_signature_file
from support.cases import for_each
from support.keys import key_of
from support.material import survey_named

KEY = key_of(bytes(range(32)))
SURVEY = survey_named("spring")
SIGNATURE = KEY.sign(SURVEY.digest)
FILE = SignatureFile("spring", SURVEY.digest, SIGNATURE.author, SIGNATURE.value)


def test_a_signature_comes_out_of_its_file_as_it_went_in() -> None:
    found = read_signature_file(FILE.text.encode())

    assert found == FILE
    assert found.of("spring", SURVEY.digest) == SIGNATURE


@for_each(
    ("change", "sentence"),
    [
        ({"survey": "autumn"}, "this is the signature of autumn, and not of spring"),
        ({"digest": "0" * 64}, "another version of spring: of digest 0000"),
        ({"signature": "0" * 128}, "the signature is not this author's"),
        ({"author": "0" * 63}, "an author's key is 64"),
    ],
)
def test_a_signature_of_something_else_is_refused(change: dict[str, str], sentence: str) -> None:
    text = json.dumps(json.loads(FILE.text) | change)

    with pytest.raises(BadSignature, match=sentence):
        read_signature_file(text.encode()).of("spring", SURVEY.digest)


@for_each("text", [b"", b"{}", b"[1]", b"\xff", FILE.text[:-9].encode(), b'{"survey": 1}'])
def test_what_is_no_such_file_is_a_sentence(text: bytes) -> None:
    with pytest.raises(BadSignature, match="this is no file that deniably sign wrote"):
        read_signature_file(text)
