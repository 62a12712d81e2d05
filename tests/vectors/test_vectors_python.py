"""The shipped Python does what the shared vectors say, byte for byte."""

import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import log, nextafter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.bindings._rust import openssl
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from deniably.core.canonical import canonical, digest, parse
from deniably.core.coins import Coins
from deniably.core.errors import (
    AuthorChanged,
    BadAnswer,
    BadEnvelope,
    BadInvitation,
    BadKey,
    BadLink,
    BadMechanism,
    BadMemory,
    BadReport,
    BadSignature,
    BadSurvey,
    BudgetSpent,
    Refused,
    WavesSent,
)
from deniably.core.loss import Loss
from deniably.design.blanks import HiddenPair, blanks_law, mixed_delta
from deniably.device.ledger import Account, Limits, accounts, charge, spent
from deniably.device.memory import (
    Memory,
    RegisterCheckpoint,
    charge_day,
    charges,
    counted_since,
    fresh_questions,
    read_memory,
    rounds,
    stratum_of,
)
from deniably.device.question_subset import part_of
from deniably.device.verify_listing import (
    VerifiedSurvey,
    verify_in_whole,
    verify_listing,
    what_more,
)
from deniably.estimation.estimate import estimate
from deniably.estimation.tally import Tally
from deniably.mechanisms import Mechanism, Memoised
from deniably.mechanisms.memoised import Family
from deniably.mechanisms.noise import discrete_gaussian, discrete_laplace, fall
from deniably.mechanisms.subset_selection import SubsetSelection, best_omega
from deniably.reference import envelopes as reference_envelopes
from deniably.survey.parts import Claim
from deniably.survey.report import is_shown, randomise_answers, read_report
from deniably.survey.strata import stratum_in
from deniably.survey.survey import read_survey
from deniably.trust import blind_rsa
from deniably.trust.batch import batch_of
from deniably.trust.blind_rsa import PublicKey
from deniably.trust.envelope import (
    OpeningKey,
    inner_size,
    open_inner,
    open_outer,
    outer_size,
    seal_inner,
    seal_outer,
)
from deniably.trust.invitation_codes import read_code
from deniably.trust.mixer_statement import read_statement
from deniably.trust.signing import Signature, key_of, verify
from support.exact_laws import distribution
from support.keys import blind_key_of
from support.report_sets import check_report_set

VECTORS = Path(__file__).parents[2] / "shared/vectors"

Case = dict[str, Any]


def cases(name: str) -> list[tuple[Case, Case]]:
    """The cases of one file as (group, case); asserts that none has gone missing."""
    file = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    found = [(group, case) for group in file["groups"] for case in group["tests"]]
    assert file["spec"] == 1
    assert len(found) == file["numberOfTests"] > 0
    return found


def every_case(name: str) -> Callable[[Callable[[Case, Case], None]], Callable[[], None]]:
    """Make a check of one case the test of a whole file. A failure names every case that fails."""

    def over_all(check: Callable[[Case, Case], None]) -> Callable[[], None]:
        def test() -> None:
            failing: dict[int, BaseException] = {}
            for group, case in cases(name):
                try:
                    check(group, case)
                except (Exception, pytest.fail.Exception) as error:
                    failing[case["id"]] = error
            if failing:
                first = next(iter(failing.values()))
                raise AssertionError(f"cases {list(failing)} of {name}.json fail") from first

        return test

    return over_all


def tape(data: bytes) -> tuple[Coins, Callable[[], int]]:
    """Coins that read ``data``, and how many bytes they have taken."""
    position = 0

    def take(count: int) -> bytes:
        nonlocal position
        position += count
        assert position <= len(data), "more bytes are taken than the specification allows"
        return data[position - count : position]

    return Coins(take), lambda: position


def mechanism(parameters: Case) -> SubsetSelection:
    return SubsetSelection(*(int(parameters[key]) for key in ("k", "omega", "own", "other")))


@every_case("coins")
def test_coins(group: Case, case: Case) -> None:
    coins, taken = tape(bytes.fromhex(case["bytes"]))
    draws: dict[str, Callable[[], object]] = {
        "below": lambda: str(coins.below(int(case["bound"]))),
        "choose": lambda: coins.choose([int(weight) for weight in case["weights"]]),
        "pick": lambda: coins.pick(case["n"], case["size"]),
    }
    draw = draws[group["type"]]

    if case["result"] == "invalid":
        with pytest.raises(ValueError, match=r"draw|choose|pick"):
            draw()
    else:
        assert draw() == case["index" if group["type"] == "choose" else "value"]
    assert taken() == case["consumed"]


@every_case("subset_selection")
def test_subset_selection(group: Case, case: Case) -> None:
    if group["type"] == "parameters":
        check_parameters(case)
        return
    if group["type"] == "check":
        check_report(mechanism(group["parameters"]), case)
        return
    m = mechanism(group["parameters"])
    coins, taken = tape(bytes.fromhex(case["bytes"]))
    if case["result"] == "invalid":
        with pytest.raises(BadAnswer):
            m.randomise(case["answer"], coins)
    else:
        assert m.randomise(case["answer"], coins) == tuple(case["report"])
        assert (m.odds, m.p, m.q) == tuple(Fraction(group[key]) for key in ("odds", "p", "q"))
    assert taken() == case["consumed"]


def check_parameters(case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(BadMechanism):
            mechanism(case)
    else:
        mechanism(case)


def check_report(m: SubsetSelection, case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(BadReport):
            m.check(case["report"])
    else:
        m.check(case["report"])


@every_case("channels")
def test_channels(group: Case, case: Case) -> None:
    m = mechanism(case)

    for answer, law in enumerate(case["channel"]):
        walked = distribution(lambda coins, answer=answer: m.randomise(answer, coins))
        assert {",".join(map(str, report)): str(pr) for report, pr in walked.items()} == law
    assert (str(m.p), str(m.q), str(m.odds)) == (case["p"], case["q"], group["odds"])


@every_case("mechanisms")
def test_mechanisms(group: Case, case: Case) -> None:
    MECHANISM_TESTS[group["type"]](group, case)


def any_mechanism(parameters: object) -> Any:
    found = msgspec.convert(parameters, Mechanism, strict=True)
    if canonical(msgspec.to_builtins(found)) != canonical(parameters):
        raise BadMechanism("a key is missing")
    return found


def as_answer(answer: object) -> Any:
    return tuple(answer) if isinstance(answer, list) else answer


def loss_texts(loss: Loss) -> dict[str, str]:
    return {"odds": str(loss.odds), "exponent": str(loss.exponent), "delta": str(loss.delta)}


def a_report(group: Case, case: Case) -> None:
    m = any_mechanism(group["mechanism"])
    coins, taken = tape(bytes.fromhex(case["bytes"]))
    assert loss_texts(m.loss) == group["loss"]
    if case["result"] == "invalid":
        with pytest.raises(BadAnswer):
            m.randomise(as_answer(case["answer"]), coins)
    else:
        report = m.randomise(as_answer(case["answer"]), coins)
        assert list(report) == case["report"]
        m.check(report)
    assert taken() == case["consumed"]


def some_parameters(_: Case, case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(ValueError, match=r"\w"):
            any_mechanism(case["mechanism"])
    else:
        any_mechanism(case["mechanism"])


def a_check(group: Case, case: Case) -> None:
    m = any_mechanism(group["mechanism"])
    if case["result"] == "invalid":
        with pytest.raises(BadReport):
            m.check(case["report"])
    else:
        m.check(case["report"])


def a_channel(group: Case, case: Case) -> None:
    m = any_mechanism(group["mechanism"])
    walked = distribution(lambda coins: m.randomise(as_answer(case["answer"]), coins))
    assert {",".join(map(str, report)): str(pr) for report, pr in walked.items()} == case["law"]


def some_noise(group: Case, case: Case) -> None:
    coins, taken = tape(bytes.fromhex(case["bytes"]))
    n = {key: int(group[key]) for key in ("n", "d", "t", "s", "p", "q") if key in group}
    samplers: dict[str, Callable[[], int]] = {
        "chance": lambda: coins.chance(n["n"], n["d"]),
        "fall": lambda: fall(Fraction(n["n"], n["d"]), coins),
        "laplace": lambda: discrete_laplace(Fraction(n["t"], n["s"]), coins),
        "gaussian": lambda: discrete_gaussian(Fraction(n["p"], n["q"]), coins),
    }
    assert samplers[group["sampler"]]() == case["value"]
    assert taken() == case["consumed"]


MECHANISM_TESTS = {
    "report": a_report,
    "parameters": some_parameters,
    "check": a_check,
    "channel": a_channel,
    "noise": some_noise,
}


@every_case("answers")
def test_answers(group: Case, case: Case) -> None:
    survey = read_survey(group["definition"])

    def settled() -> tuple[list[str], dict[str, object]]:
        hidden: set[str] = set()
        inputs: dict[str, object] = {}
        for question in survey.questions:
            if is_shown(question, case["answers"], hidden):
                if question.name not in case["answers"]:
                    raise BadAnswer("missing")
                inputs[question.name] = question.encode(case["answers"][question.name])
            else:
                hidden.add(question.name)
                several = question.type == "select_multiple"
                inputs[question.name] = question.encode(
                    ["not_applicable"] if several else "not_applicable"
                )
        return [question.name for question in survey.questions if question.name in hidden], inputs

    if case["result"] == "invalid":
        with pytest.raises(BadAnswer):
            randomise_answers(survey, case["answers"])
    else:
        hidden, inputs = settled()
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in inputs.items()}
        assert (hidden, plain) == (case["hidden"], case["inputs"])
        randomise_answers(survey, case["answers"]).check(survey)


@every_case("totals")
def test_totals(group: Case, case: Case) -> None:
    total = loss_texts(read_survey(case["definition"]).total)

    assert total == {key: case[key] for key in ("odds", "exponent", "delta")}


@every_case("signatures")
def test_signatures(group: Case, case: Case) -> None:
    if group["type"] == "point":
        return  # the library that verifies for Python shows none
    if group["type"] == "ed25519":
        key, signature, message = (
            bytes.fromhex(case[part]) for part in ("key", "signature", "message")
        )
        if case["result"] == "invalid":
            with pytest.raises((InvalidSignature, ValueError)):
                Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        else:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        return
    signature = Signature(case["author"], case["signature"])
    if case["result"] == "invalid":
        with pytest.raises(BadSignature):
            verify(case["digest"], signature)
    else:
        verify(case["digest"], signature)
        assert signature.fingerprint == case["fingerprint"]


@every_case("registers")
def test_registers(group: Case, case: Case) -> None:
    origin = "https://example.org"
    memory = Memory(
        authors={origin: case["known"]}, registers={origin: RegisterCheckpoint(**case["seen"])}
    )
    given = (memory, origin, read_survey(group["definition"]))
    register = json.dumps(case["document"]).encode()

    def met() -> tuple[Memory, VerifiedSurvey]:
        return verify_in_whole(*given, register, case.get("accepted"))

    if case["result"] == "invalid":
        with pytest.raises(Refused) as refused:
            met()
        # A fingerprint that is accepted is also kept to: then another author is just refused.
        named = case.get("other_author", False) and "accepted" not in case
        assert isinstance(refused.value, AuthorChanged) == named
    else:
        after, found = met()
        assert (found.author, found.seal) == (case["author"], case["head"])
        assert found.invitations == case.get("invitations")
        assert after.registers[origin] == RegisterCheckpoint(
            len(case["document"]["entries"]), case["head"], case.get("day", msgspec.UNSET)
        )
        assert case["author"] in after.authors[origin]


@every_case("listings")
def test_listings(group: Case, case: Case) -> None:
    origin = "https://example.org"
    seen = {origin: RegisterCheckpoint(**case["seen"])} if "seen" in case else {}
    memory = Memory(authors={origin: case["known"]}, registers=seen)
    survey = read_survey(group["definition"])
    listing = json.dumps(case["document"]).encode()
    more = {path: json.dumps(document).encode() for path, document in case["more"].items()}

    def met() -> tuple[Memory, VerifiedSurvey]:
        what_more(memory, origin, listing)
        return verify_listing(memory, origin, survey, listing, case.get("accepted"), more)

    if case["result"] == "invalid":
        with pytest.raises(Refused) as refused:
            met()
        named = case.get("other_author", False) and "accepted" not in case
        assert isinstance(refused.value, AuthorChanged) == named
    else:
        after, found = met()
        assert (found.author, found.seal) == (case["author"], case["seal"])
        assert found.invitations == case.get("invitations")
        assert (what_more(memory, origin, listing) or "") == case["asked"]
        assert msgspec.to_builtins(after.registers[origin]) == case["document"]["head"]
        assert case["author"] in after.authors[origin]


@every_case("blind_rsa")
def test_blind_rsa(group: Case, case: Case) -> None:
    run = BLIND[group["type"]]
    if case["result"] == "invalid":
        with pytest.raises((BadSignature, BadKey)):
            run(case)
    else:
        found = run(case)
        assert found == {key: case[key] for key in found}


def blinded(case: Case) -> Case:
    message, salt, inverse = bytes.fromhex(case["message"]), case["salt"], case["inverse"]
    key = PublicKey(case["key"])
    found, _ = blind_rsa.blind(key, message, bytes.fromhex(salt), int(inverse, 16))
    return {"blinded": found.hex()}


def signed_blindly(case: Case) -> Case:
    key = blind_key_of(int(case["p"], 16), int(case["q"], 16))
    if not re.fullmatch("([0-9a-f]{2})*", case["blinded"]):
        raise BadSignature("what is read from a request")
    return {"blind_signature": key.sign(bytes.fromhex(case["blinded"])).hex()}


def finalised(case: Case) -> Case:
    found = blind_rsa.finalise(
        PublicKey(case["key"]),
        *(bytes.fromhex(case[part]) for part in ("message", "blind_signature")),
        int(case["inverse"], 16),
        case["salt_length"],
    )
    return {"signature": found.hex()}


def verified(case: Case) -> Case:
    if not re.fullmatch("[0-9a-f]*", case["signature"]):
        raise BadSignature("what is read from a request")
    message, signature = (bytes.fromhex(case[part]) for part in ("message", "signature"))
    PublicKey(case["key"]).verify(message, signature, case["salt_length"])
    return {}


def read_modulus(case: Case) -> Case:
    if not isinstance(case["key"], str):
        raise BadKey("what is read from a register")
    return {"key": PublicKey(case["key"]).text}


BLIND: dict[str, Callable[[Case], Case]] = {
    "blind": blinded,
    "sign": signed_blindly,
    "finalise": finalised,
    "verify": verified,
    "key": read_modulus,
}


@every_case("codes")
def test_codes(group: Case, case: Case) -> None:
    assert group["type"] == "code"
    if case["result"] == "invalid":
        with pytest.raises(BadInvitation):
            read_code(case["text"])
    else:
        assert read_code(case["text"]) == case["code"]


@every_case("envelopes")
def test_envelopes(group: Case, case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises((BadEnvelope, BadKey)):
            ENVELOPES[group["type"]](case)
    else:
        ENVELOPES[group["type"]](case)


def opening_key(secret: str) -> OpeningKey:
    return OpeningKey(ec.derive_private_key(int(secret, 16), ec.SECP256R1()))


def a_setup(case: Case) -> None:
    """What is published has an aad, which the library takes by a private name alone. All else seals
    with a key of its own, so it is opened by the reference in ``an_inner``."""
    if case["result"] == "invalid":
        seal_inner(case["receiver"], "0" * 64, b"", 2)
    elif "aad" in case:
        plain = openssl.hpke._decrypt_with_aad(
            SUITE,
            bytes.fromhex(case["enc"] + case["sealed"]),
            opening_key(case["secret"])._secret,
            bytes.fromhex(case["info"]),
            bytes.fromhex(case["aad"]),
        )
        assert plain.hex() == case["plain"]
    else:
        assert seal_inner(case["receiver"], "0" * 64, b"", 2)


def an_inner(case: Case) -> None:
    key, text = opening_key(case["secret"]), (case["text"]["part"] * case["text"]["times"]).encode()
    digest, length = case["digest"], case["length"]
    own = seal_inner(case["receiver"], digest, text, length)
    assert key.public == case["receiver"]
    assert len(own) == inner_size(length)
    assert open_inner(key, digest, own, length) == text
    if length < 1000:
        assert open_inner(key, digest, bytes.fromhex(case["sealed"]), length) == text
        opened = reference_envelopes.open_inner(int(case["secret"], 16), digest, own, length)
        assert opened == text


def an_opened_inner(case: Case) -> None:
    sealed = bytes.fromhex(case["sealed"])
    opened = open_inner(opening_key(case["secret"]), case["digest"], sealed, case["length"])
    assert opened.decode() == case["text"]


def an_outer(case: Case) -> None:
    inner = [bytes.fromhex(each) for each in case["inner"]] * case["times"]
    key, digest, length = opening_key(case["secret"]), case["digest"], case["length"]
    own = seal_outer(case["receiver"], digest, inner, case["code"])
    assert len(own) == outer_size(length, len(inner))
    some = [own] if case["times"] > 1 else [own, bytes.fromhex(case["sealed"])]
    for sealed in some:
        opened = open_outer(key, digest, sealed, length, len(inner))
        assert (opened.code, list(opened.inner)) == (case["code"], inner)


def an_opened_outer(case: Case) -> None:
    sealed, key = bytes.fromhex(case["sealed"]), opening_key(case["secret"])
    opened = open_outer(key, case["digest"], sealed, case["length"], case["questions"])
    assert opened.code == case["code"]
    assert [each.hex() for each in opened.inner] == case["inner"]


@every_case("mixing")
def test_what_a_mixer_signs(group: Case, case: Case) -> None:
    if group["type"] == "batch":
        key, envelopes = key_of(bytes.fromhex(case["seed"])), map(bytes.fromhex, case["envelopes"])
        sizes = {"blanks": case["blanks"], "senders": case["senders"]}
        batch = batch_of(case["survey"], envelopes, key=key, **sizes)
        assert batch.envelopes.hex() == case["body"]
        assert batch.manifest.canonical.decode() == case["manifest"]
        assert batch.signature == case["signature"]
        batch.check(case["key"])
    elif case["result"] == "invalid":
        with pytest.raises(BadSignature):
            read_statement(case["text"].encode(), case["key"])
    else:
        statement = read_statement(case["text"].encode(), case["key"])
        members = msgspec.to_builtins(statement)
        assert members.pop("signature") == json.loads(case["text"])["signature"]
        assert members == case["members"]


SUITE = Suite(KEM.P256, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
ENVELOPES: dict[str, Callable[[Case], None]] = {
    "setup": a_setup,
    "inner": an_inner,
    "open_inner": an_opened_inner,
    "outer": an_outer,
    "open_outer": an_opened_outer,
}


@every_case("ledger")
def test_the_ledger(group: Case, case: Case) -> None:
    if group["type"] == "document":
        check_document(case)
    elif group["type"] == "part":
        survey, memory = read_survey(group["definition"]), read_memory(case["document"].encode())
        found = part_of(memory, survey, case["author"], case["day"], Limits.of(**case["limits"]))
        assert [question.name for question in found] == case["part"]
    elif case["result"] == "valid":
        wanted = ("fresh", "entries", "before", "after", "together", "waves")
        assert charged(group, case) == {key: case[key] for key in wanted if key in case}
    elif case.get("over"):
        with pytest.raises(WavesSent):
            charged(group, case)
    elif "scope" in case:
        with pytest.raises(BudgetSpent) as refused:
            charged(group, case)
        assert refused.value.scope == case["scope"]
        assert refused.value.together == (case.get("account") == "together")
        assert refused.value.until == case.get("until")
    else:
        with pytest.raises(BadAnswer, match=r"not answered|sealed"):
            charged(group, case)


def check_document(case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(BadMemory):
            read_memory(case["text"].encode())
    else:
        assert read_memory(case["text"].encode()).canonical == case["text"].encode()


def charged(group: Case, case: Case) -> Case:
    survey, memory = read_survey(group["definition"]), read_memory(case["document"].encode())
    drawn = [question for question in survey.questions if question.name in case["drawn"]]
    fresh = fresh_questions(memory, survey, drawn, case["changed"], case["author"])
    waves = rounds(memory, survey, fresh, case["author"])
    call = (memory, case["author"], case["day"])
    entries = charges(survey, fresh, case["author"], charge_day(*call))
    after = charge(memory.ledger, entries, Limits.of(**case["limits"]), counted_since(*call))
    where = (survey.digest, case["author"], counted_since(*call))

    def losses(account: Account) -> Case:
        return {
            name: {k: loss_texts(v) for k, v in spent(ledger, *where, account).items()}
            for name, ledger in (("before", memory.ledger), ("after", after))
        }

    together = "together" in accounts(after)
    return {
        "fresh": [question.name for question in fresh],
        "entries": [msgspec.to_builtins(each) for each in entries],
        **losses("server"),
        **({"together": losses("together")} if together else {}),
        **({"waves": msgspec.to_builtins(waves)} if waves else {}),
    }


def memoised(parameters: object) -> Memoised[Any]:
    """As it stands in a definition: of any memo that some type of question allows."""
    found = msgspec.convert(parameters, Memoised[Family], strict=True)
    if canonical(msgspec.to_builtins(found)) != canonical(parameters):
        raise BadMechanism("a key is missing")
    return found


def a_wave(group: Case, case: Case) -> None:
    m = memoised(group["mechanism"])
    coins, taken = tape(bytes.fromhex(case["bytes"]))
    assert loss_texts(m.loss) == group["loss"]
    assert loss_texts(m.history) == group["history"]

    def sent() -> list[list[int]]:
        memo = case.get("kept")
        memo = m.draw_memo(as_answer(case["answer"]), coins) if memo is None else memo
        return [list(m.report_from_memo(memo, coins)), list(memo)]

    if case["result"] == "invalid":
        with pytest.raises(BadReport if "kept" in case else BadAnswer):
            sent()
    else:
        assert sent() == [case["report"], case["memo"]]
    assert taken() == case["consumed"]


def a_law_of_waves(group: Case, case: Case) -> None:
    m = memoised(group["mechanism"])
    memos = distribution(lambda coins: m.draw_memo(as_answer(case["answer"]), coins))
    found: dict[str, Fraction] = {}
    for memo, share in memos.items():
        for report, pr in distribution(
            lambda coins, one=memo: m.report_from_memo(one, coins)
        ).items():
            key = ",".join(map(str, report))
            found[key] = found.get(key, Fraction(0)) + share * pr
    assert {key: str(pr) for key, pr in found.items()} == case["law"]


def some_memoised_parameters(_: Case, case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(ValueError, match=r"\w"):
            memoised(case["mechanism"])
    else:
        memoised(case["mechanism"])


def a_definition(_: Case, case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(BadSurvey) as refused:
            read_survey(case["text"])
        assert ("free text" in str(refused.value)) == case.get("free_text", False)
    else:
        assert read_survey(case["text"]).digest == case["digest"]


def a_history(_: Case, case: Case) -> None:
    survey = read_survey(case["definition"])
    assert loss_texts(survey.total) == case["total"]
    assert loss_texts(survey.history) == case["history"]


WAVE_TESTS = {
    "report": a_wave,
    "channel": a_law_of_waves,
    "parameters": some_memoised_parameters,
    "valid_definition": a_definition,
    "invalid_definition": a_definition,
    "history": a_history,
}


@every_case("waves")
def test_waves(group: Case, case: Case) -> None:
    WAVE_TESTS[group["type"]](group, case)


def a_link(group: Case, case: Case) -> None:
    survey = read_survey(group["definition"])
    assert isinstance(survey.strata, dict)
    if case["result"] == "invalid":
        with pytest.raises(BadLink) as refused:
            stratum_in(case["query"], survey.strata)
        assert refused.value.key in survey.strata
    else:
        assert stratum_in(case["query"], survey.strata) == case["strata"]


def a_stratum(group: Case, case: Case) -> None:
    survey = read_survey(group["definition"])
    if case["result"] == "invalid":
        with pytest.raises(BadReport):
            read_report(case["text"].encode()).check(survey)
    else:
        report = read_report(case["text"].encode())
        report.check(survey)
        assert report.canonical == case["text"].encode()
        assert survey.stratum_number(report.stratum) == case["number"]


def a_second_link(group: Case, case: Case) -> None:
    memory, survey = read_memory(case["document"].encode()), read_survey(group["definition"])
    if case["result"] == "invalid":
        with pytest.raises(BadLink):
            stratum_of(memory, survey, case["query"])
    else:
        assert stratum_of(memory, survey, case["query"]) == case["strata"]


def a_kept_stratum(_: Case, case: Case) -> None:
    check_document(case)


STRATA_TESTS = {
    "valid_definition": a_definition,
    "invalid_definition": a_definition,
    "link": a_link,
    "report": a_stratum,
    "document": a_kept_stratum,
    "again": a_second_link,
}


@every_case("strata")
def test_strata(group: Case, case: Case) -> None:
    STRATA_TESTS[group["type"]](group, case)


@every_case("report_sets")
def test_report_sets(group: Case, case: Case) -> None:
    check_report_set(group, case)


@every_case("canonical")
def test_canonical_json(group: Case, case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(ValueError, match=r"\w"):
            canonical(parse(case["json"]))
    else:
        value = parse(case["json"])
        assert canonical(value) == case["canonical"].encode()
        assert digest(value) == case["digest"]


@every_case("claims")
def test_claims(group: Case, case: Case) -> None:
    def kept() -> bool:
        claim = msgspec.convert(case["claim"], Claim)
        return claim.covers(Fraction(int(case["own"]), int(case["other"])))

    if "Malformed" in case["flags"] or "Range" in case["flags"]:
        assert case["result"] == "valid" or malformed(kept)
    else:
        assert kept() == (case["result"] == "valid")


def malformed(kept: Callable[[], bool]) -> bool:
    with pytest.raises(ValueError, match=r"\w"):  # msgspec's ValidationError is one
        kept()
    return True


@every_case("omega")
def test_the_best_omega(group: Case, case: Case) -> None:
    assert best_omega(case["k"], Fraction(int(case["own"]), int(case["other"]))) == case["omega"]


@every_case("definitions")
def test_definitions(group: Case, case: Case) -> None:
    a_definition(group, case)


@every_case("estimates")
def test_estimates(group: Case, case: Case) -> None:
    estimated(Tally(case["n"], np.array(case["counts"])), mechanism(group["parameters"]), case)


def estimated(tally: Tally, m: SubsetSelection, case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(ValueError, match="at least one report"):
            estimate(tally, m)
        return

    found = estimate(tally, m)

    exact = [float(Fraction(share)) for share in case["estimate"]]
    np.testing.assert_allclose(found.raw, exact, rtol=1e-12, atol=1e-12)


@every_case("blanks")
def test_blanks(group: Case, case: Case) -> None:
    if group["type"] == "estimate":
        batch = Tally(case["n"], np.array(case["counts"]), blanks=case["blanks"])
        estimated(batch, mechanism(case["parameters"]), case)
    else:
        what_blanks_hide(group, case)


def what_blanks_hide(group: Case, case: Case) -> None:
    pairs = [HiddenPair.of(mechanism(selection)) for selection in case["mechanisms"]]
    laws = [blanks_law(case["blanks"], pair) for pair in pairs]
    found = mixed_delta(laws, nextafter(log(Fraction(case["odds"])), 0))
    if group["type"] == "claim":
        assert (found <= float(case["delta"])) == (case["result"] == "valid")
        return

    exact = Fraction(case["delta"])
    assert exact <= Fraction(found) <= exact * Fraction(1005, 1000) + Fraction(1, 10**12)


def files() -> Iterator[str]:
    return (path.stem for path in VECTORS.glob("*.json"))


def test_no_file_of_vectors_is_left_out() -> None:
    tested = Path(__file__).read_text(encoding="utf-8")

    assert {name for name in files() if f'@every_case("{name}")' not in tested} == set()
