"""Memos, reports made from them, surveys in waves: the cases of waves.json."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from deniably.reference.coins import Tape
from deniably.reference.definition import WAVES, check_definition, total, whole_history
from deniably.reference.losses import loss_texts
from deniably.reference.refusal import Invalid
from deniably.reference.values import Definition, Json, Mechanism, Question
from deniably.reference.waves import (
    check_memoised,
    history,
    law_of,
    memoised_loss,
    memos,
    respond,
    wave_law,
    worst_odds,
)
from spec.cases.mechanisms import OTHER, channel, set_response, unary, window
from spec.cases.questions import (
    GAUSS,
    MEAN,
    MULTIPLE,
    NUMBER,
    ONE,
    POINT,
    PRODUCT,
    SCALE,
    YES_NO,
    changed,
    condition,
    survey,
)
from spec.cases.tapes import LIMIT, OWN_E, tape_bytes
from spec.vector_types import Case, Made

NOTES = {
    "Draws": "the same draws are made for every memo",
    "Kept": "a memo is given, and no answer takes part",
    "Boundary": "the smallest or the largest that is allowed, or the first that is not",
    "Claim": "section 2.2, the history",
    "Waves": "section 4.4",
}


def subset(k: int, omega: int = 1, own: int = 9, other: int = 1) -> dict[str, Any]:
    name = {"name": "subset_selection", "k": k, "omega": omega}
    return name | {"own": own, "other": other}


def memoised(once: Json, own: int | str, other: int) -> dict[str, Any]:
    return {"name": "memoised", "once": once, "own": own, "other": other}


SMALL = [
    memoised(subset(2, 1, 3), 9, 1), memoised(subset(3, 1, 3), 7, 1),
    memoised(subset(4, 2, 13, 7), 5, 1), memoised(subset(6, 2, 3), 9, 1),
    memoised(subset(5, 3, 2), 9, 2), memoised(window(3, 2, 1, 3, 1), 9, 1),
    memoised(window(4, 7, 4, 13, 7), 9, 2), memoised(window(9, 4, 2, 2, 1), 9, 1),
    memoised(channel(2, (5, 1), (2, 4)), 9, 1),
    memoised(channel(5, (4, 2, 1, 1), (2, 4, 1, 1), (1, 1, 2, 4)), 27, 2),
    memoised(set_response(3, 2, 1, 3, 1), 9, 1), memoised(set_response(3, 3, 1), 9, 1),
]  # fmt: skip
MANY = [
    *SMALL, memoised(subset(16, 4, OWN_E, OTHER), 80, 4), memoised(subset(1024, 10), 97, 1),
    memoised(window(1001, 40, 6, OWN_E, OTHER), 20, 1), memoised(window(33, 64, 31, 3, 2), 99, 1),
    memoised(channel(101, (OWN_E, OTHER), (OTHER, OWN_E)), 15, 2),
    memoised(set_response(10, 3, 1, 3, 1), 5, 1), memoised(set_response(1000, 24, 1), 10, 1),
    # As it is published for epsilon 1 and a history of epsilon 2.
    memoised(subset(10, 3, OWN_E, OTHER), 121062, 16384),
]  # fmt: skip


def cases() -> Made:
    groups = [_reports(m) for m in MANY] + [_laws(m) for m in SMALL]
    groups.append({"type": "parameters", "tests": [_parameters(*case) for case in _bad()]})
    groups += [
        {
            "type": f"{result}_definition",
            "tests": [_definition(name, one, result) for name, one in cases],
        }
        for result, cases in (("valid", _right()), ("invalid", _wrong()))
    ]
    groups.append({"type": "history", "tests": [_history(one) for one in _totals()]})
    return NOTES, groups


# --- reports ---


def _answers(m: Mechanism) -> list[Json]:
    once = m["once"]
    if once["name"] == "set_response":
        return [[], [0], list(range(once["k"] - once["most"], once["k"]))]
    return [0, once["k"] // 2, once["k"] - 1]


def _memos(m: Mechanism) -> list[list[int]]:
    return [[0], [memos(m["once"]) - 1]]


def _no_memos(m: Mechanism) -> list[list[Any] | list[int]]:
    return [[], [0, 1], [memos(m["once"])], [-1]]


def _reports(m: Mechanism) -> dict[str, Any]:
    check_memoised(m)
    cases: list[tuple[Json, list[int] | None, int]] = [
        (answer, None, i) for answer in _answers(m) for i in range(3)
    ]
    cases += [(_answers(m)[0], memo, i) for memo in _memos(m) for i in range(3)]
    tests = []
    for answer, memo, i in cases:
        coins = Tape(tape_bytes(f"{m} {answer} {memo} {i}", 60 + 4 * m["once"].get("omega", 1)))
        found, used = respond(m, answer, coins, memo)
        case: Case = {
            "comment": "",
            "flags": ["Draws", *(["Kept"] if memo else [])],
            "answer": answer,
        }
        case |= {} if memo is None else {"kept": memo}
        case |= {"bytes": coins.data[: coins.consumed + 7].hex(), "report": found, "memo": used}
        tests.append(case | {"consumed": coins.consumed, "result": "valid"})
    for memo in _no_memos(m):
        case = {"comment": "what is kept is no memo", "flags": ["Kept", "Boundary"]}
        case |= {"answer": _answers(m)[0], "kept": memo, "bytes": tape_bytes("no memo", 2).hex()}
        tests.append(_refused(case, lambda memo=memo: respond(m, _answers(m)[0], Tape(b""), memo)))
    once = m["once"]
    wrong: list[Json] = [[once["k"]]] if once["name"] == "set_response" else [-1, once["k"]]
    for answer in wrong:
        case = {"comment": "no answer", "flags": ["Boundary"], "answer": answer}
        case |= {"bytes": tape_bytes("no answer", 2).hex()}
        tests.append(_refused(case, lambda answer=answer: respond(m, answer, Tape(b""))))
    head = {"type": "report", "mechanism": m, "loss": loss_texts(memoised_loss(m))}
    return head | {"history": loss_texts(history(m)), "tests": tests}


def _refused(case: dict[str, Any], attempt: Callable[..., Any]) -> dict[str, Any]:
    try:
        attempt()
    except Invalid as reason:
        return case | {"consumed": 0, "reason": str(reason), "result": "invalid"}
    raise AssertionError(("not refused", case))


def _laws(m: Mechanism) -> dict[str, Any]:
    tests, answers = [], _answers(m)
    one, two, three = (worst_odds(m, answers, waves) for waves in (1, 2, 3))
    assert one < two < three < Fraction(m["own"], m["other"])
    for answer in answers:
        found = wave_law(m, answer)
        assert sum(found.values()) == 1
        assert found == law_of(m["once"], answer)
        text = {",".join(map(str, key)): str(found[key]) for key in sorted(found)}
        case: Case = {"comment": "", "flags": [], "answer": answer, "law": text}
        tests.append(case | {"result": "valid"})
    return {"type": "channel", "mechanism": m, "tests": tests}


# --- parameters ---


def _parameters(comment: str, m: Mechanism) -> dict[str, Any]:
    case: Case = {"comment": comment, "flags": ["Boundary"], "mechanism": m}
    try:
        check_memoised(m)
    except Invalid as reason:
        return case | {"reason": str(reason), "result": "invalid"}
    return case | {"result": "valid"}


def _bad() -> Iterator[tuple[Any, ...]]:
    """Allowed and refused parameters, next to each other."""
    big = LIMIT
    for own, other in ((3, 1), (4, 1), (1, 0), (9, 9), (1, 9), (9, -1), (big + 1, 1), (7, 2)):
        yield "the odds of the history, 3 for one report", memoised(subset(2, 1, 3), own, other)
    yield "a history just above", memoised(subset(2, 1, 3), 3 * 10**14 + 1, 10**14)
    for omega in (3, 4):  # (H - 1) / (F - 1) = 4
        yield "as many choices as a memo allows, or more", memoised(subset(9, omega, 3), 9, 1)
    for width in (3, 4):
        window_of = window(9, 8 + width, width, 3, 1)
        yield "as many neighbours as a memo allows, or more", memoised(window_of, 9, 1)
    for width in (4, 5):  # where all windows have an output, that rules nothing out
        yield "few windows", memoised(window(9, 3 + width, width, 3, 1), 9, 1)
        yield "fewer windows", memoised(window(9, 4 + width, width, 3, 1), 9, 1)
    for rows in (((4, 1, 1), (1, 4, 1), (1, 1, 4)), ((8, 1, 1), (8, 1, 1), (1, 8, 1))):
        yield "a channel", memoised(channel(5, *rows), 9, 1)
    for weights in (big // 8, big // 8 + 1):  # times 9 - 1
        once = subset(2, 1, weights - weights // 3, weights // 3)
        yield "weights of 2^53 at most", memoised(once, 9, 1)
    yield "weights in no lowest terms", memoised(subset(2, 1, 3 * 10**9, 10**9), 9, 1)
    yield "weights that are too large", memoised(subset(2, 1, 3, 1), 36 * 10**14, 4 * 10**14)
    yield "weights that nearly are", memoised(subset(2, 1, 3, 1), 9 * 10**14, 10**14)
    yield "one number of several ticks", memoised(set_response(20, 4, 1), 9, 1)
    yield "two numbers of several ticks", memoised(set_response(20, 4, 2), 9, 1)
    yield "as many ticks as there may be", memoised(set_response(1000, 24, 1), 9, 1)
    yield "too many ticks", memoised(set_response(1000, 25, 1), 9, 1)
    yield "a bad mechanism", memoised(subset(2, 2), 99, 1)
    yield "equal weights", memoised(subset(2, 1, 1, 1), 9, 1)
    yield "a memo of a memo", memoised(memoised(subset(2, 1, 3), 9, 1), 27, 1)
    yield "unary", memoised(unary(3, 1, 2, 1, 3), 99, 1)
    yield "noise", memoised({"name": "laplace", "k": 5, "scale": "5"}, 99, 1)
    yield "nothing to send", {"name": "memoised", "own": 9, "other": 1}
    yield "a list to send", memoised([1], 9, 1)
    yield "a key too many", memoised(subset(2, 1, 3), 9, 1) | {"k": 2}
    yield "a kept report", {"name": "memoised", "memo": subset(2), "keep": 5, "fresh": 3}
    yield "a boolean", memoised(subset(2, 1, 3), 9, True)
    yield "a text", memoised(subset(2, 1, 3), "9", 1)
    yield "an unknown key", memoised(subset(2, 1, 3) | {"most": 1}, 9, 1)


# --- definitions ---

CLAIM = {"odds": "3", "history": {"odds": "9"}}


def _wave(question: Question, once: Mechanism, claim: Json = CLAIM) -> dict[str, Any]:
    return changed(question, mechanism=memoised(once, 9, 1), claim=claim)


WAVE = _wave(YES_NO, subset(2, 1, 3))
MARGINAL = {"odds": "4", "history": {"odds": "9"}}
TYPES = [
    WAVE, _wave(changed(ONE, show_if=None), subset(4, 2, 3)),
    _wave(changed(MULTIPLE, show_if=None), set_response(4, 2, 1, 3, 1)),
    _wave(SCALE, subset(3, 1, 4), MARGINAL),
    _wave(MEAN, window(5, 2, 1, 3, 1)),
    _wave(changed(NUMBER), window(11, 3, 1, 4, 1), MARGINAL),
    _wave(changed(POINT, grid=2), subset(4, 1, 3)),
    _wave(PRODUCT, subset(PRODUCT["mechanism"]["k"], 2, 3)),
]  # fmt: skip


EVERY_PLAIN = [YES_NO, SCALE, MEAN, NUMBER, POINT, PRODUCT]


def panel(*questions: Any, **more: Any) -> dict[str, Any]:
    return survey(*questions, **({"waves": {"panel": "workplace"}} | more))


def _definition(comment: str, definition: Definition, result: str) -> dict[str, Any]:
    case: Case = {"comment": comment, "flags": ["Waves"], "text": json.dumps(definition)}
    try:
        case["digest"] = check_definition(copy.deepcopy(definition))
    except Invalid as reason:
        case["reason"] = str(reason)
    assert ("digest" in case) == (result == "valid"), case
    return case | {"result": result}


def _right() -> Iterator[tuple[Any, ...]]:
    yield "one question", panel(WAVE)
    yield "every type", panel(*TYPES)
    for question in TYPES:
        yield question["type"], panel(question)
    for name in ("a", "0", "x-1", "a" * 64):
        yield "the name of a panel", panel(WAVE, waves={"panel": name})
    yield (
        "a claim in epsilon",
        panel(changed(WAVE, claim={"epsilon": "1.0986123", "history": {"epsilon": "2.1972246"}})),
    )
    yield (
        "more is claimed than is given",
        panel(changed(WAVE, claim={"odds": "4", "history": {"odds": "10"}})),
    )
    for count in (2, 100):
        yield "a count of waves", panel(YES_NO, waves={"panel": "a", "count": count})
    for people in (10, 345, 1000):
        yield "so many are recognised", panel(WAVE, waves={"panel": "a", "recognised": people})
    both = {"panel": "a", "count": 2, "recognised": 10}
    yield "a count of waves, and recognised", panel(*EVERY_PLAIN, waves=both)
    for people, waves in ((2, 2), (1_000_000, 100)):
        size = {"panel": "a", "people": people, "waves": waves}
        yield "so many people in so many waves", panel(WAVE, waves=size)
    counted = {"panel": "a", "count": 3, "people": 60}
    yield "a count of waves, and so many people", panel(*EVERY_PLAIN, waves=counted)
    biased = memoised(channel(2, (5, 1), (2, 4)), 9, 1)
    yield "a channel", panel(changed(WAVE, mechanism=biased, claim=MARGINAL))


def _wrong() -> Iterator[tuple[Any, ...]]:
    yield "a memo without waves", survey(WAVE)
    yield "waves without a memo", panel(YES_NO)
    yield "one question without a memo", panel(WAVE, changed(YES_NO, name="z"))
    yield "some of the questions", panel(WAVE, changed(WAVE, name="z"), ask=1)
    hidden = changed(TYPES[1], show_if=condition(WAVE["name"], "yes"))
    yield "a hidden question", panel(WAVE, hidden)
    waves: Json
    for waves in ({}, [], "workplace", True, {"panel": "A"}, {"panel": ""}, {"panel": 1}):
        yield "waves that are none", panel(WAVE, waves=waves)
    yield "an unknown key of waves", panel(WAVE, waves={"panel": "a", "history": 2})
    both = {"panel": "a", "count": 3, "waves": 3}
    yield "a count of waves, and how many waves", panel(YES_NO, waves=both)
    for key, least, most in WAVES:
        for stated in (least - 1, most + 1, str(least), True, None):
            question = YES_NO if key == "count" else WAVE
            yield f"a {key} that is none", panel(question, waves={"panel": "a", key: stated})
    yield "a count of waves, and a memo", panel(WAVE, waves={"panel": "a", "count": 2})
    counted = {"panel": "a", "count": 2}
    yield "a count of waves, and a history", panel(changed(YES_NO, claim=CLAIM), waves=counted)
    some = panel(YES_NO, changed(YES_NO, name="z"), waves=counted, ask=1)
    yield "a count of waves, and some of the questions", some
    shown = changed(ONE, show_if=condition(YES_NO["name"], "yes"))
    yield "a count of waves, and a hidden question", panel(YES_NO, shown, waves=counted)
    for claim in (
        {"odds": "3"}, {"odds": "3", "history": {"odds": "8"}}, {"odds": "3", "history": "9"},
        {"odds": "2", "history": {"odds": "9"}}, {"odds": "3", "history": {"epsilon": "3"}},
        {"epsilon": "2", "history": {"odds": "9"}}, {"odds": "3", "history": {}},
        {"epsilon": "2", "history": {"epsilon": "2"}}, {"history": {"odds": "9"}},
        {"epsilon": "2", "history": {"epsilon": "3", "delta": "0.00001"}},
        {"epsilon": "2", "delta": "0.00001", "history": {"epsilon": "3"}},
        {"odds": "3", "history": {"odds": "9", "history": {"odds": "9"}}},
        {"odds": "3", "history": {"odds": "18/2"}}, {"odds": "3", "history": {"odds": "30000"}},
    ):  # fmt: skip
        yield "a claim that does not hold", panel(changed(WAVE, claim=claim))
    yield "a history where no memo is kept", survey(changed(YES_NO, claim=CLAIM))
    yield "a memo of another k", panel(changed(WAVE, mechanism=memoised(subset(3, 1, 3), 9, 1)))
    yield (
        "a memo that the type does not know",
        panel(changed(WAVE, mechanism=memoised(window(2, 2, 1, 3, 1), 9, 1))),
    )
    ticks = changed(TYPES[2], most=1)
    yield "a memo for another number of ticks", panel(ticks)
    rows = memoised(channel(3, (5, 1), (2, 4)), 9, 1)
    yield "a channel with too few rows", panel(changed(TYPES[3], mechanism=rows, claim=MARGINAL))


# --- totals ---


def _totals() -> list[dict[str, Any]]:
    half = changed(WAVE, name="z", mechanism=memoised(subset(2, 1, 2, 1), 4, 1))
    counted = {"panel": "a", "count": 3}
    return [
        panel(WAVE), panel(WAVE, half), panel(*TYPES), survey(YES_NO),
        panel(YES_NO, waves=counted), panel(*EVERY_PLAIN, GAUSS, waves=counted),
    ]  # fmt: skip


def _history(definition: Definition) -> dict[str, Any]:
    check_definition(definition)
    case: Case = {"comment": "", "flags": [], "definition": json.dumps(definition)}
    both = {
        "total": loss_texts(total(definition)),
        "history": loss_texts(whole_history(definition)),
    }
    return case | both | {"result": "valid"}
