"""The cases of envelopes.json."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from deniably.reference.aes_gcm import TAG, encrypt
from deniably.reference.canonical import canonical
from deniably.reference.codes import ALPHABET, check_character
from deniably.reference.envelopes import (
    ENC,
    Context,
    info_of,
    open_inner,
    open_outer,
    padded,
    receiver_context,
    seal_inner,
    seal_outer,
    sender_context,
)
from deniably.reference.p256 import N, P, public
from deniably.reference.refusal import Invalid
from spec.cases.tapes import label_bytes
from spec.vector_types import Case, Made

NOTES = {
    "Published": "RFC 9180, appendix A.3.1, sequence number 0; no other envelope has an aad",
    "Length": "too short, too long, or a text that does not fit",
    "Point": "not the one encoding of a point of the curve",
    "Padding": "the length is wrong, or what follows the text is not zeros",
    "Forged": "another key, another info, or one bit is another",
    "Code": "neither a code nor spaces",
}

RFC_SECRET = 0xF3CE7FDAE57E1A310D87F1EBBDE6F328BE0A99CDBCADF4D6589CF29DE4B8FFD2
RFC_EPHEMERAL = 0x4995788EF4B9D6132B249CE59A77281493EB39AF373D236A1FE415CB0C2D7BEB
RFC_INFO = b"Ode on a Grecian Urn"
RFC_PLAIN = b"Beauty is truth, truth beauty"
RFC_AAD = b"Count-0"
RFC_CONTEXT = Context(
    bytes.fromhex("868c066ef58aae6dc589b6cfdd18f97e"), bytes.fromhex("4e0bc5018beba4bf004cca59")
)
RFC_SEALED = bytes.fromhex(
    "5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f9076ac232e3ab2523f39513434"
)

DIGEST, OTHER_DIGEST = label_bytes("survey", 32).hex(), label_bytes("another survey", 32).hex()
LENGTH = 192


def key_of(label: str) -> int:
    """A private key, as any bytes make it."""
    return int.from_bytes(label_bytes(f"key {label}", 40), "big") % (N - 1) + 1


SURVEY, MIXER = key_of("survey"), key_of("mixer")


def report_text(number: int, question: str = "stolen") -> bytes:
    """A report to one question, as any device sends it."""
    made = {
        "id": label_bytes(f"id {number}", 16).hex(),
        "survey": DIGEST,
        "values": {question: [number % 2]},
    }
    return canonical(made).encode()


def code_of(label: str) -> str:
    """A code, as any bytes make it."""
    digits = "".join(ALPHABET[byte % 31] for byte in label_bytes(label, 17))
    return digits + check_character(digits)


@cache
def inner_of(number: int) -> bytes:
    """An inner envelope, as any device seals it."""
    key = key_of(f"inner {number}")
    return seal_inner(key, public(SURVEY), DIGEST, report_text(number), LENGTH)


def cases() -> Made:
    return NOTES, [
        {"type": "setup", "tests": [_setup(*case) for case in _setups()]},
        {"type": "inner", "tests": [_inner(*case) for case in _reports()]},
        {"type": "open_inner", "tests": [_open_inner(*case) for case in _to_server()]},
        {"type": "outer", "tests": [_outer(*case) for case in _people()]},
        {"type": "open_outer", "tests": [_open_outer(*case) for case in _to_mixer()]},
    ]


# --- keys from an ephemeral key ---


def _setups() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, ephemeral key, the receiver's public key, info)"""
    yield "RFC 9180", ["Published"], RFC_EPHEMERAL, public(RFC_SECRET), RFC_INFO
    for number in range(4):
        yield "any", [], key_of(f"any {number}"), public(SURVEY), label_bytes("info", 40 * number)
    yield "the smallest keys", [], 1, public(1), b""
    yield "the largest keys", [], N - 1, public(N - 1), b""
    yield "opposite keys", [], 5, public(N - 5), b""
    key = public(SURVEY)
    for comment, wrong in _no_points(key):
        yield comment, ["Point"], key_of("any 0"), wrong, b""


def _no_points(key: bytes) -> Iterator[tuple[str, bytes]]:
    """Bytes that are no point, or another encoding of this one."""
    x, y = key[1:33], key[33:]
    yield "a bit of y is another", key[:-1] + bytes([key[-1] ^ 1])
    yield "a bit of x is another", key[:1] + bytes([key[1] ^ 1]) + key[2:]
    yield "zeros", b"\x04" + bytes(64)
    yield "x is the prime", b"\x04" + P.to_bytes(32, "big") + y
    yield "all bits set", b"\x04" + b"\xff" * 64
    yield "compressed", bytes([2 + y[-1] % 2]) + x
    yield "hybrid", bytes([6 + y[-1] % 2]) + x + y
    yield "another first byte", b"\x05" + x + y
    yield "no first byte", x + y
    yield "the neutral element", b"\x00"
    yield "a byte less", key[:-1]
    yield "a byte more", key + b"\x00"
    yield "nothing", b""


def _setup(
    comment: str, flags: list[str], ephemeral: int, receiver: bytes, info: bytes
) -> dict[str, Any]:
    case: Case = {
        "comment": comment,
        "flags": flags,
        "ephemeral": _pair(ephemeral),
        "receiver": receiver.hex(),
        "info": info.hex(),
    }
    try:
        found = sender_context(ephemeral, receiver, info)
    except Invalid as error:
        return case | {"result": "invalid", "reason": str(error)}
    made = {"enc": public(ephemeral).hex(), "key": found.key.hex(), "nonce": found.nonce.hex()}
    if "Published" in flags:
        assert found == RFC_CONTEXT == receiver_context(RFC_SECRET, public(ephemeral), info)
        sealed = encrypt(found.key, found.nonce, RFC_PLAIN, RFC_AAD)
        assert sealed == RFC_SEALED
        case |= {"secret": f"{RFC_SECRET:064x}", "plain": RFC_PLAIN.hex(), "aad": RFC_AAD.hex()}
        made["sealed"] = sealed.hex()
    return case | made | {"result": "valid"}


def _pair(secret: int) -> dict[str, str]:
    """An ephemeral key pair, which browsers read as a whole."""
    return {"secret": f"{secret:064x}", "public": public(secret).hex()}


# --- inner envelopes ---


def _reports() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, text, length)"""
    for number in range(3):
        yield "a report", [], report_text(number).decode(), LENGTH
    yield "two bytes a letter", [], "\u00fc" * 5, 12
    yield "nothing", [], "", 2
    yield "nothing, padded", [], "", LENGTH
    yield "as much as fits", [], "x" * 190, LENGTH
    yield "256 bytes", [], "x" * 256, 300
    yield "a letter more than fits", ["Length"], "x" * 191, LENGTH
    yield "a byte more than fits", ["Length"], "\u00fc" * 5, 11
    yield "no room for its length", ["Length"], "", 1
    yield "as long as a length can say", [], "x" * 65_535, 65_537
    yield "longer than a length can say", ["Length"], "x" * 65_536, 65_538


def _inner(comment: str, flags: list[str], text: str, length: int) -> dict[str, Any]:
    ephemeral = key_of(f"inner {comment} {text[:80]}")
    case: Case = {
        "comment": comment,
        "flags": flags,
        "secret": f"{SURVEY:064x}",
        "receiver": public(SURVEY).hex(),
        "digest": DIGEST,
        "text": _repeated(text),
        "length": length,
        "ephemeral": _pair(ephemeral),
    }
    try:
        sealed = seal_inner(ephemeral, public(SURVEY), DIGEST, text.encode(), length)
    except Invalid as error:
        return case | {"result": "invalid", "reason": str(error)}
    assert open_inner(SURVEY, DIGEST, sealed, length) == text.encode()
    # Of a long one the ends: the last bytes are the tag of all before them.
    shown = sealed if len(sealed) < 1000 else sealed[:ENC] + sealed[-TAG:]
    return case | {"sealed": shown.hex(), "result": "valid"}


def _repeated(text: str) -> dict[str, Any]:
    """A text as a part and how often it comes, so that a long one is short to write."""
    part = text[:1] if text == text[:1] * len(text) else text
    return {"part": part, "times": len(text) // len(part) if part else 0}


def _to_server() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, private key, digest, length, envelope)"""
    good = inner_of(0)
    usual = SURVEY, DIGEST, LENGTH
    yield "a report", [], *usual, good
    yield "another one", [], *usual, inner_of(1)
    yield from _damaged(good, usual)
    yield "another length", ["Length"], SURVEY, DIGEST, LENGTH + 1, good
    ephemeral = key_of("padding")
    text = report_text(0)
    pad = padded(text, LENGTH)
    size = pad[:2]
    for comment, plain in (
        ("the last byte is not zero", pad[:-1] + b"\x01"),
        ("the byte behind the text is not zero", size + padded(text + b"\x01", LENGTH)[2:]),
        ("a byte of the text counts as padding", (len(text) - 1).to_bytes(2, "big") + pad[2:]),
        ("longer than there is room", (LENGTH - 1).to_bytes(2, "big") + pad[2:]),
        ("all bits of the length set", b"\xff\xff" + pad[2:]),
        ("the length from its other end", size[::-1] + pad[2:]),
    ):
        yield comment, ["Padding"], *usual, _sealed(ephemeral, info_of("report", DIGEST), plain)
    yield "all room is text", [], *usual, _sealed(
        ephemeral, info_of("report", DIGEST), padded(b"x" * 190, LENGTH)
    )  # fmt: skip
    short = _sealed(ephemeral, info_of("report", DIGEST), padded(text, LENGTH - 1))
    yield "a byte of padding less", ["Length"], *usual, short
    one = _sealed(ephemeral, info_of("report", DIGEST), b"\x00")
    yield "one byte", ["Padding"], SURVEY, DIGEST, 1, one
    for comment, info in (
        ("for the mixer", info_of("mix", DIGEST)),
        ("without a line feed at the end", info_of("report", DIGEST)[:-1]),
        ("without an info", b""),
    ):
        yield comment, ["Forged"], *usual, _sealed(ephemeral, info, pad)


def _damaged(good: bytes, usual: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """What no envelope of any kind is."""
    secret, digest, *rest = usual
    yield "of another survey", ["Forged"], secret, OTHER_DIGEST, *rest, good
    yield "with another key", ["Forged"], key_of("another"), digest, *rest, good
    for comment, place in (
        ("the first bit of the ciphertext", ENC),
        ("the last bit of the ciphertext", -TAG - 1),
        ("the first bit of the tag", -TAG),
        ("the last bit of the tag", -1),
    ):
        damaged = bytearray(good)
        damaged[place] ^= 1
        yield comment, ["Forged"], *usual, bytes(damaged)
    negative = P - int.from_bytes(good[33:ENC], "big")
    turned = good[:33] + negative.to_bytes(32, "big") + good[ENC:]
    yield "the opposite point", ["Forged"], *usual, turned
    for comment, wrong in _no_points(good[:ENC]):
        yield comment, ["Point"], *usual, wrong + good[ENC:]
    yield "a byte less", ["Length"], *usual, good[:-1]
    yield "a byte more", ["Length"], *usual, good + b"\x00"
    yield "a byte before it", ["Length"], *usual, b"\x00" + good
    yield "no ciphertext", ["Length"], *usual, good[:ENC]
    yield "no text", ["Length"], *usual, good[:ENC] + good[-TAG:]
    yield "nothing", ["Length"], *usual, b""


def _sealed(ephemeral: int, info: bytes, plain: bytes, secret: int = SURVEY) -> bytes:
    """Any bytes in an envelope, step by step: the reference itself seals what is right alone."""
    found = sender_context(ephemeral, public(secret), info)
    return public(ephemeral) + encrypt(found.key, found.nonce, plain)


def _open_inner(
    comment: str, flags: list[str], secret: int, digest: str, length: int, sealed: bytes
) -> dict[str, Any]:
    case: Case = {
        "comment": comment,
        "flags": flags,
        "secret": f"{secret:064x}",
        "digest": digest,
        "length": length,
        "sealed": sealed.hex(),
    }
    try:
        return case | {
            "text": open_inner(secret, digest, sealed, length).decode(),
            "result": "valid",
        }
    except Invalid as error:
        return case | {"result": "invalid", "reason": str(error)}


# --- outer envelopes ---


def _people() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, code, inner envelopes)"""
    yield "one question", [], "", [inner_of(0)]
    yield "three questions", [], "", [inner_of(number) for number in range(3)]
    yield "an invitation", [], code_of("code 0"), [inner_of(0), inner_of(1)]
    yield "as many as fit", [], "", [inner_of(0)] * 239
    yield "more than fit", ["Length"], "", [inner_of(0)] * 240


def _outer(comment: str, flags: list[str], code: str, envelopes: list[bytes]) -> dict[str, Any]:
    ephemeral = key_of(f"outer {comment}")
    one = len(set(envelopes)) == 1
    case: Case = {
        "comment": comment,
        "flags": flags,
        "secret": f"{MIXER:064x}",
        "receiver": public(MIXER).hex(),
        "digest": DIGEST,
        "length": LENGTH,
        "code": code,
        "inner": [each.hex() for each in (envelopes[:1] if one else envelopes)],
        "times": len(envelopes) if one else 1,
        "ephemeral": _pair(ephemeral),
    }
    try:
        sealed = seal_outer(ephemeral, public(MIXER), DIGEST, code, envelopes)
    except Invalid as error:
        return case | {"result": "invalid", "reason": str(error)}
    shown = sealed if len(envelopes) < 10 else sealed[:ENC] + sealed[-TAG:]
    return case | {"sealed": shown.hex(), "result": "valid"}


def _to_mixer() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, private key, digest, length, questions, envelope)"""
    inner = [inner_of(number) for number in range(2)]
    code = code_of("code 1")
    usual = MIXER, DIGEST, LENGTH, 2
    ephemeral = key_of("outer")
    good = seal_outer(ephemeral, public(MIXER), DIGEST, "", inner)
    yield "two questions", [], *usual, good
    yield "an invitation", [], *usual, seal_outer(ephemeral, public(MIXER), DIGEST, code, inner)
    yield from _damaged(good, usual)
    yield "of another number of questions", ["Length"], MIXER, DIGEST, LENGTH, 3, good
    yield "of another length", ["Length"], MIXER, DIGEST, LENGTH - 1, 2, good
    rest = b"".join(inner)
    texts = {
        "a code in small letters": code.lower().encode() + rest,
        "a code with a typing error": _mistyped(code).encode() + rest,
        "a code with an O for its 0": _with_an_o().encode() + rest,
        "a tab among the spaces": b"\t" + b" " * 17 + rest,
        "zeros for spaces": bytes(18) + rest,
        "no letters": b"\xff" * 18 + rest,
        "17 characters and a space": code[:17].encode() + b" " + rest,
    }
    for comment, text in texts.items():
        yield comment, ["Code"], *usual, _sealed(
            ephemeral, info_of("mix", DIGEST), padded(text, 2 + len(text)), MIXER
        )  # fmt: skip
    text = b" " * 18 + rest
    less = padded(text[:-1], 2 + len(text))
    yield "a byte less inside", ["Padding"], *usual, _sealed(
        ephemeral, info_of("mix", DIGEST), less[:-1] + b"\x00", MIXER
    )  # fmt: skip
    more = (len(text) + 1).to_bytes(2, "big") + text
    yield "a byte more inside", ["Padding"], *usual, _sealed(
        ephemeral, info_of("mix", DIGEST), more, MIXER
    )  # fmt: skip
    yield "for the survey's server", ["Forged"], *usual, _sealed(
        ephemeral, info_of("report", DIGEST), padded(text, 2 + len(text)), MIXER
    )  # fmt: skip


def _mistyped(code: str) -> str:
    return code[:5] + ALPHABET[(ALPHABET.index(code[5]) + 1) % 31] + code[6:]


def _with_an_o() -> str:
    """What people may type; it would mark who sent it."""
    digits = "0" * 17
    return f"O{digits[1:]}{check_character(digits)}"


def _open_outer(
    comment: str, flags: list[str], secret: int, digest: str, length: int, questions: int,
    sealed: bytes,
) -> dict[str, Any]:  # fmt: skip
    case: Case = {
        "comment": comment,
        "flags": flags,
        "secret": f"{secret:064x}",
        "digest": digest,
        "length": length,
        "questions": questions,
        "sealed": sealed.hex(),
    }
    try:
        code, inner = open_outer(secret, digest, sealed, length, questions)
    except Invalid as error:
        return case | {"result": "invalid", "reason": str(error)}
    found = {"code": code, "inner": [each.hex() for each in inner]}
    return case | found | {"result": "valid"}
