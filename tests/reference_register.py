"""Sections 9 and 10 of shared/SPEC.md, signatures and the register, as the reference reads them.

Ed25519 is RFC 8032, section 5.1, in affine coordinates: slow and without a shortcut.
"""

from __future__ import annotations

import hashlib
import re
from fractions import Fraction
from functools import cache

from reference import Invalid, at_most_exp, canonical, digest, require
from reference_definition import total, whole_history
from reference_invitations import read_modulus
from reference_mechanisms import loss
from reference_waves import memoised_loss

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
IDENTITY = (0, 1)
NOTHING = "0" * 64


class OtherAuthor(Invalid):
    """Only the author is not one that is known."""


# --- Ed25519 ---


def plus(one, two):
    (x, y), (u, v) = one, two
    t = D * x * y * u * v
    return (x * v + u * y) * pow(1 + t, -1, P) % P, (y * v + x * u) * pow(1 - t, -1, P) % P


@cache
def times(scalar, point):
    result = IDENTITY
    for bit in bin(scalar)[2:]:
        result = plus(result, result)
        if bit == "1":
            result = plus(result, point)
    return result


def point(encoded):
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number % 2**255
    require(y < P, "not canonical")
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    require(x * x % P == square and not (x == 0 and sign), "no point")
    return (x if x % 2 == sign else P - x), y


def encoded(found):
    x, y = found
    return (y + (x % 2 << 255)).to_bytes(32, "little")


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def sha512(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


def secret(seed):
    hashed = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(hashed[:32], "little")
    return scalar & (2**254 - 8) | 2**254, hashed[32:]


def public(seed):
    return encoded(times(secret(seed)[0], BASE))


def sign(seed, message):
    scalar, prefix = secret(seed)
    r = sha512(prefix, message) % L
    commitment = encoded(times(r, BASE))
    s = (r + sha512(commitment, public(seed), message) * scalar) % L
    return commitment + s.to_bytes(32, "little")


def check_point(data):
    """(x, y) of 32 bytes, by section 5.1.3 alone."""
    require(len(data) == 32, "another length")
    x, y = point(data)
    assert (y * y - x * x - 1 - D * x * x * y * y) % P == 0, "not on the curve"
    return x % P, y


def check_signature(key, signature, message):
    require(len(key) == 32 and len(signature) == 64, "another length")
    commitment, s = signature[:32], int.from_bytes(signature[32:], "little")
    require(s < L, "S is too large")
    k = sha512(commitment, key, message)
    right = plus(point(commitment), times(k, point(key)))
    require(times(s, BASE) == right, "not the key's signature")


# --- the author's signature ---


def message(version):
    return f"deniably survey 1\n{version}\n".encode()


def check_author(version, author, signature):
    for text, length in ((author, 64), (signature, 128)):
        fits = type(text) is str and re.fullmatch(f"[0-9a-f]{{{length}}}", text)
        require(fits, "is not so many lower-case hexadecimal digits")
    check_signature(bytes.fromhex(author), bytes.fromhex(signature), message(version))


def fingerprint(author):
    short = hashlib.sha256(author.encode()).hexdigest()[:32]
    return " ".join(re.findall("....", short))


# --- the register ---


@cache
def epsilon(found):
    """The smallest h/100 that is enough, by counting up."""
    odds, exponent, _ = found
    h = 0
    while not _enough(odds, Fraction(h, 100) - exponent):
        h += 1
    return f"{h / 100:.2f}"


def _enough(odds, rest):
    if odds == 1 or rest <= 0:
        return odds == 1 and rest >= 0
    return at_most_exp(odds, rest)


def plain(value):
    places = 0
    while value * 10**places % 1:
        places += 1
    digits = str(int(value * 10**places)).zfill(places + 1)
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def published(definition, author, signature, day, number, previous, invitations=None):
    whole = total(definition)
    of_all_waves = {"history": epsilon(whole_history(definition))}
    return {
        "number": number,
        "previous": previous,
        "event": "published",
        "day": day,
        "survey": definition["name"],
        "digest": digest(definition),
        "author": author,
        "signature": signature,
        "epsilon": epsilon(whole),
        "delta": plain(whole[2]),
        "questions": [
            {
                "name": question["name"],
                "mechanism": question["mechanism"]["name"],
                "epsilon": epsilon(_of_one_report(question["mechanism"])),
            }
            for question in definition["questions"]
        ],
        **(of_all_waves if "waves" in definition else {}),
        **({"invitations": invitations} if "invited" in definition else {}),
    }


def _of_one_report(mechanism):
    return memoised_loss(mechanism) if mechanism["name"] == "memoised" else loss(mechanism)


def check_register(document, definition, seen, known, accepted):
    """(author, head, key of its invitations) of a survey that a device may answer."""
    require(type(document) is dict, "no object")
    entries, head = document.get("entries"), document.get("head")
    require(type(entries) is list and all(type(e) is dict for e in entries), "no list of objects")
    hashes = [NOTHING]
    for number, entry in enumerate(entries, start=1):
        require(type(entry.get("number")) is int and entry["number"] == number, "another number")
        require(entry.get("previous") == hashes[-1], "the chain is broken")
        hashes.append(digest(entry))
    require(head == hashes[-1], "another head")
    require(seen["count"] < len(hashes) and hashes[seen["count"]] == seen["head"], "rewritten")
    found = [
        e
        for e in entries
        if e.get("event") == "published" and e.get("survey") == definition["name"]
    ]
    require(len(found) == 1, "not listed exactly once")
    (entry,) = found
    day = entry.get("day")
    require(type(day) is str and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", day), "no day")
    author = entry.get("author")
    rest = (author, entry.get("signature"), day, entry["number"], entry["previous"])
    check_author(digest(definition), *rest[:2])
    key = entry.get("invitations")
    if "invited" in definition:
        read_modulus(key)
        rest += (key,)
    require(canonical(published(definition, *rest)) == canonical(entry), "says something else")
    if known and author not in known and fingerprint(author) != accepted:
        raise OtherAuthor("another author than those that are known")
    return author, head, key
