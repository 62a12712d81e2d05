"""A whole device, from answers and random bytes to its memory (SPEC 4.2, 4.3, 4.7, 5, 7 and 11.3).

The random bytes are those that the operating system gave a real device, in the blocks in which it
gave them. So the reports and the memory that the reference makes from the same bytes are those of a
correct device, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from deniably.reference.answers import encode
from deniably.reference.canonical import Published, canonical, digest, parse
from deniably.reference.coins import Blocks, pick
from deniably.reference.definition import memoised
from deniably.reference.invitations import blind
from deniably.reference.ledger import charge, memo_key
from deniably.reference.mechanisms import check_answer
from deniably.reference.mechanisms import drawn as drawn_report
from deniably.reference.refusal import require
from deniably.reference.strata import numbered
from deniably.reference.values import Definition, Document, Question
from deniably.reference.waves import drawn_in_waves

EMPTY: Document = {
    "spec": 1, "ledger": [], "reports": {}, "memos": {}, "authors": {}, "registers": {},
}  # fmt: skip
"""The memory of a new device."""


def published(definition: Definition) -> Definition:
    """Returns a definition as ``Published`` objects, which compute their digest only once: one for
    the definition, and one for each of its questions.

    The definition must not change any more, like one that was published. It is not checked here.
    """
    questions = [Published(question) for question in definition["questions"]]
    return Published(definition | {"questions": questions})


def draw_id(coins: Blocks) -> str:
    """Returns the id of a report: 32 hexadecimal digits."""
    # One draw gives at most 53 bits, so the 128 are drawn in four.
    return "".join(f"{coins.below(2**32):08x}" for _ in range(4))


def draw_questions(definition: Definition, coins: Blocks) -> list[str]:
    """Returns the names of the questions that a device asks (SPEC 4.3), drawn with a new coins
    object."""
    names = [question["name"] for question in definition["questions"]]
    if "ask" not in definition:
        return names
    coins.new_object()
    drawn = pick(coins, len(names), definition["ask"])
    return [names[place] for place in sorted(drawn)]


def draw_order(document: Document, definition: Definition, coins: Blocks) -> Document:
    """Returns the device's memory ``document`` with a random order of the survey's questions added
    (SPEC 4.7, step 1).

    The order is drawn with a new coins object.
    """
    names = [question["name"] for question in definition["questions"]]
    coins.new_object()
    drawn = pick(coins, len(names), len(names))[: definition.get("ask", len(names))]
    orders = document.get("orders", {}) | {digest(definition): [names[place] for place in drawn]}
    return document | {"orders": orders}


def inputs(
    questions: Sequence[Question], answers: Mapping[str, Any], needed: Sequence[str]
) -> tuple[list[str], dict[str, Any]]:
    """Returns (names of hidden questions, {question: input of its mechanism}) for ``needed``
    questions.

    Where a condition (``show_if``) names a question that is not among ``questions``, the condition
    was met when that question was answered, so the question is shown. Raises Invalid if an answer
    is missing or does not fit.
    """
    hidden: list[str] = []
    encoded: dict[str, Any] = {}
    among = [question["name"] for question in questions]
    for question in questions:
        condition = question.get("show_if")
        shown = True
        if condition and condition["question"] in among:
            earlier = condition["question"]
            true_answer = "not_applicable" if earlier in hidden else answers.get(earlier)
            shown = true_answer in condition["is"]
        if question["name"] not in needed:
            continue
        if not shown:
            hidden.append(question["name"])
            several = question["type"] == "select_multiple"
            answer: Any = ["not_applicable"] if several else "not_applicable"
        else:
            require(question["name"] in answers, "an answer is missing")
            answer = answers[question["name"]]
            ticks = answer if type(answer) is list else [answer]
            offered = not condition or "not_applicable" not in ticks
            require(offered, "not_applicable is for those who do not see the question")
        taken = question
        if memoised(question):
            taken = question | {"mechanism": question["mechanism"]["once"]}
        encoded_answer = encode(taken, answer)
        # The input of a Gaussian is a list of positions, also for a single number.
        one_of_many = taken["type"] == "number" and taken["mechanism"]["name"] == "gaussian"
        encoded[question["name"]] = [encoded_answer] if one_of_many else encoded_answer
    return hidden, encoded


def answer(
    document: Document,
    definition: Definition,
    answers: Mapping[str, Any],
    coins: Blocks,
    *,
    drawn: list[str],
    changed: Sequence[str] = (),
    stratum: Mapping[str, str] | None = None,
    author: str = "",
    day: str,
    limits: Mapping[str, str],
    noted: dict[str, Any] | None = None,
) -> Document:
    """Returns the device's memory after a survey is answered; ``document`` is the memory before.

    ``drawn`` are the names of the questions that this device asks. ``noted``, if given, receives
    the names of the ``hidden`` questions and the inputs that were ``given`` to mechanisms. Raises
    Invalid for what SPEC refuses, Spent where a limit would be exceeded, and Over after the last
    wave.
    """
    names = [question["name"] for question in definition["questions"]]
    require(set(answers) <= set(names), "the survey has no such question")
    version = digest(definition)
    kept, through_mixer = document["reports"].get(version), "mixer" in definition
    before = parse(kept["text"]) if kept and not through_mixer else None
    if before:
        require(not (changed and "invited" in definition), "one invitation gives one report")
    asked, new, waves = _charged(document, definition, author, day, drawn, changed, limits)
    if kept and not asked:
        return document
    ticket = document.get("tickets", {}).get(version)
    require("invited" not in definition or ticket, "no invitation was traded")
    # A second report keeps the stratum of the first, whichever link was opened (SPEC 7).
    strata = before.get("strata") if before else stratum
    require((strata or {}) in numbered(definition), "one of the survey's strata")
    memos = dict(document["memos"])
    values = dict(before["values"]) if before else {}
    questions = [
        question
        for question in definition["questions"]
        if question["name"] in asked
        or (not before and question["name"] in drawn and "waves" in definition)
    ]
    hidden, encoded = inputs(questions, answers, asked)
    if noted is not None:
        noted |= {"hidden": hidden, "given": encoded}
    # One coins object makes all values of a report, in the survey's order, and then its id.
    coins.new_object()
    for question in questions:
        name, mechanism = question["name"], question["mechanism"]
        if not memoised(question):
            check_answer(mechanism, encoded[name])
            values[name] = drawn_report(mechanism, encoded[name], coins)
            continue
        key = memo_key(definition, question, author)
        # An asked question is new or has changed, so it gets a new memo; any other is sent from its
        # old one.
        old = None if name in asked else memos[key]
        values[name], memos[key] = drawn_in_waves(mechanism, encoded.get(name), coins, old)
    if through_mixer:
        stored = left_open(separate(version, values, coins))
    else:
        made: Document = {"id": ticket["id"] if ticket else draw_id(coins)}
        made |= {"survey": version, "values": values} | ({"strata": dict(strata)} if strata else {})
        stored = {"text": canonical(made), "sent": False}
    reports = document["reports"] | {version: stored}
    after = document | {"ledger": document["ledger"] + new, "reports": reports, "memos": memos}
    # The drawn order is kept until there is a report, and an empty `orders` is not allowed
    # (SPEC 7).
    orders = after.pop("orders", {})
    if left := {other: names for other, names in orders.items() if other != version}:
        after["orders"] = left
    return after | ({"waves": waves} if waves else {})


def separate(version: str, values: Mapping[str, Any], coins: Blocks) -> list[str]:
    """Returns the texts of the reports that are sealed for a mixer (SPEC 5): one for each of the
    ``values``, with an id of its own, in their order."""
    return [
        canonical({"id": draw_id(coins), "survey": version, "values": {name: value}})
        for name, value in values.items()
    ]


def left_open(texts: Sequence[str]) -> Document:
    """Returns what a memory keeps of reports for a mixer in a replay, where envelopes stay open.

    Nobody can make a sealed envelope again, because its ephemeral key is not drawn by coins. So the
    texts, one a line, stand for the envelope to the mixer, and each text for one in it.
    """
    inner = sorted(hashlib.sha256(text.encode()).hexdigest() for text in texts)
    return {"inner": inner, "sealed": "\n".join(texts).encode().hex(), "sent": False}


# The audit answers the same survey with very many tapes of bytes, and the charges are the same for
# all.
_CHARGED: dict[str, tuple[list[str], list[dict[str, Any]], dict[str, Any]]] = {}


def _charged(
    document: Document, definition: Definition, author: str, day: str, drawn: list[str],
    changed: Sequence[str], limits: Mapping[str, str],
) -> tuple[list[str], list[dict[str, Any]], dict[str, Any]]:  # fmt: skip
    """(names that are asked, their entries, waves after), kept for calls with equal arguments."""
    version = digest(definition)
    kept = document["reports"].get(version)
    known = sorted(parse(kept["text"])["values"]) if kept and "text" in kept else bool(kept)
    memos, waves = sorted(document["memos"]), document.get("waves")
    facts = [version, author, day, drawn, list(changed), limits, known, memos, waves]
    facts += [document["registers"], document["authors"]]
    key = json.dumps([facts, document["ledger"]], sort_keys=True)
    if key not in _CHARGED:
        if len(_CHARGED) > 1000:
            _CHARGED.clear()
        names, new, _, _, after = charge(
            document, definition, author, day, drawn, list(changed), dict(limits)
        )
        _CHARGED[key] = names, new, after
    return _CHARGED[key]


def mark_sent(document: Document, version: str) -> Document:
    """Returns the device's memory ``document`` with one report marked as sent: that to the survey
    whose definition has the digest ``version``."""
    kept = document["reports"][version] | {"sent": True}
    return document | {"reports": document["reports"] | {version: kept}}


def receipt(text: str) -> str:
    """Returns the receipt digest of a report's text (SPEC 5)."""
    return hashlib.sha256(text.encode()).hexdigest()


def check_trade(
    modulus: int, trade: Mapping[str, str], code: str, coins: Blocks, rest: Sequence[bytes]
) -> None:
    """Raises Invalid unless ``trade`` was made of the given random bytes and of no others.

    A trade exchanges an invitation for a ticket (SPEC 11.3, steps 1 and 2). Its id comes from
    ``coins``; prefix and salt are among the other blocks, ``rest``.
    """
    coins.new_object()
    require(trade["id"] == draw_id(coins), "the id is drawn by coins")
    require(trade["code"] == code, "the code is the invitation's")
    require(bytes.fromhex(trade["prefix"]) in rest, "the prefix is 32 random bytes")
    message = bytes.fromhex(trade["prefix"] + trade["id"])
    inverse = int(trade["inverse"], 16)
    salts = [block for block in rest if len(block) == 48]
    made = [blind(modulus, message, salt, inverse) for salt in salts]
    require(int(trade["blinded"], 16) in made, "the message is blinded with a random salt")
