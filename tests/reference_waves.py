"""Sections 2.16 and 4.4 of shared/SPEC.md, repeated surveys, as the reference reads them."""

from __future__ import annotations

import math
from fractions import Fraction

from reference import channel as subset_channel
from reference import require
from reference_mechanisms import (
    LIMIT,
    check,
    check_answer,
    check_report,
    integers,
    law,
    loss,
    only,
    pick,
    report,
    set_weights,
)

MEMOS = ("subset_selection", "window", "channel", "set_response")


def numbers(memo):
    """(D, Z, size, domain)"""
    name = memo["name"]
    if name == "subset_selection":
        k, omega = memo["k"], memo["omega"]
        return k, omega * memo["own"] + (k - omega) * memo["other"], omega, k
    if name == "window":
        m, w = memo["m"], memo["w"]
        return m, w * memo["own"] + (m - w) * memo["other"], 1, m
    if name == "channel":
        row = memo["weights"][0]
        return len(row), sum(row), 1, len(row)
    domain = memo["k"] + memo["most"]
    return math.comb(domain, memo["size"]), sum(set_weights(memo)), memo["size"], domain


def once(m):
    memo, keep, fresh = m["memo"], m["keep"], m["fresh"]
    d, z, _, _ = numbers(memo)

    def changed(x):
        return keep * x * d + fresh * z

    if memo["name"] == "channel":
        rows = [[changed(x) for x in row] for row in memo["weights"]]
        divisor = math.gcd(*(x for row in rows for x in row))
        return memo | {"weights": [[x // divisor for x in row] for row in rows]}
    own, other = changed(memo["own"]), changed(memo["other"])
    divisor = math.gcd(own, other)
    return memo | {"own": own // divisor, "other": other // divisor}


def check_memoised(m):
    """Raise Invalid unless the parameters make a memoised mechanism."""
    only(m, "memo", "keep", "fresh")
    memo = m["memo"]
    require(type(memo) is dict and memo.get("name") in MEMOS, "no mechanism of a memo")
    check(memo)
    integers(m, "keep", "fresh")
    require(m["keep"] >= 1 and m["fresh"] >= 1, "keep and fresh are 1 or more")
    require(m["keep"] + m["fresh"] <= LIMIT, "keep + fresh is at most 2^53")
    check(once(m))


def memoised_loss(m):
    return loss(once(m))


def history(m):
    return loss(m["memo"])


def respond(m, answer, coins, memo=None):
    """(report, the memo it was made from)"""
    check_memoised(m)
    check_answer(m["memo"], answer)
    if memo is None:
        memo = report(m["memo"], answer, coins)
    _, _, size, domain = numbers(m["memo"])
    check_report(m["memo"], memo)
    require(len(memo) == size, "a memo of the right size")
    kept = coins.choose([m["keep"], m["fresh"]]) == 0
    other = sorted(pick(coins, domain, size))
    return (memo if kept else other), memo


def wave_law(m, answer):
    """{report: probability}: the sum over all memos of what each is sent as."""
    memo = m["memo"]
    if memo["name"] == "subset_selection":
        k, omega, own, other = (memo[key] for key in ("k", "omega", "own", "other"))
        memos = subset_channel(k, omega, own, other)[answer]
    else:
        memos = law(memo, answer)
    kept = Fraction(m["keep"], m["keep"] + m["fresh"])
    found = dict.fromkeys(memos, Fraction(0))
    for one, probability in memos.items():
        for sent in found:
            found[sent] += probability * (1 - kept) / len(memos)
        found[one] += probability * kept
    return found
