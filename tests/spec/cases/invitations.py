"""Blind signatures: the cases of blind_rsa.json."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Any

from deniably.reference.invitations import (
    E,
    blind,
    check,
    encoded,
    finalise,
    read_modulus,
    sign,
    written,
)
from deniably.reference.refusal import Invalid, require
from deniably.reference.values import Json
from spec.cases.tapes import label_bytes
from spec.vector_types import Case, Made

NOTES = {
    "Published": "RFC 9474, appendix A",
    "Salt": "another variant: a salt of no bytes",
    "Length": "a number that is too large, or has more or fewer digits than the key",
    "Forged": "what a signer of bad will could answer, or somebody who has no token could send",
}

# --- RFC 9474, appendix A: one key and one message for all four variants ---

P = (
    "e1f4d7a34802e27c7392a3cea32a262a34dc3691bd87f3f310dc75673488930559c120fd0410194fb8a0da55bd0b"
    "81227e843fdca6692ae80e5a5d414116d4803fca7d8c30eaaae57e44a1816ebb5c5b0606c536246c7f11985d7316"
    "84150b63c9a3ad9e41b04c0b5b27cb188a692c84696b742a80d3cd00ab891f2457443dadfeba6d6daf108602be26"
    "d7071803c67105a5426838e6889d77e8474b29244cefaf418e381b312048b457d73419213063c60ee7b0d8182016"
    "5864fef93523c9635c22210956e53a8d96322493ffc58d845368e2416e078e5bcb5d2fd68ae6acfa54f9627c42e8"
    "4a9d3f2774017e32ebca06308a12ecc290c7cd1156dcccfb2311"
)
Q = (
    "c601a9caea66dc3835827b539db9df6f6f5ae77244692780cd334a006ab353c806426b60718c05245650821d3944"
    "5d3ab591ed10a7339f15d83fe13f6a3dfb20b9452c6a9b42eaa62a68c970df3cadb2139f804ad8223d56108dfde3"
    "0ba7d367e9b0a7a80c4fdba2fd9dde6661fc73fc2947569d2029f2870fc02d8325acf28c9afa19ecf962daa7916e"
    "21afad09eb62fe9f1cf91b77dc879b7974b490d3ebd2e95426057f35d0a3c9f45f79ac727ab81a519a8b9285932d"
    "9b2e5ccd347e59f3f32ad9ca359115e7da008ab7406707bd0e8e185a5ed8758b5ba266e8828f8d863ae133846304"
    "a2936ad7bc7c9803879d2fc4a28e69291d73dbd799f8bc238385"
)
MESSAGE = (
    "8f3dc6fb8c4a02f4d6352edf0907822c1210a9b32f9bdda4c45a698c80023aa6"
    "b59f8cfec5fdbb36331372ebefedae7d"
)
SALT = (
    "051722b35f458781397c3a671a7d3bd3096503940e4c4f1aaa269d60300ce449"
    "555cd7340100df9d46944c5356825abf"
)
INVERSE = (
    "80682c48982407b489d53d1261b19ec8627d02b8cda5336750b8cee332ae260de57b02d72609c1e0e9f28e2040fc"
    "65b6f02d56dbd6aa9af8fde656f70495dfb723ba01173d4707a12fddac628ca29f3e32340bd8f7ddb557cf819f6b"
    "01e445ad96f874ba235584ee71f6581f62d4f43bf03f910f6510deb85e8ef06c7f09d9794a008be7ff2529f0ebb6"
    "9decef646387dc767b74939265fec0223aa6d84d2a8a1cc912d5ca25b4e144ab8f6ba054b54910176d5737a2cff0"
    "11da431bd5f2a0d2d66b9e70b39f4b050e45c0d9c16f02deda9ddf2d00f3e4b01037d7029cd49c2d46a8e1fc2c0c"
    "17520af1f4b5e25ba396afc4cd60c494a4c426448b35b49635b337cfb08e7c22a39b256dd032c00adddafb51a627"
    "f99a0e1704170ac1f1912e49d9db10ec04c19c58f420212973e0cb329524223a6aa56c7937c5dffdb5d966b6cd4c"
    "bc26f3201dd25c80960a1a111b32947bb78973d269fac7f5186530930ed19f68507540eed9e1bab8b00f00d8ca09"
    "b3f099aae46180e04e3584bd7ca054df18a1504b89d1d1675d0966c4ae1407be325cdf623cf13ff13e4a28b594d5"
    "9e3eadbadf6136eee7a59d6a444c9eb4e2198e8a974f27a39eb63af2c9af3870488b8adaad444674f512133ad80b"
    "9220e09158521614f1faadfe8505ef57b7df6813048603f0dd04f4280177a11380fbfc861dbcbd7418d62155248d"
    "ad5fdec0991f"
)
ANOTHER_INVERSE = (
    "55f2053e9a4309ac61ac4da7f3a314e626f362e95f30337962d12f08b343165c8dea34d7812dc2dcb227cfa8de49"
    "bca57880ac55f6d77b37ed83a32eb33656ddf0cde29761aef9f86bd758280b3403a63b466831cba4c97e17e9a11e"
    "4139f9d84e5912b017eafbafdbb3ae59a1424feae6914eb1bf20922c6db5da8a538752b3b662ae15cae7beac9a03"
    "62b8836001c57b0c5167dceb9a66e6ab6a90e9898646b4274c3662e4316926c4da7caf5aeff611934b70581280ec"
    "68fb2ce04c5681ef95b086b7289afae8ecd669325659791853a9f4c0b784f6f60b212c3b39754d5539e3671d7930"
    "d1272e82b3853b6583a83d9ff70c00ce1938c05eccee531cb075564059b2749e84b45dff7d179c69c86c5d1870ae"
    "ffd6281d099838a3a988ff9e2684f6cc896b5326275309187d9e3558163131e4d247c2ec8317a2c09f8079d32db8"
    "241c869bc5f773722ed8e68bfa5c518d20b955abf02103fce1a025149b14670fdfc8a3f0089516db047f86b9be62"
    "6ff44989d6fcc162c9570da5b862b47304eca2aceba4dedd6a672458aae779004fe116009600a6a52eb6161a3d09"
    "fda09963b56f2870a150df7183bfa03ce735513e637631fb4f980657a8cdb953b2156594607f8ebf7de699962619"
    "7072afd7ff60a5d2f782dabe026e0f298df141b8a276aaf7202d959088d7721786b04c79e45c807eb46fcf3a9403"
    "1ef351aff644"
)

_RANDOM, _SALTED = (
    "8417e699b219d583fb6216ae0c53ca0e9723442d02f1d1a34295527e7d929e8b",
    "84ea86c8cf3beedfed73beceabd792027c609d1100bf041fdd60d826a718130d",
)
# Of what the RFC says comes out (blinded message, blind signature, signature) the SHA-256.
RFC9474 = (
    (
        "RSABSSA-SHA384-PSS-Randomized",
        (_RANDOM, SALT, INVERSE),
        "c20660023bbbe565cd45163505209c98693ee6004f179ecff6446f07319d102c",
        "73b1978d4dbbb4ce892f04c9a022c3596ee8912a9be3c183a3912d42f915a7d1",
        "637dffe92ee76ccfd6fd3cb22190fa15164ed586baa5c2b9e872ddcd981c80ec",
    ),
    (
        "RSABSSA-SHA384-PSSZERO-Randomized",
        (_SALTED, "", INVERSE),
        "f755bbf19869b37e2177dbdee523f01df9b50c11b9a797d4dba130d549096f9c",
        "c3383ae4f2291cc5159313a023c633583df4523667f1fe8576fd78cf9f95ee13",
        "fa30839de7de289a7fc1e90560c06ff24457be997292d871ccb5990626814e9d",
    ),
    (
        "RSABSSA-SHA384-PSS-Deterministic",
        ("", SALT, INVERSE),
        "60e1ee70f9e09de36e1cefe8a73a96ef3b9df13fbcb6f4fd849142bc41f4a559",
        "9317585a9f255b9e449d65ae681c9621d207430c03cf729ecfce968ea18d5fa9",
        "87fcc997e9d5ab1e2031a995641f2e40fd4c359cdd2adfcf4f642eb8ec9cf781",
    ),
    (
        "RSABSSA-SHA384-PSSZERO-Deterministic",
        ("", "", ANOTHER_INVERSE),
        "1077f5d1b57bff66f20451b9b1ba06e2f9006f101b4f4bd40699498527c97dcf",
        "ae3c7a265d9884fceb0ea5340c24354f6e3131e1733b9b2b3b58487e988c34ff",
        "60b25927bf3ac543de3c8b6f6ca4f60241f4a099e7f3ab5e08a422cca8358e8f",
    ),
)
"""Each with its prefix, salt and inverse, and the ends of the blinded message, the blind signature
and the signature."""


STEPS = {"p 2048": 389, "q 2048": 683, "p 3072": 96, "q 3072": 1090, "p other": 184, "q other": 73}
"""How many odd numbers lie between where the search for each prime began and the prime: the search
itself takes seconds."""


def _prime(label: str, bits: int) -> int:
    """A prime near a number that begins with two ones."""
    number = int.from_bytes(label_bytes(label, bits // 8), "big") | 3 << (bits - 2) | 1
    number += 2 * STEPS[label]
    assert pow(2, number - 1, number) == 1, "no prime"
    assert (number - 1) % E, "no prime for this exponent"
    return number


KEYS = [(int(P, 16), int(Q, 16))] + [
    (_prime(f"p {bits}", bits // 2), _prime(f"q {bits}", bits // 2)) for bits in (2048, 3072)
]


def blind_rsa() -> Made:
    return NOTES, [
        {"type": "blind", "tests": [_blind(*case) for case in _blinded()]},
        {"type": "sign", "tests": [_sign(*case) for case in _signed()]},
        {"type": "finalise", "tests": [_finalise(*case) for case in _finished()]},
        {"type": "verify", "tests": [_verify(*case) for case in _verified()]},
        {"type": "key", "tests": [_key(*case) for case in _keys()]},
    ]


def _all() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, key, prepared message, salt, inverse)"""
    for name, (prefix, salted, inverted), *published in RFC9474:
        made = (KEYS[0], bytes.fromhex(prefix + MESSAGE), bytes.fromhex(salted), int(inverted, 16))
        for found, digest in zip(_outcome(*made), published, strict=True):
            text = written(found, KEYS[0][0] * KEYS[0][1])
            assert hashlib.sha256(bytes.fromhex(text)).hexdigest() == digest, name
        yield name, ["Published"], *made
    for key, bits in zip(KEYS[1:], (2048, 3072), strict=True):
        for number in range(3 if bits == 2048 else 1):
            label = f"{bits} {number}"
            salt = b"" if number == 2 else label_bytes(f"salt {label}", 48)
            inverse = int.from_bytes(label_bytes(f"inverse {label}", bits // 8 - 1), "big")
            message = label_bytes(f"prefix {label}", 32) + label_bytes(f"id {label}", 16)
            flags = ["Salt"] if number == 2 else []
            yield f"{bits} bits", flags, key, message, salt, inverse
    message, salt = bytes(48), bytes(48)
    yield "hardly blinded", [], KEYS[1], message, salt, 1
    inverse = KEYS[1][0] * KEYS[1][1] - 1
    yield "the largest inverse", [], KEYS[1], message, salt, inverse


@cache
def _outcome(key: Any, message: bytes, salt: bytes, inverse: int) -> tuple[int, int, int]:
    modulus = key[0] * key[1]
    blinded = blind(modulus, message, salt, inverse)
    signed = sign(key[0], key[1], blinded)
    return blinded, signed, finalise(modulus, message, signed, inverse, len(salt))


def _text(key: Any, number: int) -> str:
    return written(number, key[0] * key[1])


def modulus(key: Any) -> str:
    return f"{key[0] * key[1]:x}"


def _blinded() -> Iterator[tuple[Any, ...]]:
    yield from _all()


def _blind(
    comment: str, flags: list[str], key: Any, message: bytes, salt: bytes, inverse: int
) -> dict[str, Any]:
    return {
        "comment": comment,
        "flags": flags,
        "key": modulus(key),
        "message": message.hex(),
        "salt": salt.hex(),
        "inverse": _text(key, inverse),
        "blinded": _text(key, _outcome(key, message, salt, inverse)[0]),
        "result": "valid",
    }


def _signed() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, key, blinded message as a text)"""
    for comment, flags, key, *rest in _all():
        yield comment, flags, key, _text(key, _outcome(key, *rest)[0])
    key = KEYS[1]
    modulus = key[0] * key[1]
    yield "one", [], key, _text(key, 1)
    yield "the largest", [], key, _text(key, modulus - 1)
    yield "the modulus", ["Length"], key, _text(key, modulus)
    yield "all bits set", ["Length"], key, "f" * 512
    yield "a byte less", ["Length"], key, "1" * 510
    yield "a byte more", ["Length"], key, "00" + "1" * 512
    yield "nothing", ["Length"], key, ""
    yield "capitals", ["Length"], key, "A" + "1" * 511
    yield "no digits", ["Length"], key, "x" + "1" * 511


def _sign(comment: str, flags: list[str], key: Any, blinded: str) -> dict[str, Any]:
    case: Case = {
        "comment": comment,
        "flags": flags,
        "p": f"{key[0]:x}",
        "q": f"{key[1]:x}",
        "blinded": blinded,
    }
    try:
        signed = sign(key[0], key[1], _number(key, blinded))
    except Invalid as error:
        return case | {"result": "invalid", "reason": str(error)}
    return case | {"blind_signature": _text(key, signed), "result": "valid"}


def _number(key: Any, text: str) -> int:
    """The number in a text that is as long as the key."""
    plain = set(text) <= set("0123456789abcdef") and len(text) == len(modulus(key))
    require(plain, "small hexadecimal digits, as many as the key has")
    return int(text, 16)


def _finished() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, key, message, salt's length, inverse, blind signature as a text)"""
    for comment, flags, key, message, salt, inverse in _all():
        blind_signature = _outcome(key, message, salt, inverse)[1]
        yield comment, flags, key, message, len(salt), inverse, _text(key, blind_signature)
    *_, key, message, salt, inverse = list(_all())[4]
    modulus = key[0] * key[1]
    _, good, signature = _outcome(key, message, salt, inverse)
    rest = (key, message, 48, inverse)
    yield "the negative", ["Forged"], *rest, _text(key, modulus - good)
    yield "one more", ["Forged"], *rest, _text(key, good + 1)
    yield "not blind", ["Forged"], *rest, _text(key, signature)
    yield "one", ["Forged"], *rest, _text(key, 1)
    yield "nought", ["Forged"], *rest, _text(key, 0)
    yield "another key's", ["Forged"], *rest, _text(key, _other(message, salt, inverse) % modulus)
    longer = good + modulus
    if longer < 2**2048:
        yield "the modulus added", ["Length"], *rest, _text(key, longer)
    yield "a byte less", ["Length"], *rest, _text(key, good)[:-2]
    yield "a byte more", ["Length"], *rest, "00" + _text(key, good)
    yield "nothing", ["Length"], *rest, ""
    yield "another message", ["Forged"], key, b"x" + message, 48, inverse, _text(key, good)
    yield "another inverse", ["Forged"], key, message, 48, inverse + 1, _text(key, good)
    yield "a salt of no bytes", ["Salt"], key, message, 0, inverse, _text(key, good)


def _other(message: bytes, salt: bytes, inverse: int) -> int:
    """A signature by a key that is not the survey's: by the same primes' neighbours."""
    p, q = _prime("p other", 1024), _prime("q other", 1024)
    return sign(p, q, blind(p * q, message, salt, inverse))


def _finalise(
    comment: str,
    flags: list[str],
    key: Any,
    message: bytes,
    salt_length: int,
    inverse: int,
    blind_signature: str,
) -> dict[str, Any]:
    case: Case = {
        "comment": comment,
        "flags": flags,
        "key": modulus(key),
        "message": message.hex(),
        "salt_length": salt_length,
        "inverse": _text(key, inverse),
        "blind_signature": blind_signature,
    }
    try:
        number = _number(key, blind_signature)
        made = finalise(key[0] * key[1], message, number, inverse, salt_length)
    except Invalid as error:
        return case | {"result": "invalid", "reason": str(error)}
    return case | {"signature": _text(key, made), "result": "valid"}


def _verified() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, key, message, salt's length, signature as a text)"""
    for comment, flags, key, message, salt, inverse in _all():
        signature = _outcome(key, message, salt, inverse)[2]
        yield comment, flags, key, message, len(salt), _text(key, signature)
    *_, key, message, salt, inverse = list(_all())[4]
    modulus = key[0] * key[1]
    signature = _outcome(key, message, salt, inverse)[2]
    text = _text(key, signature)
    yield "another prefix", ["Forged"], key, bytes(1) + message[1:], 48, text
    yield "another id", ["Forged"], key, message[:-1] + b"x", 48, text
    yield "no prefix", ["Forged"], key, message[32:], 48, text
    yield "a salt of no bytes", ["Salt"], key, message, 0, text
    for place in (0, 255, 511):
        flipped = text[:place] + f"{int(text[place], 16) ^ 1:x}" + text[place + 1 :]
        yield f"digit {place} is another", ["Forged"], key, message, 48, flipped
    yield "the negative", ["Forged"], key, message, 48, _text(key, modulus - signature)
    yield "nought", ["Forged"], key, message, 48, "0" * 512
    yield "one", ["Forged"], key, message, 48, _text(key, 1)
    yield "the modulus", ["Length"], key, message, 48, _text(key, modulus)
    yield "a byte less", ["Length"], key, message, 48, text[2:]
    yield "a byte more", ["Length"], key, message, 48, "00" + text
    yield "nothing", ["Length"], key, message, 48, ""
    yield "capitals", ["Length"], key, message, 48, text.upper()
    yield "another key", ["Forged"], (_prime("p other", 1024), key[1]), message, 48, text
    # The padding alone is wrong: a signer may sign any number.
    m = encoded(message, salt, 2047)
    for comment, number in (
        ("another last byte", m ^ 0x01),
        ("a bit of the padding", m ^ 1 << 2040),
        ("the highest bit", m | 1 << 2047),
        ("a bit of the hash", m ^ 1 << 9),
        ("a bit of the salt", m ^ 1 << 400),
    ):
        if number < modulus:
            forged = sign(key[0], key[1], number)
            yield comment, ["Forged"], key, message, 48, _text(key, forged)


def _verify(
    comment: str, flags: list[str], key: Any, message: bytes, salt_length: int, signature: str
) -> dict[str, Any]:
    case: Case = {
        "comment": comment,
        "flags": flags,
        "key": modulus(key),
        "message": message.hex(),
        "salt_length": salt_length,
        "signature": signature,
    }
    try:
        number = _number(key, signature)
        check(key[0] * key[1], message, number, salt_length)
    except Invalid as error:
        return case | {"result": "invalid", "reason": str(error)}
    return case | {"result": "valid"}


def _keys() -> Iterator[tuple[Any, ...]]:
    """(comment, text)"""
    for key, bits in zip(KEYS, (4096, 2048, 3072), strict=True):
        yield f"{bits} bits", modulus(key)
    good = modulus(KEYS[1])
    yield "2056 bits", "80" * 256 + "01"
    yield "even", good[:-1] + "0"
    yield "the first bit is not set", "7" + good[1:]
    yield "leading noughts", "00" + good
    yield "2040 bits", "f" * 510
    yield "2044 bits", "f" * 511
    yield "4104 bits", "f" * 1026
    yield "capitals", "F" * 512
    yield "a line break after it", good + "\n"
    yield "no digits", "g" * 512
    yield "nothing", ""
    yield "a number", 5
    yield "a list", [good]


def _key(comment: str, text: Json) -> dict[str, Any]:
    case: Case = {"comment": comment, "flags": [], "key": text}
    try:
        read_modulus(text)
    except Invalid as error:
        return case | {"result": "invalid", "reason": str(error)}
    return case | {"result": "valid"}
