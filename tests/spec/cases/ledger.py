"""The memory and the ledger: the cases of ledger.json."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from deniably.reference.canonical import canonical, digest, parse
from deniably.reference.definition import check_definition
from deniably.reference.ledger import Over, Spent, charge, memo_key, read_document, totals
from deniably.reference.ledger import part as part_left
from deniably.reference.losses import loss_texts
from deniably.reference.refusal import Invalid
from deniably.reference.values import Definition, Json
from spec.cases.mechanisms import laplace, sampled_ticks, vector
from spec.cases.mixers import EIGHT, SIGNING, mixed
from spec.cases.questions import (
    GAUSS,
    LAPLACE,
    MULTIPLE,
    ONE,
    SCALE,
    YES_NO,
    ask,
    changed,
    choices,
    condition,
    number_part,
    survey,
)
from spec.cases.waves import memoised, subset
from spec.vector_types import Case, Made

ANN, BEN = "a1" * 32, "b2" * 32
LIMITS = {"survey": "5", "author": "10", "overall": "20"}
EMPTY = {"spec": 1, "ledger": [], "reports": {}, "memos": {}, "authors": {}, "registers": {}}
NOTES = {
    "Again": "the survey was answered before; the stored report goes out and costs nothing",
    "Changed": "only what changed, and what is shown after it, is asked and charged again",
    "Wave": "a memo is paid for once, with the loss of all waves",
    "Count": "fresh chance in each wave, which is paid for; no more waves than were stated",
    "Limit": "a limit decides; the totals are compared exactly",
    "LongOdds": "the odds have more than 400 digits and are charged rounded up",
    "Year": "of an author and over all, entries count for 365 days of the clock and the registers",
    "Part": "what a device answers where the limits do not leave enough for all",
    "Mixer": "what a survey gives away counts in two accounts, where a mixer is between",
    "LongExponent": "so are exponents: of many parts whose scales have no common divisor",
}

PAIR = survey(YES_NO, ONE, name="pair")
NOISY = survey(LAPLACE, GAUSS, name="noisy")
CHAIN = survey(
    YES_NO, changed(ONE, show_if=condition("a", "yes")),
    changed(SCALE, show_if=condition("b", "x", "y")),
    changed(MULTIPLE, show_if=condition("a", "no")), name="chain",
)  # fmt: skip
SOME = survey(YES_NO, ONE, LAPLACE, GAUSS, name="some", ask=2)
OWN_FIFTH = 5204561480  # floor(2^32 * e^(10/52))
MANY = survey(
    ask(
        "many", "select_multiple", sampled_ticks(52, 52, OWN_FIFTH, 1 << 32), most=52,
        claim={"epsilon": "10"}, choices=choices(*(f"c{i}" for i in range(52))),
    ),
    name="many",
)  # fmt: skip
HISTORY = {"epsilon": "2", "history": {"epsilon": "3"}}
WAVE = survey(
    changed(YES_NO, mechanism=memoised(subset(2, 1, 3), 9, 1), claim=HISTORY),
    changed(ONE, mechanism=memoised(subset(4, 2, 3), 9, 1), claim=HISTORY),
    name="wave-2", waves={"panel": "work"},
)  # fmt: skip
YEARS = survey(YES_NO, ONE, name="years")
PRIMES = [
    n for n in range(10**8 + 1, 10**8 + 1000, 2) if all(n % d for d in range(3, 10**4 + 5, 2))
]
PARTS = survey(
    ask(
        "parts", "vector", vector(51, *(laplace(11, f"{n}/1000") for n in PRIMES[:51])),
        claim={"epsilon": "0.01"}, parts=[number_part(f"p{i}") for i in range(51)],
    ),
    name="parts",
)  # fmt: skip
THRICE = survey(
    YES_NO, changed(ONE, show_if=None), name="thrice-1", waves={"panel": "work", "count": 3}
)
SURVEYS = (PAIR, NOISY, CHAIN, SOME, MANY, PARTS, WAVE, THRICE)


def cases() -> Made:
    groups = [{"type": "document", "tests": [_document(*case) for case in _documents()]}]
    for definition in SURVEYS:
        check_definition(definition)
        tests = [_charge(definition, *case) for case in _charges(definition)]
        groups.append({"type": "charge", "definition": json.dumps(definition), "tests": tests})
    groups.append({"type": "document", "tests": [_document(*case) for case in _register_days()]})
    tests = [_charge(YEARS, comment, ["Year"], *rest) for comment, *rest in _years()]
    groups.append({"type": "charge", "definition": json.dumps(YEARS), "tests": tests})
    groups.append({"type": "document", "tests": [_document(*case) for case in _orders()]})
    for definition in (DIVIDED, DIVIDED_SOME):
        check_definition(definition)
        tests = [_part(definition, *case) for case in _parts(definition)]
        groups.append({"type": "part", "definition": json.dumps(definition), "tests": tests})
    groups += _through_mixers()
    return NOTES, groups


# --- parts ---

_EIGHT = ask("w", "yes_no", subset(2, 1, 8), choices=choices("yes", "no"), claim={"odds": "8"})
_TWO = ask("s", "yes_no", subset(2, 1, 2), choices=choices("yes", "no"), claim={"odds": "2"})
DIVIDED = survey(YES_NO, _EIGHT, GAUSS, LAPLACE, _TWO, name="divided", part=True)
DIVIDED_SOME = survey(YES_NO, _EIGHT, GAUSS, LAPLACE, _TWO, name="divided-2", part=True, ask=3)


def _orders() -> Iterator[tuple[Any, ...]]:
    """(comment, text)"""
    version = digest(PAIR)
    yield "an order of two questions", document(orders={version: ["b", "a"]})
    for comment, names in (
        ("one question", ["a"]), ("none", []), ("a question twice", ["a", "b", "a"]),
        ("what is no name", ["a", "1"]), ("what is no text", ["a", 1]), ("a text", "ab"),
    ):  # fmt: skip
        yield f"an order of {comment}", document(orders={version: names})
    yield "no orders, said so", document(orders={})
    yield "orders that are a list", document(orders=[version])
    yield "an order of no version", document(orders={"pair": ["a", "b"]})
    kept = answered(PAIR, "a", "b")
    yield "an order of what was answered", document(orders={version: ["a", "b"]}, reports=kept)
    yield "an order of another version", document(orders={"f" * 64: ["a", "b"]}, reports=kept)


def _parts(definition: Definition) -> Iterator[tuple[Any, ...]]:
    """(comment, document, changes of the call)"""
    names = [question["name"] for question in definition["questions"]]
    version, size = digest(definition), definition.get("ask", len(names))
    orders = [names[:size], names[::-1][:size], (names * 2)[2 : 2 + size]]
    for order in orders:
        for limit in ("0.5", "1", "2", "3.5", "20"):
            held = EMPTY | {"orders": {version: order}}
            call = {"author": ANN, "limits": {"survey": limit, "author": "10", "overall": "20"}}
            yield f"{limit} of a survey", held, call
        spent_ = [entry(version="9" * 64, odds="99"), entry(version="8" * 64, odds="30")]
        yield "little left of an author", held | {"ledger": spent_}, {"author": ANN}
        of_others = [entry(version="9" * 64, odds="9999", author=BEN)] * 2
        yield "little left over all", held | {"ledger": of_others}, {"author": ANN}
        deltas = [entry(version="9" * 64, delta="1/1000")]
        yield "no delta left", held | {"ledger": deltas}, {"author": ANN}
        old = _held(spent_, {HERE: "2030-01-01"}) | {"orders": {version: order}}
        yield "what was spent no longer counts", old, {"author": ANN, "day": "2030-01-01"}
        spent_ = [entry(version=version, question="w", odds="100")]
        yield "spent in this survey", held | {"ledger": spent_}, {"author": ANN}


def _part(
    definition: Definition, comment: str, held: dict[str, Any], call: dict[str, Any]
) -> dict[str, Any]:
    given = {"author": "", "day": "2026-11-22", "limits": LIMITS} | call
    text = canonical(held)
    case: Case = {"comment": comment, "flags": ["Part"], "document": text} | given
    return case | {"part": part_left(read_document(text), definition, **given), "result": "valid"}


# --- documents ---


def entry(**changes: Any) -> dict[str, Any]:
    found = {"day": "2026-11-21", "author": ANN, "survey": "pair", "version": "0" * 64}
    found |= {"question": "a", "odds": "3", "exponent": "0", "delta": "0"}
    return found | changes


def answered(definition: Definition, *names: Any, sent: bool = True) -> dict[str, Any]:
    """{version: the report that a device keeps}; the values are no concern of the ledger."""
    version = digest(definition)
    report = {"survey": version, "id": "0f" * 16, "values": {name: [0] for name in names}}
    return {version: {"text": canonical(report), "sent": sent}}


def document(**parts: Any) -> str:
    return canonical(EMPTY | parts)


FULL = EMPTY | {
    "ledger": [entry(), entry(author="", odds="13/7", exponent="3/2", delta="1/100000")],
    "reports": answered(PAIR, "a", "b"),
    "memos": {f"{ANN}/panel-1/{'c' * 64}": [1, 2], f"/p/{'d' * 64}": []},
    "authors": {"https://example.org": [ANN, BEN], "http://127.0.0.1:8000": []},
    "registers": {"https://example.org": {"count": 3, "head": "e" * 64}},
}


def _documents() -> Iterator[tuple[Any, ...]]:
    """(comment, text)"""
    yield "nothing yet", document()
    yield "something of everything", canonical(FULL)
    for count, sent in ((2, 1), (2, 2), (100, 100)):
        counted = {f"{ANN}/panel-1/{'c' * 64}": {"count": count, "sent": sent}}
        yield f"{sent} of {count} waves", document(waves=counted)
    yield "a report that was not sent yet", document(reports=answered(PAIR, "a", "b", sent=False))
    yield "no text at all", ""
    yield "another kind of value", "[]"
    yield "white space", " " + document()
    yield "another order of keys", json.dumps(EMPTY, separators=(",", ":"))
    yield "a repeated key", document().replace('"spec":1', '"spec":1,"spec":1')
    yield "a longer document", document() + "}"
    yield "a shorter document", document()[:-1]
    for key in EMPTY:
        yield f"no {key}", canonical({k: v for k, v in EMPTY.items() if k != key})
    yield "a later spec", document(spec=2)
    yield "an unknown key", document(answers={})
    yield "a ledger that is no list", document(ledger={})
    for changes in _wrong_entries():
        yield f"an entry with {json.dumps(changes)[:60]}", document(ledger=[entry(**changes)])
    lacking = {key: value for key, value in entry().items() if key != "delta"}
    yield "an entry without a delta", document(ledger=[lacking])
    for comment, changes in _wrong_invitations():
        yield comment, document(**changes)
    for comment, changes in _wrong_parts():
        yield comment, canonical(copy.deepcopy(FULL) | changes)


def _wrong_invitations() -> Iterator[tuple[Any, ...]]:
    version, id_, prefix, number = "0" * 64, "0f" * 16, "ab" * 32, "c1" * 256
    ticket = {"id": id_, "ticket": prefix + number}
    trade = {"blinded": number, "code": "0" * 18, "id": id_, "inverse": number, "prefix": prefix}
    tickets, trades = {version: ticket}, {version: trade}
    yield "a ticket", {"tickets": tickets}
    yield "a trade", {"trades": trades}
    yield "both", {"tickets": tickets, "trades": {"1" * 64: trade}}
    yield "the longest ticket", {"tickets": {version: ticket | {"ticket": prefix + "c1" * 512}}}
    for name, part, whole in (("tickets", ticket, tickets), ("trades", trade, trades)):
        yield f"{name} of nothing", {name: {}}
        yield f"{name} that are a list", {name: [part]}
        yield f"{name} under no version", {name: {"pair": part}}
        yield f"{name} with more", {name: {version: part | {"person": "Ann"}}}
        yield f"{name} that are none", {name: {version: "x"}}
        assert whole
        for member, text in part.items():
            rest = {key: value for key, value in part.items() if key != member}
            yield f"{name} without {member}", {name: {version: rest}}
            for wrong in (text[:-2], text + "00", text[:-1] + "*", text[:-1] + "\n", "", 5):
                if member in ("ticket", "blinded", "inverse") and wrong == text + "00":
                    wrong = text + "00" * 257
                comment = f"{name} with another {member}: {str(wrong)[-6:]!r}"
                yield comment, {name: {version: part | {member: wrong}}}
    yield "a code in small letters", {"trades": {version: trade | {"code": "a" * 18}}}
    yield "a code with an O", {"trades": {version: trade | {"code": "O" * 18}}}
    yield "an odd number of digits", {"tickets": {version: ticket | {"ticket": "c" * 577}}}


def _wrong_entries() -> Iterator[Case]:
    yield {"day": "2026-1-1"}
    yield {"day": "2026-11-21T10:00"}
    yield {"day": 20261121}
    yield {"author": "A1" * 32}
    yield {"author": "a1"}
    yield {"survey": "Pair"}
    yield {"version": "0" * 63}
    yield {"question": "1a"}
    yield {"answer": "yes"}
    for odds in ("1/2", "0", "6/2", "3/1", "3.5", "-3", "+3", "03", "3/0", "", " 3", "9" * 401):
        yield {"odds": odds}
    yield {"odds": 3}
    yield {"exponent": "-1"}
    yield {"exponent": "0/1"}
    yield {"delta": "1"}
    yield {"delta": "0.1"}


def _wrong_parts() -> Iterator[tuple[Any, ...]]:
    version = digest(PAIR)
    kept = answered(PAIR, "a")[version]
    report = parse(kept["text"])

    def reports(**changes: Any) -> dict[str, Any]:
        return {"reports": {version: kept | {"text": canonical(report | changes)}}}

    yield "a report under another version", {"reports": {"0" * 64: kept}}
    yield "a report under no version", {"reports": {"pair": kept}}
    yield "a report with white space", {"reports": {version: kept | {"text": kept["text"] + " "}}}
    yield "a report that is none", {"reports": {version: kept | {"text": "{}"}}}
    yield "a report that may be sent", {"reports": {version: {"text": kept["text"]}}}
    yield "a report that is nearly sent", {"reports": {version: kept | {"sent": 1}}}
    yield "a report with a true answer", {"reports": {version: kept | {"answers": {"a": "yes"}}}}
    yield "a report with a short id", reports(id="0f")
    yield "a report with one more key", reports(answers={})
    yield "a report with a value that is no list", reports(values={"a": 1})
    yield "a report with a text as a value", reports(values={"a": ["yes"]})
    for key in ("", "panel", f"x/p/{'d' * 64}", f"{ANN}/P/{'d' * 64}", f"{ANN}/p/d", f"{ANN}/p"):
        yield f"a memo under {key[:8]}...", {"memos": {key: [1]}}
        yield f"waves under {key[:8]}...", {"waves": {key: {"count": 2, "sent": 1}}}
    for one in (
        {"count": 2, "sent": 0}, {"count": 2, "sent": 3}, {"count": 1, "sent": 1},
        {"count": 101, "sent": 1}, {"count": 2}, {"sent": 1}, {"count": 2, "sent": 1, "more": 1},
        {"count": "2", "sent": 1}, {"count": 2, "sent": "1"}, {"count": True, "sent": True}, 2,
    ):  # fmt: skip
        yield f"waves of {json.dumps(one)}", {"waves": {f"/p/{'d' * 64}": one}}
    yield "waves of nothing", {"waves": {}}
    yield "a memo of texts", {"memos": {f"/p/{'d' * 64}": ["yes"]}}
    yield "a memo that is no list", {"memos": {f"/p/{'d' * 64}": 1}}
    for origin in ("example.org", "https://example.org/", "ftp://example.org", "https://", ""):
        yield f"an author of {origin}", {"authors": {origin: [ANN]}}
        register = {"count": 0, "head": "0" * 64}
        yield f"a register of {origin}", {"registers": {origin: register}}
    yield "an author without a key", {"authors": {"https://example.org": [""]}}
    yield "an author that is no list", {"authors": {"https://example.org": ANN}}
    seen: Json
    for seen in ({"count": -1, "head": "0" * 64}, {"count": 1}, {"count": 1, "head": ""}, []):
        yield "a register that is none", {"registers": {"https://example.org": seen}}


def _document(comment: str, text: str) -> dict[str, Any]:
    case: Case = {"comment": comment, "flags": [], "text": text}
    try:
        read_document(text)
        return case | {"result": "valid"}
    except (Invalid, ValueError) as reason:
        return case | {"reason": str(reason)[:80], "result": "invalid"}


# --- charges ---


def _charges(definition: Definition) -> Iterator[tuple[Any, ...]]:
    """(comment, flags, document, drawn, changed, changes of the call)"""
    names = [question["name"] for question in definition["questions"]]
    drawn = names[: definition.get("ask", len(names))]
    long = ["LongOdds"] if definition is MANY else []
    long += ["LongExponent"] if definition is PARTS else []
    wide = {"limits": {"survey": "64", "author": "64", "overall": "64"}}
    yield "the first survey", long, EMPTY, drawn, [], wide
    yield "by a known author", long, EMPTY, drawn, [], wide | {"author": ANN}
    yield "at the usual limits", ["Limit", *long], EMPTY, drawn, [], {}
    full = EMPTY | {"reports": answered(definition, *drawn)}
    yield "again", ["Again"], full, drawn, [], {}
    yield "again, although others would be drawn", ["Again"], full, names[-len(drawn) :], [], {}
    none = {"limits": {"survey": "0.01", "author": "0.01", "overall": "0.01"}}
    yield "again, whatever the limit", ["Again"], full, drawn, [], none
    yield "again, not sent yet", ["Again"], EMPTY | {
        "reports": answered(definition, *drawn, sent=False)
    }, drawn, [], {}  # fmt: skip
    for name in drawn:
        yield f"{name} has changed", ["Changed"], full, drawn, [name], wide
    yield "everything has changed", ["Changed"], full, drawn, drawn, wide
    yield "changed before it was answered", ["Changed"], EMPTY, drawn, drawn[:1], {}
    yield "no question of this name", ["Changed"], full, drawn, ["nobody"], {}
    if definition is SOME:
        yield "the others are drawn", [], EMPTY, ["k", "l"], [], {}
        yield "a question that was not drawn", ["Changed"], full, drawn, ["l"], wide
    if definition is PAIR:
        yield from _limits(definition, drawn)
    if definition is NOISY:
        yield from _deltas(definition, drawn)
    if definition is WAVE:
        yield from _waves(definition, drawn)
    if definition is THRICE:
        yield from _counted(definition, drawn)


def _counted(definition: Definition, drawn: Any) -> Iterator[tuple[Any, ...]]:
    """Three waves are stated."""

    def sent(author: str, times: dict[str, tuple[int, int]], panel: str = "work") -> dict[str, Any]:
        found = {}
        for question in definition["questions"]:
            if question["name"] in times:
                key = memo_key(definition, question, author).replace("/work/", f"/{panel}/")
                count, sent = times[question["name"]]
                found[key] = {"count": count, "sent": sent}
        return EMPTY | {"waves": found}

    known = {"author": ANN}
    first, second = drawn
    for times in range(1, 4):
        held = sent(ANN, dict.fromkeys(drawn, (3, times)))
        yield f"{times} waves were answered", ["Count"], held, drawn, [], known
    yield "one question is new", ["Count"], sent(ANN, {first: (3, 1)}), drawn, [], known
    yield "one question is over", ["Count"], sent(ANN, {second: (3, 3)}), drawn, [], known
    yield "more were stated before", ["Count"], sent(ANN, {first: (4, 2)}), drawn, [], known
    yield "and they are over now", ["Count"], sent(ANN, {first: (4, 3)}), drawn, [], known
    yield "fewer were stated before", ["Count"], sent(ANN, {first: (2, 1)}), drawn, [], known
    yield "and they stay over", ["Count"], sent(ANN, {first: (2, 2)}), drawn, [], known
    yield "another author's", ["Count"], sent(BEN, {first: (3, 3)}), drawn, [], known
    yield "another panel's", ["Count"], sent(ANN, {first: (3, 3)}, "play"), drawn, [], known
    again = {"reports": answered(definition, *drawn)}
    full = sent(ANN, dict.fromkeys(drawn, (2, 1))) | again
    yield "this wave again", ["Count", "Again"], full, drawn, [], known
    yield "this wave, changed", ["Count", "Changed"], full, drawn, [first], known
    over = sent(ANN, dict.fromkeys(drawn, (2, 2))) | again
    yield "the last wave again", ["Count", "Again"], over, drawn, [], known
    yield "the last wave, changed", ["Count", "Changed"], over, drawn, [first], known


def _waves(definition: Definition, drawn: Any) -> Iterator[tuple[Any, ...]]:
    """Two memos of odds 9 each; a report by itself has smaller ones."""

    def memos(author: str, *names: Any) -> dict[str, Any]:
        questions = [one for one in definition["questions"] if one["name"] in names]
        return {"memos": {memo_key(definition, one, author): [0] for one in questions}}

    known = {"author": ANN}
    yield "a later wave", ["Wave"], EMPTY | memos(ANN, *drawn), drawn, [], known
    none = {"limits": {"survey": "0.01", "author": "0.01", "overall": "0.01"}}
    yield (
        "a later wave costs nothing",
        ["Wave"],
        EMPTY | memos(ANN, *drawn),
        drawn,
        [],
        known | none,
    )
    yield "a question is new", ["Wave"], EMPTY | memos(ANN, "a"), drawn, [], known
    yield "an answer has changed since", ["Wave"], EMPTY | memos(ANN, *drawn), drawn, ["b"], known
    yield "one is new, one has changed", ["Wave"], EMPTY | memos(ANN, "a"), drawn, ["a"], known
    yield "what is new cannot have changed", ["Wave"], EMPTY | memos(ANN, "a"), drawn, ["b"], known
    yield "another author's memos", ["Wave"], EMPTY | memos(BEN, *drawn), drawn, [], known
    yield "memos of an author who was not known", ["Wave"], EMPTY | memos("", *drawn), drawn, [], {}
    other = {key.replace("/work/", "/play/"): m for key, m in memos(ANN, *drawn)["memos"].items()}
    yield "another panel's memos", ["Wave"], EMPTY | {"memos": other}, drawn, [], known
    full = EMPTY | memos(ANN, *drawn) | {"reports": answered(definition, *drawn)}
    yield "this wave again", ["Wave", "Again"], full, drawn, [], known
    yield "this wave, changed", ["Wave", "Changed"], full, drawn, ["a"], known


def _limits(definition: Definition, drawn: Any) -> Iterator[tuple[Any, ...]]:
    """The two questions ask 9 times: epsilon 2.1972..."""
    version = digest(definition)
    mine = [entry(version=version, question=name) for name in drawn]
    others = [entry(author=BEN, version="9" * 64, odds="7", exponent="3/2", delta="1/100000")]
    for limit, by in (("2.197", "below"), ("2.198", "above")):
        calls = {"author": ANN, "limits": LIMITS | {"survey": limit}}
        yield f"a limit of the survey just {by}", ["Limit"], EMPTY, drawn, [], calls
        calls = {"author": ANN, "limits": LIMITS | {"author": limit}}
        yield f"a limit of the author just {by}", ["Limit"], EMPTY, drawn, [], calls
        calls = {"author": ANN, "limits": LIMITS | {"overall": limit}}
        yield f"a limit of all just {by}", ["Limit"], EMPTY, drawn, [], calls
    other = EMPTY | {"ledger": others}
    tight = {"limits": LIMITS | {"overall": "5.6"}}  # ln 63 + 3/2 = 5.643...
    yield "another author counts for all alone", ["Limit"], other, drawn, [], tight
    yield "another author counts for itself", ["Limit"], other, drawn, [], {
        "author": BEN, "limits": LIMITS | {"author": "5.6"},
    }  # fmt: skip
    yield "another author's limit is another", ["Limit"], other, drawn, [], {
        "author": ANN, "limits": LIMITS | {"author": "2.2"},
    }  # fmt: skip
    unknown = EMPTY | {"ledger": [entry(author="", version="9" * 64, odds="9")]}
    yield "those who are not known count as one", ["Limit"], unknown, drawn, [], {
        "author": "", "limits": LIMITS | {"author": "4.39"},  # ln 81 = 4.394...
    }  # fmt: skip
    spent = EMPTY | {"ledger": mine, "reports": answered(definition, *drawn)}
    for limit in ("3.295", "3.296"):  # ln 27 = 3.2958...
        yield f"a change at a limit of {limit}", ["Limit", "Changed"], spent, drawn, ["a"], {
            "author": ANN, "limits": LIMITS | {"survey": limit},
        }  # fmt: skip
    yield "a change of everything, at the usual limits", ["Changed"], spent, drawn, drawn, {}
    yield "the same version, when the author was not known", ["Limit"], spent, drawn, ["a"], {
        "author": BEN, "limits": LIMITS | {"survey": "3.295"},
    }  # fmt: skip


def _deltas(definition: Definition, drawn: Any) -> Iterator[tuple[Any, ...]]:
    """The second question has a delta of 1/100000."""
    version = digest(definition)
    before = {"at": "99/100000", "above": "991/1000000"}
    for name, delta in before.items():
        for scope, whose in {
            "survey": {"version": version, "author": BEN},
            "author": {"version": "9" * 64, "author": ANN},
            "overall": {"version": "9" * 64, "author": BEN},
        }.items():
            held = EMPTY | {"ledger": [entry(question="z", odds="1", delta=delta, **whose)]}
            yield f"delta of {scope} {name} the limit", ["Limit"], held, drawn, [], {"author": ANN}
    held = EMPTY | {"ledger": [entry(question="z", odds="1", delta="1/500", author=BEN)]}
    comment = "without a delta no limit of delta refuses"
    yield comment, ["Limit"], held, drawn[:1], [], {"author": ANN}


def _charge(
    definition: Definition,
    comment: str,
    flags: list[str],
    held: dict[str, Any],
    drawn: Any,
    changes: Any,
    call: dict[str, Any],
) -> dict[str, Any]:
    given = {"author": "", "day": "2026-11-22", "drawn": drawn, "changed": changes}
    given |= {"limits": LIMITS} | call
    text = canonical(held)
    case: Case = {"comment": comment, "flags": flags, "document": text} | given
    try:
        names, new, before, after, waves = charge(read_document(text), definition, **given)
    except Over as reason:
        return case | {"reason": str(reason), "over": True, "result": "invalid"}
    except Spent as reason:
        more = {"until": reason.until} if reason.until else {}
        more |= {"account": reason.account} if reason.account != "server" else {}
        return case | {"reason": str(reason), "scope": reason.scope, "result": "invalid"} | more
    except Invalid as reason:
        return case | {"reason": str(reason), "result": "invalid"}
    found = {"fresh": names, "entries": new} | ({"waves": waves} if waves else {})
    found["before"] = {scope: loss_texts(loss) for scope, loss in before.items()}
    found["after"] = {scope: loss_texts(loss) for scope, loss in after.items()}
    if any("mixed" in each for each in held["ledger"] + new):
        found["together"] = _together(definition, held, new, given)
    return case | found | {"result": "valid"}


def _together(
    definition: Definition, held: dict[str, Any], new: list[Any], given: dict[str, Any]
) -> dict[str, Any]:
    """The totals before and after of the account "together"."""
    call = digest(definition), given["author"], held, given["day"], "together"
    return {
        when: {scope: loss_texts(loss) for scope, loss in totals(ledger, *call).items()}
        for when, ledger in (("before", held["ledger"]), ("after", held["ledger"] + new))
    }


# --- the days that count ---


def _register_days() -> Iterator[tuple[Any, ...]]:
    """(comment, text)"""
    for day in (
        "2026-11-20", "2024-02-29", "2000-02-29", "1000-01-01", "2999-12-31", "2025-02-29",
        "1900-02-29", "2026-02-30", "2026-00-10", "2026-13-01", "2026-04-31", "2026-11-00",
        "0999-12-31", "3000-01-01", "2026-1-1", "20261120", "2026-11-20T00:00", "2026-11-20 ", "",
        20261120, True,
    ):  # fmt: skip
        seen: Json = {"count": 3, "day": day, "head": "e" * 64}
        text = document(registers={"https://example.org": seen})
        yield f"a register of the day {json.dumps(day)}", text


HERE, THERE = "https://example.org", "https://example.net"


def _held(
    ledger: list[dict[str, Any]], days: dict[str, Any], authors: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A document with these entries, and registers seen on these days, by origin."""
    registers = {
        origin: {"count": 3, "head": "e" * 64} | ({"day": day} if day else {})
        for origin, day in days.items()
    }
    known = authors or {origin: [ANN] for origin in days}
    return EMPTY | {"ledger": ledger, "registers": registers, "authors": known}


def _years() -> Iterator[tuple[Any, ...]]:
    """(comment, document, drawn, changed, changes of the call)

    The two questions ask 9 times, epsilon 2.197; two surveys are 4.394.
    """
    drawn = [question["name"] for question in YEARS["questions"]]
    mine = entry(version="9" * 64, odds="9")
    author = {"survey": "5", "author": "4", "overall": "20"}
    overall = {"survey": "5", "author": "10", "overall": "4"}
    days: dict[str, Any]
    for limits, name in ((author, "author"), (overall, "overall")):
        for day, seen, comment in (
            ("2027-11-20", "2027-11-20", "364 days later"),
            ("2027-11-21", "2027-11-21", "365 days later"),
            ("2027-11-20", "2027-12-31", "364 days later by the clock, more by the register"),
            ("2030-01-01", "2027-11-20", "364 days later by the register, more by the clock"),
            ("2030-01-01", "2027-11-21", "365 days later by the register, more by the clock"),
            ("2030-01-01", None, "years later, and no day of a register is known"),
            ("2026-01-01", "2027-12-31", "the clock was set back"),
            ("2300-01-01", "2299-12-31", "centuries later"),
        ):
            call = {"author": ANN, "limits": limits, "day": day}
            yield f"{name}: {comment}", _held([mine], {HERE: seen}), drawn, [], call
        call = {"author": ANN, "limits": limits, "day": "2030-01-01"}
        for days, comment in (
            ({HERE: "2030-01-01", THERE: "2027-11-20"}, "the earliest of two registers decides"),
            ({HERE: "2027-11-21", THERE: "2300-01-01"}, "and lets go on its day"),
            ({HERE: "2030-01-01", THERE: None}, "a register without a day holds all"),
        ):
            yield f"{name}: {comment}", _held([mine], days), drawn, [], call
        others = {HERE: [ANN], THERE: [BEN]}
        for days, comment in (
            ({HERE: "2030-01-01", THERE: "2027-11-20"}, "another author's register is behind"),
            ({HERE: "2027-11-20", THERE: "2300-01-01"}, "another author's register is ahead"),
            ({HERE: "2030-01-01"}, "an author whose register was never seen"),
        ):
            yield f"{name}: {comment}", _held([mine], days, others), drawn, [], call
        yield f"{name}: no origin at all", _held([mine], {}), drawn, [], call
        future = entry(version="9" * 64, odds="9", day="2040-01-01")
        yield (
            f"{name}: an entry of the future",
            _held([future], {HERE: "2030-01-01"}),
            drawn,
            [],
            call,
        )
        no_day = entry(version="9" * 64, odds="9", day="2029-00-99")
        yield f"{name}: an entry of no day", _held([no_day], {HERE: "2030-01-01"}), drawn, [], call
        leap = {"author": ANN, "limits": limits}
        ledger = [entry(version="9" * 64, odds="9", day="2027-03-01")]
        for day in ("2028-02-28", "2028-02-29"):
            held = _held(ledger, {HERE: day})
            yield f"{name}: a year to {day}", held, drawn, [], leap | {"day": day}
    unknown = entry(version="9" * 64, odds="9", author="")
    call = {"author": "", "limits": author, "day": "2030-01-01"}
    yield "an author who is not known", _held([unknown], {HERE: "2030-01-01"}), drawn, [], call
    ours = entry(version=digest(YEARS), question="z", odds="9")
    call = {
        "author": ANN,
        "limits": overall | {"survey": "4", "overall": "20"},
        "day": "2030-01-01",
    }
    yield (
        "the survey's limit counts every day",
        _held([ours], {HERE: "2030-01-01"}),
        drawn,
        [],
        call,
    )
    call = {"author": ANN, "day": "2026-01-01"}
    yield "dated by the register", _held([], {HERE: "2026-11-20"}), drawn, [], call
    both = {HERE: "2026-11-20", THERE: "2026-11-10"}
    yield "dated by the earlier of two", _held([], both), drawn, [], call
    holed = {HERE: "2026-11-20", THERE: None}
    yield "dated by the clock where a day is not known", _held([], holed), drawn, [], call
    call = {"author": ANN, "limits": author, "day": "2026-11-23"}
    later = entry(version="8" * 64, odds="3", day="2026-11-22")
    held = _held([later, entry(version="7" * 64, odds="9")], {HERE: "2026-11-23"})
    yield "the first of two days is enough", held, drawn, [], call
    bens = entry(version="8" * 64, odds="99", author=BEN, day="2026-11-22")
    held = _held([bens, entry(version="7" * 64, odds="9")], {HERE: "2026-11-23"})
    yield "the limit over all holds for longer", held, drawn, [], call | {
        "limits": author | {"overall": "6"},
    }  # fmt: skip
    call = {"author": ANN, "limits": author | {"author": "2"}, "day": "2026-11-23"}
    yield "nothing will ever do", held, drawn, [], call
    several = [
        entry(version="7" * 64, odds="9", day="2026-11-20"),
        entry(version="8" * 64, odds="9", delta="1/2000"),
        entry(version="9" * 64, odds="9", author=BEN, delta="1/2000"),
    ]
    call = {"author": ANN, "day": "2027-11-20"}
    yield "some count and some do not", _held(several, {HERE: "2027-11-20"}), drawn, [], call
    long = [
        entry(
            version=f"{i:064x}",
            odds=f"{1_105_171 + i}/1000000",
            day=f"2027-{i // 9 + 1:02}-{i % 9 + 10}",
        )
        for i in range(60)
    ]
    long = [one | {"odds": str(Fraction(one["odds"]))} for one in long]
    call = {"author": ANN, "limits": author, "day": "2027-08-01"}
    yield "of sixty days it takes forty", _held(long, {HERE: "2027-08-01"}), drawn, [], call


# --- mixers ---

THROUGH = mixed(YES_NO, EIGHT, name="through")
TWELVE = mixed(*(changed(EIGHT, name=f"q{i}") for i in range(12)), name="twelve")
MORE = mixed(*(changed(EIGHT, name=f"q{i}") for i in range(13)), name="more")
ENVELOPE = {"inner": ["0a" * 32, "1b" * 32], "sealed": "04" + "c1" * 90, "sent": False}
CLAIM = {"epsilon": "5493/5000", "delta": "1/1000000", "mixer": SIGNING}


def _through_mixers() -> Iterator[Case]:
    documents = (*_sealed(), *_mixed_entries())
    yield {"type": "document", "tests": [_document(*case) for case in documents]}
    for definition, cases_of in (
        (THROUGH, _mixed_charges()),
        (TWELVE, _large_charges()),
        (MORE, _too_large()),
        (PAIR, _beside_mixers()),
    ):
        check_definition(definition)
        tests = [_charge(definition, comment, ["Mixer"], *rest) for comment, *rest in cases_of]
        yield {"type": "charge", "definition": json.dumps(definition), "tests": tests}
    tests = [_part(DIVIDED, *case) for case in _part_beside_mixers()]
    yield {"type": "part", "definition": json.dumps(DIVIDED), "tests": tests}


def claimed(**changes: Any) -> dict[str, Any]:
    """The first entry of a survey with a mixer, with changes of its claim."""
    return entry(mixed=CLAIM | changes)


def _sealed() -> Iterator[tuple[str, str]]:
    """(comment, text)"""
    version = digest(THROUGH)

    def kept(**changes: Any) -> str:
        return document(reports={version: changed(ENVELOPE, **changes)})

    yield "an envelope to a mixer", kept()
    yield "an envelope that was sent", kept(sent=True)
    yield "an envelope of one question", kept(inner=["0a" * 32])
    yield "an envelope of 100", kept(inner=[f"{i:064x}" for i in range(100)])
    yield (
        "an envelope beside a report",
        document(reports={version: ENVELOPE} | answered(PAIR, "a", "b")),
    )
    yield "an envelope of 101", kept(inner=[f"{i:064x}" for i in range(101)])
    yield "an envelope of none", kept(inner=[])
    yield "envelopes in no order", kept(inner=["1b" * 32, "0a" * 32])
    yield "one envelope twice", kept(inner=["0a" * 32] * 2)
    yield "a short hash", kept(inner=["0a" * 31])
    yield "a hash in capitals", kept(inner=["0A" * 32])
    yield "hashes that are a text", kept(inner="0a" * 32)
    yield "no bytes", kept(sealed="")
    yield "half a byte", kept(sealed="041")
    yield "bytes in capitals", kept(sealed="0C")
    yield "a line break behind the bytes", kept(sealed="04\n")
    yield "sent perhaps", kept(sent=1)
    for member in ENVELOPE:
        yield f"an envelope without {member}", kept(**{member: None})
    yield "an envelope with its report", kept(text=answered(THROUGH, "a")[version]["text"])
    yield "an envelope with an empty report", kept(text="")
    report = answered(THROUGH, "a")[version]
    yield "a report with hashes", document(reports={version: report | {"inner": ["0a" * 32]}})
    yield "an envelope with its code", kept(code="0" * 18)
    yield "an envelope under no version", document(reports={"through": ENVELOPE})
    orders = {"orders": {version: ["a", "e"]}}
    yield "an order of what was sealed", document(reports={version: ENVELOPE}, **orders)


def _mixed_entries() -> Iterator[tuple[str, str]]:
    """(comment, text)"""
    yield "a claim", document(ledger=[claimed()])
    yield "nothing claimed", document(ledger=[claimed(epsilon="0", delta="0")])
    for member in CLAIM:
        without = {key: text for key, text in CLAIM.items() if key != member}
        yield f"a claim without {member}", document(ledger=[entry(mixed=without)])
    yield "a claim with more", document(ledger=[claimed(odds="3")])
    yield "a claim of nothing", document(ledger=[entry(mixed={})])
    yield "a claim that is a text", document(ledger=[entry(mixed="3")])
    for changes in (
        {"epsilon": "1.0986"}, {"epsilon": "-1"}, {"epsilon": 1}, {"epsilon": "10986/10000"},
        {"delta": "1"}, {"delta": "0.000001"}, {"delta": "2/2000000"}, {"mixer": ""},
        {"mixer": "5E" * 32}, {"mixer": "5e" * 31},
    ):  # fmt: skip
        yield f"a claim with {json.dumps(changes)[:40]}", document(ledger=[claimed(**changes)])


def _of(odds: str, author: str = ANN, **mixed_: Any) -> dict[str, Any]:
    """An entry of another survey with a mixer, whose answers have these local odds."""
    return entry(author=author, version="9" * 64, odds=odds, mixed=CLAIM | mixed_)


def _mixed_charges() -> Iterator[tuple[Any, ...]]:
    """Two questions with odds 3 and 8; the claim is epsilon 1.0986, delta 1/1000000."""
    call: dict[str, Any]
    drawn, known = ["a", "e"], {"author": ANN}
    yield "the first survey", EMPTY, drawn, [], {}
    yield "by a known author", EMPTY, drawn, [], known
    version = digest(THROUGH)
    full = EMPTY | {"reports": {version: ENVELOPE}}
    none = {"limits": {"survey": "0.01", "author": "0.01", "overall": "0.01"}}
    yield "again", full, drawn, [], known
    yield "again, whatever the limit", full, drawn, [], none
    yield "again, sent", EMPTY | {"reports": {version: ENVELOPE | {"sent": True}}}, drawn, [], known
    yield "what was sealed has changed", full, drawn, ["a"], known
    yield "changed before it was answered", EMPTY, drawn, ["a"], known
    for limit, by in (("1.0985", "below"), ("1.0986", "at")):
        for scope in LIMITS:
            call = known | {"limits": LIMITS | {scope: limit}}
            yield f"a limit of {scope} {by} the claim", EMPTY, drawn, [], call
    for delta, by in (("998/1000000", "below"), ("999/1000000", "at"), ("1/1000", "above")):
        odd = str(Fraction(delta))
        held = EMPTY | {"ledger": [_of("3", delta=odd)]}
        yield f"delta {by} the limit", held, drawn, [], known
        held = EMPTY | {"ledger": [entry(version="9" * 64, odds="1", delta=odd)]}
        yield f"delta of another kind {by} the limit", held, drawn, [], known
    for ledger, comment in (
        ([_of("1000", epsilon="8")], "the servers' account holds"),
        ([_of("1000", epsilon="89/10")], "the servers' account holds, just"),
        ([_of("1000", epsilon="9")], "the servers' account is full"),
        ([_of(str(10**20))], "together an author has enough left"),
        ([_of(str(2 * 10**20))], "together an author has enough left, just"),
        ([_of(str(3 * 10**20))], "together an author has too little left"),
        ([_of(str(3 * 10**20), BEN)], "another author's counts for itself"),
        ([_of(str(10**26), BEN)], "together there is enough left over all"),
        ([_of(str(3 * 10**26), BEN)], "together there is too little left over all"),
    ):
        yield comment, EMPTY | {"ledger": ledger}, drawn, [], known
    local = [entry(version="9" * 64, odds="7000")]
    yield "local odds count in both", EMPTY | {"ledger": local}, drawn, [], known
    local = [entry(version="9" * 64, odds="9000")]
    yield "local odds fill the servers' account", EMPTY | {"ledger": local}, drawn, [], known
    old = _held([_of(str(3 * 10**20))], {HERE: "2027-11-21"})
    call = known | {"day": "2027-11-21"}
    yield "together, too, a charge counts for 365 days", old, drawn, [], call
    old = _held([_of(str(3 * 10**20))], {HERE: "2027-11-20"})
    yield "and not for 364", old, drawn, [], known | {"day": "2027-11-20"}
    large: dict[str, Any] = known | {"limits": {"survey": "5", "author": "60", "overall": "64"}}
    held = EMPTY | {"ledger": [_of(str(10**23))]}
    yield "an owner's larger limit counts together as well", held, drawn, [], large
    held = EMPTY | {"ledger": [_of(str(10**25))]}
    yield "and has an end", held, drawn, [], large


def _large_charges() -> Iterator[tuple[Any, ...]]:
    """Twelve questions with odds 8: epsilon 24.953 together."""
    drawn = [question["name"] for question in TWELVE["questions"]]
    yield "twelve questions", EMPTY, drawn, [], {"author": ANN}
    twice = [_of(str(8**12))]
    yield "of an author twice", EMPTY | {"ledger": twice}, drawn, [], {"author": ANN}
    thrice = [*twice, entry(version="8" * 64, odds=str(8**12), mixed=CLAIM)]
    yield "of an author three times", EMPTY | {"ledger": thrice}, drawn, [], {"author": ANN}
    yield "of three authors", EMPTY | {"ledger": thrice}, drawn, [], {"author": BEN}


def _too_large() -> Iterator[tuple[Any, ...]]:
    drawn = [question["name"] for question in MORE["questions"]]
    yield "thirteen questions", EMPTY, drawn, [], {"author": ANN}
    wide = {"author": ANN, "limits": {"survey": "28", "author": "28", "overall": "28"}}
    yield "thirteen, where the owner allows them", EMPTY, drawn, [], wide


def _beside_mixers() -> Iterator[tuple[Any, ...]]:
    """A survey without a mixer, on a device that met one."""
    drawn, known = ["a", "b"], {"author": ANN}
    yield "a claim counts in place of odds", EMPTY | {"ledger": [_of("20000")]}, drawn, [], known
    yield "together the odds count", EMPTY | {"ledger": [_of(str(10**21))]}, drawn, [], known
    several = [_of("1000"), _of("1000", epsilon="0", delta="0"), entry(version="8" * 64, odds="7")]
    yield "both kinds of entry", EMPTY | {"ledger": several}, drawn, [], known
    full = [_of("1000", epsilon="8")]
    yield "claims fill the servers' account", EMPTY | {"ledger": full}, drawn, [], known


def _part_beside_mixers() -> Iterator[tuple[Any, ...]]:
    """(comment, document, changes of the call)"""
    names = [question["name"] for question in DIVIDED["questions"]]
    held = EMPTY | {"orders": {digest(DIVIDED): names}}
    for odds in (10**20, 10**21, 3 * 10**21):
        ledger = [_of(str(odds))]
        comment = f"together {odds} are spent"
        yield comment, held | {"ledger": ledger}, {"author": ANN}
