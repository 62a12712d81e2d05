"""Memoised mechanisms for surveys that are repeated (SPEC 2.16 and 4.4): the answer is randomised
once (the memo), and the report of each wave is made from that."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from deniably.reference.coins import Coins
from deniably.reference.laws import law as finite_law
from deniably.reference.losses import loss
from deniably.reference.mechanisms import check_answer, drawn
from deniably.reference.parameters import LIMIT, check, integers, only, set_weights
from deniably.reference.refusal import Invalid, require
from deniably.reference.subsets import channel
from deniably.reference.values import Json, Law, Loss, Mechanism, WavesLaw

KEPT = ("subset_selection", "window", "channel", "set_response")
"""The mechanisms that a memo can stand before."""


def memo_of(m: Mechanism) -> dict[str, Any]:
    """Returns the mechanism of the first round, whose report is the memo (a permanently randomised
    answer)."""
    once, weights = m["once"], {"own": m["own"], "other": m["other"]}
    if once["name"] == "subset_selection":
        return {"name": "subset_selection", "k": once["k"], "omega": 1} | weights
    if once["name"] == "set_response":
        maximum = {"k": once["k"], "most": once["most"], "size": 1}
        return {"name": "set_response"} | maximum | weights
    return {"name": "window", "k": once["k"], "m": memos(once), "w": 1} | weights


def memos(once: Mechanism) -> int:
    """Returns K, the number of memos (permanently randomised answers) that the mechanism ``once``
    can have. Raises Invalid if it cannot be memoised."""
    match once["name"]:
        case "subset_selection":
            return once["k"]
        case "set_response":
            return once["k"] + once["most"]
        case "channel":
            return len(once["weights"])
        case "window":
            return once["m"] - once["w"] + 1
        case _:
            raise Invalid("nothing that a memo stands before")


def whole(once: Mechanism) -> int:
    """Returns Z, the sum of the weights of the mechanism ``once``. Raises Invalid if it cannot be
    memoised."""
    match once["name"]:
        case "subset_selection":
            return once["omega"] * once["own"] + (once["k"] - once["omega"]) * once["other"]
        case "window":
            return once["w"] * once["own"] + (once["m"] - once["w"]) * once["other"]
        case "channel":
            return sum(once["weights"][0])
        case "set_response":
            return sum(set_weights(once))
        case _:
            raise Invalid("nothing that a memo stands before")


def wanted(m: Mechanism, z: int) -> list[int]:
    """Returns the weights of a window's or channel's outputs, given the memo ``z``.

    The memo, a permanently randomised answer, is drawn by K-ary response with the weights ``own``
    and ``other``. Only one choice of weights makes both rounds together have the distribution of
    ``once``. Applying the inverse of the K-ary response to the rows of ``once`` gives it.
    """
    once, own, other = m["once"], m["own"], m["other"]
    count = memos(once)
    if once["name"] == "channel":
        rows = once["weights"]
    else:
        rows = [
            [once["own"] if row <= i < row + once["w"] else once["other"] for i in range(once["m"])]
            for row in range(count)
        ]
    total = own + (count - 1) * other
    return [total * rows[z][i] - other * sum(row[i] for row in rows) for i in range(len(rows[0]))]


def second(m: Mechanism) -> dict[str, Any]:
    """Returns the subset selection that makes reports from a memo (a permanently randomised
    answer).

    It is for ``subset_selection`` and ``set_response``. Raises Invalid if there is none with
    integer weights. It is not computed by the formula of SPEC 2.16, but from the odds that it must
    have and the sum of its weights, which confirms the formula.
    """
    once = m["once"]
    odds, history = Fraction(once["own"], once["other"]), Fraction(m["own"], m["other"])
    if once["name"] == "set_response":
        k, omega = once["k"] + once["most"], 1
        mass = once["most"] * history + once["k"]
        # Both formulas for `own_odds` solve for the odds of the second step, given that memo and
        # second step together shift the odds of a report by exactly `odds`.
        own_odds = 1 + (odds - 1) * mass / (history - odds) if history > odds else None
    else:
        k, omega = once["k"], once["omega"]
        low = history + omega - 1 - odds * omega
        own_odds = (odds * (history + k - 1 - omega) - (k - omega)) / low if low > 0 else None
    require(own_odds is not None, "no memo makes these reports")
    assert own_odds is not None
    # Z of the second step is (own - other) times that of `once` (SPEC 2.16).
    other = (m["own"] - m["other"]) * whole(once) / (omega * own_odds + k - omega)
    own = own_odds * other
    require(own.denominator == other.denominator == 1, "whole weights")
    return {
        "name": "subset_selection",
        "k": k,
        "omega": omega,
        "own": int(own),
        "other": int(other),
    }


def check_memoised(m: Mechanism) -> None:
    """Raises Invalid unless the parameters make a memoised mechanism."""
    only(m, "once", "own", "other")
    once = m["once"]
    require(type(once) is dict and once.get("name") in KEPT, "nothing that a memo stands before")
    check(once)
    integers(m, "own", "other")
    require(once["name"] != "set_response" or once["size"] == 1, "size is 1")
    check(memo_of(m))
    require((m["own"] - m["other"]) * whole(once) <= LIMIT, "(own - other) * Z is at most 2^53")
    if once["name"] in ("window", "channel"):
        count = memos(once)
        # Between them, the two outer windows leave out every output that some window does.
        for z in range(count) if once["name"] == "channel" else (0, count - 1):
            require(min(wanted(m, z)) >= 1, "no memo makes these reports")
    else:
        check(second(m))


def memoised_loss(m: Mechanism) -> Loss:
    """Returns the loss of one wave's report by itself, which is that of ``once``."""
    return loss(m["once"])


def history(m: Mechanism) -> Loss:
    """Returns the loss of all waves' reports together, which is that of the memo they are made
    from."""
    return loss(memo_of(m))


def respond(
    m: Mechanism, answer: Json, coins: Coins, memo: list[int] | None = None
) -> tuple[list[int], list[int]]:
    """Returns (report, memo), where the memo is the permanently randomised answer that the report
    was made from: a new one if ``memo`` is None. Raises Invalid if the mechanism, the answer or the
    memo is not allowed."""
    check_memoised(m)
    check_answer(m["once"], answer)
    return drawn_in_waves(m, answer, coins, memo)


def drawn_in_waves(
    m: Mechanism, answer: Json, coins: Coins, memo: list[int] | None = None
) -> tuple[list[int], list[int]]:
    """Returns (report, memo) as ``respond`` does, without checking the mechanism and the answer."""
    if memo is None:
        memo = drawn(memo_of(m), answer, coins)
    require(len(memo) == 1 and 0 <= memo[0] < memos(m["once"]), "one of the memos")
    (z,) = memo
    if m["once"]["name"] in ("window", "channel"):
        return [coins.choose(wanted(m, z))], memo
    return drawn(second(m), z, coins), memo


# --- laws ---


def law_of(mechanism: Mechanism, answer: Json) -> Law:
    """Returns the distribution {report: probability} of a mechanism without a memo."""
    if mechanism["name"] == "subset_selection":
        return channel(*(mechanism[key] for key in ("k", "omega", "own", "other")))[answer]
    return finite_law(mechanism, answer)


def sent_law(m: Mechanism, z: int) -> Law:
    """Returns the distribution {report: probability} of the reports that are made from the memo
    (the permanently randomised answer) ``z``."""
    if m["once"]["name"] in ("window", "channel"):
        weights = wanted(m, z)
        return {(i,): Fraction(weight, sum(weights)) for i, weight in enumerate(weights)}
    return law_of(second(m), z)


def waves_law(m: Mechanism, answer: Json, waves: int = 1) -> WavesLaw:
    """Returns {(report of wave 1, ...): probability} given ``answer``, over ``waves`` waves whose
    reports are all made from the same memo (the permanently randomised answer)."""
    memo_law = law_of(memo_of(m), answer)
    memo_parts, (memo_weights,) = in_whole_parts([memo_law])
    parts, sent = in_whole_parts([sent_law(m, z) for (z,) in memo_law])
    distribution: dict[Any, int] = {}
    for weight, law in zip(memo_weights.values(), sent, strict=True):
        for key in product(law, repeat=waves):
            distribution[key] = distribution.get(key, 0) + weight * math.prod(
                law[part] for part in key
            )
    return {key: Fraction(share, memo_parts * parts**waves) for key, share in distribution.items()}


def in_whole_parts(laws: list[Law]) -> tuple[int, list[dict[Any, int]]]:
    """Returns the common denominator of several distributions, and each as {result: numerator}.

    It makes sums fast, because integers are added much faster than fractions.
    """
    parts = math.lcm(*(share.denominator for law in laws for share in law.values()))
    return parts, [{key: int(share * parts) for key, share in law.items()} for law in laws]


def wave_law(m: Mechanism, answer: Json) -> Law:
    """Returns the distribution {report: probability} of a single wave. This must be the
    distribution of the mechanism ``once``."""
    return {key: share for (key,), share in waves_law(m, answer).items()}


def worst_odds(m: Mechanism, answers: list[int], waves: int) -> Fraction:
    """Returns the largest ratio between two answers' probabilities of the same reports.

    The reports are those of ``waves`` waves together, and the two answers are any of ``answers``.
    """
    laws = [waves_law(m, answer, waves) for answer in answers]
    return max(max(law[key] for law in laws) / min(law[key] for law in laws) for key in laws[0])
