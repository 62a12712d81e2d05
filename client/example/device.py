"""A respondent's device in one file, written from ../../shared/SPEC.md alone.

    python device.py https://example.org/s/workplace FOLDER stolen=yes often=often

It answers surveys whose questions have one answer and use subset selection, also with strata, where
the address names the stratum: .../s/workplace?site=north, and a part of the questions where little
budget is left and the author offers that. It seals its reports where a survey has a mixer, and says
after the closing whether they arrived. It refuses all others: a device need not
know everything, but must refuse what it does not know. FOLDER holds its memory. Numbers in comments
are sections of the specification.
"""

from __future__ import annotations

import datetime
import fcntl
import hashlib
import http.client
import json
import math
import os
import re
import secrets
import sys
import time
import urllib.error
import urllib.request
from fractions import Fraction
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

LARGEST = 2**53
LIMITS = {"version": Fraction(5), "author": Fraction(10), "overall": Fraction(20)}  # epsilons (8)
TOGETHER = {"version": Fraction(25), "author": Fraction(50), "overall": Fraction(64)}


class Refused(Exception):
    """This device does not answer. The message says why and never holds an answer."""


def must(holds, why):
    if not holds:
        raise Refused(why)


# --- 1: bytes to uniform integers -----------------------------------------------------------


def below(n, take=secrets.token_bytes):
    # Below this limit every remainder comes equally often; what is above is drawn again.
    limit = LARGEST - LARGEST % n
    while True:
        u = int.from_bytes(take(7), "big") % LARGEST
        if u < limit:
            return u % n


def choose(weights, take=secrets.token_bytes):
    u = below(sum(weights), take)
    for index, weight in enumerate(weights):
        if u < weight:
            return index
        u -= weight


def pick(n, size, take=secrets.token_bytes):
    items = list(range(n))
    for i in range(size):
        j = i + below(n - i, take)
        items[i], items[j] = items[j], items[i]
    return items[:size]


# --- 2: an answer to a report ---------------------------------------------------------------


def subset_selection(mechanism, answer, take=secrets.token_bytes):
    k, omega, own, other = (mechanism[key] for key in ("k", "omega", "own", "other"))
    must(0 <= answer < k, "the answer is none of the choices")
    kept = choose([omega * own, (k - omega) * other], take) == 0
    # As many draws whether the answer is kept or not: their number must tell nothing.
    draws = [(j, below(j, take)) for j in range(k - omega, k)]
    chosen = set()
    # Floyd's algorithm: a uniform set of omega - 1 or omega of the k - 1 other choices.
    for j, t in draws[1:] if kept else draws:
        chosen.add(t if t not in chosen else j - 1)
    # Numbers from the answer's on move up by one, so that the answer itself is left out.
    report = {i + (i >= answer) for i in chosen}
    return sorted(report | {answer} if kept else report)


def odds_of(question):
    return Fraction(question["mechanism"]["own"], question["mechanism"]["other"])


def check_mechanism(mechanism):
    exactly(mechanism, {"name", "k", "omega", "own", "other"})
    must(mechanism["name"] == "subset_selection", "this device does not know the mechanism")
    k, omega, own, other = (mechanism[key] for key in ("k", "omega", "own", "other"))
    must(all(type(number) is int for number in (k, omega, own, other)), "parameters are integers")
    must(2 <= k <= 1024 and 1 <= omega < k and 1 <= other < own, "the parameters make no mechanism")
    must(omega * own + (k - omega) * other <= LARGEST, "the weights are too large")


def exp_low(epsilon):
    """Returns a fraction a little below e^epsilon: the Taylor series, rounded down to 2^-128."""
    term = total = 2**128
    i = 0
    while term:
        i += 1
        term = term * epsilon.numerator // (epsilon.denominator * i)
        total += term
    return Fraction(total, 2**128)


def check_claim(claim, odds):
    must(type(claim) is dict and len(claim) == 1, "a claim is one epsilon or one number of odds")
    ((kind, text),) = claim.items()
    must(type(text) is str and len(text) <= 40, "a claim is a text")
    if kind == "epsilon":
        must(re.fullmatch(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text), "epsilon is a decimal")
        epsilon = Fraction(text)
        must(Fraction(1, 100) <= epsilon <= 10, "epsilon is from 0.01 to 10")
        # Compared with less than e^epsilon, so that no claim is accepted wrongly.
        must(odds <= exp_low(epsilon), "the weights give larger odds than the claim allows")
        return
    must(kind == "odds", "a claim is an epsilon or odds")
    must(re.fullmatch(r"[1-9][0-9]*(/[1-9][0-9]*)?", text), "odds are a whole number or a fraction")
    must(str(Fraction(text)) == text, "odds are in lowest terms")
    low, high = exp_low(Fraction(1, 100)), exp_low(Fraction(10))
    must(low < Fraction(text) <= high, "odds are from e^0.01 to e^10")
    must(odds <= Fraction(text), "the weights give larger odds than the claim allows")


# --- 3: canonical JSON and digests ----------------------------------------------------------


def parse(text):
    def no(_):
        raise Refused("numbers are whole, and null is nothing that is used here")

    # json.loads keeps the last of repeated keys: two readers could see two surveys.
    def once(pairs):
        must(len({key for key, _ in pairs}) == len(pairs), "a key is given twice")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once, parse_float=no, parse_constant=no)
    except (ValueError, RecursionError):
        raise Refused("this is no JSON") from None


def canonical(value):
    if isinstance(value, dict):
        # By UTF-16 code units, which is the order of their big-endian bytes.
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # Above this JavaScript would round it.
        must(abs(value) < LARGEST, "a whole number is too large")
        return str(value)
    must(isinstance(value, str), "only objects, lists, texts, truth values and whole numbers")
    must(not re.search("[\ud800-\udfff]", value), "a text holds half a character")
    return json.dumps(value, ensure_ascii=False)


def digest(value):
    return hashlib.sha256(canonical(value).encode()).hexdigest()


# --- 4: the definition ----------------------------------------------------------------------

SURVEY_NAME = r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?"
NAME = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}"


# Control characters, which steer a terminal or a text's direction. U+200F and the like are allowed.
STEERING = "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)"


def prose(value, *keys):
    """Refuses keys whose texts, which may have paragraphs, hold control characters (4)."""
    for key in keys:
        must(type(value.get(key, "")) is str, f"{key} is a text")
        must(not re.search(STEERING, value.get(key, "")), f"{key} holds what nobody would see")


def texts(value, *keys):
    prose(value, *keys)
    for key in keys:
        must(not re.search("[\n\r\u2028\u2029]", value.get(key, "")), f"{key} has a line break")


def exactly(value, needed, optional=()):
    must(type(value) is dict, "an object is needed")
    must(needed <= set(value), "a key is missing")
    must(set(value) <= needed | set(optional), "this device does not know a key of the survey")


def named(items, least, most, pattern=NAME):
    must(type(items) is list and least <= len(items) <= most, "a list is too short or too long")
    names = [item.get("name") if type(item) is dict else None for item in items]
    must(all(type(name) is str and re.fullmatch(pattern, name) for name in names), "a bad name")
    must(len(set(names)) == len(names), "a name is used twice")


def check_question(question):
    kind = question.get("type")
    must(kind in ("yes_no", "select_one"), "this device asks questions with one answer only")
    exactly(question, {"name", "type", "label", "choices", "claim", "mechanism"}, {"hint"})
    texts(question, "label", "hint")
    named(question["choices"], 2, 1024)
    for choice in question["choices"]:
        exactly(choice, {"name", "label"})
        texts(choice, "label")
    if kind == "yes_no":
        must([choice["name"] for choice in question["choices"]] == ["yes", "no"], "yes, then no")
    mechanism = question["mechanism"]
    check_mechanism(mechanism)
    must(mechanism["k"] == len(question["choices"]), "k is the number of choices")
    check_claim(question["claim"], odds_of(question))


def check_definition(survey):
    needed = {"spec", "name", "title", "language", "results", "questions"}
    exactly(survey, needed, {"intro", "contact", "part", "strata", "mixer"})
    must(
        survey["spec"] == 1 and type(survey["spec"]) is int, "another version of the specification"
    )
    must(type(survey["name"]) is str and re.fullmatch(SURVEY_NAME, survey["name"]), "a bad name")
    texts(survey, "title", "language")
    prose(survey, "intro", "contact")
    exactly(survey["results"], {"minimum", "while_open"}, {"to", "reports"})
    minimum = survey["results"]["minimum"]
    must(type(minimum) is int and minimum >= 1, "minimum is a whole number from 1 on")
    must(type(survey["results"]["while_open"]) is bool, "while_open is true or false")
    must(survey["results"].get("to", "analysts") == "analysts", "to is analysts, if it is there")
    reports = survey["results"].get("reports", "never")
    must(reports in ("public", "never"), "reports is public or never, if it is there")
    must(reports == "never" or "to" not in survey["results"], "to contradicts public reports")
    named(survey["questions"], 1, 100)
    for question in survey["questions"]:
        check_question(question)
    several = len(survey["questions"]) > 1
    must("part" not in survey or (survey["part"] is True and several), "part is true or not there")
    if "strata" in survey:
        check_strata(survey["strata"])
    if "mixer" in survey:
        check_mixer(survey)


ORIGIN = (
    r"(https://([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])|http://(localhost|127\.0\.0\.1|\[::1\]))"
    r"(:[1-9][0-9]{0,4})?"
)


def check_mixer(survey):
    """Refuses a mixer that is not as 4.8 has it, and what does not go with one."""
    mixer, results = survey["mixer"], survey["results"]
    exactly(mixer, {"address", "by", "key", "signing", "open", "length", "blanks", "claim"})
    texts(mixer, "by")
    must(len(mixer["by"]) >= 1, "by names who runs the mixer")
    for key, pattern in (("address", ORIGIN), ("signing", "[0-9a-f]{64}")):
        fits = type(mixer[key]) is str and re.fullmatch(pattern, mixer[key])
        must(fits, f"the mixer's {key} is not as it has to be")
    envelope_key(mixer["key"]), envelope_key(mixer["open"])
    must(mixer["key"] != mixer["open"], "two parties have two keys")
    whole = all(type(mixer[key]) is int for key in ("length", "blanks"))
    must(whole and 1 <= mixer["blanks"] <= 20_000, "1 to 20,000 blanks")
    claim_of(mixer)
    must("part" not in survey and "strata" not in survey, "a mixer takes everything or nothing")
    must(not results["while_open"] and results.get("reports") != "public", "there is one batch")
    questions = survey["questions"]
    must(all(odds_of(question) <= 20 for question in questions), "with a mixer odds are up to 20")
    for question in questions:
        least = 136 + len(question["name"]) + 12 * question["mechanism"]["omega"]
        must(mixer["length"] >= least, "a report does not fit into an envelope")
    must(18 + len(questions) * (mixer["length"] + 81) <= 65_535, "the envelope is too long")


def claim_of(mixer):
    """Returns the epsilon and the delta of a mixer's claim."""
    exactly(mixer["claim"], {"epsilon", "delta"})
    parts = [mixer["claim"][key] for key in ("epsilon", "delta")]
    decimal = r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?"
    for text in parts:
        must(type(text) is str and len(text) <= 40 and re.fullmatch(decimal, text), "a decimal")
    epsilon, delta = map(Fraction, parts)
    must(Fraction(1, 100) <= epsilon <= 10, "epsilon is from 0.01 to 10")
    must(delta.numerator == 1 and delta.denominator >= 10_000, "delta is one in 10,000 or more")
    return epsilon, delta


def check_strata(strata):
    must(type(strata) is dict and strata, "strata are an object with at least one key")
    for key, values in strata.items():
        must(type(values) is list and 2 <= len(values) <= 8, "a key of strata has 2 to 8 values")
        must(
            all(type(name) is str and re.fullmatch(SURVEY_NAME, name) for name in [key, *values]),
            "keys and values of strata are spelt as a survey's name",
        )
        must(len(set(values)) == len(values), "a key of strata has a value twice")
    must(math.prod(map(len, strata.values())) <= 8, "there are at most 8 strata")


def stratum_in(query, strata):
    """Returns the stratum that a link names; other parameters are ignored."""
    given = parse_qsl(query, keep_blank_values=True)
    stratum = {}
    for key, values in strata.items():
        said = [value for name, value in given if name == key]
        must(len(said) == 1 and said[0] in values, f"the link must say {key}, one of {values}")
        stratum[key] = said[0]
    return stratum


# --- 5: the report -------------------------------------------------------------------------


def make_report(survey, questions, answers, stratum):
    # All answers are checked before the first draw.
    answered = []
    for question in questions:
        names = [choice["name"] for choice in question["choices"]]
        must(answers.get(question["name"]) in names, f"{question['name']} is answered by {names}")
        answered.append(names.index(answers[question["name"]]))
    values = {
        question["name"]: subset_selection(question["mechanism"], answer)
        for question, answer in zip(questions, answered, strict=True)
    }
    report = {"survey": digest(survey), "id": secrets.token_hex(16), "values": values}
    return canonical(report | ({"strata": stratum} if stratum else {}))


# --- 14: sealed for a mixer -----------------------------------------------------------------


HPKE = Suite(KEM.P256, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


def envelope_key(text):
    must(type(text) is str and re.fullmatch("04[0-9a-f]{128}", text), "65 bytes, the first is 4")
    try:
        return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), bytes.fromhex(text))
    except ValueError:
        raise Refused("a key of envelopes is no point of P-256") from None


def seal(key, info, text, length):
    padded = (len(text).to_bytes(2, "big") + text).ljust(length, b"\0")
    return HPKE.encrypt(padded, envelope_key(key), f"deniably {info}\n".encode())


def seal_report(survey, report):
    """Returns what the memory keeps of a report: an envelope, and the hashes of those in it."""
    mixer, version, whole = survey["mixer"], digest(survey), parse(report)
    inner = []
    for place, question in enumerate(survey["questions"]):
        # Nothing must show that two of these are one person's, so each has an id of its own.
        name, drawn = question["name"], secrets.token_hex(16) if place else whole["id"]
        apart = whole | {"id": drawn, "values": {name: whole["values"][name]}}
        text = canonical(apart).encode()
        inner.append(seal(mixer["open"], f"report 1\n{version}", text, mixer["length"]))
    text = b" " * 18 + b"".join(inner)  # no invitation
    outer = seal(mixer["key"], f"mix 1\n{version}", text, len(text) + 2)
    hashes = sorted(hashlib.sha256(each).hexdigest() for each in inner)
    return {"inner": hashes, "sealed": outer.hex(), "sent": False}


def check_statement(survey, statement):
    """Refuses unless the mixer of the survey says, signed, that it takes envelopes."""
    exactly(statement, {"by", "invitations", "senders", "signature", "survey", "until"})
    unsigned = {key: value for key, value in statement.items() if key != "signature"}
    message = f"deniably mixer 1\n{canonical(unsigned)}".encode()
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(survey["mixer"]["signing"]))
        public.verify(bytes.fromhex(statement["signature"]), message)
    except (InvalidSignature, TypeError, ValueError):
        raise Refused("the mixer's signature is wrong") from None
    same = (statement["survey"], statement["by"]) == (digest(survey), survey["mixer"]["by"])
    must(same, "the mixer speaks of another survey, or in another name")
    must(statement["invitations"] == 0, "this device takes no invitations")


def arrived(api, kept):
    """Returns how many of the envelopes of this device the survey's server lists; None where it
    has no list yet."""
    status, _, received = ask(f"{api}/mixed/envelopes")
    if status == 404:
        return None
    must(status == 200 and len(received) % 32 == 0, "the server's list cannot be read")
    hashes = {received[at : at + 32].hex() for at in range(0, len(received), 32)}
    return sum(each in hashes for each in kept["inner"])


# --- 6: the way to the server ---------------------------------------------------------------


def ask(url, body=None):
    """Returns status, headers and body of a request that reveals nothing about its owner.

    The status is 0 where the server gave no answer.
    """
    kind = "application/json" if body and body.startswith(b"{") else "application/octet-stream"
    headers = {"User-Agent": "device"} | ({"Content-Type": kind} if body else {})
    request = urllib.request.Request(url, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.headers, bounded(response)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, bounded(error)
    except (OSError, http.client.HTTPException):
        return 0, {}, b""


def bounded(response):
    """Returns the body: at most 64 MiB, as a register has (10), and within ten minutes."""
    found, until = bytearray(), time.monotonic() + 600
    while piece := response.read1(65536):
        found += piece
        must(len(found) <= 64 << 20, "the server sends more than 64 MiB")
        must(time.monotonic() < until, "the server sends too slowly")
    if response.length:
        raise http.client.IncompleteRead(bytes(found), response.length)
    return bytes(found)


def fetch(url):
    status, headers, body = ask(url)
    must(status == 200, f"{url} answers with status {status}")
    return headers, parse(body)


def send(url, body):
    """Sends the same bytes until the server has stored them."""
    for tries in range(6):
        status, _, answer = ask(url, body)
        if status in (200, 201):
            return
        # Status 0 is no answer at all. After any other 4xx nothing is sent again (6).
        if status and status != 429 and status < 500:
            raise Refused(str(parse(answer).get("detail")))
        # Doubled and jittered, so that many devices do not come back at once.
        time.sleep(0.5 * 2**tries * (1 + secrets.randbelow(100) / 100))
    raise Refused("the server cannot be reached; run this again later to send the same report")


# --- 7: the memory, encrypted -----------------------------------------------------------------


class Memory:
    """The document in FOLDER. One process holds it at a time; every change is atomic."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.file, self.key_file = folder / "memory", folder / "key"
        self.lock = open(folder / "lock", "w")
        # Two processes at once would each spend what the other has not counted.
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        must(self.file.exists() == self.key_file.exists(), f"the memory is damaged: see {folder}")
        if not self.file.exists():
            self.document = {key: {} for key in ("authors", "memos", "registers", "reports")}
            self.document |= {"ledger": [], "spec": 1}
            self.key_file.touch(0o600)
            self.key_file.write_bytes(secrets.token_bytes(32))
            self.keep()
        try:
            sealed = self.file.read_bytes()
            opened = AESGCM(self.key_file.read_bytes()).decrypt(sealed[:12], sealed[12:], None)
        except (InvalidTag, ValueError):
            raise Refused(
                f"the memory is damaged: what was spent is unknown; see {folder}"
            ) from None
        self.document = parse(opened)

    def keep(self):
        nonce = secrets.token_bytes(12)
        plain = canonical(self.document).encode()
        sealed = nonce + AESGCM(self.key_file.read_bytes()).encrypt(nonce, plain, None)
        # Renamed over the old file once it is on the disk: a crash leaves one of the two, whole.
        new = self.file.with_suffix(".new")
        with open(new, "wb") as file:
            file.write(sealed)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.file)


# --- 8: the ledger ----------------------------------------------------------------------------


def is_date(text):
    try:
        return "1000" <= text < "3000" and str(datetime.date.fromisoformat(text)) == text
    except (TypeError, ValueError):
        return False


def day_seen(document, author=None):
    """Returns the day seen (8.1): the earliest last day of the registers that have this author, or
    of all; None if one is not known."""
    origins = [o for o, keys in document["authors"].items() if author is None or author in keys]
    days = [document["registers"].get(origin, {}).get("day") for origin in origins]
    return min(days) if days and None not in days else None


def first_that_counts(today, seen):
    """Returns the first of the 365 days that count; the empty text where every day counts."""
    if seen is None:
        return ""
    return str(datetime.date.fromisoformat(min(today, seen)) - datetime.timedelta(days=364))


def spending(document, survey, questions, author, today):
    """Returns the ledger's new entries for these questions. Refuses where they would exceed a
    limit."""
    ledger, seen = document["ledger"], day_seen(document, author)
    since = {"version": "", "author": first_that_counts(today, seen)}
    since["overall"] = first_that_counts(today, day_seen(document))
    version, day = digest(survey), max(today, seen or "")
    same = {"author": author, "day": day, "survey": survey["name"], "version": version}
    same |= {"delta": "0", "exponent": "0"}
    asked = [
        same | {"question": question["name"], "odds": str(odds_of(question))}
        for question in questions
    ]
    if "mixer" in survey:
        epsilon, delta = claim_of(survey["mixer"])
        for entry in asked:  # a claim is for the whole survey: it stands in one entry
            own = {"epsilon": str(epsilon), "delta": str(delta)}
            entry["mixed"] = own | {"mixer": survey["mixer"]["signing"]}
            epsilon = delta = 0
    mixed = any("mixed" in entry for entry in [*ledger, *asked])
    here = {"version": version, "author": author, "overall": None}
    for limits in (LIMITS, TOGETHER) if mixed else (LIMITS,):
        for scope, limit in limits.items():
            odds, exponent, delta = Fraction(1), Fraction(0), Fraction(0)
            for entry in [*ledger, *asked]:
                must(entry["exponent"] == entry["delta"] == "0", "an entry of another device")
                mine = scope == "overall" or entry[scope] == here[scope]
                if not mine or entry["day"] < since[scope]:
                    continue
                if "mixed" in entry and limits is LIMITS:
                    exponent += Fraction(entry["mixed"]["epsilon"])
                    delta += Fraction(entry["mixed"]["delta"])
                else:
                    odds *= Fraction(entry["odds"])
            # odds * e^exponent <= e^limit
            fits = exponent <= limit and odds <= exp_low(limit - exponent)
            fits = fits and ("mixer" not in survey or delta <= Fraction(1, 1000))
            whom = "" if limits is LIMITS else ", if mixers work together with servers"
            must(fits, f"this would exceed the limit of epsilon {limit} ({scope}{whom})")
    return asked


# --- 4.7: a part of the questions ---------------------------------------------------------------


def questions_left(memory, survey, author, today):
    """Returns the questions that the limits leave room for: all, or a part drawn by chance.

    The order is kept before anything of it is shown, and never drawn again.
    """
    document, questions, version = memory.document, survey["questions"], digest(survey)
    orders = document.get("orders", {})
    if version not in orders:
        try:
            spending(document, survey, questions, author, today)
            return questions
        except Refused:
            if "part" not in survey:
                raise
        order = pick(len(questions), len(questions))
        document["orders"] = orders | {version: [questions[index]["name"] for index in order]}
        memory.keep()
    taken = []
    for name in document["orders"][version]:
        (question,) = (one for one in questions if one["name"] == name)
        try:
            spending(document, survey, [*taken, question], author, today)
            taken.append(question)
        except Refused as why:
            refused = why
    if not taken:
        raise refused
    return [question for question in questions if question in taken]


# --- 9: the author's signature ----------------------------------------------------------------


def fingerprint(key):
    found = hashlib.sha256(key.encode()).hexdigest()[:32]
    return " ".join(found[i : i + 4] for i in range(0, 32, 4))


def check_signature(key, version, signature):
    must(re.fullmatch("[0-9a-f]{64}", key), "an author's key has 64 hexadecimal digits")
    must(re.fullmatch("[0-9a-f]{128}", signature), "a signature has 128 hexadecimal digits")
    message = f"deniably survey 1\n{version}\n".encode()
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        raise Refused("the author's signature is wrong") from None


# --- 10: the register -------------------------------------------------------------------------


def epsilon_text(odds):
    # Floats begin a little too low; the loop then decides exactly.
    h = max(1, math.floor(100 * (math.log(odds.numerator) - math.log(odds.denominator))) - 1)
    while odds > exp_low(Fraction(h, 100)):
        h += 1
    return f"{h // 100}.{h % 100:02}"


def check_register(register, survey, seen):
    """Checks the register's chain and that it continues what was seen; returns the survey's
    entry."""
    exactly(register, {"entries", "head"})
    hashes = ["0" * 64]
    for number, entry in enumerate(register["entries"], start=1):
        must(entry["number"] == number and entry["previous"] == hashes[-1], "the chain is broken")
        hashes.append(digest(entry))
    must(register["head"] == hashes[-1], "the head is not that of the register")
    # The hash at the number that was seen before; none where the register has become shorter.
    must(hashes[seen["count"] :][:1] == [seen["head"]], "the register was written anew")
    found = [
        entry
        for entry in register["entries"]
        if entry["event"] == "published" and entry["survey"] == survey["name"]
    ]
    must(len(found) == 1, "the survey is not in the register once")
    total = Fraction(1)
    for question in survey["questions"]:
        total *= odds_of(question)
    expected = {
        "event": "published", "survey": survey["name"], "digest": digest(survey),
        "epsilon": epsilon_text(total), "delta": "0",
        "questions": [
            {"name": question["name"], "mechanism": question["mechanism"]["name"],
             "epsilon": epsilon_text(odds_of(question))}
            for question in survey["questions"]
        ],
    }  # fmt: skip
    if "mixer" in survey:
        expected |= {"mixed": survey["mixer"]["claim"], "mixer": survey["mixer"]["signing"]}
    entry = found[0]
    exactly(entry, {*expected, "number", "previous", "day", "author", "signature"})
    must(expected.items() <= entry.items(), "the register says something else about the survey")
    check_signature(entry["author"], entry["digest"], entry["signature"])
    return entry


# --- all of it ----------------------------------------------------------------------------------


def answer(url, folder, answers, accept=lambda known, new: False, tell=print):
    """Answers a survey, or sends the stored report again. Returns the digest of the sent report.

    ``accept(known, new)`` gets fingerprints where the author is not one of those known here.
    ``tell`` gets a sentence with the stratum, before a report is made.
    """
    parts = urlsplit(url)
    place = re.fullmatch(r"(.*)/s/([a-z0-9-]+)", parts.path)
    must(parts.scheme in ("http", "https") and place, "an address looks like https://host/s/name")
    origin = f"{parts.scheme}://{parts.netloc}"
    api = f"{origin}{place[1]}/api/surveys/{place[2]}"
    headers, survey = fetch(api)
    check_definition(survey)
    version = digest(survey)
    # The tag is weak, W/"...", where the response is compressed (6).
    must(version in headers["ETag"], "this is not the version that the server says it is")
    must(survey["name"] == place[2], "this is another survey")
    closed = headers["Deniably-State"] != "open"
    must(not closed or "mixer" in survey, "the survey is closed")
    _, register = fetch(f"{origin}{place[1]}/register")

    memory = Memory(folder)
    document = memory.document
    seen = document["registers"].get(origin, {"count": 0, "head": "0" * 64})
    entry = check_register(register, survey, seen)
    known = document["authors"].setdefault(origin, [])
    if entry["author"] not in known:
        new = fingerprint(entry["author"])
        must(not known or accept([fingerprint(key) for key in known], new), f"new author: {new}")
        known.append(entry["author"])
    day = register["entries"][-1].get("day")
    document["registers"][origin] = {
        "count": len(register["entries"]), "head": register["head"],
        **({"day": day} if is_date(day) else {}),
    }  # fmt: skip

    made = document["reports"].get(version)  # of the first link, whichever is opened now
    mixer = survey.get("mixer")
    if mixer and made and (count := arrived(api, made)) is not None:
        tell(f"{count} of {len(made['inner'])} sealed answers have arrived at the server.")
        return hashlib.sha256(bytes.fromhex(made["sealed"])).hexdigest()
    must(not closed, "the survey is closed")
    stratum = (
        parse(made.get("text", "{}")).get("strata", {})
        if made
        else stratum_in(parts.query, survey.get("strata", {}))
    )
    if stratum:
        group = ", ".join(f"{key} {value}" for key, value in sorted(stratum.items()))
        tell(f"Your group is sent as it is: {group}.")
    if not made and mixer:
        tell(f"The sealed answers go to {mixer['by']}, which cannot open them.")
        _, statement = fetch(f"{mixer['address']}/mix/{version}")
        check_statement(survey, statement)
    if not made:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        asked = questions_left(memory, survey, entry["author"], today)
        if len(asked) < len(survey["questions"]):
            names = ", ".join(question["name"] for question in asked)
            tell(
                "This device has given away most of what its limits permit. It can answer"
                f" {len(asked)} of {len(survey['questions'])} questions, drawn by chance: {names}."
                " Whoever sees the shorter report learns that less was left."
            )
        text = make_report(survey, asked, answers, stratum)
        document["ledger"] += spending(document, survey, asked, entry["author"], today)
        # An order leaves the memory with the report (4.7); the key is never empty (7).
        orders = document.pop("orders", {})
        orders.pop(version, None)
        document |= {"orders": orders} if orders else {}
        kept = seal_report(survey, text) if mixer else {"sent": False, "text": text}
        document["reports"][version] = kept
    memory.keep()  # the report and its charge, before anything is sent
    report = document["reports"][version]
    body = bytes.fromhex(report["sealed"]) if mixer else report["text"].encode()
    send(f"{mixer['address']}/mix/{version}" if mixer else f"{api}/reports", body)
    report["sent"] = True
    memory.keep()
    return hashlib.sha256(body).hexdigest()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("Usage: device.py ADDRESS FOLDER NAME=CHOICE ..., as in its first lines")
    address, keep, *given = sys.argv[1:]
    try:
        must(all("=" in pair for pair in given), "answers look like stolen=yes")
        receipt = answer(address, Path(keep), dict(pair.split("=", 1) for pair in given))
    except Refused as why:
        sys.exit(f"Not answered: {why}")
    except (AttributeError, IndexError, KeyError, TypeError):
        sys.exit("Not answered: the server sent something else than the specification says")
    print(f"Sent. Digest of what was sent: {receipt}")
